"""Operations routes: `/health`, `/ready`, `/metrics`."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import Gauge
from starlette.responses import Response

from sitelore.metrics import CONTENT_TYPE, REGISTRY, exposition
from sitelore.model.states import RunState
from sitelore.serve import problems
from sitelore.serve.openapi import Responses, answers
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import json_response
from sitelore.serve.routes.dependencies import Service
from sitelore.serve.schemas import Health
from sitelore.serve.security.auth import ADMINISTERS

router = APIRouter(tags=["operations"])


@router.get("/health", summary="Liveness", responses=answers(Health))
async def health() -> Response:
    """The process is up. Does not touch the database."""
    return json_response(Health("ok"))


@router.get("/ready", summary="Readiness", responses=answers(Health, problems.UNAVAILABLE))
async def ready(service: Service) -> Response:
    """The ledger answers, and the server is not stopping."""
    if service.state.closing.is_set():
        raise ApiProblem(problems.UNAVAILABLE, "the server is stopping")
    try:
        await service.check_ledger()
    except TimeoutError:
        raise ApiProblem(problems.UNAVAILABLE, "the database does not answer") from None
    return json_response(Health("ready"))


_QUEUED = Gauge("crawl_runs_queued", "Runs that wait for their turn.", registry=REGISTRY)
_RUNNING = Gauge("crawl_runs_running", "Runs that are being crawled.", registry=REGISTRY)
_FOLLOWERS = Gauge("sitelore_event_followers", "Clients that follow a run.", registry=REGISTRY)
_ENDPOINTS = Gauge("sitelore_webhook_endpoints", "Webhook endpoints that are enabled.", registry=REGISTRY)
_QUEUES = Gauge("sitelore_webhook_queues", "Runs with events that wait for a webhook endpoint.", registry=REGISTRY)
_OVERDUE = Gauge("sitelore_webhooks_overdue_seconds", "For how long the oldest webhook has been due.", registry=REGISTRY)
_SCHEDULES = Gauge("sitelore_schedules", "Schedules of channels.", registry=REGISTRY)
_LATE = Gauge("sitelore_schedules_overdue_seconds", "For how long the oldest schedule has been due.", registry=REGISTRY)
_TO_INDEX = Gauge("sitelore_index_waiting_pages", "Pages that wait to be indexed.", registry=REGISTRY)
_METRICS: Responses = {
    200: {"description": "Prometheus text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}


@router.get("/metrics", dependencies=[ADMINISTERS], summary="Metrics", responses=_METRICS)
async def metrics(service: Service) -> Response:
    """Counters and histograms of this process, and the queues of runs, webhooks, schedules and the index."""
    states = await service.context.queue.runs_by_state()
    _QUEUED.set(states.get(RunState.QUEUED, 0))
    _RUNNING.set(states.get(RunState.RUNNING, 0))
    _FOLLOWERS.set(service.state.followers)
    webhooks = await service.context.open_webhooks().stats()
    _ENDPOINTS.set(webhooks.endpoints)
    _QUEUES.set(webhooks.queues)
    _OVERDUE.set(webhooks.overdue_s)
    platform = await service.context.operations.stats(service.context.clock())
    _SCHEDULES.set(platform.schedules)
    _LATE.set(platform.schedules_overdue_s)
    _TO_INDEX.set(platform.pages_to_index)
    return Response(exposition(), media_type=CONTENT_TYPE)
