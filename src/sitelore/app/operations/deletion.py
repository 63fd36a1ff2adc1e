"""Deletes runs, sites, channels and tenants with their blobs, while crawls run; retention periods; blob garbage collection.

Rows are deleted by `store/runs/deletion.py`, blobs by mark-and-sweep: `soft_delete_unreferenced_blobs` lists the blobs that
were last written before a point in time, reads all references to blobs in the database, and deletes what has none. Why nothing
that is needed is deleted:

- A visit, or `reprocess`, puts its blobs and writes the rows that refer to them afterwards. A put of existing content renews
  its time, and `delete` checks the time again, so what was put after the point in time stays.
- In one process, what was put before is referenced when the references are read. The point in time is the start of the sweep.
  Listing the blobs waits for the blob thread, so every earlier put has returned and its writer has gone on to the ledger; an
  empty write then waits for the ledger's writer thread, so that those rows are committed.
- With servers, other processes may be between a put and its rows. Object stores cannot check and delete in one step either. So
  an object store keeps a deleted blob readable (a soft delete), and `purge_deleted_blobs` decides again `GRACE_S` later: a blob
  that is referenced by then is restored. That is longer than a worker tries to write its rows (`SITELORE_PATIENCE_S`, 5
  minutes), and than the clocks of a server and of the store may differ.
- A page that was found unchanged refers to the blobs that `pages` had when its row was claimed, without a put. `pages` keeps
  them, and it is read before `urls`, to which the visit copies them. Pages that are fetched ahead work alike.
- Media files are swept alike (`soft_delete_unreferenced_media`). Their rows are written later after the put than those of
  blobs, so a process remembers the files of its unwritten settlements and keeps them.
- `reprocess` may replace the document of such a page during the visit, which then refers to the old one. In one process the
  lock of the data directory excludes that; with servers the blob is still readable, and restored.

Deleted text does not stay in the files of a data directory: SQLite overwrites it (`secure_delete`), and the write-ahead logs
are emptied. Copies can remain in unused parts of database pages from which rows were moved, so when a site or a tenant was
deleted the databases are vacuumed. Beside a crawl that blocks its writes, which wait for 30 s, so a server does so for
files of up to `VACUUM_BYTES` only, and in the background, so that no request waits for it: a file in the directory says that it
is due. A command has the directory for itself and has no limit.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import time
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from sitelore.app.operations.backup import deletion_lock
from sitelore.app.settings import operator_settings
from sitelore.background import repeat
from sitelore.model.errors import Conflict, UsageError
from sitelore.model.frontier import RunListing
from sitelore.model.ids import DEFAULT_TENANT, RunId
from sitelore.model.platform.tenant_settings import default_retention
from sitelore.model.states import ENDED, RunState
from sitelore.store.runs.deletion import vacuum_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from sitelore.app.app import App
    from sitelore.crawl.context import MediaContext
    from sitelore.model.frontier import Tenant
    from sitelore.model.ids import SiteId, TenantId
    from sitelore.model.platform.accounts import EntryFor
    from sitelore.model.platform.channels import Channel
    from sitelore.model.platform.tenant_settings import RetentionPolicy
    from sitelore.ports import BlobStorage, Ledger

P = ParamSpec("P")

_LOG = logging.getLogger(__name__)
_Key = TypeVar("_Key", bound=str)


class _Store(Protocol[_Key]):
    """Blobs or media files."""

    def keys(self, stored_before: float) -> AsyncIterator[_Key]: ...
    def deleted_keys(self, deleted_before: float) -> AsyncIterator[_Key]: ...
    async def delete(self, keys: Sequence[_Key], stored_before: float) -> int: ...
    async def purge(self, keys: Sequence[_Key], deleted_before: float) -> int: ...
    async def restore(self, keys: Sequence[_Key]) -> None: ...


GRACE_S = 3600.0
"""With servers: how long a deleted blob can still be read, and is restored if a row refers to it."""

VACUUM_BYTES = 512 << 20
"""The largest database file that is vacuumed while a crawl may be running; takes about 7 s."""

_NO_RUN = RunId("")
_BLOBS_PER_PASS = 200_000
"""Blobs compared with all references at a time; bounds the memory."""
_BLOBS_PER_DELETE = 500
_RUNS_PER_READ = 100
_RETENTION_INTERVAL_S = 3600.0
_RETENTION_DELAY_S = 60.0
"""A process that has just started has other work to do first."""
_VACUUM_MARKER = "rewrite.due"
"""The file that marks a data directory whose databases need a VACUUM."""
_VACUUM_INTERVAL_S = 2.0


def _refused_during_backup(
    *, purges: bool
) -> Callable[[Callable[Concatenate[App, P], Awaitable[int]]], Callable[Concatenate[App, P], Awaitable[int]]]:
    """Refuse to delete contents while a backup is made. With servers, only what `purges` them is refused: the backup also
    copies those that were deleted and can still be read.
    """

    def decorate(delete: Callable[Concatenate[App, P], Awaitable[int]]) -> Callable[Concatenate[App, P], Awaitable[int]]:
        @functools.wraps(delete)
        async def guarded(app: App, /, *args: P.args, **kwargs: P.kwargs) -> int:
            if app.is_shared and not purges:
                return await delete(app, *args, **kwargs)
            async with deletion_lock(app) as is_free:
                if not is_free:
                    raise UsageError("a backup, or another deletion, is running; try again when it has finished")
                return await delete(app, *args, **kwargs)

        return guarded

    return decorate


async def cancel_interrupted(app: App, tenant: TenantId, runs: Sequence[RunId]) -> None:
    """Cancel those of these runs that were interrupted: nothing works on them, but only runs that have ended are deleted."""
    ledger = app.ledger.for_tenant(tenant)
    for run_id in runs:
        run = await ledger.run(run_id)
        if run is not None and run.state is RunState.INTERRUPTED:
            await ledger.end_run(run_id, RunState.CANCELLED, app.clock())


@_refused_during_backup(purges=False)
async def delete_runs(app: App, tenant: TenantId, runs: Sequence[RunId]) -> int:
    """Delete runs that have ended. Returns the number of blobs deleted with them."""
    ledger = app.ledger.for_tenant(tenant)
    for run in runs:
        if not await ledger.delete_run(run) and await ledger.run(run) is not None:
            raise UsageError(f"the run {run} has not ended; let it finish or cancel it first")
    return await _delete_blobs(app, tenant)


@_refused_during_backup(purges=False)
async def delete_site(app: App, tenant: Tenant, site: SiteId, vacuum_bytes: float = VACUUM_BYTES) -> int:
    """Delete a site with everything that was stored of it. Returns the number of blobs deleted with it."""
    await _delete_external_vectors(tenant, site)
    if not await app.ledger.for_tenant(tenant.id).delete_site(site):
        raise UsageError("the site has a run that has not ended, or was deleted meanwhile; let the run finish or cancel it")
    await _delete_external_vectors(tenant, site)  # an index update may have sent some meanwhile
    deleted = await _delete_blobs(app, tenant.id)
    await vacuum_databases(app, vacuum_bytes)
    return deleted


@_refused_during_backup(purges=False)
async def delete_channel(app: App, channel: Channel, entry_for: EntryFor) -> int:
    """Cancel the crawl of a channel, and delete the channel with its site. Returns the number of blobs deleted with it.

    The databases of a data directory need a vacuum afterwards (`keep_vacuuming`).
    """
    with _vacuum_needed_after(app):
        return await _delete_channel(app, channel, entry_for)


async def _delete_channel(app: App, channel: Channel, entry_for: EntryFor) -> int:
    tenant = next(tenant for tenant in await app.queue.tenants() if tenant.id == channel.tenant)
    await _delete_external_vectors(tenant, channel.site)
    await app.open_channels().for_tenant(tenant.id).recording(entry_for).delete_channel(channel.id, app.clock())
    await _delete_external_vectors(tenant, channel.site)  # an index update may have sent some meanwhile
    return await _delete_blobs(app, tenant.id)


@_refused_during_backup(purges=True)
async def delete_tenant(app: App, tenant: Tenant, vacuum_bytes: float = VACUUM_BYTES) -> int:
    """Delete a tenant with all its sites. Returns the number of blobs deleted with it."""
    deleted = await _delete_tenant(app, tenant)
    await vacuum_databases(app, vacuum_bytes)
    return deleted


async def _delete_tenant(app: App, tenant: Tenant) -> int:
    if tenant.id == DEFAULT_TENANT:
        raise _default_tenant_error(tenant)
    await _delete_external_vectors(tenant)
    ledger, blobs = app.ledger.for_tenant(tenant.id), app.blobs.for_tenant(tenant.id)
    if not await ledger.delete_tenant():
        raise UsageError(f"the tenant {tenant.name} has a run that has not ended; let it finish or cancel it first")
    await _delete_external_vectors(tenant)
    # Nothing can refer to its blobs any more. The second pass removes those that a store keeps readable after the first.
    deleted = await soft_delete_unreferenced_blobs(ledger, blobs, math.inf)
    await purge_deleted_blobs(ledger, blobs, math.inf)
    media = app.media.for_tenant(tenant.id)
    await soft_delete_unreferenced_media(ledger, media, math.inf)
    await purge_deleted_media(ledger, media, math.inf)
    return deleted


@_refused_during_backup(purges=True)
async def cancel_and_delete_tenant(app: App, tenant: Tenant) -> int:
    """Cancel the runs of a tenant that have not ended, and delete it. Returns the number of blobs deleted with it.

    The databases of a data directory need a vacuum afterwards, as for a channel.
    """
    if tenant.id == DEFAULT_TENANT:
        raise _default_tenant_error(tenant)
    ledger = app.ledger.for_tenant(tenant.id)
    unfinished = frozenset(RunState) - ENDED
    while (page := await ledger.list_runs(RunListing(unfinished, limit=_RUNS_PER_READ)))[0]:
        for run in page[0]:
            await ledger.end_run(run.id, RunState.CANCELLED, app.clock())
            await app.notify_workers(run.id)
    with _vacuum_needed_after(app):
        return await _delete_tenant(app, tenant)


def _default_tenant_error(tenant: Tenant) -> UsageError:
    return Conflict(f"the tenant {tenant.name} cannot be deleted, every installation has it; delete its sites with --site")


async def _delete_blobs(app: App, tenant: TenantId) -> int:
    # What an object store deletes can be restored, whenever it was put, and the clock of the store may differ from ours.
    stored_before = math.inf if app.is_shared else time.time()
    ledger = app.ledger.for_tenant(tenant)
    await soft_delete_unreferenced_media(ledger, app.media.for_tenant(tenant), stored_before)
    return await soft_delete_unreferenced_blobs(ledger, app.blobs.for_tenant(tenant), stored_before)


async def _delete_external_vectors(tenant: Tenant, site: SiteId | None = None) -> None:
    """Delete the points of a site, or of a tenant, from an external vector store where one is configured."""
    operator = operator_settings()
    if operator.vectors in {"", "database"}:
        return
    from sitelore.store.vectors.qdrant import QdrantServer, delete_points  # noqa: PLC0415 only where one is configured

    await delete_points(QdrantServer.read(operator.vectors, operator.vectors_key), tenant.name, site)


async def soft_delete_unreferenced_blobs(
    ledger: Ledger, blobs: BlobStorage, stored_before: float, per_pass: int = _BLOBS_PER_PASS
) -> int:
    """The sweep of mark-and-sweep: soft-delete unreferenced blobs that were last written before this time. Returns how many."""
    return await _soft_delete_unreferenced(ledger, blobs, ledger.blob_references, stored_before, per_pass)


async def purge_deleted_blobs(
    ledger: Ledger, blobs: BlobStorage, deleted_before: float, per_pass: int = _BLOBS_PER_PASS
) -> int:
    """Permanently remove blobs that were soft-deleted before this time; restore referenced ones. Returns the number removed."""
    return await _purge_deleted(ledger, blobs, ledger.blob_references, deleted_before, per_pass)


async def soft_delete_unreferenced_media(
    ledger: Ledger, media: MediaContext, stored_before: float, per_pass: int = _BLOBS_PER_PASS
) -> int:
    """Soft-delete media files that no row refers to and that were last written before this time. Returns their number.

    A visit stores a file before its settlement is written. Until then the file is pending in this process, and is kept.
    """
    return await _soft_delete_unreferenced(
        ledger, media.files, media.library.references, stored_before, per_pass, media.is_pending
    )


async def purge_deleted_media(
    ledger: Ledger, media: MediaContext, deleted_before: float, per_pass: int = _BLOBS_PER_PASS
) -> int:
    """Permanently remove media files that were soft-deleted before this time; restore those that are referenced."""
    return await _purge_deleted(ledger, media.files, media.library.references, deleted_before, per_pass)


async def _soft_delete_unreferenced(
    ledger: Ledger,
    store: _Store[_Key],
    references: Callable[[], AsyncIterator[set[_Key]]],
    stored_before: float,
    per_pass: int,
    is_pending: Callable[[_Key], bool] = lambda _: False,
) -> int:
    deleted = 0
    async for keys in _read_key_sets(store.keys(stored_before), per_pass):
        unwritten = {key for key in keys if is_pending(key)}
        for batch in _delete_batches(await _unreferenced(ledger, references, keys - unwritten)):
            deleted += await store.delete(batch, stored_before)
    return deleted


async def _purge_deleted(
    ledger: Ledger,
    store: _Store[_Key],
    references: Callable[[], AsyncIterator[set[_Key]]],
    deleted_before: float,
    per_pass: int,
) -> int:
    purged = 0
    async for keys in _read_key_sets(store.deleted_keys(deleted_before), per_pass):
        unreferenced = await _unreferenced(ledger, references, keys)
        for batch in _delete_batches(keys - unreferenced):
            await store.restore(batch)
        for batch in _delete_batches(unreferenced):
            purged += await store.purge(batch, deleted_before)
    return purged


async def _read_key_sets(keys: AsyncIterator[_Key], size: int) -> AsyncIterator[set[_Key]]:
    """Keys in sets of up to `size`."""
    batch: set[_Key] = set()
    async for key in keys:
        batch.add(key)
        if len(batch) >= size:
            yield batch
            batch = set()
    if batch:
        yield batch


async def _unreferenced(ledger: Ledger, references: Callable[[], AsyncIterator[set[_Key]]], keys: set[_Key]) -> set[_Key]:
    """Those of the keys that no row refers to."""
    await ledger.delete_run(_NO_RUN)  # the empty write of the module's docstring
    remaining = set(keys)
    async for referenced in references():
        remaining -= referenced
    return remaining


def _delete_batches(keys: set[_Key]) -> Iterator[list[_Key]]:
    remaining = iter(sorted(keys))
    while batch := list(islice(remaining, _BLOBS_PER_DELETE)):
        yield batch


async def vacuum_databases(app: App, vacuum_bytes: float = math.inf, *, if_free: float = 0.0) -> None:
    """VACUUM the databases of a data directory, so that no deleted text stays in them, and empty their write-ahead logs.

    Files of more than `vacuum_bytes`, or of which a smaller share than `if_free` is unused, keep their size.
    """
    if not app.is_shared:
        for path in (Path(app.database_name), Path(app.blobs_name)):
            if path.exists():
                await asyncio.to_thread(vacuum_file, path, vacuum_bytes, if_free)
        if not if_free:
            _vacuum_marker(app).unlink(missing_ok=True)


def _vacuum_marker(app: App) -> Path:
    return Path(app.database_name).with_name(_VACUUM_MARKER)


@contextmanager
def _vacuum_needed_after(app: App) -> Iterator[None]:
    """Write the file that asks for a vacuum before the block, so that a crash cannot lose it, and again after the block.

    Again, because a vacuum may have begun, and removed the file, while the block was still deleting.
    """
    if app.is_shared:
        yield
        return
    _vacuum_marker(app).touch()
    yield
    _vacuum_marker(app).touch()


async def keep_vacuuming(app: App, stop: asyncio.Event, interval_s: float = _VACUUM_INTERVAL_S) -> None:
    """Vacuum the databases of a data directory when a deletion has left its marker file, until stopped."""

    async def vacuum_if_due() -> None:
        if _vacuum_marker(app).exists():
            await vacuum_databases(app, VACUUM_BYTES)

    await repeat("vacuum", vacuum_if_due, stop, interval_s)


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """How much the retention periods deleted."""

    runs: int = 0
    versions: int = 0
    blobs: int = 0
    events: int = 0
    deliveries: int = 0


async def delete_expired(app: App, defaults: RetentionPolicy) -> RetentionResult:
    """Delete what is older than each tenant's retention periods. The latest run of each site stays."""
    total = RetentionResult()
    for tenant in await app.queue.tenants():
        expired = await _delete_expired_of(app, tenant.id, defaults)
        total = RetentionResult(*(a + b for a, b in zip(astuple(total), astuple(expired), strict=True)))
    return total


async def _delete_expired_of(app: App, tenant: TenantId, defaults: RetentionPolicy) -> RetentionResult:
    ledger, stored, now = app.ledger.for_tenant(tenant), app.webhooks.retention(tenant), app.clock()
    policy = (await stored.policy()).with_defaults(defaults)
    runs = (
        [run for run in await ledger.runs_to_expire(now - policy.runs_s) if await ledger.delete_run(run)]
        if policy.runs_s
        else []
    )
    versions = 0
    while policy.versions_s and (count := await ledger.delete_versions(now - policy.versions_s)):
        versions += count
    library, media = app.media.for_tenant(tenant).library, 0
    while policy.versions_s and (count := await library.delete_unused(now - policy.versions_s)):
        media += count
    blobs = await _delete_blobs(app, tenant) if runs or versions or media else 0
    events = await stored.delete_events(now - policy.events_s) if policy.events_s else 0
    deliveries = await stored.delete_deliveries(now - policy.deliveries_s) if policy.deliveries_s else 0
    return RetentionResult(len(runs), versions, blobs, events, deliveries)


async def purge_deleted_of_all_tenants(app: App) -> int:
    """Permanently remove blobs of all tenants that were deleted longer ago than the grace period. Returns their number."""
    purged = 0
    for tenant in await app.queue.tenants():
        ledger, blobs = app.ledger.for_tenant(tenant.id), app.blobs.for_tenant(tenant.id)
        purged += await purge_deleted_blobs(ledger, blobs, time.time() - GRACE_S)
        purged += await purge_deleted_media(ledger, app.media.for_tenant(tenant.id), time.time() - GRACE_S)
    return purged


async def keep_deleting_expired(
    app: App, stop: asyncio.Event, delay_s: float = _RETENTION_DELAY_S, interval_s: float = _RETENTION_INTERVAL_S
) -> None:
    """Apply retention periods and remove deleted blobs once an hour, in the process with the leader lock, until stopped."""
    defaults = default_retention(operator_settings().retention_s)
    await repeat("retention", lambda: _delete_once(app, defaults), stop, interval_s, delay_s)


async def _delete_once(app: App, defaults: RetentionPolicy) -> None:
    async with app.queue.leader_lock("retention") as is_leader:
        if not is_leader:
            return
        async with deletion_lock(app) as is_free:
            if not is_free:
                _LOG.info("a backup is running, retention waits")
                return
            expired = await delete_expired(app, defaults)
            if any(astuple(expired)):
                _LOG.info("expired data deleted", extra=asdict(expired))
            if app.is_shared:
                await purge_deleted_of_all_tenants(app)
