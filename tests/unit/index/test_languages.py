"""Stemming: which rules a word is stemmed by."""

from __future__ import annotations

import pytest

from sitelore.index.languages import stem


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("generalizations", "general"),
        ("happily", "happili"),
        ("skies", "sky"),
        ("news", "news"),
        ("exceeding", "exceed"),
        ("communism", "communism"),
        ("controllers", "control"),
        ("node's", "node"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("y", "y"),
        ("", ""),
    ],
)
def test_english_is_stemmed_by_porter_2(word: str, stemmed: str) -> None:
    assert stem(word, "en") == stemmed


@pytest.mark.parametrize(
    ("word", "language", "stemmed"),
    [
        ("running", "en", "run"),
        ("running", "", "run"),
        ("running", "zh", "run"),
        ("running", "hr", "running"),
        ("häuser", "de", "haus"),
        ("книгами", "en", "книг"),
    ],
)
def test_a_word_is_stemmed_by_its_page_or_its_script(word: str, language: str, stemmed: str) -> None:
    assert stem(word, language) == stemmed
