"""The access of one run: which origin gets which headers, cookies and client certificate, and the way to it.

Secrets go to the origins they are for and to no other: those of the run's seeds, and those that the access names. A redirect
or a link to another origin does not take them along.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from sitelore.fetch.http.cookies import CookieJar, merge_cookies
from sitelore.fetch.http.proxies import ProxyPool
from sitelore.fetch.http.tls import TlsContexts
from sitelore.model.platform.access import NO_ACCESS, Access, SiteAccess
from sitelore.model.settings import CrawlSettings, Scope
from sitelore.model.url import Url


class RunAccess:
    """Looks up the access of a run by origin. Its proxies and TLS contexts are shared by the HTTP client and the browser."""

    def __init__(self, access: Access = NO_ACCESS, settings: CrawlSettings | None = None) -> None:
        self._sites = _by_origin(access, settings or CrawlSettings())
        self._cookies = {origin: jar for origin, site in self._sites.items() if (jar := _jar(origin, site))}
        self.insecure = access.insecure
        certificates = {origin: site.client_cert for origin, site in self._sites.items() if site.client_cert}
        self.tls = TlsContexts(access.ca_file, certificates, insecure=access.insecure)
        self.proxies = ProxyPool(access.proxies, self.tls) if access.proxies.http or access.proxies.https else None

    @property
    def origins_with_headers(self) -> tuple[str, ...]:
        """Origins that get extra headers or cookies."""
        return tuple(origin for origin, site in self._sites.items() if site.headers or origin in self._cookies)

    def apply(self, url: Url, headers: Mapping[str, str]) -> Mapping[str, str]:
        """The headers of a request, with those and the cookies of the URL's origin added. Cookies that the site set win."""
        origin = url.origin
        site = self._sites.get(origin)
        if site is None:
            return headers
        replaced = {name.lower() for name, _ in site.headers}
        merged = {name: value for name, value in headers.items() if name.lower() not in replaced} | dict(site.headers)
        cookie = self._cookies[origin].header(url) if origin in self._cookies else None
        if cookie:
            own = next((name for name in merged if name.lower() == "cookie"), "Cookie")
            merged[own] = merge_cookies(cookie, merged.get(own, ""))
        return merged

    async def close(self) -> None:
        """Close the connections to proxies."""
        if self.proxies is not None:
            await self.proxies.close()

    def local_storage(self) -> dict[str, list[tuple[str, str]]]:
        """Names and values of the browser's local storage by origin."""
        storage: dict[str, list[tuple[str, str]]] = {}
        for origin, site in self._sites.items():
            for of_origin, name, value in site.local_storage:
                if of_origin == origin:
                    storage.setdefault(origin, []).append((name, value))
        return storage


def seed_origins(settings: CrawlSettings) -> tuple[str, ...]:
    """The origins of the seeds, and of their twin with or without `www.` where both speak https and the scope takes both."""
    seeds = [url for text in (*settings.seeds, *settings.sitemaps) if (url := Url.parse(text)) is not None]
    origins = dict.fromkeys(url.origin for url in seeds)
    if settings.scope is not Scope.ORIGIN:
        origins |= dict.fromkeys(_www_twins(seeds))
    return tuple(origins)


def _www_twins(seeds: Iterable[Url]) -> list[str]:
    twins = []
    for url in seeds:
        if url.scheme == "https":
            authority = url.authority
            twin = authority.removeprefix("www.") if authority.startswith("www.") else f"www.{authority}"
            twins.append(f"https://{twin}")
    return twins


def _by_origin(access: Access, settings: CrawlSettings) -> dict[str, SiteAccess]:
    sites = dict(access.origins)
    if access.seeds != SiteAccess():
        for origin in seed_origins(settings):
            sites[origin] = sites.get(origin, SiteAccess()).with_other(access.seeds)
    return sites


def _jar(origin: str, site: SiteAccess) -> CookieJar | None:
    """The cookies of one origin; None when it has none."""
    url, jar = Url.parse(origin), CookieJar(time.time)
    if url is None:
        return None
    for cookie in site.cookies:
        if cookie.belongs_to(url.host, is_https=url.scheme == "https"):
            jar.add(url.host, cookie)
    return jar or None
