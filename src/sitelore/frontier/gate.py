"""Rate limit of each host, for crawls that run in one process.

A request to a host may start when the gap since the start of the previous one has passed, the host is not closed, and fewer
than `per_host` requests to it are in progress.

**Gap.** With `delay_s` it is that plus a small allowance (at most 2 ms), so that the host never sees less. Without, it
adapts: half of the host's response time (a moving average in which the last response weighs 0.3), at least 0.1 s and at most
5 s, so that a slow host sees about two requests at a time. A host written as a loopback or private address, or as
`localhost`, belongs to the person who crawls: it has no gap, only the concurrency limit. A Crawl-delay lengthens either gap,
up to the pace's cap. The gap counts from actual start to actual start: a late start is never made up for by a shorter gap.

**Backoff.** Retry-After closes a host for exactly that long, up to the pace's cap. Without it, or with an absurd one of more
than a day, a 429, 408 or 503, a timeout or a refused connection closes the host for 0.5 s, then 1 s, doubling up to 5 s;
requests that were in progress when it closed do not double it. Every good response halves the backoff until it is gone.
Other server errors close the host only after five in a row, and so do 403s: one bad page does not mean that the host is
overloaded.

Nothing here sleeps and nothing is random: `acquire` returns the seconds to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sitelore.model.politeness import (
    BUSY,
    CLOSED_AFTER_S,
    FIRST_COOLDOWN_S,
    IGNORED_RETRY_AFTER_S,
    LATENCY_SHARE,
    LATENCY_WEIGHT,
    LONGEST_COOLDOWN_S,
    LONGEST_GAP_S,
    SHORTEST_GAP_S,
    SHORTEST_WAIT_S,
    SLOT_WAIT_S,
    STRAINED,
    STREAK,
    fixed_gap_s,
)
from sitelore.model.settings import Pace
from sitelore.ports import Feedback

_MAX_HOSTS = 10_000
_NEVER = float("-inf")


class _Host:
    """State of one host."""

    __slots__ = (
        "backoff_s",
        "closed_at",
        "closed_until",
        "crawl_delay_s",
        "error_streak",
        "in_progress",
        "last_start",
        "latency_s",
    )

    def __init__(self) -> None:
        self.in_progress = 0
        self.last_start = _NEVER
        self.latency_s: float | None = None
        self.crawl_delay_s = 0.0
        self.backoff_s = 0.0
        self.closed_at = _NEVER
        self.closed_until = _NEVER
        self.error_streak = 0

    def next_start(self, gap_s: float) -> float:
        return max(self.last_start + gap_s, self.closed_until)


class LocalGate:
    """A `HostGate` for one process. `clock` is monotonic, in seconds; a host is the authority of a URL."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        self._opens_at: dict[str, float] = {}
        """Hosts that are closed for longer than `CLOSED_AFTER_S`."""

    async def acquire(self, host: str, pace: Pace) -> float:
        """Take a slot: 0.0 when the request may start, else the seconds to wait before trying again."""
        now = self._clock()
        state = self._host(host, now)
        wait_s = state.next_start(gap_s(host, pace, state.latency_s, state.crawl_delay_s)) - now
        if wait_s > 0:
            return max(wait_s, SHORTEST_WAIT_S)
        if state.in_progress >= pace.per_host:
            shortest, longest = SLOT_WAIT_S
            return min(max((state.latency_s or 0.0) / state.in_progress, shortest), longest)
        state.in_progress += 1
        state.last_start = now
        self._update_closed(host, state, pace, now)
        return 0.0

    def mark_sent(self, host: str) -> None:
        """The request is sent now (opening the connection took time): the gap counts from here."""
        state = self._hosts.get(host)
        if state is not None:
            state.last_start = self._clock()

    async def release(self, host: str, pace: Pace, feedback: Feedback) -> None:
        """Release the slot and adapt gap and backoff to the outcome."""
        now = self._clock()
        state = self._host(host, now)
        state.in_progress = max(0, state.in_progress - 1)
        if feedback.status is not None:
            average = state.latency_s
            state.latency_s = (
                feedback.elapsed_s if average is None else average + LATENCY_WEIGHT * (feedback.elapsed_s - average)
            )
        self._adapt(state, pace, feedback, now)
        self._update_closed(host, state, pace, now)

    async def set_crawl_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        """Apply a Crawl-delay of robots.txt, up to the pace's cap."""
        now = self._clock()
        state = self._host(host, now)
        state.crawl_delay_s = max(0.0, min(delay_s, pace.max_crawl_delay_s))
        self._update_closed(host, state, pace, now)

    async def closed_hosts(self) -> Collection[str]:
        """Hosts that take no request for more than half a second; workers do not claim their URLs."""
        if not self._opens_at:
            return ()
        threshold = self._clock() + CLOSED_AFTER_S
        self._opens_at = {host: at for host, at in self._opens_at.items() if at > threshold}
        return self._opens_at.keys()

    def _adapt(self, state: _Host, pace: Pace, feedback: Feedback, now: float) -> None:
        status, failure = feedback.status, feedback.failure
        retry_after_s = feedback.retry_after_s
        if (
            retry_after_s is not None
            and retry_after_s < IGNORED_RETRY_AFTER_S
            and (status in BUSY or (status is not None and 300 <= status < 400))
        ):
            state.closed_at = now
            state.closed_until = max(state.closed_until, now + min(max(retry_after_s, 0.0), pace.max_retry_after_s))
        elif status in BUSY or failure in STRAINED:
            _back_off(state, feedback, now)
        elif status is not None and (status == 403 or status >= 500):
            state.error_streak += 1
            if state.error_streak >= STREAK:
                state.error_streak = 0
                _back_off(state, feedback, now)
        elif status is not None:
            state.error_streak = 0
            state.backoff_s /= 2
            if state.backoff_s < FIRST_COOLDOWN_S / 2:
                state.backoff_s = 0.0

    def _update_closed(self, host: str, state: _Host, pace: Pace, now: float) -> None:
        opens_at = state.next_start(gap_s(host, pace, state.latency_s, state.crawl_delay_s))
        if opens_at - now > CLOSED_AFTER_S:
            self._opens_at[host] = opens_at
        elif host in self._opens_at:
            del self._opens_at[host]

    def _host(self, host: str, now: float) -> _Host:
        state = self._hosts.get(host)
        if state is None:
            if len(self._hosts) >= _MAX_HOSTS:
                self._evict_idle(now)
            state = self._hosts[host] = _Host()
        return state

    def _evict_idle(self, now: float) -> None:
        """Drop the least recently used half of the hosts without requests in progress, backoff or running gap."""
        idle = [
            (state.last_start, host)
            for host, state in self._hosts.items()
            if not state.in_progress and state.closed_until <= now and state.last_start + state.crawl_delay_s <= now
        ]
        for _, host in sorted(idle)[: (len(idle) + 1) // 2]:
            del self._hosts[host]
            self._opens_at.pop(host, None)


def gap_s(host: str, pace: Pace, latency_s: float | None, crawl_delay_s: float) -> float:
    """The minimum time between two request starts. `crawl_delay_s` is already capped."""
    gap = fixed_gap_s(host, pace)
    if gap is None:
        gap = min(max((latency_s or 0.0) * LATENCY_SHARE, SHORTEST_GAP_S), LONGEST_GAP_S)
    return max(gap, crawl_delay_s)


def _back_off(state: _Host, feedback: Feedback, now: float) -> None:
    if now - feedback.elapsed_s >= state.closed_at:
        state.backoff_s = min(max(state.backoff_s * 2, FIRST_COOLDOWN_S), LONGEST_COOLDOWN_S)
        state.closed_at = now
    state.closed_until = max(state.closed_until, now + state.backoff_s)
