"""Cuts a tree down to the kept blocks: whole elements where none of their blocks is kept, loose text elsewhere."""

from __future__ import annotations

from itertools import accumulate
from operator import mul

from sitelore.extract import dom
from sitelore.extract.content.block_scorer import ElementTable, ScoredPage
from sitelore.extract.content.vocabulary import INLINE, TAG_NUMBER

_CELLS = frozenset(TAG_NUMBER[tag] for tag in (b"td", b"th", b"hr"))  # dropping an empty cell would shift its row
_KEPT_AROUND = 0.5


def trim(page: ScoredPage, kept: list[bool], in_order: list[dom.Element]) -> None:
    """Cut a subtree, given as all its elements in document order, down to the kept blocks."""
    gone, texts = _cuts(page, kept)
    for place, loose in texts.items():
        _drop_loose(in_order[place], {_plain(text.decode("utf-8", "replace")) for text in loose})
    for place in gone:
        dom.drop(in_order[place])


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


def _plain(text: str) -> str:
    """Text as both the serialisation and the tree have it: no references, no white space."""
    for reference, char in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(reference, char)
    return "".join(text.split())


def _drop_loose(element: dom.Element, texts: set[str]) -> None:
    run: list[dom.AnyNode] = []
    for child in [*dom.children(element), None]:
        if child is not None and (not isinstance(child, dom.Element) or child.tag.encode() in INLINE):
            run.append(child)
            continue
        if run and _plain("".join(map(dom.text_of, run))) in texts:
            for node in run:
                dom.drop(node)
        run = []
