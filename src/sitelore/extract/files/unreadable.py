"""Why a document is not read."""

from __future__ import annotations


class Unreadable(Exception):
    """A document that cannot be read, with the sentence that says why. It never leaves the room: it becomes a `problem`."""

    def __init__(self, sentence: str, *, is_closed: bool = False) -> None:
        super().__init__(sentence)
        self.is_closed = is_closed
        """Nothing is wrong with it, but it is not for us: it has a password, or needs a library that is not there."""
