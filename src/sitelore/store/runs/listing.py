"""Lists with totals for the API, and runs created under an idempotency key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import (
    Edge,
    FoundUrl,
    HostProgress,
    IdempotencyKey,
    IdempotentRun,
    Offer,
    PageAlias,
    PageNeighbours,
    RowKind,
    Run,
    RunListing,
    RunOrder,
    UrlFacets,
    UrlListing,
    UrlOrder,
    UrlRow,
)
from sitelore.model.ids import RunId, TenantId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import Proof, SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.store.pages.site_urls import FEW_ROWS, find_url_id, in_url_order
from sitelore.store.rows import ROW_COLUMNS, RUN_COLUMNS, RUNS_WITH_SITES, WHOLE_ROWS, is_kept, run_of, url_row
from sitelore.store.runs.counts import ERROR_CODE_CHARS, counts, error_code
from sitelore.store.runs.lifecycle import create_run, find_run
from sitelore.store.schema import idempotency_keys, key_of, runs, site_urls, sites, urls, visits
from sitelore.store.statements import BATCH, OF_RUN, OF_VISIT, SITE_OF_RUN, TENANT, WITH_URL, insert_for, select_in_batches

EDGES_PER_PAGE = 2_000
IDEMPOTENCY_KEY_TTL_S = 86_400.0
"""A day outlasts every retry of a client."""

# As people sort words, and an empty title is none.
_TITLE = sa.func.nullif(sa.func.lower(visits.c.title), sa.text("''"))
_ORDER_COLUMNS: dict[UrlOrder, sa.ColumnElement[Any]] = {
    UrlOrder.ID: urls.c.seq,
    UrlOrder.VISITED_AT: visits.c.fetched_at,
    UrlOrder.UPDATED_AT: visits.c.fetched_at,
    UrlOrder.DEPTH: urls.c.depth,
    UrlOrder.TITLE: _TITLE,
}
_FILTERED_ROWS = WITH_URL.outerjoin(visits, OF_VISIT)
_RUN_ORDER_COLUMNS: dict[RunOrder, sa.ColumnElement[Any]] = {
    RunOrder.CREATED_AT: runs.c.created_at,
    RunOrder.FINISHED_AT: runs.c.finished_at,
    RunOrder.DURATION: runs.c.finished_at - runs.c.started_at,
    RunOrder.SITE: sites.c.name,
}


def list_run_urls(conn: sa.Connection, tenant: TenantId, run: RunId, listing: UrlListing) -> tuple[list[UrlRow], int]:
    """A page of a run's URLs, and the total number. Sitemaps are not included."""
    condition = _of_run(conn, listing.text)
    if listing.states:
        condition &= urls.c.state.in_(sorted(state.value for state in listing.states))
    if listing.skip_reasons:
        condition &= urls.c.skip_reason.in_(sorted(reason.value for reason in listing.skip_reasons))
        condition &= urls.c.state == UrlState.SKIPPED.value
    if listing.error:
        error = visits.c.error
        condition &= (error == listing.error) | error.startswith(f"{listing.error}:", autoescape=True)
        condition &= urls.c.state != UrlState.ALIAS.value  # an alias repeats the error of its target
    values = {"tenant": tenant, "run": run}
    ids_and_total = _searched_ids if listing.text or listing.error else _listed_ids
    chosen, total = ids_and_total(conn, condition, listing, values)
    query = sa.select(urls.c.url_id, *ROW_COLUMNS).select_from(WHOLE_ROWS).where(OF_RUN, urls.c.url_id.in_(BATCH))
    rows = {row[0]: url_row(run, row[1:]) for row in select_in_batches(conn, query, chosen, **values)}
    return [rows[url_id] for url_id in chosen if url_id in rows], total


def _listed_ids(
    conn: sa.Connection, condition: sa.ColumnElement[bool], listing: UrlListing, values: dict[str, Any]
) -> tuple[Sequence[int], int]:
    """The ids of a page of a list, and the total."""
    total = conn.scalar(sa.select(sa.func.count()).select_from(urls).where(condition), values) or 0
    if listing.offset >= total:
        return [], total
    ids = _sorted_ids(condition, listing, total).limit(listing.limit).offset(listing.offset)
    return conn.scalars(ids, values).all(), total


def _searched_ids(
    conn: sa.Connection, condition: sa.ColumnElement[bool], listing: UrlListing, values: dict[str, Any]
) -> tuple[Sequence[int], int]:
    """`_listed_ids` in one query, because this condition reads the texts of all rows."""
    ids = _sorted_ids(condition, listing, 0).add_columns(sa.func.count().over()).limit(listing.limit).offset(listing.offset)
    rows = conn.execute(ids, values).all()
    if not rows and listing.offset:
        return [], conn.scalar(sa.select(sa.func.count()).select_from(_FILTERED_ROWS).where(condition), values) or 0
    return [row[0] for row in rows], rows[0][1] if rows else 0


def _sorted_ids(condition: sa.ColumnElement[bool], listing: UrlListing, total: int) -> sa.Select[Any]:
    """The ids of the URLs of a list in its order. Sorting whole rows, which join five tables, would take ten times as long."""
    if listing.order not in _ORDER_COLUMNS:
        if total > FEW_ROWS:  # see `in_url_order`
            condition &= sa.and_(site_urls.c.tenant_id == TENANT, site_urls.c.site_id == SITE_OF_RUN)
        by_key = site_urls.c.url.desc() if listing.descending else site_urls.c.url
        source: sa.FromClause = _FILTERED_ROWS if listing.text or listing.error else WITH_URL
        return sa.select(urls.c.url_id).select_from(source).where(condition).order_by(by_key)
    column = _ORDER_COLUMNS[listing.order]
    has_visits = listing.error or (column is not urls.c.seq and column is not urls.c.depth)
    source = _FILTERED_ROWS if listing.text else urls.outerjoin(visits, OF_VISIT) if has_visits else urls
    query = sa.select(urls.c.url_id).select_from(source).where(condition)
    by_column = (column, urls.c.url_id)
    # The two databases sort NULL differently by default.
    return query.order_by(column.is_(None), *(each.desc() if listing.descending else each for each in by_column))


_parent = site_urls.alias("parent_url")
_edges = (
    sa.select(
        site_urls.c.url,
        site_urls.c.long_url,
        sa.func.coalesce(_parent.c.long_url, _parent.c.url),
        urls.c.state,
        urls.c.depth,
        visits.c.content_type,
    )
    .select_from(_FILTERED_ROWS.outerjoin(_parent, sa.and_(_parent.c.tenant_id == TENANT, _parent.c.id == urls.c.parent)))
    .where(OF_RUN, urls.c.parent.is_not(None), urls.c.kind == sa.text("'page'"))
)


def url_facets(conn: sa.Connection, tenant: TenantId, run: RunId, listing: UrlListing) -> UrlFacets:
    """Counts of a run's URLs that pass the other filters of a list, by state, by skip reason and by cause of error."""
    if listing.is_unfiltered:
        kept = counts(conn, tenant, run)
        return UrlFacets(kept.states, kept.skipped, kept.errors)
    cause = sa.func.substr(visits.c.error, 1, ERROR_CODE_CHARS)
    groups = (urls.c.state, urls.c.skip_reason, cause)
    source = _FILTERED_ROWS if listing.text else urls.outerjoin(visits, OF_VISIT)
    query = sa.select(*groups, sa.func.count()).select_from(source).where(_of_run(conn, listing.text)).group_by(*groups)
    states, skipped, errors = Counter[str](), Counter[str](), Counter[str]()
    for state, reason, error, count in conn.execute(query, {"tenant": tenant, "run": run}):
        skip_reason = reason if state == UrlState.SKIPPED.value else None
        code = error_code(error) if error is not None and state != UrlState.ALIAS.value else None
        in_state = not listing.states or state in listing.states
        in_reason = not listing.skip_reasons or skip_reason in listing.skip_reasons
        in_error = not listing.error or code == listing.error
        if in_reason and in_error:
            states[state] += count
        if skip_reason is not None and in_state and in_error:
            skipped[skip_reason] += count
        if code is not None and in_state and in_reason:
            errors[code] += count
    return UrlFacets(dict(states), dict(skipped), dict(errors))


def _of_run(conn: sa.Connection, text: str) -> sa.ColumnElement[bool]:
    """The pages of the run `RUN` whose URL or title contains the text."""
    condition: sa.ColumnElement[bool] = sa.and_(OF_RUN, urls.c.kind == sa.text("'page'"))
    if text:
        columns = (sa.func.coalesce(site_urls.c.long_url, site_urls.c.url), visits.c.title)
        # LIKE ignores the case of ASCII letters in SQLite, as lower() does, which would copy every URL and title.
        is_sqlite = conn.dialect.name == "sqlite"
        matches = (
            each.contains(text, autoescape=True) if is_sqlite else each.icontains(text, autoescape=True) for each in columns
        )
        condition &= sa.or_(*matches)
    return condition


_found_urls = (
    sa.select(
        urls.c.url_id,
        urls.c.parent,
        sa.func.coalesce(site_urls.c.long_url, site_urls.c.url),
        urls.c.state,
        urls.c.depth,
        visits.c.content_type,
        urls.c.kind,
    )
    .select_from(_FILTERED_ROWS)
    .where(OF_RUN, urls.c.kind.in_([RowKind.PAGE.value, RowKind.SITEMAP.value]))
    .order_by(urls.c.depth, urls.c.parent_seq, urls.c.position, urls.c.url_id)
)


def found_urls(conn: sa.Connection, tenant: TenantId, run: RunId, limit: int) -> list[FoundUrl]:
    """The URLs and sitemaps of a run in the order in which they were found, each after its parent if that is a page."""
    return [
        FoundUrl(url_id, parent, url, state, depth, _media_type(content_type), kind == RowKind.SITEMAP.value)
        for url_id, parent, url, state, depth, content_type, kind in conn.execute(
            _found_urls.limit(limit), {"tenant": tenant, "run": run}
        )
    ]


def links_after(conn: sa.Connection, tenant: TenantId, run: RunId, after: str) -> list[tuple[str, Edge]]:
    """The next edges in key order with their keys; fewer than `EDGES_PER_PAGE` when these are the last."""
    rows = in_url_order(conn, _edges, SITE_OF_RUN, {"tenant": tenant, "run": run}, after, EDGES_PER_PAGE)
    return [
        (key, Edge(Url.trusted(parent), Url.trusted(long_url or key), UrlState(state), depth, _media_type(content_type)))
        for key, long_url, parent, state, depth, content_type in rows
    ]


def _media_type(content_type: str | None) -> str:
    return (content_type or "").partition(";")[0].strip().lower()


def page_neighbours(conn: sa.Connection, tenant: TenantId, run: RunId, url: Url) -> PageNeighbours:
    """The pages of a run before and after a page in the order of admission; none when the URL was not admitted."""
    values: dict[str, Any] = {"tenant": tenant, "run": run}
    url_id = find_url_id(conn, tenant, conn.scalar(sa.select(SITE_OF_RUN), values), url)
    seq = conn.scalar(sa.select(urls.c.seq).where(OF_RUN, urls.c.url_id == url_id), values)
    if seq is None:
        return PageNeighbours()
    kept = sa.select(site_urls.c.url, site_urls.c.long_url).select_from(WITH_URL).where(OF_RUN, is_kept())
    before = conn.execute(kept.where(urls.c.seq < seq).order_by(urls.c.seq.desc()).limit(1), values).one_or_none()
    after = conn.execute(kept.where(urls.c.seq > seq).order_by(urls.c.seq).limit(1), values).one_or_none()
    return PageNeighbours(*(None if row is None else Url.trusted(row.long_url or row.url) for row in (before, after)))


def page_aliases(conn: sa.Connection, tenant: TenantId, run: RunId, url: Url, limit: int) -> list[PageAlias]:
    """The URLs of a run that lead to a page, by URL."""
    values: dict[str, Any] = {"tenant": tenant, "run": run}
    url_id = find_url_id(conn, tenant, conn.scalar(sa.select(SITE_OF_RUN), values), url)
    if url_id is None:
        return []
    query = sa.select(site_urls.c.url, site_urls.c.long_url, urls.c.state, urls.c.proof).select_from(WITH_URL)
    query = query.where(OF_RUN, urls.c.alias_of == url_id, urls.c.url_id != url_id).order_by(site_urls.c.url).limit(limit)
    return [
        PageAlias(Url.trusted(row.long_url or row.url), UrlState(row.state), Proof(row.proof) if row.proof else None)
        for row in conn.execute(query, values)
    ]


def host_progress(conn: sa.Connection, tenant: TenantId, run: RunId, limit: int) -> list[HostProgress]:
    """The hosts of a run with their URLs by state, those with most URLs first."""
    is_page = sa.and_(OF_RUN, urls.c.kind == sa.text("'page'"), urls.c.skip_reason.is_distinct_from(SkipReason.SCOPE.value))
    retry_at = sa.func.min(sa.case((urls.c.state == UrlState.QUEUED.value, urls.c.retry_at)))
    durations = (sa.func.sum(visits.c.elapsed_s), sa.func.count(visits.c.elapsed_s))
    query = sa.select(urls.c.host, urls.c.state, sa.func.count(), retry_at, *durations)
    query = query.select_from(urls.outerjoin(visits, OF_VISIT)).where(is_page).group_by(urls.c.host, urls.c.state)
    hosts: dict[str, list[Any]] = {}
    for host, *row in conn.execute(query, {"tenant": tenant, "run": run}):
        hosts.setdefault(host, []).append(row)
    progress = [_host(host, rows) for host, rows in hosts.items()]
    return sorted(progress, key=lambda each: (-sum(each.states.values()), each.host))[:limit]


def _host(host: str, rows: Sequence[Sequence[Any]]) -> HostProgress:
    retries = [retry_at for _, _, retry_at, _, _ in rows if retry_at is not None]
    measured = sum(count for *_, count in rows)
    total_s = sum(elapsed_s or 0.0 for _, _, _, elapsed_s, _ in rows)
    states = {state: count for state, count, *_ in rows}
    return HostProgress(host, states, min(retries, default=None), total_s / measured if measured else None)


def list_runs(conn: sa.Connection, tenant: TenantId, listing: RunListing) -> tuple[list[Run], int]:
    """A page of the runs, newest first by default, and the total number."""
    condition: sa.ColumnElement[bool] = runs.c.tenant_id == tenant
    if listing.states:
        condition &= runs.c.state.in_(sorted(state.value for state in listing.states))
    if listing.site:
        of_name = sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.name == listing.site)
        condition &= runs.c.site_id.in_(of_name)
    if listing.text:
        condition &= _of_sites_with(tenant, listing.text)
    if listing.page is not None:
        condition &= _has_page(tenant, listing.page)
    total = conn.scalar(sa.select(sa.func.count()).select_from(runs).where(condition)) or 0
    column = _RUN_ORDER_COLUMNS[listing.order]
    by_value = (column, runs.c.created_at, runs.c.id)
    order = (column.is_(None), *(each if listing.oldest_first else each.desc() for each in by_value))
    query = sa.select(*RUN_COLUMNS).select_from(RUNS_WITH_SITES).where(condition).order_by(*order)
    return [run_of(row) for row in conn.execute(query.limit(listing.limit).offset(listing.offset))], total


def count_runs(conn: sa.Connection, tenant: TenantId, text: str = "") -> dict[str, int]:
    """The number of the tenant's runs in each state, of sites whose name contains the text."""
    query = sa.select(runs.c.state, sa.func.count()).where(runs.c.tenant_id == tenant).group_by(runs.c.state)
    if text:
        query = query.where(_of_sites_with(tenant, text))
    return {row[0]: row[1] for row in conn.execute(query)}


def _of_sites_with(tenant: TenantId, text: str) -> sa.ColumnElement[bool]:
    """Runs of sites whose name contains the text."""
    named = sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.name.icontains(text, autoescape=True))
    return runs.c.site_id.in_(named)


def _has_page(tenant: TenantId, url: Url) -> sa.ColumnElement[bool]:
    """Runs with this page."""
    of_site = sa.and_(site_urls.c.tenant_id == tenant, site_urls.c.site_id == runs.c.site_id, site_urls.c.url == key_of(url))
    of_run = sa.and_(urls.c.tenant_id == tenant, urls.c.run_number == runs.c.number, urls.c.url_id == site_urls.c.id)
    return sa.exists().where(of_site, of_run, is_kept()).correlate(runs)


def create_run_once(
    conn: sa.Connection,
    tenant: TenantId,
    key: IdempotencyKey,
    site: str,
    settings: CrawlSettings,
    offers: Sequence[Offer],
    now: float,
) -> IdempotentRun:
    """The run created under this idempotency key, or a new one."""
    created = create_under_key(conn, tenant, key, now, lambda: create_run(conn, tenant, site, settings, offers, now))
    assert created is not None  # a run can always be created
    return created


def create_under_key(
    conn: sa.Connection, tenant: TenantId, key: IdempotencyKey, now: float, create: Callable[[], Run | None]
) -> IdempotentRun | None:
    """The run created under this idempotency key, or the one that `create` gives. A second concurrent call waits and gets the
    same run. None, and the key stays free, when no run could be created.
    """
    c = idempotency_keys.c
    conn.execute(sa.delete(idempotency_keys).where(c.tenant_id == tenant, c.created_at < now - IDEMPOTENCY_KEY_TTL_S))
    values = {"tenant_id": tenant, "key": key.key, "fingerprint": key.fingerprint, "run_id": "", "created_at": now}
    insert = insert_for(conn.dialect.name)(idempotency_keys).values(values)
    this_key = sa.and_(c.tenant_id == tenant, c.key == key.key)
    if conn.execute(insert.on_conflict_do_nothing(index_elements=["tenant_id", "key"])).rowcount:
        run = create()
        if run is None:
            conn.execute(sa.delete(idempotency_keys).where(this_key))
            return None
        conn.execute(sa.update(idempotency_keys).where(this_key).values(run_id=run.id))
        return IdempotentRun(run, key.fingerprint, is_new=True)
    stored = conn.execute(sa.select(c.run_id, c.fingerprint).where(this_key)).one()
    earlier = find_run(conn, tenant, stored.run_id)
    if earlier is None:
        raise AssertionError(f"run {stored.run_id} has an idempotency key but does not exist")
    return IdempotentRun(earlier, stored.fingerprint, is_new=False)
