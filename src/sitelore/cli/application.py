"""Opens the application for a command, and finds the tenant that its options name."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sitelore.app.wiring import build_app
from sitelore.cli.console import run_async
from sitelore.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from sitelore.app.app import App
    from sitelore.model.frontier import Tenant

T = TypeVar("T")


def with_app(data: Path, work: Callable[[App], Awaitable[T]], *, writing: bool) -> T:
    """The result of work with the application on a data directory."""

    async def run() -> T:
        async with build_app(data, writing=writing) as app:
            return await work(app)

    return run_async(run())


async def tenant_named(app: App, name: str) -> Tenant:
    """The tenant of this name. Raises `UsageError`."""
    tenant = await app.queue.find_tenant(name)
    if tenant is None:
        raise UsageError(f"no tenant {name!r}; see `sitelore tenant list`")
    return tenant
