"""Checks that the dependencies of the application work: compiled libraries, a browser, and the services of the settings.

`wait_for_services` waits at start until Postgres, Redis and the blob store answer, because services that start together are
ready in any order. The database is required: without it, waiting ends with an error. A worker can start without Redis and the
blob store, which are connected when they come up. A wrong setting is raised at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable
from typing import NamedTuple

from sitelore.app.settings import OperatorSettings, installed_browser
from sitelore.background import wait
from sitelore.extras import install_command, missing_libraries
from sitelore.fetch.browser.chromium import INSTALL_HINT, has_playwright
from sitelore.model.errors import SiteloreError, StorageError

_TIMEOUT_S = 15.0
_CLOCK_SKEW_S = 30.0

_LOG = logging.getLogger(__name__)

_BACKOFF_S = (0.25, 5.0)
"""The first pause between two attempts, and the longest."""
_REQUIRED = "database"


class Check(NamedTuple):
    """The result of one check. `ok` None: missing, but optional."""

    name: str
    ok: bool | None
    message: str


def check_libraries() -> list[Check]:
    """The compiled libraries: where each is, and the version of its interface. `int8_dot` belongs to the extra `search`."""
    from sitelore.extract.native import library as native  # noqa: PLC0415 a missing library is reported, not raised

    loaders = [("extract", native.library, native.VERSION)]
    if not missing_libraries("search"):
        from sitelore.store.vectors import in_memory  # noqa: PLC0415 it imports numpy

        loaders.append(("int8_dot", in_memory.native_library, in_memory.NATIVE_VERSION))
    checks: list[Check] = []
    for name, load, version in loaders:
        try:
            checks.append(Check(name, True, f"Compiled library {load()._name}, version {version}."))  # noqa: SLF001 as ctypes names it
        except ImportError as problem:
            checks.append(Check(name, False, f"{str(problem)[:1].upper()}{str(problem)[1:]}."))
    return checks


def check_browser() -> Check:
    """Whether pages that need scripts can be rendered, and if not, how to enable it. A crawl works without."""
    browser = installed_browser()
    if browser is None or not has_playwright():
        problem = (
            f"{browser.path} is installed, but the library that drives it is not. " if browser else "No browser was found. "
        )
        return Check("browser", None, problem + INSTALL_HINT)
    version = browser.version()
    if not version:
        return Check("browser", None, f"The browser {browser.path} does not start. {INSTALL_HINT}")
    return Check("browser", True, f"Pages that need scripts are rendered with {version} ({browser.path}).")


async def check_services(settings: OperatorSettings) -> list[Check]:
    """Connect to the database, Redis and the blob store, and use each."""
    if missing := missing_libraries("scaled"):
        return [Check("servers", False, f"Missing: {', '.join(missing)}. Install them with: {install_command('scaled')}")]
    return list(
        await asyncio.gather(
            _result("database", _use_database(settings)),
            _result("redis", _use_redis(settings)),
            _result("blobs", _use_blobs(settings)),
        )
    )


async def check_vectors(settings: OperatorSettings) -> list[Check]:
    """Connect to the vector store, where the settings name one."""
    if settings.vectors in {"", "database"}:
        return []
    return [await _result("vectors", _use_vectors(settings), "SITELORE_VECTORS")]


async def unavailable_services(settings: OperatorSettings) -> dict[str, str]:
    """The services that cannot be used now, each with the reason. Raises where a setting is wrong."""
    checks = {"database": _use_database(settings), "redis": _use_redis(settings), "blobs": _use_blobs(settings)}
    problems = await asyncio.gather(*(_problem(name, check) for name, check in checks.items()))
    return {name: problem for name, problem in zip(checks, problems, strict=True) if problem}


async def _problem(name: str, check: Awaitable[str]) -> str:
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            await check
    except StorageError as problem:
        return str(problem)
    except TimeoutError:
        return _timeout_message(name)
    return ""


def _timeout_message(name: str, variable: str = "") -> str:
    return f"The {name} named by {variable or f'SITELORE_{name.upper()}_URL'} did not answer within {_TIMEOUT_S:.0f} s."


async def _result(name: str, check: Awaitable[str], variable: str = "") -> Check:
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            return Check(name, True, await check)
    except SiteloreError as problem:
        return Check(name, False, str(problem))
    except TimeoutError:
        return Check(name, False, _timeout_message(name, variable))


async def _use_database(settings: OperatorSettings) -> str:
    from sitelore.store.engine import database_time, open_postgres  # noqa: PLC0415 only where services are configured

    engine = await open_postgres(settings.database_url)
    try:
        skew_s = abs(await engine.read(database_time) - time.time())
    finally:
        await engine.close()
    if skew_s > _CLOCK_SKEW_S:
        return f"The database works. Its clock, which counts, differs from this machine's by {skew_s:.0f} s."
    return "The database works."


async def _use_vectors(settings: OperatorSettings) -> str:
    from sitelore.store.vectors.qdrant import QdrantRest, QdrantServer  # noqa: PLC0415 only where services are configured

    rest = QdrantRest(QdrantServer.read(settings.vectors, settings.vectors_key))
    await rest.collections()
    return "Qdrant answers; it compares the vectors."


async def _use_redis(settings: OperatorSettings) -> str:
    from sitelore.store.redis.notifications import check_redis  # noqa: PLC0415 only where services are configured

    return f"Redis works ({await check_redis(settings.redis_url)})."


async def _use_blobs(settings: OperatorSettings) -> str:
    from sitelore.store.blobs.object_store import ObjectBlobs  # noqa: PLC0415 only where services are configured

    blobs = ObjectBlobs(settings.blobs_url, secrets=settings.blobs_secrets)
    try:
        await blobs.check()
    finally:
        await blobs.close()
    return "The blob store can be read and written."


async def wait_for_services(settings: OperatorSettings, stop: asyncio.Event | None = None) -> bool:
    """Wait until all services can be used, or `start_s` have passed. False when `stop` was set meanwhile."""
    stop = stop or asyncio.Event()
    began, pause_s = time.monotonic(), _BACKOFF_S[0]
    logged: dict[str, str] = {}
    while not stop.is_set():
        problems = await unavailable_services(settings)
        for name, problem in problems.items():
            if logged.get(name) != problem:
                _LOG.warning("waiting for %s: %s", name, problem)
        if logged and not problems:
            _LOG.info("all services are available after %.1f s", time.monotonic() - began)
        logged = problems
        left_s = settings.start_s - (time.monotonic() - began)
        if not problems:
            return True
        if left_s <= 0:
            if _REQUIRED in problems:
                raise StorageError(problems[_REQUIRED])
            _LOG.warning("starting without %s", ", ".join(sorted(problems)))
            return True
        await wait(stop, min(pause_s, left_s))
        pause_s = min(2 * pause_s, _BACKOFF_S[1])
    return False
