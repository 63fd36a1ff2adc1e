"""Fetches a page over HTTP, in the browser, or first over HTTP and then in the browser.

`frontier/render_policy.py` decides which. A rendered page is returned as if it had come over HTTP, so that it is classified,
extracted, redacted and settled like any other: a page that navigates elsewhere by script is a redirect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sitelore.crawl.visit_context import VisitContext
from sitelore.fetch.politeness import PoliteRenderer
from sitelore.frontier.freshness import request_for
from sitelore.frontier.render_policy import failed, noted
from sitelore.frontier.retry import retry_at
from sitelore.model.api_loader import is_loaded
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.frontier import Kind, Lease
from sitelore.model.rendering import (
    RenderDecision,
    Rendered,
    RenderFailure,
    RenderMetrics,
    RenderNote,
    RenderReason,
    RenderRequest,
)
from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response
from sitelore.model.settings import Rendering
from sitelore.model.states import REDIRECT_STATES
from sitelore.model.url import Url

_HTML = ("content-type", "text/html; charset=utf-8")
_PAGES = frozenset({"", "text/html", "application/xhtml+xml"})
_BY_SCRIPT = 302
_DETAIL_CHARS = 200


@dataclass(frozen=True, slots=True)
class PageFetch:
    """What came back for a URL, and through which eyes."""

    fetched: Fetched
    decision: RenderDecision | None = None
    """None: it came over HTTP, and whether that will do is yet to be decided."""
    metrics: RenderMetrics | None = None
    screenshot: bytes = b""
    by_script: bool = False
    """A redirect that a script made."""

    @property
    def response(self) -> Response:
        """What came back, where something did."""
        assert isinstance(self.fetched, Response)
        return self.fetched

    @property
    def in_browser(self) -> bool:
        """Whether it came through the browser."""
        return self.decision is not None and self.decision.wanted

    @property
    def note(self) -> RenderNote | None:
        """What the ledger keeps of how the page was looked at."""
        note = noted(self.decision) if self.decision is not None else None
        return replace(note, metrics=self.metrics) if note is not None else None


async def fetch_page(lease: Lease, context: VisitContext) -> PageFetch:
    """Through the browser where that is known to be needed, else over HTTP."""
    decision = context.policy.at_once(lease)
    if decision is not None:
        seen = await _in_browser(lease, decision, context)
        if isinstance(seen, PageFetch):
            return seen
        return PageFetch(await _over_http(lease, context), seen)
    fetched = await _over_http(lease, context)
    if isinstance(fetched, Response) and fetched.status == 304:
        decision = context.policy.after_no_change(lease)
        if decision.wanted and isinstance(seen := await _in_browser(lease, decision, context), PageFetch):
            return seen
    return PageFetch(fetched)


async def escalate_to_browser(lease: Lease, page_fetch: PageFetch, reading: Reading, context: VisitContext) -> PageFetch | None:
    """After reading what came over HTTP: the page through the browser if that is needed; None when the look will do."""
    if page_fetch.decision is not None or not isinstance(page_fetch.fetched, Response):
        return None
    decision = context.policy.after_reading(lease, reading.shell)
    if not decision.wanted:
        return replace(page_fetch, decision=decision) if decision.reason is RenderReason.NO_BROWSER else None
    if page_fetch.fetched.content_type not in _PAGES:
        return None
    seen = await _in_browser(lease, decision, context)
    if isinstance(seen, PageFetch):
        if not isinstance(seen.fetched, Response) or seen.fetched.status < 400:
            return seen
        seen = failed(decision, f"the server answered {seen.fetched.status}")  # HTTP had brought more
    return replace(page_fetch, decision=seen)


def read_options(lease: Lease, page_fetch: PageFetch, context: VisitContext) -> ReadOptions:
    """The run's own, with how the page was looked at."""
    options, rendering = context.read_options, page_fetch.decision or context.policy.over_http(lease.url)
    return options if rendering == options.rendering else replace(options, rendering=rendering)


async def render_as_fetch(request: Request, renderer: PoliteRenderer) -> Fetched:
    """A page through the browser as if it had come over HTTP."""
    rendered = await renderer.render(RenderRequest(request.url, expand_shadow_roots=True))
    if isinstance(rendered, RenderFailure):
        return FetchFailure(rendered.url, rendered.failure, rendered.detail, rendered.elapsed_s)
    return as_html(rendered.response)


def as_html(response: Response) -> Response:
    """Whatever charset the document had on the wire, a DOM is written as UTF-8."""
    return replace(response, headers=(_HTML, *(header for header in response.headers if header[0] != "content-type")))


async def _in_browser(lease: Lease, decision: RenderDecision, context: VisitContext) -> PageFetch | RenderDecision:
    """What the browser shows; or the decision that HTTP has to do, because it could not, or because it is no page."""
    rendered = await context.renderer.render(_request(lease.url, context.settings.rendering))
    if isinstance(rendered, RenderFailure):
        return _given_up(lease, rendered, decision, context)
    from sitelore.extract.brand.home_page import with_probed  # noqa: PLC0415 most crawls open no browser

    response = with_probed(rendered.response, rendered.probed)
    led = _led_away(lease.url, rendered, context)
    if led is not None:
        return led
    if response.status in REDIRECT_STATES:  # one that the browser was not let follow
        return PageFetch(replace(response, url=lease.url), decision)
    if response.content_type not in _PAGES:
        return RenderDecision(False, RenderReason.STATIC, (f"{response.content_type[:_DETAIL_CHARS]} is no page",))
    return PageFetch(replace(as_html(response), url=lease.url), decision, rendered.metrics, rendered.screenshot)


def _request(url: Url, wishes: Rendering) -> RenderRequest:
    from sitelore.extract.brand.home_page import brand_probe  # noqa: PLC0415 as above

    return RenderRequest(
        url,
        screenshot=wishes.screenshots,
        probe=brand_probe() if wishes.brand and url.is_root else "",
        expand_frames=wishes.expand_frames,
        expand_shadow_roots=wishes.expand_shadow_roots,
    )


def _led_away(url: Url, rendered: Rendered, context: VisitContext) -> PageFetch | None:
    """The first address on the page's way that is another one: a discovery with gates of its own. None: it stayed."""
    statuses = [hop.status for hop in rendered.chain]
    stations = [*(hop.url for hop in rendered.chain[1:]), rendered.response.url]
    for status, station in zip(statuses, stations, strict=True) if statuses else ():
        target = Url.parse(str(station), rules=context.rules)
        if target is not None and target != url:
            by_script = status not in REDIRECT_STATES
            headers = (("location", str(target)),)
            moved = Response(url, _BY_SCRIPT if by_script else status, headers, b"", elapsed_s=rendered.response.elapsed_s)
            return PageFetch(moved, RenderDecision(), by_script=by_script)
    return None


def _given_up(
    lease: Lease, failure: RenderFailure, decision: RenderDecision, context: VisitContext
) -> PageFetch | RenderDecision:
    """A browser that crashed may not do so again: the visit is tried once more like one whose connection broke."""
    fetched = FetchFailure(lease.url, failure.failure, f"in the browser: {failure.detail}"[:_DETAIL_CHARS], failure.elapsed_s)
    if failure.failure in _MAY_PASS and retry_at(fetched, lease.attempts, context.settings, context.clock()) is not None:
        return PageFetch(fetched, decision)
    return failed(decision, f"{failure.failure}: {failure.detail}"[:_DETAIL_CHARS] if failure.detail else str(failure.failure))


_MAY_PASS = frozenset({Failure.CONNECTION, Failure.PROTOCOL, Failure.TRUNCATED})


async def _over_http(lease: Lease, context: VisitContext) -> Fetched:
    request = request_for(lease, context.settings)
    if lease.kind is Kind.SITEMAP:
        request = replace(request, whole_types=True)
    if context.settings.overrides and is_loaded(lease.url, context.settings.overrides):
        request = replace(request, accept="application/json")
    fetched = await context.fetcher.fetch(request)
    if isinstance(fetched, Response) and _asks_for_its_cookie(fetched, context):
        fetched = await context.fetcher.fetch(request)
    return fetched


def _asks_for_its_cookie(response: Response, context: VisitContext) -> bool:
    """A redirect to itself that sets a cookie asks whether cookies work; a second try answers."""
    if not 300 <= response.status < 400 or response.header("set-cookie") is None:
        return False
    return Url.parse(response.header("location") or "", str(response.url), context.rules) == response.url
