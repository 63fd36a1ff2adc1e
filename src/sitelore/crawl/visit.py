"""One visit, start to settle: wait for the host's gate → fetch → judge → read → settle.

What came over HTTP and turns out to be a shell is looked at once more through the browser; a page that is known to need one
goes straight there (`crawl/page_fetch.py`).

A visit changes nothing. It collects what is to be changed as a `Settlement`, which the ledger writes in one transaction
(`crawl/settle.py`); blobs go first, keyed by their content, so repeating a visit that a crash cut off is harmless.
"""

from __future__ import annotations

from sitelore.crawl.outcomes import kept_as_known, measured, page, redirect, sitemap, unreadable
from sitelore.crawl.page_fetch import PageFetch, escalate_to_browser, fetch_page, read_options
from sitelore.crawl.visit_context import VisitContext
from sitelore.frontier.classify import Redirected, judge, refused_by_robots
from sitelore.frontier.freshness import unchanged
from sitelore.intake.sniff import looks_like_sitemap
from sitelore.model.document import Reading
from sitelore.model.errors import ReaderCrashed
from sitelore.model.frontier import Kind, Lease, Settlement, Verdict
from sitelore.model.response import FetchFailure
from sitelore.model.states import UrlState


async def visit(lease: Lease, context: VisitContext) -> Settlement:
    """Everything that happens to one URL between its claim and its settlement."""
    same = unchanged(lease, context.settings, context.clock())
    if same is not None:
        verdict = Verdict(UrlState.SKIPPED, skip_reason=same.reason, detail=same.detail)
        return await kept_as_known(lease, verdict, context)

    robots = await context.robots.judge(lease.url)
    if not robots.allowed:
        return Settlement(lease, refused_by_robots(robots))

    page_fetch = await fetch_page(lease, context)
    while True:
        ended = await _judge(lease, page_fetch, context)
        if ended is not None:
            return ended
        reading = await _read(lease, page_fetch, context)
        if isinstance(reading, Settlement):
            return reading
        better = await escalate_to_browser(lease, page_fetch, reading, context)
        if better is None:
            break
        page_fetch = better

    missing = await context.probes_for(page_fetch.in_browser).soft_404(lease.url, reading)
    if missing is not None:
        return Settlement(
            lease, Verdict(UrlState.SOFT_404, page_fetch.response.status, detail=missing), measured(page_fetch.fetched)
        )
    return await page(lease, page_fetch, reading, robots, context)


async def _judge(lease: Lease, page_fetch: PageFetch, context: VisitContext) -> Settlement | None:
    """How the visit ends, or None: there is a body to read."""
    fetched = page_fetch.fetched
    outcome = judge(lease, fetched, context.settings, context.rules, context.clock())
    if isinstance(outcome, Redirected):
        return redirect(lease, page_fetch, outcome, context)
    if outcome is not None and outcome.state is UrlState.NOT_MODIFIED:
        return await kept_as_known(lease, outcome, context, fetched)
    if outcome is not None or isinstance(fetched, FetchFailure):
        return Settlement(lease, outcome or Verdict(UrlState.FAILED), measured(fetched))
    return None


async def _read(lease: Lease, page_fetch: PageFetch, context: VisitContext) -> Reading | Settlement:
    """What the body says; a sitemap, or what cannot be read, ends the visit."""
    response = page_fetch.response
    try:
        if lease.kind is Kind.SITEMAP or looks_like_sitemap(response.body[:2048], response.content_type, lease.url.path):
            return sitemap(lease, response, await context.reader.read_sitemap(response, context.read_options), context)
        reading = await context.reader.read(response, read_options(lease, page_fetch, context))
    except ReaderCrashed as crash:
        return Settlement(lease, Verdict(UrlState.FAILED, response.status, error=f"parse_error: {crash}"), measured(response))
    return Settlement(lease, unreadable(reading, response), measured(response)) if reading.problem else reading
