"""The runs plane: make a run, watch it, take it away, cancel it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sitelore.model.listing import RunListing, UrlListing, UrlOrder
from sitelore.model.states import RunState, UrlState
from sitelore.serve import problems
from sitelore.serve.asking import NewRun, once_of, run_settings
from sitelore.serve.described import Responses, answers, problem_answers, reference
from sitelore.serve.desk import encode
from sitelore.serve.doors import CALLER
from sitelore.serve.follow import MEDIA_TYPE as EVENT_STREAM
from sitelore.serve.follow import event_id, followed, is_over
from sitelore.serve.problems import Refused
from sitelore.serve.quick import JSON, REPLAYED, AtDesk, Key
from sitelore.serve.streams import MEDIA_TYPES, ExportFormat, exported, graph
from sitelore.serve.wire import Graph, RunList, RunSummary, RunView, UrlList, run_view

router = APIRouter(tags=["runs"])

_MOST = 10**9
_MOST_FOLLOWERS = 500


class Order(StrEnum):
    """Which way a list is sorted."""

    ASC = "asc"
    DESC = "desc"


Limit = Annotated[int, Query(ge=1, le=10_000, description="Entries in the answer at most.")]
Offset = Annotated[int, Query(ge=0, le=_MOST, description="Entries to leave out first.")]


@router.post(
    "/crawl-runs",
    status_code=201,
    response_class=Response,
    summary="Make a run",
    responses=answers(RunView, problems.ADDRESS_REFUSED, problems.KEY_REUSED, status=201),
)
async def make_run(asked: NewRun, request: Request, desk: AtDesk, key: Key = None) -> Response:
    """Queue a crawl. Runs of one site follow each other; several sites are crawled side by side."""
    settings = run_settings(asked, desk.settings.allow_private)
    made = await desk.start(settings, once_of(key, request.scope[CALLER], settings))
    headers = {"Location": f"/crawl-runs/{made.run.id}", **({} if made.is_new else {REPLAYED: "true"})}
    return Response(encode(run_view(made.run)), 201, headers, JSON)


@router.get("/crawl-runs", response_class=Response, summary="All runs", responses=answers(RunList))
async def list_runs(
    desk: AtDesk,
    status: Annotated[RunState | None, Query(description="Only runs in this state.")] = None,
    site: Annotated[str | None, Query(max_length=300, pattern=r"^[!-~]+$", description="Only runs of this site.")] = None,
    order: Annotated[Order, Query(description="By the time they were made.")] = Order.DESC,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Runs, newest first."""
    states = frozenset({status} if status else ())
    listing = RunListing(states, site or "", oldest_first=order is Order.ASC, limit=limit, offset=offset)
    return Response(await desk.runs(listing), media_type=JSON)


@router.get(
    "/crawl-runs/{run_id}", response_class=Response, summary="A run", responses=answers(RunView, problems.RUN_NOT_FOUND)
)
async def show_run(run_id: str, desk: AtDesk) -> Response:
    """Where a run stands, and what it was asked for."""
    return Response(encode(run_view(await desk.run(run_id))), media_type=JSON)


@router.get(
    "/crawl-runs/{run_id}/summary",
    response_class=Response,
    summary="A run in numbers",
    responses=answers(RunSummary, problems.RUN_NOT_FOUND),
)
async def summarise_run(run_id: str, desk: AtDesk) -> Response:
    """A run with counts of its URLs by state, skip reason, error and proof."""
    return Response(encode(await desk.summary(run_id)), media_type=JSON)


@router.get(
    "/crawl-runs/{run_id}/urls",
    response_class=Response,
    summary="The URLs of a run",
    responses=answers(UrlList, problems.RUN_NOT_FOUND),
)
async def list_urls(
    run_id: str,
    desk: AtDesk,
    status: Annotated[UrlState | None, Query(description="Only URLs in this state.")] = None,
    sort: Annotated[UrlOrder, Query(description="What to sort by; rows without a value come last.")] = UrlOrder.ID,
    order: Order = Order.ASC,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """A page of the run's URLs with the total. Without `sort`, in the order in which they were admitted."""
    listing = UrlListing(frozenset({status} if status else ()), sort, order is Order.DESC, limit, offset)
    return Response(await desk.urls(run_id, listing), media_type=JSON)


def _export_answers() -> Responses:
    content: dict[str, Any] = {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()}
    content[JSON] = {"schema": {"type": "array", "items": {"type": "object"}}}
    good = {"description": "The rows (json, csv, ndjson) or the pages (jsonl) of the run, sorted by key.", "content": content}
    return {200: good, **problem_answers(problems.RUN_NOT_FOUND)}


@router.get("/crawl-runs/{run_id}/export", response_class=Response, summary="A run as a file", responses=_export_answers())
async def export_run(
    run_id: str,
    desk: AtDesk,
    form: Annotated[
        ExportFormat, Query(alias="format", description="json, csv, ndjson: a row per URL; jsonl: a page per line.")
    ] = ExportFormat.JSON,
    limit: Annotated[int | None, Query(ge=1, le=_MOST, description="Rows or pages at most; all when it is left out.")] = None,
    whole: Annotated[
        bool, Query(description="With jsonl: keep what repeats over the site's pages in every one of them.")
    ] = False,
) -> StreamingResponse:
    """The same bytes as `sitelore export` writes, sent as they are read."""
    run = await desk.run(run_id)
    headers = {"Content-Disposition": f'attachment; filename="{run.id}.{form.value}"'}
    return StreamingResponse(exported(desk, run, form, limit, whole=whole), headers=headers, media_type=MEDIA_TYPES[form])


@router.get(
    "/crawl-runs/{run_id}/graph",
    response_class=Response,
    summary="How the URLs were found",
    responses=answers(Graph, problems.RUN_NOT_FOUND),
)
async def show_graph(
    run_id: str,
    desk: AtDesk,
    limit: Annotated[int, Query(ge=1, le=1_000_000, description="Edges at most.")] = 100_000,
) -> StreamingResponse:
    """An edge for each URL, from the page it was first found on, sorted by key."""
    run = await desk.run(run_id)
    return StreamingResponse(graph(desk.backstage.ledger.edges(run.id), limit), media_type=JSON)


@router.post(
    "/crawl-runs/{run_id}/cancel",
    response_class=Response,
    summary="Cancel a run",
    responses=answers(RunView, problems.RUN_NOT_FOUND, problems.ALREADY_ENDED),
)
async def cancel_run(run_id: str, desk: AtDesk) -> Response:
    """End a run for good; what was crawled stays. Doing it twice is doing it once."""
    return Response(encode(run_view(await desk.cancel(run_id))), media_type=JSON)


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


@router.get("/crawl-runs/{run_id}/events", response_class=Response, summary="Follow a run", responses=_EVENT_ANSWERS)
async def follow_run(
    run_id: str,
    desk: AtDesk,
    last_event_id: Annotated[str, Header(alias="Last-Event-ID", description="The id of the last event that was seen.")] = "",
) -> Response:
    """Server-sent events until the run has ended."""
    await desk.run(run_id)
    if desk.followers >= _MOST_FOLLOWERS or desk.closing.is_set():
        raise Refused(problems.UNAVAILABLE, "too many are following already", headers={"Retry-After": "5"})
    if last_event_id:
        summary = await desk.summary(run_id)
        if is_over(summary) and event_id(summary) == last_event_id:
            return Response(status_code=204)
    return StreamingResponse(followed(desk, run_id, last_event_id), media_type=EVENT_STREAM)
