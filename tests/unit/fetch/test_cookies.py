from __future__ import annotations

import pytest
from tests.unit.fetch.raw_server import url_of

from sitelore.fetch.http.cookies import CookieJar

NOW = 1_700_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def sent(set_by: str, cookie: str, to: str) -> str | None:
    jar = CookieJar(Clock())
    jar.store(url_of(set_by), [cookie])
    return jar.header(url_of(to))


def test_an_empty_jar_is_false() -> None:
    assert not CookieJar(Clock())


@pytest.mark.parametrize(
    ("set_by", "cookie", "to", "header"),
    [
        ("http://a.example/", "sid=1", "http://a.example/x", "sid=1"),
        ("http://a.example/", "sid=1", "http://b.example/x", None),
        ("http://a.example/", "sid=1", "http://www.a.example/x", None),
        ("http://www.site.example/", "sid=1; Domain=site.example", "http://docs.site.example/", "sid=1"),
        ("http://www.site.example/", "sid=1; Domain=.Site.Example", "http://site.example/", "sid=1"),
        ("http://www.site.example/", "sid=1; Domain=other.example", "http://other.example/", None),
        ("http://site.example/", "sid=1; Domain=www.site.example", "http://www.site.example/", None),
        ("http://site.co.uk/", "sid=1; Domain=co.uk", "http://victim.co.uk/", None),
        ("http://site.com/", "sid=1; Domain=com", "http://victim.com/", None),
        ("http://evilsite.example/", "sid=1; Domain=site.example", "http://site.example/", None),
        ("http://127.0.0.1/", "sid=1; Domain=127.0.0.1", "http://127.0.0.1/", "sid=1"),
        ("http://127.0.0.1/", "sid=1; Domain=0.0.1", "http://127.0.0.1/", None),
        ("http://localhost:8000/", "sid=1; Domain=localhost", "http://localhost:8000/", "sid=1"),
        ("http://a.example/docs/page", "sid=1", "http://a.example/docs/other", "sid=1"),
        ("http://a.example/docs/page", "sid=1", "http://a.example/blog/", None),
        ("http://a.example/docs/page", "sid=1; Path=/", "http://a.example/blog/", "sid=1"),
        ("http://a.example/", "sid=1; Path=/docs", "http://a.example/docs", "sid=1"),
        ("http://a.example/", "sid=1; Path=/docs", "http://a.example/docs/deep", "sid=1"),
        ("http://a.example/", "sid=1; Path=/docs", "http://a.example/docs-old", None),
        ("https://a.example/", "sid=1; Secure", "https://a.example/", "sid=1"),
        ("https://a.example/", "sid=1; Secure", "http://a.example/", None),
        ("http://a.example/", "sid=1; Secure", "https://a.example/", None),
        ("https://a.example/", "__Host-sid=1; Secure; Path=/", "https://a.example/", "__Host-sid=1"),
        ("https://a.example/", "__Host-sid=1; Path=/", "https://a.example/", None),
        ("https://a.example/", "__Host-sid=1; Secure; Path=/; Domain=a.example", "https://a.example/", None),
        ("https://a.example/", "__Secure-sid=1", "https://a.example/", None),
        ("http://a.example/", "sid=1; Max-Age=60", "http://a.example/", "sid=1"),
        ("http://a.example/", "sid=1; Max-Age=0", "http://a.example/", None),
        ("http://a.example/", "sid=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://a.example/", None),
        ("http://a.example/", "sid=1; Expires=Wed, 09-Jun-2100 10:18:14 GMT", "http://a.example/", "sid=1"),
        ("http://a.example/", "sid=1; Expires=nonsense", "http://a.example/", "sid=1"),
        ("http://a.example/", "sid=a=b==; HttpOnly; SameSite=Lax", "http://a.example/", "sid=a=b=="),
        ("http://a.example/", "nameless", "http://a.example/", "nameless"),
        ("http://a.example/", "=", "http://a.example/", None),
        ("http://a.example/", "sid=1\x01", "http://a.example/", None),
        ("http://a.example/", "sid=" + "x" * 5000, "http://a.example/", None),
    ],
)  # fmt: skip
def test_a_cookie_is_sent_where_its_attributes_allow(set_by: str, cookie: str, to: str, header: str | None) -> None:
    assert sent(set_by, cookie, to) == header


def test_a_cookie_expires() -> None:
    clock = Clock()
    jar = CookieJar(clock)
    jar.store(url_of("http://a.example/"), ["sid=1; Max-Age=60"])
    clock.now += 61
    assert jar.header(url_of("http://a.example/")) is None


def test_a_cookie_is_replaced_and_removed_by_name_and_path() -> None:
    jar = CookieJar(Clock())
    url = url_of("http://a.example/docs/x")
    jar.store(url, ["sid=old", "sid=root; Path=/", "sid=new"])
    assert jar.header(url) == "sid=new; sid=root"
    jar.store(url, ["sid=; Max-Age=-1", "sid=; Path=/; Max-Age=0"])
    assert jar.header(url) is None
    assert not jar


def test_a_domain_keeps_at_most_fifty_cookies() -> None:
    jar = CookieJar(Clock())
    url = url_of("http://a.example/")
    jar.store(url, [f"c{number}=1" for number in range(500)])
    header = jar.header(url)
    assert header is not None
    assert header.count(";") == 49
    assert "c499=1" in header
