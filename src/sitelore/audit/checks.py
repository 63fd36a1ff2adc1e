"""Runs the rules over pages and over the site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sitelore.audit.catalogue import RULES, AuditConfig
from sitelore.audit.page import AuditPage
from sitelore.audit.rule import kinds_of
from sitelore.audit.site import Site
from sitelore.model.audit.findings import Finding
from sitelore.model.url import Url

DEFAULT_CONFIG = AuditConfig()


def check_page(page: AuditPage, config: AuditConfig = DEFAULT_CONFIG) -> list[Finding]:
    """The findings of all page rules on one page."""
    findings: list[Finding] = []
    if config.covers(page.url.path):
        url, kinds = str(page.url), kinds_of(page)
        for rule, check, limits in config.page_rules:
            if rule.applies in kinds and (hits := list(check(page, limits))):
                findings += rule.findings(hits, url)
    return findings


def check_site(site: Site, config: AuditConfig = DEFAULT_CONFIG) -> list[Finding]:
    """The findings of all site rules."""
    findings: list[Finding] = []
    for rule in RULES.values():
        if rule.site_check is not None and config.is_on(rule):
            of_rule = rule.findings(rule.site_check(site, config.limits(rule)), site.start_url)
            findings += (each for each in of_rule if config.covers(Url.trusted(each.url).path))
    return findings


def by_rule(findings: Iterable[Finding]) -> Mapping[str, list[Finding]]:
    """Findings grouped by rule, in the order of the table."""
    groups: dict[str, list[Finding]] = {rule_id: [] for rule_id in RULES}
    for finding in findings:
        groups[finding.rule].append(finding)
    return {rule_id: group for rule_id, group in groups.items() if group}
