"""First tables of the ledger (the database of runs and URLs): sites, runs, the frontier, known pages, robots files."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make every table."""
    _make_sites_and_runs()
    _make_urls()
    _make_url_indexes()
    _make_pages_and_robots()


def downgrade() -> None:
    """Drop every table."""
    for table in ("once_keys", "robots", "pages", "urls", "redactions", "runs", "sites"):
        op.drop_table(table)


def _make_sites_and_runs() -> None:
    op.create_table(
        "sites",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", _KEY, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "runs",
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
        sa.Column("wave_seq", sa.Integer(), nullable=False),
        sa.Column("kept_before", sa.Integer(), nullable=False),
        sa.Column("joined_hosts", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "once_keys",
        sa.Column("key", _KEY, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "redactions",
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("rule", _KEY, nullable=False),
        sa.Column("found", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "rule"),
    )


def _make_urls() -> None:
    op.create_table(
        "urls",
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
        sa.Column("shape", _KEY, nullable=False),
        sa.Column("chain", sa.Text()),
        sa.Column("lastmod", sa.Double()),
        sa.Column("skip_reason", sa.Text()),
        sa.Column("detail", sa.Text()),
        sa.Column("seq", sa.Integer()),
        sa.Column("wave", sa.Integer()),
        sa.Column("token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("claimed_by", sa.Text()),
        sa.Column("lease_until", sa.Double()),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("fetches", sa.Integer(), server_default="0", nullable=False),
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
        sa.Column("word_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("noindex", sa.Integer(), server_default="0", nullable=False),
        sa.Column("document", sa.Text()),
        sa.Column("snapshot", sa.Text()),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("fetched_at", sa.Double()),
        sa.Column("elapsed_s", sa.Double()),
        sa.Column("body_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("changed", sa.Integer()),
        sa.Column("headers", sa.Text()),
        sa.Column("sketch", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("run_id", "url"),
    )


def _make_url_indexes() -> None:
    op.create_index(
        "urls_admitted",
        "urls",
        ["run_id", "state", "seq", "retry_at"],
        sqlite_where=sa.text("seq IS NOT NULL"),
        postgresql_where=sa.text("seq IS NOT NULL"),
    )
    op.create_index(
        "urls_candidates",
        "urls",
        ["run_id", "depth", "source_rank", "parent_seq", "position"],
        sqlite_where=sa.text("state = 'DISCOVERED'"),
        postgresql_where=sa.text("state = 'DISCOVERED'"),
    )
    op.create_index(
        "urls_canonical",
        "urls",
        ["run_id", "canonical"],
        sqlite_where=sa.text("canonical <> url"),
        postgresql_where=sa.text("canonical <> url"),
    )
    op.create_index(
        "urls_content",
        "urls",
        ["run_id", "content_hash"],
        sqlite_where=sa.text("content_hash IS NOT NULL"),
        postgresql_where=sa.text("content_hash IS NOT NULL"),
    )
    op.create_index(
        "urls_identity",
        "urls",
        ["run_id", "identity"],
        sqlite_where=sa.text("identity IS NOT NULL"),
        postgresql_where=sa.text("identity IS NOT NULL"),
    )
    op.create_index(
        "urls_shape",
        "urls",
        ["run_id", "shape", "content_hash", "novelty"],
        sqlite_where=sa.text("content_hash IS NOT NULL"),
        postgresql_where=sa.text("content_hash IS NOT NULL"),
    )


def _make_pages_and_robots() -> None:
    op.create_table(
        "pages",
        sa.Column("site_id", sa.Integer(), nullable=False),
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
        sa.Column("volatile", sa.LargeBinary()),
        sa.Column("sketch", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("site_id", "url"),
    )
    op.create_table(
        "robots",
        sa.Column("origin", _KEY, nullable=False),
        sa.Column("fetched_at", sa.Double(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("origin"),
    )
