from __future__ import annotations

from typing import Any

import pytest

from sitelore.extract import dom
from sitelore.extract.links import resolver_for
from sitelore.extract.offers import known_forms
from sitelore.extract.offers.forms import read_forms
from sitelore.extract.offers.selectors import Selectors
from sitelore.model.url import Url

SEARCH = '<form action="/search"><input name="q" id="q" placeholder="Search"><button aria-label="Go">Go</button></form>'


def forms(source: str, page: str = "http://site.example/a/") -> tuple[dict[str, Any], ...]:
    tree, url = dom.parse(source), Url.trusted(page)
    return read_forms(tree, url, resolver_for(()).on_page(url), Selectors(tree))


def learn(source: str) -> None:
    """A form is remembered when it is met for the second time."""
    forms(source)
    forms(source)


def anew(source: str, page: str = "http://site.example/a/") -> tuple[dict[str, Any], ...]:
    """As a process reads it that has read nothing before."""
    known_forms._forms.clear()
    known_forms._met.clear()
    return forms(source, page)


@pytest.fixture(autouse=True)
def _nothing_is_known() -> None:
    known_forms._forms.clear()
    known_forms._met.clear()


def test_a_form_that_repeats_is_read_twice_and_then_known() -> None:
    first, second, third = (forms(f"<p>{text}</p>{SEARCH}", f"http://site.example/{text}/")[0] for text in "abc")
    assert first == second == third
    assert second is third
    assert third["kind"] == "search"


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
    known_forms._forms.clear()
    learn(f"<p>{SEARCH}")
    assert known_forms._forms
    for _ in range(3):
        assert forms(other, page) == expected
    # And what the other page taught is not told of the first.
    assert forms(f"<p>{SEARCH}") == anew(f"<p>{SEARCH}")


def test_a_form_that_leads_to_its_own_page_does_so_on_every_page() -> None:
    form = "<form method=post><input name=mail type=email><button>Subscribe</button></form>"
    pages = ["http://site.example/a/", "http://site.example/b/"]
    learn(form)
    assert [forms(form, page)[0]["action"] for page in pages] == pages


def test_a_relative_address_is_resolved_on_every_page() -> None:
    form = "<form action='send'><textarea name=text></textarea><button>Send</button></form>"
    learn(form)
    found = [forms(form, page)[0]["action"] for page in ("http://site.example/a/", "http://site.example/b/c")]
    assert found == ["http://site.example/a/send", "http://site.example/b/send"]


def test_what_refers_to_other_parts_of_the_page_is_read_anew() -> None:
    form = "<form action=/x aria-labelledby=head><input name=n list=some aria-describedby=hint></form>"
    learn(f"<h2 id=head>Zero</h2>{form}")
    [first] = forms(f"<h2 id=head>One</h2><p id=hint>a hint</p><datalist id=some><option value=1></datalist>{form}")
    [second] = forms(f"<h2 id=head>Two</h2><p id=hint>another</p><datalist id=some><option value=2></datalist>{form}")
    assert (first["label"], second["label"]) == ("One", "Two")
    assert [one["fields"][0]["suggestions"] for one in (first, second)] == [["1"], ["2"]]


def test_as_many_are_remembered_as_there_is_room_for() -> None:
    for number in range(known_forms._MAX_FORMS + 5):
        learn(f"<form action=/search{number}><input name=q></form>")
    assert 0 < len(known_forms._forms) <= known_forms._MAX_FORMS
    learn(f"<form action=/long><input name=q value='{'x' * known_forms._MAX_MARKUP}'></form>")
    assert all(len(markup) <= known_forms._MAX_MARKUP for markup, *_ in known_forms._forms)
