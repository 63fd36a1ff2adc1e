"""Faults in audits: the life of findings, near duplicates, the graph of links."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FINDINGS = ("tests/unit/audit/test_findings.py",)
_SHINGLES = ("tests/unit/audit/test_shingles.py",)
_GRAPH = ("tests/unit/audit/test_graph.py", "tests/unit/audit/test_insights.py")

MUTANTS = (
    Mutant(
        "finding-resolved-without-reading-its-page",
        "audit/findings.py",
        "    return finding.url in pages_read\n",
        "    return True\n",
        "A page that was not read loses its findings.",
        _FINDINGS,
    ),
    Mutant(
        "regressed-finding-counts-as-old",
        "audit/findings.py",
        "status=FindingStatus.REGRESSED, resolved_at=None",
        "status=FindingStatus.OPEN, resolved_at=None",
        "A problem that came back is not reported as such.",
        _FINDINGS,
    ),
    Mutant(
        "ignored-for-ever",
        "audit/findings.py",
        "(each.until is None or each.until > now)",
        "True",
        "A decision to ignore a finding for a month never ends.",
        _FINDINGS,
    ),
    Mutant(
        "graph-findings-resolved-by-partial-runs",
        "audit/findings.py",
        "return run_is_complete and is_known",
        "return is_known",
        "A run of ten pages resolves findings about the whole site.",
        _FINDINGS,
    ),
    Mutant(
        "findings-without-records-are-resolved",
        "audit/findings.py",
        "if rule is not None and rule.needs & missing:",
        "if rule is None:",
        "A run without media resolves all findings about images.",
        _FINDINGS,
    ),
    Mutant(
        "template-needs-no-share",
        "audit/findings.py",
        "pages >= TEMPLATE_PAGES and pages >= TEMPLATE_SHARE * pages_of.get(place, pages + 1)",
        "pages >= TEMPLATE_PAGES",
        "Five pages of a thousand are shown as a fault of their template.",
        _FINDINGS,
    ),
    Mutant(
        "score-counts-warnings",
        "audit/findings.py",
        "record.status in OPEN_STATUSES and record.finding.severity is Severity.ERROR",
        "record.status in OPEN_STATUSES",
        "A warning lowers the score.",
        _FINDINGS,
    ),
    Mutant(
        "candidates-are-taken-for-duplicates",
        "audit/shingles.py",
        " and (value := jaccard(a, b)) >= threshold:",
        " and (value := jaccard(a, b)) >= 0:",
        "Pages that share one band of hashes are reported as near duplicates.",
        _SHINGLES,
    ),
    Mutant(
        "repeated-shingles-count",
        "audit/shingles.py",
        "return values[is_first].tobytes()",
        "return values.tobytes()",
        "Repeated sentences make two texts less alike than they are.",
        _SHINGLES,
    ),
    Mutant(
        "anchors-of-links-lost",
        "audit/graph.py",
        "                self.add_anchor(links.sources[at], links.targets[at], fragment, links.texts[at])\n",
        "                pass\n",
        "Links to missing fragments are not found.",
        _GRAPH,
    ),
)
