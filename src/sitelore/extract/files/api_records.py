"""Converts answers of a declared API to HTML: a page for one record, or a section for each record of a list."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from sitelore.extract import dom
from sitelore.extract.files.reader import FileContent, FileFacts, Unreadable, language_tag
from sitelore.extract.metadata import iso_date
from sitelore.model.api_loader import (
    api_error,
    collection_loader,
    filled,
    next_part,
    record_loader,
    records_in,
    text_at,
    values,
)
from sitelore.model.response import Response
from sitelore.model.settings import Loader, Overrides

_MARKUP = re.compile(
    r"</?(?:p|br|div|h[1-6]|ul|ol|li|a|strong|b|em|i|table|img|pre|code|blockquote|span|section)[\s/>]", re.IGNORECASE
)
_MAX_CHARS = 8_000_000


def records_as_html(source: str, response: Response, overrides: tuple[Overrides, ...]) -> FileContent:
    """The records in an answer, as the API's declaration describes them. Raises `Unreadable` for an answer of another shape."""
    try:
        data = json.loads(source)
    except (ValueError, RecursionError):
        raise Unreadable("the answer is not JSON") from None
    if problem := api_error(data):
        raise Unreadable(problem)
    loader = record_loader(response.url, overrides)
    if loader is not None:
        return FileContent(_record(data, loader, response, level=1), _facts(data, loader))
    loader = collection_loader(response.url, overrides)
    assert loader is not None  # `page` calls this for declared APIs alone
    parts: list[str] = []
    size = 0
    for record in records_in(data, loader):
        parts.append(_record(record, loader, response, level=2))
        size += len(parts[-1])
        if size > _MAX_CHARS:
            break
    following = next_part(response, data, loader) if parts else None
    links = (str(following),) if following is not None else ()
    return FileContent("\n".join(parts), FileFacts(title=response.url.path.strip("/") or response.url.host), links)


def _record(record: Any, loader: Loader, response: Response, level: int) -> str:
    title = " ".join(_plain(text_at(record, loader.title)).split())
    page = filled(loader.page, record, str(response.url)) if loader.page else None
    head = f"<h{level}>{_link(str(page), escape(title)) if page is not None else escape(title)}</h{level}>" if title else ""
    texts = [_html(value) for path in loader.text for value in values(record, path) if isinstance(value, str) and value.strip()]
    if page is not None and not title:
        texts.append(_link(str(page), ""))
    return head + "\n".join(texts)


def _facts(record: Any, loader: Loader) -> FileFacts:
    return FileFacts(
        title=" ".join(_plain(text_at(record, loader.title)).split())[:500],
        author=text_at(record, loader.author)[:300],
        published=iso_date(text_at(record, loader.published)),
        modified=iso_date(text_at(record, loader.updated)),
        lang=language_tag(text_at(record, loader.lang)),
    )


def _link(url: str, inner: str) -> str:
    return f'<a href="{escape(url)}">{inner}</a>'


def _plain(text: str) -> str:
    """A title without markup and entities, which some systems have in it."""
    if "<" not in text and "&" not in text:
        return text
    return dom.one_line_text(dom.parse(text))


def _html(text: str) -> str:
    """A field as HTML: unchanged when it has markup, else in paragraphs. Its open elements end with its section."""
    if _MARKUP.search(text):
        return f"<div>{text}</div>"
    return "".join(
        f"<p>{'<br>'.join(map(escape, part.splitlines()))}</p>" for part in re.split(r"\n\s*\n", text) if part.strip()
    )
