"""A receiver of webhooks on loopback that records every request and answers as the test decides.

with receiver() as received:
    received.url                      # where it listens
    received.requests                 # all requests, in the order in which they arrived
    received.answer = lambda request: Reply(500)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """How the receiver answers a request."""

    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Received:
    """A request, and the status it was answered with."""

    path: str
    headers: dict[str, str]
    body: bytes
    status: int = 0

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def type(self) -> str:
        return str(self.json["type"])

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = self.json["data"]
        return data


@dataclass(slots=True)
class Receiver:
    """The running receiver."""

    port: int = 0
    requests: list[Received] = field(default_factory=list)
    answer: Callable[[Received], Reply] = lambda _: Reply()
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def accepted(self) -> list[Received]:
        return [request for request in self.requests if 200 <= request.status < 300]

    def wait_for(self, condition: Callable[[], bool], timeout_s: float = 60.0) -> bool:
        """Wait until the condition holds; it is checked after every request."""
        with self.changed:
            return self.changed.wait_for(condition, timeout_s)

    def record(self, request: Received) -> Reply:
        with self.changed:
            reply = self.answer(request)
            self.requests.append(Received(request.path, request.headers, request.body, reply.status))
            self.changed.notify_all()
        return reply


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Receive while the body runs, in threads."""
    received = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = received.record(Received(self.path, headers, body))
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.status != 204:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """A sender that was killed closes its connections: that is no news."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    received.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
