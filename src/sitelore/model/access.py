"""How a crawl gets into a site: headers, cookies and credentials by origin, proxies, and TLS options; and sessions of logins.

These values are secrets. They are held by the process: they are not part of `CrawlSettings`, have no `repr`, and
`Access.secrets` lists those that redaction masks where a page repeats them. Only sessions of logins are stored, encrypted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sitelore.model.url import Url

_MIN_SECRET_CHARS = 8
_SECRET_HEADERS = frozenset({"authorization", "cookie"})


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie to send. An empty domain is the host of the origin; a leading dot includes subdomains."""

    name: str
    value: str = field(repr=False)
    domain: str = ""
    path: str = "/"
    secure: bool = False
    expires: float | None = None
    http_only: bool = False
    same_site: str = "Lax"

    def belongs_to(self, host: str, *, is_https: bool) -> bool:
        """Whether this cookie may be sent to a host."""
        if self.secure and not is_https:
            return False
        domain = self.domain.lower()
        return host == domain.lstrip(".") or not domain or (domain.startswith(".") and host.endswith(domain))


@dataclass(frozen=True, slots=True)
class ClientCert:
    """Files of a client certificate and its key, in PEM format; an empty `key_file`: the key is in the same file."""

    cert_file: str
    key_file: str = ""


@dataclass(frozen=True, slots=True)
class SiteAccess:
    """Everything that is sent to one origin besides an ordinary request."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Extra headers; basic auth and bearer tokens are `Authorization`."""
    cookies: tuple[Cookie, ...] = ()
    local_storage: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)
    """(origin, name, value) for the browser."""
    client_cert: ClientCert | None = None

    def with_other(self, other: SiteAccess) -> SiteAccess:
        """This access with another one added, which wins where both name a header."""
        names = {name.lower() for name, _ in other.headers}
        return SiteAccess(
            (*(header for header in self.headers if header[0].lower() not in names), *other.headers),
            (*self.cookies, *other.cookies),
            (*self.local_storage, *other.local_storage),
            other.client_cert or self.client_cert,
        )

    def secrets(self) -> Iterator[str]:
        """Values that must not be stored where a page repeats them."""
        for name, value in self.headers:
            if name.lower() in _SECRET_HEADERS:
                yield value.partition(" ")[2] or value
            elif any(char.isdecimal() for char in value):
                yield value
        values = (*(cookie.value for cookie in self.cookies), *(value for _, _, value in self.local_storage))
        yield from (value for value in values if any(char.isdecimal() for char in value))


@dataclass(frozen=True, slots=True)
class Proxies:
    """Upstream proxies by the scheme of the URL to fetch. Proxy URLs contain credentials."""

    http: tuple[str, ...] = field(default=(), repr=False)
    https: tuple[str, ...] = field(default=(), repr=False)
    bypass: tuple[str, ...] = ()
    """Hosts that are fetched without a proxy: names with their subdomains, `HOST:PORT`, addresses, networks, `*`."""
    bypass_loopback: bool = False
    """Whether loopback addresses are fetched without a proxy, as for proxies of the environment."""


@dataclass(frozen=True, slots=True)
class Access:
    """The access of a process to sites."""

    seeds: SiteAccess = SiteAccess()
    """For the origins of a run's seeds."""
    origins: Mapping[str, SiteAccess] = field(default_factory=dict)
    """For these origins, in every run that fetches them."""
    passwords: tuple[str, ...] = field(default=(), repr=False)
    """Passwords in plain text: headers hold them encoded."""
    proxies: Proxies = Proxies()
    ca_file: str = ""
    """Certificates (PEM) to trust besides those of the system."""
    insecure: bool = False
    """Whether certificates are not verified."""

    def with_other(self, other: Access) -> Access:
        """This access with another one added, which wins where both set the same thing."""
        origins = dict(self.origins)
        for origin, site in other.origins.items():
            origins[origin] = origins.get(origin, SiteAccess()).with_other(site)
        proxies = other.proxies if other.proxies.http or other.proxies.https else self.proxies
        return Access(
            self.seeds.with_other(other.seeds),
            origins,
            (*self.passwords, *other.passwords),
            replace(proxies, bypass=tuple(dict.fromkeys((*self.proxies.bypass, *other.proxies.bypass)))),
            other.ca_file or self.ca_file,
            self.insecure or other.insecure,
        )

    def secrets(self) -> tuple[str, ...]:
        """The values to mask wherever a page repeats them. Short ones are left out: they would hit ordinary words."""
        sites = (self.seeds, *self.origins.values())
        values = {*self.passwords, *(value for site in sites for value in site.secrets())}
        return tuple(sorted(value for value in values if len(value) >= _MIN_SECRET_CHARS))


NO_ACCESS = Access()
"""Ordinary requests, without a proxy."""


@dataclass(frozen=True, slots=True)
class SiteSession:
    """What a site gets, of a login or of the API. Its values are secrets: it is stored encrypted and has no `repr` of them."""

    origin: str
    """The origin of the URL that the user named."""
    cookies: tuple[Cookie, ...] = ()
    local_storage: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)
    """(origin, name, value)."""
    login_pages: tuple[str, ...] = ()
    """The login form, and the redirects that lead to it: URLs without query."""
    check_url: str = field(default="", repr=False)
    """The page that was shown after the login. Without the session it leads to the login form. Empty: there was no login."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Extra headers; basic auth and bearer tokens are `Authorization`."""
    passwords: tuple[str, ...] = field(default=(), repr=False)
    """Passwords in plain text: headers hold them encoded."""

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins that get the session: the one that the user named, and the one that was shown after the login."""
        shown = Url.parse(self.check_url)
        return tuple(dict.fromkeys((self.origin, *((shown.origin,) if shown is not None else ()))))

    def secrets(self) -> tuple[str, ...]:
        """The values to mask wherever a page repeats them."""
        site = SiteAccess(self.headers, self.cookies, self.local_storage)
        return Access(seeds=site, passwords=self.passwords).secrets()


@dataclass(frozen=True, slots=True)
class StoredSession:
    """The row of a session: when it was made and last changed, and its content, encrypted."""

    origin: str
    sealed: str = field(repr=False)
    created_at: float
    """When the user logged in."""
    renewed_at: float
    """When a crawl last stored cookies that the site has renewed."""


def page_of(url: Url) -> str:
    """A URL without its query."""
    return f"{url.origin}{url.path}"
