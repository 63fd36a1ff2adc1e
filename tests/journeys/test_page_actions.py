"""Actions before reading: declared per domain, executed in the browser, bounded, and never a way around the guard."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.crawls import run_cli
from tests.support.http_server import Answer, prose, serve_site

from sitelore.app.settings import installed_browser
from sitelore.fetch.browser.chromium import Browser
from sitelore.fetch.browser.renderer import BrowserRenderer
from sitelore.fetch.guard import AddressGuard
from sitelore.model.response import Rendered, RenderRequest
from sitelore.model.settings import ActionKind, CrawlSettings, PageAction, Rendering
from sitelore.model.url import Url

MORE = """<button class=more onclick="
  fetch('/part?' + ++part).then(r => r.text()).then(t => {
    list.insertAdjacentHTML('beforeend', t); if (part == 3) this.remove()
  })
">More</button><script>let part = 0; const list = document.getElementById('list')</script>"""
PAGE = f"""<!doctype html><title>List</title><main><h1>List</h1><p>{prose("list", 60)}</p><ul id=list><li>part 0</li></ul>{MORE}
<button id=open onclick="this.outerHTML = '<p>opened by a click</p>'">Open</button>
<a id=away href=/elsewhere>away</a>
<button id=late onclick="setTimeout(() => list.insertAdjacentHTML('beforeend', '<li class=slow>slow</li>'), 900)">late</button>
<button id=spy onclick="fetch('CANARY/canary').then(() => list.append('LEA' + 'KED'))">spy</button></main>"""


def pages(canary: str = "http://127.0.0.1:9") -> dict[str, Answer | None]:
    parts = {f"/part?{number}": Answer(body=f"<li>part {number}</li>".encode()) for number in range(1, 9)}
    return {
        "/": Answer(body=PAGE.replace("CANARY", canary).encode()),
        "/elsewhere": Answer(body=b"<main>elsewhere</main>"),
        **parts,
    }


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    opened = Browser(installed_browser)
    if not opened.is_available():
        pytest.skip("no browser is available")
    yield opened
    await opened.close()


async def render(browser: Browser, url: str, *actions: PageAction, timeout_s: float = 20.0) -> Rendered:
    target = Url.parse(url)
    assert target is not None
    settings = CrawlSettings(rendering=Rendering(timeout_s=timeout_s))
    renderer = BrowserRenderer(browser, settings, AddressGuard((target.origin,)))
    try:
        rendered = await renderer.render(RenderRequest(target, actions=actions))
    finally:
        await renderer.close()
    assert isinstance(rendered, Rendered), rendered
    return rendered


def click(selector: str) -> PageAction:
    return PageAction(ActionKind.CLICK, selector)


def wait(selector: str) -> PageAction:
    return PageAction(ActionKind.WAIT, selector)


async def test_actions_change_the_page_before_it_is_read(browser: Browser) -> None:
    with serve_site(pages().get) as server:
        more = PageAction(ActionKind.LOAD_MORE, ".more", 10)
        rendered = await render(browser, f"{server.origin}/", click("#open"), more, click("#late"), wait(".slow"))
        text = rendered.response.body.decode()
        assert rendered.action_problems == ()
        for part in ("opened by a click", "part 1", "part 2", "part 3", "slow"):
            assert part in text
        assert "part 4" not in text
        limited = await render(browser, f"{server.origin}/", replace(more, times=2))
        assert "part 2" in limited.response.body.decode()
        assert "part 3" not in limited.response.body.decode()


FEED = f"""<!doctype html><title>Feed</title><main><h1>Feed</h1><p>{prose("feed", 60)}</p><div id=panel>Overview</div>
<button id=tab>Details</button><ul id=list></ul><div id=end style="height:10px"></div></main><script>
let part = 0, isBusy = false; const list = document.getElementById('list'), panel = document.getElementById('panel')
const more = async () => {{
  if (isBusy || part == 4) return
  isBusy = true
  const items = await (await fetch('/part?' + part++)).text()
  list.insertAdjacentHTML('beforeend', `<li style="height:900px">${{items}}</li>`)
  isBusy = false
}}
addEventListener('scroll', more); more()
document.getElementById('tab').onclick = async () => {{
  panel.textContent = 'Loading'
  panel.innerHTML = '<p>' + await (await fetch('/details')).text() + '</p>'
}}</script>"""


async def test_an_endless_list_is_scrolled_to_its_end_and_a_tab_is_opened(browser: Browser) -> None:
    feed: dict[str, Answer | None] = {
        "/": Answer(body=FEED.encode()),
        "/details": Answer(body=b"the second tab"),
        **{f"/part?{number}": Answer(body=f"story {number}".encode()) for number in range(4)},
    }
    actions = (PageAction(ActionKind.SCROLL, "end"), click("#tab"), wait("#panel p"))
    with serve_site(feed.get) as server:
        rendered = await render(browser, f"{server.origin}/", *actions)
    text = rendered.response.body.decode()
    assert rendered.action_problems == ()
    for content in ("story 0", "story 1", "story 2", "story 3", "the second tab"):
        assert content in text


async def test_an_action_that_does_not_work_is_reported_and_the_page_is_read(browser: Browser) -> None:
    with serve_site(pages().get) as server:
        actions = (click("#absent"), wait("#never"), click("#away"), click("#open"))
        rendered = await render(browser, f"{server.origin}/", *actions)
        hits = [hit.target for hit in server.hits]
    assert rendered.action_problems == (
        "action 1 (click '#absent'): no visible element matches",
        "action 2 (wait '#never'): no visible element matches within 4 s",
        "action 3 (click '#away'): it leads to another page, which was not opened",
    )
    assert "opened by a click" in rendered.response.body.decode()
    assert rendered.response.url == f"{server.origin}/"
    assert "/elsewhere" not in hits


async def test_what_an_action_loads_passes_the_address_guard(browser: Browser) -> None:
    with serve_site({"/canary": Answer(headers=(("Access-Control-Allow-Origin", "*"),))}.get) as canary:
        with serve_site(pages(canary.origin).get) as server:
            rendered = await render(browser, f"{server.origin}/", click("#spy"))
        assert "LEAKED" not in rendered.response.body.decode()
        assert canary.hits == []


async def test_actions_end_with_their_time(browser: Browser) -> None:
    with serve_site(pages().get) as server:
        endless = [wait(f"#never-{number}") for number in range(8)]
        rendered = await asyncio.wait_for(render(browser, f"{server.origin}/", *endless, timeout_s=1.0), 60)
    assert rendered.action_problems[-1] == "action 8 (wait '#never-7'): the time limit has passed"


def test_a_crawl_executes_the_actions_of_its_domain_and_explains_those_that_fail(tmp_path: Path) -> None:
    if installed_browser() is None:
        pytest.skip("no browser is available")
    config = tmp_path / "site.json"
    actions = [{"load_more": ".more", "times": 10}, {"click": "#absent"}]
    config.write_text(json.dumps({"domain": "127.0.0.1", "actions": actions}), encoding="utf-8")
    data = str(tmp_path / "data")
    with serve_site(pages().get) as server:
        done = run_cli("crawl", f"{server.origin}/", "--max-pages", "1", "--domain-config", str(config), "--data", data)
        assert done.code == 0, done.err
        explained = run_cli("explain", f"{server.origin}/", "--data", data)
    text = (next((tmp_path / "data" / "pages").rglob("*.md"))).read_text(encoding="utf-8")
    assert "part 3" in text
    assert "action 2 (click '#absent'): no visible element matches" in " ".join(explained.out.split())


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"actions": [{"click": "#a["}]}, "actions, item 1: '#a[' is not a CSS selector"),
        (
            {"actions": [{"hover": "#a"}]},
            "actions, item 1 must be an object with one of the keys click, scroll, load_more, wait",
        ),
        ({"actions": [{"scroll": "top"}]}, "actions, item 1: scroll must be end, not 'top'"),
        ({"actions": [{"load_more": "#a", "times": 0}]}, "actions, item 1: times must be a number from 1 to 100, not 0"),
        ({"actions": [{"click": "#a", "times": 2}]}, "unknown key 'times' in actions, item 1"),
        ({"actions": [{"click": "#a"}], "render": "never"}, "actions need a browser, but render is never"),
        ({"loggedOut": {"selektor": "#a"}}, "unknown key 'selektor' in loggedOut (did you mean 'selector'?)"),
        ({"loggedOut": {"text": ""}}, "loggedOut.text must be text, not ''"),
    ],
)
def test_a_mistake_in_the_config_names_the_entry_and_the_key(entry: dict[str, object], message: str, tmp_path: Path) -> None:
    config = tmp_path / "site.json"
    config.write_text(json.dumps({"domain": "example.com", **entry}), encoding="utf-8")
    done = run_cli("crawl", "http://127.0.0.1:9/", "--domain-config", str(config), "--data", str(tmp_path / "data"))
    assert done.code == 2
    assert message in done.err
