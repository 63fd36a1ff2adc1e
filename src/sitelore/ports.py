"""Every seam of the house, in one file. Protocols are named by role, never by product.

Who keeps them: `Fetcher`, `Robots` by `fetch`; `HostGate` by `frontier` (one process) or `store` (many); `Reader` by `crawl`
(a pool of processes around `extract` and `intake`); `Ledger` and `Blobs` by `store`. Only `deploy` decides which.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from sitelore.model.document import Blob, Reading, ReadOptions
from sitelore.model.frontier import (
    Known,
    Lease,
    Offer,
    Pulse,
    Run,
    RunCounts,
    Settlement,
    UrlRow,
    WaveFacts,
    WaveOpened,
    WavePlan,
)
from sitelore.model.ids import BlobKey, RunId, SiteId, WorkerId
from sitelore.model.response import Failure, Fetched, Request, Response, RobotsFile, RobotsVerdict
from sitelore.model.settings import CrawlSettings, Pace
from sitelore.model.sitemap import SitemapReading
from sitelore.model.states import RunState, UrlState
from sitelore.model.url import Url

Clock = Callable[[], float]
"""Seconds since the epoch. Injected, so that tests own time."""


class Fetcher(Protocol):
    """Url → Response. Every connection is judged by the address guard; redirects are never followed."""

    async def fetch(self, request: Request) -> Fetched:
        """One GET; failures come back as data."""
        ...

    async def close(self) -> None:
        """End all connections."""
        ...


class Robots(Protocol):
    """robots.txt of every host met, fetched once, remembered."""

    async def judge(self, url: Url) -> RobotsVerdict:
        """May this URL be fetched? Fetches the host's robots.txt when it is not known or too old."""
        ...


@dataclass(frozen=True, slots=True)
class Feedback:
    """How a host took a request."""

    elapsed_s: float
    status: int | None = None
    failure: Failure | None = None
    retry_after_s: float | None = None


class HostGate(Protocol):
    """Politeness: one atomic step that answers "may I, and if not, when?"."""

    async def enter(self, host: str, pace: Pace) -> float:
        """0.0: go, a slot is taken. Otherwise the seconds after which asking again is worthwhile."""
        ...

    def sent(self, host: str) -> None:
        """The request leaves only now (a connection had to be made first): the gap counts from here."""
        ...

    async def leave(self, host: str, pace: Pace, feedback: Feedback) -> None:
        """Give the slot back and let the pace adapt."""
        ...

    async def ask_for_delay(self, host: str, pace: Pace, delay_s: float) -> None:
        """The host asked for a gap between requests (robots.txt Crawl-delay); honoured up to the pace's cap."""
        ...

    async def closed_hosts(self) -> Collection[str]:
        """Hosts that will take no request for a while; their rows are better left unclaimed."""
        ...


class Reader(Protocol):
    """Response → Reading, in another process, bounded in time and memory."""

    async def read(self, response: Response, options: ReadOptions) -> Reading:
        """Redact, parse and extract a page."""
        ...

    async def read_sitemap(self, response: Response) -> SitemapReading:
        """Parse a sitemap, sitemap index, text list or feed."""
        ...

    async def close(self) -> None:
        """End the processes."""
        ...


class Blobs(Protocol):
    """Content-addressed bytes. Putting the same key twice is harmless."""

    async def put(self, blobs: Sequence[Blob]) -> None:
        """Store compressed blobs; on return they survive a crash of the process."""
        ...

    async def get(self, key: BlobKey) -> bytes:
        """The uncompressed bytes; KeyError when there are none."""
        ...


Plan = Callable[[WaveFacts], WavePlan]
"""The pure decision between two waves (`frontier/waves.py`); the ledger runs it inside its transaction."""


class Ledger(Protocol):
    """The frontier and everything known of a site, durable. One call is one transaction."""

    async def create_run(self, site: str, settings: CrawlSettings, offers: Sequence[Offer], now: float) -> Run:
        """A new QUEUED run of the site of this name (made when it is new), with its first offers."""
        ...

    async def run(self, run: RunId) -> Run | None:
        """The run of this id."""
        ...

    async def runs(self, limit: int = 100) -> list[Run]:
        """Runs, newest first."""
        ...

    async def move_run(self, run: RunId, state: RunState, now: float, error: str = "") -> bool:
        """Start or end a run; False when it is not in a state that may move there."""
        ...

    async def claim(
        self, run: RunId, worker: WorkerId, limit: int, now: float, lease_s: float, closed_hosts: Collection[str] = ()
    ) -> list[Lease]:
        """QUEUED rows that are due, in `seq` order, leased to this worker with a raised token."""
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Write verdicts and effects where the token still matches. False for each that was fenced off."""
        ...

    async def renew(self, run: RunId, worker: WorkerId, until: float) -> None:
        """Prolong this worker's leases."""
        ...

    async def release(self, run: RunId, now: float, worker: WorkerId | None = None) -> int:
        """Put leases back to QUEUED: a worker's own, or (None) every one that has run out."""
        ...

    async def pulse(self, run: RunId, now: float) -> Pulse:
        """Is there work, and if not now, when."""
        ...

    async def open_wave(self, run: RunId, wave: int, plan: Plan) -> WaveOpened | None:
        """Merge, admit and trap as `plan` says, if `wave` is still the current one and has settled; else None."""
        ...

    async def canonical_claims(self, run: RunId, wave: int) -> list[tuple[UrlRow, UrlRow]]:
        """Pages of this wave that name, or are named as, another kept page's canonical, with different content."""
        ...

    async def finish_rows(self, run: RunId, now: float) -> None:
        """At the end of a run: what was never admitted is SKIPPED (budget), redirect aliases learn how their target ended."""
        ...

    async def row(self, run: RunId, url: Url) -> UrlRow | None:
        """One row."""
        ...

    def rows(self, run: RunId, state: UrlState | None = None, sitemaps: bool = False) -> AsyncIterator[UrlRow]:
        """All rows sorted by key; sitemap rows only when asked for."""
        ...

    async def counts(self, run: RunId) -> RunCounts:
        """The run in numbers; sitemap rows count in `sitemaps` alone."""
        ...

    async def known(self, site: SiteId, url: Url) -> Known | None:
        """What earlier visits left about a URL."""
        ...

    async def save_robots(self, file: RobotsFile) -> None:
        """Remember a robots.txt as received."""
        ...

    async def robots(self, origin: str) -> RobotsFile | None:
        """The robots.txt last received from this origin."""
        ...

    async def close(self) -> None:
        """Give the database back."""
        ...
