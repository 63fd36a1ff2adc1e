"""Chooses the candidates for the next wave (batch of URLs) that may be fetched before they are admitted to it.

Admission is not affected. A page fetched ahead is kept aside, and its row settles from it once it is admitted; so the result
of a crawl is the same with and without prefetching.

Without a page limit every candidate is admitted sooner or later, as long as its URL pattern is not a trap. With a limit, a
candidate is certain to be admitted when

- no open row and no sitemap can still offer anything that is admitted before it,
- its depth is at most one more than the smallest depth of all candidates: links of those candidates come after it then, and
- the limit reaches it: every open row, and every candidate before it, takes one place at most.

Other candidates, and all links of pages fetched ahead, are bets: the limit may end the run before they are admitted. They are
fetched only while everything known so far is within the limit, and only a small share of the limit at a time. Half of that
share is for links to pages that lead on: otherwise the articles of a blog would use it up, and the chain of lists that leads to
all others would have to wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sitelore.frontier.admission import page_credit
from sitelore.model.frontier import SOURCE_RANK, Candidate, PrefetchFacts, PrefetchTarget, RowKind, Source
from sitelore.model.settings import CrawlSettings, Prefetch

BET_SHARE = 0.05
"""Bets at a time, as a share of the page limit."""
MIN_LIMIT_FOR_BETS = 20
_SHARE_FOR_ANY_LINK = 0.5
"""The part of these bets that may be links to pages of which it is not known that they lead on."""

_Rank = tuple[int, int, int]
"""Depth, source rank and the parent's seq: what decides the order of admission before the position on the page."""


def prefetch_targets(facts: PrefetchFacts) -> list[PrefetchTarget]:
    """The candidates that may be fetched now, in order of admission."""
    limit = facts.settings.max_pages
    bets = allowed_bets(facts.settings, pages_in_sight(facts), facts.bets)
    targets: list[PrefetchTarget] = []
    for candidate, is_certain in _judged(facts, limit):
        if candidate.url in facts.started:
            continue
        if is_certain:
            targets.append(PrefetchTarget(candidate.url, candidate.depth, candidate.kind))
        elif bets > 0:
            bets -= 1
            targets.append(PrefetchTarget(candidate.url, candidate.depth, candidate.kind, is_bet=True))
    return targets


def pages_in_sight(facts: PrefetchFacts) -> int:
    """How many pages the run has at most when nothing else is discovered."""
    return facts.kept + len(facts.open_rows) + facts.candidate_count


def allowed_bets(settings: CrawlSettings, in_sight: int, bets: int, *, is_any_link: bool = False) -> int:
    """How many more bets may be fetched, when `in_sight` pages are known and `bets` are fetched or being fetched.

    `is_any_link`: they are links of pages fetched ahead, and not known to lead on.
    """
    limit = settings.max_pages
    if limit is None or limit < MIN_LIMIT_FOR_BETS or in_sight > limit or settings.prefetch is not Prefetch.ON:
        return 0
    share = BET_SHARE * _SHARE_FOR_ANY_LINK if is_any_link else BET_SHARE
    return max(0, int(limit * share) - bets)


def _judged(facts: PrefetchFacts, limit: int | None) -> Iterator[tuple[Candidate, bool]]:
    """The candidates whose URL pattern has credit, each with whether it is certain to be admitted."""
    first_offer = _first_possible_offer(facts)
    lowest = facts.candidates[0].depth if facts.candidates else 0
    places = None if limit is None else limit - facts.kept - sum(row.kind is RowKind.PAGE for row in facts.open_rows)
    used = Counter(row.pattern for row in facts.open_rows)
    for candidate in facts.candidates:
        if candidate.kind is RowKind.SITEMAP:
            yield candidate, True
            continue
        is_certain = places is None or (
            places > 0
            and candidate.depth <= lowest + 1
            and (first_offer is None or (candidate.depth, candidate.source_rank, candidate.parent_seq) < first_offer)
        )
        if places is not None:
            places -= 1
        credit = page_credit(candidate, facts.pattern_yields) if facts.settings.detect_traps else None
        used[candidate.pattern] += 1
        if credit is None or used[candidate.pattern] <= credit:
            yield candidate, is_certain


def _first_possible_offer(facts: PrefetchFacts) -> _Rank | None:
    """The best rank that a row which has not been read can still offer a page, redirects apart: the target of a redirect takes
    the place of its source.
    """
    ranks = [(row.depth + 1, _offer_rank(row.kind), row.seq) for row in facts.open_rows]
    ranks += [
        (candidate.depth + 1, _offer_rank(candidate.kind), 0)
        for candidate in facts.candidates
        if candidate.kind is RowKind.SITEMAP
    ]
    return min(ranks, default=None)


def _offer_rank(kind: RowKind) -> int:
    return SOURCE_RANK[Source.SITEMAP if kind is RowKind.SITEMAP else Source.LINK]
