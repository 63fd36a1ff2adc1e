"""Builds the application: `embedded` in one process and one directory, `scaled` on servers, `build_app` by the settings.

Parts are imported inside the functions: every command imports this module, and `--help` must not load a database.
"""
# ruff: noqa: PLC0415 see above

from __future__ import annotations

import fcntl
import time
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sitelore.extras import require_extra
from sitelore.model.access import NO_ACCESS, Access
from sitelore.model.errors import DataDirBusy, DiskFull, NoSuchRun
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.settings import BUILT_IN_ALONE, Redaction

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from sitelore.app.app import App
    from sitelore.app.settings import OperatorSettings
    from sitelore.platform_ports import Channels, MediaFiles
    from sitelore.ports import AuditStore
    from sitelore.store.blobs.object_store import ObjectBlobs
    from sitelore.store.engine import Engine, PostgresEngine

_POLL_S = 0.5
_POSTGRES_CONNECTIONS = 6
_CONNECT_TIMEOUT_S = 10.0
_SERVER_PATIENCE_S = 2.0
"""How long a server retries an unavailable database or blob store: its client waits for the answer."""
_SERVER_SILENCE_S = 1.5
"""A database that is connected but frozen is given up by a server after twice this time."""


@asynccontextmanager
async def build_app(data: Path, *, writing: bool, serving: bool = False) -> AsyncIterator[App]:
    """The application on the servers that the environment names; without any, on the data directory.

    `serving`: clients wait for answers, so an unavailable service is an error after seconds. Background work of a server
    tries again in its next cycle.
    """
    from sitelore.app.settings import operator_settings

    settings = operator_settings()
    if settings.is_scaled:
        if serving:
            settings = replace(settings, patience_s=min(settings.patience_s, _SERVER_PATIENCE_S))
        async with scaled(settings, silence_s=_SERVER_SILENCE_S if serving else None) as app:
            yield app
        return
    async with embedded(
        data,
        writing=writing,
        readers=settings.readers,
        sites_at_once=settings.sites_at_once,
        redaction=settings.redaction,
        access=settings.access,
        allow_private=settings.allow_private,
    ) as app:
        yield app


@asynccontextmanager
async def embedded(
    data: Path,
    *,
    writing: bool,
    readers: int = 1,
    sites_at_once: int = 4,
    redaction: Redaction = BUILT_IN_ALONE,
    access: Access = NO_ACCESS,
    allow_private: tuple[str, ...] = (),
) -> AsyncIterator[App]:
    """The application on one directory, with SQLite. `writing` locks the directory; others may read it meanwhile.

    Without `writing`, a directory without write permission can be read as well.
    """
    from sitelore.app.app import App, LazyAccounts, LazyMedia, LazySearch, LazyWebhooks
    from sitelore.app.settings import installed_browser
    from sitelore.app.site_sessions import SiteSessions
    from sitelore.crawl.context import WorkerContext
    from sitelore.crawl.extraction_pool import ExtractionPool
    from sitelore.fetch.browser.chromium import Browser
    from sitelore.frontier.gate import LocalGate
    from sitelore.store.blobs.sqlite import SqliteBlobs
    from sitelore.store.blobs.tenant import TenantBlobs
    from sitelore.store.engine import is_writable, open_sqlite
    from sitelore.store.ledger import SqlLedger, SqlRunQueue
    from sitelore.store.local_notifications import LocalEvents, LocalNotifier

    with data_directory(data, writing=writing):
        async with AsyncExitStack() as opened:
            read_only = not writing and not is_writable(data / "sitelore.db")
            engine = await open_sqlite(data / "sitelore.db", read_only=read_only)
            ledger, queue = SqlLedger(engine, DEFAULT_TENANT), SqlRunQueue(engine)
            opened.push_async_callback(ledger.close)
            blob_file = SqliteBlobs(data / "blobs.db", read_only=read_only)
            opened.push_async_callback(blob_file.close)
            media = LazyMedia(engine, partial(_media_directory, data / "media"))
            opened.push_async_callback(media.close)
            blobs = TenantBlobs(blob_file, DEFAULT_TENANT, media.files)
            reader = ExtractionPool(readers)
            opened.push_async_callback(reader.close)
            browser = Browser(installed_browser)
            opened.push_async_callback(browser.close)
            context = WorkerContext(ledger, queue, LocalGate(time.monotonic), LocalNotifier(), LocalEvents(), time.time)
            search = LazySearch(engine, ledger, queue, blobs, time.time, redaction)
            opened.push_async_callback(search.close)
            webhooks = LazyWebhooks(engine, ledger, time.time, redaction, access)
            opened.push_async_callback(webhooks.close)
            names = (str(data / "sitelore.db"), str(data / "blobs.db"))
            accounts = LazyAccounts(engine)
            audits, channels = partial(_open_audits, engine), partial(_open_channels, engine)
            sessions = SiteSessions(engine, time.time, data / "secret.key")
            yield App(
                context, blobs, reader, browser, search, accounts, webhooks, *names, media, audits, channels, sessions,
                sites_at_once, redaction, access, allow_private,
            )  # fmt: skip


@asynccontextmanager
async def scaled(settings: OperatorSettings, *, silence_s: float | None = None) -> AsyncIterator[App]:
    """The application on Postgres, Redis and an object store. Redis and the object store are connected on first use.

    `silence_s`: see `PostgresConfig`.
    """
    require_extra("scaled", "a deployment on Postgres, Redis and S3")
    from sitelore.app.app import App, LazyAccounts, LazyMedia, LazySearch, LazyWebhooks
    from sitelore.app.settings import installed_browser
    from sitelore.app.site_sessions import SiteSessions
    from sitelore.crawl.context import ConcurrencyLimiter, WorkerConfig, WorkerContext
    from sitelore.crawl.extraction_pool import ExtractionPool
    from sitelore.fetch.browser.chromium import Browser
    from sitelore.platform.accounts.rate_limits import LocalRateLimiter
    from sitelore.store.blobs.object_store import ObjectBlobs
    from sitelore.store.blobs.tenant import TenantBlobs
    from sitelore.store.engine import DatabaseClock
    from sitelore.store.ledger import SqlLedger, SqlRunQueue
    from sitelore.store.redis.api_state import RedisRateLimiter, RedisSessionStore
    from sitelore.store.redis.gate import RedisGate
    from sitelore.store.redis.notifications import RedisNotifier, open_redis

    lease_s, engine = settings.lease_s, await _postgres(settings, silence_s)
    async with AsyncExitStack() as opened:
        ledger, queue = SqlLedger(engine, DEFAULT_TENANT), SqlRunQueue(engine)
        opened.push_async_callback(ledger.close)
        clock = await opened.enter_async_context(DatabaseClock(engine).kept_in_sync())
        bucket = ObjectBlobs(settings.blobs_url, settings.patience_s, settings.blobs_secrets)
        opened.push_async_callback(bucket.close)
        media = LazyMedia(engine, partial(_media_objects, bucket))
        opened.push_async_callback(media.close)
        blobs = TenantBlobs(bucket, DEFAULT_TENANT, media.files)
        redis = open_redis(settings.redis_url)
        opened.push_async_callback(redis.aclose)
        gate = RedisGate(redis, slot_s=lease_s / 2)
        opened.push_async_callback(gate.close)
        notifier = RedisNotifier(redis)
        opened.push_async_callback(notifier.close)
        reader = ExtractionPool(settings.readers)
        opened.push_async_callback(reader.close)
        browser = Browser(installed_browser)
        opened.push_async_callback(browser.close)
        config = WorkerConfig(is_shared=True, lease_s=lease_s, poll_s=_POLL_S, upkeep_s=settings.upkeep_s)
        context = WorkerContext(
            ledger, queue, gate, notifier, notifier, clock, config, ConcurrencyLimiter(settings.concurrency)
        )
        search = LazySearch(engine, ledger, queue, blobs, clock, settings.redaction)
        opened.push_async_callback(search.close)
        webhooks = LazyWebhooks(engine, ledger, clock, settings.redaction, settings.access)
        opened.push_async_callback(webhooks.close)
        names = (engine.name, bucket.name)
        accounts = LazyAccounts(engine, RedisRateLimiter(redis, LocalRateLimiter()), RedisSessionStore(redis))
        audits, channels = partial(_open_audits, engine), partial(_open_channels, engine)
        sessions = SiteSessions(engine, clock, None)
        yield App(
            context, blobs, reader, browser, search, accounts, webhooks, *names, media, audits, channels, sessions,
            settings.sites_at_once, settings.redaction, settings.access, settings.allow_private,
        )  # fmt: skip


def _open_audits(engine: Engine) -> AuditStore:
    """The audits of the default tenant."""
    from sitelore.store.audits.audit_store import SqlAuditStore

    return SqlAuditStore(engine, DEFAULT_TENANT)


def _open_channels(engine: Engine) -> Channels:
    """The channels of the default tenant."""
    from sitelore.store.platform.channels.repository import SqlChannels

    return SqlChannels(engine, DEFAULT_TENANT)


def _media_directory(folder: Path) -> MediaFiles:
    from sitelore.store.blobs.media_files import DirectoryMediaFiles

    return DirectoryMediaFiles(folder)


def _media_objects(blobs: ObjectBlobs) -> MediaFiles:
    from sitelore.store.blobs.media_files import ObjectMediaFiles

    return ObjectMediaFiles(blobs.bucket)


async def _postgres(settings: OperatorSettings, silence_s: float | None) -> PostgresEngine:
    from sitelore.store.engine import PostgresConfig, open_postgres

    # A process that freezes inside a transaction, or while it holds a slot, must not block others for longer than its leases.
    config = PostgresConfig(
        _POSTGRES_CONNECTIONS,
        settings.patience_s,
        connect_timeout_s=min(_CONNECT_TIMEOUT_S, max(1.0, settings.patience_s)),
        idle_in_transaction_s=min(10.0, settings.lease_s / 2),
        silence_s=silence_s,
    )
    return await open_postgres(settings.database_url, config)


@contextmanager
def data_directory(data: Path, *, writing: bool) -> Iterator[None]:
    """Create and lock the directory for writing; for reading, require that something was crawled into it."""
    if not writing:
        if not (data / "sitelore.db").exists():
            raise NoSuchRun(f"no crawl data in {data}; run `sitelore crawl URL` first, or name another directory with --data")
        yield
        return
    if data.exists() and not data.is_dir():
        raise DiskFull(f"{data} is a file, not a directory; choose another directory with --data")
    try:
        data.mkdir(parents=True, exist_ok=True)
        lock = (data / "lock").open("w")
    except OSError as error:
        raise DiskFull(f"cannot write to {data}: {error.strerror}; choose another directory with --data") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DataDirBusy(
                f"another process is writing to {data}; wait until it has finished, or choose another directory with --data"
            ) from error
        yield
