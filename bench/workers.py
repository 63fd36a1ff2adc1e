"""How much more do two workers do than one, and what holds them up?

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
from tests.support.fleet import ended, fleet, scaled_app
from tests.support.journey import crawl_settings

from sitelore.model.settings import Pace

MORE, KEPT = 1.7, 0.85


@dataclass(frozen=True, slots=True)
class Crawl:
    """One crawl of the whole site by some workers."""

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

    def line(self, one: Crawl) -> str:
        parts = "".join(f"{spent * 1000 / self.pages:>9.2f}" for spent in self.cpu_s.values())
        busy = sum(self.cpu_s.values()) / self.wall_s
        more, kept = self.pages_per_s / one.pages_per_s, self.pages_per_cpu_s / one.pages_per_cpu_s
        return f"{self.workers:>8}{self.wall_s:>8.1f}{self.pages_per_s:>9.1f}{more:>7.2f}{parts}{busy:>7.2f}{kept:>9.2f}"


async def crawl(servers: LocalServers, site: Running, workers: int, asked: argparse.Namespace) -> Crawl:
    """The site crawled by so many workers, from the moment all of them are ready."""
    pace = Pace(delay_s=0.0, concurrency=asked.concurrency, per_host=64)
    async with scaled_app(servers, lease_s=60.0, upkeep_s=1.0) as (app, operator):
        with fleet(operator) as crew:
            crew.hire(workers)
            while crew.told().count('"working"') < workers:  # noqa: ASYNC110 other processes start, there is no event
                await asyncio.sleep(0.05)
            parts: dict[str, Callable[[], float]] = {
                "workers": lambda: sum(tree_cpu_s(worker.pid) for worker in crew.workers),
                "Postgres": lambda: tree_cpu_s(servers.postgres.pid),
                "Valkey": lambda: tree_cpu_s(servers.valkey.pid),
                "S3": lambda: tree_cpu_s(servers.s3.pid),
                "site": lambda: tree_cpu_s(site.pid),
            }
            # Readers are started by the first page: that is not what working together costs.
            await ended(app, await app.create_run(crawl_settings(site.url, pace=pace, max_pages=10 * workers)))
            before = {name: spent() for name, spent in parts.items()}
            began = time.monotonic()
            run = await app.create_run(crawl_settings(site.url, pace=pace, force=True))
            run = await ended(app, run, timeout_s=1800)
            wall_s = time.monotonic() - began
            cpu_s = {name: spent() - before[name] for name, spent in parts.items()}
            counts = await app.ledger.counts(run.id)
            ensure(counts.pages == asked.pages, f"{counts.pages} of {asked.pages} pages were crawled: {run.state} {run.error}")
            crew.dismiss()
    return Crawl(workers, counts.pages, wall_s, cpu_s)


async def compare(servers: LocalServers, name: str, latency_s: float, asked: argparse.Namespace) -> dict[int, Crawl]:
    """One site, some numbers of workers."""
    with running(asked.pages, latency_s=latency_s) as site:
        print(f"\n{name}: {site.facts}, {latency_s * 1000:.0f} ms before each answer, {asked.concurrency} requests a worker")
        head = "".join(f"{part:>9}" for part in ("workers", "Postgres", "Valkey", "S3", "site"))
        print(f"{'':32}{'CPU ms a page':>45}{'cores':>7}{'pages a':>9}")
        print(f"{'workers':>8}{'s':>8}{'pages/s':>9}{'times':>7}{head}{'busy':>7}{'CPU s':>9}", flush=True)
        done: dict[int, Crawl] = {}
        for workers in asked.workers:
            done[workers] = await crawl(servers, site, workers, asked)
            print(done[workers].line(done[asked.workers[0]]), flush=True)
    return done


async def measure(asked: argparse.Namespace) -> bool:
    with LocalServers() as servers:
        fast = {} if asked.only == "waiting" else await compare(servers, "fast", 0.0, asked)
        waiting = {} if asked.only == "fast" else await compare(servers, "waiting", asked.latency, asked)
    is_fine = True
    if {1, 2} <= fast.keys():
        kept = fast[2].pages_per_cpu_s / fast[1].pages_per_cpu_s
        more = fast[2].pages_per_s / fast[1].pages_per_s
        print(f"\nfast, two workers against one: {more:.2f} times the pages/s on {os.cpu_count()} cores, "
              f"{kept:.2f} times the pages for each CPU second of the workers (at least {KEPT})")  # fmt: skip
        is_fine &= kept >= KEPT
    if {1, 2} <= waiting.keys():
        more = waiting[2].pages_per_s / waiting[1].pages_per_s
        print(f"\nwaiting, two workers against one: {more:.2f} times the pages/s (at least {MORE})")
        is_fine &= more >= MORE
    return is_fine


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--pages", type=int, default=1000)
    words.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    words.add_argument("--latency", type=float, default=2.0)
    words.add_argument("--concurrency", type=int, default=8)
    words.add_argument("--only", choices=("fast", "waiting"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an end in order: no process must outlive us
    return 0 if asyncio.run(measure(words.parse_args())) else 1


if __name__ == "__main__":
    sys.exit(main())
