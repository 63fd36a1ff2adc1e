"""What reading a response gives: the document, and what the crawl needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sitelore.model.ids import NO_TEXT, BlobKey, CleanBytes, CleanText
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.rendering import RenderDecision, Shell
from sitelore.model.settings import Overrides
from sitelore.model.url import Url


@dataclass(frozen=True, slots=True)
class Link:
    """One distinct link target of a page, first occurrence."""

    url: Url
    nofollow: bool = False
    text: CleanText = NO_TEXT


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading of a page's outline."""

    level: int
    text: CleanText


@dataclass(frozen=True, slots=True)
class Landmark:
    """A region of a page by its role (`main`, `navigation`, `banner`, …), and its name where it has one."""

    role: str
    label: CleanText = NO_TEXT


@dataclass(frozen=True, slots=True)
class Document:
    """Everything a page holds, redacted. Its JSON is stored as a blob and is what exports and the API show."""

    url: Url
    title: CleanText = NO_TEXT
    h1: CleanText = NO_TEXT
    description: CleanText = NO_TEXT
    lang: str = ""
    lang_source: str = ""
    """`page` where the page or its headers declare the language, `detected` where its text was asked; empty without `lang`."""
    canonical_url: str = ""
    author: CleanText = NO_TEXT
    published: str = ""
    """ISO 8601, as far as the page says it: `2024-05`, `2024-05-06`, `2024-05-06T07:08:09+02:00`."""
    modified: str = ""
    site_name: CleanText = NO_TEXT
    image: CleanText = NO_TEXT
    headings: tuple[Heading, ...] = ()
    landmarks: tuple[Landmark, ...] = ()
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
    """Whether a browser read the page, and why (`model/rendering.py`)."""


PROBED_HEADER = "sitelore-probed"
"""Carries what a browser computed of a home page (`extract/offers/brand_probe.py`); no site sends it."""
READ_HEADERS = ("content-language", "link", "x-robots-tag", PROBED_HEADER)
"""Headers that reading a page depends on, besides its content type: kept with the page, so that it can be read again."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What extraction is told besides the response. Part of its purity: same response and options, same document."""

    dropped_parameters: tuple[str, ...] = ()
    """Extra tracking parameters of the site, on top of the built-in ones."""
    overrides: tuple[Overrides, ...] = ()
    obey_nofollow: bool = True
    keep_snapshot: bool = True
    offers: bool = True
    """Whether structured data, forms, actions, media and brand are read as well."""
    rendering: RenderDecision = field(default_factory=RenderDecision)
    """How the response was got, and why so; the document says it."""
    redaction: Redaction = BUILT_IN_ALONE
    """What may not be kept, besides what the built-in rules find."""
    documents: bool = True
    """Whether PDF and office files are read."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Compressed bytes and the key of what they hold."""

    key: BlobKey
    data: CleanBytes


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reading process hands back: facts for the ledger, links for the frontier, blobs for the store."""

    title: CleanText = NO_TEXT
    content_hash: str = ""
    """Over title and normalised text; empty when the page has no text (nothing to compare)."""
    novelty: str = ""
    """The same with digits left out: pages that differ in numbers alone (an endless calendar) share it."""
    sketch: bytes = b""
    """A number for each line of the text (`model/sketch.py`): what repeats over a site is found by them."""
    canonical: Url | None = None
    word_count: int = 0
    noindex: bool = False
    noarchive: bool = False
    links: tuple[Url, ...] = ()
    """Every distinct link in page order that may be followed; empty when the page says nofollow and that is obeyed."""
    refused_links: tuple[Url, ...] = ()
    """Links that a nofollow keeps the crawl from following."""
    looks_missing: float = 0.0
    """How much the page reads like an error page, 0 to 1 (`extract/missing.py`)."""
    fingerprint: tuple[int, ...] = ()
    """A small sketch of the text, to compare a page with a probe of a path that cannot exist."""
    document: Blob | None = None
    snapshot: Blob | None = None
    redactions: dict[str, int] = field(default_factory=dict)
    shell: Shell = field(default_factory=Shell)
    """What speaks for the page being made in the browser (`extract/shell.py`)."""
    problem: str = ""
    """`content_type: …` when the bytes are no text, `parse_error: …` when no document could be made."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether a page has changed since its last fetch, and where it differs from itself without changing."""

    changed: bool
    volatile: bytes = b""


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One listed page. `lastmod` is a Unix time, None when absent or unreadable."""

    url: Url
    lastmod: float | None = None


@dataclass(frozen=True, slots=True)
class SitemapReading:
    """A sitemap, sitemap index, text list or feed, in document order, each URL once."""

    kind: str = ""
    """`urlset`, `index`, `text`, `rss`, `atom`; empty when it is none of them."""
    entries: tuple[SitemapEntry, ...] = ()
    children: tuple[SitemapEntry, ...] = ()
    """Sitemaps that an index lists."""
    problem: str = ""
    """`xml_rejected: …`, `too_large: …`, `not_a_sitemap: …`; what was read before the problem is still in `entries`."""
