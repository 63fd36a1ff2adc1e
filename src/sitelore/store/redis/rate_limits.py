"""Token buckets in Redis (`ports.RateLimiter`): the limits hold over all servers together.

A step is one script (`rate_limit.lua`) that Redis runs atomically, by its own clock. While Redis is unavailable each server
counts by itself, so that the API keeps working: `fallback`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.resources import files

from redis.asyncio import Redis

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
