"""Proxies and a gated site for tests, each on a free loopback port in a thread of its own.

with serve_proxy("http", credentials="ann:secret") as proxy:
    proxy.url                 # http://ann:secret@127.0.0.1:<port>
    proxy.targets             # the authorities that were requested, in order
with serve_gate(Gate(header=("authorization", "Basic …"))) as site:
    site.requests             # (target, headers) of every request
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Pages = dict[str, tuple[int, dict[str, str], bytes]]
"""Target → status, headers, body."""
ECHO = b"@echo@"
_PIECE = 65_536
_CLOSE_S = 1.0


@contextlib.contextmanager
def _in_thread(handler: Handler, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve connections until the block ends; gives the port."""
    loop, stop, ready = asyncio.new_event_loop(), asyncio.Event(), threading.Event()
    ports: list[int] = []

    async def serve() -> None:
        tasks: set[asyncio.Task[None]] = set()

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
                await handler(reader, writer)
            await _close(writer)

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = loop.create_task(handle(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await stop.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(10), "the server did not start"
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


async def _head(reader: asyncio.StreamReader) -> tuple[list[str], dict[str, str]]:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.lower()] = value.strip()
    return lines[0].split(" "), headers


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_PIECE):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _close(writer: asyncio.StreamWriter) -> None:
    """Send what is left and close; a TLS connection is not kept waiting for the goodbye of its other end."""
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_CLOSE_S):
            await writer.wait_closed()
    writer.transport.abort()


async def _tunnel(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, first: bytes, to_server: bytes
) -> None:
    """Connect to a port of loopback, whatever host was requested, and copy bytes in both directions."""
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(first)
        far_writer.write(to_server)
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
    finally:
        await _close(far_writer)


@dataclass(slots=True)
class Proxy:
    """A running proxy. It connects to loopback only, whatever host is requested."""

    scheme: str
    credentials: str = ""
    port: int = 0
    targets: list[str] = field(default_factory=list)
    """What was requested: `CONNECT host:port`, `GET http://host:port/path` or `SOCKS host:port`."""
    refused: int = 0
    """Requests without the right credentials."""
    is_broken: bool = False
    """Whether it closes every connection at once."""
    connections: int = 0

    @property
    def url(self) -> str:
        credentials = f"{self.credentials}@" if self.credentials else ""
        return f"{self.scheme}://{credentials}127.0.0.1:{self.port}"

    async def serve_http(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.is_broken:
            return
        (method, target, _), headers = await _head(reader)
        wanted = f"Basic {base64.b64encode(self.credentials.encode()).decode()}"
        if self.credentials and headers.get("proxy-authorization") != wanted:
            self.refused += 1
            writer.write(b'HTTP/1.1 407 Auth\r\nProxy-Authenticate: Basic realm="p"\r\nContent-Length: 0\r\n\r\n')
            await writer.drain()
            return
        self.targets.append(f"{method} {target}")
        if method == "CONNECT":
            await _tunnel(reader, writer, int(target.rpartition(":")[2]), b"HTTP/1.1 200 OK\r\n\r\n", b"")
            return
        url = urlsplit(target)
        lines = [
            f"{name}: {value}" for name, value in headers.items() if not name.startswith("proxy-") and name != "connection"
        ]
        path = f"{url.path or '/'}{f'?{url.query}' if url.query else ''}"
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "Connection: close", "", ""])
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", url.port or 80)
        try:
            far_writer.write(head.encode("latin-1"))
            # One request for each connection: the client's next bytes, or its end, close this one.
            ends = [asyncio.ensure_future(_pump(far_reader, writer)), asyncio.ensure_future(reader.read(1))]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        finally:
            await _close(far_writer)

    async def serve_socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.is_broken:
            return
        methods = await reader.readexactly((await reader.readexactly(2))[1])
        method = 2 if self.credentials else 0
        writer.write(bytes([5, method if method in methods else 255]))
        if method not in methods:
            self.refused += 1
            await writer.drain()
            return
        if method == 2:
            user = await reader.readexactly((await reader.readexactly(2))[1])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            is_right = f"{user.decode()}:{password.decode()}" == self.credentials
            writer.write(bytes([1, 0 if is_right else 1]))
            if not is_right:
                self.refused += 1
                await writer.drain()
                return
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = ".".join(map(str, await reader.readexactly(4))) if kind == 1 else (await reader.readexactly(16)).hex()
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.targets.append(f"SOCKS {host}:{port}")
        await _tunnel(reader, writer, port, b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", b"")


@contextlib.contextmanager
def serve_proxy(scheme: str, credentials: str = "", tls: ssl.SSLContext | None = None) -> Iterator[Proxy]:
    """Run a proxy of this scheme; `https` needs `tls`."""
    proxy = Proxy(scheme, credentials)
    handler = proxy.serve_socks if scheme.startswith("socks") else proxy.serve_http
    with _in_thread(handler, tls) as port:
        proxy.port = port
        yield proxy


def _echo(headers: dict[str, str]) -> bytes:
    """The credentials of a request as text, basic auth also decoded."""
    basic = headers.get("authorization", "").removeprefix("Basic ")
    words = [headers.get(name, "") for name in ("authorization", "cookie", "x-key")]
    with contextlib.suppress(ValueError):
        words.append(base64.b64decode(basic, validate=True).decode())
    return " ".join(words).encode()


@dataclass(slots=True)
class Gate:
    """A site that answers 401 to requests without a header of this value. It records every request with its headers.

    `ECHO` in a body is replaced by the credentials of the request.
    """

    pages: Pages
    header: tuple[str, str] | None = None
    """The required header, and a text that its value must contain."""
    scheme: str = "http"
    port: int = 0
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def seen(self, header: str) -> set[str]:
        """Every value of a header in the requests, without those for robots.txt."""
        return {headers.get(header, "") for target, headers in self.requests if target != "/robots.txt"}

    def text(self) -> str:
        """Everything that was received."""
        return repr(self.requests)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            (_, target, _), headers = await _head(reader)
            self.requests.append((target, headers))
            status, extra, body = self.pages.get(target, (404, {}, b"not found"))
            if self.header is not None and self.header[1] not in headers.get(self.header[0], ""):
                status, extra, body = 401, {"WWW-Authenticate": 'Basic realm="gate"'}, b"<h1>Log in</h1>"
            body = body.replace(ECHO, _echo(headers))
            lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
            lines += [f"{name}: {value}" for name, value in ({"Content-Type": "text/html; charset=utf-8"} | extra).items()]
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            await writer.drain()
            if headers.get("connection") == "close":
                return


@contextlib.contextmanager
def serve_gate(gate: Gate, tls: ssl.SSLContext | None = None) -> Iterator[Gate]:
    """Run a gated site, over TLS where a context is passed."""
    gate.scheme = "https" if tls else "http"
    with _in_thread(gate.serve, tls) as port:
        gate.port = port
        yield gate


def server_tls(cert: tuple[object, object], client_ca: object | None = None) -> ssl.SSLContext:
    """A server's TLS context; with `client_ca`, clients need a certificate of this authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(cert[0]), str(cert[1]))
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(str(client_ca))
    return context
