"""Users and tokens of tenants, the audit log, and suspended tenants."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_INDEXES = (
    ("users_named", "users", ["tenant_id", "email"], True),
    ("tokens_by_id", "tokens", ["id"], True),
    ("tokens_of_user", "tokens", ["tenant_id", "user_id"], False),
    ("audit_log_entries", "audit_log", ["tenant_id", "id"], True),
)


def upgrade() -> None:
    """Create the tables; existing tenants have no users and no tokens."""
    op.add_column("tenants", sa.Column("suspended_at", sa.Double()))
    _create_users()
    _create_tokens()
    _create_audit_log()
    for name, table, columns, unique in _INDEXES:
        op.create_index(name, table, columns, unique=unique)


def downgrade() -> None:
    """Drop them again."""
    for table in ("audit_log", "tokens", "users"):
        op.drop_table(table)
    op.drop_column("tenants", "suspended_at")


def _create_users() -> None:
    op.create_table(
        "users",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", _KEY, nullable=False),
        sa.Column("email", _KEY, nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )


def _create_tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", _KEY, nullable=False),
        sa.Column("secret_hash", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("channel_id", sa.Text(), nullable=False),
        sa.Column("user_id", _KEY, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Double()),
        sa.Column("revoked_at", sa.Double()),
        sa.Column("last_used_at", sa.Double()),
        sa.Column("last_address", sa.Text(), nullable=False),
        sa.Column("rotated_from", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )


def _create_audit_log() -> None:
    text_columns = ("actor", "token_id", "action", "object", "before_hash", "after_hash", "address", "request_id")
    op.create_table(
        "audit_log",
        sa.Column("tenant_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", _KEY, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        *(sa.Column(name, _KEY if name in {"action", "object"} else sa.Text(), nullable=False) for name in text_columns),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "seq"),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"], ondelete="CASCADE"),
    )
