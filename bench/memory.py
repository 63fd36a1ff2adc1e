"""Peak memory of a crawl of a small and of a large site. It must stay under a limit and must not grow with the site.

    python -m bench.memory [--pages 2000 10000] [--concurrency 16]

Memory is the PSS of the whole process tree (`/proc/PID/smaps_rollup`, pages shared between processes counted once), sampled ten
times a second. The site runs in a process of its own and is not counted. Exits 1 when the limit or the flatness is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from bench.measure import Cost, ensure, run_measured
from bench.site import BENCH_DIR, ROOT, running

LIMIT_MB = 150
GROWTH = 1.10


def crawl(pages: int, concurrency: int) -> Cost:
    """One crawl of a whole site into an empty directory."""
    out = Path(tempfile.mkdtemp(prefix="memory-", dir=BENCH_DIR))
    try:
        with running(pages) as site:
            command = [sys.executable, "-m", "sitelore", "crawl", site.url, "--data", str(out / "data"), "--output", "db"]
            command += ["--delay", "0", "--concurrency", str(concurrency), "--json"]
            cost = run_measured(command, out, env=dict(os.environ, PYTHONPATH=str(ROOT / "src")), every_s=0.1)
        ensure(cost.exit_code == 0, f"the crawl ended with {cost.exit_code}: {cost.stderr[-2000:]}")
        got = int(json.loads(cost.stdout)["pages"])
        ensure(got == pages, f"{got} of {pages} pages were crawled")
        return cost
    finally:
        shutil.rmtree(out, ignore_errors=True)


def print_cost(pages: int, cost: Cost) -> None:
    """Peak, and the level at each tenth of the crawl, so that growth can be seen as well as the peak."""
    tenths = [
        max((mb for at, mb in cost.samples if n / 10 <= at / cost.wall_s <= (n + 1) / 10), default=0.0) for n in range(10)
    ]
    levels = " ".join(f"{mb:.0f}" for mb in tenths)
    print(
        f"{pages:>6} pages: peak {cost.peak_pss_mb:.1f} MB, {cost.wall_s:.0f} s, {cost.processes} processes; tenths: {levels}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="peak memory of a crawl")
    parser.add_argument("--pages", type=int, nargs="+", default=[2000, 10_000])
    parser.add_argument("--concurrency", type=int, default=16)
    arguments = parser.parse_args()
    BENCH_DIR.mkdir(exist_ok=True)
    costs = {}
    for pages in sorted(arguments.pages):
        costs[pages] = crawl(pages, arguments.concurrency)
        print_cost(pages, costs[pages])
    few, many = min(costs), max(costs)
    peak = costs[many].peak_pss_mb
    growth = peak / level_by(costs[many], few / many)
    print(f"peak at {many} pages {peak:.1f} MB, under {LIMIT_MB} MB: {'yes' if peak < LIMIT_MB else 'NO'}")
    print(f"between page {few} and page {many} of one crawl it grew to {growth:.2f}, flat within 10 %: "
          f"{'yes' if growth <= GROWTH else 'NO'}")  # fmt: skip
    print(f"against a crawl that ends at {few} pages: {peak / costs[few].peak_pss_mb:.2f}")
    sys.exit(0 if peak < LIMIT_MB and growth <= GROWTH else 1)


def level_by(cost: Cost, share: float) -> float:
    """The peak up to this share of a crawl."""
    return max(mb for at, mb in cost.samples if at / cost.wall_s <= share)


if __name__ == "__main__":
    main()
