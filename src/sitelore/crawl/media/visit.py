"""One visit of a media URL: check freshness → robots.txt → fetch → find the format → compress or extract → store the file.

The file is stored before the settlement is written, under a key made of its content, so a visit can safely be repeated after a
crash. A file that the tenant has already is not stored again. Documents are extracted like pages, so that search finds them; a
document or drawing that contains a secret is not stored, because it cannot be redacted.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass, replace

from sitelore.crawl.context import MediaContext, VisitContext
from sitelore.crawl.page_fetch import PageFetch
from sitelore.crawl.settle import compare_with_known, fetch_cost, page_update, settle_redirect, unreadable
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.frontier.classify import Redirected, classify, refused_by_robots
from sitelore.frontier.freshness import request_for, unchanged
from sitelore.media.formats import DOCUMENT_EXTENSIONS, SVG, VIDEO_EXTENSIONS, FileFormat, extension_of, format_of
from sitelore.model.document import Reading
from sitelore.model.errors import ReaderCrashed
from sitelore.model.frontier import Effects, Lease, Settlement, Verdict
from sitelore.model.ids import NO_TEXT, CleanText, piece_of
from sitelore.model.platform.media import MAX_TEXT_CHARS, MediaFile, MediaUpdate
from sitelore.model.response import Failure, Fetched, FetchFailure, Request, Response
from sitelore.model.settings import MediaType
from sitelore.model.states import SkipReason, UrlState

_ACCEPT = "image/webp,image/png,image/jpeg,image/*;q=0.8,video/*;q=0.8,application/pdf,*/*;q=0.5"
_NOT_STORED = "the file contains a secret, so it was not stored"


@dataclass(frozen=True, slots=True)
class _Stored:
    """A file that was stored, or why it was not."""

    file: MediaFile | None = None
    problem: str = ""
    is_too_large: bool = False


async def visit_media(lease: Lease, context: VisitContext) -> Settlement:
    """Process one leased media URL."""
    media = context.media
    if media is None:
        return Settlement(lease, Verdict(UrlState.SKIPPED, skip_reason=SkipReason.CONTENT_TYPE, detail="this run has no media"))
    fresh = unchanged(lease, context.settings, context.clock())
    if fresh is not None:
        verdict = Verdict(UrlState.SKIPPED, skip_reason=fresh.reason, detail=fresh.detail)
        return Settlement(lease, verdict, Effects(media=MediaUpdate(), chain=lease.chain))
    robots = await context.robots.judge(lease.url)
    if not robots.allowed:
        return Settlement(lease, refused_by_robots(robots, lease.url.authority))
    is_video = extension_of(lease.url) in VIDEO_EXTENSIONS
    async with media.videos if is_video else contextlib.nullcontext():
        fetched = await _fetch(lease, context, is_video=is_video)
        return await _settle(lease, fetched, context, media, is_video=is_video)


async def _fetch(lease: Lease, context: VisitContext, *, is_video: bool) -> Fetched:
    """Fetch a media file; a video only if its HEAD response does not say that it is too large."""
    policy = context.settings.media
    limits = policy.video_bytes, policy.video_bytes if is_video else policy.file_bytes
    request = replace(request_for(lease, context.settings), any_content_type=True, accept=_ACCEPT, size_limits=limits)
    if is_video:
        head = await context.fetcher.fetch(Request(lease.url, any_content_type=True, method="HEAD", size_limits=limits))
        if isinstance(head, FetchFailure) and head.failure is Failure.TOO_LARGE:
            return head
    return await context.fetcher.fetch(request)


async def _settle(lease: Lease, fetched: Fetched, context: VisitContext, media: MediaContext, *, is_video: bool) -> Settlement:
    cost = replace(fetch_cost(fetched), chain=lease.chain)
    outcome = classify(lease, fetched, context.settings, context.rules, context.clock())
    if isinstance(outcome, Redirected):
        return settle_redirect(lease, PageFetch(fetched), outcome, context)
    if isinstance(fetched, FetchFailure):
        is_too_large = fetched.failure is Failure.TOO_LARGE
        is_video = is_video or fetched.content_type.startswith("video/")
        assert outcome is not None  # every failure is classified
        return Settlement(lease, outcome, replace(cost, is_oversized_video=is_too_large and is_video))
    if outcome is not None:
        if outcome.state is UrlState.NOT_MODIFIED:
            cost = replace(cost, media=MediaUpdate())
        return Settlement(lease, outcome, cost)
    return await _settle_body(lease, fetched, cost, context, media)


async def _settle_body(
    lease: Lease, response: Response, cost: Effects, context: VisitContext, media: MediaContext
) -> Settlement:
    file_format = format_of(response.body, response.content_type, extension_of(lease.url))
    if file_format is None or file_format.type not in context.settings.media.types:
        detail = (
            response.content_type
            if file_format is None
            else f"{file_format.mime_type}: this run downloads no {file_format.type.lower()}s"
        )
        verdict = Verdict(UrlState.SKIPPED, response.status, SkipReason.CONTENT_TYPE, detail or "no media file")
        return Settlement(lease, verdict, cost)
    if file_format.type is MediaType.DOCUMENT:
        return await _settle_document(lease, response, file_format, cost, context, media)
    content_hash = hashlib.sha256(response.body).hexdigest()
    known = await media.library.find_content(content_hash)
    stored = _Stored(known) if known is not None else await _store(response.body, content_hash, file_format, context, media)
    if stored.file is None:
        if stored.is_too_large:
            verdict = Verdict(UrlState.SKIPPED, response.status, SkipReason.TOO_LARGE, stored.problem)
        else:
            verdict = Verdict(UrlState.FAILED, response.status, error=f"parse_error: {stored.problem}")
        return Settlement(lease, verdict, cost)
    update = _update(response, stored.file, is_known=known is not None)
    return Settlement(lease, Verdict(UrlState.VISITED, response.status), replace(cost, media=update))


def _update(response: Response, file: MediaFile, *, is_known: bool) -> MediaUpdate:
    return MediaUpdate(file, response.header("etag"), response.header("last-modified"), is_known)


async def _store(
    body: bytes, content_hash: str, file_format: FileFormat, context: VisitContext, media: MediaContext
) -> _Stored:
    """Store an image, compressed, or a video as it is."""
    file = MediaFile(file_format.type, content_hash, file_format.mime_type, file_format.extension, len(body), len(body))
    if file_format.type is MediaType.VIDEO:
        await _put(media, file.key, body)
        return _Stored(file)
    if file_format is SVG and redactor_of(context.read_options.redaction).has_secrets(body.decode("utf-8", "replace")):
        return _Stored(problem=_NOT_STORED)
    image = await media.images.compress(body, file_format.extension)
    if image.problem:
        return _Stored(problem=image.problem, is_too_large=image.is_too_large)
    data = image.data or body
    file = replace(file, stored_bytes=len(data), width=image.width, height=image.height)
    await _put(media, file.key, data)
    return _Stored(file)


async def _put(media: MediaContext, key: str, data: bytes) -> None:
    media.hold(key)
    await media.files.put(key, data)


async def _settle_document(
    lease: Lease, response: Response, file_format: FileFormat, cost: Effects, context: VisitContext, media: MediaContext
) -> Settlement:
    """Settle a document: its text as a page of the search index, and its file if no secret is in it."""
    try:
        reading = await context.reader.read(response, replace(context.read_options, keep_snapshot=True, documents=True))
    except ReaderCrashed as crash:
        return Settlement(lease, Verdict(UrlState.FAILED, response.status, error=f"parse_error: {crash}"), cost)
    if reading.problem or reading.document is None:
        return Settlement(lease, unreadable(reading, response), cost)
    content_hash = hashlib.sha256(response.body).hexdigest()
    known = await media.library.find_content(content_hash)
    file = known or await _store_document(response, reading, content_hash, file_format, media)
    comparison = await compare_with_known(context.blobs, lease.known, reading)
    effects = replace(
        cost,
        page=page_update(response, reading, reading.document.key, comparison),
        blobs=(reading.document,),
        redactions=reading.redactions,
        changed=None if lease.known is None else comparison.changed,
        media=_update(response, file, is_known=known is not None),
    )
    detail = "" if file.stored_bytes else _NOT_STORED
    return Settlement(lease, Verdict(UrlState.VISITED, response.status, detail=detail), effects)


async def _store_document(
    response: Response, reading: Reading, content_hash: str, file_format: FileFormat, media: MediaContext
) -> MediaFile:
    from sitelore.extract.page_objects.shown_media import text_of_blob  # noqa: PLC0415 loaded for documents only

    text: CleanText = text_of_blob(reading.document) if reading.document is not None else NO_TEXT
    # A reading has no snapshot of a file with a secret in it.
    is_clean = reading.snapshot is not None
    size = len(response.body)
    extension = file_format.extension if file_format.extension in DOCUMENT_EXTENSIONS else "bin"
    file = MediaFile(
        file_format.type, content_hash, file_format.mime_type, extension, size, size if is_clean else 0,
        text=piece_of(text, 0, MAX_TEXT_CHARS),
    )  # fmt: skip
    if is_clean:
        await _put(media, file.key, response.body)
    return file
