"""`sitelore repository`: connect the repository from which a site is made, for `sitelore fix --pull-request`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data, data_console, note, print_json, visible, with_app
from sitelore.model.errors import NoSuchRun, UsageError
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.platform.fixes import RepositoryHost

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path
    from typing import TypeVar

    from sitelore.app.app import App
    from sitelore.app.audit.pull_requests import FixService
    from sitelore.model.ids import SiteId
    from sitelore.model.platform.fixes import ConnectedRepository

    T = TypeVar("T")

repository = typer.Typer(
    help="Connect the repository of a site, for draft pull requests.", no_args_is_help=True, rich_markup_mode=None
)

SiteName = Annotated[str, typer.Argument(metavar="SITE", help="A site as listed by `sitelore runs`.")]


@repository.command("connect")
def connect_repository(
    site: SiteName,
    url: Annotated[str, typer.Argument(metavar="URL", help="The repository, such as https://github.com/owner/name.")],
    host: Annotated[
        RepositoryHost | None, typer.Option(help="The API of its host, where the URL does not name it.", show_default=False)
    ] = None,
    base: Annotated[str, typer.Option(metavar="BRANCH", help="The branch to merge into.  [default: its main branch]")] = "",
    data: Data = DATA,
) -> None:
    """Connect a repository. Its token is read from standard input and stored encrypted, where a key is set."""
    token = typer.prompt("Token", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()

    async def work(service: FixService, own: SiteId) -> ConnectedRepository:
        return await service.connect(DEFAULT_TENANT, own, url, token.strip(), host=host, base=base)

    connected = _run(data, site, work)
    note(f"connected {visible(connected.url)}; pull requests are for the branch {visible(connected.base)}")


@repository.command("show")
def show_repository(site: SiteName, as_json: AsJson = False, data: Data = DATA) -> None:
    """Show the repository of a site, without its token."""

    async def work(service: FixService, own: SiteId) -> ConnectedRepository | None:
        return await service.repository(DEFAULT_TENANT, own)

    known = _run(data, site, work, writing=False)
    if as_json:
        print_json(None if known is None else {"host": known.host, "url": known.url, "base": known.base})
    elif known is None:
        note("no repository; connect one with `sitelore repository connect SITE URL`")
    else:
        data_console().print(f"{known.host}  {visible(known.url)}  {visible(known.base)}", markup=False)


@repository.command("disconnect")
def disconnect_repository(site: SiteName, data: Data = DATA) -> None:
    """Delete the token of a site's repository. Pull requests that are open stay."""

    async def work(service: FixService, own: SiteId) -> bool:
        return await service.disconnect(DEFAULT_TENANT, own)

    if not _run(data, site, work):
        raise UsageError(f"the site {site} has no connected repository")
    note("disconnected the repository")


def _run(data: Path, site: str, work: Callable[[FixService, SiteId], Awaitable[T]], *, writing: bool = True) -> T:
    """Do something with the repository of a site."""

    async def run(app: App) -> T:
        own = await app.ledger.site_named(site)
        if own is None:
            raise NoSuchRun(f"unknown site {site!r}; `sitelore runs` lists them")
        return await work(app.fix_service(), own)

    return with_app(data, run, writing=writing)
