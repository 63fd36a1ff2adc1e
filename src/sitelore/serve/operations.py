"""For whoever keeps the server alive: is it up, can it work, how does it do."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import Gauge
from starlette.responses import Response

from sitelore.crawl.metrics import CONTENT_TYPE, REGISTRY, exposition
from sitelore.model.states import RunState
from sitelore.serve import problems
from sitelore.serve.described import Responses, answers
from sitelore.serve.desk import encode
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


_QUEUED = Gauge("crawl_runs_queued", "Runs that wait for their turn.", registry=REGISTRY)
_RUNNING = Gauge("crawl_runs_running", "Runs that are being crawled.", registry=REGISTRY)
_FOLLOWERS = Gauge("sitelore_event_followers", "Clients that follow a run.", registry=REGISTRY)
_METRICS: Responses = {
    200: {"description": "Prometheus text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get("/metrics", response_class=Response, summary="How it does", responses=_METRICS)
async def metrics(desk: AtDesk) -> Response:
    """Counters and histograms of this process, and how many runs stand where."""
    states = await desk.backstage.ledger.runs_by_state()
    _QUEUED.set(states.get(RunState.QUEUED, 0))
    _RUNNING.set(states.get(RunState.RUNNING, 0))
    _FOLLOWERS.set(desk.followers)
    return Response(exposition(), media_type=CONTENT_TYPE)
