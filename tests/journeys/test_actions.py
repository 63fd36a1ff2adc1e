"""Forms, actions and brand of a site, from the crawl to the exported files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
from tests.support.crawls import crawl_in, crawl_settings, run_cli
from tests.support.http_server import Answer, prose, serve_site

from sitelore.app.wiring import embedded
from sitelore.export.action_manifest import manifest_schema
from sitelore.export.formats import ExportSource, write_manifest
from sitelore.export.pages import document_of
from sitelore.extract.page_objects.brand import brand_probe, pack_probe, unpack_probe
from sitelore.fetch.browser.chromium import find_browser

HEAD = """<!doctype html><html lang=en><head><title>{0}</title><style>:root{{--primary:222 47% 11%;--secondary:24 95% 53%}}
@font-face{{font-family:__Inter_abc123;src:url(x.woff2)}}</style></head><body><header><nav><a href=/>Home</a>
<a href=/contact>Contact us</a><a href=/kettle>Kettle</a></nav>
<form role=search action=/search><input name=q type=search required aria-label=Search></form></header>"""
CONTACT = """<form method=post action=/send><label>E-mail <input type=email name=email required></label>
<textarea name=message required></textarea><button>Send</button></form>"""
NEWSLETTER = "<form method=post action=/newsletter><input type=email name=mail><button>Subscribe</button></form>"
STYLED = """<style>@layer base{:root{--primary:222.2 47.4% 11.2%}} .dark{--primary:0 0% 98%}
@font-face{font-family:'__Inter_abc123';src:local(Arial)} body{font-family:'__Inter_abc123',sans-serif}
.cta{background:#e11d48}</style><header><button style="background:transparent">Ghost</button><a class=cta>Buy</a></header>
<h1>x"""


async def test_a_browser_reports_the_colours_of_a_home_page() -> None:
    browser_path = find_browser()
    if browser_path is None:
        pytest.skip("there is no Chromium on this machine")
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=browser_path.path, args=["--no-sandbox"])
        page = await browser.new_page()
        await page.set_content(STYLED)
        before = await page.content()
        probed = await page.evaluate(brand_probe())
        assert await page.content() == before
        await browser.close()
    assert unpack_probe(pack_probe(probed)) == {
        "variables": {"--primary": "#0f172a"},
        "buttons": ["#e11d48"],
        "backgrounds": [],
        "faces": ["Inter"],
        "fonts": {"body": "Inter", "h1": "Inter"},
    }


class Shop:
    """Three pages with a form or an action each; `more` adds another action."""

    def __init__(self) -> None:
        self.more = ""

    def __call__(self, target: str) -> Answer | None:
        pages = {
            "/": f"<main><h1>Shop</h1><p>{prose('home')}</p>{self.more}</main>",
            "/contact": f"<main><h1>Contact</h1><p>{prose('contact')}</p>{CONTACT}</main>",
            "/kettle": f"<main><h1>Kettle</h1><p>{prose('kettle')}</p><i data-action=cart.add data-sku=k>Add</i></main>",
        }
        return Answer(body=(HEAD.format(target) + pages[target]).encode()) if target in pages else None


async def test_forms_and_actions_of_a_site_become_a_manifest_that_changes_only_with_them(tmp_path: Path) -> None:
    data, out, shop = tmp_path / "data", tmp_path / "actions.json", Shop()
    with serve_site(shop) as http_server:
        settings = crawl_settings(http_server.url(), force=True, discover_sitemaps=False, obey_robots=False)
        async with embedded(data, writing=True) as app:
            result = await crawl_in(app, settings)
            home, kettle = [await document_of(result.rows[http_server.url(path)], app.blobs) for path in ("/", "/kettle")]
            assert (home["brand"]["primary_color"], home["brand"]["font_primary"]) == ("#0f1729", "Inter")
            assert kettle["brand"] == {}
            manifest, is_new = await write_manifest(ExportSource(result.run, app.ledger, app.blobs), out)
            first = out.read_bytes()
            assert is_new
            assert [(action["id"], action["pages"]) for action in manifest["actions"]] == [
                ("contact", 1),
                ("search", 3),
                ("cart_add", 1),
                ("contact_open", 3),
            ]
            jsonschema_rs.validate(manifest_schema(), json.loads(first))
            shop.more = "<p>Another sentence.</p>"
            run = (await crawl_in(app, settings)).run
            manifest, is_new = await write_manifest(ExportSource(run, app.ledger, app.blobs), out)
            assert (manifest["version"], is_new, out.read_bytes()) == (1, False, first)
            shop.more = NEWSLETTER
            await crawl_in(app, settings)
    assert run_cli("export", "latest", "--data", str(data), "--format", "actions", "--out", str(out)).code == 0
    assert json.loads(out.read_bytes())["version"] == 2
    tools = json.loads(run_cli("export", "latest", "--data", str(data), "--format", "tools").out)
    assert [tool["name"] for tool in tools["mcp"]] == ["contact", "newsletter", "search", "cart_add"]
    assert tools["openai"][0]["function"]["parameters"]["required"] == ["email", "message"]
