"""Insights about a run: how many URLs were read or not and why, and how many pages changed since another run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from sitelore.audit.shingles import jaccard, similar_pairs
from sitelore.audit.site import Site, was_unchanged
from sitelore.model.audit.findings import EarlierPage, Shingles
from sitelore.model.states import KEPT, WAITING, UrlState

MOVED = 0.90
"""The share of text from which a new page counts as one that is gone."""
_BUCKETS = ((0.05, "<5 %"), (0.20, "5-20 %"), (0.50, "20-50 %"))


@dataclass(frozen=True, slots=True)
class RunCoverage:
    """How many of the URLs that a run discovered were read, skipped or failed. The parts add up to `discovered`."""

    discovered: int
    read: int
    unchanged: int
    merged: int
    """Redirects and duplicates: other addresses of pages."""
    skipped: dict[str, int]
    """By skip reason, without those that are unchanged."""
    failed: dict[str, int]
    """Errors and pages that do not exist, by state."""
    unfinished: int
    is_complete: bool


def run_coverage(site: Site) -> RunCoverage:
    """The numbers for a run."""
    skipped: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    read = unchanged = merged = unfinished = 0
    for page in site.pages.values():
        if was_unchanged(page):
            unchanged += 1
        elif page.state in KEPT:
            read += 1
        elif page.state is UrlState.SKIPPED:
            skipped[str(page.skip_reason or "unknown")] += 1
        elif page.state is UrlState.ALIAS or page.state.value.startswith("REDIRECT"):
            merged += 1
        elif page.state in WAITING:
            unfinished += 1
        else:
            failed[page.state.value] += 1
    return RunCoverage(
        len(site.pages), read, unchanged, merged, dict(skipped), dict(failed), unfinished, site.is_complete and not unfinished
    )


@dataclass(frozen=True, slots=True)
class Movement:
    """What changed between two runs. A moved page is neither new nor gone."""

    new: tuple[str, ...]
    gone: tuple[str, ...]
    same: int
    moved: tuple[tuple[str, str, float], ...]
    """Old URL, new URL, similarity."""
    changed: tuple[tuple[str, float], ...]
    """URL and the share of its text that changed; -1 where it is not known."""
    buckets: dict[str, int]
    """Changed pages by that share."""


def movement(site: Site, before: Mapping[str, EarlierPage]) -> Movement:
    """What changed since an earlier run, given by URL. After a run that is not complete, unread pages count as the same."""
    now = {str(page.url): page for page in site.html_pages}
    new = {url for url in now if url not in before}
    gone = {url for url in before if url not in now and (site.is_complete or url in site.pages)}
    texts = {**{url: now[url].shingles for url in new}, **{f"-{url}": before[url].shingles for url in gone}}
    moved: list[tuple[str, str, float]] = []
    for pair in similar_pairs({url: shingles for url, shingles in texts.items() if shingles}, MOVED):
        old, fresh = sorted((pair.first, pair.second), key=lambda url: not url.startswith("-"))
        if old[1:] in gone and fresh in new:
            moved.append((old[1:], fresh, round(pair.similarity, 3)))
            gone.discard(old[1:])
            new.discard(fresh)
    both = [url for url in now if url in before]
    changed = [
        (url, _changed_share(now[url].shingles, before[url].shingles))
        for url in both
        if now[url].content_hash != before[url].content_hash
    ]
    buckets = Counter(_bucket(share) for _, share in changed)
    same = len(both) - len(changed)
    return Movement(tuple(sorted(new)), tuple(sorted(gone)), same, tuple(moved), tuple(changed), dict(buckets))


def _changed_share(now: Shingles, before: Shingles) -> float:
    return round(1 - jaccard(now, before), 3) if now and before else -1.0


def _bucket(share: float) -> str:
    if share < 0:
        return "unknown"
    return next((name for limit, name in _BUCKETS if share < limit), ">50 %")
