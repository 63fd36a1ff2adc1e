"""What a face may ask the ledger for: a page of a list, with its total, and a run that is made once per key."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sitelore.model.frontier import Run
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url


class UrlOrder(StrEnum):
    """What a list of URLs may be sorted by. Rows that have no such value come last, whichever way is asked for."""

    ID = "id"
    """The order in which rows were admitted."""
    VISITED_AT = "visited_at"
    UPDATED_AT = "updated_at"
    """As `visited_at`: a row changes when its visit is settled."""
    NORMALIZED_URL = "normalized_url"
    DEPTH = "depth"


@dataclass(frozen=True, slots=True)
class UrlListing:
    """A page of a run's URLs. No states: all of them."""

    states: frozenset[UrlState] = frozenset()
    order: UrlOrder = UrlOrder.ID
    descending: bool = False
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True)
class RunListing:
    """A page of the runs. No states: all of them; no site: any; no tenant: of any. Tenants may have sites of the same name."""

    states: frozenset[RunState] = frozenset()
    site: str = ""
    oldest_first: bool = False
    limit: int = 100
    offset: int = 0
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A URL and the page it was first found on."""

    parent: Url
    url: Url
    state: UrlState
    depth: int


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A caller's key for something that must happen once, and a fingerprint of what was asked for under it."""

    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class IdempotentRun:
    """The run that stands under a key, and the fingerprint it was made for."""

    run: Run
    fingerprint: str
    is_new: bool
