"""Sign-up route: a company registers itself. Off unless the operator has opened it; limited by address."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response

from sitelore.platform.accounts.tenants import SignedUp, SignupService
from sitelore.serve import problems
from sitelore.serve.openapi import answers
from sitelore.serve.platform.account_schemas import Email, Name, Registration, tenant_view, user_view
from sitelore.serve.platform.channel_schemas import channel_view, job_view
from sitelore.serve.platform.channels import channel_service
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import json_response
from sitelore.serve.routes.dependencies import Service
from sitelore.serve.run_requests import open_url
from sitelore.serve.run_service import RunService, services_of
from sitelore.serve.security.auth import caller_of
from sitelore.serve.security.middleware import SIGNUP_PATH

router = APIRouter(tags=["sign-up"])


class Signup(BaseModel):
    """A company that registers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=to_camel)

    company_name: Name
    email: Email
    company_website: Annotated[
        str | None, Field(min_length=1, max_length=8192, description="Its website: an http(s) URL, or a host name.")
    ] = None


@router.post(
    SIGNUP_PATH,
    status_code=201,
    summary="Sign up",
    responses=answers(Registration, problems.SIGNUP_CLOSED, problems.ADDRESS_REFUSED, status=201),
)
async def register(body: Signup, request: Request, service: Service) -> Response:
    """Create a tenant with its owner, a token and, with a website, its channel and a first crawl: all of it or nothing."""
    if not service.settings.open_signup:
        raise ApiProblem(problems.SIGNUP_CLOSED, "ask the operator for a tenant")
    website = None if body.company_website is None else _url(body.company_website, service)
    own = channel_service(service, service.context.tenant)
    signed_up = await SignupService(service.context.directory, own, caller_of(request)).register(
        body.company_name.strip(), body.email, website
    )
    view = await _view(signed_up, services_of(request).of(signed_up.registered.tenant.id))
    return json_response(view, 201, {"Location": "/tenant/v1/me"})


async def _view(signed_up: SignedUp, runs: RunService) -> Registration:
    registered = signed_up.registered
    tenant, user = tenant_view(registered.tenant), user_view(signed_up.owner)
    if registered.channel is None or registered.run is None:
        return Registration(tenant, user, signed_up.token, None, None)
    own = channel_service(runs, registered.tenant.id)
    job = await own.channels.job(registered.run)
    channel = channel_view(registered.channel, await own.tenant_settings(), job, None)
    return Registration(tenant, user, signed_up.token, channel, None if job is None else job_view(job))


def _url(website: str, service: RunService) -> str:
    """The URL of a website, which people often write without `https://`."""
    url = website if "://" in website else f"https://{website}"
    return open_url(url, "body.companyWebsite", service.settings.allow_private)
