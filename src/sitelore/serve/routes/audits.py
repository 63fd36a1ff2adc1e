"""Audit routes: findings of a site and decisions about them, rules, audits of runs, insights, settings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
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
from sitelore.model.platform.accounts import Caller, TokenScope
from sitelore.serve import problems
from sitelore.serve.openapi import Responses, answers, problem_answers
from sitelore.serve.problems import ApiProblem, FieldProblem
from sitelore.serve.routes.quick import JSON, Service
from sitelore.serve.routes.sites import SiteName
from sitelore.serve.run_service import RunService, encode
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
    page_of,
)
from sitelore.serve.security.auth import require

router = APIRouter(tags=["audit"])

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
OnlyNew = Annotated[bool, Query(description="Only findings that the latest audit opened.")]
Reader = Annotated[Caller, Depends(require(TokenScope.READ))]
Crawler = Annotated[Caller, Depends(require(TokenScope.CRAWL))]
Manager = Annotated[Caller, Depends(require(TokenScope.MANAGE_CHANNEL))]


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

    reason: Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$", description="Why it is not mended.")]
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


@router.get(
    "/sites/{site}/issues",
    response_class=Response,
    summary="Findings by rule",
    responses=answers(IssueList, problems.SITE_NOT_FOUND, problems.FORBIDDEN),
)
async def list_issues(
    site: SiteName, service: Service, _caller: Reader, status: Statuses = None, new: OnlyNew = False
) -> Response:
    """How many findings each rule has, on how many pages, and how many of them are new or came back; the worst first."""
    site_id = await _site(site, service)
    latest = await _latest(site_id, service)
    run = latest.run if latest is not None else ""
    if new and not run:
        return _json(IssueList([]))
    listing = replace(_listing(status, None, None, "", ""), opened_run=run if new else "")
    issues = await service.context.audits.findings_by_rule(site_id, listing, run)
    return _json(IssueList([IssueView(i.rule, i.severity, i.findings, i.pages, i.new, i.regressed) for i in issues]))


_EXPORT_ANSWERS: Responses = {
    200: {"description": "The findings.", "content": {kind: {} for kind in _MEDIA_TYPES.values()}},
    **problem_answers(problems.SITE_NOT_FOUND, problems.FORBIDDEN),
}


@router.get(
    "/sites/{site}/findings",
    response_class=Response,
    summary="What is wrong with a site",
    responses=answers(FindingList, problems.SITE_NOT_FOUND, problems.FORBIDDEN),
)
async def list_findings(
    site: SiteName,
    service: Service,
    _caller: Reader,
    status: Statuses = None,
    severity: Severities = None,
    rule: RuleIds = None,
    url: Prefix = "",
    page: OnlyPage = "",
    new: OnlyNew = False,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of findings.")] = 100,
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="Findings to skip.")] = 0,
) -> Response:
    """The findings of all audits so far, the worst first; by default those that are open."""
    site_id = await _site(site, service)
    listing = replace(_listing(status, severity, rule, url, page), limit=limit, offset=offset)
    records, total, _ = await _findings(site_id, listing, service, only_new=new)
    return _json(FindingList(list(map(_finding, records)), page_of(total, limit, offset, len(records))))


@router.get(
    "/sites/{site}/findings/export",
    response_class=Response,
    summary="Findings as a file",
    responses=_EXPORT_ANSWERS,
)
async def export_findings(
    site: SiteName,
    service: Service,
    _caller: Reader,
    form: Annotated[FindingsFormat, Query(alias="format", description="csv, json or sarif (2.1.0).")] = FindingsFormat.CSV,
    status: Statuses = None,
    severity: Severities = None,
    rule: RuleIds = None,
    url: Prefix = "",
    page: OnlyPage = "",
    new: OnlyNew = False,
) -> Response:
    """The findings that pass the filters, as `sitelore audit` writes them; at most 100,000."""
    from sitelore.app.audit import reports  # noqa: PLC0415 loads the audit

    listing = replace(_listing(status, severity, rule, url, page), limit=_MAX_EXPORTED)
    records, _, run = await _findings(await _site(site, service), listing, service, only_new=new)
    if form is FindingsFormat.CSV:
        body = reports.csv_text(reports.findings_table(records)).encode("utf-8", "replace")
    elif form is FindingsFormat.JSON:
        body = encode([reports.json_finding(each) for each in records])
    else:
        body = encode(reports.sarif_log(site, run, rule or RULES, records, version("sitelore")))
    headers = {"Content-Disposition": f'attachment; filename="findings.{form.value}"'}
    return Response(body, headers=headers, media_type=_MEDIA_TYPES[form])


@router.get(
    "/sites/{site}/findings/{finding_id}",
    response_class=Response,
    summary="A finding",
    responses=answers(FindingView, problems.SITE_NOT_FOUND, problems.FINDING_NOT_FOUND, problems.FORBIDDEN),
)
async def show_finding(site: SiteName, finding_id: FindingId, service: Service, _caller: Reader) -> Response:
    """A finding with its evidence and its life."""
    return _json(_finding(await _known(await _site(site, service), finding_id, service)))


@router.get(
    "/sites/{site}/findings/{finding_id}/fix",
    response_class=Response,
    summary="A proposal for a finding",
    responses=answers(FixProposalView, problems.SITE_NOT_FOUND, problems.FINDING_NOT_FOUND, problems.FORBIDDEN),
)
async def show_fix(site: SiteName, finding_id: FindingId, service: Service, _caller: Reader) -> Response:
    """How the stored HTML of the page would be changed, as `sitelore fix` proposes it; nothing is changed."""
    from sitelore.app.audit.fixing import html_proposal  # noqa: PLC0415 loads the audit
    from sitelore.audit.fixes.source import NoFix  # noqa: PLC0415 see above

    record = await _known(await _site(site, service), finding_id, service)
    context = service.context
    try:
        proposal = await html_proposal(context.ledger, context.blobs, record, context.clock())
    except NoFix as reason:
        return _json(FixProposalView("", "", str(reason)))
    return _json(FixProposalView(proposal.before, proposal.after, ""))


@router.post(
    "/sites/{site}/findings/{finding_id}/ignore",
    response_class=Response,
    summary="Ignore a finding",
    responses=answers(FindingView, problems.SITE_NOT_FOUND, problems.FINDING_NOT_FOUND, problems.FORBIDDEN),
)
async def ignore_finding(site: SiteName, finding_id: FindingId, body: Decision, service: Service, caller: Manager) -> Response:
    """Ignore a finding, or all findings of its rule on its page or site, until a day or for ever."""
    site_id = await _site(site, service)
    decision = _decision(await _known(site_id, finding_id, service), body, caller, service.context.clock())
    await service.context.audits.ignore(site_id, decision)
    await service.record(caller, "finding.ignored", f"finding:{finding_id}")
    return _json(_finding(await _known(site_id, finding_id, service)))


@router.delete(
    "/sites/{site}/findings/{finding_id}/ignore",
    response_class=Response,
    summary="Stop ignoring a finding",
    responses=answers(FindingView, problems.SITE_NOT_FOUND, problems.FINDING_NOT_FOUND, problems.FORBIDDEN),
)
async def stop_ignoring(site: SiteName, finding_id: FindingId, service: Service, caller: Manager) -> Response:
    """Delete the decision that covers a finding. All findings that it covered are open again."""
    site_id = await _site(site, service)
    record = await _known(site_id, finding_id, service)
    if record.ignored is not None:
        await service.context.audits.stop_ignoring(site_id, record.ignored)
        await service.record(caller, "finding.reopened", f"finding:{finding_id}")
    return _json(_finding(await _known(site_id, finding_id, service)))


@router.get(
    "/sites/{site}/rules",
    response_class=Response,
    summary="The audit rules",
    responses=answers(RuleList, problems.SITE_NOT_FOUND, problems.FORBIDDEN),
)
async def list_rules(site: SiteName, service: Service, _caller: Reader) -> Response:
    """Every rule with its texts, its thresholds for this site, and its open findings after the latest audit."""
    site_id = await _site(site, service)
    config = audit_config(await service.context.audits.settings(site_id))
    latest = await _latest(site_id, service)
    counts = latest.counts.by_rule if latest is not None else {}
    return _json(RuleList([_rule(rule_id, config, counts.get(rule_id, 0)) for rule_id in RULES]))


@router.get(
    "/sites/{site}/audits",
    response_class=Response,
    summary="The audits of a site",
    responses=answers(AuditList, problems.SITE_NOT_FOUND, problems.FORBIDDEN),
)
async def list_audits(
    site: SiteName,
    service: Service,
    _caller: Reader,
    limit: Annotated[int, Query(ge=1, le=_MAX_AUDITS, description="Maximum number of audits.")] = 50,
) -> Response:
    """The audits of a site with their scores and numbers of findings, that of the newest run first."""
    records = await service.context.audits.audits(await _site(site, service), limit)
    return _json(AuditList(list(map(_audit, records))))


@router.post(
    "/sites/{site}/audits",
    status_code=202,
    response_class=Response,
    summary="Audit a site",
    responses=answers(AuditView, problems.SITE_NOT_FOUND, problems.CONFLICT, problems.FORBIDDEN, status=202),
)
async def start_audit(site: SiteName, service: Service, caller: Crawler) -> Response:
    """Queue an audit of the latest completed run, also again. A server does it in the background; `audits` has its state."""
    record = await service.context.audits.request(await _site(site, service))
    if record is None:
        raise ApiProblem(problems.CONFLICT, "no run of the site has completed, or a later one was audited; crawl it first")
    await service.record(caller, "audit.requested", f"run:{record.run}")
    return Response(encode(_audit(record)), 202, media_type=JSON)


@router.get(
    "/sites/{site}/insights",
    response_class=Response,
    summary="Figures about a site",
    responses=answers(InsightsView, problems.SITE_NOT_FOUND, problems.RUN_NOT_FOUND, problems.FORBIDDEN),
)
async def show_insights(
    site: SiteName,
    service: Service,
    _caller: Reader,
    run: Annotated[str, Query(max_length=64, description="A run of the site that was audited. Default: the latest.")] = "",
) -> Response:
    """The insights of a run, by name. Empty when no run of the site was audited."""
    site_id = await _site(site, service)
    if run and (await service.run(run)).site != site_id:
        raise ApiProblem(problems.RUN_NOT_FOUND, "the run is of another site")
    latest = None if run else await _latest(site_id, service)
    name = run or (latest.run if latest is not None else "")
    return _json(InsightsView(name, await service.context.audits.insights(RunId(name)) if name else {}))


@router.get(
    "/sites/{site}/audit-settings",
    response_class=Response,
    summary="Settings of a site's audits",
    responses=answers(AuditOptions, problems.SITE_NOT_FOUND, problems.FORBIDDEN),
)
async def show_settings(site: SiteName, service: Service, _caller: Reader) -> Response:
    """Which rules are on, with which thresholds, and which paths are not audited."""
    return _json(_options(await service.context.audits.settings(await _site(site, service))))


@router.put(
    "/sites/{site}/audit-settings",
    response_class=Response,
    summary="Change the settings of a site's audits",
    responses=answers(AuditOptions, problems.SITE_NOT_FOUND, problems.FORBIDDEN),
)
async def change_settings(site: SiteName, body: Options, service: Service, caller: Manager) -> Response:
    """Replace the settings. They apply from the next audit on."""
    options = body.model_dump()
    try:
        audit_config(options)
    except BadConfig as problem:
        raise ApiProblem(problems.INVALID, errors=(FieldProblem("body.rules", str(problem)),)) from None
    site_id = await _site(site, service)
    await service.context.audits.save_settings(site_id, options)
    await service.record(caller, "audit-settings.changed", f"site:{site}")
    return _json(_options(options))


def _json(view: Any) -> Response:
    return Response(encode(view), media_type=JSON)


async def _site(name: str, service: RunService) -> SiteId:
    site = await service.context.ledger.site_named(name)
    if site is None:
        raise ApiProblem(problems.SITE_NOT_FOUND, f"unknown site: {name}")
    return site


async def _known(site: SiteId, finding_id: str, service: RunService) -> FindingRecord:
    record = await service.context.audits.finding(site, finding_id)
    if record is None:
        raise ApiProblem(problems.FINDING_NOT_FOUND, f"the site has no finding {finding_id}")
    return record


def _listing(
    status: list[FindingStatus] | None, severity: list[Severity] | None, rule: list[str] | None, url: str, page: str
) -> FindingListing:
    return FindingListing(
        statuses=frozenset(status or OPEN_STATUSES),
        severities=frozenset(severity or ()),
        rules=frozenset(map(_plain, rule or ())),
        url=_plain(url),
        page=_plain(page),
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
    until = None
    if body.until is not None:
        try:
            day = datetime.fromisoformat(body.until)
            until = (day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            problem = FieldProblem("body.until", "not a date (use YYYY-MM-DD)")
            raise ApiProblem(problems.INVALID, errors=(problem,)) from None
        if until <= now:
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
        has_records=rule.has_records,
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
    return AuditOptions(dict(options.get("rules") or {}), list(options.get("exclude") or ()))


def _plain(text: str) -> str:
    """Text that both databases accept."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
