"""The accounts of an application, loaded when a server or a command first uses them: a crawl must not load their tables."""
# ruff: noqa: PLC0415 see above

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sitelore.platform_ports import AccountDirectory, RateLimiter
    from sitelore.store.engine import Engine


class LazyAccounts:
    """Users, tokens and audit logs of all tenants, and the rate limits of the API."""

    def __init__(self, engine: Engine, rate_limiter: RateLimiter | None = None) -> None:
        """`rate_limiter`: the one that several servers share; None: this process counts alone."""
        self._engine = engine
        self._shared_limiter = rate_limiter

    @cached_property
    def directory(self) -> AccountDirectory:
        """Users, tokens and audit logs of all tenants."""
        from sitelore.store.platform.accounts import SqlAccountDirectory

        return SqlAccountDirectory(self._engine)

    @cached_property
    def rate_limiter(self) -> RateLimiter:
        """Counts requests to the API."""
        from sitelore.platform.rate_limits import LocalRateLimiter

        return self._shared_limiter or LocalRateLimiter()
