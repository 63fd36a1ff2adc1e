"""CPU and memory of a long crawl, and of indexing it, block by block. Neither may grow with the number of pages.

    python -m bench.long [--pages 50000] [--block 5000]

Serves generated pages of about 3 KB from a process of its own, crawls them without indexing, and then builds the search index
without embeddings. Pages are small, so that the share of the database is large. CPU and memory (PSS) are those of the process
tree of the command. Exits 1 when the last block of the index takes more than 1.1 times the CPU of the first one.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.measure import ensure, pss_mb, tree_cpu_s, tree_of
from bench.site import BENCH_DIR, ROOT

GROWTH = 1.1
_LINKS = 20
_PARAGRAPHS = 4
_WORDS = 60
_POLL_S = 0.2
_VOCABULARY = ["".join(random.Random(n).choices("abcdefghilmnoprstu", k=3 + n % 7)) for n in range(5_000)]


def make_page(number: int, pages: int) -> bytes:
    """A page that links to its two children, so that all are reached, and to others."""
    rng = random.Random(number)
    targets = [n for n in (2 * number + 1, 2 * number + 2) if n < pages]
    targets += [rng.randrange(pages) for _ in range(_LINKS - len(targets))]
    links = "".join(f'<li><a href="/{target % 97}/page-{target}">Page {target}</a></li>' for target in targets)
    text = "".join(f"<p>{' '.join(rng.choices(_VOCABULARY, k=_WORDS))}.</p>" for _ in range(_PARAGRAPHS))
    title = f"Page {number}"
    html = f"<html><head><title>{title}</title></head><body><main><h1>{title}</h1>{text}</main><ul>{links}</ul></body></html>"
    return html.encode()


PageMaker = Callable[[int, int], bytes]


async def _serve(pages: int, make: PageMaker, served: Any, ready: Connection) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            path = line.split()[1].decode()
            while (await reader.readline()).strip():
                pass
            number = 0 if path == "/" else int(path.rpartition("-")[2]) if "/page-" in path else None
            status, body = ("200 OK", make(number, pages)) if number is not None else ("404 Not Found", b"")
            served.value += number is not None
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
    ready.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _run_site(pages: int, make: PageMaker, served: Any, ready: Connection) -> None:
    asyncio.run(_serve(pages, make, served, ready))


@contextmanager
def serving(pages: int, make: PageMaker = make_page) -> Iterator[tuple[str, Callable[[], int]]]:
    """Serve the pages that a module's function makes, in a process. Gives the URL, and how many pages were served so far."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    served = context.Value("q", 0, lock=False)
    process = context.Process(target=_run_site, args=(pages, make, served, sender), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{receiver.recv()}/", lambda: int(served.value)
    finally:
        process.terminate()
        process.join()


def measure_blocks(command: Sequence[str], out: Path, count: Callable[[], int], pages: int, block: int) -> list[float]:
    """Run a command and print a line for each block of pages. Gives the CPU seconds a page of each."""
    costs: list[float] = []
    with (out / "stdout").open("wb") as stdout, (out / "stderr").open("wb") as stderr:
        env = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
        process = subprocess.Popen(command, cwd=out, env=env, stdout=stdout, stderr=stderr)
        done, cpu_s, at = 0, 0.0, 0.0
        while process.poll() is None:
            now_done = min(pages, count())
            now_cpu_s, now = tree_cpu_s(process.pid), time.monotonic()
            if done == 0 and now_done >= block // 5:
                done, cpu_s, at = now_done, now_cpu_s, now  # what the start of the process takes is not counted
            elif done and (now_done >= done + block or now_done == pages > done):
                memory = sum(pss_mb(pid) for pid in tree_of(process.pid))
                costs.append((now_cpu_s - cpu_s) / (now_done - done))
                rate = (now_done - done) / (now - at)
                print(f"{now_done:>8}{costs[-1] * 1e3:>12.2f}{memory:>12.1f}{rate:>10.1f}", flush=True)
                done, cpu_s, at = now_done, now_cpu_s, now
            time.sleep(_POLL_S)
    ensure(process.returncode == 0, f"exit code {process.returncode}: {(out / 'stderr').read_text()[-2000:]}")
    return costs


def _count_indexed(ledger: Path) -> int:
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as database:
        return int(database.execute("SELECT count(*) FROM pages WHERE indexed IS NOT NULL").fetchone()[0])


def main() -> None:
    """Crawl, then index."""
    parser = argparse.ArgumentParser(description="CPU and memory of a long crawl")
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--block", type=int, default=5_000)
    options = parser.parse_args()
    BENCH_DIR.mkdir(exist_ok=True)
    out = Path(tempfile.mkdtemp(prefix="long-", dir=BENCH_DIR))
    sitelore = [sys.executable, "-m", "sitelore"]
    data = ["--data", str(out / "data"), "--json"]
    header = f"{'pages':>8}{'CPU ms/page':>12}{'PSS MB':>12}{'pages/s':>10}"
    try:
        with serving(options.pages) as (url, count):
            print(f"crawl\n{header}")
            command = [*sitelore, "crawl", url, *data, "--output", "db", "--no-index", "--delay", "0", "--concurrency", "16"]
            measure_blocks(command, out, count, options.pages, options.block)
        print(f"index\n{header}")
        ledger = out / "data" / "sitelore.db"
        command = [*sitelore, "reindex", "--no-embeddings", *data]
        costs = measure_blocks(command, out, lambda: _count_indexed(ledger), options.pages, options.block)
    finally:
        shutil.rmtree(out, ignore_errors=True)
    growth = costs[-1] / costs[0]
    print(f"index: the last block takes {growth:.2f} times the CPU of the first (at most {GROWTH})")
    sys.exit(0 if growth <= GROWTH else 1)


if __name__ == "__main__":
    main()
