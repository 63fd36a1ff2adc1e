"""Exports pages: the fields of a row joined with its stored document, as JSON Lines; and search results over them, as JSON.

Search results have one format for the command line, the API and MCP.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict

import msgspec

from sitelore.export.boilerplate import NO_REPEATS, Repeats, remove_repeats
from sitelore.export.rows import Rows, chain_of, is_page, plain
from sitelore.model.errors import CorruptData
from sitelore.model.frontier import UrlRow
from sitelore.model.settings import LinkStyle
from sitelore.model.states import REDIRECT_STATES, UNCHANGED, WAITING, UrlState
from sitelore.model.url import Url
from sitelore.ports import Blobs

if TYPE_CHECKING:  # a crawl exports pages, and no search results
    from sitelore.model.changes import SiteChange
    from sitelore.model.search import Explanation, Hit, SearchAnswer, SearchQuery

Page = dict[str, Any]
"""One exported page."""

_BATCH = 16
_FILE_STRATEGIES = frozenset({"pdf", "docx", "doc", "pptx", "xlsx"})
_EXCERPT_CHARS = 10_000
"""The length of a file's `excerpt`; `markdown` and `text` hold all of it."""
_REDIRECTS = frozenset(REDIRECT_STATES.values())


class RawDocument(TypedDict, total=False):
    """A stored document with nested fields as raw JSON, for writers that copy them unchanged."""

    canonical_url: Any
    title: Any
    h1: Any
    description: Any
    lang: Any
    author: Any
    published: Any
    modified: Any
    site_name: Any
    image: Any
    markdown: Any
    text: Any
    word_count: Any
    strategy: Any
    headings: msgspec.Raw
    landmarks: msgspec.Raw
    links: msgspec.Raw
    structured: msgspec.Raw
    forms: msgspec.Raw
    actions: msgspec.Raw
    media: msgspec.Raw
    brand: msgspec.Raw
    rendering: msgspec.Raw
    meta: msgspec.Raw


_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_RAW_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(RawDocument)
_ENCODER = msgspec.json.Encoder()


class CrawlStatus(StrEnum):
    """The result of a URL in the five values of a content inventory."""

    OK = "OK"
    REDIRECT_ALIAS = "REDIRECT_ALIAS"
    NOT_FOUND = "NOT_FOUND"
    SOFT_404 = "SOFT_404"
    ERROR = "ERROR"


def crawl_status(row: UrlRow) -> CrawlStatus | None:
    """The result of a row; None for a URL that was never fetched."""
    if row.state in {UrlState.VISITED, UrlState.NOT_MODIFIED} or row.skip_reason in UNCHANGED:
        return CrawlStatus.OK
    if row.state is UrlState.ALIAS or row.state in _REDIRECTS:
        return CrawlStatus.REDIRECT_ALIAS
    if row.state is UrlState.NOT_FOUND:
        return CrawlStatus.NOT_FOUND
    if row.state is UrlState.SOFT_404:
        return CrawlStatus.SOFT_404
    if row.state is UrlState.SKIPPED or row.state in WAITING:
        return None
    return CrawlStatus.ERROR


def moment(seconds: float | None) -> str | None:
    """A Unix time as ISO 8601 in UTC, to the second."""
    return None if seconds is None else _moment(int(seconds))


@lru_cache(maxsize=1024)
def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def page_of(row: UrlRow, document: dict[str, Any], aliases: list[str], repeats: Repeats = NO_REPEATS) -> Page:
    """Join a row and its document, without boilerplate. The row takes precedence: it is newer after pages were merged."""
    cleaned = remove_repeats(document.get("markdown", ""), document.get("text", ""), repeats.on(row.url), repeats.wide)
    return {
        "url": str(row.url),
        "final_url": str(row.final_url or row.url),
        "canonical_url": plain(row.canonical) or document.get("canonical_url") or None,
        "status_code": row.status_code,
        "crawl_status": crawl_status(row),
        "title": row.title or document.get("title", ""),
        "h1": document.get("h1", ""),
        "description": document.get("description", ""),
        "lang": document.get("lang", ""),
        "author": document.get("author", ""),
        "published": document.get("published", ""),
        "modified": document.get("modified", ""),
        "site_name": document.get("site_name", ""),
        "image": document.get("image", ""),
        "markdown": cleaned.markdown,
        "text": cleaned.text,
        "excerpt": cleaned.text[:_EXCERPT_CHARS] if document.get("strategy") in _FILE_STRATEGIES else "",
        "word_count": max(0, (row.word_count or document.get("word_count", 0)) - cleaned.words),
        "content_hash": row.content_hash,
        "strategy": document.get("strategy", ""),
        "depth": row.depth,
        "noindex": row.noindex,
        "aliases": aliases,
        "redirect_chain": chain_of(row.redirect_chain),
        "etag": row.etag,
        "last_modified": row.last_modified,
        "fetched_at": moment(row.fetched_at),
        "headings": document.get("headings", []),
        "landmarks": document.get("landmarks", []),
        "links": document.get("links", []),
        "structured": document.get("structured", []),
        "forms": document.get("forms", []),
        "actions": document.get("actions", []),
        "media": document.get("media", []),
        "brand": document.get("brand", {}),
        "rendering": document.get("rendering", {}),
        "screenshot": row.screenshot,
        "meta": document.get("meta", {}),
    }


async def documents(
    rows: AsyncIterator[UrlRow], blobs: Blobs, *, raw: bool = False
) -> AsyncIterator[tuple[UrlRow, dict[str, Any]]]:
    """Every page's row with its document, in the order of the rows, read in small batches.

    With `raw`, nested fields are raw JSON (`RawDocument`).
    """
    decoder = _RAW_DECODER if raw else _DECODER
    batch: list[UrlRow] = []
    async for row in rows:
        if is_page(row):
            batch.append(row)
        if len(batch) == _BATCH:
            for pair in await _read(batch, blobs, decoder):
                yield pair
            batch.clear()
    for pair in await _read(batch, blobs, decoder):
        yield pair


async def document_of(row: UrlRow, blobs: Blobs) -> dict[str, Any]:
    """The stored document of one page."""
    [(_, document)] = await _read([row], blobs, _DECODER)
    return document


async def aliases_of(rows: AsyncIterator[UrlRow]) -> dict[Url, list[str]]:
    """The other URLs of each page. Kept in memory: they are small compared with the texts of the pages."""
    aliases: dict[Url, list[str]] = {}
    async for row in rows:
        if row.state is UrlState.ALIAS and row.final_url is not None and row.final_url != row.url:
            aliases.setdefault(row.final_url, []).append(str(row.url))
    return aliases


async def write_jsonl(
    rows: Rows, blobs: Blobs, sink: BinaryIO, repeats: Repeats = NO_REPEATS, links: LinkStyle = LinkStyle.ABSOLUTE
) -> int:
    """Write the pages as JSON Lines; noindex pages are flagged. Returns the number of pages."""
    count = 0
    async for line in jsonl_lines(rows, blobs, repeats, links):
        sink.write(line)
        count += 1
    return count


async def jsonl_lines(
    rows: Rows, blobs: Blobs, repeats: Repeats = NO_REPEATS, links: LinkStyle = LinkStyle.ABSOLUTE
) -> AsyncIterator[bytes]:
    """The pages as JSON Lines, each with its newline. `links` is the style of the links in `markdown`."""
    aliases = await aliases_of(rows())
    async for row, document in documents(rows(), blobs, raw=True):
        yield page_line(row, document, aliases.get(row.url, []), repeats, links)


def page_line(
    row: UrlRow,
    document: dict[str, Any],
    aliases: list[str],
    repeats: Repeats = NO_REPEATS,
    links: LinkStyle = LinkStyle.ABSOLUTE,
) -> bytes:
    """One page as a line of JSON, with its newline."""
    page = page_of(row, document, aliases, repeats)
    if links is not LinkStyle.ABSOLUTE:
        page["markdown"] = _rewrite(page["markdown"], links, row.url)
    return _ENCODER.encode(page) + b"\n"


def _rewrite(markdown: str, links: LinkStyle, page: Url) -> str:
    from sitelore.export.links import relative_to, rewrite_links  # noqa: PLC0415 the Markdown parser takes 30 ms to load

    return rewrite_links(markdown, links, relative_to(page))


async def _read(batch: list[UrlRow], blobs: Blobs, decoder: msgspec.json.Decoder[Any]) -> list[tuple[UrlRow, dict[str, Any]]]:
    async def load(row: UrlRow) -> tuple[UrlRow, dict[str, Any]]:
        assert row.document is not None
        try:
            return row, decoder.decode(await blobs.get(row.document))
        except KeyError:
            raise CorruptData(f"the stored document of {row.url} is missing; crawl it again with --force") from None
        except msgspec.DecodeError as problem:
            raise CorruptData(f"the stored document of {row.url} is damaged ({problem}); crawl it again with --force") from None

    return list(await asyncio.gather(*map(load, batch)))


def answer_json(query: SearchQuery, answer: SearchAnswer) -> dict[str, Any]:
    """A search answer with all hits, best first."""
    return {
        "query": query.text,
        "mode": answer.mode.value,
        "chunks": answer.chunks,
        "embedded": answer.embedded,
        "suggestion": answer.suggestion,
        "hits": [hit_json(hit) for hit in answer.hits],
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    """One hit with its position on the page."""
    record = hit.chunk
    return {
        "url": str(record.url),
        "citation": hit.citation,
        "site": record.site_name,
        "title": record.title,
        "headings": list(record.headings),
        "snippet": hit.snippet,
        "highlights": [list(pair) for pair in hit.highlights],
        "score": round(hit.score, 6),
        "lexical": None if hit.lexical is None else round(hit.lexical, 6),
        "dense": None if hit.dense is None else round(hit.dense, 6),
        "chunk": record.id,
        "text": record.text,
        "lead": record.lead,
        "start": record.start,
        "end": record.end,
        "tokens": record.tokens,
        "landmark": record.landmark,
        "lang": record.lang,
        "type": record.kind,
        "dated": moment(record.dated),
        "fetched_at": moment(record.fetched_at),
        "presence": record.presence.value,
        "flags": [{"rule": flag.rule, "evidence": flag.evidence} for flag in record.flags],
        **({"shortened": True} if hit.is_shortened else {}),
        **({"neighbours": [{"text": near.text, "start": near.start} for near in hit.neighbours]} if hit.neighbours else {}),
        **({"explanation": _explanation_json(hit.explanation)} if hit.explanation is not None else {}),
    }


def change_json(change: SiteChange) -> dict[str, Any]:
    """One change of a site."""
    return {
        "change": change.kind.value,
        "url": str(change.url),
        "at": moment(change.at),
        "moved_to": None if change.moved_to is None else str(change.moved_to),
        "evidence": change.evidence,
        "removed": list(change.removed),
        "added": list(change.added),
    }


def _explanation_json(explanation: Explanation) -> dict[str, Any]:
    words = [
        {"term": word.term, "score": round(word.score, 6), "chunks": word.chunks, "fields": list(word.fields)}
        for word in explanation.words
    ]
    return {"words": words, "adjacent": round(explanation.adjacent, 6), "weight": explanation.weight}
