"""Token buckets of one process, and the settings of rate limits."""

from __future__ import annotations

import pytest

from sitelore.model.errors import UsageError
from sitelore.model.ids import TenantId
from sitelore.model.platform.accounts import Caller
from sitelore.model.platform.rate_limits import RateLimit, RequestClass, parse_rate_limits
from sitelore.platform.accounts.rate_limits import LocalRateLimiter, buckets_of, request_class_of

LIMIT = RateLimit(3, 60.0)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


async def take(limiter: LocalRateLimiter, *names: str) -> list[tuple[int, int, bool]]:
    """The remaining requests, the seconds until the reset, and whether it was refused, of each bucket."""
    states = await limiter.take([(name, LIMIT) for name in names])
    return [(state.remaining, state.reset_s, state.is_refused) for state in states]


async def test_a_bucket_empties_is_refused_and_refills_evenly() -> None:
    clock = Clock()
    limiter = LocalRateLimiter(clock)
    assert [await take(limiter, "a") for _ in range(4)] == [
        [(2, 20, False)], [(1, 40, False)], [(0, 60, False)], [(0, 20, True)],
    ]  # fmt: skip
    clock.now += 19
    assert await take(limiter, "a") == [(0, 1, True)]
    clock.now += 1
    assert await take(limiter, "a") == [(0, 60, False)]
    clock.now += 10_000
    assert await take(limiter, "a") == [(2, 20, False)], "a bucket holds no more than its limit"


async def test_a_request_that_one_bucket_refuses_takes_from_none() -> None:
    limiter = LocalRateLimiter(Clock())
    for _ in range(3):
        await take(limiter, "token")
    assert await take(limiter, "token", "tenant") == [(0, 20, True), (3, 0, False)]


async def test_the_number_of_buckets_is_bounded() -> None:
    clock = Clock()
    limiter = LocalRateLimiter(clock)
    for number in range(30_000):
        clock.now += 0.001
        await take(limiter, f"bucket {number}")
    assert len(limiter._buckets) <= 20_000
    assert await take(limiter, "bucket 29999") == [(1, 40, False)], "one that was just used is kept"


@pytest.mark.parametrize(
    ("method", "path", "request_class"),
    [
        ("GET", "/search", RequestClass.SEARCH),
        ("POST", "/mcp", RequestClass.SEARCH),
        ("POST", "/crawl", RequestClass.CRAWL),
        ("POST", "/crawl-runs", RequestClass.CRAWL),
        ("POST", "/crawl-runs/a/resume", RequestClass.CRAWL),
        ("POST", "/hooks/a.test", RequestClass.CRAWL),
        ("POST", "/sites/a.test/pipelines/update-delta", RequestClass.CRAWL),
        ("POST", "/tenant/v1/channels/a/webcrawl/start", RequestClass.CRAWL),
        ("GET", "/crawl-runs/a/export", RequestClass.EXPORT),
        ("GET", "/crawl-runs/a/graph", RequestClass.EXPORT),
        ("GET", "/crawl-runs", RequestClass.OTHER),
        ("POST", "/crawl-runs/a/cancel", RequestClass.OTHER),
        ("GET", "/nowhere", RequestClass.OTHER),
    ],
)
def test_each_request_has_a_class(method: str, path: str, request_class: RequestClass) -> None:
    assert request_class_of(method, path) is request_class


def test_settings_change_the_defaults() -> None:
    limits = parse_rate_limits("search=5/s, tenant.search=20/m", "X")
    assert limits.by_token[RequestClass.SEARCH] == RateLimit(5, 1.0)
    assert limits.by_tenant[RequestClass.SEARCH] == RateLimit(20, 60.0)
    assert limits.by_token[RequestClass.CRAWL] == parse_rate_limits("", "X").by_token[RequestClass.CRAWL]
    caller = Caller(TenantId(7), token_id="t")
    assert buckets_of(caller, RequestClass.SEARCH, limits) == [
        ("7:search:t", RateLimit(5, 1.0)), ("7:search", RateLimit(20, 60.0)),
    ]  # fmt: skip
    off = parse_rate_limits("off", "X")
    assert [buckets_of(caller, each, off) for each in (RequestClass.SEARCH, RequestClass.OTHER)] == [[], []]
    assert len(buckets_of(caller, RequestClass.SIGNUP, off)) == 1, "sign-up is always limited"


@pytest.mark.parametrize("text", ["search", "search=0/s", "search=5", "search=5/d", "index=5/s", "tenant.x=1/s", "=1/s"])
def test_wrong_settings_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="invalid SITELORE_RATE_LIMITS"):
        parse_rate_limits(text, "SITELORE_RATE_LIMITS")
