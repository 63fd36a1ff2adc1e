"""Text that the style sheets in a page hide. Sheets of their own are not fetched for it, and there is no cascade.

Most of what such a rule hides is opened again by a script: tabs, answers, sections that fade in. So a rule counts when nothing
in the page shows the same name again, and when what it hides is little. What is moved off the screen, shrunk or painted over is
never opened: that always goes, but for headings, which stand there for those who have the page read aloud.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import re2

from sitelore.extract import dom
from sitelore.extract.content.folding import folded
from sitelore.extract.content.visibility import is_unpainted

_MAX_CHARS = 300_000
MAX_SHEET = 16_000
"""Longer ones are made by machines: there most of what is hidden is opened again by rules that only a cascade could follow."""
_MAX_NAMES = 100
_MAX_SELECTOR = 200
_MAX_LOOKS = 300  # looking into an element costs what is below it
_LITTLE_CHARS = 300
_LITTLE_SHARE = 0.08

_COMMENT = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
_HINT = re2.compile(
    rb"(?i)display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|:\s*-\d{4}|font-size\s*:\s*(?:0|\.|1p|1\.)|clip\s*:\s*rect"
    rb"|clip-path\s*:\s*inset|[;{\s]color\s*:\s*(?:transparent|white|#fff)"
)
_PIECE = re.compile(r"([^{}]*)([{}])")
# One element with its classes and id: what combinators, attributes and pseudo-classes ask for is some state of the page.
_PLAIN = re.compile(r"(?:[a-z][a-z0-9]*)?(?:[.#][a-z_][\w-]*)+$", re.IGNORECASE)
_NAME = re.compile(r"[.#]([a-z_][\w-]*)", re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a sheet hides, by selector, and the names that it shows again."""

    gone: tuple[str, ...] = ()
    concealed: tuple[str, ...] = ()
    shown_again: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Hiding:
    """The sheets of a page that may hide something, and where else names may be spoken of."""

    sheets: tuple[str, ...] = ()
    elsewhere: tuple[dom.Element, ...] = ()
    """Scripts, and sheets that were not read."""

    def beside(self, tree: dom.Tree) -> Hiding:
        """The same for who may have to drop what it hides; before scripts and styles are cut from the tree."""
        if not self.sheets:
            return self
        unread = [style for style in dom.select(tree, "style") if len(dom.raw_text(style)) > MAX_SHEET]
        return Hiding(self.sheets, (*unread, *dom.select(tree, "script")))

    @property
    def candidates(self) -> list[str]:
        """Selectors of rules that look as if they hid something."""
        return [one for sheet in self.sheets for one in _candidates(sheet)][:_MAX_NAMES]


NO_HIDING = Hiding()


def read_hiding(sheets: list[tuple[str, str]]) -> Hiding:
    """From the page's style sheets, each with what media it is for."""
    seen = [sheet for media, sheet in sheets if len(sheet) <= MAX_SHEET and media.strip().lower() in _SEEN_MEDIA]
    hiding = [sheet for sheet in seen if _may_hide(sheet)]
    return Hiding(tuple(hiding)) if hiding else NO_HIDING


@lru_cache(maxsize=64)
def _may_hide(sheet: str) -> bool:
    return _HINT.search(sheet.encode("utf-8", "replace")) is not None


def drop_hidden(hiding: Hiding, stage: TreeStage) -> None:
    """Cut from what was chosen what the sheets hide."""
    # Reading a sheet takes as long as writing the page's Markdown: only where it seems to speak of something in it.
    candidates = ",".join(hiding.candidates)
    if not candidates or not stage.matching(candidates):
        return
    sheets = [_read_sheet(sheet) for sheet in hiding.sheets]
    again = {name for sheet in sheets for name in sheet.shown_again}

    def matched(selectors: Iterable[str]) -> list[dom.Element]:
        found: dict[dom.Element, None] = {}
        for selector in dict.fromkeys(selectors):
            names = _NAME.findall(selector)
            # Scripts last: to read a large one takes ten times its size, and few are ever asked.
            if (here := stage.matching(selector)) and again.isdisjoint(names) and not any(map(stage.is_spoken_of, names)):
                found.update(dict.fromkeys(here))
        return list(found)

    for element in matched(one for sheet in sheets for one in sheet.concealed):
        if not stage.holds_heading(element):
            stage.drop(element)
    if gone := matched(one for sheet in sheets for one in sheet.gone):
        _drop_gone(stage, gone)


def _drop_gone(stage: TreeStage, gone: list[dom.Element]) -> None:
    """Unless a click opens it, or there is so much of it that something must."""
    opened = stage.opened(gone)
    gone = [element for element in gone if element not in opened]
    size, whole = sum(map(stage.size, gone[:_MAX_LOOKS])), stage.whole()
    if size <= max(_LITTLE_CHARS, _LITTLE_SHARE * whole) and size < whole / 2:
        for element in gone:
            stage.drop(element)


class TreeStage:
    """Chosen subtrees of a tree."""

    def __init__(self, tree: dom.Tree, nodes: Sequence[dom.Node], hiding: Hiding) -> None:
        self._tree = tree
        self._nodes = nodes
        self._elsewhere = hiding.elsewhere

    def matching(self, selector: str) -> list[dom.Element]:
        """The elements below the chosen ones that plain selectors name, a comma between them."""
        own = {id(node) for node in self._nodes}
        return [one for node in self._nodes for one in dom.select_safely(node, selector) if id(one) not in own]

    def holds_heading(self, element: dom.Element) -> bool:
        """Whether there is a heading in an element, or it is one."""
        return element.tag in _HEADINGS or dom.holds(element, *_HEADINGS)

    def opened(self, gone: list[dom.Element]) -> set[dom.Element]:
        """Those that a reader opens with a click."""
        return folded(self._tree, gone)

    def size(self, element: dom.Element) -> int:
        """How many characters an element has, without white space at its ends."""
        return len(dom.raw_text(element).strip())

    def whole(self) -> int:
        """How many characters all of it has."""
        return sum(len(dom.raw_text(node)) for node in self._nodes)

    def is_spoken_of(self, name: str) -> bool:
        """Whether scripts, or sheets that were not read, speak of a name."""
        return any(name in text for text in self._spoken)

    def drop(self, element: dom.Element) -> None:
        """Cut an element."""
        dom.drop(element)

    @cached_property
    def _spoken(self) -> list[str]:
        return [dom.raw_text(element)[:_MAX_CHARS] for element in self._elsewhere]


@lru_cache(maxsize=64)
def _candidates(css: str) -> tuple[str, ...]:
    """Plain selectors of rules that look as if they hid something."""
    utf8 = css.encode("utf-8", "replace")
    found: dict[str, None] = {}
    past = 0
    for hint in _HINT.finditer(utf8):
        if hint.end() > past:
            start, past = utf8.rfind(b"{", 0, hint.end()), utf8.find(b"}", hint.end())
            past = len(utf8) if past < 0 else past
            before = -1
            for mark in (b"}", b"{", b";", b"*/"):
                before = max(before, utf8.rfind(mark, before + 1, max(start, 0)))
            found.update(dict.fromkeys(_plain(utf8[before + 1 : start].decode("utf-8", "replace").lstrip("/"))))
    return tuple(found)


def _plain(selectors: str) -> list[str]:
    return [plain for one in selectors.split(",") if _PLAIN.match(plain := one.strip()) and len(plain) < _MAX_SELECTOR]


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
    """Selectors, declarations, and whether they hold on every screen and in every place."""
    around: list[str] = []
    for found in _PIECE.finditer(_COMMENT.sub("", css) if "/*" in css else css):
        if found[2] == "{":
            around.append(found[1].rpartition(";")[2].strip())
        elif around:
            selectors = around.pop()
            if not selectors.startswith("@"):
                yield selectors, found[1].lower(), all(map(_ALWAYS.match, around))
