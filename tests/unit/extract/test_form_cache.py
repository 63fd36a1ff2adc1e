from __future__ import annotations

import json
from typing import Any

import pytest

from sitelore.extract import dom
from sitelore.extract.about.links import resolver_for
from sitelore.extract.interactive import forms as form_module
from sitelore.extract.interactive.forms import read_forms
from sitelore.extract.interactive.selectors import Selectors
from sitelore.model.url import Url

SEARCH = '<form action="/search"><input name="q" id="q" placeholder="Search"><button aria-label="Go">Go</button></form>'


def forms(source: str, page: str = "http://site.example/a/") -> tuple[dict[str, Any], ...]:
    tree, url = dom.parse(source), Url.trusted(page)
    return read_forms(tree, url, resolver_for(()).on_page(url), Selectors(tree))


def anew(source: str, page: str = "http://site.example/a/") -> tuple[dict[str, Any], ...]:
    """As a process reads it that has read nothing before."""
    form_module._cache.clear()
    return forms(source, page)


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    form_module._cache.clear()


def test_a_form_that_repeats_is_read_once_and_then_known(monkeypatch: pytest.MonkeyPatch) -> None:
    first = forms(f"<p>a</p>{SEARCH}", "http://site.example/a/")
    monkeypatch.setattr(form_module._FormReader, "read", None)
    assert forms(f"<p>b</p>{SEARCH}", "http://site.example/b/") == first
    assert first[0]["kind"] == "search"


def test_what_is_done_to_a_form_that_was_known_is_not_done_to_the_next() -> None:
    expected = json.dumps(forms(SEARCH))
    for _ in range(2):
        [found] = forms(SEARCH)
        assert json.dumps([found]) == expected
        found["fields"].clear()


@pytest.mark.parametrize(
    "other",
    [
        f"{SEARCH}<button aria-label='Go'>Up</button>",
        f"<input id=q>{SEARCH}",
        f"<label for=q>Find a page</label>{SEARCH}",
        f"<main>{SEARCH}{SEARCH}</main>",
        f"<search>{SEARCH}</search>",
        f"<fieldset disabled>{SEARCH}</fieldset>",
        f"<base href='http://other.example/'>{SEARCH}",
        f"<form id=other>{SEARCH}</form><input form=other name=far>",
        f"<label>All of it {SEARCH}</label>",
        f"<table><form><tr><td><input name=lost></table>{SEARCH}",
    ],
)
def test_what_surrounds_a_form_is_looked_at_again(other: str) -> None:
    page = "http://site.example/c/"
    expected = anew(other, page)
    form_module._cache.clear()
    forms(f"<p>{SEARCH}")
    assert form_module._cache
    for _ in range(3):
        assert forms(other, page) == expected
    # And what the other page taught is not told of the first.
    assert forms(f"<p>{SEARCH}") == anew(f"<p>{SEARCH}")


def test_a_form_that_leads_to_its_own_page_does_so_on_every_page() -> None:
    form = "<form method=post><input name=mail type=email><button>Subscribe</button></form>"
    pages = ["http://site.example/a/", "http://site.example/b/"]
    forms(form)
    assert [forms(form, page)[0]["action"] for page in pages] == pages


def test_a_relative_address_is_resolved_on_every_page() -> None:
    form = "<form action='send'><textarea name=text></textarea><button>Send</button></form>"
    forms(form)
    found = [forms(form, page)[0]["action"] for page in ("http://site.example/a/", "http://site.example/b/c")]
    assert found == ["http://site.example/a/send", "http://site.example/b/send"]


def test_what_refers_to_other_parts_of_the_page_is_read_anew() -> None:
    form = "<form action=/x aria-labelledby=head><input name=n list=some aria-describedby=hint></form>"
    forms(f"<h2 id=head>Zero</h2>{form}")
    [first] = forms(f"<h2 id=head>One</h2><p id=hint>a hint</p><datalist id=some><option value=1></datalist>{form}")
    [second] = forms(f"<h2 id=head>Two</h2><p id=hint>another</p><datalist id=some><option value=2></datalist>{form}")
    assert (first["label"], second["label"]) == ("One", "Two")
    assert [one["fields"][0]["suggestions"] for one in (first, second)] == [["1"], ["2"]]


def test_as_many_are_remembered_as_there_is_room_for() -> None:
    for number in range(form_module._CACHE_SIZE + 5):
        forms(f"<form action=/search{number}><input name=q></form>")
    assert 0 < len(form_module._cache) <= form_module._CACHE_SIZE
    known = list(form_module._cache)
    assert forms(f"<form action=/long><input name=q value='{'x' * form_module._MAX_CACHED_CHARS}'></form>")
    assert list(form_module._cache) == known


def test_the_oldest_goes_first() -> None:
    def search(number: int) -> str:
        return f"<form action=/search{number}><input name=q></form>"

    for number in range(form_module._CACHE_SIZE + 1):
        forms(search(number))
    known = list(form_module._cache)
    forms(search(form_module._CACHE_SIZE))
    assert list(form_module._cache) == known
    forms(search(0))
    assert list(form_module._cache)[:-1] == known[1:]
