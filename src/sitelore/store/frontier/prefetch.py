"""Rows of the next wave that workers fetch before they are admitted to it. Every function is part of one transaction.

What was fetched is in the memory of a worker. The table `prefetches` reserves each of these URLs for its worker, so that no
two workers fetch one page, until the worker claims the row or its lease ends.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import Candidate, KnownPage, Lease, OpenRow, PrefetchFacts, PrefetchTarget, RowKind, Source
from sitelore.model.ids import RunId, TenantId, WorkerId
from sitelore.model.states import RunState
from sitelore.model.url import Url
from sitelore.store.frontier.claims import end_reservations, known_pages, lock_runs
from sitelore.store.frontier.waves import count_pages
from sitelore.store.pages.site_urls import UrlIds
from sitelore.store.rows import hops, is_kept, pattern_of, settings_of
from sitelore.store.schema import IS_CANDIDATE, prefetches, runs, site_urls, urls
from sitelore.store.statements import (
    BATCH,
    OF_RUN,
    RUN,
    RUN_NUMBER,
    TENANT,
    WITH_URL,
    Statement,
    batches,
    execute_many,
    insert_for,
    select_in_batches,
)

_MAX_CANDIDATES = 500
"""Candidates read at a time."""

_now = sa.bindparam("now", type_=sa.Double)
_running_run = sa.select(runs).where(runs.c.tenant_id == TENANT, runs.c.id == RUN, runs.c.state == RunState.RUNNING.value)
_open_rows = (
    sa.select(urls.c.depth, urls.c.seq, urls.c.kind, urls.c.pattern, site_urls.c.url, site_urls.c.long_url)
    .select_from(WITH_URL)
    .where(OF_RUN, urls.c.state.in_(["QUEUED", "IN_PROGRESS"]), urls.c.seq.is_not(None))
    .where(urls.c.kind != sa.text("'media'"))
)
_kept_in_wave = sa.select(sa.func.count()).where(OF_RUN, is_kept(), urls.c.seq >= sa.bindparam("first_seq", type_=sa.Integer))
_is_candidate = sa.and_(OF_RUN, sa.text(IS_CANDIDATE))
_candidate_count = sa.select(sa.func.count()).where(_is_candidate)
_reserved = (
    sa.exists()
    .where(prefetches.c.tenant_id == TENANT, prefetches.c.run_number == urls.c.run_number)
    .where(prefetches.c.url_id == urls.c.url_id, prefetches.c.lease_until > _now)
    .correlate(urls)
)
_candidates = (
    sa.select(*site_urls.c["url", "long_url"], *urls.c["kind", "depth", "pattern", "source_rank", "parent_seq"], _reserved)
    .select_from(WITH_URL)
    .where(_is_candidate)
    .order_by(urls.c.depth, urls.c.source_rank, urls.c.parent_seq, urls.c.position, site_urls.c.url)
    .limit(_MAX_CANDIDATES)
)
_free_candidates = _candidates.where(~_reserved)
_bets = sa.select(sa.func.count()).where(
    prefetches.c.tenant_id == TENANT, prefetches.c.run_number == RUN_NUMBER, prefetches.c.is_bet == sa.text("1")
)
_KINDS = {kind.value: kind for kind in RowKind}


def prefetch_facts(
    conn: sa.Connection, tenant: TenantId, run: RunId, now: float, patterns: Collection[str]
) -> PrefetchFacts | None:
    """The facts from which the rows to fetch ahead are chosen; None when the run is not RUNNING."""
    key = {"tenant": tenant, "run": run}
    current = conn.execute(_running_run, key).one_or_none()
    if current is None:
        return None
    settings = settings_of(current.settings)
    has_limit = settings.max_pages is not None
    # Only a limit makes places in the order count; without one, reserved rows need not be read again.
    rows = conn.execute(_candidates if has_limit else _free_candidates, {**key, "now": now}).all()
    candidates = tuple(map(_candidate, rows))
    return PrefetchFacts(
        settings=settings,
        kept=current.pages_before_wave + (conn.scalar(_kept_in_wave, {**key, "first_seq": current.wave_first_seq}) or 0),
        open_rows=tuple(
            OpenRow(depth, seq, _KINDS[kind], pattern_of(pattern, long_url or url))
            for depth, seq, kind, pattern, url, long_url in conn.execute(_open_rows, key)
        ),
        candidates=candidates,
        candidate_count=conn.scalar(_candidate_count, key) or 0 if has_limit else 0,
        started=frozenset(candidate.url for candidate, row in zip(candidates, rows, strict=True) if row[7]),
        # What was lost counts on, so that all bets that a run loses are within the share, however often a worker is killed.
        bets=(conn.scalar(_bets, key) or 0) + current.prefetch_unused if has_limit else 0,
        pattern_yields=count_pages(conn, tenant, run, {*patterns, *(candidate.pattern for candidate in candidates)}),
    )


def _candidate(row: Sequence[Any]) -> Candidate:
    key, long_url, kind, depth, pattern, source_rank, parent_seq, _ = row
    url = Url.trusted(long_url or key)
    return Candidate(url, _KINDS[kind], depth, pattern_of(pattern, url), source_rank=source_rank, parent_seq=parent_seq)


_states = sa.select(*urls.c["url_id", "state", "source", "chain", "lastmod"]).where(OF_RUN, urls.c.url_id.in_(BATCH))
_reservations = sa.select(prefetches.c.url_id).where(
    prefetches.c.tenant_id == TENANT,
    prefetches.c.run_number == RUN_NUMBER,
    prefetches.c.url_id.in_(BATCH),
    prefetches.c.worker == sa.bindparam("worker"),
)


def start_prefetches(
    conn: sa.Connection,
    tenant: TenantId,
    run: RunId,
    worker: WorkerId,
    targets: Sequence[PrefetchTarget],
    now: float,
    lease_s: float,
) -> list[Lease]:
    """Reserve URLs for this worker. Returns a provisional lease, without seq and token, of each that is still to be admitted
    and that no other worker has reserved.
    """
    # Otherwise a row could be admitted and claimed between the two statements.
    current = lock_runs(conn, tenant, [run]).get(run)
    if current is None:
        return []
    url_ids = UrlIds(conn, tenant, current.site)
    url_ids.add(target.url for target in targets)
    by_id = {url_ids[target.url]: target for target in targets}
    rows = {row.url_id: row for row in select_in_batches(conn, _states, by_id, tenant=tenant, run=run)}
    free = [key for key in sorted(by_id) if key not in rows or rows[key].state == "DISCOVERED"]
    values = [(tenant, current.number, key, worker, now + lease_s, int(by_id[key].is_bet), now) for key in free]
    execute_many(conn, _reserve_statement, values)
    reserved = {row.url_id for row in select_in_batches(conn, _reservations, free, tenant=tenant, run=run, worker=worker)}
    known = known_pages(conn, tenant, run, reserved)
    ids = [url_id for url_id in by_id if url_id in reserved]
    return [_provisional_lease(run, by_id[url_id], rows.get(url_id), known.get(url_id)) for url_id in ids]


def _provisional_lease(run: RunId, target: PrefetchTarget, row: Any, known: KnownPage | None) -> Lease:
    source, chain, lastmod = (Source(row.source), hops(row.chain), row.lastmod) if row else (Source.LINK, (), None)
    return Lease(run, target.url, 0, target.depth, 0, target.kind, 0, source, chain, lastmod, known)


def _reserve_statement(dialect_name: str) -> Statement:
    """Reserve a URL for a worker, unless another one holds it."""
    names = ("tenant_id", "run_number", "url_id", "worker", "lease_until", "is_bet")
    insert = insert_for(dialect_name)(prefetches).values({name: sa.bindparam(name) for name in names})
    statement = insert.on_conflict_do_update(
        index_elements=["tenant_id", "run_number", "url_id"],
        set_={name: insert.excluded[name] for name in names[3:]},
        where=prefetches.c.lease_until <= _now,
    )
    return statement, (*names, "now")


def renew_prefetches(conn: sa.Connection, tenant: TenantId, run: RunId, worker: WorkerId, until: float) -> None:
    """Extend the reservations of a worker."""
    c = prefetches.c
    own = sa.update(prefetches).where(c.tenant_id == TENANT, c.run_number == RUN_NUMBER, c.worker == worker)
    conn.execute(own.values(lease_until=until), {"tenant": tenant, "run": run})


def end_prefetches(
    conn: sa.Connection, tenant: TenantId, run: RunId, worker: WorkerId, ended: Collection[Url], *, are_used: bool
) -> None:
    """End these reservations of a worker, which uses their results now or has dropped them."""
    current = lock_runs(conn, tenant, [run]).get(run)  # before the reservations, in the same order as the end of a run
    if current is None:
        return
    url_ids = UrlIds(conn, tenant, current.site)
    url_ids.add(ended)
    is_own = prefetches.c.worker == worker
    for ids in batches(sorted(url_ids[url] for url in ended)):
        end_reservations(conn, tenant, run, sa.and_(is_own, prefetches.c.url_id.in_(ids)), are_used=are_used)
