"""What happens to a run, for whoever watches it. Events tell; the ledger knows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sitelore.model.ids import RunId


class EventKind(StrEnum):
    """What an event tells."""

    STATE = "state"
    """The run moved: `facts` has `state` and, where there is one, `error`."""
    WAVE = "wave"
    """A wave opened: `facts` has `wave` and `admitted`."""
    PROGRESS = "progress"
    """A worker settled rows, told at most once a second: `facts` has `worker`, `settled`, `pages`, `fetched` since the last."""


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One thing that happened to a run."""

    run: RunId
    kind: EventKind
    at: float
    facts: dict[str, str | int] = field(default_factory=dict)
