"""The type of audit rules: texts, thresholds and needs as data, and a pure function that finds the problem.

Each rule, with its thresholds, is defined in the module of its topic in `audit/rules/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from sitelore.audit.page import AuditPage
from sitelore.model.audit.findings import Evidence, Finding, Severity, finding_key

if TYPE_CHECKING:
    from sitelore.audit.site import Site

MAX_LISTED = 10
"""Items of a list in the evidence of a finding; `more` says how many were left out."""


class Group(StrEnum):
    """The subject of a rule."""

    REACH = "reach"
    LINKS = "links"
    SECURITY = "security"
    SPEED = "speed"
    INDEX = "index"
    CONTENT = "content"
    SITE = "site"
    GRAPH = "graph"
    ACCESS = "access"
    URL = "url"
    HEAD = "head"
    HEADINGS = "headings"
    LANGUAGE = "language"
    MOBILE = "mobile"
    HISTORY = "history"
    MEDIA = "media"
    STRUCTURED = "structured"
    SOCIAL = "social"
    MACHINES = "machines"


class Needs(StrEnum):
    """What a rule reads besides the row of a URL."""

    FACTS = "facts"
    DOCUMENT = "document"
    HEADERS = "headers"
    LINKS = "links"
    """The links of one page and the states of their targets."""
    GRAPH = "graph"
    """Other pages of the site: its findings end only after a complete run."""
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    MEDIA = "media"
    EXTERNAL = "external"
    HISTORY = "history"
    INDEX = "index"
    LLMS_TXT = "llms-txt"


class AppliesTo(StrEnum):
    """The kind of URLs that a page rule applies to."""

    ANY = "any"
    """Every URL of the run, errors and redirects included."""
    KEPT = "kept"
    """Every page of the run: HTML, a PDF, a text."""
    HTML = "html"
    """HTML pages that were read with status 200."""
    INDEXABLE = "indexable"
    """HTML pages that search engines may list."""
    SITE = "site"
    """The whole site: a site rule chooses its pages by itself."""


NEEDS_REQUESTS = frozenset({Needs.EXTERNAL, Needs.LLMS_TXT})
"""What an audit requests itself, only where its option `check_links` is on."""


def kinds_of(page: AuditPage) -> frozenset[AppliesTo]:
    """The kinds of rules that apply to a page."""
    holds = {
        AppliesTo.ANY: True,
        AppliesTo.KEPT: page.is_kept,
        AppliesTo.HTML: page.is_html,
        AppliesTo.INDEXABLE: page.is_indexable,
    }
    return frozenset(kind for kind, is_true in holds.items() if is_true)


class Hit(NamedTuple):
    """What a check reports: the evidence, and where they differ from the rule and the page, the URL and the severity."""

    evidence: Evidence
    url: str = ""
    severity: Severity | None = None


Limits = Mapping[str, float]
"""The thresholds of a rule by name."""
PageCheck = Callable[[AuditPage, Limits], Iterable[Hit]]
SiteCheck = Callable[["Site", Limits], Iterable[Hit]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. Its texts are for people who run a website."""

    id: str
    group: Group
    severity: Severity
    applies: AppliesTo
    needs: frozenset[Needs]
    title: str
    """What is wrong, in a few words."""
    explanation: str
    """When it fires and why it matters."""
    fix: str
    identity: tuple[str, ...] = ()
    """The names of the evidence that makes a finding the same problem; without any, a page has it once."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    page_check: PageCheck | None = None
    site_check: SiteCheck | None = None

    @property
    def needs_requests(self) -> bool:
        """Whether an audit has to send requests for it. Without them the rule finds nothing new."""
        return bool(self.needs & NEEDS_REQUESTS)

    @property
    def is_site_rule(self) -> bool:
        """Whether it concerns the site as a whole."""
        return self.site_check is not None

    def findings(self, hits: Iterable[Hit], url: str = "") -> Iterator[Finding]:
        """Yield the findings of what a check reports, each identity once."""
        seen: set[str] = set()
        for hit in hits:
            page = hit.url or url
            key = finding_key(self.id, page, [hit.evidence.get(name) for name in self.identity])
            if key not in seen:
                seen.add(key)
                yield Finding(self.id, page, hit.severity or self.severity, self._shared(hit.evidence), key)

    def _shared(self, evidence: Evidence) -> Evidence:
        """The evidence of the finding before, where it is equal: all pages of a template have the same, held once."""
        before = _last_evidence.get(self.id)
        if before == evidence:
            return before
        _last_evidence[self.id] = evidence
        return evidence


_last_evidence: dict[str, Evidence] = {}
"""By rule."""


@dataclass(slots=True)
class RuleTable:
    """The rules of one module, in the order in which they are defined."""

    rules: list[Rule] = field(default_factory=list)

    def page(
        self, rule_id: str, group: Group, severity: Severity, applies: AppliesTo = AppliesTo.HTML, **options: Any
    ) -> Callable[[PageCheck], PageCheck]:
        """Add the page rule whose check is decorated."""

        def add(check: PageCheck) -> PageCheck:
            options["needs"] = frozenset(options.get("needs", {Needs.FACTS}))
            self.rules.append(Rule(rule_id, group, severity, applies, page_check=check, **options))
            return check

        return add

    def site(
        self, rule_id: str, group: Group, severity: Severity, needs: Iterable[Needs], **options: Any
    ) -> Callable[[SiteCheck], SiteCheck]:
        """Add the site rule whose check is decorated."""

        def add(check: SiteCheck) -> SiteCheck:
            rule = Rule(rule_id, group, severity, AppliesTo.SITE, frozenset(needs), site_check=check, **options)
            self.rules.append(rule)
            return check

        return add


def listed(name: str, values: Iterable[Any]) -> dict[str, Any]:
    """A list as evidence: its first items, and how many more there are."""
    items = list(values)
    shown = {name: items[:MAX_LISTED]}
    return {**shown, "more": len(items) - MAX_LISTED} if len(items) > MAX_LISTED else shown
