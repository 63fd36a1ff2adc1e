"""Decides whether a known page is fetched, requested conditionally, or kept without a request."""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.frontier.render_policy import needs_full_response
from sitelore.model.frontier import KnownPage, Lease, RowKind
from sitelore.model.response import Request
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import SkipReason


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Why a known page needs no request."""

    reason: SkipReason
    detail: str


def unchanged(lease: Lease, settings: CrawlSettings, now: float) -> Unchanged | None:
    """Whether the stored page is kept without a request: it is within its TTL, or its sitemap `lastmod` is not newer."""
    known = lease.known_media if lease.kind is RowKind.MEDIA else lease.known
    if known is None or settings.force:
        return None
    if settings.ttl_s is not None and now - known.fetched_at < settings.ttl_s:
        return Unchanged(
            SkipReason.TTL, f"fetched {_ago(now - known.fetched_at)} ago, within the TTL of {_ago(settings.ttl_s)}"
        )
    if lease.lastmod is not None:
        lastmod = known.lastmod if isinstance(known, KnownPage) else None
        since = lastmod if lastmod is not None else known.fetched_at
        if lease.lastmod <= since:
            return Unchanged(SkipReason.LASTMOD, "the sitemap's lastmod has not moved since the page was fetched")
    return None


def request_for(lease: Lease, settings: CrawlSettings) -> Request:
    """The GET request of a lease; conditional when an earlier visit stored an ETag or Last-Modified."""
    if lease.kind is RowKind.MEDIA:
        known = None if settings.force else lease.known_media
        return Request(lease.url) if known is None else Request(lease.url, known.etag, known.last_modified)
    if lease.known is None or settings.force or needs_full_response(lease.known.render_reason):
        return Request(lease.url)
    return Request(lease.url, etag=lease.known.etag, last_modified=lease.known.last_modified)


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
