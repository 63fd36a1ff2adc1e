"""Which runs may be worked on, and how they begin, crash and end: one RUNNING run for each site, whoever asks."""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.model.frontier import Run
from sitelore.model.ids import RunId
from sitelore.model.states import ENDED, RunState
from sitelore.store.endings_sql import finish_rows
from sitelore.store.frontier_sql import lock_runs
from sitelore.store.learning_sql import learn_rendering
from sitelore.store.line_sql import heads
from sitelore.store.rows import RUN_COLUMNS, RUNS_WITH_SITES, run_of, storable
from sitelore.store.runs_sql import move_run
from sitelore.store.schema import runs, sites, urls

_other = runs.alias("other")
_is_running = sa.text("runs.state = 'RUNNING'")  # as the index says it
_another_runs = sa.exists().where(_other.c.site_id == runs.c.site_id, sa.text("other.state = 'RUNNING'")).correlate(runs)
_is_due = sa.or_(runs.c.retry_at.is_(None), runs.c.retry_at <= sa.bindparam("now", type_=sa.Double))
_runs = sa.select(*RUN_COLUMNS).select_from(RUNS_WITH_SITES).order_by(runs.c.turn, runs.c.created_at, runs.c.id)
_running = _runs.where(_is_running)
_some = _runs.where(runs.c.id.in_(sa.bindparam("some", expanding=True)))
_worked_on = (
    sa.select(urls.c.run_id)
    .distinct()
    .where(urls.c.run_id.in_(sa.bindparam("some", expanding=True)), urls.c.state == sa.text("'IN_PROGRESS'"))
    .where(urls.c.seq.is_not(None), urls.c.lease_until > sa.bindparam("now", type_=sa.Double))
)


def running_runs(conn: sa.Connection) -> list[Run]:
    """Every RUNNING run, oldest first."""
    return [run_of(row) for row in conn.execute(_running)]


def workable_runs(conn: sa.Connection, limit: int, now: float) -> list[Run]:
    """RUNNING runs that nobody works on, then of each site without a RUNNING one the first QUEUED one if its pause is over,
    then RUNNING runs that others work on: they are helped when nothing waits. Each as the line is served.
    """
    running = running_runs(conn)
    waiting = heads(conn, limit, now, {int(run.site) for run in running})
    if not waiting:
        return running[:limit]
    helped = set(conn.scalars(_worked_on, {"some": [run.id for run in running], "now": now}))
    first = [run for run in running if run.id not in helped]
    begun = [run_of(row) for row in conn.execute(_some, {"some": waiting})]
    return [*first, *begun, *(run for run in running if run.id in helped)][:limit]


def begin_run(conn: sa.Connection, run: RunId, now: float) -> bool:
    """QUEUED to RUNNING if nothing else of the site runs; True when it is RUNNING now."""
    # The site's row is locked first: two workers that begin two runs of one site take turns, and the second one sees the first.
    _lock_site(conn, run)
    begun = (
        sa.update(runs)
        .where(runs.c.id == run, runs.c.state == RunState.QUEUED.value, _is_due, ~_another_runs)
        .values(state=RunState.RUNNING.value, started_at=sa.func.coalesce(runs.c.started_at, now), retry_at=None)
    )
    if conn.execute(begun, {"now": now}).rowcount:
        return True
    return conn.scalar(sa.select(runs.c.state).where(runs.c.id == run)) == RunState.RUNNING.value


def _lock_site(conn: sa.Connection, run: RunId) -> None:
    of_run = sa.select(runs.c.site_id).where(runs.c.id == run).scalar_subquery()
    conn.execute(sa.select(sites.c.id).where(sites.c.id == of_run).with_for_update())


def end_run(conn: sa.Connection, run: RunId, state: RunState, now: float, error: str) -> bool:
    """Finish the rows and end the run, together."""
    if state not in ENDED:
        raise AssertionError(f"{state} is no end")
    _lock_site(conn, run)  # before the run, as where it begins: what it taught is written there
    lock_runs(conn, [run])
    moved = move_run(conn, run, state, now, error)
    if moved:
        finish_rows(conn, run)
        learn_rendering(conn, run)
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
