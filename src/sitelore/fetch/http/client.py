"""HTTP/1.1 client for one run: a GET returns a response or a failure as data and never follows a redirect."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable

from sitelore.fetch.failures import FailureInfo
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.body_reader import ResponseReader
from sitelore.fetch.http.cookies import CookieJar
from sitelore.fetch.http.deadlines import DeadlineTimer
from sitelore.fetch.http.pool import CannotConnect, ConnectionPool, Connector, Lookup
from sitelore.model.response import Failure, Fetched, Request
from sitelore.model.settings import CrawlSettings
from sitelore.ports import Clock

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_INVALID_REQUEST = FailureInfo(Failure.PROTOCOL, "The URL or a header contains characters that cannot be sent.")
_VISIBLE = re.compile(r"[!-~]+")
_SINGLE_LINE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


class HttpFetcher:
    """Fetches URLs for one run, with the run's cookies and connection pool.

    `sent` is called with the authority whenever a request is sent: the rate limit counts from there.
    """

    def __init__(
        self,
        settings: CrawlSettings,
        guard: AddressGuard,
        *,
        sent: Callable[[str], None] = lambda _: None,
        clock: Clock = time.time,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        concurrency = max(1, settings.pace.concurrency)
        self._user_agent = settings.user_agent
        self._documents = settings.documents
        self._sent = sent
        self._cookies = CookieJar(clock)
        self._timer = DeadlineTimer(settings.limits)
        self._pool = ConnectionPool(Connector(guard, lookup, settings.limits.connect_s), concurrency, tls)
        self._slots = asyncio.Semaphore(concurrency)

    async def fetch(self, request: Request) -> Fetched:
        """Send one GET; failures are returned, not raised."""
        async with self._slots:
            reader = ResponseReader(request, self._timer, documents=self._documents)
            message = self._build(request)
            try:
                if message is None:
                    reader.fail(_INVALID_REQUEST)
                else:
                    await self._exchange(request, message, reader)
            except CannotConnect as error:
                reader.fail(error.info)
            finally:
                reader.deadline.cancel()
            await reader.decode_rest()
        if self._pool.is_closed:
            raise RuntimeError("the fetcher was closed")
        cookies = [value for name, value in reader.headers if name == "set-cookie"]
        if cookies:
            self._cookies.store(request.url, cookies)
        return reader.result()

    async def close(self) -> None:
        """Close all connections."""
        self._timer.close()
        self._pool.close()

    async def _exchange(self, request: Request, message: bytes, reader: ResponseReader) -> None:
        """Send the request and receive its response.

        The request is sent a second time, on a new connection, only when an idle connection turns out to be closed by the
        server: any other retry would be a request that the rate limit has not allowed.
        """
        url = request.url
        connection = self._pool.acquire_idle(url.origin)
        is_new = connection is None
        while True:
            connection = connection or await self._pool.open(url)
            reader.start(connection.remote)
            self._sent(url.authority)
            try:
                connection.send(message, reader)
                await reader.done
            finally:
                self._pool.release(connection)
            if is_new or not reader.is_unanswered:
                return
            reader.restart()
            connection, is_new = None, True

    def _build(self, request: Request) -> bytes | None:
        """The request as bytes; None when a value would break out of its line (header injection)."""
        url = request.url
        headers = {
            "Host": url.authority,
            "User-Agent": self._user_agent,
            "Accept": request.accept or _ACCEPT,
            "Accept-Encoding": _ACCEPT_ENCODING,
        }
        if request.etag:
            headers["If-None-Match"] = request.etag
        if request.last_modified:
            headers["If-Modified-Since"] = request.last_modified
        if self._cookies and (cookie := self._cookies.header(url)):
            headers["Cookie"] = cookie
        lines = [f"{name}: {value}" for name, value in headers.items()]
        target = url.target
        if not _VISIBLE.fullmatch(target) or not all(map(_SINGLE_LINE.fullmatch, lines)):
            return None
        return "\r\n".join((f"GET {target} HTTP/1.1", *lines, "", "")).encode()
