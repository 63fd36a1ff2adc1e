"""The outbox: events for other systems, stored in the transaction that they report, so that events and data always agree.

Ids rise in the order of commits of a run, because writers of a run are serialised. Readers ask for what follows the last id
that they handled, and may see an event twice but never miss one of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec
import sqlalchemy as sa

from sitelore.model.frontier import StoredEvent, StoredEventKind
from sitelore.model.ids import RunId, TenantId
from sitelore.model.platform.tenant_settings import EVENTS_KEPT_S
from sitelore.model.url import Url
from sitelore.store.rows import encode, maybe_url, storable
from sitelore.store.schema import events
from sitelore.store.statements import Statement, bind, execute_many, next_ids

_facts_decoder = msgspec.json.Decoder(dict[str, str | int])


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to store."""

    run: RunId
    kind: StoredEventKind
    at: float
    url: Url | None = None
    facts: Mapping[str, str | int] = field(default_factory=dict)


def decode_facts(text: str | None) -> dict[str, str | int]:
    """The facts of a stored event."""
    return _facts_decoder.decode(text) if text else {}


def store_events(conn: sa.Connection, tenant: TenantId, new: Iterable[NewEvent]) -> None:
    """Store events in this transaction, and queue them for the webhooks that receive them."""
    batch = list(new)
    numbered = list(zip(next_ids(conn, tenant, events, len(batch)), batch, strict=True))
    rows = [
        (
            tenant, number, event.run, event.kind.value, None if event.url is None else str(event.url),
            storable(encode(event.facts).decode()) if event.facts else None, event.at,
        )
        for number, event in numbered
    ]  # fmt: skip
    execute_many(conn, _event_statement, rows)
    if numbered and conn.scalar(_has_endpoints, {"tenant": tenant}) is not None:
        from sitelore.store.platform.webhooks import queue_deliveries  # noqa: PLC0415 few crawls have a receiver

        queue_deliveries(conn, tenant, numbered)


_has_endpoints = sa.text("SELECT 1 FROM webhook_endpoints WHERE tenant_id = :tenant AND enabled = 1 LIMIT 1")


def _event_statement(_dialect_name: str) -> Statement:
    names = tuple(column.name for column in events.c)
    return sa.insert(events).values({name: bind(events.c[name]) for name in names}), names


def delete_old_events(conn: sa.Connection, tenant: TenantId, now: float) -> None:
    """Delete events older than the retention period of the tenant; `EVENTS_KEPT_S` by default."""
    kept_s = conn.scalar(_kept_s, {"tenant": tenant})
    if kept_s != 0.0:
        delete_events_before(conn, tenant, now - (EVENTS_KEPT_S if kept_s is None else kept_s))


_kept_s = sa.text("SELECT events_s FROM retention WHERE tenant_id = :tenant")


def delete_events_before(conn: sa.Connection, tenant: TenantId, before: float) -> int:
    """Delete older events but the last one, whose id SQLite would use again. Returns their number."""
    c = events.c
    last = sa.select(sa.func.max(c.id)).where(c.tenant_id == tenant).scalar_subquery()
    return conn.execute(sa.delete(events).where(c.tenant_id == tenant, c.created_at < before, c.id < last)).rowcount


def events_after(conn: sa.Connection, tenant: TenantId, after: int, limit: int, run: RunId | None = None) -> list[StoredEvent]:
    """The next events of the tenant, or of one run, after this id, oldest first."""
    c = events.c
    query = sa.select(c.id, c.run_id, c.kind, c.created_at, c.url, c.facts).where(c.tenant_id == tenant, c.id > after)
    if run is not None:
        query = query.where(c.run_id == run)
    return [
        StoredEvent(number, stored_run, StoredEventKind(kind), at, maybe_url(url), decode_facts(facts))
        for number, stored_run, kind, at, url, facts in conn.execute(query.order_by(c.id).limit(limit))
    ]
