"""Media routes of a channel: list, show, deliver and delete images, videos and documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response

from sitelore.model.platform.media import MediaListing, MediaOrder, StoredMedia
from sitelore.model.settings import MediaType
from sitelore.platform.media import Deletion
from sitelore.serve import problems
from sitelore.serve.openapi import Responses, answers, problem_answers
from sitelore.serve.platform.channels import ChannelRequest
from sitelore.serve.platform.media_schemas import MediaDetail, MediaList, media_detail, media_list, media_on_page
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import json_response, requested_range
from sitelore.serve.routes.dependencies import Offset
from sitelore.serve.routes.platform.channels import Limit, Manageable, Readable
from sitelore.serve.run_requests import PRINTABLE

router = APIRouter(prefix="/tenant/v1/channels/{channel_id}/webcrawl/media", tags=["media"])

_MAX_ID = 2**63 - 1
_MAX_USES = 1_000
_OCTETS, _WEBP = "application/octet-stream", "image/webp"
_SHOWN = frozenset({"image/jpeg", "image/png", "image/webp", "image/gif", "image/avif", "video/mp4", "video/webm", "video/ogg"})
"""Types that a browser may show in place. Everything else is offered for download, SVG too: opened as a page it could run."""
_SAFE = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-site",
    "Referrer-Policy": "no-referrer",
}
MediaId = Annotated[str, Path(description="The id of an image, video or document.")]


@router.get("", summary="The media", responses=answers(MediaList, problems.CHANNEL_NOT_FOUND))
async def list_media(
    target: Readable,
    kind: Annotated[MediaType | None, Query(alias="mediaType", description="Only media of this type.")] = None,
    q: Annotated[
        str, Query(max_length=200, pattern=PRINTABLE, description="Only media with this in file name, URL or description.")
    ] = "",
    sort: Annotated[MediaOrder, Query(description="By what to sort.")] = MediaOrder.ADDED,
    order: Annotated[Literal["asc", "desc"], Query(description="Ascending or descending.")] = "asc",
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """Images, videos and documents of the channel's pages, oldest first."""
    listing = MediaListing(
        target.channel.site, kind, limit=limit, offset=offset, text=q, order=sort, descending=order == "desc"
    )
    media, total = await target.media.library.list_media(listing)
    views = [media_on_page(target.channel, each) for each in media]
    return json_response(media_list(views, total, limit, offset))


@router.get(
    "/{web_media_id}",
    summary="A file",
    responses=answers(MediaDetail, problems.CHANNEL_NOT_FOUND, problems.MEDIA_NOT_FOUND),
)
async def show_media(web_media_id: MediaId, target: Readable) -> Response:
    """An image, video or document, and the pages of the channel that show it."""
    media = await _media(web_media_id, target)
    uses = await target.media.library.uses_of(media.id, target.channel.site, _MAX_USES)
    return json_response(media_detail(target.channel, media, uses))


_BINARY = {"schema": {"type": "string", "format": "binary"}}
_CONTENT = dict.fromkeys((_OCTETS, *sorted(_SHOWN), "application/pdf"), _BINARY)
_FILE: Responses = {
    200: {"description": "The file.", "content": _CONTENT},
    206: {"description": "The bytes that `Range` names.", "content": _CONTENT},
    **problem_answers(problems.CHANNEL_NOT_FOUND, problems.MEDIA_NOT_FOUND, problems.RANGE_NOT_SATISFIABLE),
}
_THUMBNAIL: Responses = {
    200: {"description": "The thumbnail.", "content": {_WEBP: _BINARY}},
    **problem_answers(problems.CHANNEL_NOT_FOUND, problems.MEDIA_NOT_FOUND),
}


@router.get("/{web_media_id}/file", summary="The content of a file", responses=_FILE)
async def deliver_file(
    web_media_id: MediaId,
    target: Readable,
    requested: Annotated[str | None, Header(alias="Range", description="One range of bytes, to seek in a video.")] = None,
    if_range: Annotated[
        str | None, Header(alias="If-Range", description="An ETag: the range is sent only if the file still has it.")
    ] = None,
) -> Response:
    """The file as it is stored, or a part of it. Browsers may show images and videos; they save everything else."""
    media = await _media(web_media_id, target)
    is_shown = media.mime_type in _SHOWN
    name, etag = quote(media.file_name, safe=""), f'"{media.content_hash}"'
    headers = {
        **_SAFE,
        "Content-Disposition": f"{'inline' if is_shown else 'attachment'}; filename*=UTF-8''{name}",
        "Accept-Ranges": "bytes",
        "ETag": etag,
    }
    part = requested_range(requested, media.stored_bytes) if media.key and if_range in {None, etag} else None
    if part is not None and not part.is_satisfiable:
        detail = f"the file has {media.stored_bytes} bytes"
        raise ApiProblem(problems.RANGE_NOT_SATISFIABLE, detail, headers={"Content-Range": part.content_range})
    data = await (target.media.file(media) if part is None else target.media.part(media, part.start, part.end))
    if data is None:
        raise ApiProblem(problems.MEDIA_NOT_FOUND, "no file is stored")
    if part is not None:
        headers["Content-Range"] = part.content_range
    kind = media.mime_type if is_shown or media.mime_type == "application/pdf" else _OCTETS
    return Response(data, 200 if part is None else 206, headers, kind)


@router.get("/{web_media_id}/thumbnail", summary="A thumbnail", responses=_THUMBNAIL)
async def deliver_thumbnail(web_media_id: MediaId, target: Readable) -> Response:
    """An image, at most 320 pixels wide, as WebP. It is made when it is first requested."""
    data = await target.media.thumbnail(await _media(web_media_id, target))
    if data is None:
        raise ApiProblem(problems.MEDIA_NOT_FOUND, "there is no thumbnail")
    return Response(data, headers={**_SAFE, "Content-Disposition": "inline"}, media_type=_WEBP)


@router.delete(
    "/{web_media_id}",
    status_code=204,
    summary="Delete a file",
    responses={
        **problem_answers(problems.CHANNEL_NOT_FOUND, problems.MEDIA_NOT_FOUND, problems.MEDIA_USED),
        204: {"description": "It is deleted."},
    },
)
async def delete_media(web_media_id: MediaId, target: Manageable) -> Response:
    """Delete an image, video or document that no page shows. A later crawl stores it again where a page shows it."""
    media = await _media(web_media_id, target)
    entry = target.entry_for("media.deleted", f"media:{media.id}")
    result = await replace(target.media, library=target.media.library.recording(entry)).delete(media.id, target.channel.site)
    if result is Deletion.USED:
        raise ApiProblem(problems.MEDIA_USED, f"{media.usage_count} pages show it; delete those first")
    if result is Deletion.MISSING:
        raise _no_media()
    return Response(status_code=204)


async def _media(media_id: str, target: ChannelRequest) -> StoredMedia:
    is_id = media_id.isascii() and media_id.isdecimal() and len(media_id) < 20 and int(media_id) <= _MAX_ID
    media = await target.media.library.find_media(int(media_id), target.channel.site) if is_id else None
    if media is None:
        raise _no_media()
    return media


def _no_media() -> ApiProblem:
    return ApiProblem(problems.MEDIA_NOT_FOUND, "the channel has no such file")
