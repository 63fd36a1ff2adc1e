"""Ways in which a web server misbehaves, each with the outcome of a crawl of it."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import brotli
import zstandard
from tests.support.misbehaving import Behaviour, Misbehaving

PAGE = b"<!doctype html><title>Page</title><main><h1>Page</h1><p>" + b"Readable text of the page. " * 20 + b"</p></main>"
BOMB_BLOCKS = 64  # of a mebibyte


def reply(body: bytes = PAGE, status: str = "200 OK", **headers: str) -> bytes:
    """A whole response; `content_type=""` leaves the header out."""
    fields = {"Content-Type": "text/html", "Content-Length": str(len(body))}
    fields.update({name.replace("_", "-").title(): value for name, value in headers.items()})
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


def sends(data: bytes, *, close: bool = False) -> Behaviour:
    async def respond(server: Misbehaving, target: str, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        if close:
            await writer.drain()
            writer.close()

    return respond


def redirects(location: Callable[[Misbehaving, str], str], status: str = "302 Found") -> Behaviour:
    async def respond(server: Misbehaving, target: str, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(b"", status, location=location(server, target)))

    return respond


async def never(server: Misbehaving, target: str, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def drips(server: Misbehaving, target: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)  # the pace of the drip, not a wait for something


async def endless(server: Misbehaving, target: str, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"<p>more</p>" * 6000)
        await writer.drain()


async def resets(server: Misbehaving, target: str, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def links_to_canary(server: Misbehaving, target: str, writer: asyncio.StreamWriter) -> None:
    port = server.canary_port
    hosts = ("127.0.0.1", "127.1", "127.0.0.2", "localhost", "LOCALHOST.", "0.0.0.0", "2130706433", "0x7f000001", "0177.0.0.1",
             "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]",
             "[2002:7f00:1::]", "example.com@127.0.0.1")  # fmt: skip
    links = "".join(f'<a href="http://{host}:{port}/internal">x</a>' for host in hosts)
    writer.write(reply(PAGE + links.encode()))


def gzip_bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(2**20)) for _ in range(BOMB_BLOCKS)) + packer.flush()


def brotli_bomb() -> bytes:
    packer = brotli.Compressor(quality=3)
    return b"".join(packer.process(bytes(2**20)) for _ in range(BOMB_BLOCKS)) + bytes(packer.finish())


def zstd_bomb() -> bytes:
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    return b"".join(packer.compress(bytes(2**20)) for _ in range(BOMB_BLOCKS)) + packer.flush()


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Case:
    """A behaviour, and the state, skip reason or error code with which its URL ends."""

    behaviour: Behaviour
    outcome: str


CASES = {
    "plain": Case(sends(reply()), "VISITED"),
    "no content type": Case(sends(reply(content_type="")), "VISITED"),
    "odd status in the 2xx": Case(sends(reply(status="299 Fine")), "VISITED"),
    "many cookies": Case(sends(reply(set_cookie="a=" + "x" * 3000)), "VISITED"),
    "an image that claims to be HTML": Case(sends(reply(b"\x89PNG\r\n\x1a\n" + bytes(500))), "content_type"),
    "a page that claims to be an image": Case(sends(reply(content_type="image/png")), "content_type"),
    "links to the canary": Case(links_to_canary, "VISITED"),
    "redirect to the canary": Case(redirects(lambda server, _: f"{server.canary}/internal"), "address_refused"),
    "redirect to the canary in hexadecimal": Case(
        redirects(lambda s, _: f"http://0x7f000001:{s.canary_port}/"), "address_refused"
    ),
    "redirect to a metadata service": Case(redirects(lambda *_: "http://169.254.169.254/latest/"), "address_refused"),
    "redirect to itself": Case(redirects(lambda *_: "/"), "redirect_loop"),
    "redirects in a circle": Case(redirects(lambda _, target: "/b" if target != "/b" else "/"), "redirect_loop"),
    "redirects without an end": Case(redirects(lambda _, target: target + "x"), "too_many_redirects"),
    "redirect to a file": Case(redirects(lambda *_: "file:///etc/hostname"), "blocked_scheme"),
    "redirect to no address": Case(redirects(lambda *_: "http://[1:2/"), "FAILED"),
    "redirect without a location": Case(sends(reply(b"", "301 Moved")), "http_error"),
    "gzip bomb": Case(sends(reply(gzip_bomb(), content_encoding="gzip")), "too_large"),
    "brotli bomb": Case(sends(reply(brotli_bomb(), content_encoding="br")), "too_large"),
    "zstd bomb": Case(sends(reply(zstd_bomb(), content_encoding="zstd")), "too_large"),
    "endless body": Case(endless, "too_large"),
    "a length of a terabyte": Case(sends(reply(content_length=str(10**12))), "too_large"),
    "a length of 300 digits": Case(sends(reply(content_length="9" * 300)), "protocol_error"),
    "cut short": Case(sends(reply(content_length="100000"), close=True), "truncated"),
    "cut between chunks": Case(sends(CHUNKED + b"6\r\nabcdef\r\n", close=True), "truncated"),
    "chunk size that is no number": Case(sends(CHUNKED + b"6\r\nabcdef\r\nsix\r\nabcdef\r\n"), "protocol_error"),
    "negative length": Case(sends(reply(content_length="-5")), "protocol_error"),
    "two lengths": Case(sends(reply(content_length="5\r\nContent-Length: 7")), "protocol_error"),
    "not HTTP": Case(sends(b"220 mail.example ESMTP ready\r\n\r\n"), "protocol_error"),
    "a header of 300 KB": Case(sends(reply(x_long="y" * 300_000)), "protocol_error"),
    "reset": Case(resets, "connection_error"),
    "closed without a word": Case(sends(b"", close=True), "connection_error"),
    "gzip that is none": Case(sends(reply(content_encoding="gzip")), "decoding_error"),
    "unknown encoding": Case(sends(reply(content_encoding="rot13")), "VISITED"),
    "no response": Case(never, "timeout"),
    "one byte at a time": Case(drips, "timeout"),
    "not found": Case(sends(reply(status="404 Not Found")), "NOT_FOUND"),
    "forbidden": Case(sends(reply(status="403 Forbidden")), "FORBIDDEN"),
    "an error for ever": Case(sends(reply(status="500 Oops")), "http_error"),
    "come back in a year": Case(sends(reply(status="503 Later", retry_after="31536000")), "http_error"),
    "status 304 to an unconditional request": Case(sends(b"HTTP/1.1 304 Not Modified\r\n\r\n"), "http_error"),
}
