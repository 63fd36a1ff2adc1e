"""The behaviour of the test server that the journeys rely on."""

from __future__ import annotations

import http.client
import json
import socket
import time
from email.utils import parsedate_to_datetime

from tests.support.http_server import Answer, HttpServer, RateLimit, page, prose, redirect, serve_site, site

HOME = site({"/": page("Home", prose("home")), "/old": redirect("/", 308)}, robots="User-agent: *\nDisallow:\n")


def _get(http_server: HttpServer, target: str, **headers: str) -> tuple[int, bytes, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", http_server.port, timeout=10)
    connection.request("GET", target, headers={k.replace("_", "-"): v for k, v in headers.items()})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body, reply.headers


def test_it_serves_pages_and_redirects_and_logs_its_requests() -> None:
    with serve_site(HOME) as http_server:
        assert _get(http_server, "/")[0] == 200
        status, _, headers = _get(http_server, "/old")
        assert (status, headers["Location"]) == (308, "/")
        assert _get(http_server, "/none")[0] == 404
        assert http_server.targets() == ["/", "/old", "/none"]
        assert [h["status"] for h in json.loads(_get(http_server, "/__log")[1])] == [200, 308, 404]


def test_an_unchanged_page_answers_304_and_an_edited_one_does_not() -> None:
    with serve_site(HOME) as http_server:
        _, _, headers = _get(http_server, "/")
        assert _get(http_server, "/", If_None_Match=headers["ETag"])[0] == 304
        assert _get(http_server, "/", If_Modified_Since=headers["Last-Modified"])[0] == 304
        http_server.edit("/")
        assert _get(http_server, "/", If_None_Match=headers["ETag"])[0] == 200
        assert _get(http_server, "/", If_Modified_Since=headers["Last-Modified"])[0] == 200


def test_first_answers_are_followed_by_the_usual_one() -> None:
    with serve_site(HOME) as http_server:
        http_server.answer_first("/", Answer(503), Answer(500))
        assert [_get(http_server, "/")[0] for _ in range(3)] == [503, 500, 200]
        http_server.flaky_share, http_server.flaky_tries = 1.0, 2
        assert [_get(http_server, "/old")[0] for _ in range(3)] == [503, 503, 308]


def test_a_rate_limited_site_sends_retry_after_in_both_forms() -> None:
    with serve_site(HOME) as http_server:
        http_server.rate_limit = RateLimit(after=1, seconds=30)
        assert _get(http_server, "/")[0] == 200
        status, _, headers = _get(http_server, "/")
        assert (status, headers["Retry-After"]) == (429, "30")
        http_server.rate_limit = RateLimit(after=1, seconds=30, as_date=True)
        assert parsedate_to_datetime(_get(http_server, "/")[2]["Retry-After"]).timestamp() == http_server.rate_limit.until


def test_it_is_fast_enough_not_to_distort_measurements() -> None:
    """Process time, not wall time: a busy machine does not fail this."""
    with serve_site(HOME) as http_server, socket.create_connection(("127.0.0.1", http_server.port)) as connection:
        start, count = time.process_time(), 1500
        request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        for _ in range(count):
            connection.sendall(request)
            head = connection.recv(65536)
            assert head.startswith(b"HTTP/1.1 200")
        assert time.process_time() - start < 1.0
