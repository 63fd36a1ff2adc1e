"""`sitelore crawl` and `sitelore pipeline`: choose a run, work on it, write its files and show its figures."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.config.command_options import DATABASE, OUTPUTS
from sitelore.app.config.sources import plain, set_values, typed_values
from sitelore.app.wiring import build_app
from sitelore.cli.console import (
    DATA,
    AsJson,
    Data,
    Links,
    LinksIfTyped,
    counted,
    data_console,
    data_option,
    log_everything,
    note,
    one_of,
    print_json,
    run_async,
)
from sitelore.cli.help import ACCESS, EXTRACTION, FILES, POLITENESS, WHAT, setting
from sitelore.export.formats import MARKDOWN
from sitelore.model.access import NO_ACCESS, Access
from sitelore.model.errors import Interrupted, NoSuchRun, OutOfTime, SessionEnded, UsageError
from sitelore.model.settings import CrawlSettings, LinkStyle, PersonalPolicy, Pipeline

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Awaitable, Callable

    from sitelore.app.app import App
    from sitelore.cli.summary import Summary
    from sitelore.crawl.context import Progress
    from sitelore.export.formats import ExportedFiles
    from sitelore.export.incremental import IncrementalExport
    from sitelore.model.frontier import Run

_Stopped = Interrupted | OutOfTime | SessionEnded
"""Why a crawl stopped before its end; it can be resumed."""
_INTERRUPTED_EXPORT_S = 10.0
"""How long an interrupted crawl may export its pages: supervisors commonly kill a process 30 s after they signalled it, and
finishing the requests in flight takes up to 20 s of them."""


Outputs = Annotated[
    list[str] | None,
    typer.Option(
        parser=one_of(OUTPUTS),
        metavar="|".join(OUTPUTS),
        help="Files to write besides the database; db writes none. Repeatable.  [default: md]",
        rich_help_panel=FILES,
    ),
]
AccessFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="TOML or JSON file with credentials by origin; mode 600.", rich_help_panel=ACCESS),
]
ConfigPath = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="File with settings and sites.  [default: sitelore.toml, if it exists]", rich_help_panel=WHAT
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting: limits.body_bytes=10MB, max_retries=5 (`sitelore config` lists them). Repeatable.",
        rich_help_panel=WHAT,
    ),
]
OutputFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Directory for files.  [default: DATA/pages]", rich_help_panel=FILES)
]


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Options of `crawl` and `pipeline` that decide what is written and shown."""

    data: Path
    out: Path
    outputs: frozenset[str]
    links: LinkStyle = LinkStyle.ABSOLUTE
    resume: bool = False
    debug: bool = False
    as_json: bool = False
    index: bool = True
    """Whether pages are indexed while they are crawled."""


def crawl(
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]...", help="Seed URLs.", show_default=False)] = None,
    sitemap: Annotated[list[str] | None, setting("sitemaps", WHAT, "URL")] = None,
    config: ConfigPath = None,
    due: Annotated[
        bool, typer.Option("--due", help="Crawl the sites of the file whose schedule is due.", rich_help_panel=WHAT)
    ] = False,
    domain_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON or YAML file with rules per domain.", rich_help_panel=WHAT)
    ] = None,
    set_: Assignments = None,
    output: Outputs = None,
    out: OutputFolder = None,
    links: LinksIfTyped = None,
    max_pages: Annotated[str | None, setting("max_pages", WHAT, "N")] = None,
    max_depth: Annotated[str | None, setting("max_depth", WHAT, "N")] = None,
    scope: Annotated[str | None, setting("scope", WHAT)] = None,
    include: Annotated[list[str] | None, setting("include", WHAT, "GLOB")] = None,
    exclude: Annotated[list[str] | None, setting("exclude", WHAT, "GLOB")] = None,
    read: Annotated[str | None, setting("read", EXTRACTION)] = None,
    render: Annotated[str | None, setting("render", EXTRACTION)] = None,
    expand_frames: Annotated[bool | None, setting("expand_frames", EXTRACTION)] = None,
    screenshots: Annotated[bool | None, setting("screenshots", EXTRACTION)] = None,
    documents: Annotated[bool | None, setting("documents", EXTRACTION)] = None,
    audit_facts: Annotated[bool | None, setting("audit_facts", EXTRACTION)] = None,
    media: Annotated[
        bool | None,
        typer.Option(
            "--media", help="Download the images, videos and documents of pages, from any host.", rich_help_panel=EXTRACTION
        ),
    ] = None,
    max_video_mb: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="With --media: skip videos larger than N MB.  [default: 50]", rich_help_panel=EXTRACTION
        ),
    ] = None,
    audit: Annotated[bool | None, setting("audit", EXTRACTION)] = None,
    personal: Annotated[str | None, setting("personal", EXTRACTION)] = None,
    personal_id: Annotated[list[str] | None, setting("personal_ids", EXTRACTION, "KIND")] = None,
    delay: Annotated[str | None, setting("delay", POLITENESS, "S")] = None,
    concurrency: Annotated[str | None, setting("concurrency", POLITENESS, "N")] = None,
    prefetch: Annotated[str | None, setting("prefetch", POLITENESS)] = None,
    user_agent: Annotated[str | None, setting("user_agent", POLITENESS, "UA")] = None,
    accept_language: Annotated[str | None, setting("accept_language", ACCESS, "LANGUAGES")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME: VALUE'",
            help="Header for the site (the origins of the seed URLs). Repeatable.",
            rich_help_panel=ACCESS,
        ),
    ] = None,
    cookie: Annotated[
        str | None, typer.Option(metavar="'A=B; C=D'", help="Cookies for the site.", rich_help_panel=ACCESS)
    ] = None,
    cookies: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Cookies for the site, in Netscape format.", rich_help_panel=ACCESS)
    ] = None,
    storage_state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Cookies and local storage for the site, as Playwright saves them.", rich_help_panel=ACCESS
        ),
    ] = None,
    auth: Annotated[
        str | None, typer.Option(metavar="USER:PASSWORD", help="Basic auth for the site.", rich_help_panel=ACCESS)
    ] = None,
    bearer: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="Bearer token for the site.", rich_help_panel=ACCESS)
    ] = None,
    client_cert: Annotated[
        str | None,
        typer.Option(metavar="FILE[:KEYFILE]", help="Client certificate for the site, in PEM format.", rich_help_panel=ACCESS),
    ] = None,
    ca_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Certificates (PEM) to trust besides those of the system.", rich_help_panel=ACCESS),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Do not verify certificates. Dangerous.", rich_help_panel=ACCESS)
    ] = False,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Proxy: [http|https|socks5|socks5h]://[USER:PASSWORD@]HOST:PORT. Several are used in rotation. Repeatable.",
            rich_help_panel=ACCESS,
        ),
    ] = None,
    no_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="Host, network or *, fetched without a proxy; added to NO_PROXY. Repeatable.",
            rich_help_panel=ACCESS,
        ),
    ] = None,
    access: AccessFile = None,
    ttl: Annotated[str | None, setting("ttl", WHAT, "AGE")] = None,
    force: Annotated[bool | None, setting("force", WHAT)] = None,
    time_limit: Annotated[str | None, setting("time_limit", WHAT, "TIME")] = None,
    allow_private: Annotated[list[str] | None, setting("allow_private", POLITENESS, "HOST|CIDR|any")] = None,
    index: Annotated[
        bool | None,
        typer.Option(
            "--index/--no-index", help="Index pages for search while they are crawled.  [default: index]", rich_help_panel=FILES
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the latest unfinished run with its settings.", rich_help_panel=WHAT)
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show what would be crawled; fetches only robots.txt and sitemaps.", rich_help_panel=WHAT
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log to stderr; show extraction strategies and failures.")] = False,
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Crawl a site into Markdown files and a database.

    \b
    sitelore crawl https://example.com --max-pages 50
    sitelore crawl https://example.com/docs/ --scope prefix --output jsonl
    sitelore crawl https://example.com --include '*/blog/*' --exclude '*.pdf'
    sitelore crawl --sitemap https://example.com/sitemap.xml --ttl 24h

    A GLOB is the beginning of a path (/docs/), or a pattern in which * matches any characters (/blog/*/2026, *.pdf). With
    :// in it, it is compared with the whole URL. --exclude wins over --include.
    """  # noqa: D301 click keeps the line breaks of a paragraph that begins with a backspace
    from sitelore.intake.seeds import parse_user_url

    typed = typed_values(
        {
            "sitemaps": sitemap and [str(parse_user_url(text)) for text in sitemap],
            "max_pages": max_pages,
            "max_depth": max_depth,
            "scope": scope,
            "include": include,
            "exclude": exclude,
            "read": read,
            "render": render,
            "expand_frames": expand_frames,
            "screenshots": screenshots,
            "documents": documents,
            "audit_facts": audit_facts,
            "media": media,
            "max_video_mb": max_video_mb,
            "audit": audit,
            "personal": personal,
            "personal_ids": personal_id,
            "delay": delay,
            "concurrency": concurrency,
            "prefetch": prefetch,
            "user_agent": user_agent,
            "accept_language": accept_language,
            "ttl": ttl,
            "force": force,
            "time_limit": time_limit,
            "allow_private": allow_private,
        }
    )
    typed = {**typed, **set_values(set_ or ())}
    from sitelore.app.access import AccessOptions, SiteOptions
    from sitelore.app.config.plans import crawl_plans, find_config, plan_access

    site = SiteOptions(
        headers=header or (),
        cookie=cookie or "",
        cookies=str(cookies or ""),
        storage_state=str(storage_state or ""),
        auth=auth or "",
        bearer=bearer or "",
        client_cert=client_cert or "",
    )
    access_options = AccessOptions(
        site, proxy=proxy or (), no_proxy=no_proxy or (), ca_file=str(ca_file or ""), insecure=insecure
    )
    starts = run_async(_last_starts(data)) if due else None
    plans = crawl_plans(urls or (), typed, find_config(config), domain_config, starts=starts, resume=resume)
    if not plans:
        note("no site is due")
    if debug:
        log_everything(plans[0].settings.personal if plans else PersonalPolicy.CHUNKS)
    typed_outputs = {name: value for name, value in (("output", output), ("out", out), ("links", links), ("index", index))
                     if value is not None}  # fmt: skip
    code = 0
    for plan in plans:
        run_access = plan_access(access_options, access, plan, sitemap or ())
        if dry_run:
            from sitelore.app.settings import operator_access
            from sitelore.cli.fetch_once import show_plan

            code = max(code, show_plan(plan.settings, operator_access().with_other(run_access), as_json=as_json))
        else:
            outputs = {**plain(plan.outputs), **typed_outputs}
            options = OutputOptions(
                data,
                _output_folder(Path(outputs["out"]) if outputs.get("out") else None, data),
                frozenset(outputs.get("output") or [MARKDOWN]) - {DATABASE},
                outputs.get("links", LinkStyle.ABSOLUTE),
                resume,
                debug,
                as_json,
                outputs.get("index", True),
            )
            code = max(code, run_crawl(plan.settings, options, run_access))
        if code == Interrupted.exit_code:
            break
    return code


def pipeline(
    name: Annotated[Pipeline, typer.Argument(metavar="NAME", help="index-site: all pages. update-delta: changed pages.")],
    site: Annotated[str, typer.Argument(metavar="SITE", help="A site, as listed by `sitelore runs`.")],
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="[URL]...", help="With update-delta: only these.", show_default=False)
    ] = None,
    output: Outputs = None,
    out: OutputFolder = None,
    links: Links = LinkStyle.ABSOLUTE,
    access: AccessFile = None,
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Re-crawl a known site, fully or incrementally. The settings are those of its last run."""
    from sitelore.app.access import AccessOptions
    from sitelore.app.config.plans import typed_access

    async def create_run(app: App) -> Run:
        from sitelore.crawl.runs import start_pipeline

        return await start_pipeline(app.ledger, site, name, urls or (), app.clock(), app.redaction)

    outputs = frozenset(output or [MARKDOWN]) - {DATABASE}
    options = OutputOptions(data, _output_folder(out, data), outputs, links, as_json=as_json)
    return _run(create_run, options, typed_access(AccessOptions(), access, urls or ()))


def _output_folder(out: Path | None, data: Path) -> Path:
    """The directory for files, checked before a crawl that would fail at its end."""
    if out is not None and out.exists() and not out.is_dir():
        raise UsageError(f"--out: {out} is a file, not a directory")
    return out or data / "pages"


async def _last_starts(data: Path) -> dict[str, float]:
    """When the last run of each site was created, by the name of the site."""
    starts: dict[str, float] = {}
    try:
        async with build_app(data, writing=False) as app:
            for run in await app.ledger.runs():
                starts[run.site_name] = max(starts.get(run.site_name, 0.0), run.created_at)
    except NoSuchRun:
        pass  # nothing was crawled yet
    return starts


def run_crawl(settings: CrawlSettings, output: OutputOptions, access: Access = NO_ACCESS) -> int:
    """Crawl with these settings, or resume a run. Returns the exit code."""
    return _run(lambda app: _new_or_resumed_run(app, settings, output), output, access)


def _run(choose_run: Callable[[App], Awaitable[Run]], output: OutputOptions, access: Access) -> int:
    from sitelore.extract.process_memory import share_one_heap

    share_one_heap()
    return run_async(_crawl_and_report(choose_run, output, access))


async def _crawl_and_report(choose_run: Callable[[App], Awaitable[Run]], output: OutputOptions, access: Access) -> int:
    import time

    from sitelore.app.access import check_access
    from sitelore.app.explain import unmatched_includes
    from sitelore.app.index_process import index_while_crawling
    from sitelore.cli.summary import Session, debug_lines, summarise
    from sitelore.crawl.context import Progress
    from sitelore.export.formats import recorded_formats
    from sitelore.extract.process_memory import collect_garbage_seldom
    from sitelore.model.response import RenderReason

    indexing = index_while_crawling(output.data, enabled=output.index, on_wait=_note_last_pages)
    async with build_app(output.data, writing=True) as plain_app, indexing:
        app = plain_app.with_access(access)
        check_access(app.access)
        collect_garbage_seldom()
        run = await choose_run(app)
        pages_before = (await app.ledger.counts(run.id)).pages if run.started_at else 0
        output = replace(output, outputs=output.outputs | recorded_formats(output.out, run.site_name))
        progress, began = Progress(), time.monotonic()
        early = _incremental_export(app, run, output)
        run, stopped = await _work(app, run, progress, early)
        session = Session(pages_before, time.monotonic() - began)
        # Without a new page, the files of an earlier crawl stay; the second Ctrl-C leaves those that were written meanwhile.
        is_cut = isinstance(stopped, _Abandoned) or (isinstance(stopped, Interrupted) and not progress.pages)
        files = early.files if is_cut else await _export(app, run, stopped, early, output)
        summary = await summarise(app, run, output.data, files, session)
        _show_summary(summary, output)
        if missing := summary.counts.rendering.get(RenderReason.NO_BROWSER):
            need = "needs" if missing == 1 else "need"
            note(f"note: {counted(missing, 'page')} {need} a browser, but none is available; see `sitelore doctor`")
        for pattern in await unmatched_includes(app.ledger, run):
            note(f"note: no URL matches --include {pattern!r}")
        if output.debug:
            for line in await debug_lines(app, run):
                note(line)
        await _audit(app, run, output)
        if stopped is not None:
            _show_how_to_resume(stopped, summary, output)
            return stopped.exit_code
        return await _exit_code(app, run, summary)


def _note_last_pages() -> None:
    note("indexing the last pages for search; if you press Ctrl-C now, the next search indexes them")


async def _audit(app: App, run: Run, output: OutputOptions) -> None:
    """Audit a completed run whose settings ask for it. Where servers share the work, one of them may do it."""
    from sitelore.model.states import RunState

    if run.state is not RunState.COMPLETED or not run.settings.audit:
        return
    from sitelore.app.audit.phase import audit_run
    from sitelore.app.audit.site_audit import AuditProgress
    from sitelore.cli.progress import show_progress

    progress = AuditProgress(max_pages=(await app.ledger.counts(run.id)).pages)
    async with show_progress(progress):
        result = await audit_run(app, run, progress=progress)
    score = "" if result.score.percent is None else f"score {result.score.percent:.0f} %, "
    command = f"sitelore audit {run.site_name}{data_option(output.data)}"
    note(f"audit: {score}{counted(len(result.findings), 'finding')}; `{command}` shows them")


def _incremental_export(app: App, run: Run, output: OutputOptions) -> IncrementalExport:
    from sitelore.export.formats import ExportSource
    from sitelore.export.incremental import IncrementalExport

    source = ExportSource(run, app.ledger, app.blobs, links=output.links)
    return IncrementalExport(source, output.out, output.outputs, note, resumed=output.resume)


async def _export(
    app: App, run: Run, stopped: _Stopped | None, early: IncrementalExport, output: OutputOptions
) -> ExportedFiles:
    """Write the files of the run. After Ctrl-C it must not take long: then those that were written meanwhile stay."""
    import asyncio

    from sitelore.export.formats import URL_LISTS, ExportSource, write_exports
    from sitelore.model.states import RunState

    source = ExportSource(run, app.ledger, app.blobs, links=output.links)
    # Files of pages that an earlier crawl wrote are better than empty ones when the site cannot be reached.
    names = output.outputs & URL_LISTS if run.state is RunState.FAILED else output.outputs
    try:
        async with asyncio.timeout(_INTERRUPTED_EXPORT_S if isinstance(stopped, Interrupted) else None):
            return await write_exports(source, output.out, names)
    except TimeoutError:
        note(f"note: not all files are complete; `sitelore export{data_option(output.data)}` writes them")
        return early.files


async def _exit_code(app: App, run: Run, summary: Summary) -> int:
    """1, with the reason on stderr, if the run failed or kept no page."""
    from sitelore.model.states import RunState

    if run.state is RunState.FAILED:
        note(f"sitelore: the crawl failed: {run.error.rstrip('.') or 'no reason was recorded'}{await _similar_host(app, run)}")
        return 1
    if not summary.counts.pages:
        from sitelore.crawl.maintenance import seed_problems

        note(f"sitelore: no page was kept: {await seed_problems(app.ledger, run.id)}")
        return 1
    if len(run.settings.seeds) > 1 and summary.counts.errors:
        from sitelore.crawl.maintenance import failed_seeds

        for problem in await failed_seeds(app.ledger, run.id):
            note(f"note: a seed failed: {problem}")
    return 0


async def _similar_host(app: App, run: Run) -> str:
    """A suggestion for a host name that does not resolve: a site that was crawled before, or the name with `.com`."""
    from difflib import get_close_matches

    from sitelore.model.response import Failure
    from sitelore.model.states import RunState
    from sitelore.model.url import Url

    if f"{Failure.DNS}:" not in run.error or not run.settings.seeds:
        return ""
    host = Url.trusted(run.settings.seeds[0]).host
    runs = [other for other in await app.ledger.runs() if other.state is not RunState.FAILED]
    sites = {other.site_name for other in runs if other.site_name != run.site_name}
    similar = get_close_matches(host, sorted(sites), 1) or ([] if "." in host else [f"{host}.com"])
    return f"; did you mean {similar[0]}?" if similar else ""


async def _new_or_resumed_run(app: App, settings: CrawlSettings, output: OutputOptions) -> Run:
    from sitelore.model.url import Url

    if not output.resume:
        if (unfinished := await app.unfinished_run()) is not None:
            note(f"note: run {unfinished.id} of {unfinished.site_name} is unfinished; {_resume_hint(output)}")
        return await app.create_run(settings)
    urls = (*settings.seeds, *settings.sitemaps)
    site = Url.trusted(urls[0]).authority if urls else None
    unfinished = await app.unfinished_run(site)
    run = unfinished and await app.resume_run(unfinished.id, settings.time_limit_s)
    if run is None:
        raise NoSuchRun(f"no unfinished run{f' of {site}' if site else ''} in {output.data}; crawl without --resume")
    note(f"resuming run {run.id} of {run.site_name}")
    return run


class _Abandoned(Interrupted):
    """The user pressed Ctrl-C a second time."""


async def _work(app: App, run: Run, progress: Progress, early: IncrementalExport) -> tuple[Run, _Stopped | None]:
    from sitelore.cli.progress import show_progress

    writing_app = replace(app, worker_context=replace(app.worker_context, on_settled=early.add))
    try:
        async with show_progress(progress), _stop_on_signals() as stop, early.running():
            return await writing_app.crawl(run, progress, stop), None
    except (Interrupted, OutOfTime, SessionEnded) as stopped:
        return await app.ledger.run(run.id) or run, stopped


@asynccontextmanager
async def _stop_on_signals() -> AsyncIterator[asyncio.Event]:
    """An event that Ctrl-C sets. The second Ctrl-C abandons requests in flight, the third ends the process at once."""
    import asyncio
    import os
    import signal

    stop = asyncio.Event()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    received = 0

    def on_signal() -> None:
        nonlocal received
        received += 1
        if received == 1:
            note("stopping: finishing the requests in flight (Ctrl-C again abandons them)")
            stop.set()
        elif received == 2:
            task.cancel()
        else:
            os._exit(Interrupted.exit_code)  # safe at any moment: finished pages are on the disk

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop
    except asyncio.CancelledError:
        if received < 2:
            raise
        task.uncancel()
        raise _Abandoned("interrupted") from None
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _show_summary(summary: Summary, output: OutputOptions) -> None:
    import sys

    from sitelore.cli.summary import as_json, as_table

    if output.as_json:
        print_json(as_json(summary))
    else:
        data_console().print(as_table(summary))
    sys.stdout.flush()


def _show_how_to_resume(stopped: _Stopped, summary: Summary, output: OutputOptions) -> None:
    from sitelore.model.states import ENDED

    reason = "interrupted" if isinstance(stopped, Interrupted) else "time limit reached"
    if isinstance(stopped, SessionEnded):
        reason = f"{stopped}; stopped"
    hint = "" if summary.run.state in ENDED else f"; {_resume_hint(output)}"
    note(f"sitelore: {reason} after {counted(summary.counts.pages, 'page')}{hint}")


def _resume_hint(output: OutputOptions) -> str:
    return f"continue with `sitelore crawl --resume{data_option(output.data)}`"
