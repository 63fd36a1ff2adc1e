"""Fetches pages ahead of their admission, while slow pages hold the current wave open.

`frontier/prefetch.py` says which candidates may be fetched. Where the limits allow it, links of pages fetched ahead are fetched
too, so that a slow page delays neither its own level nor those below it. What was fetched is kept in memory until its row is
admitted and claimed; then the visit settles from it without a request. Nothing else is written: no link is offered before.

A result that is lost, because the worker stops or the page is not admitted, costs one request. It is counted in the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from sitelore.crawl.context import VisitContext, WorkerContext
from sitelore.crawl.visit import PageRead, read_page
from sitelore.frontier.admission import page_credit
from sitelore.frontier.classify import Redirected, classify
from sitelore.frontier.freshness import unchanged
from sitelore.frontier.prefetch import allowed_bets, pages_in_sight, prefetch_targets
from sitelore.frontier.url_pattern import url_pattern
from sitelore.model.document import Reading
from sitelore.model.frontier import Candidate, Lease, PatternYield, PrefetchTarget
from sitelore.model.ids import RunId, WorkerId
from sitelore.model.response import Response
from sitelore.model.settings import Prefetch
from sitelore.model.states import UrlState
from sitelore.model.url import Url

_LOG = logging.getLogger(__name__)

_LOOK_INTERVAL_S = 0.1
"""Least time between two queries for candidates. A wave of quick pages has settled before that."""
_MAX_HELD_BYTES = 64 * 2**20
_MAX_HELD_PAGES = 5_000
_MAX_QUEUED_LINKS = 10_000
_BYTES_PER_LINK = 100


@dataclass(slots=True)
class _Entry:
    """A page that is being fetched ahead or was fetched, its provisional lease and the slot it holds."""

    lease: Lease
    task: asyncio.Task[PageRead | None]
    has_slot: bool = True
    size: int = 0


class Prefetcher:
    """The pages that one worker fetches ahead in one run.

    `free_slots` says how many requests may start now: none while open rows wait for a slot. `on_done` is called after every
    page.
    """

    def __init__(
        self,
        run: RunId,
        worker: WorkerId,
        worker_context: WorkerContext,
        context: VisitContext,
        free_slots: Callable[[], int],
        on_done: Callable[[], None],
    ) -> None:
        self._run = run
        self._worker = worker
        self._ledger = worker_context.ledger
        self._limiter = worker_context.limiter
        self._lease_s = worker_context.config.lease_s
        self._context = context
        self._settings = context.settings
        self._free_slots = free_slots
        self._on_done = on_done
        self._entries: dict[Url, _Entry] = {}
        self._ready: deque[Lease] = deque()
        """Reserved, and not started."""
        self._tried: set[Url] = set()
        """URLs that were reserved once; none is tried a second time."""
        self._links: deque[PrefetchTarget] = deque()
        """Links of pages fetched ahead."""
        self._queued_links: set[Url] = set()
        self._used: list[Url] = []
        self._unused: list[Url] = []
        self._yields: dict[str, PatternYield] = {}
        self._ahead_by_pattern: Counter[str] = Counter()
        self._in_sight = 0
        self._bets = 0
        self._next_look_at = 0.0
        self._held_bytes = 0
        self.active = 0
        """Pages that are being fetched and hold a slot."""

    def postpone(self) -> None:
        """Wait a moment before looking for candidates: a wave has opened, and usually it settles at once."""
        self._next_look_at = self._context.clock() + _LOOK_INTERVAL_S

    async def update(self, closed_hosts: Collection[str]) -> None:
        """Report what was used and dropped, choose what to fetch next, and start as much as there are free slots for."""
        await self._report()
        if self._settings.prefetch is Prefetch.OFF:
            return
        wanted = self._free_slots() - len(self._ready)
        if wanted > 0 and self._held_bytes < _MAX_HELD_BYTES and len(self._entries) < _MAX_HELD_PAGES:
            targets = await self._choose(2 * wanted, closed_hosts)
            if targets:
                now = self._context.clock()
                leases = await self._ledger.start_prefetches(self._run, self._worker, targets, now, self._lease_s)
                self._ready.extend(leases)
        self._start()

    async def take(self, lease: Lease) -> PageRead | None:
        """What was fetched ahead for a row that is admitted now; None when it has to be fetched."""
        entry = self._entries.pop(lease.url, None)
        if entry is None:
            self._forget_reserved(lease.url)
            return None
        self._used.append(lease.url)
        self._held_bytes -= entry.size
        self._ahead_by_pattern[url_pattern(lease.url)] -= 1
        self._release_slot(entry)  # from here on the slot of the visit counts
        page = await entry.task
        is_equal = (entry.lease.kind, entry.lease.known) == (lease.kind, lease.known)
        return page if is_equal else None

    def _forget_reserved(self, url: Url) -> None:
        for lease in self._ready:
            if lease.url == url:
                self._ready.remove(lease)
                self._used.append(url)
                return

    async def renew(self, until: float) -> None:
        """Extend the reservations."""
        if self._entries or self._ready:
            await self._ledger.renew_prefetches(self._run, self._worker, until)

    async def close(self) -> None:
        """Stop fetching. The reservations end with the leases of the worker, or with the run."""
        entries, self._entries = list(self._entries.values()), {}
        for entry in entries:
            entry.task.cancel()
        await asyncio.gather(*(entry.task for entry in entries), return_exceptions=True)

    async def _report(self) -> None:
        for urls, are_used in ((self._used, True), (self._unused, False)):
            if urls:
                ended = urls.copy()
                urls.clear()
                await self._ledger.end_prefetches(self._run, self._worker, ended, are_used=are_used)

    async def _choose(self, count: int, closed_hosts: Collection[str]) -> list[PrefetchTarget]:
        """The next candidates of the run, then links of pages fetched ahead."""
        targets: list[PrefetchTarget] = []
        now = self._context.clock()
        if now >= self._next_look_at:
            self._next_look_at = now + _LOOK_INTERVAL_S
            facts = await self._ledger.prefetch_facts(self._run, now)
            if facts is None:
                return []
            self._in_sight, self._bets = pages_in_sight(facts), facts.bets
            self._yields.update(facts.pattern_yields)
            candidates = (target for target in prefetch_targets(facts) if target.url not in self._tried)
            targets += islice((target for target in candidates if target.url.authority not in closed_hosts), count)
        for _ in range(len(self._links)):
            if len(targets) >= count:
                break
            target = self._judge_link(self._links.popleft(), closed_hosts)
            if target is not None:
                targets.append(target)
        if not self._links:
            self._queued_links.clear()
        self._tried.update(target.url for target in targets)
        return targets

    def _judge_link(self, link: PrefetchTarget, closed_hosts: Collection[str]) -> PrefetchTarget | None:
        """A link of a page fetched ahead, if it may be fetched now. One whose host is closed is queued again."""
        if link.url in self._tried:
            return None
        if link.url.authority in closed_hosts:
            self._links.append(link)
            return None
        if self._settings.max_pages is not None:
            if allowed_bets(self._settings, self._in_sight + len(self._links) + 1, self._bets) <= 0:
                return None
            self._bets += 1
            link = replace(link, is_bet=True)
        pattern = url_pattern(link.url)
        if self._settings.detect_traps:
            credit = page_credit(Candidate(link.url, link.kind, link.depth, pattern), self._yields)
            if credit is not None and self._ahead_by_pattern[pattern] >= credit:
                return None
        return link

    def _start(self) -> None:
        while self._ready and self._free_slots() > 0 and not self._limiter.is_full:
            lease = self._ready.popleft()
            self._limiter.take()
            self.active += 1
            task = asyncio.create_task(self._read(lease))
            entry = self._entries[lease.url] = _Entry(lease, task)
            self._ahead_by_pattern[url_pattern(lease.url)] += 1
            task.add_done_callback(partial(self._finish, entry))

    async def _read(self, lease: Lease) -> PageRead | None:
        """Fetch and extract a page; None when it needs no request, may not be fetched, or should be tried again later."""
        context = self._context
        if unchanged(lease, context.settings, context.clock()) is not None:
            return None
        robots = await context.robots.judge(lease.url)
        if not robots.allowed:
            return None
        page = await read_page(lease, context)
        fetched = page.page_fetch.fetched
        outcome = classify(lease, fetched, context.settings, context.rules, context.clock())
        if outcome is not None and not isinstance(outcome, Redirected) and outcome.state is UrlState.QUEUED:
            self._unused.append(lease.url)
            return None
        if isinstance(fetched, Response) and page.reading is not None:
            # The body has been read; only its document and snapshot are needed from here on.
            page = replace(page, page_fetch=replace(page.page_fetch, fetched=replace(fetched, body=b"")))
        return page

    def _finish(self, entry: _Entry, task: asyncio.Task[PageRead | None]) -> None:
        """Keep the result for the visit. Without one, the reservation ends and the visit fetches the page itself."""
        self._release_slot(entry)
        url = entry.lease.url
        is_held = self._entries.get(url) is entry
        if task.cancelled() or task.exception() is not None or task.result() is None:
            if not task.cancelled() and (error := task.exception()) is not None:
                _LOG.warning("fetching ahead failed", exc_info=error, extra={"run": self._run, "url": url})
            if is_held:
                del self._entries[url]
                self._ahead_by_pattern[url_pattern(url)] -= 1
                if url not in self._unused:
                    self._used.append(url)  # nothing was fetched, so nothing is lost
        elif is_held:
            page = task.result()
            assert page is not None
            entry.size = _size(page)
            self._held_bytes += entry.size
            self._queue_links(entry.lease, page)
        self._start()
        self._on_done()

    def _queue_links(self, lease: Lease, page: PageRead) -> None:
        """Queue the links of a page fetched ahead that no page has offered so far."""
        reading = page.reading
        if not isinstance(reading, Reading) or self._settings.prefetch is not Prefetch.ON:
            return
        offer_builder, depth = self._context.offer_builder, lease.depth + 1
        for url in reading.links:
            if len(self._links) >= _MAX_QUEUED_LINKS:
                return
            if url in self._queued_links or url in self._tried or offer_builder.is_offered(url):
                continue
            if offer_builder.link_refusal(url, depth) is None:
                self._queued_links.add(url)
                self._links.append(PrefetchTarget(url, depth))

    def _release_slot(self, entry: _Entry) -> None:
        if entry.has_slot:
            entry.has_slot = False
            self.active -= 1
            self._limiter.release()


def _size(page: PageRead) -> int:
    """About how many bytes a result takes."""
    reading = page.reading
    if not isinstance(reading, Reading):
        return _BYTES_PER_LINK
    blobs = sum(len(blob.data) for blob in (reading.document, reading.snapshot) if blob is not None)
    return blobs + len(page.page_fetch.screenshot) + _BYTES_PER_LINK * len(reading.links)
