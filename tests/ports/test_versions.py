"""Versions of pages, and the links between current versions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from tests.ports.conftest import Database
from tests.ports.frontier import NOW, W1, facts, seed, started, u
from zstandard import compress

from sitelore.model.document import PageLink
from sitelore.model.frontier import (
    Effects,
    Lease,
    LinkBetweenPages,
    Merge,
    PageUpdate,
    ReprocessedPage,
    Settlement,
    Verdict,
    WavePlan,
)
from sitelore.model.ids import BlobKey, SiteId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import Proof, UrlState
from sitelore.model.url import Url
from sitelore.store.ledger import SqlLedger
from sitelore.store.pages import versions
from sitelore.store.schema import KEY_CHARS, links, page_versions, site_urls


def page(content: str, *page_links: PageLink, **more: Any) -> PageUpdate:
    return replace(facts(content), links=msgspec.msgpack.encode(page_links) if page_links else b"", **more)


def to(path: str, text: str = "", fragment: str = "", *, nofollow: bool = False) -> PageLink:
    return PageLink(str(u(path)), fragment, text, nofollow)


def settled(lease: Lease, stored: PageUpdate, at: float = NOW, *, changed: bool | None = None) -> Settlement:
    return Settlement(lease, Verdict(UrlState.VISITED, 200), Effects(page=stored, fetched=True, changed=changed), at)


async def store(ledger: SqlLedger, stored: dict[str, PageUpdate], at: float = NOW, changed: bool | None = None) -> SiteId:
    """Crawl the pages of these paths in a new run. Gives the site."""
    run, held = await started(ledger, *stored)
    await ledger.settle([settled(lease, stored[lease.url.path[1:]], at, changed=changed) for lease in held])
    return run.site


async def all_links(ledger: SqlLedger, site: SiteId) -> list[LinkBetweenPages]:
    return [LinkBetweenPages(*link) async for part in ledger.links(site) for link in zip(*part, strict=True)]


async def sources(ledger: SqlLedger, site: SiteId, path: str) -> list[tuple[str, int, str, str, bool]]:
    inlinks = await ledger.inlinks(site, u(path))
    assert all(link.target == u(path) for link in inlinks)
    return [(link.source.path, link.position, link.text, link.fragment, link.nofollow) for link in inlinks]


async def test_links_to_a_page_are_found_by_source_and_position(ledger: SqlLedger) -> None:
    site = await store(
        ledger,
        {
            "b": page("b", to("a", "Back"), to("c"), to("a", "Top", "top", nofollow=True)),
            "a": page("a", to("a", "Self"), to("b")),
        },
    )
    assert await sources(ledger, site, "a") == [
        ("/a", 0, "Self", "", False),
        ("/b", 0, "Back", "", False),
        ("/b", 2, "Top", "top", True),
    ]
    assert [link.source.path for link in await ledger.inlinks(site, u("a"), 1)] == ["/b"]
    assert await sources(ledger, site, "c") == [("/b", 1, "", "", False)]
    assert await sources(ledger, site, "unknown") == []
    assert [(link.target.path, link.position) for link in await ledger.outlinks(site, u("b"))] == [
        ("/a", 0), ("/c", 1), ("/a", 2),
    ]  # fmt: skip


async def test_all_links_of_a_site_are_listed_over_several_reads(ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "SOURCES_PER_READ", 2)
    long = f"{u('x')}?{'q' * KEY_CHARS}"
    site = await store(
        ledger,
        {
            "a": page("a", to("b", "Next", "part", nofollow=True), PageLink(long)),
            "b": page("b"),
            "c": page("c"),
            "d": page("old", to("gone")),
            "e": page("e", to("a")),
        },
    )
    await store(ledger, {"d": page("new", to("a", "Up"), to("b"))}, NOW + 1, changed=True)
    listed = await all_links(ledger, site)
    by_source = {path: [link for link in listed if link.source == u(path)] for path in "abcde"}
    assert by_source == {path: await ledger.outlinks(site, u(path)) for path in "abcde"}
    assert [str(link.target) for link in by_source["a"]] == [str(u("b")), long]
    assert [(link.target.path, link.text) for link in by_source["d"]] == [("/a", "Up"), ("/b", "")]
    assert len(listed) == 5
    assert await all_links(ledger, SiteId(site + 1)) == []


async def test_links_to_other_sites_and_long_urls_are_stored_whole(ledger: SqlLedger) -> None:
    outside, long = "https://elsewhere.test/page", f"{u('x')}?{'q' * KEY_CHARS}"
    site = await store(ledger, {"a": page("a", PageLink(outside, text="Out"), PageLink(long))})
    assert [str(link.target) for link in await ledger.outlinks(site, u("a"))] == [outside, long]
    assert [link.source for link in await ledger.inlinks(site, Url.trusted(long))] == [u("a")]


async def test_a_changed_page_gets_a_new_version_and_its_old_links_no_longer_count(ledger: SqlLedger) -> None:
    site = await store(ledger, {"a": page("old", to("gone"), redactions={"mail": 2}, facts=compress(b"f1"))})
    assert site == await store(ledger, {"a": page("new", to("fresh"), facts=compress(b"f2"))}, NOW + 5, changed=True)
    new, old = await ledger.page_history(site, u("a"))
    assert (old.seen_at, old.ended_at, old.document, old.content_hash) == (NOW, NOW + 5, "docold", "old")
    assert (old.redactions, old.facts) == ({"mail": 2}, b"f1")
    assert (new.seen_at, new.ended_at, new.document, new.redactions, new.facts) == (NOW + 5, None, "docnew", {}, b"f2")
    assert await sources(ledger, site, "gone") == []
    assert await sources(ledger, site, "fresh") == [("/a", 0, "", "", False)]


async def test_another_document_of_an_unchanged_page_replaces_that_of_its_version(ledger: SqlLedger) -> None:
    site = await store(ledger, {"a": page("x", to("broken"), facts=compress(b"f1"))})
    another = replace(page("x", to("fixed"), facts=compress(b"f2")), document=BlobKey("another"))
    await store(ledger, {"a": another}, NOW + 5, changed=False)
    [only] = await ledger.page_history(site, u("a"))
    assert (only.seen_at, only.ended_at, only.document, only.facts) == (NOW, None, "another", b"f2")
    assert await sources(ledger, site, "broken") == []
    assert await sources(ledger, site, "fixed") == [("/a", 0, "", "", False)]


async def test_a_fetch_with_the_same_document_writes_nothing(ledger: SqlLedger) -> None:
    site = await store(ledger, {"a": page("x", to("b"), facts=compress(b"f1"))})
    await store(ledger, {"a": page("x")}, NOW + 5, changed=False)
    [only] = await ledger.page_history(site, u("a"))
    assert (only.seen_at, only.facts) == (NOW, b"f1")
    assert await sources(ledger, site, "b") == [("/a", 0, "", "", False)]


async def test_a_page_that_returns_to_an_earlier_content_gets_a_third_version(ledger: SqlLedger) -> None:
    for at, content in enumerate(("x", "y", "x")):
        site = await store(ledger, {"a": page(content)}, NOW + at, changed=True if at else None)
    history = [(version.content_hash, version.seen_at, version.ended_at) for version in await ledger.page_history(site, u("a"))]
    assert history == [("x", NOW + 2, None), ("y", NOW + 1, NOW + 2), ("x", NOW, NOW + 1)]


async def test_links_of_duplicates_do_not_count(ledger: SqlLedger) -> None:
    run, held = await started(ledger, "a", "b")
    await ledger.settle([settled(lease, page("same", to("c"))) for lease in held])
    assert len(await sources(ledger, run.site, "c")) == 2
    merge = WavePlan(merges=(Merge(u("b"), u("a"), Proof.EQUAL_CONTENT),))
    await ledger.open_wave(run.id, 1, lambda _: merge)
    assert await sources(ledger, run.site, "c") == [("/a", 0, "", "", False)]
    assert [version.url async for version in ledger.page_versions(run.site)] == [u("a")]
    assert [link.source for link in await all_links(ledger, run.site)] == [u("a")]


async def test_a_rejected_settlement_stores_no_version(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "a")
    assert await ledger.settle([settled(replace(lease, token=lease.token - 1), page("late", to("b")))]) == [False]
    assert await ledger.page_history(run.site, u("a")) == []
    assert await sources(ledger, run.site, "b") == []


async def test_current_versions_are_listed_in_key_order_over_several_reads(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = await store(ledger, {name: page(name) for name in "cabed"})
    await store(ledger, {"b": page("new")}, NOW + 1, changed=True)
    monkeypatch.setattr(versions, "VERSIONS_PER_PAGE", 2)
    monkeypatch.setattr(versions, "_current_after", versions._current_after.limit(2))
    listed = [(version.url.path, version.content_hash) async for version in ledger.page_versions(site)]
    assert listed == [("/a", "a"), ("/b", "new"), ("/c", "c"), ("/d", "d"), ("/e", "e")]


async def test_reprocessing_fills_facts_and_links_of_the_current_version(ledger: SqlLedger) -> None:
    run, [lease] = await started(ledger, "a")
    await ledger.settle([settled(lease, facts("x"))])
    same = page("x", to("b"), facts=compress(b"facts"), redactions={"mail": 1})
    await ledger.replace_documents(run.id, [ReprocessedPage(u("a"), BlobKey("docx"), same)])
    [version] = await ledger.page_history(run.site, u("a"))
    assert (version.seen_at, version.document, version.facts, version.redactions) == (NOW, "docx", b"facts", {"mail": 1})
    assert await sources(ledger, run.site, "b") == [("/a", 0, "", "", False)]
    stale = ReprocessedPage(u("a"), BlobKey("not the stored document"), page("y", to("c")))
    await ledger.replace_documents(run.id, [stale])
    assert await sources(ledger, run.site, "c") == []


async def test_tenants_with_the_same_site_share_no_version_and_no_link(database: Database) -> None:
    ledgers = dict(zip(("red", "blue"), await database.tenants("red", "blue"), strict=True))
    sites: dict[str, SiteId] = {}
    for tenant, ledger in ledgers.items():
        settings = CrawlSettings(seeds=("http://site.test/",))
        run = await ledger.create_run("site", settings, [seed("a")], NOW)
        await ledger.begin_run(run.id, NOW)
        await ledger.open_wave(run.id, 0, lambda wave: WavePlan(admit=tuple(row.url for row in wave.candidates)))
        [lease] = await ledger.claim(run.id, W1, 9, NOW, 60)
        await ledger.settle([settled(lease, page(tenant, to(f"of-{tenant}"), to("both", tenant)))])
        sites[tenant] = run.site
    for tenant, other in (("red", "blue"), ("blue", "red")):
        ledger = ledgers[tenant]
        assert [link.text for link in await ledger.inlinks(sites[tenant], u("both"))] == [tenant]
        assert await ledger.inlinks(sites[tenant], u(f"of-{other}")) == []
        assert {link.target for link in await all_links(ledger, sites[tenant])} == {u(f"of-{tenant}"), u("both")}
        assert [version.content_hash for version in await ledger.page_history(sites[tenant], u("a"))] == [tenant]
    owner = await database.owner()
    for table in (site_urls, page_versions, links):
        counts = await owner.read(_rows_per_tenant, table)
        assert len(counts) == 2
        assert counts[0] == counts[1]


def _rows_per_tenant(conn: sa.Connection, table: sa.Table) -> list[int]:
    return [row[1] for row in conn.execute(sa.select(table.c.tenant_id, sa.func.count()).group_by(table.c.tenant_id))]


async def test_links_to_a_page_are_found_without_reading_those_of_others(tmp_path: Path) -> None:
    database = Database(tmp_path / "ledger.db")
    engine = await database.engine()
    query = versions._links_to.compile(dialect=sqlite.dialect())
    values = dict.fromkeys(query.positiontup or (), 1)

    def plan(conn: sa.Connection) -> list[str]:
        arguments = tuple(values[name] for name in query.positiontup or ())
        return [row[3] for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", arguments)]

    steps = await engine.read(plan)
    await database.close()
    assert steps == [
        "MATERIALIZE places",
        "SEARCH links USING COVERING INDEX links_to (tenant_id=? AND target_id=? AND version_id<?)",
        "SCAN places",
        "SEARCH links USING PRIMARY KEY (tenant_id=? AND version_id=? AND position=?)",
    ]


async def test_links_of_older_versions_do_not_count_towards_the_limit(ledger: SqlLedger) -> None:
    names = "bcdefg"
    site = await store(ledger, {name: page(name, to("a")) for name in names})
    changed = {name: page(f"{name} changed", *([] if name in "bcde" else [to("a")])) for name in names}
    await store(ledger, changed, NOW + 9)
    await store(ledger, {"c": page("c again", to("a")), "d": page("d again", to("a"))}, NOW + 18)
    await store(ledger, {"c": page("c without"), "d": page("d without")}, NOW + 27)
    assert [link.source.path for link in await ledger.inlinks(site, u("a"), 1)] == ["/g"]
    assert [link.source.path for link in await ledger.inlinks(site, u("a"), 2)] == ["/f", "/g"]
    assert [link.source.path for link in await ledger.inlinks(site, u("a"), 3)] == ["/f", "/g"]


async def test_a_page_with_an_equal_document_gets_its_new_facts(ledger: SqlLedger) -> None:
    site = await store(ledger, {"a": page("a", to("b"), facts=compress(b"before"))})
    await store(ledger, {"a": page("a", to("b"), facts=compress(b"after"))}, NOW + 9, changed=False)
    [version] = await ledger.page_history(site, u("a"))
    assert (version.facts, version.seen_at) == (b"after", NOW)
    await store(ledger, {"a": page("a", to("b"))}, NOW + 18, changed=False)
    assert [each.facts for each in await ledger.page_history(site, u("a"))] == [b"after"]
    assert await sources(ledger, site, "b") == [("/a", 0, "", "", False)]
