"""The tables of the platform: accounts and the audit log. They join the metadata of `store/schema.py` when this is imported."""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.store.schema import Key, metadata, of_tenant, tenant_column

users = sa.Table(
    "users",
    metadata,
    tenant_column(),
    # A UUID of version 7.
    sa.Column("id", Key, primary_key=True),
    sa.Column("email", Key, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    of_tenant(),
)
sa.Index("users_named", users.c.tenant_id, users.c.email, unique=True)

tokens = sa.Table(
    "tokens",
    metadata,
    tenant_column(),
    # The public part of the token's text, unique over all tenants: a request names its token, not its tenant.
    sa.Column("id", Key, primary_key=True),
    # SHA-256 of the secret. The secret has 256 random bits, so a slow hash would add nothing.
    sa.Column("secret_hash", sa.LargeBinary, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    # Separated by spaces.
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("channel_id", sa.Text, nullable=False),
    sa.Column("user_id", Key, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("expires_at", sa.Double),
    sa.Column("revoked_at", sa.Double),
    sa.Column("last_used_at", sa.Double),
    sa.Column("last_address", sa.Text, nullable=False),
    sa.Column("rotated_from", sa.Text, nullable=False),
    of_tenant(),
)
# Not by tenant: authentication looks a token up before it knows the tenant.
sa.Index("tokens_by_id", tokens.c.id, unique=True)
sa.Index("tokens_of_user", tokens.c.tenant_id, tokens.c.user_id)

audit_log = sa.Table(
    "audit_log",
    metadata,
    tenant_column(),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("id", Key, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("token_id", sa.Text, nullable=False),
    sa.Column("action", Key, nullable=False),
    sa.Column("object", Key, nullable=False),
    sa.Column("before_hash", sa.Text, nullable=False),
    sa.Column("after_hash", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    of_tenant(),
)
"""Changes by people and programs, in the order of their commits. Rows are only added; each has a hash over itself and the one
before (`model/platform/audit.py`)."""
sa.Index("audit_log_entries", audit_log.c.tenant_id, audit_log.c.id, unique=True)
