"""The access of a run: which origin gets headers, cookies and local storage."""

from __future__ import annotations

import pytest

from sitelore.fetch.access import RunAccess, seed_origins
from sitelore.model.access import Access, Cookie, SiteAccess
from sitelore.model.settings import CrawlSettings, Scope
from sitelore.model.url import Url

KEY = SiteAccess(headers=(("X-Key", "k-4711"),))


def url_of(text: str) -> Url:
    url = Url.parse(text)
    assert url is not None
    return url


def sent(access: Access, url: str, *seeds: str, **headers: str) -> dict[str, str]:
    return dict(RunAccess(access, CrawlSettings(seeds=seeds)).apply(url_of(url), headers))


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [
        ("https://a.example/x", True),
        ("https://www.a.example/x", True),
        ("http://a.example/x", False),
        ("https://a.example:8443/x", False),
        ("https://b.a.example/x", False),
        ("https://b.example/?u=https://a.example/", False),
    ],
)
def test_headers_go_to_the_origins_of_the_seeds(url: str, is_sent: bool) -> None:
    assert ("X-Key" in sent(Access(seeds=KEY), url, "https://a.example/docs/")) is is_sent


def test_the_twin_with_www_counts_over_https_and_where_the_scope_takes_it() -> None:
    seeds = ("https://www.a.example/", "http://b.example/")
    assert seed_origins(CrawlSettings(seeds=seeds)) == ("https://www.a.example", "http://b.example", "https://a.example")
    assert seed_origins(CrawlSettings(seeds=seeds, scope=Scope.ORIGIN)) == ("https://www.a.example", "http://b.example")
    assert seed_origins(CrawlSettings(sitemaps=("http://c.example/s.xml",))) == ("http://c.example",)


def test_access_by_origin_needs_no_seed_and_applies_to_that_origin_alone() -> None:
    access = Access(origins={"http://api.example:8080": KEY})
    assert sent(access, "http://api.example:8080/v1", "https://a.example/") == {"X-Key": "k-4711"}
    assert sent(access, "http://api.example/v1", "https://a.example/") == {}
    assert sent(access, "https://a.example/", "https://a.example/") == {}


def test_options_of_the_run_win_over_access_by_origin() -> None:
    access = Access(seeds=SiteAccess(headers=(("x-key", "mine"),)), origins={"https://a.example": KEY})
    assert sent(access, "https://a.example/", "https://a.example/") == {"x-key": "mine"}


def test_a_header_replaces_the_clients_own_whatever_its_case() -> None:
    access = Access(seeds=SiteAccess(headers=(("user-agent", "mine"),)))
    headers = RunAccess(access, CrawlSettings(seeds=("https://a.example/",))).apply(
        url_of("https://a.example/"), {"Host": "a.example", "User-Agent": "Sitelore"}
    )
    assert headers == {"Host": "a.example", "user-agent": "mine"}


def test_cookies_match_by_domain_path_and_security_and_yield_to_those_of_the_site() -> None:
    cookies = (
        Cookie("plain", "1"),
        Cookie("sub", "2", domain=".example"),
        Cookie("other", "3", domain="other.example"),
        Cookie("path", "4", path="/docs"),
        Cookie("secure", "5", secure=True),
        Cookie("old", "6", expires=1.0),
    )
    access = Access(seeds=SiteAccess(cookies=cookies))
    https, http = "https://a.example/", "http://a.example/"
    assert sent(access, https, https)["Cookie"] == "plain=1; sub=2; secure=5"
    assert sent(access, f"{https}docs/x", https)["Cookie"] == "path=4; plain=1; sub=2; secure=5"
    assert sent(access, http, http)["Cookie"] == "plain=1; sub=2"
    assert sent(access, http, http, Cookie="plain=new; own=7")["Cookie"] == "sub=2; plain=new; own=7"


def test_a_domain_is_matched_at_a_dot() -> None:
    cookie = Cookie("a", "1", domain=".example.com")
    hosts = ("example.com", "www.example.com", "badexample.com", "example.com.evil")
    assert [cookie.belongs_to(host, is_https=True) for host in hosts] == [True, True, False, False]
    assert not Cookie("a", "1", domain="example.com").belongs_to("www.example.com", is_https=True)


def test_secrets_are_listed_for_redaction_and_have_no_repr() -> None:
    site = SiteAccess(
        headers=(("Authorization", "Bearer tok-en-4711"), ("X-Team", "documentation"), ("X-Key", "key-0815-x")),
        cookies=(Cookie("session", "sess-1234"), Cookie("lang", "english-text"), Cookie("n", "1")),
    )
    access = Access(seeds=site, passwords=("correct-horse", "short"))
    assert access.secrets() == ("correct-horse", "key-0815-x", "sess-1234", "tok-en-4711")
    assert not any(secret in repr(access) for secret in access.secrets())


def test_local_storage_is_kept_for_origins_of_the_access() -> None:
    storage = (("https://a.example", "token", "t"), ("https://b.example", "token", "u"))
    access = RunAccess(Access(seeds=SiteAccess(local_storage=storage)), CrawlSettings(seeds=("https://a.example/",)))
    assert access.local_storage() == {"https://a.example": [("token", "t")]}
