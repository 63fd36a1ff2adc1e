"""The trained scorer is read without numpy, and is what numpy reads."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sitelore.extract import content
from sitelore.extract.content.network import as_array
from sitelore.extract.content.trees import Table, trees_from

PACKAGED = Path(content.__file__).with_name("content_trees.npz")


def test_every_table_holds_the_numbers_that_numpy_reads() -> None:
    trees = trees_from()
    tables: dict[str, Table] = {"feature": trees.feature, "bound": trees.bound, "value": trees.value}
    tables |= {name: getattr(trees.network, name) for name in ("even", "weight", "tagged", "by_tag", "first", "last")}
    with np.load(PACKAGED, allow_pickle=False) as stored:
        assert set(stored) == {*tables, "bias", "names"}
        assert trees.bias == float(stored["bias"])
        assert trees.names == tuple(str(stored["names"]).split())
        for name, table in tables.items():
            assert table.shape == stored[name].shape, name
            assert (as_array(table) == stored[name]).all(), name


@pytest.mark.parametrize(
    "array", [np.asfortranarray(np.zeros((2, 3), np.float32)), b"\x93NUMPY\x02\x00" + bytes(20)], ids=["columns", "version"]
)
def test_what_is_stored_in_another_way_is_refused(tmp_path: Path, array: np.ndarray[tuple[int, int]] | bytes) -> None:
    file = io.BytesIO()
    if isinstance(array, bytes):
        file.write(array)
    else:
        np.save(file, array)
    path = tmp_path / "trees.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("feature.npy", file.getvalue())
    with pytest.raises(ValueError, match="train it again"):
        trees_from(str(path))
