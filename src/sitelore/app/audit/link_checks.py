"""Requests of an audit, off by default: checks of links to other sites, and `/llms.txt`.

An audit whose option `check_links` is on sends a HEAD request to the URLs of other sites that pages link to, and a GET where
HEAD does not get an answer that counts. robots.txt, the address guard and the rate limit of each host apply. A URL that
answered is checked again after a week, one that did not after a day: a link is reported after two failures on different days.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from sitelore.app.app import App
from sitelore.audit.site import Site, TargetKind
from sitelore.crawl.context import read_options_of
from sitelore.crawl.settle import redacting_saver
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.fetch.access import RunAccess
from sitelore.fetch.polite_client import PoliteClient
from sitelore.model.audit.findings import AuditPhase, ExternalCheck, LlmsTxt
from sitelore.model.frontier import Run
from sitelore.model.response import FetchFailure, Request, Response
from sitelore.model.states import REDIRECT_STATES
from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.app.audit.site_audit import AuditProgress

MAX_CHECKS = 2_000
"""URLs that one audit checks; the others follow with the next ones."""
MAX_PER_HOST = 100
GOOD_S, BAD_S = 7 * 86_400.0, 86_400.0
"""How long the result of a check holds."""
KEPT_CHECKS = 3
"""Of each URL."""
_CONCURRENCY = 8
_TIME_LIMIT_S = 900.0
_REDIRECTS = 5
_HEAD_IS_ENOUGH = frozenset({200, 203, 204, 206, 404, 410})
_MAX_LLMS_BYTES = 256 * 1024

Checks = Mapping[str, Sequence[ExternalCheck]]


def due_checks(targets: Iterable[str], known: Checks, now: float) -> list[str]:
    """The URLs to check now: those that were never checked first, then the longest ago, one of each host at a time."""
    by_host: dict[str, list[str]] = {}
    for url in sorted(targets, key=lambda url: (_checked_at(known.get(url)), url)):
        checks = known.get(url)
        if not checks or now - checks[-1].at >= (GOOD_S if is_good(checks[-1]) else BAD_S):
            by_host.setdefault(Url.trusted(url).authority, []).append(url)
    turns = zip_longest(*(urls[:MAX_PER_HOST] for urls in by_host.values()))
    return [url for turn in turns for url in turn if url is not None][:MAX_CHECKS]


def _checked_at(checks: Sequence[ExternalCheck] | None) -> float:
    return checks[-1].at if checks else 0.0


def is_good(check: ExternalCheck) -> bool:
    """Whether a URL answered with a page."""
    return 0 < check.status < 400


async def check_links(app: App, run: Run, targets: Iterable[str], known: Checks) -> dict[str, tuple[ExternalCheck, ...]]:
    """Check the URLs that are due. Returns their checks with those before, the oldest first."""
    due = due_checks(targets, known, app.clock())
    client = _client(app, run)
    limit, checked = asyncio.Semaphore(_CONCURRENCY), dict[str, tuple[ExternalCheck, ...]]()

    async def check(address: str) -> None:
        async with limit:
            result = await _check(client, Url.trusted(address))
        if result is not None:
            status, error = result
            new = ExternalCheck(address, app.clock(), status, error)
            checked[address] = (*known.get(address, ()), new)[-KEPT_CHECKS:]

    tasks = [asyncio.create_task(check(url)) for url in due]
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=_TIME_LIMIT_S)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await client.close()
    return checked


async def _check(client: PoliteClient, url: Url) -> tuple[int, str] | None:
    """The final status and error of a URL; None where robots.txt or the address guard does not allow a request."""
    for _ in range(_REDIRECTS + 1):
        if client.guard.judge_url(url) is not None:
            return None
        verdict = await client.robots.judge(url)
        if not verdict.allowed:
            # A host that gives no answer at all is a finding; one whose robots.txt has a server error must be left alone.
            is_silent = verdict.state == "unreachable" and " answered " not in verdict.rule
            return (0, verdict.rule) if is_silent else None
        answer = await client.fetcher.fetch(Request(url, any_content_type=True, method="HEAD"))
        if not isinstance(answer, Response) or answer.status not in {*_HEAD_IS_ENOUGH, *REDIRECT_STATES}:
            answer = await client.fetcher.fetch(Request(url, any_content_type=True, max_body_bytes=1024, truncate_body=True))
        if isinstance(answer, FetchFailure):
            return 0, f"{answer.failure}: {answer.detail}"
        target = Url.parse(answer.header("location") or "", url) if answer.status in REDIRECT_STATES else None
        if target is None:
            return answer.status, ""
        url = target
    return 0, "too many redirects"


async def fetch_llms_txt(app: App, run: Run, origin: str) -> LlmsTxt | None:
    """The file `/llms.txt` of a site, redacted; None where it may not be requested or gives no answer."""
    client, url = _client(app, run), Url.trusted(f"{origin}/llms.txt")
    try:
        if client.guard.judge_url(url) is not None or not (await client.robots.judge(url)).allowed:
            return None
        answer = await client.fetcher.fetch(
            Request(url, any_content_type=True, max_body_bytes=_MAX_LLMS_BYTES, truncate_body=True)
        )
    finally:
        await client.close()
    if isinstance(answer, FetchFailure):
        return None
    if answer.status != 200:
        return LlmsTxt(str(url), answer.status)
    redactor = redactor_of(read_options_of(run.settings, app.redaction).redaction)
    body, _ = redactor.redact(answer.body.decode("utf-8", "replace"))
    return LlmsTxt(str(url), 200, answer.content_type, str(body))


def _client(app: App, run: Run) -> PoliteClient:
    settings, ledger = run.settings, app.ledger.for_tenant(run.tenant)
    save_robots = redacting_saver(ledger.save_robots, redactor_of(read_options_of(settings, app.redaction).redaction))
    access = RunAccess(app.access, settings)
    return PoliteClient(settings, app.gate, app.clock, ledger.robots, save_robots, app.fetcher, access)


async def with_checks(app: App, run: Run, site: Site, progress: AuditProgress, *, is_allowed: bool) -> Site:
    """The site with the stored checks of links to other sites and its llms.txt; where allowed, those that are due are made."""
    audits = app.audits.for_tenant(run.tenant)
    targets = _external_targets(site)
    checks = await audits.url_checks(run.site, targets)
    file = await audits.llms_txt(run.site)
    if is_allowed:
        progress.phase = AuditPhase.CHECKS
        new = await check_links(app, run, targets, checks)
        await audits.save_url_checks(run.site, new)
        checks |= new
        now = app.clock()
        if site.start is not None and (file is None or now - file.checked_at >= BAD_S):
            fetched = await fetch_llms_txt(app, run, site.start.url.origin)
            if fetched is not None:
                file = replace(fetched, checked_at=now)
                await audits.save_llms_txt(run.site, file)
    return replace(site, external=checks, llms_txt=file)


def _external_targets(site: Site) -> list[str]:
    """The URLs of other sites that pages of the run link to."""
    numbers = set(site.graph.targets)
    urls = (url for number, url in enumerate(site.graph.urls) if number in numbers)
    return [url for url in urls if url.startswith(("http:", "https:")) and site.target(url).kind is TargetKind.EXTERNAL]
