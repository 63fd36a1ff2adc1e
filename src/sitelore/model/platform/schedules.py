"""Schedules of channels: when a channel is crawled again, and what happened at the last occurrences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sitelore.model.ids import RunId, TenantId


class Outcome(StrEnum):
    """What happened at an occurrence of a schedule."""

    STARTED = "STARTED"
    SKIPPED = "SKIPPED"
    """A crawl of the channel was active."""
    FAILED = "FAILED"
    """The crawl could not be started; the log has the reason."""


@dataclass(frozen=True, slots=True)
class ScheduleRule:
    """When a channel is crawled."""

    cron: str
    """Five fields, as in Debian's cron."""
    time_zone: str
    """An IANA name. The fields are local time there."""
    jitter_s: int = 0
    """Delay after each occurrence, so that not all channels start at midnight."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The rule of a schedule with its next occurrence."""

    rule: ScheduleRule
    next_at: float

    @property
    def due_at(self) -> float:
        """When the crawl of this occurrence starts."""
        return self.next_at + self.rule.jitter_s


@dataclass(frozen=True, slots=True)
class Schedule:
    """The schedule of a channel."""

    tenant: TenantId
    channel: str
    planned: Planned
    last_at: float | None = None
    """The last occurrence that was handled."""
    last_outcome: Outcome | None = None
    last_missed: int = 0
    """Occurrences before it that passed while no server ran; one crawl made up for all of them."""
    last_run: RunId | None = None
    missed: int = 0
    """Over the life of the schedule."""
    skipped: int = 0
    """Occurrences that were skipped because a crawl was active, over the life of the schedule."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence that is due: what to do at once, and what comes next."""

    scheduled_for: float
    missed: int
    next: Planned
