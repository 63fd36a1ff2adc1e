"""What changed on a site between two moments: new, changed, gone and moved pages, and pages as they were at a date."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec

from sitelore.model.changes import ChangedVersion, ChangeKind, GonePage, SiteChange
from sitelore.model.errors import NoSuchRun
from sitelore.model.frontier import Run, RunListing
from sitelore.model.ids import BlobKey, SiteId
from sitelore.model.url import Url
from sitelore.ports import Blobs, Ledger

END_OF_TIME = float("inf")
MAX_DIFF_LINES = 200
_MAX_COMPARED_LINES = 5_000


class _Text(msgspec.Struct, frozen=True):
    """The part of a stored document that is compared."""

    text: str = ""


async def site_changes(
    ledger: Ledger, blobs: Blobs, site: SiteId, since: float, until: float = END_OF_TIME
) -> list[SiteChange]:
    """All changes of a site after `since`, until and with `until`, sorted by URL.

    A page has moved when it is gone, and its address leads to a new page or a new page has its content.
    """
    changed = await ledger.changed_versions(site, since, until)
    gone = await ledger.gone_pages(site, since, until)
    by_hash = {version.content_hash: version.url for version in changed if version.before is None}
    new = set(by_hash.values()) | {version.url for version in changed if version.before is None}
    moves = {page.url: target for page in gone if (target := _new_address(page, by_hash, new)) is not None}
    targets = set(moves.values())
    lost = {page.url for page in gone}
    changes = [
        SiteChange(ChangeKind.MOVED, page.url, page.at, moves[page.url], page.evidence)
        if page.url in moves
        else SiteChange(ChangeKind.GONE, page.url, page.at, evidence=page.evidence)
        for page in gone
    ]
    for version in changed:
        if version.url in lost:
            continue
        if version.before is None:
            if version.url not in targets:
                changes.append(SiteChange(ChangeKind.NEW, version.url, version.at))
        else:
            changes.append(await _changed(blobs, version))
    return sorted(changes, key=lambda change: (change.url, change.kind))


def _new_address(page: GonePage, by_hash: dict[str, Url], new: set[Url]) -> Url | None:
    return page.alias_of if page.alias_of in new else by_hash.get(page.content_hash)


async def _changed(blobs: Blobs, version: ChangedVersion) -> SiteChange:
    assert version.before is not None
    old, new = await asyncio.gather(_lines(blobs, version.before), _lines(blobs, version.document))
    removed, added = await asyncio.to_thread(diff_lines, old, new)
    return SiteChange(ChangeKind.CHANGED, version.url, version.at, removed=removed, added=added)


async def _lines(blobs: Blobs, key: BlobKey) -> list[str]:
    try:
        return msgspec.json.decode(await blobs.get(key), type=_Text).text.split("\n")
    except (KeyError, msgspec.DecodeError):
        return []


def diff_lines(old: Sequence[str], new: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines that are in one text alone: removed ones and added ones, each in their order; at most `MAX_DIFF_LINES`."""
    matcher = difflib.SequenceMatcher(None, old[:_MAX_COMPARED_LINES], new[:_MAX_COMPARED_LINES], autojunk=False)
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    removed = chain.from_iterable(old[low:high] for _, low, high, _, _ in codes)
    added = chain.from_iterable(new[low:high] for _, _, _, low, high in codes)
    return tuple(filter(None, removed))[:MAX_DIFF_LINES], tuple(filter(None, added))[:MAX_DIFF_LINES]


async def last_run_of(ledger: Ledger, site: str) -> tuple[SiteId, float]:
    """The site of this name, or the one crawled last, and when its last finished run began."""
    runs, _ = await ledger.list_runs(RunListing(site=site, limit=20))
    finished = [run for run in runs if run.started_at and run.finished_at]
    if not finished:
        raise NoSuchRun(f"no finished run{f' of {site}' if site else ''}; changes are known after a crawl")
    return finished[0].site, _began(finished[0])


def _began(run: Run) -> float:
    return (run.started_at or run.created_at) - 1e-6


async def document_at(ledger: Ledger, blobs: Blobs, url: Url, at: float) -> dict[str, Any] | None:
    """The stored document of a page as it was at a moment; None where no version was known then, or it was deleted."""
    for site in {run.site for run in await ledger.runs()}:
        for version in await ledger.page_history(site, url):
            if version.seen_at <= at and (version.ended_at is None or at < version.ended_at):
                document: dict[str, Any] = msgspec.json.decode(await blobs.get(version.document))
                return {**document, "seen_at": version.seen_at}
    return None
