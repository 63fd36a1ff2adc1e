"""Trains the network beside the trees (`extract/native/scoring/network.c`) on the F1 of whole pages.

Trees are trained block by block. The F1 of a page, computed with probabilities in place of decisions, is differentiable, so
the network is trained on it page by page. A share of log loss keeps the probabilities calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.block_scorer import NETWORK_TAGS
from sitelore.extract.content.vocabulary import TAGS

Floats = NDArray[np.float32]

HIDDEN, EPOCHS, RATE, DECAY = 32, 10, 0.002, 1e-5
SHARE = 0.25
"""Of the network in the score; the rest is the share of the trees."""
_LOG_LOSS = 0.3
_PAGES = 6  # at a time
_MOST_BLOCKS = 600  # of a page at a time; a long one is thinned out
_TAGGED = ("tag", "outer", "holder_tag", "card_tag", "tag-1", "tag+1")
_RARE = 0.004
_SEED = 1


def log_scale(values: Floats) -> Floats:
    """Approximate sign(x) * log2(1 + |x|) from the bits of the float, as `network.c` does."""
    bits = (np.abs(values) + np.float32(1)).view(np.int32) - np.int32(127 << 23)
    return np.asarray(np.copysign(bits.astype(np.float32) * np.float32(2.0**-23), values))


@dataclass(frozen=True, slots=True)
class Blocks:
    """All blocks of all pages: features, labels, weights, and how many blocks each page has."""

    features: Floats
    labels: NDArray[np.float64]
    weights: NDArray[np.float64]
    sizes: NDArray[np.int64]


def network_of(blocks: Blocks, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """The network as the package reads it."""
    tagged = [names.index(name) for name in _TAGGED]
    tags = range(len(TAGS) + 1)
    known = [(at, tag) for at, row in enumerate(tagged) for tag in tags if (blocks.features[:, row] == tag).mean() > _RARE]
    is_tag = np.stack([blocks.features[:, tagged[at]] == tag for at, tag in known], 1).astype(np.float32)
    evened = np.concatenate([log_scale(blocks.features), is_tag], axis=1)
    mean, scale = evened.mean(axis=0, dtype=np.float64), 1 / (evened.std(axis=0, dtype=np.float64) + 1e-6)
    evened -= mean.astype(np.float32)
    evened *= scale.astype(np.float32)
    np.clip(evened, -4, 4, out=evened)
    inner, first, outer, base = _trained(evened, blocks, blocks.features[:, names.index("words")])
    by_tag = np.zeros((len(_TAGGED), NETWORK_TAGS, HIDDEN))
    for column, (at, tag) in enumerate(known, len(names)):
        absent, present = (np.clip((there - mean[column]) * scale[column], -4, 4) for there in (0, 1))
        by_tag[at, tag + 1] = inner[column] * (present - absent)
        first = first + inner[column] * absent
    return {
        "even": np.stack([mean, scale], 1)[: len(names)].astype(np.float32),
        "weight": inner[: len(names)].astype(np.float16),
        "tagged": np.array(tagged, np.int16),
        "by_tag": by_tag.astype(np.float16),
        "first": first.astype(np.float32),
        "last": np.append(outer, [base[0], SHARE]).astype(np.float32),
    }


def _trained(evened: Floats, blocks: Blocks, words: Floats) -> list[Floats]:
    """Weights and bias of both layers, by Adam with a falling rate."""
    chance = np.random.default_rng(_SEED)
    columns = evened.shape[1]
    layers = [
        chance.normal(0, np.sqrt(2 / columns), (columns, HIDDEN)).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        chance.normal(0, np.sqrt(1 / HIDDEN), HIDDEN).astype(np.float32),
        np.zeros(1, np.float32),
    ]
    first, second = [np.zeros_like(layer) for layer in layers], [np.zeros_like(layer) for layer in layers]
    ends = np.cumsum(blocks.sizes)
    rounds = len(ends) // _PAGES
    for step in range(EPOCHS * rounds):
        if step % rounds == 0:
            order = chance.permutation(len(ends))
        rows = []
        for page in order[step % rounds * _PAGES :][:_PAGES].tolist():
            own = np.arange(ends[page] - blocks.sizes[page], ends[page])
            rows.append(own if len(own) <= _MOST_BLOCKS else np.sort(chance.choice(own, _MOST_BLOCKS, replace=False)))
        rate = RATE * (1 - 0.9 * (step + 1) / (EPOCHS * rounds))
        for at, slope in enumerate(_slopes(layers, evened, blocks, words, rows)):
            first[at] = 0.9 * first[at] + 0.1 * slope
            second[at] = 0.999 * second[at] + 0.001 * slope**2
            mean, spread = first[at] / (1 - 0.9 ** (step + 1)), second[at] / (1 - 0.999 ** (step + 1))
            layers[at] = (layers[at] - rate * mean / (np.sqrt(spread) + 1e-8)).astype(np.float32)
    return layers


def _slopes(layers: list[Floats], evened: Floats, blocks: Blocks, words: Floats, rows: list[NDArray[np.int64]]) -> list[Floats]:
    """The gradient of the loss of these pages for each layer."""
    inner, bias, outer, base = layers
    given = evened[np.concatenate(rows)]
    held = given @ inner + bias
    active = np.maximum(held, 0)
    shares = 1 / (1 + np.exp(-np.clip(active @ outer + base, -30, 30)))
    slope = np.empty(len(given), np.float32)
    begin = 0
    for own in rows:
        part = slice(begin, begin + len(own))
        begin += len(own)
        wanted, share = (blocks.labels[own] > 0).astype(np.float32), shares[part]
        counts = words[own] * (blocks.labels[own] >= 0)
        both = (counts * share).sum() + (counts * wanted).sum() + 1
        f1 = 2 * (counts * wanted * share).sum() / both
        by_f1 = -counts * (2 * wanted - f1) / both * share * (1 - share)
        slope[part] = ((1 - _LOG_LOSS) * by_f1 + _LOG_LOSS * (share - wanted) * blocks.weights[own]) / len(rows)
    back = np.outer(slope, outer) * (held > 0)
    return [given.T @ back + DECAY * inner, back.sum(axis=0), active.T @ slope + DECAY * outer, slope.sum(keepdims=True)]
