"""How much each block of a page looks like content, and which blocks to keep, in numpy.

The scorer is a few hundred small decision trees, trained on pages whose content people marked (`bench/train_content.py`). All
questions of a tree's level are the same, so a leaf's number is read off as bits and a whole page is scored in a few steps.
`choose.c` does the same where it was compiled (`choosing`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.block_features import feature_names, matrix
from sitelore.extract.content.blocks import Flags, Ints
from sitelore.extract.content.choice import MOST_WORDS, Choice
from sitelore.extract.content.network import Network, as_array
from sitelore.extract.content.scene import Scene
from sitelore.extract.content.tag_marks import ALL_TAGS, IN_PRE, IN_TABLE
from sitelore.extract.content.trees import Trees, questions_of
from sitelore.extract.content.walking import ask_trees

Scores = NDArray[np.float64]

_MOST_WORDS = np.array([MOST_WORDS.get(tag, -1.0) for tag in range(ALL_TAGS)])
_HOLE_BLOCKS, _HOLE_WORDS, _HOLE_SCORE = 5, 40, 0.1
_REPEATED_WORDS = 4
_TITLE_BLOCKS, _TITLE_SCORE = 8, 0.3
_DOCUMENTATION_CODE = 3


def scores_of(scene: Scene, trees: Trees) -> Scores:
    """For each block, 0 to 1."""
    if feature_names(scene) != trees.names:
        raise ValueError("the trained scorer knows other features than this version computes; train it again")
    columns = matrix(scene)
    said = ask_trees(columns, questions_of(trees.feature, trees.bound, trees.value))
    said = ask_slowly(columns, trees) if said is None else said
    return np.array(trees.shares((said + Network.of(trees.network).says(columns)).tolist()))


def ask_slowly(columns: NDArray[np.float32], trees: Trees) -> Scores:
    """What `ask` in `walk.c` does, where that was not compiled."""
    feature, bound, value = as_array(trees.feature), as_array(trees.bound), as_array(trees.value)
    count, levels = feature.shape
    leaf = np.zeros((count, columns.shape[1]), np.intp)
    for level in range(levels):
        leaf += (columns[feature[:, level]] > bound[:, level, None]).astype(np.intp) << level
    leaf += (np.arange(count) * value.shape[1])[:, None]
    return np.asarray(value.ravel()[leaf].sum(axis=0, dtype=np.float64))


def choose(scene: Scene, trees: Trees) -> Choice:
    """The blocks that make the best page, the scores taken at their word.

    F1 is largest when everything above half of that largest F1 is kept. The bound is read off so, instead of from the last
    block that is worth keeping: it moves little when a page does, and fetches of one page give the same choice.
    """
    scores = scores_of(scene, trees)
    order = np.argsort(-scores, kind="stable")
    mass = scores * scene.words
    # Added up in page order, as the compiled code does: `sum` has an order of its own.
    whole = np.cumsum(mass)[-1]
    expected = float((2 * np.cumsum(mass[order]) / (np.cumsum(scene.words[order]) + whole)).max())
    threshold = min(expected / 2, float(scores.max()))
    kept = _whole_atoms(scene, scores, threshold, _without_holes(scene, scores, scores >= threshold))
    kept = _without_bare_headings(scene, _without_repeats(scene, kept))
    return Choice(_with_title(scene, scores, kept).tolist(), scores.tolist(), threshold, expected)


def _without_holes(scene: Scene, scores: Scores, kept: Flags) -> Flags:
    """A few short blocks between kept ones of the same element belong to them, unless nothing speaks for them."""
    places = np.flatnonzero(kept)
    holes = np.flatnonzero(np.diff(places) > 1)
    if len(holes) == 0:
        return kept
    kept = kept.copy()
    parent = scene.blocks.elements.parent[scene.blocks.element]
    for before, after in zip(places[holes].tolist(), places[holes + 1].tolist(), strict=True):
        hole = slice(before + 1, after)
        words = float(scene.words[hole].sum())
        if (
            after - before <= _HOLE_BLOCKS
            and words <= _HOLE_WORDS
            and parent[before] == parent[after]
            and scene.linked[hole].sum() <= 0.5 * words
            and scores[hole].min() >= _HOLE_SCORE
        ):
            kept[hole] = True
    return kept


def _whole_atoms(scene: Scene, scores: Scores, threshold: float, kept: Flags) -> Flags:
    """A listing, a row of a table and a short list are kept or dropped as one, by the mean score of their words.

    Half a list is worth nothing, and which half would change with every fetch of a page that shuffles it.
    """
    elements = scene.blocks.elements
    words = scene.within(scene.run_words, np.arange(len(elements.tag)))
    atoms = np.flatnonzero((words <= _MOST_WORDS[elements.tag]) & (elements.last - elements.first > 1))
    if len(atoms) == 0:
        return kept
    kept = kept.copy()
    mass = np.concatenate([np.zeros(1), np.cumsum(scores * scene.words)])
    stays = scene.within(mass, atoms) >= threshold * words[atoms]
    for first, last, stay in zip(elements.first[atoms].tolist(), elements.last[atoms].tolist(), stays.tolist(), strict=True):
        kept[first:last] = stay
    return kept


def _without_repeats(scene: Scene, kept: Flags) -> Flags:
    """Drop a kept block that says again what a kept one said: cards and captions are often written twice.

    Not in code and tables, and not in documentation, where the same line is said on purpose.
    """
    if scene.listings > _DOCUMENTATION_CODE:
        return kept
    may_repeat = (scene.around & (IN_TABLE | IN_PRE)) != 0
    candidates: Ints = np.flatnonzero(kept & ~may_repeat & (scene.words >= _REPEATED_WORDS) & (scene.copies > 1))
    if len(candidates) == 0:
        return kept
    kept = kept.copy()
    seen = set()
    for block in candidates.tolist():
        text = scene.lines[block].lower()
        if text in seen:
            kept[block] = False
        seen.add(text)
    return kept


def _with_title(scene: Scene, scores: Scores, kept: Flags) -> Flags:
    """The title right above what is kept stays with it, unless much speaks against it: a text is worth more with its name.

    People who mark content disagree about titles, so their score says little.
    """
    places = np.flatnonzero(kept)
    titles = np.flatnonzero(scene.heading == 1)
    if len(places) == 0 or len(titles) == 0 or kept[titles].any():
        return kept
    above = titles[titles < places[0]]
    if len(above) == 0 or places[0] - above[-1] > _TITLE_BLOCKS or scores[above[-1]] < _TITLE_SCORE:
        return kept
    kept = kept.copy()
    kept[above[-1]] = True
    return kept


def _without_bare_headings(scene: Scene, kept: Flags) -> Flags:
    """A heading goes when everything under it in its element went; the last ones first, so that those above them follow.

    Not one that is a link: that is the title of a card, and what it says is elsewhere.
    """
    # What begins with a kept block that is no heading is not bare: that is nearly all of them.
    begins = np.append(kept[1:] & (scene.heading[1:] == 0), True)
    headings = np.flatnonzero(kept & ~begins & (scene.heading > 1) & (scene.linked < 0.5 * scene.words))
    if len(headings) == 0:
        return kept
    kept = kept.copy()
    elements, levels = scene.blocks.elements, scene.heading
    parent = elements.parent[scene.blocks.element]
    for at in headings[::-1].tolist():
        end = int(elements.last[parent[at]]) if parent[at] >= 0 else len(kept)
        higher = np.flatnonzero((levels[at + 1 : end] > 0) & (levels[at + 1 : end] <= levels[at]))
        end = at + 1 + int(higher[0]) if len(higher) else end
        if end > at + 1 and not kept[at + 1 : end].any():
            kept[at] = False
    return kept
