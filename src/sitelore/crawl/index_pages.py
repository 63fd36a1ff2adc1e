"""Keeps a site's search index in step with its pages: marks pages as gone after a run, and chunks changed pages again.

A crawl does not need any of this. A crash loses nothing: each page's row records the document its chunks were made from, so
the next call finds what is left to index.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from sitelore.crawl.visit_context import redaction_of
from sitelore.export.boilerplate import Repeats, find_repeats, remove_repeats
from sitelore.extract.redaction.personal_data import mask_markdown
from sitelore.extract.redaction.redactor import redact
from sitelore.frontier.presence import check_presence
from sitelore.index.chunking.chunker import chunk_page
from sitelore.index.terms import terms_of
from sitelore.model.frontier import RunListing
from sitelore.model.ids import NO_TEXT, BlobKey, CleanText, SiteId
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.search import (
    Chunk,
    ChunkSizes,
    IndexedChunk,
    IndexedPage,
    IndexProgress,
    IndexWritten,
    PageToIndex,
    PresenceChanges,
    SiteIndexStats,
)
from sitelore.model.settings import CrawlSettings, PersonalPolicy
from sitelore.ports import Blobs, Clock, Ledger, SearchIndex

_LOG = logging.getLogger(__name__)

_CHUNKER_VERSION = "3"
"""Raised whenever an unchanged page would give different chunks or terms; every page is then indexed again."""
_BATCH = 32
_CONTENT_KINDS = {"pdf": "pdf", "docx": "docx", "doc": "doc", "pptx": "pptx", "xlsx": "xlsx", "text": "text", "api": "record"}


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
        parts = (_CHUNKER_VERSION, sorted(repeats.everywhere), folders, sorted(repeats.wide), policy, self.sizes)
        digest.update(msgspec.json.encode(parts))
        return digest.hexdigest()


@dataclass(slots=True)
class Indexing:
    """Brings the search index of a site up to date."""

    ledger: Ledger
    search_index: SearchIndex
    blobs: Blobs
    clock: Clock
    redaction: Redaction = BUILT_IN_ALONE
    """The operator's redaction options."""
    sizes: ChunkSizes = field(default_factory=ChunkSizes)

    async def check_presence(self, site: SiteId) -> list[PresenceChanges]:
        """Mark pages as gone by the results of runs that ended since the last call."""
        changes = await self.search_index.check_presence(site, check_presence, self.clock())
        for change in changes:
            if change.held:
                _LOG.warning("mass deletion held back: %d pages appear to be gone; confirm or reject it", change.held)
        return changes

    async def catch_up(self, stats: SiteIndexStats) -> AsyncIterator[tuple[IndexProgress, IndexWritten]]:
        """Index all pages that wait, one batch at a time. If interrupted, the next call continues."""
        policy = await self._chunk_policy(stats)
        await self.search_index.open_epoch(stats.site, policy.epoch)
        total = IndexWritten()
        progress = IndexProgress(pages=await self._waiting(stats))
        after = ""
        while pages := await self.search_index.pages_to_index(stats.site, _BATCH, after):
            after = str(pages[-1].url)
            documents = await asyncio.gather(*(self._load(page.document) for page in pages))
            indexed = await asyncio.to_thread(_index_all, pages, documents, policy)
            written = await self.search_index.write_pages(stats.site, policy.epoch, indexed)
            total = _sum(total, written)
            done = progress.pages_done + len(pages)
            chunks = progress.chunks + written.added + written.kept
            progress = replace(progress, pages=max(progress.pages, done), pages_done=done, chunks=chunks)
            yield progress, total

    async def _waiting(self, stats: SiteIndexStats) -> int:
        sites = await self.search_index.site_stats(stats.tenant)
        return next((site.waiting for site in sites if site.site == stats.site), 0)

    async def _load(self, key: BlobKey) -> _StoredDocument | None:
        try:
            return _DECODER.decode(await self.blobs.get(key))
        except (KeyError, msgspec.DecodeError):
            _LOG.warning("stored document unreadable, page not indexed", extra={"document": key})
            return None

    async def _chunk_policy(self, stats: SiteIndexStats) -> _ChunkPolicy:
        repeats = await find_repeats(self.search_index.sketches(stats.site))
        runs, _ = await self.ledger.list_runs(RunListing(site=stats.name, limit=1, tenant=stats.tenant))
        settings = runs[0].settings if runs else CrawlSettings()
        mask_personal = settings.personal is not PersonalPolicy.OFF
        return _ChunkPolicy(repeats, self.sizes, replace(redaction_of(settings, self.redaction), personal=mask_personal))


def _index_all(
    pages: Sequence[PageToIndex], documents: Sequence[_StoredDocument | None], policy: _ChunkPolicy
) -> list[IndexedPage]:
    indexed = []
    for page, document in zip(pages, documents, strict=True):
        indexed.append(IndexedPage(page.url, page.document) if document is None else index_page(page, document, policy))
    return indexed


def index_page(page: PageToIndex, document: _StoredDocument, policy: _ChunkPolicy) -> IndexedPage:
    """Chunk one page, with the terms and metadata of every chunk."""
    repeats = policy.repeats
    cut = remove_repeats(document.markdown, document.text, repeats.on(page.url), repeats.wide).markdown
    markdown = document.markdown if cut == document.markdown else redact(cut)[0]
    if policy.redaction.personal:
        structured = tuple(document.structured)
        markdown = mask_markdown(markdown, page.url, document.title, structured=structured, options=policy.redaction)
    title = page.title or document.title or document.h1
    landmark = "main" if any(landmark.role == "main" for landmark in document.landmarks) else ""
    chunks = chunk_page(page.url, markdown, policy.sizes, title=title, landmark=landmark)
    return IndexedPage(
        page.url,
        page.document,
        title,
        document.lang,
        _CONTENT_KINDS.get(document.strategy, "page"),
        _timestamp(document.modified or document.published),
        tuple(_indexed_chunk(chunk, title, document.lang) for chunk in chunks),
    )


def _indexed_chunk(chunk: Chunk, title: CleanText, lang: str) -> IndexedChunk:
    headings = chunk.headings[1:] if chunk.headings[:1] == (title,) else chunk.headings
    terms = terms_of("\n".join((title, *headings, chunk.lead, chunk.text)), lang)
    text = embedded_text(chunk)
    return IndexedChunk(chunk, terms, sum(terms.values()), hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


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
        moment = datetime.fromisoformat(full)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _sum(a: IndexWritten, b: IndexWritten) -> IndexWritten:
    return IndexWritten(a.pages + b.pages, a.added + b.added, a.kept + b.kept, a.dropped + b.dropped)
