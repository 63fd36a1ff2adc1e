"""Connections, each judged by the address guard before a socket exists.

Names are judged when they are resolved and once more, with literal addresses, when the socket is made: the client
library asks no resolver about a literal, and may remember what a name resolved to.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection

from sitelore.fetch.attempt import current
from sitelore.fetch.guard import AddressGuard

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port → addresses. Raises OSError when there are none."""

_KEEP_ALIVE_S = 30.0
_DNS_TTL_S = 60


class Refused(OSError):
    """The guard's no, in the only shape that passes through the client library. Never leaves this room."""


async def system_lookup(host: str, port: int) -> Sequence[str]:
    """Ask the operating system."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # a label longer than DNS allows
        raise OSError("not a valid host name") from error
    return [str(address[0]) for *_, address in found]


class GuardedResolver(AbstractResolver):
    """Resolves names and leaves out the addresses the guard refuses."""

    def __init__(self, guard: AddressGuard, lookup: Lookup) -> None:
        self._guard = guard
        self._lookup = lookup

    async def resolve(self, host: str, port: int = 0, *_: Any, **__: Any) -> list[ResolveResult]:
        """Addresses that may be connected to; `Refused` when there are some and none of them may."""
        addresses = list(dict.fromkeys(await self._lookup(host, port)))
        refusals = {ip: self._guard.judge_connect(host, port, ip) for ip in addresses}
        allowed = [ip for ip, refusal in refusals.items() if refusal is None]
        if not addresses:
            raise OSError("no address")
        if not allowed:
            raise Refused(next(filter(None, refusals.values())))
        return [_result(host, port, ip) for ip in allowed]

    async def close(self) -> None:
        """Nothing is held."""


class GuardedConnector(aiohttp.TCPConnector):
    """Keeps connections alive, tells each request's attempt when it leaves, and never sends one twice unasked."""

    def __init__(
        self, guard: AddressGuard, lookup: Lookup, limit: int, tls: ssl.SSLContext | None, sent: Callable[[str], None]
    ) -> None:
        super().__init__(
            resolver=GuardedResolver(guard, lookup),
            socket_factory=self._judged_socket,
            limit=limit,
            ssl=tls or True,
            keepalive_timeout=_KEEP_ALIVE_S,
            ttl_dns_cache=_DNS_TTL_S,
        )
        self._guard = guard
        self._sent = sent

    async def connect(self, req: aiohttp.ClientRequest, *rest: Any, **named: Any) -> Connection:
        """A connection, kept or new.

        A second call for one attempt is the library's retry. It is right only where the first connection was a kept
        one that the server had meanwhile closed; otherwise it would be a request that no pace allowed.
        """
        attempt = current.get()
        if attempt.is_fresh:
            raise aiohttp.ServerDisconnectedError
        connection = await super().connect(req, *rest, **named)
        attempt.sending(connection.protocol)
        self._sent(attempt.url.authority)
        return connection

    def _judged_socket(self, info: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, _, address = info
        attempt = current.get()
        url = attempt.url
        refusal = self._guard.judge_connect(url.host, url.port, str(address[0]))
        if refusal is not None:
            attempt.refusal = refusal
            raise Refused(refusal)
        attempt.is_fresh = True
        return socket.socket(family=family, type=kind, proto=protocol)


def _result(host: str, port: int, ip: str) -> ResolveResult:
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    return ResolveResult(
        hostname=host, host=ip, port=port, family=family, proto=socket.IPPROTO_TCP, flags=socket.AI_NUMERICHOST
    )
