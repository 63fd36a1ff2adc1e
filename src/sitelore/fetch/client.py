"""URL → Response over HTTP/1.1: one GET, within its limits, following nothing."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable

from sitelore.fetch.attempt import Watch
from sitelore.fetch.connections import Connections, Lookup, NoConnection, system_lookup
from sitelore.fetch.cookies import CookieJar
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.receipt import Receipt
from sitelore.fetch.wire import Trouble
from sitelore.model.response import Failure, Fetched, Request
from sitelore.model.settings import CrawlSettings
from sitelore.ports import Clock

_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_ENCODINGS = "gzip, deflate, br, zstd"
_UNSENDABLE: Trouble = (Failure.PROTOCOL, "The URL cannot be put into a request.")
_VISIBLE = re.compile(r"[!-~]+")
_ONE_LINE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


class HttpFetcher:
    """Fetches for one run. Cookies live as long as it does; connections are kept and judged by the guard.

    `sent` is told the authority whenever a request leaves.
    """

    def __init__(
        self,
        settings: CrawlSettings,
        guard: AddressGuard,
        *,
        sent: Callable[[str], None] = lambda _: None,
        clock: Clock = time.time,
        lookup: Lookup = system_lookup,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        at_once = max(1, settings.pace.concurrency)
        self._user_agent = settings.user_agent
        self._documents = settings.documents
        self._sent = sent
        self._cookies = CookieJar(clock)
        self._watch = Watch(settings.limits)
        self._connections = Connections(guard, lookup, at_once, settings.limits.connect_s, tls)
        self._seats = asyncio.Semaphore(at_once)

    async def fetch(self, request: Request) -> Fetched:
        """One GET; failures come back as data."""
        async with self._seats:
            receipt = Receipt(request, self._watch, documents=self._documents)
            message = self._message(request)
            try:
                if message is None:
                    receipt.failed(_UNSENDABLE)
                else:
                    await self._exchange(request, message, receipt)
            except NoConnection as no:
                receipt.failed(no.trouble)
            finally:
                receipt.attempt.end()
        if self._connections.is_closed:
            raise RuntimeError("the fetcher was closed")
        cookies = [value for name, value in receipt.headers if name == "set-cookie"]
        if cookies:
            self._cookies.store(request.url, cookies)
        return receipt.fetched()

    async def close(self) -> None:
        """End all connections."""
        self._watch.close()
        self._connections.close()

    async def _exchange(self, request: Request, message: bytes, receipt: Receipt) -> None:
        """Send and receive.

        Sent once more, on a new connection, only where a kept one had meanwhile been closed by the server: otherwise it would
        be a request that no pace allowed.
        """
        url = request.url
        wire = self._connections.kept(url.origin)
        is_fresh = wire is None
        while True:
            wire = wire or await self._connections.open(url)
            receipt.sending(wire.remote)
            self._sent(url.authority)
            try:
                wire.ask(message, receipt)
                await receipt.over
            finally:
                if wire.may_be_kept:
                    self._connections.keep(wire)
                else:
                    wire.drop()
            if is_fresh or not receipt.is_unheard:
                return
            receipt.sending_again()
            wire, is_fresh = None, True

    def _message(self, request: Request) -> bytes | None:
        """The request as it is sent; None when something in it would break out of its place."""
        url = request.url
        headers = {
            "Host": url.authority,
            "User-Agent": self._user_agent,
            "Accept": request.accept or _ACCEPT,
            "Accept-Encoding": _ENCODINGS,
        }
        if request.etag:
            headers["If-None-Match"] = request.etag
        if request.last_modified:
            headers["If-Modified-Since"] = request.last_modified
        if self._cookies and (cookie := self._cookies.header(url)):
            headers["Cookie"] = cookie
        lines = [f"{name}: {value}" for name, value in headers.items()]
        target = url.target
        if not _VISIBLE.fullmatch(target) or not all(map(_ONE_LINE.fullmatch, lines)):
            return None
        return "\r\n".join((f"GET {target} HTTP/1.1", *lines, "", "")).encode()
