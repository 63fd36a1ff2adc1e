"""Requests outside of a run: one page for `inspect`; the dry run (`crawl --dry-run`) with robots.txt and sitemaps.

Robots.txt, the address guard and the rate limit of a crawl apply. Nothing is stored.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import Any

import msgspec

from sitelore.app.scrape import fetch_page, robots_reason
from sitelore.cli.console import counted, data_console, print_json, run_async, visible
from sitelore.crawl.extraction_pool import ExtractionPool
from sitelore.fetch.access import RunAccess
from sitelore.fetch.polite_client import PoliteClient
from sitelore.frontier.gate import LocalGate
from sitelore.frontier.scope import ScopeRule
from sitelore.model.access import NO_ACCESS, Access
from sitelore.model.response import FetchFailure, Request, Response, RobotsFile
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.ports import Reader

_MAX_SITEMAPS = 50


async def fetch_without_storage(url: Url, access: Access = NO_ACCESS) -> Response:
    """Fetch a page and follow its redirects. Raises `FetchError`."""
    settings = CrawlSettings(seeds=(str(url),), open_origins=(url.origin,))
    client = _client_without_storage(settings, access)
    try:
        return await fetch_page(client, url, settings.max_redirects)
    finally:
        await client.close()


def _client_without_storage(settings: CrawlSettings, access: Access) -> PoliteClient:
    """A client that fetches robots.txt anew and stores nothing."""

    async def load(_origin: str) -> RobotsFile | None:
        return None

    async def save(_file: RobotsFile) -> None:
        return None

    return PoliteClient(settings, LocalGate(time.monotonic), time.time, load, save, access=RunAccess(access, settings))


@dataclass(frozen=True, slots=True)
class SeedPlan:
    """A seed, and what robots.txt says about it."""

    url: str
    allowed: bool
    why: str


@dataclass(frozen=True, slots=True)
class SitemapPlan:
    """A sitemap, with the number of its URLs and how many of them are in scope."""

    url: str
    kind: str = ""
    listed: int = 0
    in_scope: int = 0
    sitemaps: int = 0
    problem: str = ""


def show_plan(settings: CrawlSettings, access: Access, *, as_json: bool) -> int:
    """Print the seeds and sitemaps that a crawl with these settings would start from."""
    seeds, sitemaps = run_async(_plan(settings, access))
    values, defaults = msgspec.to_builtins(settings), msgspec.to_builtins(CrawlSettings())
    if as_json:
        plan: dict[str, Any] = {"settings": values, "seeds": seeds, "sitemaps": sitemaps}
        print_json(plan)
        return 0
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    console = data_console()
    for name, value in {"scope": values["scope"], **changed}.items():
        console.print(f"{name} = {msgspec.json.encode(value).decode()}", markup=False, soft_wrap=True)
    for seed in seeds:
        console.print(f"{'✓' if seed.allowed else '✗'} seed {seed.url}  ({visible(seed.why)})", markup=False, soft_wrap=True)
    for sitemap in sitemaps:
        mark, content = ("✗", sitemap.problem) if sitemap.problem else ("✓", _content(sitemap))
        console.print(f"{mark} sitemap {sitemap.url}  ({visible(content)})", markup=False, soft_wrap=True)
    if not settings.sitemap_only and any(seed.allowed for seed in seeds):
        console.print("A crawl would also follow the links of these pages; their number is not known before.")
    return 0


def _content(sitemap: SitemapPlan) -> str:
    urls, children = counted(sitemap.listed, "URL"), counted(sitemap.sitemaps, "sitemap")
    return f"{sitemap.kind}: {urls}, {sitemap.in_scope:,} in scope, {children}"


async def _plan(settings: CrawlSettings, access: Access) -> tuple[list[SeedPlan], list[SitemapPlan]]:
    client, reader = _client_without_storage(settings, access), ExtractionPool(1)
    try:
        seeds: list[SeedPlan] = []
        queue = deque(dict.fromkeys(map(Url.trusted, settings.sitemaps)))
        for seed in map(Url.trusted, settings.seeds):
            verdict = await client.robots.judge(seed)
            seeds.append(SeedPlan(seed, verdict.allowed, robots_reason(verdict, seed)))
            listed = (Url.parse(text, seed) for text in verdict.sitemaps) if settings.discover_sitemaps else ()
            queue.extend(url for url in listed if url is not None and url not in queue)
        return seeds, await _sitemaps(queue, ScopeRule(settings, ()), client, reader)
    finally:
        await reader.close()
        await client.close()


async def _sitemaps(queue: deque[Url], scope: ScopeRule, client: PoliteClient, reader: Reader) -> list[SitemapPlan]:
    plans: list[SitemapPlan] = []
    seen = set(queue)
    while queue and len(plans) < _MAX_SITEMAPS:
        url = queue.popleft()
        if not (verdict := await client.robots.judge(url)).allowed:
            plans.append(SitemapPlan(url, problem=robots_reason(verdict, url)))
            continue
        response = await client.fetcher.fetch(Request(url, any_content_type=True))
        if isinstance(response, FetchFailure):
            plans.append(SitemapPlan(url, problem=f"{response.failure}: {response.detail}"))
        elif response.status != 200:
            plans.append(SitemapPlan(url, problem=f"answered {response.status}"))
        else:
            sitemap = await reader.read_sitemap(response)
            in_scope = sum(scope.refusal(entry.url) is None for entry in sitemap.entries)
            plans.append(SitemapPlan(url, sitemap.kind, len(sitemap.entries), in_scope, len(sitemap.children), sitemap.problem))
            children = [child.url for child in sitemap.children if child.url not in seen]
            seen.update(children)
            queue.extend(children)
    return plans
