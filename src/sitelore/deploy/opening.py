"""Which house: settings alone decide."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sitelore.deploy.embedded import embedded
from sitelore.deploy.house import House
from sitelore.deploy.settings import operator_settings


@asynccontextmanager
async def open_house(data: Path, *, writing: bool) -> AsyncIterator[House]:
    """The house on the servers that the environment names; without any, the one in this directory."""
    settings = operator_settings()
    if settings.is_scaled:
        from sitelore.deploy.scaled import scaled  # noqa: PLC0415 an embedded crawl need not pay for its imports

        async with scaled(settings) as house:
            yield house
        return
    async with embedded(
        data,
        writing=writing,
        readers=settings.readers,
        sites_at_once=settings.sites_at_once,
        redaction=settings.redaction,
    ) as house:
        yield house
