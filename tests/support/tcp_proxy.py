"""A TCP proxy in front of a server. It can refuse and cut connections, or keep them open and forward nothing."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

_CHUNK = 65_536


class TcpProxy:
    """Forwards bytes between its own port and the port of a server."""

    def __init__(self, target_port: int, loop: asyncio.AbstractEventLoop) -> None:
        self.port = 0
        self._target = target_port
        self._loop = loop
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()

    def freeze(self) -> None:
        """Accept and keep connections, but forward nothing, like a server whose processes are stopped."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def thaw(self) -> None:
        """Forward what has arrived meanwhile, and everything after it."""
        self._loop.call_soon_threadsafe(self._flowing.set)

    def open(self) -> None:
        """Accept connections."""
        self._do(self._open())

    def shut(self) -> None:
        """Refuse connections and cut the open ones."""
        self._do(self._shut())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        ends = [writer]
        with contextlib.suppress(OSError, asyncio.CancelledError):
            there, to_there = await asyncio.open_connection("127.0.0.1", self._target)
            ends.append(to_there)
            await asyncio.gather(self._pump(reader, to_there), self._pump(there, writer))
        for end in ends:
            end.transport.abort()
        self._passing.discard(task)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(_CHUNK):
            await self._flowing.wait()
            sink.write(data)
            await sink.drain()
        sink.transport.abort()


@contextmanager
def tcp_proxy(target_port: int) -> Iterator[TcpProxy]:
    """Run an open proxy in front of a port, on its own thread, until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="tcp-proxy", daemon=True)
    thread.start()
    proxy = TcpProxy(target_port, loop)
    try:
        proxy.open()
        yield proxy
    finally:
        proxy.shut()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
