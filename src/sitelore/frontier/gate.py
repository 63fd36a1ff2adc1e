"""Politeness towards hosts, for crawls that run in one process.

A host is asked when all of this is so: the gap since its last request began has passed, it is not closed, and fewer than
`per_host` requests to it are under way.

**The gap.** With `delay_s` it is that and a moment more (at most 2 ms), so that the host itself never sees less. Without, the
gap adapts: half of what the host usually takes to answer (a moving average in which the last answer counts for three tenths),
at least 0.1 s and at most 5 s, so that a slow host sees about two requests at a time. A host written as a loopback or private
address, or as `localhost`, is the person's own: it has no gap, only the cap on concurrency. A Crawl-delay lengthens either
gap, up to the pace's cap. The gap counts from real start to real start: a start that comes late is never made up for by a
shorter gap.

**Closing.** Retry-After closes a host to the second, up to the pace's cap. Without one, or with an absurd one of more than a
day, a 429, 408 or 503, a timeout or a refused connection closes it for 0.5 s, the next time for 1 s, doubling up to 5 s;
requests that were already under way when it closed say nothing new and do not double it. Every good answer halves that again
until it is gone. Other server errors close the host only when five come in a row, and so do 403s: one bad page is not a host
in trouble.

Nothing here sleeps and nothing is random: `enter` answers with the seconds to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from sitelore.model.politeness import (
    ABSURD_S,
    BUSY,
    CLOSED_AFTER_S,
    FIRST_COOLDOWN_S,
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

_MOST_HOSTS = 10_000
_LONG_AGO = float("-inf")


class _Host:
    """What the gate remembers of one host."""

    __slots__ = ("asked_s", "closed_at", "closed_until", "cooldown_s", "last_start", "latency_s", "running", "streak")

    def __init__(self) -> None:
        self.running = 0
        self.last_start = _LONG_AGO
        self.latency_s: float | None = None
        self.asked_s = 0.0
        self.cooldown_s = 0.0
        self.closed_at = _LONG_AGO
        self.closed_until = _LONG_AGO
        self.streak = 0

    def may_start_at(self, gap_s: float) -> float:
        return max(self.last_start + gap_s, self.closed_until)


class LocalGate:
    """A `HostGate` for one process. `clock` is monotonic, in seconds; a host is an authority, as URLs have it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._hosts: dict[str, _Host] = {}
        self._opens_at: dict[str, float] = {}
        """Hosts that were last seen closed for longer than a moment."""

    async def enter(self, host: str, pace: Pace) -> float:
        """0.0: go, a slot is taken. Otherwise the seconds after which asking again is worthwhile."""
        now = self._clock()
        known = self._host(host, now)
        wait_s = known.may_start_at(gap_s(host, pace, known.latency_s, known.asked_s)) - now
        if wait_s > 0:
            return max(wait_s, SHORTEST_WAIT_S)
        if known.running >= pace.per_host:
            shortest, longest = SLOT_WAIT_S
            return min(max((known.latency_s or 0.0) / known.running, shortest), longest)
        known.running += 1
        known.last_start = now
        self._note(host, known, pace, now)
        return 0.0

    def sent(self, host: str) -> None:
        """The request leaves only now (a connection had to be made first): the gap counts from here."""
        known = self._hosts.get(host)
        if known is not None:
            known.last_start = self._clock()

    async def leave(self, host: str, pace: Pace, feedback: Feedback) -> None:
        """Give the slot back and let the pace adapt."""
        now = self._clock()
        known = self._host(host, now)
        known.running = max(0, known.running - 1)
        if feedback.status is not None:
            before = known.latency_s
            known.latency_s = feedback.elapsed_s if before is None else before + LATENCY_WEIGHT * (feedback.elapsed_s - before)
        self._judge(known, pace, feedback, now)
        self._note(host, known, pace, now)

    async def ask_for_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        """The host asked for a gap between requests (robots.txt Crawl-delay); honoured up to the pace's cap."""
        now = self._clock()
        known = self._host(host, now)
        known.asked_s = max(0.0, min(delay_s, pace.max_crawl_delay_s))
        self._note(host, known, pace, now)

    async def closed_hosts(self) -> Collection[str]:
        """Hosts that will take no request for more than half a second; their rows are better left unclaimed."""
        if not self._opens_at:
            return ()
        soon = self._clock() + CLOSED_AFTER_S
        self._opens_at = {host: at for host, at in self._opens_at.items() if at > soon}
        return self._opens_at.keys()

    def _judge(self, known: _Host, pace: Pace, feedback: Feedback, now: float) -> None:
        status, failure = feedback.status, feedback.failure
        asked_s = feedback.retry_after_s
        if asked_s is not None and asked_s < ABSURD_S and (status in BUSY or (status is not None and 300 <= status < 400)):
            known.closed_at = now
            known.closed_until = max(known.closed_until, now + min(max(asked_s, 0.0), pace.max_retry_after_s))
        elif status in BUSY or failure in STRAINED:
            _cool_down(known, feedback, now)
        elif status is not None and (status == 403 or status >= 500):
            known.streak += 1
            if known.streak >= STREAK:
                known.streak = 0
                _cool_down(known, feedback, now)
        elif status is not None:
            known.streak = 0
            known.cooldown_s /= 2
            if known.cooldown_s < FIRST_COOLDOWN_S / 2:
                known.cooldown_s = 0.0

    def _note(self, host: str, known: _Host, pace: Pace, now: float) -> None:
        opens_at = known.may_start_at(gap_s(host, pace, known.latency_s, known.asked_s))
        if opens_at - now > CLOSED_AFTER_S:
            self._opens_at[host] = opens_at
        elif host in self._opens_at:
            del self._opens_at[host]

    def _host(self, host: str, now: float) -> _Host:
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= _MOST_HOSTS:
                self._forget_idle(now)
            known = self._hosts[host] = _Host()
        return known

    def _forget_idle(self, now: float) -> None:
        """Make room: of the hosts that are neither asked nor closed now, the half that was asked least recently goes."""
        idle = [
            (known.last_start, host)
            for host, known in self._hosts.items()
            if not known.running and known.closed_until <= now and known.last_start + known.asked_s <= now
        ]
        for _, host in sorted(idle)[: (len(idle) + 1) // 2]:
            del self._hosts[host]
            self._opens_at.pop(host, None)


def gap_s(host: str, pace: Pace, latency_s: float | None, asked_s: float) -> float:
    """The least time between two request starts. `asked_s` is the host's own wish, already capped."""
    gap = fixed_gap_s(host, pace)
    if gap is None:
        gap = min(max((latency_s or 0.0) * LATENCY_SHARE, SHORTEST_GAP_S), LONGEST_GAP_S)
    return max(gap, asked_s)


def _cool_down(known: _Host, feedback: Feedback, now: float) -> None:
    if now - feedback.elapsed_s >= known.closed_at:
        known.cooldown_s = min(max(known.cooldown_s * 2, FIRST_COOLDOWN_S), LONGEST_COOLDOWN_S)
        known.closed_at = now
    known.closed_until = max(known.closed_until, now + known.cooldown_s)
