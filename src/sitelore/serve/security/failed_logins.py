"""Limits failed authentications by the address of the client.

Beyond the limit, requests of the address are refused for some seconds without a look at what they send, so that guesses
learn nothing. Tokens that were valid before still work: a program with an old token must not lock out its neighbours behind
the same address.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import TypeVar

from sitelore.model.platform.rate_limits import RateLimit, RequestClass
from sitelore.platform.accounts.rate_limits import address_bucket
from sitelore.platform_ports import RateLimiter
from sitelore.serve.problems import RATE_LIMITED, ApiProblem

_MAX_KNOWN = 4096
K = TypeVar("K")
V = TypeVar("V")


class FailedLogins:
    """The failed authentications of all clients."""

    def __init__(self, limiter: RateLimiter, limit: RateLimit | None, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`limit`: None permits any number."""
        self._limiter = limiter
        self._limit = limit
        self._monotonic = monotonic
        self._refused_until: OrderedDict[str, float] = OrderedDict()
        self._valid: OrderedDict[bytes, None] = OrderedDict()
        """Hashes of tokens that were valid."""

    def check(self, address: str, token: bytes) -> None:
        """Refuse the request of an address that is over the limit, unless the token was valid before."""
        wait_s = self._refused_until.get(address, 0.0) - self._monotonic()
        if wait_s > 0 and sha256(token).digest() not in self._valid:
            raise _refusal(wait_s)

    def succeeded(self, token: bytes) -> None:
        """Remember that a token is valid."""
        _add(self._valid, sha256(token).digest(), None)

    async def failed(self, address: str) -> None:
        """Count a failure. Raises `ApiProblem` beyond the limit."""
        if self._limit is None:
            return
        [state] = await self._limiter.take([address_bucket(RequestClass.LOGIN, address, self._limit)])
        if state.is_refused:
            _add(self._refused_until, address, self._monotonic() + state.reset_s)
            raise _refusal(state.reset_s)


def _refusal(wait_s: float) -> ApiProblem:
    seconds = math.ceil(wait_s)
    return ApiProblem(
        RATE_LIMITED,
        f"too many failed sign-ins from this address; try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def _add(entries: OrderedDict[K, V], key: K, value: V) -> None:
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > _MAX_KNOWN:
        entries.popitem(last=False)
