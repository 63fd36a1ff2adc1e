"""Requests and their results: HTTP responses and failures, robots.txt files and verdicts, pages rendered in a browser.

Also what is stored of responses, what is learnt about how a site is rendered, and media types of PDF and office files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sitelore.model.url import Url

if TYPE_CHECKING:
    from sitelore.model.frontier import Hop  # a circular import at run time
    from sitelore.model.settings import PageAction


_OPEN_XML = "application/vnd.openxmlformats-officedocument."
PDF_TYPES = frozenset({"application/pdf", "application/x-pdf", "application/acrobat", "text/pdf", "text/x-pdf"})
OFFICE_TYPES = frozenset(
    {
        f"{_OPEN_XML}wordprocessingml.document",
        f"{_OPEN_XML}wordprocessingml.template",
        f"{_OPEN_XML}presentationml.presentation",
        f"{_OPEN_XML}presentationml.slideshow",
        f"{_OPEN_XML}presentationml.template",
        f"{_OPEN_XML}spreadsheetml.sheet",
        f"{_OPEN_XML}spreadsheetml.template",
        "application/vnd.ms-word.document.macroenabled.12",
        "application/vnd.ms-excel.sheet.macroenabled.12",
        "application/vnd.ms-powerpoint.presentation.macroenabled.12",
        "application/msword",
        "application/x-msword",
        "application/vnd.ms-word",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/vnd.ms-office",
        "application/x-ole-storage",
    }
)
VAGUE_TYPES = frozenset(
    {
        "",
        "application/octet-stream",
        "binary/octet-stream",
        "application/unknown",
        "unknown/unknown",
        "application/zip",
        "application/x-zip",
        "application/x-zip-compressed",
        "application/download",
        "application/force-download",
        "application/x-download",
        "application/x-force-download",
    }
)
"""Types that servers send for files they do not know; the first bytes decide whether it is a document."""

COMPOUND_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PDF_MAGIC = b"%PDF-"
_ZIP_MAGIC = b"PK\x03\x04"
_OFFICE_PARTS = (b"[content_types].xml", b"_rels/", b"docprops/", b"customxml/", b"word/", b"xl/", b"ppt/")
_ZIP_NAME = 30  # offset of the first entry's name, after its header

MAX_STORED_HEADERS = 40
MAX_STORED_HEAD_CHARS = 4096
"""Characters of all stored names and values of a response together."""
MAX_STORED_VALUE_CHARS = 200
_LONGER_VALUES = {"location": 2000, "content-security-policy": 1000}
"""Headers whose values may be longer: cut off, a URL is another URL, and a policy lacks directives."""
_MAX_REASON_CHARS = 100
_MAX_NAME_CHARS = 100
_FIRST_STORED = frozenset(
    {
        "age", "cache-control", "content-encoding", "content-language", "content-length", "content-security-policy",
        "content-type", "date", "etag", "expires", "last-modified", "link", "location", "permissions-policy",
        "referrer-policy", "server", "set-cookie", "strict-transport-security", "transfer-encoding", "vary",
        "x-content-type-options", "x-frame-options", "x-robots-tag",
    }
)  # fmt: skip
"""Headers that are stored before any other when a response has more than the limits allow."""
_NEVER_STORED = re.compile(r"auth|token|secret|session|csrf|xsrf|passw|credential|cookie|api-?key|signature|^sitelore-")
"""Names of headers that carry credentials, and names that only we use. `Set-Cookie` is stored without its value."""
_COOKIE_FLAG = re.compile(r"secure|httponly|partitioned|samesite=(?:strict|lax|none)", re.IGNORECASE)


class Failure(StrEnum):
    """Why a request got no usable response. `error` fields start with these words."""

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
    """One HTTP request. Validators make it conditional."""

    url: Url
    etag: str | None = None
    last_modified: str | None = None
    any_content_type: bool = False
    """Read the body whatever its content type (robots.txt, sitemaps); otherwise only text-like bodies are read."""
    max_body_bytes: int | None = None
    """A lower limit than the run's own; with `truncate_body` the body is truncated there instead of refused."""
    truncate_body: bool = False
    accept: str | None = None
    """The media type to request; None: a page."""
    method: str = "GET"
    """GET; HEAD for the head of the response alone; POST, PUT or PATCH with a body."""
    size_limits: tuple[int, int] | None = None
    """Replaces the run's limits on the size of the body: for videos, and for anything else."""
    body: bytes | None = None
    """The body, which is sent without cookies."""
    headers: tuple[tuple[str, str], ...] = ()
    """More headers, in place of those with equal names."""


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response, content-decoded. Redirects are never followed."""

    url: Url
    status: int
    headers: tuple[tuple[str, str], ...]
    """Lower-case names, in the order received."""
    body: bytes
    body_read: bool = True
    """False when the content type was not wanted and the body was not read."""
    wire_bytes: int = 0
    elapsed_s: float = 0.0
    remote: str = ""
    """The IP address of the server; empty when it is not known, as in the browser."""
    version: str = ""
    """The HTTP version of the status line (`1.1`); empty when it is not known."""
    reason: str = ""
    """The text after the status code."""

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
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 slow to import, and hardly any server sends a date

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
    content_type: str = ""
    """The media type of the response, if its head was received."""


Fetched = Response | FetchFailure


@dataclass(frozen=True, slots=True)
class StoredHead:
    """The head of a response as the ledger stores it, and the address that sent it. Its status code is stored separately."""

    version: str = ""
    reason: str = ""
    address: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    """Lower-case names, in the order received, without credentials."""

    @classmethod
    def of(cls, response: Response) -> StoredHead:
        """The head of a response without credentials: not yet redacted, and not yet limited in size."""
        headers = [
            (name, _without_value(value) if name == "set-cookie" else value)
            for name, value in response.headers
            if len(name) <= _MAX_NAME_CHARS and _is_stored(name)
        ]
        return cls(response.version, response.reason, response.remote, tuple(headers))

    def limited(self) -> StoredHead:
        """The head within the size limits. To be called after redaction: half a secret would not be recognised."""
        sizes = [len(value) for _, value in self.headers]
        if (
            len(sizes) <= MAX_STORED_HEADERS
            and max(sizes, default=0) <= MAX_STORED_VALUE_CHARS
            and sum(sizes) + sum(len(name) for name, _ in self.headers) <= MAX_STORED_HEAD_CHARS
            and len(self.reason) <= _MAX_REASON_CHARS
        ):
            return self  # as with most servers
        chosen: dict[int, tuple[str, str]] = {}
        left = MAX_STORED_HEAD_CHARS
        for at in sorted(range(len(self.headers)), key=lambda at: self.headers[at][0] not in _FIRST_STORED):
            name, value = self.headers[at]
            value = value[: _LONGER_VALUES.get(name, MAX_STORED_VALUE_CHARS)]
            size = len(name) + len(value)
            if size <= left and len(chosen) < MAX_STORED_HEADERS:
                chosen[at] = (name, value)
                left -= size
        return replace(self, reason=self.reason[:_MAX_REASON_CHARS], headers=tuple(chosen[at] for at in sorted(chosen)))


@lru_cache(maxsize=1024)
def _is_stored(name: str) -> bool:
    return name == "set-cookie" or not _NEVER_STORED.search(name)


def _without_value(set_cookie: str) -> str:
    """A Set-Cookie header reduced to the cookie's name and flags. A cookie without `=` is all value (RFC 6265bis §5.6)."""
    cookie, *attributes = set_cookie.split(";")
    name, equals, _ = cookie.partition("=")
    flags = [flag.strip() for flag in attributes if _COOKIE_FLAG.fullmatch(flag.strip())]
    return "; ".join([f"{name.strip() if equals else ''}=", *flags])


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """Whether a URL may be fetched, and the line that decides. `line` is 1-based; 0 when no rule matched."""

    allowed: bool
    state: str = "ok"
    """`ok`, `unavailable` (4xx: all allowed), `unreachable` (5xx, no answer: nothing allowed), `ignored`."""
    rule: str = ""
    """The line that decides; where robots.txt is unreachable, the error."""
    line: int = 0
    agent: str = ""
    crawl_delay_s: float | None = None
    sitemaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """A robots.txt as received, so that a verdict can be explained later."""

    origin: str
    fetched_at: float
    status: int
    """0 when there was no response."""
    body: str
    detail: str = ""


def is_document_type(content_type: str) -> bool:
    """Whether a media type names a document that can be extracted."""
    return content_type in PDF_TYPES or content_type in OFFICE_TYPES


def starts_like_document(head: bytes) -> bool:
    """Whether bytes begin like a PDF or office file. For a ZIP archive, the name of the first entry decides."""
    if head.startswith(_ZIP_MAGIC):
        return head[_ZIP_NAME : _ZIP_NAME + 20].lower().startswith(_OFFICE_PARTS)
    return head.startswith((_PDF_MAGIC, COMPOUND_MAGIC))


class RenderReason(StrEnum):
    """Why a page was, or was not, rendered in a browser: the values of a document's `rendering.reason`."""

    ALWAYS = "always"
    """The settings require it."""
    OVERRIDE = "override"
    """The domain's overrides decide, either way."""
    KNOWN_SITE = "known_site"
    """In the last run nearly all pages of this site needed the browser."""
    KNOWN_PAGE = "known_page"
    """An earlier visit of this URL needed it."""
    SHELL = "shell"
    """The HTTP body is only a shell: a mount point for scripts, a notice, almost no text."""
    STATIC = "static"
    """The HTTP body is the page."""
    NEVER = "never"
    NO_BROWSER = "no_browser"
    """The browser was needed, but is not installed."""
    FAILED = "failed"
    """The browser was needed, but failed; the HTTP body was kept."""


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """One page to render."""

    url: Url
    screenshot: bool = False
    probe: str = ""
    """A script to run in the page before it is modified; its result is `Rendered.probed`."""
    expand_frames: bool = False
    expand_shadow_roots: bool = False
    actions: tuple[PageAction, ...] = ()
    """What is done on the page before it is read."""


@dataclass(frozen=True, slots=True)
class RenderMetrics:
    """Measurements of rendering a page."""

    dom_ready_s: float = 0.0
    settled_s: float = 0.0
    elapsed_s: float = 0.0
    nodes: int = 0
    html_bytes: int = 0
    requests: int = 0
    blocked: int = 0
    """Requests that were blocked: images, fonts, media, advertisements, analytics."""
    refused: int = 0
    """Requests that the address guard, robots.txt or the scope refused."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered page. `response.body` is the DOM serialised as UTF-8 HTML; the headers are those of the document."""

    response: Response
    chain: tuple[Hop, ...] = ()
    """Redirects and script navigations before the final URL."""
    metrics: RenderMetrics = RenderMetrics()
    screenshot: bytes = b""
    """JPEG; empty unless requested."""
    probed: Any = None
    action_problems: tuple[str, ...] = ()
    """Actions that did not work, a sentence for each."""


@dataclass(frozen=True, slots=True)
class RenderFailure:
    """A page that the browser could not render."""

    url: Url
    failure: Failure
    detail: str = ""
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Shell:
    """Evidence that scripts make the page in the browser, as sentences, and its total weight."""

    weight: float = 0.0
    """From 1.0 on the HTTP body counts as a shell, not as the page that people see."""
    evidence: tuple[str, ...] = field(default_factory=tuple)


IN_BROWSER = frozenset(
    {RenderReason.ALWAYS, RenderReason.OVERRIDE, RenderReason.KNOWN_SITE, RenderReason.KNOWN_PAGE, RenderReason.SHELL}
)
"""Reasons of a `RenderNote` with which a browser rendered the page."""
NEEDED = frozenset(
    {RenderReason.KNOWN_SITE, RenderReason.KNOWN_PAGE, RenderReason.SHELL, RenderReason.NO_BROWSER, RenderReason.FAILED}
)
"""Reasons of a `RenderNote` with which the page itself needs a browser, whatever the settings require."""


@dataclass(frozen=True, slots=True)
class RenderDecision:
    """Whether a browser renders a page, the reason, and the evidence."""

    in_browser: bool = False
    reason: RenderReason = RenderReason.STATIC
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderNote:
    """The ledger's record of a page that a browser rendered, or should have. Other pages have none."""

    reason: RenderReason
    evidence: tuple[str, ...] = ()
    metrics: RenderMetrics | None = None

    @property
    def in_browser(self) -> bool:
        """Whether a browser rendered the page."""
        return self.reason in IN_BROWSER


@dataclass(frozen=True, slots=True)
class SiteRendering:
    """Rendering statistics of a site. A run uses those of its creation, so that all of its workers decide alike."""

    runs: int = 0
    """How many runs have ended."""
    browser: int = 0
    """Pages of the last run that were fetched and needed a browser."""
    http: int = 0
    """Pages of the last run that were fetched and did not."""
