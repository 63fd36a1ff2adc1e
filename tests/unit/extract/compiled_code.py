"""Calls what is compiled for tests: HTML in, bytes out. Not a test."""

from __future__ import annotations

import ctypes
from typing import Any

from sitelore.extract.native.library import library


def called(name: str, html: bytes) -> bytes | None:
    """What a function of the library makes of HTML; None where it declines."""
    found = library()
    assert found is not None
    function = getattr(found, name)
    function.restype = ctypes.c_int64
    function.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p)]
    out = ctypes.c_void_p()
    size = function(html, len(html), ctypes.byref(out))
    return None if size < 0 else ctypes.string_at(out.value, size) if size and out.value else b""


def page_made(name: str, source: bytes) -> tuple[bytes, bytes] | None:
    """All that is known of the nodes that `read_page` or `parse_page` makes, and their HTML; None where it declines."""
    found = library()
    assert found is not None
    make = getattr(found, name)
    make.restype = ctypes.c_int64
    make.argtypes = [ctypes.c_char_p, ctypes.c_int64]
    if make(source, len(source)) < 0:
        return None
    return held("page_as_rows"), held("page_as_html")


def held(name: str) -> bytes:
    """What a function of the library tells of the page that it holds."""
    tell: Any = getattr(library(), name)
    tell.restype = ctypes.c_int64
    tell.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
    out = ctypes.c_void_p()
    size = tell(ctypes.byref(out))
    assert size >= 0
    return ctypes.string_at(out.value, size) if out.value else b""
