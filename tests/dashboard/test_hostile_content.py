"""Crawled content never runs: 2,000 script injections in titles, text, Markdown, URLs, descriptions, alt texts and files."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.dashboard.checked_site import audited
from tests.dashboard.conftest import OpenScreen, Screen
from tests.interfaces.test_api_process import ServerProcess, serve_process
from tests.support.http_server import Answer, HttpServer, serve_site, site
from tests.support.pictures import picture

PAGES = 20
PAYLOADS = 2000
FILES = 40
_CALLS = ("alert(1)", "window.hacked=1", "top.hacked=1", "fetch('http://127.0.0.1:9/')", "document.title='hacked'")
_TEMPLATES = [
    line.encode("latin-1").decode("unicode_escape")
    for line in Path(__file__).with_name("injections.txt").read_text(encoding="utf-8").splitlines()
]
"""Ways to call a function, written as in a Python string; `{}` is the call."""
_REST = "a sentence that makes the block long enough to be kept."
_WRAPPERS = ("{}", "text {} text", "{}{}", "a\n\n{}", "&#x3c;b&#x3e; {}", "**{}**", "| {} |", "> {}")


def payloads() -> Iterator[str]:
    for wrapper, template, call in itertools.product(_WRAPPERS, _TEMPLATES, _CALLS):
        attack = template.format(call)
        yield wrapper.format(*[attack] * wrapper.count("{}"))


def hostile_page(number: int, attacks: list[str]) -> Answer:
    title, description, alt, anchor = (html.escape(each) for each in attacks[:4])
    author = {"@type": "Person", "name": attacks[5]}
    data = {"@context": "https://schema.org", "@type": "Article", "headline": attacks[4], "author": author}
    embedded = json.dumps(data).replace("</", "<\\/")
    queries = (quote(attacks[other % 7], safe="") for other in range(PAGES))
    links = "".join(f'<li><a href="/p{other}?q={query}">{anchor}</a></li>' for other, query in enumerate(queries))
    # Half of the attacks are text of the page, half its markup.
    text = "".join(f"<p>{html.escape(attack)} and {_REST}</p>" for attack in attacks[6:56])
    markup = "".join(f"<div>{attack} and {_REST}</div>" for attack in attacks[56:])
    body = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
        <meta name="description" content="{description}"><script type="application/ld+json">{embedded}</script></head>
        <body><main><h1>{title} {number}</h1>{text}<img src="/x.png" alt="{alt}" title="{alt}"><ul>{links}</ul>{markup}</main>
        </body></html>"""
    return Answer(body=body.encode())


def _file(attack: str) -> str:
    """The address of an image whose file name is an attack."""
    return f"/files/{quote(attack, safe='')}.png"


def _answer(pages: dict[str, Answer], small: bytes, target: str) -> Answer | None:
    if target.startswith("/files/"):
        return Answer(body=small, content_type="image/png")
    return site(pages)(target.partition("?")[0])


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, HttpServer, str]]:
    attacks = list(itertools.islice(payloads(), PAYLOADS))
    assert len(set(attacks)) == PAYLOADS
    share = PAYLOADS // PAGES
    pages = {f"/p{number}": hostile_page(number, attacks[number * share : (number + 1) * share]) for number in range(PAGES)}
    home = "".join(f'<li><a href="/p{number}">{number}</a></li>' for number in range(PAGES))
    home += "".join(f'<img src="{_file(attack)}" alt="{html.escape(attack)}">' for attack in attacks[:FILES])
    small = picture(60, 40, ".png")
    pages["/"] = Answer(
        body=f"<title>Home</title><main><h1>Home</h1><p>Words of the home page.</p><ul>{home}</ul></main>".encode()
    )
    folder: Path = tmp_path_factory.mktemp("hostile")
    with (
        serve_site(lambda target: _answer(pages, small, target)) as http_server,
        serve_process(folder, http_server) as server,
    ):
        run = server.api.start(http_server.url("/"), render="never")
        server.api.finish(run)
        yield server, http_server, run


def check(screen: Screen) -> None:
    tab = screen.page
    assert tab.evaluate("window.hacked") is None
    assert tab.title() != "hacked"
    assert (
        tab.evaluate("document.querySelectorAll('#root script, #root iframe, #root object, #root embed, #root base').length")
        == 0
    )
    dangerous = tab.evaluate(
        r"""[...document.querySelectorAll('*')].flatMap((element) => [...element.attributes])
        .map(({ name, value }) => `${name}=${value}`)
        .filter((text) => /^(on\w*=|(href|src|action)=\s*(javascript|data|vbscript):)/i.test(text))"""
    )
    assert dangerous == []


def test_nothing_that_was_crawled_runs(hostile: tuple[ServerProcess, HttpServer, str], open_screen: OpenScreen) -> None:
    server, site_, run = hostile
    screen = open_screen(server.api.port)
    for number in range(PAGES):
        url = quote(site_.url(f"/p{number}"), safe="")
        for view in ("reading", "html", "data") if number % 5 == 0 else ("reading",):
            tab = screen.open(f"/runs/{run}/page?url={url}&view={view}")
            tab.get_by_role("tab", name=view, exact=False).first.wait_for()
            check(screen)
    tab.get_by_role("tab", name="Data").click()
    closed = tab.locator("#content button[aria-expanded=false]")
    while closed.count():
        closed.first.click()
    check(screen)
    for path in (f"/runs/{run}", f"/runs/{run}/urls", f"/runs/{run}/lineage", f"/runs/{run}/errors", "/search?q=sentence"):
        screen.open(path)
        check(screen)
    tab = screen.open(f"/runs/{run}/urls?node={quote(site_.url('/p1'), safe='')}")
    tab.get_by_role("dialog").get_by_text("HTTP status").wait_for()
    check(screen)


def test_the_title_of_a_hostile_page_is_shown_as_text(
    hostile: tuple[ServerProcess, HttpServer, str], open_screen: OpenScreen
) -> None:
    server, site_, run = hostile
    tab = open_screen(server.api.port).open(f"/runs/{run}/page?url={quote(site_.url('/p0'), safe='')}")
    assert "<script>alert(1)</script>" in tab.get_by_role("heading", level=1).inner_text()


def test_names_of_channels_and_files_and_findings_do_not_run(
    hostile: tuple[ServerProcess, HttpServer, str], open_screen: OpenScreen
) -> None:
    server, site_, _ = hostile
    attack = "<img src=x onerror=alert(1)>"
    body = {"url": site_.url("/"), "title": attack, "maxPages": PAGES + 1, "render": "never"}
    channel = server.api.call("POST", "/tenant/v1/channels", body).json["id"]
    path = f"/tenant/v1/channels/{channel}/webcrawl"
    run = server.api.call("POST", f"{path}/start").json["id"]
    server.api.finish(run)
    name = quote(server.api.get(f"/tenant/v1/channels/{channel}")["site"], safe="")
    assert server.api.call("POST", f"/sites/{name}/audits").status == 202
    audited(server, f"/sites/{name}", run)
    media = server.api.get(f"{path}/media")["media"]
    assert any("alert(1)" in file["fileName"] or "alert(1)" in file["altText"] for file in media)
    screen = open_screen(server.api.port)
    for tab in ("", "/pages", "/media", f"/media?file={media[0]['id']}", "/issues", "/insights", "/history", "/settings"):
        screen.open(f"/channels/{channel}{tab}")
        check(screen)
    assert screen.page.get_by_role("heading", level=1).inner_text() == attack
    shown = screen.open(f"/channels/{channel}/issues")
    for card in shown.locator("#content button[aria-expanded=false]").all():
        card.click()
    check(screen)


@pytest.mark.parametrize("route", ["source", "page"])
def test_crawled_content_that_is_opened_by_itself_does_not_run(
    hostile: tuple[ServerProcess, HttpServer, str], open_screen: OpenScreen, route: str
) -> None:
    server, site_, run = hostile
    screen = open_screen(server.api.port)
    answer = screen.page.goto(f"{screen.origin}/crawl-runs/{run}/{route}?url={quote(site_.url('/p0'), safe='')}")
    assert answer is not None
    assert answer.headers["content-type"].partition(";")[0] in {"text/plain", "application/json"}
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert screen.page.evaluate("document.scripts.length") == 0
