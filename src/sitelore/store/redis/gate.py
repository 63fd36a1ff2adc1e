"""Rate limits and concurrency limits of hosts for any number of processes: `ports.HostGate` over Redis.

Every step is one script (`gate.lua`) that Redis runs atomically, by its own clock, so the limits of a host hold over all
workers and runs together, and a host that is closed is closed for everyone. The rules are those of `frontier/gate.py`, with two
more that only several processes need:

**Pending request.** Between the permission and the moment its request is sent, no other request gets a permission: the gap
counts from the sending, and a slow process must not be overtaken.

**Slots expire.** A slot is a lease that its process renews while its request takes; the slots of a dead process expire.

Redis may be emptied or unavailable at any moment. With every call a process sends what it knows itself (its last request, its
slots, the host's Crawl-delay), so that lost state is restored by the next call. While Redis does not answer, no request
gets a permission: a host is fetched late rather than too often.

Calls are pipelined: those that come up while a batch is under way are sent together as the next batch.
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
from sitelore.model.politeness import BUSY, CLOSED_AFTER_S, IGNORED_RETRY_AFTER_S, SHORTEST_WAIT_S, STRAINED, fixed_gap_s
from sitelore.model.settings import Pace
from sitelore.ports import Feedback
from sitelore.store.redis.notifications import UNAVAILABLE

_LOG = logging.getLogger(__name__)

_UNAVAILABLE_WAIT_S = 0.5
_CONCURRENT_WAIT_S = 0.005
_BATCH_SIZE = 64
_MAX_HOSTS = 10_000
_HOST_TTL_S = 3600

_Answer = tuple[float, float, float]
"""Seconds to wait (0: go), seconds until the host is open again, the gap between requests."""


def _script_with_constants() -> str:
    """`gate.lua` with its constants."""
    constants = {
        **{name: getattr(politeness, name) for name in (
            "LATENCY_SHARE", "LATENCY_WEIGHT", "SHORTEST_GAP_S", "LONGEST_GAP_S", "FIRST_COOLDOWN_S", "LONGEST_COOLDOWN_S",
            "STREAK", "IGNORED_RETRY_AFTER_S", "SHORTEST_WAIT_S",
        )},
        "MIN_SLOT_WAIT_S": politeness.SLOT_WAIT_S[0], "MAX_SLOT_WAIT_S": politeness.SLOT_WAIT_S[1],
        "HOST_TTL_S": _HOST_TTL_S,
    }  # fmt: skip
    head = "".join(f"local {name} = {number}\n" for name, number in constants.items())
    return head + files("sitelore.store.redis").joinpath("gate.lua").read_text(encoding="utf-8")


@dataclass(slots=True, eq=False)
class _Host:
    """What this process knows of a host. Times are of its monotonic clock."""

    slots: list[str] = field(default_factory=list)
    pending_slot: str = ""
    """Slot of a request that has a permission and was not sent yet."""
    gap_s: float = 0.0
    last_start: float | None = None
    closed_until: float = 0.0
    crawl_delay_s: float = 0.0
    not_before: float = 0.0
    is_calling: bool = False


@dataclass(slots=True, eq=False)
class _Call:
    """A call of the script, and its result."""

    keys: tuple[str, ...]
    args: tuple[str, ...]
    result: asyncio.Future[_Answer]


class RedisGate:
    """A `HostGate` that all processes with the same Redis share."""

    def __init__(self, redis: Redis, slot_s: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._redis = redis
        self._slot_s = slot_s
        self._clock = clock
        self._id = secrets.token_hex(6)
        self._slot_count = 0
        self._hosts: dict[str, _Host] = {}
        self._opens_at: dict[str, float] = {}
        self._script = _script_with_constants()
        self._sha = sha1(self._script.encode(), usedforsecurity=False).hexdigest()
        self._outbox: list[_Call] = []
        self._sender: asyncio.Task[None] | None = None
        self._slot_renewer: asyncio.Task[None] | None = None
        self._is_unavailable = False

    async def acquire(self, host: str, pace: Pace) -> float:
        """Take a slot: 0.0 means go, otherwise the seconds to wait before the next try."""
        now, state = self._clock(), self._host_state(host)
        if state.not_before > now:
            return max(state.not_before - now, SHORTEST_WAIT_S)
        has_gap = state.crawl_delay_s > 0 or fixed_gap_s(host, pace) != 0.0
        if has_gap and state.is_calling:
            return _CONCURRENT_WAIT_S
        self._slot_count += 1
        slot = f"{self._id}:{self._slot_count}"
        state.is_calling = True
        try:
            wait_s, opens_s, gap_s = await self._call_and_wait("enter", host, pace, slot)
        except UNAVAILABLE:
            state.not_before = self._clock() + _UNAVAILABLE_WAIT_S
            return _UNAVAILABLE_WAIT_S
        finally:
            state.is_calling = False
        now = self._clock()
        self._update_host(host, state, opens_s, gap_s, now)
        if wait_s > 0:
            state.not_before = now + wait_s
            return wait_s
        state.slots.append(slot)
        state.last_start, state.not_before = now, now + gap_s
        if gap_s > 0:
            state.pending_slot = slot
        if self._slot_renewer is None or self._slot_renewer.done():
            self._slot_renewer = asyncio.create_task(self._renew_slots(), name="gate slots")
        return 0.0

    def mark_sent(self, host: str) -> None:
        """The request is sent only now (it waited for a connection): the gap counts from here."""
        state = self._hosts.get(host)
        if state is None or state.gap_s <= 0:
            return
        now = self._clock()
        state.last_start, state.not_before = now, now + state.gap_s
        slot, state.pending_slot = state.pending_slot, ""
        self._call_in_background("sent", host, None, slot)

    async def release(self, host: str, pace: Pace, feedback: Feedback) -> None:
        """Give the slot back and adapt the rate. Redis gets the feedback in the background."""
        state = self._host_state(host)
        if state.pending_slot and feedback.status is None:
            slot, state.pending_slot = state.pending_slot, ""  # it was never sent
        else:
            slot = next((slot for slot in state.slots if slot != state.pending_slot), "")
        if slot in state.slots:
            state.slots.remove(slot)
        retry_s, now = feedback.retry_after_s, self._clock()
        if retry_s is not None and retry_s < IGNORED_RETRY_AFTER_S and feedback.status in BUSY:
            # Applied here at once, even if the message to Redis is lost.
            state.closed_until = max(state.closed_until, now + min(max(retry_s, 0.0), pace.max_retry_after_s))
        feedback_args = (
            _format_seconds(feedback.elapsed_s),
            str(feedback.status or 0),
            "1" if feedback.failure in STRAINED else "0",
            "-1" if retry_s is None else _format_seconds(max(retry_s, 0.0)),
            _format_seconds(pace.max_retry_after_s),
        )
        self._call_in_background("leave", host, pace, slot, feedback_args)

    async def set_crawl_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        """Record the host's Crawl-delay of robots.txt, which applies up to the cap of the pace."""
        state = self._host_state(host)
        state.crawl_delay_s = max(0.0, min(delay_s, pace.max_crawl_delay_s))
        try:
            _, opens_s, gap_s = await self._call_and_wait("delay", host, pace, "")
        except UNAVAILABLE:
            return
        self._update_host(host, state, opens_s, gap_s, self._clock())

    async def closed_hosts(self) -> Collection[str]:
        """Hosts that are closed for more than half a second, as far as this process knows."""
        if not self._opens_at:
            return ()
        threshold = self._clock() + CLOSED_AFTER_S
        self._opens_at = {host: at for host, at in self._opens_at.items() if at > threshold}
        return self._opens_at.keys()

    async def close(self) -> None:
        """Send the calls that are left, then end."""
        if self._slot_renewer is not None:
            self._slot_renewer.cancel()
            await asyncio.gather(self._slot_renewer, return_exceptions=True)
        if self._sender is not None:
            await asyncio.gather(self._sender, return_exceptions=True)

    def _update_host(self, host: str, state: _Host, opens_s: float, gap_s: float, now: float) -> None:
        state.gap_s = gap_s
        if opens_s > gap_s + SHORTEST_WAIT_S:
            state.closed_until = max(state.closed_until, now + opens_s)
            state.not_before = max(state.not_before, now + opens_s)
        if opens_s > CLOSED_AFTER_S:
            self._opens_at[host] = now + opens_s
        elif host in self._opens_at:
            del self._opens_at[host]

    def _host_state(self, host: str) -> _Host:
        state = self._hosts.get(host)
        if state is None:
            if len(self._hosts) >= _MAX_HOSTS:
                now = self._clock()
                idle = [
                    name
                    for name, other in self._hosts.items()
                    if not other.slots and max(other.not_before, other.closed_until) < now
                ]
                for name in idle[: (len(idle) + 1) // 2]:
                    del self._hosts[name]
            state = self._hosts[host] = _Host()
        return state

    # Calls of the script

    def _new_call(self, command: str, host: str, pace: Pace | None, slot: str, feedback_args: Sequence[str] = ()) -> _Call:
        state, now = self._host_state(host), self._clock()
        fixed = state.gap_s if pace is None else fixed_gap_s(host, pace)
        args = (
            command,
            slot,
            _format_seconds(self._slot_s),
            "-1" if fixed is None else _format_seconds(fixed),
            "0" if pace is None else str(pace.per_host),
            "-1" if state.last_start is None else _format_seconds(now - state.last_start),
            _format_seconds(max(state.closed_until - now, 0.0)),
            _format_seconds(state.crawl_delay_s),
            " ".join(state.slots),
            *feedback_args,
        )
        name = f"sitelore:gate:{host}"
        return _Call((name, f"{name}:slots", "sitelore:gates"), args, asyncio.get_running_loop().create_future())

    async def _call_and_wait(self, command: str, host: str, pace: Pace, slot: str) -> _Answer:
        call = self._new_call(command, host, pace, slot)
        self._enqueue_call(call)
        try:
            return await call.result
        except asyncio.CancelledError:
            if command == "enter":  # Redis may have given the slot: give it back
                self._call_in_background("leave", host, pace, slot, ("0", "0", "0", "-1", "0"))
            raise

    def _call_in_background(
        self, command: str, host: str, pace: Pace | None, slot: str, feedback_args: Sequence[str] = ()
    ) -> None:
        call = self._new_call(command, host, pace, slot, feedback_args)
        call.result.add_done_callback(lambda result: self._apply_result(host, result))
        self._enqueue_call(call)

    def _apply_result(self, host: str, result: asyncio.Future[_Answer]) -> None:
        if not result.cancelled() and result.exception() is None:
            _, opens_s, gap_s = result.result()
            self._update_host(host, self._host_state(host), opens_s, gap_s, self._clock())

    def _enqueue_call(self, call: _Call) -> None:
        self._outbox.append(call)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_batches(), name="gate")

    async def _send_batches(self) -> None:
        while self._outbox:
            batch, self._outbox = self._outbox[:_BATCH_SIZE], self._outbox[_BATCH_SIZE:]
            try:
                answers = await self._run_batch(batch)
            except UNAVAILABLE as error:
                self._log_unavailable(error)
                answers = [error] * len(batch)
            else:
                self._is_unavailable = False
            for call, answer in zip(batch, answers, strict=True):
                if call.result.done():
                    continue
                if isinstance(answer, Exception):
                    call.result.set_exception(answer)
                else:
                    call.result.set_result(answer)

    def _log_unavailable(self, error: Exception) -> None:
        if not self._is_unavailable:
            _LOG.warning("Redis unavailable (%s), fetches wait until it is back", type(error).__name__)
        self._is_unavailable = True

    async def _run_batch(self, batch: Sequence[_Call]) -> list[_Answer | Exception]:
        answers = await self._evaluate(batch)
        if any(isinstance(answer, NoScriptError) for answer in answers):  # Redis was restarted
            await self._redis.script_load(self._script)
            answers = await self._evaluate(batch)
        return answers

    async def _evaluate(self, batch: Sequence[_Call]) -> list[_Answer | Exception]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for call in batch:
                pipe.evalsha(self._sha, len(call.keys), *call.keys, *call.args)
            answers = await pipe.execute(raise_on_error=False)
        return [raw if isinstance(raw, Exception) else (float(raw[0]), float(raw[1]), float(raw[2])) for raw in answers]

    async def _renew_slots(self) -> None:
        """Renew the slots of running requests before they expire."""
        while True:
            await asyncio.sleep(self._slot_s / 3)
            for host, state in list(self._hosts.items()):
                if state.slots:
                    self._call_in_background("hold", host, None, "")


def _format_seconds(seconds: float) -> str:
    return f"{seconds:.6f}"
