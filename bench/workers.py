"""Compares the throughput of one, two and four workers, and shows the CPU of each part.

    python -m bench.workers [--pages 1000] [--workers 1 2 4] [--latency 2] [--concurrency 8] [--only fast|waiting]

Real Postgres, Valkey and S3 and a site of real articles, all on this machine. Each number of worker processes crawls the whole
site twice:

- **fast**: the site answers at once. Everything shares the cores, so a small machine is soon the limit; the CPU of each part
  is printed, and pages for each CPU second of the workers, which would fall if working together cost anything.
- **waiting**: the site takes a while for each answer, as sites do. Then the cores are not the limit, and what one worker has
  under way at once is: two workers should do twice as much.

Exits 1 when two workers of the waiting site do less than 1.7 times the work of one, or when two workers of the fast site do
less than 0.85 times the pages of one for each CPU second.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.measure import ensure, tree_cpu_s
from bench.site import Running, running
from scripts.servers import LocalServers
from tests.support.crawls import crawl_settings
from tests.support.workers import scaled_app, wait_until_ended, worker_pool

from sitelore.model.settings import Pace

SPEEDUP, EFFICIENCY = 1.7, 0.85


@dataclass(frozen=True, slots=True)
class Crawl:
    """One crawl of the whole site by a number of workers."""

    workers: int
    pages: int
    wall_s: float
    cpu_s: dict[str, float]

    @property
    def pages_per_s(self) -> float:
        return self.pages / self.wall_s

    @property
    def pages_per_cpu_s(self) -> float:
        return self.pages / self.cpu_s["workers"]

    def line(self, single: Crawl) -> str:
        parts = "".join(f"{spent * 1000 / self.pages:>9.2f}" for spent in self.cpu_s.values())
        busy = sum(self.cpu_s.values()) / self.wall_s
        speedup, efficiency = self.pages_per_s / single.pages_per_s, self.pages_per_cpu_s / single.pages_per_cpu_s
        return (
            f"{self.workers:>8}{self.wall_s:>8.1f}{self.pages_per_s:>9.1f}{speedup:>7.2f}{parts}{busy:>7.2f}{efficiency:>9.2f}"
        )


async def crawl(servers: LocalServers, site: Running, workers: int, arguments: argparse.Namespace) -> Crawl:
    """Crawl the site with this many workers, timed from the moment when all of them are ready."""
    pace = Pace(delay_s=0.0, concurrency=arguments.concurrency, per_host=64)
    async with scaled_app(servers, lease_s=60.0, upkeep_s=1.0) as (app, operator):
        with worker_pool(operator) as pool:
            pool.start(workers)
            while pool.log_text().count('"working"') < workers:  # noqa: ASYNC110 other processes start, there is no event
                await asyncio.sleep(0.05)
            parts: dict[str, Callable[[], float]] = {
                "workers": lambda: sum(tree_cpu_s(worker.pid) for worker in pool.workers),
                "Postgres": lambda: tree_cpu_s(servers.postgres.pid),
                "Valkey": lambda: tree_cpu_s(servers.valkey.pid),
                "S3": lambda: tree_cpu_s(servers.s3.pid),
                "site": lambda: tree_cpu_s(site.pid),
            }
            # The first pages start the extraction processes, which is not measured.
            await wait_until_ended(app, await app.create_run(crawl_settings(site.url, pace=pace, max_pages=10 * workers)))
            before = {name: spent() for name, spent in parts.items()}
            began = time.monotonic()
            run = await app.create_run(crawl_settings(site.url, pace=pace, force=True))
            run = await wait_until_ended(app, run, timeout_s=1800)
            wall_s = time.monotonic() - began
            cpu_s = {name: spent() - before[name] for name, spent in parts.items()}
            counts = await app.ledger.counts(run.id)
            ensure(
                counts.pages == arguments.pages,
                f"{counts.pages} of {arguments.pages} pages were crawled: {run.state} {run.error}",
            )
            pool.stop()
    return Crawl(workers, counts.pages, wall_s, cpu_s)


async def compare(servers: LocalServers, name: str, latency_s: float, arguments: argparse.Namespace) -> dict[int, Crawl]:
    """Crawl one site with each number of workers."""
    with running(arguments.pages, latency_s=latency_s) as site:
        print(
            f"\n{name}: {site.facts}, {latency_s * 1000:.0f} ms before each answer, {arguments.concurrency} requests a worker"
        )
        head = "".join(f"{part:>9}" for part in ("workers", "Postgres", "Valkey", "S3", "site"))
        print(f"{'':32}{'CPU ms a page':>45}{'cores':>7}{'pages a':>9}")
        print(f"{'workers':>8}{'s':>8}{'pages/s':>9}{'times':>7}{head}{'busy':>7}{'CPU s':>9}", flush=True)
        done: dict[int, Crawl] = {}
        for workers in arguments.workers:
            done[workers] = await crawl(servers, site, workers, arguments)
            print(done[workers].line(done[arguments.workers[0]]), flush=True)
    return done


async def measure(arguments: argparse.Namespace) -> bool:
    with LocalServers() as servers:
        fast = {} if arguments.only == "waiting" else await compare(servers, "fast", 0.0, arguments)
        waiting = {} if arguments.only == "fast" else await compare(servers, "waiting", arguments.latency, arguments)
    is_fine = True
    if {1, 2} <= fast.keys():
        efficiency = fast[2].pages_per_cpu_s / fast[1].pages_per_cpu_s
        more = fast[2].pages_per_s / fast[1].pages_per_s
        print(f"\nfast, two workers against one: {more:.2f} times the pages/s on {os.cpu_count()} cores, "
              f"{efficiency:.2f} times the pages for each CPU second of the workers (at least {EFFICIENCY})")  # fmt: skip
        is_fine &= efficiency >= EFFICIENCY
    if {1, 2} <= waiting.keys():
        more = waiting[2].pages_per_s / waiting[1].pages_per_s
        print(f"\nwaiting, two workers against one: {more:.2f} times the pages/s (at least {SPEEDUP})")
        is_fine &= more >= SPEEDUP
    return is_fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--only", choices=("fast", "waiting"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit normally, so that all processes are stopped
    return 0 if asyncio.run(measure(parser.parse_args())) else 1


if __name__ == "__main__":
    sys.exit(main())
