"""Run a whole crawl: in this process through the embedded app, or by the `sitelore` command."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.graph import Expected

from sitelore.app.app import App
from sitelore.app.wiring import embedded
from sitelore.crawl.context import Progress
from sitelore.export.rows import export_row
from sitelore.model.frontier import Run, RunCounts, UrlRow
from sitelore.model.settings import CrawlSettings, Pace

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "sitelore")


@dataclass(frozen=True, slots=True)
class CrawlResult:
    """One finished crawl."""

    run: Run
    rows: dict[str, UrlRow]
    counts: RunCounts
    sitemaps: dict[str, UrlRow] = field(default_factory=dict)

    def states(self, origin: str = "") -> dict[str, str]:
        """State, or skip reason where it was skipped, by URL below `origin` (the origin itself cut off)."""
        return {
            url.removeprefix(origin): row.skip_reason.value if row.skip_reason else row.state.value
            for url, row in self.rows.items()
            if url.startswith(origin)
        }

    def kept(self, origin: str = "") -> set[str]:
        """The paths of the pages that were kept."""
        return {url.removeprefix(origin) for url, row in self.rows.items() if row.state in {"VISITED", "NOT_MODIFIED"}}


def crawl_settings(*seeds: str, concurrency: int = 4, **changes: Any) -> CrawlSettings:
    """The settings that the command line would make for these seeds: their origins are open, and there is no delay."""
    sitemaps: tuple[str, ...] = changes.pop("sitemaps", ())
    delay_s: float | None = changes.pop("delay_s", 0.0)
    origins = {f"{urlsplit(url).scheme}://{urlsplit(url).netloc}" for url in (*seeds, *sitemaps)}
    plain = CrawlSettings(
        seeds=seeds,
        sitemaps=sitemaps,
        open_origins=tuple(sorted(origins)),
        pace=Pace(delay_s=delay_s, concurrency=concurrency, per_host=concurrency),
    )
    return replace(plain, **changes)


async def crawl_in(app: App, settings: CrawlSettings) -> CrawlResult:
    """Crawl once in an open app."""
    run = await app.create_run(settings)
    run = await app.crawl(run, Progress(), asyncio.Event())
    rows = {str(row.url): row async for row in app.ledger.rows(run.id, sitemaps=True)}
    return CrawlResult(
        run,
        {url: row for url, row in rows.items() if row.kind == "page"},
        await app.ledger.counts(run.id),
        {url: row for url, row in rows.items() if row.kind == "sitemap"},
    )


async def crawl(data: Path, settings: CrawlSettings) -> CrawlResult:
    """Crawl once in an embedded app over this data directory."""
    async with embedded(data, writing=True) as app:
        return await crawl_in(app, settings)


async def documents(data: Path, result: CrawlResult) -> dict[str, dict[str, Any]]:
    """The stored document of every page that was kept, by URL."""
    async with embedded(data, writing=False) as app:
        return {url: json.loads(await app.blobs.get(row.document)) for url, row in result.rows.items() if row.document}


def as_expected(rows: dict[str, UrlRow]) -> dict[str, Expected]:
    """Rows in the form of the oracle, made from the export."""
    exported_json = [export_row(row) for row in rows.values()]
    return {
        row["url"]: Expected(
            row["state"],
            row["depth"],
            row["parent"],
            row["final_url"] if row["state"] in {"VISITED", "ALIAS"} else None,
            row["skip_reason"],
        )
        for row in exported_json
    }


def differences(actual: dict[str, Expected], expected: dict[str, Expected]) -> list[str]:
    """One line for every row on which a crawl and the oracle disagree."""
    return [
        f"{url}: crawled {actual.get(url)}, expected {expected.get(url)}"
        for url in sorted(actual.keys() | expected.keys())
        if actual.get(url) != expected.get(url)
    ]


@dataclass(frozen=True, slots=True)
class CliResult:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> dict[str, Any]:
        """What `--json` printed: one object and nothing else."""
        loaded = json.loads(self.out)
        assert isinstance(loaded, dict)
        return loaded


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "PYTHONWARNINGS": "default", **(extra or {})}


def run_cli(*args: str, timeout_s: float = 100.0, env: dict[str, str] | None = None, cwd: Path | None = None) -> CliResult:
    """Run `sitelore` with these arguments to its end."""
    done = subprocess.run(
        [*COMMAND, *args],
        capture_output=True,
        timeout=timeout_s,
        env=environment(env),
        cwd=cwd,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return CliResult(done.returncode, done.stdout.decode(), done.stderr.decode())


async def run_cli_async(*args: str, env: dict[str, str] | None = None) -> CliResult:
    """Run `sitelore` without blocking the event loop, so that several commands can run concurrently."""
    return await asyncio.to_thread(lambda: run_cli(*args, env=env))


@contextlib.contextmanager
def start_cli(*args: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start `sitelore` in its own session; its processes are killed when the block ends."""
    process = subprocess.Popen(
        [*COMMAND, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def exported_json(data: Path, run: str = "latest") -> bytes:
    """The run's JSON export, byte for byte."""
    done = run_cli("export", run, "--format", "json", "--data", str(data))
    assert done.code == 0, done.err
    return done.out.encode()


def exported_rows(data: Path, run: str = "latest") -> dict[str, dict[str, Any]]:
    """The run's JSON export by URL."""
    return {row["url"]: row for row in json.loads(exported_json(data, run))}


async def stored_counts(data: Path) -> RunCounts:
    """The counts of the latest run, read without writing."""
    async with embedded(data, writing=False) as app:
        return await app.ledger.counts((await app.ledger.runs(1))[0].id)


async def stored_rows(data: Path) -> AsyncIterator[UrlRow]:
    """The rows of the latest run, read without writing."""
    async with embedded(data, writing=False) as app:
        run = (await app.ledger.runs(1))[0]
        async for row in app.ledger.rows(run.id):
            yield row
