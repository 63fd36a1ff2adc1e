"""Stored pages for the next run, text sketches, and reprocessed documents."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.ports.frontier import NOW, ended, facts, started, the_row, u

from sitelore.model.frontier import Effects, Lease, PageUpdate, ReprocessedPage, Run, Settlement, Verdict
from sitelore.model.ids import BlobKey, CleanText
from sitelore.model.states import SkipReason, UrlState
from sitelore.store.ledger import SqlLedger
from sitelore.store.pages import pages as stored_pages

HEADERS = (("x-robots-tag", "noindex"), ("content-language", "de"), ("x-robots-tag", "other: none"))


def settled(lease: Lease, page: PageUpdate) -> Settlement:
    return Settlement(lease, Verdict(UrlState.VISITED, 200), Effects(page=page, fetched=True), NOW)


async def kept(ledger: SqlLedger, *paths: str) -> Run:
    run, held = await started(ledger, *paths)
    page = {lease.url: replace(facts(lease.url.path), sketch=b"12345678", volatile=b"v", headers=HEADERS) for lease in held}
    assert all(await ledger.settle([settled(lease, page[lease.url]) for lease in held]))
    return run


async def test_headers_sketch_and_volatile_parts_are_stored_for_the_next_run(ledger: SqlLedger) -> None:
    run = await kept(ledger, "a")
    assert (await the_row(ledger, run, "a")).headers == HEADERS
    known = await ledger.known(run.site, u("a"))
    assert known is not None
    assert (known.headers, known.sketch, known.volatile) == (HEADERS, b"12345678", b"v")
    _, [lease] = await started(ledger, "a")
    assert lease.known == known
    await ledger.settle([settled(lease, facts("plain"))])
    again = await ledger.known(run.site, u("a"))
    assert again is not None
    assert (again.headers, again.sketch, again.volatile) == ((), b"", b"")


async def test_sketches_are_those_of_kept_pages_in_key_order(ledger: SqlLedger) -> None:
    run, held = await started(ledger, "c", "a", "b", "gone", "empty")
    by_path = {lease.url.path: lease for lease in held}
    pages = [settled(by_path[f"/{name}"], replace(facts(name), sketch=name.encode() * 8)) for name in ("c", "a", "b")]
    empty = settled(by_path["/empty"], facts("empty"))
    await ledger.settle([*pages, empty, ended(by_path["/gone"], UrlState.NOT_FOUND)])
    sketches = [(page.url, page.sketch) async for page in ledger.sketches(run.id)]
    assert sketches == [(u("a"), b"a" * 8), (u("b"), b"b" * 8), (u("c"), b"c" * 8)]


async def test_all_sketches_are_read_over_several_pages(ledger: SqlLedger) -> None:
    per_page, stored_pages.SKETCHES_PER_PAGE = stored_pages.SKETCHES_PER_PAGE, 2
    try:
        run = await kept(ledger, *"abcdefg")
        assert [page.url.path async for page in ledger.sketches(run.id)] == [f"/{name}" for name in "abcdefg"]
    finally:
        stored_pages.SKETCHES_PER_PAGE = per_page


async def test_a_reprocessed_document_replaces_the_document_it_was_made_from_only(ledger: SqlLedger) -> None:
    run = await kept(ledger, "a", "b")
    before = await the_row(ledger, run, "a")
    new = PageUpdate(
        CleanText("New"), "hash", "novelty", BlobKey("new"), u("canon"), word_count=9, noindex=True, sketch=b"87654321"
    )
    assert before.document is not None
    stale = ReprocessedPage(u("b"), BlobKey("another document"), new)
    await ledger.replace_documents(run.id, [ReprocessedPage(u("a"), before.document, replace(new, volatile=b"w")), stale])
    row = await the_row(ledger, run, "a")
    assert (row.title, row.content_hash, row.document, row.canonical) == ("New", "hash", "new", u("canon"))
    assert (row.word_count, row.noindex, row.headers) == (9, True, HEADERS)
    assert (row.state, row.token, row.fetched_at, row.fetches, row.seq) == (
        before.state, before.token, before.fetched_at, before.fetches, before.seq,
    )  # fmt: skip
    known = await ledger.known(run.site, u("a"))
    assert known is not None
    assert (known.document, known.volatile, known.sketch, known.fetched_at) == ("new", b"w", b"87654321", NOW)
    assert (await the_row(ledger, run, "b")).document == "doc/b"


async def test_reprocessing_an_older_run_does_not_change_the_page_of_a_later_run(ledger: SqlLedger) -> None:
    first = await kept(ledger, "a")
    _, [lease] = await started(ledger, "a")
    await ledger.settle([settled(lease, facts("later"))])
    await ledger.replace_documents(first.id, [ReprocessedPage(u("a"), BlobKey("doc/a"), facts("again"))])
    assert (await the_row(ledger, first, "a")).document == "docagain"
    known = await ledger.known(first.site, u("a"))
    assert known is not None
    assert known.document == "doclater"


@pytest.mark.parametrize(
    "verdict", [Verdict(UrlState.NOT_MODIFIED, 304), Verdict(UrlState.SKIPPED, skip_reason=SkipReason.TTL)]
)
async def test_a_page_found_unchanged_keeps_the_document_that_reprocessing_stored_during_the_visit(
    ledger: SqlLedger, verdict: Verdict
) -> None:
    first = await kept(ledger, "a", "b")
    later, [a, b] = await started(ledger, "a", "b")
    assert a.known is not None
    assert b.known is not None
    before = a.known.document
    await ledger.replace_documents(
        first.id, [ReprocessedPage(u("a"), before, replace(facts("again"), links=b"", sketch=b"12"))]
    )
    unchanged = [
        Settlement(lease, verdict, Effects(page=known.unchanged(), changed=False), NOW)
        for lease, known in ((a, a.known), (b, b.known))
    ]
    assert await ledger.settle(unchanged) == [True, True]
    for path, document in (("a", "docagain"), ("b", b.known.document)):
        known = await ledger.known(first.site, u(path))
        assert known is not None
        assert known.document == (await the_row(ledger, later, path)).document == document
    assert (await the_row(ledger, later, "a")).title == "Again"
