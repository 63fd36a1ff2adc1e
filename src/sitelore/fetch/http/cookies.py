"""Cookie jar of one run (RFC 6265). A cookie is never sent to a host that could not have set it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from sitelore.model.access import Cookie
from sitelore.model.url import Url

_MAX_COOKIE = 4096
_MAX_PER_DOMAIN = 50
_MAX_DOMAINS = 1000
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_IS_ADDRESS = re.compile(r"\[.*\]|\d+\.\d+\.\d+\.\d+")


@dataclass(frozen=True, slots=True)
class _Cookie:
    name: str
    value: str
    domain: str
    host_only: bool
    path: str
    secure: bool
    expires: float | None


class CookieJar:
    """Stores the cookies of one run and builds Cookie headers."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._jar: dict[str, dict[tuple[str, str], _Cookie]] = {}
        """Domain → (name, path) → cookie."""

    def __bool__(self) -> bool:
        """Whether the jar holds any cookie."""
        return bool(self._jar)

    def add(self, host: str, cookie: Cookie) -> None:
        """Add a cookie of the user. Without a domain of its own it is for this host alone."""
        domain = cookie.domain.lower().lstrip(".") or host
        host_only = not cookie.domain.startswith(".")
        own = _Cookie(cookie.name, cookie.value, domain, host_only, cookie.path, cookie.secure, cookie.expires)
        self._jar.setdefault(domain, {})[own.name, own.path] = own

    def cookies(self) -> tuple[Cookie, ...]:
        """All cookies that have not expired, in the order in which they were set."""
        now = self._clock()
        return tuple(
            Cookie(
                cookie.name,
                cookie.value,
                cookie.domain if cookie.host_only else f".{cookie.domain}",
                cookie.path,
                cookie.secure,
                cookie.expires,
            )
            for cookies in self._jar.values()
            for cookie in cookies.values()
            if cookie.expires is None or cookie.expires > now
        )

    def store(self, url: Url, headers: Sequence[str]) -> None:
        """Store the Set-Cookie values of a response from this URL; invalid ones are dropped."""
        for header in headers:
            cookie = _parse(url, header, self._clock())
            if cookie is None:
                continue
            key = (cookie.name, cookie.path)
            cookies = self._jar.setdefault(cookie.domain, {})
            cookies.pop(key, None)
            if cookie.expires is None or cookie.expires > self._clock():
                cookies[key] = cookie
                if len(cookies) > _MAX_PER_DOMAIN:
                    del cookies[next(iter(cookies))]
            if not cookies:
                del self._jar[cookie.domain]
            elif len(self._jar) > _MAX_DOMAINS:
                del self._jar[next(iter(self._jar))]

    def header(self, url: Url) -> str | None:
        """The Cookie header for a request to this URL, longest paths first (RFC 6265 §5.4)."""
        host, path, now = url.host, url.path, self._clock()
        matching = [
            cookie
            for domain in _parent_domains(host)
            for cookie in self._jar.get(domain, {}).values()
            if (domain == host or not cookie.host_only)
            and _path_matches(path, cookie.path)
            and (not cookie.secure or url.scheme == "https")
            and (cookie.expires is None or cookie.expires > now)
        ]
        if not matching:
            return None
        matching.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" if cookie.name else cookie.value for cookie in matching)


def merge_cookies(first: str, second: str) -> str:
    """A Cookie header of two; where both have a cookie of a name, the second one's is sent."""
    names = {pair.partition("=")[0].strip() for pair in second.split(";")}
    kept = [pair.strip() for pair in first.split(";") if pair.partition("=")[0].strip() not in names]
    return "; ".join(pair for pair in (*kept, second) if pair)


def _parse(url: Url, header: str, now: float) -> _Cookie | None:
    """Parse a Set-Cookie value (RFC 6265 §5.2 and §5.3); None when the cookie is refused."""
    if len(header) > _MAX_COOKIE or _CONTROL.search(header):
        return None
    pair, *parts = header.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals:
        name, value = "", name
    attributes: dict[str, str] = {}
    for part in parts:
        key, _, text = part.partition("=")
        attributes[key.strip().lower()] = text.strip()
    domain = _cookie_domain(url.host, attributes.get("domain", "").lower().lstrip("."))
    if domain is None or not (name or value) or not _meets_requirements(url, name, attributes):
        return None
    path = attributes.get("path", "")
    if not path.startswith("/"):
        path = url.path[: url.path.rfind("/")] or "/"
    return _Cookie(name, value, *domain, path, "secure" in attributes, _expiry(attributes, now))


def _cookie_domain(host: str, requested: str) -> tuple[str, bool] | None:
    """The cookie's domain and whether it is host-only; None when the host may not set cookies for the requested domain."""
    if not requested:
        return host, True
    if requested == host:
        return host, bool(_IS_ADDRESS.fullmatch(host)) or _is_public_suffix(host)
    return (requested, False) if requested in _parent_domains(host) and not _is_public_suffix(requested) else None


def _meets_requirements(url: Url, name: str, attributes: dict[str, str]) -> bool:
    """Check `Secure` and the `__Host-` and `__Secure-` prefixes (RFC 6265bis §4.1.3)."""
    if name.startswith("__Host-") and ("domain" in attributes or attributes.get("path") != "/"):
        return False
    if name.startswith(("__Host-", "__Secure-")) and "secure" not in attributes:
        return False
    return "secure" not in attributes or url.scheme == "https"


def _expiry(attributes: dict[str, str], now: float) -> float | None:
    max_age = attributes.get("max-age", "")
    if re.fullmatch(r"-?\d{1,18}", max_age):
        return now + int(max_age) if int(max_age) > 0 else 0.0
    if not attributes.get("expires"):
        return None
    from email.utils import mktime_tz, parsedate_tz  # noqa: PLC0415 loads half of `email`; few cookies have an Expires

    moment = parsedate_tz(attributes["expires"])
    try:
        return float(mktime_tz(moment)) if moment else None
    except (ValueError, OverflowError):
        return None


def _parent_domains(host: str) -> list[str]:
    """The host and its parent domains; an IP address has none."""
    if _IS_ADDRESS.fullmatch(host):
        return [host]
    labels = host.split(".")
    return [".".join(labels[at:]) for at in range(len(labels))]


def _path_matches(path: str, prefix: str) -> bool:
    return path == prefix or (path.startswith(prefix) and (prefix.endswith("/") or path[len(prefix)] == "/"))


@cache
def _suffixes() -> Callable[[str], bool]:
    # The list takes 0.1 s to load, and most runs see no cookie with a Domain.
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415

    is_public: Callable[[str], bool] = PublicSuffixList().is_public
    return is_public


def _is_public_suffix(domain: str) -> bool:
    return _suffixes()(domain)
