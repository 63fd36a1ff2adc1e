"""CPU of the ledger on SQLite for claim, settle with offers and open wave, without network and extraction.

    python -m bench.frontier [--pages 5000] [--links 99] [--batch 64]

A made-up site is walked through the real ledger: every settled page offers its links, as a crawl would, through the real
admission and plan. CPU is this process's own, threads included. The site is a random graph, so most offers are repeats, as on
real sites.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sitelore.frontier.admission import plan_wave
from sitelore.frontier.offers import OfferBuilder
from sitelore.model.frontier import Effects, Lease, Offer, PageUpdate, Settlement, Source, Verdict
from sitelore.model.ids import DEFAULT_TENANT, NO_TEXT, BlobKey, RunId, WorkerId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url
from sitelore.ports import Ledger
from sitelore.store.engine import open_sqlite
from sitelore.store.ledger import SqlLedger

ORIGIN = "http://site.test"
WORKER = WorkerId("bench")


@dataclass(slots=True)
class Meter:
    """CPU seconds and number of items, by step."""

    cpu_s: dict[str, float] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        before = time.process_time()
        yield
        self.cpu_s[name] = self.cpu_s.get(name, 0.0) + time.process_time() - before

    def add(self, name: str, count: int) -> None:
        self.count[name] = self.count.get(name, 0) + count


def settlement(lease: Lease, offers: list[Offer], number: int) -> Settlement:
    key = BlobKey(f"{number:064x}")
    facts = PageUpdate(NO_TEXT, content_hash=f"h{number}", novelty=f"n{number}", document=key, snapshot=key, word_count=700)
    effects = Effects(page=facts, offers=tuple(offers), fetched=True, body_bytes=57_000, elapsed_s=0.01)
    return Settlement(lease, Verdict(UrlState.VISITED, 200), effects, at=1.0)


def number_of(url: Url) -> int:
    return int(url.path.rpartition("-")[2] or 0) if not url.is_root else 0


async def walk(ledger: Ledger, run: RunId, admission: OfferBuilder, pages: int, links: int, batch: int, meter: Meter) -> None:
    paths = [Url.trusted(f"{ORIGIN}/")] + [
        Url.trusted(f"{ORIGIN}/section-{n % 40}/article-about-things-{n}") for n in range(1, pages)
    ]
    wave = 0
    while True:
        with meter.step("open wave"):
            opened = await ledger.open_wave(run, wave, plan_wave)
        if opened is None or not opened.admitted:
            return
        wave = opened.wave
        meter.add("open wave", opened.admitted)
        while True:
            with meter.step("claim"):
                leases = await ledger.claim(run, WORKER, batch, 1.0, 60.0)
            if not leases:
                break
            meter.add("claim", len(leases))
            settlements = []
            for lease in leases:
                number = number_of(lease.url)
                rng = random.Random(number)
                targets = [paths[n] for n in (2 * number + 1, 2 * number + 2) if n < pages]
                targets = list(dict.fromkeys(targets + rng.choices(paths, k=links - len(targets))))
                with meter.step("admission"):
                    offers = admission.links(lease, targets)
                meter.add("admission", len(targets))
                meter.add("offers written", len(offers))
                settlements.append(settlement(lease, offers, number))
            with meter.step("settle"):
                await ledger.settle(settlements)
            meter.add("settle", len(settlements))


async def measure(pages: int, links: int, batch: int) -> Meter:
    meter = Meter()
    settings = CrawlSettings(seeds=(f"{ORIGIN}/",))
    with tempfile.TemporaryDirectory() as folder:
        ledger = SqlLedger(await open_sqlite(Path(folder) / "sitelore.db"), DEFAULT_TENANT)
        try:
            seed = Offer(Url.trusted(f"{ORIGIN}/"), depth=0, source=Source.SEED)
            run = await ledger.create_run("site.test", settings, [seed], 1.0)
            await ledger.move_run(run.id, RunState.RUNNING, 1.0)
            await walk(ledger, run.id, OfferBuilder(settings, (), lambda _: None), pages, links, batch, meter)
        finally:
            await ledger.close()
    return meter


def main() -> None:
    parser = argparse.ArgumentParser(description="micro-benchmark of the ledger on SQLite")
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--links", type=int, default=99)
    parser.add_argument("--batch", type=int, default=64)
    arguments = parser.parse_args()
    meter = asyncio.run(measure(arguments.pages, arguments.links, arguments.batch))
    settled = meter.count["settle"]
    offers = meter.count["offers written"]
    print(f"{settled} pages, {arguments.links} links a page, {offers} offers written, batches of {arguments.batch}")
    for name, cpu in meter.cpu_s.items():
        print(f"{name:<12}{cpu * 1000 / settled:>8.3f} CPU ms a page{meter.count[name] / max(cpu, 1e-9):>12.0f} a CPU second")
    print(f"{'all':<12}{sum(meter.cpu_s.values()) * 1000 / settled:>8.3f} CPU ms a page")


if __name__ == "__main__":
    main()
