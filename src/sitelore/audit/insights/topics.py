"""Insight about topics: the phrases that distinguish each section of a site."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

MAX_TERMS = 40
"""Of one page: its most frequent words and phrases."""
MAX_COUNTED = 20_000
"""Terms that are counted for the site. Beyond it, those of one page alone are dropped."""
MAX_COUNTED_IN_SECTION = 3_000
MAX_WORDS_IN_SECTION = 1_000
MAX_SECTIONS = 100
_MAX_CHARS = 3_000
"""Of the start of a page's text."""
_MIN_SHARE, _MIN_PAGES = 0.1, 2
_MAX_SHARE = 0.3
"""Terms on more than this share of all pages say nothing about a section."""
_COMMON_SHARE = 0.15
"""A word on more than this share of the pages of other sections says nothing about a section."""
_WORD = re.compile(r"[^\W\d_][\w'-]{3,39}")


class PageTerms(NamedTuple):
    """The words and phrases of a page."""

    frequent: list[str]
    """The words and two-word phrases that occur most, those of its title and headings counted three times."""
    words: AbstractSet[str]
    """All words."""


def terms_of(title: str, headings: Iterable[str], text: str) -> PageTerms:
    """The words and phrases of a page."""
    of_text = _WORD.findall(text[:_MAX_CHARS].lower())
    of_parts = [_WORD.findall(part.lower()) for part in (title, *headings)]
    # A phrase that occurs twice consists of words that do.
    often = {word for word, count in Counter(of_text).items() if count > 1}.union(*of_parts)
    terms = _terms(of_text, often)
    for words in of_parts:
        terms += 3 * _terms(words, often)
    ordered = [each for each in Counter(terms).items() if each[1] > 1]
    ordered.sort(key=itemgetter(1), reverse=True)  # terms that occur equally often stay in the order of the page
    return PageTerms([term for term, _ in ordered[:MAX_TERMS]], set(of_text).union(*of_parts))


def _terms(words: Sequence[str], often: Container[str]) -> list[str]:
    """The words of a text that occur often, and its pairs of different ones among them."""
    pairs = [f"{first} {second}" for first, second in pairwise(words) if first in often and second in often and first != second]
    return [word for word in words if word in often] + pairs


@dataclass(frozen=True, slots=True)
class SectionTopics:
    """A section with the phrases that distinguish it."""

    section: str
    pages: int
    phrases: tuple[tuple[str, int], ...]
    """Phrase and the number of pages of the section that have it, the most telling first."""


class _TermCounts:
    """How many pages have a term. When there are more terms than a limit, those of one page alone are dropped."""

    def __init__(self, limit: int) -> None:
        self.pages: Counter[str] = Counter()
        self._limit = limit
        self._added: set[str] = set()
        """The terms that were counted since terms were dropped: all others are on several pages."""

    def add(self, terms: Collection[str]) -> None:
        """Count the different terms of a page."""
        self.pages.update(terms)
        self._added.update(terms)
        if len(self.pages) > self._limit:
            for term in [term for term in self._added if self.pages[term] == 1]:
                self.pages.pop(term)
            self._added.clear()


class TopicCounts:
    """How many pages of each section have a term among their most frequent ones."""

    def __init__(self) -> None:
        self._sections: dict[str, _TermCounts] = {}
        self._sizes: Counter[str] = Counter()
        self._site = _TermCounts(MAX_COUNTED)
        self._words = _TermCounts(MAX_COUNTED)
        self._words_of: dict[str, _TermCounts] = {}

    def add(self, section: str, terms: PageTerms) -> None:
        """Add a page."""
        if section not in self._sections and len(self._sections) >= MAX_SECTIONS:
            return
        if section not in self._sections:
            self._sections[section] = _TermCounts(MAX_COUNTED_IN_SECTION)
            self._words_of[section] = _TermCounts(MAX_WORDS_IN_SECTION)
        self._sizes[section] += 1
        frequent = list(map(sys.intern, terms.frequent))
        for counts in (self._sections[section], self._site):
            counts.add(frequent)
        for counts in (self._words_of[section], self._words):
            counts.add(terms.words)

    def sections(self, limit: int = 10) -> list[SectionTopics]:
        """The sections with their phrases, the largest first."""
        return [
            SectionTopics(section, size, tuple(self._phrases(section, size, limit)))
            for section, size in self._sizes.most_common()
        ]

    def _phrases(self, section: str, size: int, limit: int) -> Iterator[tuple[str, int]]:
        """Yield the terms with the highest TF-IDF, without words that are part of a better phrase."""
        pages, is_only = self._sizes.total(), len(self._sizes) == 1
        least = max(_MIN_PAGES, _MIN_SHARE * size) if size > _MIN_PAGES else 1
        scores: dict[str, float] = {}
        words, others = self._words_of[section].pages, pages - size
        least_elsewhere = max(_MIN_PAGES, _MAX_SHARE * pages if is_only else _COMMON_SHARE * others)
        # A word that many other pages have is one of the language, or of the template.
        common = {
            word for word, count in self._words.pages.items() if count - (0 if is_only else words[word]) > least_elsewhere
        }
        for term, count in self._sections[section].pages.items():
            if not common.isdisjoint(term.split()):
                continue
            everywhere = max(count, self._site.pages[term])
            if count >= least and (
                everywhere <= _MAX_SHARE * pages or (not is_only and count > everywhere / 2 and size < pages)
            ):
                scores[term] = count * math.log(1 + pages / everywhere) * (1.5 if " " in term else 1.0)
        shown: list[str] = []
        for term in sorted(scores, key=lambda each: (-scores[each], each)):
            if len(shown) == limit:
                return
            if not any(term in other.split() or other in term.split() for other in shown):
                shown.append(term)
                yield term, self._sections[section].pages[term]
