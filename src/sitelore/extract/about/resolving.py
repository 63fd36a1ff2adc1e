"""What many hrefs mean, at once, as far as it takes no parser: by compiled code (`resolve.c`), where that was built."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import cast

from sitelore.extract.native.library import library
from sitelore.model.url import KeyRules

_MANY = 1000  # at once: room is made for the longest answers there could be
_ROOM_EACH = 8
_LONGEST = 4096  # of what is looked at here: a longer name is in none of it


class Mark:
    """What is said of an href in place of an address. All of them stand before any address, by their order."""

    NOWHERE = "\1"
    """It leads to no page: a mail address, a script, nothing at all."""
    HERE = "\2"
    """A place of the page it stands on."""
    ASK = "\3"
    """A parser has to tell."""
    OF_PAGE = "\4"
    """Stands before an address that hangs on the path of the page."""
    LAST = "\5"


class PlainAddresses:
    """Tells what hrefs mean that every parser reads alike: most links of most pages."""

    __slots__ = ("_dropped",)

    def __init__(self, rules: KeyRules) -> None:
        names = [name.encode("utf-8", "surrogatepass") for name in rules.dropped]
        self._dropped = b"".join([len(name).to_bytes(2, "little") + name for name in names if len(name) <= _LONGEST])

    def keys(self, hrefs: list[str], base: str, origin: str) -> list[str]:
        """For each href its address on the page `base`, which is at `origin`, or a `Mark`."""
        page, path = base.encode("utf-8", "surrogatepass"), len(origin)
        if len(hrefs) <= _MANY:
            return self._some(hrefs, page, path)
        return [key for at in range(0, len(hrefs), _MANY) for key in self._some(hrefs[at : at + _MANY], page, path)]

    def _some(self, hrefs: list[str], page: bytes, path: int) -> list[str]:
        try:
            joined, dropped = "\0".join(hrefs).encode(), self._dropped
        except UnicodeEncodeError:
            return [Mark.ASK] * len(hrefs)  # half a character: no page has one, and it makes an address none at all
        if _RESOLVE is None or not page.isascii() or joined.count(0) != len(hrefs) - 1:
            return [Mark.ASK] * len(hrefs)
        out = ctypes.create_string_buffer(2 * len(joined) + len(hrefs) * (len(page) + _ROOM_EACH))
        size = _RESOLVE(joined, len(joined), page, len(page), path, dropped, len(dropped), out)
        return out.raw[:size].decode().split("\0")


def _compiled() -> Callable[..., int] | None:
    found = library()
    if found is None or not hasattr(found, "resolve"):
        return None
    found.learn_characters()
    text = (ctypes.c_char_p, ctypes.c_int64)
    found.resolve.argtypes = [*text, *text, ctypes.c_int64, *text, ctypes.c_void_p]
    found.resolve.restype = ctypes.c_int64
    return cast("Callable[..., int]", found.resolve)


_RESOLVE = _compiled()
