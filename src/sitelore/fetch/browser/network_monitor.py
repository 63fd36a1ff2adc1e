"""The requests of one page: which are blocked, in flight or refused, and their size.

Blocked are those that its text does not need. The rest is known through DevTools events.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sitelore.fetch.browser.guard_proxy import PROXY_HEADER
from sitelore.fetch.failures import FailureInfo
from sitelore.model.response import Failure
from sitelore.model.url import Url

_AWAITED_TYPES = frozenset({"Document", "Script", "Stylesheet", "XHR", "Fetch"})
_LONG_POLL_S = 4.0
"""Requests older than this are treated as long polling and no longer delay network idle."""
_PAGE_WEIGHT_FACTOR = 4
"""All responses of a page together may be this many times as large as one document."""

_BLOCKED_TYPES = ("Image", "Media", "Font")
"""Resource types (of the DevTools protocol) that are blocked whatever their URL."""

_EXTENSIONS = (
    "png", "jpg", "jpeg", "gif", "webp", "avif", "ico", "bmp", "svg",
    "woff", "woff2", "ttf", "otf", "eot",
    "mp4", "webm", "m4v", "mov", "ogv", "mp3", "m4a", "ogg", "wav", "flac", "m3u8", "mpd",
)  # fmt: skip
_VISUAL_EXTENSIONS = frozenset(
    {"png", "jpg", "jpeg", "gif", "webp", "avif", "ico", "bmp", "svg", "woff", "woff2", "ttf", "otf", "eot"}
)
"""Needed for a screenshot."""

_TRACKERS = (
    "google-analytics.com", "googletagmanager.com", "googletagservices.com", "googlesyndication.com", "googleadservices.com",
    "doubleclick.net", "adservice.google.com", "adnxs.com", "adsrvr.org", "amazon-adsystem.com", "criteo.com", "criteo.net",
    "taboola.com", "outbrain.com", "rubiconproject.com", "pubmatic.com", "openx.net", "casalemedia.com", "moatads.com",
    "scorecardresearch.com", "quantserve.com", "quantcount.com", "chartbeat.com", "chartbeat.net", "hotjar.com", "hotjar.io",
    "fullstory.com", "mouseflow.com", "clarity.ms", "bat.bing.com", "connect.facebook.net", "analytics.tiktok.com",
    "ads-twitter.com", "analytics.twitter.com", "snap.licdn.com", "px.ads.linkedin.com", "ct.pinterest.com", "sc-static.net",
    "segment.com", "segment.io", "mixpanel.com", "amplitude.com", "heapanalytics.com", "matomo.cloud", "plausible.io",
    "newrelic.com", "nr-data.net", "sentry.io", "bugsnag.com", "datadoghq-browser-agent.com", "browser-intake-datadoghq.com",
    "optimizely.com", "cdn.cookielaw.org", "intercom.io", "intercomcdn.com", "widget.intercom.io", "drift.com", "tawk.to",
    "js.hs-analytics.net", "js.hs-banner.com", "mc.yandex.ru", "yandex.ru/metrika", "hm.baidu.com", "statcounter.com",
)  # fmt: skip


def blocked_patterns(added: Iterable[str] = (), *, allow_visuals: bool = False) -> list[str]:
    """Patterns for `Network.setBlockedURLs` (`*` is a wildcard). `allow_visuals`: load images and fonts, for a screenshot."""
    extensions = [extension for extension in _EXTENSIONS if not (allow_visuals and extension in _VISUAL_EXTENSIONS)]
    patterns = [pattern for extension in extensions for pattern in (f"*.{extension}", f"*.{extension}?*")]
    patterns += [pattern for tracker in _TRACKERS for pattern in _host_patterns(tracker)]
    return patterns + [pattern.strip() for pattern in added if pattern.strip()]


def blocked_types(*, allow_visuals: bool = False) -> tuple[str, ...]:
    """Resource types to block."""
    return ("Media",) if allow_visuals else _BLOCKED_TYPES


def _host_patterns(host: str) -> tuple[str, ...]:
    """Patterns for a host, or a host and a path, and for its subdomains, on any scheme."""
    end = "*" if "/" in host else "/*"
    return f"*://{host}{end}", f"*://*.{host}{end}"


@dataclass(slots=True)
class _InFlightRequest:
    type: str
    url: str
    loader: str
    started_at: float
    bytes: int = 0


class NetworkMonitor:
    """Handles events of the DevTools Network domain. `activity` is set whenever a request starts or ends."""

    HANDLERS: ClassVar[dict[str, str]] = {
        "Network.requestWillBeSent": "_on_request",
        "Network.responseReceived": "_on_response",
        "Network.dataReceived": "_on_data",
        "Network.loadingFinished": "_on_finished",
        "Network.loadingFailed": "_on_failed",
        "Network.webSocketCreated": "_on_socket_opened",
        "Network.webSocketClosed": "_on_socket_closed",
    }

    def __init__(
        self, frame: str, body_bytes: int, proxy_token: str, proxy_failure: Callable[[str, int], FailureInfo | None]
    ) -> None:
        self._frame = frame
        self._body_bytes = body_bytes
        self._proxy_token = proxy_token
        self._proxy_failure = proxy_failure
        self._in_flight: dict[str, _InFlightRequest] = {}
        self._sockets: dict[str, str] = {}
        self._main_request = ""
        self._bytes = 0
        self._idle_since = time.monotonic()
        self.activity = asyncio.Event()
        self.requests = 0
        self.blocked = 0
        self.refused = 0
        self.wire_bytes = 0
        self.is_too_large = False
        """The main document, or all responses together, exceed their size limit."""
        self.document_error = ""
        """Chromium's error name when the main document failed."""

    def handle(self, name: str, event: dict[str, Any]) -> None:
        """Handle a protocol event, one of `HANDLERS`."""
        getattr(self, self.HANDLERS[name])(event)

    def on_commit(self, loader: str) -> None:
        """Handle a new document in the main frame: stop waiting for requests of the previous one."""
        for request_id in [key for key, request in self._in_flight.items() if request.loader not in {"", loader}]:
            self._remove(request_id)

    def is_document_loading(self) -> bool:
        """Whether the main document is still being received."""
        return self._main_request in self._in_flight

    def idle_s(self) -> float:
        """For how long no awaited request has been in flight; 0.0 while one is."""
        now = time.monotonic()
        for request in self._in_flight.values():
            if request.type in _AWAITED_TYPES and now - request.started_at < _LONG_POLL_S:
                return 0.0
        return max(now - self._idle_since, 1e-6)

    def next_check_s(self) -> float:
        """Seconds until the oldest awaited request counts as long polling."""
        now = time.monotonic()
        waits = [
            request.started_at + _LONG_POLL_S - now for request in self._in_flight.values() if request.type in _AWAITED_TYPES
        ]
        return max(0.01, min((wait for wait in waits if wait > 0), default=_LONG_POLL_S))

    def _on_request(self, event: dict[str, Any]) -> None:
        """A request, or the next hop of a redirected one."""
        request_id = event["requestId"]
        request_type = event.get("type", "")
        url = event["request"]["url"]
        if not url.startswith(("http:", "https:")):
            return
        if request_id not in self._in_flight or "redirectResponse" in event:
            self.requests += 1
        self._in_flight[request_id] = _InFlightRequest(request_type, url, event.get("loaderId", ""), time.monotonic())
        if request_type == "Document" and event.get("frameId") == self._frame:
            self._main_request = request_id
            self.document_error = ""
        self.activity.set()

    def _on_response(self, event: dict[str, Any]) -> None:
        response = event["response"]
        if response.get("status") == 502 and self._is_from_proxy(response.get("headers", {})):
            self._count_refusal(response.get("url", ""))

    def _on_data(self, event: dict[str, Any]) -> None:
        """Counts decoded bytes: they are what takes the browser's memory."""
        size = int(event.get("dataLength", 0))
        request = self._in_flight.get(event["requestId"])
        self._bytes += size
        if request is not None:
            request.bytes += size
        is_main = event["requestId"] == self._main_request
        if (is_main and request is not None and request.bytes > self._body_bytes) or (
            self._bytes > _PAGE_WEIGHT_FACTOR * self._body_bytes
        ):
            self.is_too_large = True
            self.activity.set()

    def _on_finished(self, event: dict[str, Any]) -> None:
        if event["requestId"] == self._main_request:
            self.wire_bytes = int(event.get("encodedDataLength", 0))
        self._remove(event["requestId"])

    def _on_failed(self, event: dict[str, Any]) -> None:
        error = event.get("errorText", "")
        request = self._in_flight.get(event["requestId"])
        if event.get("blockedReason") == "inspector" or "BLOCKED_BY_CLIENT" in error:
            self.blocked += 1
        elif request is not None and event["requestId"] != self._main_request:  # `Navigation` counts those of the main frame
            self._count_refusal(request.url)
        if event["requestId"] == self._main_request:
            self.document_error = error
        self._remove(event["requestId"])

    def _on_socket_opened(self, event: dict[str, Any]) -> None:
        """WebSockets are counted, never awaited."""
        self.requests += 1
        self._sockets[event["requestId"]] = event.get("url", "")

    def _on_socket_closed(self, event: dict[str, Any]) -> None:
        self._count_refusal(self._sockets.pop(event["requestId"], ""))

    def _remove(self, request_id: str) -> None:
        request = self._in_flight.pop(request_id, None)
        if request is not None and request.type in _AWAITED_TYPES:
            self._idle_since = time.monotonic()
        self.activity.set()

    def _is_from_proxy(self, headers: dict[str, str]) -> bool:
        return any(name.lower() == PROXY_HEADER and value == self._proxy_token for name, value in headers.items())

    def _count_refusal(self, text: str) -> None:
        url = Url.parse(text.replace("wss:", "https:", 1).replace("ws:", "http:", 1))
        info = self._proxy_failure(url.host, url.port) if url else None
        if info is not None and info.failure is Failure.ADDRESS:
            self.refused += 1
