"""What was read of a page, before it is redacted a second time and becomes its document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sitelore.extract.about.links import NO_LINKS, Found
from sitelore.extract.about.metadata import Metadata
from sitelore.extract.structured.entities import Entity

NO_PAGE_OBJECTS: tuple[Any, ...] = ((), (), (), {})


@dataclass(frozen=True, slots=True)
class Draft:
    """What was read, not yet redacted a second time."""

    metadata: Metadata
    strategy: str
    markdown: str
    text: str
    links: Found = NO_LINKS
    structured: tuple[Entity, ...] = ()
    page_objects: tuple[Any, ...] = NO_PAGE_OBJECTS
    """Forms, actions, media, brand."""
