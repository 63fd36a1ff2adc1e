"""Chunks, their words and their vectors; whether a page is still there; sites that belong to tenants."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_MAY_BE_SEARCHED = "alias_of IS NULL AND noindex = 0 AND presence <> 'GONE'"
_TO_BE_INDEXED = "(indexed IS NULL OR indexed <> document OR indexed_epoch IS NULL)"
_NOT_TO_BE_SHOWN = "(indexed <> document OR alias_of IS NOT NULL OR noindex <> 0 OR presence = 'GONE')"
_INDEXES = (
    ("runs", "runs_to_reckon", ["site_id", "finished_at", "id"], "reckoned = 0"),
    ("pages", "pages_to_index", ["site_id", "url"], f"{_MAY_BE_SEARCHED} AND {_TO_BE_INDEXED}"),
    ("pages", "pages_stale", ["site_id", "number"], f"indexed IS NOT NULL AND {_NOT_TO_BE_SHOWN}"),
    ("pages", "pages_held", ["site_id"], "held = 1"),
    ("pages", "pages_numbered", ["site_id", "number"], "number IS NOT NULL"),
)
_OF_PAGES = (
    "long_url", "presence", "presence_at", "evidence", "soft_misses", "held", "indexed", "indexed_epoch", "number",
    "indexed_title", "lang", "indexed_kind", "dated", "shelved",
)  # fmt: skip
_TABLES = ("vectors", "models", "postings", "segments", "chunk_texts", "chunks")


def upgrade() -> None:
    """Every page that is known waits to be indexed; every run that has ended waits to be reckoned with."""
    _free_the_names_of_sites()
    _count("sites", "index_version")
    op.add_column("sites", sa.Column("index_epoch", sa.Text()))
    for name, first in (("next_page", "1"), ("next_chunk", "1"), ("indexed_pages", "0"), ("chunk_count", "0")):
        _count("sites", name, first)
    _count("runs", "reckoned")
    _widen_pages()
    for table, name, columns, where in _INDEXES:
        op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
    _make_chunks()
    _make_words_and_vectors()


def downgrade() -> None:
    """Take them away again. It fails where two tenants have a site of the same name by now."""
    for table in _TABLES:
        op.drop_table(table)
    for table, name, _, _ in reversed(_INDEXES):
        op.drop_index(name, table)
    for name in reversed(_OF_PAGES):
        op.drop_column("pages", name)
    op.drop_column("runs", "reckoned")
    for name in ("chunk_count", "indexed_pages", "next_chunk", "next_page", "index_epoch", "index_version"):
        op.drop_column("sites", name)
    op.drop_index("sites_named", "sites")
    op.drop_column("sites", "tenant")
    if op.get_bind().dialect.name == "postgresql":
        op.create_unique_constraint("sites_name_key", "sites", ["name"])
    else:
        op.create_index("sites_name_key", "sites", ["name"], unique=True)


def _free_the_names_of_sites() -> None:
    """From now on they are unique within a tenant. SQLite cannot drop a constraint, so the table is made anew."""
    tenant = sa.Column("tenant", _KEY, nullable=False, server_default="default")
    if op.get_bind().dialect.name == "postgresql":
        op.add_column("sites", tenant)
        op.drop_constraint("sites_name_key", "sites")
    else:
        op.create_table(
            "sites_of_tenants",
            sa.Column("id", sa.Integer(), nullable=False),
            sa.Column("name", _KEY, nullable=False),
            sa.Column("created_at", sa.Double(), nullable=False),
            sa.Column("rendering", sa.Text()),
            tenant,
            sa.PrimaryKeyConstraint("id"),
        )
        op.execute(
            "INSERT INTO sites_of_tenants (id, name, created_at, rendering) SELECT id, name, created_at, rendering FROM sites"
        )
        op.drop_table("sites")
        op.rename_table("sites_of_tenants", "sites")
    op.create_index("sites_named", "sites", ["tenant", "name"], unique=True)


def _count(table: str, name: str, first: str = "0") -> None:
    op.add_column(table, sa.Column(name, sa.Integer(), nullable=False, server_default=first))


def _widen_pages() -> None:
    op.add_column("pages", sa.Column("long_url", sa.Text()))
    op.add_column("pages", sa.Column("presence", sa.Text(), nullable=False, server_default="PRESENT"))
    op.add_column("pages", sa.Column("presence_at", sa.Double()))
    op.add_column("pages", sa.Column("evidence", sa.Text()))
    _count("pages", "soft_misses")
    _count("pages", "held")
    op.add_column("pages", sa.Column("indexed", sa.Text()))
    op.add_column("pages", sa.Column("indexed_epoch", sa.Text()))
    op.add_column("pages", sa.Column("number", sa.Integer()))
    op.add_column("pages", sa.Column("indexed_title", sa.Text()))
    op.add_column("pages", sa.Column("lang", sa.Text()))
    op.add_column("pages", sa.Column("indexed_kind", sa.Text()))
    op.add_column("pages", sa.Column("dated", sa.Double()))
    op.add_column("pages", sa.Column("shelved", sa.LargeBinary()))


def _make_chunks() -> None:
    op.create_table(
        "chunks",
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("text_hash", _KEY, nullable=False),
        sa.Column("terms_sum", sa.BigInteger(), nullable=False),
        sa.Column("told_sum", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("site_id", "number"),
        sqlite_with_rowid=False,
    )
    op.create_index("chunks_of_page", "chunks", ["site_id", "page"])
    op.create_index("chunks_of_text", "chunks", ["text_hash"])
    op.create_table(
        "chunk_texts",
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
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
        sa.PrimaryKeyConstraint("site_id", "number"),
    )


def _make_words_and_vectors() -> None:
    op.create_table(
        "segments",
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("segment", sa.Integer(), nullable=False),
        sa.Column("last_number", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("dead", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("site_id", "segment"),
    )
    op.create_table(
        "postings",
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("segment", sa.Integer(), nullable=False),
        sa.Column("term", _KEY, nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("site_id", "segment", "term"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "models",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", _KEY, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "vectors",
        sa.Column("model_id", sa.Integer(), nullable=False),
        sa.Column("text_hash", _KEY, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("half", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("model_id", "text_hash"),
    )
    op.create_index("vectors_put", "vectors", ["model_id", "version"])
