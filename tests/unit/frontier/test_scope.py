from __future__ import annotations

import subprocess
import sys

import pytest

from sitelore.frontier.scope import Pattern, ScopeRule
from sitelore.model.settings import CrawlSettings, Scope
from sitelore.model.states import SkipReason
from sitelore.model.url import Url


def url_of(raw: str) -> Url:
    url = Url.parse(raw)
    assert url is not None
    return url


def rule(*seeds: str, scope: Scope = Scope.HOST, joined: tuple[str, ...] = ()) -> ScopeRule:
    return ScopeRule(CrawlSettings(seeds=seeds, scope=scope), joined)


def inside(scope: ScopeRule, *raws: str) -> list[str]:
    return [raw for raw in raws if scope.refusal(url_of(raw)) is None]


def test_host_scope_takes_the_www_twin_and_both_schemes() -> None:
    same = ["http://example.com/", "https://example.com/a", "https://www.example.com/b", "http://www.example.com:80/"]
    for seed in ("https://example.com/", "http://www.example.com/x"):
        assert inside(rule(seed), *same) == same
        assert not inside(rule(seed), "https://docs.example.com/", "https://example.org/", "https://example.com:8443/")


def test_an_explicit_port_must_equal_the_seed_s() -> None:
    scope = rule("http://127.0.0.1:8900/")
    assert inside(
        scope, "http://127.0.0.1:8900/x", "http://127.0.0.1:8920/x", "http://127.0.0.1/x", "http://localhost:8900/"
    ) == ["http://127.0.0.1:8900/x"]


def test_single_label_hosts_and_ipv6_addresses_are_hosts() -> None:
    assert inside(rule("http://wiki/"), "http://wiki/a", "http://wikis/a") == ["http://wiki/a"]
    assert inside(rule("http://[::1]:8000/"), "http://[::1]:8000/a", "http://[::2]:8000/") == ["http://[::1]:8000/a"]


def test_origin_scope_is_exact() -> None:
    scope = rule("https://example.com/", scope=Scope.ORIGIN)
    assert inside(
        scope, "https://example.com/a", "http://example.com/a", "https://www.example.com/", "https://example.com:444/"
    ) == ["https://example.com/a"]


def test_domain_scope_takes_subdomains_of_the_registrable_domain() -> None:
    scope = rule("https://docs.example.co.uk/", scope=Scope.DOMAIN)
    both = ["https://example.co.uk/", "https://a.b.example.co.uk:8443/"]
    assert inside(scope, *both, "https://other.co.uk/", "https://co.uk/") == both


def test_domain_scope_includes_only_hosts_of_the_registrable_domain() -> None:
    scope = rule("https://alice.github.io/", scope=Scope.DOMAIN)
    assert inside(scope, "https://alice.github.io/x", "https://bob.github.io/") == ["https://alice.github.io/x"]


@pytest.mark.parametrize("seed", ["http://127.0.0.1:8000/", "http://wiki/", "http://[::1]/"])
def test_domain_scope_is_exact_where_there_is_no_domain(seed: str) -> None:
    scope = rule(seed, scope=Scope.DOMAIN)
    assert inside(scope, f"{seed}x", "http://128.0.0.1:8000/", "http://127.0.0.1:8001/", "http://a.wiki/", "http://[::2]/") == [
        f"{seed}x"
    ]


@pytest.mark.parametrize("seed", ["/docs", "/docs/", "/docs/index.html", "/docs/?page=2"])
def test_prefix_scope_is_the_seed_s_directory(seed: str) -> None:
    scope = rule(f"https://example.com{seed}", scope=Scope.PREFIX)
    below = [
        "https://example.com/docs",
        "https://www.example.com/docs/",
        "https://example.com/docs/a/b?c",
        "https://example.com/docs?d",
    ]
    assert inside(scope, *below) == below
    assert not inside(
        scope, "https://example.com/docsother", "https://example.com/", "https://example.com/DOCS/", "https://b.com/docs/"
    )


def test_prefix_scope_treats_a_version_number_as_a_directory() -> None:
    scope = rule("https://example.com/docs/v1.2", scope=Scope.PREFIX)
    assert inside(scope, "https://example.com/docs/v1.2/a", "https://example.com/docs/v1.3/") == [
        "https://example.com/docs/v1.2/a"
    ]


def test_prefix_scope_of_a_root_is_the_host() -> None:
    assert inside(rule("https://example.com", scope=Scope.PREFIX), "https://example.com/any/where") == [
        "https://example.com/any/where"
    ]


@pytest.mark.parametrize("scope", list(Scope))
def test_a_host_that_a_seed_redirected_to_is_in_scope(scope: Scope) -> None:
    there = "https://new.test:8443/docs/a"
    assert not inside(rule("https://old.example/docs/", scope=scope), there)
    assert inside(rule("https://old.example/docs/", scope=scope, joined=("new.test:8443",)), there) == [there]


def test_several_seeds_are_all_in_scope() -> None:
    scope = rule("https://a.example/x/", "https://b.example/y/", scope=Scope.PREFIX)
    assert inside(scope, "https://a.example/x/1", "https://b.example/y/1") == ["https://a.example/x/1", "https://b.example/y/1"]


def test_a_crawl_of_sitemaps_alone_takes_their_hosts_for_seeds() -> None:
    scope = ScopeRule(CrawlSettings(sitemaps=("https://example.com/sitemap.xml",)))
    assert inside(scope, "https://www.example.com/a", "https://other.example/") == ["https://www.example.com/a"]


def test_sitemaps_do_not_widen_the_scope_of_seeds() -> None:
    scope = ScopeRule(CrawlSettings(seeds=("https://example.com/",), sitemaps=("https://cdn.test/sitemap.xml",)))
    assert not inside(scope, "https://cdn.test/a")


def test_a_refusal_names_the_host_and_the_scope() -> None:
    refusal = rule("https://example.com/").refusal(url_of("https://other.example/x"))
    assert refusal == (SkipReason.SCOPE, "other.example is outside the host scope of example.com")


def patterned(include: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> ScopeRule:
    return ScopeRule(CrawlSettings(seeds=("https://example.com/",), include=include, exclude=exclude))


def test_exclusion_wins_and_names_its_pattern() -> None:
    scope = patterned(include=("/blog/*",), exclude=("*/draft-*",))
    assert scope.refusal(url_of("https://example.com/blog/one")) is None
    assert scope.refusal(url_of("https://example.com/blog/draft-1")) == (
        SkipReason.EXCLUDED,
        "matches the exclude pattern */draft-*",
    )
    assert scope.refusal(url_of("https://example.com/about")) == (SkipReason.EXCLUDED, "matches no include pattern (/blog/*)")


def test_scope_is_judged_before_patterns() -> None:
    refusal = patterned(exclude=("*",)).refusal(url_of("https://other.example/"))
    assert refusal is not None
    assert refusal[0] is SkipReason.SCOPE


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("*.pdf", "/files/a.pdf", True),
        ("*.pdf", "/files/a.pdf?v=1", False),
        ("/private", "/private/x", True),
        ("/private", "/privateer", True),
        ("/private/*", "/private", False),
        ("blog/*", "/blog/2024/x", True),
        ("/a*b*c", "/a-x/b-y/c", True),
        ("/a*b*c", "/a-c-b", False),
        ("/a*a", "/a", False),
        ("*?page=*", "/list?page=2", True),
        ("*?page=*", "/list/page=2", False),
        ("/x[1]*", "/x[1]/y", True),
        ("/café/*", "/caf%C3%A9/x", True),
        ("https://example.com/x*", "/x/y", True),
        ("HTTPS://Example.COM:443/x", "/x/y", True),
        ("http://example.com/x*", "/x/y", False),
        ("*://example.com/x/*", "/x/y", True),
        ("*", "/", True),
    ],
)
def test_a_pattern_matches_path_and_query_or_the_whole_url(pattern: str, url: str, expected: bool) -> None:
    full = url_of(f"https://example.com{url}")
    assert Pattern(pattern).matches(full, full.target) is expected


def test_a_pattern_for_a_whole_url_matches_international_hosts() -> None:
    url = url_of("https://bücher.example/neu")
    assert Pattern("https://bücher.example/*").matches(url, url.target)


def test_an_empty_pattern_is_ignored() -> None:
    assert patterned(include=(" ",), exclude=("",)).refusal(url_of("https://example.com/a")) is None


def test_the_suffix_list_is_loaded_for_the_domain_scope_alone() -> None:
    code = (
        "import sys; from sitelore.frontier.scope import ScopeRule; from sitelore.model.settings import CrawlSettings;"
        "from sitelore.model.url import Url; u = Url.parse('https://example.com/');"
        "ScopeRule(CrawlSettings(seeds=(u,))).refusal(u); sys.exit('publicsuffixlist' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
