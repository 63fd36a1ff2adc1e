"""Upstream proxies: HTTP and HTTPS proxies (RFC 9110 §9.3.6) and SOCKS5 (RFC 1928, RFC 1929), in rotation and with health.

The operator names the proxies, so the address guard does not apply to their addresses. It applies to every target before the
proxy hears of it (`pool.py`). An HTTP proxy gets the name of the target, because proxies filter by name; `socks5://` gets the
address that the guard has checked, and `socks5h://` the name.

SOCKS5 is written here because the handshake must run on a socket that we have opened, within our timeouts: libraries for it
resolve names and open connections on their own.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from sitelore.fetch.failures import FailureInfo, os_error_message
from sitelore.fetch.http.response_parser import MAX_HEAD, find_head_end, parse_head
from sitelore.fetch.http.tls import TlsContexts
from sitelore.model.access import Proxies
from sitelore.model.errors import UsageError
from sitelore.model.response import Failure

OpenProxy = Callable[[str, int], Awaitable[socket.socket]]
"""Opens a socket to the host and port of a proxy."""

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_FIRST_PAUSE_S = 5.0
_MAX_PAUSE_S = 600.0
_MAX_ATTEMPTS = 3
_PIECE_BYTES = 64 * 1024
_LOOPBACK_NAMES = ("localhost", ".localhost")

_NO_PROXY_ANSWER = FailureInfo(Failure.CONNECTION, "The proxy does not answer as a proxy does.")
PROXY_REFUSED_CREDENTIALS = FailureInfo(Failure.CONNECTION, "The proxy does not accept the credentials.")
_SOCKS_REPLIES = {
    1: "The proxy failed to connect.",
    2: "The proxy does not allow this connection.",
    3: "The proxy cannot reach the network.",
    4: "The proxy cannot reach the host.",
    5: "The connection was refused, according to the proxy.",
    6: "The proxy got no answer in time.",
    7: "The proxy does not support CONNECT.",
    8: "The proxy does not support this kind of address.",
}


class ProxyFailed(Exception):
    """A proxy cannot be used, for any target. Caught inside `fetch`."""

    def __init__(self, info: FailureInfo) -> None:
        super().__init__(info.detail)
        self.info = info


class TargetFailed(Exception):
    """A proxy works, but not for this target. Caught inside `fetch`."""

    def __init__(self, info: FailureInfo) -> None:
        super().__init__(info.detail)
        self.info = info


class Target(NamedTuple):
    """The server to connect to."""

    host: str
    """Without brackets."""
    port: int
    address: str
    """The address that the guard has checked; empty when only the proxy can resolve the name."""


@dataclass(slots=True, eq=False)
class UpstreamProxy:
    """A proxy and its health: after a failure it is put aside, each time for twice as long."""

    scheme: str
    host: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    aside_until: float = 0.0
    failures: int = 0
    """Failures since it last worked."""

    @property
    def name(self) -> str:
        """Host and port, without credentials."""
        return f"{self.host}:{self.port}"

    @property
    def is_http(self) -> bool:
        """Whether it is an HTTP proxy, over TLS or not."""
        return self.scheme in {"http", "https"}

    @property
    def authorization(self) -> str:
        """The value of `Proxy-Authorization`; empty when it needs no credentials."""
        if not self.user and not self.password:
            return ""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode()}"

    def put_aside(self, now: float) -> None:
        """Note a failure."""
        self.aside_until = now + min(_FIRST_PAUSE_S * 2**self.failures, _MAX_PAUSE_S)
        self.failures = min(self.failures + 1, 16)

    def works(self) -> None:
        """Note a success."""
        self.failures, self.aside_until = 0, 0.0


def parse_proxy(text: str) -> UpstreamProxy:
    """A proxy from its URL: `[http|https|socks5|socks5h]://[user:password@]host[:port]`. An error does not repeat it."""
    url = text.strip() if "://" in text else f"http://{text.strip()}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _bad_proxy() from None
    if parts.scheme not in _PORTS or not parts.hostname or parts.path.strip("/") or parts.query or not url.isprintable():
        raise _bad_proxy()
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if max(len(user.encode()), len(password.encode())) > 255:
        raise _bad_proxy()
    return UpstreamProxy(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], user, password)


def _bad_proxy() -> UsageError:
    return UsageError(
        "proxy: invalid URL (use http://host:3128, https://, socks5:// or socks5h://, with user:password@ if needed)"
    )


class ProxyPool:
    """The proxies of a run. Each new connection takes the next one that is not put aside."""

    def __init__(self, proxies: Proxies, tls: TlsContexts, clock: Callable[[], float] = time.monotonic) -> None:
        by_url = {text: parse_proxy(text) for text in dict.fromkeys((*proxies.http, *proxies.https))}
        self._proxies = {
            "http": [by_url[text] for text in dict.fromkeys(proxies.http)],
            "https": [by_url[text] for text in dict.fromkeys(proxies.https)],
        }
        self._bypass = tuple(entry for text in proxies.bypass if (entry := text.strip().lower()))
        self._bypass_loopback = proxies.bypass_loopback
        self._tls = tls
        self._clock = clock
        self._turns = {"http": 0, "https": 0}
        self._relays: set[asyncio.Task[None]] = set()

    def applies_to(self, scheme: str, host: str, port: int) -> bool:
        """Whether connections to this host go through a proxy."""
        host = host.strip("[]")
        if not self._proxies[scheme] or (self._bypass_loopback and _is_loopback(host)):
            return False
        return not any(_matches(entry, host, port) for entry in self._bypass)

    async def close(self) -> None:
        """Close the connections to https proxies."""
        for task in self._relays:
            task.cancel()
        await asyncio.gather(*self._relays, return_exceptions=True)

    def put_aside(self, proxy: UpstreamProxy) -> None:
        """Note that a proxy failed."""
        proxy.put_aside(self._clock())

    async def connect(
        self, scheme: str, target: Target, open_proxy: OpenProxy, *, tunnel: bool, timeout_s: float
    ) -> tuple[socket.socket, UpstreamProxy]:
        """A socket to the target through a proxy, or, without `tunnel`, to an HTTP proxy that takes whole requests.

        Tries further proxies while they fail. Raises `ProxyFailed` when all do, and `TargetFailed`.
        """
        problem = ProxyFailed(_NO_PROXY_ANSWER)
        for proxy in self._candidates(scheme):
            try:
                opened = await self._reach(proxy, open_proxy, timeout_s)
                await self._request(opened, proxy, target, tunnel=tunnel, timeout_s=timeout_s)
            except ProxyFailed as error:
                problem = error
                self.put_aside(proxy)
                continue
            proxy.works()
            return opened, proxy
        raise problem

    def _candidates(self, scheme: str) -> list[UpstreamProxy]:
        """Proxies to try, in turn; those that are put aside come last, the earliest to return first."""
        proxies = self._proxies[scheme]
        turn = self._turns[scheme] = (self._turns[scheme] + 1) % len(proxies)
        rotated, now = [*proxies[turn:], *proxies[:turn]], self._clock()
        ordered = sorted(rotated, key=lambda proxy: max(proxy.aside_until, now))
        return ordered[:_MAX_ATTEMPTS]

    async def _reach(self, proxy: UpstreamProxy, open_proxy: OpenProxy, timeout_s: float) -> socket.socket:
        """A socket on which the proxy can be spoken to in plain text."""
        try:
            async with asyncio.timeout(timeout_s):
                opened = await open_proxy(proxy.host, proxy.port)
                return await self._with_tls(opened, proxy) if proxy.scheme == "https" else opened
        except TimeoutError:
            info = FailureInfo(Failure.TIMEOUT, f"No connection to the proxy {proxy.name} within {timeout_s:g} s.")
        except ssl.SSLError:
            info = FailureInfo(Failure.TLS, f"The TLS connection to the proxy {proxy.name} failed.")
        except OSError as error:
            reason = os_error_message(error.errno, "its name does not resolve.")
            info = FailureInfo(Failure.CONNECTION, f"The proxy {proxy.name} cannot be reached: {reason}")
        raise ProxyFailed(info)

    async def _with_tls(self, opened: socket.socket, proxy: UpstreamProxy) -> socket.socket:
        """One end of a socket pair whose other end is relayed to the proxy over TLS.

        A socket with TLS inside TLS (an https URL through an https proxy) cannot be handed to asyncio, a plain socket can.
        """
        try:
            reader, writer = await asyncio.open_connection(
                sock=opened, ssl=self._tls.for_origin(""), server_hostname=proxy.host, limit=MAX_HEAD
            )
        except BaseException:
            opened.close()
            raise
        near, far = socket.socketpair()
        near.setblocking(False)
        far_reader, far_writer = await asyncio.open_connection(sock=far)
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.create_task(_relay(source, sink))
            self._relays.add(task)
            task.add_done_callback(self._relays.discard)
        return near

    async def _request(
        self, opened: socket.socket, proxy: UpstreamProxy, target: Target, *, tunnel: bool, timeout_s: float
    ) -> None:
        """Ask the proxy to connect to the target, where that is necessary. Closes the socket on failure."""
        if proxy.is_http and not tunnel:
            return
        try:
            async with asyncio.timeout(timeout_s):
                await (_http_connect if proxy.is_http else _socks_connect)(opened, proxy, target)
        except TimeoutError:
            opened.close()
            self.put_aside(proxy)  # the target may be as slow as the proxy: the next request decides
            raise TargetFailed(
                FailureInfo(Failure.TIMEOUT, f"No connection through the proxy within {timeout_s:g} s.")
            ) from None
        except (OSError, EOFError):
            opened.close()
            raise ProxyFailed(_NO_PROXY_ANSWER) from None
        except BaseException:
            opened.close()
            raise


async def _http_connect(opened: socket.socket, proxy: UpstreamProxy, target: Target) -> None:
    loop = asyncio.get_running_loop()
    authority = f"[{target.host}]:{target.port}" if ":" in target.host else f"{target.host}:{target.port}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    await loop.sock_sendall(opened, "\r\n".join([*lines, "", ""]).encode())
    received = b""
    while (end := find_head_end(received)) is None:
        piece = await loop.sock_recv(opened, _PIECE_BYTES)
        received += piece
        if not piece or len(received) > MAX_HEAD:
            raise EOFError
    head = parse_head(received[: end[0]])
    if head is None:
        raise ProxyFailed(_NO_PROXY_ANSWER)
    if head.status == 407:
        raise ProxyFailed(PROXY_REFUSED_CREDENTIALS)
    if not 200 <= head.status < 300:
        raise TargetFailed(FailureInfo(Failure.CONNECTION, f"The proxy answered {head.status} to the request to connect."))
    if received[end[1] :]:
        raise ProxyFailed(_NO_PROXY_ANSWER)  # nothing may follow before we have sent something


async def _socks_connect(opened: socket.socket, proxy: UpstreamProxy, target: Target) -> None:
    loop = asyncio.get_running_loop()
    has_credentials = bool(proxy.user or proxy.password)
    await loop.sock_sendall(opened, b"\x05\x02\x00\x02" if has_credentials else b"\x05\x01\x00")
    version, method = await _read_exactly(opened, 2)
    if version != 5:
        raise ProxyFailed(_NO_PROXY_ANSWER)
    if method == 2 and has_credentials:
        user, password = proxy.user.encode(), proxy.password.encode()
        await loop.sock_sendall(opened, b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        if (await _read_exactly(opened, 2))[1] != 0:
            raise ProxyFailed(PROXY_REFUSED_CREDENTIALS)
    elif method != 0:
        raise ProxyFailed(PROXY_REFUSED_CREDENTIALS)
    destination = target.host if proxy.scheme == "socks5h" or not target.address else target.address
    await loop.sock_sendall(opened, b"\x05\x01\x00" + _socks_address(destination) + target.port.to_bytes(2, "big"))
    _, reply, _, kind = await _read_exactly(opened, 4)
    if reply != 0:
        detail = _SOCKS_REPLIES.get(reply, "The proxy refused the connection.")
        raise TargetFailed(FailureInfo(Failure.CONNECTION, detail))
    length = {1: 4, 4: 16}.get(kind) or (await _read_exactly(opened, 1))[0]
    await _read_exactly(opened, length + 2)  # the address that the proxy has bound


def _socks_address(host: str) -> bytes:
    with contextlib.suppress(ValueError):
        address = ip_address(host)
        return (b"\x01" if address.version == 4 else b"\x04") + address.packed
    name = host.encode()
    if len(name) > 255:
        raise TargetFailed(FailureInfo(Failure.DNS, "The host name is too long."))
    return b"\x03" + bytes([len(name)]) + name


async def _read_exactly(opened: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = await asyncio.get_running_loop().sock_recv(opened, count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes until one side ends, then close the other."""
    try:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_PIECE_BYTES):
                writer.write(piece)
                await writer.drain()
    finally:
        writer.close()


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ip_address(host).is_loopback
    return host == _LOOPBACK_NAMES[0] or host.endswith(_LOOPBACK_NAMES[1])


def _matches(entry: str, host: str, port: int) -> bool:
    """Whether an entry of NO_PROXY covers a host."""
    if entry == "*":
        return True
    with contextlib.suppress(ValueError):
        network = ip_network(entry.strip("[]"), strict=False)
        with contextlib.suppress(ValueError):
            return ip_address(host) in network
        return False
    name, colon, of_port = entry.rpartition(":")
    if colon and of_port.isdecimal():
        return int(of_port) == port and _matches(name, host, port)
    entry = entry.removeprefix("*").removeprefix(".")
    return host == entry or host.endswith(f".{entry}")
