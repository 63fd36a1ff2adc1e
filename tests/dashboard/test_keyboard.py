"""The way of a newcomer with the keyboard alone: every stop is visible, nothing holds the focus, and dialogs give it back."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from tests.dashboard.conftest import OpenScreen
from tests.dashboard.test_newcomer import PAGES
from tests.interfaces.test_api_process import serve_process
from tests.support.http_server import serve_site, site

TOKEN = "a-token-for-the-keyboard"
MOST_STOPS = 90
_IS_VISIBLE = """async () => {
  // Styles of the focus apply in the next frame.
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const at = document.activeElement;
  if (!at || at === document.body || at.id === 'content') return '';
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at);
  const isOutlined = (style) => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  const box = at.getBoundingClientRect();
  const isField = at.matches('input, select, textarea');
  // Fields change the colour of their border; boxes and switches outline what is drawn beside them.
  const primary = getComputedStyle(document.documentElement).getPropertyValue('--mantine-primary-color-filled').trim();
  const probe = document.createElement('i');
  probe.style.color = primary;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  const around = [at, at.nextElementSibling, at.parentElement].filter(Boolean).map((each) => getComputedStyle(each));
  const isShown = isOutlined({ outlineStyle, outlineWidth }) || boxShadow.includes('rgb')
    || around.some(isOutlined) || (isField && around.some((style) => style.borderTopColor === colour));
  const isInside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return isShown && isInside ? '' : `${isInside ? 'not outlined' : 'outside of the window'}: ${at.outerHTML.slice(0, 160)}`;
}"""


def check_focus(tab: Page) -> None:
    """Fail where the focus cannot be seen."""
    assert tab.evaluate(_IS_VISIBLE) == ""


def tab_to(tab: Page, target: Locator, key: str = "Tab") -> None:
    """Press Tab, or another key, until this has the focus."""
    expect(target).to_be_visible()
    for _ in range(MOST_STOPS):
        if target.evaluate("(element) => element === document.activeElement"):
            return
        tab.keyboard.press(key)
        check_focus(tab)
    at = tab.evaluate("document.activeElement.outerHTML.slice(0, 160)")
    raise AssertionError(f"{MOST_STOPS} times {key} does not lead to {target}, but to {at}")


def enter(tab: Page, target: Locator) -> None:
    tab_to(tab, target)
    tab.keyboard.press("Enter")


def open_tab(tab: Page, name: str) -> None:
    """Go to the strip of tabs, along it with the arrow keys, and open one."""
    tab_to(tab, tab.locator("[role=tab][aria-selected=true]"))
    target = tab.get_by_role("tab", name=name, exact=True)
    for _ in range(10):
        if target.evaluate("(element) => element === document.activeElement"):
            break
        tab.keyboard.press("ArrowRight")
        check_focus(tab)
    tab.keyboard.press("Enter")
    expect(target).to_have_attribute("aria-selected", "true")


def check_structure(tab: Page) -> None:
    """One main landmark, one first heading, a named navigation, and no level of headings left out."""
    expect(tab.get_by_role("main")).to_have_count(1)
    expect(tab.get_by_role("heading", level=1)).to_have_count(1)
    levels = tab.locator("main").evaluate(
        "(main) => [...main.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((each) => +each.tagName[1])"
    )
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_the_way_of_a_newcomer_needs_no_mouse(tmp_path: Path, open_screen: OpenScreen) -> None:
    with (
        serve_site(site(PAGES), host="localhost") as http_server,
        serve_process(tmp_path, http_server, env={"SITELORE_TOKENS": TOKEN}) as server,
    ):
        tab = open_screen(server.api.port).open("/")
        expect(tab.get_by_label("Token")).to_be_focused()
        tab.keyboard.type(TOKEN)
        tab.keyboard.press("Enter")
        start_a_crawl(tab, http_server.url("/"))
        expect(tab.get_by_text("Completed", exact=True)).to_be_visible(timeout=60_000)
        check_structure(tab)
        read_a_page(tab)
        search(tab)
        ignore_an_issue(tab)
        set_a_schedule(tab)
        tab_to(tab, tab.get_by_role("button", name="Sign out"), "Shift+Tab")  # the settings go on below for long
        tab.keyboard.press("Enter")
        expect(tab.get_by_label("Token")).to_be_focused()


def start_a_crawl(tab: Page, url: str) -> None:
    """The first stop of the keyboard is the way around the navigation."""
    expect(tab.get_by_label("Website address")).to_be_focused()
    check_structure(tab)
    tab_to(tab, tab.get_by_role("link", name="Skip to the content"))
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("main")).to_be_focused()
    tab_to(tab, tab.get_by_label("Website address"))
    tab.keyboard.type(url)
    tab.keyboard.press("Enter")


def read_a_page(tab: Page) -> None:
    open_tab(tab, "Pages")
    enter(tab, tab.get_by_role("region", name="Pages of the channel").get_by_role("link", name="/boats"))
    expect(tab.get_by_role("heading", name="Boats", level=1)).to_be_visible()
    expect(tab.get_by_role("main")).to_be_focused()
    check_structure(tab)
    open_tab(tab, "Data")


def search(tab: Page) -> None:
    """`/` leads to the field from everywhere on the screen."""
    enter(tab, tab.get_by_role("navigation", name="Main").get_by_role("link", name="Search"))
    expect(tab.get_by_text("not indexed yet")).to_have_count(0, timeout=60_000)
    tab_to(tab, tab.get_by_role("button", name="Search", exact=True))
    tab.keyboard.press("/")
    expect(tab.get_by_role("searchbox")).to_be_focused()
    tab.keyboard.type("nets")
    tab.keyboard.press("Enter")
    expect(tab.get_by_role("link", name="Nets").first).to_be_visible()
    check_structure(tab)


def ignore_an_issue(tab: Page) -> None:
    """A dialog takes the focus and gives it back."""
    enter(tab, tab.get_by_role("navigation", name="Main").get_by_role("link", name="Channels"))
    enter(tab, tab.get_by_role("main").get_by_role("link", name=re.compile("Harbour|localhost")).first)
    open_tab(tab, "Issues")
    enter(tab, tab.get_by_role("button", name="Check the site"))
    enter(tab, tab.get_by_role("button", name="Page is gone"))
    ignore = tab.get_by_role("button", name=re.compile("^Ignore")).first
    enter(tab, ignore)
    dialog = tab.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for _ in range(12):
        tab.keyboard.press("Tab")
        assert dialog.evaluate("(element) => element.contains(document.activeElement)"), "the focus leaves the dialog"
    tab.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(ignore).to_be_focused()
    tab.keyboard.press("Enter")
    tab_to(tab, dialog.get_by_label("Reason"))
    tab.keyboard.type("It is meant to be gone.")
    enter(tab, dialog.get_by_role("button", name="Ignore", exact=True))
    expect(dialog).to_have_count(0)
    check_structure(tab)


def set_a_schedule(tab: Page) -> None:
    open_tab(tab, "Settings")
    tab_to(tab, tab.get_by_label("Crawl it again"))
    tab.keyboard.type("Every M")
    expect(tab.get_by_label("Crawl it again")).to_have_value("weekly")
    enter(tab, tab.get_by_role("button", name="Save settings").first)
    expect(tab.get_by_text("Saved.", exact=True)).to_be_visible()
    check_structure(tab)
