"""Resolves the plain hrefs of a page, many at once, by compiled code (`native/links.c`); the URL parser resolves the others."""

from __future__ import annotations

import ctypes

from sitelore.extract.native.library import library
from sitelore.model.url import KeyRules

_NATIVE = library()
_BATCH = 1000  # hrefs at once: the output buffer is sized for the longest answers
_ROOM_EACH = 8
_LONGEST = 4096  # bytes of an href that is resolved here: a longer parameter name cannot be in it


class Mark:
    """Answers that are not URLs. All of them sort before any URL."""

    NOWHERE = "\1"
    """Not a page: a mail address, a script, an empty href."""
    HERE = "\2"
    """A fragment of the page itself."""
    PARSE = "\3"
    """Left to the URL parser."""
    OF_PAGE = "\4"
    """Prefix of a URL that was resolved against the path of the page."""
    LAST = "\5"


class PlainAddresses:
    """Resolves hrefs that every URL parser reads alike: most links of most pages."""

    __slots__ = ("_dropped",)

    def __init__(self, rules: KeyRules) -> None:
        names = [name.encode("utf-8", "surrogatepass") for name in rules.dropped]
        self._dropped = b"".join([len(name).to_bytes(2, "little") + name for name in names if len(name) <= _LONGEST])

    def keys(self, hrefs: list[str], base: str, origin: str) -> list[str]:
        """For each href its URL on the page `base`, whose origin is `origin`, or a `Mark`."""
        page, path = base.encode("utf-8", "surrogatepass"), len(origin)
        if len(hrefs) <= _BATCH:
            return self._some(hrefs, page, path)
        return [key for at in range(0, len(hrefs), _BATCH) for key in self._some(hrefs[at : at + _BATCH], page, path)]

    def _some(self, hrefs: list[str], page: bytes, path: int) -> list[str]:
        try:
            joined, dropped = "\0".join(hrefs).encode(), self._dropped
        except UnicodeEncodeError:
            return [Mark.PARSE] * len(hrefs)  # a lone surrogate
        if not page.isascii() or joined.count(0) != len(hrefs) - 1:
            return [Mark.PARSE] * len(hrefs)
        out = ctypes.create_string_buffer(2 * len(joined) + len(hrefs) * (len(page) + _ROOM_EACH))
        size = _NATIVE.links_resolve(joined, len(joined), page, len(page), path, dropped, len(dropped), out)
        return out.raw[:size].decode().split("\0")
