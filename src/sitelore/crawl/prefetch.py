"""Prefetching: fetches pages of the next wave (batch of URLs) early, while the current wave waits for slow pages.

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
from sitelore.model.frontier import Candidate, Lease, PatternYield, PrefetchFacts, PrefetchTarget, RowKind
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
_MAX_COUNTED_PATTERNS = 1_000
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
        """URLs that were reserved once and are not admitted; none is tried a second time."""
        self._links = _LinkQueue()
        self._used: list[Url] = []
        self._unused: list[Url] = []
        self._patterns = _PatternCounts()
        self._in_sight = 0
        self._bets = 0
        self._next_look_at = 0.0
        self._held_bytes = 0
        self.active = 0
        """Pages that are being fetched and hold a slot."""

    def postpone(self) -> None:
        """Delay the next look for candidates: a wave has opened, and most waves settle quickly."""
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
                for url in {target.url for target in targets}.difference(lease.url for lease in leases):
                    self._patterns.drop(url)
        self._start()

    async def take(self, lease: Lease) -> PageRead | None:
        """What was fetched ahead for a row that is admitted now; None when it has to be fetched."""
        self._tried.discard(lease.url)  # it is no candidate any more
        self._patterns.admit(lease.url)
        entry = self._entries.pop(lease.url, None)
        if entry is None:
            self._forget_reserved(lease.url)
            return None
        self._used.append(lease.url)
        self._held_bytes -= entry.size
        self._patterns.drop(lease.url)
        self._release_slot(entry)  # from here on the slot of the visit counts
        page = await entry.task
        is_equal = (entry.lease.kind, entry.lease.known) == (lease.kind, lease.known)
        return page if is_equal else None

    def _forget_reserved(self, url: Url) -> None:
        for lease in self._ready:
            if lease.url == url:
                self._ready.remove(lease)
                self._used.append(url)
                self._patterns.drop(url)
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
            facts = await self._ledger.prefetch_facts(self._run, now, self._patterns.exhausted)
            if facts is None:
                return []
            self._in_sight, self._bets = pages_in_sight(facts), facts.bets
            self._patterns.update(facts)
            candidates = (target for target in prefetch_targets(facts) if target.url not in self._tried)
            targets += islice((target for target in candidates if target.url.authority not in closed_hosts), count)
            self._bets += sum(target.is_bet for target in targets)
            for target in targets:
                self._patterns.add(target.url)
        targets += self._choose_links(count - len(targets), closed_hosts)
        self._tried.update(target.url for target in targets)
        return targets

    def _choose_links(self, count: int, closed_hosts: Collection[str]) -> list[PrefetchTarget]:
        """Links of pages fetched ahead, first those that lead on. Those whose host is closed stay in the queue."""
        targets: list[PrefetchTarget] = []
        for is_any_link, links in ((False, self._links.leading), (True, self._links.others)):
            for _ in range(len(links)):
                if len(targets) >= count or not self._may_follow(is_any_link=is_any_link):
                    break
                link = links.popleft()
                if link.url.authority in closed_hosts:
                    links.append(link)
                    continue
                self._links.urls.discard(link.url)
                # A URL offered meanwhile is a candidate, or was admitted.
                if link.url in self._tried or self._context.offer_builder.is_offered(link.url):
                    continue
                if self._settings.detect_traps and not self._patterns.has_credit(link):
                    continue
                self._patterns.add(link.url)
                is_bet = self._settings.max_pages is not None
                self._bets += is_bet
                targets.append(replace(link, is_bet=is_bet))
        return targets

    def _may_follow(self, *, is_any_link: bool) -> bool:
        """Whether the page limit allows for one more link of a page fetched ahead. Each of them is a bet."""
        if self._settings.max_pages is None:
            return True
        in_sight = self._in_sight + self._bets + len(self._links)
        return allowed_bets(self._settings, in_sight, self._bets, is_any_link=is_any_link) > 0

    def _start(self) -> None:
        while self._ready and self._free_slots() > 0 and not self._limiter.is_full:
            lease = self._ready.popleft()
            self._limiter.take()
            self.active += 1
            task = asyncio.create_task(self._read(lease))
            entry = self._entries[lease.url] = _Entry(lease, task)
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
                self._patterns.drop(url)
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
        new = [
            PrefetchTarget(url, depth)
            for url in reading.links
            if url not in self._links.urls
            and url not in self._tried
            and not offer_builder.is_offered(url)
            and offer_builder.link_refusal(url, depth) is None
            and offer_builder.kind_of(url) is RowKind.PAGE
        ]
        self._links.add(lease.url, new)

    def _release_slot(self, entry: _Entry) -> None:
        if entry.has_slot:
            entry.has_slot = False
            self.active -= 1
            self._limiter.release()


class _PatternCounts:
    """Pages by URL pattern, so that links of pages fetched ahead are followed only as far as the trap detection admits them.

    A page counts from when it is chosen: first as ahead, then as admitted, until the yield of its pattern is read again.
    """

    def __init__(self) -> None:
        self._ahead: Counter[str] = Counter()
        self._admitted: Counter[str] = Counter()
        """Admitted since the yield of the pattern was read."""
        self._yields: dict[str, PatternYield] = {}
        self.exhausted: set[str] = set()
        """Patterns without credit by these counts. Their yields should be read again, even if no candidate has the pattern."""

    def add(self, url: Url) -> None:
        """Count a page that was chosen."""
        self._ahead[url_pattern(url)] += 1

    def drop(self, url: Url) -> None:
        """Count a page no longer as ahead. Patterns without pages are deleted: most sites have one for each page."""
        _decrement(self._ahead, url_pattern(url))

    def admit(self, url: Url) -> None:
        """Count a page that was admitted, whether it was fetched ahead or not."""
        self._admitted[url_pattern(url)] += 1

    def update(self, facts: PrefetchFacts) -> None:
        """Use new yields. They include all pages but those of open rows."""
        open_rows = Counter(row.pattern for row in facts.open_rows)
        for pattern in self.exhausted.union(candidate.pattern for candidate in facts.candidates):
            self._yields[pattern] = facts.pattern_yields.get(pattern, PatternYield())
            del self._admitted[pattern]
            if pattern in open_rows:
                self._admitted[pattern] = open_rows[pattern]
        self.exhausted.clear()
        if len(self._admitted) > _MAX_COUNTED_PATTERNS:
            self._admitted = open_rows

    def has_credit(self, link: PrefetchTarget) -> bool:
        """Whether the trap detection would admit one more page of the link's URL pattern."""
        pattern = url_pattern(link.url)
        credit = page_credit(Candidate(link.url, link.kind, link.depth, pattern), self._yields)
        if credit is None or self._ahead[pattern] + self._admitted[pattern] < credit:
            return True
        self.exhausted.add(pattern)
        return False


def _decrement(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if counter[key] <= 0:
        del counter[key]


class _LinkQueue:
    """Links of pages fetched ahead that no page has offered so far.

    `leading` are links to pages that are expected to lead on: pages of their URL pattern had at least one new link on average.
    """

    def __init__(self) -> None:
        self.leading: deque[PrefetchTarget] = deque()
        self.others: deque[PrefetchTarget] = deque()
        self.urls: set[Url] = set()
        self._pages: Counter[str] = Counter()
        """Pages fetched ahead, by URL pattern."""
        self._new_links: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.urls)

    def add(self, parent: Url, links: Collection[PrefetchTarget]) -> None:
        """Queue the new links of a page."""
        if len(self._pages) >= _MAX_COUNTED_PATTERNS:
            self._pages.clear()
            self._new_links.clear()
        pattern = url_pattern(parent)
        self._pages[pattern] += 1
        self._new_links[pattern] += len(links)
        for link in islice(links, max(0, _MAX_QUEUED_LINKS - len(self))):
            self.urls.add(link.url)
            (self.leading if self._leads_on(link.url) else self.others).append(link)

    def _leads_on(self, url: Url) -> bool:
        pattern = url_pattern(url)
        return self._new_links[pattern] >= self._pages[pattern] > 0


def _size(page: PageRead) -> int:
    """About how many bytes a result takes."""
    reading = page.reading
    if not isinstance(reading, Reading):
        return _BYTES_PER_LINK
    blobs = sum(len(blob.data) for blob in (reading.document, reading.snapshot) if blob is not None)
    return blobs + len(page.page_fetch.screenshot) + _BYTES_PER_LINK * len(reading.links)
