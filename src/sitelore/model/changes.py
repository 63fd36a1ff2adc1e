"""Types of the changes of a site between two points in time: new versions, removed pages, and line diffs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sitelore.model.ids import BlobKey
from sitelore.model.url import Url


@dataclass(frozen=True, slots=True)
class ChangedVersion:
    """A page with a new version in a period: its content at the end of the period and before it."""

    url: Url
    at: float
    document: BlobKey
    content_hash: str
    before: BlobKey | None = None
    """The document before the period; None for a page that is new."""


@dataclass(frozen=True, slots=True)
class GonePage:
    """A page that was removed from its site in a period, as deletion detection found it."""

    url: Url
    at: float
    content_hash: str
    alias_of: Url | None = None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class ReturnedPage:
    """A page that was gone and is on its site again, as deletion detection found it."""

    url: Url
    at: float
    content_hash: str


class ChangeKind(StrEnum):
    """What happened to a page."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    MOVED = "moved"


class DiffKind(StrEnum):
    """What happened to a line, or to a piece of one, between two versions."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"
    """Of lines only: some of its words changed."""


@dataclass(frozen=True, slots=True)
class DiffSpan:
    """A piece of a line."""

    kind: DiffKind
    text: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of two versions, with its pieces."""

    kind: DiffKind
    spans: tuple[DiffSpan, ...]


@dataclass(frozen=True, slots=True)
class SiteChange:
    """One change of a site."""

    kind: ChangeKind
    url: Url
    at: float
    moved_to: Url | None = None
    evidence: str = ""
    """Why a page is taken for gone."""
    removed: tuple[str, ...] = ()
    """Lines of text of a changed page that are no longer on it."""
    added: tuple[str, ...] = ()
