"""Authentication, request validation, and the problem details of every refusal."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.api import Api, ApiResponse, idle_app, serving_api, whole_app
from tests.support.http_server import page, prose, redirect, serve_site, site

from sitelore.model.errors import DiskFull, UsageError
from sitelore.model.platform.rate_limits import parse_rate_limits
from sitelore.serve.context import ApiSettings, AppContext
from sitelore.serve.problems import KINDS
from sitelore.serve.security.middleware import BODY_BYTES
from sitelore.serve.server import is_loopback, listening_socket

TOKENS = ("a-token-of-the-first-kind", "a-token-of-another-kind")
PUBLIC = "https://site.invalid/"
"""Runs of it are created in an app without workers."""


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving_api(partial(idle_app, tmp_path_factory.mktemp("api"))) as api:
        yield api


MANY_FAILURES = ApiSettings(tokens=TOKENS, rate_limits=parse_rate_limits("login=9999/s", "limits"))


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with serving_api(partial(idle_app, tmp_path_factory.mktemp("locked")), MANY_FAILURES) as api:
        yield api


def check_problem(answer: ApiResponse, status: int, code: str) -> dict[str, Any]:
    """Check that a response is a problem (RFC 9457)."""
    assert answer.status == status, answer.body
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json
    assert isinstance(problem, dict)
    assert problem["type"] == f"urn:sitelore:problem:{code}"
    assert problem["status"] == status
    assert problem["title"]
    assert (code, status, problem["title"]) in {(kind.code, kind.status, kind.title) for kind in KINDS}
    return problem


@pytest.mark.parametrize("path", ["/crawl-runs", "/metrics", "/openapi.json", "/crawl/x", "/nothing"])
def test_requests_without_the_token_are_refused(locked: Api, path: str) -> None:
    stranger = Api(locked.port)
    for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": f"Bearer {TOKENS[0]}x"}, {"Authorization": TOKENS[0]},
                    {"Authorization": f"Basic {TOKENS[0]}"}, {"Authorization": "Bearer \xff"}):  # fmt: skip
        answer = stranger.call("GET", path, **headers)
        check_problem(answer, 401, "unauthorized")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert stranger.call("POST", "/crawl", {"url": PUBLIC}).status == 401


def test_every_token_gives_access_and_health_checks_need_none(locked: Api) -> None:
    for token in TOKENS:
        assert Api(locked.port, token).call("GET", "/crawl-runs").status == 200
        assert Api(locked.port).call("GET", "/crawl-runs", Authorization=f"bearer  {token} ").status == 200
    for path in ("/health", "/ready"):
        assert Api(locked.port).call("GET", path).status == 200


def test_idempotency_keys_of_two_callers_are_independent(locked: Api) -> None:
    bodies = {"url": PUBLIC}
    made = [Api(locked.port, token).call("POST", "/crawl", bodies, Idempotency_Key="one") for token in TOKENS]
    assert len({answer.json["job_id"] for answer in made}) == 2


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", ""])
def test_a_name_rebound_to_loopback_is_refused(api: Api, host: str) -> None:
    for path in ("/crawl-runs", "/health"):
        check_problem(api.call("GET", path, Host=host), 421, "misdirected")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:80@evil", "[::1]evil", "[::1]:80@evil", "[::1", "127.0.0.1:80:80", "127.0.0.1:x", "127.0.0.1 evil",
     "localhost/evil", "user@localhost", "localhost:\xb9"],
)  # fmt: skip
def test_a_host_header_that_is_not_a_host_and_a_port_is_refused(api: Api, host: str) -> None:
    check_problem(api.call("GET", "/health", Host=host), 421, "misdirected")


def test_two_host_headers_are_refused(api: Api) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=30)
    try:
        connection.putrequest("GET", "/health", skip_host=True)
        for host in ("evil.example", "localhost"):
            connection.putheader("Host", host)
        connection.endheaders()
        assert connection.getresponse().status in {400, 421}
    finally:
        connection.close()


@pytest.mark.parametrize(
    "lengths", [b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nContent-Length: 4"]
)
def test_a_request_whose_body_has_two_ends_is_refused_with_all_that_follows(api: Api, lengths: bytes) -> None:
    head = b"POST /crawl-runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + lengths
    with socket.create_connection(("127.0.0.1", api.port), 30) as connection:
        connection.sendall(head + b"\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert received.startswith(b"HTTP/1.1 400 ")
    assert received.count(b"HTTP/1.1") == 1
    assert b"urn:sitelore:problem:ambiguous-body" in received


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "[::1]:9", "LOCALHOST:1234", "localhost:"])
def test_loopback_host_names_are_accepted(api: Api, host: str) -> None:
    assert api.call("GET", "/health", Host=host).status == 200


def test_pages_of_other_sites_cannot_send_requests_through_the_browser(api: Api) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", f"https://127.0.0.1:{api.port}"):
        check_problem(api.call("POST", "/crawl-runs/x/cancel", Origin=origin), 403, "cross-origin")
    own = api.call("POST", "/crawl-runs/x/cancel", Origin=f"http://127.0.0.1:{api.port}")
    check_problem(own, 404, "run-not-found")
    preflight = api.call("OPTIONS", "/crawl-runs", Access_Control_Request_Method="POST")
    check_problem(preflight, 405, "method-not-allowed")
    assert not [name for answer in (own, preflight) for name in answer.headers if name.lower().startswith("access-control")]


def test_every_response_forbids_sniffing_and_caching(api: Api) -> None:
    for path in ("/health", "/crawl-runs", "/nothing"):
        answer = api.call("GET", path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Server"] is None


def test_unknown_paths_and_methods_are_problems_too(api: Api) -> None:
    check_problem(api.call("GET", "/nothing"), 404, "not-found")
    check_problem(api.call("GET", "/crawl-runs/"), 404, "not-found")
    for path, methods in (("/crawl-runs", "GET, POST"), ("/health", "GET"), ("/crawl", "POST"), ("/openapi.json", "GET")):
        answer = api.call("DELETE", path)
        check_problem(answer, 405, "method-not-allowed")
        assert answer.headers["Allow"] == methods


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[" * 60_000, b"nul", b'{"url": NaN}', b'"\xed\xa0\x80"'])
def test_a_body_that_is_not_json_is_refused(api: Api, body: bytes) -> None:
    answer = api.call("POST", "/crawl", body)
    assert answer.kind in {"bad-json", "invalid"}
    assert answer.status in {400, 422}


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
def test_only_json_content_types_are_accepted(api: Api, kind: str) -> None:
    body = json.dumps({"url": PUBLIC}).encode()
    check_problem(api.call("POST", "/crawl", body, Content_Type=kind), 415, "unsupported-media-type")
    assert api.call("POST", "/crawl", body, Content_Type="Application/JSON; charset=utf-8").status == 201


def test_a_body_that_is_too_large_is_refused_however_it_is_sent(api: Api) -> None:
    whole = json.dumps({"url": PUBLIC}).encode()
    check_problem(api.call("POST", "/crawl", whole + b" " * BODY_BYTES), 413, "too-large")
    assert api.call("POST", "/crawl", whole + b" " * (BODY_BYTES - len(whole))).status == 201
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=30)
    try:
        pieces = (b" " * 4096 for _ in range(64))
        connection.request("POST", "/crawl", pieces, {"Content-Type": "application/json"}, encode_chunked=True)
        answer = connection.getresponse()
        check_problem(ApiResponse(answer.status, answer.headers, answer.read()), 413, "too-large")
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server may close the connection in the middle of the body
    finally:
        connection.close()


_WRONG: dict[str, tuple[object, ...]] = {
    "maxPages": (0, -1, 1_000_001, "10", 1.5, True, []),
    "maxDepth": (-1, 1001, "3"),
    "scopeMode": ("planet", "", 1, None),
    "includeDocuments": ("yes", 1, None),
    "includeMedia": ("yes", 1, None),
    "followRedirects": ("true", 0),
    "demoDelayMs": (-1, 60_001, 0.5),
    "requestTimeoutMs": (99, 120_001, "5000"),
    "maxRetries": (-1, 11),
    "acceptLanguage": ("de\r\nX-Key: 1", "d\u00e4", "d" * 201, 1, None),
    **dict.fromkeys(("max_pages", "allowPrivate", "command", "file", "openOrigins", "__class__"), ("x",)),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in _WRONG.items() for value in values])
def test_an_unknown_or_invalid_setting_is_named(api: Api, name: str, value: object) -> None:
    before = api.get("/crawl-runs")["pagination"]["total"]
    answer = api.call("POST", "/crawl-runs", {"seedUrl": PUBLIC, "settings": {name: value}})
    problem = check_problem(answer, 422, "invalid")
    assert [error["field"] for error in problem["errors"]] == [f"body.settings.{name}"]
    assert problem["errors"][0]["detail"]
    assert api.get("/crawl-runs")["pagination"]["total"] == before


def test_an_unknown_parameter_is_named(api: Api) -> None:
    for path in ("/crawl-runs?limitt=3&limit=3", "/health?x", "/crawl-runs/x/urls?stauts=VISITED", "/metrics?=1"):
        problem = check_problem(api.call("GET", path), 422, "invalid")
        assert [error["detail"] for error in problem["errors"]] == ["unknown parameter"]
    assert api.call("GET", "/crawl-runs?limit=3&offset=1&order=asc&status=QUEUED&site=a.example").status == 200


@pytest.mark.parametrize(
    "url",
    ["", "example.com", "//x.invalid/", "ftp://x.invalid/", "file:///etc/passwd", "javascript:alert(1)", "http://",
     "https://x.invalid:99999/", " https://x.invalid/", "x" * 9000, "https://a\x00b/", "https://x.invalid/\n"],
)  # fmt: skip
def test_only_absolute_web_addresses_are_crawled(api: Api, url: str) -> None:
    for path, body in (("/crawl", {"url": url}), ("/crawl-runs", {"seedUrl": url})):
        check_problem(api.call("POST", path, body), 422, "invalid")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "LOCALHOST.", "127.1", "0x7f000001", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0",
     "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "metadata.google.internal", "[fd00::1]", "[64:ff9b::7f00:1]",
     "user:secret@127.0.0.1", "printer.local"],
)  # fmt: skip
def test_a_request_cannot_allow_a_private_address(api: Api, host: str) -> None:
    for path, body in (("/crawl", {"url": f"http://{host}/"}), ("/crawl-runs", {"seedUrl": f"http://{host}:8123/x"})):
        problem = check_problem(api.call("POST", path, body), 422, "address-refused")
        assert "secret" not in json.dumps(problem)


def test_credentials_in_an_address_are_refused_and_not_repeated(api: Api) -> None:
    url = "https://user:secret@site.test/"
    bodies = {"/crawl": {"url": url}, "/crawl-runs": {"seedUrl": url}, "/scrape": {"url": "https://user@site.test/"}}
    for path, body in bodies.items():
        problem = check_problem(api.call("POST", path, body), 422, "invalid")
        assert "contains credentials" in problem["errors"][0]["detail"]
        assert "secret" not in json.dumps(problem)


def test_only_addresses_that_the_operator_allows_are_crawled(tmp_path: Path) -> None:
    """The canary stands for private services: links and redirects lead to it, and it must receive no request."""
    with serve_site(site({"/": page("Canary", prose("canary"))})) as canary, serve_site(lambda _: None) as http_server:
        by_name = f"http://localhost:{canary.port}/"
        http_server.pages = site(
            {
                "/": page("Home", prose("home"), links=("/on", canary.url("/"), by_name, "/away", "/away2")),
                "/on": page("On", prose("on")),
                "/away": redirect(canary.url("/")),
                "/away2": redirect(by_name, 302),
            }
        )
        settings = ApiSettings(allow_private=(f"127.0.0.1:{http_server.port}",), poll_s=0.05)
        with serving_api(partial(whole_app, tmp_path), settings) as api:
            check_problem(api.call("POST", "/crawl", {"url": canary.url("/")}), 422, "address-refused")
            run = api.start(http_server.url("/"), scopeMode="domain")
            assert api.finish(run)["counts"]["pages"] == 2
            rows = {row["url"]: row for row in api.get(f"/crawl-runs/{run}/export")}
            assert rows[canary.url("/")]["skip_reason"] in {"address_refused", "scope"}
            assert rows[by_name]["skip_reason"] in {"address_refused", "scope"}
        assert canary.hits == []


def test_a_failing_ledger_gives_a_problem_response(tmp_path: Path) -> None:
    class Broken:
        """A ledger that raises one of two errors."""

        async def runs(self, _: int) -> None:
            raise DiskFull("no room left")

        async def list_runs(self, _: object) -> None:
            raise RuntimeError("a mistake of ours, with a secret in it")

        async def count_runs(self, _: str) -> dict[str, int]:
            return {}

    @asynccontextmanager
    async def broken() -> AsyncIterator[AppContext]:
        async with idle_app(tmp_path) as idle:
            ledger: Any = Broken()
            yield replace(idle, ledger=ledger)

    with serving_api(broken) as api:
        assert check_problem(api.call("GET", "/ready"), 503, "unavailable")["detail"] == "no room left"
        assert "secret" not in api.call("GET", "/crawl-runs").body.decode()
        check_problem(api.call("GET", "/crawl-runs"), 500, "internal")
        assert api.call("GET", "/health").status == 200


def test_a_ledger_that_does_not_answer_is_not_ready(tmp_path: Path) -> None:
    calls = 0
    thawed = asyncio.Event()

    class Frozen:
        """A ledger that answers when the server has ended."""

        async def runs(self, _: int) -> None:
            nonlocal calls
            calls += 1
            await thawed.wait()

    @asynccontextmanager
    async def frozen() -> AsyncIterator[AppContext]:
        async with idle_app(tmp_path) as idle:
            ledger: Any = Frozen()
            yield replace(idle, ledger=ledger)
            thawed.set()

    with serving_api(frozen, ApiSettings(ready_s=0.05)) as api:
        for _ in range(3):
            check_problem(api.call("GET", "/ready"), 503, "unavailable")
    assert calls == 1, "every health check occupied a connection to the database"


def test_without_tokens_only_loopback_is_listened_on() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.com"):
        assert not is_loopback(host)
        with pytest.raises(UsageError, match="SITELORE_TOKENS"):
            listening_socket(host, 0, with_tokens=False)
    for host in ("127.0.0.1", "localhost", "127.8.8.8"):
        assert is_loopback(host)
        listening_socket(host, 0, with_tokens=False).close()


def test_a_port_in_use_gives_a_one_line_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match=r"cannot listen on 127\.0\.0\.1:"):
        listening_socket("127.0.0.1", taken.getsockname()[1], with_tokens=False)
