"""Requests and responses of the webhook routes."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from sitelore.model.platform.webhooks import Attempt, Delivery, DeliveryState, WebhookEndpoint, WebhookType
from sitelore.platform.webhooks.endpoints import GRACE_S, MAX_GRACE_S
from sitelore.serve.responses import ListPosition
from sitelore.serve.schemas import moment
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
    pagination: ListPosition


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
    pagination: ListPosition


class Replayed(msgspec.Struct, frozen=True):
    """How many deliveries are queued again."""

    replayed: int


ANSWERS: tuple[type[msgspec.Struct], ...] = (WebhookView, WebhookWithSecret, WebhookList, TestResult, DeliveryList, Replayed)


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
