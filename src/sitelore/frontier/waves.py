"""Between two waves: what is one page, what is a trap, what is admitted.

The plan depends on what has settled and on nothing else, so one worker, many workers and a resumed run make the same one.
Candidates are taken in rank order. A shape has a credit; the first candidate whose shape has none left ends the wave, so that
the order of admission stays the order of discovery, and the next wave knows more about that shape.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from sitelore.frontier.url_pattern import DATED, FACETED
from sitelore.model.frontier import Candidate, KeptPage, Kind, Merge, PatternYield, WaveFacts, WavePlan
from sitelore.model.states import Proof
from sitelore.model.url import Url

FREE_PAGES = 100
"""Pages that any shape may bring before its yield counts."""
FREE_SUSPECT_PAGES = 50
"""The same for shapes that traps are made of: dates and combinations of filters."""
MIN_YIELD = 0.1
"""Below this share of pages that were not the same again, a shape is a trap."""
FREE_COUNTING_PAGES = 50_000
"""Pages of an ordinary shape that may differ in numbers alone (`/page/1`, `/page/2` …)."""
MAX_FACETED = 500
"""Pages of one path under combinations of three or more parameters."""


def plan_wave(facts: WaveFacts, agreed: Collection[tuple[Url, Url]] = ()) -> WavePlan:
    """Merges, traps and the next rows to admit."""
    merges = merge((*facts.related, *facts.settled), agreed)
    budget = facts.settings.max_pages
    left = None if budget is None else budget - (facts.kept - len(merges))
    if left is not None and left <= 0:
        return WavePlan(merges=merges, exhausted=True)
    admit: list[Url] = []
    trapped: list[tuple[Url, str]] = []
    used: Counter[str] = Counter()
    pages = 0
    for candidate in facts.candidates:
        if candidate.kind is Kind.SITEMAP:
            admit.append(candidate.url)
            continue
        if left is not None and pages >= left:
            break
        credit = _credit(candidate, facts) if facts.settings.detect_traps else None
        if credit is not None:
            if credit <= 0:
                trapped.append((candidate.url, _why(candidate.shape, facts.shapes[candidate.shape])))
                continue
            if used[candidate.shape] >= credit:
                break
            used[candidate.shape] += 1
        admit.append(candidate.url)
        pages += 1
    return WavePlan(merges=merges, admit=tuple(admit), trapped=tuple(trapped))


def _credit(candidate: Candidate, facts: WaveFacts) -> int | None:
    """How many more pages of this shape the next wave may take; None for what a person typed."""
    if candidate.depth == 0:
        return None
    found = facts.shapes.get(candidate.shape, PatternYield())
    is_dated, is_faceted = DATED in candidate.shape, FACETED in candidate.shape
    free = FREE_SUSPECT_PAGES if is_dated or is_faceted else FREE_PAGES
    allowed = max(free, int(found.distinct / MIN_YIELD))
    free_counting = free if is_dated else FREE_COUNTING_PAGES
    allowed = min(allowed, max(free_counting, int(found.novel / MIN_YIELD)))
    if is_faceted:
        allowed = min(allowed, MAX_FACETED)
    return allowed - found.pages


def _why(shape: str, found: PatternYield) -> str:
    if FACETED in shape and found.pages >= MAX_FACETED:
        return f"{found.pages} combinations of parameters of {shape} were read already"
    same = min(found.distinct, found.novel)
    return f"{found.pages} pages of the shape {shape} brought only {same} that were not the same again"


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
