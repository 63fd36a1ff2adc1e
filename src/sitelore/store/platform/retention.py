"""The retention policies of tenants."""

from __future__ import annotations

from dataclasses import asdict

import sqlalchemy as sa

from sitelore.model.ids import TenantId
from sitelore.model.platform.retention import RetentionPolicy
from sitelore.store.engine import Repository, read, write
from sitelore.store.platform.schema import retention
from sitelore.store.platform.webhooks import delete_deliveries
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
