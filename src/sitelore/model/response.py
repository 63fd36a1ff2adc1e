"""What goes out to a site and what comes back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from sitelore.model.url import Url


class Failure(StrEnum):
    """Why a request brought no usable response. The words are those `error` fields start with."""

    TIMEOUT = "timeout"
    DNS = "dns_error"
    CONNECTION = "connection_error"
    TLS = "tls_error"
    PROTOCOL = "protocol_error"
    TRUNCATED = "truncated"
    TOO_LARGE = "too_large"
    DECODING = "decoding_error"
    ADDRESS = "address_refused"


@dataclass(frozen=True, slots=True)
class Request:
    """One GET. Validators make it conditional."""

    url: Url
    etag: str | None = None
    last_modified: str | None = None
    whole_types: bool = False
    """Read the body whatever its content type (robots.txt, sitemaps); otherwise only text-like bodies are read."""
    max_body_bytes: int | None = None
    """A tighter cap than the run's own; with `cut_at_cap` what came before it is kept instead of refused."""
    cut_at_cap: bool = False
    accept: str | None = None
    """The media type to ask for; None: a page."""


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response, content-decoded, never following a redirect."""

    url: Url
    status: int
    headers: tuple[tuple[str, str], ...]
    """Lower-case names, in the order received."""
    body: bytes
    body_read: bool = True
    """False when the content type was not wanted and the body was left on the wire."""
    wire_bytes: int = 0
    elapsed_s: float = 0.0
    remote: str = ""

    def header(self, name: str) -> str | None:
        """The first header of this (lower-case) name."""
        for key, value in self.headers:
            if key == name:
                return value
        return None

    def header_all(self, name: str) -> list[str]:
        """Every header of this (lower-case) name."""
        return [value for key, value in self.headers if key == name]

    def retry_after_s(self, now: float) -> float | None:
        """Retry-After in either form (RFC 9110 §10.2.3), in seconds from now."""
        value = (self.header("retry-after") or "").strip()
        if not value:
            return None
        if re.fullmatch(r"\d{1,12}", value):
            return float(value)
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 loads half of `email`; hardly a server says it so

        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - now)
        except (ValueError, TypeError, OverflowError):
            return None

    @property
    def content_type(self) -> str:
        """The media type alone, lower case; empty when there is none."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class FetchFailure:
    """A request without a usable response."""

    url: Url
    failure: Failure
    detail: str = ""
    elapsed_s: float = 0.0


Fetched = Response | FetchFailure


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """May this URL be fetched, and which line says so. `line` is 1-based; 0 when no rule matched."""

    allowed: bool
    state: str = "ok"
    """`ok`, `unavailable` (4xx: all allowed), `unreachable` (5xx, no answer: nothing allowed), `ignored`."""
    rule: str = ""
    """The line that decides; where robots.txt is unreachable, how that shows."""
    line: int = 0
    agent: str = ""
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """A robots.txt as it was received, so that a verdict can be explained later."""

    origin: str
    fetched_at: float
    status: int
    """0 when there was no answer."""
    body: str
    detail: str = ""
