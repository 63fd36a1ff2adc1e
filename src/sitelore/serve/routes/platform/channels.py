"""Channel routes: list, create, show, change and delete the websites of a tenant."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from sitelore.extract.redaction.redactor import redactor_of
from sitelore.model.errors import UsageError
from sitelore.model.platform.accounts import Caller, TokenScope
from sitelore.model.platform.channels import Channel
from sitelore.platform.channels.channels import ChannelService
from sitelore.serve import problems
from sitelore.serve.openapi import answers, empty_answer
from sitelore.serve.platform.channel_requests import ChannelChanges, NewChannelRequest, changed_settings, new_settings
from sitelore.serve.platform.channel_schemas import ChannelList, ChannelView, WebhookSecret, channel_view
from sitelore.serve.platform.channels import ChannelRequest, channel_of, channel_service, no_channel
from sitelore.serve.problems import ApiProblem, FieldProblem
from sitelore.serve.responses import camel_case_pagination, json_response
from sitelore.serve.routes.dependencies import Offset, Service
from sitelore.serve.run_requests import open_url
from sitelore.serve.security.auth import require

router = APIRouter(prefix="/tenant/v1/channels", tags=["channels"])

_CHANNEL = "/{channel_id}"
Limit = Annotated[int, Query(ge=1, le=100, description="Entries in the answer at most.")]
Readable = Annotated[ChannelRequest, Depends(channel_of(TokenScope.READ))]
Manageable = Annotated[ChannelRequest, Depends(channel_of(TokenScope.MANAGE_CHANNEL))]


@router.get("", summary="The channels", responses=answers(ChannelList))
async def list_channels(
    service: Service,
    caller: Annotated[Caller, Depends(require(TokenScope.READ, is_open_to_channels=True))],
    limit: Limit = 50,
    offset: Offset = 0,
) -> Response:
    """The websites of the tenant, oldest first."""
    own = channel_service(service, caller.tenant)
    channels, total = await own.channels.list_channels(limit, offset, caller.channel)
    views = [await _view(own, channel) for channel in channels]
    return json_response(ChannelList(views, camel_case_pagination(total, limit, offset, len(views))))


@router.post(
    "",
    status_code=201,
    summary="Create a channel",
    responses=answers(ChannelView, problems.CHANNEL_EXISTS, problems.ADDRESS_REFUSED, status=201),
)
async def create_channel(
    body: NewChannelRequest,
    service: Service,
    caller: Annotated[Caller, Depends(require(TokenScope.MANAGE_CHANNEL))],
) -> Response:
    """Create a channel for a website. Nothing is crawled yet. A website has one channel, with and without `www.`."""
    own = channel_service(service, caller.tenant)
    url = open_url(body.url, "body.url", service.settings.allow_private)
    entry = service.entry_for(caller, "channel.created", lambda channel: f"channel:{channel.id}")
    recording = replace(own, channels=own.channels.recording(entry))
    try:
        channel = await recording.create(_title(body.title or url, service), url, new_settings(body))
    except UsageError as problem:
        raise ApiProblem(problems.INVALID, str(problem)) from None
    if channel is None:
        raise ApiProblem(problems.CHANNEL_EXISTS, "start a crawl of its channel, or change it")
    headers = {"Location": f"/tenant/v1/channels/{channel.id}"}
    return json_response(await _view(own, channel), 201, headers)


@router.get(
    _CHANNEL,
    summary="A channel",
    responses=answers(ChannelView, problems.CHANNEL_NOT_FOUND),
)
async def show_channel(target: Readable) -> Response:
    """A website of the tenant with its schedule and the state of its last crawl."""
    return json_response(await _view(target.service, target.channel))


@router.patch(
    _CHANNEL,
    summary="Change a channel",
    responses=answers(ChannelView, problems.CHANNEL_NOT_FOUND, problems.ADDRESS_REFUSED),
)
async def change_channel(body: ChannelChanges, target: Manageable) -> Response:
    """Change the fields that are named. A schedule changes at once. The website itself stays."""
    channel, runs = target.channel, target.runs
    title = channel.title if body.title is None else _title(body.title, runs)
    url = channel.url if body.url is None else open_url(body.url, "body.url", runs.settings.allow_private)
    try:
        recording = target.recording(target.entry_for("channel.changed"))
        changed = await recording.change(channel, title, url, changed_settings(body, channel))
    except UsageError as problem:
        raise ApiProblem(problems.INVALID, str(problem)) from None
    if changed is None:
        raise no_channel()
    return json_response(await _view(target.service, changed))


@router.delete(
    _CHANNEL,
    status_code=204,
    summary="Delete a channel",
    responses=empty_answer("The channel is deleted.", problems.CHANNEL_NOT_FOUND, problems.CONFLICT),
)
async def delete_channel(target: Manageable) -> Response:
    """Delete a channel with everything of its website: pages, crawls, versions, search index. An active crawl is cancelled."""
    try:
        await target.runs.context.delete_channel(target.channel, target.entry_for("channel.deleted"))
    except UsageError as problem:  # a backup is running
        raise ApiProblem(problems.CONFLICT, str(problem)) from None
    return Response(status_code=204)


@router.post(
    f"{_CHANNEL}/webhook-secret",
    status_code=201,
    summary="Replace the secret for change notices",
    responses=answers(WebhookSecret, problems.CHANNEL_NOT_FOUND, status=201),
)
async def replace_secret(target: Manageable) -> Response:
    """Create the secret with which requests to `changed` are signed. The last one is invalid at once."""
    secret = await target.recording(target.entry_for("channel.secret-replaced")).new_secret(target.channel)
    return json_response(WebhookSecret(secret), 201)


async def _view(service: ChannelService, channel: Channel) -> ChannelView:
    tenant = await service.tenant_settings()
    [*last], _ = await service.channels.jobs(channel.id, 1)
    return channel_view(channel, tenant, next(iter(last), None), await service.expected_schedule(channel))


def _title(title: str, service: Service) -> str:
    """The title, which must not hold a secret, because it is stored."""
    if redactor_of(service.context.redaction).count_secrets(title):
        raise ApiProblem(problems.INVALID, errors=(FieldProblem("body.title", "holds what looks like a secret"),))
    return title.strip()
