"""The compiled writer (`write.c`), where it was built: chosen HTML as Markdown and plain text, the same bytes as from the tree.

It does what most pages hold and declines the rest, which is then written from the tree.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable
from typing import Any, NamedTuple

from sitelore.extract.content.choice import Cuts
from sitelore.extract.content.teaching import taught
from sitelore.extract.native.library import Told

NO_CUTS = Cuts([], {})
_NO_PAGE = "\1"  # before an address that is none of a page


class _Going(ctypes.Structure):
    """What goes from a page, as `cut_nodes` takes it."""

    _fields_ = (
        ("places", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("rows", ctypes.c_void_p),
        ("row_count", ctypes.c_int64),
        ("text", ctypes.c_void_p),
    )
    kept: Any = None
    """What it points to."""


class _ToldTexts(ctypes.Structure):
    """Two texts, and what is left to do in them."""

    _fields_ = (("texts", Told), ("signs", ctypes.c_int64), ("is_even", ctypes.c_int64))


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


class CompiledWriter:
    """Looks at a page, then writes it, in the same thread."""

    def __init__(self, found: ctypes.CDLL) -> None:
        self._look_at_html, self._write = found.look_at_html, found.write_page
        self._cut_chosen, self._look_at_chosen = found.cut_chosen, found.look_at_chosen
        for function in (self._look_at_html, self._cut_chosen, self._look_at_chosen, self._write):
            function.restype = ctypes.c_int64
        text, whole, place = ctypes.c_char_p, ctypes.c_int64, ctypes.c_void_p
        self._look_at_html.argtypes = [text, whole, whole, place, text, whole, place]
        self._cut_chosen.argtypes = [whole, place, place]
        self._look_at_chosen.argtypes = [place]
        self._write.argtypes = [text, whole, place]

    def look_at_html(self, html: bytes, hidden: Iterable[str], cuts: Cuts = NO_CUTS, opened: int = -1) -> Asked | None:
        """Read HTML without what goes from it; None where the compiled code declines.

        `hidden` are names of elements that nobody may see; `opened` is how many elements it holds, so that its cuts mean the
        same ones. `html` has to stay until the page is written.
        """
        told, names = Told(), "\0".join(hidden).encode()
        going = _going(cuts)
        done = self._look_at_html(html, len(html), opened, ctypes.byref(going), names, len(names), ctypes.byref(told))
        return _asked(told) if done == 0 else None

    def cut_chosen(self, cuts: Cuts, opened: int) -> list[tuple[str, str]] | None:
        """Cut what was chosen of the page that the compiled code holds: tags and styles of what may be cut down to nothing."""
        told = Told()
        going = _going(cuts)
        done = self._cut_chosen(opened, ctypes.byref(going), ctypes.byref(told))
        return _pairs(told.one()) if done == 0 else None

    def look_at_chosen(self) -> list[str] | None:
        """The addresses in what is left of it; None where the compiled code declines."""
        told = Told()
        return _parts(told.both()[1]) if self._look_at_chosen(ctypes.byref(told)) == 0 else None

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


def _going(cuts: Cuts) -> _Going:
    """What goes, with all that it points to."""
    if cuts is NO_CUTS:
        return _NOTHING
    places, rows, texts, size = array("q", cuts.elements), array("q"), [], 0
    for place, loose in cuts.texts.items():
        for text in loose:
            rows.extend((place, size, size + len(text)))
            texts.append(text)
            size += len(text)
    written = ctypes.create_string_buffer(b"".join(texts))  # the compiled code writes in it
    address = ctypes.cast(written, ctypes.c_void_p)
    going = _Going(places.buffer_info()[0], len(places), rows.buffer_info()[0], len(rows) // 3, address)
    going.kept = (places, rows, written)
    return going


_NOTHING = _Going()


def _asked(told: Told) -> Asked:
    styles, addresses = told.both()
    return Asked(_pairs(styles), _parts(addresses))


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
