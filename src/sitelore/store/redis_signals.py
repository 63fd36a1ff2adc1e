"""`ports.Signals` and `ports.Events` between processes, by Redis' publish and subscribe.

Nothing is kept in Redis: what is published while nobody listens is gone, and nothing can pile up. Each process has one
subscription, made when the first listener comes. When it was broken, every bell is rung once it stands again, since a signal
may have been missed meanwhile.
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
from sitelore.store.signals import LocalEvents, LocalNotifier

_LOG = logging.getLogger(__name__)

_SIGNALS = b"sitelore:signals"
_EVENTS = b"sitelore:events"
_PAUSE_S = 0.5
_LISTEN_S = 5.0
_CONNECT_S = 2.0
_ANSWER_S = 5.0

AWAY = (RedisError, OSError)
"""What Redis raises when it is not there; TimeoutError is an OSError."""

_event = msgspec.json.Decoder(RunEvent)


def open_redis(url: str) -> Redis:
    """A client that fails soon rather than waiting: whoever uses it knows what to do without Redis."""
    try:
        return Redis.from_url(
            url, socket_connect_timeout=_CONNECT_S, socket_timeout=_ANSWER_S, retry=Retry(NoBackoff(), 0), protocol=2
        )
    except ValueError as error:
        raise BadConfig(f"SITELORE_REDIS_URL is no Redis URL: {error}") from error


async def check_redis(url: str) -> str:
    """Name and version of the server; StorageError says what is wrong."""
    redis = open_redis(url)
    try:
        await redis.eval("return redis.call('TIME')", 0)
        server = await redis.info("server")
    except AuthenticationError as error:
        raise StorageError("Redis refuses the password in SITELORE_REDIS_URL.") from error
    except AWAY as error:
        raise StorageError(f"Redis cannot be used: {str(error).partition(chr(10))[0] or type(error).__name__}.") from error
    finally:
        await redis.aclose()
    name = server.get("server_name", "redis")
    return f"{name} {server.get(f'{name}_version') or server.get('redis_version', 'of unknown version')}"


def _end_if_cancelled() -> None:
    """End a task whose cancellation was lost. The client sends inside `asyncio.wait_for`, which on Python 3.11 returns as if
    nothing had happened when the task is cancelled at the moment its work is done; whoever waits for the task would wait for
    ever.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


class RedisNotifier:
    """Signals and events between all processes that share one Redis."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._here = LocalNotifier()
        self._told_here = LocalEvents()
        self._listener: asyncio.Task[None] | None = None
        self._subscribed = asyncio.Event()

    async def notify(self, run: RunId) -> None:
        """There may be something to do for this run. What Redis does not carry, polling finds."""
        self._here.strike(run)
        await self._send(_SIGNALS, run.encode())

    @asynccontextmanager
    async def subscribe(self, run: RunId | None = None) -> AsyncIterator[Subscription]:
        """A bell that rings for this run, or for any."""
        self._listen()
        async with self._here.subscribe(run) as bell:
            yield bell

    async def publish(self, event: RunEvent) -> None:
        """Tell it to whoever is watching."""
        if not await self._send(_EVENTS, msgspec.json.encode(event)) or not self._subscribed.is_set():
            self._told_here.hand_out(event)

    @asynccontextmanager
    async def follow(self, run: RunId) -> AsyncIterator[AsyncIterator[RunEvent]]:
        """Events of this run from now on."""
        self._listen()
        async with self._told_here.follow(run) as events:
            # A watcher expects what happens after this line; without Redis it must not wait for ever either.
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
        except AWAY as error:
            _end_if_cancelled()
            _LOG.debug("a signal was not sent: %s", type(error).__name__)
            return False
        _end_if_cancelled()
        return True

    def _listen(self) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.create_task(self._receive_forever(), name="redis signals")

    async def _receive_forever(self) -> None:
        while True:
            try:
                await self._receive()
            except AWAY as error:
                _end_if_cancelled()
                _LOG.warning("Redis is away (%s); signals wait, work is found by polling", type(error).__name__)
            self._subscribed.clear()
            await asyncio.sleep(_PAUSE_S)

    async def _receive(self) -> None:
        async with self._redis.pubsub() as subscription:
            await subscription.subscribe(_SIGNALS, _EVENTS)
            self._here.strike(None)
            while True:
                message = await subscription.get_message(timeout=_LISTEN_S)
                _end_if_cancelled()
                if message is None:
                    await subscription.ping()  # a connection that died without a word is noticed here
                    _end_if_cancelled()
                elif message["type"] == "subscribe":
                    self._subscribed.set()
                elif message["type"] == "message":
                    self._take(message["channel"], message["data"])

    def _take(self, channel: bytes, data: bytes) -> None:
        if channel == _SIGNALS:
            self._here.strike(RunId(data.decode("utf-8", "replace")))
            return
        try:
            event = _event.decode(data)
        except msgspec.MsgspecError:
            return  # another version's, or not ours
        self._told_here.hand_out(event)
