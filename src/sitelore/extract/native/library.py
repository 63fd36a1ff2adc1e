"""Loads the compiled library built from the C sources in this directory. `sitelore_native.h` documents its functions."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

VERSION = 13
"""`NATIVE_VERSION` in `sitelore_native.h`: a library that another version of the package left behind is refused."""

_FOLDER = Path(__file__).parent
_SUFFIXES = frozenset({".so", ".dylib", ".dll"})
_INTEGER, _POINTER, _BYTES = ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
_SIGNATURES = {
    "vocabulary_create": (_POINTER, [_POINTER]),
    "vocabulary_add_tag": (_INTEGER, [_POINTER, _BYTES, *[_INTEGER] * 3]),
    "vocabulary_add_mark": (_INTEGER, [_POINTER, _BYTES, *[_INTEGER] * 2]),
    "vocabulary_add_label": (_INTEGER, [_POINTER, _BYTES, *[_INTEGER] * 2]),
    "vocabulary_free": (None, [_POINTER]),
    "page_open": (_INTEGER, [_POINTER, _BYTES, _INTEGER, _INTEGER, _POINTER]),
    "page_tables": (None, [_POINTER] * 2),
    "page_score": (_INTEGER, [_POINTER] * 4),
    "page_close": (None, [_POINTER]),
    "links_resolve": (_INTEGER, [_BYTES, _INTEGER, _BYTES, _INTEGER, _INTEGER, _BYTES, _INTEGER, _POINTER]),
}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The compiled library. Raises ImportError where there is none of this version."""
    for path in sorted(_FOLDER.glob("extract.*")):
        if path.suffix not in _SUFFIXES:
            continue
        try:
            return load(path)
        except (OSError, AttributeError, ImportError):
            continue
    raise ImportError(
        "the compiled library sitelore/extract/native/extract.so is missing or was built for another version; "
        "reinstall sitelore (a C compiler or the ziglang package is needed to build from source)"
    )


def library_path() -> Path:
    """The file that `library` was loaded from."""
    return Path(library()._name)  # noqa: SLF001 ctypes has no other name for it


def load(path: Path) -> ctypes.CDLL:
    """The library in this file, its functions declared."""
    library = ctypes.CDLL(str(path))
    library.native_version.restype = _INTEGER
    if (version := library.native_version()) != VERSION:
        raise ImportError(f"{path.name} has version {version}, not {VERSION}")
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
