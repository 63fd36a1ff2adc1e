"""Factories for tests of the audit store."""

from __future__ import annotations

from typing import Any

from tests.ports.frontier import NOW, u

from sitelore.model.audit.findings import (
    AuditScore,
    Finding,
    FindingRecord,
    FindingStatus,
    Ignore,
    LlmsTxt,
    Severity,
    finding_key,
)
from sitelore.model.frontier import Run
from sitelore.model.ids import CleanText, SiteId
from sitelore.model.platform.fixes import ConnectedRepository, FixRequest, FixState, RepositoryHost
from sitelore.ports import AuditStore


def record(path: str = "a", rule: str = "title-missing", run: str = "run", **more: Any) -> FindingRecord:
    """An open finding of a page."""
    severity, evidence = more.pop("severity", Severity.ERROR), more.pop("evidence", {"target": u("lost")})
    finding = Finding(rule, u(path), severity, evidence, finding_key(rule, u(path), []))
    return FindingRecord(finding, more.pop("status", FindingStatus.OPEN), NOW, NOW, opened_run=run, seen_run=run, **more)


async def audited(store: AuditStore, run: Run) -> None:
    """Store an audit of a run, with a row in every table."""
    assert await store.claim(run.id, NOW, NOW + 60)
    await store.save_findings(run.site, [record(run=run.id)])
    await store.ignore(run.site, Ignore("title-length", "by design", key="other"))
    await store.save_settings(run.site, {"rules": {"title-length": False}})
    await store.save_llms_txt(run.site, LlmsTxt("http://a.test/llms.txt", 404))
    query = CleanText(f"query of {run.site}")
    await store.record_search([run.site], query, has_results=False, is_weak=False, now=NOW, kept_since=0.0)
    await store.finish(run.id, AuditScore(1, 2), True, {"run_honesty": {"read": 1}}, NOW + 1)


REPOSITORY = "https://git.test/owner/site"


def repository_of(site: SiteId, **more: Any) -> ConnectedRepository:
    """A connected repository of a site."""
    values = {"host": RepositoryHost.GITHUB, "url": REPOSITORY, "base": "main", "token": "plain:secret", "created_at": NOW}
    return ConnectedRepository(site, **{**values, **more})


def fix_request(site: SiteId, request: str = "fix", subject: str = "sitelore/title-missing-1", **more: Any) -> FixRequest:
    """A new request for a draft pull request."""
    values = {
        "repository": REPOSITORY, "branch": subject, "rules": ("title-missing",), "chosen": (), "state": FixState.QUEUED,
        "created_at": NOW, "created_by": "a person",
    }  # fmt: skip
    return FixRequest(request, site, subject=subject, **{**values, **more})
