"""Account routes of the caller's tenant: tokens, users, the audit log, and who the caller is."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from sitelore.model.ids import is_id
from sitelore.model.platform.accounts import AuditListing, AuditOrder, Caller
from sitelore.platform.accounts.accounts import AccountService, check_chain
from sitelore.serve import problems
from sitelore.serve.context import AccessControl
from sitelore.serve.openapi import answers, empty_answer
from sitelore.serve.platform.account_schemas import (
    AuditCheckView,
    AuditFacetsView,
    AuditLogPage,
    ChangedUser,
    Identity,
    NewToken,
    NewUser,
    TokenCreated,
    TokenList,
    TokenRotation,
    TokenView,
    UserList,
    UserView,
    audit_check_view,
    audit_view,
    created_view,
    identity_view,
    token_view,
    user_view,
)
from sitelore.serve.problems import ApiProblem, ProblemType
from sitelore.serve.responses import json_response, pagination_of
from sitelore.serve.routes.dependencies import Limit, Offset, Service
from sitelore.serve.run_requests import PRINTABLE
from sitelore.serve.security.auth import MANAGES_TENANT, caller_of

router = APIRouter(prefix="/tenant/v1", tags=["accounts"])

TokenId = Annotated[str, Path(max_length=300, description="The id of a token, which is the second part of its text.")]
UserId = Annotated[str, Path(max_length=300, description="The id of a user.")]


async def account_service_of(service: Service, caller: Annotated[Caller, MANAGES_TENANT]) -> AccountService:
    """The `AccountService` of the caller's tenant; a FastAPI dependency."""
    return AccountService(service.context.accounts, service.context.clock, caller)


Accounts = Annotated[AccountService, Depends(account_service_of)]


async def access_of(request: Request) -> AccessControl:
    """The access control of the server, whose cache of tokens must learn of changes; a FastAPI dependency."""
    access = request.app.state.access
    assert isinstance(access, AccessControl)
    return access


Access = Annotated[AccessControl, Depends(access_of)]


@router.get("/me", summary="The caller", responses=answers(Identity))
async def show_caller(request: Request, service: Service) -> Response:
    """Whose token it is, and what it permits."""
    caller = caller_of(request)
    tenant = await service.context.directory.tenant(caller.tenant)
    if tenant is None:
        raise ApiProblem(problems.UNAUTHORIZED)  # deleted just now
    return json_response(identity_view(caller, tenant))


@router.get("/tokens", summary="The tokens", responses=answers(TokenList))
async def list_tokens(accounts: Accounts, limit: Limit = 100, offset: Offset = 0) -> Response:
    """All tokens of the tenant without their secrets, newest first; with revoked and expired ones."""
    tokens, total = await accounts.accounts.list_tokens(limit, offset)
    now = accounts.clock()
    page = pagination_of(total, limit, offset, len(tokens))
    return json_response(TokenList([token_view(token, now) for token in tokens], page))


@router.post(
    "/tokens",
    status_code=201,
    summary="Create a token",
    responses=answers(TokenCreated, status=201),
)
async def create_token(body: NewToken, accounts: Accounts) -> Response:
    """Create a token, which permits no more than its creator's. Its text is in the response, and nowhere else."""
    created = await accounts.create_token(body.request())
    headers = {"Location": f"/tenant/v1/tokens/{created.token.id}"}
    return json_response(created_view(created, accounts.clock()), 201, headers)


@router.get("/tokens/{token_id}", summary="A token", responses=answers(TokenView, problems.TOKEN_NOT_FOUND))
async def show_token(token_id: TokenId, accounts: Accounts) -> Response:
    """A token without its secret, with its last use."""
    token = await accounts.accounts.find_token(_plain(token_id, problems.TOKEN_NOT_FOUND))
    if token is None:
        raise ApiProblem(problems.TOKEN_NOT_FOUND)
    return json_response(token_view(token, accounts.clock()))


@router.post(
    "/tokens/{token_id}/rotate",
    status_code=201,
    summary="Rotate a token",
    responses=answers(TokenCreated, problems.TOKEN_NOT_FOUND, problems.CONFLICT, status=201),
)
async def rotate_token(token_id: TokenId, body: TokenRotation, accounts: Accounts, access: Access) -> Response:
    """Create a replacement with the same permissions. The old token stays valid for a grace period."""
    created = await accounts.rotate_token(_plain(token_id, problems.TOKEN_NOT_FOUND), float(body.grace_seconds))
    if created is None:
        raise ApiProblem(problems.TOKEN_NOT_FOUND)
    access.authenticator.forget(token_id)
    headers = {"Location": f"/tenant/v1/tokens/{created.token.id}"}
    return json_response(created_view(created, accounts.clock()), 201, headers)


@router.delete(
    "/tokens/{token_id}",
    summary="Revoke a token",
    responses=answers(TokenView, problems.TOKEN_NOT_FOUND),
)
async def revoke_token(token_id: TokenId, accounts: Accounts, access: Access) -> Response:
    """Revoke a token immediately and permanently. It stays in the list. Idempotent."""
    token = await accounts.revoke_token(_plain(token_id, problems.TOKEN_NOT_FOUND))
    if token is None:
        raise ApiProblem(problems.TOKEN_NOT_FOUND)
    access.authenticator.forget(token_id)
    return json_response(token_view(token, accounts.clock()))


@router.get("/users", summary="The users", responses=answers(UserList))
async def list_users(accounts: Accounts, limit: Limit = 100, offset: Offset = 0) -> Response:
    """The users of the tenant by e-mail address."""
    users, total = await accounts.accounts.list_users(limit, offset)
    return json_response(UserList([user_view(user) for user in users], pagination_of(total, limit, offset, len(users))))


@router.post(
    "/users",
    status_code=201,
    summary="Create a user",
    responses=answers(UserView, problems.CONFLICT, status=201),
)
async def create_user(body: NewUser, accounts: Accounts) -> Response:
    """Create a user. A role limits what the tokens of a user permit."""
    user = await accounts.create_user(body.email, body.role)
    return json_response(user_view(user), 201, {"Location": f"/tenant/v1/users/{user.id}"})


@router.get("/users/{user_id}", summary="A user", responses=answers(UserView, problems.USER_NOT_FOUND))
async def show_user(user_id: UserId, accounts: Accounts) -> Response:
    """A user with their role."""
    user = await accounts.accounts.find_user(_plain(user_id, problems.USER_NOT_FOUND))
    if user is None:
        raise ApiProblem(problems.USER_NOT_FOUND)
    return json_response(user_view(user))


@router.patch(
    "/users/{user_id}",
    summary="Change a role",
    responses=answers(UserView, problems.USER_NOT_FOUND, problems.CONFLICT),
)
async def change_user(user_id: UserId, body: ChangedUser, accounts: Accounts, access: Access) -> Response:
    """Give a user another role, which limits their tokens at once. The last owner keeps theirs."""
    user = await accounts.change_role(_plain(user_id, problems.USER_NOT_FOUND), body.role)
    if user is None:
        raise ApiProblem(problems.USER_NOT_FOUND)
    access.authenticator.forget()
    return json_response(user_view(user))


@router.delete(
    "/users/{user_id}",
    status_code=204,
    summary="Delete a user",
    responses=empty_answer("The user is deleted, and their tokens are revoked.", problems.USER_NOT_FOUND, problems.CONFLICT),
)
async def delete_user(user_id: UserId, accounts: Accounts, access: Access) -> Response:
    """Delete a user and revoke their tokens. The last owner stays."""
    if not await accounts.delete_user(_plain(user_id, problems.USER_NOT_FOUND)):
        raise ApiProblem(problems.USER_NOT_FOUND)
    access.authenticator.forget()
    return Response(status_code=204)


@router.get("/audit", summary="The audit log", responses=answers(AuditLogPage))
async def list_audit_log(
    accounts: Accounts,
    action: Annotated[
        list[Annotated[str, Field(max_length=100, pattern=r"^[a-z.-]*$")]] | None,
        Query(max_length=100, description="Only records of these actions."),
    ] = None,
    actor: Annotated[
        list[Annotated[str, Field(max_length=300, pattern=PRINTABLE)]] | None,
        Query(max_length=100, description="Only changes that these made."),
    ] = None,
    subject: Annotated[
        str, Query(alias="object", max_length=300, pattern=r"^[!-~]*$", description="Only records about this object.")
    ] = "",
    q: Annotated[
        str, Query(max_length=200, pattern=PRINTABLE, description="Only records with this in actor, action, object or address.")
    ] = "",
    sort: Annotated[AuditOrder, Query(description="By what to sort.")] = AuditOrder.TIME,
    order: Annotated[Literal["asc", "desc"], Query(description="Ascending or descending.")] = "desc",
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Who changed what, newest first. Secrets and values are not part of it, only hashes."""
    actions, actors = frozenset(action or ()) - {""}, frozenset(actor or ()) - {""}
    listing = AuditListing(limit, offset, actions, actors, subject, q, sort, order == "desc")
    own = accounts.accounts
    (records, total), facets = await asyncio.gather(own.audit_records(listing), own.audit_facets(listing))
    page = pagination_of(total, limit, offset, len(records))
    counts = AuditFacetsView(facets.by_action, facets.by_actor)
    return json_response(AuditLogPage([audit_view(record) for record in records], counts, page))


@router.get("/audit/verify", summary="Check the audit log", responses=answers(AuditCheckView))
async def verify_audit_log(accounts: Accounts) -> Response:
    """Check the chain of hashes over all records. A last hash that is kept elsewhere also proves that the end is complete."""
    return json_response(audit_check_view(await check_chain(accounts.accounts.audit_chain())))


def _plain(name: str, missing: ProblemType) -> str:
    """An id that can exist."""
    if not is_id(name):
        raise ApiProblem(missing)
    return name
