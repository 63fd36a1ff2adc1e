"""`ports.Notifier` and `ports.Events` between processes, by publish and subscribe of Redis.

Redis stores nothing of this: a notification without subscribers is dropped, so nothing can pile up. Each process has one Redis
subscription, made for its first subscriber. After a reconnect every local subscription is notified, because notifications may
have been missed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError

from sitelore.model.errors import BadConfig, StorageError
from sitelore.model.frontier import RunEvent
from sitelore.model.ids import RunId
from sitelore.ports import Subscription
from sitelore.store.local_notifications import LocalEvents, LocalNotifier

_LOG = logging.getLogger(__name__)

_SIGNALS = b"sitelore:signals"
_EVENTS = b"sitelore:events"
_RECONNECT_S = 0.5
_LISTEN_S = 5.0
_CONNECT_TIMEOUT_S = 2.0
_ANSWER_TIMEOUT_S = 5.0

UNAVAILABLE = (RedisError, OSError)
"""Errors of the client while Redis is unavailable; TimeoutError is an OSError."""

_event_decoder = msgspec.json.Decoder(RunEvent)


def open_redis(url: str) -> Redis:
    """A client that fails fast instead of retrying: its users know what to do without Redis."""
    try:
        return Redis.from_url(
            url,
            socket_connect_timeout=_CONNECT_TIMEOUT_S,
            socket_timeout=_ANSWER_TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
    except ValueError as error:
        raise BadConfig(f"SITELORE_REDIS_URL is not a Redis URL: {error}") from error


async def check_redis(url: str) -> str:
    """Name and version of the server; raises StorageError when it cannot be used."""
    redis = open_redis(url)
    try:
        await redis.eval("return redis.call('TIME')", 0)
        server = await redis.info("server")
    except AuthenticationError as error:
        raise StorageError("Redis rejects the password in SITELORE_REDIS_URL.") from error
    except UNAVAILABLE as error:
        raise StorageError(f"Redis cannot be used: {str(error).partition(chr(10))[0] or type(error).__name__}.") from error
    finally:
        await redis.aclose()
    name = server.get("server_name", "redis")
    return f"{name} {server.get(f'{name}_version') or server.get('redis_version', 'of unknown version')}"


def _end_if_cancelled() -> None:
    """End a task whose cancellation was lost.

    The client sends inside `asyncio.wait_for`, which on Python 3.11 swallows a cancellation that arrives at the moment its work
    is done; a caller that waits for the task would then wait for ever.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class RedisNotifier:
    """Notifications and events between all processes that share one Redis."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._local = LocalNotifier()
        self._local_events = LocalEvents()
        self._listener: asyncio.Task[None] | None = None
        self._subscribed = asyncio.Event()

    async def notify(self, run: RunId) -> None:
        """Notify that there may be work for this run. When Redis loses the notification, polling finds the work."""
        self._local.notify_local(run)
        await self._send(_SIGNALS, run.encode())

    @asynccontextmanager
    async def subscribe(self, run: RunId | None = None) -> AsyncIterator[Subscription]:
        """A subscription to the notifications of this run, or of any."""
        self._listen()
        async with self._local.subscribe(run) as subscription:
            yield subscription

    async def publish(self, event: RunEvent) -> None:
        """Send an event to everyone who follows its run."""
        if not await self._send(_EVENTS, msgspec.json.encode(event)) or not self._subscribed.is_set():
            self._local_events.publish_local(event)

    @asynccontextmanager
    async def follow(self, run: RunId) -> AsyncIterator[AsyncIterator[RunEvent]]:
        """Events of this run from now on."""
        self._listen()
        async with self._local_events.follow(run) as events:
            # Events from here on must arrive, so wait for the subscription; without Redis do not wait for ever.
            with suppress(TimeoutError):
                async with asyncio.timeout(_LISTEN_S):
                    await self._subscribed.wait()
            yield events

    async def close(self) -> None:
        """End the subscription."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)

    async def _send(self, channel: bytes, payload: bytes) -> bool:
        try:
            await self._redis.publish(channel, payload)
        except UNAVAILABLE as error:
            _end_if_cancelled()
            _LOG.debug("notification not sent: %s", type(error).__name__)
            return False
        _end_if_cancelled()
        return True

    def _listen(self) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._receive_forever(), name="redis notifications")

    async def _receive_forever(self) -> None:
        while True:
            try:
                await self._receive()
            except UNAVAILABLE as error:
                _end_if_cancelled()
                _LOG.warning("Redis unavailable (%s), falling back to polling", type(error).__name__)
            self._subscribed.clear()
            await asyncio.sleep(_RECONNECT_S)

    async def _receive(self) -> None:
        async with self._redis.pubsub() as pubsub:
            await pubsub.subscribe(_SIGNALS, _EVENTS)
            self._local.notify_local(None)
            while True:
                message = await pubsub.get_message(timeout=_LISTEN_S)
                _end_if_cancelled()
                if message is None:
                    await pubsub.ping()  # detects a dead connection
                    _end_if_cancelled()
                elif message["type"] == "subscribe":
                    self._subscribed.set()
                elif message["type"] == "message":
                    self._dispatch(message["channel"], message["data"])

    def _dispatch(self, channel: bytes, data: bytes) -> None:
        if channel == _SIGNALS:
            self._local.notify_local(RunId(data.decode("utf-8", "replace")))
            return
        try:
            event = _event_decoder.decode(data)
        except msgspec.MsgspecError:
            return  # sent by another version, or not by Sitelore
        self._local_events.publish_local(event)
