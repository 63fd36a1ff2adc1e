"""The store at a million rows and a million links: statistics of a run, links to a page, time of a settlement, bytes on disk.

    python -m bench.store [--pages 25000] [--links 40] [--postgres]

A made-up site is settled through the ledger, without network and extraction: every page links to 10 pages of a menu and to new
ones of its own, which are never admitted, as with a page limit.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

import msgspec
import sqlalchemy as sa
from bench.measure import tree_run_s
from scripts.servers import postgres_alone

from sitelore.model.document import PageLink
from sitelore.model.frontier import Effects, Lease, Offer, PageUpdate, Settlement, Source, Verdict, WaveFacts, WavePlan
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, CleanText, WorkerId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store.engine import PostgresEngine, SqliteEngine, open_postgres, open_sqlite
from sitelore.store.ledger import SqlLedger

T = TypeVar("T")
_MENU = 10
_BATCH = 50
_REPEATS = 5
"""A read is timed this often, and the shortest time is shown: other work on the machine only adds to it."""


def _url(name: str) -> Url:
    return Url.trusted(f"https://site.example/section/{name}.html")


def _settlement(lease: Lease, links: int) -> Settlement:
    number = lease.url.path.rpartition("/")[2].removesuffix(".html")
    menu = [_url(f"menu-{at}") for at in range(_MENU)]
    own = [_url(f"{number}-{at}") for at in range(links)]
    offers = tuple(Offer(url, lease.depth + 1, Source.LINK, lease.url, lease.seq, at) for at, url in enumerate((*menu, *own)))
    stored = msgspec.msgpack.encode([PageLink(str(url), "", f"Link {at}") for at, url in enumerate((*menu, *own))])
    page = PageUpdate(CleanText(f"Page {number}"), number, number, BlobKey(number.rjust(64, "0")))
    effects = Effects(page=replace(page, links=stored), offers=offers, fetched=True)
    return Settlement(lease, Verdict(UrlState.VISITED, 200), effects, time.time())


async def _timed(work: Awaitable[T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = await work
    return (time.perf_counter() - started) * 1000, result


def _server_s(server: int | None) -> float:
    """CPU of the server so far."""
    return 0.0 if server is None else tree_run_s(server)


async def measure(engine: SqliteEngine | PostgresEngine, pages: int, links: int, server: int | None) -> None:
    """Settle the site and print the figures. `server`: the process of Postgres."""
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    settings = CrawlSettings(seeds=("https://site.example/",))
    seeds = [Offer(_url(f"page-{n}"), 0, Source.SEED, position=n) for n in range(pages)]
    run = await ledger.create_run("site", settings, seeds, time.time())
    await ledger.begin_run(run.id, time.time())
    wave, done, block, spent, spent_by_server = 0, 0, max(1, pages // 5), 0.0, 0.0
    while done < pages:
        held = await ledger.claim(run.id, WorkerId("w"), _BATCH, time.time(), 600.0)
        if not held:
            await ledger.open_wave(run.id, wave, admit_seeds)
            wave += 1
            continue
        cpu, server_cpu = time.process_time(), _server_s(server)
        await ledger.settle([_settlement(lease, links) for lease in held])
        spent += time.process_time() - cpu
        spent_by_server += _server_s(server) - server_cpu
        done += len(held)
        if done % block < _BATCH:
            in_postgres = "" if server is None else f", {spent_by_server * 1000 / block:.2f} in Postgres"
            print(f"  {done:>7,} pages: {spent * 1000 / block:.2f} ms of CPU a page in this process{in_postgres}")
            spent = spent_by_server = 0.0
    ms, counts = min([await _timed(ledger.counts(run.id)) for _ in range(_REPEATS)], key=itemgetter(0))
    print(f"  statistics of the run: {ms:.1f} ms at {counts.urls:,} rows")
    for name, url in (("a page with one link to it", _url("page-7-3")), ("a page of the menu, first 1,000", _url("menu-3"))):
        ms, links_to = min([await _timed(ledger.inlinks(run.site, url)) for _ in range(_REPEATS)], key=itemgetter(0))
        print(f"  links to {name}: {ms:.1f} ms, {len(links_to):,} shown of {pages * (links + _MENU):,} links")


def admit_seeds(wave: WaveFacts) -> WavePlan:
    """Admit every seed, and nothing else."""
    return WavePlan(admit=tuple(one.url for one in wave.candidates if one.depth == 0))


@asynccontextmanager
async def database(folder: Path, *, in_postgres: bool) -> AsyncIterator[tuple[SqliteEngine | PostgresEngine, int | None]]:
    """A new database, and the process of its server; its size is printed at the end."""
    if not in_postgres:
        engine = await open_sqlite(folder / "sitelore.db")
        yield engine, None
        await engine.close()
        print(f"  {(folder / 'sitelore.db').stat().st_size / 1e6:.0f} MB")
        return
    with postgres_alone() as server:
        pool = await open_postgres(server.url)
        yield pool, server.pid
        size = await pool.read(lambda conn: conn.scalar(sa.text("SELECT pg_database_size(current_database())")))
        print(f"  {int(size or 0) / 1e6:.0f} MB")
        await pool.close()


async def _main(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print("Postgres" if arguments.postgres else "SQLite")
        async with database(Path(folder), in_postgres=arguments.postgres) as (engine, server):
            await measure(engine, arguments.pages, arguments.links, server)


def main() -> int:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=25_000)
    parser.add_argument("--links", type=int, default=40)
    parser.add_argument("--postgres", action="store_true")
    asyncio.run(_main(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
