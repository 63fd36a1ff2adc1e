"""What a visit works with: one run's settings and the parts it reaches through their ports."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sitelore.crawl.soft_404 import Soft404Detector
from sitelore.extract.redact import redactor_of
from sitelore.fetch.politeness import PoliteFetcher, PoliteRenderer
from sitelore.frontier.admission import HELD_A_SECRET, Admission
from sitelore.frontier.render_policy import RenderPolicy
from sitelore.model.document import ReadOptions
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.settings import CrawlSettings, PersonalPolicy, ReadMode
from sitelore.model.url import DEFAULT_RULES, KeyRules, Url
from sitelore.ports import Blobs, Clock, Reader, Robots


class NavigationPolicy:
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
        if redactor_of(self._redaction).holds(target):
            return HELD_A_SECRET[1]
        verdict = await self._robots.judge(target)
        return None if verdict.allowed else f"robots.txt: {verdict.rule or verdict.state}"


@dataclass(frozen=True, slots=True)
class VisitContext:
    """Handed to every visit of a run."""

    settings: CrawlSettings
    rules: KeyRules
    read_options: ReadOptions
    fetcher: PoliteFetcher
    robots: Robots
    reader: Reader
    blobs: Blobs
    admission: Admission
    probes: Soft404Detector
    clock: Clock
    policy: RenderPolicy
    renderer: PoliteRenderer
    rendered_probes: Soft404Detector
    """The same through the browser: what a site shows there for a path that cannot exist is another page."""

    def probes_for(self, in_browser: bool) -> Soft404Detector:
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
        full=settings.read is ReadMode.FULL,
        documents=settings.documents,
        redaction=redaction_of(settings, operators),
    )
