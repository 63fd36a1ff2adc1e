"""HTTP/1.1 client for one run, or for webhooks: returns a response or a failure as data and never follows a redirect."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable

from sitelore.fetch.access import RunAccess
from sitelore.fetch.failures import FailureInfo
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.body_reader import ResponseReader
from sitelore.fetch.http.cookies import CookieJar
from sitelore.fetch.http.deadlines import DeadlineTimer
from sitelore.fetch.http.pool import CannotConnect, ConnectionPool, Connector, Lookup
from sitelore.fetch.http.proxies import PROXY_REFUSED_CREDENTIALS, UpstreamProxy
from sitelore.model.response import Failure, Fetched, FetchFailure, Request
from sitelore.model.settings import CrawlSettings
from sitelore.ports import Clock

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ACCEPT_ENCODING = "gzip, deflate, br, zstd"
_INVALID_REQUEST = FailureInfo(Failure.PROTOCOL, "The URL or a header contains characters that cannot be sent.")
_VISIBLE = re.compile(r"[!-~]+")
_SINGLE_LINE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


class _ProxyRefused(Exception):
    """The response is that of a proxy which does not accept our credentials. Caught inside `fetch`."""


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
        access: RunAccess | None = None,
    ) -> None:
        concurrency = max(1, settings.pace.concurrency)
        self._access = access or RunAccess()
        self._user_agent = settings.user_agent
        self._accept_language = settings.accept_language
        self._documents = settings.documents
        self._sent = sent
        self._cookies = CookieJar(clock)
        self._timer = DeadlineTimer(settings.limits)
        connector = Connector(guard, lookup, settings.limits.connect_s, self._access.proxies)
        self._pool = ConnectionPool(connector, concurrency, self._access.tls)
        self._slots = asyncio.Semaphore(concurrency)

    async def fetch(self, request: Request) -> Fetched:
        """Send one request; failures are returned, not raised."""
        async with self._slots:
            reader = ResponseReader(request, self._timer, documents=self._documents)
            headers = self._headers(request)
            try:
                if headers is None:
                    reader.fail(_INVALID_REQUEST)
                else:
                    await self._exchange(request, headers, reader)
            except CannotConnect as error:
                reader.fail(error.info)
            except _ProxyRefused:
                return FetchFailure(request.url, *PROXY_REFUSED_CREDENTIALS)
            finally:
                reader.deadline.cancel()
            await reader.decode_rest()
        if self._pool.is_closed:  # the crawl was abandoned: the visit must not end with a result
            raise asyncio.CancelledError("the fetcher was closed")
        cookies = [value for name, value in reader.headers if name == "set-cookie"]
        if cookies and request.body is None:
            self._cookies.store(request.url, cookies)
            self._access.store(request.url, cookies)
        return reader.result()

    async def close(self) -> None:
        """Close all connections."""
        self._timer.close()
        self._pool.close()
        await self._access.close()

    async def _exchange(self, request: Request, headers: str, reader: ResponseReader) -> None:
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
                connection.send(_message(request, headers, connection.proxy), reader, has_body=request.method != "HEAD")
                await reader.done
            finally:
                self._pool.release(connection)
            if connection.proxy is not None and reader.status == 407:
                self._pool.put_aside(connection.proxy)
                raise _ProxyRefused
            if is_new or not reader.is_unanswered:
                return
            reader.restart()
            connection, is_new = None, True

    def _headers(self, request: Request) -> str | None:
        """The headers of a request; None when a value would break out of its line (header injection)."""
        url = request.url
        headers = {
            "Host": url.authority,
            "User-Agent": self._user_agent,
            "Accept": request.accept or _ACCEPT,
            "Accept-Encoding": _ACCEPT_ENCODING,
        }
        if self._accept_language:
            headers["Accept-Language"] = self._accept_language
        if request.etag:
            headers["If-None-Match"] = request.etag
        if request.last_modified:
            headers["If-Modified-Since"] = request.last_modified
        if request.body is not None:
            headers["Content-Length"] = str(len(request.body))
        elif self._cookies and (cookie := self._cookies.header(url)):
            headers["Cookie"] = cookie
        headers |= dict(request.headers)
        lines = [f"{name}: {value}" for name, value in self._access.apply(url, headers).items()]
        if not _VISIBLE.fullmatch(url.target) or not all(map(_SINGLE_LINE.fullmatch, lines)):
            return None
        return "\r\n".join(lines)


def _message(request: Request, headers: str, proxy: UpstreamProxy | None) -> bytes:
    """The request as bytes: with a path for a server, with the whole URL for an HTTP proxy (RFC 9112 §3.2.2)."""
    url, method, body = request.url, request.method, request.body or b""
    if proxy is None:
        return f"{method} {url.target} HTTP/1.1\r\n{headers}\r\n\r\n".encode() + body
    authorization = f"\r\nProxy-Authorization: {proxy.authorization}" if proxy.authorization else ""
    return f"{method} {url.origin}{url.target} HTTP/1.1\r\n{headers}{authorization}\r\n\r\n".encode() + body
