"""`ports.AuditStore` over SQL: each method runs one repository function in one transaction (see `store/ledger.py`)."""

from __future__ import annotations

from sitelore.store.audits import audit_runs, chunk_vectors, findings, search_log
from sitelore.store.audits import url_checks as checks
from sitelore.store.engine import Repository, read, read_long, write


class SqlAuditStore(Repository):
    """Findings and audits of one tenant in SQLite or Postgres, on the engine of the ledger."""

    request = write(audit_runs.request_audit)
    claim = write(audit_runs.claim_audit)
    skip = write(audit_runs.skip_audit)
    report = write(audit_runs.report_audit)
    finish = write(audit_runs.finish_audit)
    fail = write(audit_runs.fail_audit)
    audit = read(audit_runs.find_audit)
    audits = read_long(audit_runs.list_audits)
    insights = read_long(audit_runs.insights_of)
    settings = read(audit_runs.find_settings)
    save_settings = write(audit_runs.save_settings)

    findings_with_keys = read_long(findings.findings_with_keys)
    unseen_findings = read_long(findings.unseen_findings)
    save_findings = write(findings.save_findings)
    finding = read(findings.find_finding)
    list_findings = read_long(findings.list_findings)
    findings_by_status = read_long(findings.findings_by_status)
    findings_by_rule = read_long(findings.findings_by_rule)
    ignores = read(findings.ignores)
    ignore = write(findings.ignore)
    stop_ignoring = write(findings.stop_ignoring)
    open_expired = write(findings.open_expired)

    url_checks = read_long(checks.url_checks_of)
    save_url_checks = write(checks.save_url_checks)
    llms_txt = read(checks.find_llms_txt)
    save_llms_txt = write(checks.save_llms_txt)

    record_search = write(search_log.record_search)
    delete_searches = write(search_log.delete_searches)
    search_log = read_long(search_log.search_log_of)

    sample_vectors = read_long(chunk_vectors.sample_vectors)
