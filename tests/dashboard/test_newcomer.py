"""A newcomer's way without a manual: from the printed link to a schedule. Prints clicks and seconds of each step."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from tests.dashboard.conftest import OpenScreen
from tests.interfaces.test_api_process import serve_process
from tests.support.http_server import page, prose, serve_site, site

PAGES = {
    "/": page("Harbour", prose("harbour"), links=("/boats", "/nets", "/gone")),
    "/boats": page("Boats", prose("boats"), links=("/",)),
    "/nets": page("Nets", prose("nets"), links=("/",)),
}
MAX_CLICKS = 15


@dataclass
class Way:
    """What the newcomer does, with the clicks and seconds of each step."""

    tab: Page
    clicks: int = 0
    steps: list[tuple[str, int, float]] = field(default_factory=list)
    _since: tuple[int, float] = field(default_factory=lambda: (0, time.monotonic()))

    def click(self, target: Locator) -> None:
        """Click something that can be seen."""
        expect(target).to_be_visible()
        target.click()
        self.clicks += 1

    def reached(self, step: str) -> None:
        """Note that a step is done."""
        clicks, at = self._since
        self.steps.append((step, self.clicks - clicks, time.monotonic() - at))
        self._since = (self.clicks, time.monotonic())

    def shown(self) -> str:
        lines = [f"{step:24} {clicks:2} clicks {seconds:6.1f} s" for step, clicks, seconds in self.steps]
        return "\n".join(["", *lines, f"{'together':24} {self.clicks:2} clicks"])


def test_a_newcomer_gets_from_the_link_to_a_schedule_without_a_dead_end(tmp_path: Path, open_screen: OpenScreen) -> None:
    with serve_site(site(PAGES), host="localhost") as http_server, serve_process(tmp_path, http_server) as server:
        http_server.delay_s = 0.3
        assert server.process.stdout is not None
        link = server.process.stdout.readline().decode().split()[1]
        tab = open_screen(server.api.port).page
        way = Way(tab)
        tab.goto(link)
        expect(tab.get_by_label("Website address")).to_be_focused()
        way.reached("open the link")

        tab.keyboard.type(http_server.url("/"))
        tab.keyboard.press("Enter")
        expect(tab.get_by_text(re.compile(r"^Crawled \d+/\d+ pages")).first).to_be_visible()
        way.reached("start a crawl")
        expect(tab.get_by_text("Completed", exact=True)).to_be_visible(timeout=60_000)
        way.reached("watch it")

        way.click(tab.get_by_role("tab", name="Pages"))
        way.click(tab.get_by_role("region").get_by_role("link", name="/boats").first)
        expect(tab.get_by_role("heading", name="Boats", level=1)).to_be_visible()
        way.reached("read a page")

        way.click(tab.get_by_role("navigation", name="Main").get_by_role("link", name="Search"))
        expect(tab.get_by_text("not indexed yet")).to_have_count(0, timeout=60_000)
        tab.get_by_role("searchbox").fill("nets")
        tab.keyboard.press("Enter")
        way.click(tab.get_by_role("main").get_by_role("link", name="Nets").first)
        expect(tab.get_by_role("heading", name="Nets", level=1)).to_be_visible()
        expect(tab.locator(".wanted")).to_be_in_viewport()
        way.reached("search")

        way.click(tab.get_by_role("navigation", name="Main").get_by_role("link", name="Channels"))
        way.click(tab.get_by_role("main").get_by_role("link", name=re.compile("Harbour|localhost")).first)
        way.click(tab.get_by_role("tab", name="Issues"))
        way.click(tab.get_by_role("button", name="Check the site"))
        way.click(tab.get_by_role("button", name="Page is gone"))
        expect(tab.get_by_text("/gone").first).to_be_visible()
        way.reached("see an issue")

        way.click(tab.get_by_role("navigation", name="Main").get_by_role("link", name="Channels"))
        way.click(tab.get_by_role("main").get_by_role("link", name=re.compile("Harbour|localhost")).first)
        way.click(tab.get_by_role("tab", name="Settings"))
        tab.get_by_label("Crawl it again").select_option("Every Monday at 3:00")
        expect(tab.get_by_text("The next five times")).to_be_visible()
        way.click(tab.get_by_role("button", name="Save settings").first)
        expect(tab.get_by_text("Saved.", exact=True)).to_be_visible()
        way.reached("schedule")

        [channel] = server.api.get("/tenant/v1/channels")["channels"]
        assert channel["cron"] == "0 3 * * 1"
        print(way.shown())
        assert way.clicks <= MAX_CLICKS
