"""A sitemap, sitemap index, text list or feed → the URLs it lists.

Namespaces are not judged: files with a wrong, an old or no namespace are as common as right ones. What counts is structure:
an address is a child of its item, written with the item's own prefix, so that `image:loc`, `video:player_loc`, `xhtml:link`
and `atom:link` are never taken for the page's address. Both `url` and `sitemap` items are read under either root.

Broken files give what stands before and after the break, and `problem` says that something was wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from sitelore.intake.dates import read_date
from sitelore.intake.decompress import Unpacked
from sitelore.intake.xml_scanner import Scanner, attributes_of
from sitelore.model.document import SitemapEntry, SitemapReading
from sitelore.model.url import Url

MAX_BYTES = 50 * 2**20  # sitemaps.org: 50 MB once unpacked
MAX_ENTRIES = 100_000  # sitemaps.org says 50,000; a generator that miscounts is forgiven

_BLANK = "\ufeff \t\r\n"
_LONGEST_ADDRESS = 8192
_DEEPEST = 100
_TAGS_BEFORE_ROOT = 20
_MOST_STRANGERS = 200_000  # tags of no known meaning outside of items: a long feed has some, a bomb nothing else
_HTTP = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class _Grammar:
    """Which tags mean what under one root."""

    kind: str
    items: tuple[str, ...]
    addresses: tuple[str, ...]
    dates: tuple[str, ...]
    """The best one first."""
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
    """What `body`, as served at `url`, lists. Gzip is known by its first bytes; nothing is fetched, no entity expanded."""
    unpacked = Unpacked(body, content_type, max_bytes)
    pieces = iter(unpacked)
    head = ""
    for piece in pieces:
        head = piece.lstrip(_BLANK)
        if head:
            break
    found = _Found(url, max_entries)
    read = _read_markup if _is_markup(head) else _read_lines
    kind, problem = read(chain((head,), pieces), found)
    if problem.startswith("xml_rejected"):
        return SitemapReading(kind, problem=problem)
    return SitemapReading(
        kind, tuple(found.entries.values()), tuple(found.children.values()), unpacked.problem or found.problem or problem
    )


class _Found:
    """What was listed so far, each URL once, in document order."""

    def __init__(self, base: Url, max_entries: int) -> None:
        self.base = base
        self.entries: dict[Url, SitemapEntry] = {}
        self.children: dict[Url, SitemapEntry] = {}
        self.problem = ""
        self._max = max_entries
        self._offered = 0

    def add(self, address: str, date: str = "", *, is_child: bool = False) -> None:
        """Take one address; what is no http(s) URL is passed over."""
        if self.problem:
            return
        self._offered += 1
        if self._offered > self._max:
            self.problem = f"too_large: more than {self._max} entries"
            return
        into = self.children if is_child else self.entries
        url = Url.parse(address, self.base)
        if url is None or url in into:
            return
        into[url] = SitemapEntry(url, read_date(date) if date else None)


def _is_markup(head: str) -> bool:
    """Whether to look for tags: also where a server wrote a warning above the document."""
    return head.startswith("<") or "<?xml" in head[:4096] or "<urlset" in head[:4096] or "<sitemapindex" in head[:4096]


def _read_lines(pieces: Iterator[str], found: _Found) -> tuple[str, str]:
    """A text list: one address a line. A line without a scheme counts when it starts with the sitemap's own host."""
    host = found.base.authority.removeprefix("www.")
    bare = tuple(f"{www}{host}{end}" for www in ("", "www.") for end in ("/", "?"))
    rest = ""
    for piece in chain(pieces, ("\n",)):
        *lines, rest = (rest + piece).replace("\r", "\n").split("\n")
        for line in lines:
            address = line.strip()
            if not address or len(address) > _LONGEST_ADDRESS:
                continue
            if address[:8].lower().startswith(_HTTP):
                found.add(address)
            elif address.startswith(bare):
                found.add(f"{found.base.scheme}://{address}")
        if found.problem:
            break
        if len(rest) > _LONGEST_ADDRESS:
            rest = "-" * (_LONGEST_ADDRESS + 1)  # too long to be an address, and stays so until the line ends
    if found.entries:
        return "text", ""
    return "", "not_a_sitemap: neither a sitemap, a feed nor a list of addresses"


def _read_markup(pieces: Iterator[str], found: _Found) -> tuple[str, str]:
    listing = _Listing(found)
    scanner = Scanner(listing)
    for piece in pieces:
        scanner.feed(piece)
        if scanner.declares_entity:
            return listing.kind, "xml_rejected: it declares an entity"
        if listing.is_hopeless or scanner.is_hopeless or found.problem:
            break
    else:
        scanner.close()
        listing.close()
    if not listing.kind:
        return "", f"not_a_sitemap: its root is <{listing.first_tag}>" if listing.first_tag else "not_a_sitemap: no tag in it"
    breaks = "little of it is XML" if scanner.is_hopeless or listing.is_hopeless else scanner.breaks or listing.breaks
    return listing.kind, f"broken_xml: {breaks}" if breaks else ""


class _Listing:
    """Hears the tags of a document and finds its items in them. Wrong nesting is put right where what was meant is plain."""

    def __init__(self, found: _Found) -> None:
        self._found = found
        self._grammar = _NO_GRAMMAR
        self._roots = 0
        self._strangers = 0
        self._item: tuple[str, str] | None = None
        self._inside: list[tuple[str, str]] = []
        """Tags open within the item; the first is the field, if it is one."""
        self._field = ""
        self._text: list[str] = []
        self._size = 0
        self._loose: list[str] = []
        self._addresses: list[str] = []
        self._dates: dict[int, tuple[int, str]] = {}
        self._guid = ""
        self.kind = ""
        self.first_tag = ""
        self.breaks = ""

    @property
    def is_hopeless(self) -> bool:
        """Whether this is some other kind of document, or one made to cost time."""
        return (
            self._strangers > _MOST_STRANGERS if self.kind else self.first_tag == "html" or self._strangers > _TAGS_BEFORE_ROOT
        )

    def start(self, prefix: str, name: str, attributes: str) -> None:
        """See `Listener`."""
        tag = (prefix, name)
        if self._item is None:
            self._start_outside(tag)
            return
        if self._field and (name in self._grammar.items or name in self._grammar.addresses) and self._has_text():
            self._broken(f"<{self._field}> is not closed")
            self._close_field()
            self._inside.clear()
        if name in self._grammar.items and prefix == self._item[0] and not self._inside:
            self._broken(f"<{self._item[1]}> is not closed")
            self._close_item()
            self._start_outside(tag)
            return
        if not self._inside:
            self._start_child(prefix, name, attributes)
        if len(self._inside) < _DEEPEST:
            self._inside.append(tag)
        else:
            self._strangers += 1

    def end(self, prefix: str, name: str) -> None:
        """See `Listener`."""
        tag = (prefix, name)
        if tag in self._inside:
            while self._inside.pop() != tag:
                pass
            if self._field and not self._inside:
                self._close_field()
        elif self._item == tag:
            if self._inside:
                self._broken(f"<{self._inside[-1][1]}> is not closed")
            self._close_item()
        elif name in ROOTS:
            self._roots -= 1
        else:
            self._strangers += 1
            if self._item is not None or name in self._grammar.items:
                self._broken(f"</{name}> closes nothing")

    def text(self, text: str) -> None:
        """See `Listener`."""
        if self._field:
            self._size += len(text)
            if self._size <= _LONGEST_ADDRESS:
                self._text.append(text)
        elif self._item is not None and not self._inside and not self._grammar.is_feed and len(self._loose) < _DEEPEST:
            # Bounded; an item with so many texts of its own holds no address.
            self._loose.append(text)

    def close(self) -> None:
        """The document has ended; an item that was cut off still counts for the fields it has whole."""
        if self._item is not None:
            self._close_item()
        if self._roots > 0:
            self._broken("it ends too early")

    def _start_outside(self, tag: tuple[str, str]) -> None:
        self.first_tag = self.first_tag or tag[1]
        if tag[1] in ROOTS:
            if self.kind:
                self._broken("a second document follows")
            self._roots += 1
            self._grammar = ROOTS[tag[1]]
            self.kind = self.kind or self._grammar.kind
        elif tag[1] in self._grammar.items:
            self._item = tag
        else:
            self._strangers += 1

    def _start_child(self, prefix: str, name: str, attributes: str) -> None:
        """A child of the item: a field to collect, or a tag that is passed over with all it holds."""
        assert self._item is not None
        if (name in self._grammar.addresses and prefix == self._item[0]) or name in self._grammar.dates:
            self._field = name
        elif self._grammar is _ATOM and name == "link" and prefix == self._item[0]:
            link = attributes_of(attributes)
            if link.get("rel", "alternate").lower() == "alternate" and "href" in link:
                self._addresses.append(link["href"])

    def _has_text(self) -> bool:
        return any(not part.isspace() for part in self._text)

    def _close_field(self) -> None:
        field, self._field = self._field, ""
        text = "".join(self._text).strip() if self._size <= _LONGEST_ADDRESS else ""
        self._text.clear()
        self._size = 0
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
            loose = "".join(self._loose).strip()
            addresses = [loose] if loose.lower().startswith(_HTTP) else []
        is_child = self._item is not None and self._item[1] == "sitemap"
        for at, address in enumerate(addresses):
            self._found.add(address, self._dates[at][1] if at in self._dates else "", is_child=is_child)
        self._item = None
        self._inside.clear()
        self._loose.clear()
        self._addresses.clear()
        self._dates.clear()
        self._guid = ""

    def _broken(self, how: str) -> None:
        self.breaks = self.breaks or how
