"""One loader of a domain config: what was written becomes a `Loader`, or a sentence that says what is wrong with it."""

from __future__ import annotations

import json
import re
from typing import Any

from sitelore.intake.graphql_limits import graphql_problem
from sitelore.model.api_loader import MAX_URL_CHARS, start_url
from sitelore.model.settings import Loader
from sitelore.model.url import Url

LOADER_KEYS = (
    "url", "records", "record", "page", "title", "text", "updated", "published", "author", "lang", "next", "more", "cursor",
    "query", "variables", "persisted",
)  # fmt: skip
_PATHS = ("records", "title", "updated", "published", "author", "lang", "next", "more", "cursor")
_MAX_CHARS = 2000
_PATH = re.compile(r"[^\s.{}]+(?:\.[^\s.{}]+)*")
_HOLES = re.compile(r"[^{}]*(?:\{[^\s.{}]+(?:\.[^\s.{}]+)*\}[^{}]*)+")


def loader_of(data: dict[str, Any], domain: str, *, own: bool) -> Loader:
    """The loader that was written; raises ValueError with the sentence that says what is wrong."""
    url = _text(data, "url")
    if url.startswith("/"):
        url = f"https://{domain}{url}"
    if Url.parse(url) is None:
        raise ValueError("url must be an absolute http(s) URL, or a path of the domain")
    _check_paths(data)
    said = {key: _text(data, key) for key in (*_PATHS, "record", "page", "query") if key in data}
    loader = Loader(
        url=url, text=_paths(data), variables=_variables(data), persisted=_flag(data, "persisted"), **{"title": "title", **said}
    )
    if not loader.text:
        raise ValueError("text must be a list of paths, of what is to be read of a record")
    problem = graphql_problem(loader.query, own=own) if loader.query else ""
    if problem:
        raise ValueError(f"query: {problem}")
    start = start_url(loader)
    if start is None or len(str(start)) > MAX_URL_CHARS:
        raise ValueError(
            f"the address with the query in it is longer than {MAX_URL_CHARS} characters; let the server keep the query"
        )
    return loader


def _check_paths(data: dict[str, Any]) -> None:
    for key in ("record", "page"):
        if _text(data, key) and not _HOLES.fullmatch(_text(data, key)):
            raise ValueError(f"{key} must be a template with a path in braces, such as /api/posts/{{id}}")
    for key in _PATHS:
        if _text(data, key) and not _PATH.fullmatch(_text(data, key)):
            raise ValueError(f"{key} must be a path such as data.posts, with * for every element of a list")
    if re.fullmatch(r"\{[^{}]+\}", _text(data, "record")):
        raise ValueError("record must say what records' addresses have in common, such as /api/posts/{id}")


def _text(data: dict[str, Any], key: str) -> str:
    said = data.get(key, "")
    if not isinstance(said, str) or (len(said) > _MAX_CHARS and key != "query"):
        raise ValueError(f"{key} must be text")
    return said.strip()


def _paths(data: dict[str, Any]) -> tuple[str, ...]:
    said = data.get("text", [])
    listed = [said] if isinstance(said, str) else said
    if not isinstance(listed, list) or not all(isinstance(one, str) and _PATH.fullmatch(one) for one in listed):
        raise ValueError("text must be a path, or a list of paths, such as content.rendered")
    return tuple(listed)


def _variables(data: dict[str, Any]) -> str:
    said = data.get("variables")
    if said is None:
        return ""
    if not isinstance(said, dict):
        raise ValueError("variables must be an object")  # noqa: TRY004 one kind of error for all that can be wrong
    return json.dumps(said, separators=(",", ":"), sort_keys=True)


def _flag(data: dict[str, Any], key: str) -> bool:
    said = data.get(key, False)
    if not isinstance(said, bool):
        raise ValueError(f"{key} must be true or false")  # noqa: TRY004 one kind of error for all that can be wrong
    return said
