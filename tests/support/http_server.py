"""An HTTP/1.1 server for tests: keep-alive, its own thread and event loop, a log of every request, and configurable faults.

    with serve_site(pages) as server:
        server.origin                     # http://127.0.0.1:<free port>
        server.hits                       # every request in order of arrival
        server.edit("/about")             # from now on the page reads differently
        server.answer_first("/a", Answer(503), Answer(503))   # succeeds at the third try
        server.rate_limit = RateLimit(after=10, seconds=2)    # 429 with Retry-After

`pages` maps a request target (path and query) to an `Answer`, or to None for a 404. The server knows nothing of the
crawler. `/__log` returns the log as JSON, for tests that crawl in another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import random
import string
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from email.utils import formatdate, parsedate_to_datetime

HTML = "text/html; charset=utf-8"
_REASONS = {
    200: "OK", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
    308: "Permanent Redirect", 403: "Forbidden", 404: "Not Found", 410: "Gone", 429: "Too Many Requests",
    500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip
_TICK_S = 0.01
_LAST_MODIFIED = 1_700_000_000.0  # Last-Modified of every page until it is edited


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to one request."""

    status: int = 200
    body: bytes = b""
    content_type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One request as the server saw it; `at` is the monotonic time at which its head was complete."""

    at: float
    target: str
    status: int
    conditional: bool = False
    agent: str = ""


@dataclass(slots=True)
class RateLimit:
    """After this many requests the server answers 429 for a while, once, with Retry-After in seconds or as a date."""

    after: int
    seconds: float
    as_date: bool = False
    until: float = 0.0
    """Wall clock; 0 before the first 429."""


Pages = Callable[[str], Answer | None]


def page(title: str, body: str = "", *, links: tuple[str, ...] = (), head: str = "") -> Answer:
    """An HTML page whose main content is `body`, with a list of links after it."""
    items = "".join(f'<li><a href="{href}">link {number}</a></li>' for number, href in enumerate(links, 1))
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>{head}</head>'
        f"<body><main><h1>{title}</h1><p>{body}</p><ul>{items}</ul></main></body></html>"
    )
    return Answer(body=text.encode())


def prose(topic: str, words: int = 60) -> str:
    """Generate text for a topic; equal topics give equal text, and different ones different text even without digits."""
    chance = random.Random(topic)
    return " ".join("".join(chance.choices(string.ascii_lowercase, k=chance.randint(3, 9))) for _ in range(words))


def redirect(location: str, status: int = 301) -> Answer:
    """A redirect to `location`."""
    return Answer(status, headers=(("Location", location),))


def site(pages: dict[str, Answer], robots: str = "") -> Pages:
    """A site of exactly these targets, with this robots.txt when it is not empty."""
    known = dict(pages)
    if robots:
        known["/robots.txt"] = Answer(body=robots.encode(), content_type="text/plain")
    return known.get


@dataclass(slots=True)
class HttpServer:
    """A running server: its pages, its log of requests, and its faults, which may be changed while it runs."""

    pages: Pages
    port: int = 0
    host: str = "127.0.0.1"
    hits: list[Hit] = field(default_factory=list)
    delay_s: float = 0.0
    slow: dict[str, float] = field(default_factory=dict)
    """Targets that take this many seconds instead of `delay_s`."""
    held: dict[str, int] = field(default_factory=dict)
    """Targets that are answered only once this many requests were logged."""
    validators: bool = True
    rate_limit: RateLimit | None = None
    flaky_share: float = 0.0
    """The share of targets that answer 503 `flaky_tries` times before they heal; which ones is a hash of the target."""
    flaky_tries: int = 1
    lags: list[float] = field(default_factory=list)
    """Delays of the server's own event loop, sampled continuously: the error of every time it logs."""
    edits: dict[str, int] = field(default_factory=dict)
    active: int = 0
    """Requests that were read and not answered yet."""
    most_active: int = 0
    _first: dict[str, list[Answer]] = field(default_factory=dict)
    _tries: dict[str, int] = field(default_factory=dict)
    _awaited: int = -1
    _reached: threading.Event = field(default_factory=threading.Event)

    @property
    def origin(self) -> str:
        """`http://host:port`, without a slash."""
        return f"http://{self.host}:{self.port}"

    def url(self, target: str = "/") -> str:
        """The absolute URL of a target."""
        return self.origin + target

    def edit(self, target: str) -> None:
        """Change the text of a page; its ETag and Last-Modified change too."""
        self.edits[target] = self.edits.get(target, 0) + 1

    def answer_first(self, target: str, *answers: Answer) -> None:
        """Give these answers to the next requests for a target, then the usual one again."""
        self._first[target] = list(answers)

    def targets(self) -> list[str]:
        """The requested targets in order, without robots.txt and sitemaps."""
        return [h.target for h in self.hits if h.target != "/robots.txt" and "sitemap" not in h.target]

    def wait_for_hits(self, count: int, timeout_s: float = 60.0) -> bool:
        """Block until this many requests were logged; False when the time passes first."""
        self._reached.clear()
        self._awaited = count
        return len(self.hits) >= count or self._reached.wait(timeout_s)

    def clear_log(self) -> None:
        """Empty the log."""
        self.hits.clear()
        self.lags.clear()

    def reply(self, target: str, headers: dict[str, str]) -> bytes:
        """The whole response; the request is added to the log."""
        if target == "/__log":
            return _wire(Answer(body=json.dumps([asdict(h) for h in self.hits]).encode(), content_type="application/json"))
        at = time.monotonic()
        answer = self._fault(target) or self._page(target)
        conditional = "if-none-match" in headers or "if-modified-since" in headers
        if answer.status == 200 and self.validators:
            answer = self._validated(target, answer, headers)
        self.hits.append(Hit(at, target, answer.status, conditional, headers.get("user-agent", "")))
        if len(self.hits) == self._awaited:
            self._reached.set()
        return _wire(answer)

    def _fault(self, target: str) -> Answer | None:
        if target == "/robots.txt":
            return None
        if self.rate_limit is not None and (closed := self._rate_limited(self.rate_limit)) is not None:
            return closed
        if queue := self._first.get(target):
            return queue.pop(0)
        if self.flaky_share and hashlib.sha256(target.encode()).digest()[0] < 256 * self.flaky_share:
            self._tries[target] = self._tries.get(target, 0) + 1
            if self._tries[target] <= self.flaky_tries:
                return Answer(503, b"overloaded", "text/plain")
        return None

    def _rate_limited(self, closing: RateLimit) -> Answer | None:
        now = time.time()
        if not closing.until and len(self.hits) >= closing.after:
            until = now + closing.seconds
            closing.until = float(math.ceil(until)) if closing.as_date else until
        if now >= closing.until:
            return None
        wait = formatdate(closing.until, usegmt=True) if closing.as_date else str(math.ceil(closing.until - now))
        return Answer(429, b"slow down", "text/plain", (("Retry-After", wait),))

    def _page(self, target: str) -> Answer:
        answer = self.pages(target)
        if answer is None:
            return Answer(404, b"<title>Not found</title><h1>Not found</h1>")
        if version := self.edits.get(target):
            note = f"<p>{prose(f'{target} edited {version}', 12)}</p></main>".encode()
            answer = Answer(answer.status, answer.body.replace(b"</main>", note), answer.content_type, answer.headers)
        return answer

    def _validated(self, target: str, answer: Answer, headers: dict[str, str]) -> Answer:
        etag = f'"{hashlib.sha256(answer.body).hexdigest()[:16]}"'
        modified = _LAST_MODIFIED + 3600 * self.edits.get(target, 0)
        validators = (("ETag", etag), ("Last-Modified", formatdate(modified, usegmt=True)))
        if "if-none-match" in headers:
            same = headers["if-none-match"] == etag
        elif "if-modified-since" in headers:
            same = parsedate_to_datetime(headers["if-modified-since"]).timestamp() >= modified
        else:
            same = False
        if same:
            return Answer(304, headers=validators)
        return Answer(answer.status, answer.body, answer.content_type, (*answer.headers, *validators))


def _wire(answer: Answer) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Status')}"]
    if answer.status != 304:
        lines += [f"Content-Type: {answer.content_type}", f"Content-Length: {len(answer.body)}"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (answer.body if answer.status != 304 else b"")


class _Connection(asyncio.Protocol):
    """One keep-alive connection. Requests have no body, so each head is a request."""

    def __init__(self, http_server: HttpServer, open_: set[asyncio.Transport]) -> None:
        self._web = http_server
        self._open = open_
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._open.discard(self._transport)
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            lines = head.decode("latin-1").split("\r\n")
            method, target, _ = lines[0].split(" ", 2)
            headers = {}
            for line in lines[1:]:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            reply = self._web.reply(target, headers)
            self._web.active += 1
            self._web.most_active = max(self._web.most_active, self._web.active)
            if method == "HEAD":
                reply = reply[: reply.index(b"\r\n\r\n") + 4]
            delay_s = self._web.slow.get(target, self._web.delay_s)
            if delay_s or target in self._web.held:
                asyncio.get_running_loop().call_later(delay_s, self._send_when_due, target, reply)
            else:
                self._send(reply)

    def _send_when_due(self, target: str, reply: bytes) -> None:
        if len(self._web.hits) < self._web.held.get(target, 0):
            asyncio.get_running_loop().call_later(_TICK_S, self._send_when_due, target, reply)
        else:
            self._send(reply)

    def _send(self, reply: bytes) -> None:
        self._web.active -= 1
        if self._transport is not None:
            self._transport.write(reply)


async def _watch_lag(http_server: HttpServer) -> None:
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _TICK_S
        await asyncio.sleep(_TICK_S)
        http_server.lags.append(loop.time() - due)


async def _serve(http_server: HttpServer, ready: threading.Event, stop: asyncio.Event) -> None:
    connections: set[asyncio.Transport] = set()
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(http_server, connections), "127.0.0.1", http_server.port
    )
    http_server.port = server.sockets[0].getsockname()[1]
    watching = asyncio.create_task(_watch_lag(http_server))
    ready.set()
    await stop.wait()
    watching.cancel()
    for listening in server.sockets:
        asyncio.get_running_loop().remove_reader(listening)
    # Each connection that was accepted a moment ago has a task that adds its transport; after `close` it would fail.
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
    server.close()
    for transport in list(connections):
        transport.abort()
    await server.wait_closed()
    await asyncio.sleep(0)  # the sockets are closed in the next turn of the loop


@contextlib.contextmanager
def serve_site(pages: Pages, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[HttpServer]:
    """Serve on a free loopback port until the block ends. `host` is only the name used in URLs."""
    http_server = HttpServer(pages, host=host, port=port)
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(
        target=loop.run_until_complete, args=(_serve(http_server, ready, stop),), name="test-web", daemon=True
    )
    thread.start()
    try:
        assert ready.wait(10), "the test server did not start"
        yield http_server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        assert not thread.is_alive(), "the test server did not end"
        loop.close()
