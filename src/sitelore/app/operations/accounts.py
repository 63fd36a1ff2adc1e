"""The accounts of an application, loaded when a server or a command first uses them: a crawl must not load their tables."""
# ruff: noqa: PLC0415 see above

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sitelore.platform_ports import AccountDirectory, Operations, RateLimiter, SessionStore
    from sitelore.store.engine import Engine


class LazyAccounts:
    """Users, tokens and audit logs of all tenants, the rate limits of the API, and the sessions of browsers."""

    def __init__(self, engine: Engine, rate_limiter: RateLimiter | None = None, sessions: SessionStore | None = None) -> None:
        """`rate_limiter` and `sessions`: those that several servers share; None: this process has its own."""
        self._engine = engine
        self._shared_limiter = rate_limiter
        self._shared_sessions = sessions

    @cached_property
    def directory(self) -> AccountDirectory:
        """Users, tokens and audit logs of all tenants."""
        from sitelore.store.platform.accounts.repository import SqlAccountDirectory

        return SqlAccountDirectory(self._engine)

    @cached_property
    def operations(self) -> Operations:
        """What the operator sees over all tenants."""
        from sitelore.store.platform.operations import SqlOperations

        return SqlOperations(self._engine)

    @cached_property
    def rate_limiter(self) -> RateLimiter:
        """Counts requests to the API."""
        from sitelore.platform.accounts.rate_limits import LocalRateLimiter

        return self._shared_limiter or LocalRateLimiter()

    @cached_property
    def sessions(self) -> SessionStore:
        """Sessions of browsers and one-time logins."""
        from sitelore.platform.accounts.session_store import LocalSessionStore

        return self._shared_sessions or LocalSessionStore()
