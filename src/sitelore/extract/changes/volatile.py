"""Which words of a line change by themselves: dates, times, counters, tokens. Everything else is what a page says.

Only lines that differ between two fetches of a page are ever looked at, so a pattern may cost something. What must never be
taken for noise (prices, shares, versions) stands first and is kept as it is.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sitelore.extract.changes.volatile_words import COUNTED, DAYS, MONTHS, SINCE

MARK = "\x00"
"""Stands where a volatile word was."""

_LONGEST = 4_000
_TOKEN_DIGITS = 2
_TOKEN_CHARS = 16


def _any(words: str) -> str:
    return "|".join(sorted(set(words.split()), key=lambda word: (-len(word), word)))


_NUMBER = r"\d{1,9}(?:[.,'\u00a0\u202f ]\d{3}){0,4}(?:[.,]\d{1,2})?(?:\s?(?:k|m|mio|tsd))?\b\+?"
_TIME = (
    r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?(?:am|pm|a\.m\.|p\.m\.|uhr))?"
    r"(?:\s?(?:utc|gmt|cet|cest|est|edt|cst|cdt|mst|mdt|pst|pdt|bst|z)\b)?(?:\s?[+-]\d{2}:?\d{2}\b)?"
)
_DATE = (
    rf"(?:(?:{_any(DAYS)})\.?,?\s+(?:the\s+|den\s+|le\s+|el\s+)?)?(?:"
    r"\d{4}-\d{2}-\d{2}(?:[t ]" + _TIME + r")?"
    r"|\d{4}/\d{1,2}/\d{1,2}|\d{4}\.\d{2}\.\d{2}|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{1,2}-\d{1,2}-\d{4}"
    r"|\d{1,2}\.\s?\d{1,2}\.\s?(?:19|20)\d{2}|\d{2}\.\d{2}\.\d{2}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er|\.|º)?\s+(?:of\s+|de\s+)?(?:{_any(MONTHS)})\b\.?(?:,?\s+(?:del?\s+)?\d{{4}})?"
    rf"|(?:{_any(MONTHS)})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?"
    rf"|(?:{_any(MONTHS)})\.?,?\s+(?:de\s+)?(?:19|20)\d{{2}}"
    r")(?!\d)"
)
_CURRENCY = r"[$€£¥₹₽₩₺₴₫฿]"
_CURRENCY_NAME = (
    r"(?:usd|eur|gbp|chf|jpy|cny|inr|aud|cad|nzd|sek|nok|dkk|pln|czk|huf|brl|rub|kr|zł|rs|dollars?|euros?|cents?|pounds?"
    r"|yen|円|元)"
)
_AMOUNT = r"\d{1,12}(?:[.,'\u00a0\u202f ]\d{1,3}){0,5}"
_UNIT = r"(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|d|h|m|s)"

_KEPT = (
    rf"{_CURRENCY}\s?{_AMOUNT}|\b{_CURRENCY_NAME}\.?\s?{_AMOUNT}|(?<![\w.,]){_AMOUNT}\s?(?:{_CURRENCY}|{_CURRENCY_NAME}\b)"
    r"|\b\d{1,6}(?:[.,]\d{1,6})?\s?%"
)
_VERSIONS = r"\bv?\d{1,6}(?:\.\d{1,6}){1,4}\b"
_VOLATILE = (
    r"(?:©|\(c\)|\bcopyright)\s*(?:\d{4}\s*[-\u2013]\s*)?\d{4}\b",
    rf"(?<![\w.]){_DATE}(?:,?\s+(?:at\s+|um\s+|à\s+|a las\s+|@\s*)?{_TIME})?",
    r"\d{2,4}年\d{1,2}月(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日",
    rf"\b(?:today|yesterday|heute|gestern|aujourd'hui|hier|hoy|ayer)(?:,|\s+(?:at|um|à|a las))?\s+{_TIME}",
    r"\b(?:updated|posted|published|modified|edited|refreshed|checked)(?:\s+on)?:?\s+(?:today|yesterday|now)\b",
    rf"\btoday is\s+(?:{_any(DAYS)})\b",
    rf"(?<![\w.:]){_TIME}(?![\w:])|(?<![\w.])\d{{1,2}}\s?(?:am|pm)\b|(?<![\w.])\d{{1,2}}[.h]\d{{2}}\s?(?:uhr|h)\b",
    rf"(?<!\w)(?:{'|'.join(SINCE)})(?![^\W\d_])",
    rf"(?:\b\d{{1,4}}\s?{_UNIT}\b[\s,:]*(?:and\s+)?){{1,4}}(?:left|remaining)\b",
    rf"\b(?:ends|starts|expires|closes|begins)\s+in\s+(?:\d{{1,4}}\s?{_UNIT}\b[\s,:]*(?:and\s+)?){{1,4}}",
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    (
        r"\b(?:csrf|xsrf|nonce|token|session|request|trace|ray|correlation|transaction|visitor|sid|guid|uuid|hash|etag)"
        r"(?:[\s_-]?(?:token|id|key|number|no))?\b\.?\s*(?:is\s+|[:=#]\s*)?(?=[\w-]*\d)[\w-]{4,}"
    ),
    r"\byour ip(?:\s+address)?(?:\s+is)?:?\s*[0-9a-f:.]{7,39}",
    r"\b(?:served|generated|rendered) by\s+[\w.-]*\d[\w.-]*",
    (
        r"\b(?:generated|rendered|loaded|served|executed|completed|processed|took|time)\b[^.\d]{0,30}\d{1,6}(?:[.,]\d{1,9})?\s?"
        r"(?:milliseconds?|seconds?|secs?|ms|µs|s)\b"
    ),
    r"\b\d{1,6}\s+(?:sql\s+|db\s+|database\s+)?queries\b",
    (
        rf"\b{_NUMBER}\s+(?:people|users|others|visitors|guests|members|customers|shoppers|readers|players)\s+(?:are\s+|is\s+)?"
        r"(?:currently\s+|now\s+|also\s+|right now\s+)?(?:online|viewing|watching|reading|browsing|looking|here|active)\b"
    ),
    (
        r"\b(?:viewed|read|seen|downloaded|shared|visited|played|watched|opened|accessed|liked)"
        rf"(?:\s+by\s+{_NUMBER}|\s*:\s*{_NUMBER}|\s+{_NUMBER}\s+times\b)"
    ),
    rf"\b(?:users|visitors|guests|members|people|players)\s+online\s*:?\s*{_NUMBER}|\bonline(?:\s+now)?\s*:\s*{_NUMBER}",
    rf"\b(?:visitor|page hits?|visit)\s+(?:number|no\.?|nr\.?|#)\s*:?\s*#?{_NUMBER}",
    rf"(?<![\w.,])(?:{_NUMBER})\s?(?:{_any(COUNTED)})\b|\d{{1,9}}\s?(?:次浏览|次阅读|条评论|回視聴|件のコメント|閲覧)",
    rf"\b(?:{_any(COUNTED)})\s*[:(#]\s*(?:{_NUMBER})\)?|\b(?:views|likes|comments|shares|downloads|hits|votes|replies)\s+(?:{_NUMBER})",
    rf"(?<![\w.,]){_NUMBER}\s+(?:stars|points|forks)\b(?<!\b\d stars)(?<!\b\d points)(?<!\b\d forks)",
    r"\bgood\s+(?:morning|afternoon|evening|night)\b|\bguten\s+(?:morgen|tag|abend)\b",
    r"(?<![\w.])1[5-9]\d{8}(?:\d{3})?(?![\w.])",
)
_PATTERN = re.compile(
    # Nothing begins within a word, and little begins with a sign: to say so first spares most places the long list.
    rf"(?<![A-Za-z0-9_])(?=[^\W_]|{_CURRENCY}|©|\(c)"
    f"(?:(?P<kept>{_KEPT})|(?P<volatile>{'|'.join(_VOLATILE)})|(?P<version>{_VERSIONS})|(?P<token>[A-Za-z0-9_+/-]{{12,}}={{0,2}}))",
    re.IGNORECASE,
)
_POSSIBLE = re.compile(r"[\d©]|\bago\b|\bnow\b|\btoday\b|\byesterday\b|\bgood\b|\bguten\b|\ba moment\b", re.IGNORECASE)
_AMOUNTS = re.compile(f"(?:{_KEPT}|{_VERSIONS}|\\d+[.,]\\d+)", re.IGNORECASE)
_INTEGER = re.compile(r"[^\w]*\d{1,3}(?:[.,']?\d{3})*[^\w]*")


def masked(line: str) -> tuple[str, list[str]]:
    """The line with a mark for every volatile word, and what stood there."""
    if len(line) > _LONGEST or _POSSIBLE.search(line) is None:
        return line, []
    found: list[str] = []

    def mark(match: re.Match[str]) -> str:
        text = match[0]
        if match["kept"] or match["version"] or (match["token"] and not _is_random(text)):
            return text
        found.append(text)
        return MARK

    return _PATTERN.sub(mark, line), found


def is_amount(word: str) -> bool:
    """Whether a word is a price, a share, a version or another exact figure: that it differs always means something."""
    return _AMOUNTS.search(word) is not None


def is_integer(word: str) -> bool:
    """Whether a word is a plain whole number, which may or may not be a counter."""
    return _INTEGER.fullmatch(word) is not None


def _is_random(text: str) -> bool:
    """Hex digits of both kinds, or letters and digits mixed as no person and no name would mix them."""
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in text if char.isalnum()]
    digits = kinds.count("d")
    if digits in {0, len(kinds)}:
        return False
    if all(char in "0123456789abcdefABCDEF" for char in text):
        return digits >= _TOKEN_DIGITS
    if len(kinds) < _TOKEN_CHARS:
        return False
    turns = sum(one != other for one, other in pairwise(kinds))
    if "u" in kinds and "l" in kinds:
        return turns >= 0.4 * len(kinds)
    return digits > _TOKEN_DIGITS and turns >= 0.3 * len(kinds)
