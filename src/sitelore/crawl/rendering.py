"""How a URL is looked at: over HTTP, through the browser, or first one and then the other.

`frontier/rendering.py` decides; here it is done. Whatever the browser brings is given back as if it had come over HTTP, so that
it is judged, read, redacted and settled like everything else: a page that leads elsewhere by script is a redirect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sitelore.crawl.tools import PoliteRenderer, Tools
from sitelore.frontier.freshness import request_for
from sitelore.frontier.rendering import failed, noted
from sitelore.frontier.retry import retry_at
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.frontier import Kind, Lease
from sitelore.model.loading import is_loaded
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
class Look:
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


async def first_look(lease: Lease, tools: Tools) -> Look:
    """Through the browser where that is known to be needed, else over HTTP."""
    decision = tools.policy.at_once(lease)
    if decision is not None:
        seen = await _in_browser(lease, decision, tools)
        if isinstance(seen, Look):
            return seen
        return Look(await _over_http(lease, tools), seen)
    fetched = await _over_http(lease, tools)
    if isinstance(fetched, Response) and fetched.status == 304:
        decision = tools.policy.after_no_change(lease)
        if decision.wanted and isinstance(seen := await _in_browser(lease, decision, tools), Look):
            return seen
    return Look(fetched)


async def better_look(lease: Lease, look: Look, reading: Reading, tools: Tools) -> Look | None:
    """After reading what came over HTTP: the page through the browser if that is needed; None when the look will do."""
    if look.decision is not None or not isinstance(look.fetched, Response):
        return None
    decision = tools.policy.after_reading(lease, reading.shell)
    if not decision.wanted:
        return replace(look, decision=decision) if decision.reason is RenderReason.NO_BROWSER else None
    if look.fetched.content_type not in _PAGES:
        return None
    seen = await _in_browser(lease, decision, tools)
    if isinstance(seen, Look):
        if not isinstance(seen.fetched, Response) or seen.fetched.status < 400:
            return seen
        seen = failed(decision, f"the server answered {seen.fetched.status}")  # HTTP had brought more
    return replace(look, decision=seen)


def read_options(lease: Lease, look: Look, tools: Tools) -> ReadOptions:
    """The run's own, with how the page was looked at."""
    options, rendering = tools.read_options, look.decision or tools.policy.over_http(lease.url)
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


async def _in_browser(lease: Lease, decision: RenderDecision, tools: Tools) -> Look | RenderDecision:
    """What the browser shows; or the decision that HTTP has to do, because it could not, or because it is no page."""
    rendered = await tools.renderer.render(_request(lease.url, tools.settings.rendering))
    if isinstance(rendered, RenderFailure):
        return _given_up(lease, rendered, decision, tools)
    from sitelore.extract.brand.home_page import with_probed  # noqa: PLC0415 most crawls open no browser

    response = with_probed(rendered.response, rendered.probed)
    led = _led_away(lease.url, rendered, tools)
    if led is not None:
        return led
    if response.status in REDIRECT_STATES:  # one that the browser was not let follow
        return Look(replace(response, url=lease.url), decision)
    if response.content_type not in _PAGES:
        return RenderDecision(False, RenderReason.STATIC, (f"{response.content_type[:_DETAIL_CHARS]} is no page",))
    return Look(replace(as_html(response), url=lease.url), decision, rendered.metrics, rendered.screenshot)


def _request(url: Url, wishes: Rendering) -> RenderRequest:
    from sitelore.extract.brand.home_page import brand_probe  # noqa: PLC0415 as above

    return RenderRequest(
        url,
        screenshot=wishes.screenshots,
        probe=brand_probe() if wishes.brand and url.is_root else "",
        expand_frames=wishes.expand_frames,
        expand_shadow_roots=wishes.expand_shadow_roots,
    )


def _led_away(url: Url, rendered: Rendered, tools: Tools) -> Look | None:
    """The first address on the page's way that is another one: a discovery with gates of its own. None: it stayed."""
    statuses = [hop.status for hop in rendered.chain]
    stations = [*(hop.url for hop in rendered.chain[1:]), rendered.response.url]
    for status, station in zip(statuses, stations, strict=True) if statuses else ():
        target = Url.parse(str(station), rules=tools.rules)
        if target is not None and target != url:
            by_script = status not in REDIRECT_STATES
            headers = (("location", str(target)),)
            moved = Response(url, _BY_SCRIPT if by_script else status, headers, b"", elapsed_s=rendered.response.elapsed_s)
            return Look(moved, RenderDecision(), by_script=by_script)
    return None


def _given_up(lease: Lease, failure: RenderFailure, decision: RenderDecision, tools: Tools) -> Look | RenderDecision:
    """A browser that crashed may not do so again: the visit is tried once more like one whose connection broke."""
    fetched = FetchFailure(lease.url, failure.failure, f"in the browser: {failure.detail}"[:_DETAIL_CHARS], failure.elapsed_s)
    if failure.failure in _MAY_PASS and retry_at(fetched, lease.attempts, tools.settings, tools.clock()) is not None:
        return Look(fetched, decision)
    return failed(decision, f"{failure.failure}: {failure.detail}"[:_DETAIL_CHARS] if failure.detail else str(failure.failure))


_MAY_PASS = frozenset({Failure.CONNECTION, Failure.PROTOCOL, Failure.TRUNCATED})


async def _over_http(lease: Lease, tools: Tools) -> Fetched:
    request = request_for(lease, tools.settings)
    if lease.kind is Kind.SITEMAP:
        request = replace(request, whole_types=True)
    if tools.settings.overrides and is_loaded(lease.url, tools.settings.overrides):
        request = replace(request, accept="application/json")
    fetched = await tools.fetcher.fetch(request)
    if isinstance(fetched, Response) and _asks_for_its_cookie(fetched, tools):
        fetched = await tools.fetcher.fetch(request)
    return fetched


def _asks_for_its_cookie(response: Response, tools: Tools) -> bool:
    """A redirect to itself that sets a cookie asks whether cookies work; a second try answers."""
    if not 300 <= response.status < 400 or response.header("set-cookie") is None:
        return False
    return Url.parse(response.header("location") or "", str(response.url), tools.rules) == response.url
