"""The connection race (Happy Eyeballs): one connection wins, and the sockets of all others are closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

import pytest

from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http import pool
from sitelore.fetch.http.pool import Connector
from sitelore.fetch.http.proxies import UpstreamProxy

FIRST, SECOND = "10.0.0.1", "10.0.0.2"
"""Addresses of one name. The tests connect to loopback instead."""
_TIMEOUT_S = 20.0

Connect = Callable[[str], Awaitable[None]]


async def race(monkeypatch: pytest.MonkeyPatch, before_connect: Connect, after_connect: Connect) -> tuple[str, dict[str, bool]]:
    """Let two addresses of one name race; gives the winner, and by address whether its socket is still open.

    `before_connect` and `after_connect` are awaited with the address around each connection to a real server.
    """
    loop, opened = asyncio.get_running_loop(), dict[str, socket.socket]()
    real_connect = loop.sock_connect
    with socket.create_server(("127.0.0.1", 0)) as server:

        async def connect(sock: socket.socket, address: tuple[str, int]) -> None:
            opened[address[0]] = sock
            await before_connect(address[0])
            await real_connect(sock, server.getsockname())
            await after_connect(address[0])

        async def lookup(host: str, port: int) -> Sequence[str]:
            return [FIRST, SECOND]

        async def keep(connected: socket.socket, _: UpstreamProxy | None) -> socket.socket:
            return connected

        monkeypatch.setattr(loop, "sock_connect", connect)
        monkeypatch.setattr(pool, "_CONNECTION_ATTEMPT_DELAY_S", 0.0)
        connector = Connector(AddressGuard(allow_private=["both.test"]), lookup, _TIMEOUT_S)
        winner = await connector.connect("http", "both.test", 80, keep)
        is_open = {address: sock.fileno() >= 0 for address, sock in opened.items()}
        winner.close()
        for sock in opened.values():
            sock.close()
    return next(address for address, sock in opened.items() if sock is winner), is_open


async def nothing(address: str) -> None:
    """Neither address is held up."""


async def test_an_attempt_that_is_still_connecting_is_cancelled_and_its_socket_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hold_up_the_first(address: str) -> None:
        if address == FIRST:
            await asyncio.Event().wait()

    winner, is_open = await race(monkeypatch, hold_up_the_first, nothing)
    assert (winner, is_open) == (SECOND, {FIRST: False, SECOND: True})


async def test_of_two_connections_established_at_the_same_moment_one_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    both_connected = asyncio.Barrier(2)

    async def wait_for_the_other(address: str) -> None:
        await both_connected.wait()

    winner, is_open = await race(monkeypatch, nothing, wait_for_the_other)
    assert set(is_open) == {FIRST, SECOND}
    assert [address for address in is_open if is_open[address]] == [winner]
