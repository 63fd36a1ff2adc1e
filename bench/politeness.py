"""Measures the request rate as a server sees it: the shortest gap, and the share of the allowed rate that is used.

    python -m bench.politeness [--delays 0.05 0.1 0.2] [--pages 100] [--workers N]

With `--workers` so many workers crawl together on Postgres, Valkey and S3; otherwise one process on SQLite. Counts every
request, robots.txt and sitemap included. Exits 1 when a gap is shorter than the delay or under 90 % is reached.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from scripts.servers import LocalServers
from tests.support.crawls import crawl_settings
from tests.support.workers import crawl_with_workers, scaled_app, worker_pool

TIMES = "/__times"
LASTS_S = 300
WARM_UP = 4  # requests before the first page of the flat site: robots.txt, home, sitemap, start of the reader


class Logging(asyncio.Protocol):
    """Answers every path with a small page and records the time of each request."""

    times: list[float] = []  # noqa: RUF012 one log for all connections of the process

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.unread = transport, b""

    def data_received(self, data: bytes) -> None:
        self.unread += data
        while b"\r\n\r\n" in self.unread:
            head, self.unread = self.unread.split(b"\r\n\r\n", 1)
            path = head.split(b" ")[1].decode()
            if path != TIMES:
                self.times.append(time.perf_counter())
            status, body = self.answer(path)
            length = str(len(body)).encode()
            self.transport.write(
                b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %b\r\n\r\n%b" % (status, length, body)
            )

    def answer(self, path: str) -> tuple[bytes, bytes]:
        if path == TIMES:
            return b"200 OK", json.dumps(self.times).encode()
        if path in {"/robots.txt", "/sitemap.xml"}:
            return b"404 Not Found", b"none"
        links = "".join(f"<a href=/{i}>{i}</a>" for i in range(1000)) if path == "/" else ""
        return b"200 OK", f"<title>Page {path}</title><h1>Page {path}</h1><p>The text of {path}.</p>{links}".encode()


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Logging, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.sleep(LASTS_S)


@contextmanager
def logging_site() -> Iterator[str]:
    """Serve the site in its own process; yields its origin."""
    server = subprocess.Popen([sys.executable, "-m", "bench.politeness", "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
    finally:
        server.kill()
        server.wait()


def crawl_alone(origin: str, delay_s: float, pages: int) -> None:
    """Crawl with one process on SQLite, as a user starts it."""
    with tempfile.TemporaryDirectory() as data:
        crawl = [sys.executable, "-m", "sitelore", "crawl", f"{origin}/", "--data", data, "--output", "db", "--json"]
        subprocess.run([*crawl, "--delay", str(delay_s), "--max-pages", str(pages)], check=True, capture_output=True)


def crawl_together(servers: LocalServers, workers: int) -> Callable[[str, float, int], None]:
    """Crawl one run with this many workers."""

    async def crawl(origin: str, delay_s: float, pages: int) -> None:
        settings = crawl_settings(f"{origin}/", delay_s=delay_s, max_pages=pages, concurrency=4)
        async with scaled_app(servers) as (app, operator):
            with worker_pool(operator) as pool:
                pool.start(workers)
                await crawl_with_workers(app, settings, LASTS_S)

    return lambda origin, delay_s, pages: asyncio.run(crawl(origin, delay_s, pages))


def is_polite(crawl: Callable[[str, float, int], None], delay_s: float, pages: int) -> bool:
    """Crawl once and check the times that the site recorded."""
    with logging_site() as origin:
        crawl(origin, delay_s, pages)
        with urllib.request.urlopen(origin + TIMES) as answer:
            times = [float(at) for at in json.load(answer)]
    shortest = min(b - a for a, b in itertools.pairwise(times))
    steady = times[WARM_UP:]
    reached = delay_s * (len(steady) - 1) / (steady[-1] - steady[0])
    seen = f"{len(times)} requests, shortest gap {shortest * 1000:.1f} ms, {reached:.0%} of the rate"
    print(f"delay {delay_s * 1000:.0f} ms: {seen}", flush=True)
    return shortest >= delay_s and reached >= 0.9


def main() -> None:
    parser = argparse.ArgumentParser(description="the pace as a server sees it")
    parser.add_argument("--delays", type=float, nargs="+", default=[0.05, 0.1, 0.2])
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--workers", type=int, default=0, help="so many workers, on Postgres, Valkey and S3")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve())
        return
    with ExitStack() as closing:
        crawl = crawl_together(closing.enter_context(LocalServers()), arguments.workers) if arguments.workers else crawl_alone
        fine = [is_polite(crawl, delay_s, arguments.pages) for delay_s in arguments.delays]
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
