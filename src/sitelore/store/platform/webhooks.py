"""Webhook endpoints, their queues and the delivery log (`ports.Webhooks`).

Deliveries are written in the transaction that stores their event (`queue_deliveries`), so none is lost. A queue holds the
pending deliveries of one run to one endpoint. A sender leases it, sends its deliveries in order and records each result; when
it is killed, the lease expires and another sender continues with the same delivery.

A queue's row is locked before it is checked for pending deliveries and deleted; `queue_deliveries` locks the same row after its
inserts. Whichever comes second sees what the first one did, so no delivery stays behind without a queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.frontier import StoredEvent, StoredEventKind
from sitelore.model.ids import RunId, TenantId
from sitelore.model.platform.webhooks import (
    Attempt,
    Delivery,
    DeliveryBatch,
    DeliveryListing,
    DeliveryState,
    DeliveryVerdict,
    EndpointChange,
    NextStep,
    PendingDelivery,
    WebhookEndpoint,
    WebhookQueue,
    WebhookStats,
    webhook_type,
)
from sitelore.store.engine import Repository, read, read_long, write
from sitelore.store.platform.schema import webhook_deliveries, webhook_endpoints, webhook_queues
from sitelore.store.rows import encode, maybe_url, storable
from sitelore.store.runs.events import NewEvent, decode_facts, store_events
from sitelore.store.schema import events, runs, site_urls
from sitelore.store.statements import batches, insert_for, read_page
from sitelore.store.tenants import SUSPENDED, for_all_tenants

QUEUES_PER_ENDPOINT = 4
"""Runs whose events are sent to one endpoint at the same time."""
_NO_RUN = RunId("")
_MAY_SEND = sa.and_(webhook_endpoints.c.enabled == 1, webhook_endpoints.c.tenant_id.not_in(SUSPENDED))
"""Endpoints that are enabled and whose tenant is not suspended: what is queued meanwhile is sent when the tenant is resumed."""
_PENDING = sa.text("webhook_deliveries.state = 'PENDING'")  # spelled as in the partial index
_DEAD = sa.text("webhook_deliveries.state = 'DEAD'")

_types_decoder = msgspec.json.Decoder(tuple[str, ...])

_QUEUE_KEY = ("tenant_id", "endpoint_id", "run_id")
_ENDPOINT_COLUMNS = tuple(
    webhook_endpoints.c[name]
    for name in (
        "id", "url", "types", "secret", "created_at", "enabled", "disabled_reason", "old_secret", "old_secret_until",
        "failing_since", "paused_until",
    )
)  # fmt: skip
_DELIVERY_COLUMNS = tuple(
    webhook_deliveries.c[name]
    for name in (
        "endpoint_id", "event_id", "run_id", "type", "state", "created_at", "attempts", "attempted_at", "status", "elapsed_ms",
        "answer", "error",
    )
)  # fmt: skip


def queue_deliveries(conn: sa.Connection, tenant: TenantId, new: Iterable[tuple[int, NewEvent]]) -> None:
    """Write a delivery for each of these new events and each enabled endpoint that receives its type."""
    c = webhook_endpoints.c
    # Locked against deletion, which would make the inserts below fail; other changes of an endpoint do not wait.
    query = sa.select(c.id, c.types).where(c.tenant_id == tenant, c.enabled == 1).order_by(c.id)
    endpoints = conn.execute(query.with_for_update(read=True, key_share=True)).all()
    batch = [(number, event, webhook_type(event.kind, dict(event.facts)).value) for number, event in new]
    rows, queues = [], set()
    for endpoint, encoded in endpoints:
        types = _types_decoder.decode(encoded)
        for number, event, kind in batch:
            if not types or kind in types:
                rows.append({
                    "tenant_id": tenant, "endpoint_id": endpoint, "event_id": number, "run_id": event.run, "type": kind,
                    "state": DeliveryState.PENDING.value, "created_at": event.at,
                })  # fmt: skip
                queues.add((endpoint, event.run, event.at))
    if rows:
        conn.execute(sa.insert(webhook_deliveries), rows)
        _open_queues(conn, tenant, queues)


def _open_queues(conn: sa.Connection, tenant: TenantId, queues: Iterable[tuple[str, str, float]]) -> None:
    """Create the queues of (endpoint, run, due time), and lock those that exist: their rows stay as they are."""
    insert = insert_for(conn.dialect.name)(webhook_queues)
    no_change = {"due_at": webhook_queues.c.due_at}
    statement = insert.on_conflict_do_update(index_elements=list(_QUEUE_KEY), set_=no_change, where=sa.false())
    for endpoint, run, due_at in sorted(queues):
        conn.execute(statement, {"tenant_id": tenant, "endpoint_id": endpoint, "run_id": run, "due_at": due_at})


def add_endpoint(conn: sa.Connection, tenant: TenantId, endpoint: WebhookEndpoint) -> None:
    """Store a new endpoint. Safe to repeat."""
    values = {
        "tenant_id": tenant, "id": endpoint.id, "url": endpoint.url, "types": encode(endpoint.types).decode(),
        "secret": endpoint.secret, "enabled": int(endpoint.enabled), "created_at": endpoint.created_at,
    }  # fmt: skip
    insert = insert_for(conn.dialect.name)(webhook_endpoints).values(values)
    conn.execute(insert.on_conflict_do_nothing(index_elements=["tenant_id", "id"]))


def list_endpoints(conn: sa.Connection, tenant: TenantId) -> list[WebhookEndpoint]:
    """All endpoints, oldest first."""
    c = webhook_endpoints.c
    query = sa.select(*_ENDPOINT_COLUMNS).where(c.tenant_id == tenant).order_by(c.created_at, c.id)
    return [_endpoint_of(row) for row in conn.execute(query)]


def find_endpoint(conn: sa.Connection, tenant: TenantId, endpoint: str) -> WebhookEndpoint | None:
    """The endpoint with this id."""
    row = conn.execute(sa.select(*_ENDPOINT_COLUMNS).where(_is_endpoint(tenant, endpoint))).one_or_none()
    return None if row is None else _endpoint_of(row)


def change_endpoint(
    conn: sa.Connection, tenant: TenantId, endpoint: str, change: EndpointChange, now: float
) -> WebhookEndpoint | None:
    """Change an endpoint. Pending deliveries of a disabled endpoint become dead letters. None when there is none."""
    values: dict[str, Any] = {}
    if change.url is not None:
        values["url"] = change.url
    if change.types is not None:
        values["types"] = encode(change.types).decode()
    if change.enabled:
        values |= {"enabled": 1, "disabled_reason": None, "failing_since": None, "paused_until": None}
    if values:
        conn.execute(sa.update(webhook_endpoints).where(_is_endpoint(tenant, endpoint)).values(**values))
    if change.enabled is False:
        _disable(conn, tenant, endpoint, "disabled on request", now)
    return find_endpoint(conn, tenant, endpoint)


def rotate_secret(
    conn: sa.Connection, tenant: TenantId, endpoint: str, secret: str, old_until: float
) -> WebhookEndpoint | None:
    """Replace the secret; messages are signed with the one before as well until this time. Safe to repeat."""
    current = conn.scalar(sa.select(webhook_endpoints.c.secret).where(_is_endpoint(tenant, endpoint)).with_for_update())
    if current not in {None, secret}:
        values = {"secret": secret, "old_secret": current, "old_secret_until": old_until}
        conn.execute(sa.update(webhook_endpoints).where(_is_endpoint(tenant, endpoint)).values(**values))
    return find_endpoint(conn, tenant, endpoint)


def remove_endpoint(conn: sa.Connection, tenant: TenantId, endpoint: str) -> bool:
    """Delete an endpoint with its delivery log. False when there is none."""
    return conn.execute(sa.delete(webhook_endpoints).where(_is_endpoint(tenant, endpoint))).rowcount == 1


def list_deliveries(
    conn: sa.Connection, tenant: TenantId, endpoint: str, listing: DeliveryListing
) -> tuple[list[Delivery], int]:
    """A page of the delivery log of an endpoint, newest first, and the number of all entries."""
    is_listed = _of_endpoint(tenant, endpoint)
    if listing.state is not None:
        is_listed = sa.and_(is_listed, webhook_deliveries.c.state == sa.literal_column(f"'{listing.state.value}'"))
    query = sa.select(*_DELIVERY_COLUMNS).where(is_listed).order_by(webhook_deliveries.c.event_id.desc())
    rows, total = read_page(conn, query, listing.limit, listing.offset)
    return list(map(_delivery_of, rows)), total


def replay(conn: sa.Connection, tenant: TenantId, endpoint: str, event: int, now: float) -> bool:
    """Queue a delivery again, in any state. False when there is none, or its endpoint is disabled."""
    return _replay(conn, tenant, endpoint, webhook_deliveries.c.event_id == event, now) > 0


def replay_dead(conn: sa.Connection, tenant: TenantId, endpoint: str, since: float, until: float, now: float) -> int:
    """Queue the dead letters of events from this time on and before that time again. Returns their number."""
    created_at = webhook_deliveries.c.created_at
    return _replay(conn, tenant, endpoint, sa.and_(_DEAD, created_at >= since, created_at < until), now)


def _replay(conn: sa.Connection, tenant: TenantId, endpoint: str, which: sa.ColumnElement[bool], now: float) -> int:
    c = webhook_deliveries.c
    is_enabled = sa.select(webhook_endpoints.c.id).where(_is_endpoint(tenant, endpoint), webhook_endpoints.c.enabled == 1)
    if conn.execute(is_enabled.with_for_update(read=True, key_share=True)).first() is None:
        return 0
    again = sa.update(webhook_deliveries).where(_of_endpoint(tenant, endpoint), which)
    run_ids = conn.scalars(again.values(state=DeliveryState.PENDING.value, attempts=0).returning(c.run_id)).all()
    _open_queues(conn, tenant, [(endpoint, run, now) for run in set(run_ids)])
    # A queue that waits for a retry continues at once, with its oldest event.
    of_queue = sa.and_(webhook_queues.c.tenant_id == tenant, webhook_queues.c.endpoint_id == endpoint)
    for batch in batches(sorted(set(run_ids))):
        conn.execute(sa.update(webhook_queues).where(of_queue, webhook_queues.c.run_id.in_(batch)).values(due_at=now))
    return len(run_ids)


def pending_batch(conn: sa.Connection, tenant: TenantId, queue: WebhookQueue, limit: int) -> DeliveryBatch | None:
    """The first pending deliveries of a queue; None when its endpoint was deleted or disabled, or the lease was lost."""
    endpoint = find_endpoint(conn, tenant, queue.endpoint)
    if endpoint is None or not endpoint.enabled or not _is_leased(conn, tenant, queue):
        return None
    c, d = events.c, webhook_deliveries.c
    of_run = sa.and_(runs.c.tenant_id == d.tenant_id, runs.c.id == d.run_id)
    page = sa.and_(
        site_urls.c.tenant_id == d.tenant_id, site_urls.c.site_id == runs.c.site_id, site_urls.c.url == c.url
    )  # a URL too long for a key has no id here
    query = (
        sa.select(*_DELIVERY_COLUMNS, c.id, c.run_id, c.kind, c.created_at, c.url, c.facts, site_urls.c.id)
        .select_from(
            webhook_deliveries.join(events, sa.and_(c.tenant_id == d.tenant_id, c.id == d.event_id))
            .outerjoin(runs, of_run)
            .outerjoin(site_urls, page)
        )
        .where(_of_endpoint(tenant, queue.endpoint), d.run_id == queue.run, _PENDING)
        .order_by(d.event_id)
        .limit(limit)
    )
    return DeliveryBatch(endpoint, tuple(_pending_of(tuple(row)) for row in conn.execute(query)))


def record_attempt(
    conn: sa.Connection,
    tenant: TenantId,
    queue: WebhookQueue,
    event: int,
    attempt: Attempt,
    verdict: DeliveryVerdict,
    lease_until: float,
) -> bool:
    """Store the result of an attempt, and what follows for the queue and its endpoint. True while the lease is held."""
    is_leased = _is_leased(conn, tenant, queue, lock=True)
    # An attempt of a sender that has lost its lease counts as well when it succeeded: the receiver has the event.
    if is_leased or verdict.step is NextStep.DONE:
        _update_delivery(conn, tenant, queue, event, attempt, verdict.step)
    if not is_leased:
        return False
    if verdict.step is NextStep.DONE:
        _set_health(conn, tenant, queue, webhook_endpoints.c.failing_since.is_not(None), failing_since=None, paused_until=None)
    else:
        _set_health(conn, tenant, queue, webhook_endpoints.c.failing_since.is_(None), failing_since=attempt.at)
    if verdict.paused_until is not None:
        _set_health(conn, tenant, queue, sa.true(), paused_until=verdict.paused_until)
    if verdict.step is NextStep.DISABLE:
        _disable(conn, tenant, queue.endpoint, verdict.reason, attempt.at)
        others = {"endpoint": queue.endpoint, "reason": verdict.reason}
        store_events(conn, tenant, [NewEvent(_NO_RUN, StoredEventKind.WEBHOOK_DISABLED, attempt.at, facts=others)])
        return False
    if verdict.step is not NextStep.RETRY and not _has_pending(conn, tenant, queue):
        conn.execute(sa.delete(webhook_queues).where(_is_queue(tenant, queue)))
        return False
    values: dict[str, Any] = {"lease_until": lease_until}
    if verdict.step is NextStep.RETRY:
        values = {"due_at": verdict.due_at, "lease_until": None, "claimed_by": None}
    conn.execute(sa.update(webhook_queues).where(_is_queue(tenant, queue)).values(**values))
    return verdict.step is not NextStep.RETRY


def release_queue(conn: sa.Connection, tenant: TenantId, queue: WebhookQueue) -> None:
    """End the lease of a queue; without a pending delivery it is deleted."""
    if not _is_leased(conn, tenant, queue, lock=True):
        return
    if _has_pending(conn, tenant, queue):
        conn.execute(sa.update(webhook_queues).where(_is_queue(tenant, queue)).values(lease_until=None, claimed_by=None))
    else:
        conn.execute(sa.delete(webhook_queues).where(_is_queue(tenant, queue)))


def delete_deliveries(conn: sa.Connection, tenant: TenantId, before: float) -> int:
    """Delete entries of the delivery log whose events happened before this time. Returns their number."""
    c = webhook_deliveries.c
    old = sa.and_(c.tenant_id == tenant, c.created_at < before)
    return conn.execute(sa.delete(webhook_deliveries).where(old)).rowcount


def delete_deliveries_of_runs(conn: sa.Connection, tenant: TenantId, run_ids: Sequence[RunId]) -> None:
    """Delete the delivery log and the queues of runs that are deleted with their events."""
    for table in (webhook_queues, webhook_deliveries):
        for batch in batches(run_ids):
            conn.execute(sa.delete(table).where(table.c.tenant_id == tenant, table.c.run_id.in_(batch)))


def claim_queues(conn: sa.Connection, worker: str, limit: int, now: float, lease_until: float) -> list[WebhookQueue]:
    """Lease due queues of all tenants, the longest due first, at most `QUEUES_PER_ENDPOINT` of each endpoint at a time."""
    q, e = webhook_queues.c, webhook_endpoints.c
    is_leased = sa.func.coalesce(q.lease_until, 0.0) > now
    turn = sa.func.row_number().over(
        partition_by=(q.tenant_id, q.endpoint_id), order_by=(sa.case((is_leased, 0), else_=1), q.due_at, q.run_id)
    )
    of_endpoint = sa.and_(e.tenant_id == q.tenant_id, e.id == q.endpoint_id)
    active = (
        sa.select(q.tenant_id, q.endpoint_id, q.run_id, q.due_at, is_leased.label("is_leased"), turn.label("turn"))
        .select_from(webhook_queues.join(webhook_endpoints, of_endpoint))
        .where(_MAY_SEND, sa.func.coalesce(e.paused_until, 0.0) <= now, sa.or_(q.due_at <= now, is_leased))
        .subquery()
    )
    due = sa.select(active.c.tenant_id, active.c.endpoint_id, active.c.run_id).where(
        sa.not_(active.c.is_leased), active.c.turn <= QUEUES_PER_ENDPOINT
    )
    claimed = []
    for row in conn.execute(due.order_by(active.c.due_at, active.c.run_id).limit(limit)).all():
        queue = WebhookQueue(TenantId(row[0]), row[1], RunId(row[2]), worker)
        # Another sender may have leased it meanwhile.
        change = sa.update(webhook_queues).where(_is_queue(queue.tenant, queue), sa.not_(is_leased), q.due_at <= now)
        if conn.execute(change.values(lease_until=lease_until, claimed_by=worker)).rowcount:
            claimed.append(queue)
    return claimed


def next_due(conn: sa.Connection) -> float | None:
    """When the next delivery of any tenant is due; None when nothing is pending."""
    q, e = webhook_queues.c, webhook_endpoints.c
    of_endpoint = sa.and_(e.tenant_id == q.tenant_id, e.id == q.endpoint_id)
    due_at = sa.case((sa.func.coalesce(e.paused_until, 0.0) > q.due_at, e.paused_until), else_=q.due_at)
    query = sa.select(sa.func.min(due_at)).select_from(webhook_queues.join(webhook_endpoints, of_endpoint)).where(_MAY_SEND)
    earliest: float | None = conn.scalar(query)
    return earliest


def release_all(conn: sa.Connection) -> None:
    """End the leases of all queues. For the one process of a data directory, when it starts."""
    conn.execute(sa.update(webhook_queues).values(lease_until=None, claimed_by=None))


def stats(conn: sa.Connection, now: float) -> WebhookStats:
    """Numbers for metrics."""
    endpoints = conn.scalar(sa.select(sa.func.count()).where(webhook_endpoints.c.enabled == 1))
    c = webhook_queues.c
    of_active = sa.select(sa.func.count(), sa.func.min(c.due_at)).where(c.tenant_id.not_in(SUSPENDED))
    queues, oldest = conn.execute(of_active).one()
    return WebhookStats(endpoints or 0, queues, 0.0 if oldest is None else max(0.0, now - oldest))


def _is_endpoint(tenant: TenantId, endpoint: str) -> sa.ColumnElement[bool]:
    return sa.and_(webhook_endpoints.c.tenant_id == tenant, webhook_endpoints.c.id == endpoint)


def _of_endpoint(tenant: TenantId, endpoint: str) -> sa.ColumnElement[bool]:
    return sa.and_(webhook_deliveries.c.tenant_id == tenant, webhook_deliveries.c.endpoint_id == endpoint)


def _is_queue(tenant: TenantId, queue: WebhookQueue) -> sa.ColumnElement[bool]:
    q = webhook_queues.c
    return sa.and_(q.tenant_id == tenant, q.endpoint_id == queue.endpoint, q.run_id == queue.run)


def _is_leased(conn: sa.Connection, tenant: TenantId, queue: WebhookQueue, *, lock: bool = False) -> bool:
    query = sa.select(webhook_queues.c.claimed_by).where(_is_queue(tenant, queue))
    return conn.scalar(query.with_for_update() if lock else query) == queue.claimed_by


def _has_pending(conn: sa.Connection, tenant: TenantId, queue: WebhookQueue) -> bool:
    c = webhook_deliveries.c
    # Deliveries whose event was deleted have nothing to send.
    of_event = sa.and_(events.c.tenant_id == c.tenant_id, events.c.id == c.event_id)
    pending = sa.select(c.event_id).select_from(webhook_deliveries.join(events, of_event))
    query = pending.where(_of_endpoint(tenant, queue.endpoint), c.run_id == queue.run, _PENDING).limit(1)
    return conn.execute(query).first() is not None


def _update_delivery(
    conn: sa.Connection, tenant: TenantId, queue: WebhookQueue, event: int, attempt: Attempt, step: NextStep
) -> None:
    states = {NextStep.DONE: DeliveryState.DELIVERED, NextStep.RETRY: DeliveryState.PENDING}
    c = webhook_deliveries.c
    change = sa.update(webhook_deliveries).where(_of_endpoint(tenant, queue.endpoint), c.event_id == event)
    conn.execute(
        change.values(
            state=states.get(step, DeliveryState.DEAD).value,
            attempts=c.attempts + 1,
            attempted_at=attempt.at,
            status=attempt.status,
            elapsed_ms=attempt.elapsed_ms,
            answer=None if attempt.answer is None else storable(attempt.answer),
            error=None if attempt.error is None else storable(attempt.error),
        )
    )


def _set_health(
    conn: sa.Connection, tenant: TenantId, queue: WebhookQueue, condition: sa.ColumnElement[bool], **values: Any
) -> None:
    """Change the endpoint of a queue where the condition holds: a row that would not change is not written."""
    change = sa.update(webhook_endpoints).where(_is_endpoint(tenant, queue.endpoint), condition)
    conn.execute(change.values(**values))


def _disable(conn: sa.Connection, tenant: TenantId, endpoint: str, reason: str, now: float) -> None:
    disabled = sa.update(webhook_endpoints).where(_is_endpoint(tenant, endpoint), webhook_endpoints.c.enabled == 1)
    conn.execute(disabled.values(enabled=0, disabled_reason=reason))
    pending = sa.update(webhook_deliveries).where(_of_endpoint(tenant, endpoint), _PENDING)
    error = sa.func.coalesce(webhook_deliveries.c.error, f"Not delivered: {reason}.")
    conn.execute(pending.values(state=DeliveryState.DEAD.value, error=error, attempted_at=now))
    of_endpoint = sa.and_(webhook_queues.c.tenant_id == tenant, webhook_queues.c.endpoint_id == endpoint)
    conn.execute(sa.delete(webhook_queues).where(of_endpoint))


def _endpoint_of(row: Iterable[Any]) -> WebhookEndpoint:
    number, url, types, secret, created_at, enabled, reason, *rest = row
    return WebhookEndpoint(number, url, _types_decoder.decode(types), secret, created_at, bool(enabled), reason or "", *rest)


def _delivery_of(row: Iterable[Any]) -> Delivery:
    endpoint, event, run, kind, state, *rest = row
    return Delivery(endpoint, event, RunId(run), kind, DeliveryState(state), *rest)


def _pending_of(row: tuple[Any, ...]) -> PendingDelivery:
    delivery, (number, run, kind, at, url, facts, page) = row[:-7], row[-7:]
    event = StoredEvent(number, RunId(run), StoredEventKind(kind), at, maybe_url(url), decode_facts(facts))
    return PendingDelivery(_delivery_of(delivery), event, page)


class SqlWebhooks(Repository):
    """The webhooks of one tenant in SQLite or Postgres (`ports.Webhooks`)."""

    add_endpoint = write(add_endpoint)
    endpoints = read(list_endpoints)
    endpoint = read(find_endpoint)
    change_endpoint = write(change_endpoint)
    rotate_secret = write(rotate_secret)
    remove_endpoint = write(remove_endpoint)
    deliveries = read_long(list_deliveries)
    replay = write(replay)
    replay_dead = write(replay_dead)
    pending_batch = read_long(pending_batch)
    record_attempt = write(record_attempt)
    release_queue = write(release_queue)

    # What concerns all tenants.

    async def claim_queues(self, worker: str, limit: int, now: float, lease_until: float) -> list[WebhookQueue]:
        """Lease due queues of all tenants. Most polls find nothing, and need no write transaction."""
        due_at = await self.next_due()
        if due_at is None or due_at > now:
            return []
        return await self._engine.write(for_all_tenants, claim_queues, worker, limit, now, lease_until)

    async def next_due(self) -> float | None:
        """When the next delivery of any tenant is due; None when nothing is pending."""
        return await self._engine.read_long(for_all_tenants, next_due)

    async def release_all(self) -> None:
        """End the leases of all queues."""
        await self._engine.write(for_all_tenants, release_all)

    async def stats(self, now: float) -> WebhookStats:
        """Numbers for metrics, over all tenants."""
        return await self._engine.read_long(for_all_tenants, stats, now)
