"""Queries to the search index of a site."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "search_log",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("query", _KEY, nullable=False),
        sa.Column("searches", sa.Integer(), nullable=False),
        sa.Column("without_results", sa.Integer(), nullable=False),
        sa.Column("weak", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "query"),
        sa.ForeignKeyConstraint(["tenant_id", "site_id"], ["sites.tenant_id", "sites.id"], ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("search_log")
