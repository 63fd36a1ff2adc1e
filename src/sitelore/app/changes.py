"""Changes of a site between two points in time: new, changed, gone and moved pages, and pages as they were at a date."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import Any

import msgspec

from sitelore.model.changes import ChangedVersion, ChangeKind, DiffKind, DiffLine, DiffSpan, GonePage, ReturnedPage, SiteChange
from sitelore.model.errors import NoSuchRun
from sitelore.model.frontier import PageVersion, Run, RunListing
from sitelore.model.ids import BlobKey, SiteId
from sitelore.model.url import Url
from sitelore.ports import Blobs, Ledger

END_OF_TIME = float("inf")
MAX_DIFF_LINES = 200
_MAX_COMPARED_LINES = 5_000


_MAX_COMPARED_WORDS = 2_000
_SAME_LINE_SHARE = 0.5
"""Share of words in common from which a line counts as changed and not as replaced."""
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


class _Markdown(msgspec.Struct, frozen=True):
    """The part of a stored document whose versions are compared."""

    markdown: str = ""


class _Text(msgspec.Struct, frozen=True):
    """The part of a stored document that is compared."""

    text: str = ""


async def site_changes(
    ledger: Ledger, blobs: Blobs, site: SiteId, since: float, until: float = END_OF_TIME
) -> list[SiteChange]:
    """All changes of a site after `since`, until and with `until`, sorted by URL.

    A page has moved when it is gone, and its address leads to a new page or a new page has its content. A page that was gone
    and has come back is new, whether or not it has changed.
    """
    changed = await ledger.changed_versions(site, since, until)
    gone = await ledger.gone_pages(site, since, until)
    returned = await ledger.returned_pages(site, since, until)
    back = {page.url for page in returned}
    changed = [version for version in changed if version.url not in back]
    appeared: list[ChangedVersion | ReturnedPage] = [*returned, *(version for version in changed if version.before is None)]
    by_hash = {page.content_hash: page.url for page in appeared}
    new = {page.url for page in appeared}
    moves = {page.url: target for page in gone if (target := _new_address(page, by_hash, new)) is not None}
    targets = set(moves.values())
    lost = {page.url for page in gone}
    changes = [
        SiteChange(ChangeKind.MOVED, page.url, page.at, moves[page.url], page.evidence)
        if page.url in moves
        else SiteChange(ChangeKind.GONE, page.url, page.at, evidence=page.evidence)
        for page in gone
    ]
    changes += [SiteChange(ChangeKind.NEW, page.url, page.at) for page in appeared if page.url not in targets | lost]
    changes += [await _changed(blobs, version) for version in changed if version.before is not None and version.url not in lost]
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


# Versions of a page


async def version_lines(blobs: Blobs, version: PageVersion) -> list[str]:
    """The lines of the Markdown of a version, without empty ones."""
    try:
        document = msgspec.json.decode(await blobs.get(version.document), type=_Markdown)
    except (KeyError, msgspec.DecodeError):
        return []
    return [line for line in document.markdown.split("\n") if line.strip()]


def diff_words(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """All lines of two texts with what happened to them, and for changed lines what happened to their words."""
    old, new = old[:_MAX_COMPARED_LINES], new[:_MAX_COMPARED_LINES]
    result: list[DiffLine] = []
    for tag, low, high, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            result += (_whole_line(DiffKind.SAME, line) for line in old[low:high])
        else:
            result += _replaced_lines(old[low:high], new[start:end])
    return result


def _replaced_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    """Yield lines that were replaced by others: those that resemble each other as changed ones."""
    for before, after in zip_longest(old, new):
        changed = _changed_line(before, after) if before is not None and after is not None else None
        if changed is not None:
            yield changed
            continue
        if before is not None:
            yield _whole_line(DiffKind.REMOVED, before)
        if after is not None:
            yield _whole_line(DiffKind.ADDED, after)


def _changed_line(before: str, after: str) -> DiffLine | None:
    """The words of a line that changed; None when the two have little in common."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > _MAX_COMPARED_WORDS:
        return None
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    same = sum(word.isalnum() for block in matcher.get_matching_blocks() for word in old[block.a : block.a + block.size])
    if 2 * same < _SAME_LINE_SHARE * sum(word.isalnum() for word in (*old, *new)):
        return None
    spans: list[DiffSpan] = []
    for tag, low, high, start, end in matcher.get_opcodes():
        if tag == "equal":
            spans.append(DiffSpan(DiffKind.SAME, "".join(old[low:high])))
            continue
        pieces = ((DiffKind.REMOVED, old[low:high]), (DiffKind.ADDED, new[start:end]))
        spans += (DiffSpan(kind, "".join(words)) for kind, words in pieces if words)
    return DiffLine(DiffKind.CHANGED, tuple(spans))


def _whole_line(kind: DiffKind, text: str) -> DiffLine:
    return DiffLine(kind, (DiffSpan(kind, text),))


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
    """The stored document of a page at a moment; None when no version existed then, or it was deleted."""
    for site in {run.site for run in await ledger.runs()}:
        for version in await ledger.page_history(site, url):
            if version.seen_at <= at and (version.ended_at is None or at < version.ended_at):
                document: dict[str, Any] = msgspec.json.decode(await blobs.get(version.document))
                return {**document, "seen_at": version.seen_at}
    return None
