"""A real `sitelore serve`, and Chromium that opens its dashboard. Skipped where npm or the browser is out of reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.interfaces.test_api_process import ServerProcess, serve_process
from tests.support.graph import Graph
from tests.support.http_server import HttpServer, serve_site

from sitelore.fetch.browser.chromium import find_browser
from sitelore.serve.dashboard import FOLDER

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page, Request

_FLAGS = ["--no-sandbox", "--disable-background-networking", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
GRAPH = Graph(11, 260)
"""More URLs than one page of the table shows."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not (FOLDER / "index.html").is_file():
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip("the dashboard is not built (make ui)"))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for one module: while Playwright's synchronous interface is open, no asynchronous test can run."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)  # as long as an action may take on a busy machine
    executable = find_browser()
    if executable is None:
        pytest.skip("there is no browser on this machine")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(executable.path), args=_FLAGS)
        yield browser
        browser.close()


@dataclass
class Screen:
    """A tab with the dashboard, and what went wrong in it."""

    page: Page
    origin: str
    problems: list[str] = field(default_factory=list)
    """Uncaught errors, violations of the content security policy, dialogs, and requests that left the server."""

    def open(self, path: str) -> Page:
        """Open a screen and wait until nothing is loading."""
        self.page.goto(f"{self.origin}/ui{path}")
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until everything that the screen requested has arrived."""
        self.page.wait_for_function(
            "() => document.querySelector('#root > *')"
            " && !document.querySelector('[aria-label=\"Loading …\"], [aria-busy=true]')"
        )

    def on_error(self, error: Error) -> None:
        self.problems.append(f"error: {error}")

    def on_console(self, line: ConsoleMessage) -> None:
        if "Content Security Policy" in line.text:
            self.problems.append(line.text)

    def on_dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def on_request(self, request: Request) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.problems.append(f"left: {request.url[:200]}")


OpenScreen = Callable[..., Screen]


@pytest.fixture
def open_screen(chromium: Browser) -> Iterator[OpenScreen]:
    """Opens tabs, and fails the test when something went wrong in one of them."""
    opened: list[Screen] = []
    contexts = []

    def open_one(port: int, *, width: int = 1280, height: int = 800, scheme: Any = "light") -> Screen:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        screen = Screen(page, f"http://127.0.0.1:{port}")
        page.on("pageerror", screen.on_error)
        page.on("console", screen.on_console)
        page.on("dialog", screen.on_dialog)
        page.on("request", screen.on_request)
        opened.append(screen)
        return screen

    yield open_one
    for context in contexts:
        context.close()
    assert [problem for screen in opened for problem in screen.problems] == []


@dataclass(frozen=True, slots=True)
class Served:
    """A server, the site that it may crawl, and a run of it that has completed."""

    server: ServerProcess
    site: HttpServer
    run: str

    @property
    def port(self) -> int:
        return self.server.api.port


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_site(lambda _: None, host="localhost") as http_server:
        http_server.pages = GRAPH.pages(http_server.origin)
        with serve_process(tmp_path_factory.mktemp("dashboard"), http_server) as server:
            run = server.api.start(http_server.url("/"), includeDocuments=True)
            server.api.finish(run)
            yield Served(server, http_server, run)
