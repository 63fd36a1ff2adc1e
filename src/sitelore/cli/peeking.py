"""One page fetched to be looked at: as politely as a crawl would, and nothing of it is kept."""

from __future__ import annotations

import time

from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.fetch.politeness import PoliteFetcher
from sitelore.fetch.robots import RobotsCache
from sitelore.frontier.gate import LocalGate
from sitelore.model.errors import SiteloreError
from sitelore.model.response import FetchFailure, Request, Response, RobotsFile
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import REDIRECT_STATES
from sitelore.model.url import Url

_HOPS = 10


class Unfetched(SiteloreError):
    """There is no page to be had at this address."""


async def peek(url: Url) -> Response:
    """The answer at the end of a URL's redirects. Robots.txt and the address guard are asked at every hop."""
    settings = CrawlSettings(seeds=(str(url),), open_origins=(url.origin,))
    gate = LocalGate(time.monotonic)
    http = HttpFetcher(settings, AddressGuard(settings.open_origins, settings.allow_private))
    robots = RobotsCache(http, gate, settings, time.time, _nothing_kept, _keep_nothing)
    fetcher = PoliteFetcher(http, gate, settings, time.time)
    try:
        for _ in range(_HOPS):
            verdict = await robots.judge(url)
            if not verdict.allowed:
                raise Unfetched(f"{url} may not be fetched: robots.txt {verdict.rule or verdict.state}")
            answer = await fetcher.fetch(Request(url))
            if isinstance(answer, FetchFailure):
                raise Unfetched(f"{url}: {answer.failure}: {answer.detail}")
            target = Url.parse(answer.header("location") or "", url) if answer.status in REDIRECT_STATES else None
            if target is None:
                return _page(answer)
            url = target
        raise Unfetched(f"{url}: more than {_HOPS} redirects")
    finally:
        await http.close()


def _page(answer: Response) -> Response:
    if answer.status != 200:
        raise Unfetched(f"{answer.url} answered {answer.status}")
    return answer


async def _nothing_kept(origin: str) -> RobotsFile | None:  # noqa: ARG001 looking neither reads nor leaves state
    return None


async def _keep_nothing(file: RobotsFile) -> None:
    del file
