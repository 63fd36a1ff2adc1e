"""Session routes of the dashboard: sign in with a one-time login or a token, sign out; start the crawl of the example site."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from sitelore.model.platform.accounts import Caller
from sitelore.model.settings import CrawlSettings, Pace
from sitelore.model.url import Url
from sitelore.serve import problems
from sitelore.serve.context import AccessControl
from sitelore.serve.openapi import Responses, answers
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import json_response
from sitelore.serve.routes.dependencies import Service
from sitelore.serve.routes.platform.accounts import Access
from sitelore.serve.run_service import RunService
from sitelore.serve.schemas import RunView, SessionView, run_view
from sitelore.serve.security.auth import CRAWLS, caller_of
from sitelore.serve.security.sessions import LOGIN_PATH, SESSION, Session, cookie_header

router = APIRouter(tags=["dashboard"])
_DEMO_DELAY_S = 0.25  # so that a person can watch the crawl


class LoginCode(BaseModel):
    """Body of a one-time login."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    code: Annotated[str, Field(min_length=1, max_length=100, description="The code of the link that `sitelore serve` prints.")]


@router.get("/session", summary="The session", responses=answers(SessionView))
async def show_session(request: Request, service: Service, access: Access) -> Response:
    """Who is signed in, what they may do, and what this server offers to the dashboard."""
    return await _view(caller_of(request), service, access, request.scope.get(SESSION))


@router.post("/session", status_code=201, summary="Sign in", responses=answers(SessionView, status=201))
async def sign_in(request: Request, service: Service, access: Access) -> Response:
    """Sign this browser in with the bearer token of the request. The response sets a cookie."""
    caller = caller_of(request)
    return await _signed_in(request, caller, service, access, await access.sessions.open(caller.token_id))


@router.post(
    LOGIN_PATH,
    status_code=201,
    summary="Sign in with a one-time login",
    responses=answers(SessionView, problems.LOGIN_EXPIRED, status=201),
)
async def sign_in_with_code(body: LoginCode, request: Request, service: Service, access: Access) -> Response:
    """Sign this browser in with the code of the link that `sitelore serve` prints. The response sets a cookie."""
    session = await access.sessions.sign_in(body.code)
    caller = await access.authenticator.caller_by_id(session.token_id, "")
    assert caller is not None  # a code stands for the operator
    return await _signed_in(request, caller, service, access, session)


_SIGNED_OUT: Responses = {204: {"description": "The browser is signed out."}}


@router.delete("/session", status_code=204, summary="Sign out", responses=_SIGNED_OUT)
async def sign_out(request: Request, access: Access) -> Response:
    """End the session of this browser. Idempotent."""
    if (session := request.scope.get(SESSION)) is not None:
        await access.sessions.close(session)
    return Response(status_code=204, headers={"Set-Cookie": cookie_header(request.scope, "")})


@router.post(
    "/demo",
    status_code=201,
    summary="Crawl the example site",
    responses=answers(RunView, problems.NOT_FOUND, status=201),
)
async def start_demo(caller: Annotated[Caller, CRAWLS], service: Service) -> Response:
    """Serve the bundled example site on loopback, and start a crawl of it. Not where workers are other processes."""
    context = service.context
    if context.demo_site is None:
        raise ApiProblem(problems.NOT_FOUND, "this server has no example site, because its workers are other processes")
    seed = Url.parse(context.demo_site())
    assert seed is not None
    pace = Pace(delay_s=_DEMO_DELAY_S)
    settings = CrawlSettings(seeds=(str(seed),), open_origins=(seed.origin,), max_pages=100, pace=pace)
    created = await service.start(settings, None, caller)
    return json_response(run_view(created.run), 201, {"Location": f"/crawl-runs/{created.run.id}"})


async def _signed_in(
    request: Request, caller: Caller, service: RunService, access: AccessControl, session: Session
) -> Response:
    answer = await _view(caller, service, access, session)
    answer.status_code = 201
    answer.headers["Set-Cookie"] = cookie_header(request.scope, session.cookie)
    return answer


async def _view(caller: Caller, service: RunService, access: AccessControl, session: Session | None) -> Response:
    view = SessionView(
        actor=caller.actor,
        tenant=str(caller.tenant),
        scopes=sorted(caller.all_scopes),
        csrf_token=session.csrf if session else "",
        needs_token=await access.needs_token(),
        has_demo=service.context.demo_site is not None,
        version=version("sitelore"),
    )
    return json_response(view)
