"""Lists with totals, and runs that are made once per key: what the API asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import Offer, Run, UrlRow
from sitelore.model.ids import DEFAULT_TENANT, RunId
from sitelore.model.listing import Edge, IdempotencyKey, IdempotentRun, RunListing, UrlListing, UrlOrder
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store.rows import ROW_COLUMNS, RUN_COLUMNS, RUNS_WITH_SITES, run_of, url_row
from sitelore.store.runs_sql import create_run, find_run
from sitelore.store.schema import once_keys, runs, sites, urls
from sitelore.store.statements import insert_for

EDGES_PER_PAGE = 2_000
KEY_LASTS_S = 86_400.0
"""How long a key is remembered: a day outlasts every retry of a client."""

_ORDERS: dict[UrlOrder, sa.ColumnElement[Any]] = {
    UrlOrder.ID: urls.c.seq,
    UrlOrder.VISITED_AT: urls.c.fetched_at,
    UrlOrder.UPDATED_AT: urls.c.fetched_at,
    UrlOrder.DEPTH: urls.c.depth,
}


def list_rows(conn: sa.Connection, run: RunId, listing: UrlListing) -> tuple[list[UrlRow], int]:
    """A page of a run's URLs, and how many there are in all. Sitemaps are no URLs of the run."""
    wanted: sa.ColumnElement[bool] = sa.and_(urls.c.run_id == run, urls.c.kind == sa.text("'page'"))
    if listing.states:
        wanted &= urls.c.state.in_(sorted(state.value for state in listing.states))
    total = conn.scalar(sa.select(sa.func.count()).select_from(urls).where(wanted)) or 0
    if listing.offset >= total:
        return [], total
    by_key = urls.c.url.desc() if listing.descending else urls.c.url
    order: tuple[sa.ColumnElement[Any], ...] = (by_key,)
    if listing.order in _ORDERS:
        column = _ORDERS[listing.order]
        # Both databases put NULL elsewhere unless told.
        order = (column.is_(None), column.desc() if listing.descending else column, by_key)
    query = sa.select(*ROW_COLUMNS).where(wanted).order_by(*order).limit(listing.limit).offset(listing.offset)
    return [url_row(row) for row in conn.execute(query)], total


def edges_after(conn: sa.Connection, run: RunId, after: str) -> list[tuple[str, Edge]]:
    """The next edges in key order with their keys; fewer than `EDGES_PER_PAGE` when these are the last."""
    c = urls.c
    query = sa.select(c.url, c.long_url, c.parent, c.state, c.depth).where(c.run_id == run, c.url > after)
    query = query.where(c.parent.is_not(None), c.kind == sa.text("'page'")).order_by(c.url).limit(EDGES_PER_PAGE)
    return [
        (key, Edge(Url.trusted(parent), Url.trusted(long_url or key), UrlState(state), depth))
        for key, long_url, parent, state, depth in conn.execute(query)
    ]


def list_runs(conn: sa.Connection, listing: RunListing) -> tuple[list[Run], int]:
    """A page of the runs, newest first unless asked otherwise, and how many there are in all."""
    wanted: sa.ColumnElement[bool] = sa.true()
    if listing.states:
        wanted &= runs.c.state.in_(sorted(state.value for state in listing.states))
    if listing.site:
        wanted &= runs.c.site_id.in_(sa.select(sites.c.id).where(sites.c.name == listing.site))
    if listing.tenant is not None:
        wanted &= runs.c.site_id.in_(sa.select(sites.c.id).where(sites.c.tenant == listing.tenant))
    total = conn.scalar(sa.select(sa.func.count()).select_from(runs).where(wanted)) or 0
    order = (runs.c.created_at, runs.c.id) if listing.oldest_first else (runs.c.created_at.desc(), runs.c.id.desc())
    query = sa.select(*RUN_COLUMNS).select_from(RUNS_WITH_SITES).where(wanted).order_by(*order)
    return [run_of(row) for row in conn.execute(query.limit(listing.limit).offset(listing.offset))], total


def runs_by_state(conn: sa.Connection) -> dict[str, int]:
    """How many runs stand where."""
    return {row[0]: row[1] for row in conn.execute(sa.select(runs.c.state, sa.func.count()).group_by(runs.c.state))}


def create_run_once(
    conn: sa.Connection,
    once: IdempotencyKey,
    site: str,
    settings: CrawlSettings,
    offers: Sequence[Offer],
    now: float,
    tenant: str = DEFAULT_TENANT,
) -> IdempotentRun:
    """The run made under this key before, or a new one. Two calls at once: the second waits and gets the first one's run."""
    conn.execute(sa.delete(once_keys).where(once_keys.c.created_at < now - KEY_LASTS_S))
    values = {"key": once.key, "fingerprint": once.fingerprint, "run_id": "", "created_at": now}
    insert = insert_for(conn.dialect.name)(once_keys).values(values).on_conflict_do_nothing(index_elements=["key"])
    this = once_keys.c.key == once.key
    if conn.execute(insert).rowcount:
        run = create_run(conn, site, settings, offers, now, tenant)
        conn.execute(sa.update(once_keys).where(this).values(run_id=run.id))
        return IdempotentRun(run, once.fingerprint, is_new=True)
    stands = conn.execute(sa.select(once_keys.c.run_id, once_keys.c.fingerprint).where(this)).one()
    found = find_run(conn, stands.run_id)
    if found is None:
        raise AssertionError(f"run {stands.run_id} has a key and is not there")
    return IdempotentRun(found, stands.fingerprint, is_new=False)
