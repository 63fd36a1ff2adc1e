"""Find and cut text that the page's own `style` elements hide. External style sheets are not fetched, and there is no cascade.

Most elements that a rule hides are shown again by a script: tabs, answers, sections that fade in. So `display: none` counts
only when nothing else in the page mentions the name and the hidden text is short. Text that is moved off the screen, shrunk to
nothing or painted in its background's colour is never shown again: it is always cut, except headings, which are there for
screen readers.

Elements are indexed by class and id once, and selectors are looked up in that index, so that time grows with the size of the
page and not with the number of selectors times the number of elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import re2

from sitelore.extract import dom
from sitelore.extract.content.visibility import folded, is_unpainted

_MAX_SHEET_CHARS = 16_000  # longer sheets are generated: most of what they hide is shown again by rules only a cascade resolves
_MAX_LONG_SHEET_CHARS = 400_000
_MAX_SCRIPT_CHARS = 300_000
_MAX_SCRIPTS_CHARS = 2_000_000
_MAX_NAME_SEARCHES = 100  # each is a search through the scripts of the page
_MAX_SELECTOR_CHARS = 200
_MAX_CHECKS = 100_000  # of one element against one selector
_MAX_SIZED = 300  # measuring an element takes time in proportion to everything below it
_SHORT_CHARS = 300
_SHORT_SHARE = 0.08

_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_HINT = re2.compile(
    rb"(?i)display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|:\s*-\d{4}|font-size\s*:\s*(?:0|\.|1p|1\.)|clip\s*:\s*rect"
    rb"|clip-path\s*:\s*inset|[;{\s]color\s*:\s*(?:transparent|white|#fff)"
)
_CONCEALED_HINT = re2.compile(rb"(?i):\s*-\d{4}|font-size\s*:\s*(?:0|\.|1p|1\.)|clip\s*:\s*rect|clip-path\s*:\s*inset")
_BRACE = re.compile(r"([{}])")
# One element with its classes and id. Combinators, attributes and pseudo-classes select a state of the page.
_PLAIN = re.compile(r"(?:[a-z][a-z0-9]*)?(?:[.#][a-z_][\w-]*)+$", re.IGNORECASE)
_NAME = re.compile(r"[.#]([a-z_][\w-]*)", re.IGNORECASE)
_KEY = re.compile(r"[.#][a-z_][\w-]*", re.IGNORECASE)
_GONE = re.compile(r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)")
_CONCEALED = re.compile(
    r"font-size\s*:\s*(?:0(?:\.0*)?\s*(?:[a-z%]+\s*)?|(?:0?\.\d+|1(?:\.0*)?)\s*px\s*)(?:;|!|$)"
    r"|(?:^|[;\s])(?:left|top|right|bottom|margin-left|margin-top|text-indent)\s*:\s*-\d{4,}\s*(?:px|pt|em|rem|%|vw|vh)"
    r"|(?:^|[;\s])clip\s*:\s*rect\(\s*(?:0|1)(?:px)?(?:[\s,]+(?:0|1)(?:px)?){3}\s*\)|clip-path\s*:\s*inset\(\s*(?:50|100)%"
)
_BACK = re.compile(r"display\s*:\s*(?!none)[a-z]|visibility\s*:\s*visible|opacity\s*:\s*(?:1|0?\.[5-9])")
_ALWAYS = re.compile(r"@(?:layer|supports|container|media\s+(?:only\s+)?(?:screen|all)\s*$)", re.IGNORECASE)
_SEEN_MEDIA = frozenset({"", "all", "screen"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})

_Index: TypeAlias = dict[str, list[dom.Element]]
"""Elements by `.class` and `#id`, in lower case: whether case matters depends on the page's mode, which the parser checks."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The plain selectors of a sheet that hide something, and the names that other rules show again."""

    gone: tuple[str, ...] = ()
    concealed: tuple[str, ...] = ()
    shown_again: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Hiding:
    """The style sheets of a page that may hide something, and other places that may mention the same names."""

    sheets: tuple[str, ...] = ()
    long_sheets: tuple[str, ...] = ()
    """Sheets that are too long to be read whole: only their rules that conceal text count."""
    scripts: tuple[dom.Element, ...] = ()
    unread: tuple[dom.Element, ...] = ()
    """Style elements with long sheets."""

    def beside(self, tree: dom.Tree) -> Hiding:
        """Add the scripts and unread sheets of the tree; call it before they are cut."""
        if not self.sheets and not self.long_sheets:
            return self
        unread = [style for style in dom.select(tree, "style") if len(dom.raw_text(style)) > _MAX_SHEET_CHARS]
        return Hiding(self.sheets, self.long_sheets, tuple(dom.select(tree, "script")), tuple(unread))

    @property
    def names(self) -> set[str]:
        """Classes and ids, without their sign: every element that the sheets hide has one of them."""
        names = {name for sheet in self.sheets for name in _candidate_names(sheet)}
        return names.union(*(_concealed_names(sheet) for sheet in self.long_sheets))


NO_HIDING = Hiding()


def read_hiding(sheets: list[tuple[str, str]]) -> Hiding:
    """Keep the sheets that may hide something on a screen. Each is given with its `media` attribute."""
    seen = [sheet for media, sheet in sheets if media.strip().lower() in _SEEN_MEDIA]
    hiding = tuple([sheet for sheet in seen if len(sheet) <= _MAX_SHEET_CHARS and _may_hide(sheet)])
    long_sheets = tuple([sheet for sheet in seen if _MAX_SHEET_CHARS < len(sheet) <= _MAX_LONG_SHEET_CHARS])
    return Hiding(hiding, long_sheets) if hiding or long_sheets else NO_HIDING


@lru_cache(maxsize=64)
def _may_hide(sheet: str) -> bool:
    return _HINT.search(sheet.encode("utf-8", "replace")) is not None


def drop_hidden(hiding: Hiding, tree: dom.Tree, nodes: Sequence[dom.Node]) -> None:
    """Cut what the sheets hide from the chosen nodes of a tree."""
    names = {name.lower() for name in hiding.names}
    if not names:
        return
    index = _indexed(nodes)
    # Parsing a sheet takes as long as writing the page: do it only when a name of it occurs.
    if not any(key[1:] in names for key in index):
        return
    sheets = [_read_sheet(sheet) for sheet in hiding.sheets]
    shown_again = {name for sheet in sheets for name in sheet.shown_again}
    mentions = _Mentions(shown_again, (*hiding.unread, *hiding.scripts))
    concealed = _matching([one for sheet in sheets for one in sheet.concealed], index, mentions)
    if hiding.long_sheets:
        named_once = [selector for sheet in hiding.long_sheets for selector in _concealed_selectors(sheet)]
        concealed += _matching(named_once, index, _Mentions(shown_again, hiding.scripts))
    if concealed:
        heads = _around_headings(nodes)
        for element in concealed:
            if element not in heads:
                dom.drop(element)
        index = _indexed(nodes)
    if gone := _matching([one for sheet in sheets for one in sheet.gone], index, mentions):
        _drop_gone(tree, nodes, gone)


def _indexed(nodes: Sequence[dom.Node]) -> _Index:
    """Index the elements below the nodes."""
    index: _Index = {}
    for node in nodes:
        for element, classes, own in dom.named(node):
            if element is node:
                continue
            for name in set(classes.lower().split()):
                index.setdefault(f".{name}", []).append(element)
            if own:
                index.setdefault(f"#{own.lower()}", []).append(element)
    return index


def _matching(selectors: Iterable[str], index: _Index, mentions: _Mentions) -> list[dom.Element]:
    """The elements that plain selectors match, without names that the page mentions elsewhere."""
    matching: dict[dom.Element, None] = {}
    checks = 0
    for selector in dict.fromkeys(selectors):
        # An element that matches has all of the names: look only at those that have the rarest one.
        candidates = min((index.get(key.lower(), []) for key in _KEY.findall(selector)), key=len)
        checks += len(candidates)
        if checks > _MAX_CHECKS:
            break
        matched = [element for element in candidates if dom.matches(element, selector)]
        if matched and not any(map(mentions.has, _NAME.findall(selector))):
            matching.update(dict.fromkeys(matched))
    return list(matching)


class _Mentions:
    """Names that the page shows again, or mentions in scripts and in sheets that are not read."""

    def __init__(self, shown_again: set[str], elsewhere: Iterable[dom.Element]) -> None:
        self._shown_again = shown_again
        self._elsewhere = elsewhere
        self._known: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Whether a name is mentioned. After too many searches every further name counts as mentioned, and nothing is cut."""
        if name in self._shown_again:
            return True
        if name not in self._known:
            self._known[name] = len(self._known) >= _MAX_NAME_SEARCHES or self._search(name)
        return self._known[name]

    def _search(self, name: str) -> bool:
        # RE2 searches in linear time, whatever name and text are.
        return bool(self._text) and re2.search(re2.escape(name), self._text) is not None

    @cached_property
    def _text(self) -> bytes:
        """The start of every script."""
        parts: list[str] = []
        left = _MAX_SCRIPTS_CHARS
        for element in self._elsewhere:
            parts.append(dom.raw_text(element)[: min(left, _MAX_SCRIPT_CHARS)])
            left -= len(parts[-1])
            if left <= 0:
                break
        return "\n".join(parts).encode("utf-8", "replace")


def _around_headings(nodes: Sequence[dom.Node]) -> set[dom.Element]:
    """Headings and every element that holds one."""
    around: set[dom.Element] = set()
    for node in nodes:
        for heading in dom.elements_list(node, *_HEADINGS):
            around.add(heading)
            for ancestor in heading.ancestors:
                element = dom.as_element(ancestor)
                if element is None or element in around:
                    break
                around.add(element)
    return around


def _drop_gone(tree: dom.Tree, nodes: Sequence[dom.Node], gone: list[dom.Element]) -> None:
    """Drop hidden elements, unless a click opens them or they hold so much text that something must show them."""
    opened = folded(tree, gone)
    gone = [element for element in gone if element not in opened]
    whole = sum(len(dom.raw_text(node)) for node in nodes)
    limit = min(max(_SHORT_CHARS, _SHORT_SHARE * whole), whole / 2)
    size = 0
    for element in gone[:_MAX_SIZED]:
        size += len(dom.raw_text(element).strip())
        if size > limit:
            return
    if size < whole / 2:
        for element in gone:
            dom.drop(element)


@lru_cache(maxsize=64)
def _candidate_names(css: str) -> frozenset[str]:
    """The first name of every plain selector whose rule looks as if it hides something."""
    return frozenset(_NAME.findall(selector)[0] for selector in _candidates(css))


def _candidates(css: str) -> tuple[str, ...]:
    """Plain selectors of rules that look as if they hide something, found without parsing the sheet."""
    names: dict[str, None] = {}
    for selectors, _, _ in _hinted_rules(css.encode("utf-8", "replace"), _HINT):
        names.update(dict.fromkeys(_plain(selectors)))
    return tuple(names)


@lru_cache(maxsize=64)
def _concealed_names(css: str) -> frozenset[str]:
    return frozenset(name for selector in _concealed_selectors(css) for name in _NAME.findall(selector))


@lru_cache(maxsize=64)
def _concealed_selectors(css: str) -> tuple[str, ...]:
    """Plain selectors of rules of a long sheet that conceal text: rules outside at-rules, with names that occur only there."""
    utf8 = css.encode("utf-8", "replace")
    selectors: dict[str, None] = {}
    for listed, declarations, start in _hinted_rules(utf8, _CONCEALED_HINT):
        plain = _plain(listed) if _conceals(declarations.lower()) else []
        if plain and utf8.count(b"{", 0, start) == utf8.count(b"}", 0, start):
            selectors.update(dict.fromkeys(one for one in plain if all(_is_named_once(key, utf8) for key in _KEY.findall(one))))
    return tuple(selectors)


def _is_named_once(key: str, css: bytes) -> bool:
    """Whether a sheet mentions a class or id a single time, so that no other rule shows it again."""
    return len(re2.findall(re2.escape(key.encode()) + rb"(?:[^\w-]|$)", css)) == 1


def _hinted_rules(css: bytes, hint: re2._Regexp[bytes]) -> Iterator[tuple[str, str, int]]:
    """Yield selectors, declarations and the place of the opening brace of each rule that a pattern matches in."""
    past = 0
    for match in hint.finditer(css):
        if match.end() > past:
            start, past = css.rfind(b"{", 0, match.end()), css.find(b"}", match.end())
            past = len(css) if past < 0 else past
            before = -1
            for mark in (b"}", b"{", b";", b"*/"):
                before = max(before, css.rfind(mark, before + 1, max(start, 0)))
            selectors = css[before + 1 : start].decode("utf-8", "replace").lstrip("/")
            yield selectors, css[start + 1 : past].decode("utf-8", "replace"), start


def _plain(selectors: str) -> list[str]:
    return [plain for one in selectors.split(",") if len(plain := one.strip()) < _MAX_SELECTOR_CHARS and _PLAIN.match(plain)]


@lru_cache(maxsize=16)
def _read_sheet(css: str) -> _Rules:
    gone: list[str] = []
    concealed: list[str] = []
    shown_again: set[str] = set()
    for selectors, declarations, is_always in _rules(css):
        kept = gone if _GONE.search(declarations) else concealed if _conceals(declarations) else None
        if kept is not None and is_always:
            kept += _plain(selectors)
        if _BACK.search(declarations):
            shown_again.update(_NAME.findall(selectors))
    return _Rules(tuple(gone), tuple(concealed), frozenset(shown_again))


def _conceals(declarations: str) -> bool:
    return _CONCEALED.search(declarations) is not None or ("color" in declarations and is_unpainted(declarations))


def _rules(css: str) -> Iterator[tuple[str, str, bool]]:
    """Yield selectors, declarations, and whether the rule applies on every screen and without condition."""
    around: list[str] = []
    parts = _BRACE.split(_COMMENT.sub("", css) if "/*" in css else css)
    for before, brace in zip(parts[::2], parts[1::2], strict=False):
        if brace == "{":
            around.append(before.rpartition(";")[2].strip())
        elif around:
            selectors = around.pop()
            if not selectors.startswith("@"):
                yield selectors, before.lower(), all(map(_ALWAYS.match, around))
