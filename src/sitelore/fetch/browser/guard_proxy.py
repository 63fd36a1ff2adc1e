"""Forward proxy on loopback: the browser's only way to the network, with the run's address guard.

A browser resolves names, follows redirects, and opens connections for scripts, frames, sockets and prefetches on its own. So
all of them, loopback addresses included, must go through this proxy. Each run has its own proxy on its own port with its own
guard: for every request and tunnel the `Connector` resolves the name, checks every address, and connects to the very address
it checked. Other programs on this machine can reach the port, so every request needs the proxy's credentials. Behind it, the
same upstream proxies are used as by the HTTP client.

TLS passes through a tunnel. Where the run has certificates of its own (a CA file, a client certificate), the proxy ends
the browser's TLS and verifies the server with the TLS contexts of the HTTP client, because Chromium takes neither per run. The
browser then accepts any certificate: it has no other way to the network.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
import secrets
import socket
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from sitelore.fetch.access import RunAccess
from sitelore.fetch.failures import NOT_HTTP, FailureInfo
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.pool import CannotConnect, Connector, Lookup
from sitelore.fetch.http.proxies import PROXY_REFUSED_CREDENTIALS, UpstreamProxy
from sitelore.fetch.http.response_parser import MAX_HEAD, BodyFraming, ResponseHead, parse_head
from sitelore.model.response import Failure
from sitelore.model.settings import FetchLimits
from sitelore.model.url import Url

PROXY_HEADER = "x-sitelore-proxy"
_PIECE_BYTES = 128 * 1024
_MAX_REMEMBERED_FAILURES = 512
_IDLE_TIMEOUT_S = 60.0
_MAX_CONNECTIONS = 256
_LOOP = FailureInfo(Failure.ADDRESS, "The proxy does not connect to itself.")
_UNAUTHORIZED = (
    b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="sitelore"\r\nContent-Length: 0\r\n\r\n'
)
_HOP_BY_HOP = frozenset({"connection", "proxy-connection", "proxy-authorization", "keep-alive", "te", "trailer", "upgrade"})


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """The head of a request to the proxy, with the target and the headers as sent."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body_length: int = 0

    def for_upstream(self, proxy: UpstreamProxy | None) -> bytes:
        """The head for the server, with `/path?query` as target, or for an upstream proxy, with the whole URL (RFC 9112 §3.2).

        Headers meant for this proxy are left out.
        """
        start = self.target.find("/", self.target.index("//") + 2)
        target = self.target[start:] if start >= 0 else "/"
        lines = [f"{name}: {value}" for name, value in self.headers if name.lower() not in _HOP_BY_HOP]
        if proxy is not None:
            target = self.target
            lines += [f"Proxy-Authorization: {proxy.authorization}"] if proxy.authorization else []
        return "\r\n".join([f"{self.method} {target} HTTP/1.1", *lines, "Connection: keep-alive", "", ""]).encode("latin-1")


def parse_request(head: bytes) -> ProxyRequest | None:
    """Parse the head of a request; None when it is invalid. Browsers send valid heads and no chunks, so parsing is strict."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    headers = []
    lengths = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not line:
            break
        if not colon or not name or name != name.strip() or name.lower() == "transfer-encoding":
            return None
        headers.append((name, value.strip()))
        if name.lower() == "content-length":
            lengths.append(value.strip())
    if len(lengths) > 1 or not all(re.fullmatch(r"[0-9]{1,15}", length) for length in lengths):
        return None
    return ProxyRequest(words[0], words[1], tuple(headers), int(lengths[0]) if lengths else 0)


@dataclass(slots=True)
class _Upstream:
    """A connection to a server."""

    host: str
    port: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    proxy: UpstreamProxy | None = None
    """The HTTP proxy at the other end, which expects whole URLs."""


class GuardProxy:
    """HTTP and CONNECT proxy on 127.0.0.1. Remembers by host and port why it could not connect."""

    def __init__(
        self, guard: AddressGuard, limits: FetchLimits, lookup: Lookup | None = None, access: RunAccess | None = None
    ) -> None:
        self._access = access or RunAccess()
        self._connector = Connector(guard, lookup, limits.connect_s, self._access.proxies)
        self._limits = limits
        self._server: asyncio.Server | None = None
        self._port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: dict[tuple[str, int], FailureInfo] = {}
        self.token = secrets.token_hex(16)
        """The value of `PROXY_HEADER` in responses of the proxy itself; a site cannot guess it."""
        self.credentials = ("sitelore", secrets.token_urlsafe(32))
        """User name and password. Unlike the token, they are never visible to a page."""
        self._authorization = f"Basic {base64.b64encode(':'.join(self.credentials).encode()).decode()}"
        self.refused = 0

    @property
    def address(self) -> str:
        """The URL of the proxy."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Start to listen, on a free port of the loopback interface."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MAX_HEAD)
        self._port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and close every connection."""
        if self._server is None:
            return
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def answer(self, challenge: Mapping[str, Any]) -> dict[str, str]:
        """The browser's answer to an authentication challenge: credentials for this proxy, none for servers."""
        if challenge.get("source") != "Proxy":
            return {"response": "Default"}
        user, password = self.credentials
        return {"response": "ProvideCredentials", "username": user, "password": password}

    def failure(self, host: str, port: int) -> FailureInfo | None:
        """Why the last connection to this host and port failed."""
        return self._failures.get((host, port))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) <= _MAX_CONNECTIONS:
                await self._serve(reader, writer)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, ValueError):
            pass  # the browser reports the closed connection
        except asyncio.CancelledError:
            pass  # only `close` cancels; the server's own callback must not log it
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: _Upstream | None = None
        try:
            while (request := await self._read_request(reader, writer)) is not None:
                if request.method == "CONNECT":
                    await self._tunnel(request, reader, writer)
                    return
                url = _parse_server(request.target)
                if url is None:
                    return
                try:
                    upstream = await self._reuse_or_connect(upstream, url.host, url.port)
                except CannotConnect as error:
                    upstream = None
                    await self._respond_failed(writer, error.info)
                    if request.body_length == 0:
                        continue
                    return
                if not await self._exchange(request, reader, writer, upstream):
                    return
        finally:
            if upstream is not None:
                upstream.writer.close()

    async def _read_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> ProxyRequest | None:
        """The next request with the proxy's credentials; others get a 407. None: the connection is to be closed."""
        while head := await _read_head(reader, _IDLE_TIMEOUT_S):
            request = parse_request(head)
            if request is None or self._is_authorized(request):
                return request
            writer.write(_UNAUTHORIZED)
            await writer.drain()
            if request.body_length:
                return None
        return None

    def _is_authorized(self, request: ProxyRequest) -> bool:
        values = [value for name, value in request.headers if name.lower() == "proxy-authorization"]
        return len(values) == 1 and secrets.compare_digest(values[0].encode("latin-1"), self._authorization.encode())

    async def _exchange(
        self, request: ProxyRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: _Upstream
    ) -> bool:
        """Forward one request and its response; returns whether both connections can be reused."""
        upstream.writer.write(request.for_upstream(upstream.proxy))
        # A server may respond before it has read the whole request, so both directions run at the same time.
        upload = asyncio.create_task(_forward_request_body(request.body_length, reader, upstream.writer))
        try:
            raw, head = await self._read_response_head(upstream.reader)
            if not raw:
                return False
            failure = self._failure_of(head, upstream.proxy)
            if head is None or failure is not None:
                self._remember(upstream.host, upstream.port, failure or NOT_HTTP)
                await self._respond_failed(writer, failure or NOT_HTTP)
                return False
            writer.write(raw)
            framing = BodyFraming(0) if request.method == "HEAD" else BodyFraming(head.length, is_chunked=head.is_chunked)
            is_whole = await self._forward_body(framing, upstream.reader, writer)
            return is_whole and upload.done() and head.keep_alive
        finally:
            upload.cancel()
            await asyncio.gather(upload, return_exceptions=True)

    def _failure_of(self, head: ResponseHead | None, proxy: UpstreamProxy | None) -> FailureInfo | None:
        """The failure that a response of an upstream proxy itself means; None for the response of a server."""
        if proxy is None or head is None or head.status != 407:
            return None
        self._connector.put_aside(proxy)
        return PROXY_REFUSED_CREDENTIALS

    async def _read_response_head(self, reader: asyncio.StreamReader) -> tuple[bytes, ResponseHead | None]:
        """The head of the final response, as received and parsed. Interim responses (1xx) are dropped."""
        while True:
            raw = await _read_head(reader, self._limits.headers_s)
            head = parse_head(raw.removesuffix(b"\r\n\r\n"))
            if head is None or not head.is_interim:
                return raw, head

    async def _forward_body(self, framing: BodyFraming, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Forward a response body up to the size limit; returns whether its end was reached and nothing followed it."""
        forwarded = 0
        await writer.drain()
        while not framing.is_complete:
            async with asyncio.timeout(self._limits.body_s):
                piece = await reader.read(_PIECE_BYTES)
            if not piece:
                return False
            framing.feed(piece)
            piece = piece[: len(piece) - framing.excess]
            writer.write(piece)
            await writer.drain()
            forwarded += len(piece)
            if framing.excess or framing.is_broken or forwarded > self._limits.wire_bytes:
                return False
        return True

    async def _tunnel(self, request: ProxyRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        url = Url.parse(f"https://{request.target}/")
        if url is None:
            return
        try:
            upstream = await self._connect("https", url.host, url.port)
        except CannotConnect as error:
            await self._respond_failed(writer, error.info)
            return
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            if self._access.tls.is_custom:
                # Nothing may be read in between: the browser's next bytes are TLS.
                await writer.start_tls(_server_tls(), ssl_handshake_timeout=self._limits.connect_s)
            await _relay_both(reader, writer, upstream)
        finally:
            upstream.writer.close()

    async def _reuse_or_connect(self, upstream: _Upstream | None, host: str, port: int) -> _Upstream:
        """The open connection when it leads to this server and is alive, else a new one."""
        if upstream is not None:
            is_alive = not upstream.reader.at_eof() and not upstream.writer.is_closing()
            if (upstream.host, upstream.port) == (host, port) and is_alive:
                return upstream
            upstream.writer.close()
        return await self._connect("http", host, port)

    async def _connect(self, scheme: str, host: str, port: int) -> _Upstream:
        try:
            upstream = await self._open(scheme, host, port)
        except CannotConnect as error:
            self.refused += error.info.failure is Failure.ADDRESS
            self._remember(host, port, error.info)
            raise
        self._failures.pop((host, port), None)
        return upstream

    async def _open(self, scheme: str, host: str, port: int) -> _Upstream:
        if port == self._port:  # whatever the guard allows: the proxy would forward to itself without end
            raise CannotConnect(_LOOP)

        is_tls = scheme == "https" and self._access.tls.is_custom
        url = Url.parse(f"https://{host}:{port}/") if is_tls else None
        tls: dict[str, Any] = (
            {"ssl": self._access.tls.for_origin(url.origin), "server_hostname": host.strip("[]")} if url else {}
        )

        async def wrap(connected: socket.socket, proxy: UpstreamProxy | None) -> _Upstream:
            streams = await asyncio.open_connection(sock=connected, limit=MAX_HEAD, **tls)
            return _Upstream(host, port, *streams, proxy)

        return await self._connector.connect(scheme, host, port, wrap, tunnel=scheme == "https")

    def _remember(self, host: str, port: int, info: FailureInfo) -> None:
        if len(self._failures) >= _MAX_REMEMBERED_FAILURES:
            self._failures.clear()
        self._failures[host, port] = info

    async def _respond_failed(self, writer: asyncio.StreamWriter, info: FailureInfo) -> None:
        """Send a 502. The token distinguishes it from a server's own response."""
        writer.write(
            f"HTTP/1.1 502 {info.failure}\r\n{PROXY_HEADER}: {self.token}\r\nCache-Control: no-store\r\n"
            f"Content-Length: 0\r\n\r\n".encode("latin-1")
        )
        await writer.drain()


async def _read_head(reader: asyncio.StreamReader, timeout_s: float) -> bytes:
    """A head with its empty line; empty when the other side has closed the connection."""
    try:
        async with asyncio.timeout(timeout_s):
            return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


async def _forward_request_body(length: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    left = length
    while left > 0:
        piece = await reader.read(min(left, _PIECE_BYTES))
        if not piece:
            return
        left -= len(piece)
        writer.write(piece)
        await writer.drain()
    await writer.drain()


async def _relay_both(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: _Upstream) -> None:
    """Copy bytes in both directions until one side ends."""
    relays = [asyncio.create_task(_relay(reader, upstream.writer)), asyncio.create_task(_relay(upstream.reader, writer))]
    try:
        await asyncio.wait(relays, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in relays:
            task.cancel()
        await asyncio.gather(*relays, return_exceptions=True)


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()


@cache
def _server_tls() -> ssl.SSLContext:
    """The TLS context towards the browser, with a key of this process and a certificate that only this browser accepts."""
    from cryptography import x509  # noqa: PLC0415 loaded only for runs with certificates of their own
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 see above
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 see above

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sitelore guard proxy")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .sign(key, hashes.SHA256())
    )
    encoding, no_password = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, no_password)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    with tempfile.NamedTemporaryFile() as file:  # readable by this user alone; `ssl` reads keys from files only
        file.write(certificate.public_bytes(encoding) + private)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _parse_server(target: str) -> Url | None:
    """The server of an absolute http target. Only the origin is parsed: the path may be longer than any URL we would visit."""
    if not target.startswith("http://"):
        return None
    end = target.find("/", len("http://"))
    return Url.parse(target if end < 0 else target[: end + 1])
