"""How a declared API loader's addresses are made and known again, and how its answers are looked into. Pure.

A path names values in JSON: `data.posts`, `items.0.title`; `*` stands for every element of a list.
A template is an address with paths in braces: `/api/posts/{id}`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from sitelore.model.response import Response
from sitelore.model.settings import Loader, Overrides
from sitelore.model.url import Url

MAX_URL_CHARS = 8000
_MAX_VALUES = 10_000
_NEXT = re.compile(r"<([^<>]{1,8000})>\s*;[^,]*\brel\s*=\s*\"?next\b", re.IGNORECASE)
_MAX_ERROR_CHARS = 200
_HOLE = re.compile(r"\{([^{}]+)\}")


def values(data: Any, path: str) -> list[Any]:
    """Every value that a path leads to; an empty path is the data itself."""
    found = [data]
    for step in path.split(".") if path else ():
        found = [inner for one in found for inner in _steps(one, step)][:_MAX_VALUES]
    return found


def _steps(data: Any, step: str) -> Iterable[Any]:
    if step == "*":
        return data if isinstance(data, list) else data.values() if isinstance(data, dict) else ()
    if isinstance(data, dict):
        return (data[step],) if step in data else ()
    if isinstance(data, list) and step.isdecimal() and len(step) < 6 and int(step) < len(data):
        return (data[int(step)],)
    return ()


def text_at(data: Any, path: str) -> str:
    """The first value at a path as text; empty when there is none, or it is no plain value."""
    for value in values(data, path) if path else ():
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return ""


def records_in(data: Any, loader: Loader) -> list[Any]:
    """The records of an answer: what the path leads to, or the elements of the one list that it leads to."""
    found = values(data, loader.records)
    return found[0][:_MAX_VALUES] if len(found) == 1 and isinstance(found[0], list) else found


def filled(template: str, record: Any, base: str) -> Url | None:
    """A template's address for one record; None when the record lacks a part of it."""
    parts = {hole: text_at(record, hole) for hole in _HOLE.findall(template)}
    if not all(parts.values()):
        return None
    # A template that is one hole alone is an address that the record holds.
    whole = _HOLE.fullmatch(template) is not None
    written = _HOLE.sub(lambda hole: parts[hole[1]] if whole else quote(parts[hole[1]], safe=""), template)
    return Url.parse(written, base)


def start_url(loader: Loader) -> Url | None:
    """Where a loader begins: its address, for GraphQL with the query in it."""
    if not loader.query:
        return Url.parse(loader.url)
    sent = {} if loader.persisted else {"query": loader.query}
    if loader.variables:
        sent["variables"] = loader.variables
    sent["extensions"] = json.dumps(
        {"persistedQuery": {"version": 1, "sha256Hash": query_hash(loader.query)}}, separators=(",", ":")
    )
    return Url.parse(f"{loader.url}{'&' if '?' in loader.url else '?'}{urlencode(sent, quote_via=quote)}")


def query_hash(query: str) -> str:
    """What a persisted query is known by."""
    return hashlib.sha256(query.encode()).hexdigest()


def next_url(url: Url, data: Any, loader: Loader) -> Url | None:
    """The address of the next part of a collection, if the answer names one."""
    if loader.more and not any(value is True for value in values(data, loader.more)):
        return None
    said = text_at(data, loader.next)
    if not said:
        return None
    if not loader.cursor:
        return Url.parse(said, str(url))
    parts = urlsplit(str(url))
    asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    if loader.query:
        known = json.loads(loader.variables) if loader.variables else {}
        asked["variables"] = json.dumps({**known, loader.cursor: said}, separators=(",", ":"))
    else:
        asked[loader.cursor] = said
    return Url.parse(urlunsplit(parts._replace(query=urlencode(asked, quote_via=quote))))


def next_part(response: Response, data: Any, loader: Loader) -> Url | None:
    """The next part of a collection, by its own word or by the `Link` header (RFC 8288)."""
    found = next_url(response.url, data, loader)
    if found is not None or loader.next:
        return found
    for header in response.header_all("link"):
        if (link := _NEXT.search(header)) is not None:
            return Url.parse(link[1], str(response.url))
    return None


def api_error(data: Any) -> str:
    """What a GraphQL answer complains of, when it brings no data."""
    errors = data.get("errors") if isinstance(data, dict) else None
    if not isinstance(errors, list) or not errors or data.get("data"):
        return ""
    return f"api_error: {text_at(errors[0], 'message') or 'the query was refused'}"[:_MAX_ERROR_CHARS]


def collection_loader(url: Url, overrides: tuple[Overrides, ...]) -> Loader | None:
    """The loader whose collection this address is a part of."""
    for own in overrides:
        for loader in own.loaders:
            if _is_collection(url, loader):
                return loader
    return None


def record_loader(url: Url, overrides: tuple[Overrides, ...]) -> Loader | None:
    """The loader of which this is the address of one record."""
    for own in overrides:
        for loader in own.loaders:
            if loader.record and (pattern := _record_pattern(loader)) is not None and pattern.fullmatch(str(url)):
                return loader
    return None


def is_loaded(url: Url, overrides: tuple[Overrides, ...]) -> bool:
    """Whether a declared loader speaks of this address."""
    return collection_loader(url, overrides) is not None or record_loader(url, overrides) is not None


def _is_collection(url: Url, loader: Loader) -> bool:
    start = Url.parse(loader.url)
    if start is None or (url.origin, url.path) != (start.origin, start.path):
        return False
    return not loader.query or query_hash(loader.query) in str(url)


@lru_cache(maxsize=256)
def _record_pattern(loader: Loader) -> re.Pattern[str] | None:
    if _HOLE.fullmatch(loader.record):
        return None
    marked = Url.parse(_HOLE.sub("--hole--", loader.record), loader.url)
    return None if marked is None else re.compile(re.escape(str(marked)).replace(re.escape("--hole--"), "[^/?#&]+"))
