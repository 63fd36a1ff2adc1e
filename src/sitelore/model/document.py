"""Results of extraction: documents, readings and sitemap entries, the options that extraction takes, and sketches of text.

Sketches are small fingerprints of a page's text, for finding repeated lines and comparing pages. A line sketch has one number
per line. `extract` makes it for every page; `export` finds the lines that repeat over a site. A number consists of two
checksums, which do not protect against deliberate collisions, and need not be: a site can only make two of its own lines look
equal. A fingerprint is a bottom-k sketch: the smallest hashes of a text's word pairs, sorted. `extract/text.py` makes it;
`crawl/soft_404.py` compares a page with a probe by it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from zlib import adler32, crc32

from sitelore.model.ids import NO_TEXT, BlobKey, CleanBytes, CleanText
from sitelore.model.response import RenderDecision, Shell
from sitelore.model.settings import BUILT_IN_ALONE, Overrides, Redaction
from sitelore.model.url import Url

LINES = 256
"""The maximum number of lines in a sketch: the first and the last half. Repeated lines are near the ends of a page."""
SKETCH_SIZE = 32
"""The maximum number of hashes in a fingerprint."""


@dataclass(frozen=True, slots=True)
class Link:
    """One distinct link target of a page, first occurrence."""

    url: Url
    nofollow: bool = False
    text: CleanText = NO_TEXT


MAX_STORED_LINKS = 5_000
"""Links of a page that are stored for audits."""


class PageLink(NamedTuple):
    """A link of a page as it is stored: the first one to its target and fragment."""

    url: str
    fragment: str = ""
    text: str = ""
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading of a page's outline."""

    level: int
    text: CleanText


@dataclass(frozen=True, slots=True)
class Landmark:
    """A region of a page: its role (`main`, `navigation`, `banner`, …) and its label, if it has one."""

    role: str
    label: CleanText = NO_TEXT


@dataclass(frozen=True, slots=True)
class Anchor:
    """What the fragment of a URL names: the anchor of a heading or definition term, and the start of its text."""

    id: CleanText
    text: CleanText


@dataclass(frozen=True, slots=True)
class Document:
    """All extracted data of a page, redacted. Its JSON is stored as a blob and shown by exports and the API."""

    url: Url
    title: CleanText = NO_TEXT
    h1: CleanText = NO_TEXT
    description: CleanText = NO_TEXT
    lang: str = ""
    lang_source: str = ""
    """`page` where the page or its headers declare the language, `detected` where its text decided; empty without `lang`."""
    canonical_url: str = ""
    author: CleanText = NO_TEXT
    published: str = ""
    """ISO 8601, as precise as the page states it: `2024-05`, `2024-05-06`, `2024-05-06T07:08:09+02:00`."""
    modified: str = ""
    site_name: CleanText = NO_TEXT
    image: CleanText = NO_TEXT
    headings: tuple[Heading, ...] = ()
    landmarks: tuple[Landmark, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    """Of headings and definition terms in the content, in page order."""
    markdown: CleanText = NO_TEXT
    text: CleanText = NO_TEXT
    word_count: int = 0
    content_hash: str = ""
    strategy: str = ""
    links: tuple[Link, ...] = ()
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    meta: dict[str, str] = field(default_factory=dict)
    structured: tuple[dict[str, Any], ...] = ()
    forms: tuple[dict[str, Any], ...] = ()
    actions: tuple[dict[str, Any], ...] = ()
    media: tuple[dict[str, Any], ...] = ()
    brand: dict[str, Any] = field(default_factory=dict)
    """Colours, fonts and logo, on a site's home page."""
    rendering: dict[str, Any] = field(default_factory=dict)
    """Whether a browser rendered the page, and why (`model/response.py`)."""


PROBED_HEADER = "sitelore-probed"
"""Carries the styles that a browser computed for a home page (`extract/page_objects/brand.py`); no site sends it."""
READ_HEADERS = ("content-language", "link", "x-robots-tag", PROBED_HEADER)
"""Headers that extraction depends on, besides the content type; they are stored so that the page can be extracted again."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of extraction. It is a pure function: equal response and options give an equal document."""

    dropped_parameters: tuple[str, ...] = ()
    """Extra tracking parameters of the site, on top of the built-in ones."""
    overrides: tuple[Overrides, ...] = ()
    obey_nofollow: bool = True
    keep_snapshot: bool = True
    full: bool = True
    """Whether structured data, forms, actions, media and brand are extracted."""
    facts: bool = False
    """Whether audit facts are extracted."""
    rendering: RenderDecision = field(default_factory=RenderDecision)
    """How the response was fetched, and why; recorded in the document."""
    redaction: Redaction = BUILT_IN_ALONE
    """What is redacted in addition to the built-in rules."""
    documents: bool = True
    """Whether PDF and office files are extracted."""
    login: bool = False
    """Whether a login form is looked for: the run uses a stored session."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Compressed bytes and the key of their content."""

    key: BlobKey
    data: CleanBytes


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of extracting a page: facts for the ledger, links for the frontier, blobs for the store."""

    title: CleanText = NO_TEXT
    content_hash: str = ""
    """Hash of title and normalised text; empty when the page has no text to compare."""
    novelty: str = ""
    """The content hash without digits: pages that differ only in numbers (an endless calendar) share it."""
    sketch: bytes = b""
    """A number for each line of the text (`model/document.py`), to find lines that repeat over a site."""
    canonical: Url | None = None
    word_count: int = 0
    noindex: bool = False
    noarchive: bool = False
    links: tuple[Url, ...] = ()
    """All distinct links that may be followed, in page order; empty when the page says nofollow and that is obeyed."""
    refused_links: tuple[Url, ...] = ()
    """Links that nofollow excludes."""
    page_links: bytes = b""
    """All links of the page, external ones too, as a list of `PageLink` in MessagePack. Decoded only where they are stored."""
    looks_missing: float = 0.0
    """How much the page reads like an error page, 0 to 1 (`extract/text.py`)."""
    fingerprint: tuple[int, ...] = ()
    """A bottom-k sketch of the text (`model/document.py`), to compare the page with a soft-404 probe."""
    document: Blob | None = None
    facts: Blob | None = None
    """The facts of the page for audits (`model/audit/facts.py`), as JSON; None unless the options say so."""
    snapshot: Blob | None = None
    redactions: dict[str, int] = field(default_factory=dict)
    shell: Shell = field(default_factory=Shell)
    """Evidence that scripts make the page in the browser (`extract/app_shell.py`)."""
    problem: str = ""
    """`content_type: …` when the body is not text, `parse_error: …` when no document could be made."""
    login_form: bool = False
    """Whether the page has a password field. Only looked for with `ReadOptions.login`."""
    logged_out: str = ""
    """Which declared sign of a visitor who is not logged in the page shows (`LoggedOut`)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether a page has changed since its last fetch, and the places in which it varies without changing."""

    changed: bool
    volatile: bytes = b""


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One listed URL. `lastmod` is a Unix time, None when absent or unreadable."""

    url: Url
    lastmod: float | None = None


@dataclass(frozen=True, slots=True)
class SitemapReading:
    """The entries of a sitemap, sitemap index, text list or feed, in document order, each URL once."""

    kind: str = ""
    """`urlset`, `index`, `text`, `rss`, `atom`; empty when it is none of them."""
    entries: tuple[SitemapEntry, ...] = ()
    children: tuple[SitemapEntry, ...] = ()
    """Sitemaps that an index lists."""
    problem: str = ""
    """`xml_rejected: …`, `too_large: …`, `not_a_sitemap: …`; entries before the problem are kept."""


def sketch_of(lowered: bytes) -> bytes:
    """The line sketch of a text, given as UTF-8 in lower case with one block per line."""
    lines = lowered.split(b"\n")
    if len(lines) > LINES:
        lines = lines[: LINES // 2] + lines[-LINES // 2 :]
    return struct.pack(f"<{2 * len(lines)}I", *map(crc32, lines), *map(adler32, lines))


def lines_of(sketch: bytes) -> list[int]:
    """The numbers of a line sketch, one per line, in order."""
    count = len(sketch) // 8
    numbers = struct.unpack(f"<{2 * count}I", sketch)
    return [crc << 32 | adler for crc, adler in zip(numbers[:count], numbers[count:], strict=True)]


def line_numbers(text: str) -> list[int]:
    """The number of every line of a text, as `sketch_of` computes it."""
    lines = text.encode("utf-8", "replace").lower().split(b"\n")
    return [crc << 32 | adler for crc, adler in zip(map(crc32, lines), map(adler32, lines), strict=True)]


def similarity(a: tuple[int, ...], b: tuple[int, ...]) -> float:
    """The estimated share of word pairs that two texts have in common, 0 to 1. Exact for texts shorter than the fingerprint."""
    if not a or not b:
        return 0.0
    first, second = set(a), set(b)
    smallest = sorted(first | second)[:SKETCH_SIZE]
    return sum(1 for value in smallest if value in first and value in second) / len(smallest)
