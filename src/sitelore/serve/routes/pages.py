"""Page routes: a URL of a run with what was extracted from it, its source, screenshot and links, and why it was crawled."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from sitelore.app.changes import diff_words, version_lines
from sitelore.app.explain import explain
from sitelore.export.pages import document_of, page_of
from sitelore.export.rows import is_page
from sitelore.model.frontier import Run, UrlRow
from sitelore.model.ids import BlobKey
from sitelore.model.platform.accounts import Caller
from sitelore.serve import problems
from sitelore.serve.openapi import Responses, answers, problem_answers
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import charset_of, json_response
from sitelore.serve.routes.dependencies import PageUrl, Service, parsed_url
from sitelore.serve.routes.page_schemas import (
    AliasList,
    ChunkList,
    NeighboursView,
    VersionDiff,
    VersionList,
    alias_view,
    chunk_view,
    diff_views,
    neighbours_view,
    version_views,
)
from sitelore.serve.run_requests import ScrapeRequest, scrape_settings
from sitelore.serve.run_service import RunService
from sitelore.serve.schemas import ExplanationView, PageContent, PageLinks, PageView, content_view, explanation_view, link_view
from sitelore.serve.security.auth import CRAWLS, READS

router = APIRouter(tags=["pages"])

_MAX_ALIASES = 1_000
_SANDBOX = {"Content-Security-Policy": "sandbox; default-src 'none'", "Content-Disposition": "inline"}
"""Crawled content is data: it must not run even if a browser is made to open it."""


@router.get(
    "/pages",
    dependencies=[READS],
    summary="The newest version of a page",
    responses=answers(PageContent, problems.PAGE_NOT_FOUND),
)
async def show_newest_page(url: PageUrl, service: Service) -> Response:
    """The newest stored version of a page, over all sites and runs of the tenant."""
    page = await service.context.search_service.page(parsed_url(url))
    if page is None:
        raise ApiProblem(problems.PAGE_NOT_FOUND, "no page of this URL is stored")
    return json_response(content_view(page, is_cached=True))


@router.post(
    "/scrape",
    summary="One page as Markdown",
    responses=answers(PageContent, problems.ADDRESS_REFUSED, problems.FETCH_FAILED),
)
async def scrape_page(body: ScrapeRequest, caller: Annotated[Caller, CRAWLS], service: Service) -> Response:
    """Fetch and extract one page over HTTP, without a run. A copy that is not older than `ttl` is not fetched again."""
    settings = scrape_settings(body, service.settings.allow_private)
    document, is_cached = await service.scrape(settings, body.ttl, caller)
    return json_response(content_view(document, is_cached=is_cached))


@router.get(
    "/crawl-runs/{run_id}/page",
    dependencies=[READS],
    summary="A page",
    responses=answers(PageView, problems.RUN_NOT_FOUND, problems.PAGE_NOT_FOUND),
)
async def show_page(run_id: str, url: PageUrl, service: Service) -> Response:
    """A page of a run with everything that was extracted from it. Its Markdown leaves out what repeats over the site."""
    run = await service.run(run_id)
    row = await _page(service, run, url)
    document = await document_of(row, service.context.blobs)
    page = page_of(row, document, [], await service.repeats(run.id))
    del page["aliases"]  # to find them, every row of the run would have to be read
    return json_response(page)


_SOURCE: Responses = {
    200: {"description": "The stored source, redacted.", "content": {"text/plain": {"schema": {"type": "string"}}}},
    **problem_answers(problems.RUN_NOT_FOUND, problems.PAGE_NOT_FOUND),
}


@router.get(
    "/crawl-runs/{run_id}/source",
    dependencies=[READS],
    summary="The source of a page",
    responses=_SOURCE,
)
async def show_source(run_id: str, url: PageUrl, service: Service) -> Response:
    """The HTML of a page as it was stored, as plain text."""
    row = await _page(service, await service.run(run_id), url)
    body = None if row.snapshot is None else await _blob(service, row.snapshot)
    if body is None:
        raise ApiProblem(problems.PAGE_NOT_FOUND, "the source of this page is not stored")
    return Response(body, headers={**_SANDBOX, "Content-Type": f"text/plain; charset={charset_of(row.content_type)}"})


_SCREENSHOT: Responses = {
    200: {"description": "A picture.", "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}},
    **problem_answers(problems.RUN_NOT_FOUND, problems.PAGE_NOT_FOUND),
}


@router.get(
    "/crawl-runs/{run_id}/screenshot",
    dependencies=[READS],
    summary="A screenshot",
    responses=_SCREENSHOT,
)
async def show_screenshot(run_id: str, url: PageUrl, service: Service) -> Response:
    """The screenshot of a page that a browser rendered."""
    row = await _page(service, await service.run(run_id), url)
    picture = None if row.screenshot is None else await _blob(service, row.screenshot)
    if picture is None:
        raise ApiProblem(problems.PAGE_NOT_FOUND, "there is no screenshot of this page")
    return Response(picture, headers=_SANDBOX, media_type="image/jpeg" if picture[:2] == b"\xff\xd8" else "image/png")


@router.get(
    "/crawl-runs/{run_id}/links",
    dependencies=[READS],
    summary="Links of a page",
    responses=answers(PageLinks, problems.RUN_NOT_FOUND),
)
async def show_links(run_id: str, url: PageUrl, service: Service) -> Response:
    """Links to a URL from the site's pages, and links of the page. They are those of the pages' current versions."""
    run = await service.run(run_id)
    ledger, target = service.context.ledger, parsed_url(url)
    inlinks = [link_view(link) for link in await ledger.inlinks(run.site, target)]
    outlinks = [link_view(link) for link in await ledger.outlinks(run.site, target)]
    return json_response(PageLinks(inlinks, outlinks))


@router.get(
    "/crawl-runs/{run_id}/explain",
    dependencies=[READS],
    summary="Why a URL was crawled or not",
    responses=answers(ExplanationView, problems.RUN_NOT_FOUND),
)
async def explain_url(run_id: str, url: PageUrl, service: Service) -> Response:
    """Every check that the run applies to a URL, with its rule and result, as `sitelore explain` shows them."""
    run = await service.run(run_id)
    return json_response(explanation_view(await explain(parsed_url(url), run, service.context.ledger)))


@router.get(
    "/crawl-runs/{run_id}/versions",
    dependencies=[READS],
    summary="Versions of a page",
    responses=answers(VersionList, problems.RUN_NOT_FOUND),
)
async def list_versions(run_id: str, url: PageUrl, service: Service) -> Response:
    """All stored versions of a page, from all runs, newest first."""
    run = await service.run(run_id)
    versions = await service.context.ledger.page_history(run.site, parsed_url(url))
    return json_response(VersionList(version_views(versions)))


@router.get(
    "/crawl-runs/{run_id}/diff",
    dependencies=[READS],
    summary="What changed in a version",
    responses=answers(VersionDiff, problems.RUN_NOT_FOUND, problems.PAGE_NOT_FOUND),
)
async def show_diff(
    run_id: str,
    url: PageUrl,
    service: Service,
    version: Annotated[int, Query(ge=0, le=1_000_000, description="The number of the version; 0: the newest.")] = 0,
) -> Response:
    """The difference between a version of a page and the one before it, in lines and words of its Markdown."""
    run, blobs = await service.run(run_id), service.context.blobs
    versions = await service.context.ledger.page_history(run.site, parsed_url(url))
    index = len(versions) - (version or len(versions))
    if not 0 <= index < len(versions):
        raise ApiProblem(problems.PAGE_NOT_FOUND, "the page has no such version")
    pair, views = versions[index : index + 2], version_views(versions)[index : index + 2]
    texts = [await version_lines(blobs, each) for each in pair]
    lines = await asyncio.to_thread(diff_words, texts[1] if len(texts) > 1 else [], texts[0])
    before = views[1] if len(views) > 1 else None
    return json_response(VersionDiff(before, views[0], diff_views(lines)))


@router.get(
    "/crawl-runs/{run_id}/chunks",
    dependencies=[READS],
    summary="Chunks of a page",
    responses=answers(ChunkList, problems.RUN_NOT_FOUND),
)
async def list_chunks(run_id: str, url: PageUrl, service: Service) -> Response:
    """The chunks of the current version of a page, as search uses them; none while it is not indexed."""
    run = await service.run(run_id)
    chunks = await service.context.search_service.search_index.page_chunks(run.site, parsed_url(url))
    return json_response(ChunkList(list(map(chunk_view, chunks))))


@router.get(
    "/crawl-runs/{run_id}/neighbours",
    dependencies=[READS],
    summary="The pages before and after a page",
    responses=answers(NeighboursView, problems.RUN_NOT_FOUND),
)
async def show_neighbours(run_id: str, url: PageUrl, service: Service) -> Response:
    """The pages of a run before and after a page, in the order in which they were admitted."""
    run = await service.run(run_id)
    neighbours = await service.context.ledger.page_neighbours(run.id, parsed_url(url))
    return json_response(neighbours_view(neighbours))


@router.get(
    "/crawl-runs/{run_id}/aliases",
    dependencies=[READS],
    summary="Other URLs of a page",
    responses=answers(AliasList, problems.RUN_NOT_FOUND),
)
async def list_aliases(run_id: str, url: PageUrl, service: Service) -> Response:
    """The URLs of a run that lead to a page, by URL; at most 1,000."""
    run = await service.run(run_id)
    aliases = await service.context.ledger.page_aliases(run.id, parsed_url(url), _MAX_ALIASES)
    return json_response(AliasList(list(map(alias_view, aliases))))


async def _page(service: RunService, run: Run, url: str) -> UrlRow:
    row = await service.context.ledger.row(run.id, parsed_url(url))
    if row is None or not is_page(row):
        raise ApiProblem(problems.PAGE_NOT_FOUND, "the run has no page of this URL")
    return row


async def _blob(service: RunService, key: BlobKey) -> bytes | None:
    try:
        return await service.context.blobs.get(key)
    except KeyError:
        return None
