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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappush, heappushpop

import numpy as np

from sitelore.index.corpus import Corpus, CorpusCache, Mask
from sitelore.index.explain import explain_words
from sitelore.index.lexical import Floats, PairScorer, Rows, ScoredTerm, best_possible, bm25_scores, score_terms
from sitelore.index.plain_text import plain_text
from sitelore.index.query_syntax import ParsedQuery, parse_query
from sitelore.index.ranking import (
    DEPTH,
    LEXICAL_WEIGHT,
    PER_PAGE,
    Ranked,
    lexical_candidates,
    lexical_weight,
    merge_nearest,
    rank_dense,
    rank_hybrid,
    rank_lexical,
    sort_candidates,
    strength,
    without_cut_ties,
)
from sitelore.index.snippets import best_anchor, make_snippet, shortened
from sitelore.index.spelling import nearest_term
from sitelore.index.terms import WORD, QueryTerm, query_terms, terms_of
from sitelore.model.errors import VectorsUnavailable
from sitelore.model.search import ChunkRecord, Explanation, Hit, SearchAnswer, SearchMode, SearchQuery, SiteIndexStats
from sitelore.ports import Embedder, Reranker, SearchIndex

MAX_QUERY_CHARS = 2_000
MAX_LIMIT = 100
EMBEDDING_TIMEOUT_S = 5.0
"""A query whose vector takes longer is answered by words alone."""
MIN_LOADED = 30
"""Candidates whose texts are loaded to look for adjacent words."""
PHRASE_DEPTH = 1_000
"""Candidates of each retriever where most may lack a phrase."""
ENOUGH_VECTORS = 0.9
"""The share of a site's chunks that must have a vector before words and meaning are combined: else the few with one win."""
MIN_UNKNOWN_WORDS = 3
"""Words of a query that is answered by meaning alone when none of them is on any page."""
MAX_PREFIX_TERMS = 50
MAX_NEIGHBOURS = 3
MAX_PAGE_CHUNKS = 2_000
"""Chunks of a page that are searched for the neighbours of one."""
MAX_KNOWN_TERMS = 20_000
"""Terms that a misspelt word is compared with: those with its first letter."""
MAX_CORRECTED = 4
"""Unknown words of a query that are compared with known ones."""
CORRECTED_WEIGHT = 0.5
"""Weight in a query of the known term that an unknown word is like."""

RERANKED = 30
"""The best candidates, which a reranker sorts anew."""
RERANKING_TIMEOUT_S = 10.0
MIN_COPY_CHARS = 100
"""Shorter texts may be equal by chance."""
COPY_SHARE, MIN_COPY_TERMS = 0.8, 25
"""A text is a copy of another one that has this share of its different terms, if both have so many."""
WHOLE_BOOK_FACTOR = 2
"""How many times more chunks the page of a copy has than the page of the original."""

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
    phrases: tuple[str, ...] = ()
    is_embedded: tuple[bool, ...] = ()
    """For each site whether enough of its chunks have vectors to be compared by meaning."""

    @property
    def depth(self) -> int:
        """Candidates of each retriever."""
        return PHRASE_DEPTH if self.phrases else max(DEPTH, 2 * self.query.limit)

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
    corrected: Mapping[str, str]
    """Known terms by the unknown words of the query that they are like."""


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

    def __init__(self, search_index: SearchIndex, embedder: Embedder | None = None, reranker: Reranker | None = None) -> None:
        self._search_index = search_index
        self._embedder = embedder
        self._reranker = reranker
        self._cache = CorpusCache(search_index)
        self._had_vectors = False

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """The best hits with snippets; none for a query without words."""
        parsed = parse_query(_bounded(query))
        query = parsed.query
        if query.mode is SearchMode.LEXICAL or not self._had_vectors:
            return await self._answer(parsed, None)
        # Embedding takes most of the time and runs in a thread: start it before it is known to be needed.
        embedding = asyncio.ensure_future(self._embed(query.text))
        try:
            return await self._answer(parsed, embedding)
        finally:
            embedding.cancel()

    async def _answer(self, parsed: ParsedQuery, embedding: asyncio.Future[bytes | None] | None) -> SearchAnswer:
        query = parsed.query
        stats = await self._search_index.site_stats(self._embedder.model if self._embedder else "")
        searched = [site for site in stats if site.chunks and (not query.sites or any(map(site.is_named, query.sites)))]
        prepared = await self._prepare(parsed, searched)
        chunks = sum(
            len(site.chunks) if mask is None else int(mask.sum())
            for site, mask in zip(prepared.corpus.sites, prepared.masks, strict=True)
        )
        embedded = min(chunks, sum(site.embedded for site in searched))
        self._had_vectors = any(prepared.is_embedded)
        if not prepared.terms or not chunks:
            return SearchAnswer((), SearchMode.LEXICAL, chunks, embedded)
        lexical = await self._search_lexical(prepared)
        needs_vector = query.mode is not SearchMode.LEXICAL and any(prepared.is_embedded)
        if not lexical.terms and len(prepared.terms) < MIN_UNKNOWN_WORDS and query.mode is SearchMode.HYBRID:
            needs_vector = False  # an unknown name is not a question that something similar would answer
        vector = await (embedding or self._embed(query.text)) if needs_vector else None
        ranked, mode = await self._rank(prepared, lexical, vector)
        hits = await self._hits(prepared, lexical, ranked)
        suggestion = await self._suggestion(prepared, lexical.corrected)
        return SearchAnswer(hits, mode, chunks, embedded, suggestion)

    async def _prepare(self, parsed: ParsedQuery, searched: Sequence[SiteIndexStats]) -> _PreparedQuery:
        corpus = await self._cache.corpus(searched)
        langs = tuple(sorted(corpus.langs)) or ("",)
        terms = query_terms(parsed.query.text, langs)
        for prefix in parsed.prefixes:
            known = await corpus.known_terms(self._search_index, prefix.casefold(), MAX_PREFIX_TERMS)
            stems = [name for term in query_terms(prefix, langs) for name in term.terms]
            terms.append(QueryTerm(tuple(dict.fromkeys((*known, *stems)))))
        enough = ENOUGH_VECTORS if parsed.query.mode is SearchMode.HYBRID else 0.0
        by_site = {site.site: site.embedded > 0 and site.embedded >= enough * site.chunks for site in searched}
        is_embedded = tuple(by_site[site.site] for site in corpus.sites)
        return _PreparedQuery(parsed.query, corpus, corpus.masks(parsed.query), langs, terms, parsed.phrases, is_embedded)

    async def _corrected_terms(self, prepared: _PreparedQuery, known: Iterable[QueryTerm]) -> dict[str, str]:
        """The known term that is most like each unknown word of the query, for words that have one."""
        known_names = {name for term in known for name in term.terms}
        corrected, unknown = dict[str, str](), 0
        for word in dict.fromkeys(WORD.findall(prepared.query.text)):
            terms = query_terms(word, prepared.langs)
            names = [name for term in terms for name in term.terms]
            if not names or known_names.intersection(names) or any(term.is_stop_word for term in terms):
                continue
            near = await prepared.corpus.known_terms(self._search_index, names[0][:1], MAX_KNOWN_TERMS)
            if term := nearest_term(names[0], near.items()):
                corrected[word] = term
            if (unknown := unknown + 1) == MAX_CORRECTED:
                break
        return corrected

    async def _suggestion(self, prepared: _PreparedQuery, corrected: Mapping[str, str]) -> str:
        """The query with known words in place of unknown ones; empty where there are none like them."""
        text = prepared.query.text
        for word, term in corrected.items():
            text = text.replace(word, await self._written_form(prepared, term))
        return text.strip() if text != prepared.query.text else ""

    async def _written_form(self, prepared: _PreparedQuery, term: str) -> str:
        """A word of a page that has this term: terms are stems."""
        postings = await prepared.corpus.postings(self._search_index, [term])
        rows = postings[term].rows[:1] if term in postings else np.empty(0, np.int64)
        for record in (await self._records(prepared.corpus, rows)).values():
            for word in WORD.findall(f"{record.title} {record.text}"):
                if term in terms_of(word, record.lang):
                    return str(word).casefold()
        return term

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
        corrected: dict[str, str] = {}
        if len(terms) < len(prepared.terms) and query.mode is not SearchMode.DENSE:
            corrected = await self._corrected_terms(prepared, (term.query_term for term in terms))
            # An unknown word alone is answered by a suggestion; beside known ones, what it is like helps to rank.
            others = [QueryTerm((name,), CORRECTED_WEIGHT) for name in dict.fromkeys(corrected.values())] if terms else []
            postings = await corpus.postings(self._search_index, {name for term in others for name in term.terms})
            known = {name for term in terms for name in term.query_term.terms}
            terms += [
                term for term in score_terms(others, postings, corpus.statistics) if term.query_term.terms[0] not in known
            ]
        scores = corpus.weights * bm25_scores(terms, corpus.statistics)
        allowed = prepared.allowed
        if prepared.phrases:
            allowed = _with_all_words(prepared, terms, allowed)
        per_page = max(PER_PAGE, query.per_page)
        return _LexicalResult(
            terms, scores, lexical_candidates(scores, corpus.pages, allowed, prepared.depth, per_page), corrected
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
            if mode is SearchMode.DENSE:
                ranked = rank_dense(rows, similarities)
            else:
                ideal = best_possible(prepared.terms, lexical.terms, prepared.corpus.statistics)
                weight = lexical_weight(float(scores[best].max(initial=0.0)) / ideal if ideal > 0 else 0.0)
                ranked = rank_hybrid(best, scores, rows, similarities, weight)
            ranked = replace(ranked, scores=ranked.scores * prepared.corpus.weights[ranked.rows])
        return sort_candidates(ranked, prepared.corpus.pages, query.per_page), mode

    async def _search_dense(
        self, prepared: _PreparedQuery, lexical: _LexicalResult, vector: bytes
    ) -> tuple[Rows, Floats] | None:
        """The nearest chunks, and in hybrid mode the best lexical ones; None while the vector store is unavailable."""
        always = lexical.best if prepared.query.mode is SearchMode.HYBRID else lexical.best[:0]
        try:
            return await self._nearest(prepared, vector, always)
        except VectorsUnavailable as problem:
            _LOG.warning("query answered by words alone: %s", problem)
            return None

    async def _nearest(self, prepared: _PreparedQuery, vector: bytes, always: Rows) -> tuple[Rows, Floats]:
        model = self._embedder.model if self._embedder else ""
        corpus, depth = prepared.corpus, prepared.depth
        parts = []
        for index, (site, also) in enumerate(corpus.numbers_by_site(always)):
            mask = prepared.masks[index]
            among = None if mask is None else site.chunks.numbers[mask].astype("<u4").tobytes()
            if not prepared.is_embedded[index] or (mask is not None and not mask.any()):
                continue
            near = await self._search_index.nearest(site.site, model, vector, 2 * depth, also, among)
            rows, live = corpus.rows(index, np.asarray(near.numbers, np.uint32))
            scores = np.asarray(np.round(np.asarray(near.scores, np.float64)[live], _SIMILARITY_DIGITS), np.float64)
            parts.append(without_cut_ties(rows, scores, always, 2 * depth))
        return merge_nearest(parts, always, depth)

    async def _hits(self, prepared: _PreparedQuery, lexical: _LexicalResult, ranked: Ranked) -> tuple[Hit, ...]:
        query, terms = prepared.query, lexical.terms
        candidates = await self._load(prepared, ranked, max(query.limit, MIN_LOADED))
        candidates = _with_pair_scores(prepared, terms, candidates, ranked)
        candidates.sort(key=_result_order)
        weights = _snippet_weights(prepared.terms, terms)
        top = max((candidate.score for candidate in candidates), default=0.0)
        ideal = best_possible(prepared.terms, terms, prepared.corpus.statistics)
        unit = min(1.0, strength(ranked, ideal)) / top if top > 0 else 0.0
        candidates = [replace(candidate, score=unit * candidate.score) for candidate in candidates]
        candidates = without_copies(candidates, prepared.corpus)
        if self._reranker is not None:
            candidates = await self._rerank(self._reranker, query.text, candidates)
        hits = [_hit(candidate, weights) for candidate in candidates[: query.limit]]
        if query.max_tokens is not None:
            hits = _within_budget(hits, query.max_tokens)
        if query.neighbours:
            hits = [replace(hit, neighbours=await self._neighbours(prepared, hit, query.neighbours)) for hit in hits]
            if query.max_tokens is not None:
                hits = _with_neighbours_within_budget(hits, query.max_tokens)
        if query.explain:
            hits = [
                replace(hit, explanation=_explanation(prepared, terms, candidate))
                for hit, candidate in zip(hits, candidates, strict=False)
            ]
        return tuple(hits)

    async def _rerank(self, reranker: Reranker, query: str, candidates: list[_LoadedCandidate]) -> list[_LoadedCandidate]:
        """The candidates with the best ones in the order of the reranker; in the present order while it is unavailable."""
        best, others = candidates[:RERANKED], candidates[RERANKED:]
        try:
            async with asyncio.timeout(RERANKING_TIMEOUT_S):
                scores = await reranker.scores(query, [_text_of(candidate.record) for candidate in best])
        except Exception as problem:  # noqa: BLE001 - whatever is wrong with the reranker, the results are there
            _LOG.warning("results are not re-ranked: %s", problem or type(problem).__name__)
            return candidates
        best = sorted((replace(one, score=score) for one, score in zip(best, scores, strict=True)), key=_result_order)
        lowest = best[-1].score if best else 0.0
        return best + [replace(other, score=lowest * other.score) for other in others]

    async def _neighbours(self, prepared: _PreparedQuery, hit: Hit, count: int) -> tuple[ChunkRecord, ...]:
        """The chunks before and after a hit on its page, in order."""
        corpus = prepared.corpus
        index = next(at for at, site in enumerate(corpus.sites) if site.site == hit.chunk.site)
        rows, _ = corpus.rows(index, np.array([hit.chunk.number], np.uint32))
        of_page = np.flatnonzero(corpus.pages == corpus.pages[rows[0]])[:MAX_PAGE_CHUNKS] if len(rows) else rows
        records = sorted((await self._records(corpus, of_page)).values(), key=lambda record: record.start)
        at = next((at for at, record in enumerate(records) if record.number == hit.chunk.number), 0)
        return tuple(records[max(0, at - count) : at] + records[at + 1 : at + 1 + count])

    async def _load(self, prepared: _PreparedQuery, ranked: Ranked, count: int) -> list[_LoadedCandidate]:
        """The first `count` candidates that may be shown, and contain the phrases of the query."""
        loaded: list[_LoadedCandidate] = []
        at = 0
        while len(loaded) < count and at < len(ranked.rows):
            indices = np.arange(at, min(len(ranked.rows), at + count - len(loaded)))
            batch = ranked.take(indices)
            records = await self._records(prepared.corpus, batch.rows)
            loaded += [
                _LoadedCandidate(records[row], row, score, lexical, dense)
                for row, score, lexical, dense in zip(
                    batch.rows.tolist(), batch.scores.tolist(), batch.lexical.tolist(), batch.dense.tolist(), strict=True
                )
                if row in records and _has_phrases(records[row], prepared.phrases)
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


def _bounded(query: SearchQuery) -> SearchQuery:
    return replace(
        query,
        text=query.text[:MAX_QUERY_CHARS],
        limit=min(MAX_LIMIT, max(1, query.limit)),
        per_page=max(1, query.per_page),
        neighbours=min(MAX_NEIGHBOURS, max(0, query.neighbours)),
    )


def _within_budget(hits: list[Hit], max_tokens: int) -> list[Hit]:
    """The first hits whose texts have no more tokens than this together; the first one is shortened if it alone has more."""
    total, within = 0, list[Hit]()
    for hit in hits:
        total += hit.chunk.tokens
        if total > max_tokens:
            break
        within.append(hit)
    return within or [_shortened(hit, max_tokens) for hit in hits[:1]]


def _shortened(hit: Hit, max_tokens: int) -> Hit:
    text = shortened(hit.chunk.text, max_tokens)
    return replace(hit, chunk=replace(hit.chunk, text=text, tokens=min(hit.chunk.tokens, max_tokens)), is_shortened=True)


def _with_neighbours_within_budget(hits: list[Hit], max_tokens: int) -> list[Hit]:
    """The hits with as many neighbours as their tokens allow, those of the best hits first and the nearest ones first."""
    left = max_tokens - sum(hit.chunk.tokens for hit in hits)
    fitting = []
    for hit in hits:
        by_distance = sorted(hit.neighbours, key=lambda near: abs(near.start - hit.chunk.start))
        kept = set[int]()
        for near in by_distance:
            if near.tokens <= left:
                left -= near.tokens
                kept.add(near.number)
        fitting.append(replace(hit, neighbours=tuple(near for near in hit.neighbours if near.number in kept)))
    return fitting


def _with_all_words(prepared: _PreparedQuery, terms: list[ScoredTerm], allowed: Mask | None) -> Mask:
    """The allowed chunks that contain every word of the phrases, in whatever order."""
    scored = {name: term for term in terms for name in term.query_term.terms}
    mask = np.ones(len(prepared.corpus), np.bool_) if allowed is None else allowed.copy()
    for phrase in prepared.phrases:
        for term in query_terms(phrase, prepared.langs):
            containing = np.zeros(len(mask), np.bool_)
            for name in term.terms:
                if name in scored:
                    containing[scored[name].postings.rows] = True
            mask &= containing
    return mask


def _has_phrases(record: ChunkRecord, phrases: Sequence[str]) -> bool:
    """Whether a chunk contains phrases as they are written, but for case and white space."""
    if not phrases:
        return True
    text = " ".join([record.title, *record.headings, plain_text(record.text), record.text]).casefold()
    text = " ".join(text.split())
    return all(" ".join(phrase.casefold().split()) in text for phrase in phrases)


def _explanation(prepared: _PreparedQuery, terms: list[ScoredTerm], candidate: _LoadedCandidate) -> Explanation:
    corpus, record = prepared.corpus, candidate.record
    pairs = PairScorer(prepared.query.text, prepared.langs, terms)
    adjacent = pairs.score(record.text, record.lang, float(corpus.statistics.norms[candidate.row])) if pairs else 0.0
    words = explain_words(record, candidate.row, terms, corpus.statistics)
    return Explanation(words, adjacent, float(corpus.weights[candidate.row]))


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


def _text_of(record: ChunkRecord) -> str:
    """What a model reads of a chunk: its headings, its lead and its text."""
    return "\n".join(part for part in (" > ".join(record.headings) or record.title, record.lead, record.text) if part)


def without_copies(candidates: list[_LoadedCandidate], corpus: Corpus) -> list[_LoadedCandidate]:
    """The candidates without texts that are returned from another page.

    Of equal texts the first candidate stays; of a page that holds a whole book and a page of its own with the same text, the
    page of its own, with the better score of both.
    """
    chunks = np.bincount(corpus.pages) if len(corpus.pages) else np.empty(0, np.int64)

    def page_size(candidate: _LoadedCandidate) -> int:
        return int(chunks[corpus.pages[candidate.row]])

    of_text: dict[tuple[str, ...], _LoadedCandidate] = {}
    for candidate in candidates:
        record = candidate.record
        is_short = len(record.text) < MIN_COPY_CHARS
        text = (record.site_name, str(record.number)) if is_short else (record.lead, record.text)
        first = of_text.setdefault(text, candidate)
        if WHOLE_BOOK_FACTOR * page_size(candidate) <= page_size(first):
            of_text[text] = replace(candidate, score=first.score)
    kept = list(of_text.values())
    sizes = list(map(page_size, kept))
    terms: dict[int, frozenset[str]] = {}

    def terms_at(at: int) -> frozenset[str]:
        if at not in terms:
            terms[at] = frozenset(terms_of(kept[at].record.text, kept[at].record.lang))
        return terms[at]

    dropped = set[int]()
    for book in sorted(range(len(kept)), key=lambda at: -sizes[at]):
        for single in range(len(kept)):
            is_single = single not in dropped and WHOLE_BOOK_FACTOR * sizes[single] <= sizes[book]
            if is_single and _is_copy(terms_at(book), terms_at(single)):
                kept[single] = replace(kept[single], score=max(kept[single].score, kept[book].score))
                dropped.add(book)
                break
    return sorted((candidate for at, candidate in enumerate(kept) if at not in dropped), key=_result_order)


def _is_copy(terms: frozenset[str], others: frozenset[str]) -> bool:
    fewer = min(len(terms), len(others))
    return fewer >= MIN_COPY_TERMS and len(terms & others) >= COPY_SHARE * fewer


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
