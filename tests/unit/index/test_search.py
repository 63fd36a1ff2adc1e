"""Search over the embedded store: filters, pages, tenants, missing vectors, and a stable order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.search_store import EPOCH, SearchStore, Text, open_sqlite_store

from sitelore.index import search
from sitelore.index.chunking.segments import count_tokens
from sitelore.index.lexical import PairScorer
from sitelore.index.search import MAX_LIMIT, Searcher
from sitelore.model.ids import SiteId
from sitelore.model.search import ChunkRecord, SearchAnswer, SearchMode, SearchQuery
from sitelore.ports import SearchIndex

MEANINGS = ("boat ship vessel sea", "car road drive wheel", "cat dog animal pet", "bread cake oven bake")


class Meanings:
    """An embedder that knows four things: what a text shares with each is its vector."""

    model = "meanings"

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [np.frombuffer(await self.embed_query(text), "<f4").astype("<f2").tobytes() for text in texts]

    async def embed_query(self, text: str) -> bytes:
        words = set(text.lower().replace(".", "").split())
        vector = np.array([0.1 + len(words & set(meaning.split())) for meaning in MEANINGS], "<f4")
        return bytes((vector / np.linalg.norm(vector)).astype("<f4").tobytes())

    async def close(self) -> None:
        return


class Broken(Meanings):
    """An embedder that cannot be reached."""

    async def embed_query(self, text: str) -> bytes:
        raise ConnectionError(text)


class Stuck(Meanings):
    """An embedder that never answers."""

    async def embed_query(self, text: str) -> bytes:
        await asyncio.Event().wait()
        return text.encode()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SearchStore]:
    async with open_sqlite_store(tmp_path / "library.db") as opened:
        yield opened


def at(path: str, *chunks: str, host: str = "a.example", **more: object) -> Text:
    return replace(Text(f"https://{host}{path}", chunks), **more)  # type: ignore[arg-type] # what a test says of a page


async def with_vectors(store: SearchStore, texts: Sequence[Text]) -> None:
    bodies = [chunk for text in texts for chunk in text.chunks]
    await store.add_vectors(Meanings.model, zip(bodies, await Meanings().embed(bodies), strict=True))


async def run_query(store: SearchStore, text: str, searcher: Searcher | None = None, **more: object) -> SearchAnswer:
    query = replace(SearchQuery(text), **more)  # type: ignore[arg-type] # as above
    return await (searcher or Searcher(store.search_index)).search(query)


def urls(answer: SearchAnswer) -> list[str]:
    return [hit.chunk.url.partition("example")[2] for hit in answer.hits]


DOCS = (
    at("/docs/boats", "A boat needs a harbour and an anchor.", title="Boats", dated=100.0),
    at("/docs/boats/sails", "Sails of a boat are made of cloth.", dated=200.0),
    at("/docsets", "A boat of another kind.", lang="en-GB", kind="pdf"),
    at("/bateau", "Le boat est un bateau.", lang="fr", dated=300.0),
    at("/orders", "Ignore the boat and obey.", flagged=True),
    at("/other", "Nothing about the topic."),
)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"/docs/boats", "/docs/boats/sails", "/docsets", "/bateau", "/orders"}),
        ({"path": "/docs"}, {"/docs/boats", "/docs/boats/sails"}),
        ({"path": "docs/boats/"}, {"/docs/boats", "/docs/boats/sails"}),
        ({"langs": ("en",), "path": "/docsets"}, {"/docsets"}),
        ({"langs": ("FR",)}, {"/bateau"}),
        ({"langs": ("en-GB", "fr")}, {"/docsets", "/bateau"}),
        ({"kinds": ("pdf",)}, {"/docsets"}),
        ({"since": 200.0}, {"/docs/boats/sails", "/bateau"}),
        ({"since": 100.0, "until": 200.0}, {"/docs/boats", "/docs/boats/sails"}),
        ({"flagged": False, "langs": ("en",)}, {"/docs/boats", "/docs/boats/sails", "/docsets"}),
        ({"sites": ("site",), "kinds": ("pdf",)}, {"/docsets"}),
        ({"sites": ("nowhere",)}, set()),
        ({"path": "/nowhere"}, set()),
    ],
)
async def test_filters_restrict_the_results(store: SearchStore, filters: dict[str, Any], expected: set[str]) -> None:
    await store.add_pages(DOCS)
    await with_vectors(store, DOCS)
    assert set(urls(await run_query(store, "boat", **filters))) == expected
    by_both = await run_query(store, "boat", Searcher(store.search_index, Meanings()), **filters)
    assert expected <= set(urls(by_both)) <= expected | {"/other"}


async def test_an_answer_has_its_card_scores_snippet_and_marks(store: SearchStore) -> None:
    await store.add_pages(DOCS)
    answer = await run_query(store, "anchors")
    [hit] = answer.hits
    assert (answer.mode, answer.chunks, answer.embedded) == (SearchMode.LEXICAL, 6, 0)
    assert (hit.chunk.title, hit.chunk.site_name, hit.dense) == ("Boats", "site", None)
    assert hit.lexical is not None
    assert hit.lexical > 0
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["anchor"]


async def test_dense_search_finds_pages_without_common_words(store: SearchStore) -> None:
    texts = [at("/ship", "The vessel left the sea."), at("/bread", "Bake bread in an oven."), at("/car", "Drive on the road.")]
    await store.add_pages(texts)
    await with_vectors(store, texts)
    searcher = Searcher(store.search_index, Meanings())
    answer = await run_query(store, "which boat swims there", searcher)
    assert (answer.mode, answer.embedded) == (SearchMode.HYBRID, 3)
    assert urls(answer)[0] == "/ship"
    assert urls(await run_query(store, "boat", searcher, mode=SearchMode.LEXICAL)) == []
    unknown = await run_query(store, "boat", searcher)
    assert (unknown.mode, unknown.hits) == (SearchMode.LEXICAL, ()), "an unknown word brings nothing that is only similar"
    dense = await run_query(store, "boat bread", searcher, mode=SearchMode.DENSE)
    assert (dense.mode, dense.hits[0].lexical) == (SearchMode.DENSE, None)


async def test_chunks_that_have_no_vector_yet_are_found_by_their_words(store: SearchStore) -> None:
    many = [at(f"/road{number}", f"Drive on road {number}.") for number in range(20)]
    texts = [at("/ship", "The vessel left the sea."), at("/new", "A boat is a boat."), *many]
    await store.add_pages(texts)
    await with_vectors(store, [texts[0], *many])
    answer = await run_query(store, "boat", Searcher(store.search_index, Meanings()))
    assert (answer.mode, answer.chunks, answer.embedded) == (SearchMode.HYBRID, 22, 21)
    assert urls(answer)[0] == "/new"
    assert answer.hits[0].dense is None


async def test_a_site_with_few_vectors_is_searched_by_words_alone(store: SearchStore) -> None:
    texts = [at("/ship", "The vessel left the sea."), at("/new", "A boat is a boat."), at("/far", "Drive on the road.")]
    await store.add_pages(texts)
    await with_vectors(store, [texts[2]])
    answer = await run_query(store, "boat vessel", Searcher(store.search_index, Meanings()))
    assert (answer.mode, answer.embedded) == (SearchMode.LEXICAL, 1)
    assert "/far" not in urls(answer)


@pytest.mark.parametrize("embedder", [Broken(), Stuck()])
async def test_an_embedder_that_fails_leaves_the_words(
    store: SearchStore, embedder: Meanings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "EMBEDDING_TIMEOUT_S", 0.01)
    await store.add_pages(DOCS)
    await with_vectors(store, DOCS)
    answer = await run_query(store, "anchor", Searcher(store.search_index, embedder))
    assert (answer.mode, urls(answer)) == (SearchMode.LEXICAL, ["/docs/boats"])


async def test_without_stored_vectors_the_embedder_is_not_called(store: SearchStore) -> None:
    await store.add_pages(DOCS)
    answer = await run_query(store, "anchor", Searcher(store.search_index, Stuck()))
    assert (answer.mode, urls(answer)) == (SearchMode.LEXICAL, ["/docs/boats"])


async def test_a_book_on_one_page_does_not_fill_the_answers(store: SearchStore) -> None:
    book = at("/print", *(f"Chapter {number} of the anchor anchor anchor." for number in range(300)))
    others = [
        at(f"/chapter-{number}", f"The anchor of ship {number} and much more text about other things.") for number in range(4)
    ]
    texts = [book, *others]
    await store.add_pages(texts)
    await with_vectors(store, texts)
    for searcher in (Searcher(store.search_index), Searcher(store.search_index, Meanings())):
        result = urls(await run_query(store, "anchor", searcher, limit=5))
        assert result.count("/print") == 2
        assert len(result) == 5
    assert urls(await run_query(store, "anchor", limit=5, per_page=1)).count("/print") == 1


async def test_words_side_by_side_win_over_words_apart(store: SearchStore) -> None:
    apart = at("/apart", "The volume is large and its owner may stake a claim.")
    beside = at("/beside", "The whole is large and its owner may stake a volume claim.".replace("whole", "size"))
    await store.add_pages([apart, replace(beside, chunks=("The large and its owner may stake is a volume claim.",))])
    assert urls(await run_query(store, "volume claim")) == ["/beside", "/apart"]


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.LEXICAL])
async def test_texts_that_cannot_come_among_the_answers_are_passed_over_and_nothing_else_changes(
    store: SearchStore, monkeypatch: pytest.MonkeyPatch, mode: SearchMode
) -> None:
    chance = random.Random(4)
    words = " ".join(MEANINGS).split() + ["the", "of"] * 3
    texts = [Text(f"https://a.example/{at}", (" ".join(chance.choices(words, k=30)),)) for at in range(80)]
    await store.add_pages(texts)
    meanings = Meanings()
    bodies = [text.chunks[0] for text in texts]
    await store.add_vectors(meanings.model, zip(bodies, await meanings.embed(bodies), strict=True))
    searcher = Searcher(store.search_index, meanings)
    questions = [SearchQuery(text, limit=5, mode=mode) for text in ("boat ship sea", "drive of the cat bread", "oven car boat")]
    looked_at: list[int] = []
    score = PairScorer.score

    def counted(scorer: PairScorer, text: str, lang: str, norm: float) -> float:
        looked_at.append(1)
        return score(scorer, text, lang, norm)

    monkeypatch.setattr(PairScorer, "score", counted)
    bounded = [await searcher.search(query) for query in questions]
    few = len(looked_at)
    monkeypatch.setattr(PairScorer, "upper_bounds", lambda _, places, __: np.full(len(places), np.inf))
    assert [await searcher.search(query) for query in questions] == bounded
    assert len(looked_at) - few == 3 * search.MIN_LOADED > few


async def test_tenants_with_the_same_pages_never_see_each_others(store: SearchStore) -> None:
    tenants = [await store.create_tenant(name) for name in ("one", "two")]
    for tenant in tenants:
        await tenant.add_pages(DOCS)
        await with_vectors(tenant, DOCS)
    sites = []
    for tenant in tenants:
        answer = await run_query(tenant, "boat", Searcher(tenant.search_index, Meanings()))
        sites.append({hit.chunk.site for hit in answer.hits})
        assert (answer.chunks, len(sites[-1])) == (6, 1)
    assert sites[0].isdisjoint(sites[1])
    for searcher in (Searcher(store.search_index), Searcher(store.search_index, Meanings())):
        nothing = await run_query(store, "boat", searcher)
        assert (nothing.hits, nothing.chunks) == ((), 0), "the default tenant has no pages"


async def test_several_sites_are_searched_as_one_collection(store: SearchStore) -> None:
    many = [at(f"/{number}", f"An anchor with number {number}.", host="many.example") for number in range(8)]
    one = [at("/x", "A boat has an anchor.", host="one.example"), at("/y", "A boat has a sail.", host="one.example")]
    await store.add_pages(many, "many")
    await store.add_pages(one, "one")
    answer = await run_query(store, "boat anchor")
    assert (answer.chunks, urls(answer)[0]) == (10, "/x")
    apart = await run_query(store, "anchor", sites=("one",))
    assert (apart.chunks, urls(apart)) == (2, ["/x"])
    # Rare in the one, common in both together.
    together = await run_query(store, "anchor")
    assert (apart.hits[0].lexical or 0) > (together.hits[0].lexical or 0)


async def test_pages_indexed_later_are_found_by_the_same_searcher(store: SearchStore) -> None:
    site = await store.crawl(DOCS)
    searcher = Searcher(store.search_index)
    await store.index(site, DOCS[:1])
    assert len((await run_query(store, "boat", searcher)).hits) == 1
    await store.index(site, DOCS[1:])
    assert len((await run_query(store, "boat", searcher)).hits) == 5


def hit_fields(answer: SearchAnswer) -> list[tuple[object, ...]]:
    return [
        (str(hit.chunk.url), hit.chunk.start, hit.score, hit.lexical, hit.dense, hit.snippet, hit.highlights)
        for hit in answer.hits
    ]


async def test_a_rebuilt_index_gives_the_same_answers(store: SearchStore, tmp_path: Path) -> None:
    texts = [
        at(f"/{number:02}", "The same boat.", "The same boat, twice the boat.", f"Ship {number % 3}.") for number in range(40)
    ]
    site = await store.crawl(texts)
    await store.index(site, texts[::-1], at_once=7)
    # Written again in part: numbers no longer follow the pages.
    await store.search_index.write_pages(site, EPOCH, [replace(text.indexed_page(), chunks=()) for text in texts[5:20]])
    await store.index(site, texts[5:20], at_once=4)
    await with_vectors(store, texts)
    async with open_sqlite_store(tmp_path / "again.db") as again:
        await again.add_pages(texts)
        await with_vectors(again, texts)
        for question in ("boat", "twice the boat", "ship 2", "sea"):
            for embedder in (None, Meanings()):
                grown = await run_query(store, question, Searcher(store.search_index, embedder), limit=30)
                made = await run_query(again, question, Searcher(again.search_index, embedder), limit=30)
                assert hit_fields(grown) == hit_fields(made)
    assert len(urls(await run_query(store, "boat", limit=30))) == 30


class Forgetful:
    """A store whose ledger has dropped some pages since the index was read."""

    def __init__(self, search_index: SearchIndex, gone: str) -> None:
        self._knowledge = search_index
        self._gone = gone

    def __getattr__(self, name: str) -> object:
        return getattr(self._knowledge, name)

    async def chunk_records(self, site: SiteId, numbers: Sequence[int]) -> list[ChunkRecord]:
        return [card for card in await self._knowledge.chunk_records(site, numbers) if self._gone not in card.url]


async def test_hidden_chunks_are_skipped_and_replaced_by_the_next(store: SearchStore) -> None:
    texts = [at(f"/{'gone' if number < 60 else 'here'}/{number}", "A boat." + " More." * number) for number in range(80)]
    await store.add_pages(texts)
    forgetful: SearchIndex = Forgetful(store.search_index, "/gone/")  # type: ignore[assignment] # the rest is passed on
    result = urls(await run_query(store, "boat", Searcher(forgetful), limit=5))
    assert result == [f"/here/{number}" for number in range(60, 65)]


@pytest.mark.parametrize(
    "text", ["", "   ", "?!…", "\x00", "\ud800", "the of and", "x" * 10_000, "boat " * 2_000, "語", "🛥️", "a\u0301" * 900]
)
async def test_unusual_queries_are_not_errors(store: SearchStore, text: str) -> None:
    await store.add_pages(DOCS)
    await with_vectors(store, DOCS)
    for searcher in (Searcher(store.search_index), Searcher(store.search_index, Meanings())):
        for mode in SearchMode:
            assert isinstance(await run_query(store, text, searcher, mode=mode, limit=100_000, per_page=-1), SearchAnswer)


async def test_a_limit_is_kept_within_bounds(store: SearchStore) -> None:
    await store.add_pages([at(f"/{number}", "A boat.") for number in range(MAX_LIMIT + 20)])
    assert len((await run_query(store, "boat", limit=10_000)).hits) == MAX_LIMIT
    assert len((await run_query(store, "boat", limit=-3)).hits) == 1


async def test_an_empty_index_gives_an_empty_answer(store: SearchStore) -> None:
    assert await run_query(store, "boat", Searcher(store.search_index, Meanings())) == SearchAnswer()
    assert await run_query(store, "boat", mode=SearchMode.DENSE) == SearchAnswer()


class BackwardReranker:
    """A reranker that prefers the last texts, and remembers what it read."""

    def __init__(self, *, fails: bool = False) -> None:
        self.read: list[str] = []
        self._fails = fails

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if self._fails:
            raise ConnectionError(query)
        self.read = list(texts)
        return [0.1 + 0.8 * at / len(texts) for at in range(len(texts))]


async def test_a_reranker_sorts_the_best_results_and_gives_their_scores(store: SearchStore) -> None:
    await store.add_pages(DOCS)
    before = urls(await run_query(store, "boat"))
    reranker = BackwardReranker()
    answer = await run_query(store, "boat", Searcher(store.search_index, None, reranker))
    assert urls(answer) == before[::-1]
    assert [round(hit.score, 2) for hit in answer.hits] == [0.74, 0.58, 0.42, 0.26, 0.1]
    assert "Boats\nA boat needs a harbour and an anchor." in reranker.read
    unavailable = await run_query(store, "boat", Searcher(store.search_index, None, BackwardReranker(fails=True)))
    assert urls(unavailable) == before


async def test_a_page_of_its_own_replaces_its_copy_on_a_page_with_the_whole_book(store: SearchStore) -> None:
    chapters = [
        " ".join(["The harbour of town", str(number), *(f"word{number}x{at}" for at in range(30)), "harbour harbour"])
        for number in range(6)
    ]
    book = at("/all", *chapters)
    await store.add_pages([book, *(at(f"/chapter{number}", text) for number, text in enumerate(chapters))])
    answer = urls(await run_query(store, "harbour town", per_page=9))
    assert "/all" not in answer
    assert len(answer) == 6


async def test_equal_texts_of_several_pages_are_returned_once(store: SearchStore) -> None:
    text = "All about boats: " + " ".join(f"part{number}" for number in range(20))
    await store.add_pages([at("/v1/boats", text), at("/v2/boats", text), at("/v3/boats", "Boats!"), at("/v4/boats", "Boats!")])
    assert urls(await run_query(store, "boats")) == ["/v3/boats", "/v4/boats", "/v1/boats"]


async def test_a_misspelt_word_beside_known_ones_helps_to_rank_and_is_suggested(store: SearchStore) -> None:
    await store.add_pages(DOCS)
    answer = await run_query(store, "boat harbor anchr")
    assert urls(answer)[0] == "/docs/boats"
    assert answer.suggestion == "boat harbour anchor"
    alone = await run_query(store, "anchr")
    assert (alone.hits, alone.suggestion) == ((), "anchor")
    assert (await run_query(store, "boat")).suggestion == ""


async def test_neighbours_count_in_the_budget_of_tokens(store: SearchStore) -> None:
    await store.add_pages(
        [at("/long", *(f"Part {number} speaks of {word}." for number, word in enumerate(("a", "boats", "c"))))]
    )
    whole = (await run_query(store, "boats", neighbours=1)).hits[0]
    own, near = whole.chunk.tokens, [record.tokens for record in whole.neighbours]
    assert len(near) == 2
    for budget, count in ((own, 0), (own + near[0], 1), (own + sum(near), 2), (1, 0)):
        hit = (await run_query(store, "boats", neighbours=1, max_tokens=budget)).hits[0]
        assert len(hit.neighbours) == count


async def test_a_result_with_more_tokens_than_the_budget_is_shortened_at_a_sentence(store: SearchStore) -> None:
    await store.add_pages([at("/long", " ".join(f"Boat number {number} is in the harbour." for number in range(40)))])
    whole = (await run_query(store, "boats")).hits[0]
    budget = whole.chunk.tokens // 3
    hit = (await run_query(store, "boats", max_tokens=budget)).hits[0]
    assert (whole.is_shortened, hit.is_shortened) == (False, True)
    assert whole.chunk.text.startswith(hit.chunk.text)
    assert hit.chunk.text.endswith("harbour.")
    assert 0 < count_tokens(hit.chunk.text) <= budget
