"""Audit routes: findings with filters and pages, decisions, rules, audits, insights and settings."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.api import Api, ApiResponse, idle_app, serving_api
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import Answer, page, prose, serve_site

from sitelore.app.audit.phase import audit_run
from sitelore.app.wiring import embedded
from sitelore.audit.catalogue import RULES
from sitelore.model.audit.findings import Severity
from sitelore.serve.context import ApiSettings


@dataclass(frozen=True, slots=True)
class Audited:
    """A server over a site that was audited twice; `/a` was fixed in between."""

    api: Api
    site: str
    origin: str
    runs: tuple[str, str]

    def get(self, path: str) -> Any:
        return self.api.get(f"/sites/{self.site}{path}")

    def findings(self, query: str = "") -> list[dict[str, Any]]:
        return list(self.get(f"/findings?limit=1000{query}")["findings"])


async def audited_twice(data: Path, origin: str, pages: dict[str, Answer]) -> tuple[str, str]:
    async with embedded(data, writing=True) as app:
        first = (await crawl_in(app, crawl_settings(f"{origin}/", audit=True))).run
        await audit_run(app, first)
        pages["/a"] = page("A page about mills", prose("a"), links=("/",))
        pages["/b"] = page("A page about wheels", prose("b") + "<img src=/x.png>", links=("/", "/lost"))
        second = (await crawl_in(app, crawl_settings(f"{origin}/", audit=True, force=True))).run
        await audit_run(app, second)
        await crawl_in(app, crawl_settings("http://127.0.0.1:9/"))
        return first.id, second.id


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    data = tmp_path_factory.mktemp("audits")
    pages = {
        "/": page("Start of the site", prose("start"), links=("/a", "/b")),
        "/a": page("A page about mills", prose("a"), links=("/", "/lost")),
        "/b": page("A page about wheels", prose("b"), links=("/", "/lost")),
    }
    with serve_site(pages.get) as http_server:
        runs = asyncio.run(audited_twice(data, http_server.origin, pages))
        origin = http_server.origin
    with serving_api(partial(idle_app, data), ApiSettings()) as api:
        yield Audited(api, origin.removeprefix("http://"), origin, runs)


def test_findings_are_listed_the_worst_first_with_evidence_and_life(audited: Audited) -> None:
    listed = audited.findings()
    order = list(Severity)
    assert [order.index(each["severity"]) for each in listed] == sorted(order.index(each["severity"]) for each in listed)
    assert {each["status"] for each in listed} <= {"open", "regressed"}
    [broken] = [each for each in listed if each["rule"] == "broken-internal-link"]
    assert broken["url"] == f"{audited.origin}/b"
    assert broken["evidence"]["target"] == f"{audited.origin}/lost"
    assert (broken["title"], broken["fix"]) == (RULES["broken-internal-link"].title, RULES["broken-internal-link"].fix)
    assert broken["opened_run"] == audited.runs[0]
    assert broken["first_seen"] < broken["last_seen"]
    assert audited.get(f"/findings/{broken['id']}") == broken


def test_findings_are_filtered_and_come_in_pages(audited: Audited) -> None:
    everything = audited.findings()
    page = audited.get("/findings?limit=2&offset=1")
    assert page["findings"] == everything[1:3]
    assert page["pagination"] == {"total": len(everything), "limit": 2, "offset": 1, "returned": 2, "has_more": True}
    assert {each["severity"] for each in audited.findings("&severity=error")} == {"error"}
    new = audited.findings("&new=true")
    assert {each["opened_run"] for each in new} == {audited.runs[1]}
    assert "image-alt-missing" in {each["rule"] for each in new}
    [resolved] = audited.findings("&status=resolved")
    assert (resolved["rule"], resolved["url"]) == ("broken-internal-link", f"{audited.origin}/a")
    assert resolved["resolved_at"]
    both = audited.findings("&rule=broken-internal-link&rule=page-gone&status=open&status=resolved")
    assert {each["rule"] for each in both} == {"broken-internal-link", "page-gone"}
    assert {each["url"] for each in audited.findings(f"&url={audited.origin}/b")} == {f"{audited.origin}/b"}


def test_a_finding_is_ignored_with_a_reason_until_a_day_and_opened_again(audited: Audited) -> None:
    [finding] = audited.findings("&rule=page-gone")
    path = f"/sites/{audited.site}/findings/{finding['id']}/ignore"
    ignored = audited.api.call("POST", path, {"reason": "moved soon", "until": "2999-01-31"})
    assert ignored.status == 200, ignored.body
    decision = {"reason": "moved soon", "by": "local", "scope": "finding", "until": "2999-01-31T00:00:00.000Z"}
    assert (ignored.json["status"], ignored.json["ignored"]) == ("ignored", decision)
    assert audited.findings("&rule=page-gone") == []
    assert [each["id"] for each in audited.findings("&rule=page-gone&status=ignored")] == [finding["id"]]
    assert audited.api.call("DELETE", path).json == finding
    of_rule = audited.api.call("POST", path, {"reason": "x", "scope": "rule"})
    assert of_rule.json["ignored"]["scope"] == "rule"
    assert audited.api.call("DELETE", path).json["status"] == "open"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"reason": ""},
        {"reason": "x", "scope": "site"},
        {"reason": "x", "until": "soon"},
        {"reason": "x", "until": "2001-01-01"},
    ],
)
def test_a_decision_that_is_not_valid_is_refused(audited: Audited, body: dict[str, str]) -> None:
    [finding] = audited.findings("&rule=page-gone")
    answer = audited.api.call("POST", f"/sites/{audited.site}/findings/{finding['id']}/ignore", body)
    assert (answer.status, answer.kind) == (422, "invalid")


def test_every_rule_is_listed_with_its_open_findings(audited: Audited) -> None:
    rules = {each["id"]: each for each in audited.get("/rules")["rules"]}
    assert rules.keys() == RULES.keys()
    assert rules["broken-internal-link"]["open"] == 1
    assert rules["title-length"]["thresholds"]["max_chars"] == 65
    assert rules["title-length"]["is_on"] is True


def test_audits_have_scores_and_counts_the_newest_first(audited: Audited) -> None:
    audits = audited.get("/audits")["audits"]
    assert [each["run"] for each in audits] == list(reversed(audited.runs))
    assert [each["state"] for each in audits] == ["done", "done"]
    assert [(each["score"]["clean"], each["score"]["indexable"]) for each in audits] == [(2, 3), (1, 3)]
    assert audits[0]["findings"]["resolved"] == 1
    assert len(audited.get("/audits?limit=1")["audits"]) == 1


def test_insights_are_those_of_the_latest_audit_or_of_a_run(audited: Audited) -> None:
    latest, first = audited.get("/insights"), audited.get(f"/insights?run={audited.runs[0]}")
    assert latest["run"] == audited.runs[1]
    assert latest["insights"]["run_honesty"]["discovered"] == 4
    assert latest["insights"]["movement"]["buckets"]
    assert (first["run"], first["insights"]["movement"]) == (audited.runs[0], None)


def test_issues_count_the_findings_of_each_rule(audited: Audited) -> None:
    listed = audited.findings()
    issues = {each["rule"]: each for each in audited.get("/issues")["issues"]}
    assert issues.keys() == {each["rule"] for each in listed}
    for rule, issue in issues.items():
        own = [each for each in listed if each["rule"] == rule]
        assert (issue["findings"], issue["pages"]) == (len(own), len({each["url"] for each in own}))
        assert issue["new"] == sum(each["opened_run"] == audited.runs[1] for each in own)
    assert {each["rule"] for each in audited.get("/issues?new=true")["issues"]} == {
        each["rule"] for each in audited.findings("&new=true")
    }


def test_findings_are_exported_as_they_are_filtered(audited: Audited) -> None:
    def exported(query: str) -> ApiResponse:
        answer = audited.api.call("GET", f"/sites/{audited.site}/findings/export?{query}")
        assert answer.status == 200, answer.body
        assert answer.headers["Content-Disposition"].startswith("attachment")
        return answer

    warnings = audited.findings("&severity=warning")
    rows = list(csv.DictReader(io.StringIO(exported("severity=warning").body.decode("utf-8-sig"))))
    assert [row["key"] for row in rows] == [each["id"] for each in warnings]
    assert {row["severity"] for row in rows} == {"warning"}
    assert [each["key"] for each in exported("format=json&severity=warning").json] == [each["id"] for each in warnings]
    sarif = exported("format=sarif&new=true")
    assert sarif.headers.get_content_type() == "application/sarif+json"
    [run] = sarif.json["runs"]
    assert {each["baselineState"] for each in run["results"]} == {"new"}
    assert len(run["results"]) == len(audited.findings("&new=true"))


def test_findings_of_one_page_leave_out_those_of_pages_below_it(audited: Audited) -> None:
    assert {each["url"] for each in audited.findings(f"&url={audited.origin}/")} > {f"{audited.origin}/b"}
    assert {each["url"] for each in audited.findings(f"&page={audited.origin}/b")} == {f"{audited.origin}/b"}
    assert audited.findings(f"&page={audited.origin}/unknown") == []


def test_a_fix_shows_the_html_before_and_after_or_why_there_is_none(audited: Audited) -> None:
    by_rule = {each["rule"]: each for each in audited.findings()}
    viewport = audited.get(f"/findings/{by_rule['viewport-missing']['id']}/fix")
    assert 'name="viewport"' in viewport["after"]
    assert 'name="viewport"' not in viewport["before"]
    assert viewport["reason"] == ""
    gone = audited.get(f"/findings/{by_rule['page-gone']['id']}/fix")
    assert (gone["before"], gone["after"]) == ("", "")
    assert gone["reason"]


def test_an_audit_is_queued_and_waits_for_the_server(audited: Audited) -> None:
    path = f"/sites/{audited.site}/audits"
    before = audited.get("/findings?limit=1000")
    queued = audited.api.call("POST", path)
    assert (queued.status, queued.json["run"], queued.json["state"]) == (202, audited.runs[1], "waiting")
    assert audited.api.call("POST", path).json["state"] == "waiting"
    assert audited.get("/audits")["audits"][0]["score"], "the last result is shown until the next one is there"
    assert audited.get("/findings?limit=1000") == before
    assert audited.api.call("POST", "/sites/127.0.0.1:9/audits").kind == "conflict"
    assert audited.api.call("POST", "/sites/unknown/audits").kind == "site-not-found"


def test_settings_are_checked_and_stored(audited: Audited) -> None:
    path = f"/sites/{audited.site}/audit-settings"
    assert audited.api.get(path) == {"rules": {}, "exclude": [], "check_links": False}
    options = {
        "rules": {"title-length": {"max_chars": 70}, "hreflang-*": False},
        "exclude": ["/archive/*"],
        "check_links": True,
    }
    assert audited.api.call("PUT", path, options).json == options
    assert audited.api.get(path) == options
    rules = {each["id"]: each for each in audited.get("/rules")["rules"]}
    assert rules["title-length"]["thresholds"]["max_chars"] == 70
    assert rules["hreflang-self"]["is_on"] is False
    answer = audited.api.call("PUT", path, {"rules": {"title-lenght": True}})
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "body.rules")
    assert "title-length" in answer.json["errors"][0]["detail"]
    assert audited.api.call("PUT", path, {}).json == {"rules": {}, "exclude": [], "check_links": False}


def test_unknown_sites_findings_and_runs_are_not_found(audited: Audited) -> None:
    call, site = audited.api.call, audited.site
    assert call("GET", "/sites/unknown/findings").kind == "site-not-found"
    assert call("GET", f"/sites/{site}/findings/{'0' * 20}").kind == "finding-not-found"
    assert call("POST", f"/sites/{site}/findings/{'0' * 20}/ignore", {"reason": "x"}).kind == "finding-not-found"
    assert call("GET", f"/sites/{site}/insights?run=unknown").kind == "run-not-found"
    assert call("GET", f"/sites/127.0.0.1:9/insights?run={audited.runs[0]}").kind == "run-not-found"
    assert call("GET", "/sites/127.0.0.1:9/insights").json == {"run": "", "insights": {}}
    assert call("GET", "/sites/127.0.0.1:9/findings?new=true").json["findings"] == []
