"""Parts of `fetch/browser` that need no running browser."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import pytest

from sitelore.fetch.browser.chromium import find_browser
from sitelore.fetch.browser.guard_proxy import PROXY_HEADER, GuardProxy
from sitelore.fetch.browser.navigation import Navigation, NavigationRules
from sitelore.fetch.browser.network_monitor import NetworkMonitor, blocked_patterns, blocked_types
from sitelore.fetch.browser.page_scripts import init_script, serialize_script, wait_idle_script
from sitelore.fetch.failures import FailureInfo, explain_net_error, is_broken_body
from sitelore.fetch.guard import AddressGuard
from sitelore.model.frontier import Hop
from sitelore.model.response import Failure
from sitelore.model.settings import CrawlSettings, FetchLimits
from sitelore.model.url import Url

HOME = "http://site.example/"


def is_blocked(url: str, **how: Any) -> bool:
    patterns = blocked_patterns(**how)
    return any(re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), url) for pattern in patterns)


@pytest.mark.parametrize(
    ("url", "blocked"),
    [
        ("https://a.example/x.png", True),
        ("https://a.example/x.woff2?v=1", True),
        ("https://a.example/film.mp4", True),
        ("https://www.google-analytics.com/analytics.js", True),
        ("https://stats.g.doubleclick.net/x", True),
        ("https://a.example/app.js", False),
        ("https://a.example/style.css", False),
        ("https://a.example/png", False),
        ("https://notgoogle-analytics.com.example/x", False),
    ],
)
def test_pictures_fonts_media_and_trackers_are_blocked(url: str, blocked: bool) -> None:
    assert is_blocked(url) is blocked


def test_a_screenshot_needs_pictures_and_a_site_may_block_more() -> None:
    assert not is_blocked("https://a.example/x.png", allow_visuals=True)
    assert is_blocked("https://a.example/film.mp4", allow_visuals=True)
    assert is_blocked("https://a.example/chat.js", added=[" *chat* ", ""])
    assert "" not in blocked_patterns(["", " "])
    assert (blocked_types(allow_visuals=True), "Image" in blocked_types()) == (("Media",), True)


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("net::ERR_CERT_AUTHORITY_INVALID", Failure.TLS),
        ("net::ERR_NAME_NOT_RESOLVED", Failure.DNS),
        ("net::ERR_CONNECTION_RESET", Failure.CONNECTION),
        ("net::ERR_CONTENT_LENGTH_MISMATCH", Failure.TRUNCATED),
        ("net::ERR_TOO_MANY_REDIRECTS", Failure.PROTOCOL),
        ("net::ERR_SOMETHING_NEW", Failure.PROTOCOL),
    ],
)
def test_a_chromium_error_becomes_a_failure_with_a_message(text: str, failure: Failure) -> None:
    info = explain_net_error(text)
    assert (info.failure, info.detail[-1]) == (failure, ".")
    assert is_broken_body("net::ERR_INCOMPLETE_CHUNKED_ENCODING")
    assert not is_broken_body("net::ERR_ABORTED")


def test_a_named_browser_has_no_fallback(tmp_path: Path) -> None:
    program = tmp_path / "my-chromium"
    program.write_text("#!/bin/sh\necho Chromium 1.2.3\n", encoding="ascii")
    assert find_browser(str(program)) is None, "it cannot be run"
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    path = find_browser(str(program))
    assert path is not None
    assert (path.path, path.version()) == (str(program), "Chromium 1.2.3")
    assert find_browser("no-such-browser") is None


def test_a_browser_downloaded_by_playwright_is_the_last_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitelore.fetch.browser.chromium._COMMANDS", ())
    monkeypatch.setattr("sitelore.fetch.browser.chromium._PATHS", ())
    for number in ("1100", "1200"):
        program = tmp_path / f"chromium_headless_shell-{number}" / "chrome-linux" / "headless_shell"
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    path = find_browser("", str(tmp_path))
    assert path is not None
    assert "1200" in path.path
    assert find_browser("", str(tmp_path / "empty")) is None


def test_scripts_contain_their_parameters() -> None:
    assert '"_secret"' in init_script("_secret")
    assert wait_idle_script("_secret", 100, 20, 3000).endswith("(100, 20, 3000) : 'absent'")
    assert '{"maxChars": 5, "shadow": true, "bodyOnly": false}' in serialize_script(max_chars=5, shadow=True)


def rules(**settings: Any) -> NavigationRules:
    async def check(url: Url) -> str | None:
        return "robots.txt says no." if url.path == "/private" else None

    made = CrawlSettings(**settings)
    guard = AddressGuard()
    return NavigationRules(guard, check, made, GuardProxy(guard, made.limits))


def request_event(url: str, number: str = "1") -> dict[str, Any]:
    return {"request": {"url": url}, "networkId": number}


def response_event(url: str, status: int, number: str = "1", **headers: str) -> dict[str, Any]:
    fields = [{"name": name.replace("_", "-").title(), "value": value} for name, value in headers.items()]
    return {**request_event(url, number), "responseStatusCode": status, "responseHeaders": fields}


def navigation_to(url: str = HOME, **settings: Any) -> Navigation:
    parsed = Url.parse(url)
    assert parsed is not None
    return Navigation(rules(**settings), parsed)


async def test_a_redirect_is_followed_and_recorded() -> None:
    navigation = navigation_to()
    assert await navigation.on_request(request_event(HOME))
    assert navigation.on_response(response_event(HOME, 301, location="/b"))
    assert await navigation.on_request(request_event(HOME + "b"))
    assert navigation.on_response(response_event(HOME + "b", 200, content_type="text/html", etag="x"))
    navigation.on_commit()
    assert navigation.shown is not None
    assert (navigation.shown.url, navigation.shown.header("etag")) == (HOME + "b", "x")
    assert navigation.chain == (Hop(Url.trusted(HOME), 301),)
    assert navigation.result is None


@pytest.mark.parametrize("target", [HOME + "private", "http://127.0.0.1/", "http://[::1]/", "ftp://site.example/"])
async def test_a_refused_redirect_ends_the_navigation_with_the_redirect_itself(target: str) -> None:
    navigation = navigation_to()
    assert await navigation.on_request(request_event(HOME))
    assert navigation.on_response(response_event(HOME, 302, location=target))
    assert not await navigation.on_request(request_event(target))
    assert navigation.result is not None
    assert navigation.result.response is not None
    assert (navigation.result.response.status, navigation.result.response.header("location")) == (302, target)
    assert navigation.refused == 1


async def test_a_page_whose_next_navigation_is_refused_remains_the_page() -> None:
    navigation = navigation_to()
    assert await navigation.on_request(request_event(HOME))
    assert navigation.on_response(response_event(HOME, 200, content_type="text/html"))
    navigation.on_commit()
    assert not await navigation.on_request(request_event(HOME + "private", "2"))
    assert await navigation.on_request(request_event(HOME + "file", "3"))
    assert not navigation.on_response(response_event(HOME + "file", 200, "3", content_type="application/zip"))
    assert navigation.result is None
    assert navigation.shown is not None
    assert (navigation.shown.url, navigation.chain) == (HOME, ())


async def test_endless_redirects_and_reloads_are_stopped() -> None:
    navigation = navigation_to(max_redirects=3)
    assert await navigation.on_request(request_event(HOME))
    hops = 0
    while navigation.on_response(response_event(f"{HOME}{hops}", 302, location="x")) and await navigation.on_request(
        request_event(f"{HOME}{hops + 1}")
    ):
        hops += 1
    assert hops == 3
    assert navigation.result is not None
    assert navigation.result.failure == (Failure.PROTOCOL, "More than 3 redirects.")
    loop = navigation_to()
    times = 0
    while await loop.on_request(request_event(HOME, str(times))):
        assert loop.on_response(response_event(HOME, 200, str(times), content_type="text/html"))
        loop.on_commit()
        times += 1
    assert times == 3


@pytest.mark.parametrize(
    ("headers", "failure", "has_response"),
    [
        ({"content_type": "application/pdf"}, None, True),
        ({"content_type": "text/html", "content_length": "99999999999"}, Failure.TOO_LARGE, False),
    ],
)
async def test_a_response_that_is_not_a_page_is_not_shown(
    headers: dict[str, str], failure: Failure | None, has_response: bool
) -> None:
    navigation = navigation_to()
    assert await navigation.on_request(request_event(HOME))
    assert not navigation.on_response(response_event(HOME, 200, **headers))
    assert navigation.result is not None
    info = navigation.result.failure
    assert (info.failure if info else None, navigation.result.response is not None) == (failure, has_response)


async def test_a_site_cannot_forge_a_response_of_the_proxy() -> None:
    navigation = navigation_to()
    assert await navigation.on_request(request_event(HOME))
    assert navigation.on_response(
        response_event(HOME, 502, content_type="text/html", **{PROXY_HEADER.replace("-", "_"): "guessed"})
    )


def monitor(body_bytes: int = FetchLimits().body_bytes) -> NetworkMonitor:
    failures = {("127.0.0.1", 80): FailureInfo(Failure.ADDRESS, "No.")}
    return NetworkMonitor("main", body_bytes, "mark", lambda host, port: failures.get((host, port)))


def sent_event(number: str, kind: str = "Script", url: str = HOME, frame: str = "main", loader: str = "one") -> dict[str, Any]:
    return {"requestId": number, "type": kind, "request": {"url": url}, "frameId": frame, "loaderId": loader}


async def test_only_requests_that_build_the_page_are_awaited() -> None:
    network = monitor()
    for number, kind in enumerate(("Image", "WebSocket", "EventSource", "Ping", "Prefetch")):
        network.handle("Network.requestWillBeSent", sent_event(str(number), kind))
    assert network.idle_s() > 0
    network.handle("Network.requestWillBeSent", sent_event("s"))
    assert network.idle_s() == 0
    network.handle("Network.loadingFinished", {"requestId": "s"})
    assert network.idle_s() > 0
    assert network.requests == 6


async def test_a_new_document_drops_the_requests_of_the_previous_one() -> None:
    network = monitor()
    network.handle("Network.requestWillBeSent", sent_event("old"))
    network.handle("Network.requestWillBeSent", sent_event("new", "Document", loader="two"))
    network.on_commit("two")
    assert network.idle_s() == 0
    network.handle("Network.loadingFinished", {"requestId": "new", "encodedDataLength": 7})
    assert network.idle_s() > 0
    assert network.wire_bytes == 7


async def test_blocked_and_refused_requests_are_counted_separately() -> None:
    network = monitor()
    for number, url in enumerate((HOME, "http://127.0.0.1/x", HOME)):
        network.handle("Network.requestWillBeSent", sent_event(str(number), "Fetch", url))
    network.handle("Network.loadingFailed", {"requestId": "0", "blockedReason": "inspector", "errorText": ""})
    network.handle("Network.loadingFailed", {"requestId": "1", "errorText": "net::ERR_FAILED"})
    network.handle("Network.loadingFailed", {"requestId": "2", "errorText": "net::ERR_CONNECTION_RESET"})
    network.handle("Network.webSocketCreated", {"requestId": "w", "url": "ws://127.0.0.1/"})
    network.handle("Network.webSocketClosed", {"requestId": "w"})
    assert (network.requests, network.blocked, network.refused) == (4, 1, 2)


async def test_a_document_or_page_over_the_size_limit_is_detected() -> None:
    document = monitor(body_bytes=100)
    document.handle("Network.requestWillBeSent", sent_event("d", "Document"))
    heavy = []
    for size in (100, 1):
        document.handle("Network.dataReceived", {"requestId": "d", "dataLength": size})
        heavy.append(document.is_too_large)
    assert heavy == [False, True]
    parts = monitor(body_bytes=100)
    parts.handle("Network.dataReceived", {"requestId": "unknown", "dataLength": 401})
    assert parts.is_too_large
