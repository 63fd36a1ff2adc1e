"""The list "Data flow of one URL" in docs/architecture.md is checked against a real crawl of one page."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import pytest
from tests.conventions.project import DOCS, SRC
from tests.support.http_server import page, prose, serve_site, site

from sitelore.cli.main import main

MAX_STEPS = 15
HEADING = "## 3. Data flow of one URL"
_STEP = re.compile(r"^(\d+)\. (.*(?:\n .*)*)", re.MULTILINE)
_FUNCTION = re.compile(r"`([\w/]+\.py)`\s+`([\w.]+)`")

Function = tuple[str, str]
"""A file from the package's root and the qualified name of a function in it."""


def steps() -> list[list[Function]]:
    """The functions that each step of the list names, in order."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    section = text.partition(HEADING)[2].partition("\n## ")[0]
    numbered = _STEP.findall(section)
    assert [int(number) for number, _ in numbered] == list(range(1, len(numbered) + 1))
    return [_FUNCTION.findall(step) for _, step in numbered]


@contextmanager
def first_calls(calls: dict[Function, int]) -> Iterator[None]:
    """Number the functions of the package by their first call in any thread, while the block runs."""
    seen: set[CodeType] = set()

    def record(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code not in seen:
            seen.add(code)
            if code.co_filename.startswith(f"{SRC}/"):
                calls.setdefault((code.co_filename.removeprefix(f"{SRC}/"), code.co_qualname), len(calls))

    before = sys.getprofile()
    threading.setprofile(record)
    sys.setprofile(record)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(before)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> dict[Function, int]:
    """The first calls of `sitelore crawl URL` for a site of one page."""
    calls: dict[Function, int] = {}
    data: Path = tmp_path_factory.mktemp("one-url")
    with serve_site(site({"/": page("Home", prose("home"))})) as http_server:
        arguments = ["crawl", http_server.url("/"), "--data", str(data)]
        with first_calls(calls):
            assert main(arguments) == 0
        assert http_server.targets() == ["/"]
    return calls


def test_the_list_has_few_steps_and_each_names_a_function() -> None:
    listed = steps()
    assert 0 < len(listed) <= MAX_STEPS
    assert [number for number, functions in enumerate(listed, 1) if not functions] == []


def test_every_function_of_the_list_is_called_for_one_url(calls: dict[Function, int]) -> None:
    assert [function for functions in steps() for function in functions if function not in calls] == []


def test_the_functions_are_first_called_in_the_order_of_the_list(calls: dict[Function, int]) -> None:
    listed = [function for functions in steps() for function in functions]
    assert listed == sorted(listed, key=calls.__getitem__)
