"""Vectors of a site and their similarity to a query, with int8 quantisation.

Each vector is kept in float16 and, rounded, in eight bits a number with a bound for the rounding error. `near.c` compares the
query with all quantised rows; only rows that may be among the nearest are compared in full. So the result is exact, and reads
a quarter of the memory.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VERSION = 1
"""Version of the interface: a library that another version of the package left behind is refused."""
_CODE, _ASKED, _SUM = 127, 32_767, (1 << 31) - 1
_AT_ONCE = 1_024
_FLOAT = 2.0**-22
"""What a product of single floats may be off by, for each of its numbers; generously."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The compiled library. Raises ImportError where there is none of this version."""
    for path in sorted(Path(__file__).parent.glob("near.*")):
        if path.suffix in {".so", ".dylib", ".dll"}:
            try:
                found = ctypes.CDLL(str(path))
                found.version.restype = ctypes.c_int64
                if found.version() == VERSION:
                    found.compare.restype = None
                    found.compare.argtypes = [*[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 3]
                    return found
            except (OSError, AttributeError):
                continue
    raise ImportError(
        "the compiled library sitelore/store/near.so is missing or was built for another version; "
        "reinstall sitelore (a C compiler or the ziglang package is needed to build from source)"
    )


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors: `values` in float16; `codes * scales` approximates them within `errors` per row."""

    values: NDArray[Any]
    codes: NDArray[np.int8]
    scales: Floats
    errors: Floats
    longest: float
    """No row is longer than this."""

    @classmethod
    def of(cls, halves: NDArray[np.float16]) -> Rows:
        """These vectors; NaN and infinity count as 0."""
        if not np.isfinite(halves).all():
            halves = np.nan_to_num(halves, nan=0.0, posinf=0.0, neginf=0.0)
        count = len(halves)
        codes = np.empty(halves.shape, np.int8)
        scales, errors = np.empty(count, np.float32), np.empty(count, np.float32)
        longest = 0.0
        for start in range(0, count, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            rows = halves[some].astype(np.float32)
            highest = np.abs(rows).max(axis=1, initial=0.0)
            scale = scales[some] = np.where(highest > 0, highest / _CODE, 1.0)
            code = np.rint(rows / scale[:, np.newaxis])
            codes[some] = code
            errors[some] = np.linalg.norm(rows - code * scale[:, np.newaxis], axis=1)
            longest = max(longest, float(np.linalg.norm(rows, axis=1).max(initial=0.0)))
        return cls(halves, codes, scales, errors, longest)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """What they take."""
        return self.values.nbytes + self.scales.nbytes + self.errors.nbytes + self.codes.nbytes

    def picked(self, at: Ints) -> Rows:
        """Some of them."""
        return Rows(self.values[at], self.codes[at], self.scales[at], self.errors[at], self.longest)

    def with_changes(self, at: Ints, new: Rows) -> Rows:
        """Copies, with these rows changed; whoever computes with the old ones is not disturbed."""
        values, longest = _changed(self.values, at, new.values), max(self.longest, new.longest)
        codes, scales, errors = (
            _changed(old, at, more)
            for old, more in ((self.codes, new.codes), (self.scales, new.scales), (self.errors, new.errors))
        )
        return Rows(values, codes, scales, errors, longest)

    def followed_by(self, new: Rows) -> Rows:
        """These, then those."""
        if not len(self):
            return new
        values, longest = np.concatenate((self.values, new.values)), max(self.longest, new.longest)
        joined = (np.concatenate((self.scales, new.scales)), np.concatenate((self.errors, new.errors)))
        return Rows(values, np.concatenate((self.codes, new.codes)), *joined, longest)

    def likeness(self, at: Ints, query: Floats) -> Floats:
        """How near these rows are, exactly.

        Row by row in this thread: the threads of a matrix product wait for the next one by spinning, for a tenth of a second.
        """
        some: Floats = np.vecdot(self.values[at].astype(np.float32), query)
        return some

    def about(self, query: Floats) -> tuple[Floats, Floats] | None:
        """How near every row is, and what that may be off by; None for a query that is not a direction."""
        codes, dims = self.codes, len(query)
        highest = float(np.abs(query).max(initial=0.0))
        if not np.isfinite(highest) or not highest:
            return None
        scale = highest / min(_ASKED, _SUM // (_CODE * dims) - 1)
        asked = np.rint(query / np.float32(scale)).astype(np.int16)
        sums = np.empty(len(codes), np.int32)
        library().compare(len(codes), dims, codes.ctypes.data, asked.ctypes.data, sums.ctypes.data)
        rounded = asked * np.float64(scale)
        # |q·x - q'·x'| <= |q - q'| |x| + |q'| |x - x'|
        off = np.linalg.norm(query - rounded) + dims * _FLOAT * np.linalg.norm(query)
        slack = self.errors * np.float32(np.linalg.norm(rounded) * (1 + _FLOAT)) + np.float32(off * self.longest)
        return sums.astype(np.float32) * (self.scales * np.float32(scale)), slack


def _changed(old: NDArray[Any], at: Ints, new: NDArray[Any]) -> NDArray[Any]:
    changed = old.copy()
    changed[at] = new
    return changed
