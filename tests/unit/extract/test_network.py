"""The network beside the trees: compiled and plain give the same bits, and nothing a page holds makes it lose its bounds."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from sitelore.extract.content.network import TAGS, Network, even_out
from sitelore.extract.content.trees import trees_from
from sitelore.extract.native.library import library

FEATURES, HIDDEN = 150, 13  # no multiple of what is added up together


@pytest.fixture
def network() -> Network:
    chance = np.random.default_rng(1)
    return Network(
        even=chance.random((FEATURES, 2)).astype(np.float32),
        weight=chance.normal(size=(FEATURES, HIDDEN)).astype(np.float32),
        tagged=np.array([2, 5]),
        by_tag=chance.normal(size=(2, TAGS, HIDDEN)).astype(np.float32),
        first=chance.normal(size=HIDDEN).astype(np.float32),
        last=np.append(chance.normal(size=HIDDEN), [0.1, 0.5]).astype(np.float32),
    )


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_compiled_and_plain_say_the_same_to_the_last_bit(network: Network, count: int) -> None:
    found = library()
    assert found is not None
    chance = np.random.default_rng(count)
    columns = (chance.normal(size=(FEATURES, count)) * np.exp(3 * chance.normal(size=(FEATURES, 1)))).astype(np.float32)
    columns[[2, 5]] = chance.integers(-1, 60, (2, count))
    said = np.zeros(count)
    whole, place = ctypes.c_int64, ctypes.c_void_p
    ask = found.ask_network
    ask.restype, ask.argtypes = whole, [place, *[whole] * 3, *[place] * 3, whole, *[place] * 4]
    parts = [part.ctypes.data for part in (network.even, network.weight, network.tagged)]
    ends = [part.ctypes.data for part in (network.by_tag, network.first, network.last)]
    assert ask(columns.ctypes.data, count, FEATURES, HIDDEN, *parts, 2, *ends, said.ctypes.data) == 0
    assert said.tolist() == network.says(columns).tolist()


def test_no_feature_is_so_large_that_the_answer_is_out_of_bounds(network: Network) -> None:
    columns = np.full((FEATURES, 3), [[0.0, 1e30, -1e30]], np.float32)
    columns[[2, 5]] = 1000
    assert (np.abs(network.says(columns)) <= 4).all()


def test_evening_out_follows_the_logarithm_and_keeps_order_and_sign() -> None:
    values = np.array([-7.0, -1.0, 0.0, 0.5, 1.0, 3.0, 1000.0], np.float32)
    evened = even_out(values)
    assert evened[[0, 1, 2, 4, 5]].tolist() == [-3, -1, 0, 1, 2]
    assert (np.diff(evened) > 0).all()


def test_the_trained_network_knows_every_feature() -> None:
    trees = trees_from()
    network = Network.of(trees.network)
    assert network.weight.shape[0] == len(trees.names) == len(network.even)
    assert len(network.last) == network.weight.shape[1] + 2
