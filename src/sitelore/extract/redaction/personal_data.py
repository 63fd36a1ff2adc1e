"""Data of persons in a text: e-mail addresses, phone numbers, payment cards, IBANs, national ids.

Found by form and, where there is one, by checksum: version numbers, dates, prices, ids and IP addresses are none of it.
What a business says of itself is content: contact pages keep e-mail addresses and phone numbers, and so does every page
that names them as an organisation's own in its structured data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from sitelore.extract.redaction.personal_ids import NATIONAL_IDS, has_luhn, has_mod_97

Span = tuple[int, int, str]
EMAIL, PHONE, CARD, IBAN = "email", "phone", "card", "iban"
KINDS = (EMAIL, PHONE, CARD, IBAN, *NATIONAL_IDS)

_AT = re.compile(rb"@|%40")
_LOCAL = re.compile(rb"(?<![\w.+@-])(?<!//)[A-Za-z0-9][\w.+'-]{0,63}$")
_DOMAIN = re.compile(rb"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![\w-])")
_LOCAL_BYTES, _DOMAIN_BYTES = 66, 260
_NO_DOMAINS = frozenset({b"png", b"jpg", b"jpeg", b"gif", b"webp", b"svg", b"avif", b"css", b"js", b"mjs", b"map", b"html"})
_NO_PERSONS = frozenset({b"git", b"hg"})
_BETWEEN = rb"(?:[ .\-/()]|\xc2\xa0){0,3}"
_PHONES = (
    # With the country's code: +49 30 1234567, +1 (555) 010-9999, 0049 30 …
    re.compile(rb"(?<![\w+.,/=#-])(?:\+|(?<!\d )00(?=[1-9]\d))[1-9](?:" + _BETWEEN + rb"\d){7,14}(?![\d%])"),
    # As a link.
    re.compile(rb"(?<=tel:)[+\d(][\d .\-()/]{5,20}\d"),
    # North America: (555) 010-9999, 555-010-9999.
    re.compile(rb"(?<![\w+.,/=#$-])(?<!\d )(?:\([2-9]\d\d\) ?|[2-9]\d\d[-.])[2-9]\d\d[-. ]\d{4}(?![\w%-]|[.,]\d)"),
    # France, Belgium: 01 42 68 53 00.
    re.compile(rb"(?<![\w+.,/=#-])(?<!\d )0[1-9](?:([ .-])\d\d)(?:\1\d\d){3}(?![\w%-]|[.,]\d)"),
    # With the trunk's zero: 030 1234567, 020 7946 0958, 089/123456-7.
    re.compile(rb"(?<![\w+.,/=#-])(?<!\d )\(?0[1-9]\d{1,3}\)?[ /-]\d{3,8}(?:[ -]\d{1,6}){0,2}(?![\w%-]|[.,:]\d| \d)"),
)
_NUMBER = re.compile(rb"[+(]?\d(?:[\d .\-/()]|\xc2\xa0){5,}\d")
"""Nothing else can hold a phone number, a card or most ids: all of them are looked for in these stretches alone."""
_LABEL = re.compile(
    r"(?i:(?<![A-Za-z])(?:tel(?:(?:e|é)fono?|efoon|éphone|ephone)?|phone|fax|mobile?|handy|cell|hotline|whatsapp"
    "|call us(?: at| on)?|(?:\u0422|т)ел(?:ефон)?|電話|电话|전화)(?![A-Za-z])"
    r"[.:]{0,2})[\s*_|]{0,4}$".encode()
)
_LABEL_BYTES = 40
_LABELLED = re.compile(rb"\(?\+?\d(?:[ .\-/()]{0,2}\d){5,14}(?![\d%]|[.,]\d)")
_CARD = re.compile(
    rb"(?<![\w.,+=/#-])(?<!\d )(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{1,4}(?:\1?\d{3})?|\d{4}([ -])\d{6}\2\d{4,5})"
    rb"(?![\w%-]|[.,]\d| \d)"
)
_IBAN = re.compile(rb"(?<![A-Za-z0-9])[A-Z]{2}\d\d[ -]?[A-Z0-9]{2}")
_IBAN_SIZES = {
    int(size): countries.split()
    for size, countries in (
        ("15", "NO"),
        ("16", "BE"),
        ("18", "DK FI FO GL NL"),
        ("19", "MK SI"),
        ("20", "AT BA EE KZ LT LU XK"),
        ("21", "CH HR LI LV"),
        ("22", "BG BH CR DE GB GE IE ME RS VA"),
        ("23", "AE GI IL IQ TL"),
        ("24", "AD CZ ES MD PK RO SA SE SK TN VG"),
        ("25", "LY PT ST"),
        ("26", "IS TR"),
        ("27", "FR GR IT MC MR SM"),
        ("28", "AL AZ BY CY DO GT HU LB PL SV"),
        ("29", "BR EG PS QA UA"),
        ("30", "JO KW MU"),
        ("31", "MT SC"),
        ("32", "LC"),
    )
}
_IBAN_SIZE = {country.encode(): size for size, countries in _IBAN_SIZES.items() for country in countries}
_DIGITS = re.compile(rb"\d")
_AFTER = 3
_LEAST_DIGITS, _MOST_DIGITS = 7, 15

_CONTACT = re.compile(
    r"\b(?:contact(?:s|o|os|ez|er|ar|-?us|-?me)?|kontakt\w*|contatt\w+|contato|imprint|impressum|aviso-?legal"
    r"|mentions-?l[eé]gales|note-?legali|legal-?notice|colofon|yhteystiedot|kapcsolat|iletisim|iletişim|контакт\w*|επικοινων\w+"
    r"|get-?in-?touch|reach-?us|find-?us|customer-?service|kundenservice|anfahrt)\b"
    r"|お問い合わせ|連絡先|联系我们|聯絡我們|문의|연락처|اتصل بنا",
    re.IGNORECASE,
)
_HEADS = re.compile(rb"<(title|h1)\b[^>]{0,500}>([^<]{0,300})", re.IGNORECASE)
_SCRIPTS = re.compile(rb"<script\b[^>]{0,300}application/ld\+json[^>]{0,300}>(.{0,500000}?)</script", re.IGNORECASE | re.DOTALL)
_BUSINESS = re.compile(
    r"(?:ContactPoint|Organi[sz]ation|Business|Corporation|Store|Restaurant|Hotel|Dentist|Hospital|School|University|Airline|NGO"
    r"|Library|Museum|Agency|Service|Place)$"
)
_CONTACT_FIELDS = frozenset({"email", "telephone", "faxNumber", "phone"})
_MOST_NODES = 5000


@dataclass(frozen=True, slots=True)
class Contacts:
    """What a page may keep of e-mail addresses and phone numbers, because it is a business's own."""

    is_contact_page: bool = False
    values: frozenset[bytes] = frozenset()
    """E-mail addresses in small letters, phone numbers as their last digits."""

    def keeps(self, kind: str, value: bytes) -> bool:
        """Whether this is content."""
        if kind not in {EMAIL, PHONE}:
            return False
        return self.is_contact_page or (bool(self.values) and _plain(value) in self.values)


NO_CONTACTS = Contacts()


def personal_spans(data: bytes, ids: Sequence[str] = (), contacts: Contacts = NO_CONTACTS) -> list[Span]:
    """Where data of persons stands in a text, none overlapping: what has a checksum comes first."""
    taken: list[Span] = []
    for start, end, kind in _candidates(data, ids):
        if not any(start < other_end and other_start < end for other_start, other_end, _ in taken):
            taken.append((start, end, kind))
    return [span for span in taken if not contacts.keeps(span[2], data[span[0] : span[1]])]


def is_contact_page(path: str, heads: Iterable[str] = ()) -> bool:
    """Whether a page is about how to reach somebody, by its address, its title or its main headings."""
    last = path.rstrip("/").rpartition("/")[2]
    return any(_CONTACT.search(text.replace("_", "-")) for text in (last, *heads))


def contacts_of(path: str, heads: Iterable[str], structured: Sequence[Any] = ()) -> Contacts:
    """What a page of this path, title, headings and structured data may keep."""
    return Contacts(is_contact_page(path, heads), frozenset(_business_values(structured)))


def contacts_in(source: bytes, path: str) -> Contacts:
    """The same from a page's source, before it is parsed."""
    heads = [match[2].decode("utf-8", "replace") for match in _HEADS.finditer(source)][:4]
    values: set[bytes] = set()
    for script in list(_SCRIPTS.finditer(source))[:20]:
        try:
            values.update(_business_values(msgspec.json.decode(script[1])))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return Contacts(is_contact_page(path, heads), frozenset(values))


def _candidates(data: bytes, ids: Sequence[str]) -> Iterator[Span]:
    numbers = [match.span() for match in _NUMBER.finditer(data)]
    yield from _matches(_CARD, data, numbers, CARD, _is_card)
    yield from _ibans(data)
    for name in ids:
        pattern, is_one = NATIONAL_IDS[name]
        yield from _matches(pattern, data, ((0, len(data)),), name, is_one)
    yield from _emails(data)
    for pattern in _PHONES:
        yield from _matches(pattern, data, numbers, PHONE, _is_phone)
    for start, end in numbers:
        if _LABEL.search(data, max(0, start - _LABEL_BYTES), start):
            match = _LABELLED.match(data, start, end + _AFTER)
            if match is not None and _is_phone(match[0]):
                yield *match.span(), PHONE


def _matches(
    pattern: re.Pattern[bytes], data: bytes, where: Iterable[tuple[int, int]], kind: str, is_one: Callable[[bytes], bool]
) -> Iterator[Span]:
    for start, end in where:
        for match in pattern.finditer(data, start, end + _AFTER):
            if is_one(match[0]):
                yield *match.span(), kind


def _emails(data: bytes) -> Iterator[Span]:
    """From each @ to both sides: few texts have many of them."""
    for at in _AT.finditer(data):
        local = _LOCAL.search(data, max(0, at.start() - _LOCAL_BYTES), at.start())
        domain = _DOMAIN.match(data, at.end(), at.end() + _DOMAIN_BYTES) if local else None
        if local and domain and _is_email(local[0], domain[0]):
            yield local.start(), domain.end(), EMAIL


def _is_email(local: bytes, domain: bytes) -> bool:
    return domain.rpartition(b".")[2].lower() not in _NO_DOMAINS and local.lower() not in _NO_PERSONS


def _is_phone(value: bytes) -> bool:
    digits = _DIGITS.findall(value)
    return _LEAST_DIGITS <= len(digits) <= _MOST_DIGITS and len(set(digits)) > 2


def _is_card(value: bytes) -> bool:
    digits = b"".join(_DIGITS.findall(value))
    return _BRANDS.fullmatch(digits) is not None and len(set(digits)) > 1 and has_luhn(digits)


_BRANDS = re.compile(
    rb"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}"
    rb"|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}|(?:50|5[6-8]|6[37])\d{14,17}"
)


def _ibans(data: bytes) -> Iterator[Span]:
    for match in _IBAN.finditer(data):
        size = _IBAN_SIZE.get(match[0][:2], 0)
        end, letters = match.start(), bytearray()
        while len(letters) < size and end < len(data):
            char = data[end : end + 1]
            if char.isalnum():
                letters += char
            elif char not in {b" ", b"-"} or not data[end - 1 : end].isalnum():
                break
            end += 1
        if size and len(letters) == size and not data[end : end + 1].isalnum() and has_mod_97(bytes(letters)):
            yield match.start(), end, IBAN


def _plain(value: bytes) -> bytes:
    value = value.strip().lower()
    return value if b"@" in value else b"".join(_DIGITS.findall(value))[-7:]


def _business_values(data: Any) -> Iterator[bytes]:
    """E-mail addresses and phone numbers of organisations and contact points, however deep they stand."""
    waiting, seen = [data], 0
    while waiting and seen < _MOST_NODES:
        node, seen = waiting.pop(), seen + 1
        if isinstance(node, dict):
            kinds = node.get("@type", node.get("type", ()))
            inside = node.get("properties", node)
            if any(_BUSINESS.search(str(kind)) for kind in (kinds if isinstance(kinds, list | tuple) else (kinds,))):
                yield from _values_of(inside)
            waiting += node.values()
        elif isinstance(node, list | tuple):
            waiting += node


def _values_of(properties: Any) -> Iterator[bytes]:
    if not isinstance(properties, dict):
        return
    for name in _CONTACT_FIELDS & properties.keys():
        values = properties[name]
        for value in values if isinstance(values, list | tuple) else (values,):
            if isinstance(value, str) and (plain := _plain(value.encode("utf-8", "replace").removeprefix(b"mailto:"))):
                yield plain
