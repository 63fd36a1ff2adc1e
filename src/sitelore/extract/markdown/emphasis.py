"""Emphasis: where markers may stand so that CommonMark reads them as meant (spec 0.31, section 6.2).

A marker between a letter and a punctuation mark is not read as one. There the punctuation moves out of the emphasis; emphasis
that cannot be expressed at all is dropped, its words stay.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from sitelore.extract.markdown.escape import code_span

EM, STRONG, STRIKE = 1, 2, 4
PLAIN, CODE_SPAN, MARKUP = 0, 1, 2
HARD_BREAK = "  \n"
_BITS = (STRIKE, EM, STRONG)
_MARKERS = {EM: "*", STRONG: "**", STRIKE: "~~"}
_SPACE, _PUNCTUATION, _WORD, _UNSURE = 0, 1, 2, 3
_ROUNDS = 3


class Atom:
    """A piece of a line with its emphasis: plain text (not escaped yet), the text of a code span, or finished Markdown."""

    __slots__ = ("kind", "source", "style")

    def __init__(self, source: str, style: int, kind: int) -> None:
        self.source = source
        self.style = style
        self.kind = kind


def joined(atoms: list[Atom], escape: Callable[[str], str]) -> str:
    """Write atoms as one string, with markers where emphasis begins and ends."""
    atoms = _merged(atoms)
    simple = _joined_simply(atoms, escape)
    if simple is not None:
        return simple
    atoms = _tidied(atoms)
    atoms = _merged(_shrunk(_shrunk(atoms, is_opening=True), is_opening=False))
    for _ in range(_ROUNDS):
        boundaries = _boundaries(atoms)
        if not _drop_misread(atoms, boundaries):
            break
        atoms = _merged(atoms)
    else:
        for atom in atoms:
            atom.style = 0
        atoms = _merged(atoms)
        boundaries = _boundaries(atoms)
    parts: list[str] = []
    for (closed, opened), source in zip(boundaries, [*_written(atoms, escape), ""], strict=True):
        parts += [_MARKERS[bit] for bit in closed]
        parts += [_MARKERS[bit] for bit in opened]
        parts.append(source)
    return "".join(parts)


def _joined_simply(atoms: list[Atom], escape: Callable[[str], str]) -> str | None:
    """Write atoms whose emphasis begins and ends at whole words, as most does; None for all others, and where lines break."""
    parts: list[str] = []
    end = len(atoms) - 1
    for at, atom in enumerate(atoms):
        source, kind = atom.source, atom.kind
        if atom.style:
            marker = _MARKERS.get(atom.style)
            if marker is None or kind != PLAIN or not source[0].isalnum() or not source[-1].isalnum():
                return None
            if (at and not _is_outside(atoms[at - 1], -1)) or (at < end and not _is_outside(atoms[at + 1], 0)):
                return None
            parts += (marker, escape(source), marker)
        elif kind == PLAIN:
            parts.append(_before(escape(source), atoms[at + 1] if at < end else None))
        elif kind == CODE_SPAN:
            if source[0].isspace() or source[-1].isspace():
                return None
            parts.append(code_span(source))
        elif source == HARD_BREAK:
            return None
        else:
            parts.append(source)
    return "".join(parts).strip()


def _is_outside(atom: Atom, at: int) -> bool:
    """Whether an atom without emphasis has white space or punctuation next to one with emphasis."""
    if atom.style:
        return False
    char = atom.source[at]
    return atom.kind != PLAIN or char.isspace() or (char.isascii() and not char.isalnum())


def _tidied(atoms: list[Atom]) -> list[Atom]:
    """Separate white space from code and emphasised text; drop it at both ends and around breaks."""
    kept: list[Atom] = []
    is_start = True
    for atom in _split_spaces(atoms):
        if atom.source == HARD_BREAK:
            _strip_end(kept)
            if is_start:
                continue
            is_start = True
        else:
            if atom.kind == PLAIN and is_start:
                atom.source = atom.source.lstrip()
                if not atom.source:
                    continue
            is_start = False
        kept.append(atom)
    _strip_end(kept)
    if kept and kept[-1].source == HARD_BREAK:
        kept.pop()
    _style_spaces(kept)
    return kept


def _split_spaces(atoms: list[Atom]) -> list[Atom]:
    split: list[Atom] = []
    for atom in atoms:
        text, kind = atom.source, atom.kind
        inner = text if kind == MARKUP or (kind == PLAIN and not atom.style) else text.strip()
        if not inner:
            atom.kind = PLAIN
        if not inner or len(inner) == len(text):
            split.append(atom)
            continue
        start = text.index(inner)
        end = start + len(inner)
        parts = (Atom(text[:start], atom.style, PLAIN), Atom(inner, atom.style, kind), Atom(text[end:], atom.style, PLAIN))
        split += [part for part in parts if part.source]
    return split


def _strip_end(atoms: list[Atom]) -> None:
    while atoms and atoms[-1].kind == PLAIN:
        atoms[-1].source = atoms[-1].source.rstrip()
        if atoms[-1].source:
            return
        atoms.pop()


def _style_spaces(atoms: list[Atom]) -> None:
    """Take emphasis from white space and breaks that their neighbours do not have."""
    before = 0
    spaces: list[Atom] = []
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


def _edge(atom: Atom, at: int) -> int:
    """Return the class of an atom's first (0) or last (-1) character."""
    return _class_of(atom.source[at]) if atom.kind == PLAIN or atom.source == HARD_BREAK else _PUNCTUATION


def _shrunk(atoms: list[Atom], *, is_opening: bool) -> list[Atom]:
    """Move punctuation out of emphasis that begins (or ends) between it and a letter."""
    inner_at, outer_at = (0, -1) if is_opening else (-1, 0)
    done: list[Atom] = []
    outside: Atom | None = None
    for atom in atoms if is_opening else reversed(atoms):
        if outside is not None and atom.style & ~outside.style and not atom.source.isspace():
            outer, inner = _edge(outside, outer_at), _edge(atom, inner_at)
            if outer in {_WORD, _UNSURE} and inner in {_PUNCTUATION, _UNSURE}:
                common = atom.style & outside.style
                cut = _punctuation_length(atom.source, is_opening=is_opening) if atom.kind == PLAIN else len(atom.source)
                if cut == len(atom.source):
                    atom.style = common
                elif is_opening:
                    done.append(Atom(atom.source[:cut], common, PLAIN))
                    atom.source = atom.source[cut:]
                else:
                    done.append(Atom(atom.source[-cut:], common, PLAIN))
                    atom.source = atom.source[:-cut]
        done.append(atom)
        outside = atom
    if not is_opening:
        done.reverse()
    return done


def _punctuation_length(text: str, *, is_opening: bool) -> int:
    length = 0
    for char in text if is_opening else reversed(text):
        if _class_of(char) not in {_PUNCTUATION, _UNSURE}:
            break
        length += 1
    return length


def _merged(atoms: list[Atom]) -> list[Atom]:
    """Join neighbours of one kind and emphasis: escaping looks at whole texts, and two code spans would read as one.

    Emphasised white space stays apart: markers may have to stand at its sides.
    """
    merged: list[Atom] = []
    parts: list[str] = []
    for atom in atoms:
        last = merged[-1] if merged else atom
        is_same = merged and last.kind == atom.kind != MARKUP and last.style == atom.style
        if is_same and not (atom.style and atom.kind == PLAIN and (atom.source.isspace() or last.source.isspace())):
            parts.append(atom.source)
            continue
        if len(parts) > 1:
            merged[-1].source = "".join(parts)
        merged.append(atom)
        parts = [atom.source]
    if len(parts) > 1:
        merged[-1].source = "".join(parts)
    return merged


def _written(atoms: list[Atom], escape: Callable[[str], str]) -> list[str]:
    """Write each atom as Markdown."""
    written = []
    for at, atom in enumerate(atoms):
        if atom.kind == PLAIN:
            written.append(_before(escape(atom.source), atoms[at + 1] if at + 1 < len(atoms) else None))
        else:
            written.append(code_span(atom.source) if atom.kind == CODE_SPAN else atom.source)
    return written


def _before(text: str, after: Atom | None) -> str:
    """Escape an exclamation mark before a link, which would make it an image."""
    is_image = text.endswith("!") and after is not None and after.kind == MARKUP and after.source.startswith("[")
    return f"{text[:-1]}\\!" if is_image else text


_Boundary = tuple[list[int], list[int]]
"""The bits whose markers close (inner first) and open (outer first) before an atom."""


def _boundaries(atoms: list[Atom]) -> list[_Boundary]:
    """Return what closes and opens before each atom and after the last one; the emphasis that lasts longest is outermost."""
    ends = _span_ends(atoms)
    open_: list[int] = []
    boundaries: list[_Boundary] = []
    for at, atom in enumerate(atoms):
        style = atom.style
        closed: list[int] = []
        while any(not style & bit for bit in open_):
            closed.append(open_.pop())
        missing = [bit for bit in _BITS if style & bit and bit not in open_]
        if missing and atom.source.isspace():
            # Emphasis that had to be closed for another one opens again after the white space.
            atom.style = sum(open_)
            missing = []
        if len(missing) > 1:
            missing.sort(key=lambda bit: -ends[bit][at])
        open_ += missing
        boundaries.append((closed, missing))
    boundaries.append((open_[::-1], []))
    return boundaries


def _span_ends(atoms: list[Atom]) -> dict[int, list[int]]:
    """For each bit, the place where the span ends that each atom is in."""
    ends: dict[int, list[int]] = {}
    for bit in _BITS:
        end, found = len(atoms), [0] * len(atoms)
        for at in range(len(atoms) - 1, -1, -1):
            if not atoms[at].style & bit:
                end = at
            found[at] = end
        ends[bit] = found
    return ends


class _Run:
    """A delimiter run: several markers of one character in a row."""

    __slots__ = ("can_close", "can_open", "char", "closed", "left", "length", "opened", "place")

    def __init__(self, char: str, length: int, place: int) -> None:
        self.char = char
        self.length = self.left = length
        self.place = place
        self.can_open = self.can_close = False
        self.opened: list[int] = []
        self.closed: list[int] = []


def _drop_misread(atoms: list[Atom], boundaries: list[_Boundary]) -> bool:
    """Drop the emphasis whose markers CommonMark would pair in another way than meant. Says whether there was any."""
    if _is_unambiguous(atoms, boundaries):
        return False
    wrong: set[int] = set()
    for unsure_as in (_PUNCTUATION, _WORD):
        wrong |= _misread(atoms, boundaries, unsure_as)
    for place in wrong:
        closed, opened = boundaries[place]
        for bit in closed:
            _clear(atoms, place - 1, -1, bit)
        for bit in opened:
            _clear(atoms, place, 1, bit)
    return bool(wrong)


def _clear(atoms: list[Atom], at: int, step: int, bit: int) -> None:
    while 0 <= at < len(atoms) and atoms[at].style & bit:
        atoms[at].style &= ~bit
        at += step


def _is_unambiguous(atoms: list[Atom], boundaries: list[_Boundary]) -> bool:
    """Whether every marker stands alone between white space, or punctuation, and a letter: then no pairing can go wrong."""
    for at, (closed, opened) in enumerate(boundaries):
        if not closed and not opened:
            continue
        if len(closed) + len(opened) > 1:
            return False
        before = _edge(atoms[at - 1], -1) if at else _SPACE
        after = _edge(atoms[at], 0) if at < len(atoms) else _SPACE
        outer, inner = (before, after) if opened else (after, before)
        if outer in {_WORD, _UNSURE} or (inner != _WORD and outer != _SPACE):
            return False
    return True


def _misread(atoms: list[Atom], boundaries: list[_Boundary], unsure_as: int) -> set[int]:
    """The places where the pairs that CommonMark forms are not the ones meant."""
    runs: list[_Run] = []
    for place, (closed, opened) in enumerate(boundaries):
        first = len(runs)
        for bit in (*closed, *opened):
            marker = _MARKERS[bit]
            if len(runs) > first and runs[-1].char == marker[0]:
                runs[-1].length += len(marker)
                runs[-1].left += len(marker)
            else:
                runs.append(_Run(marker[0], len(marker), place))
        for at in range(first, len(runs)):
            before = (_edge(atoms[place - 1], -1) if place else _SPACE) if at == first else _PUNCTUATION
            after = (_edge(atoms[place], 0) if place < len(atoms) else _SPACE) if at == len(runs) - 1 else _PUNCTUATION
            _set_flanking(runs[at], unsure_as if before == _UNSURE else before, unsure_as if after == _UNSURE else after)
    _pair(runs)
    found: dict[int, tuple[list[int], list[int]]] = {}
    wrong: set[int] = set()
    for run in runs:
        closed, opened = found.setdefault(run.place, ([], []))
        closed += run.closed
        opened += reversed(run.opened)
        if run.left:
            wrong.add(run.place)
    wrong.update(place for place, pair in found.items() if pair != boundaries[place])
    return wrong


def _set_flanking(run: _Run, before: int, after: int) -> None:
    run.can_open = after != _SPACE and (after == _WORD or before != _WORD)
    run.can_close = before != _SPACE and (before == _WORD or after != _WORD)


def _pair(runs: list[_Run]) -> None:
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


def _fits(opener: _Run, closer: _Run) -> bool:
    if opener.char != closer.char or not opener.can_open or not opener.left:
        return False
    if not (opener.can_close or closer.can_open):
        return True
    return (opener.length + closer.length) % 3 != 0 or (opener.length % 3 == 0 and closer.length % 3 == 0)
