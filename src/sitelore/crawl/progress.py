"""How a crawl is going, for people who watch it. Numbers of this process only; the ledger holds the truth."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


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
