"""The search log, and the sample of embeddings that audits cluster."""

from __future__ import annotations

from itertools import permutations

import pytest
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, begin
from tests.ports.test_search_index import MODEL
from tests.ports.test_tenants import fill

from sitelore.model.audit.findings import LoggedQuery, SearchLog
from sitelore.model.ids import DEFAULT_TENANT, CleanText, SiteId, TenantId
from sitelore.store.audits import search_log
from sitelore.store.audits.audit_store import SqlAuditStore
from sitelore.store.index.search_index import SqlSearchIndex
from sitelore.store.ledger import SqlLedger, SqlRunQueue

DAY = 86_400.0


@pytest.fixture
async def store(database: Database) -> SqlAuditStore:
    return SqlAuditStore(await database.engine(), DEFAULT_TENANT)


async def search(
    store: SqlAuditStore, site: SiteId, text: str, *, hits: bool = False, weak: bool = False, at: float = NOW
) -> None:
    await store.record_search([site], CleanText(text), has_results=hits, is_weak=weak, now=at, kept_since=at - 30 * DAY)


async def test_searches_are_counted_by_query_those_without_an_answer_first(ledger: SqlLedger, store: SqlAuditStore) -> None:
    site = (await begin(ledger)).site
    assert await store.search_log(site, 9) == SearchLog(0, 0, ())
    await search(store, site, "good", hits=True)
    await search(store, site, "sometimes", hits=True, weak=True, at=NOW + 1)
    await search(store, site, "sometimes", hits=True, at=NOW + 2)
    for at in range(3):
        await search(store, site, "nothing\0", at=NOW + at)
    unanswered = (LoggedQuery("nothing\ufffd", 3, 3, 0, NOW + 2), LoggedQuery("sometimes", 2, 0, 1, NOW + 2))
    assert await store.search_log(site, 9) == SearchLog(6, 3, unanswered)
    assert (await store.search_log(site, 1)).unanswered == unanswered[:1]


async def test_queries_that_were_not_made_for_the_retention_period_are_deleted(ledger: SqlLedger, store: SqlAuditStore) -> None:
    site = (await begin(ledger)).site
    await search(store, site, "old")
    await search(store, site, "new", at=NOW + 31 * DAY)
    assert [each.query for each in (await store.search_log(site, 9)).unanswered] == ["new"]
    await store.delete_searches(site, NOW + 32 * DAY)
    assert await store.search_log(site, 9) == SearchLog(0, 0, ())


async def test_the_number_of_different_queries_is_bounded(
    ledger: SqlLedger, store: SqlAuditStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_log, "MAX_QUERIES", 2)
    site = (await begin(ledger)).site
    for text in ("first", "second", "third", "first"):
        await search(store, site, text)
    assert [each[:2] for each in (await store.search_log(site, 9)).unanswered] == [("first", 2), ("second", 1)]


async def filled(database: Database) -> dict[TenantId, tuple[SqlAuditStore, SiteId]]:
    """The audit stores and sites of two tenants who have embeddings and a search in the log."""
    engine = await database.engine()
    stores = {}
    for name in ("red", "blue"):
        tenant = (await SqlRunQueue(engine).create_tenant(name, NOW)).id
        ledger = SqlLedger(engine, tenant)
        await fill(ledger, SqlSearchIndex(engine, tenant), name)
        stores[tenant] = SqlAuditStore(engine, tenant), (await ledger.runs(9))[0].site
    return stores


async def test_a_tenant_sees_its_own_searches_and_embeddings_only(database: Database) -> None:
    stores = await filled(database)
    for (store, site), (other, other_site) in permutations(stores.values(), 2):
        [own] = (await store.search_log(site, 9)).unanswered
        assert own.query not in {each.query for each in (await other.search_log(other_site, 9)).unanswered}
        assert (await store.search_log(other_site, 9)).searches == 0
        assert (await store.sample_vectors(site, MODEL, 9)).total > 0
        assert (await store.sample_vectors(other_site, MODEL, 9)).total == 0
        await store.delete_searches(other_site, NOW + DAY)
        assert (await other.search_log(other_site, 9)).searches == 1


async def test_a_sample_of_embeddings_has_each_text_once_in_a_stable_order(database: Database) -> None:
    (store, site), *_ = (await filled(database)).values()
    whole = await store.sample_vectors(site, MODEL, 9)
    assert whole.total == len(whole.chunks) > 0
    assert all(each.vector and each.pages for each in whole.chunks)
    assert (await store.sample_vectors(site, MODEL, 9)) == whole
    assert list((await store.sample_vectors(site, MODEL, 1)).chunks) == list(whole.chunks[:1])
    assert (await store.sample_vectors(site, "another model", 9)).total == 0
