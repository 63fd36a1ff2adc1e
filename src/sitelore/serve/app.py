"""The application: the routes behind the doors, and problem details for everything that goes wrong."""

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

from sitelore.serve import knowledge, operations, problems, quick, runs
from sitelore.serve.backstage import ApiSettings, Backstage
from sitelore.serve.desk import Desk
from sitelore.serve.doors import Doors
from sitelore.serve.mcp_http import PATH as MCP_PATH
from sitelore.serve.mcp_http import McpDoor
from sitelore.serve.openapi import describe
from sitelore.serve.problems import FieldProblem, Refused, problem_response

_BY_STATUS = {
    400: problems.BAD_JSON, 404: problems.NOT_FOUND, 405: problems.METHOD_NOT_ALLOWED, 413: problems.TOO_LARGE,
    415: problems.NOT_JSON, 503: problems.UNAVAILABLE,
}  # fmt: skip
ROUTERS = (quick.router, runs.router, knowledge.router, operations.router)
DESCRIPTION = "/openapi.json"
_DETAIL_CHARS = 300
_NAMED = 20


def application(backstage: Backstage, settings: ApiSettings, closing: asyncio.Event, mcp: McpDoor | None = None) -> FastAPI:
    """Every route over one house. When `closing` is set, whoever follows a run is sent away."""
    app = FastAPI(title="Sitelore", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.state.desk = Desk(backstage, settings, closing)
    for router in ROUTERS:
        app.include_router(router, dependencies=[Depends(_only_known_parameters)])

    @cache
    def description() -> bytes:
        return msgspec.json.encode(describe(app, with_tokens=bool(settings.tokens)))

    async def openapi(_: Request) -> Response:
        return Response(description(), media_type=quick.JSON)

    app.add_route(DESCRIPTION, openapi, methods=["GET"], include_in_schema=False)
    if mcp is not None:
        app.router.routes.append(Route(MCP_PATH, mcp, include_in_schema=False))
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _validation_problem)
    app.add_exception_handler(Refused, _refused)
    app.add_middleware(Doors, settings=settings)
    return app


async def _only_known_parameters(request: Request) -> None:
    """A parameter that no route knows is a typing mistake, and would be taken for an answer to another question."""
    route = request.scope["route"]
    known = {field.alias for field in route.dependant.query_params} if isinstance(route, APIRoute) else set()
    unknown = tuple(
        FieldProblem(_plain(f"query.{name}"), "unknown parameter") for name in request.query_params if name not in known
    )
    if unknown:
        raise Refused(problems.INVALID, errors=unknown[:_NAMED])


async def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Refused)
    return problem_response(problem, request.url.path)


async def _http_problem(request: Request, problem: Exception) -> Response:
    """What the framework itself refuses: no such route, no such method, a body that cannot be parsed."""
    assert isinstance(problem, HTTPException)
    kind = _BY_STATUS.get(problem.status_code, problems.INTERNAL)
    headers = dict(problem.headers or {})
    if kind is problems.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(sorted(_methods(request)))
    return problem_response(Refused(kind, headers=headers), request.url.path)


def _methods(request: Request) -> set[str]:
    """Every method that some route takes on this path; the framework names those of the first route alone."""
    if request.url.path == DESCRIPTION:
        return {"GET"}
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, Route)]
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return set().union(*(route.methods or () for route in matching))


async def _validation_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    errors = problem.errors()
    if any(error["type"] == "json_invalid" for error in errors):
        return problem_response(Refused(problems.BAD_JSON, "the body cannot be read as JSON"), request.url.path)
    named = tuple(_field(error) for error in errors[:_NAMED])
    return problem_response(
        Refused(problems.INVALID, "one field is wrong" if len(errors) == 1 else f"{len(errors)} fields are wrong", named),
        request.url.path,
    )


def _field(error: dict[str, Any]) -> FieldProblem:
    """Where and what; never the value, which a stranger wrote."""
    where = ".".join(str(part) for part in error["loc"])
    return FieldProblem(_plain(where), _plain(str(error["msg"])))


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()[:_DETAIL_CHARS]
