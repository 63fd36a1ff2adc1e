"""Cookies within one run (RFC 6265). Until a site sets the first one, nothing is done and nothing is paid for.

Kept are name, value and the rules on where they may go; a cookie never leaves for a host that could not have set it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

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
    """The cookies of one run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._jar: dict[str, dict[tuple[str, str], _Cookie]] = {}
        """Domain → (name, path) → cookie."""

    def __bool__(self) -> bool:
        """Whether there is any cookie at all."""
        return bool(self._jar)

    def store(self, url: Url, headers: Sequence[str]) -> None:
        """Take the Set-Cookie values of a response from this URL; what breaks the rules is dropped."""
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
        found = [
            cookie
            for domain in _domains(host)
            for cookie in self._jar.get(domain, {}).values()
            if (domain == host or not cookie.host_only)
            and _path_matches(path, cookie.path)
            and (not cookie.secure or url.scheme == "https")
            and (cookie.expires is None or cookie.expires > now)
        ]
        if not found:
            return None
        found.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join(f"{cookie.name}={cookie.value}" if cookie.name else cookie.value for cookie in found)


def _parse(url: Url, header: str, now: float) -> _Cookie | None:
    """RFC 6265 §5.2 and §5.3."""
    if len(header) > _MAX_COOKIE or _CONTROL.search(header):
        return None
    pair, *attributes = header.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals:
        name, value = "", name
    given: dict[str, str] = {}
    for attribute in attributes:
        key, _, text = attribute.partition("=")
        given[key.strip().lower()] = text.strip()
    domain = _domain(url.host, given.get("domain", "").lower().lstrip("."))
    if domain is None or not (name or value) or not _keeps_its_word(url, name, given):
        return None
    path = given.get("path", "")
    if not path.startswith("/"):
        path = url.path[: url.path.rfind("/")] or "/"
    return _Cookie(name, value, *domain, path, "secure" in given, _expiry(given, now))


def _domain(host: str, wanted: str) -> tuple[str, bool] | None:
    """The domain a cookie is kept under and whether it is for that host alone; None when it reaches too far."""
    if not wanted:
        return host, True
    if wanted == host:
        return host, bool(_IS_ADDRESS.fullmatch(host)) or _is_public_suffix(host)
    return (wanted, False) if wanted in _domains(host) and not _is_public_suffix(wanted) else None


def _keeps_its_word(url: Url, name: str, given: dict[str, str]) -> bool:
    """What `Secure` and the prefixes of RFC 6265bis §4.1.3 promise."""
    if name.startswith("__Host-") and ("domain" in given or given.get("path") != "/"):
        return False
    if name.startswith(("__Host-", "__Secure-")) and "secure" not in given:
        return False
    return "secure" not in given or url.scheme == "https"


def _expiry(given: dict[str, str], now: float) -> float | None:
    max_age = given.get("max-age", "")
    if re.fullmatch(r"-?\d{1,18}", max_age):
        return now + int(max_age) if int(max_age) > 0 else 0.0
    if not given.get("expires"):
        return None
    from email.utils import mktime_tz, parsedate_tz  # noqa: PLC0415 loads half of `email`; many runs meet no such cookie

    moment = parsedate_tz(given["expires"])
    try:
        return float(mktime_tz(moment)) if moment else None
    except (ValueError, OverflowError):
        return None


def _domains(host: str) -> list[str]:
    """The host itself and the domains above it; an address has none above."""
    if _IS_ADDRESS.fullmatch(host):
        return [host]
    labels = host.split(".")
    return [".".join(labels[at:]) for at in range(len(labels))]


def _path_matches(path: str, prefix: str) -> bool:
    return path == prefix or (path.startswith(prefix) and (prefix.endswith("/") or path[len(prefix)] == "/"))


@cache
def _suffixes() -> Callable[[str], bool]:
    # The list takes a tenth of a second to load; most runs meet no cookie with a Domain.
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415

    is_public: Callable[[str], bool] = PublicSuffixList().is_public
    return is_public


def _is_public_suffix(domain: str) -> bool:
    return _suffixes()(domain)
