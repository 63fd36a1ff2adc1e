"""English endings: our own reading of the rules gives what Snowball's gives."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import pytest
from bench.search import FILES, Questions
from hypothesis import given, settings
from hypothesis import strategies as st

from sitelore.index.stemming import stem
from sitelore.index.stemming_english import stem_english
from sitelore.index.terms import WORD

SNOWBALL = import_module("snowballstemmer.english_stemmer").EnglishStemmer()
BEGINNINGS = (
    "arsen commun emerg gener inter later organ past univers succ proc exc even cann inn earr herr out early gently idly only "
    "singly skies skis ugly andes atlas bias cosmos howe news sky hop hopp rat digit y yy by"
)
ENDINGS = (
    "anci enci ogi li bli abli alli fulli lessli ousli entli aliti biliti iviti tional ational alism ation ization izer ator "
    "iveness fulness ousness ogist icate ative alize iciti ical ful ness ic ance ence able ible ate ive ize iti al ism ion er "
    "ous ant ent ment ement ed ing edly ingly eed eedly s sses ies ied us ss ' 's 's' e l ll y at bl iz bb dd tt pp past ying"
)
written = st.builds(
    lambda beginning, middle, endings: beginning + middle + "".join(endings),
    st.sampled_from(["", *BEGINNINGS.split()]),
    st.text("aeiouybcdlmnprstwxg'", max_size=6),
    st.lists(st.sampled_from(ENDINGS.split()), max_size=3),
)


def snowball(word: str) -> str:
    return str(SNOWBALL.stemWord(word))


@given(written)
@settings(max_examples=3_000, deadline=None)
def test_an_english_word_has_the_stem_that_snowball_gives_it(word: str) -> None:
    assert stem_english(word) == snowball(word)


@given(st.text(max_size=12))
@settings(max_examples=500, deadline=None)
def test_whatever_is_taken_for_english_has_the_stem_that_snowball_gives_it(word: str) -> None:
    assert stem_english(word.casefold()) == snowball(word.casefold())


@cache
def words_of_the_corpora() -> list[str]:
    if not all(file.exists() for file in FILES):
        pytest.skip("the retrieval corpora are not there")
    texts = (text for file in FILES for text in Questions.read(file).docs.values())
    return sorted({word.casefold() for text in texts for word in WORD.findall(text)})


def test_every_word_of_the_corpora_has_the_stem_that_snowball_gives_it() -> None:
    differ = [word for word in words_of_the_corpora()[::3] if stem_english(word) != snowball(word)]
    assert differ == []


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
