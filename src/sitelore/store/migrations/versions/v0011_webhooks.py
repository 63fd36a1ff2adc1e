"""Outgoing webhooks, and retention per tenant."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TABLES = ("retention", "webhook_deliveries", "webhook_queues", "webhook_endpoints")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "webhook_endpoints",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", _KEY, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("types", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("old_secret", sa.Text()),
        sa.Column("old_secret_until", sa.Double()),
        sa.Column("enabled", sa.Integer(), nullable=False),
        sa.Column("disabled_reason", sa.Text()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("failing_since", sa.Double()),
        sa.Column("paused_until", sa.Double()),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "webhook_queues",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("endpoint_id", _KEY, nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("lease_until", sa.Double()),
        sa.Column("claimed_by", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "endpoint_id", "run_id"),
        _of_endpoint(),
    )
    op.create_index("webhook_queues_due", "webhook_queues", ["due_at"])
    _create_deliveries()
    op.create_table(
        "retention",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("runs_s", sa.Double()),
        sa.Column("versions_s", sa.Double()),
        sa.Column("events_s", sa.Double()),
        sa.Column("deliveries_s", sa.Double()),
        sa.PrimaryKeyConstraint("tenant_id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )


def _of_endpoint() -> sa.ForeignKeyConstraint:
    parent = ["webhook_endpoints.tenant_id", "webhook_endpoints.id"]
    return sa.ForeignKeyConstraint(["tenant_id", "endpoint_id"], parent, ondelete="CASCADE")


def _create_deliveries() -> None:
    name = "webhook_deliveries"
    op.create_table(
        name,
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("endpoint_id", _KEY, nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("attempted_at", sa.Double()),
        sa.Column("status", sa.Integer()),
        sa.Column("elapsed_ms", sa.Integer()),
        sa.Column("answer", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "endpoint_id", "event_id"),
        _of_endpoint(),
    )
    for state, columns in (
        ("pending", ["tenant_id", "endpoint_id", "run_id", "event_id"]),
        ("dead", ["tenant_id", "endpoint_id", "event_id"]),
    ):
        where = sa.text(f"state = '{state.upper()}'")
        op.create_index(f"{name}_{state}", name, columns, sqlite_where=where, postgresql_where=where)
    op.create_index(f"{name}_created", name, ["tenant_id", "created_at"])
    op.create_index(f"{name}_of_run", name, ["tenant_id", "run_id"])


def downgrade() -> None:
    """Remove the tables."""
    for name in _TABLES:
        op.drop_table(name)
