"""A `HostGate` for tests that lets requests start after scripted waits and records every call."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from sitelore.model.settings import Pace
from sitelore.ports import Feedback


@dataclass
class RecordingGate:
    """Lets requests start after the given waits, and records them."""

    waits: list[float] = field(default_factory=list)
    entered: list[str] = field(default_factory=list)
    left: list[tuple[str, Feedback]] = field(default_factory=list)
    delays: list[tuple[str, float]] = field(default_factory=list)

    async def acquire(self, host: str, pace: Pace) -> float:
        if self.waits:
            return self.waits.pop(0)
        self.entered.append(host)
        return 0.0

    def mark_sent(self, host: str) -> None:
        pass

    async def release(self, host: str, pace: Pace, feedback: Feedback) -> None:
        self.left.append((host, feedback))

    async def set_crawl_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        self.delays.append((host, delay_s))

    async def closed_hosts(self) -> Collection[str]:
        return ()
