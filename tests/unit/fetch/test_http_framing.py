"""Where messages end, as a proxy must know it."""

from __future__ import annotations

import pytest

from sitelore.fetch.http_framing import Body, Chunks, Ends, body_of_answer, is_answer, is_interim, may_be_kept, read_request


def head(*lines: str) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def test_a_request_to_a_proxy_is_passed_on_in_origin_form_without_what_is_meant_for_the_proxy() -> None:
    request = read_request(head("GET http://a.example/x?y HTTP/1.1", "Host: a.example", "Proxy-Connection: keep-alive", "A: b"))
    assert request is not None
    assert (request.method, request.target) == ("GET", "http://a.example/x?y")
    assert request.body == Body(Ends.AT_ONCE)
    assert request.in_origin_form("/x?y") == head("GET /x?y HTTP/1.1", "Host: a.example", "A: b", "Connection: keep-alive")


@pytest.mark.parametrize("line", ["", "GET /", "GET / SPDY/3", "GET  http://a/ HTTP/1.1"])
def test_what_is_no_request_is_none(line: str) -> None:
    assert read_request(head(line)) is None
    assert read_request(head("GET / HTTP/1.1", "no colon")) is None


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        (("HTTP/1.1 200 OK", "Content-Length: 12"), Body(Ends.BY_LENGTH, 12)),
        (("HTTP/1.1 200", "Content-Length: 0"), Body(Ends.BY_LENGTH, 0)),
        (("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), Body(Ends.BY_CHUNKS)),
        (("HTTP/1.1 204 No Content",), Body(Ends.AT_ONCE)),
        (("HTTP/1.1 304 Not Modified", "Content-Length: 5"), Body(Ends.AT_ONCE)),
        (("HTTP/1.1 200 OK",), Body(Ends.BY_CLOSING)),
        (("HTTP/1.0 200 OK", "Content-Length: 12"), Body(Ends.BY_CLOSING)),
        (("HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2"), Body(Ends.BY_CLOSING)),
        (("HTTP/1.1 200 OK", "Content-Length: -1"), Body(Ends.BY_CLOSING)),
        (("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Content-Length: 2"), Body(Ends.BY_CLOSING)),
        (("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked"), Body(Ends.BY_CLOSING)),
        (("HTTP/1.1 200 OK", "broken", "Content-Length: 2"), Body(Ends.BY_CLOSING)),
        (("HTTP/1.1 200 OK", "A: b", " folded", "Content-Length: 2"), Body(Ends.BY_CLOSING)),
        (("HTTP/1.1 banana", "Content-Length: 2"), Body(Ends.BY_CLOSING)),
    ],
)
def test_a_body_ends_where_its_head_says_and_by_closing_where_that_is_in_doubt(lines: tuple[str, ...], body: Body) -> None:
    assert body_of_answer(head(*lines), "GET") == body


def test_an_answer_to_head_has_no_body() -> None:
    assert body_of_answer(head("HTTP/1.1 200 OK", "Content-Length: 9"), "HEAD") == Body(Ends.AT_ONCE)


def test_heads_are_told_apart() -> None:
    assert is_answer(head("HTTP/1.1 200 OK"))
    assert is_answer(head("HTTP/1.0 404"))
    assert not is_answer(head("HTTP/1.1 banana"))
    assert not is_answer(b"SSH-2.0-OpenSSH\r\n\r\n")
    assert is_interim(head("HTTP/1.1 103 Early Hints"))
    assert not is_interim(head("HTTP/1.1 101 Switching Protocols"))
    assert may_be_kept(head("HTTP/1.1 200 OK"))
    assert not may_be_kept(head("HTTP/1.1 200 OK", "Connection: Close"))


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100])
def test_the_end_of_chunks_is_found_however_they_are_cut(step: int) -> None:
    whole = b"5;x=y\r\nhello\r\n3\r\na\nb\r\n0\r\nTrailer: t\r\n\r\n"
    data = whole + b"next"
    chunks, belongs = Chunks(), 0
    for start in range(0, len(data), step):
        piece = data[start : start + step]
        took = chunks.feed(piece)
        belongs += took
        if took < len(piece) or chunks.is_over:
            break
    assert (belongs, chunks.is_over, chunks.is_broken) == (len(whole), True, False)


@pytest.mark.parametrize("data", [b"zz\r\n", b"-1\r\n", b"5" * 5000])
def test_chunks_that_are_none_are_broken_and_passed_on(data: bytes) -> None:
    chunks = Chunks()
    assert chunks.feed(data) == len(data)
    assert chunks.is_broken
    assert not chunks.is_over
