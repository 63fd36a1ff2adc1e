"""Types of outgoing webhooks: endpoints, deliveries, and the public types of events."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sitelore.model.frontier import StoredEvent, StoredEventKind
from sitelore.model.ids import RunId, TenantId
from sitelore.model.states import RunState


class WebhookType(StrEnum):
    """The public type of an event."""

    RUN_STARTED = "run.started"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"
    PAGE_NEW = "page.new"
    PAGE_CHANGED = "page.changed"
    PAGE_GONE = "page.gone"
    DELETIONS_HELD = "deletions.held"
    WEBHOOK_DISABLED = "webhook.disabled"
    """An endpoint was disabled, because it answered 410 or failed for too long. Sent to the other endpoints."""


TEST_TYPE = "webhook.test"
"""The type of a test message, which every endpoint receives on demand."""
_RUN_ENDS = {
    RunState.COMPLETED.value: WebhookType.RUN_COMPLETED,
    RunState.FAILED.value: WebhookType.RUN_FAILED,
    RunState.CANCELLED.value: WebhookType.RUN_CANCELLED,
}


def webhook_type(kind: StoredEventKind, facts: dict[str, str | int]) -> WebhookType:
    """The public type of a stored event."""
    if kind is StoredEventKind.RUN_ENDED:
        return _RUN_ENDS[str(facts["state"])]
    return WebhookType(kind.value)


class DeliveryState(StrEnum):
    """The state of a delivery."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    DEAD = "DEAD"
    """A dead letter: every attempt failed, or the endpoint was disabled. It can be replayed."""


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """An address that receives the events of a tenant. The secrets are as stored, so possibly encrypted."""

    id: str
    url: str
    types: tuple[str, ...]
    """The types that it receives; empty: all."""
    secret: str = field(repr=False)
    created_at: float
    enabled: bool = True
    disabled_reason: str = ""
    old_secret: str | None = field(default=None, repr=False)
    old_secret_until: float | None = None
    failing_since: float | None = None
    paused_until: float | None = None


@dataclass(frozen=True, slots=True)
class EndpointChange:
    """A change of an endpoint; None leaves a field as it is."""

    url: str | None = None
    types: tuple[str, ...] | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class WebhookQueue:
    """A leased queue: pending deliveries of one run to one endpoint."""

    tenant: TenantId
    endpoint: str
    run: RunId
    """Empty for events that belong to no run."""
    claimed_by: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event that is, or was, delivered to an endpoint, with the result of the last attempt."""

    endpoint: str
    event: int
    run: RunId
    type: str
    state: DeliveryState
    created_at: float
    attempts: int = 0
    attempted_at: float | None = None
    status: int | None = None
    elapsed_ms: int | None = None
    answer: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class PendingDelivery:
    """A delivery that is due, with its event and the API's id of the page."""

    delivery: Delivery
    event: StoredEvent
    page_id: int | None = None


@dataclass(frozen=True, slots=True)
class DeliveryBatch:
    """The first pending deliveries of a queue, and the endpoint they go to."""

    endpoint: WebhookEndpoint
    pending: tuple[PendingDelivery, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one attempt to deliver an event."""

    at: float
    elapsed_ms: int
    status: int | None = None
    answer: str | None = None
    """The first kilobyte of the answer, redacted."""
    error: str | None = None
    """Why there was no answer."""
    retry_after_s: float | None = None

    @property
    def is_success(self) -> bool:
        """Whether the receiver accepted the event."""
        return self.status is not None and 200 <= self.status < 300


class NextStep(StrEnum):
    """What follows a delivery attempt."""

    DONE = "done"
    RETRY = "retry"
    GIVE_UP = "give up"
    """The delivery becomes a dead letter; the queue continues with the next one."""
    DISABLE = "disable"
    """The endpoint is disabled, and all that it has not received becomes dead letters."""


@dataclass(frozen=True, slots=True)
class DeliveryVerdict:
    """The decision about a delivery after an attempt."""

    step: NextStep
    due_at: float = 0.0
    """When the queue continues."""
    paused_until: float | None = None
    """Until when all queues of the endpoint wait."""
    reason: str = ""
    """Why the endpoint is disabled."""


@dataclass(frozen=True, slots=True)
class DeliveryListing:
    """A page of the delivery log of an endpoint, newest first. None: all states."""

    state: DeliveryState | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True)
class WebhookStats:
    """Numbers for metrics, over all tenants."""

    endpoints: int = 0
    queues: int = 0
    """Queues with pending deliveries."""
    overdue_s: float = 0.0
    """For how long the oldest queue has been due."""
