"""The way to the library that is built of the sources beside this file."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

_VERSION = 10
"""Of the interface and of what is computed: a library that another version left behind is not used."""


class Told(ctypes.Structure):
    """Two texts that the compiled code holds, until it is asked for the next ones."""

    _fields_ = (
        ("first", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("first_size", ctypes.c_int64),
        ("second_size", ctypes.c_int64),
    )

    def one(self) -> bytes:
        """The first of them."""
        return ctypes.string_at(self.first, self.first_size)

    def both(self) -> tuple[bytes, bytes]:
        """Both of them."""
        return ctypes.string_at(self.first, self.first_size), ctypes.string_at(self.second, self.second_size)


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled library; None where there is none, or another version's."""
    for path in Path(__file__).parent.glob("extract.*"):
        if path.suffix in {".so", ".dylib", ".dll"}:
            try:
                found = ctypes.CDLL(str(path))
                found.version.restype = ctypes.c_int64
                if found.version() == _VERSION:
                    return found
            except (OSError, AttributeError):
                continue
    return None
