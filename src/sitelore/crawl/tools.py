"""What a visit works with: one run's settings and the parts it reaches through their ports."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from sitelore.crawl.probing import Probes
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.frontier.admission import HELD_A_SECRET, Admission
from sitelore.frontier.rendering import RenderPolicy
from sitelore.model.document import ReadOptions
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.rendering import Rendered, RenderFailure, RenderRequest
from sitelore.model.response import Fetched, FetchFailure, Request
from sitelore.model.settings import CrawlSettings, Pace, PersonalPolicy, ReadMode
from sitelore.model.url import DEFAULT_RULES, KeyRules, Url
from sitelore.ports import Blobs, Clock, Feedback, Fetcher, HostGate, Reader, Renderer, Robots


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
        await _enter(self._gate, host, self._pace)
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


class Navigations:
    """Where pages that are open in the browser may lead it: scope and robots.txt count there too.

    What was asked for is not judged here; the frontier admitted it.
    """

    def __init__(self, robots: Robots, admission: Admission, rules: KeyRules, redaction: Redaction = BUILT_IN_ALONE) -> None:
        self._redaction = redaction
        self._robots = robots
        self._admission = admission
        self._rules = rules

    async def judge(self, url: Url) -> str | None:
        """Why the browser must not go there; None when it may."""
        target = Url.parse(str(url), rules=self._rules)
        if target is None:
            return "not an http(s) URL"
        refusal = self._admission.refusal(target, 0)
        if refusal is not None:
            return refusal[1]
        if redactor_of(self._redaction).has_secrets(target):
            return HELD_A_SECRET[1]
        verdict = await self._robots.judge(target)
        return None if verdict.allowed else f"robots.txt: {verdict.rule or verdict.state}"


class PoliteRenderer:
    """A `Renderer` that waits for the host's gate as well: to the host, a page opened is a page asked for."""

    def __init__(self, renderer: Renderer, gate: HostGate, settings: CrawlSettings, clock: Clock) -> None:
        self._renderer = renderer
        self._gate = gate
        self._pace = settings.pace
        self._clock = clock

    async def render(self, request: RenderRequest) -> Rendered | RenderFailure:
        """One page, when the host's turn has come."""
        host = request.url.authority
        await _enter(self._gate, host, self._pace)
        feedback = Feedback(0.0)
        try:
            rendered = await self._renderer.render(request)
            # What a browser takes is its own time, and its crashes are no fault of the host: neither sets the host's pace.
            if isinstance(rendered, Rendered):
                status, retry_s = rendered.response.status, rendered.response.retry_after_s(self._clock())
                feedback = Feedback(0.0, status=status if status >= 400 else None, retry_after_s=retry_s)
        finally:
            await self._gate.leave(host, self._pace, feedback)
        return rendered

    async def close(self) -> None:
        """Forget the run's cookies and pages."""
        await self._renderer.close()


async def _enter(gate: HostGate, host: str, pace: Pace) -> None:
    while wait_s := await gate.enter(host, pace):  # noqa: ASYNC110 the gate answers with a time, there is no event
        await asyncio.sleep(wait_s)


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
    policy: RenderPolicy
    renderer: PoliteRenderer
    rendered_probes: Probes
    """The same through the browser: what a site shows there for a path that cannot exist is another page."""

    def probes_for(self, in_browser: bool) -> Probes:
        """Probes that look at a site as its page was looked at."""
        return self.rendered_probes if in_browser else self.probes


def rules_of(settings: CrawlSettings) -> KeyRules:
    """Which parameters the run's keys leave out."""
    return DEFAULT_RULES.plus(settings.tracking_parameters) if settings.tracking_parameters else DEFAULT_RULES


def redaction_of(settings: CrawlSettings, operators: Redaction) -> Redaction:
    """What may not be kept in this run: the operator's rules and key, the run's policy on data of persons."""
    return replace(
        operators,
        personal=settings.personal is PersonalPolicy.EVERYWHERE,
        personal_ids=settings.personal_ids,
        keep_contacts=settings.keep_contacts,
    )


def read_options_of(settings: CrawlSettings, operators: Redaction = BUILT_IN_ALONE) -> ReadOptions:
    """What extraction is told in this run."""
    return ReadOptions(
        dropped_parameters=settings.tracking_parameters,
        overrides=settings.overrides,
        obey_nofollow=settings.obey_nofollow,
        keep_snapshot=settings.keep_snapshots,
        offers=settings.read is ReadMode.FULL,
        documents=settings.documents,
        redaction=redaction_of(settings, operators),
    )
