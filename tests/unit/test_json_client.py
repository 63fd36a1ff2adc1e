"""The client for services of the operator: deadlines, limits and plain failures, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from sitelore.json_client import RequestFailed, ResponseTooLarge, ServiceResponse, UntrustedCertificate, send_request

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def answering(data: bytes) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(data)
        await writer.drain()

    return handle


async def get(url: str, timeout_s: float = 5.0, max_bytes: int = 1000) -> ServiceResponse:
    return await send_request("GET", url, {"Accept": "application/json"}, None, timeout_s=timeout_s, max_bytes=max_bytes)


async def test_a_request_is_sent_as_it_is_given_and_its_response_is_read() -> None:
    received = bytearray()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.extend(await reader.readuntil(b"\r\n\r\n"))
        received.extend(await reader.readexactly(4))
        writer.write(b"HTTP/1.1 200 OK\r\nX-Name: Value\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n")
        await writer.drain()

    async with serving(handle) as host:
        response = await send_request("PUT", f"http://{host}/a/b?c=d", {"api-key": "k"}, b"body", timeout_s=5, max_bytes=100)
    assert (response.status, response.headers["x-name"], response.body) == (200, "Value", b"abcd")
    assert received.startswith(b"PUT /a/b?c=d HTTP/1.1\r\n")
    assert b"\r\napi-key: k\r\n" in received
    assert received.endswith(b"\r\n\r\nbody")


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")) as host:
        assert (await get(f"http://{host}/")).body == b"{}"


async def test_a_redirect_is_a_response_and_an_error_has_no_body() -> None:
    async with serving(
        answering(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 3\r\n\r\nabc")
    ) as host:
        response = await get(f"http://{host}/")
    assert (response.status, response.headers["location"], response.body) == (302, "http://127.0.0.1:9/", b"")


async def test_a_response_over_the_limit_is_refused() -> None:
    async with serving(answering(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5000)) as host:
        with pytest.raises(ResponseTooLarge, match="answered more than 1000 bytes"):
            await get(f"http://{host}/")


async def test_a_response_that_trickles_ends_with_the_deadline() -> None:
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(200):
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with serving(trickle) as host:
        with pytest.raises(RequestFailed, match=r"gave no answer within 0\.2 s"):
            await get(f"http://{host}/", timeout_s=0.2)


@pytest.mark.parametrize(
    "data", [b"", b"HTTP/1.1 ", b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"]
)
async def test_a_broken_connection_is_reported(data: bytes) -> None:
    async with serving(answering(data)) as host:
        with pytest.raises(RequestFailed, match="broke off the connection"):
            await get(f"http://{host}/")


async def test_an_unreachable_host_and_one_without_tls_give_different_errors() -> None:
    async with serving(answering(b"")) as host:
        pass
    with pytest.raises(RequestFailed, match="cannot be reached"):
        await get(f"http://{host}/")
    async with serving(answering(b"")) as host:

        async def plain() -> ServiceResponse:
            return await get(f"https://{host}/", timeout_s=1)

        with pytest.raises(RequestFailed):
            await plain()
    assert issubclass(UntrustedCertificate, RequestFailed)
