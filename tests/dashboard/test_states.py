"""What screens show while they load, when the server refuses or fails, and when it cannot be reached any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect
from tests.dashboard.conftest import OpenScreen, Screen, Served
from tests.dashboard.test_accessibility import findings
from tests.interfaces.test_api_process import serve_process
from tests.support.http_server import page, prose, serve_site, site

RAW = re.compile(r"\bundefined\b|\bNaN\b|\[object|TypeError|SyntaxError|HTTP [45]\d\d|Traceback|<html|Unexpected token")
"""What a program says to a programmer."""
MOST_LAYOUT_SHIFT = 0.1
"""Cumulative layout shift of a screen that counts as good (web.dev)."""
TOKEN = "a-token-for-the-dashboard"


def paths(served: Served) -> list[str]:
    """The screens that load something."""
    run, url = served.run, quote(served.site.url("/"), safe="")
    site_path = f"/sites/{quote(served.site.origin.removeprefix('http://'), safe='')}"
    return [
        "/", "/runs", "/search?q=word", "/sites", f"/runs/{run}", f"/runs/{run}/urls", f"/runs/{run}/lineage",
        f"/runs/{run}/hosts", f"/runs/{run}/events", f"/runs/{run}/page?url={url}", f"{site_path}/issues",
        f"{site_path}/insights", "/account",
        "/account/users", "/account/audit", "/manage", "/manage/tenants/1", "/manage/queues", "/manage/deletions",
        "/manage/dead-letters", "/manage/backups", "/channels/some-channel",
    ]  # fmt: skip


@contextmanager
def answering(tab: Page, answer: Callable[[Route], None]) -> Iterator[None]:
    """Answer all requests of the API but that for the session by a function."""

    def is_api(url: str) -> bool:
        return not urlsplit(url).path.startswith(("/ui", "/session"))

    tab.route(is_api, answer)
    try:
        yield
    finally:
        tab.unroute(is_api)


def problem(status: int, detail: str) -> Callable[[Route], None]:
    body = f'{{"type": "urn:sitelore:problem:x", "title": "x", "status": {status}, "detail": "{detail}"}}'
    return lambda route: route.fulfill(status=status, content_type="application/problem+json", body=body)


ANSWERS = {
    "The server could not do this": lambda route: route.fulfill(status=502, content_type="text/html", body="<html>Bad Gateway"),
    "This is not permitted": problem(403, "the token has no scope for it"),
    "Too many requests": problem(429, "try again in 4 s"),
    "This did not work": lambda route: route.fulfill(status=200, content_type="text/html", body="<html>a captive portal"),
}


@pytest.mark.parametrize("title", ANSWERS)
def test_every_screen_says_in_words_that_the_server_refuses_or_fails(
    served: Served, open_screen: OpenScreen, title: str
) -> None:
    screen = open_screen(served.port, scheme="dark" if title == "Too many requests" else "light")
    tab = screen.page
    with answering(tab, ANSWERS[title]):
        # A refusal shows at once; after a fault, each request is tried three times.
        for path in paths(served) if title == "This is not permitted" else ("/runs", f"/runs/{served.run}/urls", "/manage"):
            tab.goto(f"{screen.origin}/ui{path}")
            alert = tab.get_by_role("alert").filter(has_text=title).first
            expect(alert, path).to_be_visible(timeout=30_000)
            expect(tab.get_by_role("button", name="Try again").first, path).to_be_visible()
            assert not RAW.search(tab.locator("body").inner_text()), path
            assert tab.get_by_label("Loading …").count() == 0, f"{path} loads for ever"
        assert findings(screen) == []


def test_what_was_loaded_stays_while_the_server_cannot_be_reached(served: Served, open_screen: OpenScreen) -> None:
    screen = open_screen(served.port)
    tab = screen.open("/sites")
    heading = tab.get_by_role("main").get_by_role("heading", level=2).first
    expect(heading).to_be_visible()
    with answering(tab, lambda route: route.abort()):
        notice = tab.get_by_role("status").filter(has_text="What you see may be out of date.")
        expect(notice).to_contain_text("The server cannot be reached.", timeout=30_000)
        expect(heading).to_be_visible()
        assert findings(screen) == []
    notice.get_by_role("button", name="Try again").click()
    expect(notice).to_have_count(0)


def test_a_part_that_cannot_be_loaded_offers_to_reload(served: Served, open_screen: OpenScreen) -> None:
    tab = open_screen(served.port).open("/")
    tab.route(re.compile(r"/ui/assets/Account"), lambda route: route.abort())
    tab.get_by_role("link", name="Account").click()
    expect(tab.get_by_text("This part of the dashboard could not be loaded")).to_be_visible()
    expect(tab.get_by_role("button", name="Reload")).to_be_visible()
    tab.get_by_role("link", name="Runs", exact=True).click()
    expect(tab.get_by_role("heading", name="Runs", level=1)).to_be_visible()


def test_a_session_that_ends_leads_to_the_sign_in_and_back(tmp_path: Path, open_screen: OpenScreen) -> None:
    with serve_site(site({})) as http_server, serve_process(tmp_path, http_server, env={"SITELORE_TOKENS": TOKEN}) as server:
        screen = open_screen(server.api.port)
        tab = sign_in(screen)
        screen.open("/sites")
        tab.context.clear_cookies()
        tab.get_by_role("link", name="Runs", exact=True).click()
        expect(tab.get_by_text("Your session has ended.")).to_be_visible()
        tab.get_by_label("Token").fill("wrong")
        tab.get_by_role("button", name="Sign in").click()
        expect(tab.get_by_text("The server does not know this token.")).to_be_visible()
        assert findings(screen) == []
        tab.get_by_label("Token").fill(TOKEN)
        tab.get_by_role("button", name="Sign in").click()
        expect(tab.get_by_role("heading", name="Runs", level=1)).to_be_visible()


def sign_in(screen: Screen) -> Page:
    tab = screen.open("/")
    tab.get_by_label("Token").fill(TOKEN)
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("navigation").wait_for()
    return tab


@dataclass
class Gate:
    """Holds requests until it is opened."""

    held: list[Route] | None = field(default_factory=list)

    def answer(self, route: Route) -> None:
        if self.held is None:
            route.continue_()
        else:
            self.held.append(route)

    def open(self) -> None:
        held, self.held = self.held or [], None
        for route in held:
            route.continue_()


_SHIFTS = """() => {
  window.shifts = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_slow_answers_show_that_something_loads_and_shift_nothing(served: Served, open_screen: OpenScreen, width: int) -> None:
    screen = open_screen(served.port, width=width)
    tab = screen.page
    tab.add_init_script(f"({_SHIFTS})()")
    shifted: dict[str, float] = {}
    for path in paths(served):
        gate = Gate()
        with answering(tab, gate.answer):
            tab.goto(f"{screen.origin}/ui{path}")
            expect(tab.get_by_label("Loading …").first, path).to_be_visible()
            if path == "/runs":
                assert findings(screen) == []
            gate.open()
            screen.settle()
        value = tab.evaluate("window.shifts")
        if value > MOST_LAYOUT_SHIFT:
            shifted[path] = round(value, 3)
    assert shifted == {}


def test_lists_without_a_match_offer_to_clear_the_filters(served: Served, open_screen: OpenScreen) -> None:
    screen = open_screen(served.port)
    for path in ("/runs?q=nothing", f"/runs/{served.run}/urls?q=nothing-like-this", f"/runs/{served.run}/hosts?q=nothing"):
        tab = screen.open(path)
        tab.get_by_role("button", name="Clear filters").first.click()
        expect(tab.get_by_role("row").nth(1), path).to_be_visible()


def test_a_site_without_pages_is_no_dead_end(tmp_path: Path, open_screen: OpenScreen) -> None:
    pages = {"/": page("Home", prose("home"))}
    with serve_site(site(pages), host="localhost") as http_server, serve_process(tmp_path, http_server) as server:
        screen = open_screen(server.api.port)
        for path, way in (
            ("/runs", "New crawl"), ("/sites", "New crawl"), ("/search", "New crawl"), ("/runs/no-such-run", "All runs"),
            ("/channels/no-such-channel", "All channels"), ("/manage/tenants/987654", "All tenants"),
            ("/nowhere", "Go to the channels"),
        ):  # fmt: skip
            tab = screen.open(path)
            expect(tab.get_by_role("main").get_by_role("link", name=way).first, path).to_be_visible()
        assert findings(screen) == []
