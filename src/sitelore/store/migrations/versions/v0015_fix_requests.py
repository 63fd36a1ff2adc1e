"""Repositories that tenants connected to their sites, and draft pull requests for findings of audits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_PENDING = sa.text("state IN ('queued', 'open')")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "connected_repositories",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("base", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "site_id"),
        _of_site(),
    )
    op.create_table(
        "fix_requests",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", _KEY, nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("repository", _KEY, nullable=False),
        sa.Column("subject", _KEY, nullable=False),
        sa.Column("branch", _KEY, nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("chosen", sa.Text(), nullable=False),
        sa.Column("findings", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("number", sa.Integer()),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("merged_at", sa.Double()),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        _of_site(),
    )
    op.create_index("fix_requests_of_branch", "fix_requests", ["tenant_id", "site_id", "repository", "branch"], unique=True)
    op.create_index("fix_requests_due", "fix_requests", ["due_at"], sqlite_where=_PENDING, postgresql_where=_PENDING)


def _of_site() -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["tenant_id", "site_id"], ["sites.tenant_id", "sites.id"], ondelete="CASCADE")


def downgrade() -> None:
    """Remove the tables."""
    for name in ("fix_requests", "connected_repositories"):
        op.drop_table(name)
