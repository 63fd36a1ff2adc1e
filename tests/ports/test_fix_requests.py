"""The store of fix requests: connected repositories, one request for a set of findings, limits, claims of servers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.ports.audits import REPOSITORY, fix_request, repository_of
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, begin

from sitelore.model.ids import DEFAULT_TENANT, SiteId
from sitelore.model.platform.fixes import (
    MAX_OPEN_REQUESTS,
    MAX_REQUESTS_PER_HOUR,
    DueFix,
    FixLimit,
    FixRequest,
    FixState,
    RepositoryHost,
)
from sitelore.model.states import RunState
from sitelore.store.audits.fix_requests import SqlFixStore
from sitelore.store.ledger import SqlLedger

HOUR_S = 3_600.0


@pytest.fixture
async def store(database: Database) -> SqlFixStore:
    return SqlFixStore(await database.engine(), DEFAULT_TENANT)


@pytest.fixture
async def site(ledger: SqlLedger, store: SqlFixStore) -> SiteId:
    own = (await begin(ledger)).site
    await store.save_repository(repository_of(own))
    return own


async def requested(store: SqlFixStore, request: FixRequest) -> FixRequest:
    stored, limit = await store.request_fix(request)
    assert limit is None
    assert stored is not None
    return stored


async def test_a_site_has_one_repository_which_is_replaced_and_deleted_with_its_token(store: SqlFixStore, site: SiteId) -> None:
    other = repository_of(site, host=RepositoryHost.GITLAB, url="https://lab.test/a/b", token="plain:other", base="trunk")
    await store.save_repository(other)
    assert await store.repository(site) == other
    assert await store.delete_repository(site)
    assert await store.repository(site) is None
    assert not await store.delete_repository(site)


async def test_a_request_is_stored_whole_and_listed_newest_first(store: SqlFixStore, site: SiteId) -> None:
    first = await requested(store, fix_request(site, "1", chosen=("k1", "k2")))
    assert first == fix_request(site, "1", chosen=("k1", "k2"), updated_at=NOW, due_at=NOW)
    changed = replace(
        first, state=FixState.OPEN, number=7, url="https://git.test/7", findings=("k1",), merged_at=NOW + 1, error="x\0y",
        attempts=2, due_at=NOW + 5, updated_at=NOW + 2,
    )  # fmt: skip
    await store.save_fix(changed)
    assert await store.fix(site, "1") == replace(changed, error="x\ufffdy")
    await requested(store, fix_request(site, "2", "other"))
    listed, total = await store.list_fixes(site, 1, 0)
    assert ([each.id for each in listed], total) == (["2"], 2)
    assert await store.fix(site, "3") is None


async def test_a_second_request_for_the_same_findings_queues_the_pending_one_again(store: SqlFixStore, site: SiteId) -> None:
    first = await requested(store, fix_request(site, "1"))
    await store.save_fix(replace(first, state=FixState.OPEN, number=3, attempts=1, error="late"))
    again = await requested(store, fix_request(site, "2", created_at=NOW + 9))
    assert (again.id, again.state, again.number, again.attempts, again.error) == ("1", FixState.QUEUED, 3, 0, "")
    assert again.due_at == NOW + 9
    assert await store.fix(site, "2") is None


async def test_a_closed_pull_request_is_not_proposed_again(store: SqlFixStore, site: SiteId) -> None:
    first = await requested(store, fix_request(site, "1"))
    await store.save_fix(replace(first, state=FixState.CLOSED))
    stored, limit = await store.request_fix(fix_request(site, "2"))
    assert limit is FixLimit.CLOSED
    assert stored is not None
    assert stored.id == "1"


async def test_after_a_merge_the_next_request_waits_for_a_crawl_and_then_gets_a_branch_of_its_own(
    store: SqlFixStore, site: SiteId
) -> None:
    first = await requested(store, fix_request(site, "1"))
    await store.save_fix(replace(first, state=FixState.MERGED))
    assert (await store.request_fix(fix_request(site, "2")))[1] is FixLimit.MERGED
    await store.save_fix(replace(first, state=FixState.NOT_RESOLVED))
    second = await requested(store, fix_request(site, "2"))
    assert (second.id, second.branch) == ("2", f"{first.branch}-2")


async def test_open_requests_of_a_repository_are_limited(store: SqlFixStore, site: SiteId) -> None:
    for number in range(MAX_OPEN_REQUESTS):
        await requested(store, fix_request(site, str(number), f"subject-{number}", created_at=NOW + number * HOUR_S))
    assert (await store.request_fix(fix_request(site, "more", "more")))[1] is FixLimit.OPEN
    assert (await requested(store, fix_request(site, "again", "subject-0"))).id == "0"


async def test_requests_of_a_repository_within_an_hour_are_limited(store: SqlFixStore, site: SiteId) -> None:
    for number in range(MAX_REQUESTS_PER_HOUR):
        await store.save_fix(
            replace(await requested(store, fix_request(site, str(number), f"subject-{number}")), state=FixState.FAILED)
        )
    assert (await store.request_fix(fix_request(site, "more", "more")))[1] is FixLimit.HOUR
    await requested(store, fix_request(site, "later", "more", created_at=NOW + HOUR_S))


async def test_without_the_repository_no_request_is_accepted(store: SqlFixStore, site: SiteId) -> None:
    assert (await store.request_fix(fix_request(site, repository=f"{REPOSITORY}-2")))[1] is FixLimit.NOT_CONNECTED
    await store.delete_repository(site)
    assert (await store.request_fix(fix_request(site)))[1] is FixLimit.NOT_CONNECTED


async def test_one_server_claims_a_due_request_and_another_one_after_the_lease(store: SqlFixStore, site: SiteId) -> None:
    await requested(store, fix_request(site, "1"))
    assert await store.due_fixes(NOW - 1, 9) == []
    assert await store.due_fixes(NOW, 9) == [DueFix(DEFAULT_TENANT, "1")]
    claimed = await store.claim_fix("1", NOW, NOW + 60)
    assert claimed is not None
    assert (claimed.attempts, claimed.due_at) == (1, NOW + 60)
    assert await store.claim_fix("1", NOW, NOW + 60) is None
    assert await store.due_fixes(NOW + 1, 9) == []
    again = await store.claim_fix("1", NOW + 60, NOW + 120)
    assert again is not None
    assert again.attempts == 2
    await store.save_fix(replace(again, state=FixState.FAILED))
    assert await store.due_fixes(NOW + 999, 9) == []


async def test_a_deleted_site_takes_its_repository_and_requests_with_it(
    ledger: SqlLedger, store: SqlFixStore, site: SiteId
) -> None:
    request = await requested(store, fix_request(site, "1"))
    for run in await ledger.runs(9):
        await ledger.move_run(run.id, RunState.CANCELLED, NOW)
    assert await ledger.delete_site(site)
    await store.save_fix(request)
    assert await store.repository(site) is None
    assert await store.fix(site, "1") is None
