"""API loaders: collections of a site's JSON or GraphQL API, declared in a `--domain-config` file and read like pages.

Builds and recognises their URLs, and reads values from their JSON.

A path names values in JSON: `data.posts`, `items.0.title`; `*` matches every element of a list.
A template is a URL with paths in braces: `/api/posts/{id}`.
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
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def values(data: Any, path: str) -> list[Any]:
    """All values at a path; an empty path is the data itself."""
    matches = [data]
    for step in path.split(".") if path else ():
        matches = [child for match in matches for child in _children(match, step)][:_MAX_VALUES]
    return matches


def _children(data: Any, step: str) -> Iterable[Any]:
    if step == "*":
        return data if isinstance(data, list) else data.values() if isinstance(data, dict) else ()
    if isinstance(data, dict):
        return (data[step],) if step in data else ()
    if isinstance(data, list) and step.isdecimal() and len(step) < 6 and int(step) < len(data):
        return (data[int(step)],)
    return ()


def text_at(data: Any, path: str) -> str:
    """The first string or number at a path as text; empty when there is none."""
    for value in values(data, path) if path else ():
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return ""


def records_in(data: Any, loader: Loader) -> list[Any]:
    """The records of a response: the values at the path, or the elements if the path leads to one list."""
    matches = values(data, loader.records)
    return matches[0][:_MAX_VALUES] if len(matches) == 1 and isinstance(matches[0], list) else matches


def filled(template: str, record: Any, base: str) -> Url | None:
    """The URL of a template for one record; None when the record lacks a value."""
    parts = {path: text_at(record, path) for path in _PLACEHOLDER.findall(template)}
    if not all(parts.values()):
        return None
    # A template that is a single placeholder is replaced by a URL in the record, which is not escaped.
    is_url = _PLACEHOLDER.fullmatch(template) is not None
    url = _PLACEHOLDER.sub(lambda match: parts[match[1]] if is_url else quote(parts[match[1]], safe=""), template)
    return Url.parse(url, base)


def start_url(loader: Loader) -> Url | None:
    """The first URL of a loader; for GraphQL with the query in it."""
    if not loader.query:
        return Url.parse(loader.url)
    parameters = {} if loader.persisted else {"query": loader.query}
    if loader.variables:
        parameters["variables"] = loader.variables
    parameters["extensions"] = json.dumps(
        {"persistedQuery": {"version": 1, "sha256Hash": query_hash(loader.query)}}, separators=(",", ":")
    )
    return Url.parse(f"{loader.url}{'&' if '?' in loader.url else '?'}{urlencode(parameters, quote_via=quote)}")


def query_hash(query: str) -> str:
    """The id of a persisted query."""
    return hashlib.sha256(query.encode()).hexdigest()


def next_url(url: Url, data: Any, loader: Loader) -> Url | None:
    """The URL of the next page of a collection, if the response names one."""
    if loader.more and not any(value is True for value in values(data, loader.more)):
        return None
    following = text_at(data, loader.next)
    if not following:
        return None
    if not loader.cursor:
        return Url.parse(following, str(url))
    parts = urlsplit(str(url))
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    if loader.query:
        variables = json.loads(loader.variables) if loader.variables else {}
        parameters["variables"] = json.dumps({**variables, loader.cursor: following}, separators=(",", ":"))
    else:
        parameters[loader.cursor] = following
    return Url.parse(urlunsplit(parts._replace(query=urlencode(parameters, quote_via=quote))))


def next_part(response: Response, data: Any, loader: Loader) -> Url | None:
    """The next page of a collection, by the loader's path or by the `Link` header (RFC 8288)."""
    url = next_url(response.url, data, loader)
    if url is not None or loader.next:
        return url
    for header in response.header_all("link"):
        if (link := _NEXT.search(header)) is not None:
            return Url.parse(link[1], str(response.url))
    return None


def api_error(data: Any) -> str:
    """The error of a GraphQL response without data; empty when there is none."""
    errors = data.get("errors") if isinstance(data, dict) else None
    if not isinstance(errors, list) or not errors or data.get("data"):
        return ""
    return f"api_error: {text_at(errors[0], 'message') or 'the query was refused'}"[:_MAX_ERROR_CHARS]


def collection_loader(url: Url, overrides: tuple[Overrides, ...]) -> Loader | None:
    """The loader whose collection this URL is a page of."""
    for override in overrides:
        for loader in override.loaders:
            if _is_collection(url, loader):
                return loader
    return None


def record_loader(url: Url, overrides: tuple[Overrides, ...]) -> Loader | None:
    """The loader whose record this URL is."""
    for override in overrides:
        for loader in override.loaders:
            if loader.record and (pattern := _record_pattern(loader)) is not None and pattern.fullmatch(str(url)):
                return loader
    return None


def is_loaded(url: Url, overrides: tuple[Overrides, ...]) -> bool:
    """Whether a declared loader covers this URL."""
    return collection_loader(url, overrides) is not None or record_loader(url, overrides) is not None


def _is_collection(url: Url, loader: Loader) -> bool:
    start = Url.parse(loader.url)
    if start is None or (url.origin, url.path) != (start.origin, start.path):
        return False
    return not loader.query or query_hash(loader.query) in str(url)


@lru_cache(maxsize=256)
def _record_pattern(loader: Loader) -> re.Pattern[str] | None:
    if _PLACEHOLDER.fullmatch(loader.record):
        return None
    marked = Url.parse(_PLACEHOLDER.sub("--hole--", loader.record), loader.url)
    return None if marked is None else re.compile(re.escape(str(marked)).replace(re.escape("--hole--"), "[^/?#&]+"))
