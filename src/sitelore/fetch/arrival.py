"""Where a page's main frame goes: every hop judged, the last answer kept, nothing shown that is no page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sitelore.fetch.forward_proxy import TROUBLE_HEADER, ForwardProxy
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.render_failures import explain_net_error
from sitelore.model.frontier import Hop
from sitelore.model.response import Failure, Response
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

Judge = Callable[[Url], Awaitable[str | None]]
"""Why the main frame must not go there; None when it may."""

_PAGE_TYPES = re.compile(r"|text/html|application/xhtml\+xml|application/octet-stream|(?:application|unknown)/unknown")
"""Also what is not told: the browser looks at the first bytes."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOVES = 20
"""Documents that one page may go through, however it does it."""
_AGAIN = 2
"""Times that it may come back to one of them: some pages set a cookie and load themselves again."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What judges the main frame's ways."""

    guard: AddressGuard
    judge: Judge
    settings: CrawlSettings
    proxy: ForwardProxy


@dataclass(slots=True)
class Ending:
    """The journey is over before a page could be shown: with a plain answer, or with a failure."""

    response: Response | None = None
    failure: Failure | None = None
    detail: str = ""


class Over(Exception):
    """The journey has ended before there was a page. Never leaves this room."""

    def __init__(self, ending: Ending) -> None:
        super().__init__()
        self.ending = ending


class Arrival:
    """One journey of the main frame. Fed with paused requests and answers; says for each whether it goes on."""

    def __init__(self, rules: Rules, url: Url) -> None:
        self._rules = rules
        self._asked = url
        self._moves = 0
        self._asked_for: Counter[Url] = Counter()
        self._navigation = ""
        self._last: Response | None = None
        self._hops: tuple[Hop, ...] = ()
        self.going_to = url
        self.shown: Response | None = None
        """The head of the answer whose document stands in the frame."""
        self.chain: tuple[Hop, ...] = ()
        """What led to it."""
        self.ending: Ending | None = None
        """Set when the journey ended before any document was shown."""
        self.refused = 0

    async def request(self, event: dict[str, Any]) -> bool:
        """May the main frame ask for this? A refused redirect is handed back as the answer it is."""
        url = Url.parse(event["request"]["url"])
        last = self._last
        number = event.get("networkId", "")
        is_hop = number == self._navigation and last is not None
        self._moves += 1
        self._navigation = number
        refusal = await self._judged(url, is_hop=is_hop)
        if url is None or refusal is not None:
            self.refused += 1
            if is_hop:
                self._end(Ending(last))
            self._end(Ending(failure=Failure.ADDRESS, detail=refusal or ""))
            return False
        before = last if is_hop else self.shown
        hops = self._hops if is_hop else self.chain
        self._hops = (*hops, Hop(before.url, before.status)) if before is not None else hops
        self.going_to = url
        return True

    def answer(self, event: dict[str, Any]) -> bool:
        """Is this answer one that the browser may show (or follow)?"""
        url = Url.parse(event["request"]["url"]) or self._asked
        status = int(event["responseStatusCode"])
        headers = tuple((h["name"].lower(), h["value"]) for h in event.get("responseHeaders", ()))
        response = Response(url, status, headers, b"", body_read=False)
        if response.header(TROUBLE_HEADER) == self._rules.proxy.mark:
            self._end(self.no_way() or Ending(failure=Failure.CONNECTION, detail="No connection could be made."))
            return False
        self._last = response
        if status in _REDIRECTS and response.header("location"):
            return True
        if _PAGE_TYPES.fullmatch(response.content_type) is None:
            self._end(Ending(response))
            return False
        declared = response.header("content-length") or ""
        most = self._rules.settings.limits.body_bytes
        if declared.isdecimal() and int(declared) > most:
            self._end(Ending(failure=Failure.TOO_LARGE, detail=f"The body is {declared} bytes, {most} are allowed."))
            return False
        return True

    def committed(self) -> None:
        """The document of the last answer stands in the frame."""
        self.shown, self.chain = self._last, self._hops

    def aborted(self) -> Ending | None:
        """The browser had an answer and showed nothing: no content, an empty error, a download."""
        last = self._last
        if self.ending is not None or last is None or last.status in _REDIRECTS:
            return self.ending
        self.chain = self._hops
        is_empty = last.status in {204, 205, 304} or last.status >= 400
        return Ending(Response(last.url, last.status, last.headers, b"", body_read=is_empty))

    def no_way(self) -> Ending | None:
        """What the proxy says about the server that was asked last; None when it has nothing against it."""
        trouble = self._rules.proxy.trouble(self.going_to.host, self.going_to.port)
        if trouble is None:
            return None
        self.refused += trouble.failure is Failure.ADDRESS
        return Ending(failure=trouble.failure, detail=trouble.detail)

    def _end(self, ending: Ending) -> None:
        """The first word counts, and only while there is no page: a page that could not go elsewhere stays what it is."""
        if self.ending is None and self.shown is None:
            self.ending = ending
            self.chain = self._hops

    async def _judged(self, url: Url | None, *, is_hop: bool) -> str | None:
        if url is None:
            return "It is not an http(s) URL."
        refusal = self._rules.guard.judge_url(url)
        if refusal is not None or (self._moves == 1 and url == self._asked):
            return refusal  # whoever asked for it has judged the rest
        if is_hop and len(self._hops) >= self._rules.settings.max_redirects:
            self._end(Ending(failure=Failure.PROTOCOL, detail=f"More than {len(self._hops)} redirects."))
        self._asked_for[url] += 1
        if self._moves > _MOVES or self._asked_for[url] > _AGAIN or self.ending is not None:
            return "It goes on and on."
        return await self._rules.judge(url)


def explained(error: str, arrival: Arrival) -> Ending:
    """A failure by the proxy's word, where it has one for the server last asked, else by the browser's."""
    failure, detail = explain_net_error(error)
    known = arrival.no_way() if failure in {Failure.CONNECTION, Failure.DNS} else None
    return known or Ending(failure=failure, detail=detail)


def frames_below(tree: dict[str, Any]) -> list[tuple[str, str]]:
    """Every frame below the main one with its parent, outer before inner."""
    found = []
    above = [tree]
    while above:
        at = above.pop(0)
        for child in at.get("childFrames", ()):
            found.append((child["frame"]["id"], at["frame"]["id"]))
            above.append(child)
    return found
