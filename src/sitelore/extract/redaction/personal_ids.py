"""National ids that have a checksum or a form of their own, and the checksums. Looked for only where a setting names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_NOT_DIGIT = re.compile(rb"\D")
_DNI_LETTERS = b"TRWAGMYFPDXBNJZSQVHLCKE"
_CF_ODD_LETTERS = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_CF_ODD = {
    **dict(zip(b"0123456789", _CF_ODD_LETTERS, strict=False)),
    **dict(zip(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", _CF_ODD_LETTERS, strict=True)),
}


def has_luhn(digits: bytes) -> bool:
    """ISO/IEC 7812-1, annex B."""
    total = 0
    for at, char in enumerate(reversed(digits)):
        value = (char - 48) * (1 + at % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def has_mod_97(iban: bytes) -> bool:
    """ISO 13616-1 §5."""
    turned = (iban[4:] + iban[:4]).decode().upper()
    return int("".join(str(int(char, 36)) for char in turned)) % 97 == 1


def _digits(value: bytes) -> list[int]:
    return [char - 48 for char in _NOT_DIGIT.sub(b"", value)]


def _is_german_tax_id(value: bytes) -> bool:
    """ISO 7064, MOD 11,10."""
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
