"""Checks every navigation of a page's main frame, and which responses may be shown in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from sitelore.fetch.access import RunAccess
from sitelore.fetch.browser.guard_proxy import PROXY_HEADER, GuardProxy
from sitelore.fetch.failures import CANNOT_CONNECT, FailureInfo, explain_net_error
from sitelore.fetch.guard import AddressGuard
from sitelore.model.frontier import Hop
from sitelore.model.response import Failure, Response
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

NavigationCheck = Callable[[Url], Awaitable[str | None]]
"""Why the main frame must not load a URL; None when it may."""

_PAGE_TYPES = re.compile(r"|text/html|application/xhtml\+xml|application/octet-stream|(?:application|unknown)/unknown")
"""Includes unknown types: the browser sniffs the first bytes."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_NAVIGATIONS = 20
"""Documents that one page may load in its main frame."""
_MAX_REPEATS = 2
"""Times that it may load the same URL again: some pages set a cookie and reload."""


@dataclass(frozen=True, slots=True)
class NavigationRules:
    """The rules that every navigation of a run must pass."""

    guard: AddressGuard
    check: NavigationCheck
    settings: CrawlSettings
    proxy: GuardProxy
    access: RunAccess = field(default_factory=RunAccess)


@dataclass(frozen=True, slots=True)
class NavigationResult:
    """A navigation that ended before a page was shown: with a response that is not a page, or with a failure."""

    response: Response | None = None
    failure: FailureInfo | None = None


class NavigationEnded(Exception):
    """The navigation ended before a page was shown. Caught inside `fetch`."""

    def __init__(self, result: NavigationResult) -> None:
        super().__init__()
        self.result = result

    @classmethod
    def failed(cls, failure: Failure, detail: str) -> NavigationEnded:
        """Create the exception for a navigation that failed."""
        return cls(NavigationResult(failure=FailureInfo(failure, detail)))


class Navigation:
    """The navigations of one page's main frame. Decides for each paused request and response whether it continues."""

    def __init__(self, rules: NavigationRules, url: Url) -> None:
        self._rules = rules
        self._requested = url
        self._navigations = 0
        self._loads: Counter[Url] = Counter()
        self._network_id = ""
        self._last: Response | None = None
        self._hops: tuple[Hop, ...] = ()
        self.target = url
        self.shown: Response | None = None
        """The head of the response whose document is in the frame."""
        self.chain: tuple[Hop, ...] = ()
        """The hops that led to it."""
        self.result: NavigationResult | None = None
        """Set when the navigation ended before a document was shown."""
        self.refused = 0
        self.is_pinned = False
        """Whether the main frame must stay on its document, because actions are running."""
        self.pinned_refusals = 0

    async def on_request(self, event: dict[str, Any]) -> bool:
        """Whether the main frame may send this request. A refused redirect ends the navigation with the redirect itself."""
        url = Url.parse(event["request"]["url"])
        last = self._last
        network_id = event.get("networkId", "")
        is_redirect = network_id == self._network_id and last is not None
        self._navigations += 1
        self._network_id = network_id
        refusal = await self._refusal(url, is_redirect=is_redirect)
        if url is None or refusal is not None:
            self.refused += 1
            if is_redirect:
                self._end(NavigationResult(last))
            self._end(NavigationResult(failure=FailureInfo(Failure.ADDRESS, refusal or "")))
            return False
        previous = last if is_redirect else self.shown
        hops = self._hops if is_redirect else self.chain
        self._hops = (*hops, Hop(previous.url, previous.status)) if previous is not None else hops
        self.target = url
        return True

    def on_response(self, event: dict[str, Any]) -> bool:
        """Whether the browser may show or follow this response."""
        url = Url.parse(event["request"]["url"]) or self._requested
        status = int(event["responseStatusCode"])
        headers = tuple((h["name"].lower(), h["value"]) for h in event.get("responseHeaders", ()))
        response = Response(url, status, headers, b"", body_read=False)
        if response.header(PROXY_HEADER) == self._rules.proxy.token:
            self._end(NavigationResult(failure=self.proxy_failure() or CANNOT_CONNECT))
            return False
        self._last = response
        if status in _REDIRECTS and response.header("location"):
            return True
        if _PAGE_TYPES.fullmatch(response.content_type) is None:
            self._end(NavigationResult(response))
            return False
        length = response.header("content-length") or ""
        limit = self._rules.settings.limits.body_bytes
        if length.isdecimal() and int(length) > limit:
            detail = f"The body is {length} bytes, {limit} are allowed."
            self._end(NavigationResult(failure=FailureInfo(Failure.TOO_LARGE, detail)))
            return False
        return True

    def on_commit(self) -> None:
        """The document of the last response is in the frame."""
        self.shown, self.chain = self._last, self._hops

    def aborted(self) -> NavigationResult | None:
        """The result when the browser got a response and showed nothing: no content, an empty error, a download."""
        last = self._last
        if self.result is not None or last is None or last.status in _REDIRECTS:
            return self.result
        self.chain = self._hops
        is_empty = last.status in {204, 205, 304} or last.status >= 400
        return NavigationResult(Response(last.url, last.status, last.headers, b"", body_read=is_empty))

    def proxy_failure(self) -> FailureInfo | None:
        """Why the proxy could not connect to the current target; None when it could."""
        info = self._rules.proxy.failure(self.target.host, self.target.port)
        self.refused += info is not None and info.failure is Failure.ADDRESS
        return info

    def explain(self, error: str) -> NavigationResult:
        """The failure behind a Chromium error name. The proxy knows better why a connection failed, so it comes first."""
        info = explain_net_error(error)
        cause = self.proxy_failure() if info.failure in {Failure.CONNECTION, Failure.DNS} else None
        return NavigationResult(failure=cause or info)

    def _end(self, result: NavigationResult) -> None:
        """Record the first result while no page is shown: a page whose next navigation is refused remains the page."""
        if self.result is None and self.shown is None:
            self.result = result
            self.chain = self._hops

    async def _refusal(self, url: Url | None, *, is_redirect: bool) -> str | None:
        if url is None:
            return "It is not an http(s) URL."
        if self.is_pinned:
            self.pinned_refusals += 1
            return "Actions must not leave the page."
        refusal = self._rules.guard.judge_url(url)
        if refusal is not None or (self._navigations == 1 and url == self._requested):
            return refusal  # the frontier has admitted the requested URL
        if is_redirect and len(self._hops) >= self._rules.settings.max_redirects:
            detail = f"More than {len(self._hops)} redirects."
            self._end(NavigationResult(failure=FailureInfo(Failure.PROTOCOL, detail)))
        self._loads[url] += 1
        if self._navigations > _MAX_NAVIGATIONS or self._loads[url] > _MAX_REPEATS or self.result is not None:
            return "Too many navigations."
        return await self._rules.check(url)
