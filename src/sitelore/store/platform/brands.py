"""The brand of each tenant: what a person has entered, and what a crawl has detected."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.ids import TenantId
from sitelore.model.platform.brands import StoredBrand
from sitelore.store.platform.schema import brands
from sitelore.store.rows import encode, storable
from sitelore.store.statements import put_row

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
