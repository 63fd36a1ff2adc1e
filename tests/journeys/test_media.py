"""A crawl with media: images, videos and documents are URLs of another kind in the same frontier."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import files
from tests.support.crawls import CrawlResult, crawl_in, crawl_settings
from tests.support.files import PDF
from tests.support.http_server import Answer, HttpServer, prose, serve_site, site
from tests.support.pictures import picture

from sitelore.app.wiring import embedded
from sitelore.model.frontier import MediaCounts
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.platform.media import MediaListing, MediaTotals, MediaUse, StoredMedia
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
        result = await crawl_in(app, settings)
        opened = app.media.of(DEFAULT_TENANT)
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
