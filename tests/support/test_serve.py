"""The test server by itself: what it promises to the journeys."""

from __future__ import annotations

import http.client
import json
import socket
import time
from email.utils import parsedate_to_datetime

from tests.support.serve import Answer, Closing, Web, page, prose, redirect, serving, site

HOME = site({"/": page("Home", prose("home")), "/old": redirect("/", 308)}, robots="User-agent: *\nDisallow:\n")


def _get(web: Web, target: str, **headers: str) -> tuple[int, bytes, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=10)
    connection.request("GET", target, headers={k.replace("_", "-"): v for k, v in headers.items()})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body, reply.headers


def test_it_serves_redirects_and_tells_what_it_was_asked() -> None:
    with serving(HOME) as web:
        assert _get(web, "/")[0] == 200
        status, _, headers = _get(web, "/old")
        assert (status, headers["Location"]) == (308, "/")
        assert _get(web, "/none")[0] == 404
        assert web.targets() == ["/", "/old", "/none"]
        assert [h["status"] for h in json.loads(_get(web, "/__log")[1])] == [200, 308, 404]


def test_an_unchanged_page_answers_304_and_an_edited_one_does_not() -> None:
    with serving(HOME) as web:
        _, _, headers = _get(web, "/")
        assert _get(web, "/", If_None_Match=headers["ETag"])[0] == 304
        assert _get(web, "/", If_Modified_Since=headers["Last-Modified"])[0] == 304
        web.edit("/")
        assert _get(web, "/", If_None_Match=headers["ETag"])[0] == 200
        assert _get(web, "/", If_Modified_Since=headers["Last-Modified"])[0] == 200


def test_first_answers_heal() -> None:
    with serving(HOME) as web:
        web.answer_first("/", Answer(503), Answer(500))
        assert [_get(web, "/")[0] for _ in range(3)] == [503, 500, 200]
        web.flaky_share, web.flaky_tries = 1.0, 2
        assert [_get(web, "/old")[0] for _ in range(3)] == [503, 503, 308]


def test_a_closed_site_names_its_time_in_both_forms() -> None:
    with serving(HOME) as web:
        web.close_for = Closing(after=1, seconds=30)
        assert _get(web, "/")[0] == 200
        status, _, headers = _get(web, "/")
        assert (status, headers["Retry-After"]) == (429, "30")
        web.close_for = Closing(after=1, seconds=30, as_date=True)
        assert parsedate_to_datetime(_get(web, "/")[2]["Retry-After"]).timestamp() == web.close_for.until


def test_it_is_fast_enough_not_to_be_what_a_test_measures() -> None:
    """Process time, not wall time: a busy machine does not fail this."""
    with serving(HOME) as web, socket.create_connection(("127.0.0.1", web.port)) as connection:
        start, count = time.process_time(), 1500
        request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        for _ in range(count):
            connection.sendall(request)
            head = connection.recv(65536)
            assert head.startswith(b"HTTP/1.1 200")
        assert time.process_time() - start < 1.0
