"""Audit facts: a compact record of a page's markup that audit rules need and the document does not keep.

The document has what a reader wants, with fallbacks: a missing title comes from a heading, a second canonical link is dropped.
An audit needs what the page declares itself. `extract/audit_facts.py` fills the record in the same parse as the document, with
bounds on every list and text; docs/reference/audit-facts.md describes each fact. A stored record is redacted like the document,
is written as JSON without empty values, and is never part of the text, the Markdown or the search index.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Place(StrEnum):
    """Where a declaration was made."""

    HEAD = "head"
    BODY = "body"
    HEADER = "header"
    """An HTTP header."""


class LinkKind(StrEnum):
    """Where a link leads, by its `href`."""

    PAGE = ""
    """An http(s) URL."""
    SAME_PAGE = "same-page"
    OTHER = "other"
    """Another scheme: a mail address, a telephone number, an application."""
    EMPTY = "empty"
    SCRIPT = "script"
    FILE = "file"
    INVALID = "invalid"
    """Not parsable as a URL."""


class Declaration(NamedTuple):
    """A value as the page or its headers declare it."""

    value: str
    place: Place
    name: str = ""
    """The `name` of a robots `meta` (`robots`, `googlebot`, …), or the `rel` of a link."""


class Alternate(NamedTuple):
    """A translation of the page: `link rel=alternate hreflang`."""

    lang: str
    href: str
    place: Place


class HeadingFact(NamedTuple):
    """A heading. Its text is empty when it has neither text nor an image with one."""

    level: int
    text: str
    in_main: bool
    """Whether it is within `main` or `article`."""


class LinkFact(NamedTuple):
    """A link that the document's list of links does not fully describe.

    That is one with a fragment, with a `rel` such as `nofollow`, without a name, or to no http(s) URL. Links to a fragment of
    the page itself that exactly one element has are left out, and links that are equal in everything are one fact.
    """

    href: str
    """As written."""
    name: str
    """Its text, or else its label, its title or the text of its image; empty for a link without a name."""
    rel: str
    kind: LinkKind


class Alt(StrEnum):
    """The state of an image's `alt` attribute."""

    ABSENT = "absent"
    EMPTY = "empty"
    """Right for decoration."""
    TEXT = "text"
    """The document's media have the text."""


class ImageFact(NamedTuple):
    """An image that lacks a text, a width or a height, or that is all there is in a link."""

    src: str
    alt: Alt
    width: str
    height: str
    loading: str
    is_only_in_link: bool
    """Whether it is in a link that has no text."""
    is_presentation: bool
    """Whether its role says that it is decoration."""


class InsecureResource(NamedTuple):
    """A resource that an https page loads over http. Browsers block active ones."""

    tag: str
    url: str
    is_active: bool


class IframeFact(NamedTuple):
    """An `iframe`; its title may be empty."""

    src: str
    title: str


class VideoFact(NamedTuple):
    """A `video` element and whether it has captions or subtitles."""

    src: str
    has_captions: bool


class ControlFact(NamedTuple):
    """A form control without a label, or a button without a name."""

    element: str
    """Tag, id, classes and role, as in a selector."""
    type: str
    name: str
    placeholder: str


class TableFact(NamedTuple):
    """A table of more than one row and column without header cells."""

    rows: int
    columns: int
    first_row: str


class IdReference(NamedTuple):
    """A reference to an id that the page does not have, or has more than once."""

    id: str
    attribute: str
    elements: int
    """The number of elements with this id."""


class DateFact(NamedTuple):
    """A date of the page by one source."""

    source: str
    """`meta`, `microdata`, `json-ld`, `time` (an element beside the heading), `text` or `url`."""
    event: str
    """`published` or `modified`."""
    date: str
    """ISO 8601, as precise as the source has it."""


class HiddenPart(NamedTuple):
    """An element whose text is hidden from readers."""

    technique: str
    """`hidden` (the attribute), or that of its style: `display`, `visibility`, `font-size`, `clip`, `off-screen`, `colour`."""
    element: str
    """Tag, id, classes and role, as in a selector."""
    words: int
    links: int


class WidestParent(NamedTuple):
    """The element with the most children."""

    element: str
    children: int


@dataclass(frozen=True, slots=True)
class AuditFacts:
    """The facts of a page. Every default is an empty value, which a stored record leaves out."""

    kind: str = ""
    """`html`, or how the body was read: `text`, `pdf`, `docx`, `api` …; these have only title, language and sizes."""
    title: str = ""
    """The first `title` in the head."""
    description: str = ""
    lang: str = ""
    """The `lang` of the root element as written, valid or not."""
    charset: str = ""
    """As declared in the markup."""
    header_charset: str = ""
    is_charset_early: bool = False
    """Whether the markup declares the encoding within its first 1,024 bytes."""
    base: str = ""
    """The `href` of the `base` element, which relative addresses are resolved against."""
    titles: int = 0
    """`title` elements in the head. The next three also count elements in the head."""
    descriptions: int = 0
    robots_metas: int = 0
    viewports: int = 0
    head_in_body: tuple[str, ...] = ()
    """Elements in the body that count only in the head: `title`, `meta description`, `link canonical` …"""
    head_ended_by: str = ""
    """The first element of the body, where `head_in_body` has any."""
    canonicals: tuple[Declaration, ...] = ()
    robots: tuple[Declaration, ...] = ()
    alternates: tuple[Alternate, ...] = ()
    neighbours: tuple[Declaration, ...] = ()
    """`link rel=next` and `rel=prev`."""
    viewport: str = ""
    refresh: str = ""
    headings: tuple[HeadingFact, ...] = ()
    mains: int = 0
    """`main` elements and elements with that role."""
    ids: tuple[str, ...] = ()
    """Distinct ids and names of anchors, in page order."""
    hashed_ids: tuple[int, ...] = ()
    """Those beyond the bound of `ids`, by `hash_id`."""
    duplicate_ids: tuple[str, ...] = ()
    id_references: tuple[IdReference, ...] = ()
    links: tuple[LinkFact, ...] = ()
    link_count: int = 0
    """All links of the page."""
    images: tuple[ImageFact, ...] = ()
    image_count: int = 0
    iframes: tuple[IframeFact, ...] = ()
    videos: tuple[VideoFact, ...] = ()
    insecure: tuple[InsecureResource, ...] = ()
    controls: tuple[ControlFact, ...] = ()
    """Controls without a label, and buttons without a name."""
    tables: tuple[TableFact, ...] = ()
    """Tables without header cells."""
    elements: int = 0
    depth: int = 0
    """Of the deepest element; 0 where it is small enough not to matter and was not measured."""
    widest: WidestParent | None = None
    """Only where the page has many elements or is deep."""
    hidden: tuple[HiddenPart, ...] = ()
    hidden_words: int = 0
    hidden_text: str = ""
    """The start of the hidden text."""
    footer: str = ""
    """The copyright notice of the footer."""
    footer_year: int = 0
    """The last year in it."""
    dates: tuple[DateFact, ...] = ()
    body_bytes: int = 0
    """The size of the response after its content encoding was removed."""
    text_bytes: int = 0
    """The size of the document's text in UTF-8."""
    script_chars: int = 0
    """The size of the inline scripts together."""
    style_chars: int = 0
    largest_inline_chars: int = 0
    """The largest inline script, style sheet or `data:` image."""
    json_ld_errors: tuple[str, ...] = ()
    """The parser's messages for JSON-LD scripts that are not valid JSON."""
    detected_lang: str = ""
    """The language of a longer text, where the detector is sure."""


def hash_id(name: str) -> int:
    """A 64-bit hash of an id, which is stable over processes and versions."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def has_id(facts: AuditFacts, name: str) -> bool:
    """Whether a page has an element with this id, or an anchor of this name."""
    return name in facts.ids or (bool(facts.hashed_ids) and hash_id(name) in facts.hashed_ids)
