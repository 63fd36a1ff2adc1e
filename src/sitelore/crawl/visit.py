"""One visit, start to settle: wait for the host's gate → fetch → judge → read → settle.

What came over HTTP and turns out to be a shell is looked at once more through the browser; a page that is known to need one
goes straight there (`crawl/rendering.py`).

A visit changes nothing. It collects what is to be changed as a `Settlement`, which the ledger writes in one transaction
(`crawl/settling.py`); blobs go first, keyed by their content, so repeating a visit that a crash cut off is harmless.
"""

from __future__ import annotations

from sitelore.crawl.outcomes import kept_as_known, measured, page, redirect, sitemap, unreadable
from sitelore.crawl.rendering import Look, better_look, first_look, read_options
from sitelore.crawl.tools import Tools
from sitelore.frontier.freshness import unchanged
from sitelore.frontier.judge import Redirected, judge, refused_by_robots
from sitelore.intake.sniff import looks_like_sitemap
from sitelore.model.document import Reading
from sitelore.model.errors import ReaderCrashed
from sitelore.model.frontier import Kind, Lease, Settlement, Verdict
from sitelore.model.response import FetchFailure
from sitelore.model.states import UrlState


async def visit(lease: Lease, tools: Tools) -> Settlement:
    """Everything that happens to one URL between its claim and its settlement."""
    same = unchanged(lease, tools.settings, tools.clock())
    if same is not None:
        verdict = Verdict(UrlState.SKIPPED, skip_reason=same.reason, detail=same.detail)
        return await kept_as_known(lease, verdict, tools)

    robots = await tools.robots.judge(lease.url)
    if not robots.allowed:
        return Settlement(lease, refused_by_robots(robots, lease.url.authority))

    look = await first_look(lease, tools)
    while True:
        ended = await _judge(lease, look, tools)
        if ended is not None:
            return ended
        reading = await _read(lease, look, tools)
        if isinstance(reading, Settlement):
            return reading
        better = await better_look(lease, look, reading, tools)
        if better is None:
            break
        look = better

    missing = await tools.probes_for(look.in_browser).soft_404(lease.url, reading)
    if missing is not None:
        return Settlement(lease, Verdict(UrlState.SOFT_404, look.response.status, detail=missing), measured(look.fetched))
    return await page(lease, look, reading, robots, tools)


async def _judge(lease: Lease, look: Look, tools: Tools) -> Settlement | None:
    """How the visit ends, or None: there is a body to read."""
    fetched = look.fetched
    outcome = judge(lease, fetched, tools.settings, tools.rules, tools.clock())
    if isinstance(outcome, Redirected):
        return redirect(lease, look, outcome, tools)
    if outcome is not None and outcome.state is UrlState.NOT_MODIFIED:
        return await kept_as_known(lease, outcome, tools, fetched)
    if outcome is not None or isinstance(fetched, FetchFailure):
        return Settlement(lease, outcome or Verdict(UrlState.FAILED), measured(fetched))
    return None


async def _read(lease: Lease, look: Look, tools: Tools) -> Reading | Settlement:
    """What the body says; a sitemap, or what cannot be read, ends the visit."""
    response = look.response
    try:
        if lease.kind is Kind.SITEMAP or looks_like_sitemap(response.body[:2048], response.content_type, lease.url.path):
            return sitemap(lease, response, await tools.reader.read_sitemap(response, tools.read_options), tools)
        reading = await tools.reader.read(response, read_options(lease, look, tools))
    except ReaderCrashed as crash:
        return Settlement(lease, Verdict(UrlState.FAILED, response.status, error=f"parse_error: {crash}"), measured(response))
    return Settlement(lease, unreadable(reading, response), measured(response)) if reading.problem else reading
