"""What changed on a site in a period: pages with a new version, and pages that went away."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from sitelore.model.changes import ChangedVersion, GonePage
from sitelore.model.ids import SiteId, TenantId
from sitelore.model.url import Url
from sitelore.store.schema import page_versions, pages, site_urls
from sitelore.store.statements import BATCH, OF_SITE, PAGES_WITH_URL, SITE, TENANT, select_in_batches

_of_url = sa.and_(site_urls.c.tenant_id == page_versions.c.tenant_id, site_urls.c.id == page_versions.c.url_id)
_VERSION = (page_versions.c.url_id, page_versions.c.seen_at, page_versions.c.document, page_versions.c.content_hash)
_earlier = (
    sa.select(*_VERSION)
    .where(page_versions.c.tenant_id == TENANT, page_versions.c.site_id == SITE, page_versions.c.url_id.in_(BATCH))
    .where(page_versions.c.seen_at <= sa.bindparam("since", type_=sa.Double))
    .order_by(page_versions.c.seen_at)
)


def changed_versions(conn: sa.Connection, tenant: TenantId, site: SiteId, since: float, until: float) -> list[ChangedVersion]:
    """Pages whose content at the end of the period differs from that before it, by URL. New pages have none before."""
    c = page_versions.c
    query = sa.select(*_VERSION, site_urls.c.url, site_urls.c.long_url).select_from(page_versions.join(site_urls, _of_url))
    query = query.where(c.tenant_id == tenant, site_urls.c.tenant_id == tenant, c.site_id == site)
    query = query.where(c.seen_at > since, c.seen_at <= until)
    latest: dict[int, Any] = {row.url_id: row for row in conn.execute(query.order_by(c.seen_at))}
    rows = select_in_batches(conn, _earlier, latest, tenant=tenant, site=site, since=since)
    before = {row.url_id: row for row in rows}
    changed = [
        ChangedVersion(
            Url.trusted(row.long_url or row.url), row.seen_at, row.document, row.content_hash,
            before[url_id].document if url_id in before else None,
        )
        for url_id, row in latest.items()
        if url_id not in before or before[url_id].content_hash != row.content_hash
    ]  # fmt: skip
    return sorted(changed, key=lambda change: change.url)


_target = site_urls.alias("target_url")
_gone = (
    sa.select(
        *site_urls.c["url", "long_url"], *pages.c["presence_at", "content_hash", "evidence"],
        sa.func.coalesce(_target.c.long_url, _target.c.url).label("target"),
    )
    .select_from(PAGES_WITH_URL.outerjoin(_target, sa.and_(_target.c.tenant_id == TENANT, _target.c.id == pages.c.alias_of)))
    .where(OF_SITE, sa.text("presence = 'GONE'"))
    .order_by(site_urls.c.url)
)  # fmt: skip


def gone_pages(conn: sa.Connection, tenant: TenantId, site: SiteId, since: float, until: float) -> list[GonePage]:
    """Pages that were found to be gone in the period, by URL."""
    gone = _gone.where(pages.c.presence_at > since, pages.c.presence_at <= until)
    return [
        GonePage(
            Url.trusted(row.long_url or row.url), row.presence_at, row.content_hash,
            Url.trusted(row.target) if row.target else None, row.evidence or "",
        )
        for row in conn.execute(gone, {"tenant": tenant, "site": site})
    ]  # fmt: skip
