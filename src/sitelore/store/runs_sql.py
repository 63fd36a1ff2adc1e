"""Sites, runs, what a site knows of a URL, and robots files."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import sqlalchemy as sa

from sitelore.model.frontier import KnownPage, Offer, Run
from sitelore.model.ids import DEFAULT_TENANT, RunId, SiteId
from sitelore.model.response import RobotsFile
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import ENDED, RUN_MOVES, RunState
from sitelore.model.url import Url
from sitelore.store.frontier_sql import offer
from sitelore.store.line_sql import next_turn
from sitelore.store.rows import KNOWN_COLUMNS, RUN_COLUMNS, RUNS_WITH_SITES, encode, known_of, run_of, storable
from sitelore.store.schema import key_of, pages, robots, runs, sites
from sitelore.store.statements import insert_for


def create_run(
    conn: sa.Connection,
    site: str,
    settings: CrawlSettings,
    offers: Sequence[Offer],
    now: float,
    tenant: str = DEFAULT_TENANT,
) -> Run:
    """A new QUEUED run of the tenant's site of this name, with its first offers."""
    insert = insert_for(conn.dialect.name)
    made = insert(sites).values(name=site, tenant=tenant, created_at=now)
    conn.execute(made.on_conflict_do_nothing(index_elements=["tenant", "name"]))
    this_site = sa.and_(sites.c.tenant == tenant, sites.c.name == site)
    # Runs of one site are made one after the other: two made at once would get the same turn, and the site two in a round.
    row = sa.select(sites.c.id, sites.c.rendering).where(this_site).with_for_update(key_share=True)
    site_id, learnt = conn.execute(row).one()
    values = {
        "site_id": site_id, "state": RunState.QUEUED.value, "settings": encode(settings).decode(), "created_at": now,
        "wave": 0, "depth": 0, "next_seq": 1, "wave_seq": 1, "kept_before": 0, "joined_hosts": "[]", "error": "",
        "turn": next_turn(conn, site_id), "site_rendering": learnt,
    }  # fmt: skip
    while True:
        run = _new_id(now)
        inserted = insert(runs).values(id=run, **values).on_conflict_do_nothing(index_elements=["id"])
        if conn.execute(inserted).rowcount:
            break
    offer(conn, ((run, one) for one in offers))
    found = find_run(conn, run)
    if found is None:
        raise AssertionError(f"run {run} was inserted and is not there")
    return found


def _new_id(now: float) -> RunId:
    """Sortable by time, short enough to type."""
    return RunId(f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{os.urandom(2).hex()}")


def find_run(conn: sa.Connection, run: RunId) -> Run | None:
    """The run of this id."""
    row = conn.execute(sa.select(*RUN_COLUMNS).select_from(RUNS_WITH_SITES).where(runs.c.id == run)).one_or_none()
    return None if row is None else run_of(row)


def latest_runs(conn: sa.Connection, limit: int) -> list[Run]:
    """Runs, newest first."""
    query = sa.select(*RUN_COLUMNS).select_from(RUNS_WITH_SITES)
    query = query.order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(limit)
    return [run_of(row) for row in conn.execute(query)]


def move_run(conn: sa.Connection, run: RunId, state: RunState, now: float, error: str) -> bool:
    """Start or end a run, if its state may move there."""
    before = [before.value for before, after in RUN_MOVES.items() if state in after]
    values: dict[str, object] = {"state": state.value, "error": storable(error) or ""}
    if state is RunState.RUNNING:
        values |= {"started_at": now, "retry_at": None}
    if state in ENDED:
        values["finished_at"] = now
    return conn.execute(sa.update(runs).where(runs.c.id == run, runs.c.state.in_(before)).values(**values)).rowcount == 1


def known(conn: sa.Connection, site: SiteId, url: Url) -> KnownPage | None:
    """What earlier visits left about a URL."""
    query = sa.select(*KNOWN_COLUMNS).where(pages.c.site_id == site, pages.c.url == key_of(url))
    row = conn.execute(query).one_or_none()
    return None if row is None else known_of(row)


def save_robots(conn: sa.Connection, file: RobotsFile) -> None:
    """Remember a robots.txt as received."""
    values = {
        "origin": file.origin, "fetched_at": file.fetched_at, "status": file.status,
        "body": storable(file.body) or "", "detail": storable(file.detail) or "",
    }  # fmt: skip
    insert = insert_for(conn.dialect.name)(robots).values(values)
    conn.execute(insert.on_conflict_do_update(index_elements=["origin"], set_=values))


def find_robots(conn: sa.Connection, origin: str) -> RobotsFile | None:
    """The robots.txt last received from this origin."""
    row = conn.execute(sa.select(robots).where(robots.c.origin == origin)).one_or_none()
    return None if row is None else RobotsFile(row.origin, row.fetched_at, row.status, row.body, row.detail)
