"""Politeness towards hosts for any number of processes: `ports.HostGate` over Redis.

Every step is one script (`gate.lua`) that Redis runs as a whole, by its own clock, so the rate and the slots of a host hold
over all workers and all runs together, and a host that closes is closed for everyone. The rules are those of
`frontier/gate.py`, with two that only many processes need:

**Leaving.** Between "go" and the moment a request really leaves, nobody else is let through: the gap counts from departure,
and a slow process must not be overtaken.

**Slots run out.** A slot lasts a while and is held again by its process as long as its request takes; what a dead process held
comes back by itself.

Redis may be emptied or away at any moment. A process tells Redis with every question what it knows itself (its last request,
its slots, what the host asked for), so whatever was lost is there again with the next question. While Redis does not answer,
nobody is let through: a host is asked late rather than too often.

What the processes of a crawl ask at the same time travels together: questions that come up while others are under way wait for
their return and go as one.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from importlib.resources import files

from redis.asyncio import Redis
from redis.exceptions import NoScriptError

from sitelore.model import politeness
from sitelore.model.politeness import ABSURD_S, BUSY, CLOSED_AFTER_S, SHORTEST_WAIT_S, STRAINED, fixed_gap_s
from sitelore.model.settings import Pace
from sitelore.ports import Feedback
from sitelore.store.redis_signals import AWAY

_LOG = logging.getLogger(__name__)

_AWAY_S = 0.5
_ASKING_S = 0.005
_TOGETHER = 64
_MOST_HOSTS = 10_000
_REMEMBERED_S = 3600
_NOTHING: tuple[str, ...] = ()

_Answer = tuple[float, float, float]
"""How long to wait, seconds until the host may be asked again, the gap."""


def _script() -> str:
    """The rules with their numbers."""
    numbers = {
        **{name: getattr(politeness, name) for name in (
            "LATENCY_SHARE", "LATENCY_WEIGHT", "SHORTEST_GAP_S", "LONGEST_GAP_S", "FIRST_COOLDOWN_S", "LONGEST_COOLDOWN_S",
            "STREAK", "ABSURD_S", "SHORTEST_WAIT_S",
        )},
        "SLOT_WAIT_LEAST_S": politeness.SLOT_WAIT_S[0], "SLOT_WAIT_MOST_S": politeness.SLOT_WAIT_S[1],
        "REMEMBERED_S": _REMEMBERED_S,
    }  # fmt: skip
    head = "".join(f"local {name} = {number}\n" for name, number in numbers.items())
    return head + files("sitelore.store").joinpath("gate.lua").read_text(encoding="utf-8")


@dataclass(slots=True, eq=False)
class _Host:
    """What this process knows of a host. Times are of its own monotonic clock."""

    slots: list[str] = field(default_factory=list)
    leaving: str = ""
    gap_s: float = 0.0
    last_start: float | None = None
    closed_until: float = 0.0
    asked_s: float = 0.0
    not_before: float = 0.0
    is_asking: bool = False


@dataclass(slots=True, eq=False)
class _Question:
    keys: tuple[str, ...]
    args: tuple[str, ...]
    answer: asyncio.Future[_Answer]


class RedisGate:
    """A `HostGate` that all processes with the same Redis share."""

    def __init__(self, redis: Redis, slot_s: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._redis = redis
        self._slot_s = slot_s
        self._clock = clock
        self._id = secrets.token_hex(6)
        self._numbers = 0
        self._hosts: dict[str, _Host] = {}
        self._opens_at: dict[str, float] = {}
        self._script = _script()
        self._sha = sha1(self._script.encode(), usedforsecurity=False).hexdigest()
        self._outbox: list[_Question] = []
        self._sender: asyncio.Task[None] | None = None
        self._holder: asyncio.Task[None] | None = None
        self._is_away = False

    async def enter(self, host: str, pace: Pace) -> float:
        """0.0: go, a slot is taken. Otherwise the seconds after which asking again is worthwhile."""
        now, mine = self._clock(), self._host(host)
        if mine.not_before > now:
            return max(mine.not_before - now, SHORTEST_WAIT_S)
        has_gap = mine.asked_s > 0 or fixed_gap_s(host, pace) != 0.0
        if has_gap and mine.is_asking:
            return _ASKING_S
        self._numbers += 1
        slot = f"{self._id}:{self._numbers}"
        mine.is_asking = True
        try:
            wait_s, opens_s, gap_s = await self._ask("enter", host, pace, slot)
        except AWAY:
            mine.not_before = self._clock() + _AWAY_S
            return _AWAY_S
        finally:
            mine.is_asking = False
        now = self._clock()
        self._note(host, mine, opens_s, gap_s, now)
        if wait_s > 0:
            mine.not_before = now + wait_s
            return wait_s
        mine.slots.append(slot)
        mine.last_start, mine.not_before = now, now + gap_s
        if gap_s > 0:
            mine.leaving = slot
        if self._holder is None or self._holder.done():
            self._holder = asyncio.create_task(self._hold_forever(), name="gate slots")
        return 0.0

    def sent(self, host: str) -> None:
        """The request leaves only now (a connection had to be made first): the gap counts from here."""
        mine = self._hosts.get(host)
        if mine is None or mine.gap_s <= 0:
            return
        now = self._clock()
        mine.last_start, mine.not_before = now, now + mine.gap_s
        slot, mine.leaving = mine.leaving, ""
        self._post("sent", host, None, slot)

    async def leave(self, host: str, pace: Pace, feedback: Feedback) -> None:
        """Give the slot back and let the pace adapt. Redis is told on the way; nobody has to wait for that."""
        mine = self._host(host)
        if mine.leaving and feedback.status is None:
            slot, mine.leaving = mine.leaving, ""  # it never left
        else:
            slot = next((slot for slot in mine.slots if slot != mine.leaving), "")
        if slot in mine.slots:
            mine.slots.remove(slot)
        retry_s, now = feedback.retry_after_s, self._clock()
        if retry_s is not None and retry_s < ABSURD_S and feedback.status in BUSY:
            # Known here at once, whatever becomes of the message.
            mine.closed_until = max(mine.closed_until, now + min(max(retry_s, 0.0), pace.max_retry_after_s))
        told = (
            _text(feedback.elapsed_s),
            str(feedback.status or 0),
            "1" if feedback.failure in STRAINED else "0",
            "-1" if retry_s is None else _text(max(retry_s, 0.0)),
            _text(pace.max_retry_after_s),
        )
        self._post("leave", host, pace, slot, told)

    async def ask_for_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        """The host asked for a gap between requests (robots.txt Crawl-delay); honoured up to the pace's cap."""
        mine = self._host(host)
        mine.asked_s = max(0.0, min(delay_s, pace.max_crawl_delay_s))
        try:
            _, opens_s, gap_s = await self._ask("delay", host, pace, "")
        except AWAY:
            return
        self._note(host, mine, opens_s, gap_s, self._clock())

    async def closed_hosts(self) -> Collection[str]:
        """Hosts that will take no request for more than half a second, as far as this process has heard."""
        if not self._opens_at:
            return ()
        soon = self._clock() + CLOSED_AFTER_S
        self._opens_at = {host: at for host, at in self._opens_at.items() if at > soon}
        return self._opens_at.keys()

    async def close(self) -> None:
        """Tell what is still to be told, then end."""
        if self._holder is not None:
            self._holder.cancel()
            await asyncio.gather(self._holder, return_exceptions=True)
        if self._sender is not None:
            await asyncio.gather(self._sender, return_exceptions=True)

    def _note(self, host: str, mine: _Host, opens_s: float, gap_s: float, now: float) -> None:
        mine.gap_s = gap_s
        if opens_s > gap_s + SHORTEST_WAIT_S:
            mine.closed_until = max(mine.closed_until, now + opens_s)
            mine.not_before = max(mine.not_before, now + opens_s)
        if opens_s > CLOSED_AFTER_S:
            self._opens_at[host] = now + opens_s
        elif host in self._opens_at:
            del self._opens_at[host]

    def _host(self, host: str) -> _Host:
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= _MOST_HOSTS:
                now = self._clock()
                idle = [
                    name for name, one in self._hosts.items() if not one.slots and max(one.not_before, one.closed_until) < now
                ]
                for name in idle[: (len(idle) + 1) // 2]:
                    del self._hosts[name]
            known = self._hosts[host] = _Host()
        return known

    # What is asked and told

    def _question(self, what: str, host: str, pace: Pace | None, slot: str, told: Sequence[str] = _NOTHING) -> _Question:
        mine, now = self._host(host), self._clock()
        fixed = mine.gap_s if pace is None else fixed_gap_s(host, pace)
        args = (
            what,
            slot,
            _text(self._slot_s),
            "-1" if fixed is None else _text(fixed),
            "0" if pace is None else str(pace.per_host),
            "-1" if mine.last_start is None else _text(now - mine.last_start),
            _text(max(mine.closed_until - now, 0.0)),
            _text(mine.asked_s),
            " ".join(mine.slots),
            *told,
        )
        name = f"sitelore:gate:{host}"
        return _Question((name, f"{name}:slots", "sitelore:gates"), args, asyncio.get_running_loop().create_future())

    async def _ask(self, what: str, host: str, pace: Pace, slot: str) -> _Answer:
        question = self._question(what, host, pace, slot)
        self._send(question)
        try:
            return await question.answer
        except asyncio.CancelledError:
            if what == "enter":  # it may have been let in: nobody would give that slot back
                self._post("leave", host, pace, slot, ("0", "0", "0", "-1", "0"))
            raise

    def _post(self, what: str, host: str, pace: Pace | None, slot: str, told: Sequence[str] = _NOTHING) -> None:
        question = self._question(what, host, pace, slot, told)
        question.answer.add_done_callback(lambda answer: self._posted(host, answer))
        self._send(question)

    def _posted(self, host: str, answer: asyncio.Future[_Answer]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            _, opens_s, gap_s = answer.result()
            self._note(host, self._host(host), opens_s, gap_s, self._clock())

    def _send(self, question: _Question) -> None:
        self._outbox.append(question)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_all(), name="gate")

    async def _send_all(self) -> None:
        while self._outbox:
            batch, self._outbox = self._outbox[:_TOGETHER], self._outbox[_TOGETHER:]
            try:
                answers = await self._answers(batch)
            except AWAY as error:
                self._went_away(error)
                answers = [error] * len(batch)
            else:
                self._is_away = False
            for question, answer in zip(batch, answers, strict=True):
                if question.answer.done():
                    continue
                if isinstance(answer, Exception):
                    question.answer.set_exception(answer)
                else:
                    question.answer.set_result(answer)

    def _went_away(self, error: Exception) -> None:
        if not self._is_away:
            _LOG.warning("Redis is away (%s); no host is asked until it is back", type(error).__name__)
        self._is_away = True

    async def _answers(self, batch: Sequence[_Question]) -> list[_Answer | Exception]:
        answers = await self._evaluate(batch)
        if any(isinstance(answer, NoScriptError) for answer in answers):  # a Redis that was started anew
            await self._redis.script_load(self._script)
            answers = await self._evaluate(batch)
        return answers

    async def _evaluate(self, batch: Sequence[_Question]) -> list[_Answer | Exception]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for question in batch:
                pipe.evalsha(self._sha, len(question.keys), *question.keys, *question.args)
            raw = await pipe.execute(raise_on_error=False)
        return [one if isinstance(one, Exception) else (float(one[0]), float(one[1]), float(one[2])) for one in raw]

    async def _hold_forever(self) -> None:
        """Requests may take longer than a slot lasts."""
        while True:
            await asyncio.sleep(self._slot_s / 3)
            for host, mine in list(self._hosts.items()):
                if mine.slots:
                    self._post("hold", host, None, "")


def _text(seconds: float) -> str:
    return f"{seconds:.6f}"
