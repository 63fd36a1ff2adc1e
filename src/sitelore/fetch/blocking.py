"""What a browser need not load to show what a page says: URL patterns, and kinds of resources."""

from __future__ import annotations

from collections.abc import Iterable

BLOCKED_KINDS = ("Image", "Media", "Font")
"""Kinds that are blocked whatever their URL looks like (names of the DevTools protocol)."""

_EXTENSIONS = (
    "png", "jpg", "jpeg", "gif", "webp", "avif", "ico", "bmp", "svg",
    "woff", "woff2", "ttf", "otf", "eot",
    "mp4", "webm", "m4v", "mov", "ogv", "mp3", "m4a", "ogg", "wav", "flac", "m3u8", "mpd",
)  # fmt: skip
_LOOKS = frozenset({"png", "jpg", "jpeg", "gif", "webp", "avif", "ico", "bmp", "svg", "woff", "woff2", "ttf", "otf", "eot"})
"""What a screenshot shows."""

_TRACKERS = (
    "google-analytics.com", "googletagmanager.com", "googletagservices.com", "googlesyndication.com", "googleadservices.com",
    "doubleclick.net", "adservice.google.com", "adnxs.com", "adsrvr.org", "amazon-adsystem.com", "criteo.com", "criteo.net",
    "taboola.com", "outbrain.com", "rubiconproject.com", "pubmatic.com", "openx.net", "casalemedia.com", "moatads.com",
    "scorecardresearch.com", "quantserve.com", "quantcount.com", "chartbeat.com", "chartbeat.net", "hotjar.com", "hotjar.io",
    "fullstory.com", "mouseflow.com", "clarity.ms", "bat.bing.com", "connect.facebook.net", "analytics.tiktok.com",
    "ads-twitter.com", "analytics.twitter.com", "snap.licdn.com", "px.ads.linkedin.com", "ct.pinterest.com", "sc-static.net",
    "segment.com", "segment.io", "mixpanel.com", "amplitude.com", "heapanalytics.com", "matomo.cloud", "plausible.io",
    "newrelic.com", "nr-data.net", "sentry.io", "bugsnag.com", "datadoghq-browser-agent.com", "browser-intake-datadoghq.com",
    "optimizely.com", "cdn.cookielaw.org", "intercom.io", "intercomcdn.com", "widget.intercom.io", "drift.com", "tawk.to",
    "js.hs-analytics.net", "js.hs-banner.com", "mc.yandex.ru", "yandex.ru/metrika", "hm.baidu.com", "statcounter.com",
)  # fmt: skip


def blocked_patterns(added: Iterable[str] = (), *, with_looks: bool = False) -> list[str]:
    """Patterns for `Network.setBlockedURLs`: `*` is anything. With looks, images and fonts are loaded, for a screenshot."""
    extensions = [ending for ending in _EXTENSIONS if not (with_looks and ending in _LOOKS)]
    patterns = [pattern for ending in extensions for pattern in (f"*.{ending}", f"*.{ending}?*")]
    patterns += [pattern for name in _TRACKERS for pattern in _anywhere_under(name)]
    return patterns + [pattern.strip() for pattern in added if pattern.strip()]


def blocked_kinds(*, with_looks: bool = False) -> tuple[str, ...]:
    """Kinds that are blocked; with looks, media alone."""
    return ("Media",) if with_looks else BLOCKED_KINDS


def _anywhere_under(name: str) -> tuple[str, ...]:
    """A host, or a host and a path, and the hosts below it, on any scheme."""
    end = "*" if "/" in name else "/*"
    return f"*://{name}{end}", f"*://*.{name}{end}"
