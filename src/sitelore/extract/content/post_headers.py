"""Keeps the author and the date of every post that is kept: of a thread, a list of comments or reviews.

Scores alone often cut them: a name and a date have few words, and look like those of a profile or a list of recent posts.
A post is an element with kept text that one template wrote at least twice. Cards of a list, whose headings are links, are none.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate
from operator import mul

from sitelore.extract import dom
from sitelore.extract.content.block_scorer import ScoredPage
from sitelore.extract.content.vocabulary import LANDMARK, MARK, SECONDARY_LANDMARKS

_NAME_WORDS, _DATE_WORDS, _HEADER_WORDS = 5, 8, 14
_NAME_CHARS = 2
"""A single letter replaces a missing picture of the author."""
_POST_WORDS = 4
_MIN_POSTS = 2
_MAX_LOOKED_AT_WORDS = 40
_LABEL = re.compile(rb"^\W*[^\W\d][^\d:]*:\s")
"""`Joined: `, `Last edited: `: not the date of the post."""
_DATE = re.compile(rb"\b(?:19|20)\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d+ ?\w+ ago\b|\b\d{1,2}:\d\d\b", re.IGNORECASE)
_NAMED_AUTHOR = (
    "[itemprop~=author], [rel~=author], [class*=author], [class*=Author], [class*=username], [class*=userName], "
    "[class*=creator], [class*=poster], [class*=byline]"
)
_SKIPPED_LANDMARKS = SECONDARY_LANDMARKS | LANDMARK[b"pre"] | LANDMARK[b"form"]


def keep_post_headers(page: ScoredPage, kept: list[bool], in_order: list[dom.Element]) -> None:
    """Keep the first name and the first date in every post. `in_order` are all elements of the page in document order."""
    _Posts(page, kept, in_order).keep()


class _Posts:
    """The posts of a page and the short blocks in them."""

    def __init__(self, page: ScoredPage, kept: list[bool], in_order: list[dom.Element]) -> None:
        self._page, self._kept, self._in_order = page, kept, in_order
        self._run_words = [0, *accumulate(page.blocks.words)]
        self._run_kept = [0, *accumulate(map(mul, page.blocks.words, kept))]

    def keep(self) -> None:
        signature = self._page.elements.signature
        headers: dict[int, list[int]] = {}
        for block, (words, is_kept) in enumerate(zip(self._page.blocks.words, self._kept, strict=True)):
            if not is_kept and words <= _HEADER_WORDS and not self._page.landmarks[block] & _SKIPPED_LANDMARKS:
                post = self._post(block)
                if post >= 0:
                    headers.setdefault(post, []).append(block)
        posts = Counter(signature[post] for post in headers)
        for post, blocks in headers.items():
            if posts[signature[post]] >= _MIN_POSTS and not self._is_card(post):
                self._keep_header(post, blocks)

    def _post(self, block: int) -> int:
        """Row of the innermost element around a block that has kept text; -1 where that is the whole page."""
        elements, run = self._page.elements, self._run_kept
        row = self._page.blocks.element[block]
        while row >= 0 and run[elements.last[row]] - run[elements.first[row]] < _POST_WORDS:
            row = elements.parent[row]
        return row

    def _is_card(self, post: int) -> bool:
        """Whether a kept heading of an element is a link."""
        blocks, shown = self._page.blocks, range(self._page.elements.first[post], self._page.elements.last[post])
        return any(
            self._kept[block] and self._page.heading[block] and 2 * blocks.linked[block] > blocks.words[block]
            for block in shown
        )

    def _keep_header(self, post: int, blocks: list[int]) -> None:
        """Keep the first name and the first date among these blocks, unless the post has kept ones."""
        shown = range(self._page.elements.first[post], self._page.elements.last[post])
        short = [block for block in shown if self._kept[block] and self._page.blocks.words[block] <= _HEADER_WORDS]
        if not any(self._is_name(block, post) for block in short):
            self._keep_first([block for block in blocks if self._is_name(block, post)])
            short = [block for block in shown if self._kept[block] and self._page.blocks.words[block] <= _HEADER_WORDS]
        if not any(self._is_dated(block) for block in short):
            self._keep_first([block for block in blocks if self._is_date(block, post)])

    def _keep_first(self, blocks: list[int]) -> None:
        for block in blocks[:1]:
            self._kept[block] = True

    def _is_name(self, block: int, post: int) -> bool:
        """Whether a block names who wrote the post: a few words, or a line with a date, in an element for authors."""
        limit = _HEADER_WORDS if self._is_dated(block) else _NAME_WORDS
        if self._page.blocks.words[block] > limit or len(self._text(block).strip()) < _NAME_CHARS:
            return False
        elements, row = self._page.elements, self._page.blocks.element[block]
        if self._words(row) > _MAX_LOOKED_AT_WORDS:
            return False
        return bool(dom.select(self._in_order[elements.order[row]], _NAMED_AUTHOR)) or self._is_marked(row, post)

    def _is_marked(self, row: int, post: int) -> bool:
        """Whether an element between a block and its post is named after authors."""
        elements = self._page.elements
        while row not in {post, -1}:
            if elements.marks[row] & MARK["author"]:
                return True
            row = elements.parent[row]
        return False

    def _is_date(self, block: int, post: int) -> bool:
        """Whether a block is the date of the post, not the one on which its author joined."""
        is_short = self._page.blocks.words[block] <= _DATE_WORDS
        is_other = _LABEL.match(self._text(block)) or self._is_marked(self._page.blocks.element[block], post)
        return is_short and self._is_dated(block) and not is_other

    def _is_dated(self, block: int) -> bool:
        return _DATE.search(self._text(block)) is not None

    def _text(self, block: int) -> bytes:
        return self._page.text[self._page.blocks.begin[block] : self._page.blocks.end[block]]

    def _words(self, row: int) -> int:
        elements = self._page.elements
        return self._run_words[elements.last[row]] - self._run_words[elements.first[row]]
