"""Finds and masks personal data: e-mail addresses, phone numbers, payment cards, IBANs, national ids.

They are found by form and, where there is one, by checksum; version numbers, dates, prices, ids and IP addresses are not.
Business contacts are content: contact pages keep e-mail addresses and phone numbers, and so does every page whose structured
data gives them as an organisation's own. `redactor` removes such data from documents where that is enabled; the functions
`mask_…` remove it from what is searched and handed to models. National ids are looked for only where a setting names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from sitelore.extract.redaction.redactor import Span, mark_spans
from sitelore.model.ids import CleanText
from sitelore.model.settings import BUILT_IN_ALONE, Redaction
from sitelore.model.url import Url

EMAIL, PHONE, CARD, IBAN = "email", "phone", "card", "iban"

_AT = re.compile(rb"@|%40")
_LOCAL = re.compile(rb"(?<![\w.+@-])(?<!//)[A-Za-z0-9][\w.+'-]{0,63}$")
_DOMAIN = re.compile(rb"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![\w-])")
_LOCAL_BYTES, _DOMAIN_BYTES = 66, 260
_FILE_SUFFIXES = frozenset({b"png", b"jpg", b"jpeg", b"gif", b"webp", b"svg", b"avif", b"css", b"js", b"mjs", b"map", b"html"})
_SERVICE_ACCOUNTS = frozenset({b"git", b"hg"})
_SEPARATORS = rb"(?:[ .\-/()]|\xc2\xa0){0,3}"
_PHONES = (
    # With the country's code: +49 30 1234567, +1 (555) 010-9999, 0049 30 …
    re.compile(rb"(?<![\w+.,/=#-])(?:\+|(?<!\d )00(?=[1-9]\d))[1-9](?:" + _SEPARATORS + rb"\d){7,14}(?![\d%])"),
    # As a link.
    re.compile(rb"(?<=tel:)[+\d(][\d .\-()/]{5,20}\d"),
    # North America: (555) 010-9999, 555-010-9999.
    re.compile(rb"(?<![\w+.,/=#$-])(?<!\d )(?:\([2-9]\d\d\) ?|[2-9]\d\d[-.])[2-9]\d\d[-. ]\d{4}(?![\w%-]|[.,]\d)"),
    # France, Belgium: 01 42 68 53 00.
    re.compile(rb"(?<![\w+.,/=#-])(?<!\d )0[1-9](?:([ .-])\d\d)(?:\1\d\d){3}(?![\w%-]|[.,]\d)"),
    # With the trunk's zero: 030 1234567, 020 7946 0958, 089/123456-7.
    re.compile(rb"(?<![\w+.,/=#-])(?<!\d )\(?0[1-9]\d{1,3}\)?[ /-]\d{3,8}(?:[ -]\d{1,6}){0,2}(?![\w%-]|[.,:]\d| \d)"),
)
_NUMBER = re.compile(rb"[+(\d](?:(?<=\d)(?:[\d .\-/()]|\xc2\xa0){5,}|(?=\d)(?:[\d .\-/()]|\xc2\xa0){6,})\d")
"""Runs of digits and separators: phone numbers and cards are looked for in these alone. Starts with one class of characters,
by which `re` skips everything else quickly; so does `_IBAN`."""
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
_IBAN = re.compile(rb"[A-Z](?<![A-Za-z0-9][A-Z])[A-Z]\d\d[ -]?[A-Z0-9]{2}")
_IBAN_SIZES = (
    "15 NO, 16 BE, 18 DK FI FO GL NL, 19 MK SI, 20 AT BA EE KZ LT LU XK, 21 CH HR LI LV, 22 BG BH CR DE GB GE IE ME "
    "RS VA, 23 AE GI IL IQ TL, 24 AD CZ ES MD PK RO SA SE SK TN VG, 25 LY PT ST, 26 IS TR, 27 FR GR IT MC MR SM, 28 "
    "AL AZ BY CY DO GT HU LB PL SV, 29 BR EG PS QA UA, 30 JO KW MU, 31 MT SC, 32 LC"
)
_IBAN_SIZE = {country.encode(): int(row.split()[0]) for row in _IBAN_SIZES.split(",") for country in row.split()[1:]}
_NOT_DIGIT = re.compile(rb"\D")
_DNI_LETTERS = b"TRWAGMYFPDXBNJZSQVHLCKE"
_CF_ODD_LETTERS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_CF_ODD = {
    **dict(zip(b"0123456789", _CF_ODD_LETTERS, strict=False)),
    **dict(zip(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", _CF_ODD_LETTERS, strict=True)),
}
_DIGITS = re.compile(rb"\d")
_NOT_DIGITS = bytes(set(range(256)) - set(b"0123456789"))
_AFTER = 3
_MIN_PHONE_DIGITS, _MAX_PHONE_DIGITS = 7, 15

_CONTACT = re.compile(
    r"\b(?:contact(?:s|o|os|ez|er|ar|-?us|-?me)?|kontakt\w*|contatt\w+|contato|imprint|impressum|aviso-?legal"
    r"|mentions-?l[eé]gales|note-?legali|legal-?notice|colofon|yhteystiedot|kapcsolat|iletisim|iletişim|контакт\w*|επικοινων\w+"
    r"|get-?in-?touch|reach-?us|find-?us|customer-?service|kundenservice|anfahrt)\b"
    r"|お問い合わせ|連絡先|联系我们|聯絡我們|문의|연락처|اتصل بنا",
    re.IGNORECASE,
)
_MARKDOWN_HEADING = re.compile(r"^ {0,3}#{1,2} +(.{1,300})$", re.MULTILINE)
_MAX_HEADINGS = 3
_HEADS = re.compile(rb"<(title|h1)\b[^>]{0,500}>([^<]{0,300})", re.IGNORECASE)
_SCRIPTS = re.compile(rb"<script\b[^>]{0,300}application/ld\+json[^>]{0,300}>(.{0,500000}?)</script", re.IGNORECASE | re.DOTALL)
_BUSINESS = re.compile(
    r"(?:ContactPoint|Organi[sz]ation|Business|Corporation|Store|Restaurant|Hotel|Dentist|Hospital|School|University|Airline|NGO"
    r"|Library|Museum|Agency|Service|Place)$"
)
_CONTACT_FIELDS = frozenset({"email", "telephone", "faxNumber", "phone"})
_MAX_NODES = 5000


@dataclass(frozen=True, slots=True)
class Contacts:
    """The e-mail addresses and phone numbers that a page keeps, because they are a business's own."""

    is_contact_page: bool = False
    values: frozenset[bytes] = frozenset()
    """E-mail addresses in small letters, phone numbers as their last digits."""

    def keeps(self, kind: str, value: bytes) -> bool:
        """Whether this value is content."""
        if kind not in {EMAIL, PHONE}:
            return False
        return self.is_contact_page or (bool(self.values) and _plain(value) in self.values)


NO_CONTACTS = Contacts()


def mask_personal(
    text: CleanText, options: Redaction = BUILT_IN_ALONE, contacts: Contacts = NO_CONTACTS
) -> tuple[CleanText, dict[str, int]]:
    """Text without personal data, and the number of each kind that was removed.

    `contacts` are kept; `options` has the national ids that count, and the key of the hashes.
    """
    spans = personal_spans(
        text.encode("utf-8", "replace"), options.personal_ids, contacts if options.keep_contacts else NO_CONTACTS
    )
    return mark_spans(text, spans, options)


def mask_markdown(
    markdown: CleanText, url: Url, title: str = "", *, structured: tuple[Any, ...] = (), options: Redaction = BUILT_IN_ALONE
) -> CleanText:
    """A page's Markdown without personal data; contact pages keep e-mail addresses and phone numbers."""
    heads = [match[1] for match in _MARKDOWN_HEADING.finditer(markdown[:20_000])][:_MAX_HEADINGS]
    return mask_personal(markdown, options, contacts_of(url.path, (title, *heads), structured))[0]


def personal_spans(data: bytes, ids: Sequence[str] = (), contacts: Contacts = NO_CONTACTS) -> list[Span]:
    """The personal data in UTF-8, none overlapping: kinds with a checksum win."""
    taken: list[Span] = []
    for start, end, kind in _candidates(data, ids):
        if not any(start < other_end and other_start < end for other_start, other_end, _ in taken):
            taken.append((start, end, kind))
    return [span for span in taken if not contacts.keeps(span[2], data[span[0] : span[1]])]


def is_contact_page(path: str, heads: Iterable[str] = ()) -> bool:
    """Whether a page is a contact page, by its path, its title or its main headings."""
    last = path.rstrip("/").rpartition("/")[2]
    return any(_CONTACT.search(text.replace("_", "-")) for text in (last, *heads))


def contacts_of(path: str, heads: Iterable[str], structured: Sequence[Any] = ()) -> Contacts:
    """The contacts that a page keeps, by its path, title, headings and structured data."""
    return Contacts(is_contact_page(path, heads), frozenset(_business_values(structured)))


def contacts_in(source: bytes, path: str) -> Contacts:
    """The contacts that a page keeps, by its unparsed source."""
    heads = [match[2].decode("utf-8", "replace") for match in _HEADS.finditer(source)][:4]
    values: set[bytes] = set()
    for script in list(_SCRIPTS.finditer(source))[:20]:
        try:
            values.update(_business_values(msgspec.json.decode(script[1])))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return Contacts(is_contact_page(path, heads), frozenset(values))


def _candidates(data: bytes, ids: Sequence[str]) -> Iterator[Span]:
    numbers = [match.span() for match in _NUMBER.finditer(data) if _count_digits(match[0]) >= _MIN_PHONE_DIGITS]
    yield from _matches(_CARD, data, numbers, CARD, _is_card)
    yield from _ibans(data)
    for name in ids:
        pattern, is_valid = NATIONAL_IDS[name]
        yield from _matches(pattern, data, ((0, len(data)),), name, is_valid)
    yield from _emails(data)
    for pattern in _PHONES:
        yield from _matches(pattern, data, numbers, PHONE, _is_phone)
    for start, end in numbers:
        if _LABEL.search(data, max(0, start - _LABEL_BYTES), start):
            match = _LABELLED.match(data, start, end + _AFTER)
            if match is not None and _is_phone(match[0]):
                yield *match.span(), PHONE


def _count_digits(value: bytes) -> int:
    return len(value.translate(None, _NOT_DIGITS))


def _matches(
    pattern: re.Pattern[bytes], data: bytes, ranges: Iterable[tuple[int, int]], kind: str, is_valid: Callable[[bytes], bool]
) -> Iterator[Span]:
    for start, end in ranges:
        for match in pattern.finditer(data, start, end + _AFTER):
            if is_valid(match[0]):
                yield *match.span(), kind


def _emails(data: bytes) -> Iterator[Span]:
    """E-mail addresses, searched from each @ to both sides."""
    for at in _AT.finditer(data):
        local = _LOCAL.search(data, max(0, at.start() - _LOCAL_BYTES), at.start())
        domain = _DOMAIN.match(data, at.end(), at.end() + _DOMAIN_BYTES) if local else None
        if local and domain and _is_email(local[0], domain[0]):
            yield local.start(), domain.end(), EMAIL


def _is_email(local: bytes, domain: bytes) -> bool:
    return domain.rpartition(b".")[2].lower() not in _FILE_SUFFIXES and local.lower() not in _SERVICE_ACCOUNTS


def _is_phone(value: bytes) -> bool:
    digits = _DIGITS.findall(value)
    return _MIN_PHONE_DIGITS <= len(digits) <= _MAX_PHONE_DIGITS and len(set(digits)) > 2


def _is_card(value: bytes) -> bool:
    digits = b"".join(_DIGITS.findall(value))
    return _BRANDS.fullmatch(digits) is not None and len(set(digits)) > 1 and _has_luhn(digits)


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
        if size and len(letters) == size and not data[end : end + 1].isalnum() and _has_mod_97(bytes(letters)):
            yield match.start(), end, IBAN


def _plain(value: bytes) -> bytes:
    value = value.strip().lower()
    return value if b"@" in value else b"".join(_DIGITS.findall(value))[-7:]


def _business_values(data: Any) -> Iterator[bytes]:
    """E-mail addresses and phone numbers of organisations and contact points, at any depth of structured data."""
    waiting, seen = [data], 0
    while waiting and seen < _MAX_NODES:
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


def _has_luhn(digits: bytes) -> bool:
    """Whether digits pass the Luhn checksum (ISO/IEC 7812-1, annex B)."""
    total = 0
    for at, char in enumerate(reversed(digits)):
        value = (char - 48) * (1 + at % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _has_mod_97(iban: bytes) -> bool:
    """Whether an IBAN passes its checksum (ISO 13616-1 §5)."""
    rotated = (iban[4:] + iban[:4]).decode().upper()
    return int("".join(str(int(char, 36)) for char in rotated)) % 97 == 1


def _digits(value: bytes) -> list[int]:
    return [char - 48 for char in _NOT_DIGIT.sub(b"", value)]


def _is_german_tax_id(value: bytes) -> bool:
    """Whether the check digit is right (ISO 7064, MOD 11,10)."""
    digits, product = _digits(value), 10
    for digit in digits[:10]:
        total = (digit + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == digits[10] and 2 <= max(map(digits[:10].count, digits[:10])) <= 3


def _is_french_nir(value: bytes) -> bool:
    plain = value.upper().replace(b" ", b"").replace(b"2A", b"19").replace(b"2B", b"18")
    return plain.isdigit() and 97 - int(plain[:13]) % 97 == int(plain[13:])


def _is_spanish_dni(value: bytes) -> bool:
    plain = value.upper().replace(b"-", b"")
    number = plain[:-1].translate(bytes.maketrans(b"XYZ", b"012"))
    return _DNI_LETTERS[int(number) % 23] == plain[-1]


def _is_italian_cf(value: bytes) -> bool:
    total = 0
    for at, char in enumerate(value.upper()[:15]):
        even = char - 48 if char < 65 else char - 65
        total += even if at % 2 else _CF_ODD[char]
    return 65 + total % 26 == value.upper()[15]


def _is_dutch_bsn(value: bytes) -> bool:
    digits = _digits(value)
    return any(digits) and sum(w * d for w, d in zip((9, 8, 7, 6, 5, 4, 3, 2, -1), digits, strict=True)) % 11 == 0


def _is_polish_pesel(value: bytes) -> bool:
    digits = _digits(value)
    month = digits[2] * 10 + digits[3]
    is_date = 1 <= month % 20 <= 12 and 1 <= digits[4] * 10 + digits[5] <= 31
    return is_date and sum(w * d for w, d in zip((1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), digits, strict=True)) % 10 == 0


def _is_brazilian_cpf(value: bytes) -> bool:
    digits = _digits(value)
    if len(set(digits)) == 1:
        return False
    for size in (9, 10):
        rest = sum((size + 1 - at) * digit for at, digit in enumerate(digits[:size])) * 10 % 11 % 10
        if rest != digits[size]:
            return False
    return True


_EDGE, _END = rb"(?<![\w.,/=-])", rb"(?![\w-]|[.,]\d)"
NATIONAL_IDS: Mapping[str, tuple[re.Pattern[bytes], Callable[[bytes], bool]]] = {
    "us-ssn": (re.compile(_EDGE + rb"(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}" + _END), bool),
    "de-tax-id": (re.compile(_EDGE + rb"[1-9]\d(?: ?\d{3}){3}" + _END), _is_german_tax_id),
    "fr-nir": (
        re.compile(_EDGE + rb"[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[ABab]) ?\d{3} ?\d{3} ?\d\d" + _END),
        _is_french_nir,
    ),
    "es-dni": (re.compile(_EDGE + rb"(?:\d{8}|[XYZxyz]-?\d{7})-?[A-Za-z]" + _END), _is_spanish_dni),
    "it-cf": (
        re.compile(_EDGE + rb"[A-Za-z]{6}\d\d[ABCDEHLMPRSTabcdehlmprst][0-7]\d[A-Za-z]\d{3}[A-Za-z]" + _END),
        _is_italian_cf,
    ),
    "nl-bsn": (re.compile(_EDGE + rb"\d{3}[. ]?\d{3}[. ]?\d{3}" + _END), _is_dutch_bsn),
    "pl-pesel": (re.compile(_EDGE + rb"\d{11}" + _END), _is_polish_pesel),
    "br-cpf": (re.compile(_EDGE + rb"\d{3}\.?\d{3}\.?\d{3}-?\d\d" + _END), _is_brazilian_cpf),
}
