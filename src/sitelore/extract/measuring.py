"""What is counted of a text and what it is recognised by: by compiled code (`measure.c`), or in Python where there is none."""

from __future__ import annotations

import ctypes
import hashlib
import re
from dataclasses import dataclass

import re2

from sitelore.extract.native.library import library
from sitelore.model.sketch import LINES, sketch_of

_THAI_AND_KIN = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_LAST_OF_THAI_AND_KIN = "\u17ff"
_HAN_AND_KANA = (
    r"\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003fffd"
)
_UNSPACED = re.compile(f"[{_THAI_AND_KIN}]+|[{_HAN_AND_KANA}]+")
# The same characters in UTF-8: RE2 looks through a text ten times as fast.
_ANY_UNSPACED = re2.compile(
    r"[\x{e00}-\x{eff}\x{1000}-\x{109f}\x{1780}-\x{17ff}\x{3005}-\x{30ff}\x{31f0}-\x{9fff}\x{f900}-\x{faff}\x{ff66}-\x{ff9f}\x{20000}-\x{3fffd}]"
)
_LETTER = re.compile(r"[^\W_]")
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
    count = spaces + 1 - len(title.split()) + _words_without_spaces(text, body)
    return Measures(count, hashlib.sha256(normal).hexdigest(), hashlib.sha256(plain).hexdigest(), sketch)


def _words_without_spaces(text: str, utf8: bytes) -> int:
    """How many words a text has beyond its pieces between white space, for scripts that put no spaces between words.

    A Han or kana character counts as one word, as word processors count it. In Thai, Lao, Burmese and Khmer a word has about
    four characters. What stands between them is a word if it holds a letter or digit. Korean puts spaces between words.
    """
    if len(text) == len(utf8) or _ANY_UNSPACED.search(utf8) is None:
        return 0
    return sum([_words_in(piece) - 1 for piece in text.split() if not piece.isascii() and _UNSPACED.search(piece) is not None])


def _words_in(piece: str) -> int:
    runs = _UNSPACED.findall(piece)
    unspaced = sum([len(run) if run[0] > _LAST_OF_THAI_AND_KIN else -(-len(run) // 4) for run in runs])
    return unspaced + sum([_LETTER.search(part) is not None for part in _UNSPACED.split(piece) if part])


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
