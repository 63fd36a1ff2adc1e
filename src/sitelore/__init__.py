"""Sitelore turns websites into clean, current, searchable knowledge.

The public Python API is `crawl`, `crawl_sync`, `extract`, `search`, and the classes `Crawler`, `Page` and `SearchHit`
(docs/reference/python.md). Everything else is internal.

Packages, in the order a URL passes through them:

    intake/      URL sources: seeds, sitemaps, feeds, API loaders
    frontier/    pure decisions: scope, offers, admission (page limit, waves, traps), politeness, retry, prefetching
    fetch/       HTTP client, browser, robots.txt, address guard
    extract/     response → document: decode, redact, links, main content, Markdown, metadata, files (pure)
    index/       chunking, lexical and vector search, snippets
    export/      Markdown, JSON Lines, CSV, WARC, llms.txt
    audit/       rules about pages and sites, findings over runs, figures about a site
    media/       images, videos and documents of pages: choice, compression, facts of files
    crawl/       visit, worker, maintenance, runs, search service
    platform/    many tenants: tokens, channels, schedules, webhooks, sign-up
    model/       domain types and state machines
    ports.py     all interfaces
    api.py       the implementation of the Python API
    store/       SQLite and Postgres repositories, Redis, blobs, migrations
    app/         composition: settings, embedded and scaled wiring, the application object
    serve/       REST API, events, metrics, MCP
    cli/         the command line

Start reading at `crawl/visit.py`, which describes one visit from claim to settlement.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # type checkers take this for true; importing `typing` would cost more than this module
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path
    from typing import Any

    from sitelore.api import Crawler, Page, SearchHit
    from sitelore.model.errors import SiteloreError

__all__ = ["Crawler", "Page", "SearchHit", "SiteloreError", "crawl", "crawl_sync", "extract", "search"]


def crawl(url: str, **settings: Any) -> AsyncGenerator[Page, None]:
    """Crawl a site and yield each page once it is stored; for use with `async for`.

    Settings are the names in docs/reference/settings.md, and `render` ("auto", "never" or "always"). `data` names a directory
    that keeps the crawl for `search`, re-crawls and the command line; without it, a temporary one is used and removed. The
    arguments of `Crawler` are accepted too. Leaving the loop early stops the crawl; `contextlib.aclosing` waits until it has
    stopped.

    Raises TypeError for an unknown setting, ValueError for a wrong value, `SiteloreError` for everything else, for example if
    no page could be fetched.
    """
    from sitelore.api import Crawler

    return Crawler(url, **settings).pages()


def crawl_sync(url: str, **settings: Any) -> list[Page]:
    """Crawl a site to the end and return its pages. Works in notebooks, where an event loop is already running."""
    from sitelore import api

    return api.crawl_sync(url, settings)


def extract(html: str | bytes, url: str = "http://unknown.invalid/") -> Page:
    """Extract title, Markdown, text, links and metadata from HTML, without network or state. `url` resolves relative links."""
    from sitelore import api

    return api.extract(html, url)


def search(query: str, data: str | Path = "sitelore-data", limit: int = 10) -> list[SearchHit]:
    """Search the pages in a data directory, best first. The index is updated first, unless a crawl is running there."""
    from sitelore import api

    return api.search(query, data, limit)


def __getattr__(name: str) -> object:
    """Import the public classes on first use, so that `import sitelore` and `sitelore --help` stay fast."""
    if name in {"Crawler", "Page", "SearchHit"}:
        from sitelore import api

        return getattr(api, name)
    if name == "SiteloreError":
        from sitelore.model.errors import SiteloreError

        return SiteloreError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Package(type(sys)):  # type: ignore[misc]  # the type of modules
    """Keeps the functions `crawl` and `extract`: importing the subpackages of these names would replace them here."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in {"crawl", "extract"} and isinstance(value, type(sys))):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
