"""Are the servers there that the settings name, and can they be used? One sentence each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from importlib.util import find_spec

from sitelore.deploy.settings import OperatorSettings
from sitelore.model.errors import SiteloreError

Found = tuple[str, bool, str]
"""Name, whether it is fine, the sentence."""

_AT_MOST_S = 15.0
_CLOCKS_S = 30.0


async def check_servers(settings: OperatorSettings) -> list[Found]:
    """The database, Redis and the blob store, each tried for real."""
    missing = [name for name in ("asyncpg", "redis", "obstore") if find_spec(name) is None]
    if missing:
        return [("servers", False, f"Missing: {', '.join(missing)}; pip install 'sitelore[scaled]'.")]
    return list(
        await asyncio.gather(
            _judged("database", _database(settings)), _judged("redis", _redis(settings)), _judged("blobs", _blobs(settings))
        )
    )


async def _judged(name: str, check: Awaitable[str]) -> Found:
    try:
        async with asyncio.timeout(_AT_MOST_S):
            return name, True, await check
    except SiteloreError as problem:
        return name, False, str(problem)
    except TimeoutError:
        return name, False, f"The {name} named by SITELORE_{name.upper()}_URL gave no answer in {_AT_MOST_S:.0f} s."


async def _database(settings: OperatorSettings) -> str:
    from sitelore.store.engine import database_time, open_postgres  # noqa: PLC0415 only where servers are named

    engine = await open_postgres(settings.database_url)
    try:
        apart_s = abs(await engine.read(database_time) - time.time())
    finally:
        await engine.close()
    if apart_s > _CLOCKS_S:
        return f"The database can be used; its clock, which counts, and this machine's are {apart_s:.0f} s apart."
    return "The database can be used."


async def _redis(settings: OperatorSettings) -> str:
    from sitelore.store.redis_signals import check_redis  # noqa: PLC0415 only where servers are named

    return f"Redis can be used ({await check_redis(settings.redis_url)})."


async def _blobs(settings: OperatorSettings) -> str:
    from sitelore.store.object_blobs import ObjectBlobs  # noqa: PLC0415 only where servers are named

    blobs = ObjectBlobs(settings.blobs_url, secrets=settings.blobs_secrets)
    try:
        await blobs.check()
    finally:
        await blobs.close()
    return "The blob store can be written and read."
