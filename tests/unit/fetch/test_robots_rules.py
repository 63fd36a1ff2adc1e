from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from tests.support.corpora import corpus

from sitelore.fetch.robots_rules import MAX_BYTES, RobotsRules

OWN = ("Sitelore",)


def cases(tier: str) -> list[dict[str, Any]]:
    all_cases = json.loads(corpus("robots_cases.json").read_text(encoding="utf-8"))["cases"]
    return [case for case in all_cases if case["tier"] == tier]


def judged(case: dict[str, Any]) -> bool:
    body = base64.b64decode(case["robots_b64"]) if "robots_b64" in case else case["robots"]
    return RobotsRules.parse(body).judge(case["url"], [case["agent"]]).allowed


@pytest.mark.parametrize(("tier", "count"), [("rfc9309", 338), ("google", 85)])
def test_every_case_of_the_rfc_corpus_is_decided_correctly(tier: str, count: int) -> None:
    selected = cases(tier)
    assert len(selected) == count
    assert [case["id"] for case in selected if judged(case) != case["allow"]] == []


def test_cases_on_which_other_suites_agree_with_the_reference_pass() -> None:
    tiers = ("reppy", "protego", "crawler-commons", "crawler-commons-substring-agent")
    agreed = [case for tier in tiers for case in cases(tier) if case["agreed"]]
    assert [case["id"] for case in agreed if judged(case) != case["allow"]] == []


def test_a_verdict_names_the_rule_its_line_and_the_agent() -> None:
    rules = RobotsRules.parse("# hello\r\nUser-agent: *\r\nDisallow: /private # not yours\r\nAllow: /private/open\r\n")
    verdict = rules.judge("http://a.example/private/x", OWN)
    assert (verdict.allowed, verdict.state, verdict.rule, verdict.line) == (False, "ok", "Disallow: /private", 3)
    assert verdict.agent == "*"
    verdict = rules.judge("/private/open/x", OWN)
    assert (verdict.allowed, verdict.rule, verdict.line) == (True, "Allow: /private/open", 4)
    verdict = rules.judge("/elsewhere", OWN)
    assert (verdict.allowed, verdict.rule, verdict.line, verdict.agent) == (True, "", 0, "*")


def test_the_group_of_the_product_token_outranks_the_wildcard_group() -> None:
    rules = RobotsRules.parse("User-agent: *\nDisallow: /\n\nUser-agent: SITELORE\nDisallow: /x\n")
    assert rules.judge("/page", OWN).allowed
    verdict = rules.judge("/x", OWN)
    assert (verdict.allowed, verdict.agent, verdict.line) == (False, "Sitelore", 5)


def test_with_several_agents_one_refusal_is_enough() -> None:
    rules = RobotsRules.parse("User-agent: *\nAllow: /\n\nUser-agent: Googlebot\nDisallow: /g\nCrawl-delay: 3\n")
    both = ("Sitelore", "Googlebot")
    assert rules.judge("/g", OWN).allowed
    verdict = rules.judge("/g", both)
    assert (verdict.allowed, verdict.agent, verdict.line) == (False, "Googlebot", 5)
    assert rules.judge("/other", both).allowed
    assert (rules.crawl_delay(OWN), rules.crawl_delay(both)) == (None, 3.0)
    assert rules.judge("/other", both).crawl_delay_s == 3.0


def test_a_crawl_delay_belongs_to_the_agents_named_before_it() -> None:
    rules = RobotsRules.parse("User-agent: bingbot\nCrawl-delay: 30\n\nUser-agent: *\nDisallow: /x\nCrawl-delay: 1.5\n")
    assert (rules.crawl_delay(["bingbot"]), rules.crawl_delay(OWN)) == (30.0, 1.5)


@pytest.mark.parametrize("value", ["soon", "", "-1", "nan", "inf"])
def test_an_invalid_crawl_delay_is_ignored(value: str) -> None:
    assert RobotsRules.parse(f"User-agent: *\nCrawl-delay: {value}\n").crawl_delay(OWN) is None


def test_sitemaps_are_collected_from_all_lines_once_each() -> None:
    text = "Sitemap: http://a.example/1.xml\nUser-agent: x\nDisallow: /\nSITEMAP:http://a.example/ü.xml\nsitemap: http://a.example/1.xml\n"
    assert RobotsRules.parse(text).sitemaps == ("http://a.example/1.xml", "http://a.example/ü.xml")
    assert RobotsRules.parse(text).judge("/", OWN).sitemaps == ("http://a.example/1.xml", "http://a.example/ü.xml")


def test_a_disallowed_tilde_is_disallowed_in_every_escaping() -> None:
    rules = RobotsRules.parse("User-agent: *\nDisallow: /%7ejoe/\nDisallow: /caf\u00e9\n")
    assert not rules.judge("/~joe/", OWN).allowed
    assert not rules.judge("/%7Ejoe/", OWN).allowed
    assert not rules.judge("/caf%C3%A9", OWN).allowed


@pytest.mark.parametrize("directive", ["Disallow", "Allow"])
def test_an_escaped_asterisk_or_dollar_in_a_rule_is_that_character(directive: str) -> None:
    rules = RobotsRules.parse(f"User-agent: *\nDisallow: /*/x\n{directive}: /a/x%2Ay\n{directive}: /a/x%24\n")
    is_allowed = directive == "Allow"
    for target in ("/a/x*y", "/a/x%2Ay", "/a/x*y/z", "/a/x$", "/a/x%24", "/a/x$z"):
        assert rules.judge(target, OWN).allowed is is_allowed, target
    assert not rules.judge("/a/xny", OWN).allowed
    plain = RobotsRules.parse("User-agent: *\nDisallow: /a%2A\nDisallow: /b%24\n")
    for target in ("/a", "/ab", "/b", "/bc"):
        assert plain.judge(target, OWN).allowed, target


@pytest.mark.parametrize(
    ("pattern", "target", "matches"),
    [
        ("/a$", "/a", True), ("/a$", "/ab", False), ("/*.pdf$", "/x/y.pdf", True), ("/*.pdf$", "/y.pdf?a", False),
        ("/a*b*c", "/aXbYc", True), ("/a*b*c", "/acb", False), ("/a*", "/a", True), ("*", "/", True), ("$", "/", False),
        ("/x*ab*ab$", "/xab", False), ("/x*ab*ab$", "/xabab", True), ("/a**b", "/a--b", True), ("*/b$", "/a/b", True),
        ("/a*$", "/a/b", True), ("/a$b", "/a$b", True), ("foo", "/foo", False),
    ],
)  # fmt: skip
def test_wildcards_match_as_in_the_rfc(pattern: str, target: str, matches: bool) -> None:
    assert RobotsRules.parse(f"User-agent: *\nDisallow: {pattern}\n").judge(target, OWN).allowed is not matches


def test_a_file_over_the_size_limit_is_cut_at_a_line() -> None:
    filler = b"# pad\n" * (MAX_BYTES // 6 - 10)
    body = b"User-agent: *\nDisallow: /first\n" + filler + b"Disallow: /" + b"a" * 200 + b"\nDisallow: /last\n"
    assert len(body) > MAX_BYTES
    rules = RobotsRules.parse(body)
    assert not rules.judge("/first", OWN).allowed
    assert rules.judge("/a", OWN).allowed
    assert rules.judge("/last", OWN).allowed


HEAD = "User-agent: *\n"
HEAVY = {
    "many prefixes": HEAD + "".join(f"Disallow: /x{number}\n" for number in range(33_000)),
    "many wildcards": HEAD + "".join(f"Disallow: /*{number}*x$\n" for number in range(25_000)),
    "wildcard bombs": HEAD + ("Disallow: /" + "*a" * 8000 + "b\n") * 30,
    "many agents, many rules": "user-agent: a\nuser-agent: *\n" * 9000 + "allow:/b\n" * 25_000,
    "one agent over and over": "User-agent: *\nDisallow: /a\n" * 18_000,
    "one endless line": HEAD + "Disallow: /" + "a" * 500_000,
}


@pytest.mark.parametrize("name", HEAVY)
def test_half_a_mebibyte_of_anything_is_parsed_and_judged_within_a_second(name: str) -> None:
    text = HEAVY[name]
    assert len(text) > 400_000
    # Processor time, so that a busy machine does not decide.
    before = time.process_time()
    rules = RobotsRules.parse(text)
    for target in ("/" + "a" * 4000, "/x123", "/" + "0123456789" * 100):
        rules.judge(target, OWN)
    assert time.process_time() - before < 1.0
