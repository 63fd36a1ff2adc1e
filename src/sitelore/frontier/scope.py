"""The scope of a crawl: which hosts and paths around the seeds belong to it, and its include and exclude patterns.

A pattern is matched against path and query, or against the whole URL when it contains `://`. `*` matches any run of
characters, slashes included; everything else, `?` too, matches itself. A pattern without `*` is a prefix. One that starts
with neither `/` nor `*` is taken as if it started with `/`. Exclusion wins over inclusion.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from sitelore.model.api_loader import is_loaded
from sitelore.model.settings import CrawlSettings, Scope
from sitelore.model.states import SkipReason
from sitelore.model.url import Url

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

Refusal = tuple[SkipReason, str]

_ADDRESS = re.compile(r"\[.*\]|[0-9.]+")
_FILE_NAME = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}$")
_ORIGIN = re.compile(r"https?://[^/?*]+(?=[/?]|$)", re.IGNORECASE)
_MAX_CACHED_ORIGINS = 10_000


class ScopeRule:
    """Which URLs belong to a crawl. `joined_hosts` are authorities that a redirecting seed led to; they count like seeds.

    - host: a seed's host with or without `www.`, on http and https; an explicit port must be the seed's.
    - origin: scheme, host and port exactly; a joined authority with either scheme.
    - domain: all hosts under a seed's registrable domain, on any port; addresses and single names exactly.
    - prefix: as host, and the path in or below a seed's directory, on joined hosts too.

    A crawl of sitemaps alone takes the sitemaps for its seeds.
    """

    def __init__(self, settings: CrawlSettings, joined_hosts: tuple[str, ...] = ()) -> None:
        self._scope = settings.scope
        seeds = [url for raw in settings.seeds or settings.sitemaps if (url := Url.parse(raw))]
        self._origins = {url.origin for url in seeds} | {f"{s}://{host}" for host in joined_hosts for s in ("http", "https")}
        authorities = [*(url.authority for url in seeds), *joined_hosts]
        self._hosts = {authority.removeprefix("www.") for authority in authorities}
        self._domains = {_domain(authority) for authority in authorities} if self._scope is Scope.DOMAIN else set()
        self._where = ", ".join(dict.fromkeys(authorities)) or "no seed"
        self._directories = tuple(dict.fromkeys(_directory(url.path) for url in seeds))
        self._overrides = settings.overrides
        self._has_loaders = any(override.loaders for override in settings.overrides)
        self._origin_refusals: dict[str, Refusal | None] = {}
        self._include = tuple(Pattern(text) for text in settings.include if text.strip())
        self._exclude = tuple(Pattern(text) for text in settings.exclude if text.strip())

    def refusal(self, url: Url) -> Refusal | None:
        """The reason why a URL does not belong to the crawl; None when it does."""
        if self._has_loaders and is_loaded(url, self._overrides):
            return None  # declared in the settings
        origin = url.origin
        try:
            refused = self._origin_refusals[origin]
        except KeyError:
            refused = self._judge_origin(url, origin)
        if refused is not None:
            return refused
        if self._scope is Scope.PREFIX:
            path = url.path
            if not f"{path}/".startswith(self._directories):
                return SkipReason.SCOPE, f"{path} is not below {' or '.join(self._directories) or 'a seed'}"
        return self._pattern_refusal(url) if self._include or self._exclude else None

    def exclusion(self, url: Url) -> Refusal | None:
        """The refusal by an exclude pattern; None when there is none that matches."""
        target = url.target
        for pattern in self._exclude:
            if pattern.matches(url, target):
                return SkipReason.EXCLUDED, f"matches the exclude pattern {pattern.text}"
        return None

    def _judge_origin(self, url: Url, origin: str) -> Refusal | None:
        """The part of the decision that is equal for all URLs of an origin; cached."""
        authority = url.authority
        if self._scope is Scope.ORIGIN:
            inside = origin in self._origins
        elif self._scope is Scope.DOMAIN:
            inside = _domain(authority) in self._domains
        else:
            inside = authority.removeprefix("www.") in self._hosts
        where = origin if self._scope is Scope.ORIGIN else authority
        refused = None if inside else (SkipReason.SCOPE, f"{where} is outside the {self._scope} scope of {self._where}")
        if len(self._origin_refusals) >= _MAX_CACHED_ORIGINS:
            self._origin_refusals.clear()
        self._origin_refusals[origin] = refused
        return refused

    def _pattern_refusal(self, url: Url) -> Refusal | None:
        if (refused := self.exclusion(url)) is not None:
            return refused
        if self._include and not any(pattern.matches(url, url.target) for pattern in self._include):
            return SkipReason.EXCLUDED, f"matches no include pattern ({', '.join(p.text for p in self._include)})"
        return None


class Pattern:
    """One include or exclude pattern. Matching takes time linear in the URL's length for every pattern."""

    __slots__ = ("_end", "_is_prefix", "_matches_url", "_middle", "_start", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        plain = text.strip()
        self._matches_url = "://" in plain
        if self._matches_url:
            plain = _ORIGIN.sub(_plain_origin, plain, count=1)
        elif not plain.startswith(("/", "*")):
            plain = f"/{plain}"
        # A Url has non-ASCII characters escaped, so the pattern does too; ASCII stays as written.
        plain = quote(plain, safe="".join(map(chr, range(33, 127))))
        first, *others = plain.split("*")
        self._start = first
        self._is_prefix = not others
        self._end = others.pop() if others else ""
        self._middle = tuple(part for part in others if part)

    def matches(self, url: Url, target: str) -> bool:
        """Whether the pattern matches a URL; `target` is its path and query."""
        text: str = url if self._matches_url else target
        if not text.startswith(self._start):
            return False
        if self._is_prefix:
            return True
        at = len(self._start)
        for part in self._middle:
            at = text.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return len(text) - len(self._end) >= at and text.endswith(self._end)


def _plain_origin(match: re.Match[str]) -> str:
    url = Url.parse(match[0])
    return match[0] if url is None else url.origin


def _directory(path: str) -> str:
    """`/docs/` for `/docs`, `/docs/` and `/docs/index.html`."""
    start, _, last = path.rpartition("/")
    return f"{start}/" if not last or _FILE_NAME.search(last) else f"{path}/"


def _domain(authority: str) -> str:
    """The registrable domain; the authority itself where there is none (an IP address, a single label, a public suffix)."""
    host = authority if authority.endswith("]") else re.sub(r":\d+$", "", authority)
    if "." not in host or _ADDRESS.fullmatch(host):
        return authority
    return _suffixes().privatesuffix(host) or authority


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415 0.3 s to load, and only scope `domain` needs it

    return PublicSuffixList()
