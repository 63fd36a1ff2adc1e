"""The results of an audit as JSON data, as CSV tables for spreadsheets, and as SARIF 2.1.0."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sitelore.app.audit.phase import AuditResult
from sitelore.audit.catalogue import RULES
from sitelore.audit.findings import RuleCard, rule_cards
from sitelore.audit.rule import Rule
from sitelore.audit.site import PageSummary, Site
from sitelore.export.files import atomic_file
from sitelore.export.pages import moment
from sitelore.export.rows import cell
from sitelore.model.audit.findings import Finding, FindingRecord, Indexability, Severity
from sitelore.model.states import UrlState

SARIF_VERSION = "2.1.0"
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}
_BOM = "\ufeff"
_BARE = frozenset({"page", "selector"})
"""Evidence that is shown without quotation marks."""
_LABELS = {"sources": "linked from", "inlinks": "links to it", "text": "link text", "href": "address"}
"""Names of evidence that are shown in other words."""
_LINK_ENDS = frozenset({"target", "href", "page"})
"""Evidence beside which `text` is that of a link; elsewhere it is a part of the page."""
_FOR_PROGRAMS = frozenset({"position"})
"""Evidence that says nothing to people."""

Table = Iterator[tuple[object, ...]]
"""The rows of a CSV file, its header first."""


# JSON


def json_report(result: AuditResult, records: Collection[FindingRecord]) -> dict[str, Any]:
    """The result as one JSON object, with these findings and their cards."""
    return {
        "run": result.run.id,
        "site": result.run.site_name,
        "is_complete": result.site.is_complete,
        "score": {
            "clean": result.score.clean,
            "indexable": result.score.indexable,
            "percent": result.score.percent,
            "band": result.score.band,
        },
        "facts_extracted": result.audit.facts_extracted,
        "without_facts": result.audit.without_facts,
        "is_stored": result.stored is not None,
        "cards": [_json_card(card) for card in rule_cards(result.site, records)],
        "findings": [json_finding(each) for each in records],
    }


def _json_card(card: RuleCard) -> dict[str, Any]:
    rule = card.rule
    return {
        "rule": rule.id,
        "severity": card.severity.value,
        "title": rule.title,
        "explanation": rule.explanation,
        "fix": rule.fix,
        "count": card.count,
        "pages": card.pages,
        "templates": [
            {"folder": each.folder, "pages": each.pages, "findings": each.findings, "example": each.example.url}
            for each in card.templates
        ],
    }


def json_finding(record: FindingRecord) -> dict[str, Any]:
    """A finding with its life, as plain data."""
    finding, ignored = record.finding, record.ignored
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "url": finding.url,
        "evidence": dict(finding.evidence),
        "key": finding.key,
        "status": record.status.value,
        "first_seen": moment(record.first_seen),
        "last_seen": moment(record.last_seen),
        "opened_run": record.opened_run,
        **({"resolved_at": moment(record.resolved_at)} if record.resolved_at is not None else {}),
        **(
            {
                "ignored": {
                    "reason": ignored.reason,
                    "by": ignored.by,
                    "scope": ignored.scope.value,
                    "until": ignored.until and moment(ignored.until),
                }
            }
            if ignored is not None
            else {}
        ),
    }


# CSV


def write_csv_reports(result: AuditResult, records: Iterable[FindingRecord], folder: Path) -> list[str]:
    """Write one CSV file for each report, UTF-8 with a byte order mark, which spreadsheets need. Returns their names."""
    reports: dict[str, Callable[[], Table]] = {
        "findings.csv": lambda: findings_table(records),
        "pages.csv": lambda: _pages_table(result.site),
        "links_broken.csv": lambda: _broken_links_table(result.site),
        "redirects.csv": lambda: _redirects_table(result.site),
    }
    for name, table in reports.items():
        with atomic_file(folder / name) as sink:
            text = io.TextIOWrapper(sink, "utf-8", "replace", newline="")
            text.write(_BOM)
            writer = csv.writer(text, lineterminator="\r\n")
            writer.writerows(map(cell, row) for row in table())
            text.detach()  # writes what is left, and leaves the file open
    return list(reports)


def csv_text(table: Table) -> str:
    """A table as CSV for spreadsheets, with a byte order mark."""
    text = io.StringIO(newline="")
    text.write(_BOM)
    csv.writer(text, lineterminator="\r\n").writerows(map(cell, row) for row in table)
    return text.getvalue()


def findings_table(records: Iterable[FindingRecord]) -> Table:
    """Yield the rows of a table of findings."""
    yield ("severity", "rule", "title", "address", "evidence", "fix", "status", "first_seen", "key")
    for record in records:
        finding, rule = record.finding, RULES.get(record.finding.rule)
        title, fix = (rule.title, rule.fix) if rule is not None else ("", "")
        evidence = "; ".join(evidence_lines(finding))
        status, first_seen = record.status.value, moment(record.first_seen)
        yield (finding.severity.value, finding.rule, title, finding.url, evidence, fix, status, first_seen, finding.key)


def _pages_table(site: Site) -> Table:
    """Yield every URL that was requested, or is known to be unchanged."""
    yield (
        "address", "status", "title", "title_length", "description", "description_length", "h1", "words", "depth", "inlinks",
        "outlinks", "canonical", "indexable", "reason", "response_ms", "size_bytes",
    )  # fmt: skip
    outlinks: Counter[str] = site.graph.distinct_targets()
    for page in sorted(site.pages.values(), key=lambda page: page.url):
        if not page.is_kept and page.state is UrlState.SKIPPED:
            continue
        depth = site.click_depths.get(page.url, -1)
        is_indexable = page.indexability is Indexability.INDEXABLE
        yield (
            str(page.url),
            page.status,
            page.title,
            len(page.title) if page.is_html else None,
            page.description,
            len(page.description) if page.is_html else None,
            page.h1,
            page.word_count if page.is_kept else None,
            depth if depth >= 0 else None,
            len({link.source for link in site.sources(page.url)} - {page.url}),
            outlinks[page.url] if page.is_kept else None,
            str(page.canonical or ""),
            is_indexable,
            "" if is_indexable else page.indexability.value,
            None if page.elapsed_s is None else round(1000 * page.elapsed_s),
            page.body_bytes,
        )


def _broken_links_table(site: Site) -> Table:
    """Yield every link to a URL of the site that cannot be reached: each target with all its sources."""
    yield ("target", "status", "problem", "source", "text", "position")
    for url in sorted(site.graph.urls):
        if (target := site.broken(url)) is not None:
            for link in sorted(site.sources(url)):
                yield (url, target.status, target.kind.value, link.source, link.text, link.position)


def _redirects_table(site: Site) -> Table:
    yield ("address", "status", "final", "final_status", "hops", "chain", "inlinks")
    for page in sorted(site.pages.values(), key=lambda page: page.url):
        if page.is_redirect:
            last = site.final(page.url)
            final = last.url if last is not None and last is not page else page.final_url
            chain = " > ".join(f"{hop.status} {hop.url}" for hop in page.chain)
            status = _redirect_status(page)
            yield (
                str(page.url), status, str(final or ""), site.target(final).status if final else None,
                len(page.chain), chain, len({link.source for link in site.sources(page.url)}),
            )  # fmt: skip


def _redirect_status(page: PageSummary) -> int | None:
    """The status of the first redirect."""
    return page.chain[0].status if page.chain else page.status


# Evidence as text


def evidence_lines(finding: Finding) -> Iterator[str]:
    """Yield the evidence of a finding as lines of text: one for each value, and for each item of a list."""
    for key, value in finding.evidence.items():
        is_of_link = key != "text" or _LINK_ENDS & finding.evidence.keys()
        name = (_LABELS.get(key) if is_of_link else None) or key.replace("_", " ")
        if isinstance(value, list | tuple):
            yield from (f"{name}: {_evidence_text(item)}" for item in value)
        elif value not in ("", None) and key not in _FOR_PROGRAMS:
            yield f"{name}: {_evidence_text(value)}"


def _evidence_text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(
            f"{name} {each if name in _BARE else json.dumps(each, ensure_ascii=False)}"
            for name, each in value.items()
            if each not in ("", None) and name not in _FOR_PROGRAMS
        )
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


# SARIF


def sarif_log(site: str, run: str, rules: Collection[str], records: Iterable[FindingRecord], version: str) -> dict[str, Any]:
    """These findings of these rules as a SARIF log, whose locations are the addresses of pages. `run`: the latest audit's."""
    order = [rule_id for rule_id in RULES if rule_id in rules]
    numbers = {rule_id: number for number, rule_id in enumerate(order)}
    driver = {"name": "Sitelore", "version": version, "rules": [_sarif_rule(RULES[rule_id]) for rule_id in order]}
    results = [_sarif_result(each, numbers[each.finding.rule], run) for each in records if each.finding.rule in numbers]
    properties = {"site": site, "run": run}
    return {
        "$schema": _SARIF_SCHEMA,
        "version": SARIF_VERSION,
        "runs": [{"tool": {"driver": driver}, "results": results, "properties": properties}],
    }


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.explanation},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _SARIF_LEVELS[rule.severity]},
        "properties": {"tags": [rule.group.value]},
    }


def _sarif_result(record: FindingRecord, rule_index: int, run: str) -> dict[str, Any]:
    finding, rule = record.finding, RULES[record.finding.rule]
    ignored = record.ignored
    return {
        "ruleId": rule.id,
        "ruleIndex": rule_index,
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": "\n".join((f"{rule.title}. {rule.fix}", *evidence_lines(finding)))},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": finding.url}}}],
        "partialFingerprints": {"siteloreFinding/v1": finding.key},
        "baselineState": "new" if record.opened_run == run else "unchanged",
        **({"suppressions": [{"kind": "external", "justification": ignored.reason}]} if ignored is not None else {}),
    }
