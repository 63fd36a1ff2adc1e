"""Reads the URLs that a sitemap, sitemap index, text list, feed or declared API collection lists, and their dates.

Namespaces are ignored, because files with a wrong, an old or no namespace are as common as correct ones. Structure decides: a
URL is a child of its item, written with the item's own prefix, so that `image:loc`, `video:player_loc`, `xhtml:link` and
`atom:link` are never taken for the URL of the page. Both `url` and `sitemap` items are read under either root.

Of broken files everything before and after the break is read, and `problem` says what was wrong.

An API collection must be JSON; fields that are missing or of an unexpected type are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from itertools import chain

from sitelore.intake.decompress import TextStream
from sitelore.intake.xml_scanner import Scanner, parse_attributes
from sitelore.model.api_loader import api_error, filled, next_part, records_in, text_at
from sitelore.model.document import SitemapEntry, SitemapReading
from sitelore.model.response import Response
from sitelore.model.settings import Loader
from sitelore.model.url import Url

MAX_BYTES = 50 * 2**20  # sitemaps.org: 50 MB uncompressed
MAX_ENTRIES = 100_000  # sitemaps.org says 50,000; generators that miscount are tolerated

_BLANK = "\ufeff \t\r\n"
_MAX_URL_CHARS = 8192
_MAX_DEPTH = 100
_MAX_TAGS_BEFORE_ROOT = 20
_MAX_UNKNOWN_TAGS = 200_000  # outside of items: a long feed has some, a bomb nothing else
_HTTP = ("http://", "https://")

# W3C date and time formats (https://www.w3.org/TR/NOTE-datetime), a little forgiving: a blank for the T, a zone without a
# colon, one-digit months, a comma before the fraction.
_W3C = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[Tt ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([Zz]|[+-]\d{2}:?\d{2})?)?)?)?",
    re.ASCII,
)
_UTC = {"Z", "z", "+00:00", "+0000"}
_MAX_CHARS = 64


@dataclass(frozen=True, slots=True)
class _Grammar:
    """The meaning of tags under one root."""

    kind: str
    items: tuple[str, ...]
    addresses: tuple[str, ...]
    dates: tuple[str, ...]
    """Names of elements that hold a date, in order of preference."""
    is_feed: bool = False


_LIST = _Grammar("urlset", ("url", "sitemap"), ("loc",), ("lastmod",))
_INDEX = _Grammar("index", ("sitemap", "url"), ("loc",), ("lastmod",))
_RSS = _Grammar("rss", ("item",), ("link", "guid"), ("updated", "modified", "pubdate", "date"), is_feed=True)
_ATOM = _Grammar("atom", ("entry",), (), ("updated", "modified", "published", "issued"), is_feed=True)
ROOTS = {"urlset": _LIST, "sitemapindex": _INDEX, "rss": _RSS, "rdf": _RSS, "feed": _ATOM}
_NO_GRAMMAR = _Grammar("", (), (), ())


def read_sitemap(
    body: bytes, url: Url, content_type: str, *, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES
) -> SitemapReading:
    """The URLs that `body`, served at `url`, lists. Gzip is recognised by its magic number; entities are never expanded."""
    stream = TextStream(body, content_type, max_bytes)
    pieces = iter(stream)
    head = ""
    for piece in pieces:
        head = piece.lstrip(_BLANK)
        if head:
            break
    listed = _Listed(url, max_entries)
    read = _read_markup if _is_markup(head) else _read_lines
    kind, problem = read(chain((head,), pieces), listed)
    if problem.startswith("xml_rejected"):
        return SitemapReading(kind, problem=problem)
    return SitemapReading(
        kind, tuple(listed.entries.values()), tuple(listed.children.values()), stream.problem or listed.problem or problem
    )


class _Listed:
    """The entries listed so far, each URL once, in document order."""

    def __init__(self, base: Url, max_entries: int) -> None:
        self.base = base
        self.entries: dict[Url, SitemapEntry] = {}
        self.children: dict[Url, SitemapEntry] = {}
        self.problem = ""
        self._max = max_entries
        self._count = 0

    def add(self, address: str, date: str = "", *, is_child: bool = False) -> None:
        """Add one URL; anything but an http(s) URL is ignored."""
        if self.problem:
            return
        self._count += 1
        if self._count > self._max:
            self.problem = f"too_large: more than {self._max} entries"
            return
        target = self.children if is_child else self.entries
        url = Url.parse(address, self.base)
        if url is None or url in target:
            return
        target[url] = SitemapEntry(url, read_date(date) if date else None)


def _is_markup(head: str) -> bool:
    """Whether to scan for tags; a server may have written a warning above the document."""
    return head.startswith("<") or "<?xml" in head[:4096] or "<urlset" in head[:4096] or "<sitemapindex" in head[:4096]


def _read_lines(pieces: Iterator[str], listed: _Listed) -> tuple[str, str]:
    """Read a text list: one URL per line. A line without a scheme counts when it starts with the sitemap's own host."""
    host = listed.base.authority.removeprefix("www.")
    bare = tuple(f"{www}{host}{end}" for www in ("", "www.") for end in ("/", "?"))
    rest = ""
    for piece in chain(pieces, ("\n",)):
        *lines, rest = (rest + piece).replace("\r", "\n").split("\n")
        for line in lines:
            address = line.strip()
            if not address or len(address) > _MAX_URL_CHARS:
                continue
            if address[:8].lower().startswith(_HTTP):
                listed.add(address)
            elif address.startswith(bare):
                listed.add(f"{listed.base.scheme}://{address}")
        if listed.problem:
            break
        if len(rest) > _MAX_URL_CHARS:
            rest = "-" * (_MAX_URL_CHARS + 1)  # too long for a URL, and must stay so until the line ends
    if listed.entries:
        return "text", ""
    return "", "not_a_sitemap: neither a sitemap, a feed nor a list of addresses"


def _read_markup(pieces: Iterator[str], listed: _Listed) -> tuple[str, str]:
    parser = _ItemParser(listed)
    scanner = Scanner(parser)
    for piece in pieces:
        scanner.feed(piece)
        if scanner.declares_entity:
            return parser.kind, "xml_rejected: it declares an entity"
        if parser.is_given_up or scanner.is_given_up or listed.problem:
            break
    else:
        scanner.close()
        parser.close()
    if not parser.kind:
        return "", f"not_a_sitemap: its root is <{parser.first_tag}>" if parser.first_tag else "not_a_sitemap: no tag in it"
    problem = "little of it is XML" if scanner.is_given_up or parser.is_given_up else scanner.problem or parser.problem
    return parser.kind, f"broken_xml: {problem}" if problem else ""


class _ItemParser:
    """Receives the tags of a document and finds its items. Wrong nesting is corrected where the intention is clear."""

    def __init__(self, listed: _Listed) -> None:
        self._listed = listed
        self._grammar = _NO_GRAMMAR
        self._open_roots = 0
        self._unknown_tags = 0
        self._item: tuple[str, str] | None = None
        self._open_tags: list[tuple[str, str]] = []
        """Tags open within the item; the first is the field, if the item has one open."""
        self._field = ""
        self._text: list[str] = []
        self._text_size = 0
        self._loose_text: list[str] = []
        self._addresses: list[str] = []
        self._dates: dict[int, tuple[int, str]] = {}
        self._guid = ""
        self.kind = ""
        self.first_tag = ""
        self.problem = ""

    @property
    def is_given_up(self) -> bool:
        """Whether to stop: this is another kind of document, or one made to cost time."""
        return (
            self._unknown_tags > _MAX_UNKNOWN_TAGS
            if self.kind
            else self.first_tag == "html" or self._unknown_tags > _MAX_TAGS_BEFORE_ROOT
        )

    def start(self, prefix: str, name: str, attributes: str) -> None:
        """See `Listener`."""
        tag = (prefix, name)
        if self._item is None:
            self._start_outside(tag)
            return
        if self._field and (name in self._grammar.items or name in self._grammar.addresses) and self._has_text():
            self._report(f"<{self._field}> is not closed")
            self._close_field()
            self._open_tags.clear()
        if name in self._grammar.items and prefix == self._item[0] and not self._open_tags:
            self._report(f"<{self._item[1]}> is not closed")
            self._close_item()
            self._start_outside(tag)
            return
        if not self._open_tags:
            self._start_child(prefix, name, attributes)
        if len(self._open_tags) < _MAX_DEPTH:
            self._open_tags.append(tag)
        else:
            self._unknown_tags += 1

    def end(self, prefix: str, name: str) -> None:
        """See `Listener`."""
        tag = (prefix, name)
        if tag in self._open_tags:
            while self._open_tags.pop() != tag:
                pass
            if self._field and not self._open_tags:
                self._close_field()
        elif self._item == tag:
            if self._open_tags:
                self._report(f"<{self._open_tags[-1][1]}> is not closed")
            self._close_item()
        elif name in ROOTS:
            self._open_roots -= 1
        else:
            self._unknown_tags += 1
            if self._item is not None or name in self._grammar.items:
                self._report(f"</{name}> closes nothing")

    def text(self, text: str) -> None:
        """See `Listener`."""
        if self._field:
            self._text_size += len(text)
            if self._text_size <= _MAX_URL_CHARS:
                self._text.append(text)
        elif (
            self._item is not None and not self._open_tags and not self._grammar.is_feed and len(self._loose_text) < _MAX_DEPTH
        ):
            # Bounded; an item with so many texts of its own holds no address.
            self._loose_text.append(text)

    def close(self) -> None:
        """End the document; an item that was cut off still counts for its complete fields."""
        if self._item is not None:
            self._close_item()
        if self._open_roots > 0:
            self._report("it ends too early")

    def _start_outside(self, tag: tuple[str, str]) -> None:
        self.first_tag = self.first_tag or tag[1]
        if tag[1] in ROOTS:
            if self.kind:
                self._report("a second document follows")
            self._open_roots += 1
            self._grammar = ROOTS[tag[1]]
            self.kind = self.kind or self._grammar.kind
        elif tag[1] in self._grammar.items:
            self._item = tag
        else:
            self._unknown_tags += 1

    def _start_child(self, prefix: str, name: str, attributes: str) -> None:
        """A child of the item: a field to collect, or a tag that is skipped with its content."""
        assert self._item is not None
        if (name in self._grammar.addresses and prefix == self._item[0]) or name in self._grammar.dates:
            self._field = name
        elif self._grammar is _ATOM and name == "link" and prefix == self._item[0]:
            link = parse_attributes(attributes)
            if link.get("rel", "alternate").lower() == "alternate" and "href" in link:
                self._addresses.append(link["href"])

    def _has_text(self) -> bool:
        return any(not part.isspace() for part in self._text)

    def _close_field(self) -> None:
        field, self._field = self._field, ""
        text = "".join(self._text).strip() if self._text_size <= _MAX_URL_CHARS else ""
        self._text.clear()
        self._text_size = 0
        if not text:
            return
        if field == "guid":
            self._guid = text
        elif field in self._grammar.addresses:
            self._addresses.append(text)
        else:
            rank = self._grammar.dates.index(field)
            # An item with several addresses (broken, but seen) has each date after its address.
            at = 0 if self._grammar.is_feed else max(len(self._addresses) - 1, 0)
            if at not in self._dates or rank < self._dates[at][0]:
                self._dates[at] = (rank, text)

    def _close_item(self) -> None:
        if self._field:
            self._close_field()
        addresses = self._addresses
        if self._grammar.is_feed:
            addresses = addresses[:1] or ([self._guid] if self._guid.lower().startswith(_HTTP) else [])
        elif not addresses:
            # `<sitemap>https://…</sitemap>`, without its <loc>.
            loose = "".join(self._loose_text).strip()
            addresses = [loose] if loose.lower().startswith(_HTTP) else []
        is_child = self._item is not None and self._item[1] == "sitemap"
        for at, address in enumerate(addresses):
            self._listed.add(address, self._dates[at][1] if at in self._dates else "", is_child=is_child)
        self._item = None
        self._open_tags.clear()
        self._loose_text.clear()
        self._addresses.clear()
        self._dates.clear()
        self._guid = ""

    def _report(self, problem: str) -> None:
        self.problem = self.problem or problem


def read_collection(response: Response, loader: Loader) -> SitemapReading:
    """The records that one page of a collection lists."""
    try:
        data = json.loads(response.body)
    except (ValueError, RecursionError):
        return SitemapReading(problem="not_a_collection: the answer is not JSON")
    problem = api_error(data)
    records = records_in(data, loader)
    entries: dict[Url, SitemapEntry] = {}
    for record in records:
        url = filled(loader.record, record, str(response.url))
        if url is not None:
            entries.setdefault(url, SitemapEntry(url, read_date(text_at(record, loader.updated))))
    following = next_part(response, data, loader) if entries else None  # an empty page is the last one
    children = (SitemapEntry(following),) if following is not None and following != response.url else ()
    if not entries and not problem and records:
        problem = "not_a_collection: no record in the answer has what its address needs"
    return SitemapReading("collection", tuple(entries.values()), children, problem)


def read_date(text: str) -> float | None:
    """The Unix time of a `lastmod`, `updated` or `pubDate`; None when it cannot be parsed. UTC unless a zone is given."""
    text = text.strip()
    if not text or len(text) > _MAX_CHARS:
        return None
    match = _W3C.fullmatch(text)
    return _mail_date(text) if match is None else _w3c_date(match)


def _w3c_date(match: re.Match[str]) -> float | None:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=_zone(zone)
        )
    except ValueError:
        return None
    return moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0)


def _zone(text: str | None) -> timezone:
    if text is None or text in _UTC:
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _mail_date(text: str) -> float | None:
    """RFC 822 dates as RSS has them, including two-digit years."""
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
