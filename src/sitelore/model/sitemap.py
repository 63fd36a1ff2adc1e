"""What reading a sitemap or feed gives."""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.model.url import Url


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One listed page. `lastmod` is a Unix time, None when absent or unreadable."""

    url: Url
    lastmod: float | None = None


@dataclass(frozen=True, slots=True)
class SitemapReading:
    """A sitemap, sitemap index, text list or feed, in document order, each URL once."""

    kind: str = ""
    """`urlset`, `index`, `text`, `rss`, `atom`; empty when it is none of them."""
    entries: tuple[SitemapEntry, ...] = ()
    children: tuple[SitemapEntry, ...] = ()
    """Sitemaps that an index lists."""
    problem: str = ""
    """`xml_rejected: …`, `too_large: …`, `not_a_sitemap: …`; what was read before the problem is still in `entries`."""
