"""URL patterns: a URL with its variable parts (numbers, ids, dates, parameter values) replaced by placeholders.

Pages of one pattern usually come from one template, so a pattern that keeps bringing the same content is a trap: an endless
calendar, a session id in every link, every combination of a shop's filters. `waves` limits patterns by their yield; a URL whose
form can only come from a loop of links is refused here (`endless`).
"""

from __future__ import annotations

import re

from sitelore.model.url import Url

DATED = "{date}"
FACETED = "{facets}"

_DIGITS = re.compile(r"\d+")
_TOKEN = re.compile(r"(?=[0-9a-f-]*\d)[0-9a-f]{8}[0-9a-f-]*$", re.IGNORECASE)
_YEAR_MONTH = re.compile(r"(?<=/)\d{4}/(?:0?[1-9]|1[0-2])(?:/\d{1,2})?(?=/|$)")
_ISO_DATE = re.compile(r"\d{4}-\d{2}(?:-\d{2})?")
_DATE_NAMES = frozenset(
    {"date", "day", "month", "year", "week", "cal", "calendar", "from", "to", "start", "end", "ym", "tribe-bar-date"}
)

_MIN_FACETS = 3
_MAX_SEGMENTS = 40
_MAX_REPEATS = 3
_MAX_PARAMETERS = 24
_MAX_LENGTH = 2000


def url_pattern(url: Url) -> str:
    """`/news/2026/05?page=7&sort=a` → `/news/{date}?page&sort`: one string for all URLs of a template."""
    path, _, query = url.target.partition("?")
    if _DIGITS.search(path) is not None:
        path = _DIGITS.sub("#", "/".join("#" if _TOKEN.match(s) else s for s in _dateless(path).split("/")))
    if not query:
        return f"{url.authority}{path}"
    names = {_DIGITS.sub("#", part.partition("=")[0].lower()) for part in query.split("&")}
    if names & _DATE_NAMES or _ISO_DATE.search(query):
        return f"{url.authority}{path}?{DATED}"
    if query.count("&") + 1 >= _MIN_FACETS:
        return f"{url.authority}{path}?{FACETED}"
    return f"{url.authority}{path}?{'&'.join(sorted(names))}"


def _dateless(path: str) -> str:
    return _ISO_DATE.sub(DATED, _YEAR_MONTH.sub(DATED, path))


def endless(url: Url) -> str | None:
    """The reason why this URL can only come from an endless loop of links, or None."""
    if len(url) > _MAX_LENGTH:
        return f"the URL is longer than {_MAX_LENGTH} characters"
    path, _, query = url.target.partition("?")
    segments = [s for s in path.split("/") if s]
    if len(segments) > _MAX_SEGMENTS:
        return f"the path has more than {_MAX_SEGMENTS} segments"
    if len(segments) > _MAX_REPEATS:
        for segment in set(segments):
            if segments.count(segment) > _MAX_REPEATS and not segment.isdigit():
                return f"the path repeats “{segment}” more than {_MAX_REPEATS} times"
    if query.count("&") >= _MAX_PARAMETERS:
        return f"the query has more than {_MAX_PARAMETERS} parameters"
    return None
