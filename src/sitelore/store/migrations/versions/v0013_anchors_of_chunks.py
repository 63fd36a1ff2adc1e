"""The page's own anchors in and above a chunk."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Existing chunks get their anchors when their page is indexed again."""
    op.add_column("chunk_texts", sa.Column("anchors", sa.Text()))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("chunk_texts", "anchors")
