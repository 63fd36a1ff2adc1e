"""The text of API tokens: `sl_<kind>_<id><secret><checksum>`, with `_` before the secret.

The prefix and the CRC-32 checksum let scanners find leaked tokens, and let the server refuse a mistyped one without a query.
The id has 22 base62 digits, the secret 43 (256 random bits), the checksum 6. Only the hash of the secret is stored.
"""

from __future__ import annotations

import re
import secrets
import string
from dataclasses import dataclass
from hashlib import sha256
from zlib import crc32

from sitelore.model.platform.accounts import TokenKind

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ID_CHARS, _SECRET_CHARS, _CHECKSUM_CHARS = 22, 43, 6
_FORM = re.compile(
    rf"sl_({'|'.join(TokenKind)})_([0-9A-Za-z]{{{_ID_CHARS}}})_([0-9A-Za-z]{{{_SECRET_CHARS}}})([0-9A-Za-z]{{{_CHECKSUM_CHARS}}})"
)


@dataclass(frozen=True, slots=True)
class TokenText:
    """A token as its owner has it, taken apart. `text` is shown once and never stored."""

    kind: TokenKind
    id: str
    secret_hash: bytes
    text: str


def new_token_text(kind: TokenKind) -> TokenText:
    """A new random token."""
    token_id, secret = _random(_ID_CHARS), _random(_SECRET_CHARS)
    body = f"sl_{kind}_{token_id}_{secret}"
    return TokenText(kind, token_id, _hash(secret), body + _checksum(body))


def parse_token(text: str) -> TokenText | None:
    """The parts of a token; None when its form or its checksum is wrong."""
    match = _FORM.fullmatch(text)
    if match is None or _checksum(text[:-_CHECKSUM_CHARS]) != match[4]:
        return None
    return TokenText(TokenKind(match[1]), match[2], _hash(match[3]), text)


def _random(length: int) -> str:
    return "".join(secrets.choice(_DIGITS) for _ in range(length))


def _hash(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _checksum(body: str) -> str:
    number, digits = crc32(body.encode()), ""
    for _ in range(_CHECKSUM_CHARS):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
