"""Dependencies of routes below a channel: the channel of the path, and the service for the caller's tenant.

A channel that does not exist, one of another tenant, and one that the token may not reach get the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Path
from starlette.requests import Request

from sitelore.model.ids import TenantId
from sitelore.model.platform.accounts import Caller, TokenScope
from sitelore.model.platform.channels import Channel
from sitelore.platform.channels import ChannelService
from sitelore.platform.media import MediaService
from sitelore.ports import Blobs, Ledger
from sitelore.serve.auth import require
from sitelore.serve.problems import CHANNEL_NOT_FOUND, ApiProblem
from sitelore.serve.run_service import RunService, run_service_of

_CHANNEL_ID = re.compile(r"[0-9A-Za-z-]{1,64}")

ChannelId = Annotated[str, Path(description="The id of a channel.")]


@dataclass(frozen=True, slots=True)
class ChannelRequest:
    """A request that concerns one channel, with everything bound to its tenant."""

    channel: Channel
    caller: Caller
    service: ChannelService
    ledger: Ledger
    blobs: Blobs
    media: MediaService
    runs: RunService


def channel_of(scope: TokenScope) -> Callable[[Request, str], Awaitable[ChannelRequest]]:
    """A FastAPI dependency: the channel of the path, for a caller whose token has this scope."""
    permitted = require(scope)

    async def channel_in_path(request: Request, channel_id: ChannelId) -> ChannelRequest:
        caller = await permitted(request)
        is_id = _CHANNEL_ID.fullmatch(channel_id) is not None  # Postgres rejects some strings, such as those with NUL
        target = await _find(request, channel_id, caller) if is_id and caller.channel in {"", channel_id} else None
        if target is None:
            raise no_channel()
        return target

    return channel_in_path


async def channel_request(request: Request, channel_id: str) -> ChannelRequest | None:
    """The channel of a request that proves by a signature that it may use it; the channel names the tenant."""
    context = (await run_service_of(request)).context
    is_id = _CHANNEL_ID.fullmatch(channel_id) is not None
    tenant = await context.channels.queue().tenant_of_channel(channel_id) if is_id else None
    if tenant is None:
        return None
    return await _find(request, channel_id, Caller(tenant, frozenset(), actor="webhook", channel=channel_id))


async def _find(request: Request, channel_id: str, caller: Caller) -> ChannelRequest | None:
    runs = await run_service_of(request)
    service = channel_service(runs, caller.tenant)
    channel = await service.channels.channel(channel_id)
    if channel is None:
        return None
    ledger, blobs = runs.context.ledger.for_tenant(caller.tenant), runs.context.blobs.for_tenant(caller.tenant)
    return ChannelRequest(channel, caller, service, ledger, blobs, runs.context.open_media(caller.tenant), runs)


def channel_service(runs: RunService, tenant: TenantId) -> ChannelService:
    """The channels of a tenant, with the address rules of this server."""
    context = runs.context
    return ChannelService(
        context.channels.for_tenant(tenant), context.clock, context.redaction, runs.settings.allow_private, context.announce
    )


def no_channel() -> ApiProblem:
    """The answer for a channel that does not exist, or that the caller may not reach."""
    return ApiProblem(CHANNEL_NOT_FOUND, "no such channel")
