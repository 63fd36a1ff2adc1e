"""A small network that is asked beside the trees: trees cut, a network weighs, and where one errs the other often does not.

One layer of hidden units over all features of a block. Features are evened out first: a logarithm read off a float's own bits,
then mean and spread of the pages it was trained on. `network.c` does the same where it was compiled, to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sitelore.extract.content.trees import NetworkTables, Table

Weights = NDArray[np.float32]

TAGS = 64
_ONE_BITS, _STEP = np.int32(127 << 23), np.float32(2.0**-23)
_FAR = np.float32(4.0)
_SURE = 8.0  # log odds; nothing is surer


def as_array(table: Table) -> NDArray[Any]:
    """The same numbers, not a copy."""
    return np.asarray(table.numbers).reshape(table.shape)


def even_out(values: Weights) -> Weights:
    """About the logarithm to base 2 of what is one more, with its sign: piecewise linear between powers of two."""
    bits = (np.abs(values) + np.float32(1)).view(np.int32) - _ONE_BITS
    found = bits.astype(np.float32) * _STEP
    return np.asarray(np.copysign(found, values))


@dataclass(frozen=True, slots=True)
class Network:
    """Trained weights. What it says is added to what the trees say."""

    even: Weights
    """A row a feature: its mean, and by what its distance from that is multiplied."""
    weight: Weights
    """A row a feature, a column a hidden unit."""
    tagged: NDArray[np.int64]
    """The features that are tags, and so names rather than sizes."""
    by_tag: Weights
    """For each of them and each tag a row like those of `weight`."""
    first: Weights
    last: Weights
    """What each hidden unit counts in the end, then the bias, then how much of the score the network is."""

    @classmethod
    def of(cls, tables: NetworkTables) -> Network:
        """As it was stored."""
        parts = (tables.even, tables.weight, tables.tagged, tables.by_tag, tables.first, tables.last)
        return cls(*map(as_array, parts))

    def says(self, columns: Weights) -> NDArray[np.float64]:
        """For each block; `columns` has a row a feature."""
        held = np.repeat(self.first[:, None], columns.shape[1], axis=1)
        for rows, feature in zip(self.by_tag, self.tagged.tolist(), strict=True):
            held += rows[np.clip(columns[feature].astype(np.int64) + 1, 0, TAGS - 1)].T
        for column, (mean, scale), weight in zip(even_out(columns), self.even, self.weight, strict=True):
            held += weight[:, None] * np.clip((column - mean) * scale, -_FAR, _FAR)
        *counts, bias, share = self.last.astype(np.float64)
        said = np.full(columns.shape[1], bias)
        for unit, by in zip(np.maximum(held, 0).astype(np.float64), counts, strict=True):
            said += by * unit
        return np.asarray(share * np.clip(said, -_SURE, _SURE))
