"""Which part of a page is what it is about.

A ladder: a domain's own selectors; the scorer's choice of blocks; where that finds next to nothing, what the markup calls its
content (`rungs`); and at last everything visible. Works on the tree itself and cuts it down, so it comes after links and
metadata. Hidden text never survives, and a page with visible text never ends up empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sitelore.extract import dom
from sitelore.extract.block_features import scene_of
from sitelore.extract.blocks import segment
from sitelore.extract.markdown import prepare
from sitelore.extract.rungs import marked_content
from sitelore.extract.scene import Scene
from sitelore.extract.scorer import Choice, choose, trees_from
from sitelore.extract.trimming import trim
from sitelore.extract.visibility import drop_unseen
from sitelore.model.settings import Overrides

_MAX_BLOCKS = 10_000  # more is a dump of data, and scoring it would take the memory of a hundred pages
_MAX_BYTES = 8 * 2**20
_FEW_WORDS = 150  # a page with fewer has no frame worth guessing at: its own markup is the better guide
_TINY_WORDS = 25
_TINY_SHARE = 0.25
_MAX_LOOKS = 300


@dataclass(frozen=True, slots=True)
class Judged:
    """A page's blocks and what the scorer made of them."""

    scene: Scene
    choice: Choice
    elements: list[dom.Element]
    """Every element of the page, in document order."""


@dataclass(frozen=True, slots=True)
class Content:
    """The chosen subtrees, in page order, and the rung that chose them.

    `strategy` is `override`, `learned`, `article`, `main`, `cms` or `body`; `scores` are the figures that decided.
    """

    nodes: tuple[dom.Node, ...]
    strategy: str
    scores: dict[str, float] = field(default_factory=dict)
    judged: Judged | None = None


def main_content(tree: dom.Tree, source: str, host: str, overrides: tuple[Overrides, ...]) -> Content:
    """The part of the tree that is the page's own. `source` is read again only when pruning left nothing."""
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
    judged = judge(body)
    if judged is not None and not _is_tiny(judged):
        trim(judged.elements, judged.scene.blocks, judged.choice.kept)
        return Content((body,), "learned", _figures(judged), judged)
    marked = marked_content(body)
    if marked is None:
        return _unpruned(source)
    return Content(*marked, _figures(judged) if judged is not None else {}, judged)


def judge(body: dom.Element) -> Judged | None:
    """Score the blocks of a page without what is unseen; None where there is too little or far too much to score."""
    html = dom.serialised(body)
    if len(html) > _MAX_BYTES:
        return None
    blocks = segment(html)
    if len(blocks) > _MAX_BLOCKS or blocks.words.sum() < _FEW_WORDS:
        return None
    elements = dom.all_elements(body)
    if blocks.opened != len(elements):
        return None
    scene = scene_of(blocks)
    return Judged(scene, choose(scene, trees_from()), elements)


def _figures(judged: Judged) -> dict[str, float]:
    choice, words = judged.choice, judged.scene.words
    return {
        "expected_f1": round(choice.expected, 3),
        "threshold": round(choice.threshold, 3),
        "kept_share": round(float(words[choice.kept].sum() / words.sum()), 3),
    }


def _is_tiny(judged: Judged) -> bool:
    kept = float(judged.scene.words[judged.choice.kept].sum())
    return kept < _TINY_WORDS and kept < _TINY_SHARE * judged.scene.total


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


def _unpruned(source: str) -> Content:
    """Everything visible: pruning a page that is all frame must not make it empty."""
    tree = dom.parse(source)
    prepare(tree)
    drop_unseen(tree)
    return Content((dom.body(tree) or tree,), "body")
