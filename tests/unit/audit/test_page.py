"""What rules see of a URL: whether it is a page, whether search engines may list it, and what it declares."""

from __future__ import annotations

from typing import Any

import pytest

from sitelore.audit.page import audit_page
from sitelore.model.audit.findings import Indexability
from sitelore.model.frontier import RowKind, UrlRow
from sitelore.model.ids import RunId
from sitelore.model.states import Proof, SkipReason, UrlState

from .sites import BASE, SAFE_HEADERS, Spec, address, build_page, html, redirect, state

INDEXABILITY: list[tuple[str | Spec, Indexability]] = [
    (html(), Indexability.INDEXABLE),
    (html(head=f"<link rel=canonical href={BASE}/page?utm_source=x>"), Indexability.INDEXABLE),
    (html(head=f"<link rel=canonical href={BASE}/x>"), Indexability.CANONICALISED),
    (html("<link rel=canonical href=/x>"), Indexability.INDEXABLE),
    (html(head="<meta name=robots content='none'>"), Indexability.NOINDEX),
    (html(head="<meta name=googlebot content='nosnippet'>"), Indexability.INDEXABLE),
    (Spec(html(), headers=(*SAFE_HEADERS, ("x-robots-tag", "noindex"))), Indexability.NOINDEX),
    (Spec(html(), row={"state": UrlState.NOT_MODIFIED, "status_code": 304}), Indexability.INDEXABLE),
    (Spec(html(), row={"state": UrlState.SKIPPED, "skip_reason": SkipReason.TTL, "status_code": None}), Indexability.INDEXABLE),
    (Spec("Notes about mills.", content_type="text/plain"), Indexability.NOT_HTML),
    (redirect("/x", "/page"), Indexability.REDIRECT),
    (Spec(html(), row={"state": UrlState.ALIAS, "proof": Proof.EQUAL_CONTENT, "final_url": address("/x")}), Indexability.ALIAS),
    (Spec(status=404), Indexability.ERROR),
    (Spec(status=500), Indexability.ERROR),
    (Spec(status=403), Indexability.FORBIDDEN),
    (state(UrlState.FAILED, error="timeout"), Indexability.ERROR),
    (state(UrlState.SOFT_404, 200), Indexability.SOFT_404),
    (state(UrlState.SKIPPED, skip_reason=SkipReason.ROBOTS), Indexability.ROBOTS),
    (state(UrlState.SKIPPED, skip_reason=SkipReason.BUDGET), Indexability.NOT_FETCHED),
    (state(UrlState.QUEUED), Indexability.NOT_FETCHED),
]


@pytest.mark.parametrize(("spec", "expected"), INDEXABILITY)
def test_a_url_is_indexable_or_has_a_reason_why_not(spec: str | Spec, expected: Indexability) -> None:
    page, _ = build_page("/page", spec if isinstance(spec, Spec) else Spec(spec))
    assert page.indexability is expected
    assert page.is_indexable == (expected is Indexability.INDEXABLE)


def test_addresses_are_resolved_against_the_base_of_the_page() -> None:
    page, _ = build_page("/a/page", Spec(html(head="<base href=/b/><link rel=canonical href=c>")))
    assert page.canonical == f"{BASE}/b/c"
    assert page.resolved("javascript:x()") is None


@pytest.mark.parametrize(("row", "has_head"), [({}, True), ({"state": UrlState.NOT_MODIFIED, "status_code": 304}, False)])
def test_the_head_of_a_304_is_not_that_of_the_page(row: dict[str, Any], has_head: bool) -> None:
    page, _ = build_page("/page", Spec(html(), row=row))
    assert page.has_head is has_head


def test_a_row_without_a_version_makes_a_page_without_facts() -> None:
    page = audit_page(UrlRow(RunId("run"), address("/x"), RowKind.PAGE, UrlState.VISITED, 1, source="link"))  # type: ignore[arg-type]
    assert (page.is_kept, page.is_html, page.has_head) == (True, False, False)
    assert page.header("server") == ""
