"""Types of the operator's lists over all tenants: active runs, workers, held deletions, dead letters, backups."""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.model.frontier import Run
from sitelore.model.ids import RunId, TenantId


@dataclass(frozen=True, slots=True)
class PlatformStats:
    """Numbers over all tenants, for metrics."""

    schedules: int
    schedules_overdue_s: float
    """For how long the schedule that is due longest has waited."""
    pages_to_index: int


@dataclass(frozen=True, slots=True)
class ActiveRun:
    """A run that is crawled, or waits for its turn."""

    tenant_name: str
    run: Run


@dataclass(frozen=True, slots=True)
class WorkerLease:
    """The URLs of one run that are leased to one worker."""

    worker: str
    run: RunId
    urls: int
    lease_until: float
    """When the last of the leases expires, unless the worker renews it."""


@dataclass(frozen=True, slots=True)
class HeldSite:
    """A site with pages that disappeared at once, whose deletion is held back."""

    tenant: TenantId
    tenant_name: str
    site: str
    pages: int


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The events that could not be delivered to a webhook endpoint."""

    tenant: TenantId
    tenant_name: str
    webhook: str
    url: str
    enabled: bool
    count: int
    oldest_at: float
    newest_at: float


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """A backup in the directory of `SITELORE_BACKUPS`."""

    name: str
    database: str
    """`sqlite` or `postgres`."""
    revision: str
    created_at: float
    blobs: int
    media: int
    size_bytes: int
    """Of the files of the backup, without media files in a directory."""
