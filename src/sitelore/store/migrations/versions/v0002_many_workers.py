"""Several workers per run: the hosts in scope at the last wave, retries of crashed runs, and indexes of the run queue."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and indexes."""
    op.add_column("runs", sa.Column("wave_hosts", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("runs", sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("retry_at", sa.Double()))
    op.execute(sa.text("UPDATE runs SET wave_hosts = joined_hosts"))
    _index("runs_running", ["site_id"], "state = 'RUNNING'")
    _index("runs_queued", ["site_id", "created_at", "id"], "state = 'QUEUED'")


def downgrade() -> None:
    """Take them away again."""
    op.drop_index("runs_queued", "runs")
    op.drop_index("runs_running", "runs")
    for column in ("retry_at", "attempts", "wave_hosts"):
        op.drop_column("runs", column)


def _index(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "runs", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
