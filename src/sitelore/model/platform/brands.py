"""The brand of a tenant: colours, fonts, logo and icon."""

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
