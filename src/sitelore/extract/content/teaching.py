"""What the compiled code (`native/`) is told once: what bytes, tags, names and labels mean. Nothing of it is written there."""

from __future__ import annotations

import ctypes
from functools import lru_cache

from sitelore.extract.content.tag_marks import INLINE, LEAST_WITHIN, MARK_OF_WORD, TAG_NUMBER, VOID
from sitelore.extract.content.wording import LABEL_OF_WORD, LABELS, SINCE_BITS
from sitelore.extract.native.library import library

SPACE, OTHER, DIGIT, STOP, COMMA, BAR, SIGN, CURRENCY, KINDS = range(9)  # as many as in walk.c
_MEMBERS = {
    SPACE: b"\t\n\v\f\r ",  # what `bytes.split` splits at
    DIGIT: b"0123456789",
    STOP: b"!.?",
    COMMA: b",;",
    BAR: b"|\xbb",
    SIGN: b"@\xa9",
    CURRENCY: b"$\x82",
}
KIND_OF_BYTE = bytearray([OTHER]) * 256
for _kind, _members in _MEMBERS.items():
    for _byte in _members:
        KIND_OF_BYTE[_byte] = _kind
LINK, IMAGE, LINE_BREAK = TAG_NUMBER[b"a"], TAG_NUMBER[b"img"], TAG_NUMBER[b"br"]
BOLD = [TAG_NUMBER[b"b"], TAG_NUMBER[b"strong"], TAG_NUMBER[b"em"]]
_INLINE, _VOID = 1, 2


@lru_cache(maxsize=1)
def taught() -> ctypes.CDLL | None:
    """The compiled library, which knows all of it; None where it was not built."""
    found = library()
    if found is not None:
        _teach_tags(found)
        _teach_labels(found)
    return found


def _teach_tags(found: ctypes.CDLL) -> None:
    found.begin.argtypes = [ctypes.c_char_p, ctypes.c_char_p, *[ctypes.c_int64] * 4]
    found.learn_tag.argtypes = found.learn_word.argtypes = [ctypes.c_char_p, *[ctypes.c_int64] * 3]
    bold = bytes(number in BOLD for number in range(256))
    found.begin(bytes(KIND_OF_BYTE), bold, LINK, IMAGE, LINE_BREAK, LEAST_WITHIN)
    for name in INLINE | VOID | set(TAG_NUMBER):
        found.learn_tag(name, len(name), TAG_NUMBER.get(name, 0), (name in INLINE) * _INLINE + (name in VOID) * _VOID)
    for word, marks in MARK_OF_WORD.items():
        found.learn_word(word, len(word), marks, int(len(word) >= LEAST_WITHIN))


def _teach_labels(found: ctypes.CDLL) -> None:
    found.learn_label.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64]
    for word, number in LABEL_OF_WORD.items():
        found.learn_label(word, len(word), number)
    found.learn_since.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
    found.learn_since((ctypes.c_int64 * len(SINCE_BITS))(*SINCE_BITS), len(SINCE_BITS), len(LABELS))
