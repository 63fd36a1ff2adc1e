"""The audit phase of a run: checks the rules, merges the findings with those of earlier runs, stores them and the insights.

`audit_run` does it for one run, for `sitelore audit` and `sitelore crawl --audit`; `keep_auditing` does it in the background
of a server for every completed run whose settings ask for it. A run that is older than the last audited one of its site is
audited without storing anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from sitelore.app.app import App
from sitelore.app.audit.site_audit import AuditProgress, SiteAudit, audit_site, is_partial
from sitelore.app.settings import operator_settings
from sitelore.audit.catalogue import audit_config
from sitelore.audit.findings import RuleCard, merge_findings, rule_cards, score, urls_left, urls_read
from sitelore.audit.insights.figures import figures_of
from sitelore.audit.site import Site
from sitelore.background import repeat
from sitelore.model.audit.findings import OPEN_STATUSES, AuditPhase, AuditRecord, AuditScore, Finding, FindingRecord
from sitelore.model.errors import StorageError
from sitelore.model.frontier import Run
from sitelore.ports import AuditStore

_LOG = logging.getLogger(__name__)

LEASE_S = 120.0
_RENEW_S = 2.0
"""How often progress is stored and the lease renewed."""
_ATTEMPTS = 2
_BATCH = 500
_HISTORY = 50
_INTERVAL_S = 2.0
_DELAY_S = 5.0
"""A server answers requests first."""


@dataclass(frozen=True, slots=True, repr=False)  # asyncio writes the result of a finished task into a message
class AuditResult:
    """The result of an audit."""

    audit: SiteAudit
    records: list[FindingRecord]
    """The findings of this run with their life, the worst first."""
    score: AuditScore
    figures: Mapping[str, Any]
    """The insights by name, as plain data."""
    stored: AuditRecord | None
    """None when nothing was stored."""
    history: list[AuditRecord]
    """The audits of the site, that of the newest run first."""

    @property
    def run(self) -> Run:
        """The run that was audited."""
        return self.audit.run

    @property
    def site(self) -> Site:
        """The site as the rules saw it."""
        return self.audit.site

    @property
    def cards(self) -> list[RuleCard]:
        """One card for each rule with open findings, the worst first. They are computed with each use."""
        return rule_cards(self.site, self.records)

    @property
    def findings(self) -> list[Finding]:
        """The findings of this run, the worst first."""
        return self.audit.findings

    def selected(self, rules: Collection[str], *, only_new: bool = False) -> list[FindingRecord]:
        """The open findings of these rules; `only_new`: those that this run opened."""
        records = (each for each in self.records if each.status in OPEN_STATUSES and each.finding.rule in rules)
        return [each for each in records if each.opened_run == self.run.id or not only_new]


async def audit_run(
    app: App, run: Run, options: Mapping[str, Any] | None = None, progress: AuditProgress | None = None, *, store: bool = True
) -> AuditResult:
    """Audit a run, and store the result unless a newer run was audited. `options` replace those of the site."""
    audits, progress = app.audits.for_tenant(run.tenant), progress or AuditProgress()
    config = audit_config(await audits.settings(run.site) if options is None else options)
    now = app.clock()
    if not (store and await audits.claim(run.id, now, now + LEASE_S)):
        audit = await audit_site(app, run, config, progress)
        return await _result(audits, audit, await _known(audits, audit, now, save=False))
    try:
        async with _renewing(app, audits, run, progress):
            audit = await audit_site(app, run, config, progress)
            progress.phase = AuditPhase.FINDINGS
            await audits.open_expired(run.site, now)
            # All of them where searches are not recorded any more.
            await audits.delete_searches(run.site, now - operator_settings().search_log_s)
            records = await _known(audits, audit, now, save=True)
            await _end_others(audits, audit, now)
            progress.phase = AuditPhase.INSIGHTS
            result = await _result(audits, audit, records)
        own_score = None if is_partial(run) else result.score
        stored = await audits.finish(run.id, own_score, audit.site.is_complete, result.figures, app.clock())
    except Exception as problem:
        with contextlib.suppress(StorageError):
            await audits.fail(run.id, f"{type(problem).__name__}: {problem}", app.clock(), _ATTEMPTS)
        raise
    return replace(result, stored=stored, history=await audits.audits(run.site, _HISTORY))


async def _result(audits: AuditStore, audit: SiteAudit, records: list[FindingRecord]) -> AuditResult:
    figures = await asyncio.to_thread(figures_of, audit.site)
    history = await audits.audits(audit.run.site, _HISTORY)
    return AuditResult(audit, records, score(audit.site, records), figures, None, history)


async def _known(audits: AuditStore, audit: SiteAudit, now: float, *, save: bool) -> list[FindingRecord]:
    """The findings of a run, with what is stored about them."""
    run = audit.run
    ignores = await audits.ignores(run.site)
    records: list[FindingRecord] = []
    for start in range(0, len(audit.findings), _BATCH):
        part = audit.findings[start : start + _BATCH]
        before = await audits.findings_with_keys(run.site, {finding.key for finding in part})
        merged = merge_findings(before, part, (), False, now, ignores=ignores, run=run.id)
        if save:
            await audits.save_findings(run.site, merged)
        records += merged
    return records


async def _end_others(audits: AuditStore, audit: SiteAudit, now: float) -> None:
    """Resolve or carry over the stored findings that a run did not have."""
    run, site = audit.run, audit.site
    ignores = await audits.ignores(run.site)
    read, unchanged = urls_read(site, ())
    after = ""
    while unseen := await audits.unseen_findings(run.site, run.id, after):
        after = unseen[-1].finding.key
        read |= urls_left(site, unseen)
        merged = merge_findings(unseen, (), read, site.is_complete, now, unchanged, ignores, run.id, site.missing)
        await audits.save_findings(run.site, [new for old, new in zip(unseen, merged, strict=True) if new != old])


@asynccontextmanager
async def _renewing(app: App, audits: AuditStore, run: Run, progress: AuditProgress) -> AsyncIterator[None]:
    """Store the progress and renew the lease while the body runs."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(_RENEW_S)
            with contextlib.suppress(StorageError):
                await audits.report(run.id, progress.phase, progress.pages, app.clock() + LEASE_S)

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


# Beside a server


async def audit_due_runs(app: App) -> int:
    """Audit every run whose audit waits. Returns their number."""
    count = 0
    for run in await app.queue.due_audits(app.clock(), _BATCH):
        try:
            result = await audit_run(app, run)
        except StorageError:
            raise
        except Exception:  # noqa: BLE001 the audit of one run must not end those of others; it is stored as failed
            _LOG.exception("audit failed", extra={"run": run.id})
            continue
        if result.stored is None:
            await app.audits.for_tenant(run.tenant).skip(run.id)
            continue
        count += 1
        _LOG.info("run audited", extra={"run": run.id, "findings": len(result.findings)})
    return count


async def keep_auditing(app: App, stop: asyncio.Event, delay_s: float = _DELAY_S, interval_s: float = _INTERVAL_S) -> None:
    """Audit completed runs whose settings ask for it until stopped."""
    await repeat("audits", lambda: audit_due_runs(app), stop, interval_s, delay_s)
