"""The result of an audit as one self-contained HTML file: the score, the rules with their findings, charts, insights.

Charts are inline SVG, each with its figures in a table. The page has no script and loads nothing; every text that comes from a
crawled page is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from sitelore.app.audit.insight_text import insight_lines
from sitelore.app.audit.phase import AuditResult
from sitelore.app.audit.reports import evidence_lines
from sitelore.audit.findings import RuleCard
from sitelore.export.pages import moment
from sitelore.model.audit.findings import AuditRecord, AuditState, Finding, Indexability, Severity

MAX_FINDINGS = 50
"""Findings of a rule that are shown; a report of everything would be too large to send."""
_MAX_LINES = 8
_STYLE = Path(__file__).with_name("report.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_RING = 339.292
"""The length of a circle with radius 54."""
_BAND_CLASSES = {"weak": "error", "fair": "warning", "good": "good", "excellent": "good"}
_DAY_CHARS = len("2024-05-06")

Bars = Sequence[tuple[str, float]]


def html_report(result: AuditResult) -> str:
    """The report as a document."""
    site, cards = escape(result.run.site_name), result.cards
    parts = (
        _head(result),
        _tiles(result, cards),
        "<h2>What is wrong</h2>",
        *map(_card, cards),
        "" if cards else "<p>No rule found anything.</p>",
        "<h2>The site in figures</h2>",
        f'<div class="charts">{"".join(_charts(result))}</div>',
        "<h2>Insights</h2>",
        *_insights(result.figures),
        "<h2>Changes of the score</h2>" + _history(result.history) if result.history else "",
        f'<p class="quiet">Made by Sitelore from what run {escape(result.run.id)} stored; no page was fetched for it.</p>',
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        f"<title>Audit of {site}</title><style>{_STYLE.read_text(encoding='utf-8')}</style></head><body>"
        + "\n".join(part for part in parts if part)
        + "</body></html>\n"
    )


def _head(result: AuditResult) -> str:
    run, site = result.run, result.site
    crawled = (moment(run.finished_at or run.created_at) or "")[:16].replace("T", " ")
    pages = sum(page.is_kept for page in site.pages.values())
    complete = "the whole site was read" if site.is_complete else "the run did not read the whole site"
    return (
        f'<header class="head"><div><h1>{escape(run.site_name)}</h1>'
        f'<p class="quiet">Crawled {crawled} UTC · {pages:,} pages · {complete}</p></div>{_score(result)}</header>'
    )


def _score(result: AuditResult) -> str:
    score = result.score
    if score.percent is None:
        return "<p>No score: no page that search engines may list was read.</p>"
    shown = "100" if score.clean == score.indexable else f"{min(score.percent, 99):.0f}"
    kind = _BAND_CLASSES[score.band]
    return (
        f'<div class="score {kind}"><svg viewBox="0 0 128 128" role="img" aria-label="Score {shown} of 100">'
        '<circle cx="64" cy="64" r="54" fill="none" stroke="var(--line)" stroke-width="12"/>'
        f'<circle cx="64" cy="64" r="54" fill="none" stroke="currentColor" stroke-width="12" stroke-dasharray='
        f'"{_RING * score.percent / 100:.1f} {_RING}" transform="rotate(-90 64 64)"/>'
        f'<text x="64" y="76" text-anchor="middle" font-size="36" font-weight="600" fill="currentColor">{shown}</text></svg>'
        f'<div><strong>{score.band}</strong><span class="quiet">{score.clean:,} of {score.indexable:,} indexable pages<br>'
        "without an error</span></div></div>"
    )


def _tiles(result: AuditResult, cards: Sequence[RuleCard]) -> str:
    counts = {severity: sum(card.by_severity.get(severity, 0) for card in cards) for severity in Severity}
    tiles = [(f"{severity.value}s", count, severity.value) for severity, count in counts.items()]
    if result.stored is not None:
        changes = result.stored.counts
        tiles += [("new", changes.opened, ""), ("resolved", changes.resolved, "good"), ("ignored", changes.ignored, "")]
    items = (f'<li><b class="{kind if count else ""}">{count:,}</b>{name}</li>' for name, count, kind in tiles)
    return f'<ul class="tiles">{"".join(items)}</ul>'


# Rules


def _card(card: RuleCard) -> str:
    rule, severity = card.rule, card.severity.value
    shown = card.findings[:MAX_FINDINGS]
    templates = "".join(
        f'<div class="finding">{each.pages:,} pages of {escape(each.folder)} have this in common, such as '
        f"{_link(each.example.url)}{_evidence(each.example)}</div>"
        for each in card.templates
    )
    findings = "".join(f'<div class="finding">{_link(each.url)}{_evidence(each)}</div>' for each in shown)
    left = len(card.findings) - len(shown)
    more = f'<p class="quiet">… and {left:,} more; <code>sitelore audit --rule {rule.id}</code> lists all.</p>' if left else ""
    return (
        f'<details class="rule"><summary><span><span class="badge {severity}">{severity}</span></span>'
        f'<span class="count">{card.count:,}</span><span class="name">{escape(rule.title)} '
        f'<span class="id">{rule.id}</span></span></summary><div class="body"><p>{escape(rule.explanation)}</p>'
        f"<p><b>Fix:</b> {escape(rule.fix)}</p>{templates}{findings}{more}</div></details>"
    )


def _evidence(finding: Finding) -> str:
    lines = [line for line in evidence_lines(finding) if line]
    shown = lines[:_MAX_LINES]
    if len(lines) > _MAX_LINES:
        shown.append(f"… and {len(lines) - _MAX_LINES:,} more")
    return f"<code>{escape(chr(10).join(shown))}</code>"


def _link(url: str) -> str:
    text = escape(url)
    if not url.startswith(("http://", "https://")):
        return text
    return f'<a href="{text}" rel="noreferrer nofollow">{text}</a>'


# Charts


def _charts(result: AuditResult) -> Iterator[str]:
    figures = result.figures
    inventory: Mapping[str, Mapping[str, int]] = figures["inventory"]
    requested = {status: count for status, count in inventory["status"].items() if status != "-"}
    states = {state: count for state, count in inventory["indexability"].items() if state != Indexability.NOT_FETCHED}
    yield _bar_chart("URLs by status", "status", _largest(requested), _status_color)
    yield _bar_chart("Pages by clicks from the start page", "clicks", _by_depth(figures["click_depth"]))
    yield _bar_chart("Indexability of URLs", "state", _largest(states))
    yield _bar_chart("Pages by internal rank (0 to 100)", "rank", _ranks(figures["internal_rank"]["histogram"]))
    yield _bar_chart("Pages by words", "words", [(name, count) for name, count in _by_words(inventory["words"])])
    yield _bar_chart("Pages by section", "section", _largest(inventory["section"]))
    slow = _response_times(result)
    if slow:
        yield _bar_chart("Pages by response time", "time", slow)


def _largest(counts: Mapping[str, int], limit: int = 10) -> Bars:
    ordered = sorted(((name.replace("_", " "), count) for name, count in counts.items()), key=lambda each: -each[1])
    rest = sum(count for _, count in ordered[limit:])
    return [*ordered[:limit], *([("others", rest)] if rest else [])]


def _by_depth(table: Mapping[str, Mapping[str, int]]) -> Bars:
    return [("no path" if depth == "-" else depth, sum(counts.values())) for depth, counts in table.items()]


def _by_words(counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for name in ("<100", "<300", "<1000", "<3000", "more"):
        if name in counts:
            yield ("3000 and more" if name == "more" else name), counts[name]


def _ranks(histogram: Sequence[int]) -> Bars:
    step = 100 // max(1, len(histogram))
    return [(f"{number * step} to {(number + 1) * step}", count) for number, count in enumerate(histogram)]


def _response_times(result: AuditResult) -> Bars:
    names = ("<100 ms", "<300 ms", "<1 s", "<3 s", "slower")
    counts = dict.fromkeys(names, 0)
    for page in result.site.pages.values():
        if page.is_kept and page.elapsed_s is not None:
            at = sum(page.elapsed_s >= limit for limit in (0.1, 0.3, 1.0, 3.0))
            counts[names[at]] += 1
    return list(counts.items()) if any(counts.values()) else []


def _status_color(name: str) -> str:
    return {"2": "good", "3": "notice", "4": "error", "5": "error"}.get(name[:1], "bar")


def _bar_chart(title: str, head: str, bars: Bars, color: Callable[[str], str] = lambda _: "bar") -> str:
    highest = max((value for _, value in bars), default=0) or 1
    rows = "".join(
        f'<span>{escape(name)}</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{max(100 * value / highest, 0.6 if value else 0):.1f}" height="10" rx="1" fill="var(--{color(name)})"/>'
        f"</svg><span>{value:,}</span>"
        for name, value in bars
    )
    table = _table((head, "number"), bars)
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><div class="bars" aria-hidden="true">{rows}</div>'
        f"<details><summary>As a table</summary>{table}</details></figure>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    def cell(value: Any, tag: str) -> str:
        is_number = isinstance(value, int | float)
        text = f"{value:,}" if is_number else escape(str(value))
        return f'<{tag} class="number">{text}</{tag}>' if is_number else f"<{tag}>{text}</{tag}>"

    body = "".join(f"<tr>{''.join(cell(value, 'td') for value in row)}</tr>" for row in rows)
    is_number = [isinstance(value, int | float) for value in rows[0]] if rows else [False] * len(head)
    classes = (' class="number"' if each else "" for each in is_number)
    top = "".join(f"<th{kind}>{escape(name)}</th>" for name, kind in zip(head, classes, strict=True))
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


# Insights and history


def _insights(figures: Mapping[str, Any]) -> Iterator[str]:
    for title, lines in insight_lines(figures):
        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        yield f'<section class="insight"><h3>{escape(title)}</h3><ul>{items}</ul></section>'


def _history(history: Sequence[AuditRecord]) -> str:
    scored = [(each, each.score) for each in reversed(history) if each.state is AuditState.DONE and each.score is not None]
    points = [(number, score.percent or 0.0) for number, (_, score) in enumerate(scored)]
    rows = [
        (
            (moment(record.finished_at) or "")[:_DAY_CHARS],
            "-" if score.percent is None else f"{score.percent:.0f}",
            *(record.counts.by_severity.get(severity.value, 0) for severity in Severity),
            record.counts.opened,
            record.counts.resolved,
        )
        for record, score in scored
    ]
    table = _table(("audited", "score", "errors", "warnings", "notices", "new", "resolved"), rows)
    if len(points) < 2:
        return table
    width = points[-1][0]
    path = " ".join(f"{100 * number / width:.2f},{100 - percent:.2f}" for number, percent in points)
    return (
        '<figure class="trend"><figcaption>Score over audits</figcaption>'
        '<svg viewBox="0 -3 100 106" preserveAspectRatio="none" aria-hidden="true">'
        '<path d="M0 0H100M0 50H100M0 100H100" stroke="var(--line)" vector-effect="non-scaling-stroke"/>'
        f'<polyline points="{path}" fill="none" stroke="var(--bar)" stroke-width="2" vector-effect="non-scaling-stroke"/></svg>'
        f'<div class="ends quiet"><span>{rows[0][0]}</span><span>{rows[-1][0]}</span></div></figure>{table}'
    )
