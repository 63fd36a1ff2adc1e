"""Settings and dependencies of one run's visits (`VisitContext`), and the options derived from its settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sitelore.crawl.soft_404 import Soft404Detector
from sitelore.extract.redaction.redactor import redactor_of
from sitelore.fetch.politeness import PoliteFetcher, PoliteRenderer
from sitelore.frontier.admission import HELD_A_SECRET, Admission
from sitelore.frontier.render_policy import RenderPolicy
from sitelore.model.document import ReadOptions
from sitelore.model.redaction import BUILT_IN_ALONE, Redaction
from sitelore.model.settings import CrawlSettings, PersonalPolicy, ReadMode
from sitelore.model.url import DEFAULT_RULES, KeyRules, Url
from sitelore.ports import Blobs, Clock, Reader, Robots


class NavigationPolicy:
    """Decides where a page open in the browser may navigate: scope, address guard, secrets and robots.txt apply there too.

    The URL of the visit itself is not checked here, because the frontier admitted it.
    """

    def __init__(self, robots: Robots, admission: Admission, rules: KeyRules, redaction: Redaction = BUILT_IN_ALONE) -> None:
        self._redaction = redaction
        self._robots = robots
        self._admission = admission
        self._rules = rules

    async def judge(self, url: Url) -> str | None:
        """The reason why the browser must not navigate to `url`; None when it may."""
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


@dataclass(frozen=True, slots=True)
class VisitContext:
    """Settings and dependencies handed to every visit of a run."""

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
    """Probes made in the browser, for rendered pages: a site's error page may look different there."""

    def soft_404_detector(self, in_browser: bool) -> Soft404Detector:
        """The detector whose probes are fetched in the same way as the page."""
        return self.rendered_probes if in_browser else self.probes


def rules_of(settings: CrawlSettings) -> KeyRules:
    """URL normalisation of a run: the default rules plus the tracking parameters of its settings."""
    return DEFAULT_RULES.plus(settings.tracking_parameters) if settings.tracking_parameters else DEFAULT_RULES


def redaction_of(settings: CrawlSettings, operators: Redaction) -> Redaction:
    """Redaction options of a run: the operator's rules and key, and the run's policy on personal data."""
    return replace(
        operators,
        personal=settings.personal is PersonalPolicy.EVERYWHERE,
        personal_ids=settings.personal_ids,
        keep_contacts=settings.keep_contacts,
    )


def read_options_of(settings: CrawlSettings, operators: Redaction = BUILT_IN_ALONE) -> ReadOptions:
    """Extraction options of a run."""
    return ReadOptions(
        dropped_parameters=settings.tracking_parameters,
        overrides=settings.overrides,
        obey_nofollow=settings.obey_nofollow,
        keep_snapshot=settings.keep_snapshots,
        full=settings.read is ReadMode.FULL,
        documents=settings.documents,
        redaction=redaction_of(settings, operators),
    )
