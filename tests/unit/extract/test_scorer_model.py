"""The trained model is read without numpy, and holds what numpy reads."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sitelore.extract import content
from sitelore.extract.content.block_scorer import load_model
from sitelore.extract.content.vocabulary import FEATURE_NAMES

PACKAGED = Path(content.__file__).with_name("content_trees.npz")


def stored_with(path: Path, **changes: Any) -> str:
    """A copy of the packaged model in which these arrays are others."""
    with np.load(PACKAGED, allow_pickle=False) as stored:
        np.savez_compressed(path, allow_pickle=False, **{**stored, **changes})
    return str(path)


def test_the_model_holds_the_numbers_that_numpy_reads() -> None:
    model = load_model()
    *_, bounds, scale, rank, value = model.arrays[:6]
    with np.load(PACKAGED, allow_pickle=False) as stored:
        assert model.bias == float(stored["bias"])
        assert (model.trees.trees, model.trees.levels) == stored["feature"].shape
        assert value.tolist() == stored["value"].ravel().tolist()
        begins, features = model.arrays[1], model.arrays[0]
        questions = [(features[each], bounds[begins[each] + at]) for each, at in zip(scale, rank, strict=True)]
        assert questions == list(zip(stored["feature"].ravel().tolist(), stored["bound"].ravel().tolist(), strict=True))
        for name, numbers in zip(("even", "weight", "tagged", "by_tag", "first", "last"), model.arrays[6:], strict=True):
            assert numbers.tolist() == stored[name].ravel().tolist(), name
    assert model.network.features == len(FEATURE_NAMES)


def test_a_copy_of_the_model_scores_alike(tmp_path: Path) -> None:
    copied = load_model(stored_with(tmp_path / "copy.npz"))
    assert [list(numbers) for numbers in copied.arrays] == [list(numbers) for numbers in load_model().arrays]


@pytest.mark.parametrize(
    "changes",
    [
        {"names": np.array("other names")},
        {"feature": np.full((601, 6), 9_999, np.int16)},
        {"feature": np.zeros((1, 8), np.int16), "bound": np.zeros((1, 8), np.float32)},
        {"value": np.zeros((1, 64), np.float32)},
        {"tagged": np.full(6, -1, np.int16)},
        {"weight": np.zeros((len(FEATURE_NAMES), 129), np.float32)},
        {"last": np.zeros(3, np.float32)},
    ],
    ids="-".join,
)
def test_a_model_that_does_not_fit_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = stored_with(tmp_path / "model.npz", **changes)
    with pytest.raises(ValueError, match=r"train (it|them) again"):
        load_model(path)


@pytest.mark.parametrize(
    "array", [np.asfortranarray(np.zeros((2, 3), np.float32)), b"\x93NUMPY\x02\x00" + bytes(20)], ids=["columns", "version"]
)
def test_another_array_format_is_refused(tmp_path: Path, array: np.ndarray[tuple[int, int]] | bytes) -> None:
    file = io.BytesIO()
    if isinstance(array, bytes):
        file.write(array)
    else:
        np.save(file, array)
    path = tmp_path / "trees.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("feature.npy", file.getvalue())
    with pytest.raises(ValueError, match="train it again"):
        load_model(str(path))
