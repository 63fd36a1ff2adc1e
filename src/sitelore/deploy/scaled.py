"""The house on servers: Postgres, Redis and an object store, with any number of processes. `embedded.py` has the same shape."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec

from sitelore.crawl.extraction_pool import ExtractionPool
from sitelore.crawl.worker_context import ConcurrencyLimiter, WorkerConfig, WorkerContext
from sitelore.deploy.house import House
from sitelore.deploy.library import LibraryDoor
from sitelore.deploy.settings import OperatorSettings, house_browser
from sitelore.fetch.browser.chromium import Browser
from sitelore.model.errors import BadConfig

__all__ = ["House", "scaled"]

_NEEDED = ("asyncpg", "greenlet", "obstore", "redis")
_POLL_S = 0.5
_POOL = 6


@asynccontextmanager
async def scaled(settings: OperatorSettings) -> AsyncIterator[House]:
    """The house on the servers that the settings name. Redis and blobs are met when they are first needed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise BadConfig(f"working on servers needs {', '.join(missing)}: pip install 'sitelore[scaled]'")
    # Imported here: an embedded crawl need not pay for them, nor have them.
    from sitelore.store.clock import DatabaseClock  # noqa: PLC0415 see above
    from sitelore.store.engine import PostgresTerms, open_postgres  # noqa: PLC0415 see above
    from sitelore.store.ledger import SqlLedger  # noqa: PLC0415 see above
    from sitelore.store.object_blobs import ObjectBlobs  # noqa: PLC0415 see above
    from sitelore.store.redis_gate import RedisGate  # noqa: PLC0415 see above
    from sitelore.store.redis_signals import RedisNotifier, open_redis  # noqa: PLC0415 see above

    lease_s = settings.lease_s
    # A process that is frozen inside a transaction or while it holds a slot must not outlast its leases.
    engine = await open_postgres(
        settings.database_url, PostgresTerms(_POOL, settings.patience_s, frozen_s=min(10.0, lease_s / 2))
    )
    async with AsyncExitStack() as opened:
        ledger = SqlLedger(engine)
        opened.push_async_callback(ledger.close)
        clock = await opened.enter_async_context(DatabaseClock(engine).kept())
        blobs = ObjectBlobs(settings.blobs_url, settings.patience_s, settings.blobs_secrets)
        opened.push_async_callback(blobs.close)
        redis = open_redis(settings.redis_url)
        opened.push_async_callback(redis.aclose)
        gate = RedisGate(redis, slot_s=lease_s / 2)
        opened.push_async_callback(gate.close)
        notifier = RedisNotifier(redis)
        opened.push_async_callback(notifier.close)
        reader = ExtractionPool(settings.readers)
        opened.push_async_callback(reader.close)
        browser = Browser(house_browser)
        opened.push_async_callback(browser.close)
        config = WorkerConfig(is_shared=True, lease_s=lease_s, poll_s=_POLL_S, upkeep_s=settings.upkeep_s)
        worker_context = WorkerContext(
            ledger, gate, notifier, notifier, clock, config, ConcurrencyLimiter(settings.concurrency)
        )
        door = LibraryDoor(engine, ledger, blobs, clock, settings.redaction)
        opened.push_async_callback(door.close)
        yield House(worker_context, blobs, reader, browser, door, settings.sites_at_once, settings.redaction)
