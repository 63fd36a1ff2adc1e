"""What is counted of a text and what it is recognised by: by compiled code (`measure.c`), or in Python where there is none."""

from __future__ import annotations

import ctypes
import hashlib
import re
from dataclasses import dataclass
from functools import cache

from sitelore.extract.native.library import library
from sitelore.model.sketch import LINES, sketch_of

_DIGITS = b"0123456789"
_LINE_BYTES = 8
_SIZES = ctypes.c_int64 * 5


@dataclass(frozen=True, slots=True)
class Measures:
    """What `measure` finds."""

    words: int
    content_hash: str
    novelty: str
    sketch: bytes = b""


def measure(title: str, text: str, utf8: bytes | None, *, is_even: bool) -> Measures:
    """`is_even` says that white space in the text is single already; then counting it is counting words.

    `utf8` is the text again, where it is at hand.
    """
    if not text or text.isspace():
        return Measures(0, "", "")
    body = text.encode("utf-8", "replace") if utf8 is None else utf8
    head = title.encode("utf-8", "replace")
    looked = look(head, body) if is_even and b"\n" not in head else look_slowly(head, body, is_even=is_even)
    normal, plain, spaces, sketch = looked
    count = spaces + 1 - len(title.split())
    # Scripts written without spaces take three bytes a character; their words count by character.
    if len(normal) > len(text) * 1.4:
        count += len(_unspaced().findall(text))
    return Measures(count, hashlib.sha256(normal).hexdigest(), hashlib.sha256(plain).hexdigest(), sketch)


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


_Looked = tuple[bytes | memoryview, bytes | memoryview, int, bytes]
"""Title and text on one line in lower case, the same without digits, how many spaces the first has, the sketch of the text."""


def look(title: bytes, text: bytes) -> _Looked:
    """One look at an even text. The title is one line."""
    if _MEASURE is None:
        return look_slowly(title, text)
    room = len(title) + len(text) + 1
    into, sizes = bytearray(2 * room + _LINE_BYTES * LINES), _SIZES()
    at = ctypes.addressof(ctypes.c_char.from_buffer(into))
    _MEASURE(title, len(title), text, len(text), LINES, at, at + room, at + 2 * room, sizes)
    start, size, plain, spaces, lines = sizes
    data = memoryview(into)
    sketch = bytes(data[2 * room : 2 * room + _LINE_BYTES * lines])
    return data[start : start + size], data[room : room + plain], spaces, sketch


def look_slowly(title: bytes, text: bytes, *, is_even: bool = True) -> _Looked:
    """The same in Python, and for a text that may be uneven."""
    lowered = b"%b\n%b" % (title.lower(), text.lower())
    normal = lowered.replace(b"\n", b" ").strip()
    if not is_even:
        normal = b" ".join(normal.split())
    return normal, normal.translate(None, _DIGITS), normal.count(b" "), sketch_of(lowered.partition(b"\n")[2])


_MEASURE = getattr(library(), "measure", None)
if _MEASURE is not None:
    _MEASURE.restype = None
    _MEASURE.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_char_p, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 4]
