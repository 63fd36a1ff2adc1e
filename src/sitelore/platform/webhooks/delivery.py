"""Sends events to webhook endpoints by Standard Webhooks 1.0.0: messages, signatures, retries, and the loop that sends.

Each event is delivered at least once, and the events of a run in their order: the next one waits until the receiver has
accepted the one before, or that has become a dead letter. A sender that is killed between an answer and its record sends that
event again, with the same `webhook-id`. Any number of servers may send: each leases queues (`ports.Webhooks`).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import os
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from sitelore import metrics
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.fetch.guard import AddressGuard
from sitelore.model.errors import StorageError
from sitelore.model.frontier import Run, RunCounts, StoredEvent, StoredEventKind
from sitelore.model.platform.webhooks import (
    Attempt,
    DeliveryVerdict,
    NextStep,
    PendingDelivery,
    WebhookEndpoint,
    WebhookQueue,
)
from sitelore.model.response import Failure, Fetched, Request, Response
from sitelore.model.settings import BUILT_IN_ALONE, CrawlSettings, FetchLimits, Pace, Redaction
from sitelore.model.url import Url
from sitelore.platform.outgoing_urls import refusal
from sitelore.platform.secret_box import SecretBox, SecretUnreadable
from sitelore.platform_ports import Webhooks
from sitelore.ports import Clock, Fetcher, Ledger
from sitelore.times import iso_time

# Signatures: HMAC-SHA256 over id, time and body.
SECRET_PREFIX = "whsec_"  # noqa: S105 the prefix of every secret, not a secret
TOLERANCE_S = 300
_SECRET_BYTES = 32
_ID = re.compile(r"[!-~]{1,255}")
_TIME = re.compile(r"[0-9]{1,12}")


def new_secret() -> str:
    """A new random secret."""
    return SECRET_PREFIX + base64.b64encode(os.urandom(_SECRET_BYTES)).decode()


def sign(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`: one signature for each secret, so that a receiver may know either during a rotation."""
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp, body)
    digests = (hmac.digest(base64.b64decode(secret.removeprefix(SECRET_PREFIX)), signed, "sha256") for secret in secrets)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


def is_signed(secret: str, message_id: str, timestamp: str, signatures: str, body: bytes, now: float) -> bool:
    """Whether one of the signatures (a list, for rotated secrets) is right, and the message not older than the tolerance."""
    if not _ID.fullmatch(message_id) or not _TIME.fullmatch(timestamp) or abs(now - int(timestamp)) > TOLERANCE_S:
        return False
    expected = sign([secret], message_id, int(timestamp), body).encode()
    matches = [hmac.compare_digest(expected, each.encode("utf-8", "replace")) for each in signatures.split(" ")]
    return any(matches)


_LOG = logging.getLogger(__name__)

RETRY_DELAYS_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Pauses between the attempts of a delivery, about 75 hours together. After the last attempt it becomes a dead letter."""
DISABLE_AFTER_S = 5 * 86_400.0
"""An endpoint that has accepted nothing for so long is disabled."""
_JITTER = 0.1
_MAX_RETRY_AFTER_S = 86_400.0
_THROTTLED = frozenset({429, 502, 503, 504})
_THROTTLE_S = 60.0
_LEASE_S = 90.0
"""Longer than an attempt can take; renewed by every recorded attempt."""
_SLOTS = 32
_BATCH = 50
_POLL_S = 1.0
_ANSWER_CHARS = 1_024
_READ_BYTES = 4_096
_ERROR_CHARS = 1_000
FETCH_SETTINGS = CrawlSettings(
    documents=False,
    pace=Pace(concurrency=_SLOTS),
    limits=FetchLimits(connect_s=10.0, headers_s=15.0, body_s=10.0, wire_bytes=1 << 16, body_bytes=1 << 16),
)
"""Limits of requests to receivers."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it is sent in every attempt."""

    id: str
    type: str
    body: bytes


def encode_message(kind: str, at: float, data: dict[str, Any], message_id: str) -> Message:
    """A message of this type. Its bodies are thin: ids, counts and paths of the API."""
    body = {"type": kind, "timestamp": iso_time(at), "data": data}
    return Message(message_id, kind, json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def event_message(pending: PendingDelivery, run: Run | None, counts: RunCounts | None) -> Message:
    """The message of an event. Its id depends on the endpoint and the event alone, so it is the same in every attempt."""
    delivery, event = pending.delivery, pending.event
    source = f"{delivery.endpoint}:{delivery.event}:{event.at}"
    message_id = f"msg_{hashlib.sha256(source.encode()).hexdigest()[:32]}"
    return encode_message(delivery.type, event.at, _data_of(event, pending.page_id, run, counts), message_id)


def _data_of(event: StoredEvent, page_id: int | None, run: Run | None, counts: RunCounts | None) -> dict[str, Any]:
    if event.kind is StoredEventKind.WEBHOOK_DISABLED:
        return {"webhookId": event.facts.get("endpoint"), "reason": event.facts.get("reason")}
    data: dict[str, Any] = {"runId": event.run, "runPath": f"/crawl-runs/{event.run}"}
    if run is not None:
        data["site"] = run.site_name
    if event.url is not None:
        data |= {"webPageId": None if page_id is None else str(page_id), "url": str(event.url)}
    if event.kind is StoredEventKind.DELETIONS_HELD:
        data["pages"] = event.facts.get("held")
    if event.kind is StoredEventKind.RUN_ENDED:
        data |= {"status": event.facts.get("state"), "error": str(event.facts.get("error", ""))[:_ERROR_CHARS] or None}
        if counts is not None:
            data |= {"pagesCrawled": counts.pages, "pagesNew": counts.new, "pagesChanged": counts.changed}
    return data


def decide(attempt: Attempt, attempts: int, failing_since: float | None, jitter: float) -> DeliveryVerdict:
    """What follows an attempt. `attempts` counts this one; `jitter` is between 0 and 1."""
    if attempt.is_success:
        return DeliveryVerdict(NextStep.DONE)
    if attempt.status == 410:
        return DeliveryVerdict(NextStep.DISABLE, reason="the receiver answered 410 Gone")
    if failing_since is not None and attempt.at - failing_since >= DISABLE_AFTER_S:
        days = round(DISABLE_AFTER_S / 86_400)
        return DeliveryVerdict(NextStep.DISABLE, reason=f"the receiver has accepted nothing for {days} days")
    retry_after_s = min(attempt.retry_after_s or 0.0, _MAX_RETRY_AFTER_S)
    pause_s = retry_after_s or (_THROTTLE_S if attempt.status in _THROTTLED else 0.0)
    paused_until = attempt.at + pause_s if pause_s > 0 else None
    if attempts > len(RETRY_DELAYS_S):
        return DeliveryVerdict(NextStep.GIVE_UP, paused_until=paused_until)
    delay_s = max(RETRY_DELAYS_S[attempts - 1] * (1 + _JITTER * jitter), retry_after_s)
    return DeliveryVerdict(NextStep.RETRY, attempt.at + delay_s, paused_until)


class WebhookSender:
    """Sends messages through the address guard, and works through the queues of all tenants."""

    def __init__(
        self,
        webhooks: Webhooks,
        ledger: Ledger,
        fetcher: Fetcher,
        guard: AddressGuard,
        clock: Clock,
        secrets: SecretBox,
        redaction: Redaction = BUILT_IN_ALONE,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._webhooks = webhooks
        self._ledger = ledger
        self._fetcher = fetcher
        self._guard = guard
        self._clock = clock
        self._secrets = secrets
        self._redactor = redactor_of(redaction)
        self._jitter = jitter
        self._name = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._claims = count(1)

    def refusal(self, url: str) -> str | None:
        """Why messages must not be sent to this URL; None when they may. The address is checked again at every connection."""
        return refusal(url, self._guard)

    async def send(self, endpoint: WebhookEndpoint, message: Message) -> Attempt:
        """Try once to send a message to an endpoint."""
        at = self._clock()
        try:
            secrets = self._secrets_of(endpoint, at)
        except SecretUnreadable as problem:
            return Attempt(at, 0, error=f"Not sent: {problem}.")
        if refused := self.refusal(endpoint.url):
            return Attempt(at, 0, error=f"Not sent: {refused.rstrip('.')}.")
        url = Url.parse(endpoint.url)
        assert url is not None
        timestamp = int(at)
        headers = (
            ("Content-Type", "application/json"),
            ("webhook-id", message.id),
            ("webhook-timestamp", str(timestamp)),
            ("webhook-signature", sign(secrets, message.id, timestamp, message.body)),
        )
        result = await self._fetcher.fetch(
            Request(
                url,
                method="POST",
                any_content_type=True,
                max_body_bytes=_READ_BYTES,
                truncate_body=True,
                accept="*/*",
                body=message.body,
                headers=headers,
            )
        )
        return self._attempt_of(at, result)

    def _secrets_of(self, endpoint: WebhookEndpoint, now: float) -> list[str]:
        """The secrets to sign with: the current one first, and the one before it during a rotation."""
        stored = [endpoint.secret]
        if endpoint.old_secret is not None and (endpoint.old_secret_until or 0.0) > now:
            stored.append(endpoint.old_secret)
        return [self._secrets.open(secret, endpoint.id) for secret in stored]

    def _attempt_of(self, at: float, result: Fetched) -> Attempt:
        elapsed_ms = round(result.elapsed_s * 1000)
        if not isinstance(result, Response):
            # Which addresses a name has inside of the network is not for tenants.
            detail = "The address is not allowed." if result.failure is Failure.ADDRESS else result.detail
            return Attempt(at, elapsed_ms, error=f"{result.failure.value}: {detail}")
        # Redacted first: a secret that is cut in the middle would not be recognised.
        answer = self._redactor.redact(result.body.decode("utf-8", "replace"))[0][:_ANSWER_CHARS]
        return Attempt(at, elapsed_ms, result.status, answer, retry_after_s=result.retry_after_s(at))

    async def send_due_deliveries(self, limit: int = _SLOTS) -> int:
        """One pass: send the due deliveries of up to `limit` queues concurrently. Returns the number of queues."""
        queues = await self._claim_queues(limit)
        await asyncio.gather(*map(self._send_queue, queues))
        return len(queues)

    async def send_until_stopped(self, stop: asyncio.Event, *, is_alone: bool) -> None:
        """Send due deliveries until stopped. `is_alone`: no other process sends, so existing leases are stale."""
        if is_alone:
            await self._webhooks.release_all()
        active: set[asyncio.Task[None]] = set()
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                try:
                    queues = await self._claim_queues(_SLOTS - len(active)) if len(active) < _SLOTS else []
                except StorageError as problem:
                    _LOG.warning("storage unavailable, webhooks retry: %s", problem)
                    queues = []
                active |= {asyncio.create_task(self._send_queue_safely(queue)) for queue in queues}
                done, _ = await asyncio.wait({stopping, *active}, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
                active -= done
        finally:
            for task in (stopping, *active):
                task.cancel()
            await asyncio.gather(stopping, *active, return_exceptions=True)

    async def _claim_queues(self, limit: int) -> list[WebhookQueue]:
        """Lease due queues under a new name each time: a lease that this process has lost must not look like its own."""
        now = self._clock()
        return await self._webhooks.claim_queues(f"{self._name}-{next(self._claims)}", limit, now, now + _LEASE_S)

    async def _send_queue_safely(self, queue: WebhookQueue) -> None:
        try:
            await self._send_queue(queue)
        except StorageError as problem:
            _LOG.warning("storage unavailable, a webhook is sent later: %s", problem, extra={"webhook": queue.endpoint})
        except Exception:  # noqa: BLE001 one queue must not stop the others; its lease expires
            _LOG.exception("webhook failed", extra={"webhook": queue.endpoint})

    async def _send_queue(self, queue: WebhookQueue) -> None:
        """Send the first deliveries of a queue in order, until one fails."""
        webhooks = self._webhooks.for_tenant(queue.tenant)
        try:
            batch = await webhooks.pending_batch(queue, _BATCH)
            if batch is None:
                return
            run = await self._ledger.for_tenant(queue.tenant).run(queue.run) if queue.run else None
            for pending in batch.pending:
                if not await self._deliver(webhooks, queue, batch.endpoint, pending, run):
                    return
        except asyncio.CancelledError:
            await webhooks.release_queue(queue)
            raise
        await webhooks.release_queue(queue)

    async def _deliver(
        self, webhooks: Webhooks, queue: WebhookQueue, endpoint: WebhookEndpoint, pending: PendingDelivery, run: Run | None
    ) -> bool:
        """Try to deliver one event and record the result; whether the queue continues."""
        counts = None
        if run is not None and pending.event.kind is StoredEventKind.RUN_ENDED:
            counts = await self._ledger.for_tenant(queue.tenant).counts(run.id)
        attempt = await self.send(endpoint, event_message(pending, run, counts))
        number = pending.delivery.attempts + 1
        verdict = decide(attempt, number, endpoint.failing_since, self._jitter())
        metrics.WEBHOOK_ATTEMPTS.labels(verdict.step.name.lower()).inc()
        metrics.WEBHOOK.observe(attempt.elapsed_ms / 1000)
        # The URL is not logged: those of many services contain a secret.
        extra = {"webhook": endpoint.id, "event": pending.delivery.event, "attempt": number, "status": attempt.status}
        if verdict.step in {NextStep.GIVE_UP, NextStep.DISABLE}:
            _LOG.warning("webhook not delivered: %s", verdict.reason or "every attempt failed", extra=extra)
        else:
            _LOG.debug("webhook attempt: %s", verdict.step.value, extra=extra)
        event = pending.delivery.event
        return await webhooks.record_attempt(queue, event, attempt, verdict, self._clock() + _LEASE_S)
