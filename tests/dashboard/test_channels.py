"""Channels in the dashboard: added and watched, their pages, media, history and settings, webhooks and the brand."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from tests.dashboard.conftest import OpenScreen
from tests.dashboard.test_accessibility import findings
from tests.interfaces.test_api_process import ServerProcess, serve_process
from tests.journeys.test_media import with_media
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site, site
from tests.support.webhook_receiver import Receiver, receiver

CHANNELS = "/tenant/v1/channels"
STYLE = "<style>:root{--primary:#3355ff}</style><link href='https://fonts.googleapis.com/css?family=Inter'>"
TABS = (
    "",
    "/issues",
    "/insights",
    "/pages",
    "/pages?q=no-such-page",
    "/media",
    "/media?type=DOCUMENT",
    "/history",
    "/search",
    "/settings?rules.open=Links&rules.open=Speed",
)


@dataclass(frozen=True, slots=True)
class World:
    """A server with one channel that has been crawled, and a website that has not been added yet."""

    server: ServerProcess
    site: HttpServer
    other: HttpServer
    receiver: Receiver
    channel: str

    @property
    def port(self) -> int:
        return self.server.api.port

    @property
    def path(self) -> str:
        return f"/channels/{self.channel}"

    def crawl(self, urls: list[str] | None = None) -> None:
        """Crawl the website, or these URLs of it, to the end."""
        api, base = self.server.api, f"{CHANNELS}/{self.channel}/webcrawl"
        started = api.call("POST", f"{base}/changed", {"urls": urls}) if urls else api.call("POST", f"{base}/start")
        assert started.status == 201, started.body
        assert api.finish(started.json["id"])["status"] == "COMPLETED"


def website() -> dict[str, Answer]:
    media = with_media()
    home = media["/"].body.replace(b"<head>", b"<head>" + STYLE.encode())
    more = {f"/page/{number}": page(f"Page {number}", prose(f"page {number}", 120)) for number in range(1, 8)}
    index = page("Index", prose("index"), links=(*more, "/broken"))
    return {
        **media,
        "/": Answer(body=home.replace(b"</body>", b"<a href=/index>Index</a></body>")),
        "/index": index,
        "/broken": Answer(500),
        **more,
    }


def other_website() -> dict[str, Answer]:
    paths = [f"/part/{number}" for number in range(12)]
    return {
        "/": page("Elsewhere", prose("elsewhere"), links=tuple(paths)),
        **{path: page(path, prose(path)) for path in paths},
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with (
        serve_site(site(website()), host="localhost") as http_server,
        serve_site(site(other_website()), host="127.0.0.1") as other,
        receiver() as received,
    ):
        ports = f"localhost:{http_server.port} 127.0.0.1:{other.port} 127.0.0.1:{received.port}"
        data = tmp_path_factory.mktemp("channels")
        with serve_process(data, http_server, env={"SITELORE_ALLOW_PRIVATE": ports}) as server:
            made = server.api.call("POST", CHANNELS, {"url": http_server.url("/"), "title": "Films and hills"})
            assert made.status == 201, made.body
            world = World(server, http_server, other, received, made.json["id"])
            world.crawl()
            yield world


def tab_panel(tab: Page, name: str) -> None:
    tab.get_by_role("tab", name=name, exact=True).click()
    expect(tab.get_by_role("tab", name=name, exact=True)).to_have_attribute("aria-selected", "true")


def test_a_website_is_added_and_its_first_crawl_is_watched(world: World, open_screen: OpenScreen) -> None:
    world.other.delay_s = 1.5
    try:
        tab = open_screen(world.port).open("/")
        expect(tab.get_by_role("link", name="Films and hills")).to_be_visible()
        tab.get_by_role("link", name="Add a website").click()
        tab.get_by_label("Website address").fill(world.other.url("/"))
        tab.get_by_role("button", name="Start").click()
        expect(tab).to_have_url(re.compile(r"/ui/channels/[0-9a-f-]{36}$"))
        expect(
            tab.get_by_text(re.compile(r"^Crawled \d+/100 pages, \d+ images \(\d+ duplicates skipped\)$")).first
        ).to_be_visible()
        expect(tab.get_by_role("button", name="Re-crawl")).to_be_disabled()
        expect(tab.get_by_text("A crawl of this channel is running.")).to_be_visible()
        expect(tab.get_by_role("link", name="Watch it live")).to_be_visible()
        tab.get_by_role("button", name="Pause updates").click()
        expect(tab.get_by_text("Updates paused")).to_be_visible()
        tab.get_by_role("button", name="Resume updates").click()
        world.other.delay_s = 0.0
        expect(tab.get_by_text("Completed", exact=True)).to_be_visible(timeout=60_000)
        expect(tab.get_by_role("button", name="Re-crawl")).to_be_enabled()
        expect(tab.get_by_text("URLs were found.")).to_be_visible()
        expect(tab.get_by_role("definition").filter(has=tab.locator("time")).first).to_be_visible()
    finally:
        world.other.delay_s = 0.0
    tab.get_by_role("link", name="All channels").click()
    expect(tab.get_by_role("region", name=f"127.0.0.1:{world.other.port}")).to_contain_text("13")

    tab.get_by_role("link", name="Add a website").click()
    tab.get_by_label("Website address").fill(world.other.url("/"))
    tab.get_by_role("button", name="Start").click()
    expect(tab.get_by_text("This website has a channel already.")).to_be_visible()


def test_one_url_is_crawled_again_and_two_crawls_are_compared(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(world.path)
    tab.get_by_role("button", name="Re-crawl").click()
    tab.get_by_role("menuitem", name="One URL").click()
    field = tab.get_by_label("URL of this website")
    field.fill("https://elsewhere.invalid/")
    tab.get_by_role("dialog").get_by_role("button", name="Re-crawl").click()
    expect(tab.get_by_role("dialog")).to_contain_text("elsewhere.invalid")
    field.fill(world.site.url("/about"))
    tab.get_by_role("dialog").get_by_role("button", name="Re-crawl").click()
    expect(tab.get_by_role("dialog")).to_have_count(0)

    tab_panel(tab, "History")
    rows = tab.get_by_role("region", name="History").locator("tbody tr")
    expect(rows.filter(has_text="Notice of changes").filter(has_text="Completed").first).to_be_visible(timeout=60_000)
    expect(rows.filter(has_text="Person").first).to_be_visible()
    for number in (0, 1):
        rows.nth(number).get_by_role("checkbox").check()
    comparison = tab.get_by_role("region", name="Comparison", exact=True).first
    expect(comparison.get_by_role("row", name=re.compile("^Read"))).to_be_visible()
    assert tab.url.count("compare=") == 2


def test_pages_are_filtered_sorted_downloaded_and_opened(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(f"{world.path}/pages")
    rows = tab.get_by_role("region", name="Pages of the channel").locator("tbody tr")
    listed = world.server.api.get(f"{CHANNELS}/{world.channel}/webcrawl/pages")["pagination"]["total"]
    expect(rows).to_have_count(listed)
    tab.get_by_role("button", name=re.compile("^Failed")).click()
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("/broken")
    tab.get_by_role("button", name="Clear filters").click()
    tab.get_by_role("searchbox").fill("/page/")
    expect(rows).to_have_count(7)
    with tab.expect_download() as download:
        tab.get_by_role("button", name="CSV").click()
    exported = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert {row["url"] for row in exported} == {world.site.url(f"/page/{number}") for number in range(1, 8)}
    heading = tab.get_by_role("columnheader", name="Page", exact=False).first
    heading.get_by_role("button").click()
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(rows.first).to_contain_text("/page/7")
    tab.reload()
    expect(rows.first).to_contain_text("/page/7")
    title = tab.get_by_role("columnheader", name="Title")
    title.get_by_role("button").click()
    expect(rows.first).to_contain_text("Page 1")
    title.get_by_role("button").click()
    expect(title).to_have_attribute("aria-sort", "descending")
    expect(rows.first).to_contain_text("Page 7")
    rows.first.get_by_role("link").click()
    expect(tab.get_by_role("heading", name="Page 7", level=1)).to_be_visible()


def test_a_picture_shows_what_was_saved_and_where_it_is_used(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(f"{world.path}/media")
    tab.get_by_role("button", name=re.compile(r"^Images")).click()
    card = tab.get_by_role("listitem").filter(has_text="large.jpg")
    expect(card.locator("img")).to_be_visible()
    assert card.locator("img").evaluate("async image => { await image.decode(); return image.naturalWidth }") == 320
    card.get_by_role("button").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog.get_by_text(re.compile(r"\d kB → \d+ kB \(\d+ % saved\)"))).to_be_visible()
    expect(dialog.get_by_role("img", name="Hills")).to_be_visible()
    expect(dialog.get_by_role("heading", name="Used on 1 page")).to_be_visible()
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    expect(dialog.get_by_text("It cannot be deleted while 1 page shows it.")).to_be_visible()
    dialog.get_by_role("link", name="Home").click()
    expect(tab.get_by_role("tab", name="Pages")).to_have_attribute("aria-selected", "true")


def test_media_are_filtered_sorted_and_stepped_through(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(f"{world.path}/media")
    tab.get_by_label("Sort").select_option("Most saved first")
    cards = tab.get_by_role("main").get_by_role("listitem")
    expect(cards.first).to_contain_text("large.jpg")
    tab.get_by_role("searchbox").fill("logo")
    expect(cards).to_have_count(1)
    assert "q=logo" in tab.url
    assert "sort=saved-desc" in tab.url
    tab.get_by_role("button", name="Clear filters").click()
    cards.first.get_by_role("button").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="large.jpg")).to_be_visible()
    expect(dialog.get_by_role("button", name="Previous")).to_be_disabled()
    tab.keyboard.press("ArrowRight")
    expect(dialog.get_by_role("heading", name="large.jpg")).to_have_count(0)
    tab.keyboard.press("ArrowLeft")
    expect(dialog.get_by_role("heading", name="large.jpg")).to_be_visible()


def test_a_page_of_a_channel_shows_its_media_as_they_are_stored(world: World, open_screen: OpenScreen) -> None:
    job = world.server.api.get(f"{CHANNELS}/{world.channel}/webcrawl/jobs")["jobs"][-1]["id"]
    tab = open_screen(world.port).open(f"/runs/{job}/page?url={quote(world.site.url('/'), safe='')}&view=media")
    tab.get_by_role("listitem").filter(has_text="large.jpg").get_by_role("button").click()
    expect(tab.get_by_role("dialog").get_by_role("img", name="Hills")).to_be_visible()
    tab.keyboard.press("Escape")
    tab.get_by_role("tab", name="Reading").click()
    picture = tab.locator("article.reading").get_by_role("img", name="Our logo")
    expect(picture).to_have_attribute("src", re.compile("^/tenant/v1/channels/.*/file$"))
    tab.wait_for_function("(picture) => picture.naturalWidth > 0", arg=picture.element_handle())


def test_issues_and_insights_are_tabs_below_the_header_of_the_channel(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(world.path)
    tab_panel(tab, "Issues")
    expect(tab.get_by_text("This site was not checked yet.").first).to_be_visible()
    tab.get_by_role("button", name="Check the site").click()
    expect(tab.get_by_role("button", name="Check again")).to_be_enabled(timeout=60_000)
    expect(tab.get_by_role("button", name=re.compile("^Warning"))).not_to_have_count(0)
    tab_panel(tab, "Insights")
    expect(tab.get_by_role("region", name="What was read").first).to_be_visible()
    expect(tab.get_by_role("heading", name="Films and hills", level=1)).to_be_visible()
    tab_panel(tab, "Overview")
    issues = tab.get_by_role("region", name="Issues")
    expect(issues.get_by_role("listitem")).not_to_have_count(0)
    issues.get_by_role("link", name="All issues").click()
    expect(tab).to_have_url(re.compile(f"{world.path}/issues$"))


def test_a_video_of_another_host_waits_for_a_click(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(f"{world.path}/media?type=VIDEO")
    tab.get_by_role("listitem").filter(has_text="YouTube").get_by_role("button").click()
    expect(tab.get_by_role("button", name="Load the video from YouTube")).to_be_visible()
    expect(tab.locator("iframe")).to_have_count(0)


def test_settings_are_previewed_saved_and_applied_to_a_url(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(f"{world.path}/settings")
    changes = tab.get_by_role("group", name="Saving changes")
    expect(changes).to_contain_text("Nothing has been changed.")
    expect(tab.get_by_text("The plan Enterprise allows 500.")).to_be_visible()
    tab.get_by_label("Pages of one crawl at most").fill("40")
    tab.get_by_label("Crawl it again").select_option("custom")
    tab.get_by_label("Cron line").fill("30 4 * *")
    expect(tab.get_by_text("invalid cron line")).to_be_visible()
    tab.get_by_label("Cron line").fill("30 4 * * 2")
    tab.get_by_label("Time zone").fill("Europe/Prague")
    schedule = tab.get_by_role("region", name="Schedule", exact=True)
    expect(schedule.get_by_text("At 04:30 on Tuesday, Europe/Prague")).to_be_visible()
    expect(schedule.get_by_role("listitem")).to_have_count(5)
    expect(changes).to_contain_text("Pages of one crawl at most: as set for all channels → 40")
    changes.get_by_role("button", name="Save settings").click()
    expect(changes).to_contain_text("Saved.")
    saved = world.server.api.get(f"{CHANNELS}/{world.channel}")
    assert (saved["maxPages"], saved["cron"], saved["timeZone"]) == (40, "30 4 * * 2", "Europe/Prague")

    tab.get_by_label("Not these URLs").fill("/about*")
    tab.get_by_label("Render pages in a browser").select_option("never")
    tab.get_by_label("Mask personal data").select_option("everywhere")
    expect(changes).to_contain_text("Not these URLs: \u2013 \u2192 /about*")
    expect(tab.get_by_text("Tests the settings that are saved.")).to_be_visible()
    changes.get_by_role("button", name="Save settings").click()
    expect(changes).to_contain_text("Saved.")
    saved = world.server.api.get(f"{CHANNELS}/{world.channel}")
    assert (saved["exclude"], saved["render"], saved["personal"]) == (["/about*"], "never", "everywhere")
    tester = tab.get_by_label("Would this URL be crawled?")
    tester.fill("/about")
    expect(tab.get_by_text("matches the exclude pattern /about*")).to_be_visible()
    restored = {"exclude": [], "render": "auto", "personal": "chunks"}
    assert world.server.api.call("PATCH", f"{CHANNELS}/{world.channel}", restored).status == 200
    tab.reload()
    scope = tab.get_by_role("region", name="What belongs to the website")
    tester.fill("/about")
    expect(scope.get_by_text("Yes", exact=True)).to_be_visible()
    tester.fill("https://elsewhere.invalid/")
    expect(scope.get_by_text("No", exact=True)).to_be_visible()
    expect(scope.get_by_text("is outside the origin scope")).to_be_visible()


def test_checks_for_issues_are_switched_and_get_other_thresholds(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(f"{world.path}/settings")
    section = tab.get_by_role("region", name="Checks for issues", exact=True)
    section.get_by_role("switch", name="Check links to other websites").press("Space")
    section.get_by_label("Pages without audits").fill("/page/*")
    rows = section.locator("table.rows tbody tr:not(.group)")
    expect(rows).to_have_count(0)
    section.get_by_role("button", name=re.compile("^Links")).click()
    expect(rows.filter(has_text="Link to an address that has moved")).to_have_count(1)
    assert "rules.open=Links" in tab.url
    section.get_by_role("button", name="Expand all").click()
    expect(section.locator("tr.group button[aria-expanded=false]")).to_have_count(0)
    section.get_by_role("button", name="Collapse all").click()
    expect(rows).to_have_count(0)
    search = section.get_by_role("searchbox")
    search.fill("sitemap-omits-page")
    expect(rows.get_by_label(re.compile("The sitemap lists at least$"))).to_have_value("80 % of the folder")
    search.fill("title-length")
    expect(rows).to_have_count(1)
    limit = rows.get_by_label(re.compile("At most$"))
    expect(limit).to_have_value("65 characters")
    limit.fill("77")
    rows.get_by_label(re.compile("Name of the site in at least$")).fill("55")
    search.fill("lang-missing")
    rows.filter(has_text="lang-missing").get_by_role("switch").press("Space")
    expect(section.get_by_text("4 changes, not saved")).to_be_visible()
    section.get_by_role("button", name="Save the checks").click()
    expect(section.get_by_text("The checks are saved.")).to_be_visible()
    name = world.server.api.get(f"{CHANNELS}/{world.channel}")["site"]
    saved = world.server.api.get(f"/sites/{quote(name, safe='')}/audit-settings")
    assert (saved["check_links"], saved["exclude"], saved["rules"]["lang-missing"]) == (True, ["/page/*"], False)
    assert (saved["rules"]["title-length"]["max_chars"], saved["rules"]["title-length"]["affix_share"]) == (77, 0.55)
    tab.reload()
    expect(section.get_by_role("button", name=re.compile("^Off"))).to_contain_text("1")


def test_a_webhook_is_added_tested_and_replayed(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(f"{world.path}/settings")
    section = tab.get_by_role("region", name="Webhooks", exact=True)
    section.get_by_label("URL of the receiver").fill(world.receiver.url)
    section.get_by_role("button", name="Add a webhook").click()
    expect(section.get_by_text("The signing secret is shown only now")).to_be_visible()
    expect(section.get_by_text(re.compile("^whsec_"))).to_be_visible()
    section.get_by_role("button", name=re.compile(f":{world.receiver.port}")).click()
    section.get_by_role("button", name="Send a test").click()
    expect(section.get_by_text("The receiver accepted the test: HTTP 204")).to_be_visible()
    assert [each.type for each in world.receiver.requests] == ["webhook.test"]

    world.crawl([world.site.url("/about")])
    row = section.locator("tbody tr").filter(has_text="run.completed").filter(has_text="Delivered")
    expect(row).to_be_visible(timeout=60_000)
    row.get_by_role("button", name="Replay").click()
    delivered = [each.id for each in world.receiver.requests if each.type == "run.completed"]
    assert world.receiver.wait_for(lambda: [each.id for each in world.receiver.requests].count(delivered[0]) == 2)

    tab.reload()
    expect(section.get_by_role("button", name=re.compile(f":{world.receiver.port}"))).to_be_visible()
    expect(section.get_by_text(re.compile("^whsec_"))).to_have_count(0)


def test_the_brand_is_entered_and_reset_to_what_was_detected(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(f"{world.path}/settings")
    section = tab.get_by_role("region", name="Brand")
    font = section.get_by_role("textbox", name="Primary font")
    expect(font).to_have_value("Inter")
    expect(section.get_by_role("textbox", name="Primary colour")).to_have_value("#3355ff")
    expect(section.get_by_role("group", name="Brand as it is now")).to_contain_text("#3355ff")
    font.fill("Georgia")
    section.get_by_role("button", name="Save brand").click()
    reset = section.get_by_role("button", name="Reset to detected: Primary font")
    expect(reset).to_be_visible()
    assert world.server.api.get("/tenant/v1/brand")["fontPrimary"] == "Georgia"
    reset.click()
    expect(font).to_have_value("Inter")
    expect(reset).to_have_count(0)


def test_the_search_tab_finds_pages_of_this_website_only(world: World, open_screen: OpenScreen) -> None:
    tab = open_screen(world.port).open(f"{world.path}/search?q=elsewhere")
    expect(tab.get_by_text("Nothing was found.")).to_be_visible()
    tab.get_by_role("searchbox").fill("Annual report")
    tab.get_by_role("button", name="Search", exact=True).click()
    expect(tab.get_by_role("listitem").get_by_role("link", name="Annual report")).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_axe_finds_nothing_serious_in_channels_and_no_tab_is_too_wide(
    world: World, open_screen: OpenScreen, width: int, scheme: str
) -> None:
    file = world.server.api.get(f"{CHANNELS}/{world.channel}/webcrawl/media")["media"][0]["id"]
    screen = open_screen(world.port, width=width, scheme=scheme)
    wrong: dict[str, list[str]] = {}
    for path in ("/", *(world.path + tab for tab in TABS), f"{world.path}/media?file={file}", "/channels/no-such-channel"):
        tab = screen.open(path)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, path
        if violations := findings(screen):
            wrong[path] = violations
    assert wrong == {}
