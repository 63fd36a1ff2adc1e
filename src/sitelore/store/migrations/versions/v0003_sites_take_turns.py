"""Fair run queue: round robin by site (`turn`); page counts by URL pattern (`shape_yields`); indexes for many runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_HAS_CONTENT = "content_hash IS NOT NULL"
_IS_QUEUED = "state = 'QUEUED'"
_IN_TURN = """
    UPDATE runs SET turn = line.turn
    FROM (
        SELECT id, row_number() OVER (PARTITION BY site_id ORDER BY created_at, id) AS turn FROM runs WHERE state = 'QUEUED'
    ) AS line
    WHERE line.id = runs.id
"""


def upgrade() -> None:
    """Add the columns and the table, give queued runs their round, and index head and tail of the queue."""
    op.add_column("runs", sa.Column("turn", sa.Integer(), nullable=False, server_default="0"))
    op.execute(sa.text(_IN_TURN))
    op.drop_index("runs_queued", "runs")
    _index("runs", "runs_in_line", ["turn", "created_at", "id", "site_id"], _IS_QUEUED)
    _index("runs", "runs_queued", ["site_id", "turn"], _IS_QUEUED)
    op.create_index("runs_made", "runs", ["created_at", "id"])
    op.create_index("runs_state", "runs", ["state"])
    op.create_index("ix_once_keys_created_at", "once_keys", ["created_at"])
    op.drop_index("urls_content", "urls")
    op.drop_index("urls_shape", "urls")
    _index("urls", "urls_content", ["run_id", "content_hash", "shape", "seq"], _HAS_CONTENT)
    _index("urls", "urls_shape", ["run_id", "shape", "novelty", "seq"], _HAS_CONTENT)
    op.create_table(
        "shape_yields",
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("shape", _KEY, nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("distinct_pages", sa.Integer(), nullable=False),
        sa.Column("novel_pages", sa.Integer(), nullable=False),
        sa.Column("first_seq", sa.Integer(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "shape"),
    )


def downgrade() -> None:
    """Drop the table, the columns and the indexes."""
    op.drop_table("shape_yields")
    op.drop_index("urls_shape", "urls")
    op.drop_index("urls_content", "urls")
    _index("urls", "urls_content", ["run_id", "content_hash"], _HAS_CONTENT)
    _index("urls", "urls_shape", ["run_id", "shape", "content_hash", "novelty"], _HAS_CONTENT)
    op.drop_index("ix_once_keys_created_at", "once_keys")
    for name in ("runs_state", "runs_made", "runs_queued", "runs_in_line"):
        op.drop_index(name, "runs")
    op.drop_column("runs", "turn")
    _index("runs", "runs_queued", ["site_id", "created_at", "id"], _IS_QUEUED)


def _index(table: str, name: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
