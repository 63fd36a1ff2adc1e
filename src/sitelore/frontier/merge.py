"""Merging by proof: which pages of a run are one page, judged when a wave has settled.

Proofs: an identity that the site's own options give both, equal content, or a canonical link that agrees: the page it names
was kept, does not name a third one, and holds the same content or nearly so (`agreed`, judged by whoever can read both
texts). A canonical link alone proves nothing: many sites name their front page on every page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from sitelore.model.frontier import KeptPage, Merge
from sitelore.model.states import Proof
from sitelore.model.url import Url

SIMILAR = 0.8
"""Share of words two texts must have in common for a canonical link between them to be believed."""


def merge(pages: Iterable[KeptPage], agreed: Collection[tuple[Url, Url]] = ()) -> tuple[Merge, ...]:
    """Every page that turns out to be another one, by seq. The canonical target is the page, else the smallest seq."""
    known = {page.url: page for page in pages}
    groups: dict[str, list[KeptPage]] = defaultdict(list)
    into: dict[Url, Merge] = {}
    first_of: dict[str, Url] = {}
    for page in sorted(known.values(), key=lambda p: p.seq):
        if page.identity:
            first = first_of.setdefault(page.identity, page.url)
            if first != page.url:
                into[page.url] = Merge(page.url, first, Proof.IDENTITY)
                continue
        if page.content_hash:
            groups[page.content_hash].append(page)
        target = _canonical_target(page, known)
        if target is not None and (page.url, target.url) in agreed:
            into[page.url] = Merge(page.url, target.url, Proof.CANONICAL)
    for group in groups.values():
        chosen = _chosen(group, known)
        for page in group:
            if page is not chosen and page.url not in into:
                named = _canonical_target(page, known) is chosen
                into[page.url] = Merge(page.url, chosen.url, Proof.CANONICAL if named else Proof.EQUAL_CONTENT)
    return tuple(_settled(merge_, into) for merge_ in sorted(into.values(), key=lambda m: known[m.url].seq))


def _canonical_target(page: KeptPage, known: dict[Url, KeptPage]) -> KeptPage | None:
    if page.canonical is None or page.canonical == page.url:
        return None
    target = known.get(page.canonical)
    if target is None or target.canonical not in {None, target.url}:
        return None
    return target


def _chosen(group: list[KeptPage], known: dict[Url, KeptPage]) -> KeptPage:
    """Among equals: the one that the first canonical link between them names, else the first."""
    for page in group:
        target = _canonical_target(page, known)
        if target is not None and target.content_hash == page.content_hash:
            return target
    return group[0]


def _settled(merge_: Merge, into: dict[Url, Merge]) -> Merge:
    """With the end of the chain as target: a page may merge into one that itself merges."""
    target, steps = merge_.into, 0
    while target in into and steps < len(into):
        target, steps = into[target].into, steps + 1
    return Merge(merge_.url, target, merge_.proof) if target != merge_.url else merge_
