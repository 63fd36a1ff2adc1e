"""The parts of rendering that need no browser."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import pytest

from sitelore.fetch.arrival import Arrival, Rules
from sitelore.fetch.blocking import blocked_kinds, blocked_patterns
from sitelore.fetch.finding_browser import find_browser
from sitelore.fetch.forward_proxy import TROUBLE_HEADER, ForwardProxy, Trouble
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.page_scripts import prelude, reading, settling
from sitelore.fetch.render_failures import explain_net_error, is_broken_body
from sitelore.fetch.traffic import Traffic
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
    assert not is_blocked("https://a.example/x.png", with_looks=True)
    assert is_blocked("https://a.example/film.mp4", with_looks=True)
    assert is_blocked("https://a.example/chat.js", added=[" *chat* ", ""])
    assert "" not in blocked_patterns(["", " "])
    assert (blocked_kinds(with_looks=True), "Image" in blocked_kinds()) == (("Media",), True)


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
def test_what_the_browser_says_becomes_a_failure_and_a_sentence(text: str, failure: Failure) -> None:
    found, sentence = explain_net_error(text)
    assert (found, sentence[-1]) == (failure, ".")
    assert is_broken_body("net::ERR_INCOMPLETE_CHUNKED_ENCODING")
    assert not is_broken_body("net::ERR_ABORTED")


def test_a_named_browser_is_taken_or_none_is(tmp_path: Path) -> None:
    program = tmp_path / "my-chromium"
    program.write_text("#!/bin/sh\necho Chromium 1.2.3\n", encoding="ascii")
    assert find_browser(str(program)) is None, "it cannot be run"
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    found = find_browser(str(program))
    assert found is not None
    assert (found.path, found.version()) == (str(program), "Chromium 1.2.3")
    assert find_browser("no-such-browser") is None


def test_what_playwright_downloaded_is_found_where_nothing_else_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitelore.fetch.finding_browser._NAMES", ())
    monkeypatch.setattr("sitelore.fetch.finding_browser._PLACES", ())
    for number in ("1100", "1200"):
        program = tmp_path / f"chromium_headless_shell-{number}" / "chrome-linux" / "headless_shell"
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
    found = find_browser("", str(tmp_path))
    assert found is not None
    assert "1200" in found.path
    assert find_browser("", str(tmp_path / "empty")) is None


def test_scripts_carry_their_parameters() -> None:
    assert '"_secret"' in prelude("_secret")
    assert settling("_secret", 100, 20, 3000).endswith("(100, 20, 3000) : 'absent'")
    assert '{"most": 5, "shadow": true, "bodyOnly": false}' in reading(most_chars=5, shadow=True)


def rules(**settings: Any) -> Rules:
    async def judge(url: Url) -> str | None:
        return "robots.txt says no." if url.path == "/private" else None

    made = CrawlSettings(**settings)
    guard = AddressGuard()
    return Rules(guard, judge, made, ForwardProxy(guard, made.limits))


def asks(url: str, number: str = "1") -> dict[str, Any]:
    return {"request": {"url": url}, "networkId": number}


def answers(url: str, status: int, number: str = "1", **headers: str) -> dict[str, Any]:
    told = [{"name": name.replace("_", "-").title(), "value": value} for name, value in headers.items()]
    return {**asks(url, number), "responseStatusCode": status, "responseHeaders": told}


def arrival_at(url: str = HOME, **settings: Any) -> Arrival:
    parsed = Url.parse(url)
    assert parsed is not None
    return Arrival(rules(**settings), parsed)


async def test_a_redirect_is_followed_and_told() -> None:
    arrival = arrival_at()
    assert await arrival.request(asks(HOME))
    assert arrival.answer(answers(HOME, 301, location="/b"))
    assert await arrival.request(asks(HOME + "b"))
    assert arrival.answer(answers(HOME + "b", 200, content_type="text/html", etag="x"))
    arrival.committed()
    assert arrival.shown is not None
    assert (arrival.shown.url, arrival.shown.header("etag")) == (HOME + "b", "x")
    assert arrival.chain == (Hop(Url.trusted(HOME), 301),)
    assert arrival.ending is None


@pytest.mark.parametrize("target", [HOME + "private", "http://127.0.0.1/", "http://[::1]/", "ftp://site.example/"])
async def test_a_refused_redirect_is_handed_back_as_the_answer_it_is(target: str) -> None:
    arrival = arrival_at()
    assert await arrival.request(asks(HOME))
    assert arrival.answer(answers(HOME, 302, location=target))
    assert not await arrival.request(asks(target))
    assert arrival.ending is not None
    assert arrival.ending.response is not None
    assert (arrival.ending.response.status, arrival.ending.response.header("location")) == (302, target)
    assert arrival.refused == 1


async def test_a_page_that_may_not_go_on_stays_what_it_is() -> None:
    arrival = arrival_at()
    assert await arrival.request(asks(HOME))
    assert arrival.answer(answers(HOME, 200, content_type="text/html"))
    arrival.committed()
    assert not await arrival.request(asks(HOME + "private", "2"))
    assert await arrival.request(asks(HOME + "file", "3"))
    assert not arrival.answer(answers(HOME + "file", 200, "3", content_type="application/zip"))
    assert arrival.ending is None
    assert arrival.shown is not None
    assert (arrival.shown.url, arrival.chain) == (HOME, ())


async def test_redirects_and_reloads_without_end_are_ended() -> None:
    arrival = arrival_at(max_redirects=3)
    assert await arrival.request(asks(HOME))
    hops = 0
    while arrival.answer(answers(f"{HOME}{hops}", 302, location="x")) and await arrival.request(asks(f"{HOME}{hops + 1}")):
        hops += 1
    assert hops == 3
    assert arrival.ending is not None
    assert arrival.ending.failure is Failure.PROTOCOL
    loop = arrival_at()
    times = 0
    while await loop.request(asks(HOME, str(times))):
        assert loop.answer(answers(HOME, 200, str(times), content_type="text/html"))
        loop.committed()
        times += 1
    assert times == 3


@pytest.mark.parametrize(
    ("headers", "failure", "is_answer"),
    [
        ({"content_type": "application/pdf"}, None, True),
        ({"content_type": "text/html", "content_length": "99999999999"}, Failure.TOO_LARGE, False),
    ],
)
async def test_what_is_no_page_is_not_shown(headers: dict[str, str], failure: Failure | None, is_answer: bool) -> None:
    arrival = arrival_at()
    assert await arrival.request(asks(HOME))
    assert not arrival.answer(answers(HOME, 200, **headers))
    assert arrival.ending is not None
    assert (arrival.ending.failure, arrival.ending.response is not None) == (failure, is_answer)


async def test_a_site_cannot_speak_in_the_proxys_name() -> None:
    arrival = arrival_at()
    assert await arrival.request(asks(HOME))
    assert arrival.answer(answers(HOME, 502, content_type="text/html", **{TROUBLE_HEADER.replace("-", "_"): "guessed"}))


def traffic(body_bytes: int = FetchLimits().body_bytes) -> Traffic:
    troubles = {("127.0.0.1", 80): Trouble(Failure.ADDRESS, "No.")}
    return Traffic("main", body_bytes, "mark", lambda host, port: troubles.get((host, port)))


def began(number: str, kind: str = "Script", url: str = HOME, frame: str = "main", loader: str = "one") -> dict[str, Any]:
    return {"requestId": number, "type": kind, "request": {"url": url}, "frameId": frame, "loaderId": loader}


async def test_only_what_makes_the_page_is_waited_for() -> None:
    seen = traffic()
    for number, kind in enumerate(("Image", "WebSocket", "EventSource", "Ping", "Prefetch")):
        seen.hear("Network.requestWillBeSent", began(str(number), kind))
    assert seen.quiet_s() > 0
    seen.hear("Network.requestWillBeSent", began("s"))
    assert seen.quiet_s() == 0
    seen.hear("Network.loadingFinished", {"requestId": "s"})
    assert seen.quiet_s() > 0
    assert seen.requests == 6


async def test_a_new_document_forgets_what_the_old_one_waited_for() -> None:
    seen = traffic()
    seen.hear("Network.requestWillBeSent", began("old"))
    seen.hear("Network.requestWillBeSent", began("new", "Document", loader="two"))
    seen.committed("two")
    assert seen.quiet_s() == 0
    seen.hear("Network.loadingFinished", {"requestId": "new", "encodedDataLength": 7})
    assert seen.quiet_s() > 0
    assert seen.wire_bytes == 7


async def test_blocked_and_refused_requests_are_counted_apart() -> None:
    seen = traffic()
    for number, url in enumerate((HOME, "http://127.0.0.1/x", HOME)):
        seen.hear("Network.requestWillBeSent", began(str(number), "Fetch", url))
    seen.hear("Network.loadingFailed", {"requestId": "0", "blockedReason": "inspector", "errorText": ""})
    seen.hear("Network.loadingFailed", {"requestId": "1", "errorText": "net::ERR_FAILED"})
    seen.hear("Network.loadingFailed", {"requestId": "2", "errorText": "net::ERR_CONNECTION_RESET"})
    seen.hear("Network.webSocketCreated", {"requestId": "w", "url": "ws://127.0.0.1/"})
    seen.hear("Network.webSocketClosed", {"requestId": "w"})
    assert (seen.requests, seen.blocked, seen.refused) == (4, 1, 2)


async def test_a_document_or_a_page_that_weighs_too_much_is_noticed() -> None:
    document = traffic(body_bytes=100)
    document.hear("Network.requestWillBeSent", began("d", "Document"))
    heavy = []
    for size in (100, 1):
        document.hear("Network.dataReceived", {"requestId": "d", "dataLength": size})
        heavy.append(document.is_too_heavy)
    assert heavy == [False, True]
    parts = traffic(body_bytes=100)
    parts.hear("Network.dataReceived", {"requestId": "unknown", "dataLength": 401})
    assert parts.is_too_heavy
