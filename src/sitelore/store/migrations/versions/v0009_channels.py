"""Channels with their crawls, schedules and brands; crawl settings of tenants."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TENANT_COLUMNS: tuple[tuple[str, Any, str], ...] = (
    ("plan", sa.Text(), "FREE"),
    ("crawl_max_pages", sa.Integer(), "100"),
    ("crawl_frequency", sa.Text(), "MONTHLY"),
    ("max_video_mb", sa.Integer(), "50"),
    ("time_zone", sa.Text(), "UTC"),
)
_TABLES = ("channels", "crawl_jobs", "schedules", "page_deletions", "brands")


def upgrade() -> None:
    """Create the tables, and the settings with their defaults. The default tenant gets the plan with the highest limit."""
    for name, kind, default in _TENANT_COLUMNS:
        op.add_column("tenants", sa.Column(name, kind, nullable=False, server_default=default))
    op.execute("UPDATE tenants SET plan = 'ENTERPRISE' WHERE id = 1")
    _create_channels()
    _create_crawl_jobs()
    _create_schedules()
    op.create_table(
        "page_deletions",
        _tenant(),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("url_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "url_id"),
        _belongs_to("sites"),
    )
    op.create_table(
        "brands",
        _tenant(),
        sa.Column("entered", sa.Text()),
        sa.Column("detected", sa.Text()),
        sa.Column("channel_id", sa.Text()),
        sa.Column("detected_at", sa.Double()),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Remove all of it."""
    for name in reversed(_TABLES):
        op.drop_table(name)
    for name, *_ in _TENANT_COLUMNS:
        op.drop_column("tenants", name)


def _tenant() -> sa.Column[int]:
    return sa.Column("tenant_id", sa.Integer(), nullable=False)


def _belongs_to(parent: str) -> sa.ForeignKeyConstraint:
    own = f"{parent.removesuffix('s')}_id"
    return sa.ForeignKeyConstraint(["tenant_id", own], [f"{parent}.tenant_id", f"{parent}.id"], ondelete="CASCADE")


def _create_channels() -> None:
    op.create_table(
        "channels",
        _tenant(),
        sa.Column("id", _KEY, nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("host", _KEY, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        _belongs_to("sites"),
    )
    op.create_index("channels_of_host", "channels", ["tenant_id", "host"], unique=True)
    op.create_index("channels_of_site", "channels", ["tenant_id", "site_id"], unique=True)
    op.create_index("channels_created", "channels", ["tenant_id", "created_at", "id"])


def _create_crawl_jobs() -> None:
    op.create_table(
        "crawl_jobs",
        _tenant(),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("channel_id", _KEY, nullable=False),
        sa.Column("trigger_type", sa.Text(), nullable=False),
        sa.Column("triggered_by", sa.Text(), nullable=False),
        sa.Column("scheduled_for", sa.Double()),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("media", sa.Text()),
        sa.Column("active", sa.Integer(), nullable=False),
        sa.Column("follow_up", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "run_id"),
        _belongs_to("runs"),
        _belongs_to("channels"),
    )
    op.create_index("crawl_jobs_of_channel", "crawl_jobs", ["tenant_id", "channel_id", "run_id"])
    for name, condition, columns, is_unique in (
        ("crawl_jobs_active", "active = 1", ["tenant_id", "channel_id"], True),
        ("crawl_jobs_to_follow_up", "follow_up = 1", ["tenant_id", "run_id"], False),
    ):
        where = sa.text(condition)
        op.create_index(name, "crawl_jobs", columns, unique=is_unique, sqlite_where=where, postgresql_where=where)


def _create_schedules() -> None:
    op.create_table(
        "schedules",
        _tenant(),
        sa.Column("channel_id", _KEY, nullable=False),
        sa.Column("cron", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.Text(), nullable=False),
        sa.Column("jitter_s", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("last_at", sa.Double()),
        sa.Column("last_outcome", sa.Text()),
        sa.Column("last_missed", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("last_run", sa.Text()),
        sa.Column("missed", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("skipped", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("tenant_id", "channel_id"),
        _belongs_to("channels"),
    )
    op.create_index("schedules_due", "schedules", ["due_at"])
