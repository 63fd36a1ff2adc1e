"""URLs that workers fetch ahead of their admission."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the table, and the count of each run's unused results."""
    op.create_table(
        "prefetches",
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("url", _KEY, nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("is_bet", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "url"),
    )
    op.add_column("runs", sa.Column("prefetch_unused", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Remove both."""
    op.drop_column("runs", "prefetch_unused")
    op.drop_table("prefetches")
