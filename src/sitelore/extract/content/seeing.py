"""The compiled way to what a page shows (`unseen.c`, `rungs.c`): what `prepare`, `drop_unseen` and `plain_content` leave.

Compiled code holds the page, tells what stands in it and cuts it down; what is hidden, and what a player is worth, is decided
by the same functions as for a tree.
"""

from __future__ import annotations

import ctypes
from array import array
from typing import Any

from sitelore.extract.content.folding import ids_in, opened_by_click
from sitelore.extract.content.teaching import taught
from sitelore.extract.content.telling import ToldElement
from sitelore.extract.content.visibility import CONSENT, hidden_among, is_unseen, may_be_revealed
from sitelore.extract.markdown.embeds import link_to
from sitelore.extract.native.library import Told

# As `unseen.c` tells them.
_OF_HIDDEN = ("style", "hidden", "aria-hidden", "id", "class", "role", "aria-labelledby", "open")
_OF_PLAYERS = ("src", "data-src", "data-lazy-src", "data-url", "data", "title", "aria-label", "width", "height", "style")
_RUNGS = ("", "article", "main", "body")  # as `rungs.c` numbers them
_CONSENT = "".join(f"{name}\0" for name in sorted(CONSENT)).encode()


class Seer:
    """Cuts the page that compiled code read last in this thread down to what is seen of it."""

    def __init__(self, found: ctypes.CDLL) -> None:
        whole, place, text = ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
        self._players, self._hidden = found.tell_players, found.tell_hidden
        self._text, self._targets = found.tell_text, found.tell_targets
        self._drop_never, self._size, self._drop = found.drop_never_text, found.size_of_body, found.drop_hidden
        self._choose, self._body = found.choose_plainly, found.choose_body
        for function, *kinds in (
            (self._players, place),
            (self._hidden, text, whole, place),
            (self._text, whole, place),
            (self._targets, place),
            (self._drop_never, place, whole),
            (self._size,),
            (self._drop, place, whole, text, whole),
            (self._choose,),
            (self._body, place),
        ):
            function.restype, function.argtypes = whole, list[Any](kinds)

    def drop_unseen(self) -> bool:
        """Drop what no reader sees; whether that could be done here."""
        told = Told()
        answers = self._answered(told)
        if answers is None:
            return False
        count = self._hidden(answers, len(answers), ctypes.byref(told))
        if count < 0:
            return False
        telling = self._elements(told.one(), count) if count else []
        hidden = hidden_among(telling)
        opened = opened_by_click(hidden, self._ids, is_unseen) if hidden else frozenset[ToldElement]()
        numbers = array("q", [one.number for one in hidden])
        size = self._drop_never(numbers.buffer_info()[0], len(numbers))
        if size < 0 or may_be_revealed(size, self._size):
            return False
        gone = array("q", [one.number for one in hidden if one not in opened])
        return bool(self._drop(gone.buffer_info()[0], len(gone), _CONSENT, len(_CONSENT)) == 0)

    def choose_body(self) -> tuple[bytes, int] | None:
        """Choose the page's body: its HTML, and how many elements that holds; None where the tree has to be asked."""
        told = Told()
        count = self._body(ctypes.byref(told))
        return (told.one(), count) if count >= 0 else None

    def choose_plainly(self) -> str | None:
        """Choose what the markup alone calls the page's content: the rung that found it; None likewise."""
        rung = self._choose()
        return _RUNGS[rung] if rung >= 0 else None

    def text_of(self, number: int) -> str:
        """The text of an element that may be hidden."""
        told = Told()
        if self._text(number, ctypes.byref(told)) != 0:
            raise MemoryError
        return told.one().decode("utf-8", "replace")

    def _answered(self, told: Told) -> bytes | None:
        """Where each player of the page leads, as `replace_players` takes it; None where the tree has to be asked."""
        count = self._players(ctypes.byref(told))
        if count <= 0:
            return None if count < 0 else b""
        parts = iter(told.one().decode().split("\0"))
        answers = []
        for _ in range(count):
            tag, attributes = next(parts), dict(zip(_OF_PLAYERS, parts, strict=False))
            within = [source[1:] for source in iter(parts.__next__, "")]
            answers.append("\0".join(link_to(ToldElement(-1, tag, attributes, self.text_of), within) or ("", "")))
        return "".join(f"{answer}\0" for answer in answers).encode()

    def _elements(self, told: bytes, count: int) -> list[ToldElement]:
        parts, width = told.decode().split("\0"), len(_OF_HIDDEN) + 1
        return [
            ToldElement(number, parts[at], dict(zip(_OF_HIDDEN, parts[at + 1 : at + width], strict=True)), self.text_of)
            for number, at in enumerate(range(0, count * width, width))
        ]

    def _ids(self) -> set[str]:
        """What the page's controls name as their targets."""
        told = Told()
        if self._targets(ctypes.byref(told)) != 0:
            raise MemoryError
        return ids_in(value[1:] for value in told.one().decode().split("\0") if value)


def _seer() -> Seer | None:
    found = taught()
    return None if found is None else Seer(found)


SEER = _seer()
"""None where it was not compiled."""
