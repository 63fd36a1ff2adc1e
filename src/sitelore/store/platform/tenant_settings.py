"""Settings of a tenant as a whole: how long its data are kept, and its brand."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.ids import TenantId
from sitelore.model.platform.tenant_settings import RetentionPolicy, StoredBrand
from sitelore.store.engine import Repository, read, write
from sitelore.store.platform.schema import brands, retention
from sitelore.store.platform.webhooks import delete_deliveries
from sitelore.store.rows import encode, storable
from sitelore.store.runs.events import delete_events_before
from sitelore.store.statements import put_row


def find_retention(conn: sa.Connection, tenant: TenantId) -> RetentionPolicy:
    """The retention policy of a tenant; without a stored one, the defaults of the operator apply."""
    columns = (retention.c[name] for name in asdict(RetentionPolicy()))
    row = conn.execute(sa.select(*columns).where(retention.c.tenant_id == tenant)).one_or_none()
    return RetentionPolicy() if row is None else RetentionPolicy(*row)


def set_retention(conn: sa.Connection, tenant: TenantId, policy: RetentionPolicy) -> None:
    """Store the retention policy of a tenant."""
    put_row(conn, retention, {"tenant_id": tenant}, asdict(policy))


class SqlRetention(Repository):
    """The retention policy of one tenant, and the deletion of what only it concerns."""

    policy = read(find_retention)
    set_policy = write(set_retention)
    delete_events = write(delete_events_before)
    delete_deliveries = write(delete_deliveries)


_decoder = msgspec.json.Decoder(dict[str, Any])
_c = brands.c


def find_brand(conn: sa.Connection, tenant: TenantId) -> StoredBrand:
    """The brand of the tenant; empty when there is none."""
    query = sa.select(_c.entered, _c.detected, _c.channel_id, _c.detected_at, _c.updated_at).where(_c.tenant_id == tenant)
    row = conn.execute(query).one_or_none()
    if row is None:
        return StoredBrand()
    entered, detected, channel, detected_at, updated_at = row
    return StoredBrand(_decode(entered), _decode(detected), channel, detected_at, updated_at)


def enter_brand(conn: sa.Connection, tenant: TenantId, changes: dict[str, Any], now: float) -> StoredBrand:
    """Store what a person has entered, in addition to earlier entries. None removes an entry."""
    merged = {**find_brand(conn, tenant).entered, **changes}
    _store(conn, tenant, {"entered": _encode({name: value for name, value in merged.items() if value is not None})}, now)
    return find_brand(conn, tenant)


def store_detected(conn: sa.Connection, tenant: TenantId, channel: str, detected: dict[str, Any], now: float) -> None:
    """Store what a crawl has detected. What a person has entered stays."""
    _store(conn, tenant, {"detected": _encode(detected), "channel_id": channel, "detected_at": now}, now)


def _store(conn: sa.Connection, tenant: TenantId, values: dict[str, Any], now: float) -> None:
    put_row(conn, brands, {"tenant_id": tenant}, {**values, "updated_at": now})


def _encode(values: dict[str, Any]) -> str | None:
    return storable(encode(values).decode())


def _decode(text: str | None) -> dict[str, Any]:
    return _decoder.decode(text) if text else {}
