"""Routes for draft pull requests: the repository of a site, and requests for pull requests with their states.

Requests and responses are in camel case (`docs/reference/api.md`), as in all modules of this directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import msgspec
from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sitelore.model.errors import UsageError
from sitelore.model.ids import SiteId, TenantId
from sitelore.model.platform.accounts import Caller
from sitelore.model.platform.fixes import ConnectedRepository, FixRequest, FixState, RepositoryHost
from sitelore.serve import problems
from sitelore.serve.openapi import answers, empty_answer
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import Pagination, json_response, pagination_of
from sitelore.serve.routes.dependencies import KnownSite, Limit, Offset, Service, SiteName
from sitelore.serve.run_service import RunService
from sitelore.serve.schemas import moment
from sitelore.serve.security.auth import MANAGES_CHANNELS, READS

if TYPE_CHECKING:
    from sitelore.app.audit.pull_requests import FixService


_BODY = ConfigDict(extra="forbid", strict=True, frozen=True)
MAX_FINDINGS = 50


class NewRepository(BaseModel):
    """A repository to connect."""

    model_config = _BODY

    url: Annotated[str, Field(min_length=1, max_length=500, description="Its URL.", examples=["https://github.com/owner/name"])]
    token: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="A token that may write contents and pull requests of this repository only. It is never shown.",
        ),
    ]
    host: Annotated[str | None, Field(pattern="^(github|gitlab)$", description="Needed where the URL does not say it.")] = None
    base: Annotated[
        str, Field(max_length=200, description="The branch to merge into. Default: the main branch of the repository.")
    ] = ""


class Selection(BaseModel):
    """The findings to fix: those with these ids, or all open ones of these rules."""

    model_config = _BODY

    rules: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=30, description="Ids of rules.")] = Field(
        default_factory=list
    )
    findings: Annotated[
        list[Annotated[str, Field(pattern="^[0-9a-f]{20}$")]], Field(max_length=MAX_FINDINGS, description="Ids of findings.")
    ] = Field(default_factory=list)


class RepositoryView(msgspec.Struct, frozen=True):
    """The repository of a site. Its token is not shown."""

    host: RepositoryHost
    url: str
    base: str
    created_at: str
    created_by: str


class FixView(msgspec.Struct, frozen=True):
    """A request for a draft pull request."""

    id: str
    state: FixState
    rules: list[str]
    findings: list[str]
    """The ids of the findings that the pull request fixes."""
    repository: str
    branch: str
    number: int | None
    url: str | None
    created_at: str
    created_by: str
    updated_at: str
    merged_at: str | None
    error: str


class FixList(msgspec.Struct, frozen=True):
    """A page of the requests of a site, newest first."""

    fixes: list[FixView]
    pagination: Pagination


def repository_view(repository: ConnectedRepository) -> RepositoryView:
    """A repository as the API shows it."""
    created_at = moment(repository.created_at) or ""
    return RepositoryView(repository.host, repository.url, repository.base, created_at, repository.created_by)


def fix_view(request: FixRequest) -> FixView:
    """A request as the API shows it."""
    return FixView(
        id=request.id,
        state=request.state,
        rules=list(request.rules),
        findings=list(request.findings),
        repository=request.repository,
        branch=request.branch,
        number=request.number,
        url=request.url or None,
        created_at=moment(request.created_at) or "",
        created_by=request.created_by,
        updated_at=moment(request.updated_at) or "",
        merged_at=moment(request.merged_at),
        error=request.error,
    )


router = APIRouter(prefix="/sites/{site}", tags=["audit"])

FixId = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$", description="The id of a request.")]


@dataclass(frozen=True, slots=True)
class FixCall:
    """A call that concerns the repository or the pull requests of a site."""

    caller: Caller
    name: str
    site: SiteId
    runs: RunService

    @property
    def tenant(self) -> TenantId:
        """The caller's tenant."""
        return self.caller.tenant

    @property
    def service(self) -> FixService:
        """Draft pull requests of all tenants."""
        return self.runs.context.open_fixes()

    async def record(self, action: str) -> None:
        """Write to the audit log what the caller did."""
        await self.runs.record(self.caller, action, f"site:{self.name}")


async def _of_reader(caller: Annotated[Caller, READS], site: SiteName, site_id: KnownSite, runs: Service) -> FixCall:
    return FixCall(caller, site, site_id, runs)


async def _of_manager(
    caller: Annotated[Caller, MANAGES_CHANNELS], site: SiteName, site_id: KnownSite, runs: Service
) -> FixCall:
    return FixCall(caller, site, site_id, runs)


Reader = Annotated[FixCall, Depends(_of_reader)]
Manager = Annotated[FixCall, Depends(_of_manager)]


@contextmanager
def _as_problems() -> Iterator[None]:
    """Turn the errors of the service into problems."""
    from sitelore.app.audit.pull_requests import RepositoryLimitReached  # noqa: PLC0415 the audit is loaded on first use

    try:
        yield
    except RepositoryLimitReached as problem:
        raise ApiProblem(problems.RATE_LIMITED, str(problem)) from None
    except UsageError as problem:
        raise ApiProblem(problems.INVALID, str(problem)) from None


@router.get(
    "/repository",
    summary="The repository of a site",
    responses=answers(RepositoryView, problems.SITE_NOT_FOUND, problems.REPOSITORY_NOT_FOUND),
)
async def show_repository(call: Reader) -> Response:
    """The repository in which pull requests are opened."""
    repository = await call.service.repository(call.tenant, call.site)
    if repository is None:
        raise ApiProblem(problems.REPOSITORY_NOT_FOUND)
    return json_response(repository_view(repository))


@router.put(
    "/repository",
    summary="Connect a repository",
    responses=answers(RepositoryView, problems.SITE_NOT_FOUND),
)
async def connect_repository(body: NewRepository, call: Manager) -> Response:
    """Connect a repository on GitHub or GitLab, in place of the one before. Its host must confirm that the token may write."""
    host = RepositoryHost(body.host) if body.host is not None else None
    with _as_problems():
        repository = await call.service.connect(
            call.tenant, call.site, body.url, body.token, host=host, base=body.base, by=call.caller.actor
        )
    await call.record("repository.connected")
    return json_response(repository_view(repository))


@router.delete(
    "/repository",
    status_code=204,
    summary="Disconnect the repository",
    responses=empty_answer("The token is deleted.", problems.SITE_NOT_FOUND, problems.REPOSITORY_NOT_FOUND),
)
async def disconnect_repository(call: Manager) -> Response:
    """Delete the repository of a site with its token. Pull requests that are open stay on their host."""
    if not await call.service.disconnect(call.tenant, call.site):
        raise ApiProblem(problems.REPOSITORY_NOT_FOUND)
    await call.record("repository.disconnected")
    return Response(status_code=204)


@router.post(
    "/fixes/pull-request",
    status_code=202,
    summary="Request a draft pull request",
    responses=answers(FixView, problems.SITE_NOT_FOUND, problems.RATE_LIMITED, status=202),
)
async def request_pull_request(body: Selection, call: Manager) -> Response:
    """Queue a draft pull request for findings, or update the open one. A server opens it; nothing is merged."""
    from sitelore.app.audit.pull_requests import FixSelection  # noqa: PLC0415 see above

    selection = FixSelection(tuple(body.rules), tuple(body.findings))
    with _as_problems():
        request = await call.service.request(call.tenant, call.site, call.name, selection, call.caller.actor)
    await call.record("pull-request.requested")
    return json_response(fix_view(request), 202)


@router.get(
    "/fixes",
    summary="The pull requests of a site",
    responses=answers(FixList, problems.SITE_NOT_FOUND),
)
async def list_fixes(
    call: Reader,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Requests for pull requests with their states, newest first."""
    requests, total = await call.service.requests(call.tenant, call.site, limit, offset)
    views = FixList(list(map(fix_view, requests)), pagination_of(total, limit, offset, len(requests)))
    return json_response(views)


@router.get(
    "/fixes/{fix_id}",
    summary="A pull request",
    responses=answers(FixView, problems.SITE_NOT_FOUND, problems.FIX_NOT_FOUND),
)
async def show_fix(fix_id: FixId, call: Reader) -> Response:
    """A request as it was last seen. A server looks at an open pull request every ten minutes."""
    return _fix_answer(await call.service.find(call.tenant, call.site, fix_id))


@router.post(
    "/fixes/{fix_id}/refresh",
    summary="Look at a pull request now",
    responses=answers(FixView, problems.SITE_NOT_FOUND, problems.FIX_NOT_FOUND),
)
async def refresh_fix(fix_id: FixId, call: Manager) -> Response:
    """Ask the host for the state of an open pull request, and show the request."""
    return _fix_answer(await call.service.refresh(call.tenant, call.site, fix_id))


def _fix_answer(request: FixRequest | None) -> Response:
    if request is None:
        raise ApiProblem(problems.FIX_NOT_FOUND)
    return json_response(fix_view(request))
