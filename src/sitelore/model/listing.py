"""Queries for pages of lists (runs, URLs), and runs created under an idempotency key."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sitelore.model.frontier import Run
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url


class UrlOrder(StrEnum):
    """The order of a list of URLs. Rows without the value come last in either direction."""

    ID = "id"
    """The order in which rows were admitted."""
    VISITED_AT = "visited_at"
    UPDATED_AT = "updated_at"
    """Equal to `visited_at`: a row changes when its visit is settled."""
    NORMALIZED_URL = "normalized_url"
    DEPTH = "depth"


@dataclass(frozen=True, slots=True)
class UrlListing:
    """A page of a run's URLs. Empty `states`: all."""

    states: frozenset[UrlState] = frozenset()
    order: UrlOrder = UrlOrder.ID
    descending: bool = False
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True)
class RunListing:
    """A page of the runs. Empty `states` or `site`: all; no tenant: all. Tenants may have sites of the same name."""

    states: frozenset[RunState] = frozenset()
    site: str = ""
    oldest_first: bool = False
    limit: int = 100
    offset: int = 0
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A URL and the page on which it was first found."""

    parent: Url
    url: Url
    state: UrlState
    depth: int


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """A caller's key for a request that must take effect once, and a fingerprint of that request."""

    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class IdempotentRun:
    """The run created under an idempotency key, and the fingerprint of the request that created it."""

    run: Run
    fingerprint: str
    is_new: bool
