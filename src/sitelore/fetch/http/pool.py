"""Connection pool, and the connector that opens only sockets which the address guard allows.

Every address is checked twice for each connection: when its host name is resolved, and again right before its socket is
created. The socket is connected to the address that was checked, so a DNS answer that changes (rebinding) gains nothing.

Through an upstream proxy the target is resolved and checked in the same way before the proxy hears of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from ipaddress import ip_address
from itertools import chain, zip_longest
from typing import TypeVar

from sitelore.fetch.failures import CANNOT_CONNECT, NAME_NOT_RESOLVED, NAME_NOT_RESOLVED_IN_TIME, FailureInfo, os_error_message
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.connection import HttpConnection
from sitelore.fetch.http.proxies import ProxyFailed, ProxyPool, Target, TargetFailed, UpstreamProxy
from sitelore.fetch.http.resolver import Resolver
from sitelore.fetch.http.tls import TlsContexts
from sitelore.model.response import Failure
from sitelore.model.url import Url

_T = TypeVar("_T")

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host and port to addresses. Raises OSError when there are none, TimeoutError when that took too long."""

Wrap = Callable[[socket.socket, UpstreamProxy | None], Awaitable[_T]]
"""Makes a connection of a socket. Gets the HTTP proxy that expects whole URLs; None for a socket to the server itself."""

_KEEP_ALIVE_S = 30.0
_CONNECTION_ATTEMPT_DELAY_S = 0.25  # RFC 8305 §5


class CannotConnect(Exception):
    """No connection to the server could be made. Caught inside `fetch`."""

    def __init__(self, info: FailureInfo) -> None:
        super().__init__(info.detail)
        self.info = info


class Connector:
    """Resolves host names and opens TCP sockets, directly or through a proxy; targets are checked by the address guard."""

    def __init__(self, guard: AddressGuard, lookup: Lookup | None, timeout_s: float, proxies: ProxyPool | None = None) -> None:
        self._guard = guard
        self._lookup = lookup or Resolver().lookup
        self._timeout_s = timeout_s
        self._proxies = proxies

    async def connect(self, scheme: str, host: str, port: int, wrap: Wrap[_T], *, tunnel: bool = True) -> _T:
        """Open a socket and wrap it (TLS, streams) within the connect timeout. Raises `CannotConnect`.

        Without `tunnel`, the socket may lead to an HTTP proxy, which `wrap` gets then.
        """
        try:
            if self._proxies is not None and self.is_proxied(scheme, host, port):
                opened, proxy = await self._open_by_proxy(self._proxies, scheme, host, port, tunnel=tunnel)
                async with asyncio.timeout(self._timeout_s):
                    return await _wrapped(wrap, opened, proxy if proxy.is_http and not tunnel else None)
            async with asyncio.timeout(self._timeout_s):
                return await _wrapped(wrap, await self._open_socket(host, port), None)
        except TimeoutError:
            info = FailureInfo(Failure.TIMEOUT, f"No connection within {self._timeout_s:g} s.")
        except ssl.SSLCertVerificationError as error:
            info = FailureInfo(Failure.TLS, _explain_certificate(error))
        except ssl.SSLError:
            info = FailureInfo(Failure.TLS, "The TLS handshake failed.")
        except OSError as error:
            info = FailureInfo(Failure.CONNECTION, os_error_message(error.errno, CANNOT_CONNECT.detail))
        raise CannotConnect(info)

    def is_proxied(self, scheme: str, host: str, port: int) -> bool:
        """Whether connections to this host go through a proxy."""
        return self._proxies is not None and self._proxies.applies_to(scheme, host, port)

    def put_aside(self, proxy: UpstreamProxy) -> None:
        """Note that a proxy failed."""
        if self._proxies is not None:
            self._proxies.put_aside(proxy)

    async def _open_by_proxy(
        self, proxies: ProxyPool, scheme: str, host: str, port: int, *, tunnel: bool
    ) -> tuple[socket.socket, UpstreamProxy]:
        async with asyncio.timeout(self._timeout_s):
            target = Target(host.strip("[]"), port, await self._checked_address(host, port))
        try:
            return await proxies.connect(scheme, target, self._open_proxy, tunnel=tunnel, timeout_s=self._timeout_s)
        except (ProxyFailed, TargetFailed) as error:
            raise CannotConnect(error.info) from None

    async def _checked_address(self, host: str, port: int) -> str:
        """An address of a target, all of whose addresses the guard allows: a proxy that gets the name may choose any of them.

        Empty for a host that a person named and that does not resolve here: the proxy may know it.
        """
        try:
            addresses = await self._addresses(host, port)
        except CannotConnect as error:
            if error.info.failure is Failure.DNS and self._guard.is_exempt(host, port):
                return ""
            raise
        refusal = next((why for ip in addresses if (why := self._guard.judge_connect(host, port, ip))), None)
        if refusal is not None:
            raise CannotConnect(FailureInfo(Failure.ADDRESS, refusal))
        return addresses[0]

    async def _open_proxy(self, host: str, port: int) -> socket.socket:
        """A socket to a proxy, whose address the operator chose. Raises OSError."""
        with contextlib.suppress(ValueError):
            return await _open_address(str(ip_address(host)), port)
        return await _race(list(dict.fromkeys(await self._lookup(host, port))), lambda ip: _open_address(ip, port))

    async def _open_socket(self, host: str, port: int) -> socket.socket:
        addresses = await self._addresses(host, port)
        if addresses != [host.strip("[]")]:
            addresses = self._allowed(host, port, addresses)
        if len(addresses) == 1:
            return await self._open_checked(host, port, addresses[0])
        return await _race(addresses, lambda ip: self._open_checked(host, port, ip))

    def _allowed(self, host: str, port: int, addresses: list[str]) -> list[str]:
        """The addresses of a name that the guard allows. Raises `CannotConnect` when it allows none."""
        refusals = {ip: self._guard.judge_connect(host, port, ip) for ip in addresses}
        allowed = [ip for ip, refusal in refusals.items() if refusal is None]
        if not allowed:
            raise CannotConnect(FailureInfo(Failure.ADDRESS, next(filter(None, refusals.values()))))
        return allowed

    async def _addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, not checked yet. Raises `CannotConnect` when it has none."""
        host = host.strip("[]")
        with contextlib.suppress(ValueError):
            return [str(ip_address(host))]
        try:
            addresses = list(dict.fromkeys(await self._lookup(host, port)))
        except TimeoutError:
            raise CannotConnect(NAME_NOT_RESOLVED_IN_TIME) from None
        except OSError:
            addresses = []
        if not addresses:
            raise CannotConnect(NAME_NOT_RESOLVED)
        return addresses

    async def _open_checked(self, host: str, port: int, ip: str) -> socket.socket:
        refusal = self._guard.judge_connect(host, port, ip)
        if refusal is not None:
            raise CannotConnect(FailureInfo(Failure.ADDRESS, refusal))
        return await _open_address(ip, port)


class ConnectionPool:
    """The connections of one run. Idle connections are reused for their origin; at most `max_idle` are kept."""

    def __init__(self, connector: Connector, max_idle: int, tls: TlsContexts | None = None) -> None:
        self.is_closed = False
        self._connector = connector
        self._max_idle = max_idle
        self._tls = tls or TlsContexts()
        self._open: set[HttpConnection] = set()
        self._idle_since: dict[HttpConnection, float] = {}
        """Idle connections, longest idle first."""
        self._idle: dict[str, list[HttpConnection]] = {}
        """Idle connections by origin, last used last."""

    def acquire_idle(self, origin: str) -> HttpConnection | None:
        """An idle connection to this origin, the last used one; None when there is none."""
        while connections := self._idle.get(origin):
            connection = connections[-1]
            idle_since = self._idle_since[connection]
            self._remove_idle(connection)
            if time.monotonic() - idle_since < _KEEP_ALIVE_S:
                return connection
            connection.abort()
        return None

    def release(self, connection: HttpConnection) -> None:
        """Give a connection back after its request: it becomes idle when it is reusable, else it is closed."""
        if not connection.is_reusable:
            connection.abort()
            return
        now = time.monotonic()
        self._idle_since[connection] = now
        self._idle.setdefault(connection.origin, []).append(connection)
        while len(self._idle_since) > self._max_idle or now - next(iter(self._idle_since.values())) >= _KEEP_ALIVE_S:
            oldest = next(iter(self._idle_since))
            self._remove_idle(oldest)
            oldest.abort()

    async def open(self, url: Url) -> HttpConnection:
        """Open a new connection. Raises `CannotConnect`."""
        is_tls = url.scheme == "https"

        async def wrap(connected: socket.socket, proxy: UpstreamProxy | None) -> HttpConnection:
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: HttpConnection(url.origin, self._on_close, proxy),
                sock=connected,
                ssl=self._tls.for_origin(url.origin) if is_tls else None,
                server_hostname=url.host.strip("[]") if is_tls else None,
            )
            return connection

        connection = await self._connector.connect(url.scheme, url.host, url.port, wrap, tunnel=is_tls)
        if self._connector.is_proxied(url.scheme, url.host, url.port):
            connection.remote = ""  # the address of the proxy is not the site's
        self._open.add(connection)
        return connection

    def put_aside(self, proxy: UpstreamProxy) -> None:
        """Note that a proxy failed."""
        self._connector.put_aside(proxy)

    def close(self) -> None:
        """Close all connections."""
        self.is_closed = True
        for connection in list(self._open):
            connection.close()

    def _remove_idle(self, connection: HttpConnection) -> None:
        if self._idle_since.pop(connection, None) is not None:
            connections = self._idle[connection.origin]
            connections.remove(connection)
            if not connections:
                del self._idle[connection.origin]

    def _on_close(self, connection: HttpConnection) -> None:
        self._open.discard(connection)
        self._remove_idle(connection)


async def _wrapped(wrap: Wrap[_T], opened: socket.socket, proxy: UpstreamProxy | None) -> _T:
    try:
        return await wrap(opened, proxy)
    except BaseException:
        opened.close()
        raise


async def _open_address(ip: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    opened = socket.socket(family=family, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    try:
        opened.setblocking(False)
        await asyncio.get_running_loop().sock_connect(opened, (ip, port))
    except BaseException:
        opened.close()
        raise
    return opened


async def _race(addresses: list[str], open_address: Callable[[str], Coroutine[None, None, socket.socket]]) -> socket.socket:
    """Happy Eyeballs (RFC 8305): try both address families in turn, the next one when an attempt fails or is slow."""
    six, four = [ip for ip in addresses if ":" in ip], [ip for ip in addresses if ":" not in ip]
    in_turn = zip_longest(six, four) if addresses[0] in six else zip_longest(four, six)
    untried = [ip for ip in chain.from_iterable(in_turn) if ip is not None]
    attempts: set[asyncio.Task[socket.socket]] = set()
    first_error: BaseException | None = None
    try:
        while untried or attempts:
            if untried:
                attempts.add(asyncio.create_task(open_address(untried.pop(0))))
            delay_s = _CONNECTION_ATTEMPT_DELAY_S if untried else None
            done, _ = await asyncio.wait(attempts, timeout=delay_s, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                attempts.discard(task)
                if (error := task.exception()) is None:
                    return task.result()
                first_error = first_error or error
    finally:
        for task in attempts:
            task.cancel()
        for late in await asyncio.gather(*attempts, return_exceptions=True):
            if not isinstance(late, BaseException):
                late.close()
    raise first_error or OSError("no address")


def _explain_certificate(error: ssl.SSLCertVerificationError) -> str:
    reason = getattr(error, "verify_message", "").rstrip(".")
    return f"The certificate is not valid: {reason}." if reason else "The certificate is not valid for this host."
