"""The screens of the dashboard in a real browser against a real server, while a crawl runs and after it."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Response, expect
from tests.dashboard.conftest import OpenScreen, Screen, Served
from tests.interfaces.test_api_process import serve_process
from tests.support.http_server import page, prose, serve_site, site

TREE_ITEM = "[role=treeitem]"


def figure(screen: Page, label: str) -> int:
    return int(re.sub(r"\D", "", screen.get_by_text(label, exact=True).locator("xpath=following-sibling::*[1]").inner_text()))


def test_a_newcomer_gets_from_the_link_to_a_page_and_a_search(tmp_path: Path, open_screen: OpenScreen) -> None:
    with (
        serve_site(site({"/": page("Home", prose("home"))}), host="localhost") as http_server,
        serve_process(tmp_path, http_server) as server,
    ):
        assert server.process.stdout is not None
        link = server.process.stdout.readline().decode().split()[1]
        screen = open_screen(server.api.port)
        tab = screen.page
        tab.goto(link)
        expect(tab.get_by_role("heading", level=1)).to_have_text("Turn a website into searchable knowledge")
        assert "login" not in tab.url, "the one-time login stays in the address bar"

        tab.get_by_role("button", name="Start").click()
        expect(tab.get_by_text("Type the address of a website.")).to_be_visible()
        field = tab.get_by_label("Website address")
        field.fill("http://192.168.1.1/")
        field.press("Enter")
        expect(tab.get_by_text("This address may not be crawled")).to_be_visible()
        expect(tab.get_by_text("Addresses inside your own network are closed")).to_be_visible()

        tab.get_by_role("button", name="Crawl the example site").click()
        expect(tab.get_by_text("Running", exact=True).first).to_be_visible()
        expect(tab.get_by_text("Completed", exact=True)).to_be_visible(timeout=60_000)

        tab.get_by_role("tab", name="URLs").click()
        tab.get_by_role("button", name="/articles/tables").click()
        tab.get_by_role("link", name="Read the page").click()
        expect(tab.get_by_role("heading", name="HTTP status codes", level=1)).to_be_visible()
        expect(tab.get_by_role("cell", name="Moved permanently")).to_be_visible()

        tab.get_by_role("link", name="Search").click()
        expect(tab.get_by_text("not indexed yet")).to_have_count(0, timeout=30_000)
        tab.get_by_role("searchbox").fill("politeness")
        tab.get_by_role("button", name="Search").click()
        first = tab.get_by_role("listitem").filter(has=tab.locator("mark")).first
        expect(first.get_by_role("link", name="Open on the website")).to_have_attribute(
            "href", re.compile(r"/articles/politeness#:~:text=")
        )
        passage = first.locator("mark").first.inner_text()
        first.get_by_role("link", name="Politeness").click()
        expect(tab.get_by_role("tab", name="Passages")).to_have_attribute("aria-selected", "true")
        expect(tab.locator(".wanted")).to_be_focused()
        expect(tab.locator(".wanted")).to_be_in_viewport()
        expect(tab.locator(".wanted")).to_contain_text(passage)
        tab.go_back()
        expect(tab.get_by_role("searchbox")).to_have_value("politeness")

        tab.get_by_role("link", name="Channels").click()
        expect(tab.get_by_role("heading", name="Add your first website")).to_be_visible()
        tab.get_by_role("link", name="Show 1 run without a channel").click()
        expect(tab.get_by_role("heading", name="Runs", level=1)).to_be_visible()


def test_a_running_crawl_is_followed_paused_and_cancelled(served: Served, open_screen: OpenScreen) -> None:
    served.site.delay_s = 0.2
    try:
        run = served.server.api.start(served.site.url("/"), demoDelayMs=100)
        screen = open_screen(served.port)
        tab = screen.open(f"/runs/{run}")
        expect(tab.get_by_text("Live", exact=True)).to_be_visible()
        before = figure(tab, "URLs found")
        tab.wait_for_function(
            "before => Number(document.querySelector('.figures').children[1].innerText.replace(/\\D/g, '')) > before",
            arg=before,
        )
        tab.get_by_role("button", name="Pause updates").click()
        expect(tab.get_by_text("Updates paused")).to_be_visible()
        tab.get_by_role("button", name="Resume updates").click()
        expect(tab.get_by_text("Live", exact=True)).to_be_visible()

        tab.get_by_role("button", name="Cancel", exact=True).click()
        tab.get_by_role("button", name="Cancel the run").click()
        expect(tab.get_by_text("Cancelled", exact=True)).to_be_visible()
        expect(tab.get_by_role("button", name="Crawl again")).to_be_visible()
    finally:
        served.site.delay_s = 0.0


def test_polling_replaces_events_that_do_not_arrive(served: Served, open_screen: OpenScreen) -> None:
    served.site.delay_s = 0.2
    try:
        run = served.server.api.start(served.site.url("/"), demoDelayMs=100)
        screen = open_screen(served.port)
        screen.page.route("**/events", lambda route: route.abort())
        tab = screen.open(f"/runs/{run}")
        expect(tab.get_by_text("Live, every 2 seconds")).to_be_visible()
        served.server.api.call("POST", f"/crawl-runs/{run}/cancel")
        expect(tab.get_by_text("Cancelled", exact=True)).to_be_visible()
    finally:
        served.site.delay_s = 0.0


def test_the_url_table_filters_sorts_pages_and_exports_what_it_shows(served: Served, open_screen: OpenScreen) -> None:
    summary = served.server.api.get(f"/crawl-runs/{served.run}/summary")
    total, missing = summary["counts"]["total_urls"], summary["counts"]["by_status"]["NOT_FOUND"]
    screen = open_screen(served.port)
    tab = screen.open(f"/runs/{served.run}/urls")
    rows = tab.locator("table.rows tbody tr")
    expect(rows).to_have_count(200)
    expect(tab.get_by_text(f"1\u2013200 of {total}")).to_be_visible()
    tab.get_by_role("button", name="Next 200").click()
    expect(tab.get_by_text(f"201\u2013{min(400, total)} of {total}")).to_be_visible()

    tab.get_by_role("button", name=re.compile(r"^Not found")).click()
    expect(rows).to_have_count(missing)
    assert "status=NOT_FOUND" in tab.url
    with tab.expect_download() as download:
        tab.get_by_role("link", name="CSV").click()
    exported = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert len(exported) == missing
    assert {row["state"] for row in exported} == {"NOT_FOUND"}

    tab.reload()
    expect(rows).to_have_count(missing)
    tab.get_by_role("searchbox").fill("no such url")
    expect(tab.get_by_text("No URL matches these filters.")).to_be_visible()
    tab.get_by_role("button", name="Clear filters").click()
    expect(rows).to_have_count(200)

    depth = tab.get_by_role("columnheader", name="Depth")
    depth.get_by_role("button").click()
    expect(depth).to_have_attribute("aria-sort", "ascending")
    depth.get_by_role("button").click()
    expect(depth).to_have_attribute("aria-sort", "descending")
    expect(rows.first.locator("td").nth(4)).to_have_text(str(max_depth(served)))


def max_depth(served: Served) -> int:
    listed = served.server.api.get(f"/crawl-runs/{served.run}/urls?sort=depth&order=desc&limit=1")
    return int(listed["urls"][0]["depth"])


def test_a_url_is_inspected_with_the_reasons_of_every_check(served: Served, open_screen: OpenScreen) -> None:
    tab = open_screen(served.port).open(f"/runs/{served.run}/urls?status=NOT_FOUND")
    first = tab.locator("table.rows tbody button").first
    first.click()
    drawer = tab.get_by_role("dialog")
    expect(drawer.get_by_text("HTTP status")).to_be_visible()
    expect(drawer.get_by_text("Page limit")).to_be_visible()
    assert "node=" in tab.url
    tab.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    expect(first).to_be_focused()


def test_the_errors_of_a_run_are_grouped_and_lead_to_the_list(served: Served, open_screen: OpenScreen) -> None:
    tab = open_screen(served.port).open(f"/runs/{served.run}/errors")
    group = tab.get_by_role("region", name="Not found")
    expect(group.get_by_text("Found on").first).to_be_visible()
    group.get_by_role("link", name=re.compile("^Show")).click()
    expect(tab).to_have_url(re.compile(r"/urls\?status=NOT_FOUND"))


def test_the_lineage_is_a_tree_for_the_keyboard(served: Served, open_screen: OpenScreen) -> None:
    tab = open_screen(served.port).open(f"/runs/{served.run}/lineage")
    tree = tab.get_by_role("tree")
    tree.focus()
    tab.keyboard.press("Home")
    tab.keyboard.press("ArrowLeft")
    root = tab.locator(TREE_ITEM).first
    expect(root).to_have_attribute("aria-expanded", "false")
    tab.keyboard.press("ArrowRight")
    expect(root).to_have_attribute("aria-expanded", "true")
    tab.keyboard.press("ArrowDown")
    second = tab.locator(TREE_ITEM).nth(1)
    expect(second).to_have_attribute("aria-selected", "true")
    expect(second).to_have_attribute("aria-level", "2")
    assert tree.get_attribute("aria-activedescendant") == second.get_attribute("id")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("dialog")).to_be_visible()
    tab.keyboard.press("Escape")

    tab.get_by_role("button", name="Expand all").click()
    assert tab.locator(TREE_ITEM).count() < 60, "lines out of view are in the document"
    leaf = served.server.api.get(f"/crawl-runs/{served.run}/urls?sort=depth&order=desc&limit=1")["urls"][0]["url"]
    tab.get_by_role("searchbox").fill(leaf)
    expect(tab.locator(f"{TREE_ITEM}[data-match=true]")).to_be_visible()


def test_the_graph_shows_every_url_and_opens_the_inspector(served: Served, open_screen: OpenScreen) -> None:
    summary = served.server.api.get(f"/crawl-runs/{served.run}/summary")
    tab = open_screen(served.port).open(f"/runs/{served.run}/lineage?view=graph")
    tab.wait_for_selector("[data-testid=graph] canvas")
    nodes = tab.evaluate("document.querySelector('[data-testid=graph]').sigma.getGraph().order")
    assert nodes >= summary["counts"]["total_urls"]
    place = tab.evaluate(
        """() => {
          const frame = document.querySelector('[data-testid=graph]');
          const { sigma } = frame;
          const node = sigma.getGraph().nodes()[0];
          const at = sigma.framedGraphToViewport(sigma.getNodeDisplayData(node));
          const box = frame.getBoundingClientRect();
          return { x: box.x + at.x, y: box.y + at.y };
        }"""
    )
    tab.mouse.click(place["x"], place["y"])
    expect(tab.get_by_role("dialog").get_by_text("HTTP status")).to_be_visible()


def test_a_pointer_over_the_graph_names_a_node_without_reading_pixels_back(served: Served, open_screen: OpenScreen) -> None:
    screen = open_screen(served.port)
    screen.page.add_init_script(
        "const read = WebGL2RenderingContext.prototype.readPixels; window.reads = 0;"
        "WebGL2RenderingContext.prototype.readPixels = function (...all) { window.reads += 1; return read.apply(this, all) }"
    )
    tab = screen.open(f"/runs/{served.run}/lineage?view=graph&colour=kind")
    tab.wait_for_selector("[data-testid=graph] canvas")
    expect(tab.get_by_role("group", name="Legend")).to_contain_text("Page")
    expect(tab.get_by_role("group", name="Legend")).to_contain_text("Not fetched")
    box = tab.get_by_test_id("graph").bounding_box()
    assert box is not None
    place = tab.evaluate(
        """() => {
          const { sigma } = document.querySelector('[data-testid=graph]');
          return sigma.framedGraphToViewport(sigma.getNodeDisplayData(sigma.getGraph().nodes()[0]));
        }"""
    )
    tab.mouse.move(box["x"] + place["x"], box["y"] + place["y"])
    expect(tab.locator(".graph-marker span")).to_be_visible()
    tab.mouse.down()
    tab.mouse.move(box["x"] + place["x"] + 60, box["y"] + place["y"] + 30, steps=5)
    tab.mouse.up()
    assert tab.evaluate("window.reads") == 0


def test_runs_are_filtered_sorted_and_downloaded(served: Served, open_screen: OpenScreen) -> None:
    tab = open_screen(served.port).open("/runs")
    rows = tab.get_by_role("region", name="Runs").locator("tbody tr")
    expect(rows.first).to_be_visible()
    tab.get_by_role("searchbox").fill("no-such-site")
    expect(tab.get_by_text("No run matches these filters.")).to_be_visible()
    tab.get_by_role("button", name="Clear filters").click()
    tab.get_by_role("button", name=re.compile("^Completed")).click()
    assert "state=COMPLETED" in tab.url
    took = tab.get_by_role("columnheader", name="Took")
    took.get_by_role("button").click()
    expect(took).to_have_attribute("aria-sort", "descending")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="CSV").click()
    listed = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert served.run in {row["id"] for row in listed}
    assert {row["status"] for row in listed} == {"COMPLETED"}


def test_a_list_of_the_browser_is_filtered_sorted_and_downloaded(served: Served, open_screen: OpenScreen) -> None:
    url = quote(served.site.url("/"), safe="")
    links = served.server.api.get(f"/crawl-runs/{served.run}/links?url={url}")["outlinks"]
    tab = open_screen(served.port).open(f"/runs/{served.run}/page?url={url}&view=links")
    section = tab.get_by_role("region", name=re.compile("links on this page")).first
    rows = section.locator("tbody tr")
    expect(rows).to_have_count(len(links))
    heading = section.get_by_role("columnheader", name="Page")
    heading.get_by_role("button").click()
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    text = links[0]["target"]
    section.get_by_role("searchbox").fill(text)
    targets = [link["target"] for link in links if text in link["target"]]
    expect(rows).to_have_count(len(targets))
    assert "outlinks.q=" in tab.url
    with tab.expect_download() as download:
        section.get_by_role("button", name="CSV").click()
    listed = csv.DictReader(io.StringIO(download.value.path().read_text()))
    assert sorted(row["url"] for row in listed) == sorted(targets)
    tab.reload()
    expect(rows).to_have_count(len(targets))


def test_a_page_is_shown_in_every_view(served: Served, open_screen: OpenScreen) -> None:
    url = served.site.url("/")
    tab = open_screen(served.port).open(f"/runs/{served.run}/page?url={quote(url, safe='')}")
    expect(tab.locator("article.reading p").first).to_be_visible()
    for view, expected in (
        ("Markdown", "pre.source"), ("Text", "pre.source"), ("HTML", "pre.source >> text=<html"), ("Data", "text=Headings"),
        ("Links", "text=links on this page"), ("Why", "text=Outcome"),
    ):  # fmt: skip
        tab.get_by_role("tab", name=view, exact=True).click()
        expect(tab.locator(expected).first).to_be_visible()


def test_a_url_that_was_not_read_says_why(served: Served, open_screen: OpenScreen) -> None:
    tab = open_screen(served.port).open(f"/runs/{served.run}/page?url={quote('http://elsewhere.invalid/', safe='')}")
    expect(tab.get_by_role("heading", name="This page was not read in this run.")).to_be_visible()
    expect(tab.get_by_text("not discovered in this run")).to_be_visible()


def test_a_run_that_does_not_exist_and_a_screen_that_does_not_exist(served: Served, open_screen: OpenScreen) -> None:
    screen = open_screen(served.port)
    expect(screen.open("/runs/no-such-run").get_by_text("There is no run with this id.")).to_be_visible()
    expect(screen.open("/nowhere").get_by_text("There is no such page.")).to_be_visible()


def test_a_server_that_cannot_be_reached_is_named_and_tried_again(served: Served, open_screen: OpenScreen) -> None:
    screen = open_screen(served.port)
    api = re.compile(r":\d+/sites$")
    screen.page.route(api, lambda route: route.abort())
    tab = screen.open("/sites")
    expect(tab.get_by_text("The server cannot be reached.")).to_be_visible(timeout=30_000)
    screen.page.unroute(api)
    tab.get_by_role("button", name="Try again").click()
    expect(tab.get_by_role("heading", name="Sites")).to_be_visible()


def test_a_site_is_crawled_again_from_its_card(served: Served, open_screen: OpenScreen) -> None:
    tab = open_screen(served.port).open("/sites")
    tab.get_by_role("button", name="Crawl changes only").click()
    expect(tab).to_have_url(re.compile(r"/ui/runs/[0-9a-f-]{36}$"))
    expect(tab.get_by_text("Completed", exact=True)).to_be_visible(timeout=60_000)


@pytest.mark.parametrize("width", [360, 1280])
def test_no_screen_is_wider_than_its_window(served: Served, open_screen: OpenScreen, width: int) -> None:
    screen: Screen = open_screen(served.port, width=width)
    for path in screens(served):
        tab = screen.open(path)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, path


def screens(served: Served) -> list[str]:
    """Every screen and state that can be opened by its address."""
    run, url = served.run, quote(served.site.url("/"), safe="")
    views = ("reading", "markdown", "text", "html", "data", "links", "why")
    return [
        "/", "/new", "/new?once=1", "/runs", "/runs?state=FAILED", "/search", "/search?q=no-such-word-anywhere", "/sites",
        "/nowhere", f"/runs/{run}", f"/runs/{run}/urls",
        f"/runs/{run}/urls?q=nothing-like-this", f"/runs/{run}/urls?status=NOT_FOUND&sort=depth",
        f"/runs/{run}/urls?node={url}",
        f"/runs/{run}/lineage", f"/runs/{run}/lineage?view=graph", f"/runs/{run}/errors", "/runs/no-such-run",
        *(f"/runs/{run}/page?url={url}&view={view}" for view in views),
        f"/runs/{run}/page?url=http%3A%2F%2Felsewhere.invalid%2F",
    ]  # fmt: skip


def test_the_first_screen_loads_less_than_300_kb(served: Served, open_screen: OpenScreen) -> None:
    screen = open_screen(served.port)
    sizes: dict[str, int] = {}

    def record(answer: Response) -> None:
        if "/ui/" in answer.url:
            sizes[answer.url] = int(answer.headers.get("content-length", 0))

    screen.page.on("response", record)
    screen.open("/")
    assert not [url for url in sizes if "Graph" in url or "Page" in url]
    print("\nbytes of the first screen:", sum(sizes.values()))
    assert sum(sizes.values()) < 300_000
