"""Issues, insights and the parts of a page, in a real browser over a site with seeded faults that was crawled twice."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from tests.dashboard.checked_site import CheckedSite, serve_checked_site
from tests.dashboard.conftest import OpenScreen, Screen
from tests.dashboard.test_accessibility import findings


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CheckedSite]:
    with serve_checked_site(tmp_path_factory.mktemp("checked")) as site:
        yield site


def card(tab: Page, title: str) -> None:
    """Open the card of a rule."""
    tab.get_by_role("button", name=re.compile(title)).click()


def count(text: str) -> int:
    return int(re.sub(r"\D", "", text))


def test_issues_are_counted_by_severity_and_subject_and_every_link_names_its_source(
    checked: CheckedSite, open_screen: OpenScreen
) -> None:
    audit = checked.get("/audits")["audits"][0]
    tab = open_screen(checked.port).open(f"{checked.path}/issues")
    score = audit["score"]
    expect(tab.get_by_text(f"{score['clean']} of {score['indexable']} indexable pages without an error")).to_be_visible()
    expect(tab.get_by_text(re.compile(r"^\d+ rules checked on 14 pages$"))).to_be_visible()
    errors = tab.get_by_role("group", name="Severity").get_by_role("button", name=re.compile("^Errors"))
    assert count(errors.inner_text()) == audit["findings"]["by_severity"]["error"]

    card(tab, "Page is gone")
    expect(tab.get_by_text("The URL is linked or listed in a sitemap").first).to_be_visible()
    lost = tab.locator(".finding").filter(has_text="/nowhere")
    expect(lost.get_by_text("Linked from")).to_be_visible()
    expect(lost.get_by_role("link", name=re.compile(r"shop.5$"))).to_be_visible()
    expect(lost.get_by_text("“link 2”")).to_be_visible()

    errors.click()
    assert "severity=error" in tab.url
    rules = {each["rule"] for each in checked.get("/issues")["issues"] if each["severity"] == "error"}
    expect(tab.locator("h2 button")).to_have_count(len(rules))


def test_the_findings_of_a_rule_are_filtered_paged_and_downloaded(checked: CheckedSite, open_screen: OpenScreen) -> None:
    tab = open_screen(checked.port).open(f"{checked.path}/issues")
    card(tab, "Page is gone")
    region = tab.get_by_role("region", name=re.compile("Page is gone"))
    own = checked.get("/findings?rule=page-gone&limit=1000")["findings"]
    listed = region.locator(".finding")
    expect(listed).to_have_count(len(own))
    region.get_by_role("searchbox").fill("nowhere")
    expect(listed).to_have_count(1)
    assert "rule=page-gone" in tab.url
    assert "page-gone.q=nowhere" in tab.url
    with tab.expect_download() as download:
        region.get_by_role("link", name="JSON").click()
    assert [each["url"] for each in json.loads(download.value.path().read_text())] == [f"{checked.http_server.origin}/nowhere"]
    tab.reload()
    expect(listed).to_have_count(1)
    region.get_by_role("searchbox").fill("no such finding")
    expect(region.get_by_text("No finding matches these filters.")).to_be_visible()
    region.get_by_role("button", name="Clear filters").last.click()
    expect(listed).to_have_count(len(own))
    states = checked.get("/findings?rule=page-gone")["by_status"]
    assert states["open"] == len(own)

    card(tab, "Page without a title")
    title = tab.get_by_role("region", name=re.compile("Page without a title"))
    expect(title.locator(".finding")).to_have_count(1)
    card(tab, "Page is gone")
    assert "rule=page-gone" not in tab.url


def test_a_fix_is_shown_as_html_before_and_after(checked: CheckedSite, open_screen: OpenScreen) -> None:
    tab = open_screen(checked.port).open(f"{checked.path}/issues")
    card(tab, "No viewport for small screens")
    tab.locator(".finding").first.get_by_role("button", name="Show the change").click()
    expect(tab.locator(".fragment-after").first).to_contain_text('<meta name="viewport"')
    expect(tab.locator(".fragment-before").first).not_to_contain_text("viewport")


def test_a_finding_is_ignored_with_a_reason_and_taken_back(checked: CheckedSite, open_screen: OpenScreen) -> None:
    screen = open_screen(checked.port)
    tab = screen.open(f"{checked.path}/issues")
    card(tab, "Image without an alt text")
    tab.get_by_role("button", name="Ignore …").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Ignore", exact=True)).to_be_disabled()
    dialog.get_by_label("Reason").fill("a decoration")
    dialog.get_by_label("Until (optional)").fill("2999-12-31")
    assert findings(screen) == []
    dialog.get_by_role("button", name="Ignore", exact=True).click()
    expect(tab.get_by_role("button", name=re.compile("Image without an alt text"))).to_have_count(0)

    tab.get_by_text("Ignored", exact=True).last.click()
    card(tab, "Image without an alt text")
    expect(tab.get_by_text(re.compile("Ignored by .*: a decoration, until"))).to_be_visible()
    tab.get_by_role("button", name="Take back").click()
    expect(tab.get_by_text("Nothing is ignored.")).to_be_visible()
    assert checked.get("/findings?rule=image-alt-missing")["pagination"]["total"] == 1


def test_new_findings_are_filtered_and_exported(checked: CheckedSite, open_screen: OpenScreen) -> None:
    tab = open_screen(checked.port).open(f"{checked.path}/issues")
    tab.get_by_role("button", name="New since last run").click()
    new = checked.get("/findings?new=true&limit=1000")["findings"]
    expect(tab.get_by_role("button", name=re.compile("Page without a title"))).to_be_visible()
    expect(tab.get_by_role("button", name=re.compile("Several redirects in a row"))).to_have_count(0)
    with tab.expect_download() as download:
        tab.get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert {row["key"] for row in rows} == {each["id"] for each in new}


def test_a_site_that_was_not_checked_is_checked_on_demand(checked: CheckedSite, open_screen: OpenScreen) -> None:
    run = checked.server.api.call("POST", "/demo").json
    checked.server.api.finish(run["id"])
    screen = open_screen(checked.port)
    tab = screen.open(f"/runs/{run['id']}")
    tab.get_by_role("link", name="Issues").click()
    expect(tab.get_by_text("This site was not checked yet.")).to_be_visible()
    assert findings(screen) == []
    tab.get_by_role("button", name="Check the site").click()
    expect(tab.get_by_text(re.compile(r"rules checked on \d+ pages"))).to_be_visible(timeout=60_000)
    expect(tab.get_by_role("button", name="Check again")).to_be_enabled()
    screen.open(tab.url.partition("/ui")[2].replace("/issues", "/insights"))
    expect(tab.get_by_text("This needs an earlier run that read the whole site.")).to_be_visible()


def test_insights_show_figures_as_charts_with_tables_and_definitions(checked: CheckedSite, open_screen: OpenScreen) -> None:
    insights = checked.get("/insights")["insights"]
    tab = open_screen(checked.port).open(f"{checked.path}/insights")
    honesty = tab.get_by_role("region", name="What was read").first
    expect(honesty.get_by_text(f"{insights['run_honesty']['discovered']} URLs discovered")).to_be_visible()
    total = honesty.get_by_role("row", name=re.compile("^Total")).get_by_role("cell")
    expect(total).to_have_text(str(insights["run_honesty"]["discovered"]))
    honesty.get_by_role("button", name="What is “What was read”?").click()
    expect(honesty.get_by_text("The parts add up.")).to_be_visible()

    movement = tab.get_by_role("region", name="Changes since the run before").first
    expect(movement.get_by_role("row", name=re.compile(r"New .*shop.10"))).to_be_visible()
    expect(movement.get_by_role("row", name=re.compile(r"Gone .*de"))).to_be_visible()
    charts = tab.get_by_role("img")
    names = [chart.get_attribute("aria-label") or "" for chart in charts.all()]
    assert {name.partition(":")[0] for name in names} >= {
        "What was read", "Click depth", "Number of pages by rank", "Redirects by length", "Score in percent", "Open findings",
    }  # fmt: skip
    expect(tab.get_by_role("region", name="Pages without links to them").first.get_by_text("/alone")).to_be_visible()
    expect(tab.get_by_role("region", name="Translations").first.get_by_text("error")).to_be_visible()
    expect(tab.get_by_role("region", name="Link health").first.get_by_text("/nowhere")).to_be_visible()
    expect(tab.get_by_role("region", name="Structured data").first.get_by_text("Product")).to_be_visible()

    heading = tab.locator("table.small-rows th").filter(has_text=re.compile("^Section")).first
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert "order=desc" in tab.url
    tab.get_by_label("Compare with").select_option(checked.runs[0])
    expect(
        tab.get_by_role("region", name="Comparison").first.get_by_role("row", name=re.compile("^Broken targets"))
    ).to_contain_text("+")
    tab.get_by_label("Run", exact=True).select_option(checked.runs[0])
    expect(tab.get_by_text("This needs an earlier run that read the whole site.")).to_be_visible()


def test_topics_and_unanswered_searches_are_shown_where_an_audit_has_them(
    checked: CheckedSite, open_screen: OpenScreen
) -> None:
    screen = open_screen(checked.port)
    tab = screen.open(f"{checked.path}/insights")
    expect(tab.get_by_role("region", name="Topics by section").first).to_be_visible()
    expect(tab.get_by_role("region", name="Topics by meaning")).to_have_count(0)
    expect(tab.get_by_role("region", name="Searches without an answer")).to_have_count(0)
    shop = f"{checked.http_server.origin}/shop/1"
    query = {"query": "opening hours", "searches": 12, "without_results": 7, "weak": 2, "last_at": 0}
    more = {
        "chunk_clusters": {
            "clustered": 200,
            "chunks": 300,
            "clusters": [{"label": "lamps, oil", "chunks": 40, "pages": 9, "similarity": 0.7, "examples": [shop]}],
        },
        "unanswered_queries": {"searches": 30, "queries": 8, "unanswered": [query]},
    }
    answer = checked.get("/insights")
    answer["insights"] |= more
    screen.page.route(
        re.compile(r"/insights(\?|$)"),
        lambda route: route.fulfill(json=answer) if "/ui/" not in route.request.url else route.continue_(),
    )
    tab = screen.open(f"{checked.path}/insights")
    topics = tab.get_by_role("region", name="Topics by meaning").first
    expect(topics.get_by_role("row", name=re.compile(r"lamps, oil 40 9 .*shop.1"))).to_be_visible()
    expect(topics.get_by_text("From a sample of 200 of 300 passages.")).to_be_visible()
    searches = tab.get_by_role("region", name="Searches without an answer").first
    expect(searches.get_by_role("row", name="opening hours 12 7 2")).to_be_visible()


def test_a_page_shows_what_changed_in_each_version(checked: CheckedSite, open_screen: OpenScreen) -> None:
    screen = open_screen(checked.port)
    tab = screen.open(checked.page("/shop/1", "diff"))
    expect(tab.get_by_text("Version 2 of 2")).to_be_visible()
    expect(tab.locator(".diff ins")).to_have_text(" It is made of oak.")
    lines = tab.locator(".diff-line").count()
    screen.open(checked.page("/shop/4", "diff"))
    expect(tab.locator(".diff del").first).to_contain_text("Sold out.")
    tab.get_by_role("button", name="Older version").click()
    expect(tab.get_by_text("This is the first version.")).to_be_visible()
    tab.get_by_role("switch", name="Changes only").click()
    screen.open(checked.page("/shop/1", "diff"))
    expect(tab.get_by_role("switch", name="Changes only")).not_to_be_checked()
    assert tab.locator(".diff-line").count() >= lines
    screen.open(checked.page("/twin-a", "diff"))
    expect(tab.get_by_text("The page has one version so far.")).to_be_visible()


def test_a_page_shows_its_passages_media_issues_and_other_addresses(checked: CheckedSite, open_screen: OpenScreen) -> None:
    screen = open_screen(checked.port)
    tab = screen.open(checked.page("/shop/1", "chunks"))
    expect(tab.get_by_role("region", name=re.compile("^Passage 1"))).to_contain_text("It is made of oak.")
    screen.open(checked.page("/", "media"))
    expect(tab.get_by_role("row", name=re.compile("chair.png no alternative text"))).to_be_visible()
    screen.open(checked.page("/shop/5", "issues"))
    expect(tab.get_by_text("Page without a title")).to_be_visible()
    screen.open(checked.page("/shop/1"))
    expect(tab.get_by_role("region", name="Other addresses")).to_contain_text("/older")


def test_data_of_a_page_are_tables_with_their_json_folded(checked: CheckedSite, open_screen: OpenScreen) -> None:
    tab = open_screen(checked.port).open(checked.page("/shop/2", "data"))
    structured = tab.get_by_role("region", name="Structured data (1)")
    expect(structured.get_by_role("heading", name="Product")).to_be_visible()
    expect(structured.get_by_text("JSON-LD", exact=True)).to_be_visible()
    expect(structured.get_by_role("definition").filter(has_text="Chair")).to_be_visible()
    expect(structured.locator("pre")).to_be_hidden()
    structured.get_by_text("As JSON").click()
    expect(structured.locator("pre")).to_contain_text('"types"')
    expect(tab.get_by_text("Not on this page: Contacts, Forms")).to_be_visible()


def test_arrow_keys_go_to_the_pages_before_and_after(checked: CheckedSite, open_screen: OpenScreen) -> None:
    tab = open_screen(checked.port).open(checked.page("/"))
    expect(tab.get_by_role("button", name="Previous page")).to_be_disabled()
    expect(tab.get_by_role("button", name="Next page")).to_be_enabled()
    first = tab.url
    tab.keyboard.press("ArrowRight")
    expect(tab.get_by_role("button", name="Previous page")).to_be_enabled()
    assert tab.url != first
    tab.keyboard.press("ArrowLeft")
    expect(tab).to_have_url(first)


def test_a_run_shows_its_hosts_and_events(checked: CheckedSite, open_screen: OpenScreen) -> None:
    screen = open_screen(checked.port)
    tab = screen.open(f"/runs/{checked.runs[1]}/hosts")
    expect(tab.get_by_role("row", name=re.compile(f"^{checked.site}"))).to_contain_text("Run has ended")
    tab.get_by_role("tab", name="Events").click()
    expect(tab.get_by_role("row", name=re.compile("Run started"))).to_be_visible()
    expect(tab.get_by_role("row", name=re.compile("New page .*shop.10"))).to_be_visible()


def screens(checked: CheckedSite) -> list[str]:
    """The screens of this module."""
    run = checked.runs[1]
    views = ("", "diff", "chunks", "media", "issues")
    return [
        f"{checked.path}/issues", f"{checked.path}/issues?show=ignored", f"{checked.path}/issues?new=true&severity=error",
        f"{checked.path}/issues?rule=page-gone&page-gone.q=nowhere", f"{checked.path}/issues?rule=page-gone&page-gone.q=none",
        "/page?url=", f"/page?site={checked.site}&url={quote(f'{checked.http_server.origin}/shop/1', safe='')}&view=chunks",
        f"{checked.path}/insights", f"{checked.path}/insights?compare={checked.runs[0]}", "/sites/unknown/issues",
        f"/runs/{run}/hosts", f"/runs/{run}/events", *(checked.page("/shop/1", view) for view in views),
    ]  # fmt: skip


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1280)])
def test_axe_finds_nothing_serious_and_no_screen_is_wider_than_its_window(
    checked: CheckedSite, open_screen: OpenScreen, scheme: str, width: int
) -> None:
    screen: Screen = open_screen(checked.port, scheme=scheme, width=width)
    wrong: dict[str, object] = {}
    for path in screens(checked):
        tab = screen.open(path)
        if (violations := findings(screen)) or tab.evaluate("document.documentElement.scrollWidth") > width:
            wrong[path] = violations or "too wide"
    assert wrong == {}
