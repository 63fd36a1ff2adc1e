"""Lifecycle of runs: the queue, starts, crashes, cancellation, the leader lock and the database clock."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest
import sqlalchemy as sa
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, W1, W2, admit_all, begin, leases, link, seed, started, the_row, visited
from tests.support.workers import temporary_database

from sitelore.model.ids import DEFAULT_TENANT, RunId
from sitelore.model.states import RunState, SkipReason, UrlState
from sitelore.store.engine import PostgresEngine
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.runs.lifecycle import begin_run, crash_run, end_run, resume_run
from sitelore.store.schema import runs, sites
from sitelore.store.tenants import for_tenant

if TYPE_CHECKING:
    from sitelore.store.engine import Engine

T = TypeVar("T")


async def state_of(ledger: SqlLedger, run: RunId) -> RunState:
    stored = await ledger.run(run)
    assert stored is not None
    return stored.state


async def test_a_site_has_one_running_run_and_the_next_one_waits_for_it(ledger: SqlLedger) -> None:
    first, second = await begin(ledger, seed("a")), await begin(ledger, seed("a"))
    other = await begin(ledger, seed("a"), site="other")
    assert await ledger.begin_run(first.id, NOW)
    assert await ledger.begin_run(first.id, NOW), "a second begin changes nothing"
    assert not await ledger.begin_run(second.id, NOW)
    assert await ledger.begin_run(other.id, NOW)
    assert await ledger.end_run(first.id, RunState.COMPLETED, NOW)
    assert await ledger.begin_run(second.id, NOW + 1)
    assert not await ledger.begin_run(first.id, NOW + 1), "an ended run does not begin again"
    assert not await ledger.begin_run(RunId("none"), NOW)


async def test_of_concurrent_starts_of_runs_of_a_site_one_succeeds(database: Database) -> None:
    ledgers = [await database.ledger() for _ in range(3)]
    runs = [await begin(ledgers[0], seed("a")) for _ in range(6)]
    begun = await asyncio.gather(*(ledgers[n % 3].begin_run(run.id, NOW) for n, run in enumerate(runs)))
    assert sum(begun) == 1
    assert [run.id for run in await (await database.queue()).running_runs()] == [
        run.id for run, one in zip(runs, begun, strict=True) if one
    ]


async def test_workable_runs_are_the_first_of_each_site_and_those_that_run(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    made = {
        name: (await ledger.create_run(site, (await begin(ledger, site="spare")).settings, [seed(name)], NOW + at)).id
        for name, site, at in (("b1", "b", 1), ("a1", "a", 2), ("a2", "a", 3), ("c1", "c", 4), ("c2", "c", 5))
    }
    for run in await ledger.runs():
        if run.site_name == "spare":
            await ledger.end_run(run.id, RunState.CANCELLED, NOW)
    await ledger.begin_run(made["a1"], NOW)

    async def workable(limit: int) -> list[str]:
        names = {run: name for name, run in made.items()}
        return [names[run.id] for run in await queue.workable_runs(limit, NOW)]

    assert await workable(10) == ["a1", "b1", "c1"], "a run without workers must not wait behind runs with workers"
    assert await workable(2) == ["a1", "b1"]
    await ledger.open_wave(made["a1"], 0, admit_all)
    assert len(await ledger.claim(made["a1"], W1, 9, NOW, 60.0)) == 1
    assert await workable(10) == ["b1", "c1", "a1"], "runs with workers get more when none waits"
    await ledger.end_run(made["a1"], RunState.COMPLETED, NOW)
    assert await workable(10) == ["b1", "c1", "a2"], "the other sites have not been served in this round"


async def test_queued_runs_are_scheduled_round_robin_by_site(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    """Eighty runs of nine sites, one of which queued half of them before the others."""
    settings = (await begin(ledger, site="first")).settings
    [spare] = await ledger.runs()
    await ledger.end_run(spare.id, RunState.CANCELLED, NOW)
    requested = ["greedy"] * 40 + [f"site{number % 8}" for number in range(40)]
    made = [(site, (await ledger.create_run(site, settings, [], NOW + at)).id) for at, site in enumerate(requested)]
    order = {run: number for number, (_, run) in enumerate(made)}
    sites = {run: site for site, run in made}
    begun: list[str] = []
    while True:
        workable = await queue.workable_runs(3, NOW + 1000)
        assert len(workable) <= 3
        if not workable:
            break
        assert await ledger.begin_run(workable[0].id, NOW + 1000)
        await ledger.end_run(workable[0].id, RunState.COMPLETED, NOW + 1000)
        begun.append(workable[0].id)
    assert len(begun) == 80
    for site in set(requested):
        of_site = [order[RunId(run)] for run in begun if sites[RunId(run)] == site]
        assert of_site == sorted(of_site), f"{site}: in order of creation"
    rounds = [sites[RunId(run)] for run in begun]
    assert [len(set(rounds[n : n + 9])) for n in range(0, 45, 9)] == [9] * 5, "every site is served once in each round"
    assert set(rounds[45:]) == {"greedy"}


async def test_runs_created_concurrently_get_different_queue_rounds(database: Database) -> None:
    """A site that queues many runs at once is still served once in each round."""
    ledgers = [await database.ledger() for _ in range(4)]
    settings = (await begin(ledgers[0], site="first")).settings
    queue = await database.queue()
    [spare] = await ledgers[0].runs()
    await ledgers[0].end_run(spare.id, RunState.CANCELLED, NOW)
    requested = ["greedy"] * 24 + [f"site{number % 3}" for number in range(9)]
    made = await asyncio.gather(
        *(ledgers[at % 4].create_run(site, settings, [], NOW + at) for at, site in enumerate(requested))
    )
    sites = {run.id: run.site_name for run in made}
    served = []
    for _ in range(12):
        [head, *_] = await queue.workable_runs(1, NOW + 100)
        assert await ledgers[0].begin_run(head.id, NOW + 100)
        await ledgers[0].end_run(head.id, RunState.COMPLETED, NOW + 100)
        served.append(sites[head.id])
    assert [served.count(site) for site in ("greedy", "site0", "site1", "site2")] == [3, 3, 3, 3]


async def test_a_new_site_joins_the_current_queue_round(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    settings = (await begin(ledger, site="old")).settings
    early = [await ledger.create_run("old", settings, [], NOW + n) for n in range(1, 6)]
    for _ in range(3):
        [head] = await queue.workable_runs(1, NOW)
        await ledger.begin_run(head.id, NOW)
        await ledger.end_run(head.id, RunState.COMPLETED, NOW)
    late = [await ledger.create_run("late", settings, [], NOW + n) for n in (10, 11)]
    names = {run.id: f"{run.site_name}{number}" for runs in (early, late) for number, run in enumerate(runs)}
    served = []
    while heads := await queue.workable_runs(1, NOW):
        await ledger.begin_run(heads[0].id, NOW)
        await ledger.end_run(heads[0].id, RunState.COMPLETED, NOW)
        served.append(names[heads[0].id])
    assert served == ["old2", "late0", "old3", "late1", "old4"]


async def test_a_crashed_run_pauses_once_and_then_fails(ledger: SqlLedger, queue: SqlRunQueue) -> None:
    run, [lease] = await started(ledger, "p")
    assert await ledger.crash_run(run.id, "early", NOW, 10.0, 2) is None, "it was not running"
    await ledger.begin_run(run.id, NOW)
    assert await ledger.crash_run(run.id, "OSError: x", NOW, 10.0, 2) is RunState.QUEUED
    assert await leases(ledger, run, W2) == [], "a paused run has no claimable rows"
    assert not await ledger.begin_run(run.id, NOW + 9)
    assert await queue.workable_runs(5, NOW + 9) == []
    assert [one.id for one in await queue.workable_runs(5, NOW + 10)] == [run.id]
    assert await ledger.begin_run(run.id, NOW + 10)
    stored = await ledger.run(run.id)
    assert stored is not None
    assert (stored.attempts, stored.error, stored.started_at) == (1, "OSError: x", NOW)
    assert await ledger.settle([visited(lease, "kept")]) == [True], "active visits are not lost"
    assert await ledger.crash_run(run.id, "OSError: y", NOW + 11, 10.0, 2) is RunState.FAILED
    assert await state_of(ledger, run.id) is RunState.FAILED


async def test_an_interrupted_run_keeps_its_rows_and_continues_when_it_is_resumed(
    ledger: SqlLedger, queue: SqlRunQueue
) -> None:
    run, [lease, _] = await started(ledger, "p", "q")
    await ledger.begin_run(run.id, NOW)
    assert await ledger.move_run(run.id, RunState.INTERRUPTED, NOW + 5, "time_limit: over")
    assert await ledger.settle([visited(lease, "kept")]) == [True], "active visits are not lost"
    await ledger.release(run.id, NOW + 5, W1)
    assert await leases(ledger, run, W2) == []
    assert await queue.workable_runs(5, NOW + 6) == []
    assert not await ledger.begin_run(run.id, NOW + 6), "it waits until it is resumed"
    resumed = await ledger.resume_run(run.id, NOW + 100, 30.0)
    assert resumed is not None
    assert (resumed.state, resumed.error, resumed.settings.time_limit_s) == (RunState.QUEUED, "", 30.0)
    assert [each.id for each in await queue.workable_runs(5, NOW + 101)] == [run.id]
    assert await ledger.begin_run(run.id, NOW + 120)
    stored = await ledger.run(run.id)
    assert stored is not None
    assert (stored.started_at, stored.time_limit_from) == (NOW, NOW + 120)
    assert [lease.url.path for lease in await leases(ledger, run, W2)] == ["/q"]


async def test_resuming_a_run_whose_worker_was_killed_gives_it_its_full_time_again(ledger: SqlLedger) -> None:
    run, _ = await started(ledger, "p")
    await ledger.begin_run(run.id, NOW)
    resumed = await ledger.resume_run(run.id, NOW + 50)
    assert resumed is not None
    assert (resumed.state, resumed.started_at, resumed.time_limit_from) == (RunState.RUNNING, NOW, NOW + 50)


async def test_a_run_that_has_ended_cannot_be_resumed(ledger: SqlLedger) -> None:
    run, _ = await started(ledger, "p")
    await ledger.begin_run(run.id, NOW)
    await ledger.move_run(run.id, RunState.INTERRUPTED, NOW)
    assert await ledger.end_run(run.id, RunState.CANCELLED, NOW), "an interrupted run can be cancelled"
    assert await ledger.resume_run(run.id, NOW) is None
    assert await ledger.resume_run(RunId("none"), NOW) is None


@pytest.mark.parametrize(
    "move",
    [
        lambda conn, run: begin_run(conn, DEFAULT_TENANT, run, NOW),
        lambda conn, run: end_run(conn, DEFAULT_TENANT, run, RunState.COMPLETED, NOW),
        lambda conn, run: crash_run(conn, DEFAULT_TENANT, run, "x", NOW, 10.0, 2),
        lambda conn, run: crash_run(conn, DEFAULT_TENANT, run, "x", NOW, 10.0, 1),
        lambda conn, run: resume_run(conn, DEFAULT_TENANT, run, NOW),
    ],
    ids=["begin", "end", "crash", "last crash", "resume"],
)
async def test_the_site_is_locked_before_the_run(database: Database, move: Callable[[sa.Connection, RunId], object]) -> None:
    """Two transactions that lock them in opposite orders deadlock."""
    engine = await database.engine()
    run, _ = await started(SqlLedger(engine, DEFAULT_TENANT), "p")
    await engine.write(for_tenant, begin_run, DEFAULT_TENANT, run.id, NOW)

    def locked_tables(conn: sa.Connection) -> list[str]:
        statements: list[str] = []
        sa.event.listen(conn, "before_cursor_execute", lambda _conn, _cursor, text, *_: statements.append(text))
        move(conn, run.id)
        selected = [match[1] for text in statements if (match := re.match(r"SELECT [^()]*?\sFROM (sites|runs)\b", text))]
        return list(dict.fromkeys(selected))

    assert (await engine.write(locked_tables))[0] == "sites"


async def test_a_cancelled_run_leases_nothing_and_its_rows_have_a_reason(ledger: SqlLedger) -> None:
    run, [lease, _] = await started(ledger, "p", "q")
    await ledger.begin_run(run.id, NOW)
    await ledger.settle([visited(lease, "kept", [link("later", lease)])])
    await ledger.release(run.id, NOW, W1)
    [late] = await leases(ledger, run, W2)
    assert await ledger.end_run(run.id, RunState.CANCELLED, NOW)
    assert not await ledger.end_run(run.id, RunState.COMPLETED, NOW), "the first end counts"
    assert await leases(ledger, run, W2, now=NOW + 1000) == []
    assert await ledger.settle([visited(late, "late")]) == [False]
    for path in ("q", "later"):
        row = await the_row(ledger, run, path)
        assert (row.state, row.skip_reason) == (UrlState.SKIPPED, SkipReason.CANCELLED)
    assert (await the_row(ledger, run, "p")).state is UrlState.VISITED


async def test_a_lease_has_its_wave_and_the_run_has_the_hosts_of_the_wave(ledger: SqlLedger) -> None:
    """Hosts that join during a wave count from the next wave on."""
    run, [first, second] = await started(ledger, "a", "b")
    assert (first.wave, second.wave) == (1, 1)
    await ledger.settle([visited(first, "a", [link("c", first)], joins_host="www.site.test")])
    stored = await ledger.run(run.id)
    assert stored is not None
    assert (stored.joined_hosts, stored.wave_hosts) == (("www.site.test",), ())
    await ledger.settle([visited(second, "b")])
    await ledger.open_wave(run.id, 1, admit_all)
    stored = await ledger.run(run.id)
    assert stored is not None
    assert stored.wave_hosts == ("www.site.test",)
    assert [lease.wave for lease in await leases(ledger, run)] == [2]


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_ending_a_run_locks_its_site_before_the_run_like_beginning_one(database: Database) -> None:
    """Two transactions that lock both in different orders would wait for each other."""
    ledger, owner = await database.ledger(), await database.owner()
    assert isinstance(owner, PostgresEngine)
    run = await begin(ledger, seed("a"))
    await ledger.begin_run(run.id, NOW)
    async with owner._engine.connect() as holder, owner._engine.connect() as other:
        holder_pid = await holder.scalar(sa.text("SELECT pg_backend_pid()"))
        await holder.execute(sa.select(sites.c.id).with_for_update())
        ending = asyncio.create_task(ledger.end_run(run.id, RunState.COMPLETED, NOW))
        waiting = sa.text("SELECT count(*) FROM pg_stat_activity WHERE :holder = ANY(pg_blocking_pids(pid))")
        while not await other.scalar(waiting, {"holder": holder_pid}):
            await other.rollback()
        assert await other.scalar(sa.select(runs.c.id).with_for_update(skip_locked=True)) == run.id, "the run is not locked yet"
        await other.rollback()
        await holder.rollback()
        assert await ending


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
async def test_a_transaction_that_postgres_ended_because_of_a_deadlock_is_run_again(database: Database) -> None:
    await database.engine()
    owner, attempts, locked = await database.owner(), list[int](), set[int]()

    def lock_both(conn: sa.Connection, first: int, second: int) -> int:
        attempts.append(first)
        conn.execute(sa.text("SET LOCAL deadlock_timeout = '50ms'"))
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(first)))
        locked.add(first)
        while len(locked) < 2:
            conn.execute(sa.text("SELECT 1"))  # the other transaction runs meanwhile
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(second)))
        return first

    assert list(await asyncio.gather(owner.write(lock_both, 1, 2), owner.write(lock_both, 2, 1))) == [1, 2]
    assert len(attempts) == 3


async def test_a_lease_unknown_to_its_worker_expires(ledger: SqlLedger) -> None:
    """The answer to a claim was lost: renewing the known leases must not extend the unknown ones."""
    run = await begin(ledger, seed("known"), seed("unknown", 1))
    await ledger.open_wave(run.id, 0, admit_all)
    known, unknown = await leases(ledger, run, W1, 1), await leases(ledger, run, W1, 1)
    assert await ledger.renew(known, NOW + 500) == 1
    assert await ledger.release(run.id, NOW + 100) == 1
    assert (await the_row(ledger, run, "unknown")).state is UrlState.QUEUED
    assert await ledger.renew([*known, *unknown], NOW + 600) == 1


async def test_the_leader_lock_is_held_by_one_process_at_a_time(database: Database) -> None:
    one = await database.ledger()
    other = await database.ledger() if not hasattr(database.where, "exists") else one  # only one process uses a SQLite file
    async with (
        one.leader_lock("maintenance") as first,
        other.leader_lock("maintenance") as second,
        other.leader_lock("else") as third,
    ):
        assert (first, second, third) == (True, False, True)
    async with other.leader_lock("maintenance") as again:
        assert again
    with pytest.raises(RuntimeError):
        async with other.leader_lock("maintenance"):
            raise RuntimeError
    async with one.leader_lock("maintenance") as after_an_error:
        assert after_an_error


async def test_the_database_clock_does_not_depend_on_the_wall_clock_of_the_machine(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sitelore.store.engine import DatabaseClock, database_time, open_postgres

    monkeypatch.setattr(time, "time", lambda: 12.0)
    async with temporary_database(postgres_url) as url:
        engine = await open_postgres(url)
        async with DatabaseClock(engine).kept_in_sync() as clock:
            assert abs(clock() - await engine.read(database_time)) < 2
            before = clock()
            assert clock() >= before
        await engine.close()


async def test_a_run_is_created_once_when_the_answer_to_its_commit_is_lost(database: Database) -> None:
    """The engine repeats a function when the connection was lost after its commit."""
    engine = await database.engine()

    class Losing:
        """Loses the first response."""

        async def write(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
            await engine.write(fn, *args, **kwargs)
            return await engine.write(fn, *args, **kwargs)

    run = await begin(SqlLedger(cast("Engine", Losing()), DEFAULT_TENANT), seed("a"))
    assert [one.id for one in await SqlLedger(engine, DEFAULT_TENANT).runs()] == [run.id]
