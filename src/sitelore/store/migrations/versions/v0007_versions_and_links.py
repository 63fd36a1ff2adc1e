"""Heads of responses, resumed runs, tenants with ids, versions of pages with their facts and links."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_KEY = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_IS_CURRENT = "ended_at IS NULL"


def upgrade() -> None:
    """Give tenants ids, and every stored page a first version. Its next change or `reprocess` adds its facts and links.

    Until now a time limit counted from the start of the run, and the heads of responses were not stored.
    """
    op.add_column("urls", sa.Column("response_head", sa.Text()))
    op.add_column("runs", sa.Column("time_limit_from", sa.Double()))
    op.execute("UPDATE runs SET time_limit_from = started_at")
    _create_tenants()
    _create_site_urls()
    _create_page_versions()
    _create_links()
    _add_versions_of_stored_pages()


def downgrade() -> None:
    """Remove all of it; tenants are named in `sites` again."""
    op.drop_column("runs", "time_limit_from")
    op.drop_column("urls", "response_head")
    for table in ("links", "page_versions", "site_urls"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP SEQUENCE site_url_ids")
        op.execute("DROP SEQUENCE page_version_ids")
    op.add_column("sites", sa.Column("tenant", _KEY, nullable=False, server_default="default"))
    op.execute("UPDATE sites SET tenant = (SELECT name FROM tenants WHERE tenants.id = sites.tenant_id)")
    op.drop_index("sites_named", "sites")
    op.drop_column("sites", "tenant_id")
    op.create_index("sites_named", "sites", ["tenant", "name"], unique=True)
    op.drop_table("tenants")


def _create_tenants() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", _KEY, nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.execute(
        "INSERT INTO tenants (name, created_at) SELECT tenant, min(created_at) FROM sites GROUP BY tenant ORDER BY tenant"
    )
    op.add_column("sites", sa.Column("tenant_id", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE sites SET tenant_id = (SELECT id FROM tenants WHERE tenants.name = sites.tenant)")
    op.drop_index("sites_named", "sites")
    op.drop_column("sites", "tenant")
    op.create_index("sites_named", "sites", ["tenant_id", "name"], unique=True)


def _create_site_urls() -> None:
    op.create_table(
        "site_urls",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("url", _KEY, nullable=False),
        sa.Column("long_url", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
        sqlite_with_rowid=False,
    )
    op.create_index("site_urls_named", "site_urls", ["tenant_id", "site_id", "url"], unique=True)


def _create_page_versions() -> None:
    op.create_table(
        "page_versions",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("site_id", sa.Integer(), nullable=False),
        sa.Column("url_id", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double()),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("redactions", sa.Text()),
        sa.Column("facts", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("tenant_id", "id"),
    )
    op.create_index("page_versions_seen", "page_versions", ["tenant_id", "site_id", "url_id", "seen_at"])
    op.create_index(
        "page_versions_current",
        "page_versions",
        ["tenant_id", "site_id", "url_id"],
        unique=True,
        sqlite_where=sa.text(_IS_CURRENT),
        postgresql_where=sa.text(_IS_CURRENT),
    )


def _create_links() -> None:
    op.create_table(
        "links",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.BigInteger(), nullable=False),
        sa.Column("nofollow", sa.Integer(), nullable=False),
        sa.Column("fragment", sa.Text()),
        sa.Column("text", sa.Text()),
        sa.PrimaryKeyConstraint("tenant_id", "version_id", "position"),
        sqlite_with_rowid=False,
    )
    op.create_index("links_to", "links", ["tenant_id", "target_id", "version_id"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE SEQUENCE site_url_ids")
        op.execute("CREATE SEQUENCE page_version_ids")


def _add_versions_of_stored_pages() -> None:
    """Number all pages. Ids are unique within a tenant; numbering them over all tenants is simpler and does no harm."""
    op.execute(
        "INSERT INTO site_urls (tenant_id, id, site_id, url, long_url)"
        " SELECT sites.tenant_id, row_number() OVER (ORDER BY p.site_id, p.url), p.site_id, p.url, p.long_url"
        " FROM pages p JOIN sites ON sites.id = p.site_id"
    )
    op.execute(
        "INSERT INTO page_versions (tenant_id, id, site_id, url_id, seen_at, document, content_hash)"
        " SELECT u.tenant_id, u.id, u.site_id, u.id, pages.fetched_at, pages.document, pages.content_hash"
        " FROM site_urls u JOIN pages ON pages.site_id = u.site_id AND pages.url = u.url"
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("SELECT setval('site_url_ids', (SELECT coalesce(max(id), 0) + 1 FROM site_urls), false)")
        op.execute("SELECT setval('page_version_ids', (SELECT coalesce(max(id), 0) + 1 FROM page_versions), false)")
