"""Sites that scripts make: read through a browser where that is needed, and nowhere else."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.journey import Journey, crawl_in, crawl_settings
from tests.support.serve import Answer, Pages, Web, page, prose, serving, site
from tests.support.spa import KINDS, Article, articles, document, react, twin

from sitelore.app.app import App
from sitelore.app.wiring import embedded
from sitelore.cli.export_files import write_tree
from sitelore.crawl.context import Progress, read_options_of
from sitelore.crawl.reprocess import Reprocessed, Reprocessing
from sitelore.fetch.browser.chromium import Browser
from sitelore.model.settings import Overrides, Rendering, RenderMode


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """An app with a browser in it."""
    async with embedded(tmp_path / "data", writing=True) as app:
        if not app.browser.is_available():
            pytest.skip("there is no browser on this machine")
        yield app


async def _documents(app: App, journey: Journey, web: Web) -> dict[str, dict[str, Any]]:
    kept = journey.kept(web.origin)
    rows = {url.removeprefix(web.origin): row for url, row in journey.rows.items()}
    return {path: json.loads(await app.blobs.get(row.document)) for path, row in rows.items() if path in kept and row.document}


async def _markdown(app: App, journey: Journey, web: Web) -> dict[str, str]:
    found = await _documents(app, journey, web)
    return {path: one["markdown"].replace(web.origin, "") for path, one in found.items()}


def _rendering(mode: RenderMode, **more: Any) -> Rendering:
    return Rendering(mode=mode, **more)


async def test_pages_made_by_scripts_read_like_their_static_twins(app: App) -> None:
    wanted: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for name, kind in KINDS.items():
        with serving(kind.twin) as web:
            journey = await crawl_in(app, crawl_settings(web.url()))
            wanted[name] = (await _markdown(app, journey, web), journey.states(web.origin))
            assert set(wanted[name][0]) == set(kind.pages)
    assert app.browser.starts == 0, "no twin needs a browser"
    for name, kind in KINDS.items():
        with serving(kind.spa) as web:
            journey = await crawl_in(app, crawl_settings(web.url()))
            documents = await _documents(app, journey, web)
            assert (name, await _markdown(app, journey, web)) == (name, wanted[name][0])
            assert (name, journey.states(web.origin)) == (name, wanted[name][1])
            modes = {one["rendering"]["mode"] for one in documents.values()}
            assert (name, modes) == (name, {"browser" if kind.needs_browser else "http"})
            assert all(("evidence" in one["rendering"]) is kind.needs_browser for one in documents.values())
    assert app.browser.starts == 1, "one browser for all of them"


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
    with serving(site(STATIC)) as web:
        journey = await crawl_in(app, crawl_settings(web.url()))
        assert journey.kept(web.origin) == set(STATIC)
        assert len(web.targets()) == len(STATIC)
        assert {one["rendering"]["reason"] for one in (await _documents(app, journey, web)).values()} == {"static"}
    assert journey.counts.rendering == {}
    assert app.browser.starts == 0


async def test_later_runs_go_straight_to_the_browser(app: App) -> None:
    pages = articles()
    with serving(react(pages)) as web:
        first = await crawl_in(app, crawl_settings(web.url()))
        assert first.counts.rendering == {"shell": 5}
        assert {path: Counter(web.targets())[path] for path in pages} == dict.fromkeys(pages, 2), (
            "over HTTP, then in the browser"
        )
        web.forget()
        grown = articles(5)
        web.pages = react(grown)
        second = await crawl_in(app, crawl_settings(web.url()))
        assert {path: Counter(web.targets())[path] for path in grown} == dict.fromkeys(grown, 1)
        assert second.counts.rendering == {"known_page": 5, "known_site": 1}
        assert (second.counts.changed, second.counts.new) == (2, 1), "the pages that name the new one, and it"
        web.forget()
        third = await crawl_in(app, crawl_settings(web.url(), force=True))
        assert third.counts.rendering == {"shell": 6}, "--force asks again whether it is needed"
        web.forget()
        never = await crawl_in(app, crawl_settings(web.url(), rendering=_rendering(RenderMode.NEVER)))
        assert never.counts.rendering == {}
        assert all(hit.conditional for hit in web.hits if hit.target in never.states(web.origin))
        assert set(never.states(web.origin).values()) == {"NOT_MODIFIED"}, (
            "what the browser read stands, nothing better is known"
        )


@pytest.mark.timeout(300)  # ten browsers are started, which takes a busy machine its time
async def test_a_browser_that_is_killed_over_and_over_loses_no_page(app: App, tmp_path: Path) -> None:
    pages = articles(15)
    with serving(react(pages)) as web:
        calm = await crawl_in(app, crawl_settings(web.url(), concurrency=1))
        wanted = await _documents(app, calm, web)
        async with embedded(tmp_path / "other", writing=True) as other:
            victim = Victim(set(random.Random(5).sample(sorted(pages), 14)), {process.pid for process in _browsers()})
            web.pages = victim.struck(react(pages))
            journey = await crawl_in(other, crawl_settings(web.url(), concurrency=3))
            assert victim.killed == 10
            assert other.browser.starts > 10
            assert await _documents(other, journey, web) == wanted, "whatever happened, however many pages were open at once"
    assert journey.counts.pages == len(pages)
    assert journey.counts.rendering == {"shell": len(pages)}


@dataclass(slots=True)
class Victim:
    """A browser that is killed while it waits for one of these pages, each page the cause of one death at most.

    Pages that were open beside the one that killed it are no cause: they are asked for again, and may be one then.
    """

    targets: set[str]
    spared: set[int]
    asked: Counter[str] = field(default_factory=Counter)
    killed: int = 0

    def struck(self, pages: Pages) -> Pages:
        """The pages, and death on the way to them."""

        def answer(target: str) -> Answer | None:
            self.asked[target] += 1
            if target in self.targets and self.asked[target] >= 2 and self.killed < 10:  # first over HTTP, then by the browser
                for process in _browsers():
                    if process.pid not in self.spared:
                        self.targets.discard(target)
                        self.spared.add(process.pid)
                        self.killed += 1
                        process.kill()
            return pages(target)

        return answer


def _browsers() -> list[psutil.Process]:
    """Browsers that this process started: their own processes, not those of their tabs."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            line = process.cmdline()
        except psutil.Error:
            continue
        if line and "chrom" in line[0] and not any(word.startswith("--type=") for word in line):
            found.append(process)
    return found


async def test_settings_and_rules_of_a_domain_decide_before_anything_is_looked_at(app: App) -> None:
    pages = articles(2)
    with serving(twin(pages)) as web:
        always = await crawl_in(app, crawl_settings(web.url(), rendering=_rendering(RenderMode.ALWAYS)))
        assert always.counts.rendering == {"always": 3}
        assert sorted(web.targets()) == sorted(pages), "one look is enough"
        web.forget()
        auto = await crawl_in(app, crawl_settings(web.url()))
        assert auto.counts.rendering == {}
        assert auto.counts.changed == 0
        assert not any(hit.conditional for hit in web.hits), "nobody knew whether it was a shell"
    with serving(react(pages)) as web:
        own = (Overrides("127.0.0.1", render=RenderMode.NEVER),)
        never = await crawl_in(app, crawl_settings(web.url(), overrides=own))
        [only] = (await _documents(app, never, web)).values()
        assert (only["rendering"]["mode"], only["rendering"]["reason"]) == ("http", "override")
        assert "nothing stands in <div#root>" in " ".join(only["rendering"]["evidence"])


async def test_where_a_script_leads_is_judged_like_a_redirect(app: App) -> None:
    def leading(target: str) -> Answer:
        return document(f"<div id='root'></div><script>location.href = '{target}'</script>")

    pages = {
        "/": page("Home", prose("home", 300), links=("/old", "/out", "/secret-door", "/loop")),
        "/old": leading("/new"),
        "/new": page("New", prose("new")),
        "/out": leading("http://elsewhere.invalid/"),
        "/secret-door": leading("/private/room"),
        "/private/room": page("Private", prose("private")),
        "/loop": leading("/loop2"),
        "/loop2": leading("/loop"),
    }
    with serving(site(pages, robots="User-agent: *\nDisallow: /private/\n")) as web:
        journey = await crawl_in(app, crawl_settings(web.url()))
        states = journey.states(web.origin)
        assert "/private/room" not in web.targets()
    old = journey.rows[web.url("/old")]
    assert (old.state, old.final_url, old.detail) == ("ALIAS", web.url("/new"), "by script")
    assert states["/new"] == "VISITED"
    assert states["/loop2"] == "FAILED"
    assert "redirect_loop" in journey.rows[web.url("/loop2")].error
    assert {states["/out"], states["/secret-door"]} == {"VISITED"}, "kept from going elsewhere, they stay what they are"


async def test_what_the_browser_read_can_be_explained_exported_and_read_again(app: App, tmp_path: Path) -> None:
    secret = "sk-" + "a1B2c3D4" * 6
    pages = articles(2) | {"/coffee": Article("Coffee", (prose("coffee"), f"The key is {secret}."), ("/",))}
    with serving(react(pages)) as web:
        settings = crawl_settings(web.url(), rendering=_rendering(RenderMode.AUTO, screenshots=True))
        journey = await crawl_in(app, settings)
        web.forget()
        again = Reprocessing(journey.run, app.ledger, app.blobs, app.reader, read_options_of(settings), 1)
        assert await again.work(Progress(), write=True) == Reprocessed(pages=3)
        assert web.hits == [], "reading again asks nobody"
        told = await app.explain(journey.rows[web.url("/tea")].url, journey.run)
    [gate] = [gate for gate in told.gates if gate.gate == "rendering"]
    assert gate.passed
    assert gate.detail.startswith("rendered in a browser (shell); ")
    assert "nothing stands in <div#root>" in gate.detail
    assert secret not in str(await _documents(app, journey, web)), "what a browser shows is redacted too"
    assert journey.rows[web.url("/coffee")].screenshot is None, "a picture of a secret cannot be redacted"
    tree = await write_tree(app, journey.run, tmp_path / "out")
    assert tree.pages == 3
    pictures = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*.jpg")}
    assert pictures.keys() == {"index.screenshot.jpg", "tea.screenshot.jpg"}
    assert all(data.startswith(b"\xff\xd8\xff") for data in pictures.values())
    assert all(
        path.with_name(path.name.replace(".screenshot.jpg", ".md")).exists() for path in (tmp_path / "out").rglob("*.jpg")
    )


async def test_what_a_home_page_looks_like_is_asked_of_the_browser_and_kept(app: App) -> None:
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
    with serving(site(files)) as web:
        settings = crawl_settings(web.url())
        journey = await crawl_in(app, settings)
        seen = (await _documents(app, journey, web))["/"]["brand"]
        assert seen["primary_color"] == "#0f172a"
        assert seen["font_primary"] == "Inter"
        again = Reprocessing(journey.run, app.ledger, app.blobs, app.reader, read_options_of(settings), 1)
        assert await again.work(Progress(), write=True) == Reprocessed(pages=1)
        assert (await _documents(app, journey, web))["/"]["brand"] == seen


async def test_without_a_browser_the_crawl_goes_on_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Browser, "is_available", lambda _: False)
    with serving(react(articles(2))) as web:
        async with embedded(tmp_path / "data", writing=True) as app:
            journey = await crawl_in(app, crawl_settings(web.url()))
            [only] = (await _documents(app, journey, web)).values()
            always = await crawl_in(app, crawl_settings(web.url(), rendering=_rendering(RenderMode.ALWAYS), force=True))
    assert journey.counts.rendering == {"no_browser": 1}
    assert (only["rendering"]["mode"], only["rendering"]["reason"]) == ("http", "no_browser")
    assert only["rendering"]["evidence"]
    assert always.counts.rendering == {"no_browser": 1}
