"""Which part of a page is what it is about.

A ladder: a domain's own selectors; the scorer's choice of blocks; where that finds next to nothing, what the markup calls its
content (`rungs`); and at last everything visible. Works on the tree itself and cuts it down, so it comes after links and
metadata; `composing` writes what was chosen. Hidden text never survives, and a page with visible text never ends up empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sitelore.extract import dom
from sitelore.extract.content.choice import Choice, Cuts
from sitelore.extract.content.rungs import marked_content, plain_content
from sitelore.extract.content.seeing import SEER
from sitelore.extract.content.trimming import trim
from sitelore.extract.content.visibility import drop_unseen
from sitelore.extract.markdown import prepare
from sitelore.extract.redact import Source
from sitelore.model.settings import Overrides

if TYPE_CHECKING:
    from sitelore.extract.content.choosing import Looked
    from sitelore.extract.content.plain_choosing import PlainlyLooked
    from sitelore.extract.content.trees import Trees

_MAX_BLOCKS = 10_000  # more is a dump of data, and scoring it would take the memory of a hundred pages
_MAX_BYTES = 8 * 2**20
_FEW_WORDS = 150  # a page with fewer has no frame worth guessing at: its own markup is the better guide
_TINY_WORDS = 25
_TINY_SHARE = 0.25
_MAX_LOOKS = 300


@dataclass(frozen=True, slots=True)
class Judged:
    """A page's blocks and what the scorer made of them."""

    html: bytes
    opened: int
    """How many elements it holds."""
    choice: Choice
    cuts: Cuts
    words: float
    kept_words: float
    elements: list[dom.Element] = field(default_factory=list)
    """All of them, in document order, where they are a tree's; none once the page is trimmed."""

    def texts(self) -> list[bytes]:
        """The text of every block."""
        from sitelore.extract.content.blocks import segment  # noqa: PLC0415 no crawl asks, and it needs numpy

        return segment(self.html).texts()


@dataclass(frozen=True, slots=True)
class Content:
    """The chosen subtrees, in page order, and the rung that chose them.

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
            self.judged.elements.clear()  # an object each, which nobody asks for again
        return self.nodes

    @property
    def scores(self) -> dict[str, float]:
        """The figures that decided."""
        judged = self.judged
        if judged is None:
            return {}
        return {
            "expected_f1": round(judged.choice.expected, 3),
            "threshold": round(judged.choice.threshold, 3),
            "kept_share": round(judged.kept_words / judged.words, 3),
        }


def main_content(
    tree: dom.Tree, source: Source, host: str, overrides: tuple[Overrides, ...], *, scored: bool = True
) -> Content:
    """The part of the tree that is the page's own. `source` is read again only when pruning left nothing.

    Where it is not `scored`, the page's markup alone says which part that is.
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
    """Score the blocks of a page without what is unseen; None where there is too little or far too much to score."""
    html = dom.serialised(body)
    elements = dom.all_elements(body)
    judged = judge_html(html, len(elements))
    return replace(judged, elements=elements) if judged is not None else None


def judge_html(html: bytes, opened: int) -> Judged | None:
    """The same of its HTML, which holds so many elements."""
    from sitelore.extract.content.trees import trees_from  # noqa: PLC0415 a plain crawl scores nothing

    if len(html) > _MAX_BYTES:
        return None
    looked = _looked(html, trees_from())
    if not looked.is_worthwhile or looked.opened != opened:
        return None
    choice, cuts, kept_words = looked.decided()
    return Judged(html, opened, choice, cuts, float(looked.words), kept_words)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was chosen of the page that compiled code holds, which still has the blocks that go where some were judged."""

    strategy: str
    judged: Judged | None = None


def seen_content(host: str, overrides: tuple[Overrides, ...], *, scored: bool) -> Seen | None:
    """The same part of the page that compiled code holds, which is cut down; None where a tree has to be asked."""
    if SEER is None or any(_is_for(rules.domain, host) for rules in overrides) or not SEER.drop_unseen():
        return None
    if not scored:
        rung = SEER.choose_plainly()
        return Seen(rung) if rung is not None else None
    body = SEER.choose_body()
    judged = judge_html(*body) if body is not None else None
    return Seen("learned", judged) if judged is not None and not _is_tiny(judged) else None


def _looked(html: bytes, trees: Trees) -> Looked | PlainlyLooked:
    """By compiled code; the plain way where there is none, or where it cannot cut the page."""
    from sitelore.extract.content.choosing import CHOOSER  # noqa: PLC0415 as above

    found = CHOOSER.look(html, trees, _MAX_BLOCKS, _FEW_WORDS) if CHOOSER is not None else None
    if found is not None:
        return found
    from sitelore.extract.content.plain_choosing import look_plainly  # noqa: PLC0415 numpy takes 25 MB, for few pages or none

    return look_plainly(html, trees, _MAX_BLOCKS, _FEW_WORDS)


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
    """Everything visible: pruning a page that is all frame must not make it empty."""
    tree = dom.parse(source.for_parser())
    prepare(tree)
    drop_unseen(tree)
    return Content((dom.body(tree) or tree,), "body")
