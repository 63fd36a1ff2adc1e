"""Lists of a run of 50,000 URLs and of its channel as the dashboard requests them: time of each query, in the server's process.

    python -m bench.explorer [--urls 50000] [--postgres]

A made-up site is settled through the ledger, without network and extraction. Each query runs five times; the shortest and the
median time are shown, and the CPU time of this process, which for SQLite is all of it.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
from bench.store import admit_seeds, database

from sitelore.model.frontier import Effects, Lease, Offer, PageUpdate, Run, Settlement, Source, UrlListing, UrlOrder, Verdict
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, CleanText, WorkerId
from sitelore.model.platform.channels import PageListing, PageOrder
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.store.engine import PostgresEngine, SqliteEngine
from sitelore.store.ledger import SqlLedger
from sitelore.store.platform.channels.repository import SqlChannels

_BATCH = 200
_REPETITIONS = 5
_LIMIT = 200


def _url(number: int) -> Url:
    return Url.trusted(f"https://site.example/section-{number % 50}/page-{number}.html")


def _settlement(lease: Lease) -> Settlement:
    number = lease.url.path.rpartition("-")[2].removesuffix(".html")
    kind = int(number) % 20
    if kind == 0:
        return Settlement(lease, Verdict(UrlState.NOT_FOUND, 404), Effects(fetched=True), time.time())
    if kind == 1:
        return Settlement(lease, Verdict(UrlState.FAILED, error="timeout: no answer"), Effects(fetched=True), time.time())
    page = PageUpdate(CleanText(f"Page {number} about things"), number, number, BlobKey(number.rjust(64, "0")))
    return Settlement(lease, Verdict(UrlState.VISITED, 200), Effects(page=page, fetched=True), time.time())


async def _run_of(ledger: SqlLedger, urls: int) -> Run:
    settings = CrawlSettings(seeds=("https://site.example/",))
    seeds = [Offer(_url(n), 0, Source.SEED, position=n) for n in range(urls)]
    run = await ledger.create_run("site", settings, seeds, time.time())
    await ledger.begin_run(run.id, time.time())
    wave = done = 0
    while done < urls:
        held = await ledger.claim(run.id, WorkerId("w"), _BATCH, time.time(), 600.0)
        if not held:
            await ledger.open_wave(run.id, wave, admit_seeds)
            wave += 1
            continue
        await ledger.settle([_settlement(lease) for lease in held])
        done += len(held)
    await ledger.end_run(run.id, RunState.COMPLETED, time.time())
    return run


def _queries(ledger: SqlLedger, channels: SqlChannels, run: Run, urls: int) -> Mapping[str, Callable[[], Awaitable[Any]]]:
    rows, facets = partial(ledger.list_run_urls, run.id), partial(ledger.url_facets, run.id)
    pages = partial(channels.pages, run.site)
    missing = frozenset({UrlState.NOT_FOUND})
    return {
        "first page": lambda: rows(UrlListing(limit=_LIMIT)),
        "last page": lambda: rows(UrlListing(limit=_LIMIT, offset=urls - _LIMIT)),
        "by URL": lambda: rows(UrlListing(limit=_LIMIT, order=UrlOrder.NORMALIZED_URL)),
        "by time of visit, last page": lambda: rows(UrlListing(limit=_LIMIT, order=UrlOrder.VISITED_AT, offset=urls - _LIMIT)),
        "by title": lambda: rows(UrlListing(limit=_LIMIT, order=UrlOrder.TITLE)),
        "by title, descending, last page": lambda: rows(
            UrlListing(limit=_LIMIT, order=UrlOrder.TITLE, descending=True, offset=urls - _LIMIT)
        ),
        "by depth, descending": lambda: rows(UrlListing(limit=_LIMIT, order=UrlOrder.DEPTH, descending=True)),
        "not found": lambda: rows(UrlListing(missing, limit=_LIMIT)),
        "text filter, many match": lambda: rows(UrlListing(limit=_LIMIT, text="things")),
        "text filter, none match": lambda: rows(UrlListing(limit=_LIMIT, text="nothing like this")),
        "cause of error": lambda: rows(UrlListing(limit=_LIMIT, error="timeout")),
        "facets": lambda: facets(UrlListing()),
        "facets, text filter": lambda: facets(UrlListing(text="things")),
        "hosts": lambda: ledger.host_progress(run.id, 1_000),
        "neighbours": lambda: ledger.page_neighbours(run.id, _url(urls // 2 + 5)),
        "aliases": lambda: ledger.page_aliases(run.id, _url(urls // 2 + 5), 1_000),
        "statistics": lambda: ledger.counts(run.id),
        "channel: first page": lambda: pages(PageListing(limit=_LIMIT)),
        "channel: by URL": lambda: pages(PageListing(limit=_LIMIT, order=PageOrder.URL)),
        "channel: by title": lambda: pages(PageListing(limit=_LIMIT, order=PageOrder.TITLE)),
        "channel: by title, last page": lambda: pages(PageListing(limit=_LIMIT, order=PageOrder.TITLE, offset=urls - _LIMIT)),
        "channel: text filter": lambda: pages(PageListing(limit=_LIMIT, text="things")),
        "channel: facets": lambda: channels.page_facets(run.site, PageListing()),
    }


async def measure(engine: SqliteEngine | PostgresEngine, urls: int) -> None:
    """Settle the site and print the times."""
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    run = await _run_of(ledger, urls)
    if isinstance(engine, PostgresEngine):
        # Autovacuum does it within a minute of such a change; before, no query over so many rows has a good plan.
        connection = await asyncpg.connect(engine.name)
        await connection.execute("ANALYZE")
        await connection.close()
    for name, query in _queries(ledger, SqlChannels(engine, DEFAULT_TENANT), run, urls).items():
        times, cpu = [], []
        for _ in range(_REPETITIONS):
            started, cpu_before = time.perf_counter(), time.process_time()
            await query()
            times.append((time.perf_counter() - started) * 1000)
            cpu.append((time.process_time() - cpu_before) * 1000)
        median = statistics.median(times)
        print(f"  {name:<30} {min(times):7.1f} ms at best, {median:7.1f} median, {min(cpu):7.1f} of CPU here", flush=True)


async def _main(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print("Postgres" if arguments.postgres else "SQLite", flush=True)
        async with database(Path(folder), in_postgres=arguments.postgres) as (engine, _):
            await measure(engine, arguments.urls)


def main() -> int:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=50_000)
    parser.add_argument("--postgres", action="store_true")
    asyncio.run(_main(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
