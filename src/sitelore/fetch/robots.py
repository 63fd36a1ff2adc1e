"""Cache of robots.txt files: fetched once per origin and checked for every URL (RFC 9309 §2.3).

A 2xx response holds rules. A 4xx, or redirects that end nowhere, mean that there are none. A 5xx, 429 or no response mean
that nothing may be fetched, unless a copy younger than a day is stored. Where no connection is possible at all (the name
does not resolve, the certificate is invalid, the address is refused) the URL is allowed: its own fetch then fails with the
true reason.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from sitelore.fetch.politeness import HostBusy, HostLimiter, fetch_feedback
from sitelore.fetch.robots_rules import MAX_BYTES, RobotsRules
from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response, RobotsFile, RobotsVerdict
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.ports import Clock, Fetcher, HostGate

PRODUCT = "Sitelore"

Load = Callable[[str], Awaitable[RobotsFile | None]]
Save = Callable[[RobotsFile], Awaitable[None]]

_DAY_S = 24 * 3600.0
_UNREACHABLE_TTL_S = 600.0
_TIME_BUDGET_S = 25.0
_RETRY_DELAYS_S = (0.5, 1.0)
_MAX_REDIRECTS = 5
_MAX_ORIGINS = 1000
_MAX_CACHE_BYTES = 4 * 2**20  # of robots.txt; parsed rules take a multiple of it

_NO_CONNECTION_POSSIBLE = frozenset({Failure.ADDRESS, Failure.TLS, Failure.DNS})
# Timeouts are expensive, and DNS and TLS errors seldom go away: one retry tells a glitch from a lasting state.
_ATTEMPTS = {Failure.TIMEOUT: 2, Failure.DNS: 2, Failure.TLS: 2, Failure.CONNECTION: 3, Failure.TRUNCATED: 3}


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    """The state of an origin's robots.txt, valid until a point in time."""

    state: Literal["ok", "unavailable", "unreachable"]
    until: float
    rules: RobotsRules | None = None
    size: int = 0
    detail: str = ""
    """Why the robots.txt is unreachable; empty when it is not."""


@dataclass(frozen=True, slots=True)
class _FinalResponse:
    """The last response or failure of a robots.txt request, after redirects."""

    fetched: Fetched
    hops: int = 0
    is_lost: bool = False
    """The redirects end nowhere."""


@dataclass(slots=True)
class _TimeBudget:
    """Seconds that a server may still take for its robots.txt. Waiting for the rate limit does not count."""

    left_s: float


class RobotsCache:
    """Answers whether a URL may be fetched. Concurrent callers for one origin share a single fetch (single flight)."""

    def __init__(self, fetcher: Fetcher, gate: HostGate, settings: CrawlSettings, clock: Clock, load: Load, save: Save) -> None:
        self._fetcher = fetcher
        self._limiter = HostLimiter(gate, settings)
        self._obey = settings.obey_robots
        self._agents = (PRODUCT, *settings.robots_agents)
        self._clock = clock
        self._load = load
        self._save = save
        self._entries: OrderedDict[str, _CacheEntry] = OrderedDict()
        self._cached_bytes = 0
        self._in_flight: dict[str, asyncio.Future[_CacheEntry]] = {}

    async def judge(self, url: Url) -> RobotsVerdict:
        """Whether this URL may be fetched. Fetches the origin's robots.txt when it is not cached or too old."""
        if not self._obey:
            return RobotsVerdict(True, "ignored")
        origin = url.origin
        entry = self._entries.get(origin)
        if entry is None or entry.until <= self._clock():
            entry = await self._refresh(url, origin)
        else:
            self._entries.move_to_end(origin)
        if entry.rules is not None:
            return entry.rules.judge(url, self._agents)
        return RobotsVerdict(entry.state != "unreachable", entry.state, rule=entry.detail)

    async def _refresh(self, url: Url, origin: str) -> _CacheEntry:
        while (pending := self._in_flight.get(origin)) is not None:
            await asyncio.wait((pending,))
            if not pending.cancelled():
                return pending.result()
        pending = self._in_flight[origin] = asyncio.get_running_loop().create_future()
        try:
            entry = await self._fetch_entry(url, origin)
            pending.set_result(entry)
        finally:
            # When this caller is cancelled, the next waiter fetches.
            pending.cancel()
            del self._in_flight[origin]
        self._store(origin, entry)
        return entry

    def _store(self, origin: str, entry: _CacheEntry) -> None:
        previous = self._entries.pop(origin, None)
        self._cached_bytes += entry.size - (previous.size if previous else 0)
        self._entries[origin] = entry
        while len(self._entries) > 1 and (len(self._entries) > _MAX_ORIGINS or self._cached_bytes > _MAX_CACHE_BYTES):
            _, evicted = self._entries.popitem(last=False)
            self._cached_bytes -= evicted.size

    async def _fetch_entry(self, url: Url, origin: str) -> _CacheEntry:
        final = await self._fetch_with_retries(Url.trusted(f"{origin}/robots.txt"))
        fetched, now = final.fetched, self._clock()
        if isinstance(fetched, FetchFailure):
            if fetched.failure in _NO_CONNECTION_POSSIBLE and not final.hops:
                return _CacheEntry("unavailable", now)  # for this verdict only
            detail = fetched.detail or str(fetched.failure)
            return await self._fall_back(origin, RobotsFile(origin, now, 0, "", detail))
        status = fetched.status
        if final.is_lost or (400 <= status < 500 and status != 429):
            detail = "The redirects of robots.txt end nowhere." if final.is_lost else ""
            await self._save(RobotsFile(origin, now, status, "", detail))
            return _CacheEntry("unavailable", now + _DAY_S)
        if not 200 <= status < 300:
            return await self._fall_back(origin, RobotsFile(origin, now, status, "", f"robots.txt answered {status}."))
        rules = RobotsRules.parse(fetched.body)
        await self._save(RobotsFile(origin, now, status, _decode(fetched.body)))
        return await self._apply(url, rules, now + _DAY_S, len(fetched.body))

    async def _fall_back(self, origin: str, file: RobotsFile) -> _CacheEntry:
        """Unreachable: a stored copy younger than a day still counts (RFC 9309 §2.3.1.4), otherwise nothing is allowed."""
        until = file.fetched_at + _UNREACHABLE_TTL_S
        copy = await self._load(origin)
        if copy is None or not 200 <= copy.status < 300 or copy.fetched_at + _DAY_S <= file.fetched_at:
            await self._save(file)
            return _CacheEntry("unreachable", until, detail=file.detail)
        rules = RobotsRules.parse(copy.body)
        return await self._apply(Url.trusted(f"{origin}/"), rules, min(until, copy.fetched_at + _DAY_S), len(copy.body))

    async def _apply(self, url: Url, rules: RobotsRules, until: float, size: int) -> _CacheEntry:
        delay_s = rules.crawl_delay(self._agents)
        if delay_s:
            await self._limiter.set_crawl_delay(url.authority, delay_s)
        return _CacheEntry("ok", until, rules, size)

    async def _fetch_with_retries(self, url: Url) -> _FinalResponse:
        """Fetch robots.txt; retry after failures that may be temporary, unless the host's backoff is longer than the budget."""
        budget = _TimeBudget(_TIME_BUDGET_S)
        final = await self._follow_redirects(url, budget)
        for attempt, delay_s in enumerate(_RETRY_DELAYS_S, 1):
            if attempt >= _max_attempts(final.fetched) or budget.left_s <= 0:
                break
            await asyncio.sleep(delay_s)
            try:
                final = await self._follow_redirects(url, budget, max_wait_s=budget.left_s)
            except HostBusy:
                break
        return final

    async def _follow_redirects(self, url: Url, budget: _TimeBudget, max_wait_s: float = math.inf) -> _FinalResponse:
        """Fetch a URL and follow its redirects. Raises `HostBusy` when the first request would have to wait too long."""
        seen = {url}
        redirect: Response | None = None
        for hops in range(_MAX_REDIRECTS + 1):
            fetched = await self._fetch(url, budget, math.inf if hops else max_wait_s)
            if isinstance(fetched, FetchFailure):
                if redirect is not None and fetched.failure is Failure.ADDRESS:
                    break
                return _FinalResponse(fetched, hops)
            if not 300 <= fetched.status < 400:
                return _FinalResponse(fetched, hops)
            redirect, location = fetched, fetched.header("location")
            target = Url.parse(location, str(url)) if location else None
            if target is None or target in seen:
                break
            seen.add(target)
            url = target
        assert redirect is not None
        return _FinalResponse(redirect, is_lost=True)

    async def _fetch(self, url: Url, budget: _TimeBudget, max_wait_s: float) -> Fetched:
        """Send one GET when the rate limit of the host allows it, within the time budget."""
        # One byte more than is parsed, so that a longer file is cut at a line.
        request = Request(url, any_content_type=True, max_body_bytes=MAX_BYTES + 1, truncate_body=True)

        async def fetch_in_budget() -> Fetched:
            loop = asyncio.get_running_loop()
            started = loop.time()
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, budget.left_s)):
                        return await self._fetcher.fetch(request)
            finally:
                budget.left_s -= loop.time() - started
            return FetchFailure(url, Failure.TIMEOUT, "No response to the request for robots.txt within the time limit.")

        return await self._limiter.run(
            url.authority, fetch_in_budget, lambda fetched: fetch_feedback(fetched, self._clock()), max_wait_s=max_wait_s
        )


def _max_attempts(fetched: Fetched) -> int:
    """How often a robots.txt with this outcome is requested in all."""
    if isinstance(fetched, FetchFailure):
        return _ATTEMPTS.get(fetched.failure, 1)
    return 3 if fetched.status >= 500 else 1


def _decode(body: bytes) -> str:
    """The text to store: without NUL, which databases refuse, and not a byte beyond the cap."""
    encoding = "utf-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) and 0 in body[:64] else "utf-8"
    return body[:MAX_BYTES].decode(encoding, "replace").replace("\0", "")
