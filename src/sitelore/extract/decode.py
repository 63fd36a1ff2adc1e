"""Decodes a body into text, in the order of the HTML standard's encoding sniffing algorithm (§13.2.3.2).

The order is: byte order mark, HTTP header, `<meta>` prescan, then the form of the bytes. Encodings go by the labels of the
WHATWG Encoding Standard (§4.2); where Python's codec of that name is narrower, a wider one decodes them.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache

_PRESCAN_BYTES = 1024
_LATE_META_BYTES = 65536  # a parser that meets a later <meta> changes the encoding (§13.2.3.4)

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_BOM_FIRST_BYTES = frozenset(mark[:1] for mark, _ in _BOMS)
_UTF16_START = re.compile(rb"<\x00[!?a-zA-Z]\x00|\x00<\x00[!?a-zA-Z]")
_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?([^\s\"';,]+)", re.IGNORECASE)

_MARKUP = re.compile(rb"<(?:(?P<comment>!--)|(?P<meta>meta[\s/])|(?P<tag>/?[a-z])|(?P<other>[!/?]))", re.IGNORECASE)
_TAG_NAME_END = re.compile(rb"[\s>]")
_ATTRIBUTE = re.compile(
    rb"[\s/]*(?P<name>[^\s/>=][^\s/>=]*|=[^\s/>=]*)"  # §13.2.3.2 "get an attribute": a name may start with "="
    rb"(?:\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s>\"'][^\s>]*|(?=>)))|(?P<none>(?=[\s/>])\s*+(?!=)))"
)
_XML_DECLARATION = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([^\"'>]+)[\"']")
_LATE_META = re.compile(rb"<meta[\s/][^>]{0,500}charset", re.IGNORECASE)
_CONTENT_CHARSET = re.compile(rb"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s;\"'][^\s;]*))", re.IGNORECASE)

_LARGE_BODY = 2**20

_LABELS = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "ibm866": "866 cp866 csibm866 ibm866",
    "iso-8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "iso-8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "iso-8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "iso-8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "iso-8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i "
    "iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "iso-8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
    "iso_8859-7:1987 sun_eu_greek",
    "iso-8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 "
    "iso_8859-8:1988 visual",
    "iso-8859-8-i": "csiso88598i iso-8859-8-i logical",
    "iso-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso-8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
    "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
    "windows-1254 x-cp1254",
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gbk": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "gb18030": "gb18030",
    "big5": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso-2022-jp": "csiso2022jp iso-2022-jp",
    "shift_jis": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "euc-kr": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949",
    "utf-16be": "unicodefffe utf-16be",
    "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "x-user-defined": "x-user-defined",
}
_NAMES = {label: name for name, labels in _LABELS.items() for label in labels.split()}

_CODECS = {
    "ibm866": "cp866",
    "iso-8859-8-i": "iso8859_8",
    "macintosh": "mac_roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
}
"""Python's codec, where it has another name than the standard's encoding, or the one of that name is narrower."""

_MULTI_BYTE = frozenset(
    {"utf-8", "gbk", "gb18030", "big5", "euc-jp", "iso-2022-jp", "shift_jis", "euc-kr", "utf-16be", "utf-16le"}
)


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a body, and the encoding it was decoded from."""

    utf8: bytes
    """The text in UTF-8, without a byte order mark."""
    charset: str
    """The standard's name of the encoding."""
    is_utf8: bool
    """Whether `utf8` is the body unchanged."""
    known_text: str | None = None
    """The text as a `str`; None for a large body, or one that was not valid UTF-8."""

    @property
    def text(self) -> str:
        """The text as a `str`."""
        return self.utf8.decode() if self.known_text is None else self.known_text


def decode(body: bytes, content_type: str = "") -> Decoded:
    """Decode a body. `content_type` is the whole header value, parameters included."""
    for mark, name in _BOMS if body[:1] in _BOM_FIRST_BYTES else ():
        if body.startswith(mark):
            return _decoded(body[len(mark) :], name)
    declared = _header_charset(content_type) or _utf16_by_shape(body) or meta_charset(body)
    if declared is not None and declared != "utf-8":
        return _decoded(body, declared)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return _decoded(body, declared or "windows-1252")
    # The standard's default for undeclared ASCII is windows-1252.
    charset = declared or ("windows-1252" if body.isascii() else "utf-8")
    return Decoded(body, charset, is_utf8=True, known_text=text if len(body) < _LARGE_BODY else None)


def _decoded(data: bytes, name: str) -> Decoded:
    return Decoded(decode_as(data, name).encode("utf-8", "replace"), name, is_utf8=False)


def meta_charset(body: bytes) -> str | None:
    """The encoding that a document declares in its markup, or None."""
    name = _prescan(body[:_PRESCAN_BYTES])
    if name is None and len(body) > _PRESCAN_BYTES:
        late = _LATE_META.search(body, 0, _LATE_META_BYTES)
        if late is not None:
            name = _prescan(body[: late.end() + _PRESCAN_BYTES])
    return name


@lru_cache(maxsize=64)
def _header_charset(content_type: str) -> str | None:
    match = _HEADER_CHARSET.search(content_type)
    return charset_named(match[1]) if match else None


def _utf16_by_shape(body: bytes) -> str | None:
    if _UTF16_START.match(body) is None:
        return None
    return "utf-16be" if body[0] == 0 else "utf-16le"


def _prescan(head: bytes) -> str | None:
    """Prescan a byte stream for its encoding (§13.2.3.2). Skips comments, and `>` within quoted values."""
    declaration = _XML_DECLARATION.match(head)
    at = 0
    while (match := _MARKUP.search(head, at)) is not None:
        if match["comment"]:
            end = head.find(b"-->", match.start() + 2)
            if end < 0:
                break
            at = end + 3
        elif match["other"]:
            end = head.find(b">", match.end())
            if end < 0:
                break
            at = end + 1
        elif match["meta"]:
            attributes, at = _attributes(head, match.end() - 1)
            name = _declared(attributes) if attributes is not None else None
            if name is not None:
                return name
        else:
            name_end = _TAG_NAME_END.search(head, match.end())
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
        match = _ATTRIBUTE.match(head, at)
        if match is None or match.end() >= length:
            return None, length
        value = match["double"] or match["single"] or match["bare"] or b""
        attributes.setdefault(match["name"].lower(), value)
        at = match.end()


def _declared(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        match = _CONTENT_CHARSET.search(attributes.get(b"content", b""))
        label = (match[1] or match[2] or match[3]) if match else None
    if not label:
        return None
    name = charset_named(label.decode("latin-1"))
    if name in {"utf-16be", "utf-16le"}:
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def charset_named(label: str) -> str | None:
    """The standard's name of an encoding, by one of its labels; None for an unknown label."""
    return _NAMES.get(label.strip("\t\n\f\r ").lower())


def decode_as(data: bytes, name: str) -> str:
    """Decode bytes by the standard's name of their encoding. Invalid bytes become U+FFFD."""
    if name == "utf-8":
        return data.decode("utf-8", "replace")
    if name in _MULTI_BYTE:
        return _without_surrogates(data.decode(_CODECS.get(name, name), "replace"))
    return codecs.charmap_decode(data, "strict", _table(name))[0]


def encode_as(text: str, name: str) -> bytes:
    """Encode text by the standard's name of an encoding. Characters that it lacks become character references."""
    if name in _MULTI_BYTE:
        codec = _CODECS.get(name, name)
        return text.encode(codec, "replace" if name.startswith("utf") else "xmlcharrefreplace")
    return codecs.charmap_encode(text, "xmlcharrefreplace", codecs.charmap_build(_table(name)))[0]


@lru_cache(maxsize=64)
def _table(name: str) -> str:
    """The 256 characters of a single-byte encoding. Windows code pages map their gaps to C1 controls, others to U+FFFD."""
    if name == "x-user-defined":
        return "".join(chr(byte if byte < 0x80 else 0xF700 + byte) for byte in range(256))
    codec = _CODECS.get(name, name)
    chars: list[str] = []
    for byte in range(256):
        try:
            chars.append(bytes((byte,)).decode(codec))
        except UnicodeDecodeError:
            chars.append(chr(byte) if name.startswith("windows-") else "\ufffd")
    return "".join(chars)


def _without_surrogates(text: str) -> str:
    # Some multi-byte codecs return lone surrogates, which cannot be encoded again.
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
