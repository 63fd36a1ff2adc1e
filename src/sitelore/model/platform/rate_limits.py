"""Rate limits of the API: token buckets for each class of requests, by token and by tenant."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sitelore.model.errors import UsageError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_LIMIT = re.compile(r"((?:tenant\.)?[a-z]+)=([1-9][0-9]{0,8})/([smh])")
OFF = "off"


class RequestClass(StrEnum):
    """A class of requests with a rate limit of its own."""

    SEARCH = "search"
    CRAWL = "crawl"
    """Starting or resuming a crawl."""
    EXPORT = "export"
    OTHER = "other"
    SIGNUP = "signup"
    """Sign-up, by address of the client."""
    LOGIN = "login"
    """Failed authentications and one-time logins, by address of the client."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A burst of requests, and the period in which as many more are allowed, evenly."""

    requests: int
    period_s: float

    @property
    def per_second(self) -> float:
        """The refill rate."""
        return self.requests / self.period_s


@dataclass(frozen=True, slots=True)
class BucketState:
    """A bucket after a request took from it, or was refused."""

    limit: RateLimit
    level: float
    """Requests that are left, with the fraction that was refilled."""
    is_refused: bool

    @property
    def remaining(self) -> int:
        """Whole requests that are left."""
        return 0 if self.is_refused else math.floor(self.level)

    @property
    def reset_s(self) -> int:
        """Seconds until a refused request would be accepted, or else until the bucket is full again."""
        missing = 1.0 - self.level if self.is_refused else self.limit.requests - self.level
        return max(int(self.is_refused), math.ceil(missing / self.limit.per_second))


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The operator's limits by class; a class without one is not limited."""

    by_token: Mapping[RequestClass, RateLimit]
    by_tenant: Mapping[RequestClass, RateLimit]


_BY_ADDRESS = "signup=5/h login=20/m"
DEFAULT_LIMITS = (
    f"search=3000/m crawl=600/m export=600/m other=60000/m {_BY_ADDRESS} "
    "tenant.search=6000/m tenant.crawl=1200/m tenant.export=1200/m tenant.other=120000/m"
)


def parse_rate_limits(text: str, name: str) -> RateLimits:
    """The default limits with the changes in `text` (`search=50/s tenant.search=200/s`); `off`: only those by address."""
    by_token: dict[RequestClass, RateLimit] = {}
    by_tenant: dict[RequestClass, RateLimit] = {}
    words = text.replace(",", " ").split()
    defaults = _BY_ADDRESS if OFF in words else DEFAULT_LIMITS
    for word in (*defaults.split(), *(word for word in words if word != OFF)):
        match = _LIMIT.fullmatch(word)
        prefix, _, request_class = match[1].rpartition(".") if match else ("", "", "")
        if match is None or request_class not in set(RequestClass):
            raise UsageError(f"invalid {name} {word!r} (use search=50/s, tenant.search=200/s; search, crawl, export, other)")
        limits = by_tenant if prefix else by_token
        limits[RequestClass(request_class)] = RateLimit(int(match[2]), _UNITS[match[3]])
    return RateLimits(by_token, by_tenant)
