"""Single-page applications are rendered in a browser where that is needed, and only there."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.crawls import CrawlResult, crawl_in, crawl_settings
from tests.support.http_server import Answer, HttpServer, Pages, page, prose, serve_site, site
from tests.support.spa import SPA_SITES, Article, articles, document, react, static_site

from sitelore.app.app import App
from sitelore.app.operations.deletion import soft_delete_unreferenced_media
from sitelore.app.wiring import embedded
from sitelore.crawl.context import Progress, read_options_of
from sitelore.crawl.reprocess import Reprocessed, Reprocessing
from sitelore.export.formats import ExportSource, write_tree
from sitelore.fetch.browser.chromium import Browser
from sitelore.fetch.browser.renderer import BrowserRenderer
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.platform.channels import ChannelSettings, PageListing, Screenshots, Trigger
from sitelore.model.platform.media import screenshot_key
from sitelore.model.response import Failure, RenderFailure, RenderRequest
from sitelore.model.settings import Overrides, Rendering, RenderMode
from sitelore.platform.channels.channels import ChannelService


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """An app with a browser."""
    async with embedded(tmp_path / "data", writing=True) as app:
        if not app.browser.is_available():
            pytest.skip("there is no browser on this machine")
        yield app


async def _documents(app: App, result: CrawlResult, http_server: HttpServer) -> dict[str, dict[str, Any]]:
    paths = result.kept(http_server.origin)
    rows = {url.removeprefix(http_server.origin): row for url, row in result.rows.items()}
    return {path: json.loads(await app.blobs.get(row.document)) for path, row in rows.items() if path in paths and row.document}


async def _markdown(app: App, result: CrawlResult, http_server: HttpServer) -> dict[str, str]:
    documents = await _documents(app, result, http_server)
    return {path: document["markdown"].replace(http_server.origin, "") for path, document in documents.items()}


def _rendering(mode: RenderMode, **more: Any) -> Rendering:
    return Rendering(mode=mode, **more)


async def test_rendered_pages_have_the_same_markdown_as_their_static_versions(app: App) -> None:
    expected: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for name, kind in SPA_SITES.items():
        with serve_site(kind.static_site) as http_server:
            result = await crawl_in(app, crawl_settings(http_server.url()))
            expected[name] = (await _markdown(app, result, http_server), result.states(http_server.origin))
            assert set(expected[name][0]) == set(kind.pages)
    assert app.browser.starts == 0, "no static site needs a browser"
    for name, kind in SPA_SITES.items():
        with serve_site(kind.spa) as http_server:
            result = await crawl_in(app, crawl_settings(http_server.url()))
            documents = await _documents(app, result, http_server)
            assert (name, await _markdown(app, result, http_server)) == (name, expected[name][0])
            assert (name, result.states(http_server.origin)) == (name, expected[name][1])
            modes = {document["rendering"]["mode"] for document in documents.values()}
            assert (name, modes) == (name, {"browser" if kind.needs_browser else "http"})
            assert all(("evidence" in document["rendering"]) is kind.needs_browser for document in documents.values())
    assert app.browser.starts == 1, "all sites share one browser"


STATIC = {
    "/": document(
        "<header><a href='/contact'>Contact</a></header><main><h1>Welcome</h1><p>A short word of welcome.</p>"
        "<a href='/picture'>Picture</a> <a href='/hydrated'>App</a></main><div id='fb-root'></div><p id='m'></p>",
        "<script src='https://www.googletagmanager.com/gtag/js?id=1'></script><script src='/js/jquery.min.js'></script>",
    ),
    "/contact": document("<h1>Contact</h1><p>Write to us.</p><script>document.documentElement.className = 'js'</script>"),
    "/picture": document("<img src='/big.jpg' alt=''><script src='/gallery.js'></script>"),
    "/hydrated": document(
        f"<div id='root'><main><h1>Hydrated</h1><p>{prose('hydrated', 30)}</p></main></div>"
        "<noscript>You need to enable JavaScript to run this app.</noscript><script src='/static/js/main.1.js'></script>"
    ),
}


async def test_a_static_site_never_starts_a_browser(app: App) -> None:
    with serve_site(site(STATIC)) as http_server:
        result = await crawl_in(app, crawl_settings(http_server.url()))
        assert result.kept(http_server.origin) == set(STATIC)
        assert len(http_server.targets()) == len(STATIC)
        assert {document["rendering"]["reason"] for document in (await _documents(app, result, http_server)).values()} == {
            "static"
        }
    assert result.counts.rendering == {}
    assert app.browser.starts == 0


async def test_later_runs_go_straight_to_the_browser(app: App) -> None:
    pages = articles()
    with serve_site(react(pages)) as http_server:
        first = await crawl_in(app, crawl_settings(http_server.url()))
        assert first.counts.rendering == {"shell": 5}
        assert {path: Counter(http_server.targets())[path] for path in pages} == dict.fromkeys(pages, 2), (
            "over HTTP, then in the browser"
        )
        http_server.clear_log()
        grown = articles(5)
        http_server.pages = react(grown)
        second = await crawl_in(app, crawl_settings(http_server.url()))
        assert {path: Counter(http_server.targets())[path] for path in grown} == dict.fromkeys(grown, 1)
        assert second.counts.rendering == {"known_page": 5, "known_site": 1}
        assert (second.counts.changed, second.counts.new) == (2, 1), "the new page and the pages that link to it"
        http_server.clear_log()
        third = await crawl_in(app, crawl_settings(http_server.url(), force=True))
        assert third.counts.rendering == {"shell": 6}, "--force checks again whether a browser is needed"
        http_server.clear_log()
        never = await crawl_in(app, crawl_settings(http_server.url(), rendering=_rendering(RenderMode.NEVER)))
        assert never.counts.rendering == {}
        assert all(hit.conditional for hit in http_server.hits if hit.target in never.states(http_server.origin))
        assert set(never.states(http_server.origin).values()) == {"NOT_MODIFIED"}, (
            "the rendered content is kept, there is nothing newer"
        )


@pytest.mark.timeout(300)  # ten browsers are started, which takes long on a busy machine
async def test_a_browser_that_is_killed_over_and_over_loses_no_page(app: App, tmp_path: Path) -> None:
    pages = articles(15)
    with serve_site(react(pages)) as http_server:
        undisturbed = await crawl_in(app, crawl_settings(http_server.url(), concurrency=1))
        expected = await _documents(app, undisturbed, http_server)
        async with embedded(tmp_path / "other", writing=True) as other:
            victim = KilledBrowser(set(random.Random(5).sample(sorted(pages), 14)), {process.pid for process in _browsers()})
            http_server.pages = victim.struck(react(pages))
            result = await crawl_in(other, crawl_settings(http_server.url(), concurrency=3))
            assert victim.killed == 10
            assert other.browser.starts > 10
            assert await _documents(other, result, http_server) == expected, "no page is lost, however many pages were open"
    assert result.counts.pages == len(pages)
    assert result.counts.rendering == {"shell": len(pages)}


@dataclass(slots=True)
class KilledBrowser:
    """A browser that is killed while it waits for one of these pages; each page kills it at most once.

    Pages that were open at that time are fetched again, and may then kill the browser themselves.
    """

    targets: set[str]
    spared: set[int]
    requests: Counter[str] = field(default_factory=Counter)
    killed: int = 0

    def struck(self, pages: Pages) -> Pages:
        """The pages, served so that each kills the browser once."""

        def answer(target: str) -> Answer | None:
            self.requests[target] += 1
            if (
                target in self.targets and self.requests[target] >= 2 and self.killed < 10
            ):  # first over HTTP, then by the browser
                for process in _browsers():
                    if process.pid not in self.spared:
                        self.targets.discard(target)
                        self.spared.add(process.pid)
                        self.killed += 1
                        process.kill()
            return pages(target)

        return answer


def _browsers() -> list[psutil.Process]:
    """Browser processes that this process started, without those of their tabs."""
    browsers = []
    for process in psutil.Process().children(recursive=True):
        try:
            line = process.cmdline()
        except psutil.Error:
            continue
        if line and "chrom" in line[0] and not any(word.startswith("--type=") for word in line):
            browsers.append(process)
    return browsers


async def test_settings_and_domain_rules_decide_about_rendering_before_the_content_does(app: App) -> None:
    pages = articles(2)
    with serve_site(static_site(pages)) as http_server:
        always = await crawl_in(app, crawl_settings(http_server.url(), rendering=_rendering(RenderMode.ALWAYS)))
        assert always.counts.rendering == {"always": 3}
        assert sorted(http_server.targets()) == sorted(pages), "one fetch is enough"
        http_server.clear_log()
        auto = await crawl_in(app, crawl_settings(http_server.url()))
        assert auto.counts.rendering == {}
        assert auto.counts.changed == 0
        assert not any(hit.conditional for hit in http_server.hits), "it was not known whether it is a shell"
    with serve_site(react(pages)) as http_server:
        own = (Overrides("127.0.0.1", render=RenderMode.NEVER),)
        never = await crawl_in(app, crawl_settings(http_server.url(), overrides=own))
        [only] = (await _documents(app, never, http_server)).values()
        assert (only["rendering"]["mode"], only["rendering"]["reason"]) == ("http", "override")
        assert "nothing stands in <div#root>" in " ".join(only["rendering"]["evidence"])


async def test_a_navigation_by_a_script_is_treated_like_a_redirect(app: App) -> None:
    def leading(target: str) -> Answer:
        return document(f"<div id='root'></div><script>location.href = '{target}'</script>")

    pages = {
        "/": page("Home", prose("home", 300), links=("/old", "/out", "/secret-page", "/loop")),
        "/old": leading("/new"),
        "/new": page("New", prose("new")),
        "/out": leading("http://elsewhere.invalid/"),
        "/secret-page": leading("/private/page"),
        "/private/page": page("Private", prose("private")),
        "/loop": leading("/loop2"),
        "/loop2": leading("/loop"),
    }
    with serve_site(site(pages, robots="User-agent: *\nDisallow: /private/\n")) as http_server:
        result = await crawl_in(app, crawl_settings(http_server.url()))
        states = result.states(http_server.origin)
        assert "/private/page" not in http_server.targets()
    old = result.rows[http_server.url("/old")]
    assert (old.state, old.final_url, old.detail) == ("ALIAS", http_server.url("/new"), "by script")
    assert states["/new"] == "VISITED"
    assert states["/loop2"] == "FAILED"
    assert "redirect_loop" in result.rows[http_server.url("/loop2")].error
    assert {states["/out"], states["/secret-page"]} == {"VISITED"}, "pages whose navigation is refused keep their content"


async def test_rendered_pages_can_be_explained_exported_and_reprocessed(app: App, tmp_path: Path) -> None:
    secret = "sk-" + "a1B2c3D4" * 6
    pages = articles(2) | {"/coffee": Article("Coffee", (prose("coffee"), f"The key is {secret}."), ("/",))}
    with serve_site(react(pages)) as http_server:
        settings = crawl_settings(http_server.url(), rendering=_rendering(RenderMode.AUTO, screenshots=True))
        result = await crawl_in(app, settings)
        http_server.clear_log()
        again = Reprocessing(result.run, app.ledger, app.blobs, app.reader, read_options_of(settings), 1)
        assert await again.work(Progress(), write=True) == Reprocessed(pages=3)
        assert http_server.hits == [], "reprocessing sends no request"
        explanation = await app.explain(result.rows[http_server.url("/tea")].url, result.run)
    [gate] = [gate for gate in explanation.gates if gate.gate == "rendering"]
    assert gate.passed
    assert gate.detail.startswith("rendered in a browser (shell); ")
    assert "nothing stands in <div#root>" in gate.detail
    assert secret not in str(await _documents(app, result, http_server)), "rendered content is redacted too"
    assert result.rows[http_server.url("/coffee")].screenshot is None, "a picture of a secret cannot be redacted"
    tree = await write_tree(ExportSource(result.run, app.ledger, app.blobs), tmp_path / "out")
    assert tree.pages == 3
    pictures = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*.jpg")}
    assert pictures.keys() == {"index.screenshot.jpg", "tea.screenshot.jpg"}
    assert all(data.startswith(b"\xff\xd8\xff") for data in pictures.values())
    assert all(
        path.with_name(path.name.replace(".screenshot.jpg", ".md")).exists() for path in (tmp_path / "out").rglob("*.jpg")
    )


async def test_screenshots_are_files_of_the_channel_and_go_with_their_page(app: App, tmp_path: Path) -> None:
    channels, media = app.open_channels(), app.media.for_tenant(DEFAULT_TENANT)
    with serve_site(static_site(articles(2))) as http_server:
        service = ChannelService(channels, app.clock, allow_private=(http_server.origin.removeprefix("http://"),))
        own = ChannelSettings(include_media=False, screenshots=Screenshots.ALL)
        channel = await service.create("Site", http_server.url("/"), own)
        assert channel is not None
        crawl = service.new_crawl(channel, await service.tenant_settings(), Trigger.MANUAL, "ann")
        result = await crawl_in(app, crawl.settings)
    folder = tmp_path / "data" / "media" / "webpages" / "1" / channel.id / "screenshots"
    pages, _ = await channels.pages(channel.site, PageListing())
    keys = {page.screenshot: page for page in pages}
    assert keys.keys() == {screenshot_key(channel.id, page.id) for page in pages}
    assert {path.name for path in folder.iterdir()} == {f"{page.id}.jpg" for page in pages}
    assert (await channels.statistics(channel)).screenshots == len(pages) == 3
    for row in result.rows.values():
        assert row.screenshot is None or (await app.blobs.get(row.screenshot)).startswith(b"\xff\xd8\xff")
    assert await soft_delete_unreferenced_media(app.ledger, media, math.inf) == 0, "pages refer to them"
    deleted, *kept = pages
    assert await channels.delete_page(channel.site, deleted.id)
    await app.media_service(DEFAULT_TENANT).delete_screenshot(deleted.screenshot)
    assert {path.name for path in folder.iterdir()} == {f"{page.id}.jpg" for page in kept}
    assert await channels.delete_page(channel.site, kept[0].id)
    assert await soft_delete_unreferenced_media(app.ledger, media, math.inf) == 1


async def test_the_brand_of_a_home_page_is_read_in_the_browser_and_stored(app: App) -> None:
    shell = document(
        "<div id='root'></div><script src='/app.js'></script>",
        "<link rel='stylesheet' href='/app.css'>",
    )
    style = ":root { --primary: 222.2 47.4% 11.2% } body { font-family: '__Inter_aaf875', sans-serif }"
    made = f"document.querySelector('#root').innerHTML = '<main><h1>Made here</h1><p>{prose('made', 80)}</p></main>'"
    files = {
        "/": shell,
        "/app.css": Answer(body=style.encode(), content_type="text/css"),
        "/app.js": Answer(body=made.encode(), content_type="text/javascript"),
    }
    with serve_site(site(files)) as http_server:
        settings = crawl_settings(http_server.url())
        result = await crawl_in(app, settings)
        seen = (await _documents(app, result, http_server))["/"]["brand"]
        assert seen["primary_color"] == "#0f172a"
        assert seen["font_primary"] == "Inter"
        again = Reprocessing(result.run, app.ledger, app.blobs, app.reader, read_options_of(settings), 1)
        assert await again.work(Progress(), write=True) == Reprocessed(pages=1)
        assert (await _documents(app, result, http_server))["/"]["brand"] == seen


async def test_a_shell_on_which_the_browser_fails_is_failed_and_a_page_with_text_is_kept(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: BrowserRenderer, request: RenderRequest) -> RenderFailure:
        return RenderFailure(request.url, Failure.TIMEOUT, "The page did not respond.")

    monkeypatch.setattr(BrowserRenderer, "render", fail)
    pages = {
        "/": document(f"<h1>Home</h1><p>{prose('home', 40)}</p><a href='/shell'>Shell</a>"),
        "/shell": document("<div id=root></div><a href='/linked'>more</a><script src='/static/js/main.js'></script>"),
        "/linked": document(f"<h1>Linked</h1><p>{prose('linked', 40)}</p>"),
    }
    with serve_site(site(pages)) as http_server:
        result = await crawl_in(app, crawl_settings(http_server.url()))
        always = await crawl_in(app, crawl_settings(http_server.url(), rendering=_rendering(RenderMode.ALWAYS), force=True))
    for crawl in (result, always):
        assert crawl.states(http_server.origin) == {"/": "VISITED", "/shell": "FAILED", "/linked": "VISITED"}
        assert crawl.rows[http_server.url("/shell")].error == (
            "render_failed: the HTTP response is only a shell for scripts, and the browser could not: "
            "timeout: The page did not respond."
        )
    assert always.counts.rendering == {"failed": 2}


async def test_without_a_browser_the_crawl_continues_and_reports_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Browser, "is_available", lambda _: False)
    with serve_site(react(articles(2))) as http_server:
        async with embedded(tmp_path / "data", writing=True) as app:
            result = await crawl_in(app, crawl_settings(http_server.url()))
            [only] = (await _documents(app, result, http_server)).values()
            always = await crawl_in(app, crawl_settings(http_server.url(), rendering=_rendering(RenderMode.ALWAYS), force=True))
    assert result.counts.rendering == {"no_browser": 1}
    assert (only["rendering"]["mode"], only["rendering"]["reason"]) == ("http", "no_browser")
    assert only["rendering"]["evidence"]
    assert always.counts.rendering == {"no_browser": 1}
