"""Admission: which rows the next wave admits within the page limit, which pages are duplicates, which URL patterns are traps.

A wave is a batch of rows that are visited before the next batch is planned; an admitted row gets the next number (`seq`). The
plan depends only on what has settled, so one worker, many workers and a resumed run make the same one. Candidates are taken
in the order of `Offer.rank`: by depth, then by the page that links to them, then by the position on it. A URL pattern has a
credit of pages; the first candidate whose pattern has none left ends the wave, so that rows are admitted in the order of
discovery and the next wave knows more about that pattern.

Two pages are merged only with a proof: their URLs are equal under the site's identity options, their contents are equal, or
one names the other as canonical, the other was kept and names no further page, and their contents are similar (such pairs are
`agreed`; the caller compares them). A canonical link alone proves nothing: many sites name their front page on every page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from sitelore.frontier.url_pattern import DATED, FACETED
from sitelore.model.frontier import Candidate, KeptPage, Merge, PatternYield, RowKind, WaveFacts, WavePlan
from sitelore.model.states import Proof
from sitelore.model.url import Url

FREE_PAGES = 100
"""Pages that any URL pattern may bring before its yield counts."""
FREE_SUSPECT_PAGES = 50
"""Free pages of patterns that traps are made of: dates and combinations of filters."""
MIN_YIELD = 0.1
"""A pattern whose share of new pages is below this is a trap."""
FREE_COUNTING_PAGES = 50_000
"""Pages of an ordinary pattern that may differ in numbers only (`/page/1`, `/page/2` …)."""
MAX_FACETED = 500
"""Pages of one path with different combinations of three or more parameters."""
SIMILAR = 0.8
"""Share of words that two texts must have in common for a canonical link between them to count."""


def plan_wave(facts: WaveFacts, agreed: Collection[tuple[Url, Url]] = ()) -> WavePlan:
    """The merges, the trapped rows and the next rows to admit."""
    merges = merge((*facts.related, *facts.settled), agreed)
    budget = facts.settings.max_pages
    remaining = None if budget is None else budget - (facts.kept - len(merges))
    media = [candidate.url for candidate in facts.media[: max(0, facts.settings.media.per_run - facts.media_admitted)]]
    if remaining is not None and remaining <= 0:
        return WavePlan(merges=merges, admit=tuple(media), exhausted=not media)
    admit: list[Url] = []
    trapped: list[tuple[Url, str]] = []
    used: Counter[str] = Counter()
    pages = 0
    for candidate in facts.candidates:
        if candidate.kind is RowKind.SITEMAP:
            admit.append(candidate.url)
            continue
        if remaining is not None and pages >= remaining:
            break
        credit = page_credit(candidate, facts.pattern_yields) if facts.settings.detect_traps else None
        if credit is not None:
            if credit <= 0:
                trapped.append((candidate.url, _trap_detail(candidate.pattern, facts.pattern_yields[candidate.pattern])))
                continue
            if used[candidate.pattern] >= credit:
                break
            used[candidate.pattern] += 1
        admit.append(candidate.url)
        pages += 1
    return WavePlan(merges=merges, admit=(*admit, *media), trapped=tuple(trapped))


def page_credit(candidate: Candidate, yields: Mapping[str, PatternYield]) -> int | None:
    """How many more pages of its pattern the next wave may admit; None for seeds, which are not limited."""
    if candidate.depth == 0:
        return None
    stats = yields.get(candidate.pattern, PatternYield())
    is_dated, is_faceted = DATED in candidate.pattern, FACETED in candidate.pattern
    free = FREE_SUSPECT_PAGES if is_dated or is_faceted else FREE_PAGES
    allowed = max(free, int(stats.distinct / MIN_YIELD))
    free_counting = free if is_dated else FREE_COUNTING_PAGES
    allowed = min(allowed, max(free_counting, int(stats.novel / MIN_YIELD)))
    if is_faceted:
        allowed = min(allowed, MAX_FACETED)
    return allowed - stats.pages


def _trap_detail(pattern: str, stats: PatternYield) -> str:
    if FACETED in pattern and stats.pages >= MAX_FACETED:
        return f"{stats.pages} parameter combinations of {pattern} were already fetched"
    return f"{stats.pages} pages of the pattern {pattern} brought only {min(stats.distinct, stats.novel)} with new content"


def merge(pages: Iterable[KeptPage], agreed: Collection[tuple[Url, Url]] = ()) -> tuple[Merge, ...]:
    """All pages that duplicate another page, by seq. They merge into the canonical target, else into the smallest seq."""
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
        original = _original(group, known)
        for page in group:
            if page is not original and page.url not in into:
                is_canonical = _canonical_target(page, known) is original
                into[page.url] = Merge(page.url, original.url, Proof.CANONICAL if is_canonical else Proof.EQUAL_CONTENT)
    return tuple(_with_final_target(row, into) for row in sorted(into.values(), key=lambda row: known[row.url].seq))


def _canonical_target(page: KeptPage, known: dict[Url, KeptPage]) -> KeptPage | None:
    if page.canonical is None or page.canonical == page.url:
        return None
    target = known.get(page.canonical)
    if target is None or target.canonical not in {None, target.url}:
        return None
    return target


def _original(group: list[KeptPage], known: dict[Url, KeptPage]) -> KeptPage:
    """The page that a group of equal pages merges into: the target of the first canonical link between them, else the first."""
    for page in group:
        target = _canonical_target(page, known)
        if target is not None and target.content_hash == page.content_hash:
            return target
    return group[0]


def _with_final_target(row: Merge, into: dict[Url, Merge]) -> Merge:
    """A merge with the end of its chain as target, because a page may merge into one that itself merges."""
    target, steps = row.into, 0
    while target in into and steps < len(into):
        target, steps = into[target].into, steps + 1
    return Merge(row.url, target, row.proof) if target != row.url else row
