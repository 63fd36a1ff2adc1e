"""The hostile server in its own process: a web server with numbered kinds of misbehaviour, and a log of its requests.

with hostile_server() as hostile:
    hostile.url("/b/13/")        # http://127.0.0.1:<port>/b/13/
    hostile.url("/page", 4)      # on one of its other origins (port + 4)
    hostile.hits()               # per behaviour: number of requests, bytes sent, …
"""

from __future__ import annotations

import http.client
import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.corpora import shared

CANARY = 20
_LAST_OFFSET = 20


@dataclass(frozen=True, slots=True)
class HostileServer:
    """A running hostile server."""

    base_port: int

    @property
    def has_tls(self) -> bool:
        """Whether its TLS origins are up; they need the openssl command."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.base_port + 11)) == 0

    def origin(self, offset: int = 0) -> str:
        """One of its origins, without a slash: 1 to 9 are robots.txt variants, 11 to 13 TLS, 20 the canary."""
        scheme = "https" if 11 <= offset <= 13 else "http"
        return f"{scheme}://127.0.0.1:{self.base_port + offset}"

    def url(self, path: str, offset: int = 0) -> str:
        """An absolute URL."""
        return self.origin(offset) + path

    def hits(self) -> dict[str, dict[str, Any]]:
        """Per behaviour (`13`, `104:robots`, `canary`): hits, bytes_sent, aborted, times, max_inflight."""
        hits: dict[str, dict[str, Any]] = self._get_json("/__hits")
        return hits

    def paths(self) -> dict[str, int]:
        """Number of requests by target, prefixed with the offset of its origin."""
        counts: dict[str, int] = self._get_json("/__paths")
        return counts

    def expected(self) -> list[dict[str, Any]]:
        """The correct outcome of each behaviour."""
        behaviours: list[dict[str, Any]] = self._get_json("/__expected")
        return behaviours

    def canary_hits(self) -> int:
        """How often the "internal service" was reached. Must stay 0."""
        return int(self.hits().get("canary", {}).get("hits", 0))

    def _get_json(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.base_port, timeout=10)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def hostile_server(seconds: float = 600.0) -> Iterator[HostileServer]:
    """Start the server on free ports; it ends with the block, or by itself after `seconds`. Skips where it is absent."""
    script = shared("hostile/server.py")
    port = _free_range()
    process = subprocess.Popen(
        [sys.executable, str(script), "--port", str(port), "--seconds", str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        # The first line says that every port is open; none comes when the process has died.
        assert process.stdout.readline(), "the hostile server did not start"
        yield HostileServer(port)
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()


def _free_range() -> int:
    """A port after which as many others are free as the server needs."""
    chance = random.Random(os.getpid())
    for _ in range(50):
        base = chance.randrange(20_000, 30_000)
        try:
            with ExitStack() as stack:
                for offset in range(_LAST_OFFSET + 1):
                    stack.enter_context(socket.create_server(("127.0.0.1", base + offset)))
        except OSError:
            continue
        return base
    pytest.skip("no range of free ports was found")
