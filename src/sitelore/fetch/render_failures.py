"""What the browser says when a page does not come, as one of our failures and one sentence."""

from __future__ import annotations

from sitelore.model.response import Failure

_PREFIXES = (
    ("net::ERR_CERT_", Failure.TLS, "The certificate is not valid."),
    ("net::ERR_SSL_", Failure.TLS, "The encrypted connection failed."),
    ("net::ERR_BAD_SSL", Failure.TLS, "The encrypted connection failed."),
    ("net::ERR_NAME_", Failure.DNS, "The host name does not resolve."),
    ("net::ERR_TOO_MANY_REDIRECTS", Failure.PROTOCOL, "The redirects do not end."),
    ("net::ERR_CONTENT_LENGTH_MISMATCH", Failure.TRUNCATED, "The connection ended before the body did."),
    ("net::ERR_INCOMPLETE_CHUNKED", Failure.TRUNCATED, "The connection ended before the body did."),
    ("net::ERR_CONTENT_DECODING", Failure.DECODING, "The body cannot be decoded."),
    ("net::ERR_EMPTY_RESPONSE", Failure.CONNECTION, "The server closed the connection without an answer."),
    ("net::ERR_TIMED_OUT", Failure.TIMEOUT, "No answer came in time."),
    ("net::ERR_CONNECTION_TIMED_OUT", Failure.TIMEOUT, "No answer came in time."),
    ("net::ERR_CONNECTION", Failure.CONNECTION, "The connection was lost."),
    ("net::ERR_TUNNEL", Failure.CONNECTION, "No connection could be made."),
    ("net::ERR_PROXY", Failure.CONNECTION, "No connection could be made."),
    ("net::ERR_SOCKET", Failure.CONNECTION, "The connection was lost."),
    ("net::ERR_ADDRESS", Failure.CONNECTION, "No connection could be made."),
    ("net::ERR_HTTP2", Failure.PROTOCOL, "The answer is not valid HTTP."),
    ("net::ERR_INVALID", Failure.PROTOCOL, "The answer is not valid HTTP."),
    ("net::ERR_RESPONSE_HEADERS", Failure.PROTOCOL, "The answer is not valid HTTP."),
    ("net::ERR_UNSAFE_REDIRECT", Failure.PROTOCOL, "The redirect leads out of the web."),
    ("net::ERR_UNSAFE_PORT", Failure.ADDRESS, "Browsers do not talk to this port."),
    ("net::ERR_INSUFFICIENT_RESOURCES", Failure.TOO_LARGE, "The page needs more than a browser gives it."),
)


def explain_net_error(text: str) -> tuple[Failure, str]:
    """Why a page did not come, from the browser's own word for it."""
    for prefix, failure, sentence in _PREFIXES:
        if text.startswith(prefix):
            return failure, sentence
    return Failure.PROTOCOL, "The browser could not open the page."


def is_broken_body(text: str) -> bool:
    """Whether a document that was being shown ended badly."""
    return text.startswith(("net::ERR_CONTENT_", "net::ERR_INCOMPLETE", "net::ERR_CONNECTION", "net::ERR_HTTP2"))
