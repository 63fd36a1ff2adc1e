"""Reads the operators of a query: `"quoted phrases"`, `prefix*`, `site:`, `path:`, `lang:`, `after:` and `before:`.

What is not an operator stays a word: `std::vector`, `http://…`, `after:noon` and `*` alone are searched as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from sitelore.model.search import SearchQuery
from sitelore.times import parse_time

MAX_OPERATORS = 16
_PHRASE = re.compile(r'(?<!\S)"([^"]{1,400})"(?!\w)')
_FILTER = re.compile(r'(?<!\S)(site|path|lang|after|before):(?:"([^"\s]+)"|([^\s"]+))', re.IGNORECASE)
_PREFIX = re.compile(r"(?<!\S)([^\W_][\w.-]{1,40})\*(?!\S)")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query with its operators taken out of the text."""

    query: SearchQuery
    """The text without operators (phrases stay as words), and the filters."""
    phrases: tuple[str, ...] = ()
    """Texts whose words a result must contain next to each other."""
    prefixes: tuple[str, ...] = ()
    """Beginnings of words."""


def parse_query(query: SearchQuery) -> ParsedQuery:
    """Read the operators in the text of a query. A filter adds to those of the query."""
    text = query.text
    for match in list(_FILTER.finditer(text))[:MAX_OPERATORS]:
        filtered = _with_filter(query, match[1].lower(), match[2] or match[3])
        if filtered is not None:
            query, text = filtered, text.replace(match[0], " ", 1)
    phrases = tuple(_PHRASE.findall(text)[:MAX_OPERATORS])
    prefixes = tuple(_PREFIX.findall(text)[:MAX_OPERATORS])
    text = _PREFIX.sub(" ", _PHRASE.sub(r" \1 ", text))
    return ParsedQuery(replace(query, text=text), phrases, prefixes)


def _with_filter(query: SearchQuery, name: str, value: str) -> SearchQuery | None:
    """The query with one more filter; None where the value is none."""
    if name == "site":
        return replace(query, sites=(*query.sites, value))
    if name == "lang":
        return replace(query, langs=(*query.langs, value))
    if name == "path":
        return replace(query, path=value if value.startswith("/") else f"/{value}")
    try:
        date = parse_time(value)
    except ValueError:
        return None
    return replace(query, since=date) if name == "after" else replace(query, until=date)
