"""An element of the page that compiled code holds, as it tells of it: what `folding.Telling` asks for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property


class ToldElement:
    """One that is known by a number."""

    def __init__(self, number: int, tag: str, attributes: dict[str, str], text_of: Callable[[int], str]) -> None:
        """An attribute that is there stands behind one character; `text_of` gives the text of an element by its number."""
        self.number = number
        self.tag = tag
        self._attributes = attributes
        self._text_of = text_of

    def attr(self, name: str, /) -> str | None:
        """An attribute's value, one of those that are told."""
        value = self._attributes[name]
        return value[1:] if value else None

    @cached_property
    def text(self) -> str:
        """All text below it, as it is when somebody asks first."""
        return self._text_of(self.number)
