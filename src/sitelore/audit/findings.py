"""The life of findings over runs: open, resolved, regressed, ignored; the score; cards that group findings for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from sitelore.audit.catalogue import RULES
from sitelore.audit.rule import Needs, Rule
from sitelore.audit.site import Site, folder_of, was_read, was_unchanged
from sitelore.model.audit.findings import (
    OPEN_STATUSES,
    AuditScore,
    Finding,
    FindingRecord,
    FindingStatus,
    Ignore,
    IgnoreScope,
    Severity,
)
from sitelore.model.url import Url

TEMPLATE_SHARE = 0.8
"""The share of a folder's pages from which a finding is one of their template."""
TEMPLATE_PAGES = 5
_WHOLE_SITE = frozenset({Needs.GRAPH, Needs.ROBOTS, Needs.SITEMAP, Needs.HISTORY, Needs.INDEX, Needs.MEDIA, Needs.EXTERNAL})


def merge_findings(
    previous: Iterable[FindingRecord],
    current: Iterable[Finding],
    pages_read: Collection[str],
    run_is_complete: bool,
    now: float,
    pages_unchanged: Collection[str] = frozenset(),
    ignores: Iterable[Ignore] = (),
    run: str = "",
    missing: frozenset[Needs] = frozenset(),
) -> list[FindingRecord]:
    """The findings after a run, from those before it and those that it found.

    Each finding is merged by itself, so the findings of a large site can be merged in parts: first those that the run found,
    with the earlier records of their keys, then all other records.

    A finding that was not found again is resolved only if its page was really read in this run, `pages_read`. That of a page
    which did not change since, `pages_unchanged`, is carried over as seen. Findings that depend on other pages are resolved
    only after a complete run, those about links also when both ends were read. Those of rules that need records which the
    run does not have, `missing`, stay as they are.
    """
    before = {record.finding.key: record for record in previous}
    after: dict[str, FindingRecord] = {}
    for finding in current:
        after[finding.key] = _seen(before.get(finding.key), finding, now, run)
    for key, record in before.items():
        if key not in after:
            rule = RULES.get(record.finding.rule)
            if rule is not None and rule.needs & missing:
                after[key] = record
                continue
            after[key] = _not_seen(record, pages_read, run_is_complete, now, pages_unchanged, run)
    decisions = list(ignores)
    return [_with_ignore(record, decisions, now) for record in after.values()]


def urls_read(site: Site, previous: Iterable[FindingRecord]) -> tuple[set[str], set[str]]:
    """The URLs whose findings may end, and those that did not change: `pages_read` and `pages_unchanged`.

    After a complete run, a URL that the run does not know any more has left the site, so its findings end too.
    """
    read = {str(page.url) for page in site.pages.values() if was_read(page)} | urls_left(site, previous)
    return read, {str(page.url) for page in site.pages.values() if was_unchanged(page)}


def urls_left(site: Site, previous: Iterable[FindingRecord]) -> set[str]:
    """The URLs of findings that are no longer part of the site; none where the run was not complete."""
    return {record.finding.url for record in previous if record.finding.url not in site.pages} if site.is_complete else set()


def _seen(before: FindingRecord | None, finding: Finding, now: float, run: str) -> FindingRecord:
    if before is None:
        return FindingRecord(finding, FindingStatus.OPEN, now, now, opened_run=run, seen_run=run)
    if before.status is FindingStatus.RESOLVED:
        before = replace(before, status=FindingStatus.REGRESSED, resolved_at=None, opened_run=run, resolved_run="")
    return replace(before, finding=finding, last_seen=now, seen_run=run)


def _not_seen(
    record: FindingRecord,
    pages_read: Collection[str],
    run_is_complete: bool,
    now: float,
    pages_unchanged: Collection[str],
    run: str,
) -> FindingRecord:
    if record.status is FindingStatus.RESOLVED:
        return record
    rule, url = RULES.get(record.finding.rule), record.finding.url
    # A rule that is not known any more is one of an older version.
    if rule is None or _is_resolved(rule, record.finding, pages_read, run_is_complete, pages_unchanged):
        return replace(record, status=FindingStatus.RESOLVED, resolved_at=now, resolved_run=run)
    return replace(record, last_seen=now, seen_run=run) if url in pages_unchanged else record


def _is_resolved(
    rule: Rule, finding: Finding, pages_read: Collection[str], run_is_complete: bool, pages_unchanged: Collection[str]
) -> bool:
    if rule.needs & _WHOLE_SITE:
        is_known = finding.url in pages_read or finding.url in pages_unchanged or _is_about_site(rule)
        return run_is_complete and is_known
    if Needs.LINKS in rule.needs:
        is_known = finding.url in pages_read or (run_is_complete and finding.url in pages_unchanged)
        return is_known and (run_is_complete or finding.evidence.get("target", finding.url) in pages_read)
    return finding.url in pages_read


def _is_about_site(rule: Rule) -> bool:
    """Whether findings of a rule may name a URL of another kind than pages: robots.txt, a sitemap, an image."""
    return bool(rule.needs & {Needs.ROBOTS, Needs.SITEMAP, Needs.MEDIA, Needs.INDEX})


# Ignored findings


def _with_ignore(record: FindingRecord, ignores: list[Ignore], now: float) -> FindingRecord:
    """Apply the decisions of people; one whose time is over opens the finding again."""
    known = [record.ignored] if record.ignored is not None else []
    valid = [each for each in (*ignores, *known) if _covers(each, record.finding) and (each.until is None or each.until > now)]
    if record.status is FindingStatus.RESOLVED:
        return record
    if valid:
        return replace(record, status=FindingStatus.IGNORED, ignored=valid[0])
    if record.status is FindingStatus.IGNORED:
        return replace(record, status=FindingStatus.OPEN, ignored=None)
    return record


def _covers(ignore: Ignore, finding: Finding) -> bool:
    if ignore.rule != finding.rule:
        return False
    if ignore.scope is IgnoreScope.RULE:
        return True
    if ignore.scope is IgnoreScope.PAGE:
        return ignore.url == finding.url
    return ignore.key == finding.key


# Score and cards


def score(site: Site, records: Iterable[FindingRecord]) -> AuditScore:
    """The share of indexable pages without an open error."""
    wrong = {
        record.finding.url for record in records if record.status in OPEN_STATUSES and record.finding.severity is Severity.ERROR
    }
    pages = {str(page.url) for page in site.indexable}
    return AuditScore(len(pages - wrong), len(pages))


@dataclass(frozen=True, slots=True)
class TemplateGroup:
    """A finding that nearly all pages of a folder or of a whole host have, so their template causes it."""

    folder: str
    pages: int
    findings: int
    example: Finding


@dataclass(frozen=True, slots=True)
class RuleCard:
    """All open findings of one rule, for people: findings of a template are grouped, the others listed one by one."""

    rule: Rule
    severity: Severity
    """That of the worst finding."""
    count: int
    pages: int
    templates: tuple[TemplateGroup, ...]
    findings: tuple[Finding, ...]
    by_severity: Mapping[Severity, int]


def rule_cards(site: Site, records: Iterable[FindingRecord]) -> list[RuleCard]:
    """One card for each rule with open findings, the worst first."""
    by_rule: dict[str, list[Finding]] = {}
    for record in records:
        if record.status in OPEN_STATUSES and record.finding.rule in RULES:
            by_rule.setdefault(record.finding.rule, []).append(record.finding)
    sizes = Counter(page.group for page in site.html_pages)
    cards = [_card(RULES[rule_id], findings, sizes) for rule_id, findings in by_rule.items()]
    order = list(Severity)
    return sorted(cards, key=lambda card: (order.index(card.severity), -card.count, card.rule.id))


def _card(rule: Rule, findings: list[Finding], sizes: Mapping[str, int]) -> RuleCard:
    templates, alone = _templates(findings, sizes, rule.identity)
    worst = min((each.severity for each in findings), key=list(Severity).index)
    by_severity = Counter(each.severity for each in findings)
    return RuleCard(
        rule, worst, len(findings), len({each.url for each in findings}), tuple(templates), tuple(alone), by_severity
    )


def _templates(
    findings: list[Finding], sizes: Mapping[str, int], identity: tuple[str, ...]
) -> tuple[list[TemplateGroup], list[Finding]]:
    """What nearly all pages of a host or of a folder have in common, and the other findings."""
    templates: list[TemplateGroup] = []
    hosts: Counter[str] = Counter()
    for folder, count in sizes.items():
        hosts[_host(folder)] += count
    alone = findings
    for place_of, pages_of in ((lambda finding: _host(_folder(finding)), hosts), (_folder, sizes)):
        groups: dict[tuple[str, str], list[Finding]] = {}
        for finding in alone:
            groups.setdefault((place_of(finding), _evidence_key(finding, identity)), []).append(finding)
        alone = []
        for (place, _), group in groups.items():
            pages = len({each.url for each in group})
            if pages >= TEMPLATE_PAGES and pages >= TEMPLATE_SHARE * pages_of.get(place, pages + 1):
                templates.append(TemplateGroup(place, pages, len(group), group[0]))
            else:
                alone += group
    return templates, sorted(alone, key=lambda finding: finding.url)


def _host(folder: str) -> str:
    return folder.partition("/")[0] + "/"


def _folder(finding: Finding) -> str:
    return folder_of(Url.trusted(finding.url))


def _evidence_key(finding: Finding, identity: tuple[str, ...]) -> str:
    return repr([finding.evidence.get(name) for name in identity])
