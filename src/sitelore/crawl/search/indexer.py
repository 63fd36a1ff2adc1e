"""The indexer: keeps the search index of a site in step with its pages.

It chunks changed pages again. A crash loses nothing: each page's row records the document its chunks were made from, so the
next call finds what is left. Loaded when a page waits: chunking has large tables of patterns.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import msgspec

from sitelore import metrics
from sitelore.crawl.context import redaction_of
from sitelore.export.boilerplate import Repeats, find_repeats, remove_repeats
from sitelore.extract.redaction.personal_data import mask_markdown
from sitelore.extract.redaction.redactor import redact
from sitelore.index.chunking.chunker import PageContext, chunk_page
from sitelore.index.chunking.readable import UNCHANGED, removed_ranges, without_ranges
from sitelore.index.fields import PageFields, address_words
from sitelore.index.plain_text import plain_text
from sitelore.model.document import Anchor, line_numbers
from sitelore.model.frontier import RunListing
from sitelore.model.ids import NO_TEXT, BlobKey, CleanText, SiteId
from sitelore.model.search import (
    Chunk,
    ChunkSizes,
    IndexedChunk,
    IndexedPage,
    IndexProgress,
    IndexWritten,
    PageToIndex,
    SiteIndexStats,
)
from sitelore.model.settings import BUILT_IN_ALONE, CrawlSettings, PersonalPolicy, Redaction
from sitelore.model.states import RunState
from sitelore.model.url import Url
from sitelore.ports import Blobs, Ledger, SearchIndex
from sitelore.times import parse_time

_LOG = logging.getLogger(__name__)

_CHUNKER_VERSION = "6"
"""Raised whenever an unchanged page would give different chunks or terms; every page is then indexed again."""
_BATCH = 32
_CONTENT_KINDS = {"pdf": "pdf", "docx": "docx", "doc": "doc", "pptx": "pptx", "xlsx": "xlsx", "text": "text", "api": "record"}

_GROWTH = 4
_MIN_COUNTED_PAGES = 8


@dataclass(frozen=True, slots=True)
class _Landmark:
    role: str = ""


@dataclass(frozen=True, slots=True)
class _StoredDocument:
    """The part of a stored `Document` that is indexed."""

    title: CleanText = NO_TEXT
    h1: CleanText = NO_TEXT
    lang: str = ""
    published: str = ""
    modified: str = ""
    strategy: str = ""
    markdown: CleanText = NO_TEXT
    text: CleanText = NO_TEXT
    landmarks: tuple[_Landmark, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    structured: tuple[Any, ...] = ()


_DECODER = msgspec.json.Decoder(_StoredDocument)


@dataclass(frozen=True, slots=True)
class _ChunkPolicy:
    """How a site's pages become chunks: equal policies give equal chunks."""

    repeats: Repeats
    sizes: ChunkSizes
    redaction: Redaction
    """With `personal` set, personal data is masked in chunks."""

    @property
    def epoch(self) -> str:
        """A digest of the policy and the chunker version."""
        digest = hashlib.blake2b(digest_size=12)
        repeats, masking = self.repeats, self.redaction
        folders = [(name, sorted(lines)) for name, lines in sorted(repeats.folders.items())]
        policy = (masking.personal, masking.personal_ids, masking.keep_contacts, len(masking.key) > 0)
        # Stored epochs were computed with these keys; other keys would index every page again.
        sizes = dict(zip(("target", "least", "most", "overlap"), astuple(self.sizes), strict=True))
        parts = (_CHUNKER_VERSION, sorted(repeats.everywhere), folders, sorted(repeats.wide), policy, sizes)
        digest.update(msgspec.json.encode(parts))
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _CountedPolicy:
    """A policy with the number of pages it was derived from, and the pages that were indexed by it."""

    policy: _ChunkPolicy
    pages: int
    is_provisional: bool
    """Whether the site was being crawled."""
    urls: AbstractSet[Url] | None = None
    """The pages whose chunks were made by it, if the update was interrupted; None: all pages."""


@dataclass(slots=True)
class Indexer:
    """Brings the search index of a site up to date."""

    ledger: Ledger
    search_index: SearchIndex
    blobs: Blobs
    redaction: Redaction = BUILT_IN_ALONE
    """The operator's redaction options."""
    sizes: ChunkSizes = field(default_factory=ChunkSizes)
    _policies: dict[SiteId, list[_CountedPolicy]] = field(default_factory=dict)
    """By site: the policies of interrupted updates, the latest first, and that of the last complete one in this process."""

    async def catch_up(self, stats: SiteIndexStats) -> AsyncGenerator[tuple[IndexProgress, IndexWritten], None]:
        """Index all pages that wait, one batch at a time. If interrupted, the next call continues."""
        earlier = self._policies.get(stats.site, [])
        counted = await self._next_policy(stats, earlier)
        policy, urls = counted.policy, set[Url]()
        await self.search_index.open_epoch(stats.site, policy.epoch)
        total = IndexWritten()
        progress = IndexProgress(pages=await self._waiting(stats))
        after = ""
        while pages := await self.search_index.pages_to_index(stats.site, _BATCH, after):
            started_at = time.perf_counter()
            after = str(pages[-1].url)
            documents = await asyncio.gather(*(self._load(page.document) for page in pages))
            self._policies.pop(stats.site, None)  # while it is not known whether the batch is written
            indexed, kept = await asyncio.to_thread(_index_all, pages, documents, policy, earlier)
            if kept:
                await self.search_index.keep_chunks(stats.site, policy.epoch, kept)
            written = await self.search_index.write_pages(stats.site, policy.epoch, indexed)
            urls.update(page.url for page in indexed)
            urls.update(page.url for page in kept)
            self._policies[stats.site] = [replace(counted, urls=urls), *earlier]
            metrics.INDEXED.inc(len(indexed))
            metrics.INDEXING.observe(time.perf_counter() - started_at)
            total = _sum(total, replace(written, pages=written.pages + len(kept)))
            done = progress.pages_done + len(pages)
            chunks = progress.chunks + written.added + written.kept
            progress = replace(progress, pages=max(progress.pages, done), pages_done=done, chunks=chunks)
            yield progress, total
        self._policies[stats.site] = [replace(counted, urls=None)]

    def is_provisional(self, site: SiteId) -> bool:
        """Whether the last update of a site was made while it was crawled, before it was known what repeats on its pages."""
        return site in self._policies and self._policies[site][0].is_provisional

    async def _next_policy(self, stats: SiteIndexStats, earlier: Sequence[_CountedPolicy]) -> _CountedPolicy:
        """The policy of this update.

        What repeats on a site is counted over all of its pages, and changes with every page of a first crawl. While a site is
        crawled, it is counted again when the site has grown to four times its size, and at the end.
        """
        runs, _ = await self.ledger.list_runs(RunListing(site=stats.name, limit=1))
        is_crawled = bool(runs) and runs[0].state is RunState.RUNNING
        if earlier and is_crawled and stats.pages < _GROWTH * max(earlier[0].pages, _MIN_COUNTED_PAGES):
            return earlier[0]
        policy = await self._chunk_policy(stats, runs[0].settings if runs else CrawlSettings())
        return _CountedPolicy(policy, stats.pages, is_crawled)

    async def _waiting(self, stats: SiteIndexStats) -> int:
        sites = await self.search_index.site_stats()
        return next((site.waiting for site in sites if site.site == stats.site), 0)

    async def _load(self, key: BlobKey) -> _StoredDocument | None:
        try:
            return _DECODER.decode(await self.blobs.get(key))
        except (KeyError, msgspec.DecodeError):
            _LOG.warning("stored document %s cannot be read; its page is not indexed until it can", key)
            return None

    async def _chunk_policy(self, stats: SiteIndexStats, settings: CrawlSettings) -> _ChunkPolicy:
        repeats = await find_repeats(self.search_index.sketches(stats.site))
        mask_personal = settings.personal is not PersonalPolicy.OFF
        return _ChunkPolicy(repeats, self.sizes, replace(redaction_of(settings, self.redaction), personal=mask_personal))


def _index_all(
    pages: Sequence[PageToIndex],
    documents: Sequence[_StoredDocument | None],
    policy: _ChunkPolicy,
    earlier: Sequence[_CountedPolicy],
) -> tuple[list[IndexedPage], list[PageToIndex]]:
    """Chunk the pages whose document was read; the others keep their chunks and wait. Also gives pages whose chunks stay.

    `earlier`: the policies by which this process made the present chunks, the latest first.
    """
    indexed, kept = [], []
    for page, document in zip(pages, documents, strict=True):
        if document is None:
            continue
        before = next((made.policy for made in earlier if made.urls is None or page.url in made.urls), None)
        if before is not None and page.has_chunks and _gives_equal_chunks(page, document, before, policy):
            kept.append(page)
        else:
            indexed.append(index_page(page, document, policy))
    return indexed, kept


def _gives_equal_chunks(page: PageToIndex, document: _StoredDocument, before: _ChunkPolicy, after: _ChunkPolicy) -> bool:
    """Whether two policies give equal chunks of a page: no line of it is among what repeats by one policy alone."""
    if (before.sizes, before.redaction) != (after.sizes, after.redaction):
        return False
    old, new = before.repeats, after.repeats
    changed = (old.on(page.url) ^ new.on(page.url)) | (old.wide ^ new.wide)
    if changed.isdisjoint(line_numbers(document.text)):
        return True
    return _without_repeats(page, document, before) == _without_repeats(page, document, after)


def _without_repeats(page: PageToIndex, document: _StoredDocument, policy: _ChunkPolicy) -> str:
    return remove_repeats(document.markdown, document.text, policy.repeats.on(page.url), policy.repeats.wide).markdown


def index_page(page: PageToIndex, document: _StoredDocument, policy: _ChunkPolicy) -> IndexedPage:
    """Chunk one page, with the terms and metadata of every chunk."""
    cut = _without_repeats(page, document, policy)
    markdown = document.markdown if cut == document.markdown else redact(cut)[0]
    if policy.redaction.personal:
        structured = tuple(document.structured)
        markdown = mask_markdown(markdown, page.url, document.title, structured=structured, options=policy.redaction)
    title = page.title or document.title or document.h1
    ranges = removed_ranges(markdown)
    text, source = without_ranges(markdown, ranges)
    readable, secrets = redact(text) if ranges else (markdown, {})
    if secrets:  # what a link separated must not become one secret
        readable, source = markdown, UNCHANGED
    context = PageContext(
        title=title,
        landmark="main" if any(landmark.role == "main" for landmark in document.landmarks) else "",
        source=source,
        markdown=markdown,
        anchors=tuple((anchor.id, anchor.text) for anchor in document.anchors),
        plain=document.text,
    )
    chunks = chunk_page(page.url, readable, policy.sizes, context)
    headings: dict[CleanText, CleanText] = {}
    fields = PageFields(title, document.lang, address_words(page.url))
    return IndexedPage(
        page.url,
        page.document,
        title,
        document.lang,
        _CONTENT_KINDS.get(document.strategy, "page"),
        _timestamp(document.modified or document.published),
        tuple(_indexed_chunk(_with_plain_headings(chunk, headings), fields) for chunk in chunks),
    )


def _with_plain_headings(chunk: Chunk, known: dict[CleanText, CleanText]) -> Chunk:
    """The chunk with headings without markup; `known` has those of the page's other chunks."""
    for heading in chunk.headings:
        if heading not in known:
            plain = plain_text(heading)
            known[heading] = heading if plain == heading else redact(plain)[0]
    return replace(chunk, headings=tuple(map(known.__getitem__, chunk.headings)))


def _indexed_chunk(chunk: Chunk, fields: PageFields) -> IndexedChunk:
    terms, length = fields.weighted_terms(chunk)
    text = embedded_text(chunk)
    return IndexedChunk(chunk, terms, length, hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


def embedded_text(chunk: Chunk) -> str:
    """The text that is embedded for a chunk: its headings, its lead-in and its own text."""
    return "\n".join(part for part in (" > ".join(chunk.headings), chunk.lead, chunk.text) if part)


def _timestamp(date: str) -> float | None:
    """A page's own date as Unix time; a year or month counts from its first day."""
    if not date:
        return None
    parts = date.split("-")
    full = date if len(parts) >= 3 else "-".join([*parts, *["01"] * (3 - len(parts))])
    try:
        return parse_time(full)
    except ValueError:
        return None


def _sum(a: IndexWritten, b: IndexWritten) -> IndexWritten:
    return IndexWritten(a.pages + b.pages, a.added + b.added, a.kept + b.kept, a.dropped + b.dropped)
