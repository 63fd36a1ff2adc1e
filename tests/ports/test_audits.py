"""The audit store: findings, decisions, audits of runs and their claims, insights and settings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.ports.audits import audited, record
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, begin, u

from sitelore.model.audit.findings import (
    AuditCounts,
    AuditPhase,
    AuditScore,
    AuditState,
    FindingListing,
    FindingRecord,
    FindingStatus,
    Ignore,
    IgnoreScope,
    Severity,
)
from sitelore.model.frontier import Run
from sitelore.model.ids import DEFAULT_TENANT, RunId, SiteId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState
from sitelore.store.audits import findings
from sitelore.store.audits.audit_store import SqlAuditStore
from sitelore.store.ledger import SqlLedger, SqlRunQueue


@pytest.fixture
async def store(database: Database) -> SqlAuditStore:
    return SqlAuditStore(await database.engine(), DEFAULT_TENANT)


async def completed(ledger: SqlLedger, *, audit: bool = True, at: float = NOW, site: str = "site") -> Run:
    settings = CrawlSettings(seeds=("http://site.test/",), audit=audit)
    run = await ledger.create_run(site, settings, (), at)
    assert await ledger.begin_run(run.id, at)
    assert await ledger.end_run(run.id, RunState.COMPLETED, at)
    return run


async def site_of(ledger: SqlLedger) -> SiteId:
    return (await begin(ledger)).site


def ignoring(stored: FindingRecord, **more: object) -> Ignore:
    return replace(Ignore(stored.finding.rule, "by design", "a person", key=stored.finding.key), **more)  # type: ignore[arg-type]


async def test_a_finding_is_stored_whole_and_replaced_by_its_key(ledger: SqlLedger, store: SqlAuditStore) -> None:
    site = await site_of(ledger)
    first = record(evidence={"target": "x\0\ud800", "sources": [{"page": "p", "position": 1}]}, resolved_at=NOW)
    first = replace(first, status=FindingStatus.RESOLVED, resolved_run="later")
    await store.save_findings(site, [first])
    assert await store.finding(site, first.finding.key) == first
    ignored = replace(first, status=FindingStatus.IGNORED, ignored=ignoring(first, until=NOW + 1), resolved_at=None)
    await store.save_findings(site, [ignored, record("b")])
    assert await store.findings_with_keys(site, {first.finding.key}) == [ignored]
    assert await store.finding(site, "unknown") is None


async def test_findings_are_listed_the_worst_first_by_page_and_filter(ledger: SqlLedger, store: SqlAuditStore) -> None:
    site = await site_of(ledger)
    stored = [
        record("z", "viewport-missing", severity=Severity.NOTICE),
        record("b_c", "title-length", severity=Severity.WARNING, run="second"),
        record("b%", "title-length", severity=Severity.WARNING, status=FindingStatus.RESOLVED),
        record("a"),
    ]
    await store.save_findings(site, stored)

    async def paths(**filters: object) -> tuple[list[str], int]:
        listed, total = await store.list_findings(site, FindingListing(**filters))  # type: ignore[arg-type]
        return [each.finding.url.removeprefix(u("")) for each in listed], total

    assert await paths() == (["a", "b%", "b_c", "z"], 4)
    assert await paths(limit=2, offset=1) == (["b%", "b_c"], 4)
    assert await paths(severities=frozenset({Severity.WARNING})) == (["b%", "b_c"], 2)
    assert await paths(statuses=frozenset({FindingStatus.RESOLVED})) == (["b%"], 1)
    assert await paths(rules=frozenset({"viewport-missing", "title-missing"})) == (["a", "z"], 2)
    assert await paths(url=u("b_")) == (["b_c"], 1)
    assert await paths(opened_run="second") == (["b_c"], 1)
    assert await paths(rules=frozenset({"unknown"})) == ([], 0)
    assert await paths(text="B_C") == (["b_c"], 1)
    assert await paths(text="%") == (["b%"], 1)

    async def by_status(**filters: object) -> dict[str, int]:
        return dict(await store.findings_by_status(site, FindingListing(**filters)))  # type: ignore[arg-type]

    assert await by_status() == {"open": 3, "resolved": 1}
    assert await by_status(statuses=frozenset({FindingStatus.RESOLVED})) == {"open": 3, "resolved": 1}
    assert await by_status(rules=frozenset({"title-length"}), text="b") == {"open": 1, "resolved": 1}


async def test_findings_are_found_by_a_part_of_their_evidence(ledger: SqlLedger, store: SqlAuditStore) -> None:
    site = await site_of(ledger)
    await store.save_findings(site, [record("a", evidence={"text": 'Sag "Grüße"'}), record("b", evidence={"count": 7})])
    for text, total in (("sag", 1), ('"Grüße"', 1), ("7", 1), ("100%", 0)):
        listed, count = await store.list_findings(site, FindingListing(text=text))
        assert (text, count, len(listed)) == (text, total, total)


async def test_findings_that_a_run_did_not_have_are_read_in_parts(
    ledger: SqlLedger, store: SqlAuditStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "_unseen", findings._unseen.limit(2))
    site = await site_of(ledger)
    older = [record(str(number), run="before") for number in range(5)]
    await store.save_findings(site, [*older, record("seen"), record("over", run="before", status=FindingStatus.RESOLVED)])
    read, after = [], ""
    while part := await store.unseen_findings(site, "run", after):
        read += part
        after = part[-1].finding.key
    assert sorted(each.finding.url for each in read) == sorted(each.finding.url for each in older)


async def test_a_decision_applies_to_stored_findings_until_it_ends(ledger: SqlLedger, store: SqlAuditStore) -> None:
    site = await site_of(ledger)
    one, other, done = record("a"), record("b"), record("c", status=FindingStatus.RESOLVED)
    await store.save_findings(site, [one, other, done])
    decision = ignoring(one, until=NOW + 10)
    assert await store.ignore(site, decision) == 1
    assert await store.ignores(site) == [decision]
    stored = await store.finding(site, one.finding.key)
    assert stored is not None
    assert (stored.status, stored.ignored) == (FindingStatus.IGNORED, decision)
    await store.open_expired(site, NOW + 9)
    assert await store.finding(site, one.finding.key) == stored
    await store.open_expired(site, NOW + 10)
    assert await store.finding(site, one.finding.key) == one
    of_page = ignoring(one, scope=IgnoreScope.PAGE, url=other.finding.url, key="")
    assert await store.ignore(site, of_page) == 1
    of_rule = ignoring(one, scope=IgnoreScope.RULE, key="")
    assert await store.ignore(site, of_rule) == 2
    assert await store.stop_ignoring(site, of_rule) == 2
    assert await store.ignores(site) == [decision, of_page]
    assert await store.finding(site, done.finding.key) == done


async def test_a_completed_run_whose_settings_ask_for_an_audit_waits_for_one(
    ledger: SqlLedger, store: SqlAuditStore, queue: SqlRunQueue
) -> None:
    run = await completed(ledger)
    await completed(ledger, audit=False, site="other")
    failed = await ledger.create_run("third", CrawlSettings(audit=True), (), NOW)
    await ledger.begin_run(failed.id, NOW)
    await ledger.end_run(failed.id, RunState.FAILED, NOW)
    assert [each.id for each in await queue.due_audits(NOW, 9)] == [run.id]
    assert await store.claim(run.id, NOW, NOW + 60)
    assert await queue.due_audits(NOW + 59, 9) == []
    assert [each.id for each in await queue.due_audits(NOW + 60, 9)] == [run.id]
    await store.report(run.id, AuditPhase.PAGES, 7, NOW + 90)
    assert await queue.due_audits(NOW + 60, 9) == []
    running = await store.audit(run.id)
    assert running is not None
    assert (running.state, running.phase, running.pages, running.score) == (AuditState.RUNNING, AuditPhase.PAGES, 7, None)
    await store.finish(run.id, AuditScore(1, 2), True, {}, NOW + 70)
    assert await queue.due_audits(NOW + 1000, 9) == []


async def test_audits_of_a_site_follow_one_another_and_never_go_back(ledger: SqlLedger, store: SqlAuditStore) -> None:
    old, new = await completed(ledger), await completed(ledger, at=NOW + 100)
    assert await store.claim(old.id, NOW, NOW + 60)
    assert not await store.claim(new.id, NOW + 59, NOW + 99)
    assert not await store.claim(old.id, NOW + 59, NOW + 99)
    assert await store.claim(new.id, NOW + 61, NOW + 99)
    await store.finish(new.id, None, False, {}, NOW + 70)
    assert not await store.claim(old.id, NOW + 200, NOW + 260)
    await store.skip(old.id)
    assert await store.claim(new.id, NOW + 200, NOW + 260)
    assert not await store.claim(RunId("unknown"), NOW, NOW)


async def test_an_audit_that_crashes_gets_a_second_attempt(ledger: SqlLedger, store: SqlAuditStore, queue: SqlRunQueue) -> None:
    run = await completed(ledger)
    for state in (AuditState.WAITING, AuditState.FAILED):
        [due] = await queue.due_audits(NOW, 9)
        assert await store.claim(due.id, NOW, NOW + 60)
        await store.fail(due.id, "ValueError: x", NOW, 2)
        audit = await store.audit(run.id)
        assert audit is not None
        assert (audit.state, audit.error) == (state, "ValueError: x")
    assert await queue.due_audits(NOW, 9) == []


async def test_the_result_of_an_audit_counts_the_findings_of_the_site(ledger: SqlLedger, store: SqlAuditStore) -> None:
    run = await completed(ledger)
    await store.claim(run.id, NOW, NOW + 60)
    stored = [
        record("a", run="before"),
        record("b", run=run.id),
        record("c", "title-length", severity=Severity.NOTICE, run=run.id, status=FindingStatus.REGRESSED),
        replace(record("d", run="before", status=FindingStatus.RESOLVED), resolved_run=run.id),
    ]
    await store.save_findings(run.site, stored)
    await store.save_findings(run.site, [record("e", run="before")])
    await store.ignore(run.site, ignoring(record("e")))
    result = await store.finish(run.id, AuditScore(3, 4), True, {"inventory": {"state": {"VISITED": 3}}}, NOW + 5)
    assert result.counts == AuditCounts({"error": 2, "notice": 1}, {"title-missing": 2, "title-length": 1}, 2, 1, 1)
    assert (result.state, result.score, result.is_complete) == (AuditState.DONE, AuditScore(3, 4), True)
    assert await store.audits(run.site, 9) == [result]
    assert await store.insights(run.id) == {"inventory": {"state": {"VISITED": 3}}}


async def test_settings_of_a_site_replace_those_of_its_tenant(ledger: SqlLedger, store: SqlAuditStore) -> None:
    site = await site_of(ledger)
    assert await store.settings(site) == {}
    await store.save_settings(SiteId(0), {"exclude": ["/a"]})
    assert await store.settings(site) == {"exclude": ["/a"]}
    await store.save_settings(site, {"exclude": ["/b"]})
    assert await store.settings(site) == {"exclude": ["/b"]}


async def test_an_audit_goes_with_its_run_and_findings_with_their_site(ledger: SqlLedger, store: SqlAuditStore) -> None:
    run = await completed(ledger)
    await audited(store, run)
    assert await ledger.delete_run(run.id)
    assert await store.audit(run.id) is None
    assert (await store.list_findings(run.site, FindingListing()))[1] == 1
    assert await ledger.delete_site(run.site)
    assert (await store.list_findings(run.site, FindingListing()))[1] == 0
