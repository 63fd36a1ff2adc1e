"""A real API server for tests, in its own thread on a free loopback port, and a small client."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sitelore.app.wiring import embedded
from sitelore.model.ids import RunId
from sitelore.serve.context import ApiSettings, AppContext, context_of
from sitelore.serve.server import listening_socket, serve

ENDED = {"COMPLETED", "FAILED", "CANCELLED"}


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """The response to an API request."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """The media type, or the code of a problem."""
        kind = self.headers.get_content_type()
        return str(self.json["type"]).removeprefix("urn:sitelore:problem:") if kind == "application/problem+json" else kind


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    id: str
    kind: str
    data: Any


@dataclass(slots=True)
class Api:
    """A client of a running server."""

    port: int
    token: str = ""
    stop: Callable[[], None] = lambda: None
    headers: dict[str, str] = field(default_factory=dict)

    def call(self, method: str, path: str, body: object = None, /, **headers: str) -> ApiResponse:
        """Send a request. A body of bytes is sent unchanged, any other as JSON. Underscores in header names become dashes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, *self._encode(body, headers))
            answer = connection.getresponse()
            return ApiResponse(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def _encode(self, body: object, headers: dict[str, str]) -> tuple[bytes | None, dict[str, str]]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        if body is None:
            return None, sent
        sent.setdefault("Content-Type", "application/json")
        return body if isinstance(body, bytes) else json.dumps(body).encode(), sent

    def get(self, path: str, /, **headers: str) -> Any:
        """The JSON of a response, whose status must be 200."""
        answer = self.call("GET", path, **headers)
        assert answer.status == 200, (path, answer.status, answer.body)
        return answer.json

    def start(self, seed: str, **settings: object) -> str:
        """Create a run and return its id."""
        answer = self.call("POST", "/crawl-runs", {"seedUrl": seed, "settings": settings})
        assert answer.status == 201, answer.body
        return str(answer.json["id"])

    def finish(self, run: str) -> dict[str, Any]:
        """Follow a run until it has ended, and return its last summary."""
        with self.follow(run) as events:
            *_, last = events
        assert last.kind == "end", last
        assert isinstance(last.data, dict)
        return last.data

    @contextlib.contextmanager
    def follow(self, run: str, last_id: str = "") -> Iterator[Iterator[Event]]:
        """The events of a run, as they arrive."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            sent = {"Last-Event-ID": last_id} if last_id else {}
            connection.request("GET", f"/crawl-runs/{run}/events", *self._encode(None, sent))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            assert answer.headers.get_content_type() == "text/event-stream"
            yield _events(answer)
        finally:
            connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in answer:
        text = line.decode().rstrip("\n")
        if not text and "data" in fields:
            yield Event(fields["id"], fields["event"], json.loads(fields["data"]))
        if not text:
            fields = {}
        elif text.startswith(":"):
            yield Event("", "heartbeat", text[1:].strip())
        else:
            name, _, value = text.partition(": ")
            fields[name] = value


AppFactory = Callable[[], AbstractAsyncContextManager[AppContext]]


@asynccontextmanager
async def whole_app(data: Path) -> AsyncIterator[AppContext]:
    """The app that `sitelore serve` runs without settings."""
    async with embedded(data, writing=True) as app:
        yield context_of(app)


@asynccontextmanager
async def idle_app(data: Path) -> AsyncIterator[AppContext]:
    """An app without workers: runs can be created for any URL, and nothing is fetched."""

    async def attend(stop: asyncio.Event) -> None:
        await stop.wait()

    async with embedded(data, writing=True) as app:

        async def announce(_: RunId) -> None:
            pass

        yield replace(context_of(app), run_background=attend, announce=announce)


@contextlib.contextmanager
def serving_api(build: AppFactory, settings: ApiSettings | None = None) -> Iterator[Api]:
    """Serve until the block ends; an exception of the server is raised then."""
    settings = settings or ApiSettings(poll_s=0.05)
    sock = listening_socket("127.0.0.1", 0, with_tokens=bool(settings.tokens))
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    problems: list[BaseException] = []

    def run() -> None:
        try:
            loop.run_until_complete(_serve(build, settings, sock, stop))
        except BaseException as problem:  # noqa: BLE001 raised in the test's own thread
            problems.append(problem)

    thread = threading.Thread(target=run, name="test-api", daemon=True)
    thread.start()

    def stop_server() -> None:
        loop.call_soon_threadsafe(stop.set)

    try:
        yield Api(sock.getsockname()[1], settings.tokens[0] if settings.tokens else "", stop_server)
    finally:
        if thread.is_alive():
            stop_server()
        thread.join(40)
        assert not thread.is_alive(), "the API server did not end"
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
    if problems:
        raise problems[0]


async def _serve(build: AppFactory, settings: ApiSettings, sock: socket.socket, stop: asyncio.Event) -> None:
    async with build() as context:
        await serve(context, settings, sock, stop)
