from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.corpora import corpus

from sitelore.model.settings import Identity, QueryForm, SlashForm
from sitelore.model.url import Url, identity, normalize, resolve

# Two URLs without a host, and one input whose quotes are those of the Java source it was copied from.
_NOT_ADDRESSES = {"http:////", "http:///////", '"http://www.example.com/a/c/../b/search?q=foobar"""'}


def identity_of(raw: str, options: Identity) -> str:
    url = Url.parse(raw)
    assert url is not None
    return identity(url, options)


def test_without_options_identity_is_the_key() -> None:
    assert identity_of("http://Example.com/a/?b=2&a=1", Identity()) == "http://example.com/a/?b=2&a=1"


def test_forcing_https_joins_the_two_default_ports_only() -> None:
    options = Identity(force_https=True)
    assert identity_of("http://example.com/a?b", options) == "https://example.com/a?b"
    assert identity_of("https://example.com/a", options) == "https://example.com/a"
    assert identity_of("http://example.com:8080/a", options) == "http://example.com:8080/a"
    assert identity_of("http://[::1]/a", options) == "https://[::1]/a"


@pytest.mark.parametrize(
    ("path", "added", "stripped"),
    [
        ("/", "/", "/"),
        ("/a", "/a/", "/a"),
        ("/a/", "/a/", "/a"),
        ("/a.html", "/a.html", "/a.html"),
        ("/a//", "/a//", "/a"),
        ("/a?q=/", "/a/?q=/", "/a?q=/"),
    ],
)
def test_one_slash_form(path: str, added: str, stripped: str) -> None:
    assert identity_of(f"https://h{path}", Identity(slash=SlashForm.ADD)) == f"https://h{added}"
    assert identity_of(f"https://h{path}", Identity(slash=SlashForm.STRIP)) == f"https://h{stripped}"


def test_a_query_may_be_sorted_or_dropped() -> None:
    raw = "https://h/a?c=1&b=2&c=0&a"
    assert identity_of(raw, Identity(query=QueryForm.SORT)) == "https://h/a?a&b=2&c=1&c=0"
    assert identity_of(raw, Identity(query=QueryForm.DROP)) == "https://h/a"


def test_normal_forms_of_the_corpus() -> None:
    cases = json.loads(corpus("url_normalize_cases_cc.json").read_text())
    wrong = {case["input"] for case in cases if normalize(case["input"]) != case["expected"]}
    print(f"normalised as expected: {sum(case['input'] not in wrong for case in cases)} of {len(cases)}")
    assert wrong <= _NOT_ADDRESSES


def test_links_of_the_corpus_resolve() -> None:
    cases = json.loads(corpus("url_resolve_cases_cc.json").read_text())
    assert [case for case in cases if resolve(case["base"], case["input"]) != case["expected"]] == []


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/../../a", "http://example.com/a"),
        ("http://example.com/a#part", "http://example.com/a"),
        ("http://example.com/%7Eann", "http://example.com/~ann"),
        ("http://example.com/a%2fb", "http://example.com/a%2Fb"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http://example.com/\u00e9", "http://example.com/%C3%A9"),
        ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("  http://example.com/a\n", "http://example.com/a"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
    ],
)
def test_a_url_has_one_normal_form(raw: str, normal: str) -> None:
    assert normalize(raw) == normal


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("c", "https://h.example/a/c"),
        ("./c", "https://h.example/a/c"),
        ("../c", "https://h.example/c"),
        ("../../../c", "https://h.example/c"),
        ("/c", "https://h.example/c"),
        ("//other.example/c", "https://other.example/c"),
        ("?q=1", "https://h.example/a/b?q=1"),
        ("", "https://h.example/a/b?x=y"),
        ("#top", "https://h.example/a/b?x=y#top"),
        ("c?d=../e", "https://h.example/a/c?d=../e"),
        ("http:c", "http://c/"),
        (" c ", "https://h.example/a/c"),
        ("c;v=1/d", "https://h.example/a/c;v=1/d"),
    ],
)
def test_a_link_is_resolved_against_its_page(href: str, url: str) -> None:
    assert resolve("https://h.example/a/b?x=y", href) == url


@given(st.text(alphabet='ab/.%2eE4?&=;:#[]{}|\\^"é ', max_size=30))
def test_normalisation_is_idempotent(text: str) -> None:
    once = normalize(f"http://h/{text}")
    assert once is not None
    assert normalize(once) == once


def test_an_invalid_url_has_no_normal_form() -> None:
    assert [normalize(raw) for raw in ("", "  ", "javascript:alert(1)", "http://", "http://a b/")] == [None] * 5
    assert resolve("https://h/", "http://[bad") is None
    assert resolve("", "relative") is None
