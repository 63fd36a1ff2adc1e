"""The line of runs that wait. Sites take turns: a site that has queued a thousand runs waits like one that has queued one.

A run gets its round when it is made: one more than the last waiting run of its site, and no less than the round that is being
served. The line is served by round and within a round first come, first served. Both ends are found by index, so that neither
making a run nor looking for work costs more when ten thousand wait.
"""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.store.schema import runs

_RUNNING, _QUEUED = sa.text("runs.state = 'RUNNING'"), sa.text("runs.state = 'QUEUED'")  # as the indexes say it
_of_site = runs.c.site_id == sa.bindparam("site", type_=sa.Integer)
_rounds = sa.select(
    sa.select(sa.func.max(runs.c.turn)).where(_RUNNING).scalar_subquery(),
    sa.select(runs.c.turn).where(_QUEUED).order_by(runs.c.turn).limit(1).scalar_subquery(),
    sa.select(runs.c.turn).where(_QUEUED, _of_site).order_by(runs.c.turn.desc()).limit(1).scalar_subquery(),
    sa.select(sa.func.max(runs.c.turn)).where(_RUNNING, _of_site).scalar_subquery(),
)
_first_in_line = (
    sa.select(runs.c.id, runs.c.site_id, runs.c.retry_at)
    .where(_QUEUED, runs.c.site_id.not_in(sa.bindparam("passed", expanding=True)))
    .order_by(runs.c.turn, runs.c.created_at, runs.c.id)
    .limit(sa.bindparam("most", type_=sa.Integer))
)


def next_turn(conn: sa.Connection, site: int) -> int:
    """The round of a new run of this site, whose row the caller has locked."""
    served, waiting, last_of_site, served_of_site = conn.execute(_rounds, {"site": site}).one()
    now = served if served is not None else waiting or 0
    last = last_of_site if last_of_site is not None else served_of_site
    return int(now if last is None else max(now, last + 1))


def heads(conn: sa.Connection, limit: int, now: float, busy: set[int]) -> list[str]:
    """The first run of each site that is not busy, as the line is served. A site whose first run has to pause is passed over.

    Fewer than there are when a few sites fill the front of the line: the others' turns come later, and while these few run
    they are busy.
    """
    found: list[str] = []
    passed = set(busy)
    most = 2 * limit
    while True:
        rows = conn.execute(_first_in_line, {"passed": sorted(passed), "most": most}).all()
        for run, site, retry_at in rows:
            if site not in passed:
                passed.add(site)
                if retry_at is None or retry_at <= now:
                    found.append(run)
        if found or len(rows) < most:
            return found[:limit]
