"""Heads, chunks and the end of bodies, as valid, careless and broken servers send them."""

from __future__ import annotations

import random

import pytest

from sitelore.fetch.http.response_parser import (
    MAX_HEAD,
    BodyFraming,
    ChunkedDecoder,
    ResponseHead,
    find_head_end,
    may_become_head,
    parse_head,
)


def head_of(text: bytes) -> ResponseHead:
    head = parse_head(text)
    assert head is not None
    return head


def test_a_head_is_its_status_and_its_headers_in_order() -> None:
    head = head_of(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-A:1\r\nx-a:\t2 \r\nContent-Length: 5")
    assert head.status == 200
    assert head.headers == (("content-type", "text/html"), ("x-a", "1"), ("x-a", "2"), ("content-length", "5"))
    assert (head.length, head.is_chunked, head.keep_alive, head.is_interim) == (5, False, True, False)
    assert head.values("x-a") == ["1", "2"]


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 ",
        b"HTTP/1.0 999 Whatever you like: here",
        b"HTTP/1.1 200 OK\nA: b\nC: d",
        b"HTTP/1.1 200 OK\r\nA : b",
        b"HTTP/1.1 200 OK\r\nX-Fold: a\r\n  b",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5",
        b"HTTP/1.1 200 OK\r\nContent-Length:",
        b"HTTP/1.1 200 OK\r\nX: caf\xe9",
        b"\r\nHTTP/1.1 200 OK\r\nA: b",
        b"\nHTTP/1.1 200 OK\nA: b",
    ],
)
def test_a_careless_head_is_read(raw: bytes) -> None:
    assert parse_head(raw) is not None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"banana",
        b"\r\n\r\nHTTP/1.1 200 OK",
        b"\rHTTP/1.1 200 OK",
        b"HTTP/1.1 banana",
        b"HTTP/1.1 20 OK",
        b"HTTP/1.1 200OK",
        b"HTTP/1.1 200 OK\r\nno colon here",
        b"HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 2",
        b"HTTP/1.1 200 OK\r\n: no name",
        b"HTTP/1.1 200 OK\r\nbad name: x",
        b"HTTP/1.1 200 OK\r\nA: x\0y",
        b"HTTP/1.1 200 OK\r\nA: x\ry",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 3",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: gzip",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding : chunked",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding:\x0bchunked",
        b"HTTP/1.1 200 OK\r\nContent-Length: \xc2\xa03",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x10",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 30,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * (MAX_HEAD // 4),
    ],
)
def test_an_invalid_head_is_none(raw: bytes) -> None:
    assert parse_head(raw) is None


@pytest.mark.parametrize(
    ("more", "length", "is_chunked", "keep_alive"),
    [
        (b"", None, False, False),
        (b"\r\nContent-Length: 0", 0, False, True),
        (b"\r\nContent-Length: 3\r\nConnection: close", 3, False, False),
        (b"\r\nContent-Length: 3\r\nConnection: Foo, Close", 3, False, False),
        (b"\r\nTransfer-Encoding: chunked", None, True, True),
        (b"\r\nTransfer-Encoding: identity\r\nContent-Length: 3", 3, False, True),
        (b"\r\nTransfer-Encoding: gzip", None, False, False),
        (b"\r\nTransfer-Encoding: gzip, chunked", None, True, True),
        ("\r\nTransfer-Encoding: chun\u212aed".encode(), None, False, False),
        (b"\r\nA: b\r\n folded\r\nContent-Length: 2", 2, False, True),
    ],
)
def test_the_framing_of_a_body_and_whether_the_connection_is_kept_alive(
    more: bytes, length: int | None, is_chunked: bool, keep_alive: bool
) -> None:
    head = head_of(b"HTTP/1.1 200 OK" + more)
    assert (head.length, head.is_chunked, head.keep_alive) == (length, is_chunked, keep_alive)


def test_version_and_reason_of_the_status_line_are_kept() -> None:
    head = head_of(b"HTTP/1.0 404 Nothing here: sorry \r\nA: b")
    assert (head.version, head.status, head.reason) == ("1.0", 404, "Nothing here: sorry")
    assert [head_of(line).reason for line in (b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.1 304 Same")] == ["", "", "Same"]


def test_a_http_1_0_server_keeps_a_connection_only_on_request() -> None:
    assert not head_of(b"HTTP/1.0 200 OK\r\nContent-Length: 3").keep_alive
    assert head_of(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive").keep_alive


@pytest.mark.parametrize("status", [204, 304])
def test_some_statuses_have_no_body_regardless_of_headers(status: int) -> None:
    head = head_of(b"HTTP/1.1 %d X\r\nContent-Length: 5000\r\nTransfer-Encoding: chunked" % status)
    assert (head.length, head.is_chunked) == (0, False)


def test_other_transfer_codings_are_separated_from_chunked() -> None:
    assert head_of(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked").transfer_codings == ("gzip",)


@pytest.mark.parametrize("end", [b"\r\n\r\n", b"\n\n", b"\r\n\n", b"\n\r\n"])
def test_the_end_of_a_head_is_found_for_every_split(end: bytes) -> None:
    data = b"HTTP/1.1 200 OK\r\nA: b" + end + b"body"
    for cut in range(1, len(data)):
        searched = cut if find_head_end(data[:cut]) is None else 0
        span = find_head_end(data, searched)
        assert span is not None
        assert data[span[1] :] == b"body"


def test_bytes_that_cannot_become_a_head_are_refused_early() -> None:
    assert may_become_head(b"H")
    assert may_become_head(b"HTTP/1.1 200")
    assert all(may_become_head(b"\r\nHTTP/1.1 200"[:size]) for size in range(1, 14))
    assert may_become_head(b"\nHTTP")
    assert not may_become_head(b"\rHTTP")
    assert not may_become_head(b"\r\n\x16\x03\x01")
    assert not may_become_head(b"\x16\x03\x01")
    assert not may_become_head(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000)
    assert not may_become_head(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * (MAX_HEAD // 4))


CHUNKS = b'5\r\nhello\r\n1;note="x"\r\n \r\n0006 \r\nworld!\r\n0\r\nX-Trailer: 1\r\n\r\n'


@pytest.mark.parametrize("seed", range(20))
def test_chunks_are_joined_for_every_split(seed: int) -> None:
    rng = random.Random(seed)
    decoder, body, at = ChunkedDecoder(), b"", 0
    while at < len(CHUNKS):
        step = rng.randint(1, 9)
        body += decoder.feed(CHUNKS[at : at + step])
        at += step
    assert (body, decoder.is_complete, decoder.is_broken, decoder.excess) == (b"hello world!", True, False, 0)


def test_bytes_after_the_last_chunk_are_noticed() -> None:
    decoder = ChunkedDecoder()
    assert decoder.feed(CHUNKS + b"HTTP/1.1 200 OK") == b"hello world!"
    assert (decoder.is_complete, decoder.excess) == (True, 15)


@pytest.mark.parametrize(
    "data",
    [
        b"zz\r\n",
        b"\r\n",
        b"-1\r\n",
        b"5" * 5000,
        b"5\r\nhelloworld\r\n",
        b"5" * 40 + b"\r\n",
        b"5;" + b"x" * 10_000,
        b"0\r\n" + b"A: b\r\n" * 20_000,
    ],
)
def test_broken_chunks_are_broken(data: bytes) -> None:
    decoder = ChunkedDecoder()
    decoder.feed(data)
    assert decoder.is_broken
    assert not decoder.is_complete


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("length", "is_chunked", "data"),
    [
        (5, False, b"hello"),
        (None, True, b"5;x=y\r\nhello\r\n0\r\nTrailer: t\r\n\r\n"),
        (None, True, b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
    ],
)
def test_the_end_of_a_body_is_found_for_every_split(length: int | None, is_chunked: bool, data: bytes, step: int) -> None:
    framing, body, raw_bytes = BodyFraming(length, is_chunked=is_chunked), b"", 0
    received = data + b"next"
    for start in range(0, len(received), step):
        piece = received[start : start + step]
        body += framing.feed(piece)
        raw_bytes += len(piece) - framing.excess
        if framing.is_complete:
            break
    assert (body, raw_bytes, framing.is_complete, framing.ends_at_close) == (b"hello", len(data), True, False)


def test_a_body_without_framing_ends_with_the_connection() -> None:
    framing = BodyFraming(None)
    assert framing.feed(b"all of ") + framing.feed(b"it") == b"all of it"
    assert (framing.is_complete, framing.ends_at_close, framing.excess) == (False, True, 0)


def test_broken_chunks_break_the_framing() -> None:
    framing = BodyFraming(None, is_chunked=True)
    framing.feed(b"5\r\nhelloworld\r\n")
    assert (framing.is_broken, framing.is_complete) == (True, False)
