"""For whoever keeps the server alive: is it up, can it work, how does it do."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from sitelore.crawl.meters import CONTENT_TYPE, Gauge, Meter, exposition
from sitelore.model.states import RunState
from sitelore.serve import problems
from sitelore.serve.described import Responses, answers
from sitelore.serve.desk import Desk, encode
from sitelore.serve.doors import ANSWER_TIME, REQUESTS
from sitelore.serve.problems import Refused
from sitelore.serve.quick import JSON, AtDesk
from sitelore.serve.wire import Health

router = APIRouter(tags=["operations"])


@router.get("/health", response_class=Response, summary="A sign of life", responses=answers(Health))
async def health() -> Response:
    """The process is up and answers. Asks nothing of the database."""
    return Response(encode(Health("ok")), media_type=JSON)


@router.get("/ready", response_class=Response, summary="Can it work", responses=answers(Health, problems.UNAVAILABLE))
async def ready(desk: AtDesk) -> Response:
    """The ledger answers, and the server is not stopping."""
    if desk.closing.is_set():
        raise Refused(problems.UNAVAILABLE, "the server is stopping")
    await desk.backstage.ledger.runs(1)
    return Response(encode(Health("ready")), media_type=JSON)


_METRICS: Responses = {
    200: {"description": "Prometheus text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get("/metrics", response_class=Response, summary="How it does", responses=_METRICS)
async def metrics(desk: AtDesk) -> Response:
    """Counters and histograms of this process, and how many runs stand where."""
    states = await desk.backstage.ledger.runs_by_state()
    return Response(exposition(*server_meters(desk, states)), media_type=CONTENT_TYPE)


def server_meters(desk: Desk, states: dict[str, int]) -> tuple[Meter, ...]:
    """What a server counts besides what crawling counts."""
    queued, running = states.get(RunState.QUEUED, 0), states.get(RunState.RUNNING, 0)
    return (
        REQUESTS,
        ANSWER_TIME,
        Gauge("crawl_runs_queued", "Runs that wait for their turn.", lambda: queued),
        Gauge("crawl_runs_running", "Runs that are being crawled.", lambda: running),
        Gauge("sitelore_event_followers", "Clients that follow a run.", lambda: desk.followers),
    )
