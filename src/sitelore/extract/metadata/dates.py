"""Parses the dates of pages into ISO 8601, as precise as they are: no day, time or zone is ever added.

Ambiguous dates (`05/06/2024`) are not parsed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_MAX_CHARS = 64
_YEARS = range(1900, 2100)
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar janvier enero gennaio janeiro januari",
            "february feb februar février febrero febbraio fevereiro februari",
            "march mar märz mars marzo março maart",
            "april apr avril abril aprile",
            "may mai mayo maggio maio mei",
            "june jun juni juin junio giugno junho",
            "july jul juli juillet julio luglio julho",
            "august aug août agosto augustus",
            "september sep sept septembre septiembre settembre setembro",
            "october oct oktober okt octobre octubre ottobre outubro",
            "november nov novembre noviembre novembro",
            "december dec dezember dez décembre diciembre dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
_CLOCK = r"(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?\s*([ap]\.?m\.?)?\s*(z|utc|gmt|[+-]\d\d:?(?:\d\d)?)?"
_NUMERIC = re.compile(
    rf"(\d{{4}})([-/.])(\d{{1,2}})(?:\2(\d{{1,2}})(?:(?:\s*t\s*|\s+(?:at\s+)?|,\s*){_CLOCK})?)?", re.IGNORECASE
)
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:t?(\d\d)(\d\d)(\d\d)?(z|[+-]\d\d:?\d\d)?)?", re.IGNORECASE)
_NAMED_DAY = r"(?:[^\W\d_]{2,12}\.?,?\s+)?"
_TAIL = rf"(?:(?:,?\s+(?:at\s+)?|\s*[-\u2013|]\s*){_CLOCK})?"
_DAY_FIRST = re.compile(
    rf"{_NAMED_DAY}(\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s+(?:de\s+|of\s+)?([^\W\d_]{{3,10}})\.?,?\s+(?:de\s+)?(\d{{4}}){_TAIL}",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"{_NAMED_DAY}([^\W\d_]{{3,10}})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}}){_TAIL}", re.IGNORECASE
)
_MONTH_ALONE = re.compile(r"([^\W\d_]{3,10})\.?,?\s+(\d{4})")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_UNIX = re.compile(r"(1\d{9})(\d{3})?")
_IN_PATH = re.compile(r"/((?:19|20)\d\d)([/-])(0[1-9]|1[0-2])(?:\2(0[1-9]|[12]\d|3[01])(?=[/_-]|$))?(?=[/_-])")


def iso_date(text: str) -> str:
    """A date in ISO 8601; empty when the text is no date, or an ambiguous one."""
    text = " ".join(text.split())
    return _parse(text) if 4 < len(text) <= _MAX_CHARS else ""  # short texts alone are parsed and cached


@lru_cache(maxsize=1024)
def _parse(text: str) -> str:
    if match := _NUMERIC.fullmatch(text):
        year, _, month, day, *clock = match.groups()
        return _iso(year, month, day, *clock)
    if match := _COMPACT.fullmatch(text):
        year, month, day, hour, minute, second, zone = match.groups()
        return _iso(year, month, day, hour, minute, second, None, zone)
    if match := _UNIX.fullmatch(text):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(match[1]))
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return _in_words(text) or _year_last(text)


def _in_words(text: str) -> str:
    if match := _DAY_FIRST.fullmatch(text):
        day, month, year, *clock = match.groups()
    elif match := _MONTH_FIRST.fullmatch(text):
        month, day, year, *clock = match.groups()
    elif match := _MONTH_ALONE.fullmatch(text):
        month, day, year, clock = match[1], None, match[2], []
    else:
        return ""
    number = _MONTHS.get(month.lower())
    return _iso(year, str(number), day, *clock) if number else ""


def _year_last(text: str) -> str:
    """Parse `25/12/2024`. `05/06/2024` is ambiguous; with dots the day comes first."""
    match = _YEAR_LAST.fullmatch(text)
    if match is None:
        return ""
    first, separator, second, year = match.groups()
    if separator == "." or int(first) > 12 or first == second:
        return _iso(year, second, first)
    return _iso(year, first, second) if int(second) > 12 else ""


def _iso(
    year: str,
    month: str,
    day: str | None,
    hour: str | None = None,
    minute: str | None = None,
    second: str | None = None,
    meridiem: str | None = None,
    zone: str | None = None,
) -> str:
    """The date made of these parts; empty for one that does not exist."""
    hours = _hours(hour, meridiem) if hour is not None else 0
    try:
        moment = datetime(int(year), int(month), int(day or 1), hours, int(minute or 0), int(second or 0))  # noqa: DTZ001 a zone is added where one was written
    except ValueError:
        return ""
    if moment.year not in _YEARS:
        return ""
    if day is None:
        return moment.strftime("%Y-%m")
    if hour is None:
        return moment.strftime("%Y-%m-%d")
    offset = _offset(zone)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + offset if offset is not None else ""


def _hours(hour: str, meridiem: str | None) -> int:
    hours = int(hour)
    if meridiem is None:
        return hours
    if not 1 <= hours <= 12:
        return 24  # no such hour, so that the date is refused
    return hours % 12 + (12 if meridiem[0] in "pP" else 0)


def _offset(zone: str | None) -> str | None:
    if zone is None:
        return ""
    if zone[0] not in "+-":
        return "Z"
    digits = zone[1:].replace(":", "").ljust(4, "0")
    if int(digits[:2]) > 15 or int(digits[2:]) > 59:
        return None
    return "Z" if digits == "0000" else f"{zone[0]}{digits[:2]}:{digits[2:]}"


def date_in_path(path: str) -> str:
    """The date in a path: `/2024/05/06/title`, `/2024/05/title`, `/blog/2024-05-06-title`."""
    match = _IN_PATH.search(path)
    if match is None or not path[match.end() :].strip("/_-"):
        return ""  # the path of an archive, not of one page in it
    return _iso(match[1], match[3], match[4])
