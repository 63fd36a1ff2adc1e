"""Hrefs that compiled code resolves get the URL that the URL parser gives them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.corpora import corpus

from sitelore.extract.links import Mark, PlainHrefs, Resolver
from sitelore.model.url import DEFAULT_RULES, Url

BASES = [
    "http://site.example/dir/page",
    "https://www.site.example/",
    "http://127.0.0.1:8000/a/b/c.html?q=1",
    "https://site.example/a%20b/%C3%A9/x;y/z",
    "https://site.example/a%20b/c/~d/e",
    "http://[::1]/x//y/./",
]
RULES = DEFAULT_RULES.plus(["Ref", "track_*", "%c3%a9"])
_PIECES = st.sampled_from([
    "http://", "https://", "HTTP://", "//", "/", "/", "\\", "./", "../", "..", ".", "#", "#top", "?", "&", "=", ";", ":", "@",
    "a", "b.html", "dir/", "site.example", "www.other.example", "xn--a.example", "a--b.example", "-a.example", "a-.example",
    "127.0.0.1:8000", "host", "example.c1", "sub.example:80", "user@site.example", "utm_source=x", "UTM_x=1", "ref=1",
    "%52ef=2", "track_me=1", "q=1", "%C3%A9=1", "jsessionid=1", "%2e", "%2E%2e", "%41", "%7e", "%c3%a9", "%", "%4", "%zz",
    "%00", " ", "\t", "\n", "\xa0", "é", "'", "(", "|", "^", "{", "mailto:", "javascript:", "tel:+1", "data:", "x-y.z+1:",
    "1:2", "\x01", "\ud800", "漢",
])  # fmt: skip
_HREF = st.one_of(st.lists(_PIECES, max_size=7).map("".join), st.text(max_size=20))


def compiled(hrefs: list[str], base: str) -> list[Url | None]:
    return Resolver(RULES).on_page(base).urls(hrefs)


def parsed(hrefs: list[str], base: str) -> list[Url | None]:
    """One by one, by the parser."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlainHrefs, "resolve", lambda _, hrefs, *__: [Mark.PARSE] * len(hrefs))
        return Resolver(RULES).on_page(base).urls(hrefs)


def keys(*hrefs: str, base: str = BASES[0]) -> list[str]:
    return PlainHrefs(RULES).resolve(list(hrefs), base, Url.trusted(base).origin)


@settings(max_examples=600, deadline=None)
@given(st.lists(_HREF, max_size=8), st.sampled_from(BASES))
def test_compiled_and_parser_read_any_href_alike(hrefs: list[str], base: str) -> None:
    assert compiled(hrefs, base) == parsed(hrefs, base)


def test_compiled_and_parser_read_the_cases_of_others_alike() -> None:
    cases = json.loads(corpus("url_resolve_cases_cc.json").read_text(encoding="utf-8"))
    hrefs, bases = [case["input"] for case in cases], {Url.parse(case["base"]) for case in cases} - {None}
    assert bases
    for base in bases:
        assert compiled(hrefs, str(base)) == parsed(hrefs, str(base))


def test_most_links_take_no_parser() -> None:
    plain = [
        "/a/b.html", "/", "/a?b=1&c=2#d", "/a%20b", "http://site.example/x", "https://www.other.example", "//cdn.example/x?y",
        "b.html", "../", "../../up/x?y#z", "./", "?page=2", "c/d", "/a%2Fb?c=%41%c3",
    ]  # fmt: skip
    assert Mark.PARSE not in keys(*plain)
    assert [key.lstrip(Mark.OF_PAGE) for key in keys(*plain)] == parsed(plain, BASES[0])


def test_hrefs_relative_to_the_path_of_the_page_are_distinguished() -> None:
    assert keys("/a", "b", "?c", "", "#d", "mailto:a@b.example", "JavaScript:void(0)") == [
        "http://site.example/a",
        Mark.OF_PAGE + "http://site.example/dir/b",
        Mark.OF_PAGE + "http://site.example/dir/page?c",
        Mark.NOWHERE,
        Mark.HERE,
        Mark.NOWHERE,
        Mark.NOWHERE,
    ]


@pytest.mark.parametrize(
    "href",
    [
        "/a//b", "/./a", "/.hidden", "/a/%2e%2e/b", "/a;b", "/a%", "/a%4", "/a b", "/é", "//", "//host/", "/\\a", "http:a",
        "HTTP://a.example/", "http://user@a.example/", "http://a.example:80/", "http://xn--a.example/", "http://a..example/", "http://1.2.3.4/",
        ".", "..", "1:2", "/a?b='", "/a?b=%", " /a", "/a ", "/" + "x" * 5000,
    ],
)  # fmt: skip
def test_unusual_hrefs_are_left_to_the_url_parser(href: str) -> None:
    assert keys(href) == [Mark.PARSE]


def test_tracking_parameters_are_left_out() -> None:
    assert keys("/a?utm_source=x&q=1&&Ref=2&track_it", "/a?%52ef=1", "/a?refs=1&=&utm_") == [
        "http://site.example/a?q=1",
        "http://site.example/a",
        "http://site.example/a?refs=1&=",
    ]


def test_an_href_with_a_zero_byte_puts_no_other_in_its_place() -> None:
    odd = ["/a", "/b\0/c\0/d", "/e"]
    assert keys(*odd) == [Mark.PARSE] * 3
    assert compiled(odd, BASES[0]) == parsed(odd, BASES[0])


def test_more_links_than_are_remembered_are_all_found() -> None:
    hrefs = [f"/{number}" for number in range(30_000)]
    resolver = Resolver(RULES)
    page = resolver.on_page(BASES[0])
    assert page.urls(hrefs)[-1] == "http://site.example/29999"
    assert page.target("/7").markdown_url == "http://site.example/7"
    assert resolver.on_page(BASES[0]).urls(["/1", "x"]) == ["http://site.example/1", "http://site.example/dir/x"]


def test_a_memory_that_fills_up_on_a_page_loses_none_of_its_links() -> None:
    resolver = Resolver(RULES)
    first = [f"/{number}" for number in range(15_000)]
    resolver.on_page(BASES[0]).urls(first)
    mixed = [*first[:5], *[f"/new/{number}" for number in range(10_000)], "#x", "y", "mailto:a@b.example"]
    assert resolver.on_page(BASES[0]).urls(mixed) == parsed(mixed, BASES[0])
