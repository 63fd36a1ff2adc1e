"""Webhook routes: endpoints of the tenant, their secrets, tests, delivery log and replays."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from sitelore.model.errors import UsageError
from sitelore.model.ids import TenantId, is_id, new_uuid
from sitelore.model.platform.accounts import Caller, TokenScope
from sitelore.model.platform.webhooks import (
    Attempt,
    Delivery,
    DeliveryListing,
    DeliveryState,
    EndpointChange,
    WebhookEndpoint,
    WebhookType,
)
from sitelore.platform.webhooks.endpoints import GRACE_S, MAX_GRACE_S, EndpointDisabled, NoSuchEndpoint, WebhookService
from sitelore.serve import problems
from sitelore.serve.openapi import answers, empty_answer
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import CamelCasePagination, camel_case_pagination, json_response
from sitelore.serve.routes.dependencies import Limit, Offset, Service, time_of
from sitelore.serve.run_service import RunService
from sitelore.serve.schemas import moment
from sitelore.serve.security.auth import require
from sitelore.times import iso_time

_BODY = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)
_TYPES = [kind.value for kind in WebhookType]
_EXAMPLE = "https://receiver.example/hooks/sitelore"

Target = Annotated[
    str,
    Field(min_length=1, max_length=2000, description="Where events are sent: an https URL.", examples=[_EXAMPLE]),
]
Types = Annotated[
    list[Annotated[str, Field(max_length=64)]],
    Field(max_length=len(_TYPES), description=f"Types to receive; empty: all. Known: {', '.join(_TYPES)}."),
]
Enabled = Annotated[bool, Field(description="Whether events are sent.")]
When = Annotated[
    str | None,
    Field(max_length=40, description="An ISO 8601 time; without a zone it is UTC.", examples=["2027-01-15T08:00:00Z"]),
]


class NewWebhook(BaseModel):
    """Body of a new webhook."""

    model_config = _BODY

    url: Target
    types: Types = Field(default_factory=list)
    enabled: Enabled = True


class WebhookChanges(BaseModel):
    """Changes of a webhook. Fields that are left out stay as they are."""

    model_config = _BODY

    url: Target | None = None
    types: Types | None = None
    enabled: Enabled | None = None


class Rotation(BaseModel):
    """Body of a rotation."""

    model_config = _BODY

    grace_seconds: Annotated[
        int, Field(ge=0, le=int(MAX_GRACE_S), description="For how long messages are signed with the old secret as well.")
    ] = int(GRACE_S)


class ReplayPeriod(BaseModel):
    """Which dead letters to replay: those of events from `since` until before `until`."""

    model_config = _BODY

    since: When = None
    until: When = None


class WebhookView(msgspec.Struct, frozen=True, rename="camel"):
    """A webhook endpoint. Its secret is not shown."""

    id: str
    url: str
    types: list[str]
    enabled: bool
    disabled_reason: str | None
    created_at: str
    failing_since: str | None
    paused_until: str | None
    old_secret_until: str | None


class WebhookWithSecret(WebhookView, frozen=True, rename="camel"):
    """A webhook endpoint with its new secret, which is not shown again."""

    secret: str


class WebhookList(msgspec.Struct, frozen=True):
    """A page of webhook endpoints."""

    webhooks: list[WebhookView]
    pagination: CamelCasePagination


class TestResult(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a test message."""

    accepted: bool
    status: int | None
    elapsed_ms: int
    answer: str | None
    error: str | None


class DeliveryView(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of the delivery log: an event, and the last attempt to deliver it."""

    event_id: str
    run_id: str | None
    type: str
    state: DeliveryState
    created_at: str
    attempts: int
    attempted_at: str | None
    status: int | None
    elapsed_ms: int | None
    answer: str | None
    error: str | None


class DeliveryList(msgspec.Struct, frozen=True):
    """A page of the delivery log, newest first."""

    deliveries: list[DeliveryView]
    pagination: CamelCasePagination


class Replayed(msgspec.Struct, frozen=True):
    """How many deliveries are queued again."""

    replayed: int


def webhook_view(endpoint: WebhookEndpoint) -> WebhookView:
    """An endpoint as the API shows it."""
    return WebhookView(**_fields(endpoint))


def webhook_with_secret(endpoint: WebhookEndpoint, secret: str) -> WebhookWithSecret:
    """An endpoint with its new secret."""
    return WebhookWithSecret(**_fields(endpoint), secret=secret)


def _fields(endpoint: WebhookEndpoint) -> dict[str, Any]:
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "types": list(endpoint.types),
        "enabled": endpoint.enabled,
        "disabled_reason": endpoint.disabled_reason or None,
        "created_at": iso_time(endpoint.created_at),
        "failing_since": moment(endpoint.failing_since),
        "paused_until": moment(endpoint.paused_until),
        "old_secret_until": moment(endpoint.old_secret_until),
    }


def result_view(attempt: Attempt) -> TestResult:
    """The result of a test as the API shows it."""
    return TestResult(attempt.is_success, attempt.status, attempt.elapsed_ms, attempt.answer, attempt.error)


def delivery_view(delivery: Delivery) -> DeliveryView:
    """An entry of the delivery log as the API shows it."""
    return DeliveryView(
        event_id=str(delivery.event),
        run_id=delivery.run or None,
        type=delivery.type,
        state=delivery.state,
        created_at=iso_time(delivery.created_at),
        attempts=delivery.attempts,
        attempted_at=moment(delivery.attempted_at),
        status=delivery.status,
        elapsed_ms=delivery.elapsed_ms,
        answer=delivery.answer,
        error=delivery.error,
    )


router = APIRouter(prefix="/tenant/v1/webhooks", tags=["webhooks"])

_EVENT_ID = re.compile(r"[0-9]{1,18}")
_WEBHOOK = "/{webhook_id}"
_TIME = "time (use 2027-01-15T08:00:00Z)"
_permitted = require(TokenScope.MANAGE_CHANNEL)


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A request that concerns the webhooks of the caller's tenant."""

    caller: Caller
    service: WebhookService
    runs: RunService

    @property
    def tenant(self) -> TenantId:
        """The caller's tenant."""
        return self.caller.tenant

    def recording(self, action: str, webhook: str, when: Callable[[Any], bool] = bool) -> WebhookService:
        """The service, with what the caller changes of this webhook in the audit log."""
        return self.service.recording(self.runs.entry_for(self.caller, action, f"webhook:{webhook}", when))


async def _of_caller(runs: Service, caller: Annotated[Caller, Depends(_permitted)]) -> WebhookRequest:
    return WebhookRequest(caller, runs.context.open_webhooks(), runs)


Webhooks = Annotated[WebhookRequest, Depends(_of_caller)]


@contextmanager
def _as_problems() -> Iterator[None]:
    """Turn the errors of the service into problems."""
    try:
        yield
    except NoSuchEndpoint:
        raise ApiProblem(problems.WEBHOOK_NOT_FOUND) from None
    except EndpointDisabled:
        raise ApiProblem(problems.WEBHOOK_DISABLED, "enable it first") from None
    except UsageError as problem:
        raise ApiProblem(problems.INVALID, str(problem)) from None


async def _known_id(webhook_id: Annotated[str, Path(description="The id of a webhook.")]) -> str:
    if not is_id(webhook_id):
        raise ApiProblem(problems.WEBHOOK_NOT_FOUND)
    return webhook_id


WebhookId = Annotated[str, Depends(_known_id)]


@router.get("", summary="The webhooks", responses=answers(WebhookList))
async def list_webhooks(own: Webhooks, limit: Limit = 100, offset: Offset = 0) -> Response:
    """The webhook endpoints of the tenant, oldest first."""
    endpoints = await own.service.endpoints(own.tenant)
    views = [webhook_view(endpoint) for endpoint in endpoints[offset : offset + limit]]
    return json_response(WebhookList(views, camel_case_pagination(len(endpoints), limit, offset, len(views))))


@router.post(
    "",
    status_code=201,
    summary="Create a webhook",
    responses=answers(WebhookWithSecret, status=201),
)
async def create_webhook(body: NewWebhook, own: Webhooks) -> Response:
    """Send events to a URL from now on. The answer has the secret that signs them; it is not shown again."""
    with _as_problems():
        number = new_uuid(own.service.now())
        recording = own.recording("webhook.created", number, lambda _: True)
        endpoint, secret = await recording.create(own.tenant, body.url, body.types, enabled=body.enabled, number=number)
    headers = {"Location": f"{router.prefix}/{endpoint.id}"}
    return json_response(webhook_with_secret(endpoint, secret), 201, headers)


@router.get(
    _WEBHOOK,
    summary="A webhook",
    responses=answers(WebhookView, problems.WEBHOOK_NOT_FOUND),
)
async def show_webhook(webhook_id: WebhookId, own: Webhooks) -> Response:
    """A webhook endpoint and its health."""
    with _as_problems():
        return json_response(webhook_view(await own.service.endpoint(own.tenant, webhook_id)))


@router.patch(
    _WEBHOOK,
    summary="Change a webhook",
    responses=answers(WebhookView, problems.WEBHOOK_NOT_FOUND),
)
async def change_webhook(webhook_id: WebhookId, body: WebhookChanges, own: Webhooks) -> Response:
    """Change URL or types, enable or disable. What a disabled webhook has not received becomes dead letters."""
    types = None if body.types is None else tuple(body.types)
    with _as_problems():
        change = EndpointChange(body.url, types, body.enabled)
        changed = await own.recording("webhook.changed", webhook_id).change(own.tenant, webhook_id, change)
    return json_response(webhook_view(changed))


@router.delete(
    _WEBHOOK,
    status_code=204,
    summary="Delete a webhook",
    responses=empty_answer("The webhook is deleted.", problems.WEBHOOK_NOT_FOUND),
)
async def delete_webhook(webhook_id: WebhookId, own: Webhooks) -> Response:
    """Delete a webhook endpoint with its delivery log."""
    with _as_problems():
        await own.recording("webhook.deleted", webhook_id).remove(own.tenant, webhook_id)
    return Response(status_code=204)


@router.post(
    f"{_WEBHOOK}/rotate",
    summary="Rotate the secret",
    responses=answers(WebhookWithSecret, problems.WEBHOOK_NOT_FOUND),
)
async def rotate_secret(webhook_id: WebhookId, body: Rotation, own: Webhooks) -> Response:
    """A new secret. For the grace period, messages carry the signatures of both."""
    with _as_problems():
        recording = own.recording("webhook.rotated", webhook_id)
        endpoint, secret = await recording.rotate(own.tenant, webhook_id, body.grace_seconds)
    return json_response(webhook_with_secret(endpoint, secret))


@router.post(
    f"{_WEBHOOK}/test",
    summary="Send a test message",
    responses=answers(TestResult, problems.WEBHOOK_NOT_FOUND),
)
async def test_webhook(webhook_id: WebhookId, own: Webhooks) -> Response:
    """Send a message of the type `webhook.test` now, and show the answer. It is not repeated."""
    with _as_problems():
        return json_response(result_view(await own.service.test(own.tenant, webhook_id)))


@router.get(
    f"{_WEBHOOK}/deliveries",
    summary="The delivery log",
    responses=answers(DeliveryList, problems.WEBHOOK_NOT_FOUND),
)
async def list_deliveries(
    webhook_id: WebhookId,
    own: Webhooks,
    state: Annotated[DeliveryState | None, Query(description="Only deliveries in this state; DEAD: dead letters.")] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Events that were or will be sent, newest first, each with its last attempt."""
    with _as_problems():
        entries, total = await own.service.deliveries(own.tenant, webhook_id, DeliveryListing(state, limit, offset))
    page = camel_case_pagination(total, limit, offset, len(entries))
    return json_response(DeliveryList([delivery_view(entry) for entry in entries], page))


@router.post(
    f"{_WEBHOOK}/deliveries/{{event_id}}/replay",
    summary="Replay a delivery",
    responses=answers(Replayed, problems.WEBHOOK_NOT_FOUND, problems.WEBHOOK_DISABLED),
)
async def replay_delivery(
    webhook_id: WebhookId, event_id: Annotated[str, Path(description="The id of an event.")], own: Webhooks
) -> Response:
    """Deliver an event again, in any state, with all attempts."""
    with _as_problems():
        recording = own.recording("webhook.replayed", webhook_id)
        if not _EVENT_ID.fullmatch(event_id) or not await recording.replay(own.tenant, webhook_id, int(event_id)):
            raise NoSuchEndpoint
    return json_response(Replayed(1))


@router.post(
    f"{_WEBHOOK}/replay",
    summary="Replay dead letters",
    responses=answers(Replayed, problems.WEBHOOK_NOT_FOUND, problems.WEBHOOK_DISABLED),
)
async def replay_dead_letters(webhook_id: WebhookId, body: ReplayPeriod, own: Webhooks) -> Response:
    """Deliver the dead letters of a period again; without times, all of them."""
    since, until = time_of(body.since, "body.since", _TIME), time_of(body.until, "body.until", _TIME)
    with _as_problems():
        recording = own.recording("webhook.replayed", webhook_id, lambda _: True)
        count = await recording.replay_dead(own.tenant, webhook_id, since or 0.0, math.inf if until is None else until)
    return json_response(Replayed(count))
