"""State that the API servers of an installation share in Redis: token buckets of the rate limits, and sessions of browsers.

Sessions are lost with Redis, and browsers sign in again.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Sequence
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis

from sitelore.model.errors import StorageError
from sitelore.model.platform.rate_limits import BucketState, RateLimit
from sitelore.platform_ports import RateLimiter
from sitelore.store.redis.notifications import UNAVAILABLE

_LOG = logging.getLogger(__name__)


class RedisRateLimiter:
    """Token buckets that all processes with the same Redis share."""

    def __init__(self, redis: Redis, fallback: RateLimiter) -> None:
        self._script = redis.register_script(
            files("sitelore.store.redis").joinpath("rate_limit.lua").read_text(encoding="utf-8")
        )
        self._fallback = fallback

    async def take(self, buckets: Sequence[tuple[str, RateLimit]]) -> list[BucketState]:
        """Take one request out of each bucket, or, if one is empty, out of none."""
        keys = [f"sitelore:rate:{name}" for name, _ in buckets]
        args = [number for _, limit in buckets for number in (limit.requests, limit.per_second)]
        try:
            levels = [float(level) for level in await self._script(keys, args)]
        except UNAVAILABLE as error:
            _LOG.warning("Redis unavailable (%s), each server limits the rate of requests by itself", type(error).__name__)
            return await self._fallback.take(buckets)
        is_accepted = all(level >= 1.0 for level in levels)
        return [
            BucketState(limit, level - 1.0 if is_accepted else level, is_refused=level < 1.0)
            for (_, limit), level in zip(buckets, levels, strict=True)
        ]


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
