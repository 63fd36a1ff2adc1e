"""The tables of the platform: channels with their crawls, schedules and brands. They join the `metadata` of `store/schema.py`.

Imported where all tables are needed: opening a data directory for a crawl does without.
"""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.store.schema import _belongs_to, _Key, _of_tenant, _partial_of, _tenant, metadata

__all__ = ["brands", "channels", "crawl_jobs", "metadata", "page_deletions", "schedules"]

channels = sa.Table(
    "channels",
    metadata,
    _tenant(),
    # A UUID of version 7, unique over all tenants.
    sa.Column("id", _Key, primary_key=True),
    sa.Column("site_id", sa.Integer, nullable=False),
    # The site's name without `www.`: the twins are one site to a channel.
    sa.Column("host", _Key, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    # `ChannelSettings` as JSON.
    sa.Column("settings", sa.Text, nullable=False),
    # The secret of signed change notices. Needed as it is, to compute signatures.
    sa.Column("secret", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    _belongs_to("sites"),
)
sa.Index("channels_of_host", channels.c.tenant_id, channels.c.host, unique=True)
sa.Index("channels_of_site", channels.c.tenant_id, channels.c.site_id, unique=True)
sa.Index("channels_created", channels.c.tenant_id, channels.c.created_at, channels.c.id)

crawl_jobs = sa.Table(
    "crawl_jobs",
    metadata,
    _tenant(),
    sa.Column("run_id", _Key, primary_key=True),
    sa.Column("channel_id", _Key, nullable=False),
    sa.Column("trigger_type", sa.Text, nullable=False),
    sa.Column("triggered_by", sa.Text, nullable=False),
    sa.Column("scheduled_for", sa.Double),
    # `CrawlConfig` and `MediaCounts` as JSON.
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("media", sa.Text),
    # 1 until the run has ended (`runs/lifecycle.py`).
    sa.Column("active", sa.Integer, nullable=False),
    # 1 from when the run has completed until `platform/schedules.py` has planned the next crawl and stored the brand.
    sa.Column("follow_up", sa.Integer, nullable=False),
    _belongs_to("runs"),
    _belongs_to("channels"),
)
"""The crawls of channels, a row per run."""
_partial_of(crawl_jobs, "crawl_jobs_active", "active = 1", "tenant_id", "channel_id", unique=True)
_partial_of(crawl_jobs, "crawl_jobs_to_follow_up", "follow_up = 1", "tenant_id", "run_id")
sa.Index("crawl_jobs_of_channel", crawl_jobs.c.tenant_id, crawl_jobs.c.channel_id, crawl_jobs.c.run_id)

schedules = sa.Table(
    "schedules",
    metadata,
    _tenant(),
    sa.Column("channel_id", _Key, primary_key=True),
    sa.Column("cron", sa.Text, nullable=False),
    sa.Column("time_zone", sa.Text, nullable=False),
    sa.Column("jitter_s", sa.Integer, nullable=False),
    # The next occurrence, and when its crawl starts.
    sa.Column("next_at", sa.Double, nullable=False),
    sa.Column("due_at", sa.Double, nullable=False),
    sa.Column("last_at", sa.Double),
    sa.Column("last_outcome", sa.Text),
    sa.Column("last_missed", sa.Integer, nullable=False, server_default="0"),
    sa.Column("last_run", sa.Text),
    sa.Column("missed", sa.Integer, nullable=False, server_default="0"),
    sa.Column("skipped", sa.Integer, nullable=False, server_default="0"),
    _belongs_to("channels"),
)
# Not by tenant: the scheduler serves all tenants.
sa.Index("schedules_due", schedules.c.due_at)

page_deletions = sa.Table(
    "page_deletions",
    metadata,
    _tenant(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("url_id", sa.BigInteger, primary_key=True),
    # The last run by then. A run that was created later brings the page back.
    sa.Column("run_id", sa.Text, nullable=False),
    _belongs_to("sites"),
)
"""Pages that a person has deleted: rows of earlier runs, which stay, do not show them."""

brands = sa.Table(
    "brands",
    metadata,
    _tenant(),
    # What a person has entered, and what the last crawl with a result has detected, as JSON.
    sa.Column("entered", sa.Text),
    sa.Column("detected", sa.Text),
    sa.Column("channel_id", sa.Text),
    sa.Column("detected_at", sa.Double),
    sa.Column("updated_at", sa.Double, nullable=False),
    _of_tenant(),
)
"""The brand of each tenant."""
