"""Queries to the search index of a site, counted by their text. Every function is part of one transaction."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from sitelore.model.audit.findings import LoggedQuery, SearchLog
from sitelore.model.ids import CleanText, SiteId, TenantId
from sitelore.store.rows import storable
from sitelore.store.schema import search_log
from sitelore.store.statements import insert_for

MAX_QUERIES = 10_000
"""Different queries that are kept for a site; when there are more, new ones are not recorded."""

_c = search_log.c


def record_search(
    conn: sa.Connection,
    tenant: TenantId,
    site_ids: Iterable[SiteId],
    text: CleanText,
    *,
    has_results: bool,
    is_weak: bool,
    now: float,
    kept_since: float,
) -> None:
    """Count a search of these sites, and delete queries that were last made before `kept_since`."""
    query = storable(text)
    if query is None:
        return
    for site in sorted(site_ids):
        delete_searches(conn, tenant, site, kept_since)
        of_site = sa.and_(_c.tenant_id == tenant, _c.site_id == site)
        count, known = conn.execute(sa.select(sa.func.count(), sa.func.count().filter(_c.query == query)).where(of_site)).one()
        if count >= MAX_QUERIES and not known:
            continue
        new = {"searches": 1, "without_results": int(not has_results), "weak": int(is_weak)}
        insert = insert_for(conn.dialect.name)(search_log).values(
            tenant_id=tenant, site_id=site, query=query, last_at=now, **new
        )
        changes = {name: _c[name] + number for name, number in new.items()}
        key = ["tenant_id", "site_id", "query"]
        conn.execute(insert.on_conflict_do_update(index_elements=key, set_={**changes, "last_at": now}))


def delete_searches(conn: sa.Connection, tenant: TenantId, site: SiteId, before: float) -> None:
    """Delete the queries of a site that were last made before this time."""
    conn.execute(sa.delete(search_log).where(_c.tenant_id == tenant, _c.site_id == site, _c.last_at < before))


def search_log_of(conn: sa.Connection, tenant: TenantId, site: SiteId, limit: int) -> SearchLog:
    """The number of searches of a site, and the queries that most often had no good result."""
    of_site = sa.and_(_c.tenant_id == tenant, _c.site_id == site)
    total, queries = conn.execute(sa.select(sa.func.sum(_c.searches), sa.func.count()).where(of_site)).one()
    unanswered = _c.without_results + _c.weak
    query = sa.select(_c.query, _c.searches, _c.without_results, _c.weak, _c.last_at).where(of_site, unanswered > 0)
    rows = conn.execute(query.order_by(unanswered.desc(), _c.last_at.desc(), _c.query).limit(limit))
    return SearchLog(total or 0, queries, tuple(LoggedQuery(*row) for row in rows))
