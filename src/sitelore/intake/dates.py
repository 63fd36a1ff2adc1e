"""Parses dates as sitemaps and feeds write them, into Unix time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

# W3C date and time formats (https://www.w3.org/TR/NOTE-datetime), a little forgiving: a blank for the T, a zone without a
# colon, one-digit months, a comma before the fraction.
_W3C = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[Tt ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([Zz]|[+-]\d{2}:?\d{2})?)?)?)?",
    re.ASCII,
)
_UTC = {"Z", "z", "+00:00", "+0000"}
_MAX_CHARS = 64


def read_date(text: str) -> float | None:
    """The Unix time of a `lastmod`, `updated` or `pubDate`; None when it cannot be parsed. UTC unless a zone is given."""
    text = text.strip()
    if not text or len(text) > _MAX_CHARS:
        return None
    match = _W3C.fullmatch(text)
    return _mail_date(text) if match is None else _w3c_date(match)


def _w3c_date(match: re.Match[str]) -> float | None:
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=_zone(zone)
        )
    except ValueError:
        return None
    return moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0)


def _zone(text: str | None) -> timezone:
    if text is None or text in _UTC:
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _mail_date(text: str) -> float | None:
    """RFC 822 dates as RSS has them, including two-digit years."""
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
