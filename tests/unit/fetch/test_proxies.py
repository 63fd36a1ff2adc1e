"""The HTTP client through real proxies on loopback: HTTP, HTTPS, SOCKS5, credentials, rotation and health."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest
from tests.support.proxies import Gate, Pages, serve_gate, serve_proxy, server_tls

from sitelore.fetch.access import RunAccess
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.fetch.http.pool import Lookup
from sitelore.fetch.http.proxies import ProxyPool, parse_proxy
from sitelore.fetch.http.tls import TlsContexts
from sitelore.model.access import Access, Proxies
from sitelore.model.errors import UsageError
from sitelore.model.response import Failure, FetchFailure, Request, Response
from sitelore.model.settings import CrawlSettings, FetchLimits
from sitelore.model.url import Url

PAGES: Pages = {"/": (200, {}, b"<p>inside</p>"), "/two": (200, {}, b"<p>second</p>")}
LIMITS = FetchLimits(connect_s=5.0)


def through(*urls: str, bypass: tuple[str, ...] = (), ca_file: Path | None = None) -> RunAccess:
    return RunAccess(Access(proxies=Proxies(urls, urls, bypass), ca_file=str(ca_file or "")))


def url_of(text: str) -> Url:
    url = Url.parse(text)
    assert url is not None
    return url


@asynccontextmanager
async def fetching(
    access: RunAccess, *origins: str, lookup: Lookup | None = None, allow: tuple[str, ...] = ()
) -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher(CrawlSettings(limits=LIMITS), AddressGuard(origins, allow), access=access, lookup=lookup)
    try:
        yield fetcher
    finally:
        await fetcher.close()


async def body_of(fetcher: HttpFetcher, url: str) -> bytes:
    response = await fetcher.fetch(Request(url_of(url)))
    assert isinstance(response, Response), response
    return response.body


async def failure_of(fetcher: HttpFetcher, url: str) -> FetchFailure:
    failure = await fetcher.fetch(Request(url_of(url)))
    assert isinstance(failure, FetchFailure), failure
    return failure


@pytest.mark.parametrize("credentials", ["", "ann:s3cret-word"])
@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_an_http_site_is_fetched_through_a_proxy(scheme: str, credentials: str) -> None:
    with serve_gate(Gate(PAGES)) as site, serve_proxy(scheme, credentials) as proxy:
        async with fetching(through(proxy.url), site.origin) as fetcher:
            assert await body_of(fetcher, f"{site.origin}/") == b"<p>inside</p>"
            assert await body_of(fetcher, f"{site.origin}/two") == b"<p>second</p>"
    expected = f"GET {site.origin}/" if scheme == "http" else f"SOCKS 127.0.0.1:{site.port}"
    assert proxy.targets[0] == expected
    assert "proxy-authorization" not in site.text()
    assert "s3cret" not in site.text()


@pytest.mark.parametrize("scheme", ["http", "socks5", "https"])
async def test_an_https_site_is_fetched_through_a_tunnel(scheme: str, certificate: tuple[Path, Path]) -> None:
    tls = server_tls(certificate)
    with (
        serve_gate(Gate(PAGES), tls) as site,
        serve_proxy(scheme, "ann:s3cret-word", server_tls(certificate) if scheme == "https" else None) as proxy,
    ):
        async with fetching(through(proxy.url, ca_file=certificate[0]), site.origin) as fetcher:
            assert await body_of(fetcher, f"{site.origin}/") == b"<p>inside</p>"
    verb = "SOCKS" if scheme == "socks5" else "CONNECT"
    assert proxy.targets == [f"{verb} 127.0.0.1:{site.port}"]


async def test_an_http_site_is_fetched_through_an_https_proxy(certificate: tuple[Path, Path]) -> None:
    with serve_gate(Gate(PAGES)) as site, serve_proxy("https", "ann:s3cret-word", server_tls(certificate)) as proxy:
        async with fetching(through(proxy.url, ca_file=certificate[0]), site.origin) as fetcher:
            assert await body_of(fetcher, f"{site.origin}/") == b"<p>inside</p>"
        async with fetching(through(proxy.url), site.origin) as fetcher:
            assert (await failure_of(fetcher, f"{site.origin}/")).failure is Failure.TLS


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_wrong_credentials_of_a_proxy_are_a_failure_and_not_a_page(scheme: str) -> None:
    with serve_gate(Gate(PAGES)) as site, serve_proxy(scheme, "ann:right-word") as proxy:
        wrong = proxy.url.replace("right-word", "wrong-word")
        async with fetching(through(wrong), site.origin) as fetcher:
            failure = await failure_of(fetcher, f"{site.origin}/")
    assert (failure.failure, failure.detail) == (Failure.CONNECTION, "The proxy does not accept the credentials.")
    assert proxy.refused == 1
    assert site.requests == []


async def test_a_proxy_that_cannot_be_reached_is_replaced_by_the_next() -> None:
    with serve_proxy("http") as closed:
        pass
    with serve_gate(Gate(PAGES)) as site, serve_proxy("http") as proxy:
        async with fetching(through(closed.url, proxy.url), site.origin) as fetcher:
            for _ in range(3):
                assert await body_of(fetcher, f"{site.origin}/") == b"<p>inside</p>"
        async with fetching(through(closed.url), site.origin) as fetcher:
            failure = await failure_of(fetcher, f"{site.origin}/")
    assert failure.detail == f"The proxy 127.0.0.1:{closed.port} cannot be reached: Connection refused."
    assert len(proxy.targets) == 3


async def test_a_proxy_that_closes_the_connection_is_put_aside(certificate: tuple[Path, Path]) -> None:
    with (
        serve_gate(Gate(PAGES), server_tls(certificate)) as site,
        serve_proxy("socks5") as broken,
        serve_proxy("http") as proxy,
    ):
        broken.is_broken = True
        access = through(broken.url, proxy.url, ca_file=certificate[0])
        assert access.proxies is not None
        now = 0.0
        access.proxies._clock = lambda: now
        for _ in range(4):
            async with fetching(access, site.origin) as fetcher:
                assert await body_of(fetcher, f"{site.origin}/") == b"<p>inside</p>"
        assert (broken.connections, len(proxy.targets)) == (1, 4)
        now = 5.0
        for _ in range(2):
            async with fetching(access, site.origin) as fetcher:
                assert await body_of(fetcher, f"{site.origin}/") == b"<p>inside</p>"
        assert (broken.connections, len(proxy.targets)) == (2, 6)


async def test_connections_rotate_over_the_proxies(certificate: tuple[Path, Path]) -> None:
    with ExitStack() as stack:
        site = stack.enter_context(serve_gate(Gate(PAGES), server_tls(certificate)))
        proxies = [stack.enter_context(serve_proxy("http")) for _ in range(3)]
        access = through(*(proxy.url for proxy in proxies), ca_file=certificate[0])
        for _ in range(6):
            async with fetching(access, site.origin) as fetcher:
                await body_of(fetcher, f"{site.origin}/")
    assert [len(proxy.targets) for proxy in proxies] == [2, 2, 2]


def test_a_failing_proxy_is_put_aside_for_a_growing_time() -> None:
    proxy = parse_proxy("http://one.test:3128")
    times = []
    for _ in range(10):
        proxy.put_aside(100.0)
        times.append(proxy.aside_until - 100.0)
    assert times == [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]
    proxy.works()
    proxy.put_aside(100.0)
    assert proxy.aside_until == 105.0


async def no_address(host: str, port: int) -> list[str]:
    raise OSError("no address")


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_targets_are_judged_before_a_proxy_hears_of_them(scheme: str) -> None:
    async def lookup(host: str, port: int) -> list[str]:
        return {"mixed.example": ["93.184.216.34", "127.0.0.1"]}.get(host, ["127.0.0.1"])

    with serve_gate(Gate(PAGES)) as canary, serve_proxy(scheme) as proxy:
        async with fetching(through(proxy.url), lookup=lookup) as fetcher:
            for host in ("127.0.0.1", "localhost", "[::1]", "0x7f000001", "rebound.example", "mixed.example"):
                failure = await failure_of(fetcher, f"http://{host}:{canary.port}/")
                assert failure.failure is Failure.ADDRESS
    assert proxy.targets == []
    assert canary.requests == []


async def test_a_name_that_only_the_proxy_knows_is_sent_to_it_when_a_person_named_it() -> None:
    with serve_gate(Gate(PAGES)) as site, serve_proxy("socks5") as proxy:
        seed = f"http://intranet.example:{site.port}"
        async with fetching(through(proxy.url), seed, lookup=no_address) as fetcher:
            assert await body_of(fetcher, f"{seed}/") == b"<p>inside</p>"
            failure = await failure_of(fetcher, f"http://other.example:{site.port}/")
    assert failure.failure is Failure.DNS
    assert proxy.targets == [f"SOCKS intranet.example:{site.port}"]


@pytest.mark.parametrize(
    ("bypass", "host", "is_proxied"),
    [
        ("*", "a.test", False), ("a.test", "a.test", False), ("a.test", "b.a.test", False), (".a.test", "b.a.test", False),
        ("a.test", "ba.test", True), ("*.a.test", "b.a.test", False), ("a.test:80", "a.test", False),
        ("a.test:81", "a.test", True), ("10.0.0.0/8", "10.1.2.3", False), ("10.0.0.0/8", "11.1.2.3", True),
        ("[::1]", "[::1]", False), ("10.0.0.0/8", "a.test", True),
    ],
)  # fmt: skip
def test_no_proxy_lists_hosts_with_their_subdomains_ports_and_networks(bypass: str, host: str, is_proxied: bool) -> None:
    pool = ProxyPool(Proxies(("http://p:1",), (), (bypass,)), TlsContexts())
    assert pool.applies_to("http", host, 80) is is_proxied
    assert not pool.applies_to("https", host, 80)


def test_proxies_of_the_environment_leave_loopback_alone() -> None:
    pool = ProxyPool(Proxies(("http://p:1",), ("http://p:1",), bypass_loopback=True), TlsContexts())
    assert [pool.applies_to("http", host, 80) for host in ("localhost", "127.0.0.1", "[::1]", "a.test")] == [False] * 3 + [True]


@pytest.mark.parametrize(
    "text", ["ftp://p:1", "http://", "http://p:port", "socks4://p", "http://p/path", "http://u:top-secret@"]
)
def test_an_invalid_proxy_is_an_error_that_does_not_repeat_it(text: str) -> None:
    with pytest.raises(UsageError) as problem:
        parse_proxy(text)
    assert "secret" not in str(problem.value)


def test_a_proxy_is_parsed_with_its_credentials() -> None:
    proxy = parse_proxy("socks5://ann:p%40ss@proxy.test")
    assert (proxy.host, proxy.port, proxy.user, proxy.password) == ("proxy.test", 1080, "ann", "p@ss")
    assert "p@ss" not in repr(proxy)
    assert parse_proxy("proxy.test:3128").scheme == "http"
