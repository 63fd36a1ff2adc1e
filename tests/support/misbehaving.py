"""A web server that misbehaves in one named way per port, and a canary that must not be reached. Everything is on loopback.

    with misbehaving(BEHAVIOURS) as server:
        server.url("cut-short")        # http://127.0.0.1:<port of this behaviour>/
        server.requests["cut-short"]   # the targets requested there, without robots.txt
        server.canary                  # http://127.0.0.1:<port>, an "internal service"
        server.canary_connections      # must stay 0

Every behaviour has a host (address and port) of its own, so that the rate limit of one does not slow down the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field

Behaviour = Callable[["Misbehaving", str, asyncio.StreamWriter], Awaitable[None]]
"""Writes the response to one request; gets the server, the requested target and the connection."""

_NO_ROBOTS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@dataclass(slots=True)
class Misbehaving:
    """The running server."""

    ports: dict[str, int] = field(default_factory=dict)
    requests: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    canary_port: int = 0
    canary_connections: int = 0

    @property
    def canary(self) -> str:
        return f"http://127.0.0.1:{self.canary_port}"

    def origin(self, name: str) -> str:
        return f"http://127.0.0.1:{self.ports[name]}"

    def url(self, name: str, target: str = "/") -> str:
        return self.origin(name) + target


@contextlib.contextmanager
def misbehaving(behaviours: Mapping[str, Behaviour]) -> Iterator[Misbehaving]:
    """Serve while the body runs, in a thread of its own."""
    server, ready, loop = Misbehaving(), threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        connections: set[asyncio.Task[None]] = set()
        async with contextlib.AsyncExitStack() as stack:
            for name, behaviour in behaviours.items():
                listener = await asyncio.start_server(_handler(server, name, behaviour, connections), "127.0.0.1", 0)
                stack.push_async_callback(_close, listener)
                server.ports[name] = listener.sockets[0].getsockname()[1]
            canary = await asyncio.start_server(_count_connection(server), "127.0.0.1", 0)
            stack.push_async_callback(_close, canary)
            server.canary_port = canary.sockets[0].getsockname()[1]
            ready.set()
            await stop.wait()
            for task in connections:
                task.cancel()
            await asyncio.gather(*connections, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10), "the misbehaving server did not start"
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


def _handler(server: Misbehaving, name: str, behaviour: Behaviour, connections: set[asyncio.Task[None]]) -> Handler:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                target = head.split(b" ", 2)[1].decode("latin-1")
                if target == "/robots.txt":
                    writer.write(_NO_ROBOTS)
                else:
                    server.requests[name].append(target)
                    await behaviour(server, target, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has closed the connection, as it should
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(talk(reader, writer))
        connections.add(task)
        task.add_done_callback(connections.discard)

    return accept


def _count_connection(server: Misbehaving) -> Handler:
    def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.canary_connections += 1
        writer.close()

    return accept


async def _close(listener: asyncio.Server) -> None:
    listener.close()
    await listener.wait_closed()
