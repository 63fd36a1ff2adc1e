"""Findings of a site with their life over runs, and decisions to ignore them. Every function is part of one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.audit.findings import (
    Finding,
    FindingListing,
    FindingRecord,
    FindingStatus,
    Ignore,
    IgnoreScope,
    RuleFindings,
    Severity,
)
from sitelore.model.ids import SiteId, TenantId
from sitelore.store.rows import storable
from sitelore.store.schema import findings, ignored_findings, key_of
from sitelore.store.statements import BATCH, SITE, TENANT, Statement, execute_many, read_page, select_in_batches, upsert

FINDINGS_PER_PAGE = 500

_ignore_decoder = msgspec.json.Decoder(Ignore)
_c = findings.c
_COLUMNS = (
    _c.rule, _c.url, _c.severity, _c.status, _c.evidence, _c.key, _c.first_seen, _c.last_seen, _c.resolved_at, _c.ignored,
    _c.opened_run, _c.seen_run, _c.resolved_run,
)  # fmt: skip
_of_site = sa.select(*_COLUMNS).where(_c.tenant_id == TENANT, _c.site_id == SITE)
_with_keys = _of_site.where(_c.key.in_(BATCH))
_unseen = (
    _of_site.where(_c.status != FindingStatus.RESOLVED.value, _c.seen_run != sa.bindparam("run", type_=sa.Text))
    .where(_c.key > sa.bindparam("after", type_=sa.Text))
    .order_by(_c.key)
    .limit(FINDINGS_PER_PAGE)
)
_SEVERITY_ORDER = sa.case({severity.value: number for number, severity in enumerate(Severity)}, value=_c.severity)


def findings_with_keys(conn: sa.Connection, tenant: TenantId, site: SiteId, keys: Collection[str]) -> list[FindingRecord]:
    """The stored findings with these keys."""
    return [_record(row) for row in select_in_batches(conn, _with_keys, keys, tenant=tenant, site=site)]


def unseen_findings(conn: sa.Connection, tenant: TenantId, site: SiteId, run: str, after: str) -> list[FindingRecord]:
    """The next findings by key that are not resolved and that a run did not have; fewer than a page when these are the last."""
    values = {"tenant": tenant, "site": site, "run": run, "after": after}
    return [_record(row) for row in conn.execute(_unseen, values)]


def save_findings(conn: sa.Connection, tenant: TenantId, site: SiteId, records: Sequence[FindingRecord]) -> None:
    """Store findings, new ones and those that have changed."""
    execute_many(conn, _save_statement, [_values(tenant, site, record) for record in records])


def _save_statement(dialect_name: str) -> Statement:
    """Store a finding."""
    return upsert(dialect_name, findings)


def _values(tenant: TenantId, site: SiteId, record: FindingRecord) -> tuple[Any, ...]:
    finding, ignored = record.finding, record.ignored
    return (
        tenant, site, finding.key, finding.rule, storable(finding.url) or "", finding.severity.value, record.status.value,
        _json(finding.evidence), record.first_seen, record.last_seen, record.resolved_at, record.opened_run, record.seen_run,
        record.resolved_run, _json(asdict(ignored)) if ignored else None, ignored.until if ignored else None,
    )  # fmt: skip


def _json(value: Any) -> str:
    # Not msgspec, which refuses subclasses of `str` such as `Url`. ASCII, so that both databases accept every text.
    return json.dumps(value, default=str)


def _record(row: Sequence[Any]) -> FindingRecord:
    rule, url, severity, status, evidence, key, first_seen, last_seen, resolved_at, ignored, opened, seen, resolved = row
    finding = Finding(rule, url, Severity(severity), json.loads(evidence), key)
    ignore = _ignore_decoder.decode(ignored) if ignored else None
    return FindingRecord(finding, FindingStatus(status), first_seen, last_seen, resolved_at, ignore, opened, seen, resolved)


def find_finding(conn: sa.Connection, tenant: TenantId, site: SiteId, key: str) -> FindingRecord | None:
    """The finding with this key."""
    return next(iter(findings_with_keys(conn, tenant, site, [key])), None)


def _matching(tenant: TenantId, site: SiteId, listing: FindingListing) -> sa.ColumnElement[bool]:
    """The condition of a list of findings."""
    condition = sa.and_(_c.tenant_id == tenant, _c.site_id == site)
    for column, names in ((_c.status, listing.statuses), (_c.severity, listing.severities), (_c.rule, listing.rules)):
        if names:
            condition &= column.in_(sorted(names))
    if listing.url:
        condition &= _c.url.startswith(listing.url, autoescape=True)
    if listing.page:
        condition &= _c.url == listing.page
    if listing.opened_run:
        condition &= _c.opened_run == listing.opened_run
    if listing.text:
        # The evidence is stored as JSON, in which quotation marks and letters beyond ASCII are escaped.
        evidence = _c.evidence.icontains(_json(listing.text)[1:-1], autoescape=True)
        condition &= _c.url.icontains(listing.text, autoescape=True) | evidence
    return condition


def list_findings(
    conn: sa.Connection, tenant: TenantId, site: SiteId, listing: FindingListing
) -> tuple[list[FindingRecord], int]:
    """A page of the findings of a site, the worst first, and how many match."""
    condition = _matching(tenant, site, listing)
    query = sa.select(*_COLUMNS).where(condition).order_by(_SEVERITY_ORDER, _c.rule, _c.url, _c.key)
    rows, total = read_page(conn, query, listing.limit, listing.offset)
    return list(map(_record, rows)), total


def findings_by_status(
    conn: sa.Connection, tenant: TenantId, site: SiteId, listing: FindingListing
) -> dict[FindingStatus, int]:
    """How many findings pass the other filters of a list, by status."""
    condition = _matching(tenant, site, replace(listing, statuses=frozenset()))
    rows = conn.execute(sa.select(_c.status, sa.func.count()).where(condition).group_by(_c.status))
    return {FindingStatus(status): count for status, count in rows}


def findings_by_rule(
    conn: sa.Connection, tenant: TenantId, site: SiteId, listing: FindingListing, run: str
) -> list[RuleFindings]:
    """The findings of a list by rule, the worst first. `run`: the one whose new findings are counted."""
    worst = sa.func.min(_SEVERITY_ORDER)
    new = sa.func.sum(sa.case((_c.opened_run == run, 1), else_=0))
    regressed = sa.func.sum(sa.case((_c.status == FindingStatus.REGRESSED.value, 1), else_=0))
    total = sa.func.count()
    query = sa.select(_c.rule, worst, total, sa.func.count(_c.url.distinct()), new, regressed)
    query = query.where(_matching(tenant, site, listing)).group_by(_c.rule).order_by(worst, total.desc(), _c.rule)
    severities = list(Severity)
    return [RuleFindings(rule, severities[order], *counts) for rule, order, *counts in conn.execute(query)]


# Decisions


def ignores(conn: sa.Connection, tenant: TenantId, site: SiteId) -> list[Ignore]:
    """All decisions to ignore findings of a site."""
    c = ignored_findings.c
    query = sa.select(c.decision).where(c.tenant_id == tenant, c.site_id == site).order_by(c.rule, c.scope, c.target)
    return [_ignore_decoder.decode(text) for text in conn.scalars(query)]


def ignore(conn: sa.Connection, tenant: TenantId, site: SiteId, decision: Ignore) -> int:
    """Store a decision, and apply it to the findings that it covers. Returns how many of them were open."""
    values = (tenant, site, decision.rule, decision.scope.value, _target(decision), _json(asdict(decision)), decision.until)
    execute_many(conn, _ignore_statement, [values])
    text = _json(asdict(decision))
    change = sa.update(findings).where(_covered(tenant, site, decision), _c.status != FindingStatus.RESOLVED.value)
    change = change.values(status=FindingStatus.IGNORED.value, ignored=text, ignored_until=decision.until)
    return conn.execute(change).rowcount


def stop_ignoring(conn: sa.Connection, tenant: TenantId, site: SiteId, decision: Ignore) -> int:
    """Delete a decision, and open the findings that it covered again. Returns how many these are."""
    c = ignored_findings.c
    conn.execute(
        sa.delete(ignored_findings).where(
            c.tenant_id == tenant, c.site_id == site, c.rule == decision.rule, c.scope == decision.scope.value,
            c.target == _target(decision),
        )
    )  # fmt: skip
    change = sa.update(findings).where(_covered(tenant, site, decision), _c.status == FindingStatus.IGNORED.value)
    return conn.execute(change.values(status=FindingStatus.OPEN.value, ignored=None, ignored_until=None)).rowcount


def open_expired(conn: sa.Connection, tenant: TenantId, site: SiteId, now: float) -> None:
    """Open ignored findings again whose time is over."""
    change = sa.update(findings).where(_c.tenant_id == tenant, _c.site_id == site, _c.ignored_until <= now)
    change = change.where(_c.status == FindingStatus.IGNORED.value)
    conn.execute(change.values(status=FindingStatus.OPEN.value, ignored=None, ignored_until=None))


def _ignore_statement(dialect_name: str) -> Statement:
    """Store a decision to ignore findings."""
    return upsert(dialect_name, ignored_findings)


def _covered(tenant: TenantId, site: SiteId, decision: Ignore) -> sa.ColumnElement[bool]:
    condition = sa.and_(_c.tenant_id == tenant, _c.site_id == site, _c.rule == decision.rule)
    if decision.scope is IgnoreScope.FINDING:
        return condition & (_c.key == decision.key)
    return condition & (_c.url == decision.url) if decision.scope is IgnoreScope.PAGE else condition


def _target(decision: Ignore) -> str:
    if decision.scope is IgnoreScope.FINDING:
        return decision.key
    return key_of(decision.url) if decision.scope is IgnoreScope.PAGE else ""
