from __future__ import annotations

import json
from typing import Any

import pytest

from sitelore.extract import dom
from sitelore.extract.interactive import forms as form_module
from sitelore.extract.interactive.forms import read_forms
from sitelore.extract.interactive.selectors import Selectors
from sitelore.extract.metadata.links import resolver_for
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


def test_a_repeated_form_is_read_once_and_then_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    first = forms(f"<p>a</p>{SEARCH}", "http://site.example/a/")
    monkeypatch.setattr(form_module._FormReader, "read", None)
    assert forms(f"<p>b</p>{SEARCH}", "http://site.example/b/") == first
    assert first[0]["kind"] == "search"


def test_changing_a_cached_form_does_not_change_the_next_one() -> None:
    expected = json.dumps(forms(SEARCH))
    for _ in range(2):
        [form] = forms(SEARCH)
        assert json.dumps([form]) == expected
        form["fields"].clear()


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
def test_the_context_of_a_cached_form_is_read_again(other: str) -> None:
    page = "http://site.example/c/"
    expected = anew(other, page)
    form_module._cache.clear()
    forms(f"<p>{SEARCH}")
    assert form_module._cache
    for _ in range(3):
        assert forms(other, page) == expected
    # The other page does not change the form of the first.
    assert forms(f"<p>{SEARCH}") == anew(f"<p>{SEARCH}")


def test_a_form_without_action_is_sent_to_its_own_page_on_every_page() -> None:
    form = "<form method=post><input name=mail type=email><button>Subscribe</button></form>"
    pages = ["http://site.example/a/", "http://site.example/b/"]
    forms(form)
    assert [forms(form, page)[0]["action"] for page in pages] == pages


def test_a_relative_address_is_resolved_on_every_page() -> None:
    form = "<form action='send'><textarea name=text></textarea><button>Send</button></form>"
    forms(form)
    resolved = [forms(form, page)[0]["action"] for page in ("http://site.example/a/", "http://site.example/b/c")]
    assert resolved == ["http://site.example/a/send", "http://site.example/b/send"]


def test_a_form_that_refers_to_other_parts_of_the_page_is_not_cached() -> None:
    form = "<form action=/x aria-labelledby=head><input name=n list=some aria-describedby=hint></form>"
    forms(f"<h2 id=head>Zero</h2>{form}")
    [first] = forms(f"<h2 id=head>One</h2><p id=hint>a hint</p><datalist id=some><option value=1></datalist>{form}")
    [second] = forms(f"<h2 id=head>Two</h2><p id=hint>another</p><datalist id=some><option value=2></datalist>{form}")
    assert (first["label"], second["label"]) == ("One", "Two")
    assert [one["fields"][0]["suggestions"] for one in (first, second)] == [["1"], ["2"]]


def test_the_cache_is_bounded() -> None:
    for number in range(form_module._CACHE_SIZE + 5):
        forms(f"<form action=/search{number}><input name=q></form>")
    assert 0 < len(form_module._cache) <= form_module._CACHE_SIZE
    known = list(form_module._cache)
    assert forms(f"<form action=/long><input name=q value='{'x' * form_module._MAX_CACHED_CHARS}'></form>")
    assert list(form_module._cache) == known


def test_the_oldest_entry_is_evicted_first() -> None:
    def search(number: int) -> str:
        return f"<form action=/search{number}><input name=q></form>"

    for number in range(form_module._CACHE_SIZE + 1):
        forms(search(number))
    known = list(form_module._cache)
    forms(search(form_module._CACHE_SIZE))
    assert list(form_module._cache) == known
    forms(search(0))
    assert list(form_module._cache)[:-1] == known[1:]
