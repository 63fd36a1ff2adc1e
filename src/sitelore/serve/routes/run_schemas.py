"""Responses about the progress of a run: its hosts and its events."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from sitelore.app.lineage import Lineage, places
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


class LineageView(msgspec.Struct, frozen=True):
    """How the URLs of a run were found, as a tree in columns; parents come before their children."""

    urls: list[str]
    parents: list[int]
    """The index of the URL on which it was found first; -1 for seeds and sitemaps."""
    states: list[int]
    """An index into `state_names`; -1 for sitemaps."""
    depths: list[int]
    types: list[int]
    """An index into `type_names`."""
    x: list[int]
    """The place in a radial picture around 0, here and in `y`: 10,000 for each level of the tree."""
    y: list[int]
    state_names: list[str]
    type_names: list[str]
    """Media types of the responses; one of them is empty."""
    truncated: bool


_UNITS_PER_LEVEL = 10_000


def lineage_view(tree: Lineage, *, is_truncated: bool) -> LineageView:
    """The view of a tree, with the place of every URL."""
    state_names = sorted(set(tree.states) - {""})
    type_names = sorted({"", *tree.content_types})
    states = {"": -1, **{name: index for index, name in enumerate(state_names)}}
    types = {name: index for index, name in enumerate(type_names)}
    x, y = ([round(_UNITS_PER_LEVEL * each) for each in column] for column in places(tree.parents))
    return LineageView(
        tree.urls,
        tree.parents,
        [states[state] for state in tree.states],
        tree.depths,
        [types[name] for name in tree.content_types],
        x,
        y,
        state_names,
        type_names,
        is_truncated,
    )
