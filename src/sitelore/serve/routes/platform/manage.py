"""Routes of the operator over all tenants: queues and workers, held deletions, dead letters, backups."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from sitelore.app.operations.backup import list_backups
from sitelore.model.errors import CorruptData
from sitelore.model.frontier import Tenant
from sitelore.model.ids import new_uuid
from sitelore.model.platform.audit_log import entry_of
from sitelore.platform.webhooks.endpoints import EndpointDisabled, NoSuchEndpoint
from sitelore.serve import problems
from sitelore.serve.openapi import answers
from sitelore.serve.platform.operation_schemas import (
    BackupList,
    DeadLetterList,
    HeldSiteList,
    QueuesView,
    SiteDecision,
    backup_view,
    dead_letters_view,
    held_site_view,
    queues_view,
)
from sitelore.serve.platform.webhook_schemas import Replayed
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import json_response
from sitelore.serve.routes.dependencies import Service, unknown_site
from sitelore.serve.routes.platform.tenants import Operator, TenantPath, tenant_of
from sitelore.serve.run_service import RunService
from sitelore.serve.schemas import HeldPages
from sitelore.serve.security.auth import ADMINISTERS

router = APIRouter(prefix="/manage/v1", tags=["manage"])

_MAX_WEBHOOK_ID = 64


@router.get(
    "/queues",
    dependencies=[ADMINISTERS],
    summary="Queues and workers",
    responses=answers(QueuesView),
)
async def show_queues(
    service: Service, limit: Annotated[int, Query(ge=1, le=1_000, description="Active runs in the answer at most.")] = 100
) -> Response:
    """Runs that are crawled or wait, workers with the URLs they have leased, and events that wait for webhooks."""
    context = service.context
    states = await context.queue.runs_by_state()
    webhooks = await context.open_webhooks().stats()
    view = queues_view(states, await context.operations.active_runs(limit), await context.operations.leases(), webhooks)
    return json_response(view)


@router.get(
    "/deletions",
    dependencies=[ADMINISTERS],
    summary="Held deletions of all tenants",
    responses=answers(HeldSiteList),
)
async def list_held_deletions(service: Service) -> Response:
    """Sites of which too many pages disappeared at once; a person decides whether they are deleted."""
    held = await service.context.operations.held_sites()
    return json_response(HeldSiteList([held_site_view(each) for each in held]))


@router.post(
    "/tenants/{tenant_id}/deletions",
    summary="Decide about held deletions of a tenant",
    responses=answers(HeldPages, problems.TENANT_NOT_FOUND, problems.SITE_NOT_FOUND),
)
async def decide_deletions(tenant_id: TenantPath, body: SiteDecision, caller: Operator, service: Service) -> Response:
    """Delete the held pages of a site from the index, or keep their last content. Returns how many they were."""
    tenant = await tenant_of(tenant_id, service)
    search = service.context.for_tenant(tenant.id).search_service
    matching = await search.sites((body.site,))
    if not matching:
        raise unknown_site(body.site)
    held = await search.search_index.release_held(matching[0].site, service.context.clock(), agreed=body.agree)
    action = "deletions.agreed" if body.agree else "deletions.refused"
    await _record(service, caller, tenant, action, f"site:{body.site}")
    return json_response(HeldPages(body.site, held))


@router.get(
    "/dead-letters",
    dependencies=[ADMINISTERS],
    summary="Dead letters of all tenants",
    responses=answers(DeadLetterList),
)
async def list_dead_letters(service: Service) -> Response:
    """Webhook endpoints with events that could not be delivered."""
    letters = await service.context.operations.dead_letters()
    return json_response(DeadLetterList([dead_letters_view(each) for each in letters]))


@router.post(
    "/tenants/{tenant_id}/dead-letters/{webhook_id}/replay",
    summary="Replay dead letters of a tenant",
    responses=answers(Replayed, problems.TENANT_NOT_FOUND, problems.WEBHOOK_NOT_FOUND, problems.WEBHOOK_DISABLED),
)
async def replay_dead_letters(
    tenant_id: TenantPath,
    webhook_id: Annotated[
        str, Path(max_length=_MAX_WEBHOOK_ID, pattern=r"^[0-9A-Za-z-]+$", description="The id of a webhook.")
    ],
    caller: Operator,
    service: Service,
) -> Response:
    """Deliver everything again that could not be delivered to a webhook."""
    tenant = await tenant_of(tenant_id, service)
    try:
        count = await service.context.open_webhooks().replay_dead(tenant.id, webhook_id, 0.0, math.inf)
    except NoSuchEndpoint:
        raise ApiProblem(problems.WEBHOOK_NOT_FOUND) from None
    except EndpointDisabled:
        raise ApiProblem(problems.WEBHOOK_DISABLED, "its tenant has to enable it first") from None
    await _record(service, caller, tenant, "webhook.replayed", f"webhook:{webhook_id}")
    return json_response(Replayed(count))


@router.get("/backups", dependencies=[ADMINISTERS], summary="The backups", responses=answers(BackupList))
async def show_backups(service: Service) -> Response:
    """The backups in the directory of `SITELORE_BACKUPS`, newest first."""
    folder = service.settings.backups
    try:
        backups = [] if folder is None else await asyncio.to_thread(list_backups, folder)
    except (OSError, CorruptData) as problem:
        raise ApiProblem(problems.UNAVAILABLE, f"the directory of backups cannot be read: {problem}") from None
    return json_response(BackupList(folder is not None, [backup_view(each) for each in backups]))


async def _record(service: RunService, caller: Operator, tenant: Tenant, action: str, subject: str) -> None:
    """Write to the audit log of the tenant what the operator did, and to the operator's own, where a tenant is a number."""
    now = service.context.clock()
    await service.context.directory.for_tenant(tenant.id).record(entry_of(caller, new_uuid(now), now, action, subject))
    if tenant.id != caller.tenant:
        await service.record(caller, action, f"tenant:{tenant.id}")
