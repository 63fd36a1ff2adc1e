"""Token buckets that several servers share through Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from sitelore.model.platform.rate_limits import RateLimit
from sitelore.platform.accounts.rate_limits import LocalRateLimiter

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from sitelore.store.redis.api_state import RedisRateLimiter

HOURLY = RateLimit(20, 3600.0)
"""Refills too slowly for the duration of a test."""


@pytest.fixture
async def limiters(redis_url: str) -> AsyncIterator[tuple[Redis, list[RedisRateLimiter]]]:
    from sitelore.store.redis.api_state import RedisRateLimiter
    from sitelore.store.redis.notifications import open_redis

    clients = [open_redis(redis_url) for _ in range(2)]
    await clients[0].flushall()
    yield clients[0], [RedisRateLimiter(client, LocalRateLimiter()) for client in clients]
    await asyncio.gather(*(client.aclose() for client in clients))


async def test_the_servers_together_accept_exactly_as_many_requests_as_the_limit(
    limiters: tuple[Redis, list[RedisRateLimiter]],
) -> None:
    redis, both = limiters
    buckets = [("7:other:token", HOURLY), ("7:other", RateLimit(25, 3600.0))]
    answers = await asyncio.gather(*(both[number % 2].take(buckets) for number in range(60)))
    accepted = [states for states in answers if not any(state.is_refused for state in states)]
    assert len(accepted) == 20
    assert sorted(states[0].remaining for states in accepted) == list(range(20))
    [token, tenant] = await both[0].take(buckets)
    assert (token.is_refused, token.remaining) == (True, 0)
    assert 170 <= token.reset_s <= 180, "one of 20 requests in an hour comes back after three minutes"
    assert (tenant.is_refused, tenant.remaining) == (False, 5), "refused requests took nothing from the other bucket"
    assert all([0 < await redis.ttl(f"sitelore:rate:{name}") <= 3601 for name, _ in buckets])


async def test_without_redis_each_server_counts_by_itself() -> None:
    from sitelore.store.redis.api_state import RedisRateLimiter
    from sitelore.store.redis.notifications import open_redis

    client = open_redis("redis://127.0.0.1:1/0")
    limiter = RedisRateLimiter(client, LocalRateLimiter())
    refused = [(await limiter.take([("a", HOURLY)]))[0].is_refused for _ in range(22)]
    assert refused == [False] * 20 + [True] * 2
    await client.aclose()
