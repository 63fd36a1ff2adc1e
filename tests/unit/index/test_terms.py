"""Tokenisation and stemming: the terms of texts and queries."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitelore.index.terms import (
    MAX_QUERY_TERMS,
    MAX_TERM,
    STOP_WORD_WEIGHT,
    WORD,
    _parts,
    _term,
    query_terms,
    terms_of,
    vocabulary,
)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Deployments", "deployment"),
        ("the pod's volume", "the pod volume"),
        ("U.S.A.", "usa"),
        ("daemon-set", "DaemonSet"),
        ("ﬁle", "file"),
        ("Ｋｕｂｅ", "kube"),  # noqa: RUF001 - full-width letters are meant
        ("cafe\u0301s", "cafés"),
        ("STRASSE", "Straße"),
        ("hy\u00adphen", "hyphen"),
        ("don\u2019t", "don't"),
        ("__init__", "init"),
    ],
)
def test_words_that_are_written_otherwise_are_the_same(text: str, same: str) -> None:
    assert terms_of(text, "en") == terms_of(same, "en")


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("kube-apiserver", {"kube", "apiserv", "kubeapiserv"}),
        ("camelCase", {"camel", "case", "camelcas"}),
        ("snake_case", {"snake", "case", "snakecas"}),
        ("HTTPServer", {"http", "server", "httpserver"}),
        ("v1.2", {"v1", "2", "v1.2"}),
        ("C++", {"c++"}),
        ("C#", {"c#"}),
        ("x", {"x"}),
    ],
)
def test_an_identifier_is_split_and_kept(identifier: str, parts: set[str]) -> None:
    assert set(terms_of(identifier, "en")) == parts


def test_versions_are_distinguished_from_numbers() -> None:
    assert "12" not in terms_of("1.2")


@pytest.mark.parametrize(
    ("lang", "one", "other"),
    [
        ("de", "Häuser", "Hauses"),
        ("fr-FR", "chevaux", "cheval"),
        ("es", "bibliotecas", "biblioteca"),
        ("ru", "хранилища", "хранилище"),
        ("", "running", "runs"),
        ("ru", "servers", "server"),
        ("en", "данных", "данные"),
    ],
)
def test_endings_are_dropped_by_the_language_of_the_page_and_the_letters_of_the_word(lang: str, one: str, other: str) -> None:
    assert set(terms_of(one, lang)) == set(terms_of(other, lang))


def test_a_language_without_rules_keeps_its_words_as_they_are() -> None:
    assert set(terms_of("vrijednosti", "hr")) == {"vrijednosti"}


def test_scripts_without_spaces_give_pairs_and_single_characters() -> None:
    assert set(terms_of("部署Pod", "zh")) == {"部", "署", "部署", "pod"}


def test_a_query_uses_pairs_of_characters_and_single_isolated_ones() -> None:
    assert [word.terms for word in query_terms("日本語 茶", ["ja"])] == [("日本",), ("本語",), ("茶",)]


def test_vowel_signs_do_not_cut_words() -> None:
    assert len(terms_of("हिन्दी खोज", "hi")) == 2


def test_a_repeated_word_counts_twice() -> None:
    assert terms_of("pods and a pod", "en")["pod"] == 2


def test_a_query_has_the_terms_of_every_language_of_the_pages() -> None:
    [word] = query_terms("policies", ["en-US", "de"])
    assert set(word.terms) == {*terms_of("policies", "en"), *terms_of("policies", "de")}


def test_stop_words_have_a_lower_weight_and_are_marked() -> None:
    by_term = {word.terms[0]: word for word in query_terms("what is a pod", ["en"])}
    assert by_term["pod"].weight == 1.0
    assert not by_term["pod"].is_stop_word
    assert by_term["what"].weight == STOP_WORD_WEIGHT
    assert by_term["what"].is_stop_word


def test_a_question_has_bounded_words() -> None:
    assert len(query_terms(" ".join(f"w{number}" for number in range(1_000)))) == MAX_QUERY_TERMS


@given(st.text(max_size=300), st.sampled_from(["", "en", "de", "zh-Hant", "x-nonsense", "ar", "tr"]))
@settings(max_examples=150, deadline=None)
def test_any_text_has_terms_that_questions_find_again(text: str, lang: str) -> None:
    indexed = terms_of(text, lang)
    assert all(0 < len(term) <= MAX_TERM and count > 0 for term, count in indexed.items())
    assert {term for word in query_terms(text, [lang]) for term in word.terms} <= set(indexed)


@pytest.mark.parametrize(
    "hostile", ["a-" * 50_000, "a" * 200_000, "aB" * 50_000, "..." * 50_000, "e\u0301" * 50_000, "語" * 50_000]
)
def test_hostile_words_take_bounded_time(hostile: str) -> None:
    began = time.process_time()
    terms_of(hostile, "en")
    assert time.process_time() - began < 5


@given(st.text(alphabet="aAbBzZ09_-.'é語", min_size=1, max_size=12), st.sampled_from(["en", "de", ""]))
@settings(max_examples=400, deadline=None)
def test_a_simple_word_has_the_same_terms_as_when_it_is_split(text: str, lang: str) -> None:
    for word in WORD.findall(text):
        assert vocabulary(lang)[word] == tuple(_term(part, lang) for part, _ in _parts(word))


def test_an_isolated_point_is_not_a_term() -> None:
    assert terms_of("\u0300 a\u0300 \u0301\u0302", "en") == {"a": 1}
    assert [word.terms for word in query_terms("\u0300 pods", ["en"])] == [("pod",)]
