"""Measures whether the cost of a page in Postgres grows between 1,000 and 100,000 rows.

    python -m bench.ledger [--pages 100000] [--links 10] [--window 2000] [--batch 32]

A made-up site is walked through the ledger's port on a real Postgres, as workers and maintenance would: claim, settle with
offers, look after the run, open the next wave. No network, no reading. Around 1,000, 10,000, 30,000 and all pages a window of
pages is measured: CPU of all of Postgres' processes (from `/proc`), time of the calls as the caller sees it, and the statements
that took most of it. Batch by batch in turns with it, a new run is walked in an empty database of the same server: whatever
else the machine does slows both, so their ratio is what growth costs. The server does not wait for its disk (`fsync` off).
Exits 1 when the ratio of the last window is more than 1.25 times that of the first.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa
from bench.measure import tree_run_s
from scripts.servers import Postgres, postgres_alone
from tests.support.workers import temporary_database

from sitelore.frontier.admission import plan_wave
from sitelore.frontier.offers import OfferBuilder
from sitelore.model.frontier import Effects, Lease, Offer, PageUpdate, Run, Settlement, Source, Verdict
from sitelore.model.ids import DEFAULT_TENANT, BlobKey, CleanText, TenantId, WorkerId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.store.engine import PostgresEngine, open_postgres
from sitelore.store.ledger import SqlLedger
from sitelore.store.tenants import for_tenant

T = TypeVar("T")

ORIGIN = "http://site.test"
WORKER = WorkerId("bench")
POINTS = (1_000, 10_000, 30_000)
SECTIONS = 40
FLAT = 1.25
_SPACE = re.compile(r"\s+")
_SIZES = "SELECT count(*), pg_total_relation_size('{0}'), pg_indexes_size('{0}') FROM {0}"


@dataclass(slots=True)
class Window:
    """The cost of a number of pages."""

    at: int
    pages: int = 0
    server_cpu_s: float = 0.0
    new_pages: int = 0
    new_cpu_s: float = 0.0
    calls_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    statements_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @property
    def cpu_ms(self) -> float:
        """Server CPU a page."""
        return self.server_cpu_s * 1000 / max(1, self.pages)

    @property
    def new_cpu_ms(self) -> float:
        """Server CPU a page in a new database."""
        return self.new_cpu_s * 1000 / max(1, self.new_pages)

    @property
    def ratio(self) -> float:
        """Cost of a page here, divided by that in a new database."""
        return self.cpu_ms / self.new_cpu_ms

    def ms(self, call: str) -> float:
        """Time of a call, a page."""
        return self.calls_s[call] * 1000 / max(1, self.pages)

    def __str__(self) -> str:
        calls = "".join(f"{self.ms(call):>10.3f}" for call in ("claim", "settle", "look after", "open wave"))
        whole = sum(self.calls_s.values()) * 1000 / max(1, self.pages)
        return f"{self.at:>9,}{self.cpu_ms:>12.3f}{self.new_cpu_ms:>9.3f}{self.ratio:>7.2f}{calls}{whole:>9.3f}"


class Watch:
    """Adds up costs while a window is open."""

    def __init__(self, server: int) -> None:
        self.server = server
        self.open: Window | None = None
        self.done: list[Window] = []

    def end(self) -> None:
        assert self.open is not None
        self.done.append(self.open)
        self.open = None

    def listen(self) -> None:
        """Time every statement of this process from now on."""
        began = [0.0]

        def before(*_: Any) -> None:
            began[0] = time.perf_counter()

        def after(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if self.open is not None:
                self.open.statements_s[_SPACE.sub(" ", statement)] += time.perf_counter() - began[0]

        sa.event.listen(sa.Engine, "before_cursor_execute", before)
        sa.event.listen(sa.Engine, "after_cursor_execute", after)


class Site:
    """A site whose page n leads to pages 2n+1 and 2n+2, so that all are reached, and to some that are about as old."""

    def __init__(self, pages: int, links: int) -> None:
        self.pages, self.links = pages, links

    def url(self, number: int) -> Url:
        if number == 0:
            return Url.trusted(f"{ORIGIN}/")
        return Url.trusted(f"{ORIGIN}/section-{_letters(number % SECTIONS)}/an-article-about-this-and-that-{number}")

    def settled(self, lease: Lease, admission: OfferBuilder) -> Settlement:
        number = int(lease.url.path.rpartition("-")[2]) if lease.seq > 1 else 0
        chance = random.Random(number)
        near = min(self.pages, 2 * number + 50)
        targets = [n for n in (2 * number + 1, 2 * number + 2) if n < self.pages]
        targets += [chance.randrange(near) for _ in range(self.links - len(targets))]
        offers = admission.links(lease, dict.fromkeys(map(self.url, targets)))
        key, text = BlobKey(f"{number:064x}"), f"{chance.getrandbits(256):064x}"
        facts = PageUpdate(
            CleanText(f"An article about this and that, number {number}"), content_hash=text, novelty=text[::-1], document=key,
            snapshot=key, word_count=700, sketch=chance.randbytes(480), content_type="text/html; charset=utf-8",
        )  # fmt: skip
        effects = Effects(page=facts, offers=tuple(offers), fetched=True, body_bytes=57_000, elapsed_s=0.01)
        return Settlement(lease, Verdict(UrlState.VISITED, 200), effects, at=1.0)


def _letters(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))


class Walk:
    """A run of the site, done batch by batch."""

    def __init__(self, ledger: SqlLedger, run: Run, site: Site, watch: Watch | None, batch: int) -> None:
        self._ledger, self._run, self._site, self._watch, self._batch = ledger, run, site, watch, batch
        self._offer_builder = OfferBuilder(run.settings, (), lambda _: None)
        self._wave = 0
        self.settled = 0

    @classmethod
    async def begin(cls, ledger: SqlLedger, site: Site, watch: Watch | None, batch: int) -> Walk:
        settings = CrawlSettings(seeds=(f"{ORIGIN}/",))
        run = await ledger.create_run("site.test", settings, [Offer(Url.trusted(f"{ORIGIN}/"), 0, Source.SEED)], 1.0)
        await ledger.move_run(run.id, RunState.RUNNING, 1.0)
        return cls(ledger, run, site, watch, batch)

    async def step(self) -> int:
        """Do one batch; return its size, 0 when the site is done."""
        ledger, run = self._ledger, self._run
        leases = await self._call("claim", ledger.claim(run.id, WORKER, self._batch, 1.0, 60.0))
        if not leases:
            await self._call("open wave", ledger.canonical_claims(run.id, self._wave))
            opened = await self._call("open wave", ledger.open_wave(run.id, self._wave, plan_wave))
            if opened is None or not opened.admitted:
                return 0
            self._wave = opened.wave
            return await self.step()
        settlements = [self._site.settled(lease, self._offer_builder) for lease in leases]
        await self._call("settle", ledger.settle(settlements))
        await self._call("look after", ledger.release(run.id, 1.0))
        await self._call("look after", ledger.queue_stats(run.id, 1.0))
        self.settled += len(leases)
        return len(leases)

    async def _call(self, name: str, call: Awaitable[T]) -> T:
        began = time.perf_counter()
        result = await call
        if self._watch is not None and self._watch.open is not None:
            self._watch.open.calls_s[name] += time.perf_counter() - began
        return result


async def measure(server: Postgres, arguments: argparse.Namespace) -> Watch:
    watch, site = Watch(server.pid), Site(arguments.pages, arguments.links)
    engine = await open_postgres(server.url)
    watch.listen()
    began = time.monotonic()
    points = [point for point in POINTS if point + arguments.window < arguments.pages] + [
        arguments.pages - 2 * arguments.window
    ]
    try:
        walk = await Walk.begin(SqlLedger(engine, DEFAULT_TENANT), site, watch, arguments.batch)
        while await walk.step():
            if points and walk.settled >= points[0]:
                watch.open = Window(points.pop(0))
                async with temporary_database(server.url) as url:
                    await _window(walk, url, watch, arguments)
                watch.end()
        took_s = time.monotonic() - began
        print(f"{walk.settled:,} pages of {arguments.links} links in {took_s:.0f} s, batches of {arguments.batch}\n")
        await _print_sizes(engine, "visited", ("site_urls", "urls", "visits", "pages"))
    finally:
        await engine.close()
    await _measure_discovered(server, site)
    return watch


async def _measure_discovered(server: Postgres, site: Site) -> None:
    """Print the size of rows that were only discovered."""
    async with temporary_database(server.url) as url:
        engine = await open_postgres(url)
        try:
            ledger = SqlLedger(engine, DEFAULT_TENANT)
            settings = CrawlSettings(seeds=(f"{ORIGIN}/",))
            root = site.url(0)
            count = min(site.pages, 5_000)
            offers = [Offer(site.url(n), 1, Source.LINK, root, 1, n, pattern=ORIGIN) for n in range(1, count)]
            await ledger.create_run("site.test", settings, offers, 1.0)
            await _print_sizes(engine, "discovered", ("site_urls", "urls"))
        finally:
            await engine.close()


async def _window(walk: Walk, url: str, watch: Watch, arguments: argparse.Namespace) -> None:
    window = watch.open
    assert window is not None
    beside = await open_postgres(url)
    try:
        new = await Walk.begin(
            SqlLedger(beside, DEFAULT_TENANT), Site(POINTS[0] + arguments.window, arguments.links), None, arguments.batch
        )
        while new.settled < POINTS[0] // 2:
            await new.step()
        while window.pages < arguments.window:
            before = tree_run_s(watch.server)
            window.pages += await walk.step()
            between = tree_run_s(watch.server)
            watch.open = None
            window.new_pages += await new.step()
            watch.open = window
            window.server_cpu_s += between - before
            window.new_cpu_s += tree_run_s(watch.server) - between
    finally:
        await beside.close()


async def _print_sizes(engine: PostgresEngine, what: str, tables: Sequence[str]) -> None:
    def sizes(table: str) -> Callable[[sa.Connection, TenantId], Sequence[int]]:
        return lambda conn, _: tuple(conn.execute(sa.text(_SIZES.format(table))).one())

    for table in tables:
        rows, total, indexes = await engine.read(for_tenant, sizes(table), DEFAULT_TENANT)
        print(f"table {table}, {what}: {rows:,} rows, {total / rows:,.0f} bytes a row, {indexes / rows:,.0f} of them indexes")


def report(watch: Watch, statements: int) -> bool:
    names = "".join(f"{name:>10}" for name in ("claim", "settle", "look", "wave"))
    print(f"\n{'ms a page':>9}{'server CPU':>12}{'new':>9}{'ratio':>7}{names}{'calls':>9}")
    for window in watch.done:
        print(window)
    print("\nstatements that took most of the last window, ms a page in each window:")
    dearest = sorted(watch.done[-1].statements_s.items(), key=lambda spent: -spent[1])
    for text, _ in dearest[:statements]:
        shares = "".join(f"{window.statements_s[text] * 1000 / max(1, window.pages):>8.3f}" for window in watch.done)
        print(f"{shares}  {text[:150]}")
    first, last = watch.done[0], watch.done[-1]
    growth = last.ratio / first.ratio
    print(f"\nserver CPU a page at {last.at:,} against {first.at:,}: {growth:.2f}, flat within {FLAT}: {growth <= FLAT}")
    return growth <= FLAT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=10)
    parser.add_argument("--window", type=int, default=2_000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--statements", type=int, default=8)
    arguments = parser.parse_args()
    with postgres_alone() as server:
        watch = asyncio.run(measure(server, arguments))
    return 0 if report(watch, arguments.statements) else 1


if __name__ == "__main__":
    sys.exit(main())
