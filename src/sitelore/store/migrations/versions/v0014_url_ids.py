"""URLs by id in the frontier and in pages; results of visits in a table of their own; runs get a number.

`urls`, `prefetches` and `pages` are built anew, because their keys change, and their rows are copied.
"""

# ruff: noqa: S608 - queries are made of names and expressions in this file

from __future__ import annotations

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_KEY_CHARS = 2000
_PATTERN_CHARS = 500

_TO_INDEX = (
    "alias_of IS NULL AND noindex = 0 AND presence <> 'GONE'"
    " AND (indexed IS NULL OR indexed <> document OR indexed_epoch IS NULL)"
)
_STALE = "indexed IS NOT NULL AND (indexed <> document OR alias_of IS NOT NULL OR noindex <> 0 OR presence = 'GONE')"
_OF_RUN = ("tenant_id", "run_number")
_OF_SITE = ("tenant_id", "site_id")
_INDEXES: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("urls_admitted", "urls", (*_OF_RUN, "state", "seq", "retry_at"), "seq IS NOT NULL"),
    (
        "urls_candidates",
        "urls",
        (*_OF_RUN, "depth", "source_rank", "parent_seq", "position"),
        "state = 'DISCOVERED' AND kind <> 'media'",
    ),
    (
        "urls_media_candidates",
        "urls",
        (*_OF_RUN, "depth", "source_rank", "parent_seq", "position"),
        "state = 'DISCOVERED' AND kind = 'media'",
    ),
    ("visits_content", "visits", (*_OF_RUN, "content_hash", "pattern", "seq"), "content_hash IS NOT NULL"),
    ("visits_identity", "visits", (*_OF_RUN, "identity"), "identity IS NOT NULL"),
    ("visits_canonical", "visits", (*_OF_RUN, "canonical"), "canonical <> url_id"),
    ("visits_pattern", "visits", (*_OF_RUN, "pattern", "novelty", "seq"), "content_hash IS NOT NULL"),
    ("pages_to_index", "pages", (*_OF_SITE, "url_id"), _TO_INDEX),
    ("pages_stale", "pages", (*_OF_SITE, "number"), _STALE),
    ("pages_held", "pages", _OF_SITE, "held = 1"),
    ("pages_numbered", "pages", (*_OF_SITE, "number"), "number IS NOT NULL"),
)
_URLS = (
    "host", "kind", "state", "source", "depth", "source_rank", "parent_seq", "position", "refused", "chain", "lastmod",
    "skip_reason", "detail", "seq", "wave", "token", "claimed_by", "lease_until", "attempts", "fetches", "retry_at", "proof",
)  # fmt: skip
_VISITS = (
    "seq", "pattern", "status_code", "error", "fetched_at", "elapsed_s", "body_bytes", "changed", "title", "content_hash",
    "novelty", "identity", "content_type", "word_count", "noindex", "document", "snapshot", "etag", "last_modified",
    "headers", "render_reason", "rendering", "screenshot", "sketch", "response_head",
)  # fmt: skip
_PAGES = (
    "fetched_at", "content_hash", "novelty", "document", "etag", "last_modified", "lastmod", "title", "snapshot",
    "word_count", "noindex", "content_type", "headers", "render_reason", "screenshot", "presence", "presence_at", "evidence",
    "soft_misses", "held", "indexed", "indexed_epoch", "number", "indexed_title", "lang", "indexed_kind", "published_at",
    "chunk_summary", "volatile", "sketch",
)  # fmt: skip


def upgrade() -> None:
    """Number runs and URLs, and copy the rows of three tables by these numbers."""
    is_postgres = op.get_bind().dialect.name == "postgresql"
    if not is_postgres:
        op.get_bind().connection.create_function("key_of", 2, _key_of, deterministic=True)
    _number_runs(is_postgres=is_postgres)
    for name in ("urls", "prefetches", "pages"):
        _set_aside(name, is_postgres=is_postgres)
    _number_urls(is_postgres=is_postgres)
    _create_urls()
    _create_visits()
    _create_prefetches()
    _create_pages()
    _copy_rows(is_postgres=is_postgres)
    for name in ("urls", "prefetches", "pages"):
        op.drop_table(f"old_{name}")
    for name, table, columns, condition in _INDEXES:
        where = sa.text(condition)
        op.create_index(name, table, list(columns), sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    """Refuse: URLs that only the new tables name would be lost."""
    raise NotImplementedError("the migration to ids of URLs cannot be undone; restore a backup")


def _key_of(text: str | None, limit: int) -> str | None:
    """The key of a URL or URL pattern: the text itself, or its start and a hash."""
    if text is None or len(text) <= limit:
        return text
    return f"{text[: limit - 65]}#{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def _key(text: str, *, is_postgres: bool, limit: int = _KEY_CHARS) -> str:
    """`_key_of` as an SQL expression."""
    if not is_postgres:
        return f"key_of({text}, {limit})"
    hashed = f"left({text}, {limit - 65}) || '#' || encode(sha256(convert_to({text}, 'UTF8')), 'hex')"
    return f"CASE WHEN length({text}) > {limit} THEN {hashed} ELSE {text} END"


def _number_runs(*, is_postgres: bool) -> None:
    op.add_column("runs", sa.Column("number", sa.BigInteger(), nullable=False, server_default="0"))
    if is_postgres:
        numbered = "SELECT tenant_id, id, row_number() OVER (ORDER BY created_at, tenant_id, id) AS number FROM runs"
        op.execute(f"UPDATE runs r SET number = n.number FROM ({numbered}) n WHERE n.tenant_id = r.tenant_id AND n.id = r.id")
    else:
        op.execute("UPDATE runs SET number = rowid")
    op.create_index("runs_numbered", "runs", ["tenant_id", "number"], unique=True)
    if is_postgres:
        op.execute("CREATE SEQUENCE runs_ids")
        op.execute("SELECT setval('runs_ids', (SELECT coalesce(max(number), 0) + 1 FROM runs), false)")


def _set_aside(name: str, *, is_postgres: bool) -> None:
    """Rename a table of before, and free the names of its indexes."""
    for index in sa.inspect(op.get_bind()).get_indexes(name):
        if not index.get("duplicates_constraint"):
            op.drop_index(index["name"] or "", name)
    if is_postgres:
        op.execute(f"ALTER TABLE {name} RENAME CONSTRAINT {name}_pkey TO old_{name}_pkey")
    op.rename_table(name, f"old_{name}")


def _number_urls(*, is_postgres: bool) -> None:
    """Give an id to every URL that has none: rows, pages, and what they name as parent, target and canonical URL."""
    of_run = "JOIN runs r ON r.tenant_id = o.tenant_id AND r.id = o.run_id"
    sources = [
        f"SELECT o.tenant_id, r.site_id, o.url AS url, o.long_url AS long_url FROM old_urls o {of_run}",
        "SELECT o.tenant_id, o.site_id, o.url, o.long_url FROM old_pages o",
        f"SELECT o.tenant_id, r.site_id, o.url, NULL FROM old_prefetches o {of_run}",
    ]
    for column in ("parent", "alias_of", "canonical"):
        named = (
            f"{_key(f'o.{column}', is_postgres=is_postgres)}, CASE WHEN length(o.{column}) > {_KEY_CHARS} THEN o.{column} END"
        )
        sources.append(f"SELECT o.tenant_id, r.site_id, {named} FROM old_urls o {of_run} WHERE o.{column} IS NOT NULL")
        if column != "parent":
            sources.append(f"SELECT o.tenant_id, o.site_id, {named} FROM old_pages o WHERE o.{column} IS NOT NULL")
    op.execute(
        "INSERT INTO site_urls (tenant_id, id, site_id, url, long_url)"
        " SELECT n.tenant_id, (SELECT coalesce(max(id), 0) FROM site_urls)"
        "  + row_number() OVER (ORDER BY n.tenant_id, n.site_id, n.url), n.site_id, n.url, max(n.long_url)"
        f" FROM ({' UNION ALL '.join(sources)}) n"
        " WHERE NOT EXISTS (SELECT 1 FROM site_urls s"
        "  WHERE s.tenant_id = n.tenant_id AND s.site_id = n.site_id AND s.url = n.url)"
        " GROUP BY n.tenant_id, n.site_id, n.url"
    )
    if is_postgres:
        op.execute("SELECT setval('site_urls_ids', (SELECT coalesce(max(id), 0) + 1 FROM site_urls), false)")


def _copy_rows(*, is_postgres: bool) -> None:
    of_run = "JOIN runs r ON r.tenant_id = o.tenant_id AND r.id = o.run_id"
    own = "JOIN site_urls u ON u.tenant_id = o.tenant_id AND u.site_id = r.site_id AND u.url = o.url"

    def url_id(column: str, site: str) -> str:
        key = _key(f"o.{column}", is_postgres=is_postgres)
        return f"(SELECT s.id FROM site_urls s WHERE s.tenant_id = o.tenant_id AND s.site_id = {site} AND s.url = {key})"

    text = "coalesce(o.long_url, o.url)"
    start = f"strpos({text}, '://')" if is_postgres else f"instr({text}, '://')"
    plain = _key(f"substr({text}, {start} + 3)", is_postgres=is_postgres, limit=_PATTERN_CHARS)
    _insert(
        "urls",
        {
            "tenant_id": "o.tenant_id", "run_number": "r.number", "url_id": "u.id",
            **{name: f"o.{name}" for name in _URLS},
            "parent": url_id("parent", "r.site_id"), "alias_of": url_id("alias_of", "r.site_id"),
            "pattern": f"nullif(o.pattern, {plain})",
        },
        f"old_urls o {of_run} {own} ORDER BY 1, 2, 3",
    )  # fmt: skip
    _insert(
        "visits",
        {
            "tenant_id": "o.tenant_id", "run_number": "r.number", "url_id": "u.id",
            **{name: f"o.{name}" for name in _VISITS},
            "canonical": url_id("canonical", "r.site_id"),
        },
        f"old_urls o {of_run} {own} WHERE o.seq IS NOT NULL ORDER BY 1, 2, 3",
    )  # fmt: skip
    _insert(
        "prefetches",
        {
            "tenant_id": "o.tenant_id", "run_number": "r.number", "url_id": "u.id",
            **{name: f"o.{name}" for name in ("worker", "lease_until", "is_bet")},
        },
        f"old_prefetches o {of_run} {own}",
    )  # fmt: skip
    _insert(
        "pages",
        {
            "tenant_id": "o.tenant_id", "site_id": "o.site_id", "url_id": "u.id",
            **{name: f"o.{name}" for name in _PAGES},
            "canonical": url_id("canonical", "o.site_id"), "alias_of": url_id("alias_of", "o.site_id"),
        },
        "old_pages o JOIN site_urls u ON u.tenant_id = o.tenant_id AND u.site_id = o.site_id AND u.url = o.url"
        " ORDER BY 1, 2, 3",
    )  # fmt: skip


def _insert(table: str, values: dict[str, str], source: str) -> None:
    op.execute(f"INSERT INTO {table} ({', '.join(values)}) SELECT {', '.join(values.values())} FROM {source}")


def _create_urls() -> None:
    op.create_table(
        "urls",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("url_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("source_rank", sa.Integer(), nullable=False),
        sa.Column("parent", sa.BigInteger()),
        sa.Column("parent_seq", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("refused", sa.Integer(), nullable=False),
        sa.Column("pattern", sa.Text()),
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
        sa.Column("alias_of", sa.BigInteger()),
        sa.Column("proof", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "run_number", "url_id"),
        sa.ForeignKeyConstraint(["tenant_id", "run_number"], ["runs.tenant_id", "runs.number"], ondelete="CASCADE"),
    )


def _create_visits() -> None:
    op.create_table(
        "visits",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("url_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("pattern", _KEY, nullable=False),
        sa.Column("status_code", sa.Integer()),
        sa.Column("error", sa.Text()),
        sa.Column("fetched_at", sa.Double()),
        sa.Column("elapsed_s", sa.Double()),
        sa.Column("body_bytes", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("changed", sa.Integer()),
        sa.Column("title", sa.Text()),
        sa.Column("content_hash", _KEY),
        sa.Column("novelty", _KEY),
        sa.Column("canonical", sa.BigInteger()),
        sa.Column("identity", _KEY),
        sa.Column("content_type", sa.Text()),
        sa.Column("word_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("noindex", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("document", sa.Text()),
        sa.Column("snapshot", sa.Text()),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("headers", sa.Text()),
        sa.Column("render_reason", sa.Text()),
        sa.Column("rendering", sa.Text()),
        sa.Column("screenshot", sa.Text()),
        sa.Column("sketch", sa.LargeBinary()),
        sa.Column("response_head", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "run_number", "url_id"),
        sa.ForeignKeyConstraint(["tenant_id", "run_number"], ["runs.tenant_id", "runs.number"], ondelete="CASCADE"),
    )


def _create_prefetches() -> None:
    op.create_table(
        "prefetches",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("url_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("is_bet", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "run_number", "url_id"),
        sa.ForeignKeyConstraint(["tenant_id", "run_number"], ["runs.tenant_id", "runs.number"], ondelete="CASCADE"),
    )


def _create_pages() -> None:
    op.create_table(
        "pages",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("url_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("fetched_at", sa.Double(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("novelty", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("lastmod", sa.Double()),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("canonical", sa.BigInteger()),
        sa.Column("snapshot", sa.Text()),
        sa.Column("word_count", sa.Integer(), nullable=False),
        sa.Column("noindex", sa.Integer(), nullable=False),
        sa.Column("content_type", sa.Text()),
        sa.Column("alias_of", sa.BigInteger()),
        sa.Column("headers", sa.Text()),
        sa.Column("render_reason", sa.Text()),
        sa.Column("screenshot", sa.Text()),
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
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "url_id"),
        sa.ForeignKeyConstraint(["tenant_id", "site_id"], ["sites.tenant_id", "sites.id"], ondelete="CASCADE"),
    )
