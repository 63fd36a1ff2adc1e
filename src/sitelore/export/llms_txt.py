"""Writes `llms.txt`, a Markdown list of a site's pages for language models (llmstxt.org).

H1 with the site's name, a blockquote with its summary, then H2 sections by first path segment. Pages that ask not to be
indexed are left out.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import BinaryIO
from urllib.parse import unquote

from sitelore.export.pages import documents
from sitelore.export.rows import Rows, is_page
from sitelore.model.frontier import UrlRow
from sitelore.model.url import Url
from sitelore.ports import Blobs

_DEFAULT_SECTION = "Pages"
_MAX_SECTIONS = 40
_MIN_SECTION_PAGES = 2
_MAX_DESCRIPTION_CHARS = 300
_BLANKS = re.compile(r"\s+")
_BRACKETS = re.compile(r"([\\\[\]])")
_WORD_BREAKS = re.compile(r"[-_+.\s]+")


async def write_llms_txt(rows: Rows, blobs: Blobs, site: str, sink: BinaryIO) -> int:
    """Write the list of a run's pages. Returns the number of pages in it."""
    sections, total = await _sections(_listed(rows()))
    name, summary = site, f"{total} page{'' if total == 1 else 's'} of {site}."
    count = 0
    with ExitStack() as opened:
        # The pages of a section are not adjacent in key order (`/a`, `/a-b`, `/a/x`), so each section has a temporary file.
        parts: dict[str, BinaryIO] = {
            label: opened.enter_context(TemporaryFile()) for label in (_DEFAULT_SECTION, *sections.values())
        }
        async for row, document in documents(_listed(rows()), blobs):
            title = _line(row.title or document.get("title", "")) or row.url
            description = _line(document.get("description", ""))
            if row.url.is_root and name == site:
                name = title
                summary = description or summary
            label = sections.get(_segment(row.url), _DEFAULT_SECTION)
            parts[label].write(_entry(row.url, title, description).encode("utf-8", "replace"))
            count += 1
        sink.write(f"# {name}\n\n> {summary}\n".encode("utf-8", "replace"))
        for label, part in parts.items():
            if part.tell():
                part.seek(0)
                sink.write(f"\n## {label}\n\n".encode("utf-8", "replace"))
                shutil.copyfileobj(part, sink)
    return count


async def _listed(rows: AsyncIterator[UrlRow]) -> AsyncIterator[UrlRow]:
    async for row in rows:
        if is_page(row) and not row.noindex:
            yield row


async def _sections(rows: AsyncIterator[UrlRow]) -> tuple[dict[str, str], int]:
    """The first path segments with several pages, each with its section heading; and the number of pages."""
    sizes: Counter[str] = Counter()
    async for row in rows:
        sizes[_segment(row.url)] += 1
    largest = sorted(sizes, key=lambda segment: (-sizes[segment], segment))[:_MAX_SECTIONS]
    kept = sorted(segment for segment in largest if segment and sizes[segment] >= _MIN_SECTION_PAGES)
    return {segment: _heading(segment) for segment in kept}, sizes.total()


def _segment(url: Url) -> str:
    """The first folder of the path; empty for pages at the top."""
    first, slash, _ = url.path[1:].partition("/")
    return first if slash else ""


def _heading(segment: str) -> str:
    words = _line(_WORD_BREAKS.sub(" ", unquote(segment)))
    return words[:1].upper() + words[1:] or segment


def _entry(url: Url, title: str, description: str) -> str:
    target = url.replace("(", "%28").replace(")", "%29")
    note = f": {description}" if description and description != title else ""
    label = _BRACKETS.sub(r"\\\1", title)
    return f"- [{label}]({target}){note}\n"


def _line(text: str) -> str:
    line = _BLANKS.sub(" ", text).strip()
    return line if len(line) <= _MAX_DESCRIPTION_CHARS else f"{line[:_MAX_DESCRIPTION_CHARS].rstrip()}…"
