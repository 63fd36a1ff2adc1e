"""Does a page that was served with status 200 read like "there is nothing here"?

Two answers: `looks_missing`, a guess from the words alone, and `fingerprint`, a sketch of the text that lets somebody
with a second page (a probe of a path that cannot exist) know for sure. Neither decides anything.
"""

from __future__ import annotations

import re
from itertools import pairwise
from zlib import crc32

import re2

from sitelore.extract.missing_phrases import FILLER, PHRASES
from sitelore.model.sketch import SKETCH_SIZE
from sitelore.model.url import Url

_SHORT_WORDS = 150
_LONG_WORDS = 500
_SKETCHED_WORDS = 160
_BODY_CHARS = 600

_MISSING = re2.compile("(?i)" + "|".join(f"(?:{phrase})" for phrase in PHRASES))
_MAYBE = re2.compile("|".join(["(?i)40[34]|410", *(f"(?:{phrase})" for phrase in PHRASES)]).encode())
_STATUS = re.compile(r"(?<![\d.,$€£-])(?:40[34]|410)(?![\d.,%]|-\d)")
_FILLER = re.compile("|".join(FILLER), re.IGNORECASE)
_TITLE_SPLIT = re.compile(r"\s+[|\u2013\u2014·•»:-]\s+|\s*[|»]\s*")
_WORD = re.compile(r"[^\W\d_]+")
_LETTERS_ONLY = bytes(byte if byte >= 0x80 or chr(byte).isalpha() else 0x20 for byte in range(256))


def looks_missing(title: str, h1: str, text: str, word_count: int) -> float:
    """How much the page reads like an error page, 0 to 1. Long pages that speak of errors are articles about them."""
    headlines = f"{title}\n{h1}"
    said = 0.0
    # One look at bytes, where most pages are done with: of text, re2 first makes bytes and then a map back.
    if _MAYBE.search(headlines.encode("utf-8", "replace")) is not None and _says(headlines):
        said = max(_headline(title), _headline(h1))
    start = text[:_BODY_CHARS]
    if said < 0.9 and word_count <= _SHORT_WORDS and start:
        said = max(said, _body(start, word_count))
    if said <= 0.0:
        return 0.0
    if word_count <= _SHORT_WORDS:
        return said
    length = min(1.0, (word_count - _SHORT_WORDS) / (_LONG_WORDS - _SHORT_WORDS))
    return round(said * (1.0 - 0.75 * length), 3)


def _says(headlines: str) -> bool:
    return _MISSING.search(headlines) is not None or _STATUS.search(headlines) is not None


def _headline(line: str) -> float:
    """A title or heading that says nothing but "not found" weighs most; one that mentions it among other words, less."""
    if not line or len(line) > 300:
        return 0.0
    best = 0.0
    for part in (line, *_TITLE_SPLIT.split(line)):
        phrase, status = _MISSING.search(part), _STATUS.search(part)
        if phrase is None and status is None:
            continue
        rest = part
        for found in (phrase, status):
            if found is not None:
                rest = rest.replace(found[0], " ")
        others = len(_WORD.findall(_FILLER.sub(" ", rest)))
        if others == 0:
            return 0.95
        best = max(best, 0.6 if phrase is not None and others <= 2 else 0.4 if phrase is not None else 0.2)
    return best


def _body(start: str, word_count: int) -> float:
    phrase, status = _MISSING.search(start), _STATUS.search(start)
    if phrase is None:
        return 0.35 if status is not None and word_count <= 30 else 0.0
    early = phrase.start() < 200
    score = 0.75 if early and word_count <= 60 else 0.5 if early else 0.35
    return min(0.9, score + 0.15) if status is not None else score


def fingerprint(title: str, text: str, url: Url) -> tuple[int, ...]:
    """A sketch of the first words, without digits and without the words of the page's own path (error pages repeat them).

    Made of every page that is short or looks missing, so a probe needs no asking for it.
    """
    own = frozenset(_plain_words(url.path))
    kept = [word for word in _plain_words(f"{title} {text[: _SKETCHED_WORDS * 8]}")[:_SKETCHED_WORDS] if word not in own]
    if len(kept) < 2:
        return tuple(map(crc32, kept))
    return tuple(sorted({crc32(b, crc32(a)) for a, b in pairwise(kept)})[:SKETCH_SIZE])


def _plain_words(text: str) -> list[bytes]:
    return text.lower().encode("utf-8", "replace").translate(_LETTERS_ONLY).split()
