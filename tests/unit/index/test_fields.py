"""The fields of a chunk and their weights."""

from __future__ import annotations

import pytest

from sitelore.index.fields import PageFields, address_words
from sitelore.model.ids import ChunkId, CleanText
from sitelore.model.search import Chunk
from sitelore.model.url import Url


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/html/postmap.1.html", "postmap.1"),
        ("/docs/auth/index.html", "auth"),
        ("/docs/auth/", "auth"),
        ("/docs/index.en.html", "docs"),
        ("/lang_upsert.html?print=1#top", "lang_upsert"),
        ("/%E5%A4%87%E4%BB%BD", "备份"),
        ("/", ""),
    ],
)
def test_the_address_of_a_page_is_its_last_name(path: str, words: str) -> None:
    url = Url.parse(f"https://a.example{path}")
    assert url is not None
    assert address_words(url) == words


def test_words_of_the_title_and_the_address_count_more_than_mentions() -> None:
    chunk = Chunk(ChunkId("a" * 32), CleanText("Maps are built by postmap."), 0, 26, 7)
    terms, length = PageFields("Lookup tables", "en", "postmap.1").weighted_terms(chunk)
    assert (terms["postmap"], terms["lookup"], terms["map"]) == (3, 3, 1)
    assert length == 10
