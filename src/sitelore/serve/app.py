"""The FastAPI application: routes behind the security middleware, and RFC 9457 problem details for every error."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import msgspec
from fastapi import Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from sitelore.model.errors import Conflict, NotPermitted, UsageError
from sitelore.serve import dashboard, problems
from sitelore.serve.context import AccessControl, ApiSettings, AppContext
from sitelore.serve.mcp.transports import PATH as MCP_PATH
from sitelore.serve.mcp.transports import McpApp
from sitelore.serve.openapi import openapi_document
from sitelore.serve.problems import ApiProblem, FieldProblem, problem_response
from sitelore.serve.responses import JSON
from sitelore.serve.routes import audits, operations, pages, quick, runs, session, site_access, sites
from sitelore.serve.routes.platform import (
    accounts,
    channels,
    fixes,
    manage,
    media,
    signup,
    tenant_settings,
    tenants,
    webcrawl,
    webhooks,
)
from sitelore.serve.run_requests import unknown_setting
from sitelore.serve.run_service import RunServices
from sitelore.serve.security.middleware import SecurityMiddleware

_BY_STATUS = {
    400: problems.BAD_JSON, 404: problems.NOT_FOUND, 405: problems.METHOD_NOT_ALLOWED, 413: problems.TOO_LARGE,
    415: problems.NOT_JSON, 503: problems.UNAVAILABLE,
}  # fmt: skip
ROUTERS = (
    quick.router, runs.router, pages.router, sites.router, session.router, audits.router, channels.router, webcrawl.router,
    media.router, tenant_settings.router, accounts.router, tenants.router, signup.router, webhooks.router, manage.router,
    fixes.router, operations.router, site_access.router,
)  # fmt: skip
DESCRIPTION = "/openapi.json"
_DETAIL_CHARS = 300
_NAMED = 20


def application(
    context: AppContext,
    settings: ApiSettings,
    closing: asyncio.Event,
    mcp: McpApp | None = None,
    access: AccessControl | None = None,
) -> FastAPI:
    """The application over one `AppContext`. When `closing` is set, event streams end."""
    access = access or AccessControl(context, settings)
    app = FastAPI(
        title="Sitelore",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        default_response_class=Response,
    )
    app.state.services = RunServices(context, settings, closing)
    app.state.access = access
    for router in ROUTERS:
        app.include_router(router, dependencies=[Depends(_only_known_parameters)])

    @cache
    def description(with_tokens: bool) -> bytes:
        return msgspec.json.encode(openapi_document(app, with_tokens=with_tokens))

    async def openapi(_: Request) -> Response:
        return Response(description(await access.needs_token()), media_type=JSON)

    app.add_route(DESCRIPTION, openapi, methods=["GET"], include_in_schema=False)
    app.router.routes += dashboard.routes()
    if mcp is not None:
        app.router.routes.append(Route(MCP_PATH, mcp, include_in_schema=False))
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _validation_problem)
    app.add_exception_handler(ApiProblem, _refused)
    app.add_exception_handler(UsageError, _refused_request)
    app.add_middleware(SecurityMiddleware, access=access)
    return app


async def _only_known_parameters(request: Request) -> None:
    """Refuse unknown query parameters: a misspelt filter would otherwise be ignored in silence."""
    route = request.scope["route"]
    known = {field.alias for field in route.dependant.query_params} if isinstance(route, APIRoute) else set()
    unknown = tuple(
        FieldProblem(_plain(f"query.{name}"), "unknown parameter") for name in request.query_params if name not in known
    )
    if unknown:
        raise ApiProblem(problems.INVALID, errors=unknown[:_NAMED])


async def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, ApiProblem)
    return problem_response(problem, request.url.path)


async def _refused_request(request: Request, problem: Exception) -> Response:
    """Errors of the services: the request is impossible, contradicts what is stored, or is not permitted."""
    kinds = {Conflict: problems.CONFLICT, NotPermitted: problems.FORBIDDEN}
    kind = next((kind for error, kind in kinds.items() if isinstance(problem, error)), problems.INVALID)
    return problem_response(ApiProblem(kind, _plain(str(problem))), request.url.path)


async def _http_problem(request: Request, problem: Exception) -> Response:
    """Errors of the framework itself: unknown route or method, a body that cannot be parsed."""
    assert isinstance(problem, HTTPException)
    kind = _BY_STATUS.get(problem.status_code, problems.INTERNAL)
    headers = dict(problem.headers or {})
    if kind is problems.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(sorted(_methods(request)))
    return problem_response(ApiProblem(kind, headers=headers), request.url.path)


def _methods(request: Request) -> set[str]:
    """All methods of this path. The framework lists only those of the first matching route."""
    if request.url.path == DESCRIPTION:
        return {"GET"}
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, Route)]
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return set().union(*(route.methods or () for route in matching))


async def _validation_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    errors = problem.errors()
    if any(error["type"] == "json_invalid" for error in errors):
        return problem_response(ApiProblem(problems.BAD_JSON, "the body cannot be read as JSON"), request.url.path)
    named = tuple(_field(error) for error in errors[:_NAMED])
    return problem_response(
        ApiProblem(problems.INVALID, "one field is wrong" if len(errors) == 1 else f"{len(errors)} fields are wrong", named),
        request.url.path,
    )


def _field(error: dict[str, Any]) -> FieldProblem:
    """The field and the message. A value is repeated only where the check of a setting does, shortened and on one line."""
    where = ".".join(str(part) for part in error["loc"])
    message = str(error["msg"])
    if error["type"] == "extra_forbidden" and error["loc"][:2] == ("body", "settings"):
        message = unknown_setting(error["loc"][2:])
    return FieldProblem(_plain(where), _plain(message))


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:_DETAIL_CHARS]
