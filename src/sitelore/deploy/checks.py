"""Are the servers there that the settings name, and can they be used? One sentence each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from importlib.util import find_spec

from sitelore.deploy.settings import OperatorSettings, house_browser
from sitelore.fetch.browser.chromium import INSTALL_HINT, has_playwright
from sitelore.model.errors import SiteloreError, StorageError

Found = tuple[str, bool, str]
"""Name, whether it is fine, the sentence."""

_AT_MOST_S = 15.0
_CLOCKS_S = 30.0


def check_libraries() -> list[Found]:
    """The two compiled libraries: where each is, and the version of its interface."""
    from sitelore.extract.native import library as native  # noqa: PLC0415 a missing library is a finding here, not a failure
    from sitelore.store import vector_rows  # noqa: PLC0415 as above

    found: list[Found] = []
    for name, load, version in (
        ("extract", native.library, native.VERSION),
        ("near", vector_rows.library, vector_rows.VERSION),
    ):
        try:
            found.append((name, True, f"Compiled library {load()._name}, version {version}."))  # noqa: SLF001 as ctypes names it
        except ImportError as problem:
            found.append((name, False, f"{str(problem)[:1].upper()}{str(problem)[1:]}."))
    return found


def check_browser() -> tuple[bool | None, str]:
    """Whether pages that scripts make can be read, and if not, how they could be. None: a crawl goes on without."""
    found = house_browser()
    if found is None or not has_playwright():
        here = f"{found.path} is here, the library that drives it is not. " if found else "No browser was found. "
        return None, here + INSTALL_HINT
    version = found.version()
    if not version:
        return None, f"The browser {found.path} does not start. {INSTALL_HINT}"
    return True, f"Pages that scripts make are read by {version} ({found.path})."


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


async def check_vectors(settings: OperatorSettings) -> list[Found]:
    """The vector store, where the settings name one."""
    if settings.vectors in {"", "database"}:
        return []
    return [await _judged("vectors", _vectors(settings), "SITELORE_VECTORS")]


async def tried(settings: OperatorSettings) -> dict[str, str]:
    """The servers that cannot be used now, each with the sentence that says why. A wrong setting is raised."""
    checks = {"database": _database(settings), "redis": _redis(settings), "blobs": _blobs(settings)}
    found = await asyncio.gather(*(_problem(name, check) for name, check in checks.items()))
    return {name: why for name, why in zip(checks, found, strict=True) if why}


async def _problem(name: str, check: Awaitable[str]) -> str:
    try:
        async with asyncio.timeout(_AT_MOST_S):
            await check
    except StorageError as problem:
        return str(problem)
    except TimeoutError:
        return _no_answer(name)
    return ""


def _no_answer(name: str, variable: str = "") -> str:
    return f"The {name} named by {variable or f'SITELORE_{name.upper()}_URL'} gave no answer in {_AT_MOST_S:.0f} s."


async def _judged(name: str, check: Awaitable[str], variable: str = "") -> Found:
    try:
        async with asyncio.timeout(_AT_MOST_S):
            return name, True, await check
    except SiteloreError as problem:
        return name, False, str(problem)
    except TimeoutError:
        return name, False, _no_answer(name, variable)


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


async def _vectors(settings: OperatorSettings) -> str:
    from sitelore.store.qdrant_rest import QdrantRest, QdrantServer  # noqa: PLC0415 only where one is named

    rest = QdrantRest(QdrantServer.read(settings.vectors, settings.vectors_key))
    await rest.collections()
    return "Qdrant answers; it compares vectors."


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
