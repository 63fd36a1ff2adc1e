"""Selects the content of a scored page: which structural units are kept, which are cut, and why.

Pages of documentation keep their whole content region but navigation (`documentation`). On all other pages the scores decide:
every unit is kept or dropped so that the expected gain in content words is largest, where a unit whose state differs from its
parent's costs something. Units that one template wrote are decided as one. A small dynamic programme finds the best choice, in
time linear in the number of units.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from operator import mul
from typing import NamedTuple
from unicodedata import category

from sitelore.extract import dom
from sitelore.extract.content.block_scorer import (
    ELEMENT,
    LINK,
    PAIR,
    ElementTable,
    ScoredPage,
    Templates,
    Units,
    group_templates,
)
from sitelore.extract.content.visibility import PRICE
from sitelore.extract.content.vocabulary import INLINE, LANDMARK, MARK, SECONDARY_LANDMARKS, TAG_NUMBER

_LEAVE_COST = 0.05
"""For each word of a unit that is cut from a kept one."""
_LEAVE_STRUCTURE_COST = 0.25
"""For each word of code, a table or a definition list that is cut from a kept unit: they are hardly ever navigation."""
_ENTER_COST, _ENTER_COST_PER_WORD = 3.0, 0.1
"""For a unit that is kept inside a dropped one."""
_MANY_LINKS = 0.5
_MOSTLY_LINKS = 0.6
_FEW_WORDS = 4
_PARAGRAPH_WORDS = 25
_CAPTION_WORDS = 120
_CARD_WORDS = 150
_PRICE_WORDS, _PRICE_CHARS = 8, 60
_INTRODUCTION_WORDS = 60
_DIGIT = re.compile(rb"\d")
_MANY_PRICES = 3
_LONG_RUN, _LONG_RUN_WORDS = 4, 40
_MANY_LISTINGS = 3  # of code: documentation repeats lines on purpose
_CELLS = frozenset(TAG_NUMBER[tag] for tag in (b"td", b"th"))  # dropping an empty cell would shift its row
_TERM, _FORM = TAG_NUMBER[b"dt"], TAG_NUMBER[b"form"]
_ITEMS = frozenset(TAG_NUMBER[tag] for tag in (b"li", b"dd"))
_PICTURES = ("img", "picture", "math")
_PUNCTUATION = frozenset({"Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sm", "Sk", "Cf"})  # not "So", which are emoji
_SENTENCE_WORDS = 5
_STOPS = tuple(stop.encode() for stop in (".", "!", '"', "\u201d", "\u3002"))
_KEPT_AROUND = 0.5
_IN_CODE_OR_TABLE = LANDMARK[b"pre"] | LANDMARK[b"table"]


def tag_bits(*tags: bytes) -> int:
    """A set of tags as bits, as `Units.tags` has them."""
    return sum(1 << TAG_NUMBER[tag] for tag in tags)


def mark_bits(*groups: str) -> int:
    """A set of mark groups as bits, as `Units.marks` has them."""
    return sum(MARK[group] for group in groups)


_SECONDARY_TAGS = tag_bits(b"nav", b"footer", b"form")
_CONTENT_TAGS = tag_bits(b"table", b"tr", b"section", b"dl", b"p", b"pre")
"""Never taken for navigation because of their links or names."""
_STRUCTURE_TAGS = tag_bits(b"table", b"dl", b"pre")
_FIGURE_TAG, _LISTING_TAG = tag_bits(b"figure"), tag_bits(b"pre")
_CAPTION_MARK = mark_bits("caption")
_NO_PRICE_MARKS = mark_bits("filter", "related")
_NAVIGATION_MARKS = mark_bits("nav", "page", "related", "share", "toc")
_SECONDARY_MARKS = _NAVIGATION_MARKS | mark_bits(
    "foot", "side", "comment", "ad", "modal", "tags", "form", "cart", "review", "filter", "vote", "place", "head"
)

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


class Cut(NamedTuple):
    """A unit that was cut from kept content."""

    first: int
    last: int
    """Its blocks."""
    element: int
    """Row of its element; -1 for a section."""
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which blocks of a page are kept."""

    kept: list[bool]
    cuts: list[Cut] = field(default_factory=list)
    threshold: float = 0.0
    """Score above which a block counts as content."""
    expected_f1: float = 0.0
    """Of the kept words, the scores taken as probabilities."""
    dropped: list[int] = field(default_factory=list)
    """Rows of elements without text that are dropped, whatever is kept around them."""
    is_named: bool = False
    """Whether the markup names the region that was selected."""


def threshold_of(words: list[int], scores: list[float]) -> tuple[float, float]:
    """The score from which on a block is worth keeping, and the expected F1 of keeping all of these.

    F1 is largest when every block above half of that largest F1 is kept. The threshold is computed so, instead of taken from
    the last block worth keeping: it moves little when a page does, and two fetches of one page give the same choice.
    """
    mass = list(map(mul, scores, words))
    total, order = sum(mass), sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    held = zip(accumulate([mass[block] for block in order]), accumulate([words[block] for block in order]), strict=True)
    expected = max([2 * held_mass / (held_words + total) for held_mass, held_words in held])
    return min(expected / 2, scores[order[0]]), expected


def select_scored(page: ScoredPage, units: Units, elements: list[dom.Element]) -> Selection:
    """The units that make the best page by their scores. What one template wrote is kept or dropped as one."""
    words = page.blocks.words
    templates = group_templates(units, page)
    groups, members = templates.groups, templates.members
    scores = _template_scores(page, templates)
    threshold, expected_f1 = threshold_of(words, scores)
    run_cost = [0.0, *accumulate([(threshold - score) * count for score, count in zip(scores, words, strict=True)])]
    secondary = _secondary_reasons(groups)
    leave = [
        0.0 if reason else (_LEAVE_STRUCTURE_COST if tags & _STRUCTURE_TAGS or kind == PAIR else _LEAVE_COST) * count
        for reason, kind, tags, count in zip(secondary, groups.kind, groups.tags, groups.words, strict=True)
    ]
    enter = [_ENTER_COST * len(each) + _ENTER_COST_PER_WORD * count for each, count in zip(members, groups.words, strict=True)]
    run_gains = [0, *accumulate([score >= threshold for score in scores])]
    gains = [run_gains[last] - run_gains[first] for first, last in zip(units.first, units.last, strict=True)]
    hopeless = [bool(reason) and not any(map(gains.__getitem__, each)) for reason, each in zip(secondary, members, strict=True)]
    keep, drop = _unit_costs(groups, run_cost, leave, enter, hopeless)
    own, children, kind = groups.own, groups.children, groups.kind
    kept_blocks = [False] * len(words)
    cuts = []
    below = f"scored below {threshold:.2f}"
    open_groups = [(0, keep[0] < drop[0])]
    while open_groups:
        group, is_kept = open_groups.pop()
        if is_kept:
            for first, last, _ in own[group]:
                kept_blocks[first:last] = [True] * (last - first)
        for child in children[group]:
            if kind[group] == PAIR:
                stays = is_kept
            elif is_kept:
                stays = keep[child] <= drop[child] + leave[child]
                if not stays:
                    reason = secondary[child] or below
                    cuts += [Cut(units.first[unit], units.last[unit], units.element[unit], reason) for unit in members[child]]
            else:
                stays = keep[child] + enter[child] < drop[child]
            # Nothing is kept inside a dropped group whose parts are not worth it.
            if stays or drop[child] < 0:
                open_groups.append((child, stays))
    _keep_headers(units, kept_blocks)
    _keep_figures(units, kept_blocks)
    _keep_listings(page, units, kept_blocks)
    if prices := _price_blocks(page):
        _Prices(page, prices).keep(kept_blocks)
    drop_repeats(page, kept_blocks)
    drop_bare_headings(page, kept_blocks, elements)
    _drop_punctuation(page, kept_blocks)
    _keep_post_headers(page, kept_blocks, elements)
    cuts = [cut for cut in cuts if not all(kept_blocks[cut.first : cut.last])]
    return Selection(kept_blocks, cuts, threshold, expected_f1)


def _template_scores(page: ScoredPage, templates: Templates) -> list[float]:
    """The scores of the blocks; blocks that one template wrote have the mean of theirs."""
    words, scores = page.blocks.words, page.scores.copy()
    for own, members in zip(templates.groups.own, templates.members, strict=True):
        if own and len(members) > 1:
            blocks = [block for first, last, _ in own for block in range(first, last)]
            mean = sum([scores[block] * words[block] for block in blocks]) / sum([words[block] for block in blocks])
            for block in blocks:
                scores[block] = mean
    return scores


def _keep_headers(units: Units, kept: list[bool]) -> None:
    """Keep the header of every table of which a row is kept."""
    for first, last, end in units.headers:
        if any(kept[last:end]):
            kept[first:last] = [True] * (last - first)


def _keep_figures(units: Units, kept: list[bool]) -> None:
    """Keep figures with captions inside kept text: those with a kept block right before and right after them.

    Captions are rarely annotated as content, so their scores are low, but a reader misses the picture.
    """
    end = 0
    figures = [
        (first, last)
        for kind, tags, marks, first, last, linked, words in zip(
            *(units.kind, units.tags, units.marks, units.first, units.last, units.linked, units.words), strict=True
        )
        if kind == ELEMENT
        and (tags & _FIGURE_TAG or (marks & _CAPTION_MARK and not marks & _NAVIGATION_MARKS))
        and words <= _CAPTION_WORDS
        and linked <= _MOSTLY_LINKS * words
    ]
    runs: list[tuple[int, int]] = []
    for first, last in sorted(figures):
        if runs and first <= end:
            runs[-1] = runs[-1][0], max(last, end)
        else:
            runs.append((first, last))
        end = runs[-1][1]
    for first, last in runs:
        if first > 0 and last < len(kept) and kept[first - 1] and kept[last]:
            kept[first:last] = [True] * (last - first)


def _keep_listings(page: ScoredPage, units: Units, kept: list[bool]) -> None:
    """Keep the code of which the text right before or after it in the same element is kept: a log in a post has no words."""
    elements = page.elements
    for tags, marks, first, last, row in zip(units.tags, units.marks, units.first, units.last, units.element, strict=True):
        if not tags & _LISTING_TAG or marks & _SECONDARY_MARKS or kept[first] or elements.parent[row] < 0:
            continue
        around = elements.parent[row]
        follows = elements.first[around] < first and kept[first - 1]
        if follows or (elements.last[around] > last and kept[last]):
            kept[first:last] = [True] * (last - first)


class _Prices:
    """The prices of a page: short blocks with an amount of money, and the card that each of them belongs to."""

    def __init__(self, page: ScoredPage, blocks: list[int]) -> None:
        self._page = page
        self._blocks = blocks
        self._run_words = [0, *accumulate(page.blocks.words)]
        self._run_prices = [0, *accumulate(map(set(self._blocks).__contains__, range(len(page.heading))))]
        self._priced = self._count_priced()

    def _count_priced(self) -> Counter[tuple[int, int]]:
        """How many elements with the same parent and the same signature hold a price."""
        elements, seen = self._page.elements, set()
        counts: Counter[tuple[int, int]] = Counter()
        for block in self._blocks:
            row = self._page.blocks.element[block]
            while row >= 0 and row not in seen:
                seen.add(row)
                counts[elements.parent[row], elements.signature[row]] += 1
                row = elements.parent[row]
        return counts

    def keep(self, kept: list[bool]) -> None:
        """Keep the first price of every kept card, and the price of the product that the page is about."""
        cards, single = set(), []
        for block in self._blocks:
            card = self._card(block)
            if card < 0:
                single.append(block)
            elif card not in cards:
                cards.add(card)
                if self._is_named(card, kept):
                    self._keep(block, card, kept)
        self._keep_product_price(single, kept)

    def _card(self, block: int) -> int:
        """Row of the element around a price that is one of several with prices, and has more in it; -1 without one."""
        elements, row = self._page.elements, self._page.blocks.element[block]
        while row >= 0 and self._words(row) <= _CARD_WORDS:
            first, last = elements.first[row], elements.last[row]
            has_more = self._run_prices[last] - self._run_prices[first] < last - first
            if has_more and self._priced[elements.parent[row], elements.signature[row]] >= _MANY_PRICES:
                return row
            row = elements.parent[row]
        return -1

    def _is_named(self, card: int, kept: list[bool]) -> bool:
        """Whether anything but prices is kept of a card."""
        run, elements = self._run_prices, self._page.elements
        return any(kept[at] and run[at] == run[at + 1] for at in range(elements.first[card], elements.last[card]))

    def _words(self, row: int) -> int:
        elements = self._page.elements
        return self._run_words[elements.last[row]] - self._run_words[elements.first[row]]

    def _keep_product_price(self, prices: list[int], kept: list[bool]) -> None:
        """Keep the first price after the page's title, with little text between, where no price is kept yet."""
        page = self._page
        title = next((block for block, level in enumerate(page.heading) if level == 1), len(kept))
        prices = [block for block in prices if block > title]
        if not prices or any(kept[block] for block in prices):
            return
        price = next((block for block in prices if not self._is_secondary(block, title)), -1)
        words = sum([page.blocks.words[block] for block in range(title + 1, price) if kept[block]])
        if price >= 0 and words <= _INTRODUCTION_WORDS:
            self._keep(price, -1, kept)

    def _is_secondary(self, block: int, title: int) -> bool:
        """Whether a price is in navigation, a choice of a filter, or that of a related product."""
        elements, row = self._page.elements, self._page.blocks.element[block]
        if self._page.landmarks[block] & SECONDARY_LANDMARKS:
            return True
        while elements.first[row] > title and not elements.marks[row] & _NO_PRICE_MARKS:
            row = elements.parent[row]
        return elements.first[row] > title

    def _keep(self, block: int, card: int, kept: list[bool]) -> None:
        """Keep a price with the few words around it, such as "Sale price"; not all of a form or a card."""
        elements, row = self._page.elements, self._page.blocks.element[block]
        first, last = block, block + 1
        while row not in {card, -1} and self._words(row) <= _PRICE_WORDS and elements.tag[row] != _FORM:
            first, last = elements.first[row], elements.last[row]
            row = elements.parent[row]
        kept[first:last] = [True] * (last - first)


def _price_blocks(page: ScoredPage) -> list[int]:
    blocks = page.blocks
    short = [
        (block, page.text[begin:end].decode("utf-8", "replace").strip())
        for block, (words, begin, end) in enumerate(zip(blocks.words, blocks.begin, blocks.end, strict=True))
        if words <= _PRICE_WORDS and _DIGIT.search(page.text, begin, end)
    ]
    return [block for block, text in short if len(text) <= _PRICE_CHARS and PRICE.search(text)]


def _keep_post_headers(page: ScoredPage, kept: list[bool], in_order: list[dom.Element]) -> None:
    """Keep the first name and the first date in every post. `in_order` are all elements of the page in document order.

    Scores alone often cut them: a name and a date have few words, and look like those of a profile or a list of recent posts.
    A post is an element with kept text that one template wrote at least twice. Cards of a list, whose headings are links, are
    none.
    """
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


def _unit_costs(
    units: Units, run_cost: list[float], leave: list[float], enter: list[float], hopeless: list[bool]
) -> tuple[list[float], list[float]]:
    """What each unit costs at least when it is kept, and when it is dropped. `run_cost` is the running cost of blocks.

    `hopeless` units may be cut at no cost and have no block that is worth keeping, so what is in them need not be looked at.
    """
    own, children, kind = units.own, units.children, units.kind
    keep, drop = [0.0] * len(units), [0.0] * len(units)
    order, open_units = [], [0]
    while open_units:
        unit = open_units.pop()
        order.append(unit)
        for child in children[unit]:
            if hopeless[child] and kind[unit] != PAIR:
                keep[child] = inf
            else:
                open_units.append(child)
    for unit in reversed(order):
        kept_cost = dropped_cost = 0.0
        for first, last, _ in own[unit]:
            kept_cost += run_cost[last] - run_cost[first]
        is_divided = kind[unit] != PAIR  # a term goes with its definitions
        for child in children[unit]:
            kept, dropped = keep[child], drop[child]
            cut, entered = dropped + leave[child], kept + enter[child]
            kept_cost += cut if is_divided and cut < kept else kept
            dropped_cost += entered if is_divided and entered < dropped else dropped
        keep[unit], drop[unit] = kept_cost, dropped_cost
    return keep, drop


def _secondary_reasons(units: Units) -> list[str]:
    """Why each unit may be cut at no cost: its markup or its links say that it is not content. Empty where nothing does."""
    reasons = []
    for kind, tags, marks, linked, words in zip(units.kind, units.tags, units.marks, units.linked, units.words, strict=True):
        reason = ""
        if kind:
            reason = "a link between elements" if kind == LINK else ""
        elif tags & _SECONDARY_TAGS:
            reason = "a nav, footer or form element"
        elif marks & _NAVIGATION_MARKS and linked > _MANY_LINKS * words:
            reason = "named as navigation, and mostly links"
        elif tags & _CONTENT_TAGS:
            pass
        elif linked > _MOSTLY_LINKS * words:
            reason = "mostly links"
        elif marks & _SECONDARY_MARKS:
            reason = "named as secondary content"
        reasons.append(reason)
    return reasons


def drop_repeats(page: ScoredPage, kept: list[bool]) -> None:
    """Drop kept text that repeats earlier kept text: cards, captions and whole articles are often written twice.

    Only a whole is dropped: an element or a section of at least two kept blocks that follow each other in the same order
    earlier in the page, a long run of such blocks, a long paragraph, or a block with the text of the one right before it. A
    short line that occurs again may be needed where it is. Not in code and tables.
    """
    if page.elements.tag.count(TAG_NUMBER[b"pre"]) > _MANY_LISTINGS:
        return
    if sum([copies > 1 for copies, is_kept in zip(page.copies, kept, strict=True) if is_kept]) > 1:
        _Repeats(page, kept).drop()


class _Repeats:
    """The kept blocks of a page and which of them repeat earlier ones. A place is an index among the kept blocks."""

    def __init__(self, page: ScoredPage, kept: list[bool]) -> None:
        self._page, self._kept = page, kept
        self._blocks = [block for block, is_kept in enumerate(kept) if is_kept]
        self._texts = [self._text(block) for block in self._blocks]
        self._places = [0, *accumulate(kept)]

    def _text(self, block: int) -> bytes | int:
        """What a block is compared by; its number where no other block has its text."""
        page = self._page
        if page.copies[block] < 2:
            return block
        return b" ".join(page.text[page.blocks.begin[block] : page.blocks.end[block]].lower().split())

    def drop(self) -> None:
        texts, end = self._texts, len(self._texts)
        pairs: dict[tuple[bytes | int, bytes | int], int] = {}
        """Where two texts first follow each other, before the current place."""
        seen: set[bytes | int] = set()
        place = 0
        while place < end:
            following = texts[place + 1] if place + 1 < end else -1
            first = pairs.get((texts[place], following), -1)
            length = 1 if first < 0 else 2
            while 1 < length < place - first and place + length < end and texts[first + length] == texts[place + length]:
                length += 1
            if place and texts[place] == texts[place - 1]:
                self._drop_run(place, place + 1)
            if length > 1:
                self._drop_wholes(place, place + length)
            for again in range(place, place + length):
                if texts[again] in seen and self._is_paragraph(again):
                    self._drop_run(again, again + 1)
                seen.add(texts[again])
                if again:
                    pairs.setdefault((texts[again - 1], texts[again]), again - 1)
            place += length

    def _is_paragraph(self, place: int) -> bool:
        """Whether a block is long, and not the answer to the one before it."""
        page, block, before = self._page, self._blocks[place], self._blocks[place - 1]
        end = page.blocks.end[before]
        is_introduced = page.text[page.blocks.begin[before] : end].rstrip().endswith((b"?", b":"))
        return page.blocks.words[block] >= _PARAGRAPH_WORDS and not is_introduced

    def _drop_wholes(self, place: int, end: int) -> None:
        """Drop the elements and sections within a run of repeated blocks that repeat as a whole; all of a long run."""
        words = sum(self._page.blocks.words[block] for block in self._blocks[place:end])
        if end - place >= _LONG_RUN and words >= _LONG_RUN_WORDS:
            while end > place and self._page.heading[self._blocks[end - 1]]:  # what is under it is new
                end -= 1
            self._drop_run(place, end)
            return
        while place < end - 1:
            whole = max(self._element_end(place, end), self._section_end(place, end))
            if whole - place > 1:
                self._drop_run(place, whole)
            place = max(whole, place + 1)

    def _element_end(self, place: int, end: int) -> int:
        """The end of the largest element that begins at a place and ends within a run."""
        elements, largest = self._page.elements, place
        row = self._page.blocks.element[self._blocks[place]]
        while row >= 0 and self._places[elements.first[row]] == place and self._places[elements.last[row]] <= end:
            largest = self._places[elements.last[row]]
            row = elements.parent[row]
        return largest

    def _section_end(self, place: int, end: int) -> int:
        """The end of the section that a heading begins, where that is within a run."""
        levels, blocks = self._page.heading, self._blocks
        if not levels[blocks[place]]:
            return place
        for following in range(place + 1, min(end + 1, len(blocks))):
            if 0 < levels[blocks[following]] <= levels[blocks[place]]:
                return following
        return end if end == len(blocks) else place

    def _drop_run(self, place: int, end: int) -> None:
        """Drop kept blocks, unless they are too short to tell, or the only text under a heading, a term or an item's start."""
        page, run = self._page, self._blocks[place:end]
        if not run or page.landmarks[run[0]] & _IN_CODE_OR_TABLE or sum(page.blocks.words[block] for block in run) < _FEW_WORDS:
            return
        if place and self._is_all_under(self._blocks[place - 1], place, end):
            return
        for block in run:
            self._kept[block] = False

    def _is_all_under(self, title: int, place: int, end: int) -> bool:
        """Whether a run is all that a block right before it is the title of."""
        page, blocks = self._page, self._blocks
        elements, row = page.elements, page.blocks.element[blocks[place]]
        level, own = page.heading[title], page.heading[blocks[place]]
        following = page.heading[blocks[end]] if end < len(blocks) else 1
        if level and (following if not own else own > level and 0 < following <= level):
            return True
        if elements.tag[page.blocks.element[title]] == _TERM:
            return True
        while row >= 0 and elements.first[row] > title:
            row = elements.parent[row]
        return elements.tag[row] in _ITEMS and self._places[elements.last[row]] == end


def drop_bare_headings(page: ScoredPage, kept: list[bool], in_order: list[dom.Element]) -> None:
    """Drop headings without anything under them: the next kept block is a heading of their level or above, or there is none.

    Only where something was cut after them: headings that follow each other in the page itself are its text, as is one that is
    a sentence. Not the page's first `h1`, nor a heading that is a link: that is the title of a card. A picture counts as well
    as text. `in_order` are all elements of the page in document order.
    """
    levels, blocks = page.heading, page.blocks
    title = next((block for block, level in enumerate(levels) if level == 1 and kept[block]), -1)
    following, last = 1, len(kept)
    for block in reversed([block for block, is_kept in enumerate(kept) if is_kept]):
        level, is_cut = levels[block], last > block + 1
        is_card = level > 0 and blocks.linked[block] >= _MANY_LINKS * blocks.words[block]
        if level and block != title and not is_card and is_cut and 0 < following <= level:
            kept[block] = _is_sentence(page, block) or _has_picture(page, block, kept, in_order)
        if kept[block]:
            following, last = 0 if is_card else level, block


def _drop_punctuation(page: ScoredPage, kept: list[bool]) -> None:
    """Drop kept blocks of nothing but punctuation, such as the bars between links that were cut. Not in code and tables."""
    blocks = page.blocks
    for block, (words, is_kept) in enumerate(zip(blocks.words, kept, strict=True)):
        if is_kept and words < _FEW_WORDS and not page.landmarks[block] & _IN_CODE_OR_TABLE:
            text = _plain(page.text[blocks.begin[block] : blocks.end[block]].decode("utf-8", "replace"))
            kept[block] = not all(category(char) in _PUNCTUATION for char in text)


def _is_sentence(page: ScoredPage, block: int) -> bool:
    text = page.text[page.blocks.begin[block] : page.blocks.end[block]].rstrip()
    return page.blocks.words[block] >= _SENTENCE_WORDS and text.endswith(_STOPS)


def _has_picture(page: ScoredPage, heading: int, kept: list[bool], in_order: list[dom.Element]) -> bool:
    """Whether a heading is followed by a picture and not by text. One in a card whose text is cut goes with it."""
    elements = page.elements
    beside = in_order[elements.order[page.blocks.element[heading]]].next_siblings
    sibling = next((dom.as_element(node) for node in beside if not dom.is_blank(node)), None)
    if sibling is not None and sibling.tag in _PICTURES:
        return True
    for row in range(bisect_right(elements.first, heading), len(elements)):
        if elements.first[row] > heading + 1:
            break
        if elements.last[row] != heading + 1 or _is_cut_card(elements, row, heading, kept):
            continue
        if dom.has_descendant(in_order[elements.order[row]], *_PICTURES):
            return True
    return False


def _is_cut_card(elements: ElementTable, row: int, heading: int, kept: list[bool]) -> bool:
    """Whether an element without text is part of one below a heading whose text is cut."""
    while row > 0 and elements.first[row] == elements.last[row]:
        row = max(elements.parent[row], 0)
    return elements.first[row] > heading and not any(kept[elements.first[row] : elements.last[row]])


def trim(page: ScoredPage, selection: Selection, in_order: list[dom.Element]) -> None:
    """Cut a subtree, given as all its elements in document order, down to the kept blocks."""
    gone, texts = _cuts(page, selection.kept)
    gone += [page.elements.order[row] for row in selection.dropped]
    for place, loose in texts.items():
        _drop_loose(in_order[place], {_plain(text.decode("utf-8", "replace")) for text in loose})
    for place in gone:
        _drop_rule_after(in_order[place])
        dom.drop(in_order[place])


def _drop_rule_after(cut: dom.Element) -> None:
    """Drop the rule that divides what is cut from what follows it."""
    following = next((node for node in cut.next_siblings if not dom.is_blank(node)), None)
    rule = dom.as_element(following) if following is not None else None
    if rule is not None and rule.tag == "hr":
        dom.drop(rule)


def _cuts(page: ScoredPage, kept: list[bool]) -> tuple[list[int], dict[int, set[bytes]]]:
    """Everything of a page that does not belong to a kept block: elements by their order, loose texts by their element's."""
    elements, blocks = page.elements, page.blocks
    stays = _staying(page, kept)
    order, parents = elements.order, elements.parent
    gone = [order[row] for row, stay in enumerate(stays) if not stay and stays[parents[row]]]
    texts: dict[int, set[bytes]] = {}
    for block, (row, is_kept) in enumerate(zip(blocks.element, kept, strict=True)):
        if not is_kept and stays[row]:
            texts.setdefault(order[row], set()).add(page.text[blocks.begin[block] : blocks.end[block]])
    return gone, texts


def _staying(page: ScoredPage, kept: list[bool]) -> list[bool]:
    """Which elements stay: those with a kept block, and those without text that belong to kept ones.

    An element without text (a figure) stays where most of the text around it does and a neighbouring block is kept.
    """
    elements, words = page.elements, page.blocks.words
    all_first, all_last, parents = elements.first, elements.last, elements.parent
    run_blocks = [0, *accumulate(kept)]
    stays = [run_blocks[last] > run_blocks[first] for first, last in zip(all_first, all_last, strict=True)]
    textless = [row for row, (first, last) in enumerate(zip(all_first, all_last, strict=True)) if first == last]
    if textless:
        run_words, run_kept = [0, *accumulate(words)], [0, *accumulate(map(mul, words, kept))]
        beside = [*kept, False]
        for row in textless:
            first = all_first[row]
            stays[row] = (beside[first] or beside[first - 1]) and _is_mostly_kept(
                elements, max(parents[row], 0), run_words, run_kept
            )
        before = stays.copy()
        for row in textless:
            up = max(parents[row], 0)
            if before[up] and (all_first[up] == all_last[up] or elements.tag[row] in _CELLS):
                stays[row] = True
    stays[0] = True
    return stays


def _is_mostly_kept(elements: ElementTable, row: int, run_words: list[int], run_kept: list[int]) -> bool:
    first, last = elements.first[row], elements.last[row]
    words = run_words[last] - run_words[first]
    return words > 0 and run_kept[last] - run_kept[first] >= _KEPT_AROUND * words


def _plain(text: str) -> str:
    """Text as both the serialisation and the tree have it: no references, no white space."""
    for reference, char in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(reference, char)
    return "".join(text.split())


def _drop_loose(element: dom.Element, texts: set[str]) -> None:
    run: list[dom.AnyNode] = []
    for child in [*dom.children(element), None]:
        if child is not None and (not isinstance(child, dom.Element) or child.tag.encode() in INLINE):
            run.append(child)
            continue
        if run and _plain("".join(map(dom.raw_text, run))) in texts:
            for node in run:
                dom.drop(node)
        run = []
