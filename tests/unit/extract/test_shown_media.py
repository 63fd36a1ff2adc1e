"""Which media a page shows, and which candidate of an image is downloaded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sitelore.extract.page import read
from sitelore.extract.page_objects.media import candidate_up_to
from sitelore.extract.page_objects.shown_media import media_of_blob, media_of_document
from sitelore.model.document import ReadOptions
from sitelore.model.platform.media import ShownMedia
from sitelore.model.response import Response
from sitelore.model.settings import MediaPolicy, MediaType
from sitelore.model.url import Url

ALL = MediaPolicy(types=tuple(MediaType))


@pytest.mark.parametrize(
    ("srcset", "width", "best"),
    [
        ("/s.jpg 480w, /m.jpg 1920w, /l.jpg 3840w", 0, "/m.jpg"),
        ("/l.jpg 3840w, /xl.jpg 5000w", 0, "/l.jpg"),
        ("/1.jpg, /2.jpg 2x, /3.jpg 3x", 800, "/2.jpg"),
        ("/1.jpg 1x, /2.jpg 2x", 0, "/2.jpg"),
        ("data:image/gif;base64,R0 1x", 0, ""),
        ("", 0, ""),
        ("/a.jpg 1.2.3w", 0, "/a.jpg"),
    ],
)
def test_the_widest_candidate_within_the_limit_is_downloaded(srcset: str, width: int, best: str) -> None:
    assert candidate_up_to(srcset, 1920, width) == best


def shown(body: str, policy: MediaPolicy = ALL) -> dict[str, tuple[MediaType, str]]:
    return {item.url.removeprefix("http://a.test"): (item.type, item.alt) for item in listed(body, policy)}


def listed(body: str, policy: MediaPolicy = ALL) -> list[ShownMedia]:
    response = Response(Url("http://a.test/"), 200, (("content-type", "text/html; charset=utf-8"),), body.encode())
    reading = read(response, ReadOptions())
    assert reading.document is not None
    return list(media_of_blob(reading.document, policy, reading.refused_links))


def test_media_are_read_in_page_order_each_url_once() -> None:
    body = """<head><meta property=og:image content=/preview.jpg></head><main><p>Words enough to be a page of its own.</p>
        <picture><source type=image/webp srcset="/wide.webp 1800w, /huge.webp 4000w"><img src=/fallback.jpg alt=Wide></picture>
        <img src=/small.jpg alt=Small><img src=/small.jpg alt=Again><img data-src=/lazy.jpg src=data:image/gif;base64,R0>
        <img src=/pixel.gif width=1 height=1><iframe src="https://player.vimeo.com/video/12345678"></iframe>
        <iframe src="https://www.dailymotion.com/embed/video/x7tgad0"></iframe>
        <video src=/film.mp4 title=Film poster=/film.jpg></video><video src=/stream.m3u8></video><audio src=/sound.mp3></audio>
        <a href=/paper.pdf>Paper</a><a href=/table.xlsx>Table</a><a href=/private.pdf rel=nofollow>Private</a></main>"""
    assert shown(body) == {
        "/wide.webp": (MediaType.IMAGE, "Wide"),
        "/small.jpg": (MediaType.IMAGE, "Small"),
        "/lazy.jpg": (MediaType.IMAGE, ""),
        "/film.mp4": (MediaType.VIDEO, "Film"),
        "/film.jpg": (MediaType.IMAGE, "Film"),
        "https://player.vimeo.com/video/12345678": (MediaType.VIDEO, ""),
        "/paper.pdf": (MediaType.DOCUMENT, "Paper"),
        "/preview.jpg": (MediaType.IMAGE, ""),
    }
    order = list(shown(body))
    assert order.index("/film.jpg") == order.index("/film.mp4") + 1, "a poster follows its video"
    assert set(shown(body, MediaPolicy(types=(MediaType.DOCUMENT,)))) == {"/paper.pdf"}
    assert list(shown(body, MediaPolicy(types=(MediaType.IMAGE,), per_page=2))) == ["/wide.webp", "/small.jpg"]


@pytest.mark.parametrize(
    ("frame", "provider", "video_id"),
    [
        ("<iframe src=https://www.youtube.com/embed/dQw4w9WgXcQ?start=5></iframe>", "youtube", "dQw4w9WgXcQ"),
        ("<iframe src=//www.youtube-nocookie.com/embed/dQw4w9WgXcQ></iframe>", "youtube", "dQw4w9WgXcQ"),
        ("<iframe src='https://m.youtube.com/watch?app=desktop&v=dQw4w9WgXcQ'></iframe>", "youtube", "dQw4w9WgXcQ"),
        ("<iframe src=https://www.youtube.com/shorts/dQw4w9WgXcQ></iframe>", "youtube", "dQw4w9WgXcQ"),
        ("<iframe data-src=https://www.youtube.com/live/dQw4w9WgXcQ?feature=share></iframe>", "youtube", "dQw4w9WgXcQ"),
        ("<embed src=https://www.youtube.com/v/dQw4w9WgXcQ>", "youtube", "dQw4w9WgXcQ"),
        ("<object data=https://youtu.be/dQw4w9WgXcQ></object>", "youtube", "dQw4w9WgXcQ"),
        ("<lite-youtube videoid=dQw4w9WgXcQ></lite-youtube>", "youtube", "dQw4w9WgXcQ"),
        ("<iframe src=https://vimeo.com/12345678></iframe>", "vimeo", "12345678"),
        (
            "<iframe src='https://player.vimeo.com/video/12345678?badge=0&h=0a1b2c3d4e'></iframe>",
            "vimeo",
            "12345678/0a1b2c3d4e",
        ),
        ("<iframe src=https://vimeo.com/12345678/0a1b2c3d4e></iframe>", "vimeo", "12345678/0a1b2c3d4e"),
        ("<iframe src=https://vimeo.com/channels/staffpicks/12345678></iframe>", "vimeo", "12345678"),
        ("<lite-vimeo videoid=12345678></lite-vimeo>", "vimeo", "12345678"),
    ],
)
def test_videos_at_providers_are_known_by_their_ids(frame: str, provider: str, video_id: str) -> None:
    assert [(item.provider, item.video_id) for item in listed(frame)] == [(provider, video_id)]


@pytest.mark.parametrize(
    "address",
    [
        "https://www.youtube.com/embed/videoseries?list=PLabcdefgh", "https://www.youtube.com/embed/live_stream?channel=UCabcdefgh",
        "https://www.youtube.com/@someone", "https://youtube.com.evil.test/embed/dQw4w9WgXcQ", "https://vimeo.com/about",
        "https://notvimeo.com/12345678",
    ],
)  # fmt: skip
def test_what_is_not_one_video_is_none(address: str) -> None:
    assert listed(f"<iframe src='{address}'></iframe>") == []


def test_backgrounds_are_those_of_attributes_and_style_sheets_of_the_page() -> None:
    body = """<head><style>.hero { background: #fff url("/hero 1.jpg") no-repeat, url(/second.png) }
        .x{color:red;background-image:url('/x.webp')} @font-face { src: url(/font.woff2) } a::before { content: url(/icon.png) }
        .data { background: url(data:image/png;base64,AAAA) }</style></head><main><p>Words enough to be a page of its own.</p>
        <div style="background-image: linear-gradient(red, blue), url(&quot;/own.jpg&quot;); color: red"></div>
        <div style="background:url(/plain.jpg)"></div><div style="list-style: url(/marker.png)"></div></main>"""
    assert list(shown(body)) == ["/own.jpg", "/plain.jpg", "/hero%201.jpg", "/second.png", "/x.webp"]


def test_documents_of_earlier_versions_list_media_too() -> None:
    stored: dict[str, Any] = {"media": [{"type": "image", "url": "http://a.test/x.png"}, {"type": "image", "url": "mailto:x"}]}
    [item] = media_of_document(msgspec.json.encode(stored), ALL)
    assert item.url == "http://a.test/x.png"
    assert media_of_document(b"{}", ALL) == ()
