"""Failures with their one-sentence explanation, for the HTTP client, the browser's proxy and the browser itself.

An explanation names no URL and repeats nothing that a site sent.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from sitelore.model.response import Failure


class FailureInfo(NamedTuple):
    """A failure and one sentence that explains it."""

    failure: Failure
    detail: str


NOT_HTTP = FailureInfo(Failure.PROTOCOL, "The response is not valid HTTP.")
NO_RESPONSE = FailureInfo(Failure.CONNECTION, "The server closed the connection without a response.")
TRUNCATED = FailureInfo(Failure.TRUNCATED, "The connection ended before the body did.")
CONNECTION_LOST = FailureInfo(Failure.CONNECTION, "The connection was lost.")
CANNOT_CONNECT = FailureInfo(Failure.CONNECTION, "No connection could be made.")
TLS_FAILED = FailureInfo(Failure.TLS, "The TLS connection failed.")
NAME_NOT_RESOLVED = FailureInfo(Failure.DNS, "The host name does not resolve.")
NAME_NOT_RESOLVED_IN_TIME = FailureInfo(Failure.DNS, "The host name was not resolved in time.")
_NO_RESPONSE_IN_TIME = FailureInfo(Failure.TIMEOUT, "No response within the time limit.")

_NET_ERRORS = (
    ("net::ERR_CERT_", FailureInfo(Failure.TLS, "The certificate is not valid.")),
    ("net::ERR_SSL_", TLS_FAILED),
    ("net::ERR_BAD_SSL", TLS_FAILED),
    ("net::ERR_NAME_", NAME_NOT_RESOLVED),
    ("net::ERR_TOO_MANY_REDIRECTS", FailureInfo(Failure.PROTOCOL, "Too many redirects.")),
    ("net::ERR_CONTENT_LENGTH_MISMATCH", TRUNCATED),
    ("net::ERR_INCOMPLETE_CHUNKED", TRUNCATED),
    ("net::ERR_CONTENT_DECODING", FailureInfo(Failure.DECODING, "The body cannot be decoded.")),
    ("net::ERR_EMPTY_RESPONSE", NO_RESPONSE),
    ("net::ERR_TIMED_OUT", _NO_RESPONSE_IN_TIME),
    ("net::ERR_CONNECTION_TIMED_OUT", _NO_RESPONSE_IN_TIME),
    ("net::ERR_CONNECTION", CONNECTION_LOST),
    ("net::ERR_TUNNEL", CANNOT_CONNECT),
    ("net::ERR_PROXY", CANNOT_CONNECT),
    ("net::ERR_SOCKET", CONNECTION_LOST),
    ("net::ERR_ADDRESS", CANNOT_CONNECT),
    ("net::ERR_HTTP2", NOT_HTTP),
    ("net::ERR_INVALID", NOT_HTTP),
    ("net::ERR_RESPONSE_HEADERS", NOT_HTTP),
    ("net::ERR_UNSAFE_REDIRECT", FailureInfo(Failure.PROTOCOL, "The redirect target is not an http(s) URL.")),
    ("net::ERR_UNSAFE_PORT", FailureInfo(Failure.ADDRESS, "The browser blocks this port.")),
    ("net::ERR_INSUFFICIENT_RESOURCES", FailureInfo(Failure.TOO_LARGE, "The page needs more memory than the browser allows.")),
)
"""Prefixes of Chromium's error names, most specific first."""


def os_error_message(number: int | None, default: str) -> str:
    """The operating system's message for an error number, as a sentence."""
    return f"{os.strerror(number)}." if number and number > 0 else default


def explain_net_error(name: str) -> FailureInfo:
    """The failure that a Chromium error name (`net::ERR_…`) means."""
    for prefix, info in _NET_ERRORS:
        if name.startswith(prefix):
            return info
    return FailureInfo(Failure.PROTOCOL, "The browser could not open the page.")


def is_broken_body(name: str) -> bool:
    """Whether this Chromium error means that a document was cut off or damaged while it was shown."""
    return name.startswith(("net::ERR_CONTENT_", "net::ERR_INCOMPLETE", "net::ERR_CONNECTION", "net::ERR_HTTP2"))
