"""Site routes: search, list sites, review held deletions, start pipelines."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sitelore.app.changes import END_OF_TIME, last_run_of, site_changes
from sitelore.crawl.runs import start_pipeline
from sitelore.export.pages import answer_json, change_json
from sitelore.intake.seeds import refuse_credentials
from sitelore.model.errors import NoSuchRun, UsageError
from sitelore.model.frontier import Run
from sitelore.model.platform.accounts import Caller
from sitelore.model.search import SearchMode, SearchQuery, SiteIndexStats
from sitelore.model.settings import Pipeline
from sitelore.serve import problems
from sitelore.serve.openapi import answers
from sitelore.serve.problems import ApiProblem, FieldProblem
from sitelore.serve.responses import json_response
from sitelore.serve.routes.dependencies import Limit, Offset, Service, SiteName, time_of, unknown_site
from sitelore.serve.run_service import RUN_CREATED, RunService
from sitelore.serve.schemas import HeldPages, RunView, SearchResults, SiteChanges, SiteList, SiteView, run_view
from sitelore.serve.security.auth import CRAWLS, MANAGES_CHANNELS, READS, SEARCHES

router = APIRouter(tags=["knowledge"])

_MAX_URLS = 100  # more would not fit into the body limit


class ChangedUrls(BaseModel):
    """URLs that have changed. Empty: detect changes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    urls: Annotated[
        list[str],
        Field(max_length=_MAX_URLS, description="URLs of the site that have changed."),
    ] = Field(default_factory=list)


class Decision(BaseModel):
    """Decision about held deletions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    agree: Annotated[bool, Field(description="True: delete them. False: keep their last content.")]


@router.get("/search", dependencies=[SEARCHES], summary="Search", responses=answers(SearchResults))
async def search(
    service: Service,
    q: Annotated[str, Query(min_length=1, max_length=2000, description="What to look for, in words or as a question.")],
    site: Annotated[list[str] | None, Query(max_length=100, description="Only these sites.")] = None,
    path: Annotated[str, Query(max_length=2000, description="Only pages at or below this path.")] = "",
    lang: Annotated[list[str] | None, Query(max_length=50, description="Only pages in these languages.")] = None,
    kind: Annotated[list[str] | None, Query(alias="type", max_length=20, description="Only page, pdf, docx …")] = None,
    since: Annotated[
        str | None, Query(max_length=40, description="Only pages dated on or after this day (2025-01-31).")
    ] = None,
    until: Annotated[str | None, Query(max_length=40, description="Only pages dated before this day.")] = None,
    limit: Annotated[int, Query(ge=1, le=100, description="Maximum number of results.")] = 10,
    mode: Annotated[
        SearchMode, Query(description="Keywords and embeddings, keywords only, or embeddings only.")
    ] = SearchMode.HYBRID,
    flagged: Annotated[bool, Query(description="Whether chunks flagged as possible prompt injection are included.")] = True,
    max_tokens: Annotated[
        int | None,
        Query(ge=1, le=1_000_000, description="Tokens of all texts together; the first result is shortened if it has more."),
    ] = None,
    neighbours: Annotated[
        int, Query(ge=0, le=3, description="Chunks before and after each result that are given with it.")
    ] = 0,
    explain: Annotated[bool, Query(description="Whether each result says how its score came about.")] = False,
) -> Response:
    """The best matching chunks, with snippets and citations that link to the passage."""
    query = SearchQuery(
        q,
        sites=tuple(site or ()),
        path=path,
        langs=tuple(lang or ()),
        kinds=tuple(kind or ()),
        since=time_of(since, "query.since"),
        until=time_of(until, "query.until"),
        limit=limit,
        mode=mode,
        flagged=flagged,
        max_tokens=max_tokens,
        neighbours=neighbours,
        explain=explain,
    )
    answer = await service.context.search_service.search(query)
    return json_response(answer_json(query, answer))


@router.get("/sites", dependencies=[READS], summary="The sites", responses=answers(SiteList))
async def list_sites(service: Service) -> Response:
    """Every site with how much of it is indexed."""
    sites = await service.context.search_service.sites()
    return json_response(SiteList([_site(stats) for stats in sites]))


@router.get(
    "/sites/{site}/changes",
    dependencies=[READS],
    summary="What changed on a site",
    responses=answers(SiteChanges, problems.SITE_NOT_FOUND),
)
async def show_changes(
    site: SiteName,
    service: Service,
    since: Annotated[str | None, Query(max_length=40, description="After this day or time; default: the last run.")] = None,
    until: Annotated[str | None, Query(max_length=40, description="Up to this day or time.")] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """New, changed, gone and moved pages, by URL; changed ones with the lines of text that differ."""
    stats, context = await _site_stats(site, service), service.context
    await context.search_service.check_presence(stats.site)
    start, end = time_of(since, "query.since"), time_of(until, "query.until")
    if start is None:
        try:
            _, start = await last_run_of(context.ledger, site)
        except NoSuchRun:
            start = 0.0
    listed = await site_changes(context.ledger, context.blobs, stats.site, start, END_OF_TIME if end is None else end)
    part = listed[offset : offset + limit]
    body = {"site": site, "total": len(listed), "changes": [change_json(change) for change in part]}
    return json_response(body)


@router.get(
    "/sites/{site}/deletions",
    dependencies=[READS],
    summary="Pages held back from deletion",
    responses=answers(HeldPages, problems.SITE_NOT_FOUND),
)
async def show_deletions(site: SiteName, service: Service) -> Response:
    """Number of pages whose deletion is held back because too many disappeared at once."""
    stats = await _site_stats(site, service)
    return json_response(HeldPages(stats.name, stats.held))


@router.post(
    "/sites/{site}/deletions",
    summary="Decide about held pages",
    responses=answers(HeldPages, problems.SITE_NOT_FOUND),
)
async def decide_deletions(
    site: SiteName, body: Decision, caller: Annotated[Caller, MANAGES_CHANNELS], service: Service
) -> Response:
    """Delete the held pages from the index, or keep their last content. Returns how many they were."""
    stats = await _site_stats(site, service)
    context = service.context
    action = "deletions.agreed" if body.agree else "deletions.refused"
    entry = service.entry_for(caller, action, f"site:{stats.name}", lambda _: True)
    index = context.search_service.search_index.recording(entry)
    held = await index.release_held(stats.site, context.clock(), agreed=body.agree)
    return json_response(HeldPages(stats.name, held))


@router.post(
    "/sites/{site}/pipelines/{pipeline}",
    status_code=201,
    summary="Start a pipeline",
    responses=answers(RunView, problems.SITE_NOT_FOUND, status=201),
)
async def start(
    site: SiteName, pipeline: Pipeline, body: ChangedUrls, caller: Annotated[Caller, CRAWLS], service: Service
) -> Response:
    """Re-crawl a site: fully (`index-site`) or incrementally (`update-delta`)."""
    return _created(await _start(site, pipeline, body.urls, service, caller))


@router.post(
    "/hooks/{site}",
    status_code=201,
    summary="Something was published",
    responses=answers(RunView, problems.SITE_NOT_FOUND, status=201),
)
async def hook(site: SiteName, body: ChangedUrls, caller: Annotated[Caller, CRAWLS], service: Service) -> Response:
    """Webhook for a CMS: starts the pipeline `update-delta`."""
    return _created(await _start(site, Pipeline.UPDATE_DELTA, body.urls, service, caller))


async def _start(site: str, pipeline: Pipeline, changed: list[str], service: RunService, caller: Caller) -> Run:
    context = service.context
    try:
        for url in changed:
            refuse_credentials(url)
        ledger = context.ledger.recording(service.entry_for(caller, RUN_CREATED, lambda run: f"run:{run.id}"))
        run = await start_pipeline(ledger, site, pipeline, changed, context.clock(), context.redaction)
    except NoSuchRun:
        raise unknown_site(site) from None
    except UsageError as problem:
        raise ApiProblem(problems.INVALID, errors=(FieldProblem("body.urls", str(problem)),)) from None
    await context.announce(run.id)
    return run


def _created(run: Run) -> Response:
    return json_response(run_view(run), 201, {"Location": f"/crawl-runs/{run.id}"})


async def _site_stats(site: str, service: RunService) -> SiteIndexStats:
    matching = await service.context.search_service.sites((site,))
    if not matching:
        raise unknown_site(site)
    return matching[0]


def _site(stats: SiteIndexStats) -> SiteView:
    return SiteView(stats.name, stats.pages, stats.waiting, stats.chunks, stats.embedded, stats.held)
