"""Requests and responses about the operation of an installation, in camel case (`docs/reference/api.md`)."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from sitelore.model.platform.operations import ActiveRun, DeadLetters, HeldSite, StoredBackup, WorkerLease
from sitelore.model.platform.webhooks import WebhookStats
from sitelore.model.states import RunState
from sitelore.serve.schemas import moment


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


ANSWERS = (QueuesView, HeldSiteList, DeadLetterList, BackupList)


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
