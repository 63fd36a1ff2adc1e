"""Bytes → text, by the order of the HTML standard's encoding sniffing algorithm (§13.2.3.2).

Byte order mark, HTTP header, `<meta>` prescan, then what the bytes look like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from sitelore.extract.charsets import charset_named, decode_as

_PRESCAN_BYTES = 1024
_LATE_META_BYTES = 65536  # a parser meets a later <meta> too and changes its mind then (§13.2.3.4)

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_MARKED = frozenset(mark[:1] for mark, _ in _BOMS)
_UTF16_START = re.compile(rb"<\x00[!?a-zA-Z]\x00|\x00<\x00[!?a-zA-Z]")
_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]+)", re.IGNORECASE)

_MARKUP = re.compile(rb"<(?:(?P<comment>!--)|(?P<meta>meta[\s/])|(?P<tag>/?[a-z])|(?P<other>[!/?]))", re.IGNORECASE)
_TAG_NAME_END = re.compile(rb"[\s>]")
_ATTRIBUTE = re.compile(
    rb"[\s/]*(?P<name>[^\s/>=][^\s/>=]*|=[^\s/>=]*)"  # §13.2.3.2 "get an attribute": a name may start with "="
    rb"(?:\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s>\"'][^\s>]*|(?=>)))|(?P<none>(?=[\s/>])\s*(?!\s*=)))"
)
_XML_DECLARATION = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([^\"'>]+)[\"']")
_LATE_META = re.compile(rb"<meta[\s/][^>]{0,500}charset", re.IGNORECASE)
_CONTENT_CHARSET = re.compile(rb"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"'][^\s;]*))", re.IGNORECASE)

_LARGE_BODY = 2**20


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body as text, and how it was read."""

    utf8: bytes
    """The text in UTF-8, without a byte order mark."""
    charset: str
    """The standard's name of the encoding."""
    is_utf8: bool
    """Whether these are the body's own bytes, unchanged."""
    known_text: str | None = None
    """The text itself, where decoding it showed that it is UTF-8 and it is not large."""

    @property
    def text(self) -> str:
        """The text itself."""
        return self.utf8.decode() if self.known_text is None else self.known_text


def decode(body: bytes, content_type: str = "") -> Decoded:
    """The text of a body. `content_type` is the whole header value, parameters included."""
    for mark, name in _BOMS if body[:1] in _MARKED else ():
        if body.startswith(mark):
            return _as(body[len(mark) :], name)
    declared = _header_charset(content_type) or _utf16_by_shape(body) or meta_charset(body)
    if declared is not None and declared != "utf-8":
        return _as(body, declared)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return _as(body, declared or "windows-1252")
    # Undeclared plain ASCII says nothing; the standard's default for it is windows-1252.
    charset = declared or ("windows-1252" if body.isascii() else "utf-8")
    return Decoded(body, charset, is_utf8=True, known_text=text if len(body) < _LARGE_BODY else None)


def _as(data: bytes, name: str) -> Decoded:
    return Decoded(decode_as(data, name).encode("utf-8", "replace"), name, is_utf8=False)


def meta_charset(body: bytes) -> str | None:
    """The encoding a document declares within itself, or None."""
    name = _prescan(body[:_PRESCAN_BYTES])
    if name is None and len(body) > _PRESCAN_BYTES:
        late = _LATE_META.search(body, 0, _LATE_META_BYTES)
        if late is not None:
            name = _prescan(body[: late.end() + _PRESCAN_BYTES])
    return name


@lru_cache(maxsize=64)
def _header_charset(content_type: str) -> str | None:
    found = _HEADER_CHARSET.search(content_type)
    return charset_named(found[1]) if found else None


def _utf16_by_shape(body: bytes) -> str | None:
    if _UTF16_START.match(body) is None:
        return None
    return "utf-16be" if body[0] == 0 else "utf-16le"


def _prescan(head: bytes) -> str | None:
    """The prescan of §13.2.3.2, tag by tag: quoted `>` and comments do not fool it."""
    declaration = _XML_DECLARATION.match(head)
    at = 0
    while (found := _MARKUP.search(head, at)) is not None:
        if found["comment"]:
            end = head.find(b"-->", found.start() + 2)
            if end < 0:
                break
            at = end + 3
        elif found["other"]:
            end = head.find(b">", found.end())
            if end < 0:
                break
            at = end + 1
        elif found["meta"]:
            attributes, at = _attributes(head, found.end() - 1)
            name = _declared(attributes) if attributes is not None else None
            if name is not None:
                return name
        else:
            name_end = _TAG_NAME_END.search(head, found.end())
            if name_end is None:
                break
            _, at = _attributes(head, name_end.start())
    name = charset_named(declaration[1].decode("latin-1")) if declaration else None
    return "utf-8" if name in {"utf-16be", "utf-16le"} else name


def _attributes(head: bytes, at: int) -> tuple[dict[bytes, bytes] | None, int]:
    """The attributes of the tag whose name ends at `at`, first of each name; None when the tag is cut off."""
    attributes: dict[bytes, bytes] = {}
    length = len(head)
    while True:
        while at < length and head[at] in b"\t\n\f\r /":
            at += 1
        if at >= length:
            return None, length
        if head[at] == 0x3E:
            return attributes, at + 1
        found = _ATTRIBUTE.match(head, at)
        if found is None or found.end() >= length:
            return None, length
        value = found["double"] or found["single"] or found["bare"] or b""
        attributes.setdefault(found["name"].lower(), value)
        at = found.end()


def _declared(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        found = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
        label = (found[1] or found[2] or found[3]) if found else None
    if not label:
        return None
    name = charset_named(label.decode("latin-1"))
    if name in {"utf-16be", "utf-16le"}:
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name
