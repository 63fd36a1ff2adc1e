"""Every audit rule fires where it should and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from sitelore.audit.catalogue import RULES, AuditConfig
from sitelore.model.audit.findings import Finding
from sitelore.model.states import UrlState

from .cases import CASES, HOME, NOT_ABOUT_PAGES, OTHER, Situation
from .sites import Audited, Pages, Spec, address, audit, html, prose


def only(rule: str) -> AuditConfig:
    """A configuration with one rule."""
    return AuditConfig(disabled=frozenset(RULES) - {rule})


def findings(rule: str, situation: Situation, pages: Pages | None = None) -> list[Finding]:
    return audit(pages or situation.pages, only(rule), **situation.records).findings


def test_every_rule_has_its_cases() -> None:
    assert set(RULES) == set(CASES)
    assert set(NOT_ABOUT_PAGES) <= set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_fires(rule: str) -> None:
    case = CASES[rule]
    here = [finding for finding in findings(rule, case.fires) if finding.url == address(case.at)]
    assert len(here) >= 1
    shown = [{name: finding.evidence.get(name) for name in case.evidence} for finding in here]
    assert dict(case.evidence) in shown


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_does_not_fire_on_the_other_side_of_its_limit(rule: str) -> None:
    assert findings(rule, CASES[rule].silent) == []


@pytest.mark.parametrize("rule", sorted(set(RULES) - set(NOT_ABOUT_PAGES)))
def test_a_rule_about_pages_does_not_fire_on_errors(rule: str) -> None:
    case = CASES[rule]
    assert findings(rule, case.fires, _changed(case.fires.pages, status=404)) == []


@pytest.mark.parametrize("rule", sorted(set(RULES) - set(NOT_ABOUT_PAGES)))
def test_a_rule_about_pages_does_not_fire_on_plain_text(rule: str) -> None:
    case = CASES[rule]
    assert findings(rule, case.fires, _changed(case.fires.pages, content_type="text/plain")) == []


def _changed(pages: Pages, **changes: object) -> Pages:
    """The site with all its HTML pages turned into something else."""
    specs = {path: spec if isinstance(spec, Spec) else Spec(spec) for path, spec in pages.items()}
    return {path: replace(spec, **changes) if _is_page(spec) else spec for path, spec in specs.items()}  # type: ignore[arg-type]


def _is_page(spec: Spec) -> bool:
    return spec.status == 200 and bool(spec.body) and spec.row.get("state", UrlState.VISITED) is UrlState.VISITED


@cache
def quiet_site() -> Audited:
    """A site without faults, with a page that is gone and unlinked, and a text file."""
    text = Spec(f"Notes about mills.\n\n{prose(150)}", content_type="text/plain")
    home = HOME.replace("href='/page'", "href='/notes.txt'")
    other = OTHER.replace("href='/page'", "href='/notes.txt'")
    return audit({"/": home, "/other": other, "/gone": Spec(html(title=""), status=404), "/notes.txt": text})


def test_no_rule_fires_on_a_site_without_faults() -> None:
    assert quiet_site().findings == []


def test_only_html_pages_are_indexable() -> None:
    states: Mapping[str, str] = {page.url.path: page.indexability.value for page in quiet_site().site.pages.values()}
    assert states == {"/": "indexable", "/other": "indexable", "/gone": "error", "/notes.txt": "not_html"}


@pytest.mark.parametrize("rule", RULES)
def test_the_texts_of_a_rule_are_whole_sentences(rule: str) -> None:
    texts = RULES[rule]
    assert 8 <= len(texts.title) <= 70
    assert not texts.title.endswith(".")
    assert texts.explanation.endswith(".")
    assert len(texts.explanation) >= 40
    assert texts.fix.endswith(".")


@pytest.mark.parametrize("rule", RULES)
def test_the_identity_of_a_finding_is_part_of_its_evidence(rule: str) -> None:
    for finding in findings(rule, CASES[rule].fires):
        assert set(RULES[rule].identity) <= set(finding.evidence)
