"""What the workers of one process have in common, and the terms on which they work."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sitelore.ports import Clock, Events, HostGate, Ledger, Notifier


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """How long things last, and whether other processes work here too."""

    is_shared: bool = False
    """Other processes may work on the same runs: then maintenance ends a run, and a worker takes no more than it needs."""
    lease_s: float = 120.0
    poll_s: float = 0.25
    """How long a worker without work waits for a signal before it looks for itself."""
    drain_s: float = 12.0
    """How long visits under way may still take after a stop. A SIGTERM leaves 30 s; the rest is for writing."""
    upkeep_s: float = 1.0
    """Between two maintenance cycles."""
    pause_s: float = 5.0
    """Before a crashed run gets its second attempt."""


class ConcurrencyLimiter:
    """Visits that a process has under way at once, over all its runs."""

    def __init__(self, count: int) -> None:
        self._free = count

    @property
    def is_full(self) -> bool:
        """Whether everyone has to wait."""
        return self._free <= 0

    def take(self) -> None:
        """A visit begins."""
        self._free -= 1

    def give_back(self) -> None:
        """A visit has ended."""
        self._free += 1


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """Handed to every worker of a process."""

    ledger: Ledger
    gate: HostGate
    notifier: Notifier
    events: Events
    clock: Clock
    config: WorkerConfig = WorkerConfig()
    limiter: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(1_000_000))


@dataclass(slots=True)
class Progress:
    """Counted by the worker, read by a progress bar."""

    pages: int = 0
    fetched: int = 0
    queued: int = 0
    in_flight: int = 0
    skipped: int = 0
    errors: int = 0
    body_bytes: int = 0
    wave: int = 0
    depth: int = 0
    max_pages: int | None = None
    started_at: float = 0.0
    states: Counter[str] = field(default_factory=Counter)
    latest: str = ""
