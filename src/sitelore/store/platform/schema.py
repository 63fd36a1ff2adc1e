"""The tables of the platform: accounts and the audit log; channels, their crawls, schedules and brands; media; fix requests.

They join the metadata of `store/schema.py` when this is imported: opening a data directory for a crawl does without.
"""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.store.schema import ID_SEQUENCES, Key, belongs_to, metadata, of_tenant, partial_of, tenant_column

channels = sa.Table(
    "channels",
    metadata,
    tenant_column(),
    # A UUID of version 7, unique over all tenants.
    sa.Column("id", Key, primary_key=True),
    sa.Column("site_id", sa.Integer, nullable=False),
    # The site's name without `www.`: the twins are one site to a channel.
    sa.Column("host", Key, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    # `ChannelSettings` as JSON.
    sa.Column("settings", sa.Text, nullable=False),
    # The secret of signed change notices. Needed as it is, to compute signatures.
    sa.Column("secret", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    belongs_to("sites"),
)
sa.Index("channels_of_host", channels.c.tenant_id, channels.c.host, unique=True)
sa.Index("channels_of_site", channels.c.tenant_id, channels.c.site_id, unique=True)
sa.Index("channels_created", channels.c.tenant_id, channels.c.created_at, channels.c.id)

crawl_jobs = sa.Table(
    "crawl_jobs",
    metadata,
    tenant_column(),
    sa.Column("run_id", Key, primary_key=True),
    sa.Column("channel_id", Key, nullable=False),
    sa.Column("trigger_type", sa.Text, nullable=False),
    sa.Column("triggered_by", sa.Text, nullable=False),
    sa.Column("scheduled_for", sa.Double),
    # `CrawlConfig` as JSON.
    sa.Column("config", sa.Text, nullable=False),
    # 1 until the run has ended (`runs/lifecycle.py`).
    sa.Column("active", sa.Integer, nullable=False),
    # 1 from when the run has completed until `platform/channels/schedules.py` has planned the next crawl and stored the brand.
    sa.Column("follow_up", sa.Integer, nullable=False),
    belongs_to("runs"),
    belongs_to("channels"),
)
"""The crawls of channels, a row per run."""
partial_of(crawl_jobs, "crawl_jobs_active", "active = 1", "tenant_id", "channel_id", unique=True)
partial_of(crawl_jobs, "crawl_jobs_to_follow_up", "follow_up = 1", "tenant_id", "run_id")
sa.Index("crawl_jobs_of_channel", crawl_jobs.c.tenant_id, crawl_jobs.c.channel_id, crawl_jobs.c.run_id)

schedules = sa.Table(
    "schedules",
    metadata,
    tenant_column(),
    sa.Column("channel_id", Key, primary_key=True),
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
    belongs_to("channels"),
)
# Not by tenant: the scheduler serves all tenants.
sa.Index("schedules_due", schedules.c.due_at)

page_deletions = sa.Table(
    "page_deletions",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("url_id", sa.BigInteger, primary_key=True),
    # The last run by then. A run that was created later brings the page back.
    sa.Column("run_id", sa.Text, nullable=False),
    belongs_to("sites"),
)
"""Pages that a person has deleted: rows of earlier runs, which stay, do not show them."""

brands = sa.Table(
    "brands",
    metadata,
    tenant_column(),
    # What a person has entered, and what the last crawl with a result has detected, as JSON.
    sa.Column("entered", sa.Text),
    sa.Column("detected", sa.Text),
    sa.Column("channel_id", sa.Text),
    sa.Column("detected_at", sa.Double),
    sa.Column("updated_at", sa.Double, nullable=False),
    of_tenant(),
)
"""The brand of each tenant."""

users = sa.Table(
    "users",
    metadata,
    tenant_column(),
    # A UUID of version 7.
    sa.Column("id", Key, primary_key=True),
    sa.Column("email", Key, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    of_tenant(),
)
sa.Index("users_named", users.c.tenant_id, users.c.email, unique=True)

tokens = sa.Table(
    "tokens",
    metadata,
    tenant_column(),
    # The public part of the token's text, unique over all tenants: a request names its token, not its tenant.
    sa.Column("id", Key, primary_key=True),
    # SHA-256 of the secret. The secret has 256 random bits, so a slow hash would add nothing.
    sa.Column("secret_hash", sa.LargeBinary, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    # Separated by spaces.
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("channel_id", sa.Text, nullable=False),
    sa.Column("user_id", Key, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("expires_at", sa.Double),
    sa.Column("revoked_at", sa.Double),
    sa.Column("last_used_at", sa.Double),
    sa.Column("last_address", sa.Text, nullable=False),
    sa.Column("rotated_from", sa.Text, nullable=False),
    of_tenant(),
)
# Not by tenant: authentication looks a token up before it knows the tenant.
sa.Index("tokens_by_id", tokens.c.id, unique=True)
sa.Index("tokens_of_user", tokens.c.tenant_id, tokens.c.user_id)

audit_log = sa.Table(
    "audit_log",
    metadata,
    tenant_column(),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("id", Key, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("token_id", sa.Text, nullable=False),
    sa.Column("action", Key, nullable=False),
    sa.Column("object", Key, nullable=False),
    sa.Column("before_hash", sa.Text, nullable=False),
    sa.Column("after_hash", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    of_tenant(),
)
"""Changes by people and programs, in the order of their commits. Rows are only added; each has a hash over itself and the one
before (`model/platform/accounts.py`)."""
sa.Index("audit_log_entries", audit_log.c.tenant_id, audit_log.c.id, unique=True)


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
media = sa.Table(
    "media",
    metadata,
    tenant_column(),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("type", sa.Text, nullable=False),
    # SHA-256 of the file as received; of provider and id for a video that is not downloaded.
    sa.Column("content_hash", Key, nullable=False),
    # NULL where no file is stored.
    sa.Column("storage_key", sa.Text),
    sa.Column("source_url", sa.Text, nullable=False),
    sa.Column("file_name", sa.Text, nullable=False),
    sa.Column("mime_type", sa.Text, nullable=False),
    sa.Column("stored_bytes", sa.BigInteger, nullable=False),
    sa.Column("original_bytes", sa.BigInteger, nullable=False),
    sa.Column("width", sa.Integer),
    sa.Column("height", sa.Integer),
    sa.Column("alt", sa.Text),
    sa.Column("provider", sa.Text),
    sa.Column("video_id", sa.Text),
    # The first characters of a document's text.
    sa.Column("text", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("last_crawled_at", sa.Double, nullable=False),
    of_tenant(),
)
"""Images, videos and documents of a tenant; equal content is one row."""
sa.Index("media_of_content", media.c.tenant_id, media.c.content_hash, unique=True)
sa.Index("media_of_type", media.c.tenant_id, media.c.type, media.c.id)
ID_SEQUENCES[media.name] = sa.Sequence("media_ids", metadata=metadata)

media_urls = sa.Table(
    "media_urls",
    metadata,
    tenant_column(),
    # The id of the URL in `site_urls`.
    sa.Column("url_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("media_id", sa.BigInteger, nullable=False),
    sa.Column("etag", sa.Text),
    sa.Column("last_modified", sa.Text),
    sa.Column("fetched_at", sa.Double, nullable=False),
    belongs_to("sites"),
    belongs_to("media"),
)
"""The content that each media URL had when it was last fetched."""
sa.Index("media_urls_of_media", media_urls.c.tenant_id, media_urls.c.media_id, media_urls.c.url_id)

media_sites = sa.Table(
    "media_sites",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("media_id", sa.BigInteger, primary_key=True, autoincrement=False),
    belongs_to("sites"),
    belongs_to("media"),
)
"""The sites that have, or had, each media file."""
sa.Index("media_sites_of_media", media_sites.c.tenant_id, media_sites.c.media_id, media_sites.c.site_id)

page_media = sa.Table(
    "page_media",
    metadata,
    tenant_column(),
    # The id of the page's URL in `site_urls`.
    sa.Column("page_id", sa.BigInteger, primary_key=True, autoincrement=False),
    # Its place among the media of the page.
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("url_id", sa.BigInteger, nullable=False),
    sa.Column("alt", sa.Text),
    belongs_to("sites"),
)
"""The media URLs that the current version of each page shows. They join the media by `media_urls`, so that a file that changes
at its URL changes on every page."""
sa.Index("page_media_of_url", page_media.c.tenant_id, page_media.c.url_id, page_media.c.page_id)
sa.Index("page_media_of_site", page_media.c.tenant_id, page_media.c.site_id, page_media.c.url_id)

connected_repositories = sa.Table(
    "connected_repositories",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("base", sa.Text, nullable=False),
    # Encrypted where the operator has set a key (`platform/secret_box.py`).
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    belongs_to("sites"),
)
"""The repository from which each site is made, with the token for draft pull requests."""

fix_requests = sa.Table(
    "fix_requests",
    metadata,
    tenant_column(),
    # A UUID of version 7.
    sa.Column("id", Key, primary_key=True),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("repository", Key, nullable=False),
    # The name of the set of findings; the branch has a number after it when one was merged before.
    sa.Column("subject", Key, nullable=False),
    sa.Column("branch", Key, nullable=False),
    # JSON arrays: rules, chosen findings (empty: all of the rules), and the findings that the pull request fixes.
    sa.Column("rules", sa.Text, nullable=False),
    sa.Column("chosen", sa.Text, nullable=False),
    sa.Column("findings", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("updated_at", sa.Double, nullable=False),
    # When a server next works on it; a lease while one does.
    sa.Column("due_at", sa.Double, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("number", sa.Integer),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("merged_at", sa.Double),
    sa.Column("error", sa.Text, nullable=False),
    belongs_to("sites"),
)
"""Draft pull requests for findings of audits."""
sa.Index(
    "fix_requests_of_branch",
    fix_requests.c.tenant_id,
    fix_requests.c.site_id,
    fix_requests.c.repository,
    fix_requests.c.branch,
    unique=True,
)
# Not by tenant: servers work for all tenants.
partial_of(fix_requests, "fix_requests_due", "state IN ('queued', 'open')", "due_at")
