"""A crawl with media: images, videos and documents are URLs of another kind in the same frontier."""

from __future__ import annotations

import asyncio
import hashlib
import math
import signal
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scripts.servers import LocalServers
from tests.support import files
from tests.support.crawls import CrawlResult, as_expected, crawl_in, crawl_settings, run_cli, start_cli
from tests.support.files import PDF
from tests.support.http_server import Answer, HttpServer, page, prose, redirect, serve_site, site
from tests.support.pictures import picture, png_bomb
from tests.support.workers import crawl_with_workers, scaled_app, worker_pool

from sitelore.app.app import App
from sitelore.app.operations.deletion import delete_site, purge_deleted_media, soft_delete_unreferenced_media
from sitelore.app.wiring import embedded
from sitelore.model.frontier import MediaCounts
from sitelore.model.ids import DEFAULT_TENANT, DEFAULT_TENANT_NAME
from sitelore.model.platform.media import MediaListing, MediaOrder, MediaTotals, MediaUse, StoredMedia
from sitelore.model.search import SearchMode, SearchQuery
from sitelore.model.settings import CrawlSettings, MediaPolicy, MediaType

ALL = MediaPolicy(types=tuple(MediaType))


@dataclass(frozen=True)
class MediaCrawl:
    """A finished crawl and the media that it stored."""

    result: CrawlResult
    media: list[StoredMedia]
    totals: MediaTotals
    stored: dict[str, bytes]
    media_rows: dict[str, str]
    uses: dict[int, list[MediaUse]] = field(default_factory=dict)

    def of_name(self, name: str) -> StoredMedia:
        [named] = [each for each in self.media if each.file_name == name]
        return named


async def crawl(data: Path, settings: CrawlSettings) -> MediaCrawl:
    async with embedded(data, writing=True) as app:
        return await media_of(app, await crawl_in(app, settings))


async def media_of(app: App, result: CrawlResult) -> MediaCrawl:
    """What a finished crawl stored."""
    opened = app.media.for_tenant(DEFAULT_TENANT)
    media, total = await opened.library.list_media(MediaListing(result.run.site, limit=1000))
    assert total == len(media)
    rows = {
        str(row.url): row.skip_reason.value if row.skip_reason else row.state.value
        async for row in app.ledger.rows(result.run.id, media=True)
        if row.kind == "media"
    }
    return MediaCrawl(
        result,
        media,
        await opened.library.totals(result.run.site),
        {each.key: await opened.files.get(each.key) for each in media if each.key},
        rows,
        {each.id: await opened.library.uses_of(each.id, limit=1000) for each in media},
    )


def on_disk(data: Path) -> dict[str, int]:
    root = data / "media" / "webmedia" / "1"
    return {str(path.relative_to(root)): path.stat().st_size for path in sorted(root.rglob("*")) if path.is_file()}


def html(title: str, body: str) -> Answer:
    text = (
        f"<html><head><title>{title}</title></head><body><main><h1>{title}</h1><p>{prose(title)}</p>{body}</main></body></html>"
    )
    return Answer(body=text.encode(), content_type="text/html; charset=utf-8")


def with_media(origin: str = "") -> dict[str, Answer]:
    video = b"\0\0\0\x18ftypmp42" + bytes(5000)
    return {
        "/": html(
            "Home",
            f'<img src="{origin}/logo.png" alt="Our logo" width=600 height=200>'
            '<img src="/small.jpg" srcset="/small.jpg 480w, /large.jpg 1900w, /huge.jpg 4000w" alt="Hills" width=480>'
            '<div style="background-image: url(/back.webp)">x</div>'
            '<iframe src="https://www.youtube.com/embed/dQw4w9WgXcQ" title="A film"></iframe>'
            '<video src="/clip.mp4"></video><video src="/long.mp4"></video>'
            '<a href="/report.pdf">The report</a> <a href="/about">About</a>',
        ),
        "/about": html(
            "About", f'<img src="{origin}/logo.png" alt="Logo" width=600 height=200><img src="/twin.png" width=300>'
        ),
        "/logo.png": Answer(body=picture(600, 200, ".png"), content_type="image/png"),
        "/twin.png": Answer(body=picture(600, 200, ".png"), content_type="image/png"),
        "/large.jpg": Answer(body=picture(1900, 1000, ".jpg", 2, Q=95), content_type="image/jpeg"),
        "/back.webp": Answer(body=picture(400, 300, ".webp", 3, Q=98), content_type="image/webp"),
        "/clip.mp4": Answer(body=video, content_type="video/mp4"),
        "/long.mp4": Answer(body=video * 9, content_type="video/mp4"),
        "/report.pdf": Answer(body=files.prose_pdf("Annual report", prose("report")), content_type=PDF),
    }


def serve(files_by_path: dict[str, Answer]) -> AbstractContextManager[HttpServer]:
    return serve_site(site(files_by_path))


async def test_images_videos_and_documents_of_pages_are_stored_once(tmp_path: Path) -> None:
    with serve(with_media()) as server:
        settings = crawl_settings(server.url("/"), media=MediaPolicy(tuple(MediaType), video_bytes=20_000), max_pages=2)
        done = await crawl(tmp_path, settings)
    assert done.result.kept(server.origin) == {"/", "/about"}
    assert {url.removeprefix(server.origin): state for url, state in done.media_rows.items()} == {
        "/logo.png": "VISITED", "/large.jpg": "VISITED", "/back.webp": "VISITED", "/clip.mp4": "VISITED",
        "/long.mp4": "too_large", "/report.pdf": "VISITED", "/twin.png": "VISITED",
    }  # fmt: skip
    assert done.totals.counts == {"IMAGE": 3, "VIDEO": 2, "DOCUMENT": 1}
    logo = done.of_name("logo.png")
    assert (logo.usage_count, logo.alt, logo.width, logo.height) == (2, "Our logo", 600, 200)
    assert [(str(use.url).removeprefix(server.origin), use.alt) for use in done.uses[logo.id]] == [
        ("/", "Our logo"),
        ("/about", "Logo"),
    ]
    film = done.of_name("dQw4w9WgXcQ")
    assert (film.provider, film.video_id, film.key, film.stored_bytes) == ("youtube", "dQw4w9WgXcQ", "", 0)
    assert "report" in done.of_name("report.pdf").text
    counts = done.result.counts.media
    assert (counts.images, counts.videos, counts.documents, counts.duplicates_skipped, counts.videos_skipped_oversized) == (
        4,
        1,
        1,
        1,
        1,
    )
    assert counts.saved_bytes == done.totals.saved_bytes > 0
    assert on_disk(tmp_path) == {key: len(data) for key, data in done.stored.items()}
    assert sum(on_disk(tmp_path).values()) == done.totals.stored_bytes


async def test_media_are_filtered_and_sorted(tmp_path: Path) -> None:
    with serve(with_media()) as server:
        settings = crawl_settings(server.url("/"), media=ALL, max_pages=1)
        async with embedded(tmp_path, writing=True) as app:
            site_id = (await crawl_in(app, settings)).run.site
            library = app.media.for_tenant(DEFAULT_TENANT).library

            async def names(**listing: Any) -> list[str]:
                listed, total = await library.list_media(MediaListing(site_id, **listing))
                assert total == len(listed)
                return [each.file_name for each in listed]

            every = await names(order=MediaOrder.NAME)
            assert every == sorted(every, key=str.lower)
            assert await names(order=MediaOrder.NAME, descending=True) == every[::-1]
            assert await names(text="HILLS") == ["large.jpg"], "by the description"
            assert await names(text="report.p") == ["report.pdf"]
            assert await names(text="100%") == []
            assert (await names(order=MediaOrder.SAVED, descending=True, type=MediaType.IMAGE))[0] == "large.jpg"


async def test_a_video_has_the_poster_of_its_page(tmp_path: Path) -> None:
    videos = (
        '<video src="/clip.mp4" poster="/poster.jpg"></video><video src="/long.mp4"></video><a href="/report.pdf">Report</a>'
    )
    poster = Answer(body=picture(640, 360, ".jpg", 5, Q=95), content_type="image/jpeg")
    served = {**with_media(), "/": html("Home", f"<meta property=og:image content=/small.jpg>{videos}"), "/poster.jpg": poster}
    with serve({**served, "/small.jpg": Answer(body=picture(60, 60, ".jpg", 6), content_type="image/jpeg")}) as server:
        done = await crawl(tmp_path, crawl_settings(server.url("/"), media=MediaPolicy(tuple(MediaType)), max_pages=1))
    key = done.of_name("poster.jpg").key
    assert {name: done.of_name(name).picture_key for name in ("clip.mp4", "long.mp4", "report.pdf", "poster.jpg")} == {
        "clip.mp4": key, "long.mp4": "", "report.pdf": "", "poster.jpg": key,
    }  # fmt: skip


async def test_a_run_without_media_asks_for_none(tmp_path: Path) -> None:
    with serve(with_media()) as server:
        done = await crawl(tmp_path, crawl_settings(server.url("/")))
        assert done.result.kept(server.origin) == {"/", "/about", "/report.pdf"}
        assert not [path for path in server.targets() if path.endswith((".png", ".jpg", ".webp", ".mp4"))]
    assert done.result.counts.media == MediaCounts()
    assert done.media == []


async def test_a_logo_on_fifty_pages_is_one_file_and_fifty_joins(tmp_path: Path) -> None:
    pages = {f"/p{n}": html(f"Page {n}", '<img src="/logo.png" alt="Logo" width=300>') for n in range(50)}
    links = "".join(f'<a href="{path}">{path}</a>' for path in pages)
    served = {"/": html("Start", links), **pages, "/logo.png": Answer(body=picture(300, 100, ".png"), content_type="image/png")}
    with serve(served) as server:
        done = await crawl(tmp_path, crawl_settings(server.url("/"), media=ALL))
        assert server.targets().count("/logo.png") == 1
    [logo] = done.media
    assert logo.usage_count == len(done.uses[logo.id]) == 50
    assert list(on_disk(tmp_path)) == [logo.key]


async def test_a_second_crawl_asks_whether_files_have_changed(tmp_path: Path) -> None:
    with serve(with_media()) as server:
        settings = crawl_settings(server.url("/"), media=ALL)
        first = await crawl(tmp_path, settings)
        second = await crawl(tmp_path, settings)
    assert set(second.media_rows.values()) == {"NOT_MODIFIED"}
    assert second.result.counts.media.unchanged == len(second.media_rows)
    assert [(each.id, each.key) for each in second.media] == [(each.id, each.key) for each in first.media]
    assert second.of_name("logo.png").usage_count == 2


def many_pages(count: int = 40) -> dict[str, Answer]:
    """Pages of two levels with pictures of their own, a shared logo, and equal pictures under different URLs."""
    links = "".join(f'<a href="/p{n}">{n}</a>' for n in range(count))
    served = {"/": html("Start", f'<img src="/logo.png" width=300>{links}')}
    for n in range(count):
        shown = f'<img src="/logo.png" alt="Logo {n}" width=300><img src="/i{n}.jpg" width=300>'
        served[f"/p{n}"] = html(f"Page {n}", f'{shown}<a href="/p{n * 7 % count}/more">more</a>')
        served[f"/p{n}/more"] = html(f"More {n}", f'<img src="/i{n}.jpg" width=300><img src="/moved{n % 5}.png" width=300>')
        served[f"/i{n}.jpg"] = Answer(body=picture(200, 150, ".jpg", n % 7, Q=95), content_type="image/jpeg")
    for n in range(5):
        served[f"/moved{n}.png"] = redirect(f"/logo{n}.png")
        served[f"/logo{n}.png"] = Answer(body=picture(150 + n, 80, ".png"), content_type="image/png")
    served["/logo.png"] = Answer(body=picture(300, 100, ".png"), content_type="image/png")
    return served


def outcome(done: MediaCrawl) -> tuple[object, ...]:
    """Everything that must not depend on how many workers there were and whether one was killed."""
    shown = {
        each.content_hash: sorted((str(use.url), use.position, use.alt) for use in done.uses[each.id]) for each in done.media
    }
    files = {key: hashlib.sha256(data).hexdigest() for key, data in done.stored.items()}
    return done.media_rows, shown, files, done.totals, replace(done.result.counts.media, duplicates_skipped=0)


async def test_media_do_not_change_which_pages_a_budget_admits(tmp_path: Path) -> None:
    with serve(many_pages()) as server:
        plain = await crawl(tmp_path / "plain", crawl_settings(server.url("/"), max_pages=20))
        with_files = await crawl(tmp_path / "media", crawl_settings(server.url("/"), max_pages=20, media=ALL))
    assert len(plain.result.kept()) == len(with_files.result.kept()) == 20
    assert as_expected(plain.result.rows) == as_expected(with_files.result.rows)
    on_pages = {f"{server.origin}/i{n}.jpg" for n in range(19)} | {server.url("/logo.png")}
    assert set(with_files.media_rows) == on_pages
    assert set(with_files.media_rows.values()) == {"VISITED"}


async def test_a_run_downloads_as_many_files_as_it_may(tmp_path: Path) -> None:
    with serve(many_pages()) as server:
        done = await crawl(tmp_path, crawl_settings(server.url("/"), media=replace(ALL, per_run=7, per_page=1)))
    assert Counter(done.media_rows.values())["VISITED"] == 7
    assert set(done.media_rows.values()) == {"VISITED", "budget"}
    assert len(done.result.kept()) == 81


async def test_a_redirected_file_is_shown_by_the_pages_that_name_its_old_url(tmp_path: Path) -> None:
    with serve(many_pages()) as server:
        done = await crawl(tmp_path, crawl_settings(server.url("/"), media=ALL))
    assert {url for url, state in done.media_rows.items() if state == "ALIAS"} == {
        server.url(f"/moved{n}.png") for n in range(5)
    }
    assert [done.of_name(f"logo{n}.png").usage_count for n in range(5)] == [8] * 5


async def test_a_file_that_changes_at_its_url_changes_on_every_page(tmp_path: Path) -> None:
    served = {path: answer for path, answer in with_media().items() if path in {"/", "/about", "/logo.png"}}
    with serve(served) as server:
        settings = crawl_settings(server.url("/"), media=ALL)
        before = (await crawl(tmp_path, settings)).of_name("logo.png")
        served["/logo.png"] = Answer(body=picture(500, 100, ".png", 9), content_type="image/png")
        server.pages = site(served)
        done = await crawl(tmp_path, settings)
    [after] = [each for each in done.media if each.width == 500]
    assert (after.usage_count, after.alt) == (2, "Our logo")
    [unused] = [each for each in done.media if each.id == before.id]
    assert (unused.usage_count, unused.key) == (0, before.key), "what no page shows any more is kept"


async def test_a_secret_keeps_a_document_or_a_drawing_from_being_stored(tmp_path: Path) -> None:
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg"><text>{secret}</text></svg>'
    served = {
        "/": html("Home", '<img src="/a.svg" width=300><a href="/keys.pdf">Keys</a>'),
        "/a.svg": Answer(body=drawing.encode(), content_type="image/svg+xml"),
        "/keys.pdf": Answer(body=files.prose_pdf("Keys", prose("keys"), secret=secret), content_type=PDF),
    }
    with serve(served) as server:
        done = await crawl(tmp_path, crawl_settings(server.url("/"), media=ALL))
    assert done.media_rows == {server.url("/a.svg"): "FAILED", server.url("/keys.pdf"): "VISITED"}
    [keys] = done.media
    assert (keys.key, keys.stored_bytes) == ("", 0)
    assert "Keys" in keys.text
    assert on_disk(tmp_path) == {}
    assert secret.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


async def test_what_is_no_picture_or_a_bomb_is_not_stored(tmp_path: Path) -> None:
    images = ("/page.png", "/bomb.png", "/gone.png", "/no.png")
    served = {
        "/": html("Home", "".join(f'<img src="{path}" width=300>' for path in images)),
        "/page.png": page("A page", prose("page")),
        "/bomb.png": Answer(body=png_bomb(60_000), content_type="image/png"),
        "/no.png": Answer(body=picture(300, 200, ".png"), content_type="image/png"),
    }
    with serve_site(site(served, robots="User-agent: *\nDisallow: /no.png\n")) as server:
        done = await crawl(tmp_path, crawl_settings(server.url("/"), media=ALL))
    assert {url.removeprefix(server.origin): state for url, state in done.media_rows.items()} == {
        "/page.png": "content_type", "/bomb.png": "too_large", "/gone.png": "NOT_FOUND", "/no.png": "robots",
    }  # fmt: skip
    assert (done.media, on_disk(tmp_path)) == ([], {})


async def test_a_file_larger_than_its_limit_is_not_stored(tmp_path: Path) -> None:
    with serve(with_media()) as server:
        done = await crawl(tmp_path, crawl_settings(server.url("/"), media=replace(ALL, file_bytes=300_000)))
    rows = {url.removeprefix(server.origin): state for url, state in done.media_rows.items()}
    assert (rows["/large.jpg"], rows["/logo.png"], rows["/clip.mp4"]) == ("too_large", "VISITED", "VISITED")


async def test_documents_are_found_by_search_and_no_pages_of_the_export(tmp_path: Path) -> None:
    with serve(with_media()) as server:
        done = await crawl(tmp_path, crawl_settings(server.url("/"), media=ALL))
        assert server.url("/report.pdf") not in done.result.rows
        async with embedded(tmp_path, writing=True) as app:
            await app.search_service.update_lexical_index(asyncio.Event())
            hits = await app.search_service.search(SearchQuery("annual report", mode=SearchMode.LEXICAL))
            assert server.url("/report.pdf") in {str(hit.chunk.url) for hit in hits.hits}


async def test_deleting_a_site_leaves_no_byte_of_its_media(tmp_path: Path) -> None:
    shared = Answer(body=picture(300, 100, ".png"), content_type="image/png")
    first = {"/": html("One", '<img src="/a.png" width=300>'), "/a.png": shared}
    own = Answer(body=picture(310, 100, ".png"), content_type="image/png")
    second = {"/": html("Two", '<img src="/b.png" width=300><img src="/own.png" width=300>'), "/b.png": shared, "/own.png": own}
    with serve(first) as one, serve(second) as two:
        kept = await crawl(tmp_path, crawl_settings(one.url("/"), media=ALL))
        gone = await crawl(tmp_path, crawl_settings(two.url("/"), media=ALL))
    assert len(on_disk(tmp_path)) == 2
    async with embedded(tmp_path, writing=True) as app:
        tenant = await app.queue.find_tenant(DEFAULT_TENANT_NAME)
        assert tenant is not None
        await delete_site(app, tenant, gone.result.run.site)
        left, _ = await app.media.for_tenant(DEFAULT_TENANT).library.list_media(MediaListing())
    assert [each.key for each in left] == list(on_disk(tmp_path)) == [kept.media[0].key]


async def test_files_without_a_row_are_swept_and_pending_ones_are_kept(tmp_path: Path) -> None:
    async with embedded(tmp_path, writing=True) as app:
        media = app.media.for_tenant(DEFAULT_TENANT)
        for digit in "ab":
            await media.files.put(f"images/{digit * 64}.png", b"x")
        media.hold(f"images/{'a' * 64}.png")
        assert await soft_delete_unreferenced_media(app.ledger, media, math.inf) == 1
        assert list(on_disk(tmp_path)) == [f"images/{'a' * 64}.png"]
        media.release(f"images/{'a' * 64}.png")
        assert await soft_delete_unreferenced_media(app.ledger, media, math.inf) == 1


async def test_a_killed_crawl_loses_no_file_and_stores_none_twice(tmp_path: Path) -> None:
    with serve(many_pages()) as server:
        settings = crawl_settings(server.url("/"), media=ALL)
        expected = outcome(await crawl(tmp_path / "whole", settings))
        arguments = ("crawl", server.url("/"), "--media", "--data", str(tmp_path / "killed"), "--output", "db", "--delay", "0")
        for kill in range(3):
            server.clear_log()
            with start_cli(*arguments, *(("--resume",) if kill else ())) as process:
                assert await asyncio.to_thread(server.wait_for_hits, 25)
                process.send_signal(signal.SIGKILL)
                process.wait()
            assert process.returncode == -signal.SIGKILL, "the crawl ended before it was killed"
        assert run_cli(*arguments, "--resume").code == 0
    async with embedded(tmp_path / "killed", writing=True) as app:
        [run] = await app.ledger.runs()
        assert run.state == "COMPLETED"
        killed = await media_of(app, CrawlResult(run, {}, await app.ledger.counts(run.id)))
        assert outcome(killed)[:4] == expected[:4]
        assert await soft_delete_unreferenced_media(app.ledger, app.media.for_tenant(DEFAULT_TENANT), math.inf) <= 64, (
            "files of unwritten settlements"
        )
    assert on_disk(tmp_path / "killed") == {key: len(data) for key, data in killed.stored.items()}


async def test_workers_on_servers_store_the_same_files_as_one_process(servers: LocalServers, tmp_path: Path) -> None:
    with serve_site(site(many_pages(12)), host="localhost") as server:
        settings = crawl_settings(server.url("/"), media=ALL, max_pages=15)
        expected = outcome(await crawl(tmp_path, settings))
        async with scaled_app(servers) as (app, operator):
            with worker_pool(operator) as pool:
                for workers in (1, 3):
                    pool.start(workers - len(pool.workers))
                    run = await crawl_with_workers(app, replace(settings, force=True))
                    assert run.state == "COMPLETED", run.error
                    done = await media_of(app, CrawlResult(run, {}, await app.ledger.counts(run.id)))
                    assert outcome(done)[:4] == expected[:4], f"{workers} workers"
                pool.stop()
            media = app.media.for_tenant(DEFAULT_TENANT)
            assert await soft_delete_unreferenced_media(app.ledger, media, math.inf) == 0
            stored = {key async for key in media.files.keys(math.inf)}
            assert stored == {each.key for each in done.media}
            await media.files.delete([done.media[0].key], math.inf)
            assert await media.files.get(done.media[0].key) == done.stored[done.media[0].key], "deleted files stay readable"
            assert await purge_deleted_media(app.ledger, media, math.inf) == 0
            assert {key async for key in media.files.keys(math.inf)} == stored, "what a row refers to is restored"
