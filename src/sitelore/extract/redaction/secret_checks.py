"""Checks that rules for secrets name: each looks at what an exact pattern found and says whether it is credible."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

Check = Callable[[bytes, int, int], bool]
"""Text, start and end of the supposed secret → whether it is one."""

_PLACEHOLDER = re.compile(
    rb"x{3,}|X{3,}|\*{3,}|\.{3}|[<>{}\[\]]|[$%][A-Za-z({%]|^[$%](?!\d)|^(?:user(?:name)?|pass(?:word|wd)?|pw|pwd|secret|token"
    rb"|api_?key|your\W|your_|my\W|my_|none|null|true|false|test|example|changeme|redacted|insert_|enter_|replace)",
    re.IGNORECASE,
)
_SEQUENCE = re.compile(rb"abcdefgh|12345678|98765432", re.IGNORECASE)
_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEXADECIMAL = re.compile(rb"[0-9a-fA-F]+")
_PUBLIC_NAME = re.compile(rb"public|publishable|sitekey|site_key|captcha|client_?token|measurement|boomr", re.IGNORECASE)
_PUBLIC_VALUE = re.compile(rb"(?:pk[_.-]|pub[0-9_-]|phc_|client-|6L[\w-]{38}$)")
_VISIT_NAME = re.compile(rb"csrf|xsrf|authenticity|nonce|theme_|form_token|requestverification", re.IGNORECASE)
_WIDGET = re.compile(rb"[,{]apiKey:[\"']$")
_COUNTING = re.compile(rb"(?:1234-){2}")
_WORDS = re.compile(rb"(?:[A-Z][a-z]{2,}){3}")
_NAME_BYTES = 40
_LONG = 32
_PRINTABLE = re.compile(rb"[ -~]+")


def entropy(value: bytes) -> float:
    """Shannon entropy in bits a character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values()) if size else 0.0


def _is_mixed(value: bytes) -> bool:
    return any(48 <= c <= 57 for c in value) and any(c > 64 for c in value)


def _is_mixed_case(value: bytes) -> bool:
    return value != value.lower() and value != value.upper()


def _is_credible(value: bytes) -> bool:
    value = value.strip(b"{}")
    return len(value) >= 8 and _is_mixed(value) and not _PLACEHOLDER.search(value)


def _decoded(value: bytes) -> bytes:
    """What base64 stands for, with or without its end; empty when it is none."""
    plain = value.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    try:
        return base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + b"=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _is_basic(value: bytes) -> bool:
    if len(value) % 4:
        return False
    user, colon, password = _decoded(value).partition(b":")
    plain = _PRINTABLE.fullmatch(user + password)
    return bool(colon and plain) and not (_PLACEHOLDER.search(password) and _PLACEHOLDER.search(user))


def _is_encoded(value: bytes) -> bool:
    return len(value) % 4 == 0 and (value.endswith(b"=") or (_is_mixed(value) and _is_mixed_case(value)))


def _of_value(judge: Callable[[bytes], object]) -> Check:
    return lambda data, start, end: bool(judge(data[start:end]))


def _not_of_name(pattern: re.Pattern[bytes]) -> Check:
    return lambda data, start, _: not pattern.search(data[max(0, start - _NAME_BYTES) : start])


def _is_not_public(data: bytes, start: int, end: int) -> bool:
    return not _PUBLIC_NAME.search(data[max(0, start - _NAME_BYTES) : start]) and not _PUBLIC_VALUE.match(data[start:end])


CHECKS: Mapping[str, Check] = {
    "mixed": _of_value(_is_mixed),
    "mixed-case": _of_value(_is_mixed_case),
    "mixed-case-or-long": _of_value(lambda value: len(value) >= _LONG or _is_mixed_case(value)),
    "credible": _of_value(_is_credible),
    "varied": _of_value(lambda value: len(set(value)) > 2),
    "encoded": _of_value(_is_encoded),
    "basic-credentials": _of_value(_is_basic),
    "holds-jwt": _of_value(lambda value: _decoded(value).startswith(b"eyJ") and b"." in _decoded(value)),
    "holds-private-key": _of_value(lambda value: b"PRIVATE KEY" in _decoded(value)[:200]),
    "not-placeholder": _of_value(lambda value: not _PLACEHOLDER.search(value)),
    "not-sequence": _of_value(lambda value: not _SEQUENCE.search(value)),
    "not-counting": _of_value(lambda value: not _COUNTING.search(value)),
    "not-words": _of_value(lambda value: not _WORDS.search(value)),
    "not-letters": _of_value(lambda value: not value.isalpha()),
    "not-hexadecimal": _of_value(lambda value: not _HEXADECIMAL.fullmatch(value)),
    "not-uuid": _of_value(lambda value: not _UUID.fullmatch(value)),
    "not-public": _is_not_public,
    "not-visit": _not_of_name(_VISIT_NAME),
    "not-widget": _not_of_name(_WIDGET),
}
"""`mixed`: letters and digits. `not-public`: nothing that browsers are given on purpose. `not-visit`: no token of one visit
(against forgery). `not-widget`: no configuration of a widget in minified script."""
