"""Inline content: text, code spans, links and emphasis, written as Markdown and as plain text.

Emphasis is a set of bits on each leaf of text, not a tree of elements: markers are written where the bits of neighbours differ,
so nested, adjacent and overlapping elements need no special cases.

CommonMark does not read a marker between a letter and a punctuation mark as one (spec 0.31, section 6.2). There the
punctuation moves out of the emphasis; emphasis that cannot be expressed at all is dropped, its words stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import TypeAlias

from sitelore.extract import dom

_link_of = itemgetter(3)
TEXT, CODE, BREAK, RAW = 0, 1, 2, 3
"""The kinds of leaves. RAW is Markdown that is written as it is: an image, a formula, the mark of a footnote."""
EM, STRONG, STRIKE = 1, 2, 4
"""The bits of emphasis."""

_BITS = (STRIKE, EM, STRONG)
_MARKERS = {EM: "*", STRONG: "**", STRIKE: "~~"}
_HARD_BREAK = "  \n"
_SPACE, _PUNCTUATION, _WORD, _UNSURE = 0, 1, 2, 3
_MAX_ROUNDS = 3

_ALNUM = r"[^\W_]"
# A lone star between spaces and underscores within a word never open or close emphasis (CommonMark 6.2).
_MARKUP_RULES = rf"""
      \\(?=[!-/:-@\[-`{{-~]|\s*\Z)
    | `
    | (?<!\s)\*(?!\s) | (?<!\s)\* | \*(?!\s)
    | (?<!{_ALNUM})(?<!_)_++ | (?<!_)_++(?!{_ALNUM})
    | \[(?=\^)
    | \](?=\()
    | <(?=[A-Za-z/!?])
    | &(?=\#?\w{{1,40}};)
    | (?<=\S)~ | ~(?=~)
    """
_MARKUP = re.compile(_MARKUP_RULES, re.VERBOSE)
_LABEL_MARKUP = re.compile(rf"[\[\]] | {_MARKUP_RULES}", re.VERBOSE)
# What opens a block at the start of a line: headings, quotes, list items, rules, fences, link definitions, task boxes.
_LINE_START = re.compile(
    r"""
      (?P<before>\#{1,6}(?=\s|\Z) | > | [-+*](?=\s|\Z) | -{2,}\s*\Z | ~{3,}
        | \[(?:[^\]\\]|\\.){1,999}\]: | \[[\ xX]\](?=\s|\Z))
    | \d{1,9}(?P<number>[.)](?=\s|\Z))
    """,
    re.VERBOSE,
)
# After a line of text these make it a heading or the head of a table.
_UNDERLINE = re.compile(r"=+\s*\Z|[|:\-][|:\-\s]*\Z")
_LINE_STARTERS = frozenset("#>-+*~[0123456789=|:")
_CLOSING_HASHES = re.compile(r"#+\Z")
_TICKS = re.compile(r"`+")


class Link:
    """A link. Of several paragraphs in it, the first heading is written as a link, or else the first of them all."""

    __slots__ = ("_paragraph_id", "has_heading", "href", "in_page")

    def __init__(self, href: str, *, in_page: bool) -> None:
        self.href = href
        self.in_page = in_page
        self.has_heading = False
        self._paragraph_id = 0  # not a reference, which would make a cycle

    def is_written_by(self, paragraph_id: int, *, is_heading: bool) -> bool:
        """Whether a paragraph, identified by its `id`, writes the link. Paragraphs have to ask in the order of the document."""
        if not self._paragraph_id and (is_heading or not self.has_heading):
            self._paragraph_id = paragraph_id
        return self._paragraph_id == paragraph_id and bool(self.href)


Leaf: TypeAlias = tuple[int, str, int, Link | None, str]
"""Kind, text (Markdown for RAW), emphasis bits, link, plain text of RAW."""


def inline_markdown(leaves: Sequence[Leaf], paragraph_id: int, *, is_heading: bool, one_line: bool) -> str:
    """Write the leaves of a paragraph as Markdown. Links that another paragraph writes are written as their text."""
    if len(leaves) == 1:
        kind, text, style, link, _ = leaves[0]
        if kind == TEXT and not style:
            text = text.strip()
            if link is None or not text or not link.is_written_by(paragraph_id, is_heading=is_heading):
                return escape_text(text)
            return f"[{escape_label(text)}]({_destination(link.href)})"
    atoms: list[_Atom] = []
    for link, group in groupby(leaves, _link_of):
        linked = list(group)
        if link and not all(map(is_blank, linked)) and link.is_written_by(paragraph_id, is_heading=is_heading):
            _add_link(atoms, linked, link)
        else:
            for leaf in linked:
                _add_leaf(atoms, leaf, one_line=one_line)
    return _join(atoms, escape_text)


def inline_text(leaves: Iterable[Leaf]) -> str:
    """Write leaves as plain text. Two links next to each other are two words, whatever separates them on the screen."""
    parts: list[str] = []
    before: Link | None = None
    for kind, text, _, link, plain in leaves:
        if link is not before:
            if link is not None and before is not None:
                parts.append(" ")
            before = link
        parts.append(plain if kind == RAW else "\n" if kind == BREAK else text)
    return "".join(parts)


def is_blank(leaf: Leaf) -> bool:
    """Whether a leaf shows nothing."""
    return leaf[0] != RAW and not leaf[1].strip()


# Escaping: a backslash before what CommonMark or GFM would read as markup, and nowhere else


def escape_text(text: str) -> str:
    """Escape inline markup."""
    return _MARKUP.sub(_add_backslashes, text) if _may_hold_markup(text) else text


def escape_label(text: str) -> str:
    """Escape text within the brackets of a link or an image."""
    return _LABEL_MARKUP.sub(_add_backslashes, text) if _may_hold_markup(text) else text


def _may_hold_markup(text: str) -> bool:
    # Ten searches for one character take half as long as one for a class of characters.
    return (
        "*" in text or "_" in text or "[" in text or "]" in text or "`" in text
        or "<" in text or "&" in text or "~" in text or "\\" in text
    )  # fmt: skip


def _add_backslashes(match: re.Match[str]) -> str:
    return "\\_" * len(match[0]) if match[0][0] == "_" else f"\\{match[0]}"


def escape_lines(markdown: str) -> str:
    """Escape what would open a block at the start of each line of a paragraph."""
    if "\n" not in markdown:
        return _escape_line_start(markdown) if markdown[:1] in _LINE_STARTERS else markdown
    first, *rest = markdown.split("\n")
    others = [f"\\{line}" if _UNDERLINE.match(line) is not None else _escape_line_start(line) for line in rest]
    return "\n".join([_escape_line_start(first), *others])


def _escape_line_start(line: str) -> str:
    # Many lines start with a link, which is neither a task box nor a definition of one.
    is_link = line.startswith("[") and "]:" not in line and line[2:3] != "]"
    match = None if is_link else _LINE_START.match(line)
    if match is None:
        return line
    at = max(match.start("number"), 0)
    return f"{line[:at]}\\{line[at:]}"


def escape_heading(markdown: str) -> str:
    """Escape the hashes that would close a heading (CommonMark 4.2)."""
    match = _CLOSING_HASHES.search(markdown) if markdown.endswith("#") else None
    if match is None or (match.start() and not markdown[match.start() - 1].isspace()):
        return markdown
    return f"{markdown[: match.start()]}\\{match[0]}"


def code_span(code: str) -> str:
    """Write a code span."""
    if "`" not in code:
        return f"`{code}`" if code[0] != " " or code[-1] != " " else f"` {code} `"
    fence = "`" * (max(map(len, _TICKS.findall(code))) + 1)
    gap = " " if code[0] in "` " or code[-1] in "` " else ""
    return f"{fence}{gap}{code}{gap}{fence}"


def fence_for(code: str) -> str:
    """Return a fence longer than every run of backticks in a code block."""
    return "`" * (max(map(len, _TICKS.findall(code))) + 1) if "```" in code else "```"


# Atoms: the pieces of a line between which markers may be written


class _Atom:
    """A piece of a line with its emphasis: plain text (not escaped yet), the text of a code span, or finished Markdown."""

    __slots__ = ("kind", "source", "style")

    def __init__(self, source: str, style: int, kind: int) -> None:
        self.source = source
        self.style = style
        self.kind = kind


def _add_leaf(atoms: list[_Atom], leaf: Leaf, *, one_line: bool) -> None:
    kind, text, style, _, _ = leaf
    if kind == BREAK:
        if not one_line:
            atoms.append(_Atom(_HARD_BREAK, style, RAW))
        elif not atoms or atoms[-1].kind != TEXT or not atoms[-1].source.endswith(" "):
            atoms.append(_Atom(" ", style, TEXT))
    elif text or kind == RAW:
        atoms.append(_Atom(text, style, kind))


def _add_link(atoms: list[_Atom], leaves: list[Leaf], link: Link) -> None:
    """Add a link; the emphasis that all of its text has is written around it."""
    if len(leaves) == 1 and leaves[0][0] == TEXT:
        _, text, outer, _, _ = leaves[0]
        written = escape_label(text.strip())
        starts_in_space, ends_in_space = text[0].isspace(), text[-1].isspace()
    else:
        outer = EM | STRONG | STRIKE
        for leaf in leaves:
            outer &= outer if is_blank(leaf) else leaf[2]
        inner: list[_Atom] = []
        for kind, text, style, _, plain in leaves:
            _add_leaf(inner, (kind, text, style & ~outer, None, plain), one_line=True)
        first, last = inner[0], inner[-1]
        starts_in_space = first.kind != RAW and first.source[0].isspace()
        ends_in_space = last.kind != RAW and last.source[-1].isspace()
        written = _join(inner, escape_label)
    if starts_in_space:
        atoms.append(_Atom(" ", outer, TEXT))
    atoms.append(_Atom(f"[{written}]({_destination(link.href)})", outer, RAW))
    if ends_in_space:
        atoms.append(_Atom(" ", outer, TEXT))


def _destination(href: str) -> str:
    return href if " " not in href and "(" not in href else f"<{href}>"


def _join(atoms: list[_Atom], escape: Callable[[str], str]) -> str:
    """Write atoms as one string, with markers where emphasis begins and ends."""
    atoms = _merge(atoms)
    if (clear := _join_clear(atoms, escape, is_tidy=False)) is not None:
        return clear
    atoms = _merge(_tidy_spaces(atoms))
    if (clear := _join_clear(atoms, escape, is_tidy=True)) is not None:
        return clear
    atoms = _merge(_shrink(_shrink(atoms, is_opening=True), is_opening=False))
    for _ in range(_MAX_ROUNDS):
        boundaries = _find_boundaries(atoms)
        if not _drop_misread(atoms, boundaries):
            break
        atoms = _merge(atoms)
    else:
        for atom in atoms:
            atom.style = 0
        atoms = _merge(atoms)
        boundaries = _find_boundaries(atoms)
    parts: list[str] = []
    for at, (closed, opened) in enumerate(boundaries):
        parts += [_MARKERS[bit] for bit in (*closed, *opened)]
        if at < len(atoms):
            parts.append(_write_atom(atoms, at, escape))
    return "".join(parts)


def _join_clear(atoms: list[_Atom], escape: Callable[[str], str], *, is_tidy: bool) -> str | None:
    """Write atoms whose markers can only be read as meant, as most can; None for others, and where spaces have to be tidied."""
    parts: list[str] = []
    for at, atom in enumerate(atoms):
        source = atom.source
        is_span_with_space = atom.kind == CODE and (source[0].isspace() or source[-1].isspace())
        if not is_tidy and (is_span_with_space or source == _HARD_BREAK):
            return None
        written = _write_atom(atoms, at, escape)
        if atom.style:
            marker = _MARKERS.get(atom.style)
            if marker is None or not _is_clear(atoms, at, -1) or not _is_clear(atoms, at, 1):
                return None
            written = f"{marker}{written}{marker}"
        parts.append(written)
    return "".join(parts).strip()


def _is_clear(atoms: list[_Atom], at: int, step: int) -> bool:
    """Whether a marker before (-1) or after (1) an atom is between white space, or punctuation, and a letter."""
    inner, outer = (0, -1) if step < 0 else (-1, 0)
    inner_class, outer_class = _edge(atoms, at, inner), _edge(atoms, at + step, outer)
    if outer_class != _SPACE and (inner_class != _WORD or outer_class != _PUNCTUATION):
        return False
    return inner_class != _SPACE and not (0 <= at + step < len(atoms) and atoms[at + step].style)


def _write_atom(atoms: list[_Atom], at: int, escape: Callable[[str], str]) -> str:
    atom = atoms[at]
    if atom.kind == RAW:
        return atom.source
    if atom.kind == CODE:
        return code_span(atom.source)
    text = escape(atom.source)
    if text.endswith("!") and at + 1 < len(atoms):
        after = atoms[at + 1]
        if after.kind == RAW and after.source.startswith("["):
            return f"{text[:-1]}\\!"  # before a link it would make an image
    return text


def _merge(atoms: list[_Atom]) -> list[_Atom]:
    """Join neighbours of one kind and emphasis: escaping looks at whole texts, and two code spans would read as one.

    Emphasised white space stays apart: markers may have to stand at its sides.
    """
    merged: list[_Atom] = []
    parts: list[str] = []
    for atom in atoms:
        last = merged[-1] if merged else None
        if last is not None and last.kind == atom.kind != RAW and last.style == atom.style:
            is_space = atom.kind == TEXT and (atom.source.isspace() or last.source.isspace())
            if not (atom.style and is_space):
                parts = parts or [last.source]
                parts.append(atom.source)
                continue
        if parts:
            merged[-1].source = "".join(parts)
            parts = []
        merged.append(atom)
    if parts:
        merged[-1].source = "".join(parts)
    return merged


def _tidy_spaces(atoms: list[_Atom]) -> list[_Atom]:
    """Separate white space from code and emphasised text; drop it at both ends and around breaks."""
    kept: list[_Atom] = []
    is_start = True
    for atom in _split_spaces(atoms):
        if atom.source == _HARD_BREAK:
            _strip_end(kept)
            if is_start:
                continue
            is_start = True
        else:
            if atom.kind == TEXT and is_start:
                atom.source = atom.source.lstrip()
                if not atom.source:
                    continue
            is_start = False
        kept.append(atom)
    _strip_end(kept)
    if kept and kept[-1].source == _HARD_BREAK:
        kept.pop()
    _limit_space_style(kept)
    return kept


def _split_spaces(atoms: list[_Atom]) -> list[_Atom]:
    split: list[_Atom] = []
    for atom in atoms:
        text, style, kind = atom.source, atom.style, atom.kind
        inner = text if kind == RAW or (kind == TEXT and not style) else text.strip()
        if not inner:
            atom.kind = TEXT
        if not inner or len(inner) == len(text):
            split.append(atom)
            continue
        start = text.index(inner)
        parts = (text[:start], TEXT), (inner, kind), (text[start + len(inner) :], TEXT)
        split += [_Atom(part, style, part_kind) for part, part_kind in parts if part]
    return split


def _strip_end(atoms: list[_Atom]) -> None:
    while atoms and atoms[-1].kind == TEXT:
        atoms[-1].source = atoms[-1].source.rstrip()
        if atoms[-1].source:
            return
        atoms.pop()


def _limit_space_style(atoms: list[_Atom]) -> None:
    """Take emphasis from white space and breaks that their neighbours do not have."""
    before = 0
    spaces: list[_Atom] = []
    for atom in atoms:
        if atom.source.isspace():
            spaces.append(atom)
            continue
        common = before & atom.style
        for space in spaces:
            common &= space.style
        for space in spaces:
            space.style = common
        spaces.clear()
        before = atom.style
    for space in spaces:
        space.style = 0


def _class_of(char: str) -> int:
    if char.isalnum():
        return _WORD
    if char.isspace():
        return _SPACE
    category = unicodedata.category(char)[0]
    # Symbols beyond ASCII are punctuation since CommonMark 0.31, and were not before.
    return _PUNCTUATION if char.isascii() or category == "P" else _UNSURE if category == "S" else _WORD


def _edge(atoms: list[_Atom], at: int, side: int) -> int:
    """Return the class of the first (0) or last (-1) character of an atom; beyond both ends of a line there is white space."""
    if not 0 <= at < len(atoms):
        return _SPACE
    atom = atoms[at]
    return _class_of(atom.source[side]) if atom.kind == TEXT or atom.source == _HARD_BREAK else _PUNCTUATION


def _shrink(atoms: list[_Atom], *, is_opening: bool) -> list[_Atom]:
    """Move punctuation out of emphasis that begins (or ends) between it and a letter."""
    inner_side, outer_side = (0, -1) if is_opening else (-1, 0)
    shrunk: list[_Atom] = []
    for atom in atoms if is_opening else reversed(atoms):
        if shrunk and atom.style & ~shrunk[-1].style and not atom.source.isspace():
            outer, inner = _edge(shrunk, len(shrunk) - 1, outer_side), _edge([atom], 0, inner_side)
            if outer in {_WORD, _UNSURE} and inner in {_PUNCTUATION, _UNSURE}:
                source, common = atom.source, atom.style & shrunk[-1].style
                cut = _punctuation_length(source, is_opening=is_opening) if atom.kind == TEXT else len(source)
                if cut == len(source):
                    atom.style = common
                else:
                    outside, atom.source = (source[:cut], source[cut:]) if is_opening else (source[-cut:], source[:-cut])
                    shrunk.append(_Atom(outside, common, TEXT))
        shrunk.append(atom)
    return shrunk if is_opening else shrunk[::-1]


def _punctuation_length(text: str, *, is_opening: bool) -> int:
    length = 0
    for char in text if is_opening else reversed(text):
        if _class_of(char) not in {_PUNCTUATION, _UNSURE}:
            break
        length += 1
    return length


# Markers, and whether CommonMark pairs them as meant

_Boundary: TypeAlias = tuple[list[int], list[int]]
"""The bits whose markers close (inner first) and open (outer first) before an atom."""


def _find_boundaries(atoms: list[_Atom]) -> list[_Boundary]:
    """Return what closes and opens before each atom and after the last one; the emphasis that lasts longest is outermost."""
    ends = {bit: _span_ends(atoms, bit) for bit in _BITS}
    open_bits: list[int] = []
    boundaries: list[_Boundary] = []
    for at, atom in enumerate(atoms):
        style = atom.style
        closed: list[int] = []
        while sum(open_bits) & ~style:
            closed.append(open_bits.pop())
        opened = [bit for bit in _BITS if style & bit and bit not in open_bits]
        if opened and atom.source.isspace():
            # Emphasis that had to be closed for another one opens again after the white space.
            atom.style = sum(open_bits)
            opened = []
        if len(opened) > 1:
            opened.sort(key=lambda bit: -ends[bit][at])
        open_bits += opened
        boundaries.append((closed, opened))
    boundaries.append((open_bits[::-1], []))
    return boundaries


def _span_ends(atoms: list[_Atom], bit: int) -> list[int]:
    """Return, for each atom, where the span with this bit ends that it is in."""
    end = len(atoms)
    ends = [0] * end
    for at in range(end - 1, -1, -1):
        if not atoms[at].style & bit:
            end = at
        ends[at] = end
    return ends


class _DelimiterRun:
    """Several markers of one character in a row. `left`: how many characters of it no pair has used yet."""

    __slots__ = ("can_close", "can_open", "char", "closed", "left", "length", "opened", "place")

    def __init__(self, char: str, place: int) -> None:
        self.char = char
        self.place = place
        self.length = self.left = 0
        self.can_open = self.can_close = False
        self.opened: list[int] = []
        self.closed: list[int] = []


def _drop_misread(atoms: list[_Atom], boundaries: list[_Boundary]) -> bool:
    """Drop the emphasis whose markers CommonMark would pair in another way than meant. Returns whether there was any."""
    misread = _misread_places(atoms, boundaries, _PUNCTUATION) | _misread_places(atoms, boundaries, _WORD)
    for place in misread:
        closed, opened = boundaries[place]
        for bit in closed:
            _clear(atoms, place - 1, -1, bit)
        for bit in opened:
            _clear(atoms, place, 1, bit)
    return bool(misread)


def _clear(atoms: list[_Atom], at: int, step: int, bit: int) -> None:
    while 0 <= at < len(atoms) and atoms[at].style & bit:
        atoms[at].style &= ~bit
        at += step


def _misread_places(atoms: list[_Atom], boundaries: list[_Boundary], unsure_as: int) -> set[int]:
    """Return the places where the pairs that CommonMark forms are not the ones meant."""
    runs: list[_DelimiterRun] = []
    for place, (closed, opened) in enumerate(boundaries):
        first = len(runs)
        for bit in (*closed, *opened):
            marker = _MARKERS[bit]
            if len(runs) == first or runs[-1].char != marker[0]:
                runs.append(_DelimiterRun(marker[0], place))
            runs[-1].length += len(marker)
            runs[-1].left += len(marker)
        for at in range(first, len(runs)):
            before = _edge(atoms, place - 1, -1) if at == first else _PUNCTUATION
            after = _edge(atoms, place, 0) if at == len(runs) - 1 else _PUNCTUATION
            _set_flanking(runs[at], unsure_as if before == _UNSURE else before, unsure_as if after == _UNSURE else after)
    _pair(runs)
    pairs: dict[int, _Boundary] = {}
    misread: set[int] = set()
    for run in runs:
        closed, opened = pairs.setdefault(run.place, ([], []))
        closed += run.closed
        opened += reversed(run.opened)
        if run.left:
            misread.add(run.place)
    return misread.union(place for place, pair in pairs.items() if pair != boundaries[place])


def _set_flanking(run: _DelimiterRun, before: int, after: int) -> None:
    run.can_open = after != _SPACE and (after == _WORD or before != _WORD)
    run.can_close = before != _SPACE and (before == _WORD or after != _WORD)


def _pair(runs: list[_DelimiterRun]) -> None:
    """Pair delimiter runs as the appendix of the CommonMark specification does ("process emphasis")."""
    before = list(range(-1, len(runs) - 1))  # the run before each that still counts
    bottoms: dict[tuple[str, bool, int], int] = {}
    for at, closer in enumerate(runs):
        while closer.can_close and closer.left:
            key = (closer.char, closer.can_open, closer.length % 3)
            bottom = bottoms.get(key, -1)
            opener_at = before[at]
            while opener_at > bottom and not _fits(runs[opener_at], closer):
                opener_at = before[opener_at]
            if opener_at <= bottom:
                bottoms[key] = before[at]
                break
            opener = runs[opener_at]
            count = 2 if opener.left >= 2 and closer.left >= 2 else 1
            bit = STRIKE if closer.char == "~" else STRONG if count == 2 else EM
            opener.left -= count
            closer.left -= count
            opener.opened.append(bit)
            closer.closed.append(bit)
            before[at] = opener_at if opener.left else before[opener_at]
        if at + 1 < len(runs) and (not closer.left or not (closer.can_open or closer.can_close)):
            before[at + 1] = before[at]


def _fits(opener: _DelimiterRun, closer: _DelimiterRun) -> bool:
    if opener.char != closer.char or not opener.can_open or not opener.left:
        return False
    if not (opener.can_close or closer.can_open):
        return True
    return (opener.length + closer.length) % 3 != 0 or (opener.length % 3 == 0 and closer.length % 3 == 0)


# Names and values, or two facts, that only a style sheet keeps apart

_NAME_CLASS = re.compile(r"(?:^|[\s_-])(?:name|label|key|term)(?=$|[\s_-])", re.IGNORECASE)
_VALUE_CLASS = re.compile(r"(?:^|[\s_-])(?:value|data|desc|description)(?=$|[\s_-])", re.IGNORECASE)
# The characters on both sides. Scripts that separate words by spaces end before U+0590.
_TOUCHING_PAIR = re.compile(r".*[0-9A-Za-z\u00c0-\u058f)%]\n[0-9A-Za-z\u00c0-\u058f$€£¥(#+-].?")
# Words of one letter are initials or formulas, and a small letter goes on with a word.
_TOUCHING_FACTS = re.compile(r"\S[0-9A-Za-z\u00c0-\u058f]\n(?:[0-9A-Z][0-9A-Za-z\u00c0-\u058f%]|\d\s?)|.?\d\n[$€£¥]\d")
_MAX_PAIR_NODES = 8


class Gaps:
    """Tells where words have to be separated that touch each other in the markup."""

    def __init__(self) -> None:
        self._holds_text: dict[dom.AnyNode | None, bool] = {}

    def before(self, element: dom.Element, class_: str, leaves: Sequence[Leaf]) -> str:
        """Return what has to stand between an element and the one that touches it; empty when they are one word."""
        before = dom.as_element(element.previous_sibling)
        class_before = before.attr("class") if before is not None else None
        if not class_before or class_before == class_ or not leaves or leaves[-1][0] != TEXT:
            return ""
        is_pair = _NAME_CLASS.search(class_before) is not None and _VALUE_CLASS.search(class_) is not None
        texts = filter(None, map(dom.as_text, islice(element.descendants, _MAX_PAIR_NODES)))
        start = next((text.data for text in texts if not text.data.isspace()), "")
        pattern = _TOUCHING_PAIR if is_pair else _TOUCHING_FACTS
        if not pattern.fullmatch(f"{leaves[-1][1][-2:]}\n{start[:2]}") or self._is_in_text(element):
            return ""
        return ": " if is_pair else " "

    def _is_in_text(self, element: dom.Element) -> bool:
        """Whether the parent of an element has text of its own around it."""
        around = element.parent
        if around not in self._holds_text:
            self._holds_text[around] = around is None or not all(
                isinstance(node, dom.Element) or dom.is_blank(node) for node in around.children
            )
        return self._holds_text[around]


# Raised and lowered text

# Numbers and the names of variables; `st`, `th`, `e` and `TM` are no powers.
_SHIFTED = {
    "sup": (
        re.compile(r"[-+\u2212]?(?:\d{1,6}[bcdfghijklmnprtuvwxyz]?|[bcdfghijklmnprtuvwxyzT])(?:[-+\u2212]\d{0,3})?|[-+\u2212]"),
        str.maketrans("0123456789+-\u2212=()bcdfghijklmnprtuvwxyzT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵇᶜᵈᶠᵍʰⁱʲᵏˡᵐⁿᵖʳᵗᵘᵛʷˣʸᶻᵀ"),
    ),
    "sub": (
        re.compile(r"(?:\d{1,6}|[aehijklmnoprstuvx])(?:[-+\u2212]\d{0,3})?"),
        str.maketrans("0123456789+-\u2212=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"),
    ),
}


def shifted_text(tag: str, text: str) -> str:
    """The text of a `sup` or `sub` in raised or lowered characters; empty where there are none for all of it."""
    pattern, spelling = _SHIFTED[tag]
    return text.translate(spelling) if pattern.fullmatch(text) else ""


# Controls of the page among its text

ANCHOR_CLASS = re.compile(
    r"(?:^|[\s_-])(?:headerlink|header-?anchor|anchor|anchor-?link|anchorjs-link|permalink|hash-?link|heading-?(?:anchor|link)|self-?link"
    r"|direct-?link|edit-?link|edit-?section)(?=$|[\s_-])",
    re.IGNORECASE,
)
"""Class of the link from a heading to itself, or to where it is edited."""
_SEPARATOR_CLASS = re.compile(r"(?:^|[\s_-])(?:sep|separator|divider)(?=$|\s)", re.IGNORECASE)
_TOGGLE = re.compile(
    r"\[?(?:click to )?(?:expand|collapse|show|hide|toggle|view)"
    r"(?: (?:all|code|content|description|details|example|less|more|(?:the )?source(?: code)?))?\]?",
    re.IGNORECASE,
)
"""The whole label of a control that only says that it opens something."""
_PERMALINK = re.compile(r"\s*(?:permalink|permanent link|(?:direct )?link to this|copy link)", re.IGNORECASE)
_CODE_CONTROL = re.compile(r"(?:run|copy|edit|try it)(?: (?:it|code|this code|yourself))?\W*", re.IGNORECASE)
"""The whole text of a link below a listing that does something with it."""


def is_toggle(label: dom.Element) -> bool:
    """Whether all that an element says is that it opens or closes something."""
    return _TOGGLE.fullmatch(dom.one_line_text(label)) is not None


def is_separator(element: dom.Element, class_: str) -> bool:
    """Whether an element is empty and stands for the sign that a style puts between two words."""
    return _SEPARATOR_CLASS.search(class_) is not None and not element.text


def is_control(link: dom.Element, href: str, *, is_after_code: bool) -> bool:
    """Whether a link is a button: a sign that links to its place or runs a script, or "Run" below a listing."""
    is_script = href[:11].lower() == "javascript:"
    if (is_script or _PERMALINK.match(link.attr("title") or "")) and not any(map(str.isalnum, link.text)):
        return True
    if not is_after_code or _CODE_CONTROL.fullmatch(dom.one_line_text(link)) is None:
        return False
    return all(map(dom.is_blank, link.next_siblings))
