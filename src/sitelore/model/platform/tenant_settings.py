"""Settings of a tenant as a whole: how long its data are kept, and its brand (colours, fonts, logo and icon)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredBrand:
    """What is stored of a brand (`extract/page_objects/brand.py` has the names of the values)."""

    entered: dict[str, Any] = field(default_factory=dict)
    """By a person; never replaced by a crawl."""
    detected: dict[str, Any] = field(default_factory=dict)
    """On the home page, by the last crawl that detected a colour or a font."""
    channel: str | None = None
    """Where it was detected."""
    detected_at: float | None = None
    updated_at: float | None = None


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Seconds for which each kind of data is kept. None: the default of the operator; 0: for ever."""

    runs_s: float | None = None
    """Ended runs; the latest of each site stays."""
    versions_s: float | None = None
    """Versions of pages that are no longer current."""
    events_s: float | None = None
    """Events of the outbox."""
    deliveries_s: float | None = None
    """The delivery log of webhooks."""

    def with_defaults(self, defaults: RetentionPolicy) -> RetentionPolicy:
        """This policy with another one's values where it has none."""
        return RetentionPolicy(
            defaults.runs_s if self.runs_s is None else self.runs_s,
            defaults.versions_s if self.versions_s is None else self.versions_s,
            defaults.events_s if self.events_s is None else self.events_s,
            defaults.deliveries_s if self.deliveries_s is None else self.deliveries_s,
        )


EVENTS_KEPT_S = 30 * 86_400.0
"""For how long events and deliveries are kept without a policy."""
MIN_S = 3_600.0
MIN_EVENTS_S = 7 * 86_400.0
"""Deliveries are tried again for days: they and their events must be kept for longer."""


def default_retention(retention_s: float) -> RetentionPolicy:
    """The policy of the operator, whose setting concerns runs and versions; 0: for ever."""
    return RetentionPolicy(retention_s, retention_s, EVENTS_KEPT_S, EVENTS_KEPT_S)
