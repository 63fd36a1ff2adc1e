"""Rules about size and speed."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from sitelore.audit.page import AuditPage
from sitelore.audit.rule import Group, Hit, Limits, Needs, RuleTable
from sitelore.audit.site import Site
from sitelore.model.audit.findings import Severity

TABLE = RuleTable()

_MB = 1_000_000


@TABLE.site(
    "slow-response",
    Group.SPEED,
    Severity.NOTICE,
    (Needs.HISTORY,),
    thresholds={"min_fetches": 2, "notice_ms": 1000, "warning_ms": 3000},
    title="Slow answer",
    explanation="The server took long to answer in several fetches, as seen from this crawler.",
    fix="Use a cache or a CDN, or find the slow query.",
)
def _slow_response(site: Site, limits: Limits) -> Iterator[Hit]:
    own = [page.elapsed_s * 1000 for page in site.html_pages if page.elapsed_s]
    for page in site.html_pages:
        earlier = [each.elapsed_s for each in site.earlier.get(page.url, ()) if each.elapsed_s]
        times = [seconds * 1000 for seconds in ([page.elapsed_s] if page.elapsed_s else []) + earlier]
        if len(times) >= limits["min_fetches"] and (middle := median(times)) > limits["notice_ms"]:
            severity = Severity.WARNING if middle > limits["warning_ms"] else None
            evidence = {"median_ms": round(middle), "fetches": len(times), "site_median_ms": round(median(own)) if own else 0}
            yield Hit(evidence, page.url, severity)


@TABLE.page(
    "html-too-large",
    Group.SPEED,
    Severity.WARNING,
    thresholds={"warning_mb": 1, "error_mb": 2},
    title="Very large HTML",
    explanation="The HTML is larger than 1 MB. It loads slowly, and search engines read only the first 2 MB.",
    fix="Move inline scripts, styles and images into files, or divide the page.",
)
def _html_too_large(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    size = page.facts.body_bytes
    if size > limits["warning_mb"] * _MB:
        severity = Severity.ERROR if size > limits["error_mb"] * _MB else None
        yield Hit({"bytes": size, "largest_inline": page.facts.largest_inline_chars}, severity=severity)


@TABLE.page(
    "dom-too-large",
    Group.SPEED,
    Severity.NOTICE,
    thresholds={"notice_elements": 1500, "warning_elements": 3000, "max_depth": 32},
    title="Very many elements",
    explanation="The page has so many elements, or nests them so deeply, that browsers become slow.",
    fix="Simplify the markup, or divide the page.",
)
def _dom_too_large(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    facts = page.facts
    if facts.elements > limits["notice_elements"] or facts.depth > limits["max_depth"]:
        widest = f"{facts.widest.element} ({facts.widest.children} children)" if facts.widest is not None else ""
        severity = Severity.WARNING if facts.elements > limits["warning_elements"] else None
        depth = {"depth": facts.depth} if facts.depth else {}  # not measured where it does not matter
        yield Hit({"elements": facts.elements, **depth, "widest": widest}, severity=severity)


@TABLE.page(
    "not-compressed",
    Group.SPEED,
    Severity.NOTICE,
    needs=(Needs.FACTS, Needs.HEADERS),
    thresholds={"min_bytes": 1400},
    title="Page is sent without compression",
    explanation="The server sends the page as it is though the crawler accepts compression, so it takes several times as long.",
    fix="Switch on gzip, Brotli or zstd in the server.",
)
def _not_compressed(page: AuditPage, limits: Limits) -> Iterator[Hit]:
    encoding = page.header("content-encoding").strip().lower()
    is_known = page.has_head and not page.is_rendered
    if is_known and encoding in {"", "identity"} and page.facts.body_bytes >= limits["min_bytes"]:
        yield Hit({"bytes": page.facts.body_bytes})
