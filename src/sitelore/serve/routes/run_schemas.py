"""Responses about the progress of a run: its hosts and its events."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from sitelore.model.frontier import HostProgress, StoredEvent
from sitelore.serve.schemas import millis, moment


class HostView(msgspec.Struct, frozen=True):
    """A host of a run with its URLs."""

    host: str
    urls: int
    by_status: dict[str, int]
    elapsed_ms: int | None
    """Mean duration of its requests."""
    retry_at: str | None
    """When the next URL that failed is tried again."""
    is_closed: bool | None
    """Whether it takes no request now, because of a Retry-After or failures. Null: only the workers know."""


class HostList(msgspec.Struct, frozen=True):
    """The hosts of a run, those with most URLs first."""

    hosts: list[HostView]


class EventView(msgspec.Struct, frozen=True):
    """An event of a run."""

    id: int
    kind: str
    at: str | None
    url: str | None
    facts: dict[str, str | int]


class EventList(msgspec.Struct, frozen=True):
    """Events of a run, oldest first."""

    events: list[EventView]
    has_more: bool


def host_view(host: HostProgress, closed: Collection[str] | None) -> HostView:
    """A host as the API shows it. `closed`: the hosts that take no request now, where that is known."""
    return HostView(
        host=host.host,
        urls=sum(host.states.values()),
        by_status=host.states,
        elapsed_ms=millis(host.elapsed_s),
        retry_at=moment(host.retry_at),
        is_closed=None if closed is None else host.host in closed,
    )


def event_view(event: StoredEvent) -> EventView:
    """An event as the API shows it."""
    return EventView(
        event.id, event.kind.value, moment(event.at), None if event.url is None else str(event.url), dict(event.facts)
    )
