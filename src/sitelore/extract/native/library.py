"""The way to the library that is built of the sources beside this file."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a crawl's own process looks for secrets in addresses, and has no other use for numpy
    import numpy as np
    from numpy.typing import NDArray

_VERSION = 7
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


def address(array: NDArray[np.generic]) -> int:
    """Where an array's data stands. The array has to outlive whoever uses it."""
    return int(array.__array_interface__["data"][0])  # a third of the cost of `array.ctypes.data`
