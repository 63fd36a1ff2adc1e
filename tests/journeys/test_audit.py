"""An audit of what a real crawl stored: rows, page versions with facts, documents and links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import Answer, page, prose, redirect, serve_site, site
from tests.unit.audit.sites import columns_of

from sitelore.app.app import App
from sitelore.app.audit import link_places
from sitelore.app.audit.phase import audit_run
from sitelore.app.wiring import embedded
from sitelore.audit.checks import check_page, check_site
from sitelore.audit.graph import SiteGraph
from sitelore.audit.page import audit_page
from sitelore.audit.site import Site, add_anchors, is_complete_run, summarise
from sitelore.extract.audit_facts import decode_audit_facts
from sitelore.model.audit.findings import Finding
from sitelore.model.frontier import Run

NOW = 1_780_000_000.0


async def audit(app: App, run: Run) -> tuple[Site, list[Finding]]:
    """The site of a run as the store has it, and its findings."""
    versions = {each.url: each async for each in app.ledger.page_versions(run.site)}
    graph, pages, findings = SiteGraph(), {}, []
    async for row in app.ledger.rows(run.id):
        version = versions.get(row.url)
        facts = decode_audit_facts(version.facts) if version is not None and version.facts else None
        document = json.loads(await app.blobs.get(version.document)) if version is not None else None
        audited = audit_page(row, version, facts, document)
        add_anchors(graph, audited)
        graph.add(columns_of(await app.ledger.outlinks(run.site, row.url) if version is not None else ()))
        pages[str(row.url)] = summarise(audited)
        findings += check_page(audited)
    result = Site(pages, graph, NOW, is_complete=is_complete_run(pages.values()))
    return result, findings + check_site(result)


async def test_a_crawl_is_audited_from_what_it_stored(tmp_path: Path) -> None:
    pages = {
        "/": page("Start of the site", prose("start"), links=("/a", "/b", "/lost", "/old", "/a#nowhere")),
        "/a": page("A page about mills", prose("mills"), links=("/", "/copy", "/b#part")),
        "/b": page("A page about wheels", prose("wheels") + "<h2 id=part>Part</h2><img src=/x.png>", links=("/",)),
        "/copy": page("A page about mills", prose("mills"), links=("/", "/copy", "/b#part")),
        "/old": redirect("/older"),
        "/older": redirect("/b"),
        "/lost": Answer(404, b"gone"),
    }
    with serve_site(site(pages)) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            result = await crawl_in(app, crawl_settings(http_server.url("/"), audit_facts=True))
            audited, findings = await audit(app, result.run)
    at = {(each.rule, each.url.removeprefix(http_server.origin)): each for each in findings}
    assert audited.is_complete
    assert audited.start_url == http_server.url("/")
    assert at["page-gone", "/lost"].evidence["sources"][0]["page"] == http_server.url("/")
    assert at["broken-internal-link", "/"].evidence["target"] == http_server.url("/lost")
    assert at["broken-anchor", "/"].evidence["fragment"] == "nowhere"
    assert at["redirect-chain", "/old"].evidence["final"] == http_server.url("/b")
    assert at["redirected-internal-link", "/"].evidence["hops"] == 2
    assert at["image-alt-missing", "/b"].evidence == {"src": "/x.png"}
    assert at["duplicate-exact", "/copy"].evidence["primary"] == http_server.url("/a")
    assert not [each for each in findings if each.url.endswith("/lost") and each.rule != "page-gone"]
    assert audited.click_depths == {http_server.url("/"): 0, http_server.url("/a"): 1, http_server.url("/b"): 1}


async def test_the_place_of_a_link_that_an_audit_left_out_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_places, "MAX_PAGES", 0)
    pages = {"/": page("Start of the site", prose("start"), links=("/lost",)), "/lost": Answer(404, b"gone")}
    with serve_site(site(pages)) as http_server:
        async with embedded(tmp_path, writing=True) as app:
            run = (await crawl_in(app, crawl_settings(http_server.url("/"), audit_facts=True))).run
            records = (await audit_run(app, run)).records
            monkeypatch.setattr(link_places, "MAX_PAGES", 1)
            tenant = app.ledger.for_tenant(run.tenant), app.blobs.for_tenant(run.tenant)
            evidence = {each.finding.rule: (await link_places.located(*tenant, each)).finding.evidence for each in records}
    assert not any("selector" in str(each.finding.evidence) for each in records)
    assert evidence["broken-internal-link"]["selector"] == 'a[href="/lost"]'
    assert evidence["page-gone"]["sources"][0]["selector"] == 'a[href="/lost"]'
