"""Which runs may be worked on, and how they begin, crash and end: one RUNNING run for each site, whoever asks."""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.model.frontier import Run
from sitelore.model.ids import RunId
from sitelore.model.states import ENDED, RunState
from sitelore.store.endings_sql import finish_rows
from sitelore.store.frontier_sql import lock_runs
from sitelore.store.rows import RUN_COLUMNS, RUNS_WITH_SITES, run_of, storable
from sitelore.store.runs_sql import move_run
from sitelore.store.schema import runs, sites

_other = runs.alias("other")
_is_running = sa.text("runs.state = 'RUNNING'")  # as the index says it
_another_runs = sa.exists().where(_other.c.site_id == runs.c.site_id, sa.text("other.state = 'RUNNING'")).correlate(runs)
_is_due = sa.or_(runs.c.retry_at.is_(None), runs.c.retry_at <= sa.bindparam("now", type_=sa.Double))
_runs = sa.select(*RUN_COLUMNS).select_from(RUNS_WITH_SITES).order_by(runs.c.created_at, runs.c.id)
_running = _runs.where(_is_running)
_some = _runs.where(runs.c.id.in_(sa.bindparam("some", expanding=True)))
# The first condition is the index's own, which is in this order.
_in_line = (
    sa.select(runs.c.id, runs.c.site_id, runs.c.retry_at)
    .where(sa.text("runs.state IN ('QUEUED', 'RUNNING')"), sa.text("runs.state = 'QUEUED'"))
    .where(runs.c.site_id.not_in(sa.bindparam("passed", expanding=True)))
    .order_by(runs.c.created_at, runs.c.id)
    .limit(sa.bindparam("most", type_=sa.Integer))
)


def running_runs(conn: sa.Connection) -> list[Run]:
    """Every RUNNING run, oldest first."""
    return [run_of(row) for row in conn.execute(_running)]


def workable_runs(conn: sa.Connection, limit: int, now: float) -> list[Run]:
    """RUNNING runs, and of each site without one the first QUEUED one if its pause is over; oldest first."""
    running = running_runs(conn)
    heads = _heads(conn, limit, now, {int(run.site) for run in running})
    found = running + [run_of(row) for row in conn.execute(_some, {"some": heads})]
    return sorted(found, key=lambda run: (run.created_at, run.id))[:limit]


def _heads(conn: sa.Connection, limit: int, now: float, passed: set[int]) -> list[str]:
    """The heads of the queues of sites that are not passed over.

    One look gives as many sites as stand mixed in the queue; where one site has thousands of runs in front, the next look
    steps over them. Sorting all that wait, for each of these few, would cost a hundred times as much.
    """
    heads: list[str] = []
    for _ in range(limit):
        rows = conn.execute(_in_line, {"passed": sorted(passed), "most": 2 * limit}).all()
        for run, site, retry_at in rows:
            if site not in passed:
                passed.add(site)
                if retry_at is None or retry_at <= now:
                    heads.append(run)
        if len(rows) < 2 * limit or len(heads) >= limit:
            break
    return heads[:limit]


def begin_run(conn: sa.Connection, run: RunId, now: float) -> bool:
    """QUEUED to RUNNING if nothing else of the site runs; True when it is RUNNING now."""
    # The site's row is locked first: two workers that begin two runs of one site take turns, and the second one sees the first.
    of_run = sa.select(runs.c.site_id).where(runs.c.id == run).scalar_subquery()
    conn.execute(sa.select(sites.c.id).where(sites.c.id == of_run).with_for_update())
    begun = (
        sa.update(runs)
        .where(runs.c.id == run, runs.c.state == RunState.QUEUED.value, _is_due, ~_another_runs)
        .values(state=RunState.RUNNING.value, started_at=sa.func.coalesce(runs.c.started_at, now), retry_at=None)
    )
    if conn.execute(begun, {"now": now}).rowcount:
        return True
    return conn.scalar(sa.select(runs.c.state).where(runs.c.id == run)) == RunState.RUNNING.value


def end_run(conn: sa.Connection, run: RunId, state: RunState, now: float, error: str) -> bool:
    """Finish the rows and end the run, together."""
    if state not in ENDED:
        raise AssertionError(f"{state} is no end")
    lock_runs(conn, [run])
    moved = move_run(conn, run, state, now, error)
    if moved:
        finish_rows(conn, run)
    return moved


def crash_run(conn: sa.Connection, run: RunId, error: str, now: float, pause_s: float, attempts: int) -> RunState | None:
    """Back to QUEUED until a pause has passed, or FAILED after this many attempts; None when it was not RUNNING."""
    lock_runs(conn, [run])
    row = conn.execute(sa.select(runs.c.state, runs.c.attempts).where(runs.c.id == run)).one_or_none()
    if row is None or row.state != RunState.RUNNING.value:
        return None
    if row.attempts + 1 >= attempts:
        end_run(conn, run, RunState.FAILED, now, error)
        return RunState.FAILED
    values = {"state": RunState.QUEUED.value, "attempts": row.attempts + 1, "retry_at": now + pause_s}
    conn.execute(sa.update(runs).where(runs.c.id == run).values(error=storable(error) or "", **values))
    return RunState.QUEUED
