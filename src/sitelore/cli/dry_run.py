"""`crawl --dry-run`: what would be crawled, found out from robots.txt and sitemaps alone. No page is asked for."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import msgspec

from sitelore.cli.console import data_console, print_json, visible
from sitelore.crawl.extraction_pool import ExtractionPool
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.fetch.politeness import PoliteFetcher
from sitelore.fetch.robots import RobotsCache
from sitelore.frontier.gate import LocalGate
from sitelore.frontier.scope import ScopeRule
from sitelore.model.response import FetchFailure, Request, RobotsFile, RobotsVerdict
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.ports import Fetcher, Reader, Robots

_SITEMAPS = 50


@dataclass(frozen=True, slots=True)
class SitemapFound:
    """One sitemap: what it lists, and how much of that the crawl may take."""

    url: str
    kind: str = ""
    listed: int = 0
    in_scope: int = 0
    sitemaps: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class SeedFound:
    """One seed, and what robots.txt says about it."""

    url: str
    allowed: bool
    why: str


def show_plan(settings: CrawlSettings, *, as_json: bool) -> int:
    """Print the plan."""
    seeds, sitemaps = asyncio.run(_look(settings))
    usual, asked = msgspec.to_builtins(CrawlSettings()), msgspec.to_builtins(settings)
    changed = {name: value for name, value in asked.items() if value != usual[name]}
    if as_json:
        plan: dict[str, Any] = {"settings": asked, "seeds": seeds, "sitemaps": sitemaps}
        print_json(plan)
        return 0
    console = data_console()
    for name, value in {"scope": asked["scope"], **changed}.items():
        console.print(f"{name} = {msgspec.json.encode(value).decode()}", markup=False, soft_wrap=True)
    for seed in seeds:
        console.print(f"{'✓' if seed.allowed else '✗'} seed {seed.url}  ({visible(seed.why)})", markup=False, soft_wrap=True)
    for found in sitemaps:
        what = found.problem or f"{found.kind}: {found.listed} URLs, {found.in_scope} in scope, {found.sitemaps} sitemaps"
        console.print(f"{'✗' if found.problem else '✓'} sitemap {found.url}  ({visible(what)})", markup=False, soft_wrap=True)
    if not settings.sitemap_only:
        console.print("Links would be followed from there; how many there are shows only in a crawl.")
    return 0


async def _look(settings: CrawlSettings) -> tuple[list[SeedFound], list[SitemapFound]]:
    gate = LocalGate(time.monotonic)
    http = HttpFetcher(settings, AddressGuard(settings.open_origins, settings.allow_private))
    robots = RobotsCache(http, gate, settings, time.time, _nothing_kept, _keep_nothing)
    fetcher, reader = PoliteFetcher(http, gate, settings, time.time), ExtractionPool(1)
    try:
        seeds: list[SeedFound] = []
        queue = deque(dict.fromkeys(map(Url.trusted, settings.sitemaps)))
        for seed in map(Url.trusted, settings.seeds):
            verdict = await robots.judge(seed)
            seeds.append(SeedFound(seed, verdict.allowed, _why(verdict)))
            named = (Url.parse(text, seed) for text in verdict.sitemaps) if settings.discover_sitemaps else ()
            queue.extend(url for url in named if url is not None and url not in queue)
        return seeds, await _sitemaps(queue, ScopeRule(settings, ()), fetcher, reader, robots)
    finally:
        await reader.close()
        await http.close()


async def _sitemaps(
    queue: deque[Url], scope: ScopeRule, fetcher: Fetcher, reader: Reader, robots: Robots
) -> list[SitemapFound]:
    found: list[SitemapFound] = []
    seen = set(queue)
    while queue and len(found) < _SITEMAPS:
        url = queue.popleft()
        if not (verdict := await robots.judge(url)).allowed:
            found.append(SitemapFound(url, problem=_why(verdict)))
            continue
        fetched = await fetcher.fetch(Request(url, whole_types=True))
        if isinstance(fetched, FetchFailure):
            found.append(SitemapFound(url, problem=f"{fetched.failure}: {fetched.detail}"))
        elif fetched.status != 200:
            found.append(SitemapFound(url, problem=f"answered {fetched.status}"))
        else:
            reading = await reader.read_sitemap(fetched)
            in_scope = sum(scope.refusal(entry.url) is None for entry in reading.entries)
            found.append(
                SitemapFound(url, reading.kind, len(reading.entries), in_scope, len(reading.children), reading.problem)
            )
            fresh = [child.url for child in reading.children if child.url not in seen]
            seen.update(fresh)
            queue.extend(fresh)
    return found


def _why(verdict: RobotsVerdict) -> str:
    if verdict.line:
        return f"robots.txt line {verdict.line}: {verdict.rule}"
    return {"unavailable": "no robots.txt", "unreachable": "robots.txt cannot be read", "ignored": "robots.txt is ignored"}.get(
        verdict.state, "no robots.txt rule matches"
    )


async def _nothing_kept(origin: str) -> RobotsFile | None:  # noqa: ARG001 a dry run neither reads nor leaves state
    return None


async def _keep_nothing(file: RobotsFile) -> None:
    del file
