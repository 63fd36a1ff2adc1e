"""The caller of a request, and the permission that a route demands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import Depends
from fastapi.dependencies.models import Dependant
from starlette.requests import Request

from sitelore.model.platform.accounts import Caller, TokenScope
from sitelore.serve.problems import FORBIDDEN, ApiProblem
from sitelore.serve.security.middleware import CALLER


def caller_of(request: Request) -> Caller:
    """The caller that the security middleware has authenticated."""
    caller = request.scope[CALLER]
    assert isinstance(caller, Caller)
    return caller


@dataclass(frozen=True, slots=True)
class _Requirement:
    """A FastAPI dependency that demands a scope."""

    scope: TokenScope
    is_open_to_channels: bool

    async def __call__(self, request: Request) -> Caller:
        caller = caller_of(request)
        if not caller.may(self.scope):
            raise ApiProblem(FORBIDDEN, f"the token lacks the scope {self.scope.value}")
        if caller.channel and not self.is_open_to_channels:
            raise ApiProblem(FORBIDDEN, "the token is bound to one channel")
        return caller


def require(scope: TokenScope, *, is_open_to_channels: bool = False) -> Callable[[Request], Awaitable[Caller]]:
    """A FastAPI dependency: the caller, whose token must have this scope.

    Tokens of one channel are refused, unless the route limits them to that channel itself (`is_open_to_channels`).
    """
    return _Requirement(scope, is_open_to_channels)


def required_scope(dependant: Dependant) -> TokenScope | None:
    """The scope that a route demands; None: any token."""
    scope = getattr(dependant.call, "scope", None)
    if isinstance(scope, TokenScope):
        return scope
    return next((scope for each in dependant.dependencies if (scope := required_scope(each)) is not None), None)


READS = Depends(require(TokenScope.READ))
SEARCHES = Depends(require(TokenScope.SEARCH))
CRAWLS = Depends(require(TokenScope.CRAWL))
MANAGES_CHANNELS = Depends(require(TokenScope.MANAGE_CHANNEL))
MANAGES_TENANT = Depends(require(TokenScope.MANAGE_TENANT))
ADMINISTERS = Depends(require(TokenScope.ADMIN))
