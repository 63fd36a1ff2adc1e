"""What the client library raises, as one of our failures and one sentence. No URL, no object, nothing a site wrote."""

from __future__ import annotations

import os
import ssl

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from sitelore.fetch.attempt import Attempt
from sitelore.fetch.connections import Refused
from sitelore.model.response import Failure

UNSENDABLE = (Failure.PROTOCOL, "The URL cannot be put into a request.")
_NOT_HTTP = (Failure.PROTOCOL, "The answer is not valid HTTP.")
_CUT = (Failure.TRUNCATED, "The connection ended before the body did.")
_SILENT = (Failure.CONNECTION, "The server closed the connection without an answer.")


def explain(error: BaseException, attempt: Attempt, connect_s: float) -> tuple[Failure, str]:
    """Why a request brought nothing."""
    if attempt.refusal:
        return Failure.ADDRESS, attempt.refusal
    if isinstance(error, TimeoutError):
        return Failure.TIMEOUT, f"No connection within {connect_s:g} s."
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return Failure.TLS, _certificate(error.certificate_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return _no_connection(error)
    if isinstance(error, aiohttp.ClientPayloadError | RuntimeError):
        return _broken_body(attempt)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return _SILENT
    if isinstance(error, aiohttp.ClientOSError):
        if isinstance(error.__cause__, ssl.SSLError):
            return Failure.TLS, "The encrypted connection failed."
        return Failure.CONNECTION, _by_number(error.errno, "The connection was lost.")
    if isinstance(error, aiohttp.ClientConnectionError):
        return Failure.CONNECTION, "The connection was lost."
    return UNSENDABLE if isinstance(error, ValueError) else _NOT_HTTP


def _no_connection(error: aiohttp.ClientConnectorError) -> tuple[Failure, str]:
    cause = error.os_error
    if isinstance(cause, Refused):
        return Failure.ADDRESS, str(cause)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Failure.DNS, "The host name does not resolve."
    if isinstance(cause, ssl.SSLError):
        return Failure.TLS, "No encrypted connection could be agreed on."
    return Failure.CONNECTION, _by_number(cause.errno, "No connection could be made.")


def _broken_body(attempt: Attempt) -> tuple[Failure, str]:
    """A body that ended badly: cut off, or garbled in its framing."""
    cause = attempt.protocol.exception() if attempt.protocol is not None else None
    return _NOT_HTTP if isinstance(cause, HttpProcessingError) else _CUT


def _certificate(error: Exception) -> str:
    reason = getattr(error, "verify_message", "")
    return f"The certificate is not valid: {reason}." if reason else "The certificate is not valid for this host."


def _by_number(number: int | None, otherwise: str) -> str:
    return f"{os.strerror(number)}." if number and number > 0 else otherwise
