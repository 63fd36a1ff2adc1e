"""Chooses which part of a page is its main content.

In this order: the selectors of a domain's overrides; the blocks that the block scorer rates as content; where that finds next
to nothing, what the markup calls its content (`rungs`); and at last everything visible. It works on the tree itself and cuts
it down, so it comes after links and metadata. Hidden text never survives, and a page with visible text never ends up empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from operator import mul

from sitelore.extract import dom
from sitelore.extract.content import scorer_model
from sitelore.extract.content.block_scorer import ElementTable, ScoredPage, score_page
from sitelore.extract.content.rungs import marked_content, plain_content
from sitelore.extract.content.trimming import Cuts, trim
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.content.vocabulary import TAG_NUMBER
from sitelore.extract.redact import Source
from sitelore.extract.writing.markdown import prepare
from sitelore.model.settings import Overrides

_MAX_BLOCKS = 10_000  # more is a dump of data, and scoring it would take the memory of a hundred pages
_MAX_BYTES = 8 * 2**20
_FEW_WORDS = 150  # with fewer words, a page's own markup is a better guide than the scorer
_TINY_WORDS = 25
_TINY_SHARE = 0.25
_MAX_LOOKS = 300
_WHOLE_ELEMENTS = {TAG_NUMBER[b"ul"]: 80.0, TAG_NUMBER[b"ol"]: 80.0, TAG_NUMBER[b"tr"]: 200.0, TAG_NUMBER[b"pre"]: inf}
"""Elements that are kept or dropped as a whole, up to this many words: a longer row is a layout, a longer list has parts."""
_CELLS = frozenset(TAG_NUMBER[tag] for tag in (b"td", b"th", b"hr"))  # dropping an empty cell would shift its row
_KEPT_AROUND = 0.5


@dataclass(frozen=True, slots=True)
class Judged:
    """A scored page and what is cut from it."""

    page: ScoredPage
    cuts: Cuts
    elements: list[dom.Element] = field(default_factory=list)
    """All elements of the tree, in document order; none once it is trimmed."""

    @property
    def words(self) -> int:
        """Words of the page."""
        return sum(self.page.blocks.words)

    @property
    def kept_words(self) -> int:
        """Words of the blocks that are kept."""
        return sum(map(mul, self.page.blocks.words, self.cuts.kept))


@dataclass(frozen=True, slots=True)
class Content:
    """The chosen subtrees, in page order, and how they were chosen.

    `strategy` is `override`, `learned`, `article`, `main`, `cms` or `body`.
    """

    nodes: tuple[dom.Node, ...]
    """Where blocks were chosen, these still hold all others until they are `trimmed`."""
    strategy: str
    judged: Judged | None = None

    def trimmed(self) -> tuple[dom.Node, ...]:
        """The subtrees, cut down to what was chosen."""
        if self.judged is not None and self.strategy == "learned" and self.judged.elements:
            trim(self.judged.elements, self.judged.cuts)
            self.judged.elements.clear()  # many objects, and no longer needed
        return self.nodes

    @property
    def scores(self) -> dict[str, float]:
        """The figures that decided."""
        judged = self.judged
        if judged is None:
            return {}
        return {
            "expected_f1": round(judged.cuts.expected_f1, 3),
            "threshold": round(judged.cuts.threshold, 3),
            "kept_share": round(judged.kept_words / judged.words, 3),
        }


def main_content(
    tree: dom.Tree, source: Source, host: str, overrides: tuple[Overrides, ...], *, scored: bool = True
) -> Content:
    """The part of the tree that is the page's own. `source` is parsed again only when pruning left nothing.

    Unless it is `scored`, the page's markup alone decides.
    """
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
    judged = judge(body) if scored else None
    if judged is not None and not _is_tiny(judged):
        return Content((body,), "learned", judged)
    marked = marked_content(body) if scored else plain_content(body)
    if marked is None:
        return _unpruned(source)
    return Content(*marked, judged)


def judge(body: dom.Element) -> Judged | None:
    """Score the blocks of a page without its hidden parts; None where there is too little or far too much to score."""
    html = dom.serialised(body)
    if len(html) > _MAX_BYTES:
        return None
    page = score_page(html, scorer_model.load_model(), max_blocks=_MAX_BLOCKS)
    if page is None or sum(page.blocks.words) < _FEW_WORDS:
        return None
    elements = dom.all_elements(body)
    # Where elements hold text that is not escaped (xmp, plaintext), the serialisation does not read as it was written.
    return Judged(page, select_blocks(page), elements) if page.opened == len(elements) else None


def select_blocks(page: ScoredPage) -> Cuts:
    """The blocks that maximise the expected F1 of the kept words, the scores taken as probabilities.

    F1 is largest when every block above half of that largest F1 is kept. The threshold is computed so, instead of taken from
    the last block worth keeping: it moves little when a page does, and two fetches of one page give the same choice. Half a
    list or row is worth nothing: lists, rows and listings are kept or dropped as a whole, by the mean score of their words.
    """
    words, scores, elements = page.blocks.words, page.scores, page.elements
    mass = list(map(mul, scores, words))
    total, held, held_mass, expected = sum(mass), 0, 0.0, 0.0
    for block in sorted(range(len(scores)), key=lambda at: -scores[at]):
        held, held_mass = held + words[block], held_mass + mass[block]
        expected = max(expected, 2 * held_mass / (held + total))
    threshold = min(expected / 2, max(scores))
    kept = [score >= threshold for score in scores]
    run_words, run_mass = [0, *accumulate(words)], [0.0, *accumulate(mass)]
    for tag, first, last in zip(elements.tag, elements.first, elements.last, strict=True):
        if last - first > 1 and tag in _WHOLE_ELEMENTS:
            count = run_words[last] - run_words[first]
            if count <= _WHOLE_ELEMENTS[tag]:
                kept[first:last] = [run_mass[last] - run_mass[first] >= threshold * count] * (last - first)
    gone, texts = _cuts(page, kept)
    return Cuts(gone, texts, kept, threshold, expected)


def _cuts(page: ScoredPage, kept: list[bool]) -> tuple[list[int], dict[int, set[bytes]]]:
    """Everything of a page that does not belong to a kept block: elements by their order, loose texts by their element's."""
    elements, blocks = page.elements, page.blocks
    stays = _staying(page, kept)
    gone = [
        order
        for order, stay, parent in zip(elements.order, stays, elements.parent, strict=True)
        if not stay and stays[max(parent, 0)]
    ]
    texts: dict[int, set[bytes]] = {}
    for at, row in enumerate(blocks.element):
        if not kept[at] and stays[row]:
            texts.setdefault(elements.order[row], set()).add(page.text[blocks.begin[at] : blocks.end[at]])
    return gone, texts


def _staying(page: ScoredPage, kept: list[bool]) -> list[bool]:
    """Which elements stay: those with a kept block, and those without text that belong to kept ones.

    An element without text (a figure, a rule) stays where most of the text around it does and a block beside it is kept.
    """
    elements, words = page.elements, page.blocks.words
    run_blocks = [0, *accumulate(map(int, kept))]
    run_words, run_kept = [0, *accumulate(words)], [0, *accumulate(map(mul, words, kept))]
    beside = [*kept, False]
    stays = []
    for first, last, parent in zip(elements.first, elements.last, elements.parent, strict=True):
        if first == last:
            stays.append(
                (beside[first] or beside[first - 1]) and _is_mostly_kept(elements, max(parent, 0), run_words, run_kept)
            )
        else:
            stays.append(run_blocks[last] > run_blocks[first])
    before = stays.copy()
    for row, (first, last, parent) in enumerate(zip(elements.first, elements.last, elements.parent, strict=True)):
        up = max(parent, 0)
        if first == last and before[up] and (elements.first[up] == elements.last[up] or elements.tag[row] in _CELLS):
            stays[row] = True
    stays[0] = True
    return stays


def _is_mostly_kept(elements: ElementTable, row: int, run_words: list[int], run_kept: list[int]) -> bool:
    first, last = elements.first[row], elements.last[row]
    words = run_words[last] - run_words[first]
    return words > 0 and run_kept[last] - run_kept[first] >= _KEPT_AROUND * words


def _is_tiny(judged: Judged) -> bool:
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


def _unpruned(source: Source) -> Content:
    """Everything visible: pruning a page that is all navigation must not make it empty."""
    tree = dom.parse(source.for_parser())
    prepare(tree)
    drop_unseen(tree)
    return Content((dom.body(tree) or tree,), "body")
