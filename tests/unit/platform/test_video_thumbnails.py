"""Pictures of videos that are not downloaded, from their providers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response
from sitelore.platform.media import VideoThumbnails

VIMEO = "https://vimeo.com/api/oembed.json?width=640&url=https%3A%2F%2Fvimeo.com%2F"


@dataclass
class Provider:
    """A fetcher that answers with these bodies."""

    bodies: dict[str, bytes]
    requested: list[str] = field(default_factory=list)

    async def fetch(self, request: Request) -> Fetched:
        self.requested.append(str(request.url))
        body = self.bodies.get(str(request.url))
        if body is None:
            return Response(request.url, 404, (), b"")
        return Response(request.url, 200, (), body) if body else FetchFailure(request.url, Failure.CONNECTION, "refused")

    async def close(self) -> None:
        pass


async def test_the_largest_picture_of_a_youtube_video_is_taken() -> None:
    images = "https://i.ytimg.com/vi/abc_def-123"
    both = Provider({f"{images}/maxresdefault.jpg": b"large", f"{images}/hqdefault.jpg": b"small"})
    assert await VideoThumbnails(both).fetch("youtube", "abc_def-123") == b"large"
    one = Provider({f"{images}/hqdefault.jpg": b"small"})
    assert await VideoThumbnails(one).fetch("youtube", "abc_def-123") == b"small"


async def test_vimeo_names_the_picture_of_a_video_also_of_an_unlisted_one() -> None:
    picture = "https://i.vimeocdn.com/video/1-d_640"
    for video, named in (("12345678", "12345678"), ("12345678/0a1b2c3d4e", "12345678%2F0a1b2c3d4e")):
        provider = Provider({VIMEO + named: json.dumps({"thumbnail_url": picture}).encode(), picture: b"picture"})
        assert await VideoThumbnails(provider).fetch("vimeo", video) == b"picture"


async def test_an_answer_that_names_no_picture_gives_none() -> None:
    for answer in (b"not json", b"[]", b"{}", b'{"thumbnail_url": 5}', b'{"thumbnail_url": "http://plain.test/a.jpg"}', b""):
        assert await VideoThumbnails(Provider({VIMEO + "12345678": answer})).fetch("vimeo", "12345678") is None, answer


async def test_a_picture_that_is_missing_is_tried_again_after_a_while() -> None:
    provider, now = Provider({}), [0.0]
    thumbnails = VideoThumbnails(provider, lambda: now[0])
    for now[0], requests in ((0.0, 2), (599.0, 2), (601.0, 4)):
        assert await thumbnails.fetch("youtube", "abcdefgh") is None
        assert len(provider.requested) == requests
