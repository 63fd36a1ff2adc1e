"""HTTP client for the services that the operator configures (an embedding endpoint, Qdrant): `http.client` in a thread.

The operator chose these addresses, so the address guard for crawled URLs does not apply. Redirects are not followed, because
the request and the API key would go with them; proxies of the environment are not used. Every request has a deadline and a
size limit. Error messages hold neither the request, the key nor the response.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from urllib.parse import urlsplit

_READ_BYTES = 1 << 16


class RequestFailed(Exception):
    """The service sent no usable response. The message completes a sentence that starts with the service's name."""


class UntrustedCertificate(RequestFailed):
    """The TLS certificate of the service is not trusted."""


class ResponseTooLarge(RequestFailed):
    """The response exceeds the size limit."""


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """A response; header names are in lower case. Only the body of a 200 is read: errors are identified by their status."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def send_request(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None, *, timeout_s: float, max_bytes: int
) -> ServiceResponse:
    """Send one request and read its response. Raises `RequestFailed`."""
    try:
        async with asyncio.timeout(timeout_s):
            return await asyncio.to_thread(_exchange, method, url, headers, body, timeout_s, max_bytes)
    except TimeoutError:
        raise RequestFailed(f"gave no answer within {timeout_s:g} s") from None


def _exchange(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float, max_bytes: int
) -> ServiceResponse:
    deadline = time.monotonic() + timeout_s
    parts = urlsplit(url)
    connection = _connection(parts.scheme, parts.hostname or "", parts.port, timeout_s)
    try:
        _connect(connection)
        connection.request(method, f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", body, dict(headers))
        response = connection.getresponse()
        content = _read_body(response, max_bytes, deadline) if response.status == HTTPStatus.OK else b""
        return ServiceResponse(response.status, {name.lower(): value for name, value in response.getheaders()}, content)
    except TimeoutError:
        raise
    except (OSError, HTTPException):
        raise RequestFailed("broke off the connection") from None
    finally:
        connection.close()


def _read_body(response: HTTPResponse, max_bytes: int, deadline: float) -> bytes:
    content = bytearray()
    while piece := response.read1(_READ_BYTES):
        content += piece
        if len(content) > max_bytes:
            raise ResponseTooLarge(f"answered more than {max_bytes} bytes")
        if time.monotonic() > deadline:  # the socket's timeout starts again with every read
            raise TimeoutError
    if response.length:  # `read1` does not report a body that is shorter than its Content-Length
        raise IncompleteRead(bytes(content), response.length)
    return bytes(content)


def _connection(scheme: str, host: str, port: int | None, timeout_s: float) -> HTTPConnection:
    if scheme == "https":
        return HTTPSConnection(host, port, timeout=timeout_s, context=_tls_context())
    return HTTPConnection(host, port, timeout=timeout_s)


@cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _connect(connection: HTTPConnection) -> None:
    try:
        connection.connect()
    except TimeoutError:
        raise
    except ssl.SSLError:
        raise UntrustedCertificate("has no certificate that can be trusted") from None
    except OSError:
        raise RequestFailed("cannot be reached") from None
