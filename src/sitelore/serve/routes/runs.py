"""Run routes: create, list, inspect, export, follow, cancel and resume runs."""

from __future__ import annotations

import asyncio
import gzip
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sitelore.model.frontier import RunListing, RunOrder, UrlListing, UrlOrder
from sitelore.model.platform.accounts import Caller
from sitelore.model.states import RunState, SkipReason, UrlState
from sitelore.serve import problems
from sitelore.serve.openapi import Responses, answers, problem_answers, reference
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import JSON, REPLAYED, json_response
from sitelore.serve.routes.dependencies import Key, Offset, Service, parsed_url
from sitelore.serve.routes.run_schemas import EventList, HostList, LineageView, event_view, host_view
from sitelore.serve.run_requests import PRINTABLE, RunRequest, idempotency_key_of, run_settings
from sitelore.serve.schemas import Graph, RunList, RunSummary, RunView, UrlFacetsView, UrlList, run_view
from sitelore.serve.security.auth import CRAWLS, READS
from sitelore.serve.streaming import EVENT_STREAM, MEDIA_TYPES, StreamedFormat, event_id, exported, graph, is_over, run_events

router = APIRouter(tags=["runs"])

_MAX_INT = 10**9
_MAX_FOLLOWERS = 500


class Order(StrEnum):
    """Sort order of a list."""

    ASC = "asc"
    DESC = "desc"


Limit = Annotated[int, Query(ge=1, le=10_000, description="Entries in the answer at most.")]
States = Annotated[list[UrlState] | None, Query(max_length=20, description="Only URLs in these states.")]
SkipReasons = Annotated[list[SkipReason] | None, Query(max_length=20, description="Only URLs skipped for these reasons.")]
Cause = Annotated[str, Query(max_length=60, pattern=r"^[ -~]*$", description="Only URLs with this cause of error.")]
Text = Annotated[str, Query(max_length=200, pattern=PRINTABLE, description="Only URLs with this in the URL or the title.")]
Sort = Annotated[UrlOrder, Query(description="What to sort by; rows without a value come last.")]


@router.post(
    "/crawl-runs",
    status_code=201,
    summary="Create a run",
    responses=answers(RunView, problems.ADDRESS_REFUSED, problems.KEY_REUSED, status=201),
)
async def create_run(body: RunRequest, caller: Annotated[Caller, CRAWLS], service: Service, key: Key = None) -> Response:
    """Queue a crawl. Runs of one site run one after the other, several sites in parallel."""
    settings = run_settings(body, service.settings.allow_private)
    created = await service.start(settings, idempotency_key_of(key, caller.token_id, settings), caller)
    headers = {"Location": f"/crawl-runs/{created.run.id}", **({} if created.is_new else {REPLAYED: "true"})}
    return json_response(run_view(created.run), 201, headers)


@router.get("/crawl-runs", dependencies=[READS], summary="All runs", responses=answers(RunList))
async def list_runs(
    service: Service,
    status: Annotated[RunState | None, Query(description="Only runs in this state.")] = None,
    site: Annotated[str | None, Query(max_length=300, pattern=r"^[!-~]+$", description="Only runs of this site.")] = None,
    q: Annotated[str, Query(max_length=200, pattern=PRINTABLE, description="Only runs of sites whose name has this.")] = "",
    url: Annotated[
        str | None, Query(max_length=8192, pattern=PRINTABLE, description="Only runs that read this URL or found it unchanged.")
    ] = None,
    sort: Annotated[RunOrder, Query(description="By what to sort; runs without a value come last.")] = RunOrder.CREATED_AT,
    order: Annotated[Order, Query(description="Ascending or descending.")] = Order.DESC,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Runs, newest first, and how many there are in each state."""
    states = frozenset({status} if status else ())
    page = None if url is None else parsed_url(url)
    listing = RunListing(states, site or "", order is Order.ASC, limit, offset, q, sort, page)
    return Response(await service.runs(listing), media_type=JSON)


@router.get(
    "/crawl-runs/{run_id}",
    dependencies=[READS],
    summary="A run",
    responses=answers(RunView, problems.RUN_NOT_FOUND),
)
async def show_run(run_id: str, service: Service) -> Response:
    """State and settings of a run."""
    return json_response(run_view(await service.run(run_id)))


@router.get(
    "/crawl-runs/{run_id}/summary",
    dependencies=[READS],
    summary="A run with its counts",
    responses=answers(RunSummary, problems.RUN_NOT_FOUND),
)
async def summarise_run(run_id: str, service: Service) -> Response:
    """A run with counts of its URLs by state, skip reason, error and proof."""
    return json_response(await service.summary(run_id))


@router.get(
    "/crawl-runs/{run_id}/urls",
    dependencies=[READS],
    summary="The URLs of a run",
    responses=answers(UrlList, problems.RUN_NOT_FOUND),
)
async def list_urls(
    run_id: str,
    service: Service,
    status: States = None,
    skip_reason: SkipReasons = None,
    error: Cause = "",
    q: Text = "",
    sort: Sort = UrlOrder.ID,
    order: Order = Order.ASC,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """A page of the run's URLs with the total. Without `sort`, in the order in which they were admitted."""
    listing = UrlListing(
        frozenset(status or ()), sort, order is Order.DESC, limit, offset, frozenset(skip_reason or ()), error, q
    )
    return Response(await service.urls(run_id, listing), media_type=JSON)


@router.get(
    "/crawl-runs/{run_id}/facets",
    dependencies=[READS],
    summary="Counts of a list of URLs",
    responses=answers(UrlFacetsView, problems.RUN_NOT_FOUND),
)
async def count_facets(
    run_id: str, service: Service, status: States = None, skip_reason: SkipReasons = None, error: Cause = "", q: Text = ""
) -> Response:
    """How many URLs have each state, skip reason and cause of error, among those that pass the other filters."""
    listing = UrlListing(frozenset(status or ()), skip_reasons=frozenset(skip_reason or ()), error=error, text=q)
    return Response(await service.facets(run_id, listing), media_type=JSON)


def _export_answers() -> Responses:
    content: dict[str, Any] = {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()}
    content[JSON] = {"schema": {"anyOf": [{"type": "array", "items": {"type": "object"}}, {"type": "object"}]}}
    good = {"description": "The run as `sitelore export` writes it in this format.", "content": content}
    return {200: good, **problem_answers(problems.RUN_NOT_FOUND)}


@router.get(
    "/crawl-runs/{run_id}/export",
    dependencies=[READS],
    summary="A run as a file",
    responses=_export_answers(),
)
async def export_run(
    run_id: str,
    service: Service,
    form: Annotated[
        StreamedFormat, Query(alias="format", description="json, csv, ndjson: a row per URL; jsonl: a page per line.")
    ] = StreamedFormat.JSON,
    limit: Annotated[
        int | None, Query(ge=1, le=_MAX_INT, description="Rows or pages at most; all when it is left out.")
    ] = None,
    whole: Annotated[
        bool, Query(description="With jsonl: keep what repeats over the site's pages in every one of them.")
    ] = False,
    status: States = None,
    skip_reason: SkipReasons = None,
    error: Cause = "",
    q: Text = "",
) -> StreamingResponse:
    """The export that `sitelore export` writes, streamed; or the part of it that passes the filters."""
    run = await service.run(run_id)
    filters = UrlListing(frozenset(status or ()), skip_reasons=frozenset(skip_reason or ()), error=error, text=q)
    headers = {"Content-Disposition": f'attachment; filename="{run.id}.{form.value}"'}
    return StreamingResponse(
        exported(service, run, form, filters, limit, whole=whole), headers=headers, media_type=MEDIA_TYPES[form]
    )


@router.get(
    "/crawl-runs/{run_id}/graph",
    dependencies=[READS],
    summary="How the URLs were found",
    responses=answers(Graph, problems.RUN_NOT_FOUND),
)
async def show_graph(
    run_id: str,
    service: Service,
    limit: Annotated[int, Query(ge=1, le=1_000_000, description="Edges at most.")] = 100_000,
) -> StreamingResponse:
    """An edge for each URL, from the page it was first found on, sorted by key."""
    run = await service.run(run_id)
    return StreamingResponse(graph(service.context.ledger.edges(run.id), limit), media_type=JSON)


@router.get(
    "/crawl-runs/{run_id}/lineage",
    dependencies=[READS],
    summary="How the URLs were found, laid out",
    responses=answers(LineageView, problems.RUN_NOT_FOUND),
)
async def show_lineage(
    request: Request,
    run_id: str,
    service: Service,
    limit: Annotated[int, Query(ge=1, le=200_000, description="URLs at most, those found first.")] = 50_000,
) -> Response:
    """The tree of `graph`, compact and with a place for each URL in a radial picture, as the dashboard draws it."""
    body = await service.lineage(run_id, limit)
    headers = {"Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(body, headers={**headers, "Content-Encoding": "gzip"}, media_type=JSON)
    return Response(await asyncio.to_thread(gzip.decompress, body), headers=headers, media_type=JSON)


@router.get(
    "/crawl-runs/{run_id}/hosts",
    dependencies=[READS],
    summary="Progress by host",
    responses=answers(HostList, problems.RUN_NOT_FOUND),
)
async def list_hosts(run_id: str, service: Service) -> Response:
    """The hosts of a run with their URLs by state, and which of them take no request now; at most 1,000."""
    hosts, closed = await service.hosts(run_id)
    return json_response(HostList([host_view(host, closed) for host in hosts]))


@router.get(
    "/crawl-runs/{run_id}/log",
    dependencies=[READS],
    summary="Events of a run",
    responses=answers(EventList, problems.RUN_NOT_FOUND),
)
async def list_events(
    run_id: str,
    service: Service,
    after: Annotated[int, Query(ge=0, le=2**62, description="Only events after this id.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Events at most.")] = 100,
) -> Response:
    """What a run reported, oldest first: its start and end, pages that are new, changed or gone."""
    run = await service.run(run_id)
    events = await service.context.ledger.events(after, limit + 1, run.id)
    return json_response(EventList(list(map(event_view, events[:limit])), len(events) > limit))


@router.post(
    "/crawl-runs/{run_id}/cancel",
    summary="Cancel a run",
    responses=answers(RunView, problems.RUN_NOT_FOUND, problems.ALREADY_ENDED),
)
async def cancel_run(run_id: str, caller: Annotated[Caller, CRAWLS], service: Service) -> Response:
    """Cancel a run; what was crawled stays. Idempotent."""
    return json_response(run_view(await service.cancel(run_id, caller)))


@router.post(
    "/crawl-runs/{run_id}/resume",
    summary="Resume a run",
    responses=answers(RunView, problems.RUN_NOT_FOUND, problems.ALREADY_ENDED),
)
async def resume_run(run_id: str, caller: Annotated[Caller, CRAWLS], service: Service) -> Response:
    """Continue an interrupted run, with its own settings and its full time limit. Idempotent."""
    return json_response(run_view(await service.resume(run_id, caller)))


_EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"type": "string", "enum": ["progress", "end"]},
        "data": {"type": "string", "contentMediaType": JSON, "contentSchema": reference(RunSummary)},
    },
    "required": ["id", "event", "data"],
}
_EVENT_ANSWERS: Responses = {
    200: {
        "description": "Events `progress` and `end`, each with a RunSummary as data; comments between them are heartbeats.",
        "content": {EVENT_STREAM: {"schema": _EVENT}},
    },
    204: {"description": "The run has ended, and the event of that id was its last: do not ask again."},
    **problem_answers(problems.RUN_NOT_FOUND, problems.UNAVAILABLE),
}


@router.get(
    "/crawl-runs/{run_id}/events",
    dependencies=[READS],
    summary="Follow a run",
    responses=_EVENT_ANSWERS,
)
async def follow_run(
    run_id: str,
    service: Service,
    last_event_id: Annotated[str, Header(alias="Last-Event-ID", description="The id of the last event that was seen.")] = "",
) -> Response:
    """Server-sent events until the run has ended or was interrupted."""
    await service.run(run_id)
    if service.state.followers >= _MAX_FOLLOWERS or service.state.closing.is_set():
        raise ApiProblem(problems.UNAVAILABLE, "too many clients follow runs already", headers={"Retry-After": "5"})
    if last_event_id:
        summary = await service.summary(run_id)
        if is_over(summary) and event_id(summary) == last_event_id:
            return Response(status_code=204)
    return StreamingResponse(run_events(service, run_id, last_event_id), media_type=EVENT_STREAM)
