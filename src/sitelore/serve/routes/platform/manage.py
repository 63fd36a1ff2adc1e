"""Routes of the operator over all tenants: queues and workers, held deletions, dead letters, backups."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sitelore.app.operations.backup import list_backups
from sitelore.model.errors import CorruptData
from sitelore.model.frontier import Tenant
from sitelore.model.ids import new_uuid
from sitelore.model.platform.accounts import entry_of
from sitelore.model.platform.operations import ActiveRun, DeadLetters, HeldSite, StoredBackup, WorkerLease
from sitelore.model.platform.webhooks import WebhookStats
from sitelore.model.states import RunState
from sitelore.platform.webhooks.endpoints import EndpointDisabled, NoSuchEndpoint
from sitelore.serve import problems
from sitelore.serve.openapi import answers
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import json_response
from sitelore.serve.routes.dependencies import Service, unknown_site
from sitelore.serve.routes.platform.tenants import Operator, TenantPath, tenant_of
from sitelore.serve.routes.platform.webhooks import Replayed
from sitelore.serve.run_service import RunService
from sitelore.serve.schemas import HeldPages, moment
from sitelore.serve.security.auth import ADMINISTERS


class SiteDecision(BaseModel):
    """Decision about the held deletions of a site."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    site: Annotated[str, Field(pattern=r"^[!-~]{1,300}$", description="The site, as the list names it.")]
    agree: Annotated[bool, Field(description="True: delete the pages. False: keep their last content.")]


class ActiveRunView(msgspec.Struct, frozen=True, rename="camel"):
    """A run that is crawled, or waits for its turn."""

    id: str
    tenant_id: str
    tenant_name: str
    site: str
    status: RunState
    created_at: str | None
    started_at: str | None


class WorkerLeaseView(msgspec.Struct, frozen=True, rename="camel"):
    """The URLs of one run that are leased to one worker."""

    worker: str
    run_id: str
    urls: int
    lease_until: str | None


class WebhookQueuesView(msgspec.Struct, frozen=True, rename="camel"):
    """Events that wait for webhook endpoints."""

    endpoints: int
    queues: int
    overdue_seconds: float


class QueuesView(msgspec.Struct, frozen=True, rename="camel"):
    """Queues and workers of the installation."""

    runs: dict[str, int]
    active: list[ActiveRunView]
    workers: list[WorkerLeaseView]
    webhooks: WebhookQueuesView


class HeldSiteView(msgspec.Struct, frozen=True, rename="camel"):
    """A site whose deletions are held back."""

    tenant_id: str
    tenant_name: str
    site: str
    pages: int


class HeldSiteList(msgspec.Struct, frozen=True):
    """Sites of all tenants whose deletions are held back."""

    sites: list[HeldSiteView]


class DeadLettersView(msgspec.Struct, frozen=True, rename="camel"):
    """A webhook endpoint with events that could not be delivered."""

    tenant_id: str
    tenant_name: str
    webhook_id: str
    host: str
    enabled: bool
    dead: int
    oldest_at: str | None
    newest_at: str | None


class DeadLetterList(msgspec.Struct, frozen=True):
    """Webhook endpoints of all tenants with dead letters."""

    webhooks: list[DeadLettersView]


class BackupView(msgspec.Struct, frozen=True, rename="camel"):
    """A backup."""

    name: str
    database: str
    revision: str
    created_at: str | None
    blobs: int
    media: int
    size_bytes: int


class BackupList(msgspec.Struct, frozen=True, rename="camel"):
    """The backups in the configured directory, newest first."""

    is_configured: bool
    backups: list[BackupView]


def queues_view(
    states: dict[str, int], active: list[ActiveRun], leases: list[WorkerLease], webhooks: WebhookStats
) -> QueuesView:
    """Queues and workers in the API's form."""
    return QueuesView(
        runs={state.value: states.get(state, 0) for state in (RunState.RUNNING, RunState.QUEUED)},
        active=[
            ActiveRunView(
                each.run.id, str(each.run.tenant), each.tenant_name, each.run.site_name, each.run.state,
                moment(each.run.created_at), moment(each.run.started_at),
            )
            for each in active
        ],
        workers=[WorkerLeaseView(each.worker, each.run, each.urls, moment(each.lease_until)) for each in leases],
        webhooks=WebhookQueuesView(webhooks.endpoints, webhooks.queues, webhooks.overdue_s),
    )  # fmt: skip


def held_site_view(held: HeldSite) -> HeldSiteView:
    """A site in the API's form."""
    return HeldSiteView(str(held.tenant), held.tenant_name, held.site, held.pages)


def dead_letters_view(letters: DeadLetters) -> DeadLettersView:
    """An endpoint in the API's form. Of its URL only the host: the path may be a secret of the tenant."""
    return DeadLettersView(
        str(letters.tenant), letters.tenant_name, letters.webhook, urlsplit(letters.url).netloc.rpartition("@")[2],
        letters.enabled, letters.count, moment(letters.oldest_at), moment(letters.newest_at),
    )  # fmt: skip


def backup_view(backup: StoredBackup) -> BackupView:
    """A backup in the API's form."""
    return BackupView(
        backup.name, backup.database, backup.revision, moment(backup.created_at), backup.blobs, backup.media, backup.size_bytes
    )


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
