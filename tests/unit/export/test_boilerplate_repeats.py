from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable

from sitelore.export.boilerplate import MAX_SAMPLED_PAGES, NO_REPEATS, find_repeats, repeats_among
from sitelore.model.document import LINES, line_numbers, lines_of, sketch_of
from sitelore.model.frontier import PageSketch
from sitelore.model.url import Url

COOKIES = "We use cookies to make this site work for you."


def own(topic: str, lines: int = 6) -> list[str]:
    return [f"Line {number} speaks of {topic} and of nothing else." for number in range(lines)]


def page(path: str, *lines: str) -> PageSketch:
    return PageSketch(Url.trusted(f"http://a.example{path}"), sketch_of("\n".join(lines).lower().encode()))


async def stream(pages: Iterable[PageSketch]) -> AsyncIterator[PageSketch]:
    for one in pages:
        yield one


def repeated(pages: Iterable[PageSketch], line: str, path: str = "/") -> bool:
    return line_numbers(line)[0] in repeats_among(pages).on(Url.trusted(f"http://a.example{path}"))


def test_a_sketch_holds_one_number_a_line_and_reads_capitals_alike() -> None:
    assert lines_of(sketch_of(b"one\ntwo")) == line_numbers("One\nTWO")
    assert lines_of(b"") == []


def test_the_sketch_of_a_long_page_keeps_its_ends() -> None:
    lines = [f"line {number}" for number in range(1000)]
    numbers = lines_of(sketch_of("\n".join(lines).encode()))
    assert len(numbers) == LINES
    assert numbers[0] == line_numbers("line 0")[0]
    assert numbers[-1] == line_numbers("line 999")[0]


def test_a_line_on_three_different_pages_repeats() -> None:
    pages = [page(f"/{name}", *own(name), COOKIES) for name in ("apples", "bears", "clouds")]
    assert repeated(pages, COOKIES)
    assert not any(repeated(pages, line) for line in own("apples"))


def test_two_pages_have_nothing_that_repeats() -> None:
    assert repeats_among([page(f"/{name}", *own(name), COOKIES) for name in ("apples", "bears")]) == NO_REPEATS


def test_a_line_on_few_of_many_pages_does_not_repeat() -> None:
    pages = [page(f"/{n}/x", *own(f"topic {n}"), *([COOKIES] if n < 9 else [])) for n in range(50)]
    assert not repeated(pages, COOKIES)
    pages = [page(f"/{n}/x", *own(f"topic {n}"), *([COOKIES] if n < 10 else [])) for n in range(50)]
    assert repeated(pages, COOKIES)


def test_a_line_of_one_folder_repeats_there_and_nowhere_else() -> None:
    posts = [page(f"/blog/{n}", *own(f"post {n}"), COOKIES) for n in range(6)]
    rest = [page(f"/{n}/x", *own(f"topic {n}")) for n in range(60)]
    assert repeated([*posts, *rest], COOKIES, "/blog/3")
    assert not repeated([*posts, *rest], COOKIES, "/5/x")


def test_versions_of_one_page_do_not_make_its_lines_repeat() -> None:
    pages = [page(f"/{topic}/v{n}", *own(topic), f"Version {n} of {topic}.") for topic in ("a", "b", "c") for n in range(3)]
    assert repeats_among(pages) == NO_REPEATS


def test_an_excerpt_in_lists_of_a_small_site_does_not_repeat() -> None:
    first = own("apples")[0]
    lists = [page(f"/tag-{n}", f"Tag {n}", first, *own(f"tag {n}", 2)) for n in range(3)]
    rest = [page(f"/{name}", *own(name)) for name in "abcdefgh"]
    assert not repeated([page("/apples", *own("apples")), *lists, *rest], first)


async def test_the_order_of_pages_does_not_matter() -> None:
    pages = [page(f"/{n % 3}/{n}", *own(f"topic {n}"), COOKIES, *(["Often."] * (n % 2))) for n in range(40)]
    repeats = await find_repeats(stream(pages))
    assert line_numbers(COOKIES)[0] in repeats.everywhere
    for seed in range(5):
        shuffled = pages[:]
        random.Random(seed).shuffle(shuffled)
        assert await find_repeats(stream(shuffled)) == repeats


async def test_a_large_site_is_judged_by_a_sample_that_is_always_the_same() -> None:
    pages = [page(f"/{n % 7}/{n}", *own(f"topic {n}", 2), COOKIES) for n in range(MAX_SAMPLED_PAGES + 500)]
    repeats = await find_repeats(stream(pages))
    assert repeats.everywhere == set(line_numbers(COOKIES))
    assert await find_repeats(stream(reversed(pages))) == repeats
