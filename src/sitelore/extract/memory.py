"""Memory that large pages took is given back, where the C library would keep it for the next one."""

from __future__ import annotations

import ctypes
import sys

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # as glibc's malloc.h numbers them
_LARGE_BYTES = 2**20
_SPARE_BYTES = 8 * 2**20


def give_back_large_blocks() -> None:
    """Call it once, in a process that reads pages: after 250 real ones it holds 74 MB instead of 90, at no cost in time.

    Without it glibc takes the size of a large block that was freed as the new bound below which nothing is given back.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)
    mallopt(_TRIM_THRESHOLD, _SPARE_BYTES)
