"""Disturb a crawl of many workers and count what that cost, against a crawl of the same site that nobody disturbed."""

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
from tests.support.fleet import Fleet, ended, export, fleet, scaled_app
from tests.support.graph import Graph
from tests.support.journey import crawl_in, crawl_settings
from tests.support.serve import Web

from sitelore.app.app import App
from sitelore.app.wiring import embedded
from sitelore.model.frontier import Run
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UrlState

COMMIT_WINDOW = 64
"""Rows that one transaction settles at most."""
CONCURRENCY = 4
_LOOK_S = 0.05


@dataclass(slots=True)
class Toll:
    """What a disturbance cost."""

    fault: str
    pages: int = 0
    lost: int = 0
    """Rows that the calm crawl has and this one has not, or has otherwise."""
    settled_twice: int = 0
    refetched: int = 0
    bound: int = 0
    recoveries_s: list[float] = field(default_factory=list)
    allowed_s: float = 0.0
    export_equal: bool = False
    took_s: float = 0.0
    notes: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    """The first few lost rows, as they were and as they are."""

    @property
    def recovery_s(self) -> float:
        """The longest recovery."""
        return max(self.recoveries_s, default=0.0)

    @property
    def is_fine(self) -> bool:
        """Whether the crawl kept every promise."""
        kept = self.export_equal and not self.lost and not self.settled_twice and self.refetched <= self.bound
        return kept and self.recovery_s <= self.allowed_s


@dataclass(slots=True)
class Scene:
    """A crawl under way."""

    servers: LocalServers
    web: Web
    app: App
    crew: Fleet
    run: Run
    total: int
    """Requests of the calm crawl."""
    toll: Toll
    chance: random.Random
    lease_s: float

    async def reach(self, share: float) -> None:
        """Wait until this share of the site has been asked for."""
        count = max(1, int(self.total * share))
        reached = await asyncio.to_thread(self.web.wait_for_hits, count, 300.0)
        assert reached, f"the crawl made no progress to {count} requests\n{self.crew.told()[-3000:]}"

    async def held_by(self, worker: subprocess.Popen[bytes]) -> int:
        """Rows that are leased to this process."""
        mark = f"-{worker.pid}-"
        rows = self.app.ledger.rows(self.run.id, UrlState.IN_PROGRESS, sitemaps=True)
        return len([row async for row in rows if row.claimed_by and mark in row.claimed_by])

    async def recovered_from(self, worker: subprocess.Popen[bytes]) -> None:
        """Measure how long rows stay with a worker that is gone."""
        began = time.monotonic()
        async with asyncio.timeout(self.lease_s * 3 + 60):
            while await self.held_by(worker):  # noqa: ASYNC110 other processes move, there is no event
                await asyncio.sleep(_LOOK_S)
        self.toll.recoveries_s.append(time.monotonic() - began)

    async def goes_on(self) -> None:
        """Measure how long it takes until something is settled again."""
        began, before = time.monotonic(), await self._settled()
        async with asyncio.timeout(self.lease_s * 3 + 60):
            while await self._settled() == before and not await self._is_over():  # noqa: ASYNC110 as above
                await asyncio.sleep(_LOOK_S)
        self.toll.recoveries_s.append(time.monotonic() - began)

    async def _settled(self) -> int:
        counts = await self.app.ledger.counts(self.run.id)
        return counts.fetched

    async def _is_over(self) -> bool:
        run = await self.app.ledger.run(self.run.id)
        return run is None or run.finished_at is not None


Fault = Callable[[Scene], Awaitable[None]]


def kills(times: int) -> Fault:
    """`kill -9` a worker, start another in its stead, again and again."""

    async def kill(scene: Scene) -> None:
        recovering = []
        for number in range(times):
            await scene.reach(0.1 + 0.8 * number / times)
            victim = scene.chance.choice(scene.crew.alive)
            scene.crew.kill(victim)
            scene.crew.hire()
            recovering.append(asyncio.create_task(scene.recovered_from(victim)))
        await asyncio.gather(*recovering)
        scene.toll.bound = times * (CONCURRENCY + COMMIT_WINDOW)
        scene.toll.notes["kills"] = times

    return kill


async def flush_redis(scene: Scene) -> None:
    """Redis forgets everything, twice."""
    for share in (0.3, 0.6):
        await scene.reach(share)
        await scene.app.worker_context.notifier._redis.flushall()  # type: ignore[attr-defined]
        await scene.goes_on()


def redis_away(seconds: float) -> Fault:
    """Redis is killed and comes back empty."""

    async def away(scene: Scene) -> None:
        await scene.reach(0.4)
        scene.servers.valkey.kill()
        await asyncio.sleep(seconds)
        await asyncio.to_thread(scene.servers.valkey.start)
        await scene.goes_on()

    return away


async def restart_postgres(scene: Scene) -> None:
    """The database goes away in the middle of everything."""
    await scene.reach(0.4)
    await asyncio.to_thread(scene.servers.postgres.restart)
    await scene.goes_on()
    # Every worker may lose what it had claimed without an answer, and must ask for what it could not settle in time.
    scene.toll.bound = len(scene.crew.alive) * (CONCURRENCY + COMMIT_WINDOW)


async def freeze(scene: Scene) -> None:
    """A worker stands still past its lease, wakes up, and tries to settle what others have done meanwhile."""
    await scene.reach(0.3)
    victim = scene.crew.alive[0]
    for _ in range(1000):
        victim.send_signal(signal.SIGSTOP)
        if await scene.held_by(victim):
            break
        victim.send_signal(signal.SIGCONT)
        await asyncio.sleep(_LOOK_S / 5)
    held = await scene.held_by(victim)
    await scene.recovered_from(victim)
    victim.send_signal(signal.SIGCONT)
    scene.toll.bound = CONCURRENCY + COMMIT_WINDOW
    scene.toll.notes["leases of the frozen"] = held


def clocks_off(seconds: float) -> Fault:
    """Two of the workers go by clocks of their own, one behind and one ahead."""

    async def off(scene: Scene) -> None:
        scene.crew.hire(clock_off_s=seconds)
        scene.crew.hire(clock_off_s=-seconds)
        await scene.reach(0.5)
        victim = scene.crew.workers[-1]
        scene.crew.kill(victim)
        await scene.recovered_from(victim)
        scene.toll.bound = CONCURRENCY + COMMIT_WINDOW

    return off


@dataclass(frozen=True, slots=True)
class Calm:
    """A crawl of the same site that nobody disturbed, by one process on SQLite."""

    settings: CrawlSettings
    export: bytes
    requests: int


async def calm_crawl(web: Web, graph: Graph, folder: Path) -> Calm:
    """Crawl the graph in peace."""
    web.pages = graph.pages(web.origin)
    web.forget()
    settings = crawl_settings(web.url("/"), concurrency=CONCURRENCY, force=True)
    async with embedded(folder, writing=True) as app:
        done = await crawl_in(app, settings)
        return Calm(settings, await export(app, done.run), len(web.hits))


async def ordeal(
    servers: LocalServers, web: Web, calm: Calm, name: str, fault: Fault, workers: int = 2, **changes: float | str
) -> Toll:
    """Crawl the site with workers while something goes wrong, and compare."""
    web.forget()
    toll = Toll(name)
    async with scaled_app(servers, **changes) as (app, operator):
        with fleet(operator) as crew:
            crew.hire(workers)
            toll.allowed_s = operator.lease_s + 5.0
            began = time.monotonic()
            run = await app.create_run(calm.settings)
            scene = Scene(servers, web, app, crew, run, calm.requests, toll, random.Random(name), lease_s=operator.lease_s)
            await fault(scene)
            run = await ended(app, run, timeout_s=600)
            toll.took_s = time.monotonic() - began
            exported = await export(app, run)
            rows = [row async for row in app.ledger.rows(run.id)]
            told = crew.told()
            assert "Traceback" not in told, told[-4000:]
            toll.notes["fenced off"] = told.count("a verdict came too late")
    before = {row["url"]: row for row in json.loads(calm.export)}
    after = {row["url"]: row for row in json.loads(exported)}
    counts = Counter(web.targets())
    toll.pages = sum(row.state is UrlState.VISITED for row in rows)
    lost = [url for url, row in before.items() if after.get(url) != row]
    toll.lost = len(lost)
    toll.differences = [f"{before[url]} became {after.get(url)}" for url in lost[:3]]
    toll.settled_twice = sum(row.fetches > 1 for row in rows)
    toll.refetched = sum(counts.values()) - len(counts)
    toll.export_equal = exported == calm.export
    return toll
