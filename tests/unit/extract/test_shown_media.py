"""Which media a page shows, and which candidate of an image is downloaded."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sitelore.extract.page import read
from sitelore.extract.page_objects.media import candidate_up_to
from sitelore.extract.page_objects.shown_media import media_of_blob, media_of_document
from sitelore.model.document import ReadOptions
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
    response = Response(Url("http://a.test/"), 200, (("content-type", "text/html; charset=utf-8"),), body.encode())
    reading = read(response, ReadOptions())
    assert reading.document is not None
    items = media_of_blob(reading.document, policy, reading.refused_links)
    return {item.url.removeprefix("http://a.test"): (item.type, item.alt) for item in items}


def test_media_are_read_in_page_order_each_url_once() -> None:
    body = """<head><meta property=og:image content=/preview.jpg></head><main><p>Words enough to be a page of its own.</p>
        <picture><source type=image/webp srcset="/wide.webp 1800w, /huge.webp 4000w"><img src=/fallback.jpg alt=Wide></picture>
        <img src=/small.jpg alt=Small><img src=/small.jpg alt=Again><img data-src=/lazy.jpg src=data:image/gif;base64,R0>
        <img src=/pixel.gif width=1 height=1><iframe src="https://player.vimeo.com/video/12345678"></iframe>
        <iframe src="https://www.dailymotion.com/embed/video/x7tgad0"></iframe>
        <video src=/film.mp4 title=Film></video><video src=/stream.m3u8></video><audio src=/sound.mp3></audio>
        <a href=/paper.pdf>Paper</a><a href=/table.xlsx>Table</a><a href=/private.pdf rel=nofollow>Private</a></main>"""
    assert shown(body) == {
        "/wide.webp": (MediaType.IMAGE, "Wide"),
        "/small.jpg": (MediaType.IMAGE, "Small"),
        "/lazy.jpg": (MediaType.IMAGE, ""),
        "/film.mp4": (MediaType.VIDEO, "Film"),
        "https://player.vimeo.com/video/12345678": (MediaType.VIDEO, ""),
        "/paper.pdf": (MediaType.DOCUMENT, "Paper"),
        "/preview.jpg": (MediaType.IMAGE, ""),
    }
    assert set(shown(body, MediaPolicy(types=(MediaType.DOCUMENT,)))) == {"/paper.pdf"}
    assert list(shown(body, MediaPolicy(types=(MediaType.IMAGE,), per_page=2))) == ["/wide.webp", "/small.jpg"]


def test_documents_of_earlier_versions_list_media_too() -> None:
    stored: dict[str, Any] = {"media": [{"type": "image", "url": "http://a.test/x.png"}, {"type": "image", "url": "mailto:x"}]}
    [item] = media_of_document(msgspec.json.encode(stored), ALL)
    assert item.url == "http://a.test/x.png"
    assert media_of_document(b"{}", ALL) == ()
