"""`sitelore audit`: finds problems of a crawled site, from the stored pages."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sitelore.app.wiring import build_app
from sitelore.cli.commands.runs import find_run
from sitelore.cli.console import (
    DATA,
    AsJson,
    Data,
    counted,
    data_console,
    data_option,
    note,
    print_json,
    run_async,
    visible,
)
from sitelore.model.audit.findings import Severity
from sitelore.model.errors import DataDirBusy, DiskFull, NoSuchRun, UsageError
from sitelore.model.states import ENDED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection

    from rich.console import Console

    from sitelore.app.app import App
    from sitelore.app.audit.phase import AuditResult
    from sitelore.audit.findings import RuleCard
    from sitelore.model.audit.findings import Finding, FindingRecord
    from sitelore.model.frontier import Run

_SEARCHED_RUNS = 10_000
_CARDS_WITH_EXAMPLES = 3
_EXAMPLES = 3
_VERBOSE_EXAMPLES = 10
_ID_CHARS = 26
"""Of the longest rule id."""
_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTICE: "dim"}


_Site = Annotated[
    str | None, typer.Argument(metavar="SITE", help="A site as listed by `sitelore runs`.  [default: the only one]")
]
_RunName = Annotated[
    str | None, typer.Option(metavar="RUN", help="A run id, a prefix of one, or `latest`.  [default: the site's latest]")
]


def audit(
    site: _Site = None,
    run: _RunName = None,
    rule: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this rule (or `image-*`), with its fix and every finding.")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Only findings that are new in this audit.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show example pages of every rule.")] = False,
    check_links: Annotated[
        bool, typer.Option("--check-links", help="Also request links to other sites, and llms.txt.")
    ] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a report as one HTML file.")] = None,
    csv: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write CSV files into this folder.")] = None,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the findings as SARIF 2.1.0.")] = None,
    fail_on: Annotated[
        Severity | None, typer.Option(help="Exit with 1 if there is a finding of this severity or worse.", show_default=False)
    ] = None,
    as_json: AsJson = False,
    data: Data = DATA,
) -> int:
    """Show what is wrong with a crawled site. Findings are stored with their history over runs."""
    from sitelore.app.audit.reports import json_report, write_csv_reports
    from sitelore.extract.process_memory import share_one_heap

    share_one_heap()
    rules = selected_rules(rule)
    result = run_async(_audit(data, site, run, check_links=check_links))
    records = result.selected(rules, only_new=new)
    if as_json:
        print_json(json_report(result, records))
    elif rule:
        _print_rules(result, rules, records)
    else:
        _print_table(result, records, data, verbose=verbose)
    _note_facts(result, data)
    if html is not None:
        _write_html(result, html)
    if csv is not None:
        note(f"{', '.join(write_csv_reports(result, records, csv))} written to {csv}")
    if sarif is not None:
        _write_sarif(result, rules, records, sarif)
    return 1 if fail_on is not None and _fails(records, fail_on) else 0


def insights(site: _Site = None, run: _RunName = None, as_json: AsJson = False, data: Data = DATA) -> int:
    """Show figures about a crawled site, from its latest audit."""
    from sitelore.app.audit.insight_text import insight_lines

    audited, figures = run_async(_insights(data, site, run))
    if not figures:
        raise NoSuchRun(f"run {audited.id} was not audited yet; run `sitelore audit {audited.site_name}{data_option(data)}`")
    if as_json:
        print_json({"run": audited.id, "site": audited.site_name, **figures})
        return 0
    console = data_console()
    console.print(f"{visible(audited.site_name)}  run {audited.id}", markup=False, soft_wrap=True)
    for name, lines in insight_lines(figures):
        console.print(f"\n{name}", style="bold")
        for line in lines:
            console.print(f"  {visible(line)}", markup=False, soft_wrap=True)
    return 0


async def _insights(data: Path, site: str | None, name: str | None) -> tuple[Run, dict[str, Any]]:
    async with build_app(data, writing=False) as app:
        run = await find_audited_run(app, data, site, name)
        return run, await app.audits.for_tenant(run.tenant).insights(run.id)


def selected_rules(names: list[str] | None) -> Collection[str]:
    """The ids of the rules with these names or patterns; all of them without any."""
    from fnmatch import fnmatchcase

    from sitelore.audit.catalogue import RULES, audit_config

    audit_config({"rules": dict.fromkeys(names or (), True)})  # raises where a name is unknown
    return {rule_id for rule_id in RULES if not names or any(fnmatchcase(rule_id, name) for name in names)}


def _fails(records: list[FindingRecord], limit: Severity) -> bool:
    order = list(Severity)
    return any(order.index(each.finding.severity) <= order.index(limit) for each in records)


async def _audit(data: Path, site: str | None, run: str | None, *, check_links: bool) -> AuditResult:
    from sitelore.app.audit.phase import audit_run
    from sitelore.app.audit.site_audit import AuditProgress
    from sitelore.cli.progress import show_progress

    async with _open(data) as (app, is_writable):
        audited = await find_audited_run(app, data, site, run)
        progress = AuditProgress(max_pages=(await app.ledger.counts(audited.id)).pages)
        async with show_progress(progress):
            known = await app.audits.for_tenant(audited.tenant).settings(audited.site) if check_links else {}
            options = {**known, "check_links": True} if check_links and is_writable else None
            return await audit_run(app, audited, options, progress, store=is_writable)


@asynccontextmanager
async def _open(data: Path) -> AsyncIterator[tuple[App, bool]]:
    """The application, and whether it can store something: not while another process writes to a data directory."""
    async with AsyncExitStack() as opened:
        app = await opened.enter_async_context(build_app(data, writing=False))
        if app.is_shared:
            yield app, True
            return
        try:
            app = await opened.enter_async_context(build_app(data, writing=True))
        except (DataDirBusy, DiskFull) as problem:
            note(f"the findings are not stored: {problem}")
            yield app, False
            return
        yield app, True


async def find_audited_run(app: App, data: Path, site: str | None, name: str | None) -> Run:
    """The named run, or the latest ended run of the site that crawled all of it."""
    from sitelore.app.audit.site_audit import is_partial

    if name is not None:
        run = await find_run(app, data, name)
        if site is not None and run.site_name != site:
            raise UsageError(f"run {run.id} is of the site {run.site_name}, not {site}")
        if run.state not in ENDED:
            raise UsageError(f"run {run.id} has not ended; continue it with `sitelore crawl --resume{data_option(data)}`")
        return run
    runs = await app.ledger.runs(_SEARCHED_RUNS)  # newest first
    sites = sorted({run.site_name for run in runs})
    if not sites:
        raise NoSuchRun(f"no run in {data} yet")
    if site is None and len(sites) > 1:
        raise UsageError(f"name one of the {len(sites)} sites in {data}: {', '.join(sites)}")
    if site is not None and site not in sites:
        raise NoSuchRun(f"unknown site {site!r}; known sites: {', '.join(sites)}")
    of_site = [run for run in runs if run.site_name == (site or sites[0]) and run.state in ENDED]
    if not of_site:
        raise NoSuchRun(
            f"no run of {site or sites[0]} has ended; continue it with `sitelore crawl --resume{data_option(data)}`"
        )
    return next((run for run in of_site if not is_partial(run)), of_site[0])


# Output


def _print_table(result: AuditResult, records: list[FindingRecord], data: Path, *, verbose: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from sitelore.audit.findings import rule_cards

    console = data_console()
    cards = rule_cards(result.site, records)
    _print_headline(console, result, records, len(cards))
    for number, card in enumerate(cards):
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(width=len(Severity.WARNING.value), no_wrap=True)
        table.add_column(width=6, justify="right", no_wrap=True)
        table.add_column(width=_ID_CHARS, no_wrap=True)
        table.add_column(overflow="fold")
        severity = Text(card.severity.value, _STYLES[card.severity])
        table.add_row(severity, f"{card.count:,}", Text(card.rule.id, "bold"), card.rule.title)
        console.print(table)
        if verbose or number < _CARDS_WITH_EXAMPLES:
            _print_examples(console, card, _VERBOSE_EXAMPLES if verbose else _EXAMPLES)
    if cards:
        example = cards[0].rule.id
        command = f"sitelore audit {result.run.site_name} --rule {example}{data_option(data)}"
        console.print("\nThe fix and every finding of a rule:", style="dim")
        console.print(f"  {command}", markup=False, soft_wrap=True)


def _print_headline(console: Console, result: AuditResult, records: list[FindingRecord], rules: int) -> None:
    from rich.text import Text

    score, run = result.score, result.run
    counts = {severity: sum(each.finding.severity is severity for each in records) for severity in Severity}
    console.print(Text.assemble((visible(run.site_name), "bold"), "  ", (f"run {run.id}", "dim")), soft_wrap=True)
    if score.percent is None:
        reasons = Counter(page.indexability.value.replace("_", " ") for page in result.site.html_pages)
        why = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common(3))
        console.print(f"no score: no page that search engines may list was read{f' ({why})' if why else ''}", markup=False)
    else:
        pages = counted(score.indexable, "indexable page")
        console.print(
            f"score {_percent(score.percent)} ({score.band}): {score.clean:,} of {pages} without an error", markup=False
        )
    total = ", ".join(counted(number, severity.value) for severity, number in counts.items())
    console.print(f"{total} by {counted(rules, 'rule')}", markup=False)
    if result.stored is not None:
        changes = result.stored.counts
        console.print(f"{changes.opened:,} new, {changes.resolved:,} resolved, {changes.ignored:,} ignored", markup=False)
    if not result.site.is_complete:
        console.print("the run did not read the whole site: rules about links between pages see a part of it")
    console.print()


def _percent(percent: float) -> str:
    """A share without decimals; only a perfect score is 100 %."""
    return f"{percent:.0f} %" if percent == 100 else f"{min(percent, 99):.0f} %"


def _print_examples(console: Console, card: RuleCard, limit: int) -> None:
    lines = [f"{counted(each.pages, 'page')} of {each.folder}, such as {each.example.url}" for each in card.templates]
    lines += dict.fromkeys(f"{each.url}{_target(each)}" for each in card.findings)
    for line in lines[:limit]:
        _print_indented(console, line)
    if len(lines) > limit:
        _print_indented(console, f"… and {len(lines) - limit:,} more")


def _target(finding: Finding) -> str:
    """Where the link that a finding is about leads."""
    target = finding.evidence.get("target")
    return f" → {target}" if isinstance(target, str) and target else ""


def _print_indented(console: Console, line: str, width: int = 9) -> None:
    console.print(" " * width + visible(line), style="dim", markup=False, soft_wrap=True)


def _print_rules(result: AuditResult, rules: Collection[str], records: list[FindingRecord]) -> None:
    from rich.text import Text

    from sitelore.audit.catalogue import RULES
    from sitelore.audit.findings import rule_cards

    console = data_console()
    cards = {card.rule.id: card for card in rule_cards(result.site, records)}
    for rule_id in (rule_id for rule_id in RULES if rule_id in rules):
        rule, card = RULES[rule_id], cards.get(rule_id)
        severity = card.severity if card is not None else rule.severity
        count = f"{counted(card.count, 'finding')} on {counted(card.pages, 'page')}" if card is not None else "no finding"
        console.print(Text.assemble((rule.id, "bold"), "  ", (severity.value, _STYLES[severity]), f"  {count}"))
        for text in (rule.title, rule.explanation, f"Fix: {rule.fix}"):
            console.print(f"{text}", markup=False)
        console.print()
        for record in records:
            if record.finding.rule == rule_id:
                _print_finding(console, record.finding)


def _print_finding(console: Console, finding: Finding) -> None:
    from sitelore.app.audit.reports import evidence_lines

    console.print(visible(finding.url), markup=False, soft_wrap=True)
    for line in evidence_lines(finding):
        _print_indented(console, line, 4)
    console.print()


def _note_facts(result: AuditResult, data: Path) -> None:
    """Say where audit facts were missing, and which command stores them."""
    if result.audit.facts_extracted:
        command = f"`sitelore reprocess {result.run.id}{data_option(data)}`"
        pages = counted(result.audit.facts_extracted, "page")
        note(f"audit facts of {pages} are not stored: extracted from snapshots this time; to store them: {command}")
    if result.audit.without_facts:
        note(f"{counted(result.audit.without_facts, 'page')} without audit facts and snapshot: most rules could not check them")


def _write_html(result: AuditResult, path: Path) -> None:
    from sitelore.app.audit.html_report import html_report
    from sitelore.export.files import atomic_file

    with atomic_file(path) as sink:
        sink.write(html_report(result).encode("utf-8", "replace"))
    note(f"{path} written")


def _write_sarif(result: AuditResult, rules: Collection[str], records: list[FindingRecord], path: Path) -> None:
    from importlib.metadata import version

    import msgspec

    from sitelore.app.audit.reports import sarif_log
    from sitelore.export.files import atomic_file

    with atomic_file(path) as sink:
        sink.write(
            msgspec.json.format(
                msgspec.json.encode(
                    sarif_log(result.run.site_name, result.run.id, rules, records, version("sitelore")), enc_hook=str
                )
            )
        )
    note(f"{path} written")
