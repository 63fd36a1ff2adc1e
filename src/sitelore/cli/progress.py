"""Progress of a crawl on stderr: a live bar on a terminal, otherwise a plain line every few seconds."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sitelore.cli.console import counted, note_console, visible
from sitelore.crawl.context import Progress

if TYPE_CHECKING:
    from rich.console import Group

_BAR_EVERY_S = 0.25
_LINE_EVERY_S = 5.0
_RATE_WINDOW_S = 10.0
_LONGEST_ESTIMATE_S = 100 * 3600
_BAR_WIDTH = 28


@dataclass(slots=True)
class RateMeter:
    """Pages per second, averaged over the last seconds."""

    at: float
    pages: int = 0
    rate: float = 0.0

    def update(self, pages: int, now: float) -> float:
        """Record the number of pages so far and return the rate."""
        passed = now - self.at
        if passed > 0:
            weight = min(1.0, passed / _RATE_WINDOW_S) if self.rate else 1.0
            self.rate += weight * ((pages - self.pages) / passed - self.rate)
            self.at, self.pages = now, pages
        return self.rate


@asynccontextmanager
async def show_progress(progress: Progress) -> AsyncIterator[None]:
    """Show `progress` while the body runs."""
    show = _bar if sys.stderr.isatty() else _lines
    task = asyncio.create_task(show(progress))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _lines(progress: Progress) -> None:
    meter = RateMeter(time.monotonic(), progress.pages)
    while True:
        await asyncio.sleep(_LINE_EVERY_S)
        sys.stderr.write(progress_line(progress, meter.update(progress.pages, time.monotonic())) + "\n")
        sys.stderr.flush()


async def _bar(progress: Progress) -> None:
    from rich.live import Live

    meter = RateMeter(time.monotonic(), progress.pages)
    with Live(console=note_console(), auto_refresh=False, transient=True) as live:
        while True:
            live.update(progress_bar(progress, meter.update(progress.pages, time.monotonic())), refresh=True)
            await asyncio.sleep(_BAR_EVERY_S)


def progress_line(progress: Progress, rate: float) -> str:
    """The progress as one line of text."""
    return ", ".join(
        (
            counted(progress.pages, "page"),
            f"{rate:.1f}/s",
            f"{progress.queued + progress.in_flight} queued",
            f"{progress.skipped} skipped",
            counted(progress.errors, "error"),
            f"depth {progress.depth}",
            *([f"{left} left"] if (left := time_left(progress, rate)) else ()),
        )
    )


def progress_bar(progress: Progress, rate: float) -> Group:
    """The progress as a bar, its numbers, and the URL that was finished last."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    total = progress.max_pages or progress.pages + progress.queued + progress.in_flight
    numbers = Table.grid(padding=(0, 2))
    cells: list[Text | ProgressBar] = [
        ProgressBar(total=total or None, completed=progress.pages, width=_BAR_WIDTH),
        Text(
            counted(progress.pages, "page")
            if progress.max_pages is None
            else f"{progress.pages:,}/{progress.max_pages:,} pages",
            "bold",
        ),
        Text(f"{rate:.1f}/s", "cyan"),
        Text(f"{progress.queued + progress.in_flight} queued"),
        Text(f"{progress.skipped} skipped", "dim" if not progress.skipped else "yellow"),
        Text(counted(progress.errors, "error"), "dim" if not progress.errors else "red"),
    ]
    if left := time_left(progress, rate):
        cells.append(Text(f"{left} left", "dim"))
    numbers.add_row(*cells)
    return Group(numbers, Text(visible(progress.latest), "dim", no_wrap=True, overflow="ellipsis"))


def time_left(progress: Progress, rate: float) -> str:
    """The estimated time left; empty without a page limit, and where the rate is too low for an estimate."""
    if progress.max_pages is None or progress.pages >= progress.max_pages:
        return ""
    seconds = (progress.max_pages - progress.pages) / rate if rate > 0 else math.inf
    return duration(round(seconds)) if seconds < _LONGEST_ESTIMATE_S else ""


def duration(seconds: float) -> str:
    """A number of seconds as text."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
