"""The life of findings over runs, the score, and the cards."""

from __future__ import annotations

from typing import Any

import pytest

from sitelore.audit.findings import merge_findings, rule_cards, score, urls_read
from sitelore.model.audit.findings import (
    AuditScore,
    Finding,
    FindingRecord,
    FindingStatus,
    Ignore,
    IgnoreScope,
    Severity,
    finding_key,
)
from sitelore.model.states import SkipReason, UrlState

from .cases import HOME, OTHER, linking, many
from .sites import BASE, DAY, NOW, Pages, Spec, audit, html, state

PAGE = f"{BASE}/page"
LOST = f"{BASE}/lost"


def finding(rule: str = "title-missing", url: str = PAGE, **evidence: Any) -> Finding:
    return Finding(rule, url, Severity.ERROR, evidence, finding_key(rule, url, sorted(evidence.items())))


def merge(
    previous: list[FindingRecord], current: list[Finding], *read: str, at: float = NOW, **options: Any
) -> list[FindingRecord]:
    return merge_findings(previous, current, set(read), options.pop("complete", False), at, **options)


def test_a_finding_opens_resolves_and_regresses() -> None:
    first = merge([], [finding()], PAGE, at=1)
    assert [(each.status, each.first_seen, each.last_seen) for each in first] == [(FindingStatus.OPEN, 1, 1)]
    second = merge(first, [finding()], PAGE, at=2)
    assert [(each.status, each.first_seen, each.last_seen) for each in second] == [(FindingStatus.OPEN, 1, 2)]
    third = merge(second, [], PAGE, at=3)
    assert [(each.status, each.last_seen, each.resolved_at) for each in third] == [(FindingStatus.RESOLVED, 2, 3)]
    fourth = merge(third, [finding()], PAGE, at=4)
    assert [(each.status, each.first_seen, each.resolved_at) for each in fourth] == [(FindingStatus.REGRESSED, 1, None)]
    assert merge(fourth, [finding()], PAGE, at=5)[0].status is FindingStatus.REGRESSED


def test_a_finding_of_a_page_that_was_not_read_stays_open() -> None:
    first = merge([], [finding()], PAGE, at=1)
    assert merge(first, [], f"{BASE}/other", at=2) == first
    assert merge(first, [], f"{BASE}/other", at=2, complete=True) == first


def test_a_finding_of_an_unchanged_page_is_carried_over_as_seen() -> None:
    first = merge([], [finding()], PAGE, at=1)
    second = merge(first, [], at=2, pages_unchanged={PAGE})
    assert [(each.status, each.last_seen) for each in second] == [(FindingStatus.OPEN, 2)]


def test_a_finding_about_the_graph_resolves_only_after_a_complete_run() -> None:
    first = merge([], [finding("orphan-page")], PAGE, at=1)
    assert merge(first, [], PAGE, at=2)[0].status is FindingStatus.OPEN
    assert merge(first, [], PAGE, at=2, complete=True)[0].status is FindingStatus.RESOLVED
    assert merge(first, [], at=2, complete=True, pages_unchanged={PAGE})[0].status is FindingStatus.RESOLVED
    assert merge(first, [], at=2, complete=True)[0].status is FindingStatus.OPEN


def test_a_link_resolves_when_both_ends_were_read_or_the_run_was_complete() -> None:
    first = merge([], [finding("broken-internal-link", target=LOST)], PAGE, at=1)
    assert merge(first, [], PAGE, at=2)[0].status is FindingStatus.OPEN
    assert merge(first, [], LOST, at=2)[0].status is FindingStatus.OPEN
    assert merge(first, [], PAGE, LOST, at=2)[0].status is FindingStatus.RESOLVED
    assert merge(first, [], PAGE, at=2, complete=True)[0].status is FindingStatus.RESOLVED
    assert merge(first, [], LOST, at=2, complete=True, pages_unchanged={PAGE})[0].status is FindingStatus.RESOLVED


def test_findings_of_a_rule_that_no_longer_exists_end() -> None:
    first = merge([], [finding("old-rule")], PAGE, at=1)
    assert merge(first, [], at=2)[0].status is FindingStatus.RESOLVED


@pytest.mark.parametrize(
    ("ignore", "is_ignored"),
    [
        (Ignore("title-missing", "known", key=finding().key), True),
        (Ignore("title-missing", "known", key="another"), False),
        (Ignore("title-missing", "known", scope=IgnoreScope.PAGE, url=PAGE), True),
        (Ignore("title-missing", "known", scope=IgnoreScope.PAGE, url=LOST), False),
        (Ignore("title-missing", "known", scope=IgnoreScope.RULE), True),
        (Ignore("title-length", "known", scope=IgnoreScope.RULE), False),
        (Ignore("title-missing", "known", scope=IgnoreScope.RULE, until=NOW - 1), False),
    ],
)
def test_people_ignore_a_finding_a_page_or_a_rule(ignore: Ignore, is_ignored: bool) -> None:
    record = merge([], [finding()], PAGE, ignores=[ignore])[0]
    assert record.status is (FindingStatus.IGNORED if is_ignored else FindingStatus.OPEN)
    assert record.ignored == (ignore if is_ignored else None)


def test_an_ignored_finding_opens_again_when_its_time_is_over_and_resolves_when_it_is_fixed() -> None:
    ignore = Ignore("title-missing", "next week", key=finding().key, until=NOW + 7 * DAY)
    first = merge([], [finding()], PAGE, ignores=[ignore])
    second = merge(first, [finding()], PAGE, at=NOW + DAY)
    assert (second[0].status, second[0].ignored) == (FindingStatus.IGNORED, ignore)
    assert merge(second, [finding()], PAGE, at=NOW + 8 * DAY)[0].status is FindingStatus.OPEN
    assert merge(second, [], PAGE, at=NOW + 2 * DAY)[0].status is FindingStatus.RESOLVED


def test_the_key_depends_on_the_problem_and_not_on_its_place() -> None:
    sites = [
        audit({"/": HOME, "/other": OTHER, "/page": html(body, links="/ /other /lost"), "/lost": Spec(status=404)})
        for body in ("", "<a href=/other>Mills</a>")
    ]
    keys = [[each.key for each in site.of("broken-internal-link")] for site in sites]
    assert len(keys[0]) == 1
    assert keys[0] == keys[1]


def test_fixing_one_link_resolves_exactly_that_finding() -> None:
    pages: Pages = {
        "/": HOME,
        "/other": html(links="/ /page /lost", seed=3, title="Wind mills of the south"),
        "/lost": Spec(status=404),
    }
    before = audit({**pages, "/page": html(links="/ /other /lost")})
    after = audit({**pages, "/page": html(links="/ /other")})
    first = merge([], before.findings, *map(str, before.site.pages), at=1, complete=True)
    read, unchanged = urls_read(after.site, first)
    second = merge_findings(first, after.findings, read, True, 2, unchanged)
    resolved = [each.finding for each in second if each.status is FindingStatus.RESOLVED]
    assert [(each.rule, each.url) for each in resolved] == [("broken-internal-link", PAGE)]


def test_reading_a_part_of_a_site_resolves_nothing_outside_of_it() -> None:
    pages = {"/": HOME, "/other": html(title="", seed=3, links="/"), "/page": html(title="", links="/ /other")}
    first = merge([], audit(pages).findings, *(f"{BASE}{path}" for path in pages), at=1)
    unread = state(UrlState.SKIPPED, skip_reason=SkipReason.BUDGET)
    partial = audit({"/": HOME, "/other": unread, "/page": html(links="/ /other")}, is_complete=False)
    read, unchanged = urls_read(partial.site, first)
    assert read == {f"{BASE}/", PAGE}
    second = merge_findings(first, partial.findings, read, False, 2, unchanged)
    gone = {(each.finding.rule, each.finding.url) for each in second if each.status is FindingStatus.RESOLVED}
    assert ("title-missing", PAGE) in gone
    assert {url for _, url in gone} <= read


def test_after_a_complete_run_urls_that_are_no_longer_part_of_the_site_count_as_read() -> None:
    site = audit({"/": HOME, "/page": html()}).site
    previous = merge([], [finding(url=LOST)], LOST)
    assert LOST in urls_read(site, previous)[0]
    partial = audit({"/": HOME}, is_complete=False).site
    assert LOST not in urls_read(partial, previous)[0]


def test_the_score_counts_indexable_pages_without_an_open_error() -> None:
    result = audit({"/": HOME, "/other": OTHER, "/page": html(title=""), "/gone": Spec(status=404)})
    records = merge([], result.findings, PAGE)
    assert score(result.site, records) == AuditScore(2, 3)
    ignored = merge([], result.findings, PAGE, ignores=[Ignore("title-missing", "x", scope=IgnoreScope.RULE)])
    assert score(result.site, ignored) == AuditScore(3, 3)


@pytest.mark.parametrize(
    ("clean", "pages", "band"),
    [(0, 0, ""), (0, 10, "weak"), (3, 10, "weak"), (7, 10, "fair"), (9, 10, "good"), (10, 10, "excellent")],
)
def test_the_score_has_a_name(clean: int, pages: int, band: str) -> None:
    assert AuditScore(clean, pages).band == band


def test_a_card_names_what_a_template_causes_once() -> None:
    pages = many(6, body="<input name=q>", links="/")
    result = audit({**linking(pages, "/page"), **pages, "/page": html("<textarea name=own></textarea>", links="/")})
    cards = rule_cards(result.site, merge([], result.findings))
    card = next(each for each in cards if each.rule.id == "control-without-label")
    assert (card.count, card.pages) == (7, 7)
    assert [(each.folder, each.pages) for each in card.templates] == [("site.example/many/", 6)]
    assert [each.url for each in card.findings] == [PAGE]


def test_a_finding_of_few_pages_of_a_folder_is_not_one_of_their_template() -> None:
    fine = {url.replace("/p", "/q"): page for url, page in many(3, links="/").items()}
    pages = {**many(6, body="<input name=q>", links="/"), **fine}
    result = audit({**linking(pages), **pages})
    cards = rule_cards(result.site, merge([], result.findings))
    card = next(each for each in cards if each.rule.id == "control-without-label")
    assert (card.pages, card.templates, len(card.findings)) == (6, (), 6)


def test_cards_are_ordered_by_severity() -> None:
    result = audit({"/": HOME, "/other": OTHER, "/page": html(title="", attributes="", description="x")})
    severities = [card.severity for card in rule_cards(result.site, merge([], result.findings))]
    assert severities == sorted(severities, key=list(Severity).index)
    assert len(severities) >= 3


def test_a_redirect_an_error_and_a_duplicate_fire_only_their_own_rules() -> None:
    empty = "<html><body>x"
    result = audit(
        {"/": HOME, "/other": OTHER, "/page": html(), "/gone": Spec(empty, status=404), "/soft": state(UrlState.SOFT_404, 200)}
    )
    assert result.at("/gone") == []
    assert [each.rule for each in result.at("/soft")] == ["soft-404"]
