"""One visit of one URL: check freshness → robots.txt → fetch → extract → login check → classify → soft-404 check → settlement.

`visit` writes nothing. It returns a `Settlement` (a verdict and its effects), which the worker redacts and the ledger writes in
one transaction (`crawl/settle.py`). Blobs are written before that, keyed by their content, so a visit can safely be
repeated after a crash.

A page is fetched over HTTP first. If extraction shows that it is only a shell for scripts, it is fetched once more in the
browser; pages already known to need the browser are fetched there directly (`crawl/page_fetch.py`). `read_page` needs no
admitted row, so it is also what runs when a page is fetched ahead (`crawl/prefetch.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sitelore.crawl.context import VisitContext
from sitelore.crawl.page_fetch import PageFetch, escalate_to_browser, extraction_options, fetch_page, render_error
from sitelore.crawl.settle import fetch_cost, settle_known_page, settle_page, settle_redirect, settle_sitemap, unreadable
from sitelore.frontier.classify import Redirected, classify, refused_by_robots
from sitelore.frontier.freshness import unchanged
from sitelore.intake.sitemap_detection import looks_like_sitemap
from sitelore.model.document import Reading, SitemapReading
from sitelore.model.errors import ReaderCrashed
from sitelore.model.frontier import Lease, RowKind, Settlement, Verdict
from sitelore.model.response import FetchFailure, RobotsVerdict
from sitelore.model.states import UrlState

_SNIFF_BYTES = 2048


@dataclass(frozen=True, slots=True)
class PageRead:
    """A fetched URL and what was extracted from its body."""

    page_fetch: PageFetch
    reading: Reading | SitemapReading | ReaderCrashed | None = None
    """None: there is no body to extract (redirect, error, 304)."""


async def visit(lease: Lease, context: VisitContext, prefetched: PageRead | None = None) -> Settlement:
    """Process one leased URL, from the freshness check to its settlement. A page fetched ahead is not fetched again.

    Raises `SessionEnded` when the page shows that the crawl is logged out of its site.
    """
    if lease.kind is RowKind.MEDIA:
        from sitelore.crawl.media.visit import visit_media  # noqa: PLC0415 few runs download media

        return await visit_media(lease, context)
    fresh = unchanged(lease, context.settings, context.clock())
    if fresh is not None:
        verdict = Verdict(UrlState.SKIPPED, skip_reason=fresh.reason, detail=fresh.detail)
        return await settle_known_page(lease, verdict, context)

    robots = await context.robots.judge(lease.url)
    if not robots.allowed:
        return Settlement(lease, refused_by_robots(robots, lease.url.authority))

    page = prefetched or await read_page(lease, context)
    page_fetch, reading, fetched = page.page_fetch, page.reading, page.page_fetch.fetched
    if context.login_watch is not None:
        await context.login_watch.check(lease.url, page_fetch, reading, context)

    outcome = classify(lease, fetched, context.settings, context.rules, context.clock())
    if isinstance(outcome, Redirected):
        return settle_redirect(lease, page_fetch, outcome, context)
    if outcome is not None and outcome.state is UrlState.NOT_MODIFIED:
        return await settle_known_page(lease, outcome, context, fetched)
    if outcome is not None or isinstance(fetched, FetchFailure) or reading is None:
        return Settlement(lease, outcome or Verdict(UrlState.FAILED), fetch_cost(fetched))
    return await _settle_body(lease, page_fetch, reading, robots, context)


async def _settle_body(
    lease: Lease,
    page_fetch: PageFetch,
    reading: Reading | SitemapReading | ReaderCrashed,
    robots: RobotsVerdict,
    context: VisitContext,
) -> Settlement:
    """Settle a URL by what was extracted from its body."""
    fetched = page_fetch.response
    if isinstance(reading, ReaderCrashed):
        verdict = Verdict(UrlState.FAILED, fetched.status, error=f"parse_error: {reading}")
        return Settlement(lease, verdict, fetch_cost(fetched))
    if isinstance(reading, SitemapReading):
        return settle_sitemap(lease, fetched, reading, context)
    if reading.problem:
        return Settlement(lease, unreadable(reading, fetched), fetch_cost(fetched))

    error = render_error(page_fetch, reading)
    if error is not None:
        offers = tuple(context.offer_builder.links(lease, reading.links, reading.refused_links))
        return Settlement(
            lease, Verdict(UrlState.FAILED, fetched.status, error=error), replace(fetch_cost(fetched), offers=offers)
        )

    evidence = await context.soft_404_detector(page_fetch.in_browser).soft_404(lease.url, reading)
    if evidence is not None:
        verdict = Verdict(UrlState.SOFT_404, fetched.status, detail=evidence)
        return Settlement(lease, verdict, fetch_cost(fetched))
    return await settle_page(lease, page_fetch, reading, robots, context)


async def read_page(lease: Lease, context: VisitContext) -> PageRead:
    """Fetch a URL and extract its body; over HTTP, then in the browser if the body is only a shell for scripts."""
    page_fetch = await fetch_page(lease, context)
    while True:  # at most twice
        fetched = page_fetch.fetched
        if (
            isinstance(fetched, FetchFailure)
            or classify(lease, fetched, context.settings, context.rules, context.clock()) is not None
        ):
            return PageRead(page_fetch)
        reading = await _extract(lease, page_fetch, context)
        if not isinstance(reading, Reading) or reading.problem:
            return PageRead(page_fetch, reading)
        second_fetch = await escalate_to_browser(lease, page_fetch, reading, context)
        if second_fetch is None:
            return PageRead(page_fetch, reading)
        page_fetch = second_fetch


async def _extract(lease: Lease, page_fetch: PageFetch, context: VisitContext) -> Reading | SitemapReading | ReaderCrashed:
    """Extract the body in another process, as a page or as a sitemap."""
    response = page_fetch.response
    head = response.body[:_SNIFF_BYTES]
    try:
        if lease.kind is RowKind.SITEMAP or looks_like_sitemap(head, response.content_type, lease.url.path):
            return await context.reader.read_sitemap(response, context.read_options)
        return await context.reader.read(response, extraction_options(lease, page_fetch, context))
    except ReaderCrashed as crash:
        return crash
