"""`sitelore serve`: the HTTP API, with crawling or maintenance in the background; `sitelore worker`: work on queued runs."""

from __future__ import annotations

import logging
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.console import DATA, Data, run_async
from sitelore.model.errors import NoSuchRun, UsageError

if TYPE_CHECKING:
    from pathlib import Path
    from socket import socket

    from sitelore.app.settings import OperatorSettings
    from sitelore.serve.context import ApiSettings

_LOG = logging.getLogger(__name__)

_MAX_SHUTDOWN_S = 29.0
"""The longest time from the signal to the end. Supervisors commonly wait for 30 s before they kill a process."""


def serve(
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Address to listen on; without tokens only loopback.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="PORT", help="Port; 0 takes a free one.")] = 8080,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the dashboard in a browser.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log every request and every URL.")] = False,
    data: Data = DATA,
) -> int:
    """Serve the dashboard and the HTTP API, and run their crawls."""
    import logging

    from sitelore.app.access import check_access
    from sitelore.app.logs import log_as_json
    from sitelore.app.settings import operator_settings
    from sitelore.extras import require_extra
    from sitelore.fetch.guard import AddressGuard
    from sitelore.serve.context import api_settings
    from sitelore.serve.server import listening_socket

    require_extra("search", "the HTTP API")
    operator = operator_settings()
    AddressGuard((), operator.allow_private)  # a wrong entry is an error now, not at the first crawl
    if operator.secrets_keys:
        require_extra("secrets", "SITELORE_SECRETS_KEY")
    check_access(operator.access)
    settings = api_settings(operator)
    listening = listening_socket(host, port, with_tokens=needs_token(operator, host, data))
    log_as_json(logging.DEBUG if debug else logging.INFO)
    run_async(_serve(operator, settings, data, listening, open_browser=open_browser))
    return 0


def needs_token(operator: OperatorSettings, host: str, data: Path) -> bool:
    """Whether a server on this address needs tokens: the operator's own, or for a public address those in the database."""
    from sitelore.serve.server import is_loopback

    return bool(operator.tokens) or (not is_loopback(host) and run_async(_has_stored_tokens(data)))


async def _has_stored_tokens(data: Path) -> bool:
    with suppress(NoSuchRun):
        async with build_app(data, writing=False) as app:
            return await app.accounts.directory.has_tokens()
    return False


async def _serve(
    operator: OperatorSettings, settings: ApiSettings, data: Path, listening: socket, *, open_browser: bool
) -> None:
    from sitelore.app.demo_site import demo_site
    from sitelore.app.operations.checks import wait_for_services
    from sitelore.cli.commands.operations.mcp import mcp_asgi_app
    from sitelore.extract.process_memory import collect_garbage_seldom
    from sitelore.platform.accounts.authentication import ONE_TIME_LOGIN
    from sitelore.serve.context import context_of
    from sitelore.serve.security.sessions import Sessions
    from sitelore.serve.server import serve as serve_api

    with listening, ExitStack() as demo:
        if operator.is_scaled:
            await wait_for_services(operator)
        async with build_app(data, writing=True, serving=True) as app:
            collect_garbage_seldom()
            settings = replace(settings, has_stored_tokens=await app.accounts.directory.has_tokens())
            site = None if operator.is_scaled else cache(lambda: demo.enter_context(demo_site()))
            login = await Sessions(app.accounts.sessions).new_login(ONE_TIME_LOGIN)
            _print_link(listening, login, open_browser=open_browser)
            await serve_api(replace(context_of(app), demo_site=site), settings, listening, mcp=mcp_asgi_app(app))


def _print_link(listening: socket, code: str, *, open_browser: bool) -> None:
    """Print the link of the dashboard. The code is in the fragment, which no server logs and no page passes on."""
    import webbrowser

    from sitelore.cli.console import data_console

    host, port = listening.getsockname()[:2]
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104 compared
    link = f"http://{name}:{port}/ui/#login={code}"
    data_console().print(f"Dashboard: {link}\n(signs in one browser, within 10 minutes)", markup=False, soft_wrap=True)
    if open_browser:
        webbrowser.open(link)


def worker(
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, metavar="PORT", envvar="SITELORE_METRICS_PORT", help="Serve /metrics and /health on this port."
        ),
    ] = None,
    metrics_host: Annotated[
        str, typer.Option(metavar="HOST", envvar="SITELORE_METRICS_HOST", help="Address for the metrics port.")
    ] = "127.0.0.1",
    debug: Annotated[bool, typer.Option("--debug", help="Log every URL.")] = False,
) -> int:
    """Work on queued runs, together with other workers. Needs Postgres, Redis and a blob store (see the settings)."""
    from sitelore.app.access import check_access
    from sitelore.app.logs import log_as_json
    from sitelore.app.settings import operator_settings
    from sitelore.extract.process_memory import share_one_heap
    from sitelore.serve.server import listening_socket

    settings = operator_settings()
    if not settings.is_scaled:
        raise UsageError(
            "a worker needs SITELORE_DATABASE_URL, SITELORE_REDIS_URL and SITELORE_BLOBS_URL; "
            "without them, use `sitelore crawl` or `sitelore serve`, which need no worker"
        )
    check_access(settings.access)
    listening = None if metrics_port is None else listening_socket(metrics_host, metrics_port, with_tokens=True)
    share_one_heap()
    log_as_json(logging.DEBUG if debug else logging.INFO)
    run_async(_work(settings, listening))
    return 0


async def _work(settings: OperatorSettings, listening: socket | None) -> None:
    import asyncio
    import contextlib
    import signal
    from functools import partial

    from sitelore.app.index_process import index_as_leader
    from sitelore.app.operations.checks import wait_for_services
    from sitelore.app.wiring import scaled
    from sitelore.background import in_background
    from sitelore.extract.process_memory import collect_garbage_seldom
    from sitelore.serve.server import metrics_server

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        stop.set()
        loop.call_later(_MAX_SHUTDOWN_S, _exit_without_drain)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    metrics = contextlib.nullcontext() if listening is None else metrics_server(listening)
    if not await wait_for_services(settings, stop):
        return
    async with scaled(settings) as app, metrics, in_background("index process", partial(index_as_leader, app.queue)):
        collect_garbage_seldom()
        _LOG.info("working", extra={} if listening is None else {"metrics_port": listening.getsockname()[1]})
        await app.work(stop)
    _LOG.info("stopped")


def _exit_without_drain() -> None:
    """End the process while a service that does not answer blocks the shutdown. Leases expire; finished pages are stored."""
    import os

    _LOG.warning("stopped without finishing the requests in flight")
    os._exit(1)
