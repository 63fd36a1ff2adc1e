"""Options of `sitelore crawl`. `asking` turns them into settings, `running` runs the crawl."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sitelore.cli.console import DATA, AsJson, Data, Links, log_everything
from sitelore.model.settings import LinkStyle, PersonalPolicy, ReadMode, Rendering, RenderMode, Scope


class Output(StrEnum):
    """Outputs of a crawl."""

    DB = "db"
    MD = "md"
    JSONL = "jsonl"
    WARC = "warc"
    LLMS_TXT = "llms-txt"


def crawl(
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL]...", help="Where to start.", show_default=False)] = None,
    sitemap: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Crawl the URLs of this sitemap; without a URL argument, only those. Repeatable."),
    ] = None,
    domain_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON or YAML file with extraction rules by domain.")
    ] = None,
    output: Annotated[
        list[Output] | None,
        typer.Option(help="Files to write besides the database. Repeatable; db alone writes none.  [default: md]"),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where files go.  [default: DATA/pages]")] = None,
    links: Links = LinkStyle.ABSOLUTE,
    max_pages: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Keep at most N pages; aliases and errors do not count.")
    ] = None,
    max_depth: Annotated[int | None, typer.Option(min=0, metavar="N", help="Follow at most N links from a seed.")] = None,
    scope: Annotated[
        Scope,
        typer.Option(
            help="URLs to follow: on the host of a seed (with or without www), its exact origin, its domain with all "
            "subdomains, or below its path."
        ),
    ] = Scope.HOST,
    include: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Follow only matching URLs. Repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Skip matching URLs. Repeatable.")] = None,
    read: Annotated[
        ReadMode,
        typer.Option(
            help="What to extract: full, or content (content, links and metadata alone). "
            "`sitelore reprocess --read full` extracts the rest later."
        ),
    ] = ReadMode.FULL,
    render: Annotated[
        RenderMode,
        typer.Option(help="Use a browser to run scripts: auto (only for pages that are empty without them), never, or always."),
    ] = RenderMode.AUTO,
    expand_frames: Annotated[
        bool, typer.Option("--expand-frames", help="With a browser: include the content of frames.")
    ] = False,
    screenshots: Annotated[
        bool, typer.Option("--screenshots", help="With a browser: keep a screenshot of every page.")
    ] = False,
    documents: Annotated[bool, typer.Option("--documents/--no-documents", help="Extract PDF and office files too.")] = True,
    personal: Annotated[
        PersonalPolicy,
        typer.Option(
            help="Mask e-mail addresses, phone numbers, cards and IBANs: off, in search chunks and logs, or everywhere. "
            "Contact pages keep theirs."
        ),
    ] = PersonalPolicy.CHUNKS,
    personal_id: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="National ids to mask as well: us-ssn, de-tax-id, fr-nir, … Repeatable."),
    ] = None,
    delay: Annotated[
        float | None,
        typer.Option(min=0, max=3600, metavar="S", help="Seconds between requests to a host.  [default: adapts to the host]"),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=256, metavar="N", help="Requests at the same time.")] = 8,
    user_agent: Annotated[
        str | None,
        typer.Option(metavar="UA", help="The User-Agent header. robots.txt is still matched for Sitelore."),
    ] = None,
    ttl: Annotated[
        str | None, typer.Option(metavar="AGE", help="Skip pages that were fetched less than this ago: 30m, 24h, 7d.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch every page again, even if it seems unchanged.")] = False,
    time_limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Stop after this long (90s, 30m, 2h) with exit code 15; resumable.")
    ] = None,
    allow_private: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST|CIDR|any",
            help="Private addresses that links and redirects may lead to. Seed URLs are always allowed. Repeatable.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the latest unfinished run, with its own settings.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be crawled: fetches robots.txt and sitemaps, but no page.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log to stderr; show extraction strategies and failures.")] = False,
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Crawl a site into Markdown files and a database."""
    from sitelore.cli.asking import Asked, Wishes, settings_of

    if debug:
        log_everything(personal)
    asked = Asked(
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
        personal=personal,
        personal_ids=tuple(personal_id or ()),
        delay_s=delay,
        concurrency=concurrency,
        user_agent=user_agent,
        ttl=ttl,
        force=force,
        time_limit=time_limit,
        allow_private=tuple(allow_private or ()),
    )
    wishes = Wishes(
        data=data,
        out=out or data / "pages",
        outputs=frozenset(wish.value for wish in output) if output else frozenset({"md"}),
        links=links,
        resume=resume,
        debug=debug,
        as_json=as_json,
    )
    settings = settings_of(asked, resume=resume)
    if dry_run:
        from sitelore.cli.dry_run import show_plan

        return show_plan(settings, as_json=as_json)
    from sitelore.cli.running import run_crawl

    return run_crawl(settings, wishes)
