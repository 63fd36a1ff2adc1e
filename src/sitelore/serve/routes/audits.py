"""Audit routes: findings of a site and decisions about them, rules, audits of runs, insights, settings."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from enum import StrEnum
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sitelore.audit.catalogue import RULES, AuditConfig, audit_config
from sitelore.audit.fixes.html_fixes import HTML_FIXES
from sitelore.model.audit.findings import (
    OPEN_STATUSES,
    AuditRecord,
    FindingListing,
    FindingRecord,
    FindingStatus,
    Ignore,
    IgnoreScope,
    Severity,
)
from sitelore.model.errors import BadConfig
from sitelore.model.ids import RunId, SiteId
from sitelore.model.platform.accounts import Caller
from sitelore.serve import problems
from sitelore.serve.openapi import Responses, answers, problem_answers
from sitelore.serve.problems import ApiProblem, FieldProblem
from sitelore.serve.responses import JSON, encode, json_response, pagination_of
from sitelore.serve.routes.dependencies import KnownSite, Service, SiteName, time_of
from sitelore.serve.run_requests import PRINTABLE
from sitelore.serve.run_service import RunService
from sitelore.serve.schemas import (
    AuditCountsView,
    AuditList,
    AuditOptions,
    AuditView,
    FindingList,
    FindingView,
    FixProposalView,
    IgnoreView,
    InsightsView,
    IssueList,
    IssueView,
    RuleList,
    RuleView,
    ScoreView,
    moment,
)
from sitelore.serve.security.auth import CRAWLS, MANAGES_CHANNELS, READS

router = APIRouter(prefix="/sites/{site}", tags=["audit"])

_MAX_AUDITS = 365
_MAX_EXPORTED = 100_000
_MAX_OPTIONS = 150  # more would not fit into the body limit
FindingId = Annotated[str, Path(pattern=r"^[0-9a-f]{20}$", description="The `id` of a finding.")]
Statuses = Annotated[list[FindingStatus] | None, Query(max_length=4, description="Only findings with these statuses.")]
Severities = Annotated[list[Severity] | None, Query(max_length=3, description="Only findings of these severities.")]
RuleIds = Annotated[
    list[Annotated[str, Field(max_length=100)]] | None, Query(max_length=100, description="Only findings of these rules.")
]
Prefix = Annotated[str, Query(max_length=2000, description="Only findings of URLs that start with this.")]
OnlyPage = Annotated[str, Query(max_length=8192, description="Only findings of exactly this URL.")]
Text = Annotated[
    str, Query(max_length=200, pattern=PRINTABLE, description="Only findings with this in the URL or the evidence.")
]
OnlyNew = Annotated[bool, Query(description="Only findings that the latest audit opened.")]
Crawler = Annotated[Caller, CRAWLS]
Manager = Annotated[Caller, MANAGES_CHANNELS]


class FindingsFormat(StrEnum):
    """A file format for findings."""

    CSV = "csv"
    JSON = "json"
    SARIF = "sarif"


_MEDIA_TYPES = {
    FindingsFormat.CSV: "text/csv; charset=utf-8",
    FindingsFormat.JSON: JSON,
    FindingsFormat.SARIF: "application/sarif+json",
}


class Decision(BaseModel):
    """Decision to ignore a finding."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    reason: Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$", description="Why it is not fixed.")]
    scope: Annotated[
        str,
        Field(
            pattern="^(finding|page|rule)$",
            description="What is ignored: this finding, all findings of its rule on its page, or all of its rule on the site.",
        ),
    ] = "finding"
    until: Annotated[
        str | None, Field(max_length=40, description="The day from which it is open again (2026-12-31); without: for ever.")
    ] = None


class Options(BaseModel):
    """Settings of audits: rules that are on or off, their thresholds, and paths that are not audited."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    rules: Annotated[
        dict[str, bool | dict[str, float]],
        Field(max_length=_MAX_OPTIONS, description="By rule or pattern (`hreflang-*`): false, true, or thresholds by name."),
    ] = Field(default_factory=dict)
    exclude: Annotated[
        list[Annotated[str, Field(max_length=200)]],
        Field(max_length=_MAX_OPTIONS, description="Paths such as `/archive/*`."),
    ] = Field(default_factory=list)
    check_links: Annotated[bool, Field(description="Whether audits request links to other sites and llms.txt.")] = False


@router.get(
    "/issues",
    dependencies=[READS],
    summary="Findings by rule",
    responses=answers(IssueList, problems.SITE_NOT_FOUND),
)
async def list_issues(site_id: KnownSite, service: Service, status: Statuses = None, new: OnlyNew = False) -> Response:
    """How many findings each rule has, on how many pages, and how many of them are new or came back; the worst first."""
    latest = await _latest(site_id, service)
    run = latest.run if latest is not None else ""
    if new and not run:
        return json_response(IssueList([]))
    listing = replace(_listing(status), opened_run=run if new else "")
    issues = await service.context.audits.findings_by_rule(site_id, listing, run)
    return json_response(IssueList([IssueView(i.rule, i.severity, i.findings, i.pages, i.new, i.regressed) for i in issues]))


_EXPORT_ANSWERS: Responses = {
    200: {"description": "The findings.", "content": {kind: {} for kind in _MEDIA_TYPES.values()}},
    **problem_answers(problems.SITE_NOT_FOUND),
}


@router.get(
    "/findings",
    dependencies=[READS],
    summary="What is wrong with a site",
    responses=answers(FindingList, problems.SITE_NOT_FOUND),
)
async def list_findings(
    site_id: KnownSite,
    service: Service,
    status: Statuses = None,
    severity: Severities = None,
    rule: RuleIds = None,
    url: Prefix = "",
    page: OnlyPage = "",
    q: Text = "",
    new: OnlyNew = False,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of findings.")] = 100,
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="Findings to skip.")] = 0,
) -> Response:
    """The findings of all audits so far, the worst first; by default those that are open."""
    listing = replace(_listing(status, severity, rule, url, page, q), limit=limit, offset=offset)
    latest = await _latest(site_id, service)
    if new and latest is None:
        return json_response(FindingList([], {}, pagination_of(0, limit, offset, 0)))
    listing = replace(listing, opened_run=latest.run if new and latest is not None else "")
    audits = service.context.audits
    (records, total), counts = await asyncio.gather(
        audits.list_findings(site_id, listing), audits.findings_by_status(site_id, listing)
    )
    page_of_list = pagination_of(total, limit, offset, len(records))
    return json_response(FindingList(list(map(_finding, records)), counts, page_of_list))


@router.get(
    "/findings/export",
    dependencies=[READS],
    summary="Findings as a file",
    responses=_EXPORT_ANSWERS,
)
async def export_findings(
    site: SiteName,
    site_id: KnownSite,
    service: Service,
    form: Annotated[FindingsFormat, Query(alias="format", description="csv, json or sarif (2.1.0).")] = FindingsFormat.CSV,
    status: Statuses = None,
    severity: Severities = None,
    rule: RuleIds = None,
    url: Prefix = "",
    page: OnlyPage = "",
    q: Text = "",
    new: OnlyNew = False,
) -> Response:
    """The findings that pass the filters, as `sitelore audit` writes them; at most 100,000."""
    from sitelore.app.audit import reports  # noqa: PLC0415 loads the audit

    listing = replace(_listing(status, severity, rule, url, page, q), limit=_MAX_EXPORTED)
    records, _, run = await _findings(site_id, listing, service, only_new=new)
    if form is FindingsFormat.CSV:
        body = reports.csv_text(reports.findings_table(records)).encode("utf-8", "replace")
    elif form is FindingsFormat.JSON:
        body = encode([reports.json_finding(each) for each in records])
    else:
        body = encode(reports.sarif_log(site, run, rule or RULES, records, version("sitelore")))
    headers = {"Content-Disposition": f'attachment; filename="findings.{form.value}"'}
    return Response(body, headers=headers, media_type=_MEDIA_TYPES[form])


@router.get(
    "/findings/{finding_id}",
    dependencies=[READS],
    summary="A finding",
    responses=answers(FindingView, problems.SITE_NOT_FOUND, problems.FINDING_NOT_FOUND),
)
async def show_finding(site_id: KnownSite, finding_id: FindingId, service: Service) -> Response:
    """A finding with its evidence and its history. Places of links that the audit of a large site left out are looked up."""
    from sitelore.app.audit.link_places import located  # noqa: PLC0415 loads the audit

    context = service.context
    record = await located(context.ledger, context.blobs, await _known(site_id, finding_id, service))
    return json_response(_finding(record))


@router.get(
    "/findings/{finding_id}/fix",
    dependencies=[READS],
    summary="A proposal for a finding",
    responses=answers(FixProposalView, problems.SITE_NOT_FOUND, problems.FINDING_NOT_FOUND),
)
async def show_fix(site_id: KnownSite, finding_id: FindingId, service: Service) -> Response:
    """How the stored HTML of the page would be changed, as `sitelore fix` proposes it; nothing is changed."""
    from sitelore.app.audit.fixing import html_proposal  # noqa: PLC0415 loads the audit
    from sitelore.audit.fixes.source import NoFix  # noqa: PLC0415 see above

    record = await _known(site_id, finding_id, service)
    context = service.context
    try:
        proposal = await html_proposal(context.ledger, context.blobs, record, context.clock())
    except NoFix as reason:
        return json_response(FixProposalView("", "", str(reason)))
    return json_response(FixProposalView(proposal.before, proposal.after, ""))


@router.post(
    "/findings/{finding_id}/ignore",
    summary="Ignore a finding",
    responses=answers(FindingView, problems.SITE_NOT_FOUND, problems.FINDING_NOT_FOUND),
)
async def ignore_finding(
    caller: Manager, site_id: KnownSite, finding_id: FindingId, body: Decision, service: Service
) -> Response:
    """Ignore a finding, or all findings of its rule on its page or site, until a date, or without an end."""
    decision = _decision(await _known(site_id, finding_id, service), body, caller, service.context.clock())
    entry = service.entry_for(caller, "finding.ignored", f"finding:{finding_id}", lambda _: True)
    await service.context.audits.recording(entry).ignore(site_id, decision)
    return json_response(_finding(await _known(site_id, finding_id, service)))


@router.delete(
    "/findings/{finding_id}/ignore",
    summary="Stop ignoring a finding",
    responses=answers(FindingView, problems.SITE_NOT_FOUND, problems.FINDING_NOT_FOUND),
)
async def stop_ignoring(caller: Manager, site_id: KnownSite, finding_id: FindingId, service: Service) -> Response:
    """Delete the decision that covers a finding. All findings that it covered are open again."""
    record = await _known(site_id, finding_id, service)
    if record.ignored is not None:
        entry = service.entry_for(caller, "finding.reopened", f"finding:{finding_id}", lambda _: True)
        await service.context.audits.recording(entry).stop_ignoring(site_id, record.ignored)
    return json_response(_finding(await _known(site_id, finding_id, service)))


@router.get(
    "/rules",
    dependencies=[READS],
    summary="The audit rules",
    responses=answers(RuleList, problems.SITE_NOT_FOUND),
)
async def list_rules(site_id: KnownSite, service: Service) -> Response:
    """Every rule with its texts, its thresholds for this site, and its open findings after the latest audit."""
    config = audit_config(await service.context.audits.settings(site_id))
    latest = await _latest(site_id, service)
    counts = latest.counts.by_rule if latest is not None else {}
    return json_response(RuleList([_rule(rule_id, config, counts.get(rule_id, 0)) for rule_id in RULES]))


@router.get(
    "/audits",
    dependencies=[READS],
    summary="The audits of a site",
    responses=answers(AuditList, problems.SITE_NOT_FOUND),
)
async def list_audits(
    site_id: KnownSite,
    service: Service,
    limit: Annotated[int, Query(ge=1, le=_MAX_AUDITS, description="Maximum number of audits.")] = 50,
) -> Response:
    """The audits of a site with their scores and numbers of findings, that of the newest run first."""
    records = await service.context.audits.audits(site_id, limit)
    return json_response(AuditList(list(map(_audit, records))))


@router.post(
    "/audits",
    status_code=202,
    summary="Audit a site",
    responses=answers(AuditView, problems.SITE_NOT_FOUND, problems.CONFLICT, status=202),
)
async def start_audit(caller: Crawler, site_id: KnownSite, service: Service) -> Response:
    """Queue an audit of the latest completed run, even if it was audited before. `audits` has its state."""
    entry = service.entry_for(caller, "audit.requested", lambda record: f"run:{record.run}")
    record = await service.context.audits.recording(entry).request(site_id)
    if record is None:
        raise ApiProblem(problems.CONFLICT, "no run of the site has completed, or a later one was audited; crawl it first")
    return json_response(_audit(record), 202)


@router.get(
    "/insights",
    dependencies=[READS],
    summary="Figures about a site",
    responses=answers(InsightsView, problems.SITE_NOT_FOUND, problems.RUN_NOT_FOUND),
)
async def show_insights(
    site_id: KnownSite,
    service: Service,
    run: Annotated[str, Query(max_length=64, description="A run of the site that was audited. Default: the latest.")] = "",
) -> Response:
    """The insights of a run, by name. Empty when no run of the site was audited."""
    if run and (await service.run(run)).site != site_id:
        raise ApiProblem(problems.RUN_NOT_FOUND, "the run is of another site")
    latest = None if run else await _latest(site_id, service)
    name = run or (latest.run if latest is not None else "")
    return json_response(InsightsView(name, await service.context.audits.insights(RunId(name)) if name else {}))


@router.get(
    "/audit-settings",
    dependencies=[READS],
    summary="Settings of a site's audits",
    responses=answers(AuditOptions, problems.SITE_NOT_FOUND),
)
async def show_settings(site_id: KnownSite, service: Service) -> Response:
    """Which rules are on, with which thresholds, and which paths are not audited."""
    return json_response(_options(await service.context.audits.settings(site_id)))


@router.put(
    "/audit-settings",
    summary="Change the settings of a site's audits",
    responses=answers(AuditOptions, problems.SITE_NOT_FOUND),
)
async def change_settings(caller: Manager, site: SiteName, site_id: KnownSite, body: Options, service: Service) -> Response:
    """Replace the settings. They apply from the next audit on."""
    options = body.model_dump()
    try:
        audit_config(options)
    except BadConfig as problem:
        raise ApiProblem(problems.INVALID, errors=(FieldProblem("body.rules", str(problem)),)) from None
    entry = service.entry_for(caller, "audit-settings.changed", f"site:{site}", lambda _: True)
    await service.context.audits.recording(entry).save_settings(site_id, options)
    return json_response(_options(options))


async def _known(site: SiteId, finding_id: str, service: RunService) -> FindingRecord:
    record = await service.context.audits.finding(site, finding_id)
    if record is None:
        raise ApiProblem(problems.FINDING_NOT_FOUND, f"the site has no finding {finding_id}")
    return record


def _listing(
    status: list[FindingStatus] | None,
    severity: list[Severity] | None = None,
    rule: list[str] | None = None,
    url: str = "",
    page: str = "",
    text: str = "",
) -> FindingListing:
    return FindingListing(
        statuses=frozenset(status or OPEN_STATUSES),
        severities=frozenset(severity or ()),
        rules=frozenset(map(_plain, rule or ())),
        url=_plain(url),
        page=_plain(page),
        text=text,
    )


async def _findings(
    site: SiteId, listing: FindingListing, service: RunService, *, only_new: bool
) -> tuple[list[FindingRecord], int, str]:
    """The findings of a list, how many match, and the run of the latest audit."""
    latest = await _latest(site, service)
    run = latest.run if latest is not None else ""
    if only_new and not run:
        return [], 0, run
    return *await service.context.audits.list_findings(site, replace(listing, opened_run=run if only_new else "")), run


async def _latest(site: SiteId, service: RunService) -> AuditRecord | None:
    """The latest audit that is done."""
    audits = await service.context.audits.audits(site, 2)
    return next((each for each in audits if each.finished_at is not None and not each.error), None)


def _decision(record: FindingRecord, body: Decision, caller: Caller, now: float) -> Ignore:
    until = time_of(body.until, "body.until")
    if until is not None and until <= now:
        raise ApiProblem(problems.INVALID, errors=(FieldProblem("body.until", "not in the future"),))
    finding, scope = record.finding, IgnoreScope(body.scope)
    decision = Ignore(finding.rule, _plain(body.reason), caller.actor, scope, until=until)
    if scope is IgnoreScope.FINDING:
        return replace(decision, key=finding.key)
    return replace(decision, url=finding.url) if scope is IgnoreScope.PAGE else decision


def _finding(record: FindingRecord) -> FindingView:
    finding, ignored = record.finding, record.ignored
    rule = RULES.get(finding.rule)
    return FindingView(
        id=finding.key,
        rule=finding.rule,
        title=rule.title if rule is not None else "",
        fix=rule.fix if rule is not None else "",
        severity=finding.severity,
        status=record.status,
        url=finding.url,
        evidence=dict(finding.evidence),
        has_fix=finding.rule in HTML_FIXES,
        first_seen=moment(record.first_seen) or "",
        last_seen=moment(record.last_seen) or "",
        opened_run=record.opened_run,
        resolved_at=moment(record.resolved_at),
        ignored=IgnoreView(ignored.reason, ignored.by, ignored.scope, moment(ignored.until)) if ignored is not None else None,
    )


def _rule(rule_id: str, config: AuditConfig, count: int) -> RuleView:
    rule = RULES[rule_id]
    return RuleView(
        id=rule.id,
        group=rule.group.value,
        severity=rule.severity,
        title=rule.title,
        explanation=rule.explanation,
        fix=rule.fix,
        is_on=config.is_on(rule),
        has_records=config.check_links or not rule.needs_requests,
        thresholds=dict(config.limits(rule)),
        open=count,
    )


def _audit(record: AuditRecord) -> AuditView:
    score, counts = record.score, record.counts
    return AuditView(
        run=record.run,
        state=record.state,
        phase=record.phase,
        pages=record.pages,
        started_at=moment(record.started_at),
        finished_at=moment(record.finished_at),
        is_complete=record.is_complete,
        score=ScoreView(score.clean, score.indexable, score.percent, score.band) if score is not None else None,
        findings=AuditCountsView(
            dict(counts.by_severity), dict(counts.by_rule), counts.opened, counts.resolved, counts.ignored
        ),
        error=record.error,
    )


def _options(options: dict[str, Any]) -> AuditOptions:
    rules, excluded = dict(options.get("rules") or {}), list(options.get("exclude") or ())
    return AuditOptions(rules, excluded, bool(options.get("check_links")))


def _plain(text: str) -> str:
    """Text without characters that a database refuses (NUL)."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
