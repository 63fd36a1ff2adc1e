"""Chooses the media that a run downloads for a page, from what its document lists (`media.py`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgspec
import zstandard

from sitelore.model.document import Blob
from sitelore.model.ids import NO_TEXT, CleanText
from sitelore.model.platform.media import ShownMedia
from sitelore.model.settings import MediaPolicy, MediaType
from sitelore.model.url import Url

_PROVIDERS = frozenset({"youtube", "vimeo"})
_DOCUMENTS = frozenset({"pdf", "docx", "doc"})
_NOT_FILES = (".m3u8", ".mpd")
"""Playlists of streams."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """One entry of a document's list of media."""

    type: str = ""
    url: str = ""
    best: str = ""
    poster: str = ""
    format: str = ""
    provider: str = ""
    id: str = ""
    alt: CleanText = NO_TEXT
    title: CleanText = NO_TEXT


@dataclass(frozen=True, slots=True)
class _Document:
    """The part of a document that lists media."""

    media: tuple[_Listed, ...] = ()
    image: str = ""


_DECODER = msgspec.json.Decoder(_Document)


def media_of_blob(document: Blob, policy: MediaPolicy, nofollow: Collection[Url]) -> tuple[ShownMedia, ...]:
    """The media of a document that has just been extracted."""
    return media_of_document(zstandard.ZstdDecompressor().decompressobj().decompress(document.data), policy, nofollow)


def media_of_document(document: bytes, policy: MediaPolicy, nofollow: Collection[Url] = ()) -> tuple[ShownMedia, ...]:
    """The media of a stored document, each URL once: images, the one that the page names for previews, then players and files.
    The poster of a video follows it, which `store/platform/media.py` relies on.
    """
    wanted: dict[Url, ShownMedia] = {}
    for item in _listed(_DECODER.decode(document)):
        is_excluded = item.type not in policy.types or (item.is_link and item.url in nofollow)
        if not is_excluded and len(wanted) < policy.per_page:
            wanted.setdefault(item.url, item)
    return tuple(wanted.values())


def _listed(document: _Document) -> Iterator[ShownMedia]:
    for listed in document.media:
        if listed.type == "image" and (url := Url.parse(listed.best or listed.url)) is not None:
            yield ShownMedia(url, MediaType.IMAGE, listed.alt)
    if document.image and (url := Url.parse(document.image)) is not None:
        yield ShownMedia(url, MediaType.IMAGE)
    for listed in document.media:
        url = Url.parse(listed.url)
        if url is None or listed.type == "image":
            continue
        if listed.provider in _PROVIDERS:
            yield ShownMedia(url, MediaType.VIDEO, listed.title, listed.provider, listed.id)
        elif listed.type == "video" and not listed.provider and not url.path.endswith(_NOT_FILES):
            yield ShownMedia(url, MediaType.VIDEO, listed.title, is_link=bool(listed.format))
            if listed.poster and (poster := Url.parse(listed.poster)) is not None:
                yield ShownMedia(poster, MediaType.IMAGE, listed.title)
        elif listed.format in _DOCUMENTS:
            yield ShownMedia(url, MediaType.DOCUMENT, listed.title, is_link=True)


@dataclass(frozen=True, slots=True)
class _Text:
    """The part of a document that is its text."""

    text: CleanText = NO_TEXT


def text_of_blob(document: Blob) -> CleanText:
    """The text of a document that has just been extracted."""
    data = zstandard.ZstdDecompressor().decompressobj().decompress(document.data)
    return msgspec.json.decode(data, type=_Text).text
