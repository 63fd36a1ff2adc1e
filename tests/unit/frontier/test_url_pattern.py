import pytest

from sitelore.frontier.url_pattern import DATED, FACETED, endless, url_pattern
from sitelore.model.url import Url


def url(text: str) -> Url:
    parsed = Url.parse(text)
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a/p/1", "http://a/p/22"),
        ("http://a/l1", "http://a/l99"),
        ("http://a/x?id=1&page=2", "http://a/x?page=7&id=3"),
        ("http://a/cal/2026/01", "http://a/cal/2031/12"),
        ("http://a/cal?month=2026-01", "http://a/cal?month=2027-02"),
        ("http://a/s/3f2504e0-4f89-11d3-9a0c-0305e82c3301", "http://a/s/9a0c0305e82c33013f2504e04f8911d3"),
        ("http://a/shop?color=red&size=2&brand=x", "http://a/shop?brand=y&price=4&size=1&color=b"),
    ],
)
def test_urls_of_one_template_have_one_pattern(one: str, other: str) -> None:
    assert url_pattern(url(one)) == url_pattern(url(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a/p/1", "http://b/p/1"),
        ("http://a/blog/first-post", "http://a/blog/second-post"),
        ("http://a/x?id=1", "http://a/x?q=1"),
        ("http://a/2026/05/a-story", "http://a/2026/05/another-story"),
    ],
)
def test_different_templates_have_different_patterns(one: str, other: str) -> None:
    assert url_pattern(url(one)) != url_pattern(url(other))


def test_calendars_and_facets_are_marked() -> None:
    assert DATED in url_pattern(url("http://a/events/2026/11/15"))
    assert DATED in url_pattern(url("http://a/events?year=2026"))
    assert FACETED in url_pattern(url("http://a/shop?a=1&b=2&c=3"))
    assert DATED not in url_pattern(url("http://a/events/2026"))


def test_growing_paths_are_endless() -> None:
    assert endless(url("http://a/" + "x/y/" * 4))
    assert endless(url("http://a/" + "/".join(f"s{i}" for i in range(60))))
    assert endless(url("http://a/?" + "&".join(f"p{i}=1" for i in range(40))))
    assert endless(url("http://a/" + "q" * 3000))
    assert endless(url("http://a/docs/v1/docs/guide/docs")) is None
    assert endless(url("http://a/1/1/1/1/1")) is None
