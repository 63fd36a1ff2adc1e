"""A question → the chunks that answer it: by words, by meaning, or by both.

    words     postings → BM25 over every live chunk of the sites asked
    meaning   the question's vector → the nearest chunks, and how near the best by words are
    fusion    both as one score, among the candidates of either
    pages     few chunks of any one page
    ledger    what comes back as a card may be shown; what does not is passed over, and the next is taken
    texts     words side by side, snippets

The sites of a tenant are asked as one collection. Equal scores stand in the order of site, address and place on the page: when
a chunk was indexed does not matter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from heapq import heappush, heappushpop

import numpy as np

from sitelore.index.candidates import (
    DEPTH,
    PER_PAGE,
    Ranked,
    best_by_words,
    by_both,
    by_meaning,
    by_words,
    certain,
    nearest,
    ordered,
)
from sitelore.index.columns import Mask
from sitelore.index.fusion import LEXICAL_WEIGHT
from sitelore.index.holdings import Catalogue, Holdings
from sitelore.index.lexical import Floats, Places, Weighed, scores, weighed
from sitelore.index.proximity import Neighbours
from sitelore.index.snippets import snippet_of
from sitelore.index.terms import Asked, query_terms
from sitelore.model.errors import VectorsAway
from sitelore.model.search import ChunkRecord, Hit, SearchAnswer, SearchMode, SearchQuery
from sitelore.ports import Embedder, SearchIndex

MAX_QUESTION = 2_000
"""Characters; the rest is not read."""
MAX_LIMIT = 100
EMBEDDING_S = 5.0
"""How long a question waits for its vector before it is answered by words alone."""
READ = 30
"""Texts that are read for words side by side, if there are as many."""

_SAME = 6
"""Digits of a likeness that count: beyond them the order of rows in a matrix shows."""
_ROUNDING = 1e-9
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question, and what is known of it before the texts are read."""

    query: SearchQuery
    holdings: Holdings
    masks: list[Mask | None]
    langs: tuple[str, ...]
    asked: list[Asked]

    @property
    def depth(self) -> int:
        """Candidates of either half."""
        return max(DEPTH, 2 * self.query.limit)

    @property
    def allowed(self) -> Mask | None:
        if all(mask is None for mask in self.masks):
            return None
        sizes = (len(site.chunks) for site in self.holdings.sites)
        whole = [np.ones(size, np.bool_) if mask is None else mask for mask, size in zip(self.masks, sizes, strict=True)]
        return np.concatenate(whole)


@dataclass(frozen=True, slots=True)
class _Worded:
    """What words alone say: each, the score of every chunk, and the best places."""

    words: list[Weighed]
    scores: Floats
    best: Places


@dataclass(frozen=True, slots=True)
class _Read:
    """A candidate with its text."""

    card: ChunkRecord
    place: int
    score: float
    lexical: float
    dense: float


class Searcher:
    """Answers questions over what is indexed. Without an embedder, or while it fails, by words alone."""

    def __init__(self, search_index: SearchIndex, embedder: Embedder | None = None) -> None:
        self._search_index = search_index
        self._embedder = embedder
        self._catalogue = Catalogue(search_index)
        self._had_vectors = False

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """The best answers, with snippets; none for a question without words."""
        query = _bounded(query)
        if query.mode is SearchMode.LEXICAL or not self._had_vectors:
            return await self._answer(query, None)
        # Most of the time goes into the vector, in a thread of its own: it is begun before it is known to be needed.
        begun = asyncio.ensure_future(self._vector(query.text))
        try:
            return await self._answer(query, begun)
        finally:
            begun.cancel()

    async def _answer(self, query: SearchQuery, begun: asyncio.Future[bytes | None] | None) -> SearchAnswer:
        shelves = await self._search_index.site_stats(query.tenant, self._embedder.model if self._embedder else "")
        wanted = [shelf for shelf in shelves if shelf.chunks and (not query.sites or shelf.name in query.sites)]
        question = _question(query, await self._catalogue.holdings(wanted))
        chunks = sum(
            len(site.chunks) if mask is None else int(mask.sum())
            for site, mask in zip(question.holdings.sites, question.masks, strict=True)
        )
        embedded = min(chunks, sum(shelf.embedded for shelf in wanted))
        self._had_vectors = embedded > 0
        if not question.asked or not chunks:
            return SearchAnswer((), SearchMode.LEXICAL, chunks, embedded)
        may_embed = embedded > 0 and query.mode is not SearchMode.LEXICAL
        asked = (begun or self._vector(query.text)) if may_embed else _nothing()
        vector, worded = await asyncio.gather(asked, self._words(question))
        ranked, mode = await self._ranked(question, worded, vector)
        hits = await self._hits(question, worded.words, ranked)
        return SearchAnswer(hits, mode, chunks, embedded)

    async def _vector(self, text: str) -> bytes | None:
        if self._embedder is None:
            return None
        try:
            async with asyncio.timeout(EMBEDDING_S):
                return await self._embedder.embed_query(text)
        except Exception as problem:  # noqa: BLE001 - whatever ails the embedder, words still find something
            _LOG.warning("a question is answered by words alone, its vector could not be made: %s", type(problem).__name__)
            return None

    async def _words(self, question: _Question) -> _Worded:
        query, holdings = question.query, question.holdings
        terms = {term for word in question.asked for term in word.terms}
        words = weighed(question.asked, await holdings.entries(self._search_index, terms), holdings.lengths)
        found = scores(words, holdings.lengths)
        best = best_by_words(found, holdings.pages, question.allowed, question.depth, max(PER_PAGE, query.per_page))
        return _Worded(words, found, best)

    async def _ranked(self, question: _Question, worded: _Worded, vector: bytes | None) -> tuple[Ranked, SearchMode]:
        """Every candidate, the best first, and which halves took part."""
        query, best, found = question.query, worded.best, worded.scores
        compared = None if vector is None else await self._compared(question, worded, vector)
        if compared is None:
            ranked, mode = by_words(best, found), SearchMode.LEXICAL
        else:
            near, nearness = compared
            mode = query.mode
            ranked = by_meaning(near, nearness) if mode is SearchMode.DENSE else by_both(best, found, near, nearness)
        return ordered(ranked, question.holdings.pages, query.per_page), mode

    async def _compared(self, question: _Question, worded: _Worded, vector: bytes) -> tuple[Places, Floats] | None:
        """The nearest, with those that are the best by words in a hybrid; None while nobody can compare."""
        always = worded.best if question.query.mode is SearchMode.HYBRID else worded.best[:0]
        try:
            return await self._nearest(question, vector, always)
        except VectorsAway as problem:
            _LOG.warning("a question is answered by words alone: %s", problem)
            return None

    async def _nearest(self, question: _Question, vector: bytes, always: Places) -> tuple[Places, Floats]:
        model = self._embedder.model if self._embedder else ""
        holdings, depth = question.holdings, question.depth
        parts = []
        for index, (_, site, also) in enumerate(holdings.split(always)):
            mask = question.masks[index]
            among = None if mask is None else site.chunks.numbers[mask].astype("<u4").tobytes()
            if mask is not None and not mask.any():
                continue
            near = await self._search_index.likeness(site.site, model, vector, 2 * depth, also, among)
            places, live = holdings.places(index, np.asarray(near.numbers, np.uint32))
            nearness = np.asarray(np.round(np.asarray(near.scores, np.float64)[live], _SAME), np.float64)
            parts.append(certain(places, nearness, always, 2 * depth))
        return nearest(parts, always, depth)

    async def _hits(self, question: _Question, words: list[Weighed], ranked: Ranked) -> tuple[Hit, ...]:
        query = question.query
        read = await self._read(question.holdings, ranked, max(query.limit, READ))
        read = _side_by_side(question, words, read, ranked)
        read.sort(key=lambda one: (-one.score, one.card.site_name, str(one.card.url), one.card.start))
        worth = _worth(question.asked, words)
        return tuple(_hit(one, worth) for one in read[: query.limit])

    async def _read(self, holdings: Holdings, ranked: Ranked, count: int) -> list[_Read]:
        """The first so many that may be shown."""
        read: list[_Read] = []
        at = 0
        while len(read) < count and at < len(ranked.places):
            rows = np.arange(at, min(len(ranked.places), at + count - len(read)))
            some = ranked.at(rows)
            cards = await self._cards(holdings, some.places)
            read += [
                _Read(cards[place], place, score, lexical, dense)
                for place, score, lexical, dense in zip(
                    some.places.tolist(), some.scores.tolist(), some.lexical.tolist(), some.dense.tolist(), strict=True
                )
                if place in cards
            ]
            at += len(rows)
        return read

    async def _cards(self, holdings: Holdings, places: Places) -> dict[int, ChunkRecord]:
        cards: dict[int, ChunkRecord] = {}
        for index, (_, site, numbers) in enumerate(holdings.split(places)):
            if numbers:
                found = await self._search_index.chunk_records(site.site, numbers)
                standing, live = holdings.places(index, np.array([card.number for card in found], np.uint32))
                shown = [card for card, is_live in zip(found, live.tolist(), strict=True) if is_live]
                cards.update(zip(standing.tolist(), shown, strict=True))
        return cards


async def _nothing() -> None:
    return None


def _bounded(query: SearchQuery) -> SearchQuery:
    return replace(
        query,
        text=query.text[:MAX_QUESTION],
        limit=min(MAX_LIMIT, max(1, query.limit)),
        per_page=max(1, query.per_page),
    )


def _question(query: SearchQuery, holdings: Holdings) -> _Question:
    langs = tuple(sorted(holdings.langs)) or ("",)
    return _Question(query, holdings, holdings.masks(query), langs, query_terms(query.text, langs))


def _side_by_side(question: _Question, words: list[Weighed], read: list[_Read], ranked: Ranked) -> list[_Read]:
    """Scores with what words side by side add, in the measure in which words count, of all that may be among the answers.

    What postings say bounds what a text can get: one that stays behind the last answer even so is not looked at.
    """
    neighbours = Neighbours(question.query.text, question.langs, words)
    best = float(np.nanmax(ranked.lexical)) if len(read) and not np.isnan(ranked.lexical).all() else 0.0
    if best <= 0 or not neighbours:
        return read
    share = 1.0 if np.isnan(ranked.dense).all() else LEXICAL_WEIGHT / best
    lengths, limit = question.holdings.lengths, question.query.limit
    most = share * neighbours.most(np.array([one.place for one in read]), lengths) + [one.score for one in read]
    found: list[_Read] = []
    leading: list[float] = []
    for row in np.argsort(-most, kind="stable").tolist():
        if len(leading) == limit and most[row] < leading[0] - _ROUNDING:
            break
        one = read[row]
        added = neighbours.score(one.card.text, one.card.lang, float(lengths.norms[one.place]))
        found.append(replace(one, score=one.score + share * added))
        (heappush if len(leading) < limit else heappushpop)(leading, found[-1].score)
    return found


def _worth(asked: list[Asked], words: list[Weighed]) -> Mapping[str, float]:
    """What each term counts in a snippet. Words that say little are not shown, unless nothing else was asked."""
    shown = [word for word in asked if not word.is_small] or asked
    rarity = {word.asked.terms: word.rarity for word in words}
    return {term: word.weight * rarity.get(word.terms, 1.0) for word in shown for term in word.terms}


def _hit(read: _Read, worth: Mapping[str, float]) -> Hit:
    snippet = snippet_of(read.card.text, worth, read.card.lang)
    return Hit(
        card=read.card,
        score=read.score,
        lexical=None if np.isnan(read.lexical) else read.lexical,
        dense=None if np.isnan(read.dense) else read.dense,
        snippet=snippet.text,
        highlights=snippet.highlights,
    )
