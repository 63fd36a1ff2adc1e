"""Answers a query with chunks: by words (lexical), by meaning (dense), or by both (hybrid).

1. Lexical: postings → BM25 over every live chunk of the searched sites.
2. Dense: the query's vector → the nearest chunks, and the similarity of the best lexical ones.
3. Fusion: one score for the candidates of both.
4. Limit of chunks for each page.
5. Ledger: candidates whose record may no longer be shown are skipped, and the next ones are taken.
6. Texts: bonus for adjacent words, snippets.

The sites of a tenant are searched as one corpus. Equal scores are sorted by site, URL and position on the page, so the time at
which a chunk was indexed does not matter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from heapq import heappush, heappushpop

import numpy as np

from sitelore.index.corpus import Corpus, CorpusCache, Mask
from sitelore.index.lexical import Floats, PairScorer, Rows, ScoredTerm, bm25_scores, score_terms
from sitelore.index.ranking import (
    DEPTH,
    LEXICAL_WEIGHT,
    PER_PAGE,
    Ranked,
    lexical_candidates,
    merge_nearest,
    rank_dense,
    rank_hybrid,
    rank_lexical,
    sort_candidates,
    without_cut_ties,
)
from sitelore.index.snippets import best_anchor, make_snippet
from sitelore.index.terms import QueryTerm, query_terms
from sitelore.model.errors import VectorsAway
from sitelore.model.search import ChunkRecord, Hit, SearchAnswer, SearchMode, SearchQuery
from sitelore.ports import Embedder, SearchIndex

MAX_QUERY_CHARS = 2_000
MAX_LIMIT = 100
EMBEDDING_TIMEOUT_S = 5.0
"""A query whose vector takes longer is answered by words alone."""
MIN_LOADED = 30
"""Candidates whose texts are loaded to look for adjacent words."""

_SIMILARITY_DIGITS = 6
"""Further digits depend on the order of the rows of a matrix."""
_ROUNDING = 1e-9
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _PreparedQuery:
    """A query with its terms, and the corpus and filters it applies to."""

    query: SearchQuery
    corpus: Corpus
    masks: list[Mask | None]
    langs: tuple[str, ...]
    terms: list[QueryTerm]

    @property
    def depth(self) -> int:
        """Candidates of each retriever."""
        return max(DEPTH, 2 * self.query.limit)

    @property
    def allowed(self) -> Mask | None:
        if all(mask is None for mask in self.masks):
            return None
        sizes = (len(site.chunks) for site in self.corpus.sites)
        whole = [np.ones(size, np.bool_) if mask is None else mask for mask, size in zip(self.masks, sizes, strict=True)]
        return np.concatenate(whole)


@dataclass(frozen=True, slots=True)
class _LexicalResult:
    """The terms found in the corpus, the score of every chunk, and the best rows."""

    terms: list[ScoredTerm]
    scores: Floats
    best: Rows


@dataclass(frozen=True, slots=True)
class _LoadedCandidate:
    """A candidate with its stored record."""

    record: ChunkRecord
    row: int
    score: float
    lexical: float
    dense: float


class Searcher:
    """Searches the index. Without an embedder, or while it fails, by words alone."""

    def __init__(self, search_index: SearchIndex, embedder: Embedder | None = None) -> None:
        self._search_index = search_index
        self._embedder = embedder
        self._cache = CorpusCache(search_index)
        self._had_vectors = False

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """The best hits with snippets; none for a query without words."""
        query = _bounded(query)
        if query.mode is SearchMode.LEXICAL or not self._had_vectors:
            return await self._answer(query, None)
        # Embedding takes most of the time and runs in a thread: start it before it is known to be needed.
        embedding = asyncio.ensure_future(self._embed(query.text))
        try:
            return await self._answer(query, embedding)
        finally:
            embedding.cancel()

    async def _answer(self, query: SearchQuery, embedding: asyncio.Future[bytes | None] | None) -> SearchAnswer:
        stats = await self._search_index.site_stats(self._embedder.model if self._embedder else "")
        searched = [site for site in stats if site.chunks and (not query.sites or site.name in query.sites)]
        prepared = _prepare(query, await self._cache.corpus(searched))
        chunks = sum(
            len(site.chunks) if mask is None else int(mask.sum())
            for site, mask in zip(prepared.corpus.sites, prepared.masks, strict=True)
        )
        embedded = min(chunks, sum(site.embedded for site in searched))
        self._had_vectors = embedded > 0
        if not prepared.terms or not chunks:
            return SearchAnswer((), SearchMode.LEXICAL, chunks, embedded)
        needs_vector = embedded > 0 and query.mode is not SearchMode.LEXICAL
        awaited = (embedding or self._embed(query.text)) if needs_vector else _no_vector()
        vector, lexical = await asyncio.gather(awaited, self._search_lexical(prepared))
        ranked, mode = await self._rank(prepared, lexical, vector)
        hits = await self._hits(prepared, lexical.terms, ranked)
        return SearchAnswer(hits, mode, chunks, embedded)

    async def _embed(self, text: str) -> bytes | None:
        if self._embedder is None:
            return None
        try:
            async with asyncio.timeout(EMBEDDING_TIMEOUT_S):
                return await self._embedder.embed_query(text)
        except Exception as problem:  # noqa: BLE001 - whatever is wrong with the embedder, words still find something
            _LOG.warning("query answered by words alone, embedding it failed: %s", type(problem).__name__)
            return None

    async def _search_lexical(self, prepared: _PreparedQuery) -> _LexicalResult:
        query, corpus = prepared.query, prepared.corpus
        names = {name for term in prepared.terms for name in term.terms}
        terms = score_terms(prepared.terms, await corpus.postings(self._search_index, names), corpus.statistics)
        scores = corpus.weights * bm25_scores(terms, corpus.statistics)
        per_page = max(PER_PAGE, query.per_page)
        return _LexicalResult(
            terms, scores, lexical_candidates(scores, corpus.pages, prepared.allowed, prepared.depth, per_page)
        )

    async def _rank(self, prepared: _PreparedQuery, lexical: _LexicalResult, vector: bytes | None) -> tuple[Ranked, SearchMode]:
        """Every candidate, the best first, and the mode that was possible."""
        query, best, scores = prepared.query, lexical.best, lexical.scores
        nearest = None if vector is None else await self._search_dense(prepared, lexical, vector)
        if nearest is None:
            ranked, mode = rank_lexical(best, scores), SearchMode.LEXICAL
        else:
            rows, similarities = nearest
            mode = query.mode
            ranked = (
                rank_dense(rows, similarities) if mode is SearchMode.DENSE else rank_hybrid(best, scores, rows, similarities)
            )
        return sort_candidates(ranked, prepared.corpus.pages, query.per_page), mode

    async def _search_dense(
        self, prepared: _PreparedQuery, lexical: _LexicalResult, vector: bytes
    ) -> tuple[Rows, Floats] | None:
        """The nearest chunks, and in hybrid mode the best lexical ones; None while the vector store is unavailable."""
        always = lexical.best if prepared.query.mode is SearchMode.HYBRID else lexical.best[:0]
        try:
            return await self._nearest(prepared, vector, always)
        except VectorsAway as problem:
            _LOG.warning("query answered by words alone: %s", problem)
            return None

    async def _nearest(self, prepared: _PreparedQuery, vector: bytes, always: Rows) -> tuple[Rows, Floats]:
        model = self._embedder.model if self._embedder else ""
        corpus, depth = prepared.corpus, prepared.depth
        parts = []
        for index, (site, also) in enumerate(corpus.numbers_by_site(always)):
            mask = prepared.masks[index]
            among = None if mask is None else site.chunks.numbers[mask].astype("<u4").tobytes()
            if mask is not None and not mask.any():
                continue
            near = await self._search_index.nearest(site.site, model, vector, 2 * depth, also, among)
            rows, live = corpus.rows(index, np.asarray(near.numbers, np.uint32))
            scores = np.asarray(np.round(np.asarray(near.scores, np.float64)[live], _SIMILARITY_DIGITS), np.float64)
            parts.append(without_cut_ties(rows, scores, always, 2 * depth))
        return merge_nearest(parts, always, depth)

    async def _hits(self, prepared: _PreparedQuery, terms: list[ScoredTerm], ranked: Ranked) -> tuple[Hit, ...]:
        query = prepared.query
        candidates = await self._load(prepared.corpus, ranked, max(query.limit, MIN_LOADED))
        candidates = _with_pair_scores(prepared, terms, candidates, ranked)
        candidates.sort(key=_result_order)
        weights = _snippet_weights(prepared.terms, terms)
        return tuple(_hit(candidate, weights) for candidate in candidates[: query.limit])

    async def _load(self, corpus: Corpus, ranked: Ranked, count: int) -> list[_LoadedCandidate]:
        """The first `count` candidates that may be shown."""
        loaded: list[_LoadedCandidate] = []
        at = 0
        while len(loaded) < count and at < len(ranked.rows):
            indices = np.arange(at, min(len(ranked.rows), at + count - len(loaded)))
            batch = ranked.take(indices)
            records = await self._records(corpus, batch.rows)
            loaded += [
                _LoadedCandidate(records[row], row, score, lexical, dense)
                for row, score, lexical, dense in zip(
                    batch.rows.tolist(), batch.scores.tolist(), batch.lexical.tolist(), batch.dense.tolist(), strict=True
                )
                if row in records
            ]
            at += len(indices)
        return loaded

    async def _records(self, corpus: Corpus, rows: Rows) -> dict[int, ChunkRecord]:
        records: dict[int, ChunkRecord] = {}
        for index, (site, numbers) in enumerate(corpus.numbers_by_site(rows)):
            if numbers:
                stored = await self._search_index.chunk_records(site.site, numbers)
                live_rows, live = corpus.rows(index, np.array([record.number for record in stored], np.uint32))
                shown = [record for record, is_live in zip(stored, live.tolist(), strict=True) if is_live]
                records.update(zip(live_rows.tolist(), shown, strict=True))
        return records


async def _no_vector() -> None:
    return None


def _bounded(query: SearchQuery) -> SearchQuery:
    return replace(
        query,
        text=query.text[:MAX_QUERY_CHARS],
        limit=min(MAX_LIMIT, max(1, query.limit)),
        per_page=max(1, query.per_page),
    )


def _prepare(query: SearchQuery, corpus: Corpus) -> _PreparedQuery:
    langs = tuple(sorted(corpus.langs)) or ("",)
    return _PreparedQuery(query, corpus, corpus.masks(query), langs, query_terms(query.text, langs))


def _with_pair_scores(
    prepared: _PreparedQuery, terms: list[ScoredTerm], candidates: list[_LoadedCandidate], ranked: Ranked
) -> list[_LoadedCandidate]:
    """Add the bonus for adjacent words, weighted like lexical scores, to all candidates that can be among the hits.

    Postings bound the bonus of a text: candidates that stay behind the last hit even with it are not read.
    """
    pairs = PairScorer(prepared.query.text, prepared.langs, terms)
    best = float(np.nanmax(ranked.lexical)) if len(candidates) and not np.isnan(ranked.lexical).all() else 0.0
    if best <= 0 or not pairs:
        return candidates
    weight = 1.0 if np.isnan(ranked.dense).all() else LEXICAL_WEIGHT / best
    statistics, limit = prepared.corpus.statistics, prepared.query.limit
    rows = np.array([candidate.row for candidate in candidates])
    bounds = weight * pairs.upper_bounds(rows, statistics) + [candidate.score for candidate in candidates]
    scored: list[_LoadedCandidate] = []
    top_scores: list[float] = []
    for index in np.argsort(-bounds, kind="stable").tolist():
        if len(top_scores) == limit and bounds[index] < top_scores[0] - _ROUNDING:
            break
        candidate = candidates[index]
        bonus = pairs.score(candidate.record.text, candidate.record.lang, float(statistics.norms[candidate.row]))
        scored.append(replace(candidate, score=candidate.score + weight * bonus))
        (heappush if len(top_scores) < limit else heappushpop)(top_scores, scored[-1].score)
    return scored


def _result_order(candidate: _LoadedCandidate) -> tuple[float, str, str, int]:
    record = candidate.record
    return -candidate.score, record.site_name, str(record.url), record.start


def _snippet_weights(query_terms: list[QueryTerm], terms: list[ScoredTerm]) -> Mapping[str, float]:
    """The weight of each term in a snippet. Stop words have none, unless the query consists of them."""
    shown = [term for term in query_terms if not term.is_stop_word] or query_terms
    idf = {term.query_term.terms: term.idf for term in terms}
    return {name: term.weight * idf.get(term.terms, 1.0) for term in shown for name in term.terms}


def _hit(candidate: _LoadedCandidate, weights: Mapping[str, float]) -> Hit:
    snippet = make_snippet(candidate.record.text, weights, candidate.record.lang)
    anchor, is_at_anchor = best_anchor(candidate.record, weights)
    return Hit(
        chunk=candidate.record,
        anchor=anchor,
        is_at_anchor=is_at_anchor,
        score=candidate.score,
        lexical=None if np.isnan(candidate.lexical) else candidate.lexical,
        dense=None if np.isnan(candidate.dense) else candidate.dense,
        snippet=snippet.text,
        highlights=snippet.highlights,
    )
