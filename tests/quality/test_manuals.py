"""Pages of documentation generators keep their whole content and lose their navigation.

The pages in `manuals/` are written for this test, in the markup of one generator each, and six of them in languages other than
English. How they are marked and compared: manual_checks.py. `make bench-docs` measures real manuals.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
import zstandard

from sitelore.extract.page import read
from sitelore.model.document import ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url

from .manual_checks import MarkedPage, Rendered, definition_problems, frame_problems, loss_problems, title_problems

_FOLDER = Path(__file__).parent / "manuals"
_NAMES = sorted(path.stem for path in _FOLDER.glob("*.html"))
_KINDS = ("heading", "code", "term", "paragraph", "row", "text")
every_page = pytest.mark.parametrize("name", _NAMES)


@cache
def page_of(name: str) -> MarkedPage:
    return MarkedPage((_FOLDER / f"{name}.html").read_text(encoding="utf-8"))


def markdown_of(html: str, name: str) -> str:
    headers = (("content-type", "text/html; charset=utf-8"),)
    reading = read(Response(Url(f"http://mills.example/{name}.html"), 200, headers, html.encode()), ReadOptions())
    assert reading.document is not None
    return str(json.loads(zstandard.decompress(reading.document.data))["markdown"])


@cache
def rendered_of(name: str) -> Rendered:
    return Rendered.of(markdown_of(page_of(name).html, name))


def none_of(problems: list[str]) -> None:
    assert not problems, "\n  ".join(["", *problems])


@every_page
def test_title_comes_first_and_once(name: str) -> None:
    none_of(title_problems(page_of(name), rendered_of(name)))


@every_page
def test_nothing_of_the_content_is_lost(name: str) -> None:
    none_of([problem for kind in _KINDS for problem in loss_problems(page_of(name), rendered_of(name), kind)])


@every_page
def test_terms_stay_with_their_definitions(name: str) -> None:
    none_of(definition_problems(page_of(name), rendered_of(name)))


@every_page
def test_no_navigation_is_kept(name: str) -> None:
    none_of(frame_problems(page_of(name), rendered_of(name)))


@every_page
def test_page_has_content_and_navigation_to_check(name: str) -> None:
    page = page_of(name)
    assert "data-mark" not in page.html
    assert sum(len(page.texts(kind)) for kind in _KINDS) >= 15
    assert len(page.frame_texts()) >= 1


_SMALL = """
<nav data-mark="frame"><a href="/">Back to the harbour</a></nav>
<main data-mark="content"><h1>Buoys</h1><p>Buoys mark the channel.</p><h2>Colours</h2>
<dl><dt>red</dt><dd>left when you come home</dd><dt>green</dt><dd>right when you come home</dd></dl>
<table><tr><td>red</td><td>even numbers</td></tr></table><pre>buoy --list
  --all</pre><div data-mark="text">Seen from the sea</div></main>
"""
_COMPLETE = """# Buoys

Buoys mark the channel.

## Colours

- red

  left when you come home
- green

  right when you come home

| | |
|---|---|
| red | even numbers |

```
buoy --list
  --all
```

Seen from the sea
"""


def problems_of(markdown: str) -> list[str]:
    page, rendered = MarkedPage(_SMALL), Rendered.of(markdown)
    losses = [problem for kind in _KINDS for problem in loss_problems(page, rendered, kind)]
    return [*title_problems(page, rendered), *losses, *definition_problems(page, rendered), *frame_problems(page, rendered)]


def test_checks_accept_complete_markdown() -> None:
    assert problems_of(_COMPLETE) == []


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("# Buoys\n", "", "begins with p"),
        ("# Buoys\n", "# Buoys\n\n# Buoys\n", "2 times"),
        ("## Colours", "Colours", "heading lost: 'Colours'"),
        ("Buoys mark the channel.", "", "paragraph lost"),
        ("- green\n", "- \n", "term lost: 'green'"),
        ("- red\n\n  left", "- left", "term 'red' is not directly before"),
        ("| even numbers |", "| |", "row lost"),
        ("  --all", "--all", "code lost"),
        ("Seen from the sea", "", "text lost"),
        ("Seen from", "[Back to the harbour](/)\n\nSeen from", "navigation kept"),
    ],
)
def test_checks_report_what_is_wrong(before: str, after: str, problem: str) -> None:
    assert before in _COMPLETE
    assert any(problem in each for each in problems_of(_COMPLETE.replace(before, after, 1)))
