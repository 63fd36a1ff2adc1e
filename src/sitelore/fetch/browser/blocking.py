"""Requests that a browser need not make to show the text of a page: by URL pattern and by resource type."""

from __future__ import annotations

from collections.abc import Iterable

_BLOCKED_TYPES = ("Image", "Media", "Font")
"""Resource types (of the DevTools protocol) that are blocked whatever their URL."""

_EXTENSIONS = (
    "png", "jpg", "jpeg", "gif", "webp", "avif", "ico", "bmp", "svg",
    "woff", "woff2", "ttf", "otf", "eot",
    "mp4", "webm", "m4v", "mov", "ogv", "mp3", "m4a", "ogg", "wav", "flac", "m3u8", "mpd",
)  # fmt: skip
_VISUAL_EXTENSIONS = frozenset(
    {"png", "jpg", "jpeg", "gif", "webp", "avif", "ico", "bmp", "svg", "woff", "woff2", "ttf", "otf", "eot"}
)
"""Needed for a screenshot."""

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


def blocked_patterns(added: Iterable[str] = (), *, allow_visuals: bool = False) -> list[str]:
    """Patterns for `Network.setBlockedURLs` (`*` is a wildcard). `allow_visuals`: load images and fonts, for a screenshot."""
    extensions = [extension for extension in _EXTENSIONS if not (allow_visuals and extension in _VISUAL_EXTENSIONS)]
    patterns = [pattern for extension in extensions for pattern in (f"*.{extension}", f"*.{extension}?*")]
    patterns += [pattern for tracker in _TRACKERS for pattern in _host_patterns(tracker)]
    return patterns + [pattern.strip() for pattern in added if pattern.strip()]


def blocked_types(*, allow_visuals: bool = False) -> tuple[str, ...]:
    """Resource types to block."""
    return ("Media",) if allow_visuals else _BLOCKED_TYPES


def _host_patterns(host: str) -> tuple[str, ...]:
    """Patterns for a host, or a host and a path, and for its subdomains, on any scheme."""
    end = "*" if "/" in host else "/*"
    return f"*://{host}{end}", f"*://*.{host}{end}"
