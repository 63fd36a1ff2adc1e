"""What the routes ask: runs, their numbers, their URLs; and the two things that can be done, start and cancel."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

import msgspec
from starlette.requests import Request

from sitelore.crawl import meters
from sitelore.crawl.clearing import refuse_secrets
from sitelore.crawl.runs import start_run, start_run_once
from sitelore.export.repeats import Repeats, find_repeats
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.model.errors import UsageError
from sitelore.model.frontier import Run
from sitelore.model.ids import RunId
from sitelore.model.listing import Once, RunListing, RunOnce, UrlListing
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import ENDED, RunState
from sitelore.serve.backstage import ApiSettings, Backstage
from sitelore.serve.problems import ALREADY_ENDED, INVALID, KEY_REUSED, RUN_NOT_FOUND, Refused
from sitelore.serve.sharing import Shared
from sitelore.serve.wire import RunList, RunSummary, UrlList, page_of, run_view, summary_view, url_view

_KEPT_S = 0.25
_RUN_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
_LISTS = "lists of runs"

encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Desk:
    """Answers out of one house."""

    backstage: Backstage
    settings: ApiSettings
    closing: asyncio.Event
    """Set when the server is told to stop."""
    followers: int = 0
    _shared: Shared = field(default_factory=lambda: Shared(_KEPT_S))

    async def run(self, name: str) -> Run:
        """The run of this id."""
        if not _RUN_ID.fullmatch(name):  # not every text may be asked of every database
            raise _no_run(name)
        run = await self._shared.get(("run", name), lambda: self.backstage.ledger.run(RunId(name)))
        if run is None:
            raise _no_run(name)
        return run

    async def start(self, settings: CrawlSettings, once: Once | None) -> RunOnce:
        """A new run, or the one that was made under the same key."""
        ledger, now, redaction = self.backstage.ledger, self.backstage.clock(), self.backstage.redaction
        try:
            refuse_secrets(settings, redactor_of(redaction))
        except UsageError as problem:
            raise Refused(INVALID, str(problem)) from problem
        if once is None:
            made = RunOnce(await start_run(ledger, settings, now, redaction), "", is_new=True)
        else:
            made = await start_run_once(ledger, settings, once, now, redaction)
            if made.fingerprint != once.fingerprint:
                raise Refused(KEY_REUSED, "send another key, or the same request as before")
        self._shared.forget(_LISTS, made.run.id)
        await self.backstage.announce(made.run.id)
        return made

    async def cancel(self, name: str) -> Run:
        """End a run for good. Cancelling a cancelled run changes nothing."""
        run = await self.run(name)
        ledger, now = self.backstage.ledger, self.backstage.clock()
        if run.state not in ENDED and await ledger.end_run(run.id, RunState.CANCELLED, now):
            meters.RUNS_ENDED.add(of=RunState.CANCELLED.value)
            await self.backstage.announce(run.id)
        self._shared.forget(_LISTS, run.id)
        run = await self.run(name)
        if run.state is not RunState.CANCELLED:
            raise Refused(ALREADY_ENDED, f"the run is {run.state}")
        return run

    async def summary(self, name: str) -> RunSummary:
        """A run with its numbers."""

        async def look() -> RunSummary:
            # In this order: a run that has ended has its last numbers.
            run = await self.backstage.ledger.run((await self.run(name)).id)
            assert run is not None
            return summary_view(run, await self.backstage.ledger.counts(run.id))

        return await self._shared.get(("summary", name), look)

    async def repeats(self, run: RunId) -> Repeats:
        """What repeats over a run's pages and is left out where they are shown. One look serves all who ask at once."""
        return await self._shared.get(("repeats", run), lambda: find_repeats(self.backstage.ledger.sketches(run)))

    async def runs(self, listing: RunListing) -> bytes:
        """A page of runs, encoded."""

        async def look() -> bytes:
            runs, total = await self.backstage.ledger.list_runs(listing)
            page = page_of(total, listing.limit, listing.offset, len(runs))
            return encode(RunList([run_view(run) for run in runs], page))

        return await self._shared.get((_LISTS, listing), look)

    async def urls(self, name: str, listing: UrlListing) -> bytes:
        """A page of a run's URLs, encoded."""
        run = await self.run(name)

        async def look() -> bytes:
            rows, total = await self.backstage.ledger.list_rows(run.id, listing)
            page = page_of(total, listing.limit, listing.offset, len(rows))
            return encode(UrlList([url_view(row) for row in rows], page))

        return await self._shared.get(("urls", name, listing), look)


async def desk_of(request: Request) -> Desk:
    """The desk of the application that was asked."""
    desk = request.app.state.desk
    assert isinstance(desk, Desk)
    return desk


def _no_run(name: str) -> Refused:
    shown = name if name.isprintable() and len(name) <= 64 else "that"
    return Refused(RUN_NOT_FOUND, f"no run has the id {shown}")
