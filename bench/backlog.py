"""Ten thousand queued runs: the cost of polling for work, the growth of memory, and round-robin scheduling by site.

    python -m bench.backlog [--runs 10000] [--sites 200] [--served 600]

Uses a real Postgres. One site queues half of all runs before any other site queues one. At several queue lengths
this prints the cost of a poll (CPU of Postgres and time of the call) and the memory of this process. Then the run scheduler of
workers serves part of the queue with a crawl that ends immediately, and the order is checked.
Exits 1 when a poll of the long queue costs more than 1.5 times one of the short queue plus 0.5 ms of CPU, when memory grew by
more than a tenth, or when a site was ahead of a waiting one by more rounds than are served concurrently.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

from bench.measure import pss_mb, tree_cpu_s
from scripts.servers import Postgres, postgres_alone

from sitelore.crawl.context import Progress, WorkerContext
from sitelore.crawl.maintenance import Maintenance
from sitelore.crawl.runs import RunScheduler
from sitelore.frontier.gate import LocalGate
from sitelore.model.frontier import Offer, Run, RunListing, Source
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState
from sitelore.model.url import Url
from sitelore.ports import BlobStorage
from sitelore.store.engine import PostgresConfig, open_postgres
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.local_notifications import LocalEvents, LocalNotifier

POLLS = 100
AT_ONCE = 4
COST_RATIO, EXTRA_MS, GROWTH = 1.5, 0.5, 1.10


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one call in milliseconds: CPU of the server, and time."""

    cpu_ms: float
    wall_ms: float

    def __str__(self) -> str:
        return f"{self.cpu_ms:>8.2f}{self.wall_ms:>8.2f}"


class Backlog:
    """A queue of runs, created for several sites."""

    def __init__(self, ledger: SqlLedger, queue: SqlRunQueue, server: int, arguments: argparse.Namespace) -> None:
        self._ledger, self._queue, self._server, self._sites = ledger, queue, server, arguments.sites
        self._chance = random.Random(7)
        self._half = arguments.runs // 2
        self.length = 0
        self.started: list[str] = []

    async def grow(self, length: int) -> Cost:
        """Create runs concurrently until this many are queued; return the cost of one."""
        together = await self._cost((length - self.length) // AT_ONCE, self._create_batch)
        return Cost(together.cpu_ms / AT_ONCE, together.wall_ms / AT_ONCE)

    async def _create_batch(self) -> None:
        numbers = range(self.length, self.length + AT_ONCE)
        self.length += AT_ONCE
        await asyncio.gather(*map(self._create_run, numbers))

    async def _create_run(self, number: int) -> None:
        host = "greedy.test" if number < self._half else f"site-{self._chance.randrange(self._sites)}.test"
        seed = Offer(Url.trusted(f"http://{host}/"), 0, Source.SEED)
        await self._ledger.create_run(host, CrawlSettings(seeds=(str(seed.url),)), [seed], float(number))

    async def _cost(self, times: int, call: Callable[[], Awaitable[object]]) -> Cost:
        cpu, wall = tree_cpu_s(self._server), time.monotonic()
        for _ in range(times):
            await call()
        return Cost((tree_cpu_s(self._server) - cpu) * 1000 / times, (time.monotonic() - wall) * 1000 / times)

    async def poll_costs(self) -> dict[str, Cost]:
        """The cost of a poll by a worker, by maintenance and by a dashboard."""
        worker_context = WorkerContext(
            self._ledger, self._queue, LocalGate(time.monotonic), LocalNotifier(), LocalEvents(), time.time
        )
        maintenance = Maintenance(worker_context, cast("BlobStorage", None))
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "worker": partial(self._queue.workable_runs, AT_ONCE + 64, 1e9),
            "upkeep": maintenance.cycle,
            "list": partial(self._ledger.list_runs, RunListing(limit=50)),
            "states": self._queue.runs_by_state,
        }
        return {name: await self._cost(POLLS, call) for name, call in calls.items()}

    async def serve(self, served: int) -> int:
        """Let a run scheduler serve this many runs; return by how many rounds a site was ahead of a waiting one."""
        stop, turns = asyncio.Event(), Counter[str]()
        waiting = Counter[str]()
        async for run in self._all():
            waiting[run.site_name] += 1
        lead = 0

        async def crawl(run: Run, _progress: Progress, _stop: asyncio.Event) -> Run:
            nonlocal lead
            if not await self._ledger.begin_run(run.id, 1e9):
                return run
            turns[run.site_name] += 1
            waiting[run.site_name] -= 1
            lead = max(lead, turns[run.site_name] - min(turns[site] for site, left in waiting.items() if left > 0))
            await self._ledger.end_run(run.id, RunState.COMPLETED, 1e9)
            if turns.total() >= served:
                stop.set()
            return run

        await RunScheduler(self._queue, self._ledger, lambda: 1e9, crawl, sites_at_once=AT_ONCE).work(stop)
        return lead

    async def _all(self) -> AsyncIterator[Run]:
        offset = 0
        while True:
            runs, total = await self._ledger.list_runs(RunListing(limit=500, offset=offset))
            for run in runs:
                yield run
            offset += len(runs)
            if offset >= total:
                return


async def measure(server: Postgres, arguments: argparse.Namespace) -> bool:
    engine = await open_postgres(server.url, PostgresConfig(pool_size=AT_ONCE + 2))
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    line = Backlog(ledger, SqlRunQueue(engine), server.pid, arguments)
    names = ("making one", "worker", "upkeep", "list", "states")
    print(f"{'':8}" + "".join(f"{name:>16}" for name in names) + f"{'memory':>9}")
    print(f"{'runs':>8}" + f"{'CPU ms':>8}{'ms':>8}" * len(names) + f"{'MB':>9}", flush=True)
    costs, memory = [], []
    try:
        for length in sorted({100, min(1_000, arguments.runs), arguments.runs}):
            made, poll_costs = await line.grow(length), await line.poll_costs()
            costs.append(poll_costs["worker"])
            memory.append(pss_mb(os.getpid()))
            print(f"{length:>8,}{made}{''.join(map(str, poll_costs.values()))}{memory[-1]:>9.1f}", flush=True)
        lead = await line.serve(arguments.served)
        memory.append(pss_mb(os.getpid()))
    finally:
        await ledger.close()
    growth = memory[-1] / memory[0]
    print(
        f"\n{arguments.served} runs served, {AT_ONCE} at once: no site was ahead of one that waited by more than {lead} turns"
    )
    print(f"memory from 100 runs to {arguments.runs:,} and after serving: {growth:.2f}")
    is_flat = costs[-1].cpu_ms <= COST_RATIO * costs[0].cpu_ms + EXTRA_MS
    return is_flat and growth <= GROWTH and lead <= AT_ONCE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--sites", type=int, default=200)
    parser.add_argument("--served", type=int, default=600)
    arguments = parser.parse_args()
    with postgres_alone() as server:
        return 0 if asyncio.run(measure(server, arguments)) else 1


if __name__ == "__main__":
    sys.exit(main())
