"""Vector search by Qdrant: its copy follows the database, and only the ledger decides which chunks are returned."""

from __future__ import annotations

import logging
from array import array
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import numpy as np
import pytest
from tests.ports.conftest import Database
from tests.ports.frontier import u
from tests.ports.test_search_index import MODEL, Shop, numbers_of, question, same, standings, vector
from tests.support import http_server
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.qdrant import FakeQdrant, fake_qdrant

from sitelore.app.operations.checks import check_vectors
from sitelore.app.settings import operator_settings
from sitelore.app.wiring import embedded
from sitelore.index.embeddings.backfill import embed_missing
from sitelore.index.search import Searcher
from sitelore.json_client import ServiceResponse
from sitelore.model.errors import UsageError, VectorsUnavailable
from sitelore.model.ids import DEFAULT_TENANT, SiteId
from sitelore.model.search import Presence, PresenceChange, SearchMode, SearchQuery
from sitelore.store.index.search_index import SqlSearchIndex
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.vectors import pgvector
from sitelore.store.vectors import qdrant as qdrant_search
from sitelore.store.vectors.qdrant import QdrantServer, QdrantVectorSearch

KEY = "the-operators-key"


@pytest.fixture
async def qdrant() -> AsyncIterator[FakeQdrant]:
    async with fake_qdrant(KEY) as running:
        yield running


def served(qdrant: FakeQdrant, name: str = "") -> QdrantServer:
    return QdrantServer.read(f"qdrant:{qdrant.url}{name}", KEY)


@pytest.fixture
async def shop(database: Database, qdrant: FakeQdrant) -> AsyncIterator[Shop]:
    engine = await database.engine()
    search_index = SqlSearchIndex(engine, DEFAULT_TENANT, QdrantVectorSearch(engine, served(qdrant)))
    yield Shop(SqlLedger(engine, DEFAULT_TENANT), search_index)
    await search_index.close()


async def another(database: Database, qdrant: FakeQdrant) -> SqlSearchIndex:
    """The search index of a process that has just started."""
    engine = await database.engine()
    return SqlSearchIndex(engine, DEFAULT_TENANT, QdrantVectorSearch(engine, served(qdrant)))


class OneVector:
    """An embedder with one fixed vector."""

    model = MODEL

    async def embed(self, texts: Iterable[str]) -> list[bytes]:
        return [vector(text) for text in texts]

    async def embed_query(self, text: str) -> bytes:
        return question(text)

    async def close(self) -> None:
        return None


async def settled(shop: Shop, site: SiteId) -> None:
    await shop.indexed(site)
    await shop.embedded()


async def test_the_nearest_chunks_are_those_of_the_in_memory_search(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"text number {at} {'e' * (at % 4)}" for at in range(60)]
    site = (await shop.crawled({f"p{at}": text for at, text in enumerate(texts)})).site
    await shop.indexed(site)
    assert list((await shop.search_index.nearest(site, MODEL, question("x"), 5)).numbers) == []
    await shop.embedded()
    cards = await shop.search_index.chunk_records(site, numbers_of(await shop.search_index.chunk_table(site)))
    query = np.frombuffer(question("query"), "<f4")
    truth = {card.number: float(np.frombuffer(vector(card.text), "<f2").astype(np.float32) @ query) for card in cards}
    ranked = sorted(truth, key=lambda number: (-round(truth[number], 5), number))
    nearest = await shop.search_index.nearest(site, MODEL, query.tobytes(), 7, also=[ranked[20], ranked[0], 999])
    assert nearest.embedded == 60
    assert same(nearest.scores[:7], [truth[number] for number in ranked[:7]])
    assert same(nearest.scores, [truth[number] for number in nearest.numbers])
    assert set(nearest.numbers) == {*nearest.numbers[:7], ranked[20]}
    for few in (2_000, 4, 0):  # named one by one; sifted; sifted in vain, then named
        monkeypatch.setattr(qdrant_search, "_MAX_FILTER_IDS", few)
        candidates = array("I", ranked[30:40])
        among = await shop.search_index.nearest(
            site, MODEL, query.tobytes(), 3, also=[ranked[39], ranked[0]], among=candidates.tobytes()
        )
        assert same(among.scores[:3], [truth[number] for number in ranked[30:33]])
        assert (among.embedded, set(among.numbers) <= set(candidates), ranked[39] in among.numbers) == (10, True, True)
    assert list((await shop.search_index.nearest(site, MODEL, query.tobytes(), 0)).numbers) == []
    assert list((await shop.search_index.nearest(site, MODEL, query.tobytes(), 5, among=b"")).numbers) == []
    assert len((await shop.search_index.nearest(site, MODEL, query.tobytes(), 500)).numbers) == 60
    assert list((await shop.search_index.nearest(site, "no such model", query.tobytes(), 5)).numbers) == []


async def test_every_query_and_every_point_has_its_tenant_and_site(shop: Shop, queue: SqlRunQueue, qdrant: FakeQdrant) -> None:
    others = shop.of(await queue.create_tenant("other", 0.0))
    ours = (await shop.crawled({"a": "one/two", "b": "three"})).site
    theirs = (await others.crawled({"a": "one/two", "b": "three"})).site
    for tenant, site in ((shop, ours), (others, theirs)):
        await settled(tenant, site)
    assert len(qdrant.chunks()) == 6
    for tenant, site in ((shop, ours), (others, theirs)):
        nearest = await tenant.search_index.nearest(site, MODEL, question("one"), 9, also=[1])
        assert (len(nearest.numbers), nearest.embedded) == (3, 3)
    assert {(one["tenant"], one["site"]) for one in qdrant.chunks().values()} == {("default", ours), ("other", theirs)}
    assert {point >> 32 for point in qdrant.chunks()} == {ours, theirs}
    [collection] = qdrant.collections.values()
    assert collection.indexed == {"tenant": {"type": "keyword", "is_tenant": True}, "site": {"type": "integer"}}
    filters = [one["filter"] for body in qdrant.calls("/query/batch") for one in body["searches"]]
    filters += [body["filter"] for body in qdrant.calls("/scroll")]
    assert len(filters) >= 4
    for chosen in filters:
        assert [one["key"] for one in chosen["must"][:2]] == ["tenant", "site"]
    assert all(one["params"] == {"exact": True} for body in qdrant.calls("/query/batch") for one in body["searches"])


async def test_chunks_that_the_ledger_hides_are_not_returned_even_by_an_outdated_copy(shop: Shop, qdrant: FakeQdrant) -> None:
    site = (await shop.crawled({"a": "one/two", "b": "three"})).site
    await settled(shop, site)

    async def near() -> list[str]:
        nearest = await shop.search_index.nearest(site, MODEL, question("one"), 9, also=[1, 2, 3])
        return sorted(card.text for card in await shop.search_index.chunk_records(site, list(nearest.numbers)))

    assert await near() == ["one", "three", "two"]
    await shop.crawled({"a": "one/four", "b": "three"})
    assert await near() == ["three"], "the page has changed"
    await shop.indexed(site)
    assert len(qdrant.chunks()) == 3, "nothing has been sent yet"
    assert await near() == ["one", "three"]
    await shop.embedded()
    assert await near() == ["four", "one", "three"]
    await shop.search_index.check_presence(site, standings(PresenceChange(u("b"), Presence.GONE, "404")), shop.now)
    assert await near() == ["four", "one"]
    assert await shop.embedded() == 0
    assert sorted(point - (site << 32) for point in qdrant.chunks()) == sorted(
        numbers_of(await shop.search_index.chunk_table(site))
    )
    await shop.search_index.forget(site)
    assert await near() == []
    assert await shop.embedded() == 0
    assert qdrant.chunks() == {}
    await settled(shop, site)
    assert await near() == ["four", "one"], "the index is rebuilt from the pages, and the copy from the index"


async def test_a_lost_copy_is_rebuilt(database: Database, shop: Shop, qdrant: FakeQdrant) -> None:
    site = (await shop.crawled({"a": "one/two", "b": "three"})).site
    await settled(shop, site)
    before = await shop.search_index.nearest(site, MODEL, question("one"), 9)
    qdrant.collections.clear()
    with pytest.raises(VectorsUnavailable, match="has no such collection"):
        await shop.search_index.nearest(site, MODEL, question("one"), 9)
    assert await shop.embedded() == 0
    assert await shop.search_index.nearest(site, MODEL, question("one"), 9) == before
    qdrant.collections.clear()
    fresh = await another(database, qdrant)
    assert await fresh.texts_to_embed(MODEL, 9) == []
    assert await fresh.nearest(site, MODEL, question("one"), 9) == before
    await fresh.close()


async def test_a_complete_copy_is_not_scanned_again(
    database: Database, shop: Shop, queue: SqlRunQueue, qdrant: FakeQdrant
) -> None:
    site = (await shop.crawled({"a": "one/two", "b": "three"})).site
    others = shop.of(await queue.create_tenant("other", 0.0))
    other = (await others.crawled({"a": "five"})).site
    await settled(shop, site)
    await settled(others, other)
    for tenant in (shop, others):
        await tenant.embedded()
    qdrant.requests.clear()
    for tenant in (shop, others):
        await tenant.embedded()
    assert qdrant.requests == []
    fresh = await another(database, qdrant)
    await fresh.texts_to_embed(MODEL, 9)
    assert [path.rsplit("/", 1)[-1] for _, path, _ in qdrant.requests] == ["collections", "points"], "its marks were read"
    await others.crawled({"a": "five/six"})
    await others.indexed(other)
    await others.embedded()
    assert {body["filter"]["must"][1]["match"]["value"] for body in qdrant.calls("/scroll")} == {other}
    await fresh.close()


async def test_while_qdrant_is_unavailable_search_is_lexical_and_missed_vectors_are_sent_later(
    shop: Shop, qdrant: FakeQdrant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(qdrant_search, "_RETRY_DELAY_S", 0.0)
    site = (await shop.crawled({"a": "one/two", "b": "three"})).site
    searcher = Searcher(shop.search_index, OneVector())
    qdrant.status = 503
    with caplog.at_level(logging.WARNING):
        await settled(shop, site)
        answer = await searcher.search(SearchQuery("three"))
    assert (answer.mode, [hit.chunk.text for hit in answer.hits], answer.embedded) == (SearchMode.LEXICAL, ["three"], 3)
    messages = [record.getMessage() for record in caplog.records]
    assert any(text.startswith("vectors not sent, retrying later") and "answered 503" in text for text in messages)
    assert any(text.startswith("query answered by words alone: the Qdrant at 127.0.0.1") for text in messages)
    assert KEY not in " ".join(messages)
    assert qdrant.chunks() == {}
    qdrant.status = 0
    assert await shop.embedded() == 0
    assert len(qdrant.chunks()) == 3
    answer = await searcher.search(SearchQuery("three"))
    assert (answer.mode, len(answer.hits)) == (SearchMode.HYBRID, 3)


async def test_a_failed_qdrant_is_not_called_for_a_while(shop: Shop, qdrant: FakeQdrant) -> None:
    site = (await shop.crawled({"a": "one"})).site
    await settled(shop, site)
    qdrant.status = 500
    qdrant.requests.clear()
    for _ in range(3):
        with pytest.raises(VectorsUnavailable):
            await shop.search_index.nearest(site, MODEL, question("one"), 9)
    assert len(qdrant.requests) == 1


async def test_new_vectors_of_a_text_replace_the_stored_ones(shop: Shop, qdrant: FakeQdrant) -> None:
    site = (await shop.crawled({"a": "one", "b": "one"})).site
    await settled(shop, site)
    [held] = {one["text"] for one in qdrant.chunks().values()}
    [hash_of_it] = {one.text_hash for one in await shop.search_index.texts_to_embed("another model", 9)}
    assert hash_of_it.startswith(held)
    qdrant.status = 503  # the old version is detected and replaced
    await shop.search_index.put_vectors(MODEL, [(hash_of_it, vector("something else"))])
    qdrant.status = 0
    fresh = QdrantVectorSearch(shop.search_index._engine, served(qdrant))
    await fresh.catch_up(DEFAULT_TENANT, MODEL, site)
    await fresh.close()
    [collection] = qdrant.collections.values()
    vectors = [held for held, payload in collection.points.values() if "versions" not in payload]
    assert len(vectors) == 2
    assert all(same(held, np.frombuffer(vector("something else"), "<f2").astype(np.float32)) for held in vectors)


async def test_invalid_vectors_are_ignored(shop: Shop, qdrant: FakeQdrant) -> None:
    site = (await shop.crawled({"a": "one/two/three"})).site
    await shop.indexed(site)
    one, two, three = await shop.search_index.texts_to_embed(MODEL, 9)
    odd = np.array([1, 0, 0], "<f2").tobytes()
    broken = np.array([np.nan, np.inf, 0, 0], "<f2").tobytes()
    await shop.search_index.put_vectors(
        MODEL, [(one.text_hash, vector("one")), (two.text_hash, odd), (three.text_hash, broken)]
    )
    assert await shop.search_index.texts_to_embed(MODEL, 9) == []
    nearest = await shop.search_index.nearest(site, MODEL, question("one"), 9)
    assert sorted(nearest.numbers) == [1, 3]
    assert all(np.isfinite(nearest.scores))
    assert sorted(one.size for one in qdrant.collections.values()) == [3, 4]


async def test_with_qdrant_the_database_has_no_search_vectors(database: Database, shop: Shop) -> None:
    site = (await shop.crawled({"a": "one"})).site
    await settled(shop, site)
    assert not await (await database.engine()).read(pgvector.is_ready)


async def test_databases_share_one_qdrant_with_separate_collections(database: Database, shop: Shop, qdrant: FakeQdrant) -> None:
    site = (await shop.crawled({"a": "one"})).site
    await settled(shop, site)
    engine = await database.engine()
    named = SqlSearchIndex(engine, DEFAULT_TENANT, QdrantVectorSearch(engine, served(qdrant, "#second")))
    assert await named.texts_to_embed(MODEL, 9) == []
    assert sorted(name.split("-")[0] for name in qdrant.collections) == ["second", "sitelore"]
    await named.close()


@pytest.mark.parametrize("mood", [lambda: b"no JSON", lambda: b'{"status": "ok"}', lambda: b"[" * 100_000])
async def test_an_invalid_response_counts_as_a_failure(shop: Shop, mood: object, monkeypatch: pytest.MonkeyPatch) -> None:
    site = (await shop.crawled({"a": "one"})).site
    await settled(shop, site)
    assert callable(mood)

    async def other(*_: object, **__: object) -> ServiceResponse:
        return ServiceResponse(200, {}, bytes(mood()))

    monkeypatch.setattr(qdrant_search, "send_request", other)
    with pytest.raises(VectorsUnavailable, match="answered something that Qdrant would not"):
        await shop.search_index.nearest(site, MODEL, question("one"), 9)


async def test_the_error_for_a_wrong_key_does_not_contain_the_key(database: Database, qdrant: FakeQdrant, shop: Shop) -> None:
    site = (await shop.crawled({"a": "one"})).site
    await settled(shop, site)
    engine = await database.engine()
    wrong = SqlSearchIndex(
        engine, DEFAULT_TENANT, QdrantVectorSearch(engine, QdrantServer.read(f"qdrant:{qdrant.url}", "not-the-key"))
    )
    with pytest.raises(VectorsUnavailable, match="SITELORE_VECTORS_KEY is missing or wrong") as error:
        await wrong.nearest(site, MODEL, question("one"), 9)
    assert "not-the-key" not in str(error.value)
    await wrong.close()


@pytest.mark.parametrize(
    "spec",
    ["qdrant", "qdrant:", "qdrant:ftp://host", "qdrant:http://user:secret@host", "http://host:6333", "qdrant:http://h#a b"],
)
def test_an_invalid_address_is_refused_and_not_repeated(spec: str) -> None:
    with pytest.raises(UsageError, match="SITELORE_VECTORS cannot be read") as error:
        QdrantServer.read(spec)
    assert "secret" not in str(error.value)


def test_an_address_may_have_a_path_and_a_name() -> None:
    server = QdrantServer.read("qdrant:https://vectors.example/behind/#docs_1", KEY)
    assert (server.address, server.name) == ("https://vectors.example/behind", "docs_1")
    assert KEY not in repr(server)


async def test_an_app_whose_settings_name_a_qdrant_uses_it(
    tmp_path: Path, qdrant: FakeQdrant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITELORE_VECTORS", f"qdrant:{qdrant.url}")
    monkeypatch.setenv("SITELORE_VECTORS_KEY", KEY)
    with http_server.serve_site(http_server.site({"/": http_server.page("Boats", "Boats cross the harbour. " * 40)})) as server:
        async with embedded(tmp_path, writing=True) as app:
            await crawl_in(app, crawl_settings(server.url()))
            [stats] = await app.search_service.sites()
            await app.search_service.refresh(stats)
            async for _ in embed_missing(app.search_service.search_index, OneVector()):
                pass
            chunks = (await app.search_service.sites())[0].chunks
            assert len(qdrant.chunks()) == chunks > 0
            answer = await Searcher(app.search_service.search_index, OneVector()).search(SearchQuery("boats"))
            assert (answer.mode, len(answer.hits) > 0) == (SearchMode.HYBRID, True)
            assert len(qdrant.calls("/query/batch")) == 1
    [checked] = await check_vectors(operator_settings())
    assert checked == ("vectors", True, "Qdrant answers; it compares the vectors.")
