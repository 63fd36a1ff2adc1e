"""The compiled writer (`write.c`), where it was built: chosen HTML as Markdown and plain text, the same bytes as from the tree.

It does what most pages hold and declines the rest, which is then written from the tree.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable
from typing import NamedTuple

from sitelore.extract.content.choice import Cuts
from sitelore.extract.content.teaching import taught

NO_CUTS = Cuts([], {})
_NO_PAGE = "\1"  # before an address that is none of a page


class _Told(ctypes.Structure):
    """Two texts that the compiled code holds, until it is asked for the next ones."""

    _fields_ = (
        ("first", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("first_size", ctypes.c_int64),
        ("second_size", ctypes.c_int64),
    )

    def both(self) -> tuple[bytes, bytes]:
        return ctypes.string_at(self.first, self.first_size), ctypes.string_at(self.second, self.second_size)


class _ToldTexts(ctypes.Structure):
    """The same with what is left to do in them."""

    _fields_ = (("texts", _Told), ("signs", ctypes.c_int64), ("is_even", ctypes.c_int64))


class Texts(NamedTuple):
    """What was written, in UTF-8."""

    markdown: bytes
    signs: int
    """What in it still needs a second look, as `Sign` has it."""
    plain: bytes
    is_even: bool
    """Whether white space in the plain text is single."""


class Asked(NamedTuple):
    """What has to be known before a page can be written."""

    styles: list[tuple[str, str]]
    """Tags and styles of elements that may be cut down to nothing."""
    addresses: list[str]
    """As they stand in the page."""
    is_uncut: bool = False
    """Whether the tree has to be cut before anything else can be said."""


_UNCUT = Asked([], [], is_uncut=True)


class CompiledWriter:
    """Looks at a page, then writes it, in the same thread."""

    def __init__(self, found: ctypes.CDLL) -> None:
        self._look, self._write = found.look_at_page, found.write_page
        self._look.restype = self._write.restype = ctypes.c_int64
        text, whole, place = ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p
        self._look.argtypes = [text, whole, whole, place, whole, place, whole, text, text, whole, place]
        self._write.argtypes = [text, whole, place]

    def look(self, html: bytes, hidden: Iterable[str], cuts: Cuts = NO_CUTS, opened: int = -1) -> Asked | None:
        """Read a page without what goes from it; None where the compiled code declines.

        `hidden` are names of elements that nobody may see; `opened` is how many elements it holds, so that its cuts mean the
        same ones. `html` has to stay until the page is written.
        """
        told, names = _Told(), "\0".join(hidden).encode()
        gone, (rows, texts) = array("q", cuts.elements), _rows(cuts)
        places = (gone.buffer_info()[0], len(gone), rows.buffer_info()[0], len(rows) // 3)
        found = self._look(html, len(html), opened, *places, texts, names, len(names), ctypes.byref(told))
        if found != 0:
            return _UNCUT if found > 0 else None
        styles, addresses = told.both()
        return Asked(_pairs(styles), _parts(addresses))

    def write(self, answers: Iterable[tuple[str, bool]]) -> Texts | None:
        """The Markdown and the plain text of the page that was looked at last; None where the compiled code declines.

        `answers` are the addresses as they are to be written, and whether each leads to a page.
        """
        told = _ToldTexts()
        said = "".join([f"{written}\0" if is_page else f"{_NO_PAGE}{written}\0" for written, is_page in answers]).encode()
        if self._write(said, len(said), ctypes.byref(told)) != 0:
            return None
        markdown, plain = told.texts.both()
        return Texts(markdown, told.signs, plain, bool(told.is_even))


def _rows(cuts: Cuts) -> tuple[array[int], ctypes.Array[ctypes.c_char]]:
    """Loose texts as `cut_nodes` takes them: the place of the element, and where the text stands in all of them."""
    rows, texts, size = array("q"), [], 0
    for place, loose in cuts.texts.items():
        for text in loose:
            rows.extend((place, size, size + len(text)))
            texts.append(text)
            size += len(text)
    return rows, ctypes.create_string_buffer(b"".join(texts))  # the compiled code writes in it


def _parts(told: bytes) -> list[str]:
    return told.decode().split("\0")[:-1]


def _pairs(told: bytes) -> list[tuple[str, str]]:
    parts = _parts(told)
    return list(zip(parts[::2], parts[1::2], strict=True))


def _writer() -> CompiledWriter | None:
    found = taught()
    return CompiledWriter(found) if found is not None else None


WRITER = _writer()
"""None where it was not compiled."""
