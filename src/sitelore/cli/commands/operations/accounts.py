"""`sitelore tenant` and `sitelore token`: the accounts of an installation, for its operator."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sitelore.cli.console import DATA, AsJson, Data, data_console, minute, note, print_json, tenant_named, with_app
from sitelore.model.errors import UsageError
from sitelore.model.ids import DEFAULT_TENANT_NAME
from sitelore.model.platform.accounts import ALL_SCOPES, Caller, TokenKind, TokenScope
from sitelore.model.settings import parse_duration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from sitelore.app.app import App
    from sitelore.model.frontier import Tenant
    from sitelore.model.platform.accounts import Token
    from sitelore.platform.accounts.accounts import AccountService, CreatedToken
    from sitelore.platform.accounts.tenants import TenantService

_Result = TypeVar("_Result")


class _Access(Enum):
    """How a command uses a data directory."""

    READ = "read"
    CHANGE = "change"
    """Also beside a server that uses it. A new directory is created."""
    ALONE = "alone"


_ACTOR = "command line"
_MAX_TOKENS = 100_000

tenant = typer.Typer(help="Create, list, suspend and delete tenants.", no_args_is_help=True)
token = typer.Typer(help="Create, list, rotate and revoke API tokens.", no_args_is_help=True)

TenantName = Annotated[str, typer.Argument(metavar="NAME", help="The name of a tenant.")]
InTenant = Annotated[str, typer.Option("--tenant", metavar="NAME", help="The tenant of the token.")]
TokenId = Annotated[str, typer.Argument(metavar="TOKEN", help="The id of a token, or the token itself.")]


@tenant.command("list")
def list_tenants(as_json: AsJson = False, data: Data = DATA) -> None:
    """List the tenants."""

    async def work(app: App) -> list[Tenant]:
        return await app.queue.tenants()

    _print_tenants(_with_app(data, work, _Access.READ), as_json=as_json)


@tenant.command("create")
def create_tenant(name: TenantName, as_json: AsJson = False, data: Data = DATA) -> None:
    """Create a tenant. `sitelore token create --tenant NAME` makes a token for it."""

    async def work(app: App) -> Tenant:
        return await _tenant_service(app).create_empty(name)

    created = _with_app(data, work)
    if as_json:
        print_json(_tenant_fields(created))
    else:
        note(f"created tenant {created.name} (id {created.id})")


@tenant.command("show")
def show_tenant(name: TenantName, as_json: AsJson = False, data: Data = DATA) -> None:
    """Show a tenant."""

    async def work(app: App) -> Tenant:
        return await tenant_named(app, name)

    _print_tenants([_with_app(data, work, _Access.READ)], as_json=as_json)


@tenant.command("suspend")
def suspend_tenant(
    name: TenantName,
    end: Annotated[bool, typer.Option("--end", help="Accept the tokens of the tenant again.")] = False,
    data: Data = DATA,
) -> None:
    """Refuse the tokens of a tenant, until `--end`."""

    async def work(app: App) -> Tenant | None:
        return await _tenant_service(app).suspend(await tenant_named(app, name), is_suspended=not end)

    _with_app(data, work)
    note(f"tenant {name} is {'active' if end else 'suspended'}")


@tenant.command("delete")
def delete_tenant(
    name: TenantName,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only show what would be deleted.")] = False,
    data: Data = DATA,
) -> None:
    """Cancel the runs of a tenant, and delete all its data."""

    async def work(app: App) -> None:
        from sitelore.app.operations.deletion import vacuum_databases

        chosen, service = await tenant_named(app, name), _tenant_service(app)
        if yes:
            await service.suspend(chosen, is_suspended=True)
            await app.delete_tenant(chosen)
            await service.record("tenant.deleted", chosen)
            await vacuum_databases(app)

    _with_app(data, work, _Access.ALONE if yes else _Access.READ)
    note(f"deleted tenant {name}" if yes else f"would delete tenant {name} with everything of it; add --yes to delete")


@token.command("create")
def create_token(
    tenant_name: InTenant = DEFAULT_TENANT_NAME,
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the token is for.")] = "command line",
    scope: Annotated[
        list[TokenScope] | None, typer.Option(help="A permission; repeat it for more. Without it: all within the tenant.")
    ] = None,
    kind: Annotated[
        TokenKind, typer.Option(help="api; mcp: only reading and searching; admin: the operator's, for every tenant.")
    ] = TokenKind.API,
    channel: Annotated[str, typer.Option(metavar="ID", help="The only channel that the token reaches.")] = "",
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="Valid for this long (12h, 90d).")] = None,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Create a token. It is printed once, and cannot be shown again."""
    expires_s = None if expires is None else parse_duration(expires, "--expires")

    async def work(app: App) -> CreatedToken:
        from sitelore.platform.accounts.accounts import TokenRequest

        service = await _account_service(app, tenant_name)
        expires_at = None if expires_s is None else app.clock() + expires_s
        return await service.create_token(TokenRequest(name, frozenset(scope or ()), kind, channel, expires_at=expires_at))

    _print_created(_with_app(data, work), as_json=as_json)


@token.command("list")
def list_tokens(tenant_name: InTenant = DEFAULT_TENANT_NAME, as_json: AsJson = False, data: Data = DATA) -> None:
    """List the tokens of a tenant, without their secrets."""

    async def work(app: App) -> tuple[list[Token], float]:
        service = await _account_service(app, tenant_name)
        return (await service.accounts.list_tokens(_MAX_TOKENS, 0))[0], app.clock()

    _print_tokens(*_with_app(data, work, _Access.READ), as_json=as_json)


@token.command("rotate")
def rotate_token(
    token_id: TokenId,
    tenant_name: InTenant = DEFAULT_TENANT_NAME,
    grace: Annotated[str, typer.Option(metavar="TIME", help="How long the old token stays valid.")] = "24h",
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Replace a token by a new one with the same permissions, which is printed once."""
    grace_s = 0.0 if grace == "0" else parse_duration(grace, "--grace")

    async def work(app: App) -> CreatedToken | None:
        return await (await _account_service(app, tenant_name)).rotate_token(_id_of(token_id), grace_s)

    _print_created(_existing(_with_app(data, work), token_id, tenant_name), as_json=as_json)


@token.command("revoke")
def revoke_token(token_id: TokenId, tenant_name: InTenant = DEFAULT_TENANT_NAME, data: Data = DATA) -> None:
    """Revoke a token immediately and permanently."""

    async def work(app: App) -> Token | None:
        return await (await _account_service(app, tenant_name)).revoke_token(_id_of(token_id))

    revoked = _existing(_with_app(data, work), token_id, tenant_name)
    note(f"revoked token {revoked.id}")


def _with_app(data: Path, work: Callable[[App], Awaitable[_Result]], access: _Access = _Access.CHANGE) -> _Result:
    """The result of work with the application."""
    is_alone = access is _Access.ALONE or (access is _Access.CHANGE and not (data / "sitelore.db").exists())
    # Without the lock of the directory, small writes wait for those of a running server.
    return with_app(data, work, writing=is_alone)


def _tenant_service(app: App) -> TenantService:
    from sitelore.platform.accounts.tenants import TenantService

    return TenantService(app.queue, app.accounts.directory, app.clock, Caller(actor=_ACTOR))


async def _account_service(app: App, tenant_name: str) -> AccountService:
    from sitelore.platform.accounts.accounts import AccountService

    chosen = await tenant_named(app, tenant_name)
    return AccountService(app.accounts.directory.for_tenant(chosen.id), app.clock, Caller(chosen.id, ALL_SCOPES, actor=_ACTOR))


def _id_of(text: str) -> str:
    """The id of a token, from its id or from its full text."""
    from sitelore.platform.accounts.authentication import parse_token

    parsed = parse_token(text)
    return text if parsed is None else parsed.id


def _existing(result: _Result | None, token_id: str, tenant_name: str) -> _Result:
    if result is None:
        shown = token_id if len(token_id) <= 32 else "this id"
        raise UsageError(f"tenant {tenant_name} has no token {shown}; see `sitelore token list`")
    return result


def _print_created(created: CreatedToken, *, as_json: bool) -> None:
    if as_json:
        print_json({**_token_fields(created.token), "token": created.text})
        return
    note(f"token {created.token.id}: {', '.join(sorted(created.token.scopes))}. It is shown only this once:")
    typer.echo(created.text)


def _print_tokens(tokens: list[Token], now: float, *, as_json: bool) -> None:
    if as_json:
        print_json([{**_token_fields(each), "valid": each.is_live(now)} for each in tokens])
        return
    from rich.table import Table

    table = Table("token", "name", "kind", "scopes", "state", "last used")
    for each in tokens:
        state = "valid" if each.is_live(now) else "revoked" if each.revoked_at is not None else "expired"
        used = "never" if each.last_used_at is None else minute(each.last_used_at)
        table.add_row(each.id, each.name, each.kind, " ".join(sorted(each.scopes)), state, used)
    data_console().print(table)


def _print_tenants(tenants: list[Tenant], *, as_json: bool) -> None:
    if as_json:
        print_json([_tenant_fields(each) for each in tenants])
        return
    from rich.table import Table

    table = Table("id", "name", "created", "state")
    for each in tenants:
        table.add_row(str(each.id), each.name, minute(each.created_at), "active" if each.suspended_at is None else "suspended")
    data_console().print(table)


def _token_fields(each: Token) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(each), "scopes": sorted(each.scopes)}


def _tenant_fields(each: Tenant) -> dict[str, Any]:
    return {
        "id": str(each.id), "name": each.name, "created_at": each.created_at, "suspended_at": each.suspended_at,
    }  # fmt: skip
