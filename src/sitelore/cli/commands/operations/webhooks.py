"""`sitelore webhooks`: manage the endpoints that receive events, test them, and replay deliveries."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data, counted, data_console, note, print_json, tenant_named, visible, with_app
from sitelore.model.errors import UsageError
from sitelore.model.ids import DEFAULT_TENANT_NAME
from sitelore.model.settings import parse_duration

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path
    from typing import TypeVar

    from sitelore.app.app import App
    from sitelore.model.ids import TenantId
    from sitelore.model.platform.webhooks import Delivery, WebhookEndpoint
    from sitelore.platform.webhooks.endpoints import WebhookService

    T = TypeVar("T")

webhooks = typer.Typer(help="Manage webhooks: receivers of events about crawls.", no_args_is_help=True, rich_markup_mode=None)

TenantName = Annotated[str, typer.Option("--tenant", metavar="NAME", help="The tenant whose webhooks these are.")]
WebhookId = Annotated[str, typer.Argument(metavar="ID", help="The id of a webhook, or a unique start of it.")]


@webhooks.command("list")
def list_webhooks(tenant: TenantName = DEFAULT_TENANT_NAME, as_json: AsJson = False, data: Data = DATA) -> None:
    """List webhooks with their health."""

    async def work(service: WebhookService, own: TenantId) -> list[WebhookEndpoint]:
        return await service.endpoints(own)

    endpoints = _run(data, tenant, work, writing=False)
    if as_json:
        print_json([_shown(endpoint) for endpoint in endpoints])
        return
    console = data_console()
    for endpoint in endpoints:
        types = ", ".join(endpoint.types) or "all types"
        state = "" if endpoint.enabled else f"  disabled: {endpoint.disabled_reason}"
        console.print(f"{endpoint.id}  {visible(endpoint.url)}  {types}{state}", markup=False)
    if not endpoints:
        note("no webhooks; add one with `sitelore webhooks add URL`")


@webhooks.command("add")
def add_webhook(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where events are sent: https.")],
    event_type: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="An event type to receive; repeat it. Default: all.")
    ] = None,
    tenant: TenantName = DEFAULT_TENANT_NAME,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Add a webhook and print its secret, which is not shown again."""

    async def work(service: WebhookService, own: TenantId) -> tuple[WebhookEndpoint, str]:
        return await service.create(own, url, event_type or [])

    endpoint, secret = _run(data, tenant, work)
    _print_secret(endpoint, secret, as_json=as_json)


@webhooks.command("rotate")
def rotate_webhook(
    webhook: WebhookId,
    grace: Annotated[str, typer.Option(metavar="TIME", help="For how long both secrets sign.")] = "24h",
    tenant: TenantName = DEFAULT_TENANT_NAME,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Replace the secret of a webhook and print the new one."""
    grace_s = parse_duration(grace, "--grace")

    async def work(service: WebhookService, own: TenantId) -> tuple[WebhookEndpoint, str]:
        return await service.rotate(own, await _id_of(service, own, webhook), grace_s)

    endpoint, secret = _run(data, tenant, work)
    _print_secret(endpoint, secret, as_json=as_json)


@webhooks.command("remove")
def remove_webhook(webhook: WebhookId, tenant: TenantName = DEFAULT_TENANT_NAME, data: Data = DATA) -> None:
    """Remove a webhook with its delivery log."""

    async def work(service: WebhookService, own: TenantId) -> None:
        await service.remove(own, await _id_of(service, own, webhook))

    _run(data, tenant, work)
    note("removed the webhook")


@webhooks.command("enable")
def enable_webhook(webhook: WebhookId, tenant: TenantName = DEFAULT_TENANT_NAME, data: Data = DATA) -> None:
    """Enable a webhook that was disabled."""
    from sitelore.model.platform.webhooks import EndpointChange

    async def work(service: WebhookService, own: TenantId) -> None:
        await service.change(own, await _id_of(service, own, webhook), EndpointChange(enabled=True))

    _run(data, tenant, work)
    note("enabled the webhook; `sitelore webhooks replay` delivers what it has not received")


@webhooks.command("test")
def send_test(webhook: WebhookId, tenant: TenantName = DEFAULT_TENANT_NAME, as_json: AsJson = False, data: Data = DATA) -> int:
    """Send a test message now and show the answer. Exits with 1 when it was not accepted."""
    from dataclasses import asdict

    async def work(service: WebhookService, own: TenantId) -> tuple[bool, dict[str, object]]:
        attempt = await service.test(own, await _id_of(service, own, webhook))
        return attempt.is_success, asdict(attempt)

    is_accepted, attempt = _run(data, tenant, work, writing=False)
    if as_json:
        print_json({"accepted": is_accepted, **attempt})
    else:
        result = attempt["error"] or f"answered {attempt['status']} after {attempt['elapsed_ms']} ms"
        note(f"{'accepted' if is_accepted else 'not accepted'}: {visible(str(result))}")
    return 0 if is_accepted else 1


@webhooks.command("deliveries")
def list_deliveries(
    webhook: WebhookId,
    dead: Annotated[bool, typer.Option("--dead", help="Only dead letters.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, metavar="N", help="Entries at most.")] = 50,
    tenant: TenantName = DEFAULT_TENANT_NAME,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Show the delivery log of a webhook, newest first."""
    from sitelore.model.platform.webhooks import DeliveryListing, DeliveryState

    async def work(service: WebhookService, own: TenantId) -> list[Delivery]:
        listing = DeliveryListing(DeliveryState.DEAD if dead else None, limit)
        entries, _ = await service.deliveries(own, await _id_of(service, own, webhook), listing)
        return entries

    entries = _run(data, tenant, work, writing=False)
    if as_json:
        print_json(entries)
        return
    console = data_console()
    for entry in entries:
        result = entry.status or visible(entry.error or "")
        console.print(f"{entry.event:>8}  {entry.state:<9}  {entry.type:<16}  {entry.attempts} x  {result}", markup=False)


@webhooks.command("replay")
def replay_deliveries(
    webhook: WebhookId,
    event: Annotated[int | None, typer.Option(min=0, metavar="EVENT", help="Only this event, in any state.")] = None,
    newer_than: Annotated[str | None, typer.Option(metavar="TIME", help="Only dead letters of events since then (2d).")] = None,
    tenant: TenantName = DEFAULT_TENANT_NAME,
    data: Data = DATA,
) -> None:
    """Deliver dead letters again: all, those of a period, or one event. A server sends them."""
    if event is not None and newer_than is not None:
        raise UsageError("use one of --event and --newer-than")
    period_s = None if newer_than is None else parse_duration(newer_than, "--newer-than")

    async def work(service: WebhookService, own: TenantId) -> int:
        from sitelore.platform.webhooks.endpoints import EndpointDisabled

        target = await _id_of(service, own, webhook)
        try:
            if event is None:
                since = 0.0 if period_s is None else service.now() - period_s
                return await service.replay_dead(own, target, since, math.inf)
            if await service.replay(own, target, event):
                return 1
        except EndpointDisabled:
            raise UsageError("the webhook is disabled; enable it with `sitelore webhooks enable`") from None
        raise UsageError(f"the webhook has no delivery of the event {event}")

    note(f"queued {counted(_run(data, tenant, work), 'event')}")


def _run(data: Path, tenant: str, work: Callable[[WebhookService, TenantId], Awaitable[T]], *, writing: bool = True) -> T:
    """Do something with the webhooks of a tenant."""

    async def run(app: App) -> T:
        return await work(app.webhooks.service(), (await tenant_named(app, tenant)).id)

    return with_app(data, run, writing=writing)


async def _id_of(service: WebhookService, tenant: TenantId, start: str) -> str:
    matching = [endpoint.id for endpoint in await service.endpoints(tenant) if endpoint.id.startswith(start)]
    if len(matching) != 1:
        raise UsageError(f"{'several webhooks start' if matching else 'no webhook starts'} with {start!r}")
    return matching[0]


def _shown(endpoint: WebhookEndpoint) -> dict[str, object]:
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "types": list(endpoint.types),
        "enabled": endpoint.enabled,
        "disabled_reason": endpoint.disabled_reason or None,
        "failing_since": endpoint.failing_since,
    }


def _print_secret(endpoint: WebhookEndpoint, secret: str, *, as_json: bool) -> None:
    if as_json:
        print_json({**_shown(endpoint), "secret": secret})
        return
    data_console().print(secret, markup=False)
    note(f"webhook {endpoint.id}: store this secret now, it is not shown again")
