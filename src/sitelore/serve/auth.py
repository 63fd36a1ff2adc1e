"""The caller of a request, and the permission that a route demands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request

from sitelore.model.platform.accounts import Caller, TokenScope
from sitelore.serve.middleware import CALLER
from sitelore.serve.problems import FORBIDDEN, ApiProblem


def caller_of(request: Request) -> Caller:
    """The caller that the security middleware has authenticated."""
    caller = request.scope[CALLER]
    assert isinstance(caller, Caller)
    return caller


def require(scope: TokenScope) -> Callable[[Request], Awaitable[Caller]]:
    """A FastAPI dependency: the caller, whose token must have this scope."""

    async def permitted(request: Request) -> Caller:
        caller = caller_of(request)
        if not caller.may(scope):
            raise ApiProblem(FORBIDDEN, f"the token lacks the scope {scope.value}")
        return caller

    return permitted
