"""Dependencies, configuration, concurrency limit and progress counters that the workers of one process share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from sitelore.model.frontier import Settlement
from sitelore.ports import Clock, Events, HostGate, Ledger, Notifier


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Timeouts and intervals of workers, and whether other processes share the runs."""

    is_shared: bool = False
    """Other processes may work on the same runs: maintenance completes a run, and a worker claims only what it can start."""
    lease_s: float = 120.0
    poll_s: float = 0.25
    """How long an idle worker waits for a notification before it polls the ledger."""
    drain_s: float = 12.0
    """How long active visits may continue after a stop. SIGTERM leaves 30 s; the rest is for writing settlements."""
    upkeep_s: float = 1.0
    """Interval between two maintenance cycles."""
    pause_s: float = 5.0
    """Delay before a crashed run gets its second attempt."""


class ConcurrencyLimiter:
    """Limits the active visits of a process, over all its runs."""

    def __init__(self, count: int) -> None:
        self._free = count

    @property
    def is_full(self) -> bool:
        """Whether no further visit may start."""
        return self._free <= 0

    def take(self) -> None:
        """Count a visit that starts."""
        self._free -= 1

    def release(self) -> None:
        """Count a visit that ended."""
        self._free += 1


def _ignore_settlement(_: Settlement) -> None:
    """The default callback for settlements."""


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """Dependencies handed to every worker of a process."""

    ledger: Ledger
    gate: HostGate
    notifier: Notifier
    events: Events
    clock: Clock
    config: WorkerConfig = WorkerConfig()
    limiter: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(1_000_000))
    on_settled: Callable[[Settlement], None] = _ignore_settlement
    """Called with every durable settlement of a page that is not a retry."""


@dataclass(slots=True)
class Progress:
    """Progress counters of one run in this process, written by its worker and read by a progress bar."""

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
