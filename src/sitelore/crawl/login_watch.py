"""Notices that a crawl has been logged out of its site, so that no page of a logged-out visitor is stored.

A site shows it by signs that the user has declared, or by what a stored session knows: a page redirects to the login form, a
page has a password field, or the answer is 401. Such a page may be closed to this user alone. So the page that was shown after
the login is fetched again: when it is closed as well, the session has ended. The first visit of a run checks it in any case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from sitelore.crawl.context import VisitContext
from sitelore.crawl.page_fetch import PageFetch, render_as_fetch
from sitelore.frontier.render_policy import SHELL_WEIGHT
from sitelore.frontier.scope import Pattern
from sitelore.model.access import SiteSession, page_of
from sitelore.model.document import Reading, SitemapReading
from sitelore.model.errors import ReaderCrashed, SessionEnded
from sitelore.model.response import Fetched, FetchFailure, Request, Response
from sitelore.model.settings import rules_for
from sitelore.model.states import REDIRECT_STATES
from sitelore.model.url import Url

_CLOSED = frozenset({401, 403})


@dataclass(slots=True)
class LoginWatch:
    """The sessions of one run, and which of them are known to be valid."""

    sessions: Sequence[SiteSession] = ()
    _is_alive: set[SiteSession] = field(default_factory=set)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def check(
        self, url: Url, page_fetch: PageFetch, reading: Reading | SitemapReading | ReaderCrashed | None, context: VisitContext
    ) -> None:
        """Raise `SessionEnded` when this page, as it was fetched, shows that the crawl is logged out."""
        page = reading if isinstance(reading, Reading) else None
        session = next((session for session in self.sessions if url.origin in session.origins), None)
        if session is not None and page_of(url) in session.login_pages:
            return
        target = _redirect_target(url, page_fetch.fetched, context)
        if sign := _declared_sign(url, target, page, context):
            raise SessionEnded(_message(url, session, sign))
        if session is None:
            return
        sign = _sign(page_fetch.fetched, target, page, session)
        async with self._lock:
            if not sign and session in self._is_alive:
                return
            if not sign or str(url) != session.check_url:
                sign = await _closed_sign(session, sign, page_fetch, context)
            if sign:
                raise SessionEnded(_message(url, session, sign))
            self._is_alive.add(session)


def _message(url: Url, session: SiteSession | None, sign: str) -> str:
    if session is None:
        return f"the crawl is logged out of {url.authority} ({sign}); log in again, or renew the cookies of the crawl"
    return f"the session of {url.authority} has ended ({sign}); run `sitelore login {session.origin}/`"


def _redirect_target(url: Url, fetched: Fetched, context: VisitContext) -> Url | None:
    if isinstance(fetched, FetchFailure) or fetched.status not in REDIRECT_STATES:
        return None
    return Url.parse(fetched.header("location") or "", str(url), context.rules)


def _declared_sign(url: Url, target: Url | None, page: Reading | None, context: VisitContext) -> str:
    """The sign that the user has declared; empty when there is none."""
    rules = rules_for(context.settings.overrides, url.host) if context.settings.overrides else None
    pattern = rules.logged_out.url if rules is not None else ""
    if pattern:
        login = Pattern(pattern)
        if login.matches(url, url.target):  # the login page itself, which a page links to
            return ""
        if target is not None and login.matches(target, target.target):
            return f"{url.path} redirects to {target.path}"
    return f"{url.path}: {page.logged_out}" if page is not None and page.logged_out else ""


def _sign(fetched: Fetched, target: Url | None, page: Reading | None, session: SiteSession) -> str:
    """What suggests that the session has ended; empty when nothing does."""
    if isinstance(fetched, FetchFailure):
        return ""
    if target is not None and page_of(target) in session.login_pages:
        return f"{fetched.url.path} redirects to the login form"
    if fetched.status == 401:
        return f"{fetched.url.path} answers 401"
    return f"{fetched.url.path} shows a login form" if page is not None and page.login_form else ""


async def _closed_sign(session: SiteSession, suspicion: str, page_fetch: PageFetch, context: VisitContext) -> str:
    """Why the page that was shown after the login is closed now; empty when it is shown as it was then.

    Where robots.txt forbids that page, the suspicion decides.
    """
    url = Url.parse(session.check_url, rules=context.rules)
    if url is None or not (await context.robots.judge(url)).allowed:
        return suspicion
    request = Request(url)
    if page_fetch.in_browser:
        return await _sign_of_check(await render_as_fetch(request, context.renderer), url, session, context)
    fetched = await context.fetcher.fetch(request)
    if isinstance(fetched, Response) and fetched.body_read and fetched.status == 200:
        reading = await _read(fetched, context)
        if reading is not None and reading.shell.weight >= SHELL_WEIGHT and context.policy.has_browser():
            fetched = await render_as_fetch(request, context.renderer)
    return await _sign_of_check(fetched, url, session, context)


async def _sign_of_check(fetched: Fetched, url: Url, session: SiteSession, context: VisitContext) -> str:
    if isinstance(fetched, FetchFailure):
        return f"{url.path} cannot be fetched: {fetched.failure}"
    if fetched.status in _CLOSED:
        return f"{url.path} answers {fetched.status}"
    target = _redirect_target(url, fetched, context)
    shown = page_of(target or fetched.url)
    if shown in session.login_pages:
        return f"{url.path} leads to the login form"
    reading = await _read(fetched, context) if fetched.status == 200 and fetched.body_read else None
    sign = _declared_sign(url, target, reading, context)
    return sign or (f"{url.path} shows a login form" if reading is not None and reading.login_form else "")


async def _read(response: Response, context: VisitContext) -> Reading | None:
    try:
        return await context.reader.read(response, context.read_options)
    except ReaderCrashed:
        return None
