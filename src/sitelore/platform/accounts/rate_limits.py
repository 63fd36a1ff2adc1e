"""Rate limiting of API requests: token buckets in this process (`RateLimiter`), and which buckets a request takes from."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from sitelore.model.platform.accounts import Caller
from sitelore.model.platform.rate_limits import BucketState, RateLimit, RateLimits, RequestClass

_MAX_BUCKETS = 20_000
_STARTS_CRAWL = re.compile(
    r"/crawl|/scrape|/demo|/crawl-runs(/[^/]+/resume)?|/hooks/[^/]+|/sites/[^/]+/pipelines/[^/]+|.*/webcrawl/(start|changed)"
)
_EXPORTS = re.compile(r".*/(export|graph)")


def request_class_of(method: str, path: str) -> RequestClass:
    """The class of a request."""
    if method == "POST" and _STARTS_CRAWL.fullmatch(path):
        return RequestClass.CRAWL
    if path == "/mcp" or path.endswith("/search"):
        return RequestClass.SEARCH
    return RequestClass.EXPORT if _EXPORTS.fullmatch(path) else RequestClass.OTHER


def buckets_of(caller: Caller, request_class: RequestClass, limits: RateLimits) -> list[tuple[str, RateLimit]]:
    """The buckets that a request takes from: of its API token and its tenant, or without a token of the client's IP address."""
    if not caller.scopes:
        limit = limits.by_token.get(request_class)
        return [] if limit is None else [address_bucket(request_class, caller.address, limit)]
    buckets = []
    if (limit := limits.by_token.get(request_class)) is not None:
        buckets.append((f"{caller.tenant}:{request_class}:{caller.token_id}", limit))
    if (limit := limits.by_tenant.get(request_class)) is not None:
        buckets.append((f"{caller.tenant}:{request_class}", limit))
    return buckets


def address_bucket(request_class: RequestClass, address: str, limit: RateLimit) -> tuple[str, RateLimit]:
    """The bucket of requests without a token."""
    return f"address:{request_class}:{address}", limit


class LocalRateLimiter:
    """Token buckets of this process."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._buckets: dict[str, tuple[float, float]] = {}
        """Level of each bucket, and when that was."""

    async def take(self, buckets: Sequence[tuple[str, RateLimit]]) -> list[BucketState]:
        """Take one request out of each bucket, or, if one is empty, out of none."""
        now = self._monotonic()
        levels = [self._available_tokens(name, limit, now) for name, limit in buckets]
        is_accepted = all(level >= 1.0 for level in levels)
        states = []
        for (name, limit), level in zip(buckets, levels, strict=True):
            left = level - 1.0 if is_accepted else level
            self._buckets[name] = (left, now)
            states.append(BucketState(limit, left, is_refused=level < 1.0))
        if len(self._buckets) > _MAX_BUCKETS:
            self._forget_oldest()
        return states

    def _available_tokens(self, name: str, limit: RateLimit, now: float) -> float:
        level, at = self._buckets.get(name, (float(limit.requests), now))
        return min(float(limit.requests), level + (now - at) * limit.per_second)

    def _forget_oldest(self) -> None:
        """Drop the buckets that were used longest ago: most of them are full again."""
        by_time = sorted(self._buckets, key=lambda name: self._buckets[name][1])
        for name in by_time[: _MAX_BUCKETS // 2]:
            del self._buckets[name]
