"""Chooses which part of a page is its main content, and puts the page's title first in it, once, as an `h1`.

In this order: the selectors of a domain's overrides; the content region of documentation (`documentation`); the units that the
block scorer rates as content (`selection`); where that is next to nothing, the region that the markup names; and at last
everything visible. It works on the tree itself and cuts it down, so it comes after links and metadata. Hidden text never
survives, and a page with visible text never ends up empty.

The title is the page's `h1`. Where there is none, or it names the site, it is the heading or other element whose text `<title>`
repeats; and at last `<title>` itself without the name of the site.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from itertools import islice, takewhile
from operator import mul

from sitelore.extract import dom
from sitelore.extract.content import block_scorer
from sitelore.extract.content.block_scorer import ScoredPage, build_units, score_page
from sitelore.extract.content.documentation import NO_FACTS, PageFacts, is_documentation, select_documentation
from sitelore.extract.content.selection import Selection, select_scored, trim
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.content.vocabulary import INLINE, LANDMARK, SECONDARY_LANDMARKS
from sitelore.extract.markdown import prepare
from sitelore.extract.redaction.redactor import RedactedSource
from sitelore.model.settings import Overrides

_MAX_BLOCKS = 20_000  # more is a dump of data, and scoring it would take the memory of a hundred pages
_MAX_BYTES = 8 * 2**20
_TINY_WORDS = 25
_TINY_SHARE = 0.25
_MAX_LOOKS = 300
_EDGES = SECONDARY_LANDMARKS | LANDMARK[b"header"]
_NAVIGATION_ELEMENTS = "nav,[role=navigation i],[role=search i],[role=menu i],[role=menubar i]"

_SEPARATOR = re.compile(r"\s+[|\u2013\u2014\u00b7\u2022\u00bb\u00ab-]+\s+|\s*\|\s*|\s+::\s+")
_TITLE_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"^(?:chapter|section|appendix)?(?:[a-z]?\d+)+")
_NAMED = "[class*=title i],[id*=title i],[class*=caption i],[class*=headline i]"
_CONTENT = "main,article,[role=main i]"
_FRAME = "nav,aside,header,footer,[role=navigation i],[class*=sidebar i]"
_HOME = re.compile(r"(?=.)(?:https?://[^/?#]+)?/?(?:\.{1,2}/)*(?:index\.\w+)?", re.IGNORECASE)
_FIRST_SECTION = re.compile(r"1\W")
_HEADINGS = ("h1", "h2", "h3", "h4")
_MAX_CANDIDATES = 20
_MAX_CHARS = 300
_SHORT_KEY = 3
_FEW_HEADINGS, _SEVERAL_WORDS, _NEARLY_ALL = 2, 4, 0.8
_KIND_WORDS = 3
_IN_BRACKETS = re.compile(r"(.*\S)\s+\([^()]+\)\s*")
_REGION = "main,article,[role=main i],#content,#main-content,#main,.content,.main"
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class PageSelection:
    """A scored page with the units selected from it, and the strategy that selected them."""

    strategy: str
    page: ScoredPage
    selection: Selection
    elements: list[dom.Element]
    """All elements of the page, in document order."""

    @property
    def words(self) -> int:
        """Words of the page."""
        return sum(self.page.blocks.words)

    @property
    def kept_words(self) -> int:
        """Words of the blocks that are kept."""
        return sum(map(mul, self.page.blocks.words, self.selection.kept))

    @property
    def scores(self) -> dict[str, float]:
        """The measured values that decided the selection."""
        figures = {"kept_share": round(self.kept_words / self.words, 3)}
        if self.strategy == "learned":
            figures["expected_f1"] = round(self.selection.expected_f1, 3)
            figures["threshold"] = round(self.selection.threshold, 3)
        return figures


@dataclass(frozen=True, slots=True)
class Content:
    """The chosen subtrees, in page order, and how they were chosen.

    `strategy` is `override`, `documentation`, `learned`, `region` or `body`.
    """

    nodes: tuple[dom.Node, ...]
    strategy: str


def main_content(
    tree: dom.Tree, source: RedactedSource, overrides: tuple[Overrides, ...], facts: PageFacts = NO_FACTS
) -> Content:
    """The part of the tree that is the page's own. `source` is parsed again only when pruning left nothing."""
    own = [rules for rules in overrides if _is_for(rules.domain, facts.host)]
    prepare(tree)
    drop_unseen(tree)
    for rules in own:
        for selector in rules.remove_selectors:
            for element in dom.select_safely(tree, selector):
                dom.drop(element)
    chosen = _overridden(tree, own)
    if chosen:
        return Content(chosen, "override")
    body = dom.body(tree)
    if body is None:
        return Content((tree,), "body")
    return _selected(body, facts) or _pruned(body) or _unpruned(source)


def _selected(body: dom.Element, facts: PageFacts) -> Content | None:
    """The page cut down to its selected units; None where nothing can be selected."""
    selected = select_units(body, facts)
    if selected is None:
        return None
    trim(selected.page, selected.selection, selected.elements)
    return Content((body,), selected.strategy)


def select_units(body: dom.Element, facts: PageFacts) -> PageSelection | None:
    """Select the units of a page; None where the page has no text or too much, or almost nothing was selected."""
    html = dom.serialised(body)
    if len(html) > _MAX_BYTES:
        return None
    page = score_page(html, block_scorer.load_model(), max_blocks=_MAX_BLOCKS)
    if page is None:
        return None
    elements = dom.all_elements(body)
    # Where elements hold text that is not escaped (xmp, plaintext), the serialisation does not read as it was written.
    if page.opened != len(elements):
        return None
    units = build_units(page)
    steps = {
        "learned": partial(select_scored, page, units, elements),
        "region": partial(select_documentation, page, units, elements),
    }
    if is_documentation(facts, page, elements):
        steps = {"documentation": steps["region"]}
    for strategy, select in steps.items():
        selected = PageSelection(strategy, page, select(), elements)
        if not _is_tiny(selected):
            return selected
    return None


def _is_tiny(selected: PageSelection) -> bool:
    """Whether almost nothing was selected. Where markup names the region, menus and edges around it do not count."""
    kept_words = selected.kept_words
    if not 0 < kept_words < _TINY_WORDS:
        return not kept_words
    if selected.strategy != "documentation" or not selected.selection.is_named:
        return kept_words < _TINY_SHARE * selected.words
    page = selected.page
    rows = zip(page.blocks.words, page.blocks.linked, page.landmarks, strict=True)
    text_words = sum([words - linked for words, linked, landmarks in rows if not landmarks & _EDGES])
    return kept_words < _TINY_SHARE * text_words


def _is_for(domain: str, host: str) -> bool:
    domain = domain.lower().strip(".")
    return not domain or host == domain or host.endswith("." + domain)


def _overridden(tree: dom.Tree, own: list[Overrides]) -> tuple[dom.Node, ...]:
    """What the first selector that holds text matches; of nested matches, the outermost."""
    for rules in own:
        for selector in rules.main_content_selectors:
            nodes = [node for node in dom.select_safely(tree, selector)[:_MAX_LOOKS] if dom.raw_text(node).strip()]
            if nodes:
                return tuple(node for node in nodes if not dom.has_ancestor(node, selector))
    return ()


def _pruned(body: dom.Element) -> Content | None:
    """Everything visible without navigation; None where that is nothing."""
    for element in dom.select(body, _NAVIGATION_ELEMENTS):
        dom.drop(element)
    return Content((body,), "body") if dom.has_text(body) else None


def _unpruned(source: RedactedSource) -> Content:
    """Everything visible: pruning a page that is all navigation must not make it empty."""
    tree = dom.parse(source.for_parser())
    prepare(tree)
    drop_unseen(tree)
    return Content((dom.body(tree) or tree,), "body")


@dataclass(frozen=True, slots=True)
class Title:
    """The title of a page, found in the whole page before content is selected. `place_title` puts it into the content."""

    text: str = ""
    """`<title>` without the name of the site: the title where no element has it."""
    element: dom.Element | None = None
    """The element whose text `<title>` repeats."""
    site_headings: tuple[dom.Element, ...] = ()
    """Each `h1` of the site's header that is the name of the site."""


def find_title(tree: dom.Tree, head_title: str, site_name: str) -> Title:
    """Find the title of a page, before anything is cut from the tree. `head_title` is the text of its `<title>`."""
    parts = [part.strip() for part in _SEPARATOR.split(head_title) if _key(part)]
    site = _key(site_name)
    own = [part for part in parts if _key(part) != site] or parts
    if len(own) == len(parts) > 1 and not _is_one_name(parts):
        own = parts[-1:] if _opens_with(tree, parts[-1]) else own[:-1]
    text = next((part for part in own if len(_key(part)) >= _SHORT_KEY), head_title) if len(own) < len(parts) else head_title
    headings = [element for element in tree.select("h1")[:_MAX_CANDIDATES] if _key(element.text[:_MAX_CHARS])]
    inside = [element for element in headings if dom.is_inside(element, _CONTENT)]
    shown = {_key(_line(element)) for element in headings if element not in inside}
    if len(parts) > 1 and _key(parts[0]) in shown and any(_key(_line(element)) == _key(parts[-1]) for element in inside):
        own, text = parts[-1:], parts[-1]  # the site's name comes first
    elif len(parts) > 1 and _is_shown_last(tree, headings, parts, site):
        own, text = parts[-1:], parts[-1]
    names = _Names(head_title, [_key(part) for part in own], {_key(part) for part in parts if part not in own} | {site})
    titles = _title_candidates(tree, names, headings, inside, _key(text))
    best = next((element for element in titles if _key(_line(element)) in names.own), titles[0] if titles else None)
    site_headings = [heading for heading in headings if heading != best and dom.is_inside(heading, _FRAME)]
    return Title(text, best, tuple(heading for heading in site_headings if names.is_site(_line(heading))))


def _title_candidates(
    tree: dom.Tree, names: _Names, headings: list[dom.Element], inside: list[dom.Element], own: str
) -> list[dom.Element]:
    """The elements that may be the title, all for the same reason. `headings` are `h1`, `inside` those within the content."""
    headings = [heading for heading in headings if _key(_line(heading)) in names.own or not _leads_home(heading)]
    inside = [heading for heading in inside if heading in headings]
    exact = [heading for heading in [*inside, *headings] if _key(_line(heading)) == own]
    headings = inside or headings
    if titles := exact or _repeated(headings, names) or _sharing(headings, names):
        return titles
    named = tree.select(_NAMED)[:_MAX_CANDIDATES]
    # A page's only `h1` is its title, unless it is one word: the name of a section of the site.
    if len(headings) == 1 and names.may_be(_line(headings[0])):
        above = [element for element in named if _key(_line(element)) == own]
        return above if above and _FIRST_SECTION.match(_line(headings[0])) else headings
    lower = _leading(dom.first_elements(tree, _MAX_CANDIDATES, *_HEADINGS))
    return _repeated(lower, names) or _longest([element for element in named if element.tag not in _HEADINGS], names)


def _is_shown_last(tree: dom.Tree, headings: list[dom.Element], parts: Sequence[str], site: str) -> bool:
    """Whether a heading of the content is the last part of `<title>`, and no heading any other part."""
    last, others = _key(parts[-1]), {_key(part) for part in parts[:-1]}
    # Where the only `h1` is in the header of the site, the title is of the next level.
    headings = [heading for heading in headings if not dom.is_inside(heading, _FRAME)] or tree.select("h2")[:_MAX_CANDIDATES]
    if last == site or not any(_key(_line(heading)) == last and dom.is_inside(heading, _REGION) for heading in headings):
        return False
    return not any(_key(_line(each)) in others for each in dom.first_elements(tree, _MAX_CANDIDATES, *_HEADINGS))


def _is_one_name(parts: Sequence[str]) -> bool:
    """Whether `<title>` is a number and what it stands for: "PEP 256 \u2013 Docstring Processing System"."""
    first, *others = [len(_TITLE_WORD.findall(part)) for part in parts]
    return len(others) == 1 and first < _KIND_WORDS < others[0] and any(map(str.isdigit, parts[0]))


def _sharing(headings: list[dom.Element], names: _Names) -> list[dom.Element]:
    """The headings whose words are mostly in `<title>`; of many, all but the first may head a section, so need nearly all."""
    sharing = []
    for place, heading in enumerate(headings):
        line = _line(heading)
        is_likely = place == 0 or len(headings) <= _FEW_HEADINGS
        is_long = len(_TITLE_WORD.findall(line)) >= _SEVERAL_WORDS
        if names.shared_words(line) > (_MOST if is_likely else _NEARLY_ALL) and (is_likely or is_long):
            sharing.append(heading)
    return sharing


def _longest(elements: list[dom.Element], names: _Names) -> list[dom.Element]:
    """Of the elements whose text `<title>` repeats, that with the longest text: the name of the site is often one as well."""
    repeated = [element for element in elements if names.repeats(_line(element))]
    return sorted(repeated, key=lambda element: -len(_key(_line(element))))[:1]


def _opens_with(tree: dom.Tree, text: str) -> bool:
    """Whether a page without headings begins with a text that is not a link, as the name of the site would be."""
    body = dom.body(tree)
    if body is None or not _key(text) or dom.has_descendant(tree, *_HEADINGS):
        return False
    if any(_key(link.text[:_MAX_CHARS]) == _key(text) for link in dom.first_elements(body, _MAX_CANDIDATES, "a")):
        return False
    return _key(dom.raw_text(body)[:_MAX_CHARS]).startswith(_key(text))


def _leads_home(heading: dom.Element) -> bool:
    """Whether a heading is nothing but a link to the start of the site, or all of one, so that it names the site."""
    link = dom.first(heading, "a") or heading.closest("a")
    if link is None or not _HOME.fullmatch((link.attr("href") or "").strip()):
        return False
    return _key(link.text[:_MAX_CHARS]) == _key(heading.text[:_MAX_CHARS])


def _leading(headings: list[dom.Element]) -> list[dom.Element]:
    """The headings that no higher one of the content comes before: the others name sections. An `h1` counts as the site's."""
    leading, top = [], _HEADINGS[-1]
    for heading in headings:
        if heading.tag <= top:
            leading.append(heading)
        if _HEADINGS[0] < heading.tag < top and not dom.is_inside(heading, _FRAME):
            top = heading.tag
    return leading


def _repeated(elements: list[dom.Element], names: _Names) -> list[dom.Element]:
    return [element for element in elements if names.repeats(_line(element))]


def _line(element: dom.Element) -> str:
    """The text of an element. One that is no heading may hold blocks after it, which are no part of a title."""
    if element.tag in _HEADINGS:
        return dom.one_line_text(element)[:_MAX_CHARS]
    return " ".join("".join(map(dom.raw_text, _leading_inline(element))).split())[:_MAX_CHARS]


def _leading_inline(element: dom.Element) -> list[dom.AnyNode]:
    """The nodes of an element before its first block."""

    def is_inline(node: dom.AnyNode) -> bool:
        return not isinstance(node, dom.Element) or node.tag.encode() in INLINE

    return list(takewhile(is_inline, islice(element.children, _MAX_CANDIDATES)))


@dataclass(frozen=True, slots=True)
class _Names:
    """`<title>` split at its separators: the whole, the keys of parts that name the page, and of parts that name the site.

    A key is a text in lower case without spaces and symbols, for comparisons.
    """

    whole: str
    own: Sequence[str]
    site: AbstractSet[str]

    def repeats(self, text: str) -> bool:
        """Whether `<title>` repeats a text: as a part, as most of it, as its end after a colon, or as the start of a part."""
        key, whole = _key(text), _key(self.whole)
        if not key or key in self.site:
            return False
        if key in self.own or (key in whole and len(key) >= _MOST * len(whole)) or self.whole.endswith(f": {text}"):
            return True
        # Reference pages name the kind of thing before its name: "Class Stone" for "Stone (Mill API)".
        named = [match[1] for match in [_IN_BRACKETS.fullmatch(self.whole)] if match] or [self.whole]
        if any(
            key.endswith(_key(name)) and 0 < len(_TITLE_WORD.findall(text)) - len(_TITLE_WORD.findall(name)) <= _KIND_WORDS
            for name in named
            if len(_key(name)) >= _SHORT_KEY
        ):
            return True
        plain = _NUMBER.sub("", key)
        own = [_NUMBER.sub("", each) for each in self.own if len(each) >= _SHORT_KEY]
        return len(plain) >= _SHORT_KEY and any(each.startswith(plain) or (each and plain.startswith(each)) for each in own)

    def is_site(self, text: str) -> bool:
        """Whether a text is the name of the site, or its beginning."""
        key = _key(text)
        return key in self.site or (len(key) >= _SHORT_KEY and any(site.startswith(key) for site in self.site))

    def may_be(self, text: str) -> bool:
        """Whether a text of several words may be a title, though `<title>` says something else."""
        return not self.is_site(text) and len(_TITLE_WORD.findall(text)) > 1

    def shared_words(self, text: str) -> float:
        """The share of the words of a text that are in `<title>`."""
        words, known = set(_TITLE_WORD.findall(text.lower())), set(_TITLE_WORD.findall(self.whole.lower()))
        return len(words & known) / len(words) if words and not self.is_site(text) else 0.0


def place_title(title: Title, nodes: tuple[dom.Node, ...]) -> tuple[dom.Node, ...]:
    """The content with its title first; a heading with the title's text is not repeated. Content without text stays."""
    if not any(map(dom.has_text, nodes)):
        return nodes
    heading = _heading_in(title, nodes)
    if heading is None and title.element is not None:
        heading = dom.copied(title.element)
    if heading is None:
        if not _key(title.text):
            return nodes
        heading = dom.new_element("h1", None, dom.new_text(title.text))
    others = [node for node in nodes if node != heading]
    if heading.tag not in _HEADINGS and len(inline := _leading_inline(heading)) < len(heading.children):
        heading = dom.new_element("h1", None, *inline)  # the blocks after it stay where they are
    if heading.parent is not None:
        heading.extract()
    for name in title.site_headings:
        dom.drop(name)
    _drop_other_titles(heading, others)
    heading.tag = "h1"
    return (dom.new_element("div", None, heading), *others)


def _drop_other_titles(title: dom.Element, nodes: list[dom.Node]) -> None:
    """Drop what names the site instead of the page, and the title itself where it is the next heading again."""
    headings = [each for node in nodes for each in dom.first_elements(node, _MAX_CANDIDATES, "h1")]
    for place, heading in enumerate(headings):
        is_again = place == 0 and _key(heading.text[:_MAX_CHARS]) == _key(title.text[:_MAX_CHARS])
        if is_again or _leads_home(heading):
            dom.drop(heading)


def _heading_in(title: Title, nodes: tuple[dom.Node, ...]) -> dom.Element | None:
    """The element of the content that is its title."""
    key = _key(dom.raw_text(title.element)[:_MAX_CHARS] if title.element is not None else title.text)
    roots = {node for node in nodes if isinstance(node, dom.Element)}
    if title.element is not None and (title.element in roots or dom.has_ancestor_in(title.element, roots)):
        return title.element
    headings = [heading for node in nodes for heading in dom.first_elements(node, _MAX_CANDIDATES, *_HEADINGS)]
    headings += [node for node in nodes if isinstance(node, dom.Element) and node.tag in _HEADINGS]
    # A later heading with the same text names a section.
    if headings and _key(headings[0].text[:_MAX_CHARS]) == key:
        return headings[0]
    if title.element is not None:
        return None
    shown = [heading for heading in headings if _key(heading.text)]
    top = min((heading.tag for heading in shown), default="")
    alone = [heading for heading in shown if heading.tag == top]
    is_title = len(alone) == 1 and ((top == "h1" and not _key(title.text)) or _comes_first(alone[0], nodes))
    return alone[0] if is_title else None


def _comes_first(heading: dom.Element, nodes: tuple[dom.Node, ...]) -> bool:
    """Whether the content begins with a heading."""
    start = _key(dom.raw_text(nodes[0])[:_MAX_CHARS])
    return bool(start) and start.startswith(_key(heading.text[: _MAX_CHARS // 2]))


def _key(text: str) -> str:
    """Normalise a text for comparisons: its letters and digits alone."""
    return "".join(filter(str.isalnum, text)).lower()
