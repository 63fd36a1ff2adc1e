"""A site's index brought up to what its pages say: runs are reckoned with, and pages that changed are cut into chunks again.

Nothing here is needed to crawl, and nothing of it is lost by a crash: what a page's chunks were made from stands beside the
page, so whoever comes next sees what is left to do.
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
from sitelore.model.ids import NO_TEXT, BlobKey, CleanText, SiteId
from sitelore.model.listing import RunListing
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

_MADE_BY = "3"
"""Raised whenever the same page would give other chunks or terms: every page is then indexed again."""
_BATCH = 32
_KINDS = {"pdf": "pdf", "docx": "docx", "doc": "doc", "pptx": "pptx", "xlsx": "xlsx", "text": "text", "api": "record"}


@dataclass(frozen=True, slots=True)
class _Landmark:
    role: str = ""


@dataclass(frozen=True, slots=True)
class _Stored:
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


_DECODER = msgspec.json.Decoder(_Stored)


@dataclass(frozen=True, slots=True)
class _Manner:
    """How a site's pages become chunks. The same manner gives the same chunks."""

    repeats: Repeats
    sizes: ChunkSizes
    redaction: Redaction
    """With `personal` set, data of persons is masked in chunks."""

    @property
    def epoch(self) -> str:
        """A name for it."""
        mark = hashlib.blake2b(digest_size=12)
        repeats, masking = self.repeats, self.redaction
        folders = [(name, sorted(lines)) for name, lines in sorted(repeats.folders.items())]
        policy = (masking.personal, masking.personal_ids, masking.keep_contacts, len(masking.key) > 0)
        told = (_MADE_BY, sorted(repeats.everywhere), folders, sorted(repeats.wide), policy, self.sizes)
        mark.update(msgspec.json.encode(told))
        return mark.hexdigest()


@dataclass(slots=True)
class Indexing:
    """Keeps the index true to the pages."""

    ledger: Ledger
    search_index: SearchIndex
    blobs: Blobs
    clock: Clock
    redaction: Redaction = BUILT_IN_ALONE
    """The operator's."""
    sizes: ChunkSizes = field(default_factory=ChunkSizes)

    async def check_presence(self, site: SiteId) -> list[PresenceChanges]:
        """Let the runs that have ended say which pages are gone."""
        found = await self.search_index.check_presence(site, check_presence, self.clock())
        for one in found:
            if one.held:
                _LOG.warning("%d pages look gone, all at once: they are held until somebody agrees", one.held)
        return found

    async def catch_up(self, shelf: SiteIndexStats) -> AsyncIterator[tuple[IndexProgress, IndexWritten]]:
        """Index what waits, a batch at a time. Cut off at any moment, the next one goes on from there."""
        manner = await self._manner(shelf)
        await self.search_index.open_epoch(shelf.site, manner.epoch)
        written = IndexWritten()
        progress = IndexProgress(pages=await self._waiting(shelf))
        after = ""
        while pages := await self.search_index.pages_to_index(shelf.site, _BATCH, after):
            after = str(pages[-1].url)
            stored = await asyncio.gather(*(self._stored(page.document) for page in pages))
            made = await asyncio.to_thread(_index_all, pages, stored, manner)
            one = await self.search_index.write_pages(shelf.site, manner.epoch, made)
            written = _sum(written, one)
            done = progress.pages_done + len(pages)
            progress = replace(
                progress, pages=max(progress.pages, done), pages_done=done, chunks=progress.chunks + one.added + one.kept
            )
            yield progress, written

    async def _waiting(self, shelf: SiteIndexStats) -> int:
        shelves = await self.search_index.site_stats(shelf.tenant)
        return next((one.waiting for one in shelves if one.site == shelf.site), 0)

    async def _stored(self, key: BlobKey) -> _Stored | None:
        try:
            return _DECODER.decode(await self.blobs.get(key))
        except (KeyError, msgspec.DecodeError):
            _LOG.warning("a page's document cannot be read: it is left out of the index", extra={"document": key})
            return None

    async def _manner(self, shelf: SiteIndexStats) -> _Manner:
        repeats = await find_repeats(self.search_index.sketches(shelf.site))
        runs, _ = await self.ledger.list_runs(RunListing(site=shelf.name, limit=1, tenant=shelf.tenant))
        settings = runs[0].settings if runs else CrawlSettings()
        wanted = settings.personal is not PersonalPolicy.OFF
        return _Manner(repeats, self.sizes, replace(redaction_of(settings, self.redaction), personal=wanted))


def _index_all(pages: Sequence[PageToIndex], stored: Sequence[_Stored | None], manner: _Manner) -> list[IndexedPage]:
    made = []
    for page, document in zip(pages, stored, strict=True):
        made.append(IndexedPage(page.url, page.document) if document is None else index_page(page, document, manner))
    return made


def index_page(page: PageToIndex, document: _Stored, manner: _Manner) -> IndexedPage:
    """One page's chunks, with their words and flags."""
    repeats = manner.repeats
    cut = remove_repeats(document.markdown, document.text, repeats.on(page.url), repeats.wide).markdown
    markdown = document.markdown if cut == document.markdown else redact(cut)[0]
    if manner.redaction.personal:
        structured = tuple(document.structured)
        markdown = mask_markdown(markdown, page.url, document.title, structured=structured, options=manner.redaction)
    title = page.title or document.title or document.h1
    landmark = "main" if any(one.role == "main" for one in document.landmarks) else ""
    chunks = chunk_page(page.url, markdown, manner.sizes, title=title, landmark=landmark)
    return IndexedPage(
        page.url,
        page.document,
        title,
        document.lang,
        _KINDS.get(document.strategy, "page"),
        _moment(document.modified or document.published),
        tuple(_indexed(chunk, title, document.lang) for chunk in chunks),
    )


def _indexed(chunk: Chunk, title: CleanText, lang: str) -> IndexedChunk:
    headings = chunk.headings[1:] if chunk.headings[:1] == (title,) else chunk.headings
    config = terms_of("\n".join((title, *headings, chunk.lead, chunk.text)), lang)
    text = embedded_text(chunk)
    return IndexedChunk(chunk, config, sum(config.values()), hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())


def embedded_text(chunk: Chunk) -> str:
    """What stands for a chunk among vectors: its headings, what must be read before it, and itself."""
    return "\n".join(part for part in (" > ".join(chunk.headings), chunk.lead, chunk.text) if part)


def _moment(said: str) -> float | None:
    """A page's own date as seconds; years and months count from their first day."""
    if not said:
        return None
    parts = said.split("-")
    whole = said if len(parts) >= 3 else "-".join([*parts, *["01"] * (3 - len(parts))])
    try:
        moment = datetime.fromisoformat(whole)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _sum(one: IndexWritten, other: IndexWritten) -> IndexWritten:
    return IndexWritten(one.pages + other.pages, one.added + other.added, one.kept + other.kept, one.dropped + other.dropped)
