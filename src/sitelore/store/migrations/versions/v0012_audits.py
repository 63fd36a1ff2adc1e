"""Audits of runs, findings with their life over runs, decisions to ignore them, insights, settings of audits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_UNFINISHED = "state IN ('waiting', 'running')"


def upgrade() -> None:
    """Create the tables."""
    _create_audits()
    _create_findings()


def _create_audits() -> None:
    op.create_table(
        "audits",
        _tenant(),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text()),
        sa.Column("pages", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("lease_until", sa.Double()),
        sa.Column("started_at", sa.Double()),
        sa.Column("finished_at", sa.Double()),
        sa.Column("is_complete", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("clean_pages", sa.Integer()),
        sa.Column("indexable_pages", sa.Integer()),
        sa.Column("counts", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "run_id"),
        _belongs_to("run", "runs"),
    )
    op.create_index("audits_of_site", "audits", ["tenant_id", "site_id", "finished_at"])
    op.create_index(
        "audits_unfinished", "audits", ["run_id"], sqlite_where=sa.text(_UNFINISHED), postgresql_where=sa.text(_UNFINISHED)
    )
    op.create_table(
        "insights",
        _tenant(),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("name", _KEY, nullable=False),
        sa.Column("figures", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "name"),
        _belongs_to("run", "runs"),
    )


def _create_findings() -> None:
    op.create_table(
        "findings",
        _tenant(),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("key", _KEY, nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("url", _KEY, nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("first_seen", sa.Double(), nullable=False),
        sa.Column("last_seen", sa.Double(), nullable=False),
        sa.Column("resolved_at", sa.Double()),
        sa.Column("opened_run", sa.Text(), nullable=False),
        sa.Column("seen_run", sa.Text(), nullable=False),
        sa.Column("resolved_run", sa.Text(), nullable=False),
        sa.Column("ignored", sa.Text()),
        sa.Column("ignored_until", sa.Double()),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "key"),
        _belongs_to("site", "sites"),
    )
    op.create_index("findings_by_rule", "findings", ["tenant_id", "site_id", "rule", "status"])
    op.create_table(
        "ignored_findings",
        _tenant(),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("rule", _KEY, nullable=False),
        sa.Column("scope", _KEY, nullable=False),
        sa.Column("target", _KEY, nullable=False),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("ignored_until", sa.Double()),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "rule", "scope", "target"),
        _belongs_to("site", "sites"),
    )
    op.create_table(
        "audit_settings",
        _tenant(),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "site_id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )


def _tenant() -> sa.Column[int]:
    return sa.Column("tenant_id", sa.Integer(), nullable=False)


def _belongs_to(name: str, table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["tenant_id", f"{name}_id"], [f"{table}.tenant_id", f"{table}.id"], ondelete="CASCADE")


def downgrade() -> None:
    """Remove the tables."""
    for name in ("audit_settings", "ignored_findings", "findings", "insights", "audits"):
        op.drop_table(name)
