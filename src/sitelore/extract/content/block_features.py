"""What is known of every block of a page, as numbers: the block itself, its neighbours, the section under its heading, the
slot it fills in a row of cards, the elements around it, and the page.

A good block has ten words or more and few of them in links. Most of what tells content from frame is where a block stands
relative to the good ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.blocks import Blocks, Flags, Ints
from sitelore.extract.content.describing import LANDMARK_OF_TAG, NAMES
from sitelore.extract.content.scene import Floats, Scene, running
from sitelore.extract.content.tag_marks import APART, ASIDE, GROUPS, LANDMARKS, TAG_NUMBER
from sitelore.extract.content.walking import Described, describe
from sitelore.extract.content.wording_features import add_wording

_H1, _H6 = TAG_NUMBER[b"h1"], TAG_NUMBER[b"h6"]
_LANDMARK = np.array(LANDMARK_OF_TAG, np.int64)
_ARTICLE, _MAIN = TAG_NUMBER[b"article"], TAG_NUMBER[b"main"]
_GROUP_BITS = np.arange(len(GROUPS))
_LANDMARK_BITS = np.arange(len(LANDMARKS))
_GOOD_WORDS, _GOOD_LINKED = 10, 0.35
_LONG_WORDS, _LONG_LINKED = 30, 0.25
_WHOLE_PAGE = 0.75
_FAR = 999.0
_MAX_ANCESTORS = 9


def scene_of(blocks: Blocks) -> Scene:
    """The page with all its features, compiled where that is possible."""
    described = describe(blocks.walked) if blocks.walked is not None else None
    return scene_in_numpy(blocks) if described is None else _scene_with(blocks, described)


def _scene_with(blocks: Blocks, described: Described) -> Scene:
    words, linked = blocks.words.astype(np.float64), blocks.linked.astype(np.float64)
    good = np.where((words >= _GOOD_WORDS) & (linked < _GOOD_LINKED * words), words, 0.0)
    return Scene(
        blocks=blocks,
        index=np.arange(len(blocks)),
        words=words,
        linked=linked,
        good=good,
        run_words=running(words),
        run_linked=running(linked),
        run_good=running(good),
        total=float(words.sum()),
        total_good=max(1.0, float(good.sum())),
        heading=described.heading,
        section=np.cumsum(described.heading > 0),
        around=described.around,
        marks=described.marks,
        copies=described.copies,
        columns={},
        described=described,
    )


def scene_in_numpy(blocks: Blocks) -> Scene:
    """The page with all its features, each of them by its name."""
    elements, count = blocks.elements, len(blocks)
    words, linked = blocks.words.astype(np.float64), blocks.linked.astype(np.float64)
    good = np.where((words >= _GOOD_WORDS) & (linked < _GOOD_LINKED * words), words, 0.0)
    tag = elements.tag[blocks.element]
    outer = np.where(elements.parent >= 0, elements.tag[elements.parent], 0)[blocks.element]
    heading = _heading_level(tag)
    heading = np.where(heading == 0, _heading_level(outer), heading)
    scene = Scene(
        blocks=blocks,
        index=np.arange(count),
        words=words,
        linked=linked,
        good=good,
        run_words=running(words),
        run_linked=running(linked),
        run_good=running(good),
        total=float(words.sum()),
        total_good=max(1.0, float(good.sum())),
        heading=heading,
        section=np.cumsum(heading > 0),
        around=np.zeros(0, np.int64),
        marks=np.zeros(0, np.int64),
        copies=np.zeros(0, np.int64),
        columns={"tag": tag, "outer": outer, "heading": heading, "level": elements.level[blocks.element]},
    )
    _add_block(scene)
    _add_neighbours(scene)
    _add_place(scene)
    _add_sections(scene)
    around = _Around(scene)
    around.add_marks()
    around.add_ancestors()
    around.add_roots()
    around.add_marked()
    _add_title(scene)
    _add_copies(scene)
    _add_markup(scene)
    _add_page(scene)
    add_wording(scene)
    return scene


def feature_names(scene: Scene) -> tuple[str, ...]:
    """What the rows of `matrix` are called."""
    return tuple(scene.columns) if scene.described is None else NAMES


def matrix(scene: Scene) -> NDArray[np.float32]:
    """One row a feature, one column a block, in the order of their names."""
    if scene.described is not None:
        return scene.described.matrix
    out = np.empty((len(scene.columns), len(scene.blocks)), np.float32)
    for row, column in enumerate(scene.columns.values()):
        out[row] = column
    return out


def _heading_level(tag: Ints) -> Ints:
    return np.where((tag >= _H1) & (tag <= _H6), tag - _H1 + 1, 0)


def _add_block(scene: Scene) -> None:
    blocks, words = scene.blocks, scene.words
    chars = np.maximum(blocks.chars, 1)
    first = np.fromiter([line[0] for line in scene.lines], np.int64, len(scene.lines))
    last = np.fromiter([line[-1] for line in scene.lines], np.int64, len(scene.lines))
    is_digit = (last >= 48) & (last <= 57)
    scene.columns |= {
        "words": words,
        "linked": scene.linked / words,
        "word_length": chars / words,
        "digits": blocks.digits / chars,
        "stops": blocks.stops / words,
        "commas": blocks.commas / words,
        "bars": blocks.bars,
        "signs": blocks.signs,
        "currency": blocks.currency,
        "links": blocks.links,
        "images": blocks.images,
        "breaks": blocks.breaks,
        "bold": blocks.bold / words,
        "ends_with": np.where(last == 46, 5, np.where((last == 33) | (last == 63), 4, np.where(last == 58, 3, is_digit * 1)))
        + np.where(last >= 128, 6, 0),
        "begins_with": np.where(
            (first >= 65) & (first <= 90), 1, np.where((first >= 97) & (first <= 122), 2, np.where(first >= 128, 4, 0))
        ),
    }


def _add_neighbours(scene: Scene) -> None:
    count = len(scene.blocks)
    padded_words = np.concatenate([np.zeros(3), scene.words, np.zeros(3)])
    density = np.concatenate([np.full(3, -1.0), scene.linked / scene.words, np.full(3, -1.0)])
    tag = np.concatenate([np.full(2, -1), scene.columns["tag"], np.full(2, -1)])
    heading = np.concatenate([np.full(2, -1), scene.heading, np.full(2, -1)])
    for step in (-2, -1, 1, 2):
        scene.columns[f"words{step:+d}"] = padded_words[3 + step : 3 + step + count]
        scene.columns[f"linked{step:+d}"] = density[3 + step : 3 + step + count]
        scene.columns[f"tag{step:+d}"] = tag[2 + step : 2 + step + count]
    for step in (-1, 1):
        scene.columns[f"heading{step:+d}"] = heading[2 + step : 2 + step + count]
    for reach in (3, 8, 20):
        low, high = np.maximum(scene.index - reach, 0), np.minimum(scene.index + reach + 1, count)
        words = scene.run_words[high] - scene.run_words[low]
        scene.columns[f"good_within{reach}"] = (scene.run_good[high] - scene.run_good[low]) / words
        scene.columns[f"linked_within{reach}"] = (scene.run_linked[high] - scene.run_linked[low]) / words
        scene.columns[f"words_within{reach}"] = words / (high - low)
    after = np.minimum(scene.index + 9, count)
    scene.columns["good_after8"] = scene.run_good[after] - scene.run_good[scene.index + 1]
    scene.columns["good_before8"] = scene.run_good[scene.index] - scene.run_good[np.maximum(scene.index - 8, 0)]


def _add_place(scene: Scene) -> None:
    long = np.flatnonzero((scene.words >= _LONG_WORDS) & (scene.linked < _LONG_LINKED * scene.words))
    for name, wanted in (("good", np.flatnonzero(scene.good)), ("long", long)):
        after, before = _next_and_previous(wanted, scene.index)
        scene.columns[f"to_next_{name}"] = np.where(after >= 0, after - scene.index, _FAR)
        scene.columns[f"to_previous_{name}"] = np.where(before >= 0, scene.index - before, _FAR)
    count = len(scene.blocks)
    before_good, after_good = scene.run_good[:-1], scene.total_good - scene.run_good[1:]
    scene.columns |= {
        "place": scene.index / count,
        "words_place": scene.run_words[:-1] / scene.total,
        "good_left": after_good / scene.total_good,
        "good_before": before_good,
        "good_after": after_good,
    }


def _next_and_previous(wanted: Ints, index: Ints) -> tuple[Ints, Ints]:
    if len(wanted) == 0:
        none = np.full(len(index), -1)
        return none, none
    after = np.searchsorted(wanted, index, side="right")
    before = np.searchsorted(wanted, index, side="left") - 1
    return (
        np.where(after < len(wanted), wanted[np.minimum(after, len(wanted) - 1)], -1),
        np.where(before >= 0, wanted[np.maximum(before, 0)], -1),
    )


def _add_sections(scene: Scene) -> None:
    section = scene.section
    count = int(section[-1]) + 1
    words = np.bincount(section, scene.words, count)
    good = np.bincount(section, scene.good, count)
    linked = np.bincount(section, scene.linked, count)
    begins = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(scene.heading)])
    scene.columns |= {
        "section_words": words[section],
        "section_good": good[section],
        "section_good_share": good[section] / scene.total_good,
        "section_linked": linked[section] / np.maximum(words[section], 1),
        "section_blocks": np.bincount(section, minlength=count)[section],
        "section_level": scene.heading[begins][section],
        "section_number": section,
        "sections_left": count - section,
        "since_heading": scene.index - begins[section],
        "words_since_heading": scene.run_words[scene.index] - scene.run_words[begins[section]],
    }


class _Around:
    """Features of the elements around the blocks."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.elements = scene.blocks.elements
        rows = np.arange(len(self.elements.parent))
        self.words = scene.within(scene.run_words, rows)
        self.linked = scene.within(scene.run_linked, rows)
        self.good = scene.within(scene.run_good, rows)
        self.count = self.elements.last - self.elements.first
        self.share = self.words / scene.total
        self.good_share = self.good / scene.total_good
        self.density = self.linked / np.maximum(self.words, 1)

    def add_marks(self) -> None:
        """Names and landmarks on the way to the root. Those of an element that holds most of the page say nothing."""
        scene, elements = self.scene, self.elements
        marks = np.where(np.maximum(self.share, self.good_share) > _WHOLE_PAGE, 0, elements.marks)
        scene.marks = _gathered(marks, elements.parent)[scene.blocks.element]
        near = marks | np.where(elements.parent >= 0, marks[elements.parent], 0)
        bits = (scene.marks[:, None] >> _GROUP_BITS) & 1
        bits += (near[scene.blocks.element][:, None] >> _GROUP_BITS) & 1
        for number, group in enumerate(GROUPS):
            scene.columns[f"named_{group}"] = bits[:, number]
        scene.around = _gathered(_LANDMARK[elements.tag], elements.parent)[scene.blocks.element]
        inside = (scene.around[:, None] >> _LANDMARK_BITS) & 1
        for number, tag in enumerate(LANDMARKS):
            scene.columns[f"in_{tag.decode()}"] = inside[:, number]

    def add_ancestors(self) -> None:
        """The elements around a block, step by step, the card it is part of, and the nearest one with five blocks."""
        scene, elements = self.scene, self.elements
        group, size = self._siblings()
        at = scene.blocks.element
        card = np.full(len(at), -1)
        cards = np.zeros(len(at))
        holder = np.full(len(at), -1)
        for step in range(_MAX_ANCESTORS):
            there, row = at >= 0, np.maximum(at, 0)
            if step in {1, 2, 3, 5}:
                self._add_ancestor(step, there, row)
            is_card = there & (size[row] >= 3) & (size[row] > cards) & (self.share[row] < 0.6) & (self.good_share[row] < 0.6)
            card, cards = np.where(is_card, row, card), np.where(is_card, size[row], cards)
            holder = np.where(there & (holder < 0) & (self.count[row] >= 5), row, holder)
            at = np.where(there, elements.parent[row], -1)
        self._add_cards(card, cards, group)
        there, row = holder >= 0, np.maximum(holder, 0)
        scene.columns |= {
            "holder_tag": np.where(there, elements.tag[row], 0),
            "holder_good_share": np.where(there, self.good_share[row], 1),
            "holder_linked": np.where(there, self.density[row], 0),
            "holder_good": np.where(there, self.good[row] / np.maximum(self.words[row], 1), 0),
            "holder_blocks": np.where(there, self.count[row], 0),
            "holder_stops": np.where(there, scene.within(running(scene.blocks.stops), row) / np.maximum(self.words[row], 1), 0),
        }

    def _siblings(self) -> tuple[Ints, Ints]:
        """Elements of one parent that are written alike: their group, and how many they are."""
        key = (self.elements.parent + 1) * (1 << 32) + self.elements.signature
        _, group, sizes = np.unique(key, return_inverse=True, return_counts=True)
        return group, sizes[group]

    def _add_ancestor(self, step: int, there: Flags, row: Ints) -> None:
        columns = self.scene.columns
        columns[f"around{step}_share"] = np.where(there, self.share[row], 1)
        columns[f"around{step}_good_share"] = np.where(there, self.good_share[row], 1)
        columns[f"around{step}_linked"] = np.where(there, self.density[row], 0)
        columns[f"around{step}_blocks"] = np.where(there, self.count[row], 0)
        columns[f"around{step}_good"] = np.where(there, self.good[row] / np.maximum(self.words[row], 1), 0)

    def _add_cards(self, card: Ints, cards: Floats, group: Ints) -> None:
        scene, elements = self.scene, self.elements
        there, row = card >= 0, np.maximum(card, 0)
        words, good, linked = (np.bincount(group, held) for held in (self.words, self.good, self.linked))
        own = group[row]
        scene.columns |= {
            "cards": cards,
            "card_tag": np.where(there, elements.tag[row], 0),
            "card_words": np.where(there, self.words[row], 0),
            "card_linked": np.where(there, self.density[row], 0),
            "card_place": np.where(there, scene.index - elements.first[row], -1),
            "cards_share": np.where(there, words[own] / scene.total, 0),
            "cards_good_share": np.where(there, good[own] / scene.total_good, 0),
            "cards_linked": np.where(there, linked[own] / np.maximum(words[own], 1), 0),
            "cards_mean": np.where(there, words[own] / np.maximum(cards, 1), 0),
        }

    def add_roots(self) -> None:
        """Where blocks stand relative to the deepest element that holds most good words, of all and of those not set apart."""
        scene = self.scene
        for share in (0.4, 0.6, 0.8):
            self._add_root(f"root{share:.1f}", scene.run_good, self.good_share, share)
        apart = ((scene.marks & APART) != 0) | ((scene.around & ASIDE) != 0)
        # Cards and listings have few good blocks; what is not set apart shows where they are.
        for name, words in (("own_root", scene.good), ("own_words", scene.words)):
            own = running(np.where(apart, 0, words))
            held = scene.within(own, np.arange(len(self.words))) / max(1.0, float(own[-1]))
            for share in (0.5, 0.7):
                self._add_root(f"{name}{share:.1f}", own, held, share)

    def add_marked(self) -> None:
        """What the page's own markup would give: its largest `article`, else `main`, without what is set apart."""
        scene, elements = self.scene, self.elements
        row = self._largest(_ARTICLE, 0.6)
        if row < 0:
            row = self._largest(_MAIN, 0.0)
        first, last = (int(elements.first[row]), int(elements.last[row])) if row >= 0 else (0, len(scene.blocks))
        apart = ((scene.marks & APART) != 0) | ((scene.around & ASIDE) != 0)
        inside = (scene.index >= first) & (scene.index < last)
        scene.columns |= {
            "marked": np.where(inside, np.where(apart, 1, 2), np.where(apart, -1, 0)),
            "marked_share": np.full(len(scene.blocks), self.share[row] if row >= 0 else -1.0),
            "marked_to_end": last - scene.index,
            "marked_from_start": scene.index - first,
        }

    def _largest(self, tag: int, share: float) -> int:
        """The largest element with this tag that holds a fair share of the page and of all its kind; -1 without one."""
        found = np.flatnonzero(self.elements.tag == tag)
        if len(found) == 0:
            return -1
        row = int(found[np.argmax(self.words[found])])
        fair = self.share[row] >= 0.25 and self.words[row] >= share * self.words[found].sum()
        return row if fair else -1

    def _add_root(self, name: str, running: Floats, held: Floats, share: float) -> None:
        scene, elements = self.scene, self.elements
        found = np.flatnonzero(held >= share) if running[-1] > 0 else np.zeros(0, np.int64)
        count = len(scene.blocks)
        first, last, row = 0, count, 0
        if len(found):
            row = int(found[np.lexsort((held[found], elements.level[found]))[-1]])
            first, last = int(elements.first[row]), int(elements.last[row])
        index, words = scene.index, scene.run_words
        scene.columns |= {
            f"{name}_blocks": np.where(index < first, first - index, np.where(index >= last, last - index - 1, 0)),
            f"{name}_words": np.where(
                index < first, words[first] - words[index], np.where(index >= last, words[index] - words[last], 0)
            ),
            f"{name}_to_end": last - index,
            f"{name}_linked": np.full(count, self.density[row]),
            f"{name}_share": np.full(count, self.share[row]),
        }


def _gathered(bits: Ints, parent: Ints) -> Ints:
    """Each element's bits and those of all around it, by doubling the step to the root."""
    gathered, at = bits.copy(), parent
    while (at >= 0).any():
        gathered |= np.where(at >= 0, gathered[at], 0)
        at = np.where(at >= 0, at[at], -1)
    return gathered


def _add_title(scene: Scene) -> None:
    """Distance to the first heading of the page that good blocks follow, and the element that holds it and the block."""
    count, index = len(scene.blocks), scene.index
    titles = np.flatnonzero(scene.heading == 1)
    scene.columns["titles"] = np.full(count, len(titles))
    if len(titles) == 0:
        nothing = np.full(count, -_FAR)
        scene.columns |= {"title_blocks": nothing, "title_words": nothing, "title_share": nothing, "title_steps": nothing}
        return
    follows = scene.run_good[np.minimum(titles + 30, count)] - scene.run_good[titles]
    title = int(titles[np.argmax(follows)])
    elements = scene.blocks.elements
    share, steps = np.ones(count), np.full(count, _MAX_ANCESTORS)
    outside = np.ones(count, np.bool_)
    row = int(scene.blocks.element[title])
    for step in range(_MAX_ANCESTORS):
        if row < 0:
            break
        inside = outside & (index >= elements.first[row]) & (index < elements.last[row])
        share[inside] = (scene.run_good[elements.last[row]] - scene.run_good[elements.first[row]]) / scene.total_good
        steps[inside] = step
        outside &= ~inside
        row = int(elements.parent[row])
    scene.columns |= {
        "title_blocks": index - title,
        "title_words": scene.run_words[index] - scene.run_words[title],
        "title_share": share,
        "title_steps": steps,
    }


def _add_copies(scene: Scene) -> None:
    texts = [line.lower() for line in scene.lines]
    seen: dict[bytes, int] = {}
    nth = []
    for text in texts:
        seen[text] = seen.get(text, 0) + 1
        nth.append(seen[text])
    scene.columns["copy"] = np.array(nth)
    scene.copies = np.fromiter(map(seen.__getitem__, texts), np.int64, len(texts))
    scene.columns["copies"] = scene.copies


def _add_markup(scene: Scene) -> None:
    """Blocks whose elements are written alike up to three levels: rows of cards, items of one list, posts of one thread."""
    elements, element = scene.blocks.elements, scene.blocks.element
    path, parent = elements.signature, elements.parent
    for factor in (31, 961, 923_521):
        path = (path + factor * np.where(parent >= 0, path[parent], 0)) % 2_147_483_647
        parent = np.where(parent >= 0, parent[parent], -1)
    _, group, sizes = np.unique(path[element], return_inverse=True, return_counts=True)
    words, good, linked = (np.bincount(group, held) for held in (scene.words, scene.good, scene.linked))
    first, last = np.full(len(sizes), len(element)), np.zeros(len(sizes), np.int64)
    np.minimum.at(first, group, scene.index)
    np.maximum.at(last, group, scene.index)
    scene.columns |= {
        "alike": sizes[group],
        "alike_share": words[group] / scene.total,
        "alike_good_share": good[group] / scene.total_good,
        "alike_linked": linked[group] / words[group],
        "alike_mean": words[group] / sizes[group],
        "alike_span": (last - first)[group] / len(element),
        "since_first_alike": scene.index - first[group],
    }


def _add_page(scene: Scene) -> None:
    blocks, count = scene.blocks, len(scene.blocks)
    tags = np.bincount(blocks.elements.tag, minlength=len(TAG_NUMBER) + 1)
    good_blocks = int(np.count_nonzero(scene.good))
    page = {
        "page_words": scene.total,
        "page_good": scene.total_good / scene.total,
        "page_linked": scene.linked.sum() / scene.total,
        "page_blocks": count,
        "page_headings": np.count_nonzero(scene.heading),
        "page_paragraphs": np.count_nonzero(scene.columns["tag"] == TAG_NUMBER[b"p"]) / count,
        "page_articles": tags[TAG_NUMBER[b"article"]],
        "page_code": tags[TAG_NUMBER[b"pre"]],
        "page_currency": blocks.currency.sum(),
        "page_good_blocks": good_blocks,
        "page_good_mean": scene.total_good / max(1, good_blocks),
        "page_longest": scene.good.max() / scene.total_good,
    }
    for name, value in page.items():
        scene.columns[name] = np.full(count, float(value))
