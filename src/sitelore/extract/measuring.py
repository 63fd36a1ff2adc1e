"""Counts the words of a text and computes the hashes by which it is recognised again."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache

from sitelore.model.sketch import sketch_of

_DIGITS = b"0123456789"


@dataclass(frozen=True, slots=True)
class Measures:
    """The result of `measure`."""

    words: int
    content_hash: str
    """SHA-256 of title and text in lower case, with single spaces."""
    novelty: str
    """The same without digits: equal for pages that differ in a date or a counter alone."""
    sketch: bytes = b""


def measure(title: str, text: str, utf8: bytes | None, *, is_even: bool) -> Measures:
    """Measure a text. `is_even` says that its white space is single already; then counting spaces counts words.

    `utf8` is the text in UTF-8, where that is at hand.
    """
    if not text or text.isspace():
        return Measures(0, "", "")
    body = (text.encode("utf-8", "replace") if utf8 is None else utf8).lower()
    normal = (b"%b %b" % (title.encode("utf-8", "replace").lower(), body)).replace(b"\n", b" ").strip()
    if not is_even:
        normal = b" ".join(normal.split())
    count = normal.count(b" ") + 1 - len(title.split())
    # Scripts written without spaces take three bytes a character; their words count by character.
    if len(normal) > len(text) * 1.4:
        count += len(_unspaced().findall(text))
    plain = normal.translate(None, _DIGITS)
    return Measures(count, hashlib.sha256(normal).hexdigest(), hashlib.sha256(plain).hexdigest(), sketch_of(body))


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
