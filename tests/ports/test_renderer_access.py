"""The browser with access to a site: headers and cookies reach their origin alone; proxies and TLS options apply."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.proxies import Gate, Pages, serve_gate, serve_proxy, server_tls

from sitelore.app.settings import installed_browser
from sitelore.fetch.access import RunAccess
from sitelore.fetch.browser.chromium import Browser
from sitelore.fetch.browser.renderer import BrowserRenderer
from sitelore.fetch.guard import AddressGuard
from sitelore.model.access import Access, ClientCert, Cookie, Proxies, SiteAccess
from sitelore.model.response import Failure, Rendered, RenderFailure, RenderRequest
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

BASIC = f"Basic {base64.b64encode(b'ann:gate-word').decode()}"
WAYS = {
    "authorization": (SiteAccess(headers=(("Authorization", BASIC),)), ("authorization", BASIC)),
    "header": (SiteAccess(headers=(("X-Key", "key-4711"),)), ("x-key", "key-4711")),
    "cookie": (SiteAccess(cookies=(Cookie("session", "sess-4711"),)), ("cookie", "session=sess-4711")),
}
SECRETS = (BASIC, "key-4711", "sess-4711")


def pages(other: str = "") -> Pages:
    script = (
        "<script>fetch('/data').then(r => r.text()).then(t => { document.querySelector('main').append(t) });"
        f"fetch('{other}/third').catch(() => 0); fetch('/moved').catch(() => 0)</script>"
    )
    return {
        "/": (200, {"Set-Cookie": "own=1; Path=/"}, f"<main>Inside. </main>{script}".encode()),
        "/data": (200, {"Content-Type": "text/plain"}, b"loaded by a script"),
        "/moved": (302, {"Location": f"{other}/after-fetch", "Access-Control-Allow-Origin": "*"}, b""),
        "/away": (302, {"Location": f"{other}/after-navigation"}, b""),
        "/storage": (200, {}, b"<main></main><script>document.querySelector('main').append(localStorage.token)</script>"),
        "/third": (200, {"Access-Control-Allow-Origin": "*"}, b"third"),
        "/after-fetch": (200, {"Access-Control-Allow-Origin": "*"}, b"after"),
        "/after-navigation": (200, {}, b"<main>elsewhere</main>"),
    }


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    made = Browser(installed_browser)
    if not made.is_available():
        pytest.skip("no browser is available")
    yield made
    await made.close()


@pytest.fixture
def other() -> Iterator[Gate]:
    with serve_gate(Gate(pages())) as site:
        yield site


@asynccontextmanager
async def rendering(browser: Browser, access: Access, *origins: str) -> AsyncIterator[BrowserRenderer]:
    settings = CrawlSettings(seeds=(f"{origins[0]}/",), accept_language="de, en;q=0.5")
    renderer = BrowserRenderer(browser, settings, AddressGuard(origins), access=RunAccess(access, settings))
    try:
        yield renderer
    finally:
        await renderer.close()


async def text_of(renderer: BrowserRenderer, url: str) -> str:
    target = Url.parse(url)
    assert target is not None
    rendered = await renderer.render(RenderRequest(target))
    assert isinstance(rendered, Rendered), rendered
    return rendered.response.body.decode()


async def failure_of(renderer: BrowserRenderer, url: str) -> RenderFailure:
    target = Url.parse(url)
    assert target is not None
    failure = await renderer.render(RenderRequest(target))
    assert isinstance(failure, RenderFailure), failure
    return failure


@pytest.mark.parametrize("way", WAYS)
async def test_headers_and_cookies_reach_the_site_and_no_other_origin(way: str, browser: Browser, other: Gate) -> None:
    access, gate = WAYS[way]
    with serve_gate(Gate(pages(other.origin), gate)) as site:
        async with rendering(browser, Access(seeds=access), site.origin, other.origin) as renderer:
            assert "Inside. loaded by a script" in await text_of(renderer, f"{site.origin}/")
            assert "elsewhere" in await text_of(renderer, f"{site.origin}/away")
        assert all(gate[1] in value for value in site.seen(gate[0]))
        assert {target for target, _ in site.requests} >= {"/", "/data", "/moved", "/away"}
        assert "own=1" in " ".join(site.seen("cookie"))  # cookies of the site itself are sent as well
    assert {target for target, _ in other.requests} >= {"/third", "/after-fetch", "/after-navigation"}
    assert not any(secret in other.text() for secret in SECRETS)
    assert all(languages.startswith("de") for languages in other.seen("accept-language"))


async def test_without_access_the_site_stays_closed(browser: Browser, other: Gate) -> None:
    with serve_gate(Gate(pages(other.origin), ("authorization", BASIC))) as site:
        async with rendering(browser, Access(), site.origin) as renderer:
            assert "Log in" in await text_of(renderer, f"{site.origin}/")


async def test_local_storage_is_set_for_its_origin(browser: Browser) -> None:
    with serve_gate(Gate(pages())) as site, serve_gate(Gate(pages())) as elsewhere:
        storage = ((site.origin, "token", "stored-4711"), (elsewhere.origin, "token", "stored-0815"))
        async with rendering(browser, Access(SiteAccess(local_storage=storage)), site.origin, elsewhere.origin) as renderer:
            assert "stored-4711" in await text_of(renderer, f"{site.origin}/storage")
            assert "stored-" not in await text_of(renderer, f"{elsewhere.origin}/storage")


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_the_browser_goes_through_the_proxy(scheme: str, browser: Browser, other: Gate) -> None:
    with serve_gate(Gate(pages(other.origin))) as site, serve_proxy(scheme, "ann:pass-word") as proxy:
        access = Access(proxies=Proxies((proxy.url,), (proxy.url,)))
        async with rendering(browser, access, site.origin) as renderer:
            assert "Inside. loaded by a script" in await text_of(renderer, f"{site.origin}/")
        wrong = proxy.url.replace("pass-word", "wrong-word")
        async with rendering(browser, Access(proxies=Proxies((wrong,), (wrong,))), site.origin) as renderer:
            failure = await failure_of(renderer, f"{site.origin}/")
    assert failure.detail == "The proxy does not accept the credentials."
    assert not any(str(other.port) in target for target in proxy.targets)  # the guard refuses what a page loads from there
    assert other.requests == []
    assert proxy.targets


async def test_the_browser_reaches_https_sites_through_a_tunnel(browser: Browser, certificate: tuple[Path, Path]) -> None:
    with serve_gate(Gate(pages()), server_tls(certificate)) as site, serve_proxy("http", "ann:pass-word") as proxy:
        access = Access(proxies=Proxies((proxy.url,), (proxy.url,)), insecure=True)
        async with rendering(browser, access, site.origin) as renderer:
            assert "Inside. loaded by a script" in await text_of(renderer, f"{site.origin}/")
    assert f"CONNECT 127.0.0.1:{site.port}" in proxy.targets


async def test_certificates_are_verified_unless_the_access_is_insecure(
    browser: Browser, certificate: tuple[Path, Path]
) -> None:
    with serve_gate(Gate(pages()), server_tls(certificate)) as site:
        async with rendering(browser, Access(), site.origin) as renderer:
            assert (await failure_of(renderer, f"{site.origin}/")).failure is Failure.TLS
        async with rendering(browser, Access(insecure=True), site.origin) as renderer:
            assert "Inside. loaded by a script" in await text_of(renderer, f"{site.origin}/")


async def test_a_ca_file_is_trusted_and_nothing_else(
    browser: Browser, certificate: tuple[Path, Path], other_certificate: tuple[Path, Path]
) -> None:
    access = Access(ca_file=str(certificate[0]))
    with (
        serve_gate(Gate(pages()), server_tls(certificate)) as site,
        serve_gate(Gate(pages()), server_tls(other_certificate)) as unknown,
    ):
        async with rendering(browser, access, site.origin, unknown.origin) as renderer:
            assert "Inside. loaded by a script" in await text_of(renderer, f"{site.origin}/")
            assert (await failure_of(renderer, f"{unknown.origin}/")).failure is Failure.TLS
    assert unknown.requests == []


async def test_a_client_certificate_is_sent_to_the_site_alone(browser: Browser, certificate: tuple[Path, Path]) -> None:
    client = SiteAccess(client_cert=ClientCert(str(certificate[0]), str(certificate[1])))
    tls = server_tls(certificate, client_ca=certificate[0])
    with serve_gate(Gate(pages()), tls) as site, serve_gate(Gate(pages()), tls) as elsewhere:
        access = Access(seeds=client, ca_file=str(certificate[0]))
        async with rendering(browser, access, site.origin, elsewhere.origin) as renderer:
            assert "Inside. loaded by a script" in await text_of(renderer, f"{site.origin}/")
            await failure_of(renderer, f"{elsewhere.origin}/")
    assert elsewhere.requests == []
