"""robots.txt of every origin met: fetched once, remembered, asked for every URL (RFC 9309 §2.3).

What an answer means: 2xx are rules; 4xx and redirects that lead nowhere mean there are none; 5xx, 429 and silence mean
that nothing may be fetched, unless a copy younger than a day is known. Where no connection can exist at all (a name that
does not resolve, an invalid certificate, a refused address), the URL is let through: its own fetch meets the same wall
and tells the truth about it.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from sitelore.fetch.robots_rules import MAX_BYTES, RobotsRules
from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response, RobotsFile, RobotsVerdict
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.ports import Clock, Feedback, Fetcher, HostGate

PRODUCT = "Sitelore"

Load = Callable[[str], Awaitable[RobotsFile | None]]
Save = Callable[[RobotsFile], Awaitable[None]]

_DAY_S = 24 * 3600.0
_ASK_AGAIN_S = 600.0  # how long an unreachable robots.txt is believed to stay so
_DECIDED_WITHIN_S = 25.0
_PAUSES_S = (0.5, 1.0)  # before the second and third try
_MAX_REDIRECTS = 5
_MAX_ORIGINS = 1000
_MAX_REMEMBERED = 4 * 2**20  # bytes of robots.txt whose rules are held; rules take a multiple of it

_WALLS = frozenset({Failure.ADDRESS, Failure.TLS, Failure.DNS})
# Silence is expensive and walls seldom move: once more is enough to tell a hiccup from a state.
_TRIES = {Failure.TIMEOUT: 2, Failure.DNS: 2, Failure.TLS: 2, Failure.CONNECTION: 3, Failure.TRUNCATED: 3}


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of an origin's robots.txt, and until when."""

    state: Literal["ok", "unavailable", "unreachable"]
    until: float
    rules: RobotsRules | None = None
    size: int = 0
    detail: str = ""
    """Why it is unreachable."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of asking: the last response or failure, and whether redirects had led to it."""

    fetched: Fetched
    hops: int = 0
    is_lost: bool = False
    """Redirects that end nowhere."""


@dataclass(slots=True)
class _Patience:
    """The time a server may still take over its robots.txt. Waiting at a gate is our own doing and costs none of it."""

    left_s: float


class RobotsKeeper:
    """Fetches through the gate like everyone else, one request per origin at a time; the others wait for its outcome."""

    def __init__(self, fetcher: Fetcher, gate: HostGate, settings: CrawlSettings, clock: Clock, load: Load, save: Save) -> None:
        self._fetcher = fetcher
        self._gate = gate
        self._pace = settings.pace
        self._obey = settings.obey_robots
        self._agents = (PRODUCT, *settings.robots_agents)
        self._clock = clock
        self._load = load
        self._save = save
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._remembered = 0
        self._asking: dict[str, asyncio.Future[_Known]] = {}

    async def judge(self, url: Url) -> RobotsVerdict:
        """May this URL be fetched? Fetches the origin's robots.txt when it is not known or too old."""
        if not self._obey:
            return RobotsVerdict(True, "ignored")
        origin = url.origin
        known = self._known.get(origin)
        if known is None or known.until <= self._clock():
            known = await self._learn(url, origin)
        else:
            self._known.move_to_end(origin)
        if known.rules is not None:
            return known.rules.judge(url, self._agents)
        return RobotsVerdict(known.state != "unreachable", known.state, rule=known.detail)

    async def _learn(self, url: Url, origin: str) -> _Known:
        while (asking := self._asking.get(origin)) is not None:
            await asyncio.wait((asking,))
            if not asking.cancelled():
                return asking.result()
        asking = self._asking[origin] = asyncio.get_running_loop().create_future()
        try:
            known = await self._ask(url, origin)
            asking.set_result(known)
        finally:
            # Whoever asked may have been cancelled: the next in line asks in its stead.
            asking.cancel()
            del self._asking[origin]
        self._remember(origin, known)
        return known

    def _remember(self, origin: str, known: _Known) -> None:
        before = self._known.pop(origin, None)
        self._remembered += known.size - (before.size if before else 0)
        self._known[origin] = known
        while len(self._known) > 1 and (len(self._known) > _MAX_ORIGINS or self._remembered > _MAX_REMEMBERED):
            _, dropped = self._known.popitem(last=False)
            self._remembered -= dropped.size

    async def _ask(self, url: Url, origin: str) -> _Known:
        answer = await self._persist(Url.trusted(f"{origin}/robots.txt"))
        fetched, now = answer.fetched, self._clock()
        if isinstance(fetched, FetchFailure):
            return await self._without(origin, answer.hops, fetched, now)
        status = fetched.status
        if answer.is_lost or (400 <= status < 500 and status != 429):
            detail = "The redirects of robots.txt lead nowhere." if answer.is_lost else ""
            await self._save(RobotsFile(origin, now, status, "", detail))
            return _Known("unavailable", now + _DAY_S)
        if not 200 <= status < 300:
            return await self._last_good(origin, RobotsFile(origin, now, status, "", f"robots.txt answered {status}."))
        rules = RobotsRules.parse(fetched.body)
        await self._save(RobotsFile(origin, now, status, _text(fetched.body)))
        return await self._ruled(url, rules, now + _DAY_S, len(fetched.body))

    async def _without(self, origin: str, hops: int, failure: FetchFailure, now: float) -> _Known:
        """No response at all."""
        if failure.failure in _WALLS and not hops:
            return _Known("unavailable", now)  # not believed for longer than this one answer
        return await self._last_good(origin, RobotsFile(origin, now, 0, "", failure.detail or str(failure.failure)))

    async def _last_good(self, origin: str, file: RobotsFile) -> _Known:
        """Unreachable: a copy younger than a day still counts (RFC 9309 §2.3.1.4), otherwise nothing is allowed."""
        until = file.fetched_at + _ASK_AGAIN_S
        copy = await self._load(origin)
        if copy is None or not 200 <= copy.status < 300 or copy.fetched_at + _DAY_S <= file.fetched_at:
            await self._save(file)
            return _Known("unreachable", until, detail=file.detail)
        rules = RobotsRules.parse(copy.body)
        return await self._ruled(Url.trusted(f"{origin}/"), rules, min(until, copy.fetched_at + _DAY_S), len(copy.body))

    async def _ruled(self, url: Url, rules: RobotsRules, until: float, size: int) -> _Known:
        delay_s = rules.crawl_delay(self._agents)
        if delay_s:
            await self._gate.ask_for_delay(url.authority, self._pace, delay_s)
        return _Known("ok", until, rules, size)

    async def _persist(self, url: Url) -> _Answer:
        """Ask, and ask again where that may help and is soon possible."""
        patience = _Patience(_DECIDED_WITHIN_S)
        answer = await self._follow(url, patience)
        assert answer is not None
        for tried, pause_s in enumerate(_PAUSES_S, 1):
            if tried >= _tries(answer.fetched) or patience.left_s <= 0:
                break
            await asyncio.sleep(pause_s)
            again = await self._follow(url, patience, wait_at_most_s=patience.left_s)
            if again is None:
                break
            answer = again
        return answer

    async def _follow(self, url: Url, patience: _Patience, wait_at_most_s: float = math.inf) -> _Answer | None:
        """One request and its redirects, each waiting its turn at its host's gate; None when the first turn is too far off."""
        seen = {url}
        redirect: Response | None = None
        for hops in range(_MAX_REDIRECTS + 1):
            fetched = await self._get(url, patience, math.inf if hops else wait_at_most_s)
            if fetched is None:
                return None
            if isinstance(fetched, FetchFailure):
                if redirect is not None and fetched.failure is Failure.ADDRESS:
                    break
                return _Answer(fetched, hops)
            if not 300 <= fetched.status < 400:
                return _Answer(fetched, hops)
            redirect, location = fetched, fetched.header("location")
            target = Url.parse(location, str(url)) if location else None
            if target is None or target in seen:
                break
            seen.add(target)
            url = target
        assert redirect is not None
        return _Answer(redirect, is_lost=True)

    async def _get(self, url: Url, patience: _Patience, wait_at_most_s: float) -> Fetched | None:
        host = url.authority
        while wait_s := await self._gate.enter(host, self._pace):
            wait_at_most_s -= wait_s
            if wait_at_most_s < 0:
                return None
            await asyncio.sleep(wait_s)
        fetched: Fetched = FetchFailure(url, Failure.TIMEOUT, "robots.txt gave no answer in time.")
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            # One byte over what is read, so that a longer file is cut at a line.
            request = Request(url, whole_types=True, max_body_bytes=MAX_BYTES + 1, cut_at_cap=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, patience.left_s)):
                    fetched = await self._fetcher.fetch(request)
        finally:
            patience.left_s -= loop.time() - started
            await self._gate.leave(host, self._pace, _feedback(fetched, self._clock()))
        return fetched


def _tries(fetched: Fetched) -> int:
    """How often a robots.txt that ends like this is asked for."""
    if isinstance(fetched, FetchFailure):
        return _TRIES.get(fetched.failure, 1)
    return 3 if fetched.status >= 500 else 1


def _feedback(fetched: Fetched, now: float) -> Feedback:
    if isinstance(fetched, FetchFailure):
        return Feedback(fetched.elapsed_s, failure=fetched.failure)
    return Feedback(fetched.elapsed_s, status=fetched.status, retry_after_s=fetched.retry_after_s(now))


def _text(body: bytes) -> str:
    """For people and the ledger: no NUL, which databases refuse, and not a byte past the cap."""
    encoding = "utf-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) and 0 in body[:64] else "utf-8"
    return body[:MAX_BYTES].decode(encoding, "replace").replace("\0", "")
