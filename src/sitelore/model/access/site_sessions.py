"""Stored access to sites: what `sitelore login` or the API has obtained, and how a crawl sees that a session has ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from sitelore.model.access.access import Access, Cookie, SiteAccess
from sitelore.model.url import Url


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
