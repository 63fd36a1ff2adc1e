"""Media of pages, their URLs and the pages that show them; candidates of waves without media."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_CANDIDATE_COLUMNS = ["tenant_id", "run_id", "depth", "source_rank", "parent_seq", "position"]
_INDEXES = (
    ("media_of_content", "media", ["tenant_id", "content_hash"], True),
    ("media_of_type", "media", ["tenant_id", "type", "id"], False),
    ("media_urls_of_media", "media_urls", ["tenant_id", "media_id", "url_id"], False),
    ("media_sites_of_media", "media_sites", ["tenant_id", "media_id", "site_id"], False),
    ("page_media_of_url", "page_media", ["tenant_id", "url_id", "page_id"], False),
    ("page_media_of_site", "page_media", ["tenant_id", "site_id", "url_id"], False),
)


def upgrade() -> None:
    """Create the tables; existing pages get their media when they are crawled again."""
    op.add_column("runs", sa.Column("media_admitted", sa.Integer(), nullable=False, server_default="0"))
    # The statistics of the run have the figures.
    op.drop_column("crawl_jobs", "media")
    op.drop_index("urls_candidates", "urls")
    _create_candidates("urls_candidates", "state = 'DISCOVERED' AND kind <> 'media'")
    _create_candidates("urls_media_candidates", "state = 'DISCOVERED' AND kind = 'media'")
    _create_media()
    _create_media_urls()
    _create_media_sites()
    _create_page_media()
    for name, table, columns, unique in _INDEXES:
        op.create_index(name, table, columns, unique=unique)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE SEQUENCE media_ids")


def downgrade() -> None:
    """Drop them again."""
    for table in ("page_media", "media_sites", "media_urls", "media"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP SEQUENCE media_ids")
    op.drop_index("urls_media_candidates", "urls")
    op.drop_index("urls_candidates", "urls")
    _create_candidates("urls_candidates", "state = 'DISCOVERED'")
    op.add_column("crawl_jobs", sa.Column("media", sa.Text()))
    op.drop_column("runs", "media_admitted")


def _create_candidates(name: str, condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, "urls", _CANDIDATE_COLUMNS, sqlite_where=where, postgresql_where=where)


def _create_media() -> None:
    op.create_table(
        "media",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("content_hash", _KEY, nullable=False),
        sa.Column("storage_key", sa.Text()),
        sa.Column("source_url", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("mime_type", sa.Text(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("original_bytes", sa.BigInteger(), nullable=False),
        sa.Column("width", sa.Integer()),
        sa.Column("height", sa.Integer()),
        sa.Column("alt", sa.Text()),
        sa.Column("provider", sa.Text()),
        sa.Column("video_id", sa.Text()),
        sa.Column("text", sa.Text()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("last_crawled_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )


def _create_media_urls() -> None:
    op.create_table(
        "media_urls",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("url_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("media_id", sa.BigInteger(), nullable=False),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("fetched_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "url_id"),
        _belongs_to("site_id", "sites"),
        _belongs_to("media_id", "media"),
    )


def _create_media_sites() -> None:
    op.create_table(
        "media_sites",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("media_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "media_id"),
        _belongs_to("site_id", "sites"),
        _belongs_to("media_id", "media"),
    )


def _create_page_media() -> None:
    op.create_table(
        "page_media",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("page_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("url_id", sa.BigInteger(), nullable=False),
        sa.Column("alt", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "page_id", "position"),
        _belongs_to("site_id", "sites"),
    )


def _belongs_to(column: str, parent: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["tenant_id", column], [f"{parent}.tenant_id", f"{parent}.id"], ondelete="CASCADE")
