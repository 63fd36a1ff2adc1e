"""axe-core finds nothing serious or critical on any screen, in light and dark colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conventions.project import ROOT
from tests.dashboard.conftest import OpenScreen, Screen, Served
from tests.dashboard.test_screens import screens
from tests.interfaces.test_api_process import serve_process
from tests.support.http_server import serve_site

AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """async () => {
  const transitions = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
  await Promise.all(transitions.map(({ finished }) => finished.catch(() => null)));
  const { violations } = await axe.run(document, { resultTypes: ['violations'] });
  const shown = ({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`;
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(shown).join(' | ')}`);
}"""


def findings(screen: Screen) -> list[str]:
    screen.page.evaluate(AXE.read_text(encoding="utf-8"))
    violations: list[str] = screen.page.evaluate(_RUN)
    return violations


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_screen(served: Served, open_screen: OpenScreen, scheme: str) -> None:
    screen = open_screen(served.port, scheme=scheme)
    wrong: dict[str, Any] = {}
    for path in screens(served):
        screen.open(path)
        if violations := findings(screen):
            wrong[path] = violations
    assert wrong == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_a_phone_and_in_open_menus(served: Served, open_screen: OpenScreen, scheme: str) -> None:
    screen = open_screen(served.port, width=390, height=844, scheme=scheme)
    tab = screen.open(f"/runs/{served.run}")
    tab.get_by_role("button", name="Open the menu").click()
    assert findings(screen) == []
    tab.get_by_role("button", name="Close the menu").click()
    tab.get_by_role("button", name="Export").click()
    tab.get_by_role("menuitem").first.wait_for()
    assert findings(screen) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_a_run_goes_on(served: Served, open_screen: OpenScreen, scheme: str) -> None:
    served.site.delay_s = 0.2
    try:
        run = served.server.api.start(served.site.url("/"), demoDelayMs=100)
        screen = open_screen(served.port, scheme=scheme)
        tab = screen.open(f"/runs/{run}")
        tab.get_by_text("Live", exact=True).wait_for()
        assert findings(screen) == []
        tab.get_by_role("button", name="Cancel", exact=True).click()
        tab.get_by_role("dialog").wait_for()
        assert findings(screen) == []
        tab.get_by_role("button", name="Cancel the run").click()
        tab.get_by_text("Cancelled", exact=True).wait_for()
        screen.open("/")
        assert findings(screen) == []
    finally:
        served.site.delay_s = 0.0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_before_the_first_crawl_and_at_the_sign_in(
    tmp_path: Path, open_screen: OpenScreen, scheme: str
) -> None:
    with (
        serve_site(lambda _: None) as http_server,
        serve_process(tmp_path, http_server, env={"SITELORE_TOKENS": "a-token-for-the-dashboard"}) as server,
    ):
        screen = open_screen(server.api.port, scheme=scheme)
        tab = screen.open("/")
        assert findings(screen) == []
        tab.get_by_label("Token").fill("wrong")
        tab.get_by_role("button", name="Sign in").click()
        tab.get_by_text("The server does not know this token.").wait_for()
        assert findings(screen) == []
        tab.get_by_label("Token").fill("a-token-for-the-dashboard")
        tab.get_by_role("button", name="Sign in").click()
        tab.get_by_text("Turn a website into searchable knowledge").wait_for()
        assert findings(screen) == []
        tab.get_by_role("button", name="Options").click()
        tab.get_by_label("Pages at most").wait_for()
        assert findings(screen) == []
        tab.get_by_label("Website address").fill("http://10.0.0.1/")
        tab.get_by_role("button", name="Start").click()
        tab.get_by_text("This address may not be crawled").wait_for()
        assert findings(screen) == []
