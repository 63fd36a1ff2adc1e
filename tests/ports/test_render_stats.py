"""Render notes of pages, and the render statistics that a run leaves for the next run of its site."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.ports.frontier import NOW, facts, started, the_row, u

from sitelore.model.frontier import Effects, Lease, PageUpdate, Run, Settlement, Verdict
from sitelore.model.ids import BlobKey, TenantId
from sitelore.model.platform.media import screenshot_key
from sitelore.model.response import RenderMetrics, RenderNote, RenderReason, SiteRendering
from sitelore.model.settings import CrawlSettings, Rendering, RenderMode
from sitelore.model.states import RunState, UrlState
from sitelore.store.ledger import SqlLedger
from sitelore.store.platform import media
from sitelore.store.platform.media_library import SqlMediaLibrary

NOTE = RenderNote(
    RenderReason.SHELL, ("nothing stands in <div#root>", 'a "notice"'), RenderMetrics(0.1, 0.2, 0.3, 40, 500, 6, 7, 8)
)


def settled(lease: Lease, reason: RenderReason | None) -> Settlement:
    note = None if reason is None else RenderNote(reason)
    page: PageUpdate = replace(facts(lease.url.path), render=note)
    return Settlement(lease, Verdict(UrlState.VISITED, 200), Effects(page=page, fetched=True), NOW)


async def crawled(ledger: SqlLedger, reasons: dict[str, RenderReason | None]) -> Run:
    run, held = await started(ledger, *reasons)
    assert all(await ledger.settle([settled(lease, reasons[lease.url.path[1:]]) for lease in held]))
    assert await ledger.move_run(run.id, RunState.RUNNING, NOW)
    assert await ledger.end_run(run.id, RunState.COMPLETED, NOW)
    return run


async def test_the_render_note_of_a_page_is_stored(ledger: SqlLedger) -> None:
    run, [lease, other] = await started(ledger, "a", "b")
    page = replace(facts("a"), render=NOTE, screenshot=BlobKey("picture"))
    plain = settled(other, None)
    await ledger.settle([Settlement(lease, Verdict(UrlState.VISITED, 200), Effects(page=page, fetched=True), NOW), plain])
    row = await the_row(ledger, run, "a")
    assert (row.render, row.screenshot) == (NOTE, "picture")
    known = await ledger.known(run.site, u("a"))
    assert known is not None
    assert (known.render_reason, known.screenshot) == (RenderReason.SHELL, "picture")
    untold = await ledger.known(run.site, u("b"))
    assert untold is not None
    assert (untold.render_reason, untold.screenshot, (await the_row(ledger, run, "b")).render) == (None, None, None)
    assert (await ledger.counts(run.id)).rendering == {"shell": 1}


async def test_pages_refer_to_the_files_of_their_screenshots(ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "MEDIA_PER_READ", 2)
    run, held = await started(ledger, "a", "b", "c", "d")
    library = SqlMediaLibrary(ledger._engine, ledger._tenant)
    folder = await library.screenshot_folder(run.site)
    assert folder == str(run.site), "there is no channel"
    assert len({lease.url_id for lease in held}) == 4
    keys = {lease.url: BlobKey(screenshot_key(folder, lease.url_id)) for lease in held if lease.url.path != "/d"}
    pages = {lease.url: replace(facts(lease.url.path), screenshot=keys.get(lease.url)) for lease in held}
    done = [
        Settlement(lease, Verdict(UrlState.VISITED, 200), Effects(page=pages[lease.url], fetched=True), NOW) for lease in held
    ]
    assert all(await ledger.settle(done))
    assert {key async for part in library.references() for key in part} == set(keys.values())
    other = library.for_tenant(TenantId(ledger._tenant + 1))
    assert [part async for part in other.references() if part] == []


async def test_a_run_uses_the_render_statistics_from_its_creation(ledger: SqlLedger) -> None:
    first = await crawled(ledger, {"a": RenderReason.SHELL, "b": RenderReason.FAILED, "c": None, "d": RenderReason.ALWAYS})
    assert first.site_rendering == SiteRendering()
    made_before = await ledger.create_run(first.site_name, CrawlSettings(), [], NOW)
    assert made_before.site_rendering == SiteRendering(runs=1, browser=2, http=1)
    second = await crawled(ledger, {"a": RenderReason.KNOWN_PAGE, "e": RenderReason.KNOWN_SITE})
    assert second.site_rendering == made_before.site_rendering
    unmoved = await ledger.run(made_before.id)
    assert unmoved is not None
    assert unmoved.site_rendering == made_before.site_rendering
    third = await crawled(ledger, {})
    assert third.site_rendering == SiteRendering(runs=2, browser=2, http=0)
    fourth, _ = await started(ledger, "a")
    assert fourth.site_rendering == SiteRendering(runs=3, browser=2, http=0), (
        "a run without pages does not change the statistics"
    )


async def test_a_run_with_a_fixed_render_mode_does_not_change_the_statistics(ledger: SqlLedger) -> None:
    first = await crawled(ledger, {"a": RenderReason.SHELL})
    never = CrawlSettings(rendering=Rendering(mode=RenderMode.NEVER))
    run = await ledger.create_run(first.site_name, never, [], NOW)
    assert await ledger.end_run(run.id, RunState.CANCELLED, NOW)
    assert not await ledger.end_run(run.id, RunState.COMPLETED, NOW), "it counts once"
    after = await ledger.create_run(first.site_name, CrawlSettings(), [], NOW)
    assert after.site_rendering == SiteRendering(runs=2, browser=1, http=0)
