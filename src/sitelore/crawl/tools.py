"""What a visit works with: one run's settings and the parts it reaches through their ports."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from sitelore.crawl.probing import Probes
from sitelore.frontier.admission import Admission
from sitelore.model.document import ReadOptions
from sitelore.model.response import Fetched, FetchFailure, Request
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import DEFAULT_RULES, KeyRules
from sitelore.ports import Blobs, Clock, Feedback, Fetcher, HostGate, Reader, Robots


class PoliteFetcher:
    """A `Fetcher` that waits for the host's gate before every request and tells it how the host took it."""

    def __init__(self, fetcher: Fetcher, gate: HostGate, settings: CrawlSettings, clock: Clock) -> None:
        self._fetcher = fetcher
        self._gate = gate
        self._pace = settings.pace
        self._clock = clock

    async def fetch(self, request: Request) -> Fetched:
        """One GET, when the host's turn has come."""
        host = request.url.authority
        while wait_s := await self._gate.enter(host, self._pace):  # noqa: ASYNC110 the gate answers with a time, there is no event
            await asyncio.sleep(wait_s)
        feedback = Feedback(0.0)
        try:
            fetched = await self._fetcher.fetch(request)
            if isinstance(fetched, FetchFailure):
                feedback = Feedback(fetched.elapsed_s, failure=fetched.failure)
            else:
                retry_s = fetched.retry_after_s(self._clock())
                feedback = Feedback(fetched.elapsed_s, status=fetched.status, retry_after_s=retry_s)
        finally:
            await self._gate.leave(host, self._pace, feedback)
        return fetched

    async def close(self) -> None:
        """End all connections."""
        await self._fetcher.close()


@dataclass(frozen=True, slots=True)
class Tools:
    """Handed to every visit of a run."""

    settings: CrawlSettings
    rules: KeyRules
    read_options: ReadOptions
    fetcher: PoliteFetcher
    robots: Robots
    reader: Reader
    blobs: Blobs
    admission: Admission
    probes: Probes
    clock: Clock


def rules_of(settings: CrawlSettings) -> KeyRules:
    """Which parameters the run's keys leave out."""
    return DEFAULT_RULES.plus(settings.tracking_parameters) if settings.tracking_parameters else DEFAULT_RULES


def read_options_of(settings: CrawlSettings) -> ReadOptions:
    """What extraction is told in this run."""
    return ReadOptions(
        dropped_parameters=settings.tracking_parameters,
        overrides=settings.overrides,
        obey_nofollow=settings.obey_nofollow,
        keep_snapshot=settings.keep_snapshots,
    )
