"""Site access routes: credentials, headers and cookies of sites, stored encrypted for all crawls of the tenant."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from sitelore.app.access import SiteOptions, site_access
from sitelore.model.access import SiteSession, StoredSession
from sitelore.model.errors import UsageError
from sitelore.model.platform.accounts import Caller
from sitelore.model.url import Url
from sitelore.serve import problems
from sitelore.serve.openapi import answers, empty_answer
from sitelore.serve.problems import ApiProblem, FieldProblem
from sitelore.serve.responses import json_response
from sitelore.serve.routes.dependencies import PageUrl, Service, parsed_url
from sitelore.serve.run_requests import Address, open_url
from sitelore.serve.schemas import SiteAccessList, SiteAccessView
from sitelore.serve.security.auth import MANAGES_CHANNELS
from sitelore.times import iso_time

router = APIRouter(prefix="/site-access", tags=["site access"])

_MAX_HEADERS = 50
_MAX_CHARS = 8192
_Text = Annotated[str, Field(max_length=_MAX_CHARS)]


class SiteAccessRequest(BaseModel):
    """What is sent to the origin of a URL besides an ordinary request."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)

    url: Address
    headers: Annotated[dict[_Text, _Text], Field(max_length=_MAX_HEADERS, description="Extra headers by name.")] = {}
    cookie: Annotated[_Text, Field(description="Cookies: `a=b; c=d`.")] = ""
    storage_state: Annotated[dict[str, Any], Field(description="Cookies and local storage, as Playwright saves them.")] = {}
    auth: Annotated[_Text, Field(description="Basic auth: `USER:PASSWORD`.")] = ""
    bearer: Annotated[_Text, Field(description="A bearer token.")] = ""


@router.get("", dependencies=[MANAGES_CHANNELS], summary="The sites with stored access", responses=answers(SiteAccessList))
async def list_site_access(service: Service) -> Response:
    """The origins to which access is stored, also by `sitelore login`."""
    return json_response(SiteAccessList([_view(row) for row in await service.stored_access()]))


@router.put("", summary="Store access to a site", responses=answers(SiteAccessView, problems.ADDRESS_REFUSED))
async def put_site_access(body: SiteAccessRequest, caller: Annotated[Caller, MANAGES_CHANNELS], service: Service) -> Response:
    """Store what crawls send to an origin; what was stored for it before is replaced. No answer contains the secrets."""
    url = Url.trusted(open_url(body.url, "body.url", service.settings.allow_private))
    try:
        access = site_access(
            SiteOptions(
                headers=body.headers, cookie=body.cookie, storage_state=body.storage_state, auth=body.auth, bearer=body.bearer
            )
        )
    except UsageError as problem:
        field, _, reason = str(problem).partition(": ")
        raise ApiProblem(problems.INVALID, errors=(FieldProblem(f"body.{to_camel(field)}", reason or field),)) from None
    if not access.headers and not access.cookies and not access.local_storage:
        reason = "name one of headers, cookie, storageState, auth and bearer"
        raise ApiProblem(problems.INVALID, errors=(FieldProblem("body", reason),))
    password = body.auth.partition(":")[2]
    session = SiteSession(
        url.origin, access.cookies, access.local_storage, headers=access.headers, passwords=(password,) if password else ()
    )
    return json_response(_view(await service.store_access(session, caller)))


@router.delete(
    "",
    status_code=204,
    summary="Delete stored access to a site",
    responses=empty_answer("It is deleted.", problems.SITE_ACCESS_NOT_FOUND),
)
async def delete_site_access(url: PageUrl, caller: Annotated[Caller, MANAGES_CHANNELS], service: Service) -> Response:
    """Delete what is stored for the origin of a URL."""
    origin = parsed_url(url).origin
    if not await service.delete_access(origin, caller):
        raise ApiProblem(problems.SITE_ACCESS_NOT_FOUND, f"no access to {origin} is stored")
    return Response(status_code=204)


def _view(row: StoredSession) -> SiteAccessView:
    return SiteAccessView(row.origin, iso_time(row.created_at), iso_time(row.renewed_at))
