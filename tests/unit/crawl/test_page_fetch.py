"""HTTP first, the browser when needed: all combinations of their results."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from sitelore.crawl.context import VisitContext
from sitelore.crawl.page_fetch import (
    NavigationPolicy,
    PageFetch,
    escalate_to_browser,
    extraction_options,
    fetch_page,
    render_as_fetch,
)
from sitelore.fetch.politeness import PoliteFetcher, PoliteRenderer
from sitelore.frontier.gate import LocalGate
from sitelore.frontier.offers import OfferBuilder
from sitelore.frontier.render_policy import RenderPolicy
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.frontier import Hop, KnownPage, Lease, RowKind
from sitelore.model.ids import BlobKey, RunId
from sitelore.model.response import (
    Failure,
    Fetched,
    FetchFailure,
    Rendered,
    RenderFailure,
    RenderMetrics,
    RenderReason,
    RenderRequest,
    Request,
    Response,
    RobotsVerdict,
    Shell,
    SiteRendering,
)
from sitelore.model.settings import CrawlSettings, Pace, Rendering, RenderMode
from sitelore.model.url import DEFAULT_RULES, Url

PAGE = Url("http://site.test/page")
AUTO = CrawlSettings(seeds=("http://site.test/",), pace=Pace(delay_s=0.0))
ALWAYS = replace(AUTO, rendering=Rendering(mode=RenderMode.ALWAYS, screenshots=True))
HTML = (("content-type", "text/html; charset=iso-8859-1"), ("etag", '"1"'))
SHELL = Reading(shell=Shell(1.5, ("nothing stands in <div#root>",)))
SHOWN = Rendered(Response(PAGE, 200, HTML, "<h1>Übung</h1>".encode()), metrics=RenderMetrics(nodes=7), screenshot=b"jpeg")


@dataclass
class Fakes:
    """A site and a browser that answer from lists."""

    http: list[Fetched] = field(default_factory=list)
    browser: list[Rendered | RenderFailure] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    opened: list[RenderRequest] = field(default_factory=list)

    async def fetch(self, request: Request) -> Fetched:
        self.requests.append(request)
        return self.http.pop(0)

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        self.opened.append(request)
        return self.browser.pop(0)

    async def close(self) -> None:
        """Nothing is open."""


def context(fakes: Fakes, settings: CrawlSettings = AUTO, site: SiteRendering | None = None) -> VisitContext:
    gate = LocalGate(lambda: 0.0)
    unused = cast("Any", None)
    return VisitContext(
        settings=settings,
        rules=DEFAULT_RULES,
        first_read_options=ReadOptions(),
        fetcher=PoliteFetcher(fakes, gate, settings, lambda: 0.0),
        robots=unused,
        reader=unused,
        blobs=unused,
        offer_builder=unused,
        probes=unused,
        clock=lambda: 0.0,
        policy=RenderPolicy(settings, site or SiteRendering(), lambda: True),
        renderer=PoliteRenderer(fakes, gate, settings, lambda: 0.0),
        rendered_probes=unused,
    )


def lease(reason: RenderReason | None = None, attempts: int = 0, path: str = "/page") -> Lease:
    known = KnownPage(1.0, "hash", "novelty", BlobKey("document"), etag='"1"', render_reason=reason) if reason else None
    return Lease(RunId("run"), Url(f"http://site.test{path}"), 1, 1, 1, RowKind.PAGE, attempts, known=known)


def http(status: int = 200, headers: tuple[tuple[str, str], ...] = HTML) -> Response:
    return Response(PAGE, status, headers, b"<div id=root></div>")


def crash(failure: Failure = Failure.CONNECTION) -> RenderFailure:
    return RenderFailure(PAGE, failure, "it does not start", 0.1)


async def test_a_shell_is_replaced_by_the_rendered_page() -> None:
    fakes = Fakes([http()], [SHOWN])
    first = await fetch_page(lease(), context(fakes))
    assert (first.decision, first.note, fakes.opened) == (None, None, [])
    page_fetch = await escalate_to_browser(lease(), first, SHELL, context(fakes))
    assert page_fetch is not None
    assert page_fetch.in_browser
    assert page_fetch.response.header_all("content-type") == ["text/html; charset=utf-8"], "a DOM is written as UTF-8"
    assert page_fetch.response.header("etag") == '"1"', "the document's own, for the next conditional request"
    assert page_fetch.note is not None
    assert (page_fetch.note.reason, page_fetch.note.evidence, page_fetch.note.metrics) == (
        "shell",
        SHELL.shell.evidence,
        RenderMetrics(nodes=7),
    )
    assert await escalate_to_browser(lease(), page_fetch, SHELL, context(fakes)) is None, (
        "one look through the browser is enough"
    )


async def test_a_page_is_enough_as_it_came() -> None:
    fakes = Fakes([http()])
    first = await fetch_page(lease(), context(fakes))
    assert await escalate_to_browser(lease(), first, Reading(), context(fakes)) is None
    assert extraction_options(lease(), first, context(fakes)).rendering.reason is RenderReason.STATIC


async def test_a_failing_browser_is_retried_and_then_the_http_response_is_used() -> None:
    fakes = Fakes([http()], [crash(), crash()])
    first = await fetch_page(lease(), context(fakes))
    again = await escalate_to_browser(lease(), first, SHELL, context(fakes))
    assert again is not None
    assert isinstance(again.fetched, FetchFailure), "which the judge puts back into the queue"
    last = await escalate_to_browser(lease(attempts=2), first, SHELL, context(fakes))
    assert last is not None
    assert last.fetched is first.fetched
    assert last.note is not None
    assert last.note.reason is RenderReason.FAILED
    assert last.note.evidence[-1] == "the browser could not: connection_error: it does not start"
    assert not last.in_browser


@pytest.mark.parametrize("answer", [crash(Failure.TOO_LARGE), Rendered(Response(PAGE, 403, HTML, b"no robots"))])
async def test_a_browser_result_that_is_worse_than_http_is_ignored(answer: Rendered | RenderFailure) -> None:
    fakes = Fakes([http()], [answer])
    first = await fetch_page(lease(), context(fakes))
    page_fetch = await escalate_to_browser(lease(), first, SHELL, context(fakes))
    assert page_fetch is not None
    assert page_fetch.fetched is first.fetched
    assert page_fetch.note is not None
    assert page_fetch.note.reason is RenderReason.FAILED


async def test_a_known_page_is_rendered_at_once_and_fetched_by_http_when_that_fails() -> None:
    fakes = Fakes([http()], [SHOWN, crash(Failure.TIMEOUT)])
    page_fetch = await fetch_page(lease(RenderReason.SHELL), context(fakes))
    assert page_fetch.in_browser
    assert fakes.requests == []
    page_fetch = await fetch_page(lease(RenderReason.SHELL), context(fakes))
    assert (page_fetch.note and page_fetch.note.reason, page_fetch.in_browser, len(fakes.requests)) == (
        RenderReason.FAILED,
        False,
        1,
    )


async def test_a_304_of_a_shell_does_not_prevent_rendering() -> None:
    tenth = SiteRendering(runs=10, browser=5)
    fakes = Fakes([http(304), http(304)], [SHOWN, crash(Failure.TIMEOUT)])
    page_fetch = await fetch_page(lease(RenderReason.SHELL), context(fakes, site=tenth))
    assert fakes.requests[0].etag == '"1"'
    assert page_fetch.in_browser
    page_fetch = await fetch_page(lease(RenderReason.SHELL), context(fakes, site=tenth))
    assert page_fetch.response.status == 304, "the stored page is kept"


async def test_a_response_that_is_not_a_page_is_not_rendered() -> None:
    picture = (("content-type", "image/png"),)
    fakes = Fakes(
        [http(headers=picture), http(headers=picture)], [Rendered(Response(PAGE, 200, picture, b"", body_read=False))]
    )
    page_fetch = await fetch_page(lease(), context(fakes, ALWAYS))
    assert (page_fetch.response.content_type, page_fetch.note) == ("image/png", None)
    first = await fetch_page(lease(path="/a.json"), context(fakes, ALWAYS))
    assert await escalate_to_browser(lease(path="/a.json"), first, Reading(), context(fakes, ALWAYS)) is None
    assert len(fakes.opened) == 1


@pytest.mark.parametrize(
    ("chain", "end", "status", "location"),
    [
        ((Hop(PAGE, 301),), Url("http://site.test/new"), 301, "http://site.test/new"),
        ((Hop(PAGE, 200),), Url("http://site.test/new"), 302, "http://site.test/new"),
        ((Hop(PAGE, 200), Hop(PAGE, 308)), Url("http://site.test/new"), 308, "http://site.test/new"),
        ((Hop(PAGE, 302), Hop(Url("http://site.test/b"), 302)), Url("http://site.test/c"), 302, "http://site.test/b"),
        ((Hop(PAGE, 200),), PAGE, 200, None),
    ],
)
async def test_where_the_browser_was_led_is_a_redirect(
    chain: tuple[Hop, ...], end: Url, status: int, location: str | None
) -> None:
    fakes = Fakes([], [Rendered(Response(end, 200, HTML, b"<h1>There</h1>"), chain)])
    page_fetch = await fetch_page(lease(RenderReason.SHELL), context(fakes))
    assert (page_fetch.response.url, page_fetch.response.status, page_fetch.response.header("location")) == (
        PAGE,
        status,
        location,
    )
    assert page_fetch.by_script == (chain[0].status == 200 and status == 302)


async def test_a_redirect_that_the_browser_may_not_follow_is_still_a_redirect() -> None:
    away = Response(PAGE, 302, (("location", "http://other.test/"), ("content-type", "text/plain")), b"", body_read=False)
    page_fetch = await fetch_page(lease(RenderReason.SHELL), context(Fakes([], [Rendered(away)])))
    assert (page_fetch.response.status, page_fetch.response.header("location")) == (302, "http://other.test/")


async def test_pictures_are_taken_where_they_are_wanted() -> None:
    fakes = Fakes([], [SHOWN])
    page_fetch = await fetch_page(lease(), context(fakes, ALWAYS))
    assert fakes.opened == [RenderRequest(PAGE, screenshot=True, expand_shadow_roots=True)]
    assert page_fetch.screenshot == b"jpeg"


async def test_a_probe_by_the_browser_equals_one_by_http() -> None:
    fakes = Fakes([], [SHOWN, crash()])
    renderer = context(fakes).renderer
    seen = await render_as_fetch(Request(PAGE), renderer)
    assert isinstance(seen, Response)
    assert seen.content_type == "text/html"
    assert isinstance(await render_as_fetch(Request(PAGE), renderer), FetchFailure)


@dataclass
class Rules:
    """robots.txt that forbids one path."""

    async def judge(self, url: Url) -> RobotsVerdict:
        return RobotsVerdict(url.path != "/private", rule="Disallow: /private")


async def test_scope_robots_and_the_guard_decide_where_a_page_may_lead_the_browser() -> None:
    offer_builder = OfferBuilder(AUTO, (), lambda url: "a private address" if url.host == "10.0.0.1" else None)
    navigations = NavigationPolicy(Rules(), offer_builder, DEFAULT_RULES)
    verdicts = {url: await navigations.judge(Url(url)) for url in ("http://site.test/a", "http://site.test/private")}
    assert verdicts == {"http://site.test/a": None, "http://site.test/private": "robots.txt: Disallow: /private"}
    assert await navigations.judge(Url("http://other.test/")) is not None
    assert await navigations.judge(Url("http://10.0.0.1/")) == "a private address"


def test_a_fetch_by_http_leaves_no_render_note() -> None:
    assert PageFetch(http()).note is None
