"""Misbehaviour through the browser: the canary is never reached, bombs are bounded, and every trap ends."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio
from tests.hostile.behaviours import CASES, reply
from tests.support.http_server import Answer, HttpServer, serve_site, site
from tests.support.misbehaving import Misbehaving, misbehaving
from tests.support.proxies import serve_proxy
from tests.unit.fetch import raw_server

from sitelore.fetch.access import RunAccess
from sitelore.fetch.browser.chromium import Browser
from sitelore.fetch.browser.renderer import BrowserRenderer
from sitelore.fetch.guard import AddressGuard
from sitelore.model.access import Access, Proxies, SiteAccess
from sitelore.model.response import Failure, Rendered, RenderFailure, RenderRequest
from sitelore.model.settings import CrawlSettings, FetchLimits, Rendering
from sitelore.model.url import Url

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = CrawlSettings(rendering=Rendering(timeout_s=10.0))
# Shorter timeouts and smaller limits.
HASTY = CrawlSettings(rendering=Rendering(timeout_s=1.5), limits=FetchLimits(body_bytes=2**20, wire_bytes=2**20))
BROWSER_BYTES = 900 * 2**20


@pytest.fixture(scope="module")
def hostile() -> Iterator[Misbehaving]:
    with misbehaving({name: case.behaviour for name, case in CASES.items()}) as running:
        yield running
        assert running.canary_connections == 0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    made = Browser()
    if not made.is_available():
        pytest.skip("there is no browser on this machine")
    yield made
    await made.close()


@dataclass(frozen=True, slots=True)
class HostileRenderer:
    """A renderer for the hostile server's origins and one more."""

    renderer: BrowserRenderer
    browser: Browser

    async def render(self, url: str) -> Rendered | RenderFailure:
        parsed = Url.parse(url)
        assert parsed is not None
        return await self.renderer.render(RenderRequest(parsed, expand_frames=True, expand_shadow_roots=True))

    async def page(self, url: str) -> str:
        seen = await self.render(url)
        assert isinstance(seen, Rendered), seen
        assert seen.response.body_read
        return seen.response.body.decode()

    async def failure(self, url: str) -> RenderFailure:
        seen = await self.render(url)
        assert isinstance(seen, RenderFailure), seen
        assert seen.detail.endswith(".")
        return seen


def make_renderer(browser: Browser, settings: CrawlSettings, opened: list[str]) -> HostileRenderer:
    return HostileRenderer(BrowserRenderer(browser, settings, AddressGuard(opened)), browser)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def renderer(browser: Browser, hostile: Misbehaving, http_server: HttpServer) -> AsyncIterator[HostileRenderer]:
    made = make_renderer(browser, SETTINGS, [*map(hostile.origin, CASES), http_server.origin])
    yield made
    await made.renderer.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def impatient_renderer(browser: Browser, hostile: Misbehaving, http_server: HttpServer) -> AsyncIterator[HostileRenderer]:
    made = make_renderer(browser, HASTY, [*map(hostile.origin, CASES), http_server.origin])
    yield made
    await made.renderer.close()


def html(text: str) -> Answer:
    return Answer(body=f"<!doctype html><meta charset=utf-8><title>t</title><body><p>the text</p>{text}".encode())


TRAPS = {
    "/alerts": "<script>alert(1); confirm(2); prompt(3)</script>",
    "/leaving": "<script>onbeforeunload = () => 'stay'; onunload = () => alert('still here'); print()</script>",
    "/opening": "<script>for (let n = 0; n < 20; n++) open('/popup' + n);"
    "const a = document.createElement('a'); a.href = '/popup'; a.target = '_blank'; document.body.append(a); a.click()"
    "</script>",
    "/downloads": "<a id=a href=/file download>x</a><script>a.click(); location.href = '/file'</script>",
    "/permissions": "<script>navigator.geolocation.getCurrentPosition(() => 0, () => 0); Notification.requestPermission();"
    "navigator.mediaDevices && navigator.mediaDevices.getUserMedia({ video: true }).catch(() => 0)</script>",
    "/schemes": "<iframe src='file:///etc/passwd'></iframe><iframe src='chrome://version'></iframe>"
    "<script>for (const to of ['file:///etc/passwd', 'mailto:a@b.c', 'tel:1', 'chrome://crash', 'view-source:/']) {"
    "try { location.href = to } catch (_) {} }</script>",
    "/worker": "<script>navigator.serviceWorker && navigator.serviceWorker.register('/sw.js').catch(() => 0)</script>",
    "/reloads": "<script>setTimeout(() => location.reload(), 5)</script>",
    "/refreshes": "<meta http-equiv=refresh content='0;url=/refreshes'>",
    "/errors": "<script>throw new Error('x')</script><script>this is no script</script>",
    "/endless-frames": "<iframe src=/endless-frames></iframe>",
    "/storage": "<script>try { for (;;) localStorage.setItem(Math.random(), 'x'.repeat(1e5)) } catch (_) {}</script>",
    "/overwritten": "<script>JSON.stringify = Map = Set = Promise = Array.prototype.map = setTimeout = null;"
    "Object.defineProperty(document, 'documentElement', { get() { throw 1 } })</script>",
}
STUCK = {
    "/loop": "<script>for (;;) {}</script>",
    "/late-loop": "<script>setTimeout(() => { for (;;) {} }, 20)</script>",
    "/alert-loop": "<script>for (;;) alert(1)</script>",
    "/noisy": "<div id=d></div><script>setInterval(() => d.append(document.createElement('b')), 10)</script>",
    "/long-poll": "<script>fetch('/never')</script>",
    "/growing": "<script>const keep = []; setInterval(() => keep.push(new Array(1e5).fill(1)), 1)</script>",
}


@pytest.fixture(scope="module")
def http_server(hostile: Misbehaving) -> Iterator[HttpServer]:
    pages = {path: html(text) for path, text in {**TRAPS, **STUCK, "/reach": reaching(hostile.canary_port)}.items()}
    pages["/file"] = Answer(body=b"x" * 10, content_type="application/zip", headers=(("Content-Disposition", "attachment"),))
    pages["/sw.js"] = Answer(body=b"fetch('/from-worker')", content_type="text/javascript")
    canary = f"http://127.0.0.1:{hostile.canary_port}/by-navigation"
    pages["/by-script"] = html(f"<script>location.href = '{canary}'</script>")
    pages["/by-refresh"] = html(f"<meta http-equiv=refresh content='0;url={canary}'>")
    pages["/by-form"] = html(f"<form id=f method=post action='{canary}'></form><script>f.submit()</script>")
    with serve_site(site(pages)) as running:
        running.slow["/never"] = 3.0
        yield running


def reaching(port: int) -> str:
    """A page that tries to reach the canary by every means of a page."""
    places = [f"http://127.0.0.1:{port}", f"http://127.0.0.2:{port}", f"http://localhost:{port}", f"http://[::1]:{port}",
              f"http://0x7f000001:{port}", f"http://0.0.0.0:{port}", f"http://user@127.0.0.1:{port}"]  # fmt: skip
    place = places[0]
    return f"""
    <img src="{place}/img"><link rel=stylesheet href="{place}/css"><link rel=prefetch href="{place}/prefetch">
    <link rel=preconnect href="{place}"><link rel=dns-prefetch href="{place}"><link rel=prerender href="{place}/prerender">
    <link rel=modulepreload href="{place}/module"><script src="{place}/js"></script><iframe src="{place}/frame"></iframe>
    <object data="{place}/object"></object><embed src="{place}/embed"><video src="{place}/video"></video>
    <form action="{place}/form" method=post target=inner id=f></form><iframe name=inner></iframe>
    <script type=speculationrules>{{"prerender": [{{"urls": ["{place}/speculation"]}}]}}</script>
    <style>body {{ background: url({place}/style) }} p {{ font-family: x }}
    @font-face {{ font-family: x; src: url({place}/font) }}</style>
    <script>
      for (const place of {places!r}) {{
        fetch(place + "/fetch", {{ mode: "no-cors" }}).catch(() => 0);
        try {{ new WebSocket(place.replace("http", "ws") + "/ws") }} catch (_) {{}}
        try {{ new EventSource(place + "/events") }} catch (_) {{}}
        navigator.sendBeacon(place + "/beacon", "x");
        import(place + "/import").catch(() => 0);
        new Image().src = place + "/image";
      }}
      const code = `fetch("{place}/worker").catch(() => 0); importScripts("{place}/script")`;
      try {{ new Worker(URL.createObjectURL(new Blob([code]))) }} catch (_) {{}}
      f.submit();
      open("{place}/open");
    </script>"""


async def test_nothing_that_a_page_does_reaches_the_canary(
    renderer: HostileRenderer, hostile: Misbehaving, http_server: HttpServer
) -> None:
    seen = await renderer.render(http_server.origin + "/reach")
    assert isinstance(seen, Rendered)
    assert b"the text" in seen.response.body
    assert seen.metrics.refused > 5
    assert hostile.canary_connections == 0


@pytest.mark.parametrize("path", ["/by-script", "/by-refresh", "/by-form"])
async def test_a_navigation_to_the_canary_is_refused_and_the_page_remains(
    renderer: HostileRenderer, hostile: Misbehaving, http_server: HttpServer, path: str
) -> None:
    seen = await renderer.render(http_server.origin + path)
    assert isinstance(seen, Rendered)
    assert (seen.response.url, seen.metrics.refused) == (http_server.origin + path, 1)
    assert b"the text" in seen.response.body
    assert hostile.canary_connections == 0


async def test_no_datagram_leaves_by_way_of_webrtc(browser: Browser) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stun:
        stun.bind(("127.0.0.1", 0))
        stun.setblocking(False)
        port = stun.getsockname()[1]
        text = (
            "<iframe id=i></iframe><script>for (const from of [self, i.contentWindow]) { try {"
            f"const c = new from.RTCPeerConnection({{ iceServers: [{{ urls: 'stun:127.0.0.1:{port}' }}] }});"
            "c.createDataChannel('x'); c.createOffer().then((o) => c.setLocalDescription(o)) } catch (_) {} }"
            "setTimeout(() => document.body.append('done'), 300)</script>"
        )
        with serve_site(site({"/": html(text)})) as http_server:
            renderer = make_renderer(browser, SETTINGS, [http_server.origin, f"http://127.0.0.1:{port}"])
            assert "done" in await renderer.page(http_server.origin + "/")
            await renderer.renderer.close()
        with pytest.raises(BlockingIOError):
            stun.recv(2048)


@pytest.mark.parametrize("path", TRAPS)
async def test_a_trap_ends_and_the_page_is_read(renderer: HostileRenderer, http_server: HttpServer, path: str) -> None:
    starts = renderer.browser.starts
    assert "the text" in await renderer.page(http_server.origin + path)
    assert renderer.browser.starts == max(starts, 1)
    targets = [hit.target for hit in http_server.hits]
    assert not [target for target in targets if target.startswith("/popup") or target == "/from-worker"]
    assert targets.count(path) <= 60


@pytest.mark.parametrize("path", STUCK)
async def test_a_page_that_is_never_idle_is_read_at_the_time_limit(
    impatient_renderer: HostileRenderer, http_server: HttpServer, path: str
) -> None:
    starts = impatient_renderer.browser.starts
    assert "the text" in await impatient_renderer.page(http_server.origin + path)
    assert impatient_renderer.browser.starts == max(starts, 1)


@pytest.mark.parametrize("name", ["gzip bomb", "brotli bomb", "zstd bomb", "endless body"])
async def test_a_bomb_is_too_large_and_costs_little(
    impatient_renderer: HostileRenderer, hostile: Misbehaving, name: str
) -> None:
    failure = await impatient_renderer.failure(hostile.url(name))
    assert failure.failure in {Failure.TOO_LARGE, Failure.TIMEOUT}
    running = impatient_renderer.browser.current
    assert running is not None
    assert running.memory_bytes < BROWSER_BYTES


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("cut short", Failure.TRUNCATED),
        ("cut between chunks", Failure.TRUNCATED),
        ("chunk size that is no number", Failure.TRUNCATED),
        ("not HTTP", Failure.PROTOCOL),
        ("two lengths", Failure.PROTOCOL),
        ("reset", Failure.CONNECTION),
        ("closed without a word", Failure.CONNECTION),
    ],
)
async def test_a_transport_misbehaviour_ends_as_its_failure(
    renderer: HostileRenderer, hostile: Misbehaving, name: str, failure: Failure
) -> None:
    assert (await renderer.failure(hostile.url(name))).failure is failure


@pytest.mark.parametrize("name", ["redirect to itself", "redirects in a circle", "redirects without an end"])
async def test_redirects_that_never_arrive_end_soon(renderer: HostileRenderer, hostile: Misbehaving, name: str) -> None:
    seen = await renderer.render(hostile.url(name))
    if isinstance(seen, Rendered):
        assert (seen.response.status, seen.response.body) == (302, b"")
    else:
        assert seen.failure is Failure.PROTOCOL
    assert len(hostile.requests[name]) <= 25


async def test_an_invalid_certificate_is_a_tls_error(browser: Browser, certificate: tuple[Path, Path]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    async with raw_server.serving(raw_server.always(reply()), tls=context) as served:
        renderer = make_renderer(browser, SETTINGS, [served.origin])
        assert (await renderer.failure(served.origin + "/")).failure is Failure.TLS
        await renderer.renderer.close()
    assert served.requests == []


@pytest.mark.parametrize("name", ["no response", "one byte at a time"])
async def test_a_slow_response_times_out(impatient_renderer: HostileRenderer, hostile: Misbehaving, name: str) -> None:
    assert (await impatient_renderer.failure(hostile.url(name))).failure is Failure.TIMEOUT


async def test_a_redirect_to_a_private_address_is_returned_and_not_followed(
    renderer: HostileRenderer, hostile: Misbehaving
) -> None:
    seen = await renderer.render(hostile.url("redirect to the canary"))
    assert isinstance(seen, Rendered)
    assert (seen.response.status, seen.response.body, seen.metrics.refused) == (302, b"", 1)
    assert seen.response.header("location") == f"{hostile.canary}/internal"


@pytest.mark.parametrize("kind", ["http", "socks5", "certificates and headers"])
async def test_the_canary_is_out_of_reach_with_access_to_the_site(
    kind: str, browser: Browser, hostile: Misbehaving, http_server: HttpServer, certificate: tuple[Path, Path]
) -> None:
    with contextlib.ExitStack() as stack:
        access = Access(SiteAccess(headers=(("X-Key", "key-4711"),)), ca_file=str(certificate[0]))
        if kind in {"http", "socks5"}:
            proxy = stack.enter_context(serve_proxy(kind, "ann:secret-word"))
            access = Access(proxies=Proxies((proxy.url,), (proxy.url,)))
        settings = replace(SETTINGS, seeds=(http_server.url(),))
        renderer = BrowserRenderer(browser, settings, AddressGuard([http_server.origin]), access=RunAccess(access, settings))
        made = HostileRenderer(renderer, browser)
        assert "the text" in await made.page(http_server.url("/reach"))
        for path in ("/by-script", "/by-refresh", "/by-form"):
            await made.render(http_server.url(path))
        await renderer.close()
        if kind in {"http", "socks5"}:
            assert proxy.targets
            assert not any(str(hostile.canary_port) in target for target in proxy.targets)
    assert hostile.canary_connections == 0
