"""Dependencies of routes below a channel: the channel of the path, and the service for the caller's tenant.

A channel that does not exist, one of another tenant, and one that the token may not reach get the same answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import Path
from starlette.requests import Request

from sitelore.model.ids import TenantId, is_id
from sitelore.model.platform.accounts import Caller, EntryFor, TokenScope
from sitelore.model.platform.channels import Channel
from sitelore.platform.channels.channels import ChannelService
from sitelore.platform.media import MediaService
from sitelore.platform.secret_box import SecretBox
from sitelore.ports import Blobs, Ledger
from sitelore.serve.problems import CHANNEL_NOT_FOUND, ApiProblem
from sitelore.serve.run_service import RunService, run_service_of, services_of
from sitelore.serve.security.auth import caller_of, require

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

    def entry_for(self, action: str, changed: str | Callable[[Any], str] = "", when: Callable[[Any], bool] = bool) -> EntryFor:
        """The entry about a change by the caller: of this object, or of the channel. See `RunService.entry_for`."""
        return self.runs.entry_for(self.caller, action, changed or f"channel:{self.channel.id}", when)

    def recording(self, entry_for: EntryFor) -> ChannelService:
        """The service, with its next change in the audit log."""
        return replace(self.service, channels=self.service.channels.recording(entry_for))


@dataclass(frozen=True, slots=True)
class _ChannelOf:
    scope: TokenScope

    async def __call__(self, request: Request, channel_id: ChannelId) -> ChannelRequest:
        caller = await require(self.scope, is_open_to_channels=True)(request)
        may_exist = is_id(channel_id) and caller.channel in {"", channel_id}
        target = await _find(request, channel_id, caller) if may_exist else None
        if target is None:
            raise no_channel()
        return target


def channel_of(scope: TokenScope) -> Callable[[Request, str], Awaitable[ChannelRequest]]:
    """A FastAPI dependency: the channel of the path, for a caller whose token has this scope."""
    return _ChannelOf(scope)


async def channel_request(request: Request, channel_id: str) -> ChannelRequest | None:
    """The channel of a request that proves by a signature that it may use it; the channel names the tenant."""
    context = (await run_service_of(request)).context
    tenant_id = await context.channels.queue().tenant_of_channel(channel_id) if is_id(channel_id) else None
    tenant = None if tenant_id is None else await context.directory.tenant(tenant_id)
    if tenant is None or tenant.suspended_at is not None:
        return None
    return await _find(request, channel_id, replace(caller_of(request), tenant=tenant.id, channel=channel_id))


async def _find(request: Request, channel_id: str, caller: Caller) -> ChannelRequest | None:
    runs = services_of(request).of(caller.tenant)
    service = channel_service(runs, caller.tenant)
    channel = await service.channels.channel(channel_id)
    if channel is None:
        return None
    context = runs.context
    return ChannelRequest(channel, caller, service, context.ledger, context.blobs, context.open_media(caller.tenant), runs)


def channel_service(runs: RunService, tenant: TenantId) -> ChannelService:
    """The channels of a tenant, with the address rules of this server."""
    context, settings = runs.context, runs.settings
    return ChannelService(
        channels=context.channels.for_tenant(tenant),
        clock=context.clock,
        redaction=context.redaction,
        allow_private=settings.allow_private,
        announce=context.announce,
        secrets=SecretBox(settings.secrets_keys),
    )


def no_channel() -> ApiProblem:
    """The answer for a channel that does not exist, or that the caller may not reach."""
    return ApiProblem(CHANNEL_NOT_FOUND, "no such channel")
