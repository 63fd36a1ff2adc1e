"""Sessions and one-time logins in Redis (`platform_ports.SessionStore`), shared by all servers.

They are lost with Redis, and browsers sign in again.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable
from typing import Any

from redis.asyncio import Redis

from sitelore.model.errors import StorageError
from sitelore.store.redis.notifications import UNAVAILABLE


class RedisSessionStore:
    """Values with an expiry that all processes with the same Redis share."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def put(self, key: str, value: bytes, ttl_s: float) -> None:
        """Store a value until it expires."""
        await _available(self._redis.set(_name(key), value, ex=math.ceil(ttl_s)))

    async def get(self, key: str, ttl_s: float) -> bytes | None:
        """The value, which from now on lives for `ttl_s`."""
        return await _available(self._redis.getex(_name(key), ex=math.ceil(ttl_s)))

    async def take(self, key: str) -> bytes | None:
        """Remove and return the value: of two callers, one gets it."""
        return await _available(self._redis.getdel(_name(key)))


def _name(key: str) -> str:
    return f"sitelore:sessions:{key}"


async def _available(answer: Awaitable[Any]) -> bytes | None:
    try:
        value = await answer
    except UNAVAILABLE as error:
        raise StorageError(f"Redis, which holds the sessions, is unavailable ({type(error).__name__})") from error
    return value if isinstance(value, bytes) else None
