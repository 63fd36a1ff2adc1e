"""Routes of the operator: create, show, suspend and delete tenants."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from sitelore.model.frontier import Tenant
from sitelore.model.ids import TenantId
from sitelore.model.platform.accounts import Caller
from sitelore.platform.accounts.tenants import TenantService
from sitelore.serve import problems
from sitelore.serve.openapi import answers, empty_answer
from sitelore.serve.platform.account_schemas import NewTenant, TenantCreated, TenantList, TenantView, tenant_view
from sitelore.serve.problems import ApiProblem
from sitelore.serve.responses import json_response, pagination_of
from sitelore.serve.routes.dependencies import Limit, Offset, Service
from sitelore.serve.routes.platform.accounts import Access
from sitelore.serve.run_service import RunService
from sitelore.serve.security.auth import ADMINISTERS

router = APIRouter(prefix="/manage/v1/tenants", tags=["tenants"])

_MAX_DIGITS = 9
TenantPath = Annotated[str, Path(max_length=300, description="The id of a tenant.")]
Operator = Annotated[Caller, ADMINISTERS]


@router.get("", dependencies=[ADMINISTERS], summary="The tenants", responses=answers(TenantList))
async def list_tenants(service: Service, limit: Limit = 100, offset: Offset = 0) -> Response:
    """All tenants by id."""
    tenants = await service.context.queue.tenants()
    shown = tenants[offset : offset + limit]
    page = pagination_of(len(tenants), limit, offset, len(shown))
    return json_response(TenantList([tenant_view(tenant) for tenant in shown], page))


@router.post(
    "",
    status_code=201,
    summary="Create a tenant",
    responses=answers(TenantCreated, problems.CONFLICT, status=201),
)
async def create_tenant(body: NewTenant, caller: Operator, service: Service) -> Response:
    """Create a tenant with a token for all of it and, with an e-mail address, its owner."""
    created = await _tenants(service, caller).create(body.name, body.owner_email)
    view = tenant_view(created.tenant)
    shown = TenantCreated(view.id, view.name, view.created_at, view.suspended_at, created.token.text)
    return json_response(shown, 201, {"Location": f"/manage/v1/tenants/{view.id}"})


@router.get(
    "/{tenant_id}",
    dependencies=[ADMINISTERS],
    summary="A tenant",
    responses=answers(TenantView, problems.TENANT_NOT_FOUND),
)
async def show_tenant(tenant_id: TenantPath, service: Service) -> Response:
    """A tenant, and whether it is suspended."""
    return json_response(tenant_view(await tenant_of(tenant_id, service)))


@router.post(
    "/{tenant_id}/suspend",
    summary="Suspend a tenant",
    responses=answers(TenantView, problems.TENANT_NOT_FOUND, problems.CONFLICT),
)
async def suspend_tenant(tenant_id: TenantPath, caller: Operator, service: Service, access: Access) -> Response:
    """Refuse the tokens of a tenant from now on. Idempotent."""
    tenant = await tenant_of(tenant_id, service)
    return await _suspended(tenant, service, caller, access, is_suspended=True)


@router.post(
    "/{tenant_id}/resume",
    summary="End the suspension of a tenant",
    responses=answers(TenantView, problems.TENANT_NOT_FOUND),
)
async def resume_tenant(tenant_id: TenantPath, caller: Operator, service: Service, access: Access) -> Response:
    """Accept the tokens of a tenant again. Idempotent."""
    tenant = await tenant_of(tenant_id, service)
    return await _suspended(tenant, service, caller, access, is_suspended=False)


@router.delete(
    "/{tenant_id}",
    status_code=204,
    summary="Delete a tenant",
    responses=empty_answer("The tenant is deleted with everything of it.", problems.TENANT_NOT_FOUND, problems.CONFLICT),
)
async def delete_tenant(tenant_id: TenantPath, caller: Operator, service: Service, access: Access) -> Response:
    """Refuse the tokens of a tenant, cancel its runs, and delete everything of it."""
    tenant = await tenant_of(tenant_id, service)
    await _suspended(tenant, service, caller, access, is_suspended=True)
    await service.context.delete_tenant(tenant)
    await _tenants(service, caller).record("tenant.deleted", tenant)
    return Response(status_code=204)


async def _suspended(tenant: Tenant, service: RunService, caller: Caller, access: Access, *, is_suspended: bool) -> Response:
    changed = await _tenants(service, caller).suspend(tenant, is_suspended=is_suspended)
    if changed is None:
        raise ApiProblem(problems.TENANT_NOT_FOUND)
    access.authenticator.forget()
    return json_response(tenant_view(changed))


async def tenant_of(tenant_id: str, service: RunService) -> Tenant:
    """The tenant with this id."""
    is_number = tenant_id.isascii() and tenant_id.isdecimal() and len(tenant_id) <= _MAX_DIGITS
    tenant = await service.context.directory.tenant(TenantId(int(tenant_id))) if is_number else None
    if tenant is None:
        raise ApiProblem(problems.TENANT_NOT_FOUND)
    return tenant


def _tenants(service: RunService, caller: Caller) -> TenantService:
    context = service.context
    return TenantService(context.queue, context.directory, context.clock, caller)
