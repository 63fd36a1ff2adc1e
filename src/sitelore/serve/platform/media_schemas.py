"""Responses of the media routes, with the field names of the platform, in camel case."""

from __future__ import annotations

from typing import Any

import msgspec

from sitelore.model.platform.channels import Channel
from sitelore.model.platform.media import MediaUse, StoredMedia, place_of
from sitelore.model.settings import MediaType
from sitelore.platform.media import THUMBNAIL_PROVIDERS
from sitelore.serve.responses import CamelCasePagination, camel_case_pagination
from sitelore.serve.schemas import moment

_LOCAL = "LOCAL"
_ACTIVE, _NOT_STORED = "ACTIVE", "FAILED"
_PLAYERS = {"youtube": "https://www.youtube-nocookie.com/embed/{id}", "vimeo": "https://player.vimeo.com/video/{id}"}
_EMBED = '<iframe src="{src}" width="560" height="315" loading="lazy" allowfullscreen referrerpolicy="strict-origin"></iframe>'


class MediaOnPage(msgspec.Struct, frozen=True, rename="camel"):
    """An image, video or document."""

    id: str
    web_media_id: str
    tenant_id: str
    channel_id: str
    media_type: MediaType
    source_url: str
    file_name: str
    mime_type: str
    status: str
    error_message: str | None
    content_hash: str
    storage_key: str | None
    storage_url: str | None
    thumbnail_url: str | None
    file_size_bytes: int
    original_file_size_bytes: int
    compression_ratio: float
    width: int | None
    height: int | None
    alt_text: str
    video_provider: str | None
    video_id: str | None
    embed_code: str | None
    rag_indexed: bool
    usage_count: int
    last_crawled_at: str
    created_at: str
    updated_at: str


class MediaList(msgspec.Struct, frozen=True, rename="camel"):
    """A page of media, oldest first."""

    media: list[MediaOnPage]
    pagination: CamelCasePagination


class MediaUseView(msgspec.Struct, frozen=True, rename="camel"):
    """A page that shows a file."""

    web_page_id: str
    url: str
    title: str
    position: int
    alt_text: str


class MediaDetail(MediaOnPage, frozen=True, rename="camel"):
    """An image, video or document with the pages that show it. `extractedText` is the start of a document's text."""

    extracted_text: str
    pages: list[MediaUseView]


def media_on_page(channel: Channel, media: StoredMedia) -> MediaOnPage:
    """A file as lists show it."""
    return MediaOnPage(**_values(channel, media))


def media_detail(channel: Channel, media: StoredMedia, uses: list[MediaUse]) -> MediaDetail:
    """A file with the pages that show it."""
    pages = [MediaUseView(str(use.page), str(use.url), use.title, use.position, use.alt) for use in uses]
    return MediaDetail(**_values(channel, media), extracted_text=media.text, pages=pages)


def media_list(media: list[MediaOnPage], total: int, limit: int, offset: int) -> MediaList:
    """A page of media."""
    return MediaList(media, camel_case_pagination(total, limit, offset, len(media)))


def _values(channel: Channel, media: StoredMedia) -> dict[str, Any]:
    path = f"/tenant/v1/channels/{channel.id}/webcrawl/media/{media.id}"
    is_stored = bool(media.key or media.provider)
    return {
        "id": str(media.id),
        "web_media_id": str(media.id),
        "tenant_id": str(channel.tenant),
        "channel_id": channel.id,
        "media_type": media.type,
        "source_url": media.source_url,
        "file_name": media.file_name,
        "mime_type": media.mime_type,
        "status": _ACTIVE if is_stored else _NOT_STORED,
        "error_message": None if is_stored else "the file contains a secret, so it was not stored",
        "content_hash": media.content_hash,
        "storage_key": place_of(channel.tenant, media.key) if media.key else None,
        "storage_url": f"{path}/file" if media.key else None,
        "thumbnail_url": _thumbnail_url(path, media),
        "file_size_bytes": media.stored_bytes,
        "original_file_size_bytes": media.original_bytes,
        "compression_ratio": _ratio(media),
        "width": media.width,
        "height": media.height,
        "alt_text": media.alt,
        "video_provider": (media.provider.upper() or _LOCAL) if media.type is MediaType.VIDEO else None,
        "video_id": media.video_id or None,
        "embed_code": _embed_code(media),
        "rag_indexed": bool(media.text),
        "usage_count": media.usage_count,
        "last_crawled_at": moment(media.last_crawled_at) or "",
        "created_at": moment(media.created_at) or "",
        "updated_at": moment(media.last_crawled_at) or "",
    }


def _ratio(media: StoredMedia) -> float:
    """The share of bytes that compression saves."""
    if not media.original_bytes or not media.key:
        return 0.0
    return round(1 - media.stored_bytes / media.original_bytes, 4)


def _thumbnail_url(path: str, media: StoredMedia) -> str | None:
    has_picture = media.picture_key and not media.picture_key.endswith(".svg")
    return f"{path}/thumbnail" if has_picture or media.provider in THUMBNAIL_PROVIDERS else None


def _embed_code(media: StoredMedia) -> str | None:
    """The player of a video, made from its id: markup of the site is never repeated."""
    template = _PLAYERS.get(media.provider)
    if template is None:
        return None
    video, _, unlisted = media.video_id.partition("/")
    source = template.format(id=video) + (f"?h={unlisted}" if unlisted else "")
    return _EMBED.format(src=source)
