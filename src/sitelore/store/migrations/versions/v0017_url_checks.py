"""Checks of links to other sites."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "url_checks",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("url", _KEY, nullable=False),
        sa.Column("checks", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "site_id", "url"),
        sa.ForeignKeyConstraint(["tenant_id", "site_id"], ["sites.tenant_id", "sites.id"], ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("url_checks")
