"""Reading a run again, from the shell."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sitelore.cli.console import data_console, note, print_json, visible
from sitelore.cli.domain_config import read_domain_config
from sitelore.cli.looking import find_run
from sitelore.cli.watching import span, watching
from sitelore.crawl.extraction_pool import ExtractionPool
from sitelore.crawl.reprocess import Reprocessed, Reprocessing
from sitelore.crawl.visit_context import read_options_of
from sitelore.crawl.worker_context import Progress
from sitelore.deploy.opening import open_house
from sitelore.model.errors import Interrupted, UsageError
from sitelore.model.frontier import Run
from sitelore.model.settings import ReadMode
from sitelore.model.states import ENDED

_SHOWN_UNREADABLE = 5


def reread_run(
    data: Path, name: str, domain_config: Path | None, read: ReadMode | None, *, dry_run: bool, as_json: bool
) -> None:
    """Read the run again and say what changed."""
    try:
        asyncio.run(_reread(data, name, domain_config, read, dry_run=dry_run, as_json=as_json))
    except KeyboardInterrupt:
        raise Interrupted("stopped; what was read so far is kept, and `sitelore reprocess` does the rest") from None


async def _reread(
    data: Path, name: str, domain_config: Path | None, read: ReadMode | None, *, dry_run: bool, as_json: bool
) -> None:
    overrides = read_domain_config(domain_config) if domain_config else None
    cores = os.cpu_count() or 1
    began = time.monotonic()
    async with open_house(data, writing=False) as house:
        run = await find_run(house, data, name)
    if run.state not in ENDED:
        raise UsageError(f"run {run.id} has not ended; `sitelore crawl --resume` continues it")
    async with open_house(data, writing=not dry_run) as house, _readers(cores) as reader:
        settings = replace(run.settings, read=read) if read is not None else run.settings
        options = replace(read_options_of(settings, house.redaction), keep_snapshot=False)
        if overrides is not None:
            options = replace(options, overrides=overrides)
        progress = Progress(max_pages=(await house.ledger.counts(run.id)).pages)
        work = Reprocessing(run, house.ledger, house.blobs, reader, options, cores)
        async with watching(progress):
            result = await work.work(progress, write=not dry_run)
    elapsed_s = time.monotonic() - began
    if as_json:
        print_json(_as_json(run, result, elapsed_s, dry_run=dry_run))
    else:
        _print(run, result, elapsed_s, dry_run=dry_run)


@asynccontextmanager
async def _readers(cores: int) -> AsyncIterator[ExtractionPool]:
    """A reading process for every core: nothing else is going on."""
    pool = ExtractionPool(cores)
    try:
        yield pool
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

    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False, title_justify="left")
    table.title = Text.assemble((run.site_name, "bold"), "  ", (f"run {run.id}", "dim"), "  a trial" if dry_run else "")
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    lines = [
        ("pages read again", f"{result.pages:,}, in {span(elapsed_s)}"),
        ("would change" if dry_run else "changed", f"{result.changed:,}  ({result.text_changed:,} in their words)"),
        ("words", f"{result.words_gained:,} gained, {result.words_lost:,} lost"),
        ("without a snapshot", f"{result.without_snapshot:,}"),
    ]
    if result.unreadable:
        lines.append(("unreadable", f"{len(result.unreadable):,}, left as they were"))
    lines += [("largest change", f"+{one.words_gained:,} -{one.words_lost:,} words  {one.url}") for one in result.largest]
    for name, value in lines:
        table.add_row(name, visible(value))
    data_console().print(table)
    for url in sorted(result.unreadable)[:_SHOWN_UNREADABLE]:
        note(f"unreadable: {url}: {visible(result.unreadable[url])}")
    if result.changed and not dry_run:
        note("`sitelore export` writes the pages as they read now")
