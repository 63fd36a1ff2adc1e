"""Tables of accounts, channels, schedules, media and webhooks.

Imported only where they are used: opening a data directory must not take longer because of them. `migrations/current.py`
imports this module wherever it needs all tables.
"""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.store.schema import _Key as Key
from sitelore.store.schema import _of_tenant as of_tenant
from sitelore.store.schema import _partial_of as partial_of
from sitelore.store.schema import _tenant as tenant_column
from sitelore.store.schema import metadata


def _of_endpoint() -> sa.ForeignKeyConstraint:
    parent = ["webhook_endpoints.tenant_id", "webhook_endpoints.id"]
    return sa.ForeignKeyConstraint(["tenant_id", "endpoint_id"], parent, ondelete="CASCADE")


webhook_endpoints = sa.Table(
    "webhook_endpoints",
    metadata,
    tenant_column(),
    sa.Column("id", Key, primary_key=True),
    sa.Column("url", sa.Text, nullable=False),
    # Event types as a JSON array; empty: all.
    sa.Column("types", sa.Text, nullable=False),
    # Encrypted where the operator has set a key (`platform/secret_box.py`).
    sa.Column("secret", sa.Text, nullable=False),
    # After a rotation, messages are signed with both secrets until this time.
    sa.Column("old_secret", sa.Text),
    sa.Column("old_secret_until", sa.Double),
    sa.Column("enabled", sa.Integer, nullable=False),
    sa.Column("disabled_reason", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    # The first failure after the last success.
    sa.Column("failing_since", sa.Double),
    # The pause that an answer demands ends then (429, 502, 503, 504, Retry-After).
    sa.Column("paused_until", sa.Double),
    of_tenant(),
)

webhook_queues = sa.Table(
    "webhook_queues",
    metadata,
    tenant_column(),
    sa.Column("endpoint_id", Key, primary_key=True),
    # Empty for events that belong to no run.
    sa.Column("run_id", Key, primary_key=True),
    # When the next attempt is due.
    sa.Column("due_at", sa.Double, nullable=False),
    sa.Column("lease_until", sa.Double),
    sa.Column("claimed_by", sa.Text),
    _of_endpoint(),
)
"""Runs with pending deliveries, by endpoint; the row is deleted with the last of them. One sender at a time leases a queue, so
deliveries of a run stay in order."""
# Not by tenant: senders serve all tenants.
sa.Index("webhook_queues_due", webhook_queues.c.due_at)

webhook_deliveries = sa.Table(
    "webhook_deliveries",
    metadata,
    tenant_column(),
    sa.Column("endpoint_id", Key, primary_key=True),
    sa.Column("event_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("run_id", Key, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    # The time of the event.
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    # The last attempt: status, duration and the start of the answer, or why there was none.
    sa.Column("attempted_at", sa.Double),
    sa.Column("status", sa.Integer),
    sa.Column("elapsed_ms", sa.Integer),
    sa.Column("answer", sa.Text),
    sa.Column("error", sa.Text),
    _of_endpoint(),
)
"""The delivery log: one row for each event and endpoint, written in the transaction of the event. The event has the content."""
partial_of(
    webhook_deliveries, "webhook_deliveries_pending", "state = 'PENDING'", "tenant_id", "endpoint_id", "run_id", "event_id"
)
partial_of(webhook_deliveries, "webhook_deliveries_dead", "state = 'DEAD'", "tenant_id", "endpoint_id", "event_id")
sa.Index("webhook_deliveries_created", webhook_deliveries.c.tenant_id, webhook_deliveries.c.created_at)
sa.Index("webhook_deliveries_of_run", webhook_deliveries.c.tenant_id, webhook_deliveries.c.run_id)

retention = sa.Table(
    "retention",
    metadata,
    tenant_column(),
    # Seconds for which each kind of data is kept; NULL: the default of the operator.
    sa.Column("runs_s", sa.Double),
    sa.Column("versions_s", sa.Double),
    sa.Column("events_s", sa.Double),
    sa.Column("deliveries_s", sa.Double),
    of_tenant(),
)
