"""One visit of one URL: check freshness → robots.txt → fetch → classify → extract → soft-404 check → settlement.

`visit` writes nothing. It returns a `Settlement` (a verdict and its effects), which the worker redacts and the ledger writes in
one transaction (`crawl/settle.py`). Blobs are written before that, keyed by their content, so a visit can safely be repeated
after a crash.

A page is fetched over HTTP first. If extraction shows that it is only a shell for scripts, it is fetched once more in the
browser; pages already known to need the browser are fetched there directly (`crawl/page_fetch.py`).
"""

from __future__ import annotations

from sitelore.crawl.context import VisitContext
from sitelore.crawl.page_fetch import PageFetch, escalate_to_browser, fetch_page, read_options
from sitelore.crawl.settle import fetch_cost, settle_known_page, settle_page, settle_redirect, settle_sitemap, unreadable
from sitelore.frontier.classify import Redirected, classify, refused_by_robots
from sitelore.frontier.freshness import unchanged
from sitelore.intake.sniff import looks_like_sitemap
from sitelore.model.document import Reading
from sitelore.model.errors import ReaderCrashed
from sitelore.model.frontier import Lease, RowKind, Settlement, Verdict
from sitelore.model.response import FetchFailure
from sitelore.model.states import UrlState

_SNIFF_BYTES = 2048


async def visit(lease: Lease, context: VisitContext) -> Settlement:
    """Process one leased URL, from the freshness check to its settlement."""
    fresh = unchanged(lease, context.settings, context.clock())
    if fresh is not None:
        verdict = Verdict(UrlState.SKIPPED, skip_reason=fresh.reason, detail=fresh.detail)
        return await settle_known_page(lease, verdict, context)

    robots = await context.robots.judge(lease.url)
    if not robots.allowed:
        return Settlement(lease, refused_by_robots(robots, lease.url.authority))

    page_fetch = await fetch_page(lease, context)
    while True:  # at most twice: over HTTP, then in the browser
        settlement = await _settle_without_body(lease, page_fetch, context)
        if settlement is not None:
            return settlement
        reading = await _extract(lease, page_fetch, context)
        if isinstance(reading, Settlement):
            return reading
        second_fetch = await escalate_to_browser(lease, page_fetch, reading, context)
        if second_fetch is None:
            break
        page_fetch = second_fetch

    evidence = await context.soft_404_detector(page_fetch.in_browser).soft_404(lease.url, reading)
    if evidence is not None:
        verdict = Verdict(UrlState.SOFT_404, page_fetch.response.status, detail=evidence)
        return Settlement(lease, verdict, fetch_cost(page_fetch.fetched))
    return await settle_page(lease, page_fetch, reading, robots, context)


async def _settle_without_body(lease: Lease, page_fetch: PageFetch, context: VisitContext) -> Settlement | None:
    """Settle redirects, errors, retries and 304 by status alone; None when there is a body to extract."""
    fetched = page_fetch.fetched
    outcome = classify(lease, fetched, context.settings, context.rules, context.clock())
    if isinstance(outcome, Redirected):
        return settle_redirect(lease, page_fetch, outcome, context)
    if outcome is not None and outcome.state is UrlState.NOT_MODIFIED:
        return await settle_known_page(lease, outcome, context, fetched)
    if outcome is not None or isinstance(fetched, FetchFailure):
        return Settlement(lease, outcome or Verdict(UrlState.FAILED), fetch_cost(fetched))
    return None


async def _extract(lease: Lease, page_fetch: PageFetch, context: VisitContext) -> Reading | Settlement:
    """Extract the body in another process. Sitemaps and unreadable bodies are settled here."""
    response = page_fetch.response
    head = response.body[:_SNIFF_BYTES]
    try:
        if lease.kind is RowKind.SITEMAP or looks_like_sitemap(head, response.content_type, lease.url.path):
            reading = await context.reader.read_sitemap(response, context.read_options)
            return settle_sitemap(lease, response, reading, context)
        page = await context.reader.read(response, read_options(lease, page_fetch, context))
    except ReaderCrashed as crash:
        verdict = Verdict(UrlState.FAILED, response.status, error=f"parse_error: {crash}")
        return Settlement(lease, verdict, fetch_cost(response))
    return Settlement(lease, unreadable(page, response), fetch_cost(response)) if page.problem else page
