"""Management of webhook endpoints: create, change, rotate secrets, test, list deliveries, replay."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

from sitelore.model.errors import UsageError
from sitelore.model.ids import TenantId, new_uuid
from sitelore.model.platform.accounts import EntryFor
from sitelore.model.platform.webhooks import (
    TEST_TYPE,
    Attempt,
    Delivery,
    DeliveryListing,
    EndpointChange,
    WebhookEndpoint,
    WebhookStats,
    WebhookType,
)
from sitelore.platform.secret_box import SecretBox
from sitelore.platform.webhooks.delivery import WebhookSender, encode_message, new_secret
from sitelore.platform_ports import Webhooks
from sitelore.ports import Clock

_MAX_ENDPOINTS = 20
_MAX_URL_CHARS = 2_000
GRACE_S = 86_400.0
MAX_GRACE_S = 30 * 86_400.0


class NoSuchEndpoint(Exception):
    """The tenant has no webhook endpoint with this id."""


class EndpointDisabled(Exception):
    """The endpoint must be enabled first."""


class WebhookService:
    """The webhooks of all tenants. Every method takes the tenant first."""

    def __init__(self, webhooks: Webhooks, sender: WebhookSender, secrets: SecretBox, clock: Clock) -> None:
        self._webhooks = webhooks
        self._secrets = secrets
        self._clock = clock
        self.entry_for: EntryFor | None = None
        self.sender = sender

    def recording(self, entry_for: EntryFor) -> WebhookService:
        """The service, with its next change in the audit log."""
        recording = copy.copy(self)
        recording.entry_for = entry_for
        return recording

    def _of(self, tenant: TenantId) -> Webhooks:
        webhooks = self._webhooks.for_tenant(tenant)
        return webhooks if self.entry_for is None else webhooks.recording(self.entry_for)

    def now(self) -> float:
        """The time by the clock that decides about deliveries."""
        return self._clock()

    async def create(
        self, tenant: TenantId, url: str, types: Sequence[str] = (), *, enabled: bool = True, number: str = ""
    ) -> tuple[WebhookEndpoint, str]:
        """A new endpoint and its secret, which is not shown again. `number`: its id. Raises `UsageError`."""
        webhooks = self._of(tenant)
        self._check_url(url)
        if len(await webhooks.endpoints()) >= _MAX_ENDPOINTS:
            raise UsageError(f"there are {_MAX_ENDPOINTS} webhooks already; remove one first")
        now = self._clock()
        number, secret = number or new_uuid(now), new_secret()
        endpoint = WebhookEndpoint(number, url, checked_types(types), self._secrets.seal(secret, number), now, enabled)
        await webhooks.add_endpoint(endpoint)
        return endpoint, secret

    async def endpoints(self, tenant: TenantId) -> list[WebhookEndpoint]:
        """All endpoints, oldest first."""
        return await self._of(tenant).endpoints()

    async def endpoint(self, tenant: TenantId, endpoint: str) -> WebhookEndpoint:
        """One endpoint. Raises `NoSuchEndpoint`."""
        return _existing(await self._of(tenant).endpoint(endpoint))

    async def change(self, tenant: TenantId, endpoint: str, change: EndpointChange) -> WebhookEndpoint:
        """Change the URL or the types, enable or disable. Raises `NoSuchEndpoint` and `UsageError`."""
        if change.url is not None:
            self._check_url(change.url)
        if change.types is not None:
            change = replace(change, types=checked_types(change.types))
        return _existing(await self._of(tenant).change_endpoint(endpoint, change, self._clock()))

    async def rotate(self, tenant: TenantId, endpoint: str, grace_s: float = GRACE_S) -> tuple[WebhookEndpoint, str]:
        """A new secret. During the grace period messages are signed with the old one as well."""
        secret = new_secret()
        sealed = self._secrets.seal(secret, endpoint)
        until = self._clock() + grace_s
        return _existing(await self._of(tenant).rotate_secret(endpoint, sealed, until)), secret

    async def remove(self, tenant: TenantId, endpoint: str) -> None:
        """Delete an endpoint with its delivery log. Raises `NoSuchEndpoint`."""
        if not await self._of(tenant).remove_endpoint(endpoint):
            raise NoSuchEndpoint

    async def test(self, tenant: TenantId, endpoint: str) -> Attempt:
        """Send a test message now, once. It is not queued and does not count as a delivery."""
        target = await self.endpoint(tenant, endpoint)
        now = self._clock()
        return await self.sender.send(target, encode_message(TEST_TYPE, now, {"webhookId": endpoint}, f"msg_{new_uuid(now)}"))

    async def deliveries(self, tenant: TenantId, endpoint: str, listing: DeliveryListing) -> tuple[list[Delivery], int]:
        """A page of the delivery log, newest first, and the number of all entries. Raises `NoSuchEndpoint`."""
        await self.endpoint(tenant, endpoint)
        return await self._of(tenant).deliveries(endpoint, listing)

    async def replay(self, tenant: TenantId, endpoint: str, event: int) -> bool:
        """Deliver an event again. False when the log does not have it. Raises `NoSuchEndpoint` and `EndpointDisabled`."""
        await self._require_enabled(tenant, endpoint)
        return await self._of(tenant).replay(endpoint, event, self._clock())

    async def replay_dead(self, tenant: TenantId, endpoint: str, since: float, until: float) -> int:
        """Deliver the dead letters of events from `since` until before `until` again. Returns their number."""
        await self._require_enabled(tenant, endpoint)
        return await self._of(tenant).replay_dead(endpoint, since, until, self._clock())

    async def stats(self) -> WebhookStats:
        """Numbers for metrics, over all tenants."""
        return await self._webhooks.stats(self._clock())

    async def _require_enabled(self, tenant: TenantId, endpoint: str) -> None:
        if not (await self.endpoint(tenant, endpoint)).enabled:
            raise EndpointDisabled

    def _check_url(self, url: str) -> None:
        if len(url) > _MAX_URL_CHARS:
            raise UsageError(f"the URL has more than {_MAX_URL_CHARS} characters")
        if refused := self.sender.refusal(url):
            raise UsageError(f"the URL cannot be used: {refused.rstrip('.')}")


def checked_types(types: Sequence[str]) -> tuple[str, ...]:
    """Event types, each once and sorted. Raises `UsageError`."""
    known = {kind.value for kind in WebhookType}
    if unknown := sorted(set(types) - known):
        raise UsageError(f"unknown event type {unknown[0]!r} (use {', '.join(sorted(known))})")
    return tuple(sorted(set(types)))


def _existing(endpoint: WebhookEndpoint | None) -> WebhookEndpoint:
    if endpoint is None:
        raise NoSuchEndpoint
    return endpoint
