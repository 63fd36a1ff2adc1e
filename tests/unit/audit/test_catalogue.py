"""The table of rules, their configuration, and their documentation."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from tests.conventions.project import DOCS

from sitelore.audit.catalogue import RULES, AuditConfig, audit_config
from sitelore.audit.checks import by_rule
from sitelore.audit.rule import Rule
from sitelore.model.audit.findings import Severity
from sitelore.model.errors import BadConfig

from .cases import CASES, HOME, OTHER
from .sites import Spec, address, audit, html


def test_a_threshold_is_changed_by_a_plain_mapping() -> None:
    config = audit_config({"rules": {"description-length": {"min_chars": 10}}})
    page = html(description="x" * 20)
    assert audit({"/": HOME, "/page": page}).of("description-length")
    assert not audit({"/": HOME, "/page": page}, config).of("description-length")
    assert config.limits(RULES["description-length"]) == {"min_chars": 10, "max_chars": 160}


def test_rules_are_switched_by_pattern_and_the_later_entry_wins() -> None:
    config = audit_config({"rules": {"title-*": False, "title-missing": True}})
    assert config.disabled == {"title-duplicate", "title-length", "title-pattern-outlier"}
    assert config.is_on(RULES["title-missing"])
    everything = audit_config({"rules": {"*": False, "title-length": {"max_chars": 70}}})
    assert everything.disabled == set(RULES) - {"title-length"}


def test_excluded_paths_are_not_audited() -> None:
    config = audit_config({"exclude": ["/archive/*"]})
    pages: dict[str, str | Spec] = {"/": HOME, "/archive/a": html(title="", links="/lost"), "/lost": Spec(status=404)}
    assert audit(pages).at("/archive/a")
    assert audit(pages, config).at("/archive/a") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": {"title-lenght": False}}, "unknown audit rule 'title-lenght' (did you mean 'title-length'?)"),
        (
            {"rules": {"title-length": {"max_char": 1}}},
            "unknown audit threshold of title-length 'max_char' (did you mean 'max_chars'?)",
        ),
        ({"rules": {"title-length": {"max_chars": "x"}}}, "audit rule 'title-length': max_chars must be a number, not 'x'"),
        ({"rules": {"title-length": {"max_chars": True}}}, "audit rule 'title-length': max_chars must be a number, not True"),
        ({"rules": {"title-length": 3}}, "audit rule 'title-length': use true, false or a table of thresholds, not 3"),
        ({"rule": {}}, "unknown audit option 'rule' (did you mean 'rules'?)"),
        ({"exclude": "/x"}, "audit option 'exclude': use a list of paths such as /archive/*"),
    ],
)
def test_a_wrong_configuration_names_what_is_meant(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadConfig) as error:
        audit_config(options)
    assert str(error.value) == message


def test_without_options_all_rules_are_on() -> None:
    assert audit_config({}) == AuditConfig()


def test_findings_can_be_written_as_json() -> None:
    for case in CASES.values():
        for finding in audit(case.fires.pages, **case.fires.records).findings:
            assert json.loads(json.dumps(finding.evidence)) == finding.evidence
            assert len(json.dumps(finding.evidence)) < 10_000


def test_findings_are_grouped_by_rule() -> None:
    result = audit({"/": HOME, "/other": OTHER, "/page": html(title="", attributes="")})
    groups = by_rule(result.findings)
    assert sum(map(len, groups.values())) == len(result.findings)
    assert [each.url for each in groups["title-missing"]] == [address("/page")]


def test_the_documentation_lists_every_rule_with_its_severity_and_thresholds() -> None:
    rows = re.findall(
        r"^\| `([a-z0-9-]+)` \| (\w+) \| (.+?) \| (.*?) \|$", (DOCS / "reference" / "audit.md").read_text(), re.MULTILINE
    )
    expected = [(rule.id, rule.severity.value, rule.explanation, thresholds(rule)) for rule in RULES.values()]
    assert sorted(rows) == sorted(expected)


def thresholds(rule: Rule) -> str:
    """The thresholds of a rule as the documentation has them."""
    return ", ".join(f"`{name}` {value:,}" for name, value in rule.thresholds.items())


def test_the_documentation_counts_the_rules() -> None:
    text = (DOCS / "reference" / "audit.md").read_text()
    counts = Counter(rule.severity for rule in RULES.values())
    assert f"{len(RULES)} rules" in text
    assert f"{counts[Severity.ERROR]} errors, {counts[Severity.WARNING]} warnings and {counts[Severity.NOTICE]} notices" in text
