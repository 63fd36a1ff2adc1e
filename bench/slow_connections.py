"""Latency of the API, progress of a crawl and size of the log while many clients send their request heads slowly.

    python -m bench.slow_connections [--connections 500] [--seconds 60] [--clients 10]

Each slow connection sends a byte of a request head every second, and is opened again when the server closes it. The site and
the server are processes of their own; the server crawls and answers in one process on SQLite. Exits 1 when a request of the
other clients failed, their p99 is 1 s or more, the crawl stopped, or the log has 100 KB or more.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.api import poll, process

MAX_P99_MS = 1000.0
MAX_LOG_BYTES = 100_000
PAGES = 10_000
CALM_S = 15.0
_HEAD = b"GET /crawl-runs HTTP/1.1\r\nHost: localhost\r\nX-Filler: " + b"x" * 1000
_RETRY_S = 0.2


class SlowConnections:
    """Connections that each send a byte a second, in an event loop of their own process."""

    def __init__(self, port: int, count: int) -> None:
        self._port = port
        self._count = count
        self.events: Counter[str] = Counter()
        self._open = 0

    async def run(self) -> None:
        """Keep the connections open until cancelled; print the number of open ones and of all events each second."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(self._count):
                tasks.create_task(self._send_slowly(number / self._count))
            while True:
                await asyncio.sleep(1.0)
                print(json.dumps({"open": self._open, **self.events}), flush=True)

    async def _send_slowly(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            except OSError:
                self.events["refused"] += 1
                await asyncio.sleep(_RETRY_S)
                continue
            self.events["opened"] += 1
            self._open += 1
            closed = asyncio.create_task(reader.read())
            for byte in _HEAD:
                with contextlib.suppress(OSError):
                    writer.write(bytes([byte]))
                if (await asyncio.wait({closed}, timeout=1.0))[0]:
                    break
            self._open -= 1
            closed.cancel()
            await asyncio.gather(closed, return_exceptions=True)
            writer.transport.abort()


@contextlib.contextmanager
def serve(data: Path, site_port: int) -> Iterator[tuple[int, Path]]:
    """A server on a free port, and the file of its log."""
    log = data / "server.log"
    with log.open("wb") as file:
        server = subprocess.Popen(
            [sys.executable, "-m", "sitelore", "serve", "--port", "0", "--data", str(data)],
            stdout=subprocess.DEVNULL,
            stderr=file,
            env={**os.environ, "SITELORE_ALLOW_PRIVATE": f"127.0.0.1:{site_port}"},
        )
    try:
        while b"\n" not in log.read_bytes():
            assert server.poll() is None, log.read_text()
            time.sleep(0.05)
        yield json.loads(log.read_bytes().splitlines()[0])["port"], log
    finally:
        server.terminate()
        server.wait(60)


def call(port: int, path: str, body: object = None) -> Any:
    """The answer of the API."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def measure(port: int, log: Path, site_port: int, arguments: argparse.Namespace) -> int:
    settings = {"maxPages": PAGES, "demoDelayMs": 20}
    run = call(port, "/crawl-runs", {"seedUrl": f"http://127.0.0.1:{site_port}/", "settings": settings})["id"]

    def pages() -> int:
        return int(call(port, f"/crawl-runs/{run}/summary")["counts"]["pages"])

    poll(port, run, clients=arguments.clients, seconds=5.0, pause_s=0.5)
    before, calm_log = pages(), log.stat().st_size
    calm = poll(port, run, clients=arguments.clients, seconds=CALM_S, pause_s=0.5)
    calm_pages, calm_log = pages() - before, log.stat().st_size - calm_log
    with process("-m", "bench.slow_connections", "--slow", str(port), "--connections", str(arguments.connections)) as slow:
        assert slow.stdout is not None
        slow.stdout.readline()
        before, log_before = pages(), log.stat().st_size
        slowed = poll(port, run, clients=arguments.clients, seconds=arguments.seconds, pause_s=0.5)
        slow_pages, slow_log = pages() - before, log.stat().st_size - log_before
        slow.terminate()
        lines = slow.stdout.read().splitlines()
    state = call(port, f"/crawl-runs/{run}")["status"]
    print(f"without slow connections: {calm}; {calm_pages / CALM_S:.0f} pages/s, log {calm_log:,} bytes in {CALM_S:.0f} s")
    print(f"with {arguments.connections} slow connections for {arguments.seconds:.0f} s: {slowed}")
    print(f"  crawl {state}, {slow_pages / arguments.seconds:.0f} pages/s, log {slow_log:,} bytes; slow: {lines[-1].decode()}")
    for error in slowed.errors[:5]:
        print(error)
    is_good = not slowed.errors and slowed.at(0.99) < MAX_P99_MS and slow_pages > 0 and slow_log < MAX_LOG_BYTES
    return 0 if is_good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--slow", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.slow:
        asyncio.run(SlowConnections(arguments.slow, arguments.connections).run())
        return 0
    with tempfile.TemporaryDirectory() as folder, process("-m", "bench.api", "--site", str(PAGES)) as http_server:
        assert http_server.stdout is not None
        site_port = int(http_server.stdout.readline())
        with serve(Path(folder), site_port) as (port, log):
            return measure(port, log, site_port, arguments)


if __name__ == "__main__":
    sys.exit(main())
