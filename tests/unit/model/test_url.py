from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sitelore.model.url import DEFAULT_RULES, KeyRules, Url, whatwg


def key(raw: str, base: str | None = None) -> str | None:
    url = Url.parse(raw, base)
    return None if url is None else str(url)


# Pieces in which keys are known to go wrong, besides any text at all.
_PIECES = st.sampled_from(
    ["http://", "https:", "//", "/", "\\", "..", ".", "%2e", "%2E", "%41", "%", "%4", "%%34%31", "?", "&", "=", "#", "@",
     ":", ":80", ";jsessionid=", ";sid=1", "utm_source=x", "utm%5fa=1", "PHPSESSID", "a", "B", "é", "ß", "host.", "h..",
     "[::1]", "127.1", "0x7f", " ", "\t", "\n"]
)  # fmt: skip
_URLS = st.one_of(
    st.lists(_PIECES, max_size=12).map("".join),
    st.lists(_PIECES, max_size=12).map(lambda parts: "http://h" + "".join(parts)),
    st.text(max_size=60).map(lambda text: f"https://example.com/{text}"),
)


@given(_URLS)
@example("http://h/..;jsessionid=1/x")
@example("http://h/%%34%31")
@example("http://h/a%4%31")
@example("http://0x7f.1../")
@example("http://h/?utm%5Fsource=1&a=2")
@example("http://h/a;jsession%69d=12/x")
@example("http://h/" + "é" * 4000)
def test_the_key_form_is_idempotent(raw: str) -> None:
    once = Url.parse(raw)
    if once is not None:
        assert Url.parse(once) == once


@given(_URLS)
def test_a_key_has_the_form_that_trusted_urls_assume(raw: str) -> None:
    url = Url.parse(raw)
    if url is None:
        return
    assert url.scheme in {"http", "https"}
    assert url.isascii()
    assert "#" not in url
    assert "@" not in url.authority
    assert url.host
    assert not url.host.endswith(".")
    assert 0 <= url.port <= 65535
    assert url.path.startswith("/")
    assert not {".", ".."} & set(url.path.split("/"))
    assert f"{url.scheme}://{url.authority}" == url.origin
    assert url.origin + url.target == url


def test_eleven_of_twelve_spellings_have_one_key() -> None:
    base = "http://127.0.0.1:8900/b/65/start"
    page = "http://127.0.0.1:8900/b/65/x/page"
    spellings = [
        "x/page", "./x/page", "x/../x/page", "x/%70age", "x/page#frag", "HTTP://127.0.0.1:8900/b/65/x/page",
        "//127.0.0.1:8900/b/65/x/page", " x/page ", "x/pa\nge", "x\\page", "x/page?",
    ]  # fmt: skip
    assert {key(spelling, base) for spelling in spellings} == {page}
    # An empty segment is a segment (WHATWG §4.4): only equal content can show that this is the same page.
    assert key("x//../x/page", base) == "http://127.0.0.1:8900/b/65/x/x/page"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("HTTP://Example.COM:80/a/./b/../c", "http://example.com/a/c"),
        ("https://example.com:443", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("https://user:secret@example.com/x", "https://example.com/x"),
        ("http://user@[::1]:8080/x", "http://[::1]:8080/x"),
        ("https://example.com./x", "https://example.com/x"),
        ("https://example.com.:8443/x", "https://example.com:8443/x"),
        ("https://bücher.example/straße", "https://xn--bcher-kva.example/stra%C3%9Fe"),
        ("http://[2001:DB8:0:0::1]/", "http://[2001:db8::1]/"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://0x7f000001/", "http://127.0.0.1/"),
        ("http://h/%7euser/%2fa%c3%a9", "http://h/~user/%2Fa%C3%A9"),
        ("http://h/a?b=2&a=1", "http://h/a?b=2&a=1"),
        ("http://h/a?&b=%7e&&", "http://h/a?b=~"),
        ("http://h/100%", "http://h/100%"),
    ],
)
def test_spellings_become_the_key(raw: str, expected: str) -> None:
    assert key(raw) == expected


@pytest.mark.parametrize(
    "raw",
    ["", "example.com", "/path", "ftp://example.com/", "javascript:alert(1)", "data:text/html,x", "mailto:a@b.c", "file:///etc/passwd",
     "http://", "http://[bad", "http://a b.example/", "http://x:99999/", "http://./", "http://../x", "http://h../", "blob:http://x/y",
     "http://h/" + "a" * 9000, "http://\udc80/"],
)  # fmt: skip
def test_a_url_that_is_not_http_is_none(raw: str) -> None:
    assert Url.parse(raw) is None


def test_tracking_and_session_parameters_are_left_out_and_the_rest_keeps_its_order() -> None:
    raw = "http://h/p?z=1&utm_source=a&UTM_Medium=b&a=2&gclid=x&fbclid=y&PHPSESSID=1&sessionid=2&_ga=3&b"
    assert key(raw) == "http://h/p?z=1&a=2&b"
    assert key("http://h/p?utm_source=a") == "http://h/p"
    assert key("http://h/p?utmost=1&id=2&sid=3&page=4") == "http://h/p?utmost=1&id=2&sid=3&page=4"


def test_a_session_in_the_path_is_left_out() -> None:
    assert key("http://h/a;jsessionid=ABC123.node1/b;v=2?x=1") == "http://h/a/b;v=2?x=1"
    assert key("http://h/a;JSESSIONID=1") == "http://h/a"


def test_a_site_can_add_tracking_parameters() -> None:
    rules = DEFAULT_RULES.plus(["Ref", "trk-*"])
    assert Url.parse("http://h/?ref=1&trk-x=2&a=3&utm_id=4", rules=rules) == "http://h/?a=3"
    assert Url.parse("http://h/?ref=1") == "http://h/?ref=1"


def test_rules_match_names_by_prefix_and_ignore_case() -> None:
    rules = KeyRules(("a", "b_*"))
    assert [rules.drops(name) for name in ("a", "A", "ab", "b_", "B_x", "b")] == [True, True, False, True, True, False]


def test_the_parts_of_a_url() -> None:
    url = Url.parse("https://[::1]:8443/a/b?c=d/e")
    assert url is not None
    assert (url.scheme, url.host, url.port, url.authority) == ("https", "[::1]", 8443, "[::1]:8443")
    assert (url.origin, url.target, url.path, url.query) == ("https://[::1]:8443", "/a/b?c=d/e", "/a/b", "c=d/e")
    assert not url.is_root
    root = Url.parse("http://example.com")
    assert root is not None
    assert (root.port, root.is_root, root.query) == (80, True, "")


def test_a_relative_link_is_read_on_its_page() -> None:
    base = "https://example.com/docs/guide/start.html?x=1"
    assert key("next", base) == "https://example.com/docs/guide/next"
    assert key("../api", base) == "https://example.com/docs/api"
    assert key("?page=2", base) == "https://example.com/docs/guide/start.html?page=2"
    assert key("#top", base) == "https://example.com/docs/guide/start.html?x=1"
    assert key("//cdn.example.com", base) == "https://cdn.example.com/"
    assert key("mailto:a@b.c", base) is None


def test_whatwg_keeps_what_a_browser_keeps() -> None:
    assert whatwg("b#c", "ftp://u:p@h/a/") == "ftp://u:p@h/a/b#c"
    assert whatwg("nothing") is None


_ODD_HOSTS = (
    "example.com",
    "a.b-c.co.uk",
    "x--y.com",
    "xn--a.com",
    "a-.com",
    "-a.com",
    "a..com",
    "1.2.3.4",
    "a.1",
    "a.0x7f",
    "a_b.com",
)


@given(
    st.sampled_from(("http://", "https://")),
    st.sampled_from(_ODD_HOSTS),
    st.text("abZ09-._~!$&'()*+,;=:@/%?# \\|é", max_size=14),
)
def test_a_url_on_the_fast_path_is_one_that_the_parser_would_not_change(scheme: str, host: str, rest: str) -> None:
    raw = f"{scheme}{host}/{rest}"
    through_the_parser = Url.parse(raw, "http://other.test/")  # with a base, the fast path is not used
    assert Url.parse(raw) == through_the_parser
    if not rest.startswith(("/", "\\")):
        assert Url.below(f"{scheme}site.test:8080", f"/{rest}") == Url.parse(f"/{rest}", f"{scheme}site.test:8080/")


@given(
    st.lists(
        st.sampled_from(
            ("a=1", "&", "utm_source=x", "q", "?", "%41", "%2f", ";", "PHPSESSID=3", "#", "'", "=", "/..", "é", " ")
        )
    )
)
def test_a_query_on_the_fast_path_is_one_that_the_parser_would_not_change(parts: list[str]) -> None:
    target = f"/path?{''.join(parts)}"
    through_the_parser = Url.parse(target, "https://site.example/")
    assert Url.parse(f"https://site.example{target}") == Url.below("https://site.example", target) == through_the_parser


def test_a_long_url_that_is_not_plain_is_given_up_at_once() -> None:
    assert Url.parse("https://www.example.com" + "/a-b" * 2000 + "/%41") is not None
    assert Url.parse("https://" + "a." * 4000 + "%/") is None
