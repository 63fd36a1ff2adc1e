"""One visit, start to settle: wait for the host's gate → fetch → judge → read → settle.

A visit changes nothing. It collects what is to be changed as a `Settlement`, which the ledger writes in one transaction
(`crawl/settling.py`); blobs go first, keyed by their content, so repeating a visit that a crash cut off is harmless.
"""

from __future__ import annotations

from dataclasses import replace

from sitelore.crawl.outcomes import kept_as_known, measured, page, redirect, sitemap, unreadable
from sitelore.crawl.tools import Tools
from sitelore.frontier.freshness import request_for, unchanged
from sitelore.frontier.judge import Redirected, judge, refused_by_robots
from sitelore.intake.sniff import looks_like_sitemap
from sitelore.model.errors import ReaderCrashed
from sitelore.model.frontier import Kind, Lease, Settlement, Verdict
from sitelore.model.response import Fetched, FetchFailure, Response
from sitelore.model.states import UrlState
from sitelore.model.url import Url


async def visit(lease: Lease, tools: Tools) -> Settlement:
    """Everything that happens to one URL between its claim and its settlement."""
    same = unchanged(lease, tools.settings, tools.clock())
    if same is not None:
        verdict = Verdict(UrlState.SKIPPED, skip_reason=same.reason, detail=same.detail)
        return await kept_as_known(lease, verdict, tools)

    robots = await tools.robots.judge(lease.url)
    if not robots.allowed:
        return Settlement(lease, refused_by_robots(robots))

    fetched = await _fetch(lease, tools)
    outcome = judge(lease, fetched, tools.settings, tools.rules, tools.clock())
    if isinstance(outcome, Redirected):
        return redirect(lease, fetched, outcome, tools)
    if outcome is not None and outcome.state is UrlState.NOT_MODIFIED:
        return await kept_as_known(lease, outcome, tools, fetched)
    if outcome is not None or isinstance(fetched, FetchFailure):
        return Settlement(lease, outcome or Verdict(UrlState.FAILED), measured(fetched))

    try:
        if lease.kind is Kind.SITEMAP or looks_like_sitemap(fetched.body[:2048], fetched.content_type, lease.url.path):
            return sitemap(lease, fetched, await tools.reader.read_sitemap(fetched), tools)
        reading = await tools.reader.read(fetched, tools.read_options)
    except ReaderCrashed as crash:
        return Settlement(lease, Verdict(UrlState.FAILED, fetched.status, error=f"parse_error: {crash}"), measured(fetched))
    if reading.problem:
        return Settlement(lease, unreadable(reading, fetched), measured(fetched))
    missing = await tools.probes.soft_404(lease.url, reading)
    if missing is not None:
        return Settlement(lease, Verdict(UrlState.SOFT_404, fetched.status, detail=missing), measured(fetched))
    return await page(lease, fetched, reading, robots, tools)


async def _fetch(lease: Lease, tools: Tools) -> Fetched:
    request = request_for(lease, tools.settings)
    if lease.kind is Kind.SITEMAP:
        request = replace(request, whole_types=True)
    fetched = await tools.fetcher.fetch(request)
    if isinstance(fetched, Response) and _asks_for_its_cookie(fetched, tools):
        fetched = await tools.fetcher.fetch(request)
    return fetched


def _asks_for_its_cookie(response: Response, tools: Tools) -> bool:
    """A redirect to itself that sets a cookie asks whether cookies work; a second try answers."""
    if not 300 <= response.status < 400 or response.header("set-cookie") is None:
        return False
    return Url.parse(response.header("location") or "", str(response.url), tools.rules) == response.url
