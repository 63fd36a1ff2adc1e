"""Scans the XML of sitemaps and feeds, which is often malformed: tags and text are found where a parser would give up.

It deliberately is not a conforming parser. libxml2 in recovery mode turns `?a=1&b=2` into `?a=1=2` and `<image:loc>` without a
declared prefix into `<loc>`, stops at the first stray `<`, and expands internal entities for a SAX target even when that is
disabled: wrong URLs, and an attack surface. This scanner knows tags, text, comments and CDATA, replaces the five predefined
entities and character references, and ignores all other entities and DTDs, so that there is nothing to expand or to fetch.

Every token ends at the next `<` at the latest, so scanning is linear; anything that cannot be a token is text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

# No possessive groups: before Python 3.11.4 they match what they should not.
_TOKEN = re.compile(r"""([^<]*+)<(/?)([^\s<>/="'!?]++)([^<>"']*+(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+)*)>""")
_LOOSE_TAG = re.compile(r"""<(/?)([^\s<>/="'!?]++)([^<>]*+)>""")
_ATTRIBUTE = re.compile(r"""([^\s=/"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""")
_REFERENCE = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos));")
_DECLARATION_END = re.compile(r"[>\[<]")
_SECTIONS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
# Longer than any tag or URL: beyond it, an unfinished token is treated as text.
_MAX_TOKEN_CHARS = 64 * 1024
# A document with more stray `<` and declarations than this is made to cost time.
_MAX_STRAYS = 10_000


class Listener(Protocol):
    """Receives the parts of the document."""

    def start(self, prefix: str, name: str, attributes: str) -> None:
        """A tag opens; `prefix` may be empty, `name` is lower case, `attributes` is the source text."""
        ...

    def end(self, prefix: str, name: str) -> None:
        """A tag closes; an empty element closes at once."""
        ...

    def text(self, text: str) -> None:
        """Text before a tag, with references replaced; whitespace between two tags is not reported."""
        ...


class Scanner:
    """Scans text in pieces of any size and reports its tags and text to a listener.

    `problem` names the first thing that was not XML. `declares_entity` is set when the document declares an entity anywhere: it
    must then be rejected. Once `is_given_up` is set, nothing more is reported.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._rest = ""
        self._skip_to = ""
        self.problem = ""
        self.declares_entity = False
        self.is_given_up = False
        self._strays = 0

    def feed(self, piece: str) -> None:
        """Scan all complete tokens; the rest is kept for the next piece."""
        text = self._rest + piece if self._rest else piece
        at = 0
        enough = not self.is_given_up
        listener = self._listener
        while enough:
            token = None if self._skip_to else _TOKEN.match(text, at)
            if token is None:
                at, enough = self._unusual(text, at)
                continue
            between, closing, name, attributes = token.groups()
            at = token.end()
            if between and not between.isspace():
                listener.text(unescape(between))
            prefix, local = _split(name)
            if closing:
                listener.end(prefix, local)
            else:
                listener.start(prefix, local, attributes)
                if attributes.endswith("/"):
                    listener.end(prefix, local)
        self._rest = text[at:]

    def close(self) -> None:
        """End the document. An unfinished token is dropped, because a truncated URL is not a URL."""
        if self._rest.strip() or self._skip_to:
            self._report("it ends in the middle")
        self._rest = ""

    def _unusual(self, text: str, at: int) -> tuple[int, bool]:
        """Handle anything but a unescape tag. Returns where to continue, and whether more text is needed before."""
        if self._skip_to:
            return self._skip(text, at)
        mark = text.find("<", at)
        if mark < 0:
            if len(text) - at < _MAX_TOKEN_CHARS:
                return at, False
            self._listener.text(text[at:])
            return len(text), False
        between = text[at:mark]
        if between and not between.isspace():
            self._listener.text(unescape(between))
        if mark + 9 > len(text) or text[mark + 1] in "!?":
            return self._declaration(text, mark)
        return self._not_a_tag(text, mark)

    def _declaration(self, text: str, mark: int) -> tuple[int, bool]:
        """Handle declarations, comments, CDATA and processing instructions."""
        for opening, closing in _SECTIONS:
            if text.startswith(opening, mark):
                self._skip_to = closing
                return mark + len(opening), True
        if text[mark : mark + 8].upper() == "<!ENTITY":
            self.declares_entity = self.is_given_up = True
            return len(text), False
        if len(text) - mark < 9:
            return mark, False
        self._stray()
        # Of a DOCTYPE only the opening is skipped: the declarations in its brackets are handled one by one.
        end = _DECLARATION_END.search(text, mark + 2)
        if end is None:
            return (mark if len(text) - mark < _MAX_TOKEN_CHARS else len(text)), False
        return (end.start() if end[0] == "<" else end.end()), not self.is_given_up

    def _not_a_tag(self, text: str, mark: int) -> tuple[int, bool]:
        if text.find("<", mark + 1) < 0 and len(text) - mark < _MAX_TOKEN_CHARS:
            return mark, False
        loose = _LOOSE_TAG.match(text, mark)
        if loose is not None:
            self._report("a tag has a stray quote")
            closing, name, attributes = loose.groups()
            if closing:
                self._listener.end(*_split(name))
            else:
                self._listener.start(*_split(name), attributes)
            return loose.end(), True
        self._report("a < starts no tag")
        self._stray()
        self._listener.text("<")
        return mark + 1, not self.is_given_up

    def _skip(self, text: str, at: int) -> tuple[int, bool]:
        """Inside a comment, an instruction or CDATA: skip it, or report it as text."""
        end = text.find(self._skip_to, at)
        stop = end if end >= 0 else max(at, len(text) - len(self._skip_to) + 1)
        if self._skip_to == "]]>" and stop > at:
            self._listener.text(text[at:stop])
        if end < 0:
            return stop, False
        stop += len(self._skip_to)
        self._skip_to = ""
        return stop, True

    def _stray(self) -> None:
        self._strays += 1
        self.is_given_up = self._strays > _MAX_STRAYS

    def _report(self, problem: str) -> None:
        self.problem = self.problem or problem


@lru_cache(maxsize=256)
def _split(name: str) -> tuple[str, str]:
    prefix, _, local = name.lower().rpartition(":")
    return prefix, local


def unescape(text: str) -> str:
    """Text with character references and the five predefined entities replaced; any other `&` is literal."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return _ENTITIES[name]
    point = int(decimal) if decimal else int(hexadecimal, 16)
    is_character = 0 < point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF
    return chr(point) if is_character else ""


def parse_attributes(text: str) -> dict[str, str]:
    """The attributes of a tag, names in lower case, the first of each name."""
    attributes: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        attributes.setdefault(name.lower(), unescape(double or single or bare))
    return attributes
