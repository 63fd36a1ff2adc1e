"""Adds to findings about links where the links are: the selector of each on the stored HTML of its page."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sitelore.audit.catalogue import RULES
from sitelore.audit.rule import Needs
from sitelore.extract.link_selectors import link_selectors
from sitelore.model.audit.findings import Evidence, Finding, FindingRecord
from sitelore.model.ids import RunId
from sitelore.model.url import Url
from sitelore.ports import Blobs, Ledger

MAX_PAGES = 2_000
"""Pages whose HTML one audit reads for this, those with the worst findings first."""

Place = tuple[str, str, str]
"""Page, target and fragment of a link."""


async def with_selectors(findings: Sequence[Finding], html_of: Callable[[str], Awaitable[str]]) -> list[Finding]:
    """The findings in their order; links on pages beyond `MAX_PAGES`, or without stored HTML, get no selector."""
    wanted: dict[str, set[tuple[str, str]]] = {}
    for finding in itertools.filterfalse(_is_located, findings):
        for page, target, fragment in _places(finding):
            if page in wanted or len(wanted) < MAX_PAGES:
                wanted.setdefault(page, set()).add((target, fragment))
    known: dict[Place, str] = {}
    for page, targets in wanted.items():
        if html := await html_of(page):
            for place, selector in link_selectors(html, Url.trusted(page), targets).items():
                known[page, *place] = selector
    return [replace(each, evidence=_with_places(each, known)) if known else each for each in findings]


async def located(ledger: Ledger, blobs: Blobs, record: FindingRecord) -> FindingRecord:
    """A stored finding with the places of its links, which the audit of a large site leaves out."""
    [finding] = await with_selectors([record.finding], html_reader(ledger, blobs, RunId(record.seen_run)))
    return replace(record, finding=finding)


def html_reader(ledger: Ledger, blobs: Blobs, run: RunId) -> Callable[[str], Awaitable[str]]:
    """A function that reads the HTML of a page of a run as it was received, redacted; empty where none is stored."""

    async def html_of(url: str) -> str:
        row = await ledger.row(run, Url.trusted(url))
        if row is None or row.snapshot is None:
            return ""
        try:
            return (await blobs.get(row.snapshot)).decode("utf-8", "replace")
        except KeyError:
            return ""

    return html_of


def _is_located(finding: Finding) -> bool:
    sources = finding.evidence.get("sources") or ()
    return "selector" in finding.evidence or any("selector" in source for source in sources)


def _places(finding: Finding) -> Iterator[Place]:
    evidence = finding.evidence
    rule = RULES.get(finding.rule)
    if rule is not None and Needs.LINKS in rule.needs and evidence.get("target") and "text" in evidence:
        yield finding.url, str(evidence["target"]), str(evidence.get("fragment") or "")
    for source in evidence.get("sources") or ():
        yield source["page"], finding.url, ""


def _with_places(finding: Finding, known: Mapping[Place, str]) -> Evidence:
    places = [known.get(place, "") for place in _places(finding)]
    if not any(places):
        return finding.evidence
    evidence: dict[str, Any] = dict(finding.evidence)
    if evidence.get("sources"):
        sources = zip(evidence["sources"], places[-len(evidence["sources"]) :], strict=True)
        evidence["sources"] = [{**source, "selector": place} if place else source for source, place in sources]
    elif places[0]:
        evidence["selector"] = places[0]
    return evidence
