"""Fetches a page over HTTP, in the browser, or first over HTTP and then in the browser.

`frontier/render_policy.py` decides which. The browser is needed for an app shell: a page whose HTML has almost no text, because
scripts add it in the browser. A rendered page is returned as if it had come over HTTP, so that it is classified, extracted,
redacted and stored like any other: a page that navigates elsewhere by script is a redirect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sitelore.crawl.context import VisitContext
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.fetch.politeness import PoliteRenderer
from sitelore.frontier.freshness import request_for
from sitelore.frontier.offers import HELD_A_SECRET, OfferBuilder
from sitelore.frontier.render_policy import SHELL_WEIGHT, failed, noted
from sitelore.frontier.retry import retry_at
from sitelore.model.api_loader import is_loaded
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.frontier import Lease, RowKind
from sitelore.model.response import (
    Failure,
    Fetched,
    FetchFailure,
    RenderDecision,
    Rendered,
    RenderFailure,
    RenderMetrics,
    RenderNote,
    RenderReason,
    RenderRequest,
    Request,
    Response,
)
from sitelore.model.settings import BUILT_IN_ALONE, Redaction
from sitelore.model.states import REDIRECT_STATES
from sitelore.model.url import KeyRules, Url
from sitelore.ports import Robots

_HTML_HEADER = ("content-type", "text/html; charset=utf-8")
_PAGE_TYPES = frozenset({"", "text/html", "application/xhtml+xml"})
_SCRIPT_REDIRECT_STATUS = 302
_MAX_DETAIL_CHARS = 200
_MAX_SHELL_WORDS = 30
"""A shell with more words than this is kept when it cannot be rendered."""
_TRANSIENT = frozenset({Failure.CONNECTION, Failure.PROTOCOL, Failure.TRUNCATED})
"""Browser failures after which a retry may succeed."""


@dataclass(frozen=True, slots=True)
class PageFetch:
    """The result of fetching a URL, and whether it came over HTTP or from the browser."""

    fetched: Fetched
    decision: RenderDecision | None = None
    """None: fetched over HTTP, and whether the browser is needed is decided after extraction."""
    metrics: RenderMetrics | None = None
    screenshot: bytes = b""
    by_script: bool = False
    """The redirect was made by a script."""

    @property
    def response(self) -> Response:
        """The response; only valid where the fetch did not fail."""
        assert isinstance(self.fetched, Response)
        return self.fetched

    @property
    def in_browser(self) -> bool:
        """Whether the page was rendered in the browser."""
        return self.decision is not None and self.decision.in_browser

    @property
    def note(self) -> RenderNote | None:
        """How the page was fetched, as the ledger stores it; None for ordinary HTTP."""
        note = noted(self.decision) if self.decision is not None else None
        return replace(note, metrics=self.metrics) if note is not None else None


async def fetch_page(lease: Lease, context: VisitContext) -> PageFetch:
    """Fetch in the browser where that is known to be needed, else over HTTP."""
    decision = context.policy.before_fetch(lease)
    if decision is not None:
        result = await _render(lease, decision, context)
        if isinstance(result, PageFetch):
            return result
        return PageFetch(await _fetch_over_http(lease, context), result)
    fetched = await _fetch_over_http(lease, context)
    if isinstance(fetched, Response) and fetched.status == 304:
        decision = context.policy.after_not_modified(lease)
        if decision.in_browser and isinstance(result := await _render(lease, decision, context), PageFetch):
            return result
    return PageFetch(fetched)


async def escalate_to_browser(lease: Lease, page_fetch: PageFetch, reading: Reading, context: VisitContext) -> PageFetch | None:
    """Fetch the page again in the browser if its HTTP body is an app shell; None when the HTTP fetch is good enough."""
    if page_fetch.decision is not None or not isinstance(page_fetch.fetched, Response):
        return None
    decision = context.policy.after_reading(lease, reading.shell)
    if not decision.in_browser:
        return replace(page_fetch, decision=decision) if decision.reason is RenderReason.NO_BROWSER else None
    if page_fetch.fetched.content_type not in _PAGE_TYPES:
        return None
    result = await _render(lease, decision, context)
    if isinstance(result, PageFetch):
        if not isinstance(result.fetched, Response) or result.fetched.status < 400:
            return result
        result = failed(decision, f"the server answered {result.fetched.status}")  # HTTP gave a better answer
    return replace(page_fetch, decision=result)


def render_error(page_fetch: PageFetch, reading: Reading) -> str | None:
    """`render_failed: …` when the browser failed on a page whose HTTP body is only a shell; None when there is text to keep."""
    decision = page_fetch.decision
    if decision is None or decision.reason is not RenderReason.FAILED:
        return None
    if reading.shell.weight < SHELL_WEIGHT or reading.word_count > _MAX_SHELL_WORDS:
        return None
    return f"render_failed: the HTTP response is only a shell for scripts, and {decision.evidence[-1]}"


def extraction_options(lease: Lease, page_fetch: PageFetch, context: VisitContext) -> ReadOptions:
    """The run's extraction options, with the record of how this page was fetched."""
    options, rendering = context.read_options, page_fetch.decision or context.policy.over_http(lease.url)
    return options if rendering == options.rendering else replace(options, rendering=rendering)


async def render_as_fetch(request: Request, renderer: PoliteRenderer) -> Fetched:
    """Render a page and return it as if it had come over HTTP."""
    rendered = await renderer.render(RenderRequest(request.url, expand_shadow_roots=True))
    if isinstance(rendered, RenderFailure):
        return FetchFailure(rendered.url, rendered.failure, rendered.detail, rendered.elapsed_s)
    return as_html(rendered.response)


def as_html(response: Response) -> Response:
    """Set the content type of a rendered page: the DOM is always serialised as UTF-8 HTML."""
    return replace(response, headers=(_HTML_HEADER, *(header for header in response.headers if header[0] != "content-type")))


async def _render(lease: Lease, decision: RenderDecision, context: VisitContext) -> PageFetch | RenderDecision:
    """Render a page. Returns a decision to use HTTP instead when the browser failed or the URL is not a page."""
    rendered = await context.renderer.render(_request(lease.url, context))
    if isinstance(rendered, RenderFailure):
        return _render_failed(lease, rendered, decision, context)
    decision = replace(decision, evidence=(*decision.evidence, *rendered.action_problems))
    from sitelore.extract.page_objects.brand import with_probed  # noqa: PLC0415 most crawls never open a browser

    response = with_probed(rendered.response, rendered.probed)
    redirect = _redirect_of(lease.url, rendered, context)
    if redirect is not None:
        return redirect
    if response.status in REDIRECT_STATES:  # the navigation policy did not let the browser follow it
        return PageFetch(replace(response, url=lease.url), decision)
    if response.content_type not in _PAGE_TYPES:
        return RenderDecision(False, RenderReason.STATIC, (f"{response.content_type[:_MAX_DETAIL_CHARS]} is not a page",))
    return PageFetch(replace(as_html(response), url=lease.url), decision, rendered.metrics, rendered.screenshot)


def _request(url: Url, context: VisitContext) -> RenderRequest:
    from sitelore.extract.page_objects.brand import brand_probe  # noqa: PLC0415 as above

    rendering = context.settings.rendering
    return RenderRequest(
        url,
        screenshot=rendering.screenshots,
        probe=brand_probe() if rendering.brand and url.is_root else "",
        expand_frames=rendering.expand_frames,
        expand_shadow_roots=rendering.expand_shadow_roots,
        actions=context.policy.actions(url),
    )


def _redirect_of(url: Url, rendered: Rendered, context: VisitContext) -> PageFetch | None:
    """The first redirect or navigation to another URL, as a redirect response: the target must pass the frontier's own
    checks. None when the browser stayed on the URL.
    """
    statuses = [hop.status for hop in rendered.chain]
    targets = [*(hop.url for hop in rendered.chain[1:]), rendered.response.url]
    for status, raw in zip(statuses, targets, strict=True) if statuses else ():
        target = Url.parse(str(raw), rules=context.rules)
        if target is not None and target != url:
            by_script = status not in REDIRECT_STATES
            code = _SCRIPT_REDIRECT_STATUS if by_script else status
            response = Response(url, code, (("location", str(target)),), b"", elapsed_s=rendered.response.elapsed_s)
            return PageFetch(response, RenderDecision(), by_script=by_script)
    return None


def _render_failed(
    lease: Lease, failure: RenderFailure, decision: RenderDecision, context: VisitContext
) -> PageFetch | RenderDecision:
    """Retry a crashed browser like a broken connection; after the last attempt, fall back to HTTP."""
    fetched = FetchFailure(
        lease.url, failure.failure, f"in the browser: {failure.detail}"[:_MAX_DETAIL_CHARS], failure.elapsed_s
    )
    if failure.failure in _TRANSIENT and retry_at(fetched, lease.attempts, context.settings, context.clock()) is not None:
        return PageFetch(fetched, decision)
    detail = f"{failure.failure}: {failure.detail}"[:_MAX_DETAIL_CHARS] if failure.detail else str(failure.failure)
    return failed(decision, detail)


async def _fetch_over_http(lease: Lease, context: VisitContext) -> Fetched:
    request = request_for(lease, context.settings)
    if lease.kind is RowKind.SITEMAP:
        request = replace(request, any_content_type=True)
    if context.settings.overrides and is_loaded(lease.url, context.settings.overrides):
        request = replace(request, accept="application/json")
    fetched = await context.fetcher.fetch(request)
    if isinstance(fetched, Response) and _is_cookie_check(fetched, context):
        fetched = await context.fetcher.fetch(request)
    return fetched


def _is_cookie_check(response: Response, context: VisitContext) -> bool:
    """Whether a response redirects to itself and sets a cookie: the server tests cookies, and a second request passes."""
    if not 300 <= response.status < 400 or response.header("set-cookie") is None:
        return False
    return Url.parse(response.header("location") or "", str(response.url), context.rules) == response.url


class NavigationPolicy:
    """Decides where a page open in the browser may navigate: scope, address guard, secrets and robots.txt apply there too.

    The URL of the visit itself is not checked here, because the frontier admitted it.
    """

    def __init__(
        self, robots: Robots, offer_builder: OfferBuilder, rules: KeyRules, redaction: Redaction = BUILT_IN_ALONE
    ) -> None:
        self._redaction = redaction
        self._robots = robots
        self._offer_builder = offer_builder
        self._rules = rules

    async def judge(self, url: Url) -> str | None:
        """The reason why the browser must not navigate to `url`; None when it may."""
        target = Url.parse(str(url), rules=self._rules)
        if target is None:
            return "not an http(s) URL"
        refusal = self._offer_builder.refusal(target, 0)
        if refusal is not None:
            return refusal[1]
        if redactor_of(self._redaction).has_secrets(target):
            return HELD_A_SECRET[1]
        verdict = await self._robots.judge(target)
        return None if verdict.allowed else f"robots.txt: {verdict.rule or verdict.state}"
