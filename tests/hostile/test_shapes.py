"""The work of reading a hostile page is proportional to its size. Work is counted in calls, which do not depend on the machine.

Compiled code and patterns are not counted; `make bench-shapes` measures their time.
"""

from __future__ import annotations

import sys
import tracemalloc
from types import FrameType

import pytest
from tests.hostile.shapes import SHAPES

from sitelore.extract.page import read
from sitelore.model.document import Reading, ReadOptions
from sitelore.model.response import Response
from sitelore.model.url import Url

GROWTH = 4
TOLERANCE = 1.4
SPARE_CALLS = 3_000
CALLS_PER_BYTE = 2
BYTES_PER_BYTE = 100
"""Growth that still counts as linear: from some size on a page may be read in another way, which adds a constant once."""
SPARE_BYTES = 2_000_000


def read_html(html: str) -> Reading:
    headers = (("content-type", "text/html; charset=utf-8"),)
    return read(Response(Url("http://site.example/dir/page"), 200, headers, html.encode()), ReadOptions())


def calls(html: str) -> int:
    """The number of calls of Python and compiled functions while a page is read."""
    count = 0

    def counted(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        read_html(html)
    finally:
        sys.setprofile(before)
    return count


def peak_bytes(html: str) -> int:
    tracemalloc.start()
    try:
        read_html(html)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", SHAPES)
def test_calls_and_memory_grow_at_most_with_the_page(name: str) -> None:
    shape = SHAPES[name]
    fixed, small, large = (shape.html(shape.size // 4 * factor) for factor in (0, 1, GROWTH))
    assert read_html(large).problem == ""  # also triggers lazy imports
    # Only the hostile part is counted: the rest is cheap and would hide its growth.
    growth = (len(large) - len(fixed)) / (len(small) - len(fixed))
    for work, spare, per_byte in ((calls, SPARE_CALLS, CALLS_PER_BYTE), (peak_bytes, SPARE_BYTES, BYTES_PER_BYTE)):
        around = work(fixed)
        bound = around + TOLERANCE * growth * max(0, work(small) - around) + spare
        assert work(large) <= max(bound, per_byte * len(large))


def test_calls_are_counted() -> None:
    html = "<p>word</p>" * 100
    assert calls(html * 50) > calls(html) > 100


@pytest.mark.parametrize("tag", ["<div>", "<b><p>", "<table><tr><td>", "<ul><li>"])
def test_two_hundred_thousand_levels_are_read(tag: str) -> None:
    assert read_html(f"<p>before {tag * (200_000 // tag.count('<'))} deep").document is not None


@pytest.mark.parametrize("name", ["data-state", "class", "style", "title", "onclick", "alt", "href", "srcset"])
def test_an_attribute_of_five_megabytes_is_read(name: str) -> None:
    html = (
        f"<article><h1>Mill</h1><p>The mill stands.</p><img {name}='{'x ' * 2_500_000}'><a {name}='{'y' * 99}'>z</a></article>"
    )
    reading = read_html(html)
    assert reading.problem == ""
    assert reading.word_count > 0
