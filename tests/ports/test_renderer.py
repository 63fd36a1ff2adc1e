"""The contract of `ports.Renderer`."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from tests.support.http_server import Answer, HttpServer, page, redirect, serve_site, site
from tests.unit.fetch.raw_server import always, reply, serving

from sitelore.fetch.browser.chromium import Browser, BrowserLimits
from sitelore.fetch.browser.renderer import BrowserRenderer, allow_all
from sitelore.fetch.guard import AddressGuard
from sitelore.model.frontier import Hop
from sitelore.model.response import Failure, Rendered, RenderFailure, RenderRequest
from sitelore.model.settings import CrawlSettings, FetchLimits, Rendering
from sitelore.model.url import Url

pytestmark = pytest.mark.asyncio(loop_scope="module")


def html(text: str, *headers: tuple[str, str], status: int = 200) -> Answer:
    body = f"<!doctype html><html><head><meta charset=utf-8><title>t</title></head><body>{text}</body></html>"
    return Answer(status, body.encode(), headers=headers)


APP = "<div id=root></div><script>fetch('/data').then((a) => a.json()).then((d) => { root.innerHTML = d.text })</script>"
SHADOW = """<fancy-card><b>light</b><i slot=title>titled</i></fancy-card><script>
customElements.define("fancy-card", class extends HTMLElement {
  constructor() {
    super();
    this.attachShadow({ mode: "open" }).innerHTML =
      "<style>b { color: red }</style><h2><slot name=title></slot></h2><p>from the shadow</p>" +
      "<slot></slot><slot name=none>fallback</slot>";
  }
});</script>"""
ENDLESS = """<div id=list></div><script>
let n = 0;
const add = () => { for (let i = 0; i < 20; i++) { const p = document.createElement("p"); p.style.height = "60px";
  p.textContent = "item " + ++n; list.append(p); } };
add();
addEventListener("scroll", () => { if (n < 80 && innerHeight + scrollY >= document.body.scrollHeight - 10) add(); });
</script>"""
PAGES = {
    "/app": html(APP, ("ETag", '"one"'), ("Last-Modified", "Tue, 14 Nov 2023 22:13:20 GMT")),
    "/data": Answer(body=b'{"text": "<h1>made by a script</h1>"}', content_type="application/json"),
    "/moved": redirect("/app", 302),
    "/scripted": html("<script>location.replace('/app')</script>"),
    "/shadow": html(SHADOW),
    "/frames": html("<h1>outer</h1><iframe src=/inner></iframe>"),
    "/inner": html("<p>inside</p><iframe srcdoc='<p>innermost</p>'></iframe>"),
    "/endless": html(ENDLESS),
    "/seen": html(
        "<div style='height: 3000px'></div><p id=p>unseen</p>"
        "<script>new IntersectionObserver((e) => { if (e[0].isIntersecting) p.textContent = 'seen' }).observe(p)</script>"
    ),
    "/later": html("<p id=p>soon</p><script>setTimeout(() => { p.textContent = 'now' }, 600)</script>"),
    "/clock": html(
        f"<p>{'words ' * 200}</p><b id=b></b><script>setInterval(() => {{ b.textContent = Date.now() }}, 20)</script>"
    ),
    "/pictures": html("<img src=/a.png><img src=/b><img src=/a.jpg?x=1><script src=/own/tracker.js></script><p>text</p>"),
    "/a.png": Answer(body=b"x", content_type="image/png"),
    "/picture": Answer(body=b"\x89PNG", content_type="image/png"),
    "/nothing": Answer(204),
    "/gone": html("<h1>gone</h1>", status=404),
    "/latin": Answer(body="<p>d\xe9j\xe0</p>".encode("latin-1"), content_type="text/html; charset=iso-8859-1"),
    "/tall": html("<div style='height: 5000px; background: #0a0'>x</div>"),
    "/cookie": html("<p id=p></p><script>p.textContent = document.cookie; document.cookie = 'seen=yes'</script>"),
    "/agent": html("<p id=p></p><script>p.textContent = navigator.userAgent + innerWidth + navigator.language</script>"),
    **{f"/page{number}": page(f"Page {number}") for number in range(12)},
}


@pytest.fixture(scope="module")
def http_server() -> Iterator[HttpServer]:
    with serve_site(site(PAGES)) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    made = Browser()
    if not made.is_available():
        pytest.skip("there is no browser on this machine")
    yield made
    await made.close()


@pytest_asyncio.fixture(loop_scope="module")
async def renderer(browser: Browser, http_server: HttpServer) -> AsyncIterator[BrowserRenderer]:
    made = BrowserRenderer(browser, CrawlSettings(), AddressGuard([http_server.origin]))
    yield made
    await made.close()


def render_request(http_server: HttpServer, path: str, **more: object) -> RenderRequest:
    url = Url.parse(http_server.origin + path)
    assert url is not None
    return RenderRequest(url, **more)  # type: ignore[arg-type]


async def seen(renderer: BrowserRenderer, http_server: HttpServer, path: str, **more: object) -> Rendered:
    rendered = await renderer.render(render_request(http_server, path, **more))
    assert isinstance(rendered, Rendered), rendered
    return rendered


async def text_of(renderer: BrowserRenderer, http_server: HttpServer, path: str, **more: object) -> str:
    return (await seen(renderer, http_server, path, **more)).response.body.decode()


async def test_a_page_is_returned_after_its_scripts_have_run(renderer: BrowserRenderer, http_server: HttpServer) -> None:
    rendered = await seen(renderer, http_server, "/app")
    response, metrics = rendered.response, rendered.metrics
    assert response.body.startswith(b"<!doctype html>")
    assert b"<h1>made by a script</h1>" in response.body
    assert (response.url, response.status, rendered.chain) == (http_server.origin + "/app", 200, ())
    assert (response.header("etag"), response.header("last-modified")) == ('"one"', "Tue, 14 Nov 2023 22:13:20 GMT")
    assert response.content_type == "text/html"
    assert metrics.requests == 2
    assert metrics.nodes > 5
    assert metrics.html_bytes == len(response.body)
    assert 0 < metrics.dom_ready_s <= metrics.settled_s <= metrics.elapsed_s


@pytest.mark.parametrize(("path", "status"), [("/moved", 302), ("/scripted", 200)])
async def test_redirects_are_recorded(renderer: BrowserRenderer, http_server: HttpServer, path: str, status: int) -> None:
    rendered = await seen(renderer, http_server, path)
    assert rendered.response.url == http_server.origin + "/app"
    assert rendered.chain == (Hop(render_request(http_server, path).url, status),)
    assert b"made by a script" in rendered.response.body


async def test_navigations_of_the_main_frame_are_checked(browser: Browser, http_server: HttpServer) -> None:
    judged: list[str] = []

    async def judge(url: Url) -> str | None:
        judged.append(url.path)
        return "robots.txt says no."

    made = BrowserRenderer(browser, CrawlSettings(), AddressGuard([http_server.origin]), judge)
    before = len(http_server.hits)
    handed_back = await seen(made, http_server, "/moved")
    stayed = await seen(made, http_server, "/scripted")
    await made.close()
    assert (handed_back.response.status, handed_back.response.header("location")) == (302, "/app")
    assert (stayed.response.url, stayed.metrics.refused) == (http_server.origin + "/scripted", 1)
    assert judged == ["/app", "/app"]
    assert [hit.target for hit in http_server.hits[before:]] == ["/moved", "/scripted"]


async def test_open_shadow_roots_are_expanded_on_request(renderer: BrowserRenderer, http_server: HttpServer) -> None:
    flat = await text_of(renderer, http_server, "/shadow", expand_shadow_roots=True)
    card = flat[flat.index("<fancy-card>") : flat.index("</fancy-card>")]
    assert card == '<fancy-card><h2><i slot="title">titled</i></h2><p>from the shadow</p><b>light</b>fallback'
    plain = await text_of(renderer, http_server, "/shadow")
    assert '<fancy-card><b>light</b><i slot="title">titled</i></fancy-card>' in plain


async def test_frames_are_expanded_on_request(renderer: BrowserRenderer, http_server: HttpServer) -> None:
    whole = await text_of(renderer, http_server, "/frames", expand_frames=True)
    assert whole.index("outer") < whole.index("<p>inside</p>") < whole.index("<p>innermost</p>")
    assert "inside" not in await text_of(renderer, http_server, "/frames")


@pytest.mark.parametrize(
    ("path", "text"), [("/endless", "item 80<"), ("/seen", ">seen<"), ("/later", ">now<"), ("/clock", "words")]
)
async def test_content_that_loads_a_little_later_is_awaited(
    renderer: BrowserRenderer, http_server: HttpServer, path: str, text: str
) -> None:
    assert text in await text_of(renderer, http_server, path)


async def test_images_and_blocked_urls_are_not_loaded(browser: Browser, http_server: HttpServer) -> None:
    settings = CrawlSettings(rendering=Rendering(blocked=("*/own/tracker*",)))
    made = BrowserRenderer(browser, settings, AddressGuard([http_server.origin]))
    before = len(http_server.hits)
    rendered = await seen(made, http_server, "/pictures")
    assert [hit.target for hit in http_server.hits[before:]] == ["/pictures"]
    assert (rendered.metrics.blocked, rendered.metrics.requests) == (4, 5)
    await seen(made, http_server, "/pictures", screenshot=True)
    assert {"/a.png", "/b", "/a.jpg?x=1"} <= {hit.target for hit in http_server.hits[before:]}
    await made.close()


async def test_a_screenshot_is_a_jpeg_as_tall_as_the_page_up_to_its_cap(browser: Browser, http_server: HttpServer) -> None:
    made = BrowserRenderer(
        browser, CrawlSettings(rendering=Rendering(screenshot_height=3000)), AddressGuard([http_server.origin])
    )
    tall = (await seen(made, http_server, "/tall", screenshot=True)).screenshot
    short = (await seen(made, http_server, "/page1", screenshot=True)).screenshot
    none = (await seen(made, http_server, "/page1")).screenshot
    await made.close()
    assert (jpeg_size(tall), jpeg_size(short), none) == ((1280, 3000), (1280, 800), b"")


def jpeg_size(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\xff\xd8")
    at = 2
    while data[at + 1] not in {0xC0, 0xC1, 0xC2}:
        at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])


async def test_a_probe_sees_the_page_before_it_is_changed(renderer: BrowserRenderer, http_server: HttpServer) -> None:
    probe = "({ height: innerHeight, text: document.getElementById('p').textContent })"
    assert (await seen(renderer, http_server, "/seen", probe=probe)).probed == {"height": 800, "text": "unseen"}
    assert (await seen(renderer, http_server, "/seen", probe="nonsense(")).probed is None


async def test_a_response_that_is_not_a_page_has_no_body(renderer: BrowserRenderer, http_server: HttpServer) -> None:
    picture = (await seen(renderer, http_server, "/picture")).response
    assert (picture.status, picture.content_type, picture.body, picture.body_read) == (200, "image/png", b"", False)
    nothing = (await seen(renderer, http_server, "/nothing")).response
    assert (nothing.status, nothing.body) == (204, b"")
    gone = (await seen(renderer, http_server, "/gone")).response
    assert gone.status == 404
    assert b"<h1>gone</h1>" in gone.body


async def test_only_the_proxy_gets_the_credentials_of_the_proxy(browser: Browser) -> None:
    challenge = {"content_type": "text/html", "WWW_Authenticate": 'Basic realm="sitelore"'}
    async with serving(always(reply(b"<h1>log in</h1>", "401 Unauthorized", **challenge))) as server:
        renderer = BrowserRenderer(browser, CrawlSettings(), AddressGuard([server.origin]))
        rendered = await renderer.render(RenderRequest(server.url("/login")))
        await renderer.close()
    assert isinstance(rendered, Rendered)
    assert rendered.response.status == 401
    names = {name for request in server.requests for name in request.headers}
    assert "user-agent" in names
    assert not names & {"authorization", "proxy-authorization"}


async def test_a_dom_is_utf_8_whatever_the_document_was(renderer: BrowserRenderer, http_server: HttpServer) -> None:
    response = (await seen(renderer, http_server, "/latin")).response
    assert response.header_all("content-type") == ["text/html; charset=utf-8"]
    assert "d\xe9j\xe0" in response.body.decode()


async def test_a_run_has_its_own_cookies_and_its_own_name(
    browser: Browser, renderer: BrowserRenderer, http_server: HttpServer
) -> None:
    await seen(renderer, http_server, "/cookie")
    assert "seen=yes" in await text_of(renderer, http_server, "/cookie")
    settings = CrawlSettings(user_agent="OtherAgent/1.0")
    other = BrowserRenderer(browser, settings, AddressGuard([http_server.origin]))
    assert "seen=yes<" not in await text_of(other, http_server, "/cookie")
    assert "OtherAgent/1.01280en-US" in await text_of(other, http_server, "/agent")
    await other.close()


async def test_a_name_that_resolves_to_a_private_address_is_refused(browser: Browser) -> None:
    async def lookup(host: str, port: int) -> Sequence[str]:
        if host == "nowhere.example":
            raise OSError("no address")
        return ["127.0.0.1"]

    made = BrowserRenderer(browser, CrawlSettings(), AddressGuard(), allow_all, lookup=lookup)
    failures = [
        await made.render(RenderRequest(Url.trusted(url)))
        for url in ("http://public.example/", "https://public.example/", "http://127.0.0.1:1/", "http://nowhere.example/")
    ]
    await made.close()
    assert [one.failure for one in failures if isinstance(one, RenderFailure)] == [Failure.ADDRESS] * 3 + [Failure.DNS]


async def test_a_page_that_grows_too_large_is_refused(browser: Browser, http_server: HttpServer) -> None:
    limits = FetchLimits(body_bytes=2000)
    made = BrowserRenderer(browser, CrawlSettings(limits=limits), AddressGuard([http_server.origin]))
    failure = await made.render(render_request(http_server, "/endless"))
    await made.close()
    assert isinstance(failure, RenderFailure)
    assert failure.failure is Failure.TOO_LARGE


@asynccontextmanager
async def fresh(http_server: HttpServer, pages: int = 1000) -> AsyncIterator[tuple[Browser, BrowserRenderer]]:
    """A separate browser process."""
    browser = Browser(limits=BrowserLimits(pages=pages))
    if not browser.is_available():
        pytest.skip("there is no browser on this machine")
    made = BrowserRenderer(browser, CrawlSettings(), AddressGuard([http_server.origin]))
    try:
        yield browser, made
    finally:
        await made.close()
        await browser.close()


async def test_a_killed_browser_is_restarted_and_no_page_is_lost(http_server: HttpServer) -> None:
    async with fresh(http_server) as (browser, made):
        await seen(made, http_server, "/page0")
        assert browser.current is not None
        kinds = await browser.current.processes()
        pages = [asyncio.create_task(seen(made, http_server, f"/page{number}")) for number in range(1, 9)]
        await asyncio.sleep(0)
        os.kill(next(number for number, kind in kinds.items() if kind == "browser"), signal.SIGKILL)
        for number, rendered in enumerate(await asyncio.gather(*pages), 1):
            assert f"<h1>Page {number}</h1>".encode() in rendered.response.body
        assert browser.starts == 2


async def test_a_worn_out_browser_is_replaced_and_the_cookies_of_the_run_survive(http_server: HttpServer) -> None:
    async with fresh(http_server, pages=2) as (browser, made):
        texts = [await text_of(made, http_server, "/cookie") for _ in range(3)]
        assert [("seen=yes<" in text) for text in texts] == [False, True, True]
        assert browser.starts == 2
    assert browser.current is None


async def test_without_a_browser_the_failure_says_how_to_install_one(http_server: HttpServer) -> None:
    browser = Browser(lambda: None)
    assert not browser.is_available()
    made = BrowserRenderer(browser, CrawlSettings(), AddressGuard([http_server.origin]))
    failure = await made.render(render_request(http_server, "/app"))
    await made.close()
    assert isinstance(failure, RenderFailure)
    assert "sitelore doctor" in failure.detail
    assert browser.starts == 0
