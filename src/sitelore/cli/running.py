"""A crawl from the shell: choose the run, work on it, write its files, say how it went."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from sitelore.cli.asking import Wishes
from sitelore.cli.console import data_console, note, print_json
from sitelore.cli.summary import Session, Summary, as_json, as_table, debug_lines, summarise
from sitelore.cli.watching import watching
from sitelore.cli.writing import PageView, Written, write_outputs
from sitelore.crawl.worker_context import Progress
from sitelore.deploy.house import House
from sitelore.deploy.opening import open_house
from sitelore.extract.memory import share_one_heap
from sitelore.model.errors import Interrupted, NoSuchRun, OutOfTime
from sitelore.model.frontier import Run, Source
from sitelore.model.rendering import RenderReason
from sitelore.model.settings import CrawlSettings, Pipeline
from sitelore.model.states import RunState
from sitelore.model.url import Url

_SHOWN_SEEDS = 3
_GARBAGE = 10_000


Choose = Callable[[House], Awaitable[Run]]


def run_crawl(settings: CrawlSettings, wishes: Wishes) -> int:
    """Crawl; the exit code is the answer."""
    return _run(lambda house: _chosen_run(house, settings, wishes), wishes)


def run_pipeline(site: str, pipeline: Pipeline, dirty: Sequence[str], wishes: Wishes) -> int:
    """Look at a known site again; the exit code is the answer."""
    from sitelore.crawl.runs import start_pipeline

    return _run(lambda house: start_pipeline(house.ledger, site, pipeline, dirty, house.clock(), house.redaction), wishes)


def _run(choose: Choose, wishes: Wishes) -> int:
    gc.freeze()  # what was imported stays; a crawl's own garbage is all there is to look through
    gc.set_threshold(_GARBAGE, 20, 20)
    gc.enable()
    share_one_heap()
    return asyncio.run(_crawl(choose, wishes))


async def _crawl(choose: Choose, wishes: Wishes) -> int:
    async with open_house(wishes.data, writing=True) as house:
        run = await choose(house)
        progress, began = Progress(), time.monotonic()
        run, ending = await _work(house, run, progress)
        session = Session(progress.pages, time.monotonic() - began)
        written = Written()
        if not isinstance(ending, Interrupted):
            written = await write_outputs(house, run, wishes.out, wishes.outputs, PageView(links=wishes.links))
        summary = await summarise(house, run, wishes.data, written, session)
        _show(summary, wishes)
        if lacking := summary.counts.rendering.get(RenderReason.NO_BROWSER):
            note(f"note: {lacking} pages need a browser to be read, and there is none; `sitelore doctor` says more")
        if wishes.debug:
            for line in await debug_lines(house, run):
                note(line)
        if ending is not None:
            _say_how_to_go_on(ending, summary, wishes)
            return ending.exit_code
        if run.state is RunState.FAILED:
            note(f"sitelore: the run failed: {run.error or 'no reason was recorded'}")
            return 1
        if not summary.counts.pages:
            note(f"sitelore: no page was kept: {await _why_nothing(house, run)}")
            return 1
        return 0


async def _chosen_run(house: House, settings: CrawlSettings, wishes: Wishes) -> Run:
    if not wishes.resume:
        if (unfinished := await house.resume()) is not None:
            note(f"note: run {unfinished.id} of {unfinished.site_name} is unfinished; --resume continues it")
        return await house.start(settings)
    named = (*settings.seeds, *settings.sitemaps)
    site = Url.trusted(named[0]).authority if named else None
    run = await house.resume(site)
    if run is None:
        raise NoSuchRun(f"there is no unfinished run{f' of {site}' if site else ''} in {wishes.data} to resume")
    note(f"resuming run {run.id} of {run.site_name}")
    return run


async def _work(house: House, run: Run, progress: Progress) -> tuple[Run, Interrupted | OutOfTime | None]:
    try:
        async with watching(progress), _stoppable() as stop:
            return await house.crawl(run, progress, stop), None
    except (Interrupted, OutOfTime) as problem:
        return await house.ledger.run(run.id) or run, problem


@asynccontextmanager
async def _stoppable() -> AsyncIterator[asyncio.Event]:
    """An event that Ctrl-C sets. The second Ctrl-C abandons what is in flight, the third ends the process as it stands."""
    stop = asyncio.Event()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    asked = 0

    def on_signal() -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            note("stopping: finishing what is in flight (Ctrl-C again to abandon it)")
            stop.set()
        elif asked == 2:
            task.cancel()
        else:
            os._exit(Interrupted.exit_code)  # safe at any moment: what is settled is on the disk

    watched = (signal.SIGINT, signal.SIGTERM)
    for number in watched:
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop
    except asyncio.CancelledError:
        if asked < 2:
            raise
        task.uncancel()
        raise Interrupted("stopped at once") from None
    finally:
        for number in watched:
            loop.remove_signal_handler(number)


def _show(summary: Summary, wishes: Wishes) -> None:
    if wishes.as_json:
        print_json(as_json(summary))
    else:
        data_console().print(as_table(summary))
    sys.stdout.flush()


def _say_how_to_go_on(ending: Interrupted | OutOfTime, summary: Summary, wishes: Wishes) -> None:
    reason = "stopped" if isinstance(ending, Interrupted) else "the time limit has passed"
    where = "" if str(wishes.data) == "sitelore-data" else f" --data {wishes.data}"
    note(f"sitelore: {reason} after {summary.counts.pages} pages; `sitelore crawl --resume{where}` continues")


async def _why_nothing(house: House, run: Run) -> str:
    """What became of the seeds, in the words the ledger has for it."""
    reasons: list[str] = []
    async for row in house.ledger.rows(run.id, sitemaps=True):
        if row.source is Source.SEED:
            why = row.error or row.detail or (str(row.skip_reason) if row.skip_reason else "") or f"ended as {row.state}"
            reasons.append(f"{row.url}: {why}")
    return "; ".join(reasons[:_SHOWN_SEEDS]) or "nothing was asked for"
