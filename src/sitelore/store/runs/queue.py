"""The run queue. Runs are scheduled round-robin by site: a site with a thousand queued runs waits no less than a site with one.

A run gets its queue round (the column `turn`) when it is created: one more than the last queued run of its site, and at least
the round that is being served. The queue is served by round, and first come, first served within a round. Both ends are found
by index, so neither creating a run nor looking for work gets slower when ten thousand runs wait.
"""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.store.schema import runs

_RUNNING, _QUEUED = sa.text("runs.state = 'RUNNING'"), sa.text("runs.state = 'QUEUED'")  # spelled as in the partial indexes
_of_site = runs.c.site_id == sa.bindparam("site", type_=sa.Integer)
_rounds = sa.select(
    sa.select(sa.func.max(runs.c.turn)).where(_RUNNING).scalar_subquery(),
    sa.select(runs.c.turn).where(_QUEUED).order_by(runs.c.turn).limit(1).scalar_subquery(),
    sa.select(runs.c.turn).where(_QUEUED, _of_site).order_by(runs.c.turn.desc()).limit(1).scalar_subquery(),
    sa.select(sa.func.max(runs.c.turn)).where(_RUNNING, _of_site).scalar_subquery(),
)
_front_of_queue = (
    sa.select(runs.c.id, runs.c.site_id, runs.c.retry_at)
    .where(_QUEUED, runs.c.site_id.not_in(sa.bindparam("excluded_sites", expanding=True)))
    .order_by(runs.c.turn, runs.c.created_at, runs.c.id)
    .limit(sa.bindparam("max_rows", type_=sa.Integer))
)


def next_round(conn: sa.Connection, site: int) -> int:
    """The queue round of a new run of this site. The caller has locked the site's row."""
    running, queued, last_queued_of_site, running_of_site = conn.execute(_rounds, {"site": site}).one()
    current = running if running is not None else queued or 0
    last = last_queued_of_site if last_queued_of_site is not None else running_of_site
    return int(current if last is None else max(current, last + 1))


def first_queued_runs(conn: sa.Connection, limit: int, now: float, busy_sites: set[int]) -> list[str]:
    """Ids of the first queued run of each site that is not busy, in queue order, except runs that have to pause.

    Sites behind the front of the queue may be missing when a few sites fill it: they follow once these few are busy.
    """
    run_ids: list[str] = []
    excluded = set(busy_sites)
    max_rows = 2 * limit
    while True:
        rows = conn.execute(_front_of_queue, {"excluded_sites": sorted(excluded), "max_rows": max_rows}).all()
        for run, site, retry_at in rows:
            if site not in excluded:
                excluded.add(site)
                if retry_at is None or retry_at <= now:
                    run_ids.append(run)
        if run_ids or len(rows) < max_rows:
            return run_ids[:limit]
