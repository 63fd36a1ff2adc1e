"""Heads and chunks as servers send them: well, carelessly, and wrong."""

from __future__ import annotations

import random

import pytest

from sitelore.fetch.answers import Head, Unchunked, find_head, may_become_head, read_head
from sitelore.fetch.http_framing import MAX_HEAD


def head_of(text: bytes) -> Head:
    head = read_head(text)
    assert head is not None
    return head


def test_a_head_is_its_status_and_its_headers_in_order() -> None:
    head = head_of(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-A:1\r\nx-a:\t2 \r\nContent-Length: 5")
    assert head.status == 200
    assert head.headers == (("content-type", "text/html"), ("x-a", "1"), ("x-a", "2"), ("content-length", "5"))
    assert (head.length, head.is_chunked, head.keeps, head.is_interim) == (5, False, True, False)
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
    ],
)
def test_a_careless_head_is_read(raw: bytes) -> None:
    assert read_head(raw) is not None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"banana",
        b"HTTP/1.1 banana",
        b"HTTP/1.1 20 OK",
        b"HTTP/1.1 200OK",
        b"HTTP/1.1 200 OK\r\nno colon here",
        b"HTTP/1.1 200 OK\r\n: no name",
        b"HTTP/1.1 200 OK\r\nbad name: x",
        b"HTTP/1.1 200 OK\r\nA: x\0y",
        b"HTTP/1.1 200 OK\r\nA: x\ry",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x10",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 30,
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * (MAX_HEAD // 4),
    ],
)
def test_what_is_no_head_is_none(raw: bytes) -> None:
    assert read_head(raw) is None


@pytest.mark.parametrize(
    ("more", "length", "is_chunked", "keeps"),
    [
        (b"", None, False, False),
        (b"\r\nContent-Length: 0", 0, False, True),
        (b"\r\nContent-Length: 3\r\nConnection: close", 3, False, False),
        (b"\r\nContent-Length: 3\r\nConnection: Foo, Close", 3, False, False),
        (b"\r\nTransfer-Encoding: chunked", None, True, True),
        (b"\r\nTransfer-Encoding: Chunked\r\nContent-Length: 3", None, True, False),
        (b"\r\nTransfer-Encoding: identity\r\nContent-Length: 3", 3, False, True),
        (b"\r\nTransfer-Encoding: gzip", None, False, False),
    ],
)
def test_how_a_body_ends_and_whether_the_connection_lives(
    more: bytes, length: int | None, is_chunked: bool, keeps: bool
) -> None:
    head = head_of(b"HTTP/1.1 200 OK" + more)
    assert (head.length, head.is_chunked, head.keeps) == (length, is_chunked, keeps)


def test_an_older_server_keeps_a_connection_only_when_it_says_so() -> None:
    assert not head_of(b"HTTP/1.0 200 OK\r\nContent-Length: 3").keeps
    assert head_of(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive").keeps


@pytest.mark.parametrize("status", [204, 304])
def test_some_answers_have_no_body_whatever_they_say(status: int) -> None:
    head = head_of(b"HTTP/1.1 %d X\r\nContent-Length: 5000\r\nTransfer-Encoding: chunked" % status)
    assert (head.length, head.is_chunked) == (0, False)


def test_codings_for_the_way_are_told_apart_from_chunks() -> None:
    assert head_of(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked").transfer_codings == ("gzip",)


@pytest.mark.parametrize("end", [b"\r\n\r\n", b"\n\n", b"\r\n\n", b"\n\r\n"])
def test_the_end_of_a_head_is_found_wherever_it_was_cut(end: bytes) -> None:
    data = b"HTTP/1.1 200 OK\r\nA: b" + end + b"body"
    for cut in range(1, len(data)):
        looked_at = cut if find_head(data[:cut]) is None else 0
        found = find_head(data, looked_at)
        assert found is not None
        assert data[found[1] :] == b"body"


def test_what_can_no_longer_become_a_head_is_known_early() -> None:
    assert may_become_head(b"H")
    assert may_become_head(b"HTTP/1.1 200")
    assert not may_become_head(b"\x16\x03\x01")
    assert not may_become_head(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000)
    assert not may_become_head(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * (MAX_HEAD // 4))


CHUNKS = b'5\r\nhello\r\n1;note="x"\r\n \r\n0006 \r\nworld!\r\n0\r\nX-Trailer: 1\r\n\r\n'


@pytest.mark.parametrize("seed", range(20))
def test_chunks_come_together_however_they_are_cut(seed: int) -> None:
    rng = random.Random(seed)
    unchunked, body, at = Unchunked(), b"", 0
    while at < len(CHUNKS):
        step = rng.randint(1, 9)
        body += unchunked.feed(CHUNKS[at : at + step])
        at += step
    assert (body, unchunked.is_over, unchunked.is_broken, unchunked.has_more) == (b"hello world!", True, False, False)


def test_what_follows_the_last_chunk_is_noticed() -> None:
    unchunked = Unchunked()
    assert unchunked.feed(CHUNKS + b"HTTP/1.1 200 OK") == b"hello world!"
    assert (unchunked.is_over, unchunked.has_more) == (True, True)


@pytest.mark.parametrize(
    "data",
    [
        b"zz\r\n",
        b"\r\n",
        b"-1\r\n",
        b"5\r\nhelloworld\r\n",
        b"5" * 40 + b"\r\n",
        b"5;" + b"x" * 10_000,
        b"0\r\n" + b"A: b\r\n" * 20_000,
    ],
)
def test_broken_chunks_are_broken(data: bytes) -> None:
    unchunked = Unchunked()
    unchunked.feed(data)
    assert unchunked.is_broken
    assert not unchunked.is_over
