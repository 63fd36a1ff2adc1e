"""What was chosen of the page that compiled code holds (`named.c`), as its style sheets are asked about it."""

from __future__ import annotations

import ctypes
import re
from functools import cached_property, lru_cache
from typing import Any

from sitelore.extract.content.folding import ids_in, opened_by_click
from sitelore.extract.content.style_sheets import Hiding, drop_hidden
from sitelore.extract.content.telling import ToldElement
from sitelore.extract.native.library import Told, library

_OF_NAMED = ("id", "class", "role", "aria-labelledby")  # as `named.c` tells them
_IS_THERE, _SIZE, _HOLDS_HEADING = range(3)  # as it numbers its questions
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_NAMES = re.compile(r"([.#])([a-z_][\w-]*)", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\n\f\r]+")


class _Unsure(Exception):
    """Only the tree knows."""


class _Named(ToldElement):
    """An element that has one of the names that sheets speak of."""

    @cached_property
    def names(self) -> set[str]:
        """Its id and its classes, as selectors spell them."""
        return {f"#{self.attr('id') or ''}", *(f".{name}" for name in _SPACE.split(self.attr("class") or ""))}


class HeldStage:
    """The same as `TreeStage` for the page that compiled code holds. Raises `_Unsure` for what only the tree knows."""

    def __init__(self, compiled: Any, named: set[str]) -> None:
        """`named` are the names that sheets speak of."""
        self._compiled = compiled
        self._elements = self._told(named) if named else []

    @property
    def is_empty(self) -> bool:
        """Whether no element has such a name."""
        return not self._elements

    def matching(self, selector: str) -> list[_Named]:
        """The elements below the chosen one that plain selectors name, a comma between them."""
        asked = [_taken_apart(one) for one in selector.split(",")]
        found = [one for one in self._elements if any(names <= one.names and tag in {"", one.tag} for tag, names in asked)]
        return [one for one in found if self._ask(one, _IS_THERE)]

    def holds_heading(self, element: _Named) -> bool:
        """Whether there is a heading in an element, or it is one."""
        return element.tag in _HEADINGS or bool(self._ask(element, _HOLDS_HEADING))

    def opened(self, gone: list[_Named]) -> set[_Named]:
        """Those that a reader opens with a click."""
        return opened_by_click(gone, self._targets)

    def size(self, element: _Named) -> int:
        """How many characters an element has, without white space at its ends."""
        return self._ask(element, _SIZE)

    def whole(self) -> int:
        """How many characters all of it has."""
        return int(self._compiled.size_of_chosen())

    def is_spoken_of(self, name: str) -> bool:
        """Whether scripts, or sheets that were not read, speak of a name."""
        utf8 = name.encode("utf-8", "replace")
        if (found := self._compiled.is_spoken_of(utf8, len(utf8))) < 0:
            raise _Unsure
        return bool(found)

    def drop(self, element: _Named) -> None:
        """Cut an element."""
        self._compiled.drop_named(element.number)

    def text_of(self, number: int) -> str:
        """The text of an element."""
        told = Told()
        if self._compiled.tell_named_text(number, ctypes.byref(told)) != 0:
            raise _Unsure
        return told.one().decode("utf-8", "replace")

    def _ask(self, element: _Named, question: int) -> int:
        return int(self._compiled.ask_named(element.number, question))

    def _told(self, named: set[str]) -> list[_Named]:
        told, names = Told(), "\0".join(named).encode()
        count = self._compiled.tell_named(names, len(names), ctypes.byref(told))
        if count < 0:
            raise _Unsure
        parts, width = told.one().decode().split("\0"), len(_OF_NAMED) + 1
        rows = [parts[at : at + width] for at in range(0, count * width, width)]
        elements = [_Named(at, row[0], dict(zip(_OF_NAMED, row[1:], strict=True)), self.text_of) for at, row in enumerate(rows)]
        # On some pages case does not matter, and which these are only the parser knows.
        spellings: dict[str, set[str]] = {}
        for name in (*named, *(name[1:] for one in elements for name in one.names)):
            spellings.setdefault(name.lower(), set()).add(name)
        if any(len(spellings[name.lower()]) > 1 for name in named):
            raise _Unsure
        return elements

    def _targets(self) -> set[str]:
        """What controls name as their targets. What stands around the chosen part is gone."""
        told = Told()
        if not self._compiled.is_body_chosen() or self._compiled.tell_targets(ctypes.byref(told)) != 0:
            raise _Unsure
        return ids_in(value[1:] for value in told.one().decode().split("\0") if value)


@lru_cache(maxsize=256)
def _taken_apart(selector: str) -> tuple[str, frozenset[str]]:
    """The tag that a plain selector asks for, if any, and the names."""
    tag = selector[: min(at for at in (selector.find("."), selector.find("#")) if at >= 0)]
    return tag.lower(), frozenset(f"{sign}{name}" for sign, name in _NAMES.findall(selector))


def drop_hidden_held(hiding: Hiding) -> bool:
    """Cut from what was chosen of the page that compiled code holds what the sheets hide; whether that could be done here."""
    compiled = _compiled()
    if compiled is None:
        return False
    try:
        if not HeldStage(compiled, hiding.names).is_empty:
            drop_hidden(hiding, HeldStage(compiled, hiding.all_names))
    except _Unsure:
        return False
    return True


@lru_cache(maxsize=1)
def _compiled() -> ctypes.CDLL | None:
    found = library()
    whole, place, text = ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
    for name, *kinds in (
        ("tell_named", text, whole, place),
        ("ask_named", whole, whole),
        ("tell_named_text", whole, place),
        ("drop_named", whole),
        ("size_of_chosen",),
        ("is_body_chosen",),
        ("is_spoken_of", text, whole),
        ("tell_targets", place),
    ):
        function = getattr(found, name) if found is not None else None
        if function is not None:
            function.restype, function.argtypes = whole, kinds
    return found
