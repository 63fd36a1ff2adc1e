"""Near duplicates: the fast way finds the pairs that comparing all pages with each other finds."""

from __future__ import annotations

import random
import re
from itertools import combinations

import pytest

from sitelore.audit import shingles
from sitelore.audit.shingles import clusters, jaccard, shingles_of, similar_pairs


def text_of(seed: int, words: int = 220) -> list[str]:
    chosen = random.Random(seed)
    return [f"w{chosen.randrange(3_000)}" for _ in range(words)]


def pages() -> dict[str, str]:
    """Families of pages, each made from one text by changing between none and a third of its words."""
    texts: dict[str, str] = {}
    for family in range(60):
        original = text_of(family)
        for member in range(5):
            chosen, words = random.Random(1000 * family + member), list(original)
            for _ in range(chosen.choice((0, 1, 2, 3, 5, 8, 70))):
                words[chosen.randrange(len(words))] = f"n{chosen.randrange(10**6)}"
            texts[f"/{family}/{member}"] = " ".join(words)
    return texts


def brute_force(texts: dict[str, str], threshold: float) -> set[tuple[str, str]]:
    """All pairs by their sets of five words."""
    words = {url: re.findall(r"\w+", text) for url, text in texts.items()}
    runs = {url: {tuple(each[at : at + 5]) for at in range(len(each) - 4)} for url, each in words.items()}
    pairs = set()
    for first, second in combinations(sorted(texts), 2):
        both = len(runs[first] & runs[second])
        if both and both / len(runs[first] | runs[second]) >= threshold:
            pairs.add((first, second))
    return pairs


@pytest.mark.parametrize("threshold", [0.9, 0.8, 0.7])
def test_near_duplicates_are_those_of_comparing_all_pages(threshold: float) -> None:
    texts = pages()
    expected = brute_force(texts, threshold)
    pairs = similar_pairs({url: shingles_of(text) for url, text in texts.items()}, threshold)
    assert len(expected) > 50
    assert {(pair.first, pair.second) for pair in pairs} == expected


def test_the_similarity_is_the_jaccard_index() -> None:
    words = text_of(1, 104)
    first, second = shingles_of(" ".join(words)), shingles_of(" ".join(words[:-10]))
    assert jaccard(first, second) == pytest.approx(90 / 100)
    assert jaccard(first, first) == 1
    assert jaccard(b"", b"") == 0


def test_case_and_punctuation_do_not_matter_and_short_texts_have_no_shingles() -> None:
    assert shingles_of("One, two. THREE four five!") == shingles_of("one two three four five")
    assert shingles_of("one two three four") == b""


def test_clusters_join_pages_that_are_alike_and_no_others() -> None:
    shingles = {url: shingles_of(text) for url, text in pages().items()}
    groups = clusters(similar_pairs(shingles, 0.9), shingles)
    assert groups
    for group in groups:
        assert len({url.split("/")[1] for url in group}) == 1
        assert len(group) == len(set(group))


def test_a_repeated_passage_counts_once() -> None:
    once, often = shingles_of("one two three four five " * 2), shingles_of("one two three four five " * 20)
    assert once == often
    assert len(often) == 5 * 4


@pytest.mark.parametrize(
    "text",
    [
        "a b c d e f g",
        "Straße ÄÖ_1 x-y 日本語 テスト 𠀀𠀁 😀 a\ud800b e",
        "İstanbul " * 9,
        "_" * 5 + " " + "a " * 7,
        " " * 9,
        "",
    ],
)
def test_words_are_those_of_a_regular_expression(text: str) -> None:
    assert len(shingles._word_hashes(text)) == len(re.findall(r"\w+", text))


def test_the_hash_of_a_word_depends_on_its_characters_alone() -> None:
    first, second, third, again = shingles._word_hashes("mills? wheel, wheels — mills")
    assert first == again
    assert len({first, second, third}) == 3
    assert shingles._word_hashes("x " * 99 + "mills")[-1] == first
    assert set(shingles._word_hashes("ab ba").tolist()) != {shingles._word_hashes("ab")[0]}


def test_text_beyond_the_bound_is_not_compared() -> None:
    text = " ".join(f"word{number}" for number in range(40_000))
    assert shingles_of(text) == shingles_of(text[: shingles.MAX_CHARS]) != shingles_of(text[: shingles.MAX_CHARS - 50])
