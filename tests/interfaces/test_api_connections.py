"""Limits on the connections of the API: their number, and the time of a request head."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from tests.interfaces.api import Api, idle_app, serving_api

from sitelore.serve import server
from sitelore.serve.context import ApiSettings

HALF = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with serving_api(partial(idle_app, tmp_path), ApiSettings(poll_s=0.02, heartbeat_s=0.02)) as api:
        yield api


def connect(api: Api, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", api.port), 30)
    connection.sendall(sent)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Wait until the server closes the connection without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_a_connection_whose_request_head_is_overdue_is_closed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_HEAD_S", 0.1)
    with connect(api, b"") as silent, connect(api, HALF) as slow:
        assert is_closed(silent)
        assert is_closed(slow)
    with api.follow(api.start("https://site.invalid/")) as events:
        kinds = [next(events).kind for _ in range(30)]
    assert kinds.count("heartbeat") == 29, "a request that takes longer than its head may take is still answered"


def test_at_the_limit_the_connection_that_has_waited_longest_is_closed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    run = api.start("https://site.invalid/")
    monkeypatch.setattr(server, "max_connections", lambda: 3)
    with api.follow(run) as events, connect(api, HALF) as first:
        assert next(events).kind == "progress"
        with connect(api, HALF) as second:
            assert api.call("GET", "/health").status == 200
            assert is_closed(first)
            second.sendall(b"\r\n")
            assert second.recv(15) == b"HTTP/1.1 200 OK"
        assert next(events).kind == "heartbeat", "a connection with a request in progress is not closed"


def test_at_the_limit_of_requests_in_progress_a_new_connection_is_closed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    run = api.start("https://site.invalid/")
    monkeypatch.setattr(server, "max_connections", lambda: 3)
    with ExitStack() as opened:
        streams = [opened.enter_context(api.follow(run)) for _ in range(3)]
        assert [next(events).kind for events in streams] == ["progress"] * 3
        assert is_closed(opened.enter_context(socket.create_connection(("127.0.0.1", api.port), 30)))
        assert [next(events).kind for events in streams] == ["heartbeat"] * 3


def test_the_limit_leaves_half_of_the_open_files_to_the_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    for open_files, limit in ((256, 128), (1024, 512), (1_000_000, 1000), (resource.RLIM_INFINITY, 1000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=open_files: (limit, limit))
        assert server.max_connections() == limit
