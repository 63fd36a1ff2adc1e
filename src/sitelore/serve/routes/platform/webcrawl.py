"""Crawl routes of a channel: status, start, pages, statistics, and notices of changes."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Header, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from sitelore.app.explain import explain
from sitelore.intake.seeds import refuse_credentials
from sitelore.model.errors import UsageError
from sitelore.model.frontier import IdempotencyKey, Run
from sitelore.model.ids import RunId
from sitelore.model.platform.accounts import TokenScope
from sitelore.model.platform.channels import ChannelPage, PageListing, PageOrder, PageStatus, StartedCrawl, Trigger
from sitelore.model.platform.media import MediaListing
from sitelore.model.states import RunState
from sitelore.platform.channels.channels import ChannelService
from sitelore.platform.webhooks.delivery import is_signed
from sitelore.ports import Blobs
from sitelore.serve import problems
from sitelore.serve.openapi import Responses, answers, empty_answer, problem_answers
from sitelore.serve.platform.channel_requests import ChannelChangedUrls
from sitelore.serve.platform.channel_schemas import (
    ChannelStatisticsView,
    CrawlJobList,
    CrawlJobView,
    CrawlStatusView,
    WebPageDetail,
    WebPageList,
    job_view,
    page_detail,
    page_facets_view,
    page_view,
    statistics_view,
    status_view,
)
from sitelore.serve.platform.channels import ChannelId, ChannelRequest, channel_of, channel_request, no_channel
from sitelore.serve.platform.media_schemas import media_on_page
from sitelore.serve.problems import ApiProblem, FieldProblem
from sitelore.serve.responses import REPLAYED, camel_case_pagination, charset_of, json_response
from sitelore.serve.routes.dependencies import Key, Offset, PageUrl, parsed_url
from sitelore.serve.routes.platform.channels import Limit, Manageable, Readable
from sitelore.serve.run_requests import PRINTABLE
from sitelore.serve.run_service import RUN_CREATED, run_service_of
from sitelore.serve.schemas import ExplanationView, explanation_view

router = APIRouter(prefix="/tenant/v1/channels/{channel_id}/webcrawl", tags=["webcrawl"])

_MAX_ID = 2**63 - 1
_MAX_MEDIA = 200
_JPEG, _PNG, _PNG_START = "image/jpeg", "image/png", b"\x89PNG"

Startable = Annotated[ChannelRequest, Depends(channel_of(TokenScope.CRAWL))]
PageId = Annotated[str, Path(description="The id of a page.")]


@router.get("/status", summary="The last crawl", responses=answers(CrawlStatusView, problems.CHANNEL_NOT_FOUND))
async def show_status(target: Readable) -> Response:
    """The active crawl with its progress, or the last one."""
    channels = target.service.channels
    [*last], _ = await channels.jobs(target.channel.id, 1)
    schedule = await target.service.expected_schedule(target.channel)
    return json_response(status_view(target.channel, next(iter(last), None), schedule))


@router.get("/jobs", summary="The crawls", responses=answers(CrawlJobList, problems.CHANNEL_NOT_FOUND))
async def list_jobs(target: Readable, limit: Limit = 50, offset: Offset = 0) -> Response:
    """The crawls of a channel, newest first."""
    jobs, total = await target.service.channels.jobs(target.channel.id, limit, offset)
    views = [job_view(job) for job in jobs]
    return json_response(CrawlJobList(views, camel_case_pagination(total, limit, offset, len(views))))


@router.post(
    "/start",
    status_code=201,
    summary="Start a crawl",
    responses=answers(CrawlJobView, problems.CHANNEL_NOT_FOUND, problems.CRAWL_ACTIVE, problems.KEY_REUSED, status=201),
)
async def start_crawl(target: Startable, key: Key = None) -> Response:
    """Crawl the website now. A channel has one active crawl at a time."""
    caller = target.caller
    once = None if key is None else _key(f"start\n{target.channel.id}\n{caller.token_id}\n{key}", b"")
    try:
        started = await _recording(target).start(target.channel, Trigger.MANUAL, caller.actor, once)
    except UsageError as problem:
        raise ApiProblem(problems.INVALID, str(problem)) from None
    return await _started(target, started, once)


async def changed_channel(
    channel_id: ChannelId,
    request: Request,
    message: Annotated[str | None, Header(alias="webhook-id", description="The id of a signed notice.")] = None,
    timestamp: Annotated[
        str | None, Header(alias="webhook-timestamp", description="When it was sent, in Unix seconds; at most 5 minutes ago.")
    ] = None,
    signatures: Annotated[
        str | None, Header(alias="webhook-signature", description="Signatures by Standard Webhooks, separated by spaces.")
    ] = None,
) -> ChannelRequest:
    """The channel of a change notice: signed with the secret of the channel, or sent with a token that may crawl.

    An unknown channel, one without a secret and a wrong signature get the same answer.
    """
    if signatures is None:
        return await channel_of(TokenScope.CRAWL)(request, channel_id)
    target = await channel_request(request, channel_id)
    secret = None if target is None else await target.service.secret(target.channel)
    body, now = await request.body(), (await run_service_of(request)).context.clock()
    is_valid = secret is not None and is_signed(secret, message or "", timestamp or "", signatures, body, now)
    if target is None or not is_valid:
        raise ApiProblem(problems.BAD_SIGNATURE, "sign id, time and body with the secret of the channel")
    return target


@router.post(
    "/changed",
    status_code=201,
    summary="Report changes",
    responses=answers(
        CrawlJobView, problems.CHANNEL_NOT_FOUND, problems.BAD_SIGNATURE, problems.CRAWL_ACTIVE, problems.KEY_REUSED, status=201
    ),
)
async def report_changes(
    body: ChannelChangedUrls, request: Request, target: Annotated[ChannelRequest, Depends(changed_channel)], key: Key = None
) -> Response:
    """Fetch these URLs again, or what has changed on the website. A notice with the same `webhook-id` counts once a day."""
    caller, raw = target.caller, await request.body()
    message = request.headers.get("webhook-id") if "webhook-signature" in request.headers else None
    once = None
    if message is not None:
        once = _key(f"webhook\n{target.channel.id}\n{message}", raw)
    elif key is not None:
        once = _key(f"changed\n{target.channel.id}\n{caller.token_id}\n{key}", raw)
    try:
        for url in body.urls:
            refuse_credentials(url)
        started = await _recording(target).start_changed(target.channel, body.urls, caller.actor, once)
    except UsageError as problem:
        raise ApiProblem(problems.INVALID, errors=(FieldProblem("body.urls", str(problem)),)) from None
    return await _started(target, started, once)


@router.get("/pages", summary="The pages", responses=answers(WebPageList, problems.CHANNEL_NOT_FOUND))
async def list_pages(
    target: Readable,
    depth: Annotated[int | None, Query(ge=0, le=1000, description="Only pages of this depth.")] = None,
    status: Annotated[PageStatus | None, Query(description="Only pages in this state.")] = None,
    q: Annotated[
        str, Query(max_length=200, pattern=PRINTABLE, description="Only pages whose URL or title contains this text.")
    ] = "",
    sort: Annotated[PageOrder, Query(description="By what to sort; pages without a value come last.")] = PageOrder.DEPTH,
    order: Annotated[Literal["asc", "desc"], Query(description="Ascending or descending.")] = "asc",
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """The pages of a channel, and how many of them there are by state and depth."""
    listing = PageListing(depth, status, limit, offset, q, sort, order == "desc")
    own, site = target.service.channels, target.channel.site
    (pages, total), facets = await asyncio.gather(own.pages(site, listing), own.page_facets(site, listing))
    documents = await asyncio.gather(*(_document(page, target.blobs) for page in pages))
    views = [page_view(target.channel, page, document) for page, document in zip(pages, documents, strict=True)]
    answer = WebPageList(views, page_facets_view(facets), camel_case_pagination(total, limit, offset, len(views)))
    return json_response(answer)


@router.get(
    "/explain",
    summary="Whether a URL would be crawled",
    responses=answers(ExplanationView, problems.CHANNEL_NOT_FOUND),
)
async def explain_url(url: PageUrl, target: Readable) -> Response:
    """Every check that a crawl with the current settings applies to a URL, with what the last crawl knows of it."""
    channel, service = target.channel, target.service
    crawl = service.new_crawl(channel, await service.tenant_settings(), Trigger.MANUAL, target.caller.actor)
    [*last], _ = await service.channels.jobs(channel.id, 1)
    unstarted = Run(RunId(""), channel.tenant, channel.site, channel.site_name, RunState.QUEUED, crawl.settings, 0.0)
    run = replace(last[0].run, settings=crawl.settings) if last else unstarted
    return json_response(explanation_view(await explain(parsed_url(url), run, target.ledger)))


@router.get(
    "/pages/{web_page_id}",
    summary="A page",
    responses=answers(WebPageDetail, problems.CHANNEL_NOT_FOUND, problems.PAGE_NOT_FOUND),
)
async def show_page(
    web_page_id: PageId,
    target: Readable,
    html: Annotated[bool, Query(description="With the page's HTML as it was stored.")] = False,
) -> Response:
    """A page with its text, Markdown, screenshot and media."""
    page = await _page(web_page_id, target)
    shown, _ = await target.media.library.list_media(MediaListing(page=page.id, limit=_MAX_MEDIA))
    media = [media_on_page(target.channel, each) for each in shown]
    source = await _html(page, target.blobs) if html else None
    return json_response(page_detail(target.channel, page, await _document(page, target.blobs), source, media))


_IMAGE: Responses = {
    200: {
        "description": "The screenshot.",
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in (_JPEG, _PNG)},
    },
    **problem_answers(problems.CHANNEL_NOT_FOUND, problems.PAGE_NOT_FOUND),
}


@router.get("/pages/{web_page_id}/screenshot", summary="The screenshot of a page", responses=_IMAGE)
async def show_screenshot(web_page_id: PageId, target: Readable) -> Response:
    """The page as the browser showed it at the last crawl. Only pages that a browser has rendered have one."""
    page = await _page(web_page_id, target)
    try:
        image = await target.blobs.get(page.screenshot) if page.screenshot else b""
    except KeyError:
        image = b""
    if not image:
        raise ApiProblem(problems.PAGE_NOT_FOUND, "the page has no screenshot")
    return Response(image, media_type=_PNG if image.startswith(_PNG_START) else _JPEG)


@router.delete(
    "/pages/{web_page_id}",
    status_code=204,
    summary="Delete a page",
    responses=empty_answer("The page is deleted.", problems.CHANNEL_NOT_FOUND, problems.PAGE_NOT_FOUND),
)
async def delete_page(web_page_id: PageId, target: Manageable) -> Response:
    """Delete a page with its versions and its part of the search index. It stays deleted until a later crawl finds it again."""
    page = await _page(web_page_id, target)
    channels = target.recording(target.entry_for("page.deleted", f"page:{page.id}")).channels
    if not await channels.delete_page(target.channel.site, page.id):
        raise _no_page()
    await target.media.delete_screenshot(page.screenshot)
    return Response(status_code=204)


@router.get("/statistics", summary="Figures of a channel", responses=answers(ChannelStatisticsView, problems.CHANNEL_NOT_FOUND))
async def show_statistics(target: Readable) -> Response:
    """Pages by state, media by type, stored bytes and what compression has saved."""
    figures = await target.service.channels.statistics(target.channel)
    schedule = await target.service.expected_schedule(target.channel)
    return json_response(statistics_view(target.channel, figures, schedule))


def _recording(target: ChannelRequest) -> ChannelService:
    """The channels of the tenant, with the crawl that is started in the audit log."""
    return target.recording(target.entry_for(RUN_CREATED, lambda started: f"run:{started.run}", _is_new))


def _is_new(started: StartedCrawl | None) -> bool:
    return started is not None and started.is_new


def _key(name: str, body: bytes) -> IdempotencyKey:
    return IdempotencyKey(hashlib.sha256(name.encode()).hexdigest(), hashlib.sha256(body).hexdigest())


async def _started(target: ChannelRequest, started: StartedCrawl | None, once: IdempotencyKey | None) -> Response:
    if started is None:
        raise no_channel()
    if started.is_refused:
        raise ApiProblem(problems.CRAWL_ACTIVE, f"the crawl {started.run} has not ended", headers={"Retry-After": "30"})
    if once is not None and started.fingerprint != once.fingerprint:
        raise ApiProblem(problems.KEY_REUSED, "send another key, or the same request as before")
    job = await target.service.channels.job(RunId(started.run))
    if job is None:  # deleted meanwhile
        raise no_channel()
    headers = {"Location": f"/tenant/v1/channels/{target.channel.id}/webcrawl/status"}
    return json_response(job_view(job), 201, headers | ({} if started.is_new else {REPLAYED: "true"}))


async def _page(page_id: str, target: ChannelRequest) -> ChannelPage:
    is_id = page_id.isascii() and page_id.isdecimal() and len(page_id) < 20 and int(page_id) <= _MAX_ID
    page = await target.service.channels.page(target.channel.site, int(page_id)) if is_id else None
    if page is None:
        raise _no_page()
    return page


def _no_page() -> ApiProblem:
    return ApiProblem(problems.PAGE_NOT_FOUND, "the channel has no such page")


async def _html(page: ChannelPage, blobs: Blobs) -> str | None:
    """The stored HTML of a page; None when it is not stored."""
    if page.snapshot is None:
        return None
    try:
        return (await blobs.get(page.snapshot)).decode(charset_of(page.content_type), "replace")
    except (KeyError, LookupError):
        return None


async def _document(page: ChannelPage, blobs: Blobs) -> dict[str, Any]:
    """The stored document of a page; empty when it was never read, or the blob is missing."""
    if page.document is None:
        return {}
    try:
        document = msgspec.json.decode(await blobs.get(page.document))
    except KeyError:
        return {}
    return document if isinstance(document, dict) else {}
