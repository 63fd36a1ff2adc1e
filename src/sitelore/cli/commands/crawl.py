"""`sitelore crawl` and `sitelore pipeline`: choose a run, work on it, write its files and show its figures."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.console import (
    DATA,
    AsJson,
    Data,
    Links,
    counted,
    data_console,
    data_option,
    enable_garbage_collection,
    log_everything,
    note,
    one_of,
    print_json,
    run_async,
)
from sitelore.export.formats import FORMATS, MARKDOWN
from sitelore.model.errors import Interrupted, NoSuchRun, OutOfTime, UsageError
from sitelore.model.platform.access import NO_ACCESS, Access
from sitelore.model.settings import (
    USER_AGENT,
    CrawlSettings,
    Identity,
    LinkStyle,
    MediaPolicy,
    MediaType,
    Overrides,
    Pace,
    PersonalPolicy,
    Pipeline,
    Prefetch,
    ReadMode,
    Rendering,
    RenderMode,
    Scope,
    parse_duration,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from sitelore.app.access import AccessOptions
    from sitelore.app.app import App
    from sitelore.cli.summary import Summary
    from sitelore.crawl.context import Progress
    from sitelore.export.formats import ExportedFiles
    from sitelore.export.incremental import IncrementalExport
    from sitelore.model.frontier import Run

_HOST = re.compile(r"\[?[A-Za-z0-9._:-]+\]?(?::\d{1,5})?")
_INTERRUPTED_EXPORT_S = 10.0
"""How long an interrupted crawl may export its pages: supervisors commonly kill a process 30 s after they signalled it, and
finishing the requests in flight takes up to 20 s of them."""


# Headings of the options in `sitelore crawl --help`.
_WHAT, _EXTRACTION, _POLITENESS, _ACCESS = "What to crawl", "What to extract", "Politeness and speed", "Access to the site"
_FILES = "Output"

DATABASE = "db"
_OUTPUTS = [DATABASE, MARKDOWN, *FORMATS]

Outputs = Annotated[
    list[str] | None,
    typer.Option(
        parser=one_of(_OUTPUTS),
        metavar="|".join(_OUTPUTS),
        help="Files to write besides the database; db writes none. Repeatable.  [default: md]",
        rich_help_panel=_FILES,
    ),
]
AccessFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="TOML or JSON file with credentials by origin; mode 600.", rich_help_panel=_ACCESS),
]
OutputFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Directory for files.  [default: DATA/pages]", rich_help_panel=_FILES)
]


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """Options of `crawl` that decide what is crawled, as typed."""

    urls: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    domain_config: Path | None = None
    max_pages: int | None = None
    max_depth: int | None = None
    scope: Scope = Scope.HOST
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    read: ReadMode = ReadMode.FULL
    rendering: Rendering = field(default_factory=Rendering)
    documents: bool = True
    audit_facts: bool = False
    media: bool = False
    max_video_mb: int = 50
    audit: bool = False
    personal: PersonalPolicy = PersonalPolicy.CHUNKS
    personal_ids: tuple[str, ...] = ()
    delay_s: float | None = None
    concurrency: int = 8
    prefetch: Prefetch = Prefetch.ON
    user_agent: str | None = None
    accept_language: str | None = None
    ttl: str | None = None
    force: bool = False
    time_limit: str | None = None
    allow_private: tuple[str, ...] = ()


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
    sitemap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Crawl the URLs of this sitemap; without a URL argument, only those. Repeatable.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    domain_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON or YAML file with rules per domain.", rich_help_panel=_WHAT)
    ] = None,
    output: Outputs = None,
    out: OutputFolder = None,
    links: Links = LinkStyle.ABSOLUTE,
    max_pages: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Stop after N pages; aliases and errors do not count.", rich_help_panel=_WHAT),
    ] = None,
    max_depth: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Follow links up to N steps from a seed.", rich_help_panel=_WHAT)
    ] = None,
    scope: Annotated[
        Scope,
        typer.Option(
            help="URLs to follow: same host (with or without www), same origin, same domain with all subdomains, "
            "or prefix (below the path of a seed).",
            rich_help_panel=_WHAT,
        ),
    ] = Scope.HOST,
    include: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Follow only matching URLs. Repeatable.", rich_help_panel=_WHAT)
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Skip matching URLs. Repeatable.", rich_help_panel=_WHAT)
    ] = None,
    read: Annotated[
        ReadMode,
        typer.Option(
            help="What to extract: full, or content (no structured data, forms or media; "
            "`sitelore reprocess --read full` adds them later).",
            rich_help_panel=_EXTRACTION,
        ),
    ] = ReadMode.FULL,
    render: Annotated[
        RenderMode,
        typer.Option(
            help="Render pages in a browser: auto (only pages that are empty without scripts), never, or always.",
            rich_help_panel=_EXTRACTION,
        ),
    ] = RenderMode.AUTO,
    expand_frames: Annotated[
        bool, typer.Option("--expand-frames", help="In a browser: include the content of frames.", rich_help_panel=_EXTRACTION)
    ] = False,
    screenshots: Annotated[
        bool, typer.Option("--screenshots", help="In a browser: keep a screenshot of every page.", rich_help_panel=_EXTRACTION)
    ] = False,
    documents: Annotated[
        bool, typer.Option("--documents/--no-documents", help="Extract PDF and office files.", rich_help_panel=_EXTRACTION)
    ] = True,
    audit_facts: Annotated[
        bool,
        typer.Option("--audit-facts", help="Store facts about the markup of pages for audits.", rich_help_panel=_EXTRACTION),
    ] = False,
    media: Annotated[
        bool, typer.Option("--media", help="Download the images, videos and documents of pages, from any host.")
    ] = False,
    max_video_mb: Annotated[
        int, typer.Option(min=0, max=2000, metavar="N", help="With --media: skip videos larger than N MB.")
    ] = 50,
    audit: Annotated[bool, typer.Option("--audit", help="Audit the site when it is crawled.")] = False,
    personal: Annotated[
        PersonalPolicy,
        typer.Option(
            help="Mask e-mail addresses, phone numbers, card numbers and IBANs: off, chunks (in search results and "
            "logs), or everywhere. Contact pages keep theirs.",
            rich_help_panel=_EXTRACTION,
        ),
    ] = PersonalPolicy.CHUNKS,
    personal_id: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="National id to mask as well: us-ssn, de-tax-id, fr-nir, … Repeatable.",
            rich_help_panel=_EXTRACTION,
        ),
    ] = None,
    delay: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=3600,
            metavar="S",
            help="Seconds between requests to a host.  [default: adapts to the host]",
            rich_help_panel=_POLITENESS,
        ),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=256, metavar="N", help="Concurrent requests.", rich_help_panel=_POLITENESS)
    ] = 8,
    prefetch: Annotated[
        Prefetch,
        typer.Option(
            help="Fetch pages ahead while slow ones are awaited: on, certain (with --max-pages: never a page too many), "
            "or off.",
            rich_help_panel=_POLITENESS,
        ),
    ] = Prefetch.ON,
    user_agent: Annotated[
        str | None,
        typer.Option(
            metavar="UA", help="User-Agent header. robots.txt is still matched for Sitelore.", rich_help_panel=_POLITENESS
        ),
    ] = None,
    accept_language: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGES", help="Accept-Language header, sent to every host: 'de, en;q=0.5'.", rich_help_panel=_ACCESS
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME: VALUE'",
            help="Header for the site (the origins of the seed URLs). Repeatable.",
            rich_help_panel=_ACCESS,
        ),
    ] = None,
    cookie: Annotated[
        str | None, typer.Option(metavar="'A=B; C=D'", help="Cookies for the site.", rich_help_panel=_ACCESS)
    ] = None,
    cookies: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Cookies for the site, in Netscape format.", rich_help_panel=_ACCESS)
    ] = None,
    storage_state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Cookies and local storage for the site, as Playwright saves them.", rich_help_panel=_ACCESS
        ),
    ] = None,
    auth: Annotated[
        str | None, typer.Option(metavar="USER:PASSWORD", help="Basic auth for the site.", rich_help_panel=_ACCESS)
    ] = None,
    bearer: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="Bearer token for the site.", rich_help_panel=_ACCESS)
    ] = None,
    client_cert: Annotated[
        str | None,
        typer.Option(metavar="FILE[:KEYFILE]", help="Client certificate for the site, in PEM format.", rich_help_panel=_ACCESS),
    ] = None,
    ca_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Certificates (PEM) to trust besides those of the system.", rich_help_panel=_ACCESS),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Do not verify certificates. Dangerous.", rich_help_panel=_ACCESS)
    ] = False,
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Proxy: [http|https|socks5|socks5h]://[USER:PASSWORD@]HOST:PORT. Several are used in rotation. Repeatable.",
            rich_help_panel=_ACCESS,
        ),
    ] = None,
    access: AccessFile = None,
    ttl: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Skip pages fetched less than this ago: 30m, 24h, 7d.", rich_help_panel=_WHAT),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Fetch every page again, even if it is unchanged.", rich_help_panel=_WHAT)
    ] = False,
    time_limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Stop after this time (90s, 30m, 2h) with exit code 15; resumable.", rich_help_panel=_WHAT
        ),
    ] = None,
    allow_private: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST|CIDR|any",
            help="Private addresses that links and redirects may reach. Seed URLs are always allowed. Repeatable.",
            rich_help_panel=_POLITENESS,
        ),
    ] = None,
    index: Annotated[
        bool,
        typer.Option("--index/--no-index", help="Index pages for search while they are crawled.", rich_help_panel=_FILES),
    ] = True,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the latest unfinished run with its settings.", rich_help_panel=_WHAT)
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show what would be crawled; fetches only robots.txt and sitemaps.", rich_help_panel=_WHAT
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
    if debug:
        log_everything(personal)
    options = CrawlOptions(
        urls=tuple(urls or ()),
        sitemaps=tuple(sitemap or ()),
        domain_config=domain_config,
        max_pages=max_pages,
        max_depth=max_depth,
        scope=scope,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        read=read,
        rendering=Rendering(mode=render, expand_frames=expand_frames, screenshots=screenshots),
        documents=documents,
        audit_facts=audit_facts,
        media=media,
        max_video_mb=max_video_mb,
        audit=audit,
        personal=personal,
        personal_ids=tuple(personal_id or ()),
        delay_s=delay,
        concurrency=concurrency,
        prefetch=prefetch,
        user_agent=user_agent,
        accept_language=accept_language,
        ttl=ttl,
        force=force,
        time_limit=time_limit,
        allow_private=tuple(allow_private or ()),
    )
    settings = crawl_settings(options, resume=resume)
    from sitelore.app.access import AccessOptions, SiteOptions

    site = SiteOptions(
        headers=header or (),
        cookie=cookie or "",
        cookies=str(cookies or ""),
        storage_state=str(storage_state or ""),
        auth=auth or "",
        bearer=bearer or "",
        client_cert=client_cert or "",
    )
    typed = AccessOptions(site, proxy=proxy or (), ca_file=str(ca_file or ""), insecure=insecure)
    run_access = _access(typed, access, (*options.urls, *options.sitemaps))
    if dry_run:
        from sitelore.app.settings import operator_access
        from sitelore.cli.fetch_once import show_plan

        return show_plan(settings, operator_access().with_other(run_access), as_json=as_json)
    outputs = frozenset(output or [MARKDOWN]) - {DATABASE}
    output_options = OutputOptions(data, out or data / "pages", outputs, links, resume, debug, as_json, index)
    return run_crawl(settings, output_options, run_access)


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

    async def create_run(app: App) -> Run:
        from sitelore.crawl.runs import start_pipeline

        return await start_pipeline(app.ledger, site, name, urls or (), app.clock(), app.redaction)

    outputs = frozenset(output or [MARKDOWN]) - {DATABASE}
    options = OutputOptions(data, out or data / "pages", outputs, links, as_json=as_json)
    return _run(create_run, options, _access(AccessOptions(), access, urls or ()))


def crawl_settings(options: CrawlOptions, *, resume: bool = False) -> CrawlSettings:
    """The settings of a new run. With `resume`, the URLs only say which site's run to continue."""
    from sitelore.intake.seeds import typed_url
    from sitelore.model.url import Url

    if not options.urls and not options.sitemaps and not resume:
        raise UsageError("a crawl needs a URL, a --sitemap or --resume; for example: sitelore crawl https://example.com")
    seeds = tuple(typed_url(text) for text in options.urls)
    sitemaps = tuple(typed_url(text) for text in options.sitemaps)
    overrides = _overrides(options.domain_config)
    loaders = [url for rules in overrides for loader in rules.loaders if (url := Url.parse(loader.url))]
    origins = dict.fromkeys(url.origin for url in (*seeds, *sitemaps, *loaders))
    return CrawlSettings(
        seeds=tuple(map(str, seeds)),
        sitemaps=tuple(map(str, sitemaps)),
        scope=options.scope,
        include=options.include,
        exclude=options.exclude,
        max_pages=options.max_pages,
        max_depth=options.max_depth,
        user_agent=_user_agent(options.user_agent),
        accept_language=_accept_language(options.accept_language),
        ttl_s=None if options.ttl is None else parse_duration(options.ttl, "--ttl"),
        force=options.force,
        time_limit_s=None if options.time_limit is None else parse_duration(options.time_limit, "--time-limit"),
        pace=Pace(delay_s=options.delay_s, concurrency=options.concurrency, per_host=options.concurrency),
        prefetch=options.prefetch,
        overrides=overrides,
        read=options.read,
        rendering=options.rendering,
        documents=options.documents,
        audit_facts=options.audit_facts,
        media=MediaPolicy(types=tuple(MediaType) if options.media else (), video_bytes=options.max_video_mb * 2**20),
        audit=options.audit,
        personal=options.personal,
        personal_ids=_personal_ids(options.personal_ids),
        identity=next((rules.identity for rules in overrides if rules.identity != Identity()), Identity()),
        open_origins=tuple(origins),
        allow_private=tuple(map(_private_address, options.allow_private)),
    )


def _access(options: AccessOptions, file: Path | None, urls: Sequence[str]) -> Access:
    """The access of a crawl: its options, the credentials in its URLs, and an access file."""
    from sitelore.app.access import access_of_credentials, build_access, read_access_file
    from sitelore.intake.seeds import typed_credentials

    in_urls = access_of_credentials([credentials for text in urls if (credentials := typed_credentials(text))])
    access = build_access(options).with_other(in_urls)
    return access if file is None else read_access_file(str(file)).with_other(access)


def _user_agent(text: str | None) -> str:
    if text is None:
        return USER_AGENT
    if not text.strip() or not text.isascii() or not text.isprintable():
        raise UsageError("--user-agent: invalid value (use one line of ASCII text)")
    return text.strip()


def _accept_language(text: str | None) -> str:
    if text is not None and not (text.strip() and text.isascii() and text.isprintable()):
        raise UsageError("--accept-language: invalid value (use languages such as 'de, en;q=0.5')")
    return (text or "").strip()


def _personal_ids(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        return ()
    from sitelore.extract.redaction.personal_data import NATIONAL_IDS

    for name in names:
        if name not in NATIONAL_IDS:
            raise UsageError(f"--personal-id: unknown kind {name!r} (use {', '.join(NATIONAL_IDS)})")
    return tuple(dict.fromkeys(names))


def _private_address(text: str) -> str:
    if text == "any":
        return text
    if "/" in text:
        from ipaddress import ip_network

        try:
            return str(ip_network(text, strict=False))
        except ValueError:
            raise UsageError(f"--allow-private: invalid network {text!r} (use 10.0.0.0/8 or fd00::/8)") from None
    if not _HOST.fullmatch(text):
        raise UsageError(f"--allow-private: invalid host {text!r} (use HOST, HOST:PORT, a network such as 10.0.0.0/8, or any)")
    return text.lower()


def _overrides(path: Path | None) -> tuple[Overrides, ...]:
    if path is None:
        return ()
    from sitelore.cli.domain_config import read_domain_config

    return read_domain_config(path)


def run_crawl(settings: CrawlSettings, output: OutputOptions, access: Access = NO_ACCESS) -> int:
    """Crawl with these settings, or resume a run. Returns the exit code."""
    return _run(lambda app: _new_or_resumed_run(app, settings, output), output, access)


def _run(choose_run: Callable[[App], Awaitable[Run]], output: OutputOptions, access: Access) -> int:
    from sitelore.extract.malloc_tuning import share_one_heap

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
    from sitelore.model.rendering import RenderReason

    async with build_app(output.data, writing=True) as plain_app, index_while_crawling(output.data, enabled=output.index):
        app = plain_app.with_access(access)
        check_access(app.access)
        enable_garbage_collection()
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
    app: App, run: Run, stopped: Interrupted | OutOfTime | None, early: IncrementalExport, output: OutputOptions
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
    return 0


async def _similar_host(app: App, run: Run) -> str:
    """A suggestion for a host name that does not resolve: a site that was crawled before, or the name with `.com`."""
    from difflib import get_close_matches

    from sitelore.model.response import Failure
    from sitelore.model.url import Url

    if f"{Failure.DNS}:" not in run.error or not run.settings.seeds:
        return ""
    host = Url.trusted(run.settings.seeds[0]).host
    sites = {other.site_name for other in await app.ledger.runs() if other.site_name != run.site_name}
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


async def _work(app: App, run: Run, progress: Progress, early: IncrementalExport) -> tuple[Run, Interrupted | OutOfTime | None]:
    from sitelore.cli.progress import show_progress

    writing_app = replace(app, worker_context=replace(app.worker_context, on_settled=early.add))
    try:
        async with show_progress(progress), _stop_on_signals() as stop, early.running():
            return await writing_app.crawl(run, progress, stop), None
    except (Interrupted, OutOfTime) as stopped:
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


def _show_how_to_resume(stopped: Interrupted | OutOfTime, summary: Summary, output: OutputOptions) -> None:
    from sitelore.model.states import ENDED

    reason = "interrupted" if isinstance(stopped, Interrupted) else "time limit reached"
    hint = "" if summary.run.state in ENDED else f"; {_resume_hint(output)}"
    note(f"sitelore: {reason} after {counted(summary.counts.pages, 'page')}{hint}")


def _resume_hint(output: OutputOptions) -> str:
    return f"continue with `sitelore crawl --resume{data_option(output.data)}`"
