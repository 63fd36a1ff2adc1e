"""Errors and latency of the API while many clients poll lists and a crawl runs.

    python -m bench.api [--clients 200] [--seconds 30] [--pages 2000] [--pause 0.5]

The site, the server and the clients are three processes on loopback; the server crawls and answers in one process on SQLite.
Exits 1 when a request failed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

PATHS = (
    "/crawl-runs/{run}/summary",
    "/crawl-runs/{run}/urls?limit=200&sort=visited_at&order=desc",
    "/crawl-runs/{run}/urls?status=VISITED&limit=50",
    "/crawl-runs?limit=50",
    "/crawl-runs/{run}",
)
LASTS_S = 600


@dataclass(slots=True)
class Polled:
    """Latencies and errors of all clients."""

    took_s: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return len(self.took_s) + len(self.errors)

    def at(self, share: float) -> float:
        """Milliseconds within which this share of the requests was answered."""
        return sorted(self.took_s)[min(len(self.took_s) - 1, int(share * len(self.took_s)))] * 1000

    def __str__(self) -> str:
        figures = f"p50 {self.at(0.5):.0f} ms, p99 {self.at(0.99):.0f} ms, slowest {max(self.took_s) * 1000:.0f} ms"
        return f"{self.requests} requests, {len(self.errors)} errors, {figures}"


def poll(port: int, run: str, *, clients: int, seconds: float | None, pause_s: float) -> Polled:
    """Poll for this many seconds, or (None) until the run has ended."""
    return asyncio.run(_poll(port, run, clients, seconds, pause_s))


async def _poll(port: int, run: str, clients: int, seconds: float | None, pause_s: float) -> Polled:
    polled, ended = Polled(), asyncio.Event()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", connector=connector) as session:
        tasks = [asyncio.create_task(_client(session, run, number, pause_s, polled, ended)) for number in range(clients)]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await ended.wait()
        ended.set()
        await asyncio.gather(*tasks)
    return polled


async def _client(
    session: aiohttp.ClientSession, run: str, number: int, pause_s: float, polled: Polled, ended: asyncio.Event
) -> None:
    await asyncio.sleep(pause_s * (number % 20) / 20)
    while True:
        path = PATHS[number % len(PATHS)].format(run=run)
        began = time.perf_counter()
        try:
            async with session.get(path) as response:
                body = await response.read()
                if response.status != 200:
                    polled.errors.append(f"{path}: {response.status} {body[:200]!r}")
                else:
                    polled.took_s.append(time.perf_counter() - began)
        except (aiohttp.ClientError, OSError) as problem:
            polled.errors.append(f"{path}: {type(problem).__name__}: {problem}")
        number += 1
        if path.endswith("/summary") and b'"status":"RUNNING"' not in body and b'"status":"QUEUED"' not in body:
            ended.set()
        if ended.is_set():
            return
        await asyncio.sleep(pause_s)


@contextlib.contextmanager
def process(*arguments: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block."""
    child = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(env or {})}
    )
    try:
        yield child
    finally:
        child.terminate()
        child.communicate(timeout=60)


def serve_flat_site(pages: int) -> None:
    """Serve a site of this many pages, all linked from its home page, until the process is killed."""
    from tests.support.http_server import page, prose, serve_site, site

    links = tuple(f"/{number}" for number in range(pages))
    answers = {"/": page("Home", prose("home"), links=links)}
    answers |= {link: page(f"Page {link}", prose(link, 400), links=links[:50]) for link in links}
    with serve_site(site(answers)) as http_server:
        print(http_server.port, flush=True)
        time.sleep(LASTS_S)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--pause", type=float, default=0.5)
    parser.add_argument("--site", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.site:
        serve_flat_site(arguments.site)
        return 0
    with tempfile.TemporaryDirectory() as folder, process("-m", "bench.api", "--site", str(arguments.pages)) as http_server:
        assert http_server.stdout is not None
        site_port = int(http_server.stdout.readline())
        allowed = {"SITELORE_ALLOW_PRIVATE": f"127.0.0.1:{site_port}"}
        with process("-m", "sitelore", "serve", "--port", "0", "--data", str(Path(folder)), env=allowed) as server:
            assert server.stderr is not None
            port = json.loads(server.stderr.readline())["port"]
            return _measure(port, site_port, arguments)


def _measure(port: int, site_port: int, arguments: argparse.Namespace) -> int:
    body = json.dumps({"seedUrl": f"http://127.0.0.1:{site_port}/"}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/crawl-runs", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        run = json.load(response)["id"]
    began = time.monotonic()
    polled = poll(port, run, clients=arguments.clients, seconds=arguments.seconds, pause_s=arguments.pause)
    lasted = time.monotonic() - began
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/crawl-runs/{run}/summary") as response:
        summary = json.load(response)
    print(f"{arguments.clients} clients, a request every {arguments.pause} s each, for {lasted:.1f} s: {polled}")
    print(f"{polled.requests / lasted:.0f} requests/s, mean {statistics.fmean(polled.took_s) * 1000:.0f} ms")
    print(f"meanwhile {summary['counts']['pages']} pages were crawled ({summary['counts']['pages'] / lasted:.0f}/s)")
    for error in polled.errors[:5]:
        print(error)
    return 1 if polled.errors else 0


if __name__ == "__main__":
    sys.exit(main())
