"""The tables. `migrations/` upgrades any older database to exactly this schema; a test compares the two."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

REVISION = "0018"
"""The migration that results in this schema."""

KEY_CHARS = 2000
"""Postgres rejects index entries beyond 2,704 bytes; longer URLs are keyed by their start and a hash."""

metadata = sa.MetaData()
"""Every table but `tenants` has `tenant_id` as the first column of its key. `links`, `chunks`, `chunk_texts`, `postings` and
`vectors` have no foreign key, because their rows are written by the hundred and Postgres checks each; `runs/deletion.py`
deletes them with the rows they belong to. References to `site_urls` have none for the same reason; a URL stays as long as its
site."""

# Both databases must sort keys byte by byte, or two exports of one crawl would differ.
Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def key_of(text: str, limit: int = KEY_CHARS) -> str:
    """The key of a URL or URL pattern: the text itself, or its start and a hash after `#`, which does not occur in a `Url`."""
    if len(text) <= limit:
        return str(text)
    return f"{text[: limit - 65]}#{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def tenant_column() -> sa.Column[int]:
    """The first column of every key. Row-level security on Postgres compares it with the tenant of the transaction."""
    return sa.Column("tenant_id", sa.Integer, primary_key=True, autoincrement=False)


def belongs_to(parent: str) -> sa.ForeignKeyConstraint:
    """The foreign key to a row of the same tenant, with which this row is deleted."""
    own = f"{parent.removesuffix('s')}_id"
    return sa.ForeignKeyConstraint(["tenant_id", own], [f"{parent}.tenant_id", f"{parent}.id"], ondelete="CASCADE")


def _of_numbered_run() -> sa.ForeignKeyConstraint:
    """The foreign key to a run by its number, with which this row is deleted."""
    return sa.ForeignKeyConstraint(["tenant_id", "run_number"], ["runs.tenant_id", "runs.number"], ondelete="CASCADE")


def of_tenant() -> sa.ForeignKeyConstraint:
    """The foreign key to the tenant, with which this row is deleted."""
    return sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE")


tenants = sa.Table(
    "tenants",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", Key, nullable=False, unique=True),
    sa.Column("created_at", sa.Double, nullable=False),
    # Since when its tokens are refused.
    sa.Column("suspended_at", sa.Double),
    # Crawl settings of its channels (`model/platform/channels.py`).
    sa.Column("plan", sa.Text, nullable=False, server_default="FREE"),
    sa.Column("crawl_max_pages", sa.Integer, nullable=False, server_default="100"),
    sa.Column("crawl_frequency", sa.Text, nullable=False, server_default="MONTHLY"),
    sa.Column("max_video_mb", sa.Integer, nullable=False, server_default="50"),
    sa.Column("time_zone", sa.Text, nullable=False, server_default="UTC"),
)

sites = sa.Table(
    "sites",
    metadata,
    tenant_column(),
    # Unique over all tenants.
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", Key, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    # Render statistics of the site's runs (which pages needed a browser), as JSON.
    sa.Column("rendering", sa.Text),
    # Incremented with every change of the site's chunks.
    sa.Column("index_version", sa.Integer, nullable=False, server_default="0"),
    sa.Column("index_epoch", sa.Text),
    sa.Column("next_page", sa.Integer, nullable=False, server_default="1"),
    sa.Column("next_chunk", sa.Integer, nullable=False, server_default="1"),
    # Maintained counters: a search needs them and must not wait for a count over a hundred thousand rows.
    sa.Column("indexed_pages", sa.Integer, nullable=False, server_default="0"),
    sa.Column("chunk_count", sa.Integer, nullable=False, server_default="0"),
    of_tenant(),
)
sa.Index("sites_named", sites.c.tenant_id, sites.c.name, unique=True)

runs = sa.Table(
    "runs",
    metadata,
    tenant_column(),
    # A UUID of version 7, unique over all tenants; runs of older versions have a date and a number.
    sa.Column("id", Key, primary_key=True),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("started_at", sa.Double),
    sa.Column("finished_at", sa.Double),
    sa.Column("wave", sa.Integer, nullable=False),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("next_seq", sa.Integer, nullable=False),
    # First seq of the current wave, and the pages kept before it, so that opening a wave reads the rows of one wave only.
    sa.Column("wave_first_seq", sa.Integer, nullable=False),
    sa.Column("pages_before_wave", sa.Integer, nullable=False),
    sa.Column("joined_hosts", sa.Text, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("wave_hosts", sa.Text, nullable=False, server_default="[]"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("retry_at", sa.Double),
    # Queue round: queued runs are scheduled round-robin by site (`runs/lifecycle.py`).
    sa.Column("queue_round", sa.Integer, nullable=False, server_default="0"),
    # Copy of `sites.rendering` from the time the run was created.
    sa.Column("site_rendering", sa.Text),
    # 1 once this run's results were used to mark pages as gone. Not a timestamp, because runs can commit out of order.
    sa.Column("presence_checked", sa.Integer, nullable=False, server_default="0"),
    # Pages that were fetched ahead of their admission and not used.
    sa.Column("prefetch_unused", sa.Integer, nullable=False, server_default="0"),
    # NULL until the run begins, and again from when it is resumed until it continues.
    sa.Column("time_limit_from", sa.Double),
    # Media that waves have admitted.
    sa.Column("media_admitted", sa.Integer, nullable=False, server_default="0"),
    # The run in keys of its rows, instead of its id, which is much longer.
    sa.Column("number", sa.BigInteger, nullable=False, server_default="0"),
    belongs_to("sites"),
)
sa.Index("runs_numbered", runs.c.tenant_id, runs.c.number, unique=True)

redactions = sa.Table(
    "redactions",
    metadata,
    tenant_column(),
    sa.Column("run_id", Key, primary_key=True),
    sa.Column("rule", Key, primary_key=True),
    sa.Column("found", sa.Integer, nullable=False),
    belongs_to("runs"),
)

run_counts = sa.Table(
    "run_counts",
    metadata,
    tenant_column(),
    sa.Column("run_id", Key, primary_key=True),
    sa.Column("name", Key, primary_key=True),
    sa.Column("value", sa.BigInteger, nullable=False),
    belongs_to("runs"),
)
"""Statistics of a run by name (`store/runs/counts.py`), kept by every transaction that changes its rows."""

events = sa.Table(
    "events",
    metadata,
    tenant_column(),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("run_id", Key, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("url", sa.Text),
    # Further facts as JSON.
    sa.Column("facts", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    of_tenant(),
)
"""The outbox: events for other systems, written in the transaction that they report. Readers keep the last id they have seen,
so on SQLite the last event of a tenant is never deleted: its id would be given out again."""
sa.Index("events_created", events.c.tenant_id, events.c.created_at)
sa.Index("events_of_run", events.c.tenant_id, events.c.run_id, events.c.id)

urls = sa.Table(
    "urls",
    metadata,
    tenant_column(),
    sa.Column("run_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("url_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("source_rank", sa.Integer, nullable=False),
    # Ids of URLs, here and in `alias_of`.
    sa.Column("parent", sa.BigInteger),
    sa.Column("parent_seq", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("refused", sa.Integer, nullable=False),
    # NULL when the pattern is the URL without its scheme (`rows.pattern_of`).
    sa.Column("pattern", sa.Text),
    sa.Column("chain", sa.Text),
    sa.Column("lastmod", sa.Double),
    sa.Column("skip_reason", sa.Text),
    sa.Column("detail", sa.Text),
    sa.Column("seq", sa.Integer),
    sa.Column("wave", sa.Integer),
    sa.Column("token", sa.Integer, nullable=False, server_default="0"),
    sa.Column("claimed_by", sa.Text),
    sa.Column("lease_until", sa.Double),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("fetches", sa.Integer, nullable=False, server_default="0"),
    sa.Column("retry_at", sa.Double),
    sa.Column("alias_of", sa.BigInteger),
    sa.Column("proof", sa.Text),
    # With row ids on SQLite: without them it prefers the primary key to `urls_admitted` and reads the whole run.
    _of_numbered_run(),
)
"""The frontier: what claims, offers, waves and leases need of each URL of a run."""

visits = sa.Table(
    "visits",
    metadata,
    tenant_column(),
    sa.Column("run_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("url_id", sa.BigInteger, primary_key=True, autoincrement=False),
    # Copies from `urls`, which do not change once a row is admitted, for the indexes.
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("pattern", Key, nullable=False),
    sa.Column("status_code", sa.Integer),
    sa.Column("error", sa.Text),
    sa.Column("fetched_at", sa.Double),
    sa.Column("elapsed_s", sa.Double),
    sa.Column("body_bytes", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("changed", sa.Integer),
    sa.Column("title", sa.Text),
    sa.Column("content_hash", Key),
    sa.Column("novelty", Key),
    # The id of a URL.
    sa.Column("canonical", sa.BigInteger),
    sa.Column("identity", Key),
    sa.Column("content_type", sa.Text),
    sa.Column("word_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("noindex", sa.Integer, nullable=False, server_default="0"),
    sa.Column("document", sa.Text),
    sa.Column("snapshot", sa.Text),
    sa.Column("etag", sa.Text),
    sa.Column("last_modified", sa.Text),
    sa.Column("headers", sa.Text),
    sa.Column("render_reason", sa.Text),
    sa.Column("rendering", sa.Text),
    sa.Column("screenshot", sa.Text),
    # Last columns, so that SQLite does not read them when a query needs other columns only.
    sa.Column("sketch", sa.LargeBinary),
    # HTTP version, reason, IP address and headers of the response as JSON, redacted and limited in size.
    sa.Column("response_head", sa.Text),
    _of_numbered_run(),
)
"""The result of the last visit to each URL of a run that was visited."""


# Media are apart from pages and sitemaps, so that they never delay those.
IS_CANDIDATE = "state = 'DISCOVERED' AND kind <> 'media'"
IS_MEDIA_CANDIDATE = "state = 'DISCOVERED' AND kind = 'media'"
_PARTIAL: dict[sa.Index, str] = {}


def partial_of(table: sa.Table, name: str, where: str, *columns: str, unique: bool = False) -> sa.Index:
    """A partial index. SQLite uses it only where a query implies its condition."""
    index = sa.Index(name, *(table.c[c] for c in columns), unique=unique, sqlite_where=sa.text(where))
    _PARTIAL[index] = where
    return index


def complete_metadata() -> sa.MetaData:
    """The tables of this module and those of the platform, which a crawl does not load."""
    import sitelore.store.platform.schema  # noqa: F401, PLC0415 - it adds its tables

    return metadata


def for_postgres() -> None:
    """Set the conditions of partial indexes for Postgres. Separate: it imports the dialect, which SQLite does not need."""
    for index, where in _PARTIAL.items():
        index.dialect_options["postgresql"]["where"] = sa.text(where)


# SQLite uses a partial index only where the query implies its condition: an operand of = or >= is not null, and
# the conditions of candidates must be literals in the query.
# Inserting offers is the hot path: it updates `urls_candidates` and the primary key only.
partial_of(urls, "urls_admitted", "seq IS NOT NULL", "tenant_id", "run_number", "state", "seq", "retry_at")
partial_of(urls, "urls_candidates", IS_CANDIDATE, "tenant_id", "run_number", "depth", "source_rank", "parent_seq", "position")
partial_of(
    urls,
    "urls_media_candidates",
    IS_MEDIA_CANDIDATE,
    "tenant_id",
    "run_number",
    "depth",
    "source_rank",
    "parent_seq",
    "position",
)
partial_of(visits, "visits_content", "content_hash IS NOT NULL", "tenant_id", "run_number", "content_hash", "pattern", "seq")
partial_of(visits, "visits_identity", "identity IS NOT NULL", "tenant_id", "run_number", "identity")
partial_of(visits, "visits_canonical", "canonical <> url_id", "tenant_id", "run_number", "canonical")
partial_of(visits, "visits_pattern", "content_hash IS NOT NULL", "tenant_id", "run_number", "pattern", "novelty", "seq")
partial_of(runs, "runs_running", "state = 'RUNNING'", "site_id")
# The run queue in scheduling order, and the last queued run of each site. The first three indexes are not by tenant: schedulers
# and maintenance serve all tenants.
partial_of(runs, "runs_queue", "state = 'QUEUED'", "queue_round", "created_at", "id", "site_id")
partial_of(runs, "runs_queued", "state = 'QUEUED'", "tenant_id", "site_id", "queue_round")
partial_of(runs, "runs_unchecked", "presence_checked = 0", "tenant_id", "site_id", "finished_at", "id")
sa.Index("runs_state", runs.c.state)
sa.Index("runs_created", runs.c.tenant_id, runs.c.created_at, runs.c.id)
sa.Index("runs_of_site", runs.c.tenant_id, runs.c.site_id, runs.c.created_at)

prefetches = sa.Table(
    "prefetches",
    metadata,
    tenant_column(),
    sa.Column("run_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("url_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("lease_until", sa.Double, nullable=False),
    sa.Column("is_bet", sa.Integer, nullable=False),
    _of_numbered_run(),
)
"""URLs that a worker fetches, or has fetched, ahead of their admission. The result is in the memory of that worker, so the row
is reserved for it until the lease ends."""

pattern_stats = sa.Table(
    "pattern_stats",
    metadata,
    tenant_column(),
    sa.Column("run_id", Key, primary_key=True),
    sa.Column("pattern", Key, primary_key=True),
    sa.Column("pages", sa.Integer, nullable=False),
    sa.Column("distinct_pages", sa.Integer, nullable=False),
    sa.Column("novel_pages", sa.Integer, nullable=False),
    sa.Column("first_seq", sa.Integer, nullable=False),
    sa.Column("last_seq", sa.Integer, nullable=False),
    belongs_to("runs"),
)
"""Page counts of large URL patterns before `first_seq`; rows from `first_seq` to `last_seq` are counted on top when needed, so
that the cost of a wave does not grow with the run (`store/frontier/waves.py`)."""

pages = sa.Table(
    "pages",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("url_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("fetched_at", sa.Double, nullable=False),
    sa.Column("content_hash", sa.Text, nullable=False),
    sa.Column("novelty", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("etag", sa.Text),
    sa.Column("last_modified", sa.Text),
    sa.Column("lastmod", sa.Double),
    sa.Column("title", sa.Text, nullable=False),
    # Ids of URLs, here and in `alias_of`.
    sa.Column("canonical", sa.BigInteger),
    sa.Column("snapshot", sa.Text),
    sa.Column("word_count", sa.Integer, nullable=False),
    sa.Column("noindex", sa.Integer, nullable=False),
    sa.Column("content_type", sa.Text),
    sa.Column("alias_of", sa.BigInteger),
    sa.Column("headers", sa.Text),
    sa.Column("render_reason", sa.Text),
    sa.Column("screenshot", sa.Text),
    # Columns of the search index from here on; a visit does not change them.
    sa.Column("presence", sa.Text, nullable=False, server_default="PRESENT"),
    sa.Column("presence_at", sa.Double),
    sa.Column("evidence", sa.Text),
    sa.Column("soft_misses", sa.Integer, nullable=False, server_default="0"),
    sa.Column("held", sa.Integer, nullable=False, server_default="0"),
    # The document that the page's chunks were made from. They are stale when it differs from `document`.
    sa.Column("indexed", sa.Text),
    # NULL when the chunks were made by other settings than the site's `index_epoch`.
    sa.Column("indexed_epoch", sa.Text),
    sa.Column("number", sa.Integer),
    sa.Column("indexed_title", sa.Text),
    sa.Column("lang", sa.Text),
    sa.Column("indexed_kind", sa.Text),
    sa.Column("published_at", sa.Double),
    # Chunk summary: numbers, lengths and flags of its chunks, packed, because a search reads those of every page first.
    sa.Column("chunk_summary", sa.LargeBinary),
    sa.Column("volatile", sa.LargeBinary),
    sa.Column("sketch", sa.LargeBinary),
    belongs_to("sites"),
)
INDEX_COLUMNS = (
    "presence", "presence_at", "evidence", "soft_misses", "held", "indexed", "indexed_epoch", "number",
    "indexed_title", "lang", "indexed_kind", "published_at", "chunk_summary",
)  # fmt: skip

# Shared by indexes and queries: the conditions must be identical to the letter, or SQLite reads every page.
IS_SEARCHABLE = "alias_of IS NULL AND noindex = 0 AND presence <> 'GONE'"
NEEDS_INDEXING = "(indexed IS NULL OR indexed <> document OR indexed_epoch IS NULL)"
HAS_CHUNKS = "indexed IS NOT NULL"
IS_HIDDEN = "(indexed <> document OR alias_of IS NOT NULL OR noindex <> 0 OR presence = 'GONE')"
partial_of(pages, "pages_to_index", f"{IS_SEARCHABLE} AND {NEEDS_INDEXING}", "tenant_id", "site_id", "url_id")
partial_of(pages, "pages_stale", f"{HAS_CHUNKS} AND {IS_HIDDEN}", "tenant_id", "site_id", "number")
partial_of(pages, "pages_held", "held = 1", "tenant_id", "site_id")
partial_of(pages, "pages_numbered", "number IS NOT NULL", "tenant_id", "site_id", "number")

site_urls = sa.Table(
    "site_urls",
    metadata,
    tenant_column(),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("url", Key, nullable=False),
    sa.Column("long_url", sa.Text),
    belongs_to("sites"),
    sqlite_with_rowid=False,
)
"""The URLs that a site consists of or links to. All other tables of a site name them by id."""
sa.Index("site_urls_named", site_urls.c.tenant_id, site_urls.c.site_id, site_urls.c.url, unique=True)

page_versions = sa.Table(
    "page_versions",
    metadata,
    tenant_column(),
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("url_id", sa.BigInteger, nullable=False),
    # From when to when the page was like this; the current version has no end.
    sa.Column("seen_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    # A fetch that found the page unchanged replaces the document: it differs in parts that change with every fetch.
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("content_hash", sa.Text, nullable=False),
    # How often each redaction rule fired, as JSON.
    sa.Column("redactions", sa.Text),
    # Facts for audits (`model/audit/facts.py`), compressed like blobs; NULL when none were stored.
    sa.Column("facts", sa.LargeBinary),
    belongs_to("sites"),
)
"""The versions of pages, each with its facts and links."""
sa.Index("page_versions_seen", *(page_versions.c[name] for name in ("tenant_id", "site_id", "url_id", "seen_at")))
partial_of(page_versions, "page_versions_current", "ended_at IS NULL", "tenant_id", "site_id", "url_id", unique=True)

links = sa.Table(
    "links",
    metadata,
    tenant_column(),
    sa.Column("version_id", sa.BigInteger, primary_key=True),
    # Where the link is among the links of its page.
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("target_id", sa.BigInteger, nullable=False),
    sa.Column("rel", sa.Text),
    sa.Column("fragment", sa.Text),
    sa.Column("text", sa.Text),
    sqlite_with_rowid=False,
)
"""The links of page versions; of several links to one target and fragment the first one."""
sa.Index("links_to", links.c.tenant_id, links.c.target_id, links.c.version_id)

ID_SEQUENCES = {
    table.name: sa.Sequence(f"{table.name}_ids", metadata=metadata) for table in (sites, runs, site_urls, page_versions, events)
}
"""Sources of ids on Postgres, unique over all tenants; SQLite has none, and one writer."""

chunks = sa.Table(
    "chunks",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("page", sa.Integer, nullable=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("text_hash", Key, nullable=False),
    # Checksums of the terms, which never change under a chunk number, and of all other metadata (`metadata_checksum`).
    sa.Column("terms_checksum", sa.BigInteger, nullable=False),
    sa.Column("metadata_checksum", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""All chunks. Their texts are in `chunk_texts`, so that reading all chunks does not read all text."""
sa.Index("chunks_of_page", chunks.c.tenant_id, chunks.c.site_id, chunks.c.page)
sa.Index("chunks_of_text", chunks.c.tenant_id, chunks.c.text_hash)

chunk_texts = sa.Table(
    "chunk_texts",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("first_byte", sa.Integer, nullable=False),
    sa.Column("end_byte", sa.Integer, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("overlap", sa.Integer, nullable=False),
    sa.Column("lead", sa.Text),
    sa.Column("headings", sa.Text),
    sa.Column("landmark", sa.Text),
    sa.Column("fragment", sa.Text),
    sa.Column("flags", sa.Text),
    sa.Column("text", sa.Text),
    sa.Column("anchors", sa.Text),
)

segments = sa.Table(
    "segments",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("segment", sa.Integer, primary_key=True),
    sa.Column("last_number", sa.Integer, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("dead", sa.Integer, nullable=False),
    belongs_to("sites"),
)
"""Ranges of chunk numbers whose postings were written together. A segment is identified by its first number."""

postings = sa.Table(
    "postings",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("segment", sa.Integer, primary_key=True),
    sa.Column("term", Key, primary_key=True),
    sa.Column("packed", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

models = sa.Table(
    "models",
    metadata,
    tenant_column(),
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", Key, nullable=False),
    # Incremented with every batch of stored vectors.
    sa.Column("version", sa.Integer, nullable=False, server_default="0"),
    of_tenant(),
)
sa.Index("models_named", models.c.tenant_id, models.c.name, unique=True)

vectors = sa.Table(
    "vectors",
    metadata,
    tenant_column(),
    sa.Column("model_id", sa.Integer, primary_key=True),
    sa.Column("text_hash", Key, primary_key=True),
    # Version of the model when the vector was stored, so that readers can load what is newer.
    sa.Column("version", sa.Integer, nullable=False),
    # The embedding as little-endian float16.
    sa.Column("embedding_f16", sa.LargeBinary, nullable=False),
)
sa.Index("vectors_put", vectors.c.tenant_id, vectors.c.model_id, vectors.c.version)

robots = sa.Table(
    "robots",
    metadata,
    tenant_column(),
    sa.Column("origin", Key, primary_key=True),
    sa.Column("fetched_at", sa.Double, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    of_tenant(),
)

idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    tenant_column(),
    sa.Column("key", Key, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    of_tenant(),
)
sa.Index("idempotency_keys_created", idempotency_keys.c.tenant_id, idempotency_keys.c.created_at)
"""Idempotency keys of callers (`Idempotency-Key`) and the runs created under them, for a day."""

audits = sa.Table(
    "audits",
    metadata,
    tenant_column(),
    sa.Column("run_id", Key, primary_key=True),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("phase", sa.Text),
    sa.Column("pages", sa.Integer, nullable=False, server_default="0"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    # Until when the process that audits the run keeps others from doing so.
    sa.Column("lease_until", sa.Double),
    sa.Column("started_at", sa.Double),
    sa.Column("finished_at", sa.Double),
    sa.Column("is_complete", sa.Integer, nullable=False, server_default="0"),
    sa.Column("clean_pages", sa.Integer),
    sa.Column("indexable_pages", sa.Integer),
    # Numbers of findings by severity, by rule and by what became of them, as JSON.
    sa.Column("counts", sa.Text),
    sa.Column("error", sa.Text),
    belongs_to("runs"),
)
"""Audits of runs, each from the completion of its run on."""
sa.Index("audits_of_site", audits.c.tenant_id, audits.c.site_id, audits.c.finished_at)
# Not by tenant: servers audit the runs of all tenants.
partial_of(audits, "audits_unfinished", "state IN ('waiting', 'running')", "run_id")

insights = sa.Table(
    "insights",
    metadata,
    tenant_column(),
    sa.Column("run_id", Key, primary_key=True),
    sa.Column("name", Key, primary_key=True),
    sa.Column("figures", sa.Text, nullable=False),
    belongs_to("runs"),
)
"""Figures about the whole site after a run, by the name of the insight, as JSON."""

findings = sa.Table(
    "findings",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("key", Key, primary_key=True),
    sa.Column("rule", sa.Text, nullable=False),
    sa.Column("url", Key, nullable=False),
    sa.Column("severity", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
    sa.Column("first_seen", sa.Double, nullable=False),
    sa.Column("last_seen", sa.Double, nullable=False),
    sa.Column("resolved_at", sa.Double),
    sa.Column("opened_run", sa.Text, nullable=False),
    sa.Column("seen_run", sa.Text, nullable=False),
    sa.Column("resolved_run", sa.Text, nullable=False),
    # The decision to ignore it, as JSON, and when it ends.
    sa.Column("ignored", sa.Text),
    sa.Column("ignored_until", sa.Double),
    belongs_to("sites"),
)
"""Findings of audits with their life over runs."""
sa.Index("findings_by_rule", findings.c.tenant_id, findings.c.site_id, findings.c.rule, findings.c.status)

ignored_findings = sa.Table(
    "ignored_findings",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("rule", Key, primary_key=True),
    sa.Column("scope", Key, primary_key=True),
    # The key of the finding or of the URL; empty for a rule.
    sa.Column("target", Key, primary_key=True),
    sa.Column("decision", sa.Text, nullable=False),
    sa.Column("ignored_until", sa.Double),
    belongs_to("sites"),
)
"""Decisions of people to ignore findings, those of pages or those of rules."""

audit_settings = sa.Table(
    "audit_settings",
    metadata,
    tenant_column(),
    # 0: those of all sites of the tenant that have none of their own.
    sa.Column("site_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("options", sa.Text, nullable=False),
    of_tenant(),
)
"""Which rules are on, with which thresholds, as JSON (`audit/catalogue.py`)."""

url_checks = sa.Table(
    "url_checks",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    # The key of a URL of another site, or `llms.txt`.
    sa.Column("url", Key, primary_key=True),
    # The last checks of the URL, or the file, as JSON.
    sa.Column("checks", sa.Text, nullable=False),
    belongs_to("sites"),
)
"""Results of the requests that audits send (`store/audits/url_checks.py`)."""

search_log = sa.Table(
    "search_log",
    metadata,
    tenant_column(),
    sa.Column("site_id", sa.Integer, primary_key=True),
    # Without secrets and personal data, cut.
    sa.Column("query", Key, primary_key=True),
    sa.Column("searches", sa.Integer, nullable=False),
    # Searches that found nothing, and those whose best result had a low score.
    sa.Column("without_results", sa.Integer, nullable=False),
    sa.Column("weak", sa.Integer, nullable=False),
    sa.Column("last_at", sa.Double, nullable=False),
    belongs_to("sites"),
)
"""Queries to the search index of a site, where the operator has them recorded (`store/audits/search_log.py`)."""

site_sessions = sa.Table(
    "site_sessions",
    metadata,
    tenant_column(),
    sa.Column("origin", Key, primary_key=True),
    # `SiteSession` as JSON, encrypted (`app/site_sessions.py`).
    sa.Column("sealed", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("renewed_at", sa.Double, nullable=False),
    of_tenant(),
)
"""Sessions of sites behind a login."""

versions = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's version table, so that a new database can be stamped without importing Alembic."""
