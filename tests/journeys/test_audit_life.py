"""The life of findings over crawls: what is fixed resolves, what was not read stays, and audits run beside a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site

from sitelore.app.app import App
from sitelore.app.audit import phase
from sitelore.app.audit.phase import audit_due_runs, audit_run
from sitelore.app.wiring import embedded
from sitelore.crawl.context import Progress
from sitelore.crawl.runs import start_pipeline
from sitelore.model.audit.findings import AuditState, FindingListing, FindingRecord, FindingStatus, Ignore
from sitelore.model.frontier import Run
from sitelore.model.settings import Pipeline

PAGES = tuple(f"/p{number}" for number in range(20))


@dataclass
class Site:
    """A site that the test changes, and the application that crawls it."""

    app: App
    http_server: HttpServer
    pages: dict[str, Answer]

    def url(self, path: str) -> str:
        return self.http_server.url(path)

    async def crawl(self, **settings: Any) -> Run:
        return (await crawl_in(self.app, crawl_settings(self.url("/"), audit=True, **settings))).run

    async def findings(self, run: Run, **filters: Any) -> list[FindingRecord]:
        records, total = await self.app.audits.list_findings(run.site, FindingListing(limit=1000, **filters))
        assert len(records) == total
        return records

    async def open_at(self, run: Run) -> set[tuple[str, str]]:
        records = await self.findings(run, statuses=frozenset({FindingStatus.OPEN, FindingStatus.REGRESSED}))
        return {(each.finding.rule, each.finding.url.removeprefix(self.http_server.origin)) for each in records}


def content(path: str, body: str = "") -> Answer:
    return page(f"A page about {path}", prose(path) + body, links=("/", *PAGES))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """Twenty-one pages that link each other, two of them with a link to a page that is missing."""
    pages = {path: content(path) for path in ("/", *PAGES)}
    for path in ("/p1", "/p2"):
        pages[path] = content(path, "<a href=/lost>Lost</a>")
    with serve_site(pages.get) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            yield Site(app, http_server, pages)


async def test_fixing_one_page_resolves_exactly_its_finding_and_breaking_it_again_is_a_regression(site: Site) -> None:
    first = await site.crawl()
    assert await audit_due_runs(site.app) == 1
    before = await site.open_at(first)
    assert {("broken-internal-link", "/p1"), ("broken-internal-link", "/p2"), ("page-gone", "/lost")} <= before
    broken, site.pages["/p1"] = site.pages["/p1"], content("/p1")
    second = await site.crawl(force=True)
    result = await audit_run(site.app, second)
    assert await site.open_at(second) == before - {("broken-internal-link", "/p1")}
    [resolved] = await site.findings(second, statuses=frozenset({FindingStatus.RESOLVED}))
    assert (resolved.opened_run, resolved.resolved_run) == (first.id, second.id)
    assert result.stored is not None
    assert (result.stored.counts.opened, result.stored.counts.resolved) == (0, 1)
    site.pages["/p1"] = broken
    third = await site.crawl(force=True)
    result = await audit_run(site.app, third)
    assert await site.open_at(third) == before
    [regressed] = result.selected({"broken-internal-link"}, only_new=True)
    assert (regressed.status, regressed.opened_run) == (FindingStatus.REGRESSED, third.id)
    assert [each.run for each in await site.app.audits.audits(third.site, 9)] == [third.id, second.id, first.id]


async def test_reading_a_part_of_a_site_resolves_nothing_outside_of_it(site: Site) -> None:
    first = await site.crawl()
    await audit_run(site.app, first)
    before = await site.open_at(first)
    site.pages["/p1"] = content("/p1")
    site.pages["/p2"] = content("/p2")
    delta = await start_pipeline(site.app.ledger, first.site_name, Pipeline.UPDATE_DELTA, [site.url("/p1")], site.app.clock())
    delta = await site.app.crawl(delta, Progress(), asyncio.Event())
    result = await audit_run(site.app, delta)
    resolved = await site.findings(delta, statuses=frozenset({FindingStatus.RESOLVED}))
    assert {each.finding.url for each in resolved} <= {site.url("/p1")}
    assert before - await site.open_at(delta) <= {("broken-internal-link", "/p1")}
    assert ("broken-internal-link", "/p2") in await site.open_at(delta)
    assert result.stored is not None
    assert result.stored.score is None


async def test_findings_of_unchanged_pages_are_carried_over_as_seen(site: Site) -> None:
    for path, answer in site.pages.items():
        site.pages[path] = replace(answer, headers=(*answer.headers, ("ETag", f'"{path}"')))
    first = await site.crawl()
    await audit_run(site.app, first)
    before = await site.findings(first)
    second = await site.crawl()
    await audit_run(site.app, second)
    after = await site.findings(second)
    assert [(each.finding.key, each.status) for each in after] == [(each.finding.key, each.status) for each in before]
    assert {each.seen_run for each in after} == {second.id}


async def test_an_ignored_finding_stays_ignored_over_runs_and_out_of_the_score(site: Site) -> None:
    first = await site.crawl()
    before = await audit_run(site.app, first)
    [gone] = before.selected({"page-gone"})
    for record in before.selected({"broken-internal-link", "page-gone"}):
        await site.app.audits.ignore(first.site, Ignore(record.finding.rule, "on purpose", key=record.finding.key))
    result = await audit_run(site.app, await site.crawl(force=True))
    assert (before.score.clean, result.score.clean) == (19, 21)
    stored = await site.app.audits.finding(first.site, gone.finding.key)
    assert stored is not None
    assert stored.status is FindingStatus.IGNORED
    assert result.stored is not None
    assert result.stored.counts.ignored == 3


async def test_an_older_run_is_audited_without_changing_what_newer_ones_stored(site: Site) -> None:
    first, second = await site.crawl(), await site.crawl(force=True)
    await audit_run(site.app, second)
    before = await site.findings(second)
    result = await audit_run(site.app, first)
    assert result.stored is None
    assert result.findings
    assert await site.findings(second) == before
    assert await audit_due_runs(site.app) == 0
    assert await site.app.queue.due_audits(site.app.clock(), 9) == []


async def test_a_server_audits_completed_runs_that_ask_for_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = (await crawl_in(site.app, crawl_settings(site.url("/")))).run
    run = await site.crawl(force=True)
    stop = asyncio.Event()

    async def once(app: App) -> int:
        stop.set()
        return await audit_due_runs(app)

    monkeypatch.setattr(phase, "audit_due_runs", once)
    await phase.keep_auditing(site.app, stop, delay_s=0.0)
    audit = await site.app.audits.audit(run.id)
    assert audit is not None
    assert audit.state is AuditState.DONE
    assert audit.score is not None
    assert audit.score.indexable == len(site.pages)
    insights = await site.app.audits.insights(run.id)
    assert insights["run_honesty"]["discovered"] == len(site.pages) + 1
    assert insights["movement"]["same"] == len(site.pages)
    assert await site.app.audits.audit(plain.id) is None


async def test_settings_of_a_site_switch_rules_off(site: Site) -> None:
    run = await site.crawl()
    await site.app.audits.save_settings(run.site, {"rules": {"broken-*": False}, "exclude": ["/lost"]})
    await audit_run(site.app, run)
    assert {rule for rule, _ in await site.open_at(run)} & {"broken-internal-link", "page-gone"} == set()
