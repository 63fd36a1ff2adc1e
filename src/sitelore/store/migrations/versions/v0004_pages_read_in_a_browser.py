"""Which pages a browser read, and what a site's runs have learnt of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("sites", "rendering"),
    ("runs", "site_rendering"),
    ("urls", "render_reason"),
    ("urls", "rendering"),
    ("urls", "screenshot"),
    ("pages", "render_reason"),
    ("pages", "screenshot"),
)


def upgrade() -> None:
    """Add the columns; nothing is known of what was read before."""
    for table, column in _COLUMNS:
        op.add_column(table, sa.Column(column, sa.Text()))


def downgrade() -> None:
    """Take them away again."""
    for table, column in reversed(_COLUMNS):
        op.drop_column(table, column)
