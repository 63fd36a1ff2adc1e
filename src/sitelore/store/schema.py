"""The tables. `migrations/` leads from any older database to exactly this; a test compares the two."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

REVISION = "0004"
"""The migration that ends in this schema."""

KEY_CHARS = 2000
"""Postgres refuses index entries beyond 2,704 bytes; longer URLs are keyed by their start and a hash."""

metadata = sa.MetaData()

# Both databases must sort keys byte by byte, or two exports of one crawl would differ.
_Key = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def key_of(text: str, limit: int = KEY_CHARS) -> str:
    """What a URL (or shape) is keyed by: itself, unless it is too long for an index. `#` cannot stand in a `Url`."""
    if len(text) <= limit:
        return str(text)
    return f"{text[: limit - 65]}#{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


sites = sa.Table(
    "sites",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", _Key, nullable=False, unique=True),
    sa.Column("created_at", sa.Double, nullable=False),
    # What its runs have learnt of who makes its pages, as JSON.
    sa.Column("rendering", sa.Text),
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", _Key, primary_key=True),
    sa.Column("site_id", sa.Integer, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("started_at", sa.Double),
    sa.Column("finished_at", sa.Double),
    sa.Column("wave", sa.Integer, nullable=False),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("next_seq", sa.Integer, nullable=False),
    # The first seq of the current wave, and the pages kept before it: opening a wave costs what the wave holds, not the run.
    sa.Column("wave_seq", sa.Integer, nullable=False),
    sa.Column("kept_before", sa.Integer, nullable=False),
    sa.Column("joined_hosts", sa.Text, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Column("wave_hosts", sa.Text, nullable=False, server_default="[]"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("retry_at", sa.Double),
    # Its round among the runs that wait: sites take turns, whoever has queued how many.
    sa.Column("turn", sa.Integer, nullable=False, server_default="0"),
    # `sites.rendering` as it stood when the run was made.
    sa.Column("site_rendering", sa.Text),
)

redactions = sa.Table(
    "redactions",
    metadata,
    sa.Column("run_id", _Key, primary_key=True),
    sa.Column("rule", _Key, primary_key=True),
    sa.Column("found", sa.Integer, nullable=False),
)

urls = sa.Table(
    "urls",
    metadata,
    sa.Column("run_id", _Key, primary_key=True),
    sa.Column("url", _Key, primary_key=True),
    sa.Column("long_url", sa.Text),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("source_rank", sa.Integer, nullable=False),
    sa.Column("parent", sa.Text),
    sa.Column("parent_seq", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("refused", sa.Integer, nullable=False),
    sa.Column("shape", _Key, nullable=False),
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
    sa.Column("status_code", sa.Integer),
    sa.Column("error", sa.Text),
    sa.Column("alias_of", sa.Text),
    sa.Column("proof", sa.Text),
    sa.Column("title", sa.Text),
    sa.Column("content_hash", _Key),
    sa.Column("novelty", _Key),
    sa.Column("canonical", _Key),
    sa.Column("identity", _Key),
    sa.Column("content_type", sa.Text),
    sa.Column("word_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("noindex", sa.Integer, nullable=False, server_default="0"),
    sa.Column("document", sa.Text),
    sa.Column("snapshot", sa.Text),
    sa.Column("etag", sa.Text),
    sa.Column("last_modified", sa.Text),
    sa.Column("fetched_at", sa.Double),
    sa.Column("elapsed_s", sa.Double),
    sa.Column("body_bytes", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("changed", sa.Integer),
    sa.Column("headers", sa.Text),
    sa.Column("render_reason", sa.Text),
    sa.Column("rendering", sa.Text),
    sa.Column("screenshot", sa.Text),
    # Last, so that SQLite passes over it when a row is read for anything else.
    sa.Column("sketch", sa.LargeBinary),
)


_PARTIAL: dict[sa.Index, str] = {}


def _partial(name: str, where: str, *columns: str) -> sa.Index:
    """An index over some rows only: inserting offers is the hot path, and touches `urls_candidates` and the key alone."""
    return _partial_of(urls, name, where, *columns)


def _partial_of(table: sa.Table, name: str, where: str, *columns: str) -> sa.Index:
    index = sa.Index(name, *(table.c[c] for c in columns), sqlite_where=sa.text(where))
    _PARTIAL[index] = where
    return index


def for_postgres() -> None:
    """Say the same to Postgres. Apart, because naming a dialect's option imports it, which an embedded crawl need not pay."""
    for index, where in _PARTIAL.items():
        index.dialect_options["postgresql"]["where"] = sa.text(where)


# SQLite uses a partial index only where the query's own terms imply its condition: an operand of = or >= is not null, and
# `state = 'DISCOVERED'` must stand in the query as a literal.
_partial("urls_admitted", "seq IS NOT NULL", "run_id", "state", "seq", "retry_at")
_partial("urls_candidates", "state = 'DISCOVERED'", "run_id", "depth", "source_rank", "parent_seq", "position")
_partial("urls_content", "content_hash IS NOT NULL", "run_id", "content_hash", "shape", "seq")
_partial("urls_identity", "identity IS NOT NULL", "run_id", "identity")
_partial("urls_canonical", "canonical <> url", "run_id", "canonical")
_partial("urls_shape", "content_hash IS NOT NULL", "run_id", "shape", "novelty", "seq")
_partial_of(runs, "runs_running", "state = 'RUNNING'", "site_id")
# The line of runs that wait, as it is served; and each site's end of it.
_partial_of(runs, "runs_in_line", "state = 'QUEUED'", "turn", "created_at", "id", "site_id")
_partial_of(runs, "runs_queued", "state = 'QUEUED'", "site_id", "turn")
sa.Index("runs_made", runs.c.created_at, runs.c.id)
sa.Index("runs_state", runs.c.state)

shape_yields = sa.Table(
    "shape_yields",
    metadata,
    sa.Column("run_id", _Key, primary_key=True),
    sa.Column("shape", _Key, primary_key=True),
    sa.Column("pages", sa.Integer, nullable=False),
    sa.Column("distinct_pages", sa.Integer, nullable=False),
    sa.Column("novel_pages", sa.Integer, nullable=False),
    sa.Column("first_seq", sa.Integer, nullable=False),
    sa.Column("last_seq", sa.Integer, nullable=False),
)
"""What shapes of many pages had yielded before `first_seq`; their rows from there to `last_seq` are counted on top. Counting
all of them between any two waves would make a page dearer the more there are."""

pages = sa.Table(
    "pages",
    metadata,
    sa.Column("site_id", sa.Integer, primary_key=True),
    sa.Column("url", _Key, primary_key=True),
    sa.Column("fetched_at", sa.Double, nullable=False),
    sa.Column("content_hash", sa.Text, nullable=False),
    sa.Column("novelty", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("etag", sa.Text),
    sa.Column("last_modified", sa.Text),
    sa.Column("lastmod", sa.Double),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("canonical", sa.Text),
    sa.Column("snapshot", sa.Text),
    sa.Column("word_count", sa.Integer, nullable=False),
    sa.Column("noindex", sa.Integer, nullable=False),
    sa.Column("content_type", sa.Text),
    sa.Column("alias_of", sa.Text),
    sa.Column("headers", sa.Text),
    sa.Column("render_reason", sa.Text),
    sa.Column("screenshot", sa.Text),
    sa.Column("volatile", sa.LargeBinary),
    sa.Column("sketch", sa.LargeBinary),
)

robots = sa.Table(
    "robots",
    metadata,
    sa.Column("origin", _Key, primary_key=True),
    sa.Column("fetched_at", sa.Double, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)

once_keys = sa.Table(
    "once_keys",
    metadata,
    sa.Column("key", _Key, primary_key=True),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False, index=True),
)
"""Callers' keys for runs that must be made once (`Idempotency-Key`), for a day."""

versions = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's own table, so that a new database can be stamped without importing Alembic."""
