"""Media of a channel over HTTP: listed, shown, delivered with safe headers, deleted when no page uses them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from tests.interfaces.api import Api, serving_api, whole_app
from tests.journeys.test_media import with_media
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site, site

from sitelore.serve.context import ApiSettings

CHANNELS = "/tenant/v1/channels"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script><path d="M0 0h9"/></svg>'


def pages() -> dict[str, Answer]:
    served = with_media()
    drawing = f"<p>{prose('drawing')}</p><img src=/drawing.svg alt=Drawing width=90>"
    return {
        **served,
        "/about": page("About", served["/about"].body.decode() + drawing, links=("/gone",)),
        "/drawing.svg": Answer(body=SVG, content_type="image/svg+xml"),
        "/gone": page("Gone", prose("gone")),
    }


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, HttpServer, str]]:
    """A server with a channel whose first crawl has completed."""
    with serve_site(site(pages()), host="localhost") as http_server:
        settings = ApiSettings(allow_private=(f"localhost:{http_server.port}",), poll_s=0.05)
        with serving_api(partial(whole_app, tmp_path_factory.mktemp("media")), settings) as api:
            added = api.call("POST", CHANNELS, {"title": "Website", "url": http_server.url("/")})
            assert added.status == 201, added.body
            channel = str(added.json["id"])
            crawl(api, channel)
            yield api, http_server, f"{CHANNELS}/{channel}/webcrawl"


def crawl(api: Api, channel: str) -> None:
    started = api.call("POST", f"{CHANNELS}/{channel}/webcrawl/start")
    assert started.status == 201, started.body
    api.finish(started.json["id"])


def by_name(api: Api, base: str, query: str = "") -> dict[str, dict[str, Any]]:
    return {each["fileName"]: each for each in api.get(f"{base}/media{query}")["media"]}


def test_media_are_listed_by_type_and_counted(crawled: tuple[Api, HttpServer, str]) -> None:
    api, http_server, base = crawled
    media = by_name(api, base)
    kinds = {name: each["mediaType"] for name, each in media.items()}
    assert kinds == {
        "logo.png": "IMAGE", "large.jpg": "IMAGE", "back.webp": "IMAGE", "drawing.svg": "IMAGE", "clip.mp4": "VIDEO",
        "long.mp4": "VIDEO", "dQw4w9WgXcQ": "VIDEO", "report.pdf": "DOCUMENT",
    }  # fmt: skip
    assert set(by_name(api, base, "?mediaType=VIDEO")) == {"clip.mp4", "long.mp4", "dQw4w9WgXcQ"}
    listed = api.get(f"{base}/media?limit=3&offset=6")
    assert listed["pagination"] == {"total": 8, "limit": 3, "offset": 6, "returned": 2, "hasMore": False}
    logo = media["logo.png"]
    assert logo["storageKey"] == f"webmedia/1/images/{logo['contentHash']}.png"
    assert (logo["usageCount"], logo["altText"], logo["status"]) == (2, "Our logo", "ACTIVE")
    photo = media["large.jpg"]
    assert photo["compressionRatio"] == round(1 - photo["fileSizeBytes"] / photo["originalFileSizeBytes"], 4) > 0
    film = media["dQw4w9WgXcQ"]
    assert film["videoProvider"] == "YOUTUBE"
    assert film["thumbnailUrl"] == f"{base}/media/{film['id']}/thumbnail"
    assert 'src="https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ"' in film["embedCode"]
    assert media["clip.mp4"]["videoProvider"] == "LOCAL"
    status = api.get(f"{base}/status")
    assert status["progress"] == "Crawled 3/100 pages, 5 images (1 duplicates skipped)"
    assert {each["url"].removeprefix(http_server.origin) for each in api.get(f"{base}/pages")["pages"]} == {
        "/",
        "/about",
        "/gone",
    }
    statistics = api.get(f"{base}/statistics")
    assert statistics["media"] == {
        "total": 8, "images": 4, "videos": 3, "documents": 1, "duplicatesSkipped": 1, "videosSkippedOversized": 0,
    }  # fmt: skip
    saved = sum(each["originalFileSizeBytes"] - each["fileSizeBytes"] for each in media.values())
    assert statistics["storage"]["compressionSavingsBytes"] == saved > 0
    assert statistics["lastCrawl"]["statistics"]["compressionSavingsBytes"] == saved


def test_a_file_shows_the_pages_that_use_it(crawled: tuple[Api, HttpServer, str]) -> None:
    api, http_server, base = crawled
    media = by_name(api, base)
    detail = api.get(f"{base}/media/{media['logo.png']['id']}")
    assert [(use["url"], use["altText"]) for use in detail["pages"]] == [
        (http_server.url("/"), "Our logo"),
        (http_server.url("/about"), "Logo"),
    ]
    assert "report" in api.get(f"{base}/media/{media['report.pdf']['id']}")["extractedText"]
    home = api.get(f"{base}/pages/{detail['pages'][0]['webPageId']}")
    assert {each["fileName"] for each in home["media"]} == set(media) - {"drawing.svg"}


def test_files_are_delivered_with_safe_headers(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, base = crawled
    media = by_name(api, base)
    for name, disposition, kind in (
        ("large.jpg", "inline", "image/jpeg"),
        ("clip.mp4", "inline", "video/mp4"),
        ("report.pdf", "attachment", "application/pdf"),
        ("drawing.svg", "attachment", "application/octet-stream"),
    ):
        answer = api.call("GET", media[name]["storageUrl"])
        assert (answer.status, answer.headers.get_content_type()) == (200, kind), name
        assert answer.headers["Content-Disposition"] == f"{disposition}; filename*=UTF-8''{name}"
        assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert len(answer.body) == media[name]["fileSizeBytes"]
    assert b"script" not in api.call("GET", media["drawing.svg"]["storageUrl"]).body
    small = api.call("GET", media["large.jpg"]["thumbnailUrl"])
    assert (small.status, small.headers.get_content_type(), small.body[8:12]) == (200, "image/webp", b"WEBP")
    assert api.call("GET", media["large.jpg"]["thumbnailUrl"]).body == small.body
    assert media["drawing.svg"]["thumbnailUrl"] is None
    for missing in ("thumbnail", "file"):
        answer = api.call("GET", f"{base}/media/{media['dQw4w9WgXcQ']['id']}/{missing}")
        assert (answer.status, answer.kind) == (404, "media-not-found")


def test_a_part_of_a_file_is_delivered_to_seek_in_a_video(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, base = crawled
    clip = by_name(api, base)["clip.mp4"]
    whole = api.call("GET", clip["storageUrl"])
    etag, size = whole.headers["ETag"], len(whole.body)
    assert (whole.status, whole.headers["Accept-Ranges"]) == (200, "bytes")
    for requested, start, end in (
        ("bytes=0-9", 0, 10),
        ("bytes=5-", 5, size),
        ("bytes=-7", size - 7, size),
        ("bytes=0-9999999", 0, size),
    ):
        part = api.call("GET", clip["storageUrl"], Range=requested, If_Range=etag)
        assert (part.status, part.body) == (206, whole.body[start:end]), requested
        assert part.headers["Content-Range"] == f"bytes {start}-{end - 1}/{size}"
    for ignored in ({"Range": "bytes=0-1,3-4"}, {"Range": "lines=1-2"}, {"Range": "bytes=0-9", "If_Range": '"other"'}):
        answer = api.call("GET", clip["storageUrl"], **ignored)
        assert (answer.status, answer.body) == (200, whole.body), ignored
    beyond = api.call("GET", clip["storageUrl"], Range=f"bytes={size}-")
    assert (beyond.status, beyond.kind, beyond.headers["Content-Range"]) == (416, "range-not-satisfiable", f"bytes */{size}")


@pytest.mark.parametrize("media_id", ["0", "999999", "x", "-1", "%00", "99999999999999999999", "1/../2"])
def test_an_unknown_file_is_not_found(crawled: tuple[Api, HttpServer, str], media_id: str) -> None:
    api, _, base = crawled
    for method in ("GET", "DELETE"):
        assert api.call(method, f"{base}/media/{media_id}").status in {404, 405}


def test_a_file_is_deleted_only_when_no_page_uses_it(crawled: tuple[Api, HttpServer, str]) -> None:
    api, http_server, base = crawled
    drawing = by_name(api, base)["drawing.svg"]
    path = f"{base}/media/{drawing['id']}"
    refused = api.call("DELETE", path)
    assert (refused.status, refused.kind) == (409, "media-used")
    [about] = [each for each in api.get(f"{base}/pages")["pages"] if each["url"] == http_server.url("/about")]
    assert api.call("DELETE", f"{base}/pages/{about['id']}").status == 204
    assert api.get(path)["usageCount"] == 0
    assert api.call("DELETE", path).status == 204
    assert api.call("GET", path).status == 404
    assert api.call("GET", drawing["storageUrl"]).status == 404
    assert "drawing.svg" not in by_name(api, base)
    crawl(api, base.split("/")[4])
    again = by_name(api, base)["drawing.svg"]
    assert (again["usageCount"], again["contentHash"]) == (1, drawing["contentHash"])
    assert api.call("GET", again["storageUrl"]).status == 200
