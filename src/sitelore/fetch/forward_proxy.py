"""The only way out that the browser has: a proxy in this process, where the run's own address guard stands.

A browser resolves names, follows redirects, and opens connections for scripts, frames, sockets and prefetches on its own.
So it is given one way out, and loopback addresses go that way too. Each run has a proxy of its own, on a port of its own,
with the run's guard: for every request and every tunnel the name is resolved here, every address it leads to is judged,
and the connection is made to the very address that was judged.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from dataclasses import dataclass

from sitelore.fetch.connections import Lookup, Refused, system_lookup
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http_framing import (
    MAX_HEAD,
    Chunks,
    Ends,
    RequestHead,
    body_of_answer,
    is_answer,
    is_interim,
    may_be_kept,
    read_request,
)
from sitelore.model.response import Failure
from sitelore.model.settings import FetchLimits
from sitelore.model.url import Url

TROUBLE_HEADER = "x-sitelore-proxy"
_PIECE = 128 * 1024
_REMEMBERED = 512
_IDLE_S = 60.0
_CONNECTIONS = 256


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a connection was not made."""

    failure: Failure
    detail: str


_NOT_HTTP = Trouble(Failure.PROTOCOL, "The answer is not valid HTTP.")


class _Failed(Exception):
    """Never leaves this module."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.detail)
        self.trouble = trouble


@dataclass(slots=True)
class _Upstream:
    """A connection to a server."""

    host: str
    port: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class ForwardProxy:
    """Speaks plain HTTP and CONNECT on 127.0.0.1. What it did not connect to, and why, it remembers by host and port."""

    def __init__(self, guard: AddressGuard, limits: FetchLimits, lookup: Lookup = system_lookup) -> None:
        self._guard = guard
        self._limits = limits
        self._lookup = lookup
        self._server: asyncio.Server | None = None
        self._port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._troubles: dict[tuple[str, int], Trouble] = {}
        self.mark = secrets.token_hex(16)
        """The value of `TROUBLE_HEADER` in answers that come from here and not from a site."""
        self.refused = 0

    @property
    def address(self) -> str:
        """Where the browser finds it."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MAX_HEAD)
        self._port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and end every connection."""
        if self._server is None:
            return
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    def trouble(self, host: str, port: int) -> Trouble | None:
        """Why the last connection to this host and port was not made."""
        return self._troubles.get((host, port))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) <= _CONNECTIONS:
                await self._serve(reader, writer)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, ValueError):
            pass  # the browser sees a connection that ended, and says so
        except asyncio.CancelledError:
            pass  # only `close` cancels; the server's own callback must not log it
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: _Upstream | None = None
        try:
            while head := await _head(reader, _IDLE_S):
                request = read_request(head)
                if request is None:
                    return
                if request.method == "CONNECT":
                    await self._tunnel(request, reader, writer)
                    return
                url = _server_of(request.target)
                if url is None:
                    return
                try:
                    upstream = await self._upstream(upstream, url.host, url.port)
                except _Failed as failed:
                    upstream = None
                    await self._answer(writer, failed.trouble)
                    if request.body.ends is Ends.AT_ONCE:
                        continue
                    return
                if not await self._exchange(request, reader, writer, upstream):
                    return
        finally:
            if upstream is not None:
                upstream.writer.close()

    async def _exchange(
        self, request: RequestHead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: _Upstream
    ) -> bool:
        """Pass one request and its answer; whether both connections may be used again."""
        upstream.writer.write(request.in_origin_form(_origin_target(request.target)))
        # A site may answer before it has read the whole request, and then neither side must wait for the other.
        upload = asyncio.create_task(_pass_request_body(request, reader, upstream.writer))
        try:
            head = await _head(upstream.reader, self._limits.headers_s)
            while head and is_interim(head):
                head = await _head(upstream.reader, self._limits.headers_s)
            if not head:
                return False
            if not is_answer(head):
                await self._answer(writer, self._remember(upstream.host, upstream.port, _NOT_HTTP))
                return False
            writer.write(head)
            body = body_of_answer(head, request.method)
            is_whole = await self._pass_answer(body.ends, body.length, upstream.reader, writer)
            return is_whole and upload.done() and may_be_kept(head)
        finally:
            upload.cancel()
            await asyncio.gather(upload, return_exceptions=True)

    async def _pass_answer(self, ends: Ends, length: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """The body of an answer, up to what one answer may weigh; whether its end was found."""
        chunks = Chunks() if ends is Ends.BY_CHUNKS else None
        passed = 0
        await writer.drain()
        while ends is not Ends.AT_ONCE and not (ends is Ends.BY_LENGTH and passed == length):
            limit = min(_PIECE, length - passed) if ends is Ends.BY_LENGTH else _PIECE
            async with asyncio.timeout(self._limits.body_s):
                piece = await reader.read(limit)
            if not piece:
                return False
            belongs = chunks.feed(piece) if chunks else len(piece)
            writer.write(piece[:belongs])
            await writer.drain()
            passed += belongs
            if belongs < len(piece) or passed > self._limits.wire_bytes:
                return False
            if chunks and chunks.is_over:
                return True
            if chunks and chunks.is_broken:
                chunks, ends = None, Ends.BY_CLOSING
        return True

    async def _tunnel(self, request: RequestHead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        url = Url.parse(f"https://{request.target}/")
        if url is None:
            return
        try:
            upstream = await self._connect(url.host, url.port)
        except _Failed as failed:
            await self._answer(writer, failed.trouble)
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        both = (_relay(reader, upstream.writer), _relay(upstream.reader, writer))
        tasks = [asyncio.create_task(way) for way in both]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            upstream.writer.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _upstream(self, kept: _Upstream | None, host: str, port: int) -> _Upstream:
        """The connection that is there, when it is to the same server and still alive; otherwise a new one, judged."""
        if kept is not None:
            alive = not kept.reader.at_eof() and not kept.writer.is_closing()
            if (kept.host, kept.port) == (host, port) and alive:
                return kept
            kept.writer.close()
        return await self._connect(host, port)

    async def _connect(self, host: str, port: int) -> _Upstream:
        try:
            async with asyncio.timeout(self._limits.connect_s):
                upstream = await self._connect_to(await self._judged(host, port), host, port)
        except Refused as refusal:
            self.refused += 1
            trouble = Trouble(Failure.ADDRESS, str(refusal))
        except TimeoutError:
            trouble = Trouble(Failure.TIMEOUT, f"No connection within {self._limits.connect_s:g} s.")
        except _Failed as failed:
            trouble = failed.trouble
        else:
            self._troubles.pop((host, port), None)
            return upstream
        raise _Failed(self._remember(host, port, trouble))

    def _remember(self, host: str, port: int, trouble: Trouble) -> Trouble:
        if len(self._troubles) >= _REMEMBERED:
            self._troubles.clear()
        self._troubles[host, port] = trouble
        return trouble

    async def _judged(self, host: str, port: int) -> list[str]:
        """Addresses that may be connected to."""
        plain = host.strip("[]")
        try:
            addresses = list(dict.fromkeys(await self._lookup(plain, port)))
        except OSError:
            addresses = []
        if not addresses:
            raise _Failed(Trouble(Failure.DNS, "The host name does not resolve."))
        refusals = {ip: self._guard.judge_connect(host, port, ip) for ip in addresses}
        allowed = [ip for ip, refusal in refusals.items() if refusal is None]
        if not allowed:
            raise Refused(next(filter(None, refusals.values())))
        # Whatever is open, the proxy itself is not: it would ask itself without end.
        if port == self._port:
            raise Refused("The way out does not lead back in.")
        return allowed

    async def _connect_to(self, addresses: list[str], host: str, port: int) -> _Upstream:
        problem: OSError | None = None
        for ip in addresses:
            try:
                reader, writer = await asyncio.open_connection(ip, port, limit=MAX_HEAD)
            except OSError as error:
                problem = error
            else:
                return _Upstream(host, port, reader, writer)
        number = problem.errno if problem else None
        detail = f"{os.strerror(number)}." if number and number > 0 else "No connection could be made."
        raise _Failed(Trouble(Failure.CONNECTION, detail))

    async def _answer(self, writer: asyncio.StreamWriter, trouble: Trouble) -> None:
        """Say that there is no way. The mark tells it from a site's own answer."""
        writer.write(
            f"HTTP/1.1 502 {trouble.failure}\r\n{TROUBLE_HEADER}: {self.mark}\r\nCache-Control: no-store\r\n"
            f"Content-Length: 0\r\n\r\n".encode("latin-1")
        )
        await writer.drain()


async def _head(reader: asyncio.StreamReader, within_s: float) -> bytes:
    """A whole head with its empty line; empty when the other side has ended instead."""
    try:
        async with asyncio.timeout(within_s):
            return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


async def _pass_request_body(request: RequestHead, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    body = request.body
    if body.ends is Ends.BY_CHUNKS:
        raise ValueError("a browser never sends chunks to a proxy")
    left = body.length
    while left > 0:
        piece = await reader.read(min(left, _PIECE))
        if not piece:
            return
        left -= len(piece)
        writer.write(piece)
        await writer.drain()
    await writer.drain()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()


def _server_of(target: str) -> Url | None:
    """The server that an absolute http target names. The path may be longer than any URL we would visit."""
    if not target.startswith("http://"):
        return None
    end = target.find("/", len("http://"))
    return Url.parse(target if end < 0 else target[: end + 1])


def _origin_target(target: str) -> str:
    """`/path?query` of an absolute target, exactly as the browser wrote it."""
    start = target.find("/", target.index("//") + 2)
    return target[start:] if start >= 0 else "/"
