"""`sitelore login`: log in to a site in a browser, and list or forget stored sessions."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sitelore.cli.console import DATA, AsJson, Data, counted, data_console, data_option, minute, note, print_json, with_app
from sitelore.model.errors import BadConfig, LoginFailed, UsageError
from sitelore.model.ids import DEFAULT_TENANT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitelore.app.access import AccessOptions
    from sitelore.app.app import App
    from sitelore.fetch.browser.chromium import BrowserExecutable
    from sitelore.fetch.browser.login import LoginStep
    from sitelore.model.access import SiteSession, StoredSession
    from sitelore.model.url import Url

_FROM_ENVIRONMENT = "env:"
_MAX_STEPS = 50
_MAX_BYTES = 2**20


def login(
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="A page of the site.", show_default=False)] = None,
    steps: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TOML file with steps that log in without a window: fill, click, wait, goto, press."),
    ] = None,
    list_sessions: Annotated[bool, typer.Option("--list", help="List stored sessions.")] = False,
    forget: Annotated[str | None, typer.Option(metavar="URL", help="Delete the stored session of a site.")] = None,
    allow_private: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST|CIDR|any", help="Private addresses that the login may reach besides the URL. Repeatable."),
    ] = None,
    proxy: Annotated[list[str] | None, typer.Option(metavar="URL", help="Proxy, as for `crawl`. Repeatable.")] = None,
    ca_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificates (PEM) to trust as well.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Do not verify certificates. Dangerous.")] = False,
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Log in to a site and store the session for crawls.

    \b
    sitelore login https://app.example.com
    sitelore login https://app.example.com --steps login.toml
    sitelore login --list
    sitelore login --forget https://app.example.com

    Without --steps, a browser window opens: log in, then press Enter here or close the window. Cookies and local storage are
    stored encrypted. Later crawls of the site use them.
    """  # noqa: D301 click keeps the line breaks of a paragraph that begins with a backspace
    if sum((url is not None, list_sessions, forget is not None)) != 1:
        raise UsageError("login needs a URL, --list or --forget URL; for example: sitelore login https://app.example.com")
    if list_sessions:
        return _list(data, as_json=as_json)
    from sitelore.intake.seeds import parse_user_url

    if forget is not None:
        return _forget(data, parse_user_url(forget))
    assert url is not None
    from sitelore.app.access import AccessOptions

    site, planned = parse_user_url(url), read_steps(steps) if steps is not None else None
    access = AccessOptions(proxy=proxy or (), ca_file=str(ca_file or ""), insecure=insecure)
    session = with_app(data, lambda app: _log_in(app, site, planned, access, allow_private or ()), writing=True)
    if as_json:
        print_json({"origin": session.origin, "cookies": len(session.cookies), "local_storage": len(session.local_storage)})
        return 0
    kept = f"{counted(len(session.cookies), 'cookie')}, {counted(len(session.local_storage), 'item')} of local storage"
    note(f"logged in to {site.authority} ({kept}); `sitelore crawl {site}{data_option(data)}` uses the session")
    return 0


async def _log_in(
    app: App, site: Url, steps: Sequence[LoginStep] | None, options: AccessOptions, allow_private: Sequence[str]
) -> SiteSession:
    """Log in by the steps, or in a window, and store the session."""
    from sitelore.app.access import build_access, check_access
    from sitelore.app.config.kinds import private_address
    from sitelore.fetch.access import RunAccess
    from sitelore.fetch.browser.login import LoginBrowser, log_in
    from sitelore.model.settings import CrawlSettings

    try:
        private = tuple(map(private_address, allow_private))
    except ValueError:
        raise UsageError("--allow-private: invalid host (use HOST, HOST:PORT, a network such as 10.0.0.0/8, or any)") from None
    access = check_access(app.access.with_other(build_access(options)))
    run_access = RunAccess(access, CrawlSettings(seeds=(str(site),)))
    browser = LoginBrowser(_executable(has_window=steps is None), run_access, private, has_window=steps is None)
    app.site_sessions.check_key()
    if steps is None:
        note(f"log in to {site.authority} in the window, then press Enter here or close the window")
    session = await log_in(browser, site, steps or (), _user_is_done if steps is None else None)
    await app.site_sessions.save(DEFAULT_TENANT, session)
    return session


def read_steps(path: Path) -> tuple[LoginStep, ...]:
    """The steps of a login file. Raises `BadConfig`, which never repeats a value."""
    try:
        with path.open("rb") as file:
            parsed = tomllib.loads(file.read(_MAX_BYTES).decode())
    except OSError as problem:
        raise BadConfig(f"cannot read {path}: {problem.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        place = f" ({str(problem).rpartition('(at ')[2].rstrip(')')})" if "(at " in str(problem) else ""
        raise BadConfig(f"{path} is not valid TOML{place}") from None
    entries = parsed.get("steps")
    if parsed.keys() != {"steps"} or not isinstance(entries, list) or not 0 < len(entries) <= _MAX_STEPS:
        raise BadConfig(
            f"{path} must contain a list of 1 to {_MAX_STEPS} steps: steps = [{{fill = '#user', value = 'env:USER'}}]"
        )
    return tuple(_step(entry, f"{path}, step {number}") for number, entry in enumerate(entries, 1))


def _step(entry: Any, where: str) -> LoginStep:
    from sitelore.app.settings import environment_value
    from sitelore.fetch.browser.login import LoginStep, StepAction

    names = [action.value for action in StepAction]
    actions = [name for name in entry if name in names] if isinstance(entry, dict) else []
    if len(actions) != 1 or entry.keys() - {"value", actions[0]} or not all(isinstance(text, str) for text in entry.values()):
        raise BadConfig(f"{where}: must have one of {', '.join(names)}, and with fill a value")
    action, target = StepAction(actions[0]), entry[actions[0]].strip()
    if not target:
        raise BadConfig(f"{where}: {action} is empty")
    if ("value" in entry) is not (action is StepAction.FILL):
        raise BadConfig(f"{where}: {'fill needs a value' if action is StepAction.FILL else f'{action} takes no value'}")
    if action is not StepAction.FILL:
        return LoginStep(action, target)
    if not entry["value"].startswith(_FROM_ENVIRONMENT):
        raise BadConfig(
            f"{where}: the value must be env:NAME, the name of an environment variable, so that no secret is in the file"
        )
    name = entry["value"].removeprefix(_FROM_ENVIRONMENT)
    value = environment_value(name)
    if not value:
        raise BadConfig(f"{where}: the environment variable {name} is not set")
    return LoginStep(action, target, value)


def _executable(*, has_window: bool) -> BrowserExecutable:
    """The browser for a login. Raises `UsageError` when there is none, or no display for its window."""
    from sitelore.app.settings import has_display, installed_browser
    from sitelore.extras import install_command
    from sitelore.fetch.browser.chromium import has_playwright

    if has_window and not has_display():
        raise UsageError(
            "there is no display for a browser window; declare the login with --steps FILE, or log in on another machine and "
            "crawl with --storage-state FILE"
        )
    if not has_playwright():
        raise UsageError(f"a login needs the browser library: {install_command('browser')}")
    executable = installed_browser(has_window=has_window)
    if executable is None:
        kind = "browser that can open a window" if has_window else "browser"
        raise UsageError(f"no {kind} is installed (apt install chromium); `sitelore doctor` shows which one is used")
    return executable


async def _user_is_done() -> None:
    """Return when the user presses Enter. Without a terminal only closing the window ends the login."""
    import asyncio
    import sys

    pressed = asyncio.Event()
    if sys.stdin.isatty():
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), pressed.set)
    await pressed.wait()


def _list(data: Path, *, as_json: bool) -> int:
    async def work(app: App) -> Sequence[StoredSession]:
        return await app.site_sessions.stored(DEFAULT_TENANT)

    sessions = with_app(data, work, writing=False)
    if as_json:
        print_json([{"origin": row.origin, "created_at": row.created_at, "renewed_at": row.renewed_at} for row in sessions])
        return 0
    console = data_console()
    for row in sessions:
        created, renewed = (f"{minute(at)} UTC" for at in (row.created_at, row.renewed_at))
        console.print(f"{row.origin}  logged in {created}, renewed {renewed}", markup=False)
    if not sessions:
        note("no sessions; log in with `sitelore login URL`")
    return 0


def _forget(data: Path, url: Url) -> int:
    async def work(app: App) -> bool:
        return await app.site_sessions.forget(DEFAULT_TENANT, url.origin)

    if not with_app(data, work, writing=True):
        raise LoginFailed(f"there is no session of {url.origin}; `sitelore login --list` shows them")
    note(f"deleted the session of {url.origin}")
    return 0
