"""The search index (chunks, postings, vectors, deletion detection): one suite over both databases."""

from __future__ import annotations

import asyncio
import hashlib
from array import array
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, W1, admit_all, ended, facts, redirected, seed, u

from sitelore.model.document import PageLink
from sitelore.model.frontier import (
    Effects,
    Lease,
    Merge,
    Run,
    Settlement,
    StoredEventKind,
    Tenant,
    Verdict,
    WaveFacts,
    WavePlan,
)
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, ChunkId, CleanText, SiteId
from sitelore.model.search import (
    Chunk,
    ChunkTable,
    Flag,
    IndexedChunk,
    IndexedPage,
    IndexWritten,
    Postings,
    Presence,
    PresenceChange,
    PresenceChanges,
    RunOutcome,
    Similarities,
    SiteIndexStats,
)
from sitelore.model.settings import CrawlSettings, Scope
from sitelore.model.states import Proof, RunState, SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.ports import SearchIndex
from sitelore.store.index.search_index import SqlSearchIndex
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.vectors import pgvector
from sitelore.store.vectors.search import LocalVectorSearch

MODEL = "words-4"
EPOCH = "e1"


class Shop:
    """A ledger and a search index of a tenant in one database."""

    def __init__(self, ledger: SqlLedger, search_index: SqlSearchIndex) -> None:
        self.ledger = ledger
        self.search_index = search_index
        self.now = NOW

    def of(self, tenant: Tenant) -> Shop:
        """The shop of another tenant."""
        return Shop(self.ledger.for_tenant(tenant.id), self.search_index.for_tenant(tenant.id))

    async def crawled(
        self,
        pages: dict[str, str],
        *,
        settings: CrawlSettings | None = None,
        ends: dict[str, Callable[[Lease], Settlement]] | None = None,
        noindex: Sequence[str] = (),
        plan: Callable[[WaveFacts], WavePlan] = admit_all,
        state: RunState = RunState.COMPLETED,
        sketch: bytes = b"",
        links: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> Run:
        """A run that visited these pages with this content, and others with these outcomes."""
        self.now += 100.0
        query = settings or CrawlSettings(seeds=(str(u("a")),))
        paths = [*pages, *(ends or {})]
        offers = [seed(path, position) for position, path in enumerate(paths)]
        run = await self.ledger.create_run("site", query, offers, self.now)
        assert await self.ledger.begin_run(run.id, self.now)
        await self.ledger.open_wave(run.id, 0, admit_all)
        held = {lease.url: lease for lease in await self.ledger.claim(run.id, W1, 1000, self.now, 60.0)}
        visits = []
        for path, content in pages.items():
            targets = [PageLink(str(u(target))) for target in links.get(path, ())]
            page = replace(facts(content), noindex=path in noindex, sketch=sketch, links=msgspec.msgpack.encode(targets))
            effects = Effects(page=page, fetched=True)
            visits.append(Settlement(held[u(path)], Verdict(UrlState.VISITED, 200), effects, self.now))
        visits += [end(held[u(path)]) for path, end in (ends or {}).items()]
        assert all(await self.ledger.settle(visits))
        await self.ledger.open_wave(run.id, 1, plan)
        assert await self.ledger.end_run(run.id, state, self.now)
        return run

    async def indexed(self, site: SiteId, epoch: str = EPOCH) -> IndexWritten:
        """Index every page that needs it, with the chunks of its content."""
        await self.search_index.open_epoch(site, epoch)
        total = IndexWritten()
        while waiting := await self.search_index.pages_to_index(site, 3):
            pages = [page_of(one.url, one.document[3:]) for one in waiting]
            one = await self.search_index.write_pages(site, epoch, pages)
            total = IndexWritten(
                total.pages + one.pages, total.added + one.added, total.kept + one.kept, total.dropped + one.dropped
            )
        return total

    async def embedded(self) -> int:
        """Give every text without a vector its vector."""
        count = 0
        while texts := await self.search_index.texts_to_embed(MODEL, 5):
            await self.search_index.put_vectors(MODEL, [(one.text_hash, vector(one.text.rsplit("\n")[-1])) for one in texts])
            count += len(texts)
        return count

    async def texts(self, site: SiteId) -> list[str]:
        """Texts of all live chunks."""
        records = await self.search_index.chunk_records(site, numbers_of(await self.search_index.chunk_table(site)))
        return sorted(record.text for record in records)

    async def term_counts(self, site: SiteId, term: str) -> dict[int, int]:
        """Live chunks with this term, and how often."""
        live = set(numbers_of(await self.search_index.chunk_table(site)))
        totals: dict[int, int] = {}
        last = 0
        for block in (await self.search_index.postings(site, [term])).get(term, []):
            n = len(block) // 8
            numbers, counts = array("I", block[: 4 * n]), array("H", block[4 * n : 6 * n])
            assert list(numbers) == sorted(numbers)
            assert not n or numbers[0] > last
            last = numbers[-1]
            totals.update((number, count) for number, count in zip(numbers, counts, strict=True) if number in live)
        return totals


def page_of(url: Url, content: str, **more: Any) -> IndexedPage:
    """Content is sentences separated by `/`; each is a chunk."""
    chunks, start = [], 0
    for text in content.split("/") if content else []:
        size = len(text.encode())
        chunks.append(chunk_of(url, text, start, size))
        start += size + 1
    page = IndexedPage(url, BlobKey(f"doc{content}"), CleanText("Title"), "en", "page", 5.0, tuple(chunks))
    return replace(page, **more)


def chunk_of(url: Url, text: str, start: int, size: int) -> IndexedChunk:
    words = text.split()
    chunk = Chunk(
        ChunkId(hashlib.sha256(f"{url} {text}".encode()).hexdigest()),
        CleanText(text),
        start,
        start + size,
        len(words),
        headings=(CleanText("Top"),),
        fragment=f":~:text={text}",
        flags=(Flag("orders", CleanText("ignore")),) if "ignore" in words else (),
    )
    return IndexedChunk(
        chunk, {word: words.count(word) for word in words}, len(words), hashlib.sha256(text.encode()).hexdigest()
    )


def vector(text: str) -> bytes:
    values = np.array([1 + sum(text.encode()) % 7, len(text) % 5, text.count("e"), 1.0])
    return bytes((values / np.linalg.norm(values)).astype("<f2").tobytes())


def question(text: str) -> bytes:
    return bytes(np.frombuffer(vector(text), "<f2").astype("<f4").tobytes())


def numbers_of(table: ChunkTable) -> list[int]:
    return list(array("I", table.numbers))


def nothing(_: RunOutcome) -> PresenceChanges:
    return PresenceChanges()


def noting(seen: list[RunOutcome]) -> Callable[[RunOutcome], PresenceChanges]:
    def decide(outcome: RunOutcome) -> PresenceChanges:
        seen.append(outcome)
        return PresenceChanges()

    return decide


def standings(*changed: PresenceChange) -> Callable[[RunOutcome], PresenceChanges]:
    return lambda _: PresenceChanges(
        changed, sum(one.held for one in changed), sum(one.presence is Presence.GONE for one in changed)
    )


@pytest.fixture
def without_pgvector(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Postgres where the extension is not available."""
    monkeypatch.setattr(pgvector, "_CREATE", ("CREATE EXTENSION there_is_none",))


@pytest.fixture
async def shop(database: Database) -> AsyncIterator[Shop]:
    engine = await database.engine()
    search_index = SqlSearchIndex(engine, DEFAULT_TENANT)
    yield Shop(SqlLedger(engine, DEFAULT_TENANT), search_index)
    await search_index.close()


async def only_site(shop: Shop, model: str = MODEL) -> SiteIndexStats:
    [stats] = await shop.search_index.site_stats(model)
    return stats


def test_the_sql_search_index_implements_the_port(shop: Shop) -> None:
    port: SearchIndex = shop.search_index  # the type checker's half of this test
    assert {name for name in vars(SearchIndex) if not name.startswith("_")} <= set(dir(port))


# Writing


async def test_pages_need_indexing_until_their_chunks_match_their_document(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one/two", "b": "three"})).site
    waiting = await shop.search_index.pages_to_index(site, 10)
    assert [(one.url, one.document, one.title, one.fetched_at) for one in waiting] == [
        (u("a"), "docone/two", "One/Two", shop.now),
        (u("b"), "docthree", "Three", shop.now),
    ]
    assert [one.url for one in await shop.search_index.pages_to_index(site, 10, u("a"))] == [u("b")]
    assert await shop.indexed(site) == IndexWritten(pages=2, added=3)
    assert await shop.search_index.pages_to_index(site, 10) == []
    await shop.crawled({"a": "one/other", "b": "three"})
    assert [one.url for one in await shop.search_index.pages_to_index(site, 10)] == [u("a")]
    assert await shop.texts(site) == ["three"], "outdated chunks are hidden, although the new ones are not indexed yet"
    stats = await only_site(shop)
    assert (stats.pages, stats.waiting, stats.chunks) == (2, 1, 1)
    assert await shop.indexed(site) == IndexWritten(pages=1, added=1, kept=1, dropped=1)
    assert await shop.texts(site) == ["one", "other", "three"]


async def test_an_unchanged_chunk_keeps_its_number_when_it_moves(shop: Shop) -> None:
    site = (await shop.crawled({"a": "first part/second part/third part"})).site
    await shop.indexed(site)
    before = {record.text: record for record in await shop.search_index.chunk_records(site, [1, 2, 3])}
    await shop.crawled({"a": "first longer part/second part/third part"})
    await shop.indexed(site)
    numbers = numbers_of(await shop.search_index.chunk_table(site))
    after = {record.text: record for record in await shop.search_index.chunk_records(site, numbers)}
    assert numbers == [2, 3, 4]
    moved = after[CleanText("third part")]
    assert moved.number == before[CleanText("third part")].number
    assert (moved.start, moved.end) == (before[CleanText("third part")].start + 7, before[CleanText("third part")].end + 7)
    assert after[CleanText("first longer part")].number == 4


async def test_a_chunk_whose_terms_change_gets_a_new_number(shop: Shop) -> None:
    site = (await shop.crawled({"a": "same"})).site
    await shop.indexed(site)
    page = page_of(u("a"), "same")
    other = replace(page.chunks[0], terms={"same": 1, "heading": 1}, length=2)
    assert await shop.search_index.write_pages(site, EPOCH, [replace(page, chunks=(other,))]) == IndexWritten(1, 1, 0, 1)
    assert await shop.term_counts(site, "same") == await shop.term_counts(site, "heading") == {2: 1}


async def test_writing_the_same_again_changes_nothing(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one/two/two", "b": ""})).site
    await shop.indexed(site)
    before, table = await only_site(shop), await shop.search_index.chunk_table(site)
    pages = [page_of(u("a"), "one/two/two"), page_of(u("b"), "")]
    assert await shop.search_index.write_pages(site, EPOCH, pages) == IndexWritten(pages=2, kept=3)
    assert await only_site(shop) == before
    assert await shop.search_index.chunk_table(site) == table
    assert len(numbers_of(table)) == 3, "a page may contain a text twice"


async def test_chunks_of_an_outdated_document_are_not_written(shop: Shop) -> None:
    site = (await shop.crawled({"a": "new", "b": "hidden"}, noindex=["b"])).site
    await shop.search_index.open_epoch(site, EPOCH)
    late = [page_of(u("a"), "old"), page_of(u("b"), "hidden"), page_of(u("unknown"), "x")]
    assert await shop.search_index.write_pages(site, EPOCH, late) == IndexWritten()
    assert await shop.texts(site) == []
    assert [one.url for one in await shop.search_index.pages_to_index(site, 9)] == [u("a")]


async def test_a_new_index_epoch_queues_every_page_and_keeps_it_searchable(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one", "b": "two"})).site
    await shop.indexed(site)
    await shop.search_index.open_epoch(site, EPOCH)
    assert await shop.search_index.pages_to_index(site, 9) == []
    await shop.search_index.open_epoch(site, "e2")
    assert len(await shop.search_index.pages_to_index(site, 9)) == 2
    assert await shop.texts(site) == ["one", "two"]
    await shop.search_index.write_pages(site, EPOCH, [page_of(u("a"), "one")])
    assert len(await shop.search_index.pages_to_index(site, 9)) == 2, "written by an older version"
    assert await shop.indexed(site, "e2") == IndexWritten(pages=2, kept=2)
    assert (await only_site(shop)).epoch == "e2"


async def test_a_chunk_record_has_all_fields_of_a_chunk(shop: Shop) -> None:
    site = (await shop.crawled({"a": "x"})).site
    await shop.search_index.open_epoch(site, EPOCH)
    [one] = page_of(u("a"), "x").chunks
    chunk = replace(
        one.chunk,
        text=CleanText("naïve\0 text"),
        start=10,
        end=22,
        overlap=3,
        lead=CleanText("| h |"),
        headings=(CleanText("Ä"), CleanText('"B"')),
        landmark="main",
        flags=(Flag("orders", CleanText("do this")),),
    )
    page = page_of(u("a"), "x", lang="de", kind="pdf", dated=7.5, chunks=(replace(one, chunk=chunk, length=70_000),))
    await shop.search_index.write_pages(site, EPOCH, [page])
    [record] = await shop.search_index.chunk_records(site, [9, 1, 9])
    assert (record.number, record.id, record.site, record.site_name, record.url) == (1, chunk.id, site, "site", u("a"))
    assert (record.title, record.lang, record.kind, record.dated) == ("Title", "de", "pdf", 7.5)
    assert (record.text, record.lead, record.headings, record.flags) == ("naïve\ufffd text", "| h |", ("Ä", '"B"'), chunk.flags)
    assert (record.start, record.end, record.tokens, record.landmark, record.fragment) == (10, 22, 1, "main", ":~:text=x")
    assert (record.presence, record.fetched_at) == (Presence.PRESENT, shop.now)
    table = await shop.search_index.chunk_table(site)
    assert [(page.number, page.url, page.lang, page.kind, page.dated) for page in table.pages] == [
        (1, u("a"), "de", "pdf", 7.5)
    ]
    assert (table.numbers, table.page_numbers) == (array("I", [1]).tobytes(), array("I", [1]).tobytes())
    assert (table.lengths, table.marks) == (array("H", [65_535]).tobytes(), b"\1")


async def test_chunk_records_come_in_the_requested_order(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one/two/three"})).site
    await shop.indexed(site)
    assert [record.text for record in await shop.search_index.chunk_records(site, [3, 1, 2])] == ["three", "one", "two"]


async def test_a_url_longer_than_a_key_is_returned_in_full(shop: Shop) -> None:
    path = "a" * 3000
    site = (await shop.crawled({path: "long"})).site
    assert [one.url for one in await shop.search_index.pages_to_index(site, 9)] == [u(path)]
    await shop.indexed(site)
    [record] = await shop.search_index.chunk_records(site, [1])
    assert record.url == u(path)
    assert [page.url for page in (await shop.search_index.chunk_table(site)).pages] == [u(path)]


async def test_a_dropped_index_is_rebuilt_with_new_chunk_numbers(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one/two", "b": "three ignore", "c": "four"})).site
    await shop.indexed(site)
    before, texts = await shop.search_index.chunk_table(site), await shop.texts(site)
    await shop.search_index.forget(site)
    assert await shop.texts(site) == []
    assert await shop.term_counts(site, "one") == {}
    stats = await only_site(shop)
    assert (stats.pages, stats.waiting, stats.chunks) == (3, 3, 0)
    await shop.indexed(site)
    after = await shop.search_index.chunk_table(site)
    assert await shop.texts(site) == texts
    assert after.version > before.version
    assert not set(numbers_of(after)) & set(numbers_of(before))
    assert (after.pages, after.page_numbers, after.lengths, after.marks) == (
        before.pages, before.page_numbers, before.lengths, before.marks,
    )  # fmt: skip


async def test_writers_of_one_site_are_serialised(database: Database, shop: Shop) -> None:
    site = (await shop.crawled({f"p{at}": f"word{at}/both" for at in range(40)})).site
    other = SqlSearchIndex(await database.engine(), DEFAULT_TENANT)
    await shop.search_index.open_epoch(site, EPOCH)
    pages = [page_of(u(f"p{at}"), f"word{at}/both") for at in range(40)]
    writes = [
        writer.write_pages(site, EPOCH, pages[start : start + 8])
        for start in range(0, 40, 4)
        for writer in (shop.search_index, other)
    ]
    written = await asyncio.gather(*writes)
    assert sum(one.added for one in written) == 80
    table = await shop.search_index.chunk_table(site)
    assert len(set(numbers_of(table))) == 80
    assert len(await shop.term_counts(site, "both")) == 40
    assert (await only_site(shop)).chunks == 80


# Words


async def test_postings_hold_chunk_number_term_count_and_chunk_length(shop: Shop) -> None:
    site = (await shop.crawled({"a": "b b a/c", "d": "a a a d"})).site
    await shop.indexed(site)
    postings = await shop.search_index.postings(site, ["a", "b", "none", "", "x" * 5000, "\0", "\ud800"])
    assert postings == {"a": [Postings([1, 3], [1, 3], [3, 4]).packed()], "b": [Postings([1], [2], [3]).packed()]}


async def test_terms_that_cannot_be_stored_do_not_fail_a_page(shop: Shop) -> None:
    site = (await shop.crawled({"a": "x"})).site
    await shop.search_index.open_epoch(site, EPOCH)
    page = page_of(u("a"), "x")
    long, longer = "y" * 9000, "y" * 9001
    odd = replace(page.chunks[0], terms={"x": 70_000, long: 1, longer: 2, "a\0b": 1, "\ud800": 1, "": 1})
    await shop.search_index.write_pages(site, EPOCH, [replace(page, chunks=(odd, page.chunks[0]))])
    postings = await shop.search_index.postings(site, ["x", long, longer])
    assert postings["x"] == [Postings([1, 2], [70_000, 1], [1, 1]).packed()]
    assert postings[long] == [Postings([1], [1], [1]).packed()]
    assert postings[longer] == [Postings([1], [2], [1]).packed()]


async def test_segments_are_merged_without_changing_their_postings(shop: Shop) -> None:
    texts = {f"p{at:03d}": f"word{at % 7} all/only{at} all" for at in range(40)}
    site = (await shop.crawled(texts)).site
    await shop.search_index.open_epoch(site, EPOCH)
    for path, text in texts.items():
        await shop.search_index.write_pages(site, EPOCH, [page_of(u(path), text)])
    blocks = (await shop.search_index.postings(site, ["all"]))["all"]
    assert len(blocks) <= 16
    assert len(await shop.term_counts(site, "all")) == 80
    assert len(await shop.term_counts(site, "word3")) == len([at for at in range(40) if at % 7 == 3])
    assert [len(await shop.term_counts(site, f"only{at}")) for at in (0, 22, 39)] == [1, 1, 1]


async def test_dead_chunks_are_removed_from_postings_eventually(shop: Shop) -> None:
    site = (await shop.crawled({"a": "stays", "b": "first word"})).site
    await shop.indexed(site)
    for round_ in range(12):
        await shop.crawled({"a": "stays", "b": f"round{round_} word"})
        await shop.indexed(site)
    [*blocks] = (await shop.search_index.postings(site, ["word"]))["word"]
    assert sum(len(block) for block in blocks) // 8 <= 2
    assert len(await shop.term_counts(site, "word")) == len(await shop.term_counts(site, "stays")) == 1
    assert await shop.term_counts(site, "round10") == {}


# Presence


async def test_every_ended_run_is_used_once_for_the_presence_check(shop: Shop) -> None:
    def ends_as(state: UrlState, **more: Any) -> Callable[[Lease], Settlement]:
        return lambda lease: ended(lease, state, **more)

    first = await shop.crawled({path: path for path in "abcdef"})
    seen: list[RunOutcome] = []
    decide = noting(seen)
    assert await shop.search_index.check_presence(first.site, decide, shop.now) == [PresenceChanges()]
    second = await shop.crawled(
        {"a": "a"},
        ends={
            "b": ends_as(UrlState.NOT_FOUND, status_code=410),
            "c": ends_as(UrlState.FAILED),
            "d": lambda lease: redirected(lease, u("a")),
            "e": ends_as(UrlState.SKIPPED, skip_reason=SkipReason.ROBOTS),
            "other": ends_as(UrlState.SOFT_404),
        },
    )
    await shop.search_index.check_presence(first.site, decide, shop.now)
    assert await shop.search_index.check_presence(first.site, decide, shop.now) == []
    assert [(page.run, page.is_complete, len(page.pages)) for page in seen] == [(first.id, True, 6), (second.id, False, 6)]
    by_url = {page.url: page for page in seen[1].pages}
    assert [(by_url[u(path)].state, by_url[u(path)].status_code) for path in "abcdf"] == [
        (UrlState.VISITED, 200),
        (UrlState.NOT_FOUND, 410),
        (UrlState.FAILED, None),
        (UrlState.ALIAS, 301),
        (None, None),
    ]
    assert by_url[u("d")].alias_of == u("a")
    assert by_url[u("e")].skip_reason is SkipReason.ROBOTS
    assert {page.presence for page in by_url.values()} == {Presence.PRESENT}


async def test_chunks_are_dropped_and_restored_with_their_page(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one/two", "b": "three", "c": "four"})).site
    await shop.indexed(site)
    await shop.search_index.check_presence(site, standings(PresenceChange(u("a"), Presence.GONE, "410")), shop.now)
    assert await shop.texts(site) == ["four", "three"]
    assert await shop.search_index.chunk_records(site, [1, 2]) == []
    assert await shop.search_index.pages_to_index(site, 9) == []
    stats = await only_site(shop)
    assert (stats.pages, stats.waiting, stats.chunks, stats.held) == (2, 0, 2, 0)
    await shop.crawled({"a": "one/two", "b": "three", "c": "four"})
    assert await shop.texts(site) == ["four", "three"]
    await shop.search_index.check_presence(site, standings(PresenceChange(u("a"), Presence.PRESENT)), shop.now)
    assert await shop.indexed(site) == IndexWritten(pages=1, added=2)
    assert await shop.texts(site) == ["four", "one", "three", "two"]


async def test_the_presence_of_a_page_is_input_of_the_next_check(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one"})).site
    await shop.search_index.check_presence(site, standings(PresenceChange(u("a"), Presence.UNKNOWN, "soft 404", 1)), shop.now)
    await shop.crawled({"b": "two"})
    seen: list[RunOutcome] = []
    await shop.search_index.check_presence(site, noting(seen), shop.now)
    assert [(one.url, one.presence, one.soft_misses) for one in seen[0].pages] == [
        (u("a"), Presence.UNKNOWN, 1),
        (u("b"), Presence.PRESENT, 0),
    ]
    await shop.indexed(site)
    assert [record.presence for record in await shop.search_index.chunk_records(site, [1])] == [Presence.UNKNOWN], (
        "its last content stays"
    )


async def test_a_run_does_not_decide_about_pages_fetched_after_it_ended(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one"})).site
    await shop.crawled({"a": "one", "b": "two"})
    seen: list[RunOutcome] = []
    await shop.search_index.check_presence(site, noting(seen), shop.now)
    assert [[(one.url, one.state) for one in outcome.pages] for outcome in seen] == [
        [],
        [(u("a"), UrlState.VISITED), (u("b"), UrlState.VISITED)],
    ]


@pytest.mark.parametrize("agreed", [True, False])
async def test_held_pages_stay_until_a_user_decides(shop: Shop, agreed: bool) -> None:
    site = (await shop.crawled({"a": "one", "b": "two", "c": "three"})).site
    await shop.indexed(site)
    held = [PresenceChange(u(path), Presence.PRESENT, "404", held=True) for path in "ab"]
    await shop.search_index.check_presence(site, standings(*held), shop.now)
    assert await shop.texts(site) == ["one", "three", "two"]
    assert (await only_site(shop)).held == 2
    assert await shop.search_index.release_held(site, shop.now, agreed=agreed) == 2
    assert await shop.texts(site) == (["three"] if agreed else ["one", "three", "two"])
    assert (await only_site(shop)).held == 0
    events = [event for event in await shop.ledger.events(0, 100) if event.kind is StoredEventKind.PAGE_GONE]
    runs = await shop.ledger.runs()
    assert [(event.url, event.run) for event in events] == ([(u("a"), runs[0].id), (u("b"), runs[0].id)] if agreed else [])
    assert await shop.search_index.release_held(site, shop.now, agreed=True) == 0


async def test_chunks_of_aliases_and_noindex_pages_are_dropped(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one", "b": "two", "c": "three"})).site
    await shop.indexed(site)
    merged = WavePlan(merges=(Merge(u("c"), u("a"), Proof.CANONICAL),))
    await shop.crawled({"a": "one", "b": "two", "c": "three"}, noindex=["b"], plan=lambda _: merged)
    assert await shop.texts(site) == ["one"]
    assert await shop.search_index.pages_to_index(site, 9) == []
    assert (await only_site(shop)).chunks == 1
    version = (await only_site(shop)).version
    await shop.search_index.check_presence(site, nothing, shop.now)
    stats = await only_site(shop)
    assert (stats.pages, stats.chunks, stats.version) == (1, 1, version + 1)
    await shop.crawled({"a": "one", "b": "two", "c": "three"})
    assert await shop.texts(site) == ["one"]
    assert await shop.indexed(site) == IndexWritten(pages=2, added=2)


NARROW = [
    CrawlSettings(seeds=(str(u("a")),), scope=Scope.PREFIX),
    CrawlSettings(seeds=(str(u("a")),), include=("/x*",)),
    CrawlSettings(seeds=(str(u("a")),), exclude=("/x*",)),
    CrawlSettings(sitemaps=(str(u("a")),)),
    CrawlSettings(seeds=(str(u("a")),), scope=Scope.ORIGIN),
    CrawlSettings(seeds=(str(u("a")),), discover_sitemaps=False),
]


async def test_a_run_that_did_not_cover_the_site_is_not_complete(shop: Shop) -> None:
    def skipped(reason: SkipReason) -> Callable[[Lease], Settlement]:
        return lambda lease: ended(lease, UrlState.SKIPPED, skip_reason=reason)

    site = (await shop.crawled({"a": "one", "b": "two"})).site
    for settings in NARROW:
        await shop.crawled({"a": "one"}, settings=settings)
    await shop.crawled({"b": "two"})  # it began elsewhere and never reached the seed of the first run
    await shop.crawled({"a": "one"}, state=RunState.CANCELLED)
    for reason in (SkipReason.BUDGET, SkipReason.DEPTH, SkipReason.TRAP, SkipReason.ROBOTS_UNREACHABLE):
        await shop.crawled({"a": "one"}, ends={"z": skipped(reason)})
    await shop.crawled({"a": "one"}, ends={"z": lambda lease: ended(lease, UrlState.HTTP_TERMINAL, status_code=451)})
    await shop.crawled({"a": "one"}, ends={"b": lambda lease: ended(lease, UrlState.FORBIDDEN, status_code=403)})
    count = len(NARROW) + 8
    for quiet in (UrlState.NOT_FOUND, UrlState.SOFT_404, UrlState.FORBIDDEN):
        await shop.crawled({"a": "one"}, ends={"z": lambda lease, state=quiet: ended(lease, state)})  # type: ignore[misc]
    seen: list[RunOutcome] = []
    await shop.search_index.check_presence(site, noting(seen), shop.now)
    assert [outcome.is_complete for outcome in seen] == [True, *[False] * count, True, True, True]


# Tenants


async def test_tenants_with_equal_pages_are_isolated(shop: Shop, queue: SqlRunQueue) -> None:
    pages = {"a": "one/two", "b": "three"}
    others = shop.of(await queue.create_tenant("others", NOW))
    ours, theirs = (await shop.crawled(pages)).site, (await others.crawled(pages)).site
    assert ours != theirs
    await others.indexed(theirs)
    assert await shop.embedded() == 0
    assert await others.embedded() == 3
    mine, other = await only_site(shop), await only_site(others)
    assert (mine.site, mine.name, mine.chunks, mine.embedded, mine.waiting) == (ours, "site", 0, 0, 2)
    assert (other.site, other.name, other.chunks, other.embedded, other.waiting) == (theirs, "site", 3, 3, 0)
    assert await shop.of(await queue.create_tenant("empty", NOW)).search_index.site_stats() == []
    for site in (ours, theirs):
        assert await shop.texts(site) == []
        assert await shop.search_index.postings(site, ["one"]) == {}
        assert await shop.search_index.chunk_records(site, [1, 2, 3]) == []
        assert list((await shop.search_index.nearest(site, MODEL, question("one"), 9)).numbers) == []
    await shop.indexed(ours)
    assert await shop.embedded() == 3, "vectors of another tenant are not used"
    await others.search_index.forget(theirs)
    assert await shop.texts(ours) == ["one", "three", "two"]
    assert len((await shop.search_index.nearest(ours, MODEL, question("one"), 9)).numbers) == 3
    assert list((await others.search_index.nearest(theirs, MODEL, question("one"), 9)).numbers) == []
    again = await others.ledger.create_run("site", CrawlSettings(), [], shop.now)
    assert again.site == theirs


async def test_a_page_is_found_by_its_url_within_its_tenant(shop: Shop, queue: SqlRunQueue) -> None:
    others = shop.of(await queue.create_tenant("others", NOW))
    site = (await shop.crawled({"a": "ours"})).site
    await others.crawled({"a": "theirs"})
    await shop.search_index.check_presence(site, standings(PresenceChange(u("a"), Presence.GONE, "410")), shop.now)
    page = await shop.search_index.page(u("a"))
    assert page is not None
    assert (page.site, page.site_name, page.url, page.document) == (site, "site", u("a"), "docours")
    assert (page.presence, page.evidence, page.fetched_at) == (Presence.GONE, "410", NOW + 100.0)
    assert await shop.of(await queue.create_tenant("empty", NOW)).search_index.page(u("a")) is None
    assert await shop.search_index.page(u("b")) is None


async def test_sketches_of_a_site_are_those_of_searchable_pages(shop: Shop) -> None:
    pages = {path: path for path in "abcd"}
    site = (await shop.crawled(pages, noindex=["b"], sketch=b"s")).site
    await shop.search_index.check_presence(site, standings(PresenceChange(u("c"), Presence.GONE, "410")), shop.now)
    sketches = [(page.url, page.sketch) async for page in shop.search_index.sketches(site)]
    assert sketches == [(u("a"), b"s"), (u("d"), b"s")]


# Vectors


async def test_a_text_is_embedded_once_on_however_many_pages(shop: Shop) -> None:
    site = (await shop.crawled({"a": "same/one", "b": "same"})).site
    await shop.indexed(site)
    texts = await shop.search_index.texts_to_embed(MODEL, 9, site)
    assert sorted(one.text for one in texts) == ["Top\none", "Top\nsame"]
    assert await shop.search_index.texts_to_embed(MODEL, 9, SiteId(99)) == []
    assert await shop.embedded() == 2
    assert (await only_site(shop)).embedded == 3
    await shop.crawled({"a": "same/one", "b": "same", "c": "one"})
    await shop.indexed(site)
    assert await shop.search_index.texts_to_embed(MODEL, 9) == []
    assert (await only_site(shop)).embedded == 4
    assert len(await shop.search_index.texts_to_embed("another model", 9)) == 2
    assert (await only_site(shop, model="another model")).embedded == 0


async def test_texts_of_the_most_linked_pages_are_embedded_first_then_those_of_the_newest(shop: Shop) -> None:
    links = {"a": ["c", "b"], "b": ["c", "d"]}
    site = (await shop.crawled({path: f"text-{path}" for path in "abcd"}, links=links)).site
    await shop.indexed(site)
    await shop.crawled({"d": "newer"})
    await shop.search_index.write_pages(site, EPOCH, [page_of(u("d"), "newer", dated=9.0)])
    texts = [one.text.removeprefix("Top\n") for one in await shop.search_index.texts_to_embed(MODEL, 9)]
    assert texts == ["text-c", "newer", "text-b", "text-a"]
    assert [one.text for one in await shop.search_index.texts_to_embed(MODEL, 2)] == ["Top\ntext-c", "Top\nnewer"]


async def test_texts_of_hidden_pages_are_not_embedded(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one", "b": "two"})).site
    await shop.indexed(site)
    await shop.crawled({"a": "one", "b": "other"})
    assert [one.text for one in await shop.search_index.texts_to_embed(MODEL, 9)] == ["Top\none"]
    await shop.indexed(site)
    assert await shop.embedded() == 2


async def test_vector_search_is_exact(shop: Shop) -> None:
    texts = [f"text number {at} {'e' * (at % 4)}" for at in range(60)]
    site = (await shop.crawled({f"p{at}": text for at, text in enumerate(texts)})).site
    await shop.indexed(site)
    assert await shop.search_index.nearest(site, MODEL, question("x"), 5) == replace(
        await shop.search_index.nearest(site, MODEL, question("x"), 5), numbers=(), scores=(), embedded=0
    )
    await shop.embedded()
    records = await shop.search_index.chunk_records(site, numbers_of(await shop.search_index.chunk_table(site)))
    query = np.frombuffer(question("query"), "<f4")
    truth = {record.number: float(np.frombuffer(vector(record.text), "<f2").astype(np.float32) @ query) for record in records}
    ranked = sorted(truth, key=lambda number: (-round(truth[number], 5), number))
    nearest = await shop.search_index.nearest(site, MODEL, query.tobytes(), 7, also=[ranked[20], ranked[0], 999])
    assert nearest.embedded == 60
    assert same(nearest.scores[:7], [truth[number] for number in ranked[:7]])
    assert same(nearest.scores, [truth[number] for number in nearest.numbers])
    assert len(nearest.numbers) == len(set(nearest.numbers))
    assert set(nearest.numbers) == {*nearest.numbers[:7], ranked[20]}
    few = array("I", ranked[30:40])
    among = await shop.search_index.nearest(site, MODEL, query.tobytes(), 3, also=[ranked[39]], among=few.tobytes())
    assert same(among.scores[:3], [truth[number] for number in ranked[30:33]])
    assert (among.embedded, set(among.numbers) <= set(few), ranked[39] in among.numbers) == (10, True, True)
    assert list((await shop.search_index.nearest(site, MODEL, query.tobytes(), 0)).numbers) == []
    assert list((await shop.search_index.nearest(site, MODEL, query.tobytes(), 5, among=b"")).numbers) == []
    assert len((await shop.search_index.nearest(site, MODEL, query.tobytes(), 500)).numbers) == 60


def same(actual: Iterable[float], expected: Iterable[float]) -> bool:
    return bool(np.allclose(list(actual), list(expected), atol=2e-3))


async def test_vector_search_follows_every_change(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one/two", "b": "three"})).site
    await shop.indexed(site)

    async def near() -> list[str]:
        nearest = await shop.search_index.nearest(site, MODEL, question("one"), 9)
        assert nearest.embedded == len(nearest.numbers)
        records = await shop.search_index.chunk_records(site, list(nearest.numbers))
        assert len(records) == len(nearest.numbers)
        return sorted(record.text for record in records)

    assert await near() == []
    [first, *rest] = await shop.search_index.texts_to_embed(MODEL, 9)
    await shop.search_index.put_vectors(MODEL, [(first.text_hash, vector("one"))])
    assert await near() == ["one"]
    await shop.search_index.put_vectors(MODEL, [(one.text_hash, vector("two")) for one in rest])
    assert await near() == ["one", "three", "two"]
    await shop.search_index.put_vectors(MODEL, [(first.text_hash, vector("something else"))])
    scores = (await shop.search_index.nearest(site, MODEL, question("something else"), 1)).scores
    assert same(scores, [1.0])
    await shop.crawled({"a": "one/four", "b": "three"})
    assert await near() == ["three"], "the page has changed"
    await shop.indexed(site)
    assert await near() == ["one", "three"]
    await shop.embedded()
    assert await near() == ["four", "one", "three"]
    await shop.search_index.check_presence(site, standings(PresenceChange(u("b"), Presence.GONE, "404")), shop.now)
    assert await near() == ["four", "one"]
    await shop.search_index.forget(site)
    assert await near() == []


async def test_an_unchanged_site_is_searched_in_memory_and_a_changing_one_by_pgvector(
    database: Database, shop: Shop, queue: SqlRunQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_database: list[int] = []
    compare = pgvector.nearest

    def noted(*args: Any) -> Similarities | None:
        by_database.append(1)
        return compare(*args)

    monkeypatch.setattr(pgvector, "nearest", noted)
    site = (await shop.crawled({"a": "one/two", "b": "three"})).site
    others = shop.of(await queue.create_tenant("other", NOW))
    other = (await others.crawled({"a": "one/two"})).site
    for tenant, crawled in ((shop, site), (others, other)):
        await tenant.indexed(crawled)
        await tenant.embedded()

    async def near(text: str) -> Similarities:
        nearest = await shop.search_index.nearest(site, MODEL, question(text), 9)
        vector_search = shop.search_index._vector_search
        assert isinstance(vector_search, LocalVectorSearch)
        await asyncio.gather(*vector_search._matrix_reads.values())
        return nearest

    query = ["one", "two", "three", "four", "five", "one"]
    results = [await near(text) for text in query]
    in_postgres = isinstance(database.where, str)
    assert len(by_database) == (4 if in_postgres else 0)
    assert list(results[0].numbers) == list(results[-1].numbers)
    assert same(results[0].scores, results[-1].scores)
    assert {len(one.numbers) for one in results} == {one.embedded for one in results} == {3}
    by_database.clear()
    await shop.crawled({"a": "one", "b": "three"})
    assert list((await near("one")).numbers) == [3], "stale pages are left out of a matrix too"
    await shop.indexed(site)
    assert sorted((await near("one")).numbers) == [1, 3]
    assert len(by_database) == in_postgres


@pytest.mark.usefixtures("without_pgvector")
async def test_without_pgvector_vectors_are_searched_in_memory(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one/two", "b": "three"})).site
    await shop.indexed(site)
    await shop.embedded()
    nearest = await shop.search_index.nearest(site, MODEL, question("two"), 1, also=[3])
    assert (list(nearest.numbers), nearest.embedded) == ([2, 3], 3)
    await shop.crawled({"a": "one", "b": "three/four"})
    await shop.indexed(site)
    assert (await shop.search_index.nearest(site, MODEL, question("two"), 9)).embedded == 2
    await shop.embedded()
    assert (await shop.search_index.nearest(site, MODEL, question("two"), 9)).embedded == 3


async def test_a_pgvector_installed_later_gets_the_existing_vectors(
    database: Database, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = (await shop.crawled({"a": "one/two", "b": "three"})).site
    await shop.indexed(site)
    with monkeypatch.context() as before:
        before.setattr(pgvector, "_CREATE", ("CREATE EXTENSION there_is_none",))
        await shop.embedded()
    await shop.search_index.put_vectors("another model", [("text", vector("text"))])
    engine = await database.engine()
    assert await engine.read(pgvector.is_ready) == isinstance(database.where, str)
    nearest = await shop.search_index.nearest(site, MODEL, question("two"), 9)
    assert (sorted(nearest.numbers), nearest.numbers[0], nearest.embedded) == ([1, 2, 3], 2, 3)


async def test_vectors_and_chunks_written_concurrently_are_joined(database: Database, shop: Shop) -> None:
    pages = {f"p{at}": f"word{at}" for at in range(24)}
    site = (await shop.crawled(pages)).site
    await shop.search_index.open_epoch(site, EPOCH)
    made = [page_of(u(path), text) for path, text in pages.items()]
    other = SqlSearchIndex(await database.engine(), DEFAULT_TENANT)
    puts = [other.put_vectors(MODEL, [(page.chunks[0].text_hash, vector(page.chunks[0].chunk.text))]) for page in made]
    await asyncio.gather(*(shop.search_index.write_pages(site, EPOCH, [page]) for page in made), *puts)
    assert (await shop.search_index.nearest(site, MODEL, question("x"), 99)).embedded == 24


async def test_invalid_vectors_are_ignored(shop: Shop) -> None:
    site = (await shop.crawled({"a": "one/two/three"})).site
    await shop.indexed(site)
    first, second, third = await shop.search_index.texts_to_embed(MODEL, 9)
    odd = np.array([1, 0, 0], "<f2").tobytes()
    broken = np.array([np.nan, np.inf, 0, 0], "<f2").tobytes()
    await shop.search_index.put_vectors(
        MODEL, [(first.text_hash, vector("one")), (second.text_hash, odd), (third.text_hash, broken)]
    )
    await shop.search_index.put_vectors(MODEL, [])
    nearest = await shop.search_index.nearest(site, MODEL, question("one"), 9)
    assert nearest.numbers[0] == 1
    assert all(np.isfinite(nearest.scores))
    assert list((await shop.search_index.nearest(site, "no such model", question("one"), 9)).numbers) == []
    assert list((await shop.search_index.nearest(SiteId(99), MODEL, question("one"), 9)).numbers) == []


async def test_an_unknown_site_is_empty(shop: Shop) -> None:
    nowhere = SiteId(99)
    assert await shop.search_index.chunk_table(nowhere) == ChunkTable(0)
    assert await shop.search_index.pages_to_index(nowhere, 9) == []
    assert await shop.search_index.write_pages(nowhere, EPOCH, [page_of(u("a"), "x")]) == IndexWritten()
    await shop.search_index.open_epoch(nowhere, EPOCH)
    await shop.search_index.forget(nowhere)
    assert await shop.search_index.check_presence(nowhere, nothing, NOW) == []
