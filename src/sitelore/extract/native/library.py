"""The way to the library that is built of the sources beside this file."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

_VERSION = 9
"""Of the interface and of what is computed: a library that another version left behind is not used."""


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
