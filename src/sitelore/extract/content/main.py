"""Chooses which part of a page is its main content.

In this order: the selectors of a domain's overrides; the content region of documentation (`documentation`); the units that the
block scorer rates as content (`selection`); where that is next to nothing, the region that the markup names; and at last
everything visible. It works on the tree itself and cuts it down, so it comes after links and metadata. Hidden text never
survives, and a page with visible text never ends up empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import mul

from sitelore.extract import dom
from sitelore.extract.content import scorer_model
from sitelore.extract.content.block_scorer import ScoredPage, score_page
from sitelore.extract.content.documentation import NO_FACTS, PageFacts, is_documentation, select_documentation
from sitelore.extract.content.selection import Selection, select_scored, threshold_of
from sitelore.extract.content.trimming import trim
from sitelore.extract.content.units import build_units
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.markdown import prepare
from sitelore.extract.redaction.redactor import RedactedSource
from sitelore.model.settings import Overrides

_MAX_BLOCKS = 20_000  # more is a dump of data, and scoring it would take the memory of a hundred pages
_MAX_BYTES = 8 * 2**20
_TINY_WORDS = 25
_TINY_SHARE = 0.25
_MAX_LOOKS = 300
_NAVIGATION = "nav,[role=navigation i],[role=search i],[role=menu i],[role=menubar i]"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A scored page and what was selected of it."""

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
        """The figures that decided."""
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
    tree: dom.Tree, source: RedactedSource, host: str, overrides: tuple[Overrides, ...], facts: PageFacts = NO_FACTS
) -> Content:
    """The part of the tree that is the page's own. `source` is parsed again only when pruning left nothing."""
    own = [rules for rules in overrides if _is_for(rules.domain, host)]
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
    judged = judge(body, facts)
    if judged is None:
        return None
    trim(judged.page, judged.selection.kept, judged.elements)
    return Content((body,), judged.strategy)


def judge(body: dom.Element, facts: PageFacts) -> Judgement | None:
    """Select the units of a page; None where there is no text, far too much of it, or next to nothing was selected."""
    html = dom.serialised(body)
    if len(html) > _MAX_BYTES:
        return None
    page = score_page(html, scorer_model.load_model(), max_blocks=_MAX_BLOCKS)
    if page is None:
        return None
    elements = dom.all_elements(body)
    # Where elements hold text that is not escaped (xmp, plaintext), the serialisation does not read as it was written.
    if page.opened != len(elements):
        return None
    units = build_units(page)
    threshold, expected_f1 = threshold_of(page.blocks.words, page.scores)
    steps = {
        "learned": partial(select_scored, page, units, threshold, expected_f1),
        "region": partial(select_documentation, page, units, elements),
    }
    if is_documentation(facts, page, elements, expected_f1):
        steps = {"documentation": steps["region"]}
    for strategy, select in steps.items():
        judged = Judgement(strategy, page, select(), elements)
        if not _is_tiny(judged):
            return judged
    return None


def _is_tiny(judged: Judgement) -> bool:
    return judged.kept_words < _TINY_WORDS and judged.kept_words < _TINY_SHARE * judged.words


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
    for element in dom.select(body, _NAVIGATION):
        dom.drop(element)
    return Content((body,), "body") if dom.raw_text(body).strip() else None


def _unpruned(source: RedactedSource) -> Content:
    """Everything visible: pruning a page that is all navigation must not make it empty."""
    tree = dom.parse(source.for_parser())
    prepare(tree)
    drop_unseen(tree)
    return Content((dom.body(tree) or tree,), "body")
