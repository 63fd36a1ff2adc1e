"""Compares Sitelore with a tuned Scrapy spider on the same local site, alternately in one run.

    python -m bench.crawl [--pages 2000] [--rounds 3] [--with-markdown] [--tune] [--only sitelore|scrapy]

What each does, on every page: fetch with keep-alive at concurrency 16 without delay, robots.txt obeyed, cookies on, a frontier
that survives a crash, breadth first, all links of the host followed.

    sitelore        + address guard, redaction, title, h1, description, main content as Markdown and text, content hash, trap
                    and soft-404 checks, one commit per batch of visits (SQLite), compressed document and HTML on disk;
                    content is chosen block by block, structured data, forms, actions and media are read as well
    sitelore-content  with --read content: no structured data, forms, actions or media
    sitelore-indexed  as sitelore, and its pages are indexed for search while it runs, as a plain `sitelore crawl` does; the
                    others run with --no-index, since no peer builds an index
    scrapy-lean     title, h1, description, links to JSON lines; JOBDIR
    scrapy-store    lean, and all text of the page, and the zstd-compressed HTML on disk
    scrapy-same     the job of sitelore-content, with content by rule: address guard, secrets of the commonest formats removed,
                    frame stripped, main content as Markdown and text (turbohtml), content hash, compressed HTML; still without
                    hidden text, our other formats of secrets, traps or soft 404s

With --with-markdown: `sitelore --output db --output md`, fully and with `--read content`, which is the job of the others,
against scrapy-markdown (trafilatura, fast mode) and scrapy-markdown-full (its default mode), on the tree already parsed.

CPU is user + system of the whole process tree, start-up and shut-down included; the site's own process is not counted.
Memory is the tree's peak PSS. The peers are installed by this benchmark into `.bench/scrapy`.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Cost, ensure, run_measured
from bench.site import BENCH_DIR, ROOT, Running, running

PEER_PACKAGES = ("scrapy", "uvloop", "zstandard", "google-re2", "trafilatura", "lxml_html_clean", "turbohtml==1.15.4")
PEER_HOME = BENCH_DIR / "scrapy"
PEER = Path(__file__).resolve().parent / "peers" / "scrapy_spider.py"
BEST_LOOP = "default"


@dataclass(frozen=True, slots=True)
class Contender:
    """One crawler: its command, and the number of pages it reports."""

    name: str
    command: Callable[[str, Path], list[str]]
    pages: Callable[[Cost, Path], int]


def sitelore(name: str, outputs: tuple[str, ...], read: str = "full", index: str = "--no-index") -> Contender:
    """Sitelore, started by its command."""

    def command(url: str, out: Path) -> list[str]:
        output_options = [word for output in outputs for word in ("--output", output)]
        line = [
            sys.executable,
            "-m",
            "sitelore",
            "crawl",
            url,
            "--data",
            str(out / "data"),
            *output_options,
            "--out",
            str(out / "files"),
        ]
        return [*line, "--read", read, index, "--delay", "0", "--concurrency", "16", "--json"]

    def pages(cost: Cost, _: Path) -> int:
        return int(json.loads(cost.stdout)["pages"])

    return Contender(name, command, pages)


def scrapy(job: str, loop: str = BEST_LOOP, name: str = "") -> Contender:
    """Scrapy in its own environment."""

    def command(url: str, out: Path) -> list[str]:
        return [str(PEER_HOME / "bin" / "python"), str(PEER), url, str(out), "--job", job, "--loop", loop]

    def pages(_: Cost, out: Path) -> int:
        if job.startswith("markdown"):
            files = list((out / "md").iterdir())
            empty = sum(1 for file in files if file.stat().st_size == 0)
            # An extractor that silently finds nothing would look fast.
            ensure(empty * 50 <= len(files), f"{job} found no text on {empty} of {len(files)} pages")
        with (out / "items.jsonl").open(encoding="utf-8") as items:
            return sum(1 for _ in items)

    return Contender(name or f"scrapy-{job}", command, pages)


def install_peers() -> str:
    """Install Scrapy and the libraries of its jobs into their own environment. Returns their versions."""
    python = PEER_HOME / "bin" / "python"
    if not python.exists():
        venv.create(PEER_HOME, with_pip=True)
    probe = (
        "import scrapy, uvloop, zstandard, re2, trafilatura, lxml_html_clean, turbohtml, platform; "
        "print('Scrapy', scrapy.__version__, 'trafilatura', trafilatura.__version__, 'Python', platform.python_version())"
    )
    probed = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False)
    if probed.returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *PEER_PACKAGES], check=True)
        probed = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=True)
    return probed.stdout.strip()


def once(contender: Contender, site: Running, expected: int) -> Cost:
    """Crawl once into an empty directory; a crawl that misses pages is an error."""
    out = Path(tempfile.mkdtemp(prefix="crawl-", dir=BENCH_DIR))
    try:
        cost = run_measured(contender.command(site.url, out), out, env=dict(os.environ, PYTHONPATH=str(ROOT / "src")))
        ensure(cost.exit_code == 0, f"{contender.name} ended with {cost.exit_code}: {cost.stderr[-2000:]}")
        got = contender.pages(cost, out)
        ensure(got == expected, f"{contender.name} crawled {got} of {expected} pages: {cost.stderr[-1000:]}")
        return cost
    finally:
        shutil.rmtree(out, ignore_errors=True)


def print_row(name: str, cost: Cost, pages: int, note: str = "") -> None:
    cpu, speed = cost.cpu_s * 1000 / pages, pages / cost.wall_s
    print(f"{name:<21}{cpu:>9.2f}{speed:>10.0f}{cost.peak_pss_mb:>9.0f}{cost.processes:>7}  {note}", flush=True)


def compare(contenders: list[Contender], rounds: int, pages: int) -> dict[str, list[Cost]]:
    """Run all contenders alternately, so that other load on the machine affects all of them."""
    costs: dict[str, list[Cost]] = {contender.name: [] for contender in contenders}
    with running(pages) as site:
        print(f"site: {site.facts}; {rounds} rounds in turns\n")
        print(f"{'':<21}{'CPU ms/p':>9}{'pages/s':>10}{'PSS MB':>9}{'procs':>7}")
        for turn in range(rounds):
            for contender in contenders:
                cost = once(contender, site, pages)
                costs[contender.name].append(cost)
                print_row(contender.name, cost, pages, f"round {turn + 1}")
    return costs


def print_ratios(costs: dict[str, list[Cost]], pages: int) -> None:
    """Print medians, and each contender's CPU divided by that of each Sitelore row (median over the rounds)."""
    ours = [name for name in costs if name.startswith("sitelore")]
    heads = "".join(f"{f'x {name}':>23}" for name in ours)
    print(f"\n{'median':<21}{'CPU ms/p':>9}{'pages/s':>10}{'PSS MB':>9}{heads}")
    for name, runs in costs.items():
        cpu = statistics.median(c.cpu_s for c in runs) * 1000 / pages
        speed = statistics.median(pages / c.wall_s for c in runs)
        memory = statistics.median(c.peak_pss_mb for c in runs)
        against = [statistics.median(c.cpu_s / o.cpu_s for c, o in zip(runs, costs[own], strict=True)) for own in ours]
        print(f"{name:<21}{cpu:>9.2f}{speed:>10.0f}{memory:>9.0f}" + "".join(f"{ratio:>23.2f}" for ratio in against))


def main() -> None:
    parser = argparse.ArgumentParser(description="Sitelore against a tuned Scrapy spider")
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--with-markdown", action="store_true", help="crawl and Markdown: Scrapy with trafilatura")
    parser.add_argument("--tune", action="store_true", help="compare Scrapy's event loops instead, to pick the best")
    parser.add_argument("--only", choices=["sitelore", "scrapy"], help="leave the other side out")
    arguments = parser.parse_args()
    BENCH_DIR.mkdir(exist_ok=True)
    # As installing with pip does for both sides; an editable tree may have been edited.
    for folder in (str(ROOT / "src"), sysconfig.get_path("purelib")):
        compileall.compile_dir(folder, quiet=2)
    if arguments.only != "sitelore":
        print(f"peers: {install_peers()}")
    if arguments.tune:
        contenders = [scrapy("lean", loop, f"scrapy-{loop}") for loop in ("default", "uvloop", "epoll")]
    elif arguments.with_markdown:
        content = sitelore("sitelore-md-content", ("db", "md"), "content")
        indexed = sitelore("sitelore-md-indexed", ("db", "md"), index="--index")
        contenders = [sitelore("sitelore-md", ("db", "md")), content, indexed, scrapy("markdown"), scrapy("markdown-full")]
    else:
        content = sitelore("sitelore-content", ("db",), "content")
        indexed = sitelore("sitelore-indexed", ("db",), index="--index")
        contenders = [sitelore("sitelore", ("db",)), content, indexed, scrapy("lean"), scrapy("store"), scrapy("same")]
    if arguments.only:
        contenders = [c for c in contenders if c.name.startswith(arguments.only)]
    print_ratios(compare(contenders, arguments.rounds, arguments.pages), arguments.pages)


if __name__ == "__main__":
    main()
