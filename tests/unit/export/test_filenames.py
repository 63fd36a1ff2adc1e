from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitelore.export.filenames import FilenameAllocator, preferred_name
from sitelore.model.url import Url

RESERVED = {"con", "prn", "aux", "nul", "com1", "lpt9"}


def url(text: str) -> Url:
    parsed = Url.parse(text)
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("https://example.com/", "example.com/index.md"),
        ("https://example.com/a", "example.com/a.md"),
        ("https://example.com/a/b", "example.com/a/b.md"),
        ("https://example.com/a/", "example.com/a/index.md"),
        ("https://example.com/a.html", "example.com/a.md"),
        ("https://example.com/a.md/b", "example.com/a.md_/b.md"),
        ("http://localhost:8000/a", "localhost_8000/a.md"),
        ("http://[::1]:8000/a", "___1__8000/a.md"),
        ("https://example.com/%C3%BCber%20uns", "example.com/über-uns.md"),
        ("https://example.com/nul", "example.com/_nul.md"),
        ("https://example.com/CON.txt/x", "example.com/_CON.txt/x.md"),
        ("https://example.com/trailing.", "example.com/trailing_.md"),
        ("https://example.com/.env", "example.com/_env.md"),
        ("https://example.com/a//b", "example.com/a/_/b.md"),
    ],
)
def test_names_are_readable(text: str, name: str) -> None:
    assert preferred_name(url(text)) == name


def test_a_query_becomes_words_and_a_hash() -> None:
    name = preferred_name(url("https://example.com/list?page=2&sort=new"))
    assert name.startswith("example.com/list-page-2-sort-new-")
    assert name != preferred_name(url("https://example.com/list?page=2-sort=new"))


@pytest.mark.parametrize(
    "path",
    [
        "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/x", "%2fetc%2fpasswd", "a%00b", "..%5c..%5cwindows", "C:%5cx",
        "a%0ab", "x%e2%80%aey", "~root", "%ff%fe/..%2f", "." * 300, "é" * 400, "a/" * 900 + "b", "-rf", "a%7f",
        "%252e%252e%252f",
    ],
)  # fmt: skip
def test_no_path_breaks_out_of_the_folder(path: str) -> None:
    check(preferred_name(url(f"https://example.com/{path}")))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.one_of(st.characters(codec="utf-8"), st.sampled_from("./\\%:?*20")), max_size=80))
def test_no_text_at_all_breaks_out_of_the_folder(text: str) -> None:
    parsed = Url.parse(f"https://example.com/{text}")
    if parsed is not None:
        check(preferred_name(parsed))


def check(name: str) -> None:
    parts = PurePosixPath(name).parts
    assert not name.startswith("/")
    assert parts[0] == "example.com"
    assert len(name.encode()) < 1000
    for part in parts:
        assert len(part.encode()) <= 255
        assert not part.startswith(".")
        assert not part.endswith((".", " "))
        assert not set(part) & set('\\:*?"<>|\x00%')
        assert part.isprintable()
        assert part.partition(".")[0].lower() not in RESERVED
    assert name.endswith(".md")
    assert not any(part.lower().endswith(".md") for part in parts[:-1])


def test_names_that_differ_in_case_alone_are_kept_apart() -> None:
    names = FilenameAllocator()
    one, two = names.allocate(url("https://example.com/About")), names.allocate(url("https://example.com/about"))
    assert one == "example.com/About.md"
    assert two.startswith("example.com/about-")
    assert names.has("EXAMPLE.com/about.md")


def test_every_url_gets_a_unique_name() -> None:
    paths = (
        "a",
        "a.html",
        "a.htm",
        "A",
        "%61",
        "a/",
        "a/index",
        "a/index.html",
        "x%2fy",
        "x_y",
        "x%3ay",
        "?a=1",
        "?a=2",
        "?a-1",
    )
    urls = sorted({url(f"https://example.com/{path}") for path in paths} | {url("http://example.com/a")})
    names = FilenameAllocator()
    made = [names.allocate(one) for one in urls]
    assert len({name.casefold() for name in made}) == len(urls)
