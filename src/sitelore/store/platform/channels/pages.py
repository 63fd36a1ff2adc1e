"""The pages of a channel: the stored pages of its site with their last visit, and URLs that were never read.

The last visit of a page is its newest row in the recent runs: those since the last one that visited the whole site.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.ids import RunId, SiteId, TenantId
from sitelore.model.platform.channels import ChannelPage, PageFacets, PageListing, PageOrder, PageStatus
from sitelore.model.search import Presence
from sitelore.model.settings import Pipeline
from sitelore.model.states import KEPT, UNCHANGED, RunState, UrlState
from sitelore.store.index.writes import drop_unsearchable
from sitelore.store.platform.schema import media_urls, page_deletions, page_media
from sitelore.store.rows import settings_of
from sitelore.store.runs.deletion import delete_unused_vectors
from sitelore.store.schema import links, page_versions, pages, runs, site_urls, sites, urls, visits
from sitelore.store.statements import PAGES_WITH_URL, insert_for

_RECENT_RUNS = 20
_FAILED = sorted(
    state.value
    for state in (UrlState.FORBIDDEN, UrlState.NOT_FOUND, UrlState.SOFT_404, UrlState.HTTP_TERMINAL, UrlState.FAILED)
)
_url = sa.func.coalesce(site_urls.c.long_url, site_urls.c.url)
_VISITED = sorted({*_FAILED, *(state.value for state in KEPT)})
_UNCHANGED = sorted(reason.value for reason in UNCHANGED)


_COLUMNS = {
    PageOrder.DEPTH: "depth",
    PageOrder.URL: "url",
    PageOrder.TITLE: "title",
    PageOrder.HTTP_STATUS: "http_status",
    PageOrder.WORDS: "word_count",
    PageOrder.CRAWLED: "last_crawled_at",
    PageOrder.CHANGED: "last_changed_at",
}


def list_pages(conn: sa.Connection, tenant: TenantId, site: SiteId, listing: PageListing) -> tuple[list[ChannelPage], int]:
    """A page of the site's pages in the order of the listing, those without a value last, and the total."""
    recent, order = _recent_runs(conn, tenant, site), _COLUMNS[listing.order]
    read = {"id", "url", order}
    read |= {"title"} if listing.text else set()
    read |= {"depth"} if listing.depth is not None else set()
    read |= {"status"} if listing.status is not None else set()
    # Sorting whole rows would take three times as long.
    every = _pages(tenant, site, recent, columns=read).subquery("every")
    condition = _contains(every, listing.text)
    if listing.depth is not None:
        condition &= every.c.depth == listing.depth
    if listing.status is not None:
        condition &= every.c.status == listing.status.value
    by: sa.ColumnElement[Any] = every.c[order]
    if listing.order is PageOrder.TITLE:  # as people sort words, and an empty title is none
        by = sa.func.nullif(sa.func.lower(by), sa.text("''"))
    ids = sa.select(every.c.id, sa.func.count().over()).where(condition)
    ids = ids.order_by(by.is_(None), by.desc() if listing.is_descending else by, every.c.url, every.c.id)
    chosen = conn.execute(ids.limit(listing.limit).offset(listing.offset)).all()
    if not chosen and listing.offset:
        return [], conn.scalar(sa.select(sa.func.count()).select_from(every).where(condition)) or 0
    if not chosen:
        return [], 0
    rows = conn.execute(_pages(tenant, site, recent, [row[0] for row in chosen]))
    by_id = {row[0]: _page_of(row) for row in rows}
    return [by_id[row[0]] for row in chosen if row[0] in by_id], chosen[0][1]


def page_facets(conn: sa.Connection, tenant: TenantId, site: SiteId, listing: PageListing) -> PageFacets:
    """The number of pages with the text: by state among those of the depth, by depth among those in the state."""
    read = {"url", "title", "status", "depth"} if listing.text else {"status", "depth"}
    every = _pages(tenant, site, _recent_runs(conn, tenant, site), columns=read).subquery("every")
    c, count = every.c, sa.func.count()
    query = sa.select(c.status, c.depth, count).where(_contains(every, listing.text)).group_by(c.status, c.depth)
    by_status: dict[PageStatus, int] = {}
    by_depth: dict[int | None, int] = {}
    for name, depth, number in conn.execute(query):
        status = PageStatus(name)
        if listing.depth in {None, depth}:
            by_status[status] = by_status.get(status, 0) + number
        if listing.status in {None, status}:
            by_depth[depth] = by_depth.get(depth, 0) + number
    return PageFacets(by_status, by_depth)


def _contains(every: sa.Subquery, text: str) -> sa.ColumnElement[bool]:
    """Whether the URL or the title contains the text."""
    if not text:
        return sa.true()
    return every.c.url.icontains(text, autoescape=True) | every.c.title.icontains(text, autoescape=True)


def find_page(conn: sa.Connection, tenant: TenantId, site: SiteId, page: int) -> ChannelPage | None:
    """The page with this id."""
    row = conn.execute(_pages(tenant, site, _recent_runs(conn, tenant, site), [page])).one_or_none()
    return None if row is None else _page_of(row)


def count_pages(conn: sa.Connection, tenant: TenantId, site: SiteId) -> dict[PageStatus, int]:
    """The number of pages in each state."""
    every = _pages(tenant, site, _recent_runs(conn, tenant, site), columns={"status"}).subquery("every")
    rows = conn.execute(sa.select(every.c.status, sa.func.count()).group_by(every.c.status))
    counts: dict[str, int] = {row[0]: row[1] for row in rows}
    return {status: counts.get(status.value, 0) for status in PageStatus}


def indexed_pages(conn: sa.Connection, tenant: TenantId, site: SiteId) -> int:
    """The number of pages in the search index."""
    return conn.scalar(sa.select(sites.c.indexed_pages).where(sites.c.tenant_id == tenant, sites.c.id == site)) or 0


def count_screenshots(conn: sa.Connection, tenant: TenantId, site: SiteId) -> int:
    """The number of pages with a screenshot."""
    of_site = sa.and_(pages.c.tenant_id == tenant, pages.c.site_id == site, pages.c.alias_of.is_(None))
    return conn.scalar(sa.select(sa.func.count()).select_from(pages).where(of_site, pages.c.screenshot.is_not(None))) or 0


def indexed_pages_of_run(conn: sa.Connection, tenant: TenantId, run: RunId) -> int:
    """The number of pages of a run whose content is in the search index."""
    of_run = sa.and_(runs.c.tenant_id == visits.c.tenant_id, runs.c.number == visits.c.run_number)
    of_page = sa.and_(
        pages.c.tenant_id == tenant, pages.c.site_id == runs.c.site_id, pages.c.url_id == visits.c.url_id,
        pages.c.indexed == visits.c.document,
    )  # fmt: skip
    query = sa.select(sa.func.count()).select_from(visits.join(runs, of_run).join(pages, of_page))
    return conn.scalar(query.where(runs.c.tenant_id == tenant, runs.c.id == run)) or 0


def delete_page(conn: sa.Connection, tenant: TenantId, site: SiteId, page: int) -> bool:
    """Delete a page with its versions, links, chunks and vectors, until a later run finds it again. False without such a page.

    Rows of earlier runs stay, as do blobs that they refer to.
    """
    this_site = sa.and_(sites.c.tenant_id == tenant, sites.c.id == site)
    conn.execute(sa.select(sites.c.id).where(this_site).with_for_update())
    if find_page(conn, tenant, site, page) is None:
        return False
    this_page = sa.and_(pages.c.tenant_id == tenant, pages.c.site_id == site, pages.c.url_id == page)
    conn.execute(sa.update(pages).where(this_page).values(presence=Presence.GONE.value))
    drop_unsearchable(conn, tenant, site)
    conn.execute(sa.delete(pages).where(this_page))
    c = page_versions.c
    of_page = sa.and_(c.tenant_id == tenant, c.site_id == site, c.url_id == page)
    versions = sa.select(c.id).where(of_page)
    conn.execute(sa.delete(links).where(links.c.tenant_id == tenant, links.c.version_id.in_(versions)))
    conn.execute(sa.delete(page_versions).where(of_page))
    conn.execute(sa.delete(page_media).where(page_media.c.tenant_id == tenant, page_media.c.page_id == page))
    delete_unused_vectors(conn, tenant)
    last_run = sa.select(sa.func.max(runs.c.id)).where(runs.c.tenant_id == tenant, runs.c.site_id == site)
    values = {"tenant_id": tenant, "site_id": site, "url_id": page, "run_id": conn.scalar(last_run) or ""}
    insert = insert_for(conn.dialect.name)(page_deletions).values(values)
    key = ["tenant_id", "site_id", "url_id"]
    conn.execute(insert.on_conflict_do_update(index_elements=key, set_={"run_id": insert.excluded.run_id}))
    return True


def _recent_runs(conn: sa.Connection, tenant: TenantId, site: SiteId) -> list[int]:
    """The numbers of the runs since the last one that completed and visited the whole site, with that one."""
    query = sa.select(runs.c.number, runs.c.state, runs.c.settings).where(runs.c.tenant_id == tenant, runs.c.site_id == site)
    recent = []
    for number, state, settings in conn.execute(query.order_by(runs.c.created_at.desc()).limit(_RECENT_RUNS)):
        recent.append(number)
        if state == RunState.COMPLETED.value:
            decoded = settings_of(settings)
            if decoded.pipeline is not Pipeline.UPDATE_DELTA or decoded.max_depth != 0:
                break
    return recent


_of_run = sa.and_(runs.c.tenant_id == urls.c.tenant_id, runs.c.number == urls.c.run_number)
_of_visit = sa.and_(
    visits.c.tenant_id == urls.c.tenant_id, visits.c.run_number == urls.c.run_number, visits.c.url_id == urls.c.url_id
)


def _is_latest_visit(tenant: TenantId, recent: Sequence[int]) -> sa.ColumnElement[bool]:
    """Whether a row of `urls` is the newest one of its URL that was visited in these runs.

    No derived table of all newest rows: SQLite would read that once for each page.
    """
    later = urls.alias("later").c
    # A difference and not a comparison, so that SQLite finds the rows by run and URL, and not by all later runs.
    is_later = sa.and_(later.url_id == urls.c.url_id, later.run_number - urls.c.run_number > 0)
    is_newest = ~sa.exists().where(_was_visited(tenant, later, recent), is_later).correlate(urls)
    return sa.and_(_was_visited(tenant, urls.c, recent), is_newest)


def _was_visited(tenant: TenantId, c: Any, recent: Sequence[int]) -> sa.ColumnElement[bool]:
    """Whether a row of `urls` was visited in one of these runs, or known to be unchanged."""
    is_unchanged = sa.and_(c.state == sa.text("'SKIPPED'"), c.skip_reason.in_(_UNCHANGED))
    is_visited = sa.and_(c.kind == sa.text("'page'"), c.seq.is_not(None), sa.or_(c.state.in_(_VISITED), is_unchanged))
    return sa.and_(c.tenant_id == tenant, c.run_number.in_(recent), is_visited)


def _pages(
    tenant: TenantId, site: SiteId, recent: Sequence[int], ids: Sequence[int] = (), columns: Collection[str] = ()
) -> sa.CompoundSelect[Any]:
    """All pages of a site, or those with these ids; all of their columns, or these."""
    parts = []
    for query in (_stored_pages(tenant, site, recent), _unread_pages(tenant, site, recent)):
        part = query.where(site_urls.c.id.in_(ids)) if ids else query
        if columns:
            chosen = [each for each in part.selected_columns if each.name in columns]
            part = part.with_only_columns(*chosen, maintain_column_froms=True)
        parts.append(part)
    return sa.union_all(*parts)


def _stored_pages(tenant: TenantId, site: SiteId, recent: Sequence[int]) -> sa.Select[Any]:
    """Pages that were read, in this or an earlier crawl."""
    p, version, u, v = pages.c, page_versions.alias("version"), urls.c, visits.c
    current = sa.and_(
        version.c.tenant_id == tenant,
        version.c.site_id == site,
        version.c.url_id == p.url_id,
        version.c.ended_at.is_(None),
    )
    first = page_versions.alias("first")
    of_first = sa.and_(first.c.tenant_id == tenant, first.c.site_id == site, first.c.url_id == p.url_id)
    first_seen = sa.select(sa.func.min(first.c.seen_at)).where(of_first).correlate(pages).scalar_subquery()
    status = sa.case(
        (p.presence == sa.text("'GONE'"), sa.literal(PageStatus.DELETED.value)),
        (u.state.in_(_FAILED), sa.literal(PageStatus.FAILED.value)),
        else_=sa.literal(PageStatus.ACTIVE.value),
    )
    read_at = sa.case((v.fetched_at > p.fetched_at, v.fetched_at), else_=p.fetched_at)
    query = sa.select(
        site_urls.c.id.label("id"), _url.label("url"), status.label("status"),
        p.title.label("title"), p.content_hash.label("content_hash"), p.word_count.label("word_count"), u.depth.label("depth"),
        v.status_code.label("http_status"), u.state.label("state"), v.error.label("error"), runs.c.id.label("run"),
        first_seen.label("first_seen_at"), read_at.label("last_crawled_at"), version.c.seen_at.label("last_changed_at"),
        p.document.label("document"), p.screenshot.label("screenshot"), p.noindex.label("noindex"),
        sa.case((p.indexed.is_not(None), 1), else_=0).label("is_indexed"), p.snapshot.label("snapshot"),
        p.content_type.label("content_type"),
    )  # fmt: skip
    latest = sa.and_(u.url_id == p.url_id, _is_latest_visit(tenant, recent))
    joined = PAGES_WITH_URL.outerjoin(version, current).outerjoin(urls, latest)
    query = query.select_from(joined.outerjoin(visits, _of_visit).outerjoin(runs, _of_run))
    return query.where(p.tenant_id == tenant, p.site_id == site, p.alias_of.is_(None), ~_is_media(tenant))


def _is_media(tenant: TenantId) -> sa.ColumnElement[bool]:
    """Whether a URL is a document that was downloaded as media: it is indexed like a page, but listed with the media."""
    c = media_urls.c
    return sa.exists().where(c.tenant_id == tenant, c.url_id == site_urls.c.id).correlate(site_urls)


def _unread_pages(tenant: TenantId, site: SiteId, recent: Sequence[int]) -> sa.Select[Any]:
    """URLs that could not be read in any crawl, unless a person has deleted them since."""
    u, v, d = urls.c, visits.c, page_deletions.c
    of_url = sa.and_(site_urls.c.tenant_id == tenant, site_urls.c.id == u.url_id)
    is_stored = sa.exists().where(pages.c.tenant_id == tenant, pages.c.site_id == site, pages.c.url_id == u.url_id)
    is_deleted = sa.exists().where(d.tenant_id == tenant, d.site_id == site, d.url_id == u.url_id, d.run_id >= runs.c.id)
    text, number = sa.cast(sa.null(), sa.Text), sa.cast(sa.null(), sa.Double)
    empty, zero = sa.literal(""), sa.literal(0)
    query = sa.select(
        site_urls.c.id.label("id"), _url.label("url"), sa.literal(PageStatus.FAILED.value).label("status"),
        empty.label("title"), empty.label("content_hash"), zero.label("word_count"), u.depth.label("depth"),
        v.status_code.label("http_status"), u.state.label("state"), v.error.label("error"), runs.c.id.label("run"),
        number.label("first_seen_at"), v.fetched_at.label("last_crawled_at"), number.label("last_changed_at"),
        text.label("document"), text.label("screenshot"), zero.label("noindex"), zero.label("is_indexed"),
        text.label("snapshot"), text.label("content_type"),
    )  # fmt: skip
    query = query.select_from(urls.join(site_urls, of_url).join(runs, _of_run).outerjoin(visits, _of_visit))
    return query.where(_is_latest_visit(tenant, recent), u.state.in_(_FAILED), ~is_stored, ~is_deleted)


def _page_of(row: Any) -> ChannelPage:
    (page, url, status, title, content_hash, word_count, depth, http_status, state, error, run, first_seen_at, last_crawled_at,
     last_changed_at, document, screenshot, noindex, is_indexed, snapshot, content_type) = row  # fmt: skip
    return ChannelPage(
        page, url, PageStatus(status), title, content_hash, word_count, depth, http_status,
        None if state is None else UrlState(state), error or "", run, first_seen_at, last_crawled_at, last_changed_at, document,
        screenshot, bool(noindex), bool(is_indexed), snapshot, content_type or "",
    )  # fmt: skip
