"""Fetches one page outside of a run: robots.txt, the address guard and the host's rate limit apply, and nothing is stored."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import msgspec

from sitelore.app.app import App
from sitelore.app.crawls import with_secrets
from sitelore.crawl.context import read_options_of
from sitelore.crawl.settle import redacting_saver
from sitelore.extract.packed_document import document_json
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.fetch.access import RunAccess
from sitelore.fetch.polite_client import PoliteClient
from sitelore.frontier.classify import refused_by_robots
from sitelore.model.errors import ExtractionFailed, SiteloreError
from sitelore.model.ids import TenantId
from sitelore.model.response import Failure, FetchFailure, Request, Response, RobotsVerdict
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import REDIRECT_STATES
from sitelore.model.url import Url

_TIMEOUT_S = 45.0
"""How long one page may take: the wait for the host, all redirects and the extraction."""


class FetchError(SiteloreError):
    """A page could not be fetched."""


class PageRefused(FetchError):
    """robots.txt or the address guard does not allow to fetch a page."""


async def scrape(app: App, tenant: TenantId, url: Url, settings: CrawlSettings) -> dict[str, Any]:
    """Fetch and extract one page; the document with its final URL and its time. Raises `FetchError`."""
    ledger = app.ledger.for_tenant(tenant)
    sessions = await app.site_sessions.of_run(tenant, settings)
    options = replace(read_options_of(settings, with_secrets(app.redaction, sessions)), keep_snapshot=False)
    save_robots = redacting_saver(ledger.save_robots, redactor_of(options.redaction))
    access = RunAccess(app.access, settings, tuple(sessions))
    client = PoliteClient(settings, app.gate, app.clock, ledger.robots, save_robots, app.fetcher, access)
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            response = await fetch_page(client, url, settings.max_redirects)
            reading = await app.reader.read(response, options)
    except TimeoutError:
        raise FetchError(f"{url}: no page within {_TIMEOUT_S:.0f} s") from None
    finally:
        await client.close()
    try:
        document: dict[str, Any] = msgspec.json.decode(document_json(reading))
    except ExtractionFailed as problem:
        raise FetchError(f"{url}: {problem}") from None
    return {**document, "url": str(url), "final_url": str(response.url), "fetched_at": app.clock()}


async def fetch_page(client: PoliteClient, url: Url, max_redirects: int) -> Response:
    """Fetch a page and follow its redirects; robots.txt decides about each hop. Raises `FetchError`."""
    for _ in range(max_redirects + 1):
        if (refused := client.guard.judge_url(url)) is not None:
            raise PageRefused(f"{url}: {refused}")
        verdict = await client.robots.judge(url)
        if not verdict.allowed:
            raise PageRefused(f"{url} was not fetched: {robots_reason(verdict, url)}")
        response = await client.fetcher.fetch(Request(url))
        if isinstance(response, FetchFailure):
            error = PageRefused if response.failure is Failure.ADDRESS else FetchError
            raise error(f"{url}: {response.failure}: {response.detail}")
        target = Url.parse(response.header("location") or "", url) if response.status in REDIRECT_STATES else None
        if target is None:
            if response.status != 200:
                raise FetchError(f"{response.url} answered {response.status}")
            return response
        url = target
    raise FetchError(f"{url}: more than {max_redirects} redirects")


def robots_reason(verdict: RobotsVerdict, url: Url) -> str:
    """The line of robots.txt that decides, or why there is none."""
    if verdict.line:
        return f"robots.txt line {verdict.line}: {verdict.rule}"
    if verdict.state == "unreachable":
        return refused_by_robots(verdict, url.authority).detail
    return {"unavailable": "no robots.txt", "ignored": "robots.txt is ignored"}.get(verdict.state, "no robots.txt rule matches")
