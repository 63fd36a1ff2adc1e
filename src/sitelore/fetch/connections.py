"""Connections, each judged by the address guard before a socket exists, and kept while the server lets them live.

Names are judged when they are resolved and once more, with literal addresses, when the socket is made: what a name resolved to
is remembered for a while, and a literal is never resolved.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from ipaddress import ip_address
from itertools import chain, zip_longest

from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.wire import Trouble, Wire, by_number
from sitelore.model.response import Failure
from sitelore.model.url import Url

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port → addresses. Raises OSError when there are none."""

_KEEP_ALIVE_S = 30.0
_DNS_TTL_S = 60.0
_MAX_NAMES = 1000
_NEXT_ADDRESS_S = 0.25  # RFC 8305 §5


class Refused(OSError):
    """The guard's no. Never leaves this room."""


class NoConnection(Exception):
    """There is no way to this server, and why. Never leaves this room."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble[1])
        self.trouble = trouble


async def system_lookup(host: str, port: int) -> Sequence[str]:
    """Ask the operating system."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label longer than DNS allows
        raise OSError("not a valid host name") from error
    return [str(address[0]) for *_, address in found]


class Connections:
    """The connections of one run: at most `limit` wait for their next request."""

    def __init__(
        self, guard: AddressGuard, lookup: Lookup, limit: int, connect_s: float, tls: ssl.SSLContext | None = None
    ) -> None:
        self.is_closed = False
        self._guard = guard
        self._lookup = lookup
        self._limit = limit
        self._connect_s = connect_s
        self._tls = tls
        self._wires: set[Wire] = set()
        self._waiting: dict[Wire, float] = {}
        """Kept connections and since when they wait, longest first."""
        self._kept: dict[str, list[Wire]] = {}
        self._names: dict[tuple[str, int], tuple[float, list[str]]] = {}

    def kept(self, origin: str) -> Wire | None:
        """A connection that waits, the one used last."""
        wires = self._kept.get(origin)
        if not wires:
            return None
        wire = wires[-1]
        since = self._waiting[wire]
        self._forget(wire)
        if time.monotonic() - since < _KEEP_ALIVE_S:
            return wire
        wire.drop()
        return self.kept(origin)

    def keep(self, wire: Wire) -> None:
        """Its answer was whole, and it may be used again. Who has waited too long makes room."""
        now = time.monotonic()
        self._waiting[wire] = now
        self._kept.setdefault(wire.origin, []).append(wire)
        while len(self._waiting) > self._limit or now - next(iter(self._waiting.values())) >= _KEEP_ALIVE_S:
            oldest = next(iter(self._waiting))
            self._forget(oldest)
            oldest.drop()

    async def open(self, url: Url) -> Wire:
        """A new connection. Raises `NoConnection`."""
        try:
            async with asyncio.timeout(self._connect_s):
                return await self._open(url)
        except Refused as refusal:
            trouble = Failure.ADDRESS, str(refusal)
        except TimeoutError:
            trouble = Failure.TIMEOUT, f"No connection within {self._connect_s:g} s."
        except ssl.SSLCertVerificationError as error:
            trouble = Failure.TLS, _certificate(error)
        except ssl.SSLError:
            trouble = Failure.TLS, "No encrypted connection could be agreed on."
        except OSError as error:
            trouble = Failure.CONNECTION, by_number(error.errno, "No connection could be made.")
        raise NoConnection(trouble)

    def close(self) -> None:
        """End all connections."""
        self.is_closed = True
        for wire in list(self._wires):
            wire.close()

    async def _open(self, url: Url) -> Wire:
        addresses = await self._addresses(url.host.strip("[]"), url.port)
        connected = await self._connect(url, addresses[0]) if len(addresses) == 1 else await self._race(url, addresses)
        is_secure = url.scheme == "https"
        try:
            _, wire = await asyncio.get_running_loop().create_connection(
                lambda: Wire(url.origin, self._gone),
                sock=connected,
                ssl=(self._tls or _verifying()) if is_secure else None,
                server_hostname=url.host.strip("[]") if is_secure else None,
            )
        except BaseException:
            connected.close()
            raise
        self._wires.add(wire)
        return wire

    async def _addresses(self, host: str, port: int) -> list[str]:
        """Addresses that may be connected to; `Refused` when there are some and none of them may."""
        with contextlib.suppress(ValueError):
            return [str(ip_address(host))]
        found_at, known = self._names.get((host, port), (0.0, []))
        if known and time.monotonic() - found_at < _DNS_TTL_S:
            return known
        try:
            addresses = list(dict.fromkeys(await self._lookup(host, port)))
        except OSError:
            addresses = []
        if not addresses:
            raise NoConnection((Failure.DNS, "The host name does not resolve."))
        refusals = {ip: self._guard.judge_connect(host, port, ip) for ip in addresses}
        allowed = [ip for ip, refusal in refusals.items() if refusal is None]
        if not allowed:
            raise Refused(next(filter(None, refusals.values())))
        if len(self._names) >= _MAX_NAMES:
            self._names.clear()
        self._names[host, port] = time.monotonic(), allowed
        return allowed

    async def _connect(self, url: Url, ip: str) -> socket.socket:
        refusal = self._guard.judge_connect(url.host, url.port, ip)
        if refusal is not None:
            raise Refused(refusal)
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        made = socket.socket(family=family, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        try:
            made.setblocking(False)
            await asyncio.get_running_loop().sock_connect(made, (ip, url.port))
        except BaseException:
            made.close()
            raise
        return made

    async def _race(self, url: Url, addresses: list[str]) -> socket.socket:
        """The first address that answers, of both families in turn; the next is tried when one fails or takes long."""
        six, four = [ip for ip in addresses if ":" in ip], [ip for ip in addresses if ":" not in ip]
        turns = zip_longest(six, four) if addresses[0] in six else zip_longest(four, six)
        untried = [ip for ip in chain.from_iterable(turns) if ip is not None]
        running: set[asyncio.Task[socket.socket]] = set()
        problem: BaseException | None = None
        try:
            while untried or running:
                if untried:
                    running.add(asyncio.create_task(self._connect(url, untried.pop(0))))
                patience_s = _NEXT_ADDRESS_S if untried else None
                done, _ = await asyncio.wait(running, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    running.discard(task)
                    if (failed := task.exception()) is None:
                        return task.result()
                    problem = problem or failed
        finally:
            for task in running:
                task.cancel()
            for late in await asyncio.gather(*running, return_exceptions=True):
                if not isinstance(late, BaseException):
                    late.close()
        raise problem or OSError("no address")

    def _forget(self, wire: Wire) -> None:
        if self._waiting.pop(wire, None) is not None:
            wires = self._kept[wire.origin]
            wires.remove(wire)
            if not wires:
                del self._kept[wire.origin]

    def _gone(self, wire: Wire) -> None:
        self._wires.discard(wire)
        self._forget(wire)


@cache
def _verifying() -> ssl.SSLContext:
    # Made when first needed: reading the system's certificates takes longer than a page does.
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    reason = getattr(error, "verify_message", "")
    return f"The certificate is not valid: {reason}." if reason else "The certificate is not valid for this host."
