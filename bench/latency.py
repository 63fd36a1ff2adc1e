"""Wall time of whole crawls of sites with slow pages, side by side with Scrapy and Crawlee, in turns.

    python -m bench.latency [--shape blog|mesh|one-slow|levels …] [--rounds 3] [--pages 600]

Every crawler has 16 requests at a time and no delay, obeys robots.txt and follows all links of the host. Sitelore is run as a
user runs it (Markdown and database): without a page limit, with one that is far away, and without prefetching. `first file` is
the time until the first Markdown file exists. The shapes of the sites: `bench/latency_site.py`. The peers are installed by this
benchmark into `.bench/scrapy` and `.bench/crawlee`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.crawl import PEER, PEER_HOME, install_peers
from bench.latency_site import serving
from bench.measure import ensure
from bench.site import BENCH_DIR, ROOT

CRAWLEE_HOME = BENCH_DIR / "crawlee"
CRAWLEE = Path(__file__).resolve().parent / "peers" / "crawlee_crawler.py"
SHAPES = ("blog", "mesh", "one-slow", "levels")
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Crawl:
    """What one crawl took, and how many pages it has."""

    wall_s: float
    pages: int
    first_file_s: float | None = None
    unused: int = 0


Contender = Callable[[str, Path], list[str]]


def sitelore(*options: str) -> Contender:
    """Sitelore as a user starts it."""
    return lambda url, out: [
        sys.executable, "-m", "sitelore", "crawl", url, "--data", str(out / "data"), "--out", str(out / "files"),
        "--delay", "0", "--concurrency", "16", "--json", *options,
    ]  # fmt: skip


def scrapy(url: str, out: Path) -> list[str]:
    """The Scrapy spider of `bench/crawl.py` with its smallest job."""
    return [str(PEER_HOME / "bin" / "python"), str(PEER), url, str(out), "--job", "lean", "--loop", "default"]


def crawlee(url: str, out: Path) -> list[str]:
    """The Crawlee crawler."""
    return [str(CRAWLEE_HOME / "bin" / "python"), str(CRAWLEE), url, str(out)]


CONTENDERS: dict[str, Contender] = {
    "sitelore": sitelore(),
    "sitelore --max-pages 5000": sitelore("--max-pages", "5000"),
    "sitelore --prefetch off": sitelore("--prefetch", "off"),
    "scrapy": scrapy,
    "crawlee": crawlee,
}


def install_crawlee() -> None:
    """Install Crawlee into an environment of its own."""
    python = CRAWLEE_HOME / "bin" / "python"
    if not python.exists():
        venv.create(CRAWLEE_HOME, with_pip=True)
    if subprocess.run([python, "-c", "import crawlee.crawlers, parsel"], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", "crawlee[parsel]"], check=True)


def crawl(contender: Contender, url: str) -> Crawl:
    """One crawl into an empty directory."""
    out = Path(tempfile.mkdtemp(prefix="latency-", dir=BENCH_DIR))
    env = dict(os.environ, PYTHONPATH=str(ROOT / "src"), CRAWLEE_STORAGE_DIR=str(out / "storage"))
    try:
        with (out / "stdout").open("wb") as stdout, (out / "stderr").open("wb") as stderr:
            started_at, first_file_s = time.perf_counter(), None
            process = subprocess.Popen(contender(url, out), cwd=out, env=env, stdout=stdout, stderr=stderr)
            while process.poll() is None:
                if first_file_s is None and next((out / "files").rglob("*.md"), None) is not None:
                    first_file_s = time.perf_counter() - started_at
                time.sleep(_POLL_S)
            wall_s = time.perf_counter() - started_at
        ensure(process.returncode == 0, f"exit code {process.returncode}: {(out / 'stderr').read_text()[-2000:]}")
        items = out / "items.jsonl"
        if items.exists():
            return Crawl(wall_s, len(items.read_text(encoding="utf-8").splitlines()))
        summary = json.loads((out / "stdout").read_text())
        return Crawl(wall_s, summary["pages"], first_file_s, summary["prefetch_unused"])
    finally:
        shutil.rmtree(out, ignore_errors=True)


def compare(shape: str, pages: int, rounds: int) -> None:
    """All contenders on one site, in turns."""
    with serving(shape, pages) as (url, expected):
        print(f"\n{shape}: {expected} pages, {rounds} rounds in turns")
        crawls: dict[str, list[Crawl]] = {name: [] for name in CONTENDERS}
        for _ in range(rounds):
            for name, contender in CONTENDERS.items():
                result = crawl(contender, url)
                ensure(result.pages == expected, f"{name} has {result.pages} of {expected} pages")
                crawls[name].append(result)
    fastest = min(statistics.median(one.wall_s for one in crawls[name]) for name in ("scrapy", "crawlee"))
    print(f"{'':<28}{'wall s':>9}{'x faster peer':>15}{'first file s':>14}{'not used':>10}")
    for name, results in crawls.items():
        wall_s = statistics.median(one.wall_s for one in results)
        first = [one.first_file_s for one in results if one.first_file_s is not None]
        first_file = f"{statistics.median(first):.1f}" if first else ""
        unused = max(one.unused for one in results)
        print(f"{name:<28}{wall_s:>9.1f}{wall_s / fastest:>15.2f}{first_file:>14}{unused:>10}", flush=True)


def main() -> None:
    """Run the comparison for each shape."""
    parser = argparse.ArgumentParser(description="wall time of crawls of sites with slow pages")
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--pages", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    BENCH_DIR.mkdir(exist_ok=True)
    print(f"peers: {install_peers()}")
    install_crawlee()
    for shape in options.shape or SHAPES:
        compare(shape, options.pages, options.rounds)


if __name__ == "__main__":
    main()
