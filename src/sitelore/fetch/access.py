"""The access of one run: which origin gets which headers, cookies and client certificate, and the way to it.

Secrets go to the origins they are for and to no other: those of the run's seeds, and those that the access names. A redirect
or a link to another origin does not take them along. The cookies of a stored session follow what its site sets during the run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sitelore.fetch.http.cookies import CookieJar, merge_cookies
from sitelore.fetch.http.proxies import ProxyPool
from sitelore.fetch.http.tls import TlsContexts
from sitelore.model.access import NO_ACCESS, Access, Cookie, SiteAccess, SiteSession
from sitelore.model.settings import CrawlSettings, Scope
from sitelore.model.url import Url

_MAX_RENEWED_SECRETS = 64


class RunAccess:
    """Looks up the access of a run by origin. Its proxies and TLS contexts are shared by the HTTP client and the browser."""

    def __init__(
        self, access: Access = NO_ACCESS, settings: CrawlSettings | None = None, sessions: Sequence[SiteSession] = ()
    ) -> None:
        stored = Access(origins={session.origin: SiteAccess(session.headers) for session in sessions if session.headers})
        self._sites = _by_origin(stored.with_other(access), settings or CrawlSettings())
        self._sessions = [_LiveSession(session) for session in sessions]
        self._session_of = {origin: live for live in self._sessions for origin in live.session.origins}
        self._cookies = {origin: jar for origin, site in self._sites.items() if (jar := _jar(origin, site))}
        self.insecure = access.insecure
        certificates = {origin: site.client_cert for origin, site in self._sites.items() if site.client_cert}
        self.tls = TlsContexts(access.ca_file, certificates, insecure=access.insecure)
        self.proxies = ProxyPool(access.proxies, self.tls) if access.proxies.http or access.proxies.https else None

    @property
    def origins_with_headers(self) -> tuple[str, ...]:
        """Origins that get extra headers or cookies."""
        with_headers = (origin for origin, site in self._sites.items() if site.headers or origin in self._cookies)
        return tuple(dict.fromkeys((*with_headers, *self._session_of)))

    @property
    def logged_in_origins(self) -> tuple[str, ...]:
        """Origins that get cookies, of the user or of a stored session: links that log out must not be followed there."""
        return tuple(dict.fromkeys((*self._cookies, *self._session_of)))

    @property
    def session_origins(self) -> tuple[str, ...]:
        """Origins that get a stored session."""
        return tuple(self._session_of)

    def apply(self, url: Url, headers: Mapping[str, str]) -> Mapping[str, str]:
        """The headers of a request, with those and the cookies of the URL's origin added. Cookies that the site set win."""
        origin = url.origin
        site, live = self._sites.get(origin), self._session_of.get(origin)
        if site is None and live is None:
            return headers
        extra = site.headers if site is not None else ()
        replaced = {name.lower() for name, _ in extra}
        merged = {name: value for name, value in headers.items() if name.lower() not in replaced} | dict(extra)
        for jar in (self._cookies.get(origin), live.jar if live is not None else None):
            if jar is not None and (cookie := jar.header(url)):
                own = next((name for name in merged if name.lower() == "cookie"), "Cookie")
                merged[own] = merge_cookies(cookie, merged.get(own, ""))
        return merged

    def store(self, url: Url, set_cookies: Sequence[str]) -> None:
        """Keep the Set-Cookie values of a response in the session of its origin, if there is one."""
        if live := self._session_of.get(url.origin):
            live.jar.store(url, set_cookies)
            live.note_secrets()

    def store_from_browser(self, origin: str, cookies: Iterable[Cookie], storage: Iterable[tuple[str, str]] | None) -> None:
        """Keep the cookies that a site has set in the browser, and its local storage where that was read, in its session."""
        live, url = self._session_of.get(origin), Url.parse(origin)
        if live is None or url is None:
            return
        for cookie in cookies:
            live.jar.add(url.host, cookie)
        if storage is not None:
            others = tuple(item for item in live.storage if item[0] != origin)
            live.storage = (*others, *((origin, name, value) for name, value in storage))
        live.note_secrets()

    def renewed_secrets(self) -> tuple[str, ...]:
        """The values that sites have set in sessions during the run, the latest ones where there are many."""
        return tuple(secret for live in self._sessions for secret in live.renewed_secrets)

    def renewed_sessions(self) -> list[tuple[SiteSession, SiteSession]]:
        """The sessions that have changed: as they were, and as they are."""
        return [(live.session, current) for live in self._sessions if (current := live.current()) != live.session]

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
        for origin, live in self._session_of.items():
            own = [(name, value) for of_origin, name, value in live.storage if of_origin == origin]
            if own:
                storage[origin] = [*own, *storage.get(origin, [])]
        return storage


class _LiveSession:
    """A session with the cookies that its site has set since."""

    def __init__(self, session: SiteSession) -> None:
        self.session = session
        self.jar = CookieJar(time.time)
        self.storage = session.local_storage
        self.renewed_secrets: tuple[str, ...] = ()
        self._first_secrets = frozenset(session.secrets())
        url = Url.parse(session.origin)
        for cookie in session.cookies:
            self.jar.add(url.host if url is not None else "", cookie)

    def note_secrets(self) -> None:
        """Remember the values that are new."""
        new = [secret for secret in self.current().secrets() if secret not in self._first_secrets]
        if not set(new) <= set(self.renewed_secrets):
            self.renewed_secrets = tuple(dict.fromkeys((*self.renewed_secrets, *new)))[-_MAX_RENEWED_SECRETS:]

    def current(self) -> SiteSession:
        """The session as it is now."""
        return replace(self.session, cookies=self.jar.cookies(), local_storage=self.storage)


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
            jar.add(url.host, replace(cookie, domain=""))
    return jar or None
