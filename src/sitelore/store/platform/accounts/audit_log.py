"""Append to the audit log of a tenant, and read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import sqlalchemy as sa

from sitelore.model.ids import TenantId
from sitelore.model.platform.accounts import (
    AuditEntry,
    AuditFacets,
    AuditListing,
    AuditOrder,
    AuditRecord,
    EntryFor,
    hash_of,
)
from sitelore.store.platform.schema import audit_log
from sitelore.store.schema import tenants
from sitelore.store.statements import read_page

T = TypeVar("T")

RECORDS_PER_READ = 1_000
_MAX_FACETS = 100

_c = audit_log.c
_ENTRY = (_c.id, _c.at, _c.actor, _c.token_id, _c.action, _c.object, _c.before_hash, _c.after_hash, _c.address, _c.request_id)
_ORDER_COLUMNS: dict[AuditOrder, sa.Column[Any]] = {
    AuditOrder.TIME: _c.seq,
    AuditOrder.ACTOR: _c.actor,
    AuditOrder.ACTION: _c.action,
    AuditOrder.OBJECT: _c.object,
}
_select = sa.select(_c.seq, _c.previous, _c.hash, *_ENTRY)


def append(conn: sa.Connection, tenant: TenantId, entry: AuditEntry) -> AuditRecord:
    """Add an entry at the end of the chain. An entry that is there already is returned."""
    lock_tenant(conn, tenant)
    stored = conn.execute(_select.where(_c.tenant_id == tenant, _c.id == entry.id)).one_or_none()
    if stored is not None:
        return _record(stored)
    last = conn.execute(sa.select(_c.seq, _c.hash).where(_c.tenant_id == tenant).order_by(_c.seq.desc()).limit(1)).one_or_none()
    seq, previous = (1, "") if last is None else (last.seq + 1, last.hash)
    record = AuditRecord(seq, entry, previous, hash_of(seq, entry, previous))
    values = {
        "tenant_id": tenant, "seq": seq, "id": entry.id, "at": entry.at, "actor": entry.actor, "token_id": entry.token_id,
        "action": entry.action, "object": entry.object, "before_hash": entry.before, "after_hash": entry.after,
        "address": entry.address, "request_id": entry.request_id, "previous": previous, "hash": record.hash,
    }  # fmt: skip
    conn.execute(sa.insert(audit_log).values(values))
    return record


def recorded(conn: sa.Connection, tenant: TenantId, entry_for: EntryFor, change: Callable[[], T]) -> T:
    """Make a change, and add the entry about it.

    The tenant is locked first, as for changes of accounts: one lock order for all entries.
    """
    lock_tenant(conn, tenant)
    result = change()
    entry = entry_for(result)
    if entry is not None:
        append(conn, tenant, entry)
    return result


def lock_tenant(conn: sa.Connection, tenant: TenantId) -> None:
    """Let other changes of the tenant's accounts wait for this transaction. Work on its runs does not wait."""
    conn.execute(sa.select(tenants.c.id).where(tenants.c.id == tenant).with_for_update(key_share=True))


def list_records(conn: sa.Connection, tenant: TenantId, listing: AuditListing) -> tuple[list[AuditRecord], int]:
    """A page of the records, and the total."""
    column = _ORDER_COLUMNS[listing.order]
    order = (column.desc(), _c.seq.desc()) if listing.is_descending else (column, _c.seq)
    query = _select.where(_matching(tenant, listing)).order_by(*order)
    rows, total = read_page(conn, query, listing.limit, listing.offset)
    return list(map(_record, rows)), total


def count_records(conn: sa.Connection, tenant: TenantId, listing: AuditListing) -> AuditFacets:
    """How many records pass the other filters, the most frequent actions and actors first."""
    of_actions = _counts(conn, _c.action, _matching(tenant, replace(listing, actions=frozenset())))
    return AuditFacets(of_actions, _counts(conn, _c.actor, _matching(tenant, replace(listing, actors=frozenset()))))


def _counts(conn: sa.Connection, column: sa.Column[str], condition: sa.ColumnElement[bool]) -> dict[str, int]:
    count = sa.func.count()
    query = sa.select(column, count).where(condition).group_by(column).order_by(count.desc(), column).limit(_MAX_FACETS)
    return {row[0]: row[1] for row in conn.execute(query)}


def _matching(tenant: TenantId, listing: AuditListing) -> sa.ColumnElement[bool]:
    """The condition of a list of records."""
    condition: sa.ColumnElement[bool] = _c.tenant_id == tenant
    for column, names in ((_c.action, listing.actions), (_c.actor, listing.actors)):
        if names:
            condition &= column.in_(sorted(names))
    if listing.subject:
        condition &= _c.object == listing.subject
    if listing.text:
        columns = (_c.actor, _c.action, _c.object, _c.address)
        condition &= sa.or_(*(each.icontains(listing.text, autoescape=True) for each in columns))
    return condition


def records_after(conn: sa.Connection, tenant: TenantId, seq: int) -> Sequence[AuditRecord]:
    """The next records in the order of the chain; fewer than `RECORDS_PER_READ` when these are the last."""
    query = _select.where(_c.tenant_id == tenant, _c.seq > seq).order_by(_c.seq).limit(RECORDS_PER_READ)
    return [_record(row) for row in conn.execute(query)]


def _record(row: Any) -> AuditRecord:
    return AuditRecord(row.seq, AuditEntry(*tuple(row)[3:]), row.previous, row.hash)
