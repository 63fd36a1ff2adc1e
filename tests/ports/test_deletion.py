"""Deletion of runs, sites, tenants and old versions on both databases, and sweeps of every blob store."""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
import zstandard
from tests.ports.audits import audited
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, admit_all, facts, leases, u
from tests.support.qdrant import fake_qdrant

from sitelore.app.operations.deletion import purge_deleted_blobs, soft_delete_unreferenced_blobs
from sitelore.model.document import Blob, PageLink
from sitelore.model.frontier import Effects, IdempotencyKey, Offer, Run, Settlement, Source, Verdict
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, ChunkId, CleanBytes, CleanText, RunId, SiteId, TenantId
from sitelore.model.platform.media import ShownMedia
from sitelore.model.platform.webhooks import WebhookEndpoint
from sitelore.model.response import RobotsFile
from sitelore.model.search import Chunk, IndexedChunk, IndexedPage
from sitelore.model.settings import CrawlSettings, MediaType
from sitelore.model.states import RunState, UrlState
from sitelore.store.audits.audit_store import SqlAuditStore
from sitelore.store.blobs.object_store import ObjectBlobs
from sitelore.store.blobs.sqlite import SqliteBlobs
from sitelore.store.blobs.tenant import TenantBlobs
from sitelore.store.index.search_index import SqlSearchIndex
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.platform.schema import connected_repositories, crawl_jobs, fix_requests, page_deletions, schedules
from sitelore.store.platform.webhooks import SqlWebhooks
from sitelore.store.schema import complete_metadata, pattern_stats, prefetches, runs
from sitelore.store.vectors import pgvector
from sitelore.store.vectors.qdrant import QdrantRest, QdrantServer, delete_points

MODEL, EPOCH = "model", "epoch"
LATER = NOW + 1000.0
OF_TENANT = {"tenants", "models", "brands", "users", "tokens", "audit_log", "retention", "webhook_endpoints", "site_sessions"}
"""Tables whose rows belong to no site."""
Rows = dict[str, list[tuple[Any, ...]]]


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Store:
    """The ledger and the search index of one tenant, and the owner's view of the whole database."""

    ledger: SqlLedger
    search_index: SqlSearchIndex
    owner: Any

    def of(self, tenant: TenantId) -> Store:
        return Store(self.ledger.for_tenant(tenant), self.search_index.for_tenant(tenant), self.owner)

    async def crawl(self, host: str, content: str = "one", at: float = NOW, texts: Sequence[str] = ()) -> Run:
        """A completed run of the site on this host, with rows in every table; its pages are indexed with these texts."""
        ledger, settings = self.ledger, CrawlSettings(seeds=(str(u("", host)),))
        offers = [Offer(u(path, host), 0, Source.SEED, position=position) for position, path in enumerate(("", "a", "b"))]
        key = IdempotencyKey(f"{host} {at}", "fingerprint")
        run = (await ledger.create_run_once(key, host, settings, offers, at)).run
        assert await ledger.begin_run(run.id, at)
        await ledger.open_wave(run.id, 0, admit_all)
        links = msgspec.msgpack.encode([PageLink(str(u("elsewhere", host)), text="there")])
        settlements = []
        for lease in await leases(ledger, run, now=at):
            page = facts(f"{host} {lease.url} {content}", links=links, snapshot=BlobKey(f"snapshot{lease.url}{content}"))
            film = ShownMedia(u("film", host), MediaType.VIDEO, provider="youtube", video_id=host)
            effects = Effects(page=page, fetched=True, redactions={"rule": 1}, shown=(film,))
            settlements.append(Settlement(lease, Verdict(UrlState.VISITED, 200), effects, at))
        assert all(await ledger.settle(settlements))
        await ledger.save_robots(RobotsFile(f"http://{host}", at, 200, "User-agent: *"))
        assert await ledger.end_run(run.id, RunState.COMPLETED, at)
        await self._insert_others(run)
        if texts:
            await self._index(run, texts)
        return run

    async def _insert_others(self, run: Run) -> None:
        """Rows of the tables that only large runs and running ones fill."""
        counts = {"pages": 1, "distinct_pages": 1, "novel_pages": 1, "first_seq": 1, "last_seq": 1}

        def insert(conn: sa.Connection) -> None:
            conn.execute(sa.insert(pattern_stats).values(tenant_id=run.tenant, run_id=run.id, pattern="/*", **counts))
            number = conn.scalar(sa.select(runs.c.number).where(runs.c.id == run.id))
            key = {"tenant_id": run.tenant, "run_number": number, "url_id": 1}
            conn.execute(sa.insert(prefetches).values(**key, worker="w", lease_until=0.0, is_bet=0))

        await self.owner.write(insert)
        await audited(SqlAuditStore(self.ledger._engine, run.tenant), run)
        await self.owner.write(_insert_channel, run)
        await self.owner.write(_insert_fix_request, run)

    async def _index(self, run: Run, texts: Sequence[str]) -> None:
        await self.search_index.open_epoch(run.site, EPOCH)
        pages = [
            IndexedPage(page.url, page.document, CleanText("t"), chunks=tuple(_chunk(page.url, text) for text in texts))
            for page in await self.search_index.pages_to_index(run.site, 100)
        ]
        await self.search_index.write_pages(run.site, EPOCH, pages)
        await self.search_index.put_vectors(MODEL, [(text_hash(text), b"\x00\x3c" * 4) for text in texts])

    async def rows(self) -> Rows:
        """All rows of all tables, of all tenants; without the versions of models and vectors, which every put raises."""

        def read(conn: sa.Connection) -> Rows:
            columns = {table.name: [c for c in table.c if c.name != "version"] for table in complete_metadata().sorted_tables}
            rows = {name: _sorted(conn, sa.select(*of_table)) for name, of_table in columns.items()}
            if pgvector.is_ready(conn):
                rows["pgvector"] = _sorted(conn, sa.text("SELECT tenant_id, site_id FROM sitelore_vectors.chunk_vectors"))
            return rows

        return await self.owner.read(read)  # type: ignore[no-any-return]


def _insert_channel(conn: sa.Connection, run: Run) -> None:
    """Make the run a crawl of a channel of its site, with a schedule and a deleted page."""
    tenant, channel = {"tenant_id": run.tenant}, f"channel-{run.site}"
    site = {**tenant, "site_id": run.site}
    new_channel = sa.text(
        "INSERT INTO channels (tenant_id, id, site_id, host, title, url, settings, created_at, updated_at)"
        " VALUES (:tenant_id, :id, :site_id, :id, '', '', '{}', 0, 0) ON CONFLICT DO NOTHING"
    )
    is_new = conn.execute(new_channel, {**site, "id": channel}).rowcount == 1
    job = {"trigger_type": "manual", "triggered_by": "", "config": "{}", "active": 0, "follow_up": 0}
    conn.execute(sa.insert(crawl_jobs).values(**tenant, run_id=run.id, channel_id=channel, **job))
    if is_new:
        conn.execute(sa.insert(page_deletions).values(**site, url_id=1, run_id=run.id))
        rule = {"cron": "0 0 * * 0", "time_zone": "UTC", "jitter_s": 0, "next_at": 0.0, "due_at": 0.0}
        conn.execute(sa.insert(schedules).values(**tenant, channel_id=channel, **rule))


def _insert_fix_request(conn: sa.Connection, run: Run) -> None:
    """Connect a repository to the site of the run, with a pull request for its findings."""
    made = {"tenant_id": run.tenant, "site_id": run.site, "url": "", "created_at": 0.0, "created_by": ""}
    repository = {**made, "host": "github", "base": "", "token": ""}
    connected = sa.select(connected_repositories).where(
        connected_repositories.c.tenant_id == run.tenant, connected_repositories.c.site_id == run.site
    )
    if conn.execute(connected).first() is None:
        conn.execute(sa.insert(connected_repositories).values(**repository))
    request = {"id": run.id, "repository": "owner/name", "subject": "s", "branch": run.id, "state": "open", "error": ""}
    lists = {"rules": "[]", "chosen": "[]", "findings": "[]"}
    conn.execute(sa.insert(fix_requests).values(**made, **request, **lists, updated_at=0.0, due_at=0.0))


def _chunk(url: str, text: str) -> IndexedChunk:
    chunk = Chunk(ChunkId(text_hash(f"{url} {text}")), CleanText(text), 0, len(text), 1)
    return IndexedChunk(chunk, {text: 1}, 1, text_hash(text))


def _sorted(conn: sa.Connection, query: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in conn.execute(query)), key=repr)


@pytest.fixture
async def store(database: Database) -> Store:
    engine = await database.engine()
    owner = await database.owner()
    await SqlWebhooks(engine, DEFAULT_TENANT).add_endpoint(WebhookEndpoint("hook", "https://hook.test/", (), "plain:s", NOW))
    return Store(SqlLedger(engine, DEFAULT_TENANT), SqlSearchIndex(engine, DEFAULT_TENANT), owner)


def without_last_event(rows: Rows) -> Rows:
    """Rows without the event that SQLite keeps, empty, so that its id is not used again."""
    return {**rows, "events": [row for row in rows["events"] if row[4:6] != (None, None)]}


async def test_deleting_a_site_leaves_no_row_of_it_and_every_other_row(store: Store, database: Database) -> None:
    [neighbour] = await database.tenants("neighbour")
    await store.of(neighbour._tenant).crawl("b.test", texts=["shared", "neighbour's"])
    await store.crawl("a.test", texts=["shared", "of a"])
    before = await store.rows()
    await store.crawl("b.test", texts=["shared", "of b"])
    run = await store.crawl("b.test", "changed", LATER, texts=["shared", "of b, changed"])
    after = await store.rows()
    assert {name for name in before if len(after[name]) <= len(before[name])} == OF_TENANT
    assert await store.ledger.delete_site(run.site)
    left = await store.rows()
    assert without_last_event(left) == without_last_event(before)
    assert not await store.ledger.delete_site(run.site)
    assert await store.ledger.site_named("b.test") is None


async def test_deleting_a_run_keeps_pages_versions_index_and_the_other_runs(store: Store) -> None:
    first = await store.crawl("a.test", texts=["of a"])
    before = await store.rows()
    second = await store.crawl("a.test", "changed", LATER)
    history = await store.ledger.page_history(first.site, u("a", "a.test"))
    assert await store.ledger.delete_run(first.id)
    left = await store.rows()
    for name in ("runs", "urls", "redactions", "run_counts", "prefetches", "pattern_stats", "idempotency_keys"):
        assert len(left[name]) == len(before[name]), name
    for name in ("chunks", "chunk_texts", "postings", "vectors", "segments", "robots", "sites"):
        assert len(left[name]) == len(before[name]) > 0, name
    assert [run.id for run in await store.ledger.runs()] == [second.id]
    assert await store.ledger.page_history(first.site, u("a", "a.test")) == history
    assert len(history) == 2
    references: set[BlobKey] = set().union(*[keys async for keys in store.ledger.blob_references()])
    assert {version.document for version in history} <= references
    assert BlobKey("snapshothttp://a.test/aone") not in references
    assert not await store.ledger.delete_run(first.id)
    assert not await store.ledger.delete_run(RunId("unknown"))


async def test_deleting_a_tenant_leaves_no_row_of_it_and_every_other_row(store: Store, database: Database) -> None:
    await store.crawl("a.test", texts=["shared"])
    before = await store.rows()
    [ledger] = await database.tenants("neighbour")
    neighbour = store.of(ledger._tenant)
    for host in ("a.test", "b.test"):
        await neighbour.crawl(host, texts=["shared", f"of {host}"])
    assert await neighbour.ledger.delete_tenant()
    assert await store.rows() == before
    assert not await neighbour.ledger.delete_tenant()
    assert [tenant.name for tenant in await (await database.queue()).tenants()] == ["default"]


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.INTERRUPTED])
async def test_nothing_is_deleted_while_a_run_has_not_ended(store: Store, database: Database, state: RunState) -> None:
    [ledger] = await database.tenants("busy")
    busy = store.of(ledger._tenant)
    ended = await busy.crawl("b.test")
    await busy.crawl("a.test")
    run = await busy.ledger.create_run("b.test", CrawlSettings(), [], LATER)
    if state is not RunState.QUEUED:
        assert await busy.ledger.begin_run(run.id, LATER)
    if state is RunState.INTERRUPTED:
        assert await busy.ledger.move_run(run.id, state, LATER)
    before = await store.rows()
    assert not await busy.ledger.delete_run(run.id)
    assert not await busy.ledger.delete_site(run.site)
    assert not await busy.ledger.delete_tenant()
    assert await store.rows() == before
    assert await busy.ledger.delete_run(ended.id)
    assert await busy.ledger.end_run(run.id, RunState.CANCELLED, LATER)
    assert await busy.ledger.delete_tenant()


async def test_a_tenant_cannot_delete_runs_and_sites_of_another(store: Store, database: Database) -> None:
    run = await store.crawl("a.test")
    [other] = await database.tenants("other")
    before = await store.rows()
    assert not await other.delete_run(run.id)
    assert not await other.delete_site(run.site)
    assert await other.site_named("a.test") is None
    assert await store.rows() == before


async def test_ids_of_deleted_events_are_not_used_again(store: Store) -> None:
    run = await store.crawl("a.test")
    seen = (await store.ledger.events(0, 1000))[-1].id
    await store.ledger.delete_site(run.site)
    assert all(event.url is None and not event.facts for event in await store.ledger.events(0, 1000))
    again = await store.crawl("a.test", at=LATER)
    events = await store.ledger.events(seen, 1000)
    assert {event.run for event in events} == {again.id}
    assert len(events) == 5  # started, three pages, ended


async def test_expired_runs_are_all_but_the_latest_of_each_site(store: Store) -> None:
    old = [await store.crawl("a.test", str(n), NOW + n) for n in range(3)]
    other = await store.crawl("b.test", "only")
    assert other.id not in await store.ledger.runs_to_expire(math.inf)
    await store.ledger.create_run("b.test", CrawlSettings(), [], LATER)
    assert await store.ledger.runs_to_expire(NOW) == []
    assert set(await store.ledger.runs_to_expire(NOW + 0.5)) == {old[0].id, other.id}
    assert set(await store.ledger.runs_to_expire(math.inf)) == {old[0].id, old[1].id, other.id}


async def test_old_versions_are_deleted_with_their_links_and_current_ones_stay(store: Store) -> None:
    runs = [await store.crawl("a.test", f"version {n}", NOW + 100 * n) for n in range(3)]
    site, url = runs[0].site, u("a", "a.test")
    history = await store.ledger.page_history(site, url)
    assert await store.ledger.delete_versions(NOW + 100) == 0
    assert await store.ledger.delete_versions(NOW + 101) == 3
    assert await store.ledger.delete_versions(NOW + 101) == 0
    assert await store.ledger.page_history(site, url) == history[:2]
    assert len((await store.rows())["links"]) == 6
    assert await store.ledger.delete_versions(math.inf) == 3
    assert await store.ledger.page_history(site, url) == history[:1]
    assert [link.target for link in await store.ledger.outlinks(site, url)] == [u("elsewhere", "a.test")]


async def test_references_are_read_over_several_pages_of_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitelore.store.runs.deletion.REFERENCES_PER_READ", 2)
    for host in ("a.test", "b.test"):
        await store.crawl(host)
    parts = [keys async for keys in store.ledger.blob_references()]
    assert len(parts) > 6
    expected = {
        BlobKey(key)
        for host in ("a.test", "b.test")
        for url in (u(path, host) for path in ("", "a", "b"))
        for key in (f"doc{host} {url} one", f"snapshot{url}one")
    }
    assert set().union(*parts) == expected


class References:
    """A ledger that refers to these blobs, and may do something while they are read."""

    def __init__(self, *keys: BlobKey) -> None:
        self.keys = set(keys)
        self.meanwhile: Any = None

    async def delete_run(self, _run: RunId) -> bool:
        return False

    async def blob_references(self) -> AsyncIterator[set[BlobKey]]:
        yield set(self.keys)
        if self.meanwhile is not None:
            await self.meanwhile()


def blob(content: bytes) -> Blob:
    return Blob(BlobKey(hashlib.sha256(content).hexdigest()), CleanBytes(zstandard.compress(content)))


@pytest.fixture(params=["sqlite", "directory", "s3"])
async def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TenantBlobs]:
    """The blobs of the default tenant in a store of each kind."""
    if request.param == "s3":
        url, _, options = str(request.getfixturevalue("s3_url")).partition("?")
        blob_store: SqliteBlobs | ObjectBlobs = ObjectBlobs(f"{url}/{tmp_path.name}?{options}")
    elif request.param == "directory":
        blob_store = ObjectBlobs(f"file://{tmp_path / 'blobs'}")
    else:
        blob_store = SqliteBlobs(tmp_path / "blobs.db")
    yield TenantBlobs(blob_store, DEFAULT_TENANT)
    await blob_store.close()


async def keys_of(blobs: TenantBlobs) -> set[BlobKey]:
    return {key async for key in blobs.keys(math.inf)}


async def sweep(references: References, blobs: TenantBlobs, stored_before: float = math.inf, per_pass: int = 1000) -> int:
    return await soft_delete_unreferenced_blobs(references, blobs, stored_before, per_pass)  # type: ignore[arg-type]


async def test_a_sweep_deletes_exactly_the_unreferenced_blobs_of_the_tenant(blobs: TenantBlobs) -> None:
    many = [blob(f"{n}".encode()) for n in range(20)]
    of_another = blobs.for_tenant(TenantId(7))
    for one in (blobs, of_another):
        await one.put(many)
    kept = References(*(one.key for one in many[:5]), BlobKey("0" * 64))
    assert await sweep(kept, blobs, per_pass=4) == 15
    assert await keys_of(blobs) == {one.key for one in many[:5]}
    assert await blobs.get(many[3].key) == b"3"
    assert await keys_of(of_another) == {one.key for one in many}
    assert await of_another.get(many[9].key) == b"9"
    assert await sweep(kept, blobs) == 0
    assert await sweep(References(), of_another) == 20
    await purge_deleted_blobs(References(), of_another, math.inf)  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        await of_another.get(many[9].key)
    assert await blobs.get(many[3].key) == b"3"


async def test_blobs_that_were_put_since_a_point_in_time_stay(blobs: TenantBlobs) -> None:
    await blobs.put([blob(b"new")])
    assert await sweep(References(), blobs, time.time() - 60) == 0
    assert await blobs.get(blob(b"new").key) == b"new"


async def test_a_blob_that_is_put_again_while_references_are_read_stays(blobs: TenantBlobs) -> None:
    await blobs.put([blob(b"old"), blob(b"again")])
    at = await _after_a_tick()

    async def put_again() -> None:
        await blobs.put([blob(b"again")])

    references = References()
    references.meanwhile = put_again
    assert await sweep(references, blobs, at) == 1
    assert await keys_of(blobs) == {blob(b"again").key}


async def _after_a_tick() -> float:
    """A time after all puts so far and before the next one. Stores count whole seconds, or clock ticks of the kernel."""
    next_second = math.ceil(time.time())
    await asyncio.sleep(next_second - time.time() + 0.05)
    return float(next_second)


async def test_a_deleted_object_is_readable_until_it_is_purged_and_restored_if_it_is_needed(blobs: TenantBlobs) -> None:
    first, second = blob(b"first"), blob(b"second")
    await blobs.put([first, second])
    assert await sweep(References(), blobs) == 2
    deleted = {key async for key in blobs.deleted_keys(math.inf)}
    if not deleted:
        pytest.skip("SQLite deletes at once: no other process can refer to a blob meanwhile")
    assert deleted == {first.key, second.key}
    assert await blobs.get(first.key) == b"first"
    assert await purge_deleted_blobs(References(first.key), blobs, math.inf) == 1  # type: ignore[arg-type]
    assert await blobs.get(first.key) == b"first"
    with pytest.raises(KeyError):
        await blobs.get(second.key)
    assert await keys_of(blobs) == {first.key}
    assert not {key async for key in blobs.deleted_keys(math.inf)}
    await blobs.restore([second.key])  # too late, and no error


async def test_objects_are_purged_only_after_the_grace_period(blobs: TenantBlobs) -> None:
    await blobs.put([blob(b"x")])
    await sweep(References(), blobs)
    assert await purge_deleted_blobs(References(), blobs, time.time() - 60) == 0  # type: ignore[arg-type]


async def test_deleted_contents_are_overwritten_in_the_file(tmp_path: Path) -> None:
    store = SqliteBlobs(tmp_path / "blobs.db")
    random = hashlib.shake_256(b"seed").digest(100_000)  # larger than a page, and not compressible
    small = hashlib.shake_256(b"small").digest(100)
    blobs = TenantBlobs(store, DEFAULT_TENANT)
    await blobs.put([blob(random), blob(small), blob(b"kept")])
    await sweep(References(blob(b"kept").key), blobs)
    await store.close()  # empties the write-ahead log
    stored = (tmp_path / "blobs.db").read_bytes()
    for content in (small[:60], random[:60], random[50_000:50_060], random[-60:]):
        assert content not in stored


async def test_points_of_a_site_and_of_a_tenant_are_deleted_from_qdrant() -> None:
    async with fake_qdrant() as qdrant:
        server = QdrantServer.read(f"qdrant:{qdrant.url}")
        rest = QdrantRest(server)
        for name in ("sitelore-model-4", "others-model-4"):
            await rest.make(name, 4, {"tenant": {"type": "keyword"}, "site": {"type": "integer"}})
            points = [
                {"id": site << 32 | number, "vector": [0.0] * 4, "payload": {"tenant": tenant, "site": site, "page": 1}}
                for tenant, site in (("default", 1), ("default", 2), ("other", 3))
                for number in (1, 2)
            ]
            points += [{"id": site << 32, "vector": [0.0] * 4, "payload": {"versions": [1, 1]}} for site in (1, 2, 3)]
            await rest.put(name, points)
        await delete_points(server, "default", SiteId(1))
        left = set(qdrant.collections["sitelore-model-4"].points)
        assert {point >> 32 for point in left} == {2, 3}
        assert len(left) == 6
        await delete_points(server, "other")
        assert {point >> 32 for point in qdrant.collections["sitelore-model-4"].points} == {2}
        assert len(qdrant.collections["others-model-4"].points) == 9


async def test_the_ids_of_deleted_sites_and_tenants_are_not_used_again(store: Store) -> None:
    first, queue = await store.crawl("first.test"), SqlRunQueue(store.ledger._engine)
    tenant = await queue.create_tenant("short-lived", NOW)
    await store.of(tenant.id).crawl("other.test")
    theirs = await store.of(tenant.id).crawl("theirs.test")
    assert await store.of(tenant.id).ledger.delete_tenant()
    assert await store.ledger.delete_site(first.site)
    assert (await queue.create_tenant("next", NOW)).id > tenant.id
    assert (await store.crawl("second.test")).site > max(first.site, theirs.site)
