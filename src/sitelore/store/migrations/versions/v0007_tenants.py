"""Tenants first in every key; versions of pages with links and facts; statistics, events, heads of responses, resumed runs.

Every table is built anew, because its key changes, and its rows are copied. Row-level security and the statistics of existing
runs are not part of this: `migrations/current.py` adds both after every migration.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

_TO_INDEX = (
    "alias_of IS NULL AND noindex = 0 AND presence <> 'GONE'"
    " AND (indexed IS NULL OR indexed <> document OR indexed_epoch IS NULL)"
)
_OLD_TABLES = (
    "sites", "runs", "redactions", "urls", "prefetches", "shape_yields", "pages", "chunks", "chunk_texts", "segments",
    "postings", "models", "vectors", "robots", "once_keys",
)  # fmt: skip
_INDEXES: tuple[tuple[str, str, list[str], bool, str | None], ...] = (
    ("chunks_of_page", "chunks", ["tenant_id", "site_id", "page"], False, None),
    ("chunks_of_text", "chunks", ["tenant_id", "text_hash"], False, None),
    ("links_to", "links", ["tenant_id", "target_id", "version_id"], False, None),
    ("vectors_put", "vectors", ["tenant_id", "model_id", "version"], False, None),
    ("events_created", "events", ["tenant_id", "created_at"], False, None),
    ("events_of_run", "events", ["tenant_id", "run_id", "id"], False, None),
    ("idempotency_keys_created", "idempotency_keys", ["tenant_id", "created_at"], False, None),
    ("models_named", "models", ["tenant_id", "name"], True, None),
    ("sites_named", "sites", ["tenant_id", "name"], True, None),
    ("page_versions_current", "page_versions", ["tenant_id", "site_id", "url_id"], True, "ended_at IS NULL"),
    ("page_versions_seen", "page_versions", ["tenant_id", "site_id", "url_id", "seen_at"], False, None),
    ("pages_held", "pages", ["tenant_id", "site_id"], False, "held = 1"),
    ("pages_numbered", "pages", ["tenant_id", "site_id", "number"], False, "number IS NOT NULL"),
    (
        "pages_stale",
        "pages",
        ["tenant_id", "site_id", "number"],
        False,
        "indexed IS NOT NULL AND (indexed <> document OR alias_of IS NOT NULL OR noindex <> 0 OR presence = 'GONE')",
    ),
    (
        "pages_to_index",
        "pages",
        ["tenant_id", "site_id", "url"],
        False,
        _TO_INDEX,
    ),
    ("runs_created", "runs", ["tenant_id", "created_at", "id"], False, None),
    ("runs_of_site", "runs", ["tenant_id", "site_id", "created_at"], False, None),
    ("runs_queue", "runs", ["queue_round", "created_at", "id", "site_id"], False, "state = 'QUEUED'"),
    ("runs_queued", "runs", ["tenant_id", "site_id", "queue_round"], False, "state = 'QUEUED'"),
    ("runs_running", "runs", ["site_id"], False, "state = 'RUNNING'"),
    ("runs_state", "runs", ["state"], False, None),
    ("runs_unchecked", "runs", ["tenant_id", "site_id", "finished_at", "id"], False, "presence_checked = 0"),
    ("site_urls_named", "site_urls", ["tenant_id", "site_id", "url"], True, None),
    ("urls_admitted", "urls", ["tenant_id", "run_id", "state", "seq", "retry_at"], False, "seq IS NOT NULL"),
    (
        "urls_candidates",
        "urls",
        ["tenant_id", "run_id", "depth", "source_rank", "parent_seq", "position"],
        False,
        "state = 'DISCOVERED'",
    ),
    ("urls_canonical", "urls", ["tenant_id", "run_id", "canonical"], False, "canonical <> url"),
    ("urls_content", "urls", ["tenant_id", "run_id", "content_hash", "pattern", "seq"], False, "content_hash IS NOT NULL"),
    ("urls_identity", "urls", ["tenant_id", "run_id", "identity"], False, "identity IS NOT NULL"),
    ("urls_pattern", "urls", ["tenant_id", "run_id", "pattern", "novelty", "seq"], False, "content_hash IS NOT NULL"),
)
_RENAMED_TABLES = {"shape_yields": "pattern_stats", "once_keys": "idempotency_keys"}
_RENAMED_COLUMNS = {
    "turn": "queue_round",
    "wave_seq": "wave_first_seq",
    "kept_before": "pages_before_wave",
    "reckoned": "presence_checked",
    "shelved": "chunk_summary",
    "told_sum": "metadata_checksum",
    "terms_sum": "terms_checksum",
    "dated": "published_at",
    "half": "embedding_f16",
    "shape": "pattern",
}
_BY_SITE = ("runs", "pages", "chunks", "chunk_texts", "segments", "postings")
_BY_RUN = ("redactions", "urls", "prefetches", "shape_yields", "once_keys")
_SEQUENCES = ("sites", "site_urls", "page_versions", "events")


def upgrade() -> None:
    """Build all tables anew and copy their rows, each with the tenant of its site."""
    is_postgres = op.get_bind().dialect.name == "postgresql"
    for name in _OLD_TABLES:
        _set_aside(name, is_postgres=is_postgres)
    for create in _CREATE:
        create()
    _copy_tenants(is_postgres=is_postgres)
    _copy("sites", "t.id", "JOIN tenants t ON t.name = o.tenant")
    for name in _BY_SITE:
        _copy(name, "s.tenant_id", "JOIN sites s ON s.id = o.site_id")
    # Until now a time limit counted from the start of the run.
    op.execute("UPDATE runs SET time_limit_from = started_at")
    for name in _BY_RUN:
        _copy(name, "r.tenant_id", "JOIN runs r ON r.id = o.run_id")
    # These were shared: the default tenant gets all, the others what their own sites use.
    _copy("robots", "1")
    _copy("models", "t.id", "CROSS JOIN tenants t")
    _copy("vectors", "1")
    others = "JOIN (SELECT DISTINCT tenant_id, text_hash FROM chunks WHERE tenant_id <> 1) c ON c.text_hash = o.text_hash"
    _copy("vectors", "c.tenant_id", others)
    _add_versions_of_stored_pages()
    for name in _OLD_TABLES:
        op.drop_table(f"old_{name}")
    for name, table, columns, is_unique, condition in _INDEXES:
        where = None if condition is None else sa.text(condition)
        op.create_index(name, table, columns, unique=is_unique, sqlite_where=where, postgresql_where=where)
    if is_postgres:
        for table in _SEQUENCES:
            op.execute(f"CREATE SEQUENCE {table}_ids")
            last = f"SELECT coalesce(max(id), 0) + 1 FROM {table}"  # noqa: S608 names of tables in this file
            op.execute(f"SELECT setval('{table}_ids', ({last}), false)")
        # Derived from other tables, with a key without the tenant: the next embedding creates it again.
        op.execute("DROP SCHEMA IF EXISTS sitelore_vectors CASCADE")


def downgrade() -> None:
    """Refuse: a database with tenants cannot be divided into tables without them."""
    raise NotImplementedError("the migration to tenants cannot be undone; restore a backup")


def _set_aside(name: str, *, is_postgres: bool) -> None:
    """Rename a table of before, and free the names of its indexes."""
    for index in sa.inspect(op.get_bind()).get_indexes(name):
        if not index.get("duplicates_constraint"):
            op.drop_index(index["name"] or "", name)
    if is_postgres:
        op.execute(f"ALTER TABLE {name} RENAME CONSTRAINT {name}_pkey TO old_{name}_pkey")
    op.rename_table(name, f"old_{name}")


def _copy(old: str, tenant: str, join: str = "") -> None:
    """Copy the rows of a table; `tenant` is the expression of their tenant."""
    names = [column["name"] for column in sa.inspect(op.get_bind()).get_columns(f"old_{old}") if column["name"] != "tenant"]
    columns = ", ".join(_RENAMED_COLUMNS.get(name, name) for name in names)
    values = ", ".join(f"o.{name}" for name in names)
    table = _RENAMED_TABLES.get(old, old)
    rows = f"SELECT {tenant}, {values} FROM old_{old} o {join}"  # noqa: S608 names of tables in this file
    op.execute(f"INSERT INTO {table} (tenant_id, {columns}) {rows}")


def _copy_tenants(*, is_postgres: bool) -> None:
    """The default tenant is the first one; others are numbered by name."""
    op.execute("INSERT INTO tenants (id, name, created_at) VALUES (1, 'default', 0)")
    op.execute(
        "INSERT INTO tenants (id, name, created_at)"
        " SELECT 1 + row_number() OVER (ORDER BY tenant), tenant, min(created_at) FROM old_sites"
        " WHERE tenant <> 'default' GROUP BY tenant"
    )
    if is_postgres:
        op.execute("SELECT setval(pg_get_serial_sequence('tenants', 'id'), (SELECT max(id) FROM tenants))")


def _add_versions_of_stored_pages() -> None:
    """Number all pages, and give each a first version. Its next change or `reprocess` adds its facts and links."""
    op.execute(
        "INSERT INTO site_urls (tenant_id, id, site_id, url, long_url)"
        " SELECT p.tenant_id, row_number() OVER (ORDER BY p.site_id, p.url), p.site_id, p.url, p.long_url FROM pages p"
    )
    op.execute(
        "INSERT INTO page_versions (tenant_id, id, site_id, url_id, seen_at, document, content_hash)"
        " SELECT u.tenant_id, u.id, u.site_id, u.id, pages.fetched_at, pages.document, pages.content_hash FROM site_urls u"
        " JOIN pages ON pages.tenant_id = u.tenant_id AND pages.site_id = u.site_id AND pages.url = u.url"
    )


def _create_tenants_and_sites() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", _KEY, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "sites",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", _KEY, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("rendering", sa.Text()),
        sa.Column("index_version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("index_epoch", sa.Text()),
        sa.Column("next_page", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("next_chunk", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("indexed_pages", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("chunk_count", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", _KEY, nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double()),
        sa.Column("finished_at", sa.Double()),
        sa.Column("wave", sa.Integer(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("next_seq", sa.Integer(), nullable=False),
        sa.Column("wave_first_seq", sa.Integer(), nullable=False),
        sa.Column("pages_before_wave", sa.Integer(), nullable=False),
        sa.Column("joined_hosts", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("wave_hosts", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("retry_at", sa.Double()),
        sa.Column("queue_round", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("site_rendering", sa.Text()),
        sa.Column("presence_checked", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("prefetch_unused", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("time_limit_from", sa.Double()),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id", "site_id"], ["sites.tenant_id", "sites.id"], ondelete="CASCADE"),
    )


def _create_statistics_and_events() -> None:
    op.create_table(
        "redactions",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("rule", _KEY, nullable=False),
        sa.Column("found", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "rule"),
        sa.ForeignKeyConstraint(["tenant_id", "run_id"], ["runs.tenant_id", "runs.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "run_counts",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("name", _KEY, nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "name"),
        sa.ForeignKeyConstraint(["tenant_id", "run_id"], ["runs.tenant_id", "runs.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "events",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("url", sa.Text()),
        sa.Column("facts", sa.Text()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )


def _create_frontier_parts() -> None:
    op.create_table(
        "prefetches",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("url", _KEY, nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("is_bet", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "url"),
        sa.ForeignKeyConstraint(["tenant_id", "run_id"], ["runs.tenant_id", "runs.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "pattern_stats",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("pattern", _KEY, nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("distinct_pages", sa.Integer(), nullable=False),
        sa.Column("novel_pages", sa.Integer(), nullable=False),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "pattern"),
        sa.ForeignKeyConstraint(["tenant_id", "run_id"], ["runs.tenant_id", "runs.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", _KEY, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "key"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "robots",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("origin", _KEY, nullable=False),
        sa.Column("fetched_at", sa.Double(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "origin"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )


def _create_urls() -> None:
    op.create_table(
        "urls",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("url", _KEY, nullable=False),
        sa.Column("long_url", sa.Text()),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("source_rank", sa.Integer(), nullable=False),
        sa.Column("parent", sa.Text()),
        sa.Column("parent_seq", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=False),
        sa.Column("pattern", _KEY, nullable=False),
        sa.Column("chain", sa.Text()),
        sa.Column("lastmod", sa.Double()),
        sa.Column("skip_reason", sa.Text()),
        sa.Column("detail", sa.Text()),
        sa.Column("seq", sa.Integer()),
        sa.Column("wave", sa.Integer()),
        sa.Column("token", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("claimed_by", sa.Text()),
        sa.Column("lease_until", sa.Double()),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("fetches", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("retry_at", sa.Double()),
        sa.Column("status_code", sa.Integer()),
        sa.Column("error", sa.Text()),
        sa.Column("alias_of", sa.Text()),
        sa.Column("proof", sa.Text()),
        sa.Column("title", sa.Text()),
        sa.Column("content_hash", _KEY),
        sa.Column("novelty", _KEY),
        sa.Column("canonical", _KEY),
        sa.Column("identity", _KEY),
        sa.Column("content_type", sa.Text()),
        sa.Column("word_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("noindex", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("document", sa.Text()),
        sa.Column("snapshot", sa.Text()),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("fetched_at", sa.Double()),
        sa.Column("elapsed_s", sa.Double()),
        sa.Column("body_bytes", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("changed", sa.Integer()),
        sa.Column("headers", sa.Text()),
        sa.Column("render_reason", sa.Text()),
        sa.Column("rendering", sa.Text()),
        sa.Column("screenshot", sa.Text()),
        sa.Column("sketch", sa.LargeBinary()),
        sa.Column("response_head", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "run_id", "url"),
        sa.ForeignKeyConstraint(["tenant_id", "run_id"], ["runs.tenant_id", "runs.id"], ondelete="CASCADE"),
    )


def _create_pages() -> None:
    op.create_table(
        "pages",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("url", _KEY, nullable=False),
        sa.Column("fetched_at", sa.Double(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("novelty", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("lastmod", sa.Double()),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("canonical", sa.Text()),
        sa.Column("snapshot", sa.Text()),
        sa.Column("word_count", sa.Integer(), nullable=False),
        sa.Column("noindex", sa.Integer(), nullable=False),
        sa.Column("content_type", sa.Text()),
        sa.Column("alias_of", sa.Text()),
        sa.Column("headers", sa.Text()),
        sa.Column("render_reason", sa.Text()),
        sa.Column("screenshot", sa.Text()),
        sa.Column("long_url", sa.Text()),
        sa.Column("presence", sa.Text(), nullable=False, server_default="PRESENT"),
        sa.Column("presence_at", sa.Double()),
        sa.Column("evidence", sa.Text()),
        sa.Column("soft_misses", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("held", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("indexed", sa.Text()),
        sa.Column("indexed_epoch", sa.Text()),
        sa.Column("number", sa.Integer()),
        sa.Column("indexed_title", sa.Text()),
        sa.Column("lang", sa.Text()),
        sa.Column("indexed_kind", sa.Text()),
        sa.Column("published_at", sa.Double()),
        sa.Column("chunk_summary", sa.LargeBinary()),
        sa.Column("volatile", sa.LargeBinary()),
        sa.Column("sketch", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "url"),
        sa.ForeignKeyConstraint(["tenant_id", "site_id"], ["sites.tenant_id", "sites.id"], ondelete="CASCADE"),
    )


def _create_versions() -> None:
    op.create_table(
        "site_urls",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("url", _KEY, nullable=False),
        sa.Column("long_url", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id", "site_id"], ["sites.tenant_id", "sites.id"], ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "page_versions",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("url_id", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double()),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("redactions", sa.Text()),
        sa.Column("facts", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id", "site_id"], ["sites.tenant_id", "sites.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "links",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("version_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("target_id", sa.BigInteger(), nullable=False),
        sa.Column("rel", sa.Text()),
        sa.Column("fragment", sa.Text()),
        sa.Column("text", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "version_id", "position"),
        sqlite_with_rowid=False,
    )


def _create_index() -> None:
    op.create_table(
        "chunks",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("text_hash", _KEY, nullable=False),
        sa.Column("terms_checksum", sa.BigInteger(), nullable=False),
        sa.Column("metadata_checksum", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "number"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "chunk_texts",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("first_byte", sa.Integer(), nullable=False),
        sa.Column("end_byte", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("overlap", sa.Integer(), nullable=False),
        sa.Column("lead", sa.Text()),
        sa.Column("headings", sa.Text()),
        sa.Column("landmark", sa.Text()),
        sa.Column("fragment", sa.Text()),
        sa.Column("flags", sa.Text()),
        sa.Column("text", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "number"),
    )


def _create_vectors() -> None:
    op.create_table(
        "segments",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("segment", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("last_number", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("dead", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "segment"),
        sa.ForeignKeyConstraint(["tenant_id", "site_id"], ["sites.tenant_id", "sites.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "postings",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("segment", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("term", _KEY, nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "segment", "term"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "models",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", _KEY, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )
    op.create_table(
        "vectors",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("model_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("text_hash", _KEY, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("embedding_f16", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "model_id", "text_hash"),
    )


_CREATE = (
    _create_tenants_and_sites,
    _create_runs,
    _create_statistics_and_events,
    _create_frontier_parts,
    _create_urls,
    _create_pages,
    _create_versions,
    _create_index,
    _create_vectors,
)
