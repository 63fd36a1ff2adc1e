"""Operators of a query, suggestions for misspelt words, and the explanation of a score."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from bench.search_store import SearchStore, Text, open_sqlite_store

from sitelore.index.query_syntax import parse_query
from sitelore.index.search import Searcher
from sitelore.index.spelling import edit_distance, nearest_term
from sitelore.model.search import SearchAnswer, SearchQuery

PAGES = (
    Text("https://a.example/docs/locks", ("Rows are locked before they are updated.",), "Explicit locking"),
    Text("https://a.example/docs/waits", ("A lock waits. Before rows, tables are locked.",), "Waiting", dated=1_700_000_000.0),
    Text("https://a.example/blog/config", ("The configuration of a lantern.",), "Lantern", lang="de", dated=1_600_000_000.0),
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SearchStore]:
    async with open_sqlite_store(tmp_path / "library.db") as opened:
        await opened.add_pages(PAGES)
        yield opened


async def search(store: SearchStore, text: str, **more: object) -> SearchAnswer:
    return await Searcher(store.search_index).search(replace(SearchQuery(text), **more))  # type: ignore[arg-type] # as above


def paths(answer: SearchAnswer) -> set[str]:
    return {hit.chunk.url.partition("example")[2] for hit in answer.hits}


def test_operators_are_read_and_words_stay_words() -> None:
    parsed = parse_query(
        SearchQuery('std::vector "row lock" site:a.example path:docs lang:de after:2024-05-01 conf* after:noon')
    )
    assert (parsed.query.sites, parsed.query.path, parsed.query.langs) == (("a.example",), "/docs", ("de",))
    assert (parsed.query.since, parsed.phrases, parsed.prefixes) == (1_714_521_600.0, ("row lock",), ("conf",))
    assert parsed.query.text.split() == ["std::vector", "row", "lock", "after:noon"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("locked", {"/docs/locks", "/docs/waits"}),
        ('"tables are locked"', {"/docs/waits"}),
        ('"locked tables"', set()),
        ("conf*", {"/blog/config"}),
        ("lantern path:/docs", set()),
        ("lantern lang:de", {"/blog/config"}),
        ("locked after:2023-01-01", {"/docs/waits"}),
        ("locked site:other.example", set()),
    ],
)
async def test_operators_filter_results(store: SearchStore, text: str, expected: set[str]) -> None:
    assert paths(await search(store, text)) == expected


async def test_a_misspelt_word_gets_a_suggestion_and_no_results(store: SearchStore) -> None:
    answer = await search(store, "lantren")
    assert (answer.hits, answer.suggestion) == ((), "lantern")
    assert (await search(store, "lantern")).suggestion == ""
    assert (await search(store, "xqzzyv")).suggestion == ""


async def test_a_score_is_between_zero_and_one_and_explained(store: SearchStore) -> None:
    answer = await search(store, "explicit locking of unknownthings", explain=True)
    hit = answer.hits[0]
    assert 0 < hit.score < 1
    assert hit.explanation is not None
    assert {word.term: word.fields for word in hit.explanation.words}["explicit"] == ("title",)
    whole = await search(store, "explicit locking")
    assert whole.hits[0].score > hit.score, "a word that is on no page lowers the score"


def test_distances_count_edits_and_swaps() -> None:
    assert [edit_distance("lantern", word, 2) for word in ("lantern", "lantren", "lanterns", "latnern", "candle")] == [
        0,
        1,
        1,
        1,
        3,
    ]
    assert nearest_term("lantren", [("lantern", 3), ("lanterns", 9), ("other", 99)]) == "lantern"
    assert nearest_term("abc", [("abd", 1)]) == ""
