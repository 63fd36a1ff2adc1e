"""Audits of runs with their states and insights, and the settings of audits.

A completed run whose settings ask for an audit has one that waits. A process claims an audit with a lease that it renews with
its progress, so one that dies is replaced. (A leader lock would end with its transaction, seconds after that is idle.) Audits
of one site follow one another, and that of an older run never comes after that of a newer one: findings have one life.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.audit.findings import AuditCounts, AuditPhase, AuditRecord, AuditScore, AuditState, FindingStatus
from sitelore.model.frontier import Run
from sitelore.model.ids import RunId, SiteId, TenantId
from sitelore.model.states import RunState
from sitelore.store.rows import RUN_COLUMNS, RUNS_WITH_SITES, run_of, storable
from sitelore.store.schema import audit_settings, audits, findings, insights, runs, sites
from sitelore.store.statements import Statement, execute_many, insert_for, upsert

_c = audits.c
_counts_decoder = msgspec.json.Decoder(AuditCounts)
_IS_UNFINISHED = sa.text("audits.state IN ('waiting', 'running')")  # spelled as in the partial index
_COLUMNS = (
    _c.run_id, _c.state, _c.phase, _c.pages, _c.started_at, _c.finished_at, _c.is_complete, _c.clean_pages, _c.indexable_pages,
    _c.counts, _c.error,
)  # fmt: skip


def queue_audit(conn: sa.Connection, tenant: TenantId, run: RunId) -> None:
    """Queue the audit of a run, unless it has one."""
    site = sa.select(sa.literal(tenant), sa.literal(run), runs.c.site_id, sa.literal(AuditState.WAITING.value)).where(
        runs.c.tenant_id == tenant, runs.c.id == run
    )
    insert = insert_for(conn.dialect.name)(audits).from_select(
        ["tenant_id", "run_id", "site_id", "state"], site.where(sa.true())
    )
    conn.execute(insert.on_conflict_do_nothing(index_elements=["tenant_id", "run_id"]))


def request_audit(conn: sa.Connection, tenant: TenantId, site: SiteId) -> AuditRecord | None:
    """Queue an audit of the latest completed run of a site, even if it was audited before.

    None when there is no such run, or a later one was audited.
    """
    of_audit = sa.and_(_c.tenant_id == tenant, _c.run_id == runs.c.id)
    is_known = sa.or_(runs.c.state == RunState.COMPLETED.value, _c.state == AuditState.DONE.value)
    query = (
        sa.select(runs.c.id, runs.c.state)
        .select_from(runs.outerjoin(audits, of_audit))
        .where(runs.c.tenant_id == tenant, runs.c.site_id == site, is_known)
    )
    latest = conn.execute(query.order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(1)).one_or_none()
    if latest is None or latest.state != RunState.COMPLETED.value:
        return None
    run = RunId(latest.id)
    queue_audit(conn, tenant, run)
    is_over = _c.state.in_((AuditState.DONE.value, AuditState.FAILED.value))
    again = sa.update(audits).where(_c.tenant_id == tenant, _c.run_id == run, is_over)
    conn.execute(again.values(state=AuditState.WAITING.value, lease_until=None, attempts=0, error=None))
    return find_audit(conn, tenant, run)


def due_audits(conn: sa.Connection, now: float, limit: int) -> list[Run]:
    """Runs of all tenants whose audit waits, or whose process has died, oldest first."""
    is_due = sa.or_(_c.lease_until.is_(None), _c.lease_until <= now)
    query = (
        sa.select(*RUN_COLUMNS)
        .select_from(RUNS_WITH_SITES.join(audits, sa.and_(_c.tenant_id == runs.c.tenant_id, _c.run_id == runs.c.id)))
        .where(_IS_UNFINISHED, is_due, runs.c.state == RunState.COMPLETED.value)
        .order_by(runs.c.finished_at, runs.c.id)
        .limit(limit)
    )
    return [run_of(row) for row in conn.execute(query)]


def claim_audit(conn: sa.Connection, tenant: TenantId, run: RunId, now: float, lease_until: float) -> bool:
    """Begin an audit of a run, a first one or again. False when another process audits the site, or audited a newer run."""
    this_run = sa.select(runs.c.site_id, runs.c.created_at).where(runs.c.tenant_id == tenant, runs.c.id == run)
    row = conn.execute(this_run).one_or_none()
    if row is None:
        return False
    # With the row of the site locked, the second of two processes sees the claim of the first.
    conn.execute(sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.id == row.site_id).with_for_update())
    of_site = (
        sa.select(sa.func.count())
        .select_from(audits.join(runs, sa.and_(runs.c.tenant_id == _c.tenant_id, runs.c.id == _c.run_id)))
        .where(_c.tenant_id == tenant, _c.site_id == row.site_id)
    )
    is_busy = sa.and_(_c.state == AuditState.RUNNING.value, _c.lease_until > now)
    is_newer = sa.and_(runs.c.created_at > row.created_at, _c.state.in_((AuditState.DONE.value, AuditState.RUNNING.value)))
    if conn.scalar(of_site.where(sa.or_(is_busy, is_newer))):
        return False
    queue_audit(conn, tenant, run)
    values = {"state": AuditState.RUNNING.value, "phase": None, "pages": 0, "lease_until": lease_until, "started_at": now}
    _change(conn, tenant, run, **values, finished_at=None, error=None, attempts=_c.attempts + 1)
    return True


def skip_audit(conn: sa.Connection, tenant: TenantId, run: RunId) -> None:
    """Delete a queued audit when a newer run was audited."""
    conn.execute(sa.delete(audits).where(_c.tenant_id == tenant, _c.run_id == run, _c.state == AuditState.WAITING.value))


def report_audit(conn: sa.Connection, tenant: TenantId, run: RunId, phase: AuditPhase, pages: int, lease_until: float) -> None:
    """Store the progress of an audit, and renew its lease."""
    _change(conn, tenant, run, phase=phase.value, pages=pages, lease_until=lease_until)


def finish_audit(
    conn: sa.Connection,
    tenant: TenantId,
    run: RunId,
    score: AuditScore | None,
    is_complete: bool,
    figures: Mapping[str, Any],
    now: float,
) -> AuditRecord:
    """Store the result of an audit: its score, the numbers of findings, and the insights."""
    site = conn.scalar(sa.select(_c.site_id).where(_c.tenant_id == tenant, _c.run_id == run))
    counts = _count(conn, tenant, SiteId(site or 0), run)
    conn.execute(sa.delete(insights).where(insights.c.tenant_id == tenant, insights.c.run_id == run))
    rows = [(tenant, run, name, json.dumps(value, default=str)) for name, value in figures.items()]
    execute_many(conn, _insight_statement, rows)
    _change(
        conn, tenant, run, state=AuditState.DONE.value, phase=None, lease_until=None, finished_at=now,
        is_complete=int(is_complete), clean_pages=score.clean if score else None,
        indexable_pages=score.indexable if score else None, counts=json.dumps(asdict(counts)), error=None,
    )  # fmt: skip
    record = find_audit(conn, tenant, run)
    if record is None:
        raise AssertionError(f"the audit of run {run} is missing")
    return record


def fail_audit(conn: sa.Connection, tenant: TenantId, run: RunId, error: str, now: float, attempts: int) -> None:
    """Queue an audit that crashed again, or fail it after this many attempts."""
    is_last = sa.and_(_c.attempts >= attempts)
    state = sa.case((is_last, AuditState.FAILED.value), else_=AuditState.WAITING.value)
    finished_at = sa.case((is_last, now), else_=sa.null())
    _change(conn, tenant, run, state=state, phase=None, lease_until=None, finished_at=finished_at, error=storable(error))


def _change(conn: sa.Connection, tenant: TenantId, run: RunId, **values: Any) -> None:
    conn.execute(sa.update(audits).where(_c.tenant_id == tenant, _c.run_id == run).values(**values))


def _count(conn: sa.Connection, tenant: TenantId, site: SiteId, run: RunId) -> AuditCounts:
    f = findings.c
    by_severity: dict[str, int] = {}
    by_rule: dict[str, int] = {}
    ignored = 0
    query = sa.select(f.severity, f.rule, f.status, sa.func.count()).where(f.tenant_id == tenant, f.site_id == site)
    query = query.where(f.status != FindingStatus.RESOLVED.value).group_by(f.severity, f.rule, f.status)
    for severity, rule, status, number in conn.execute(query):
        if status == FindingStatus.IGNORED.value:
            ignored += number
        else:
            by_severity[severity] = by_severity.get(severity, 0) + number
            by_rule[rule] = by_rule.get(rule, 0) + number
    of_site = sa.select(sa.func.count()).select_from(findings).where(f.tenant_id == tenant, f.site_id == site)
    opened = conn.scalar(of_site.where(f.opened_run == run)) or 0
    resolved = conn.scalar(of_site.where(f.resolved_run == run)) or 0
    return AuditCounts(by_severity, by_rule, opened, resolved, ignored)


def _insight_statement(dialect_name: str) -> Statement:
    """Store an insight."""
    return upsert(dialect_name, insights)


def find_audit(conn: sa.Connection, tenant: TenantId, run: RunId) -> AuditRecord | None:
    """The audit of a run."""
    row = conn.execute(sa.select(*_COLUMNS).where(_c.tenant_id == tenant, _c.run_id == run)).one_or_none()
    return None if row is None else _record(row)


def list_audits(conn: sa.Connection, tenant: TenantId, site: SiteId, limit: int) -> list[AuditRecord]:
    """The audits of a site, that of the newest run first."""
    joined = audits.join(runs, sa.and_(runs.c.tenant_id == _c.tenant_id, runs.c.id == _c.run_id))
    query = sa.select(*_COLUMNS).select_from(joined).where(_c.tenant_id == tenant, _c.site_id == site)
    return [_record(row) for row in conn.execute(query.order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(limit))]


def insights_of(conn: sa.Connection, tenant: TenantId, run: RunId) -> dict[str, Any]:
    """The insights of a run by name; empty when it was not audited."""
    c = insights.c
    query = sa.select(c.name, c.figures).where(c.tenant_id == tenant, c.run_id == run).order_by(c.name)
    return {name: json.loads(figures) for name, figures in conn.execute(query)}


def _record(row: Any) -> AuditRecord:
    run, state, phase, pages, started_at, finished_at, is_complete, clean, indexable, counts, error = row
    return AuditRecord(
        run, AuditState(state), AuditPhase(phase) if phase else None, pages, started_at, finished_at, bool(is_complete),
        None if clean is None else AuditScore(clean, indexable),
        _counts_decoder.decode(counts) if counts else AuditCounts(), error or "",
    )  # fmt: skip


# Settings


def find_settings(conn: sa.Connection, tenant: TenantId, site: SiteId) -> dict[str, Any]:
    """The options of a site's audits, else those of the tenant; empty without any."""
    c = audit_settings.c
    query = sa.select(c.options).where(c.tenant_id == tenant, c.site_id.in_((site, 0))).order_by(c.site_id.desc()).limit(1)
    text = conn.scalar(query)
    options: dict[str, Any] = json.loads(text) if text else {}
    return options


def save_settings(conn: sa.Connection, tenant: TenantId, site: SiteId, options: Mapping[str, Any]) -> None:
    """Store the options of a site's audits; `SiteId(0)`: those of all sites without options of their own."""
    execute_many(conn, _settings_statement, [(tenant, site, json.dumps(options))])


def _settings_statement(dialect_name: str) -> Statement:
    """Store the options of audits."""
    return upsert(dialect_name, audit_settings)
