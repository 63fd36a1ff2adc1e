"""`sitelore reprocess`: extract the pages of a run again from their snapshots, without requests."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.commands.runs import find_run
from sitelore.cli.console import (
    DATA,
    AsJson,
    Data,
    RunName,
    data_console,
    data_option,
    note,
    print_json,
    run_async,
    visible,
)
from sitelore.model.errors import Interrupted, UsageError
from sitelore.model.settings import ReadMode

if TYPE_CHECKING:
    from sitelore.crawl.reprocess import Reprocessed
    from sitelore.model.frontier import Run

_SHOWN_UNREADABLE = 5


@dataclass(frozen=True, slots=True)
class _Options:
    """The options of `reprocess`."""

    run: str
    domain_config: Path | None
    read: ReadMode | None
    dry_run: bool


def reprocess(
    run: RunName = "latest",
    domain_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use these rules (JSON or YAML) instead of the run's own.")
    ] = None,
    read: Annotated[
        ReadMode | None, typer.Option(help="What to extract, instead of the run's setting.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would change.")] = False,
    as_json: AsJson = False,
    data: Data = DATA,
) -> None:
    """Extract a run's stored pages again, without requests. Reports what changed."""
    began = time.monotonic()
    try:
        processed, result = run_async(_reprocess(data, _Options(run, domain_config, read, dry_run)))
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; continue with `sitelore reprocess {run}{data_option(data)}`") from None
    elapsed_s = time.monotonic() - began
    if as_json:
        print_json(_as_json(processed, result, elapsed_s, dry_run=dry_run))
    else:
        _print(processed, result, elapsed_s, dry_run=dry_run)


async def _reprocess(data: Path, options: _Options) -> tuple[Run, Reprocessed]:
    import os

    from sitelore.app.config.domain_rules import read_domain_config
    from sitelore.cli.progress import show_progress
    from sitelore.crawl.context import Progress, read_options_of
    from sitelore.crawl.extraction_pool import ExtractionPool
    from sitelore.crawl.reprocess import Reprocessing
    from sitelore.model.states import ENDED

    overrides = read_domain_config(options.domain_config) if options.domain_config else None
    async with build_app(data, writing=False) as app:
        run = await find_run(app, data, options.run)
    if run.state not in ENDED:
        raise UsageError(f"run {run.id} has not ended; continue it with `sitelore crawl --resume{data_option(data)}`")
    cores = os.cpu_count() or 1
    pool = ExtractionPool(cores)
    try:
        async with build_app(data, writing=not options.dry_run) as app:
            settings = replace(run.settings, read=options.read) if options.read is not None else run.settings
            read_options = replace(read_options_of(settings, app.redaction), keep_snapshot=False, facts=True)
            if overrides is not None:
                read_options = replace(read_options, overrides=overrides)
            progress = Progress(max_pages=(await app.ledger.counts(run.id)).pages)
            work = Reprocessing(run, app.ledger, app.blobs, pool, read_options, cores)
            async with show_progress(progress):
                return run, await work.work(progress, write=not options.dry_run)
    finally:
        await pool.close()


def _as_json(run: Run, result: Reprocessed, elapsed_s: float, *, dry_run: bool) -> dict[str, Any]:
    rate = result.pages / elapsed_s if elapsed_s else 0.0
    return {
        "run": run.id,
        "site": run.site_name,
        **asdict(result),
        "dry_run": dry_run,
        "elapsed_s": round(elapsed_s, 3),
        "pages_per_s": round(rate, 1),
    }


def _print(run: Run, result: Reprocessed, elapsed_s: float, *, dry_run: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from sitelore.cli.progress import duration

    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False, title_justify="left")
    table.title = Text.assemble((run.site_name, "bold"), "  ", (f"run {run.id}", "dim"), "  dry run" if dry_run else "")
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    lines = [
        ("pages reprocessed", f"{result.pages:,} in {duration(elapsed_s)}"),
        ("would change" if dry_run else "changed", f"{result.changed:,}  ({result.text_changed:,} in their text)"),
        ("words", f"{result.words_gained:,} gained, {result.words_lost:,} lost"),
        ("without a snapshot", f"{result.without_snapshot:,}"),
    ]
    if result.unreadable:
        lines.append(("failed", f"{len(result.unreadable):,}, left unchanged"))
    lines += [("largest change", f"+{page.words_gained:,} -{page.words_lost:,} words  {page.url}") for page in result.largest]
    for name, value in lines:
        table.add_row(name, visible(value))
    data_console().print(table)
    for url in sorted(result.unreadable)[:_SHOWN_UNREADABLE]:
        note(f"failed: {url}: {visible(result.unreadable[url])}")
    if result.changed and not dry_run:
        note("the database is updated; `sitelore export` writes the new files")
