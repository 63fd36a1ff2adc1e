"""Fault injection: crawl a site while workers or servers fail, and compare the result with an undisturbed crawl.

`crawl_with_fault` uses worker processes on Postgres, Valkey and S3; `crawl_with_kills` kills and resumes one process on SQLite.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from scripts.servers import LocalServers
from tests.support.crawls import (
    as_expected,
    crawl_in,
    crawl_settings,
    differences,
    exported_json,
    run_cli,
    start_cli,
    stored_rows,
)
from tests.support.graph import Graph
from tests.support.http_server import HttpServer
from tests.support.tcp_proxy import TcpProxy
from tests.support.workers import WorkerPool, export, scaled_app, wait_until_ended, worker_pool

from sitelore.app.app import App
from sitelore.app.wiring import embedded
from sitelore.model.frontier import Run
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UrlState

COMMIT_WINDOW = 64
"""Rows that one transaction settles at most: a crash makes the crawl fetch these and the active visits again."""
CONCURRENCY = 4
_POLL_S = 0.05


@dataclass(slots=True)
class FaultReport:
    """Result of a crawl with a fault, compared with the baseline."""

    fault: str
    pages: int = 0
    lost: int = 0
    """Rows of the baseline that are missing or different."""
    settled_twice: int = 0
    refetched: int = 0
    bound: int = 0
    recoveries_s: list[float] = field(default_factory=list)
    allowed_s: float = 0.0
    export_equal: bool = False
    took_s: float = 0.0
    notes: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    """The first few lost rows: in the baseline, and in this crawl."""

    @property
    def recovery_s(self) -> float:
        """The longest recovery."""
        return max(self.recoveries_s, default=0.0)

    @property
    def passed(self) -> bool:
        """Whether nothing was lost or settled twice, and refetches and recovery are within their limits."""
        is_complete = self.export_equal and not self.lost and not self.settled_twice and self.refetched <= self.bound
        return is_complete and self.recovery_s <= self.allowed_s


@dataclass(slots=True)
class FaultContext:
    """A running crawl that a fault acts on."""

    servers: LocalServers
    http_server: HttpServer
    app: App
    pool: WorkerPool
    run: Run
    total: int
    """Requests of the baseline."""
    report: FaultReport
    chance: random.Random
    lease_s: float

    async def wait_for_progress(self, share: float) -> None:
        """Wait until this share of the site's requests has arrived."""
        count = max(1, int(self.total * share))
        reached = await asyncio.to_thread(self.http_server.wait_for_hits, count, 300.0)
        assert reached, f"the crawl made no progress to {count} requests\n{self.pool.log_text()[-3000:]}"

    async def leased_rows(self, worker: subprocess.Popen[bytes]) -> int:
        """Rows that are leased to this process."""
        pid_in_id = f"-{worker.pid}-"
        rows = self.app.ledger.rows(self.run.id, UrlState.IN_PROGRESS, sitemaps=True)
        return len([row async for row in rows if row.claimed_by and pid_in_id in row.claimed_by])

    async def measure_recovery(self, worker: subprocess.Popen[bytes]) -> None:
        """Measure how long rows stay leased to a dead worker."""
        began = time.monotonic()
        async with asyncio.timeout(self.lease_s * 3 + 60):
            while await self.leased_rows(worker):  # noqa: ASYNC110 other processes move, there is no event
                await asyncio.sleep(_POLL_S)
        self.report.recoveries_s.append(time.monotonic() - began)

    async def measure_resumption(self) -> None:
        """Measure the time until a row is settled again."""
        began, before = time.monotonic(), await self._settled()
        async with asyncio.timeout(self.lease_s * 3 + 60):
            while await self._settled() == before and not await self._is_over():  # noqa: ASYNC110 as above
                await asyncio.sleep(_POLL_S)
        self.report.recoveries_s.append(time.monotonic() - began)

    async def _settled(self) -> int:
        counts = await self.app.ledger.counts(self.run.id)
        return counts.fetched

    async def _is_over(self) -> bool:
        run = await self.app.ledger.run(self.run.id)
        return run is None or run.finished_at is not None


Fault = Callable[[FaultContext], Awaitable[None]]


def kill_workers(times: int) -> Fault:
    """`kill -9` a worker and start a replacement, this many times."""

    async def kill(context: FaultContext) -> None:
        recovering = []
        for number in range(times):
            await context.wait_for_progress(0.1 + 0.8 * number / times)
            victim = context.chance.choice(context.pool.alive)
            context.pool.kill(victim)
            context.pool.start()
            recovering.append(asyncio.create_task(context.measure_recovery(victim)))
        await asyncio.gather(*recovering)
        context.report.bound = times * (CONCURRENCY + COMMIT_WINDOW)
        context.report.notes["kills"] = times

    return kill


async def flush_redis(context: FaultContext) -> None:
    """Flush Redis twice."""
    for share in (0.3, 0.6):
        await context.wait_for_progress(share)
        await context.app.worker_context.notifier._redis.flushall()  # type: ignore[attr-defined]
        await context.measure_resumption()


def kill_redis(seconds: float) -> Fault:
    """Kill Redis and start it again, empty, after this many seconds."""

    async def kill(context: FaultContext) -> None:
        await context.wait_for_progress(0.4)
        context.servers.valkey.kill()
        await asyncio.sleep(seconds)
        await asyncio.to_thread(context.servers.valkey.start)
        await context.measure_resumption()

    return kill


async def restart_postgres(context: FaultContext) -> None:
    """Restart the database in the middle of the crawl."""
    await context.wait_for_progress(0.4)
    await asyncio.to_thread(context.servers.postgres.restart)
    await context.measure_resumption()
    # Every worker may lose rows that it claimed without receiving the answer, and refetches those it could not settle in time.
    context.report.bound = len(context.pool.alive) * (CONCURRENCY + COMMIT_WINDOW)


async def suspend_worker(context: FaultContext) -> None:
    """Suspend a worker until its leases expire, then resume it: it tries to settle rows that others have visited meanwhile."""
    await context.wait_for_progress(0.3)
    victim = context.pool.alive[0]
    for _ in range(1000):
        victim.send_signal(signal.SIGSTOP)
        if await context.leased_rows(victim):
            break
        victim.send_signal(signal.SIGCONT)
        await asyncio.sleep(_POLL_S / 5)
    leased = await context.leased_rows(victim)
    await context.measure_recovery(victim)
    victim.send_signal(signal.SIGCONT)
    context.report.bound = CONCURRENCY + COMMIT_WINDOW
    context.report.notes["leases of the suspended worker"] = leased


def skew_clocks(seconds: float) -> Fault:
    """Add a worker whose clock is ahead and one whose clock is behind, and kill the latter."""

    async def skew(context: FaultContext) -> None:
        context.pool.start(clock_off_s=seconds)
        context.pool.start(clock_off_s=-seconds)
        await context.wait_for_progress(0.5)
        victim = context.pool.workers[-1]
        context.pool.kill(victim)
        await context.measure_recovery(victim)
        context.report.bound = CONCURRENCY + COMMIT_WINDOW

    return skew


def refuse_connections(proxy: TcpProxy, seconds: float) -> Fault:
    """Close the proxy in front of a server for this many seconds."""

    async def refuse(context: FaultContext) -> None:
        await context.wait_for_progress(0.3)
        proxy.shut()
        await asyncio.sleep(seconds)
        proxy.open()
        await context.measure_resumption()

    return refuse


@dataclass(frozen=True, slots=True)
class Baseline:
    """An undisturbed crawl of the same site by one process on SQLite."""

    settings: CrawlSettings
    export: bytes
    requests: int


async def crawl_baseline(http_server: HttpServer, graph: Graph, folder: Path) -> Baseline:
    """Crawl the graph undisturbed."""
    http_server.pages = graph.pages(http_server.origin)
    http_server.clear_log()
    settings = crawl_settings(http_server.url("/"), concurrency=CONCURRENCY, force=True)
    async with embedded(folder, writing=True) as app:
        done = await crawl_in(app, settings)
        return Baseline(settings, await export(app, done.run), len(http_server.hits))


async def crawl_with_fault(
    servers: LocalServers,
    http_server: HttpServer,
    baseline: Baseline,
    name: str,
    fault: Fault,
    workers: int = 2,
    **changes: float | str,
) -> FaultReport:
    """Crawl the site with workers while the fault occurs, and compare with the baseline."""
    http_server.clear_log()
    report = FaultReport(name)
    async with scaled_app(servers, **changes) as (app, operator):
        with worker_pool(operator) as pool:
            pool.start(workers)
            report.allowed_s = operator.lease_s + 5.0
            began = time.monotonic()
            run = await app.create_run(baseline.settings)
            context = FaultContext(
                servers, http_server, app, pool, run, baseline.requests, report, random.Random(name), lease_s=operator.lease_s
            )
            await fault(context)
            run = await wait_until_ended(app, run, timeout_s=600)
            report.took_s = time.monotonic() - began
            exported = await export(app, run)
            rows = [row async for row in app.ledger.rows(run.id)]
            log = pool.log_text()
            assert "Traceback" not in log, log[-4000:]
            report.notes["rejected settlements"] = log.count("settlement rejected: lease lost")
    before = {row["url"]: row for row in json.loads(baseline.export)}
    after = {row["url"]: row for row in json.loads(exported)}
    report.pages = sum(row.state is UrlState.VISITED for row in rows)
    lost = [url for url, row in before.items() if after.get(url) != row]
    report.lost = len(lost)
    report.differences = [f"{before[url]} became {after.get(url)}" for url in lost[:3]]
    report.settled_twice = sum(row.fetches > 1 for row in rows)
    report.refetched = refetched(http_server)
    report.export_equal = exported == baseline.export
    return report


@dataclass(frozen=True, slots=True)
class KillReport:
    """Result of a crawl that was killed and resumed, compared with an undisturbed one."""

    pages: int
    kills: int
    lost: int
    """Rows of the undisturbed crawl that are missing or different."""
    settled_twice: int
    refetched: int
    bound: int
    export_equal: bool
    oracle_differs: int


def refetched(http_server: HttpServer) -> int:
    """Requests beyond the first for each target, without robots.txt and sitemaps, which every process fetches again."""
    counts = Counter(http_server.targets())
    return sum(counts.values()) - len(counts)


async def crawl_with_kills(http_server: HttpServer, graph: Graph, folder: Path, kills: int, concurrency: int = 8) -> KillReport:
    """Crawl the graph undisturbed, then again with kills spread over its requests, and compare."""
    http_server.pages = graph.pages(http_server.origin)
    flags = ("--concurrency", str(concurrency), "--delay", "0", "--json")
    undisturbed, killed_data = folder / "undisturbed", folder / "killed"
    done = run_cli("crawl", http_server.url(), "--data", str(undisturbed), *flags, timeout_s=600)
    assert done.code == 0, done.err
    total = len(http_server.hits)
    http_server.clear_log()

    killed = 0
    chance = random.Random(graph.seed)
    while killed < kills:
        # Refetches delay later kills, so the next one is placed within the rest of the site.
        distinct = len(set(http_server.targets()))
        step = max(1, (total - distinct) // (kills - killed + 1))
        target = len(http_server.hits) + chance.randint(max(1, step // 2), max(1, step))
        resume = ("--resume",) if killed else ()
        with start_cli("crawl", http_server.url(), "--data", str(killed_data), *flags, *resume) as process:
            assert http_server.wait_for_hits(target), f"the crawl made no progress before kill {killed + 1}"
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        assert process.returncode == -signal.SIGKILL, "the crawl ended before it was killed"
        killed += 1
    done = run_cli("crawl", http_server.url(), "--data", str(killed_data), *flags, "--resume", timeout_s=600)
    assert done.code == 0, done.err

    left, right = exported_json(undisturbed), exported_json(killed_data)
    before = {row["url"]: row for row in json.loads(left)}
    after = {row["url"]: row for row in json.loads(right)}
    rows = {str(row.url): row async for row in stored_rows(killed_data)}
    return KillReport(
        pages=sum(row["state"] == "VISITED" for row in after.values()),
        kills=killed,
        lost=sum(after.get(url) != row for url, row in before.items()),
        settled_twice=sum(row.fetches > 1 for row in rows.values()),
        refetched=refetched(http_server),
        bound=killed * (concurrency + COMMIT_WINDOW),
        export_equal=left == right,
        oracle_differs=len(differences(as_expected(rows), graph.expected(http_server.origin))),
    )
