"""Factories and shortcuts for ledger tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sitelore.model.frontier import (
    Effects,
    Lease,
    Offer,
    PageUpdate,
    Run,
    Settlement,
    Source,
    UrlRow,
    Verdict,
    WaveFacts,
    WavePlan,
)
from sitelore.model.ids import BlobKey, CleanText, RunId, WorkerId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store.ledger import SqlLedger

W1, W2 = WorkerId("w1"), WorkerId("w2")
NOW = 1_000_000.0


def u(path: str, host: str = "site.test") -> Url:
    return Url.trusted(f"http://{host}/{path}")


def seed(path: str, position: int = 0, **more: Any) -> Offer:
    return Offer(u(path), 0, Source.SEED, position=position, **more)


def link(path: str, parent: Lease | None = None, position: int = 0, **more: Any) -> Offer:
    if parent is None:
        return Offer(u(path), more.pop("depth", 1), Source.LINK, position=position, **more)
    return Offer(u(path), parent.depth + 1, Source.LINK, parent.url, parent.seq, position, **more)


def facts(content: str = "", canonical: Url | None = None, **more: Any) -> PageUpdate:
    return PageUpdate(
        CleanText(content.title()), content, more.pop("novelty", content), BlobKey(f"doc{content}"), canonical, **more
    )


def visited(
    lease: Lease, content: str = "", offers: Sequence[Offer] = (), canonical: Url | None = None, **more: Any
) -> Settlement:
    effects = Effects(page=facts(content, canonical), offers=tuple(offers), fetched=True, **more)
    return Settlement(lease, Verdict(UrlState.VISITED, 200), effects, NOW)


def ended(lease: Lease, state: UrlState, error: str = "", **more: Any) -> Settlement:
    return Settlement(lease, Verdict(state, error=error, **more), Effects(fetched=True), NOW)


def redirected(lease: Lease, target: Url) -> Settlement:
    offer = Offer(target, lease.depth, Source.REDIRECT, lease.url, lease.seq)
    return Settlement(lease, Verdict(UrlState.ALIAS, 301), Effects(offers=(offer,), alias_of=target, fetched=True), NOW)


def admit_all(wave: WaveFacts) -> WavePlan:
    return WavePlan(admit=tuple(one.url for one in wave.candidates))


def admit(*paths: str) -> Callable[[WaveFacts], WavePlan]:
    wanted = {u(path) for path in paths}
    return lambda wave: WavePlan(admit=tuple(one.url for one in wave.candidates if one.url in wanted))


async def begin(ledger: SqlLedger, *offers: Offer, site: str = "site", settings: CrawlSettings | None = None) -> Run:
    return await ledger.create_run(site, settings or CrawlSettings(seeds=("http://site.test/",)), offers, NOW)


async def leases(ledger: SqlLedger, run: Run, worker: WorkerId = W1, limit: int = 100, now: float = NOW) -> list[Lease]:
    return await ledger.claim(run.id, worker, limit, now, 60.0)


async def started(ledger: SqlLedger, *paths: str, site: str = "site") -> tuple[Run, list[Lease]]:
    """A run whose seeds are leased."""
    run = await begin(ledger, *(seed(path, position) for position, path in enumerate(paths)), site=site)
    await ledger.open_wave(run.id, 0, admit_all)
    return run, await leases(ledger, run)


async def all_rows(ledger: SqlLedger, run: RunId, **how: Any) -> dict[Url, UrlRow]:
    return {row.url: row async for row in ledger.rows(run, **how)}


async def the_row(ledger: SqlLedger, run: Run, path: str) -> UrlRow:
    row = await ledger.row(run.id, u(path))
    assert row is not None
    return row
