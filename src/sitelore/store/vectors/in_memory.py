"""Exact vector search in this process: a site's quantised vectors as one matrix, cached until the site or the model changes.

Each vector is kept in float16 and quantised to int8 with a bound for its rounding error. `int8_dot.c` multiplies the query with
all quantised vectors; only vectors that may be among the nearest are compared in full precision. So the result is exact and
reads a quarter of the memory.

Only changes are read: after a change of the site its chunks, after a batch of new vectors that batch. Equal texts share a
vector.
"""

from __future__ import annotations

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from sitelore.model.ids import SiteId, TenantId
from sitelore.model.search import Similarities
from sitelore.store.index.reads import stale_pages
from sitelore.store.vectors import embeddings
from sitelore.store.vectors.embeddings import Versions

NATIVE_VERSION = 2
"""Version of the interface: a library that another version of the package left behind is rejected."""
_MAX_BYTES = 1 << 30
"""Limit for all cached matrices together; the least recently used one is dropped first."""
_MAX_GAP_FACTOR, _SMALL_TABLE = 8, 1 << 16
"""Limits of the lookup table over chunk numbers: table entries per chunk, and the size that is always allowed."""
_COMPARED_IN_FULL = 1_000
"""The largest number of vectors that are all compared in full precision."""
_MAX_CODE, _MAX_QUERY_CODE, _MAX_PRODUCT = 127, 32_767, (1 << 31) - 1
_ROWS_AT_ONCE = 1_024
_FLOAT_ERROR = 2.0**-22
"""Upper bound for the relative error of a float32 dot product, for each dimension."""

_Floats = NDArray[np.float32]
_Ints = NDArray[np.int64]


@lru_cache(maxsize=1)
def native_library() -> ctypes.CDLL:
    """The compiled `int8_dot.c`. Raises ImportError when it is missing or of another version."""
    for path in sorted(Path(__file__).parent.glob("int8_dot.*")):
        if path.suffix in {".so", ".dylib", ".dll"}:
            try:
                library = ctypes.CDLL(str(path))
                library.version.restype = ctypes.c_int64
                if library.version() == NATIVE_VERSION:
                    library.dot_products.restype = None
                    library.dot_products.argtypes = [*[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 3]
                    return library
            except (OSError, AttributeError):
                continue
    raise ImportError(
        "the compiled library sitelore/store/vectors/int8_dot.so is missing or was built for another version; "
        "reinstall sitelore (a C compiler or the ziglang package is needed to build from source)"
    )


@dataclass(frozen=True, slots=True)
class QuantisedVectors:
    """Vectors: `values` in float16; `codes * scales` approximates them within `errors` per row."""

    values: NDArray[np.float16]
    codes: NDArray[np.int8]
    scales: _Floats
    errors: _Floats
    max_length: float
    """Upper bound for the length of a row."""

    @classmethod
    def quantise(cls, values: NDArray[np.float16]) -> QuantisedVectors:
        """Quantise these vectors; NaN and infinity become 0."""
        if not np.isfinite(values).all():
            values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
        count = len(values)
        codes = np.empty(values.shape, np.int8)
        scales, errors = np.empty(count, np.float32), np.empty(count, np.float32)
        max_length = 0.0
        for start in range(0, count, _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            rows = values[part].astype(np.float32)
            largest = np.abs(rows).max(axis=1, initial=0.0)
            scale = scales[part] = np.where(largest > 0, largest / _MAX_CODE, 1.0)
            code = np.rint(rows / scale[:, np.newaxis])
            codes[part] = code
            errors[part] = np.linalg.norm(rows - code * scale[:, np.newaxis], axis=1)
            max_length = max(max_length, float(np.linalg.norm(rows, axis=1).max(initial=0.0)))
        return cls(values, codes, scales, errors, max_length)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.values.nbytes + self.scales.nbytes + self.errors.nbytes + self.codes.nbytes

    def take(self, at: _Ints) -> QuantisedVectors:
        """A copy of the rows at these positions."""
        return QuantisedVectors(self.values[at], self.codes[at], self.scales[at], self.errors[at], self.max_length)

    def replace(self, at: _Ints, new: QuantisedVectors) -> QuantisedVectors:
        """A copy with the rows at these positions replaced. Not in place: a search may be reading the arrays."""
        copy = self.take(np.arange(len(self)))
        copy.values[at], copy.codes[at], copy.scales[at], copy.errors[at] = new.values, new.codes, new.scales, new.errors
        return QuantisedVectors(copy.values, copy.codes, copy.scales, copy.errors, max(self.max_length, new.max_length))

    def append(self, new: QuantisedVectors) -> QuantisedVectors:
        """A copy with these rows added at the end."""
        if not len(self):
            return new
        return QuantisedVectors(
            np.concatenate((self.values, new.values)),
            np.concatenate((self.codes, new.codes)),
            np.concatenate((self.scales, new.scales)),
            np.concatenate((self.errors, new.errors)),
            max(self.max_length, new.max_length),
        )

    def similarity(self, at: _Ints, query: _Floats) -> _Floats:
        """Exact similarity of the rows at these positions.

        Row by row in this thread: the threads of a BLAS matrix product spin for a tenth of a second when they are done.
        """
        similarities: _Floats = np.vecdot(self.values[at].astype(np.float32), query)
        return similarities

    def approximate_similarity(self, query: _Floats) -> tuple[_Floats, _Floats] | None:
        """Similarity of every row by its int8 code, and a bound for the error; None for a query that is zero or not finite."""
        codes, dims = self.codes, len(query)
        largest = float(np.abs(query).max(initial=0.0))
        if not np.isfinite(largest) or not largest:
            return None
        scale = largest / min(_MAX_QUERY_CODE, _MAX_PRODUCT // (_MAX_CODE * dims) - 1)
        query_codes = np.rint(query / np.float32(scale)).astype(np.int16)
        products = np.empty(len(codes), np.int32)
        native_library().dot_products(len(codes), dims, codes.ctypes.data, query_codes.ctypes.data, products.ctypes.data)
        rounded = query_codes * np.float64(scale)
        # |q·x - q'·x'| <= |q - q'| |x| + |q'| |x - x'|
        query_error = np.linalg.norm(query - rounded) + dims * _FLOAT_ERROR * np.linalg.norm(query)
        bound = self.errors * np.float32(np.linalg.norm(rounded) * (1 + _FLOAT_ERROR)) + np.float32(
            query_error * self.max_length
        )
        return products.astype(np.float32) * (self.scales * np.float32(scale)), bound


@dataclass(slots=True)
class SiteMatrix:
    """The vectors of a site: `vectors[at[i]]` is the vector of chunk `numbers[i]` on page `pages[i]`."""

    site_version: int
    model_version: int
    row_of_text: dict[str, int]
    vectors: QuantisedVectors
    text_hashes: list[tuple[int, int, str]]
    numbers: _Ints
    pages: _Ints
    at: _Ints

    @classmethod
    def empty(cls, dims: int) -> SiteMatrix:
        """A matrix that was not read yet."""
        none = np.zeros(0, np.int64)
        return cls(-1, -1, {}, QuantisedVectors.quantise(np.zeros((0, dims), np.float16)), [], none, none, none)


MatrixAndStale = tuple[SiteMatrix, list[int]]
"""A matrix, and the pages whose chunks must not be shown."""


class MatrixCache:
    """An LRU cache of the matrices of sites."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._matrices: OrderedDict[tuple[int, int, int], SiteMatrix] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, conn: sa.Connection, tenant: TenantId, site: SiteId, model: str, dims: int) -> MatrixAndStale | None:
        """The site's matrix in its current state; what is missing is read."""
        versions = embeddings.versions(conn, tenant, site, model)
        if versions is None:
            return None
        key = (site, versions.model_id, dims)
        with self._lock:
            matrix = self._matrices.get(key) or SiteMatrix.empty(dims)
        matrix = _refresh(conn, tenant, site, matrix, versions)
        with self._lock:
            self._matrices[key] = matrix
            self._matrices.move_to_end(key)
            self._evict()
        return matrix, stale_pages(conn, tenant, site)

    def get_current(
        self, conn: sa.Connection, tenant: TenantId, site: SiteId, versions: Versions, dims: int
    ) -> MatrixAndStale | None:
        """The site's matrix, if it is cached with these versions."""
        key = (site, versions.model_id, dims)
        with self._lock:
            matrix = self._matrices.get(key)
            if matrix is None or (matrix.site_version, matrix.model_version) != (versions.site_version, versions.model_version):
                return None
            self._matrices.move_to_end(key)
        return matrix, stale_pages(conn, tenant, site)

    def _evict(self) -> None:
        while len(self._matrices) > 1 and sum(m.vectors.nbytes for m in self._matrices.values()) > self._max_bytes:
            self._matrices.popitem(last=False)


def _refresh(conn: sa.Connection, tenant: TenantId, site: SiteId, old: SiteMatrix, versions: Versions) -> SiteMatrix:
    """The matrix at these versions. A new object: a search may be reading the old one."""
    site_changed = old.site_version != versions.site_version
    model_changed = old.model_version != versions.model_version
    if not site_changed and not model_changed:
        return old
    hashes = embeddings.text_hashes(conn, tenant, site) if site_changed else old.text_hashes
    row_of_text, vectors = old.row_of_text, old.vectors
    new: dict[str, bytes] = {}
    if model_changed and old.model_version >= 0:
        new.update(embeddings.vectors_since(conn, tenant, site, versions.model_id, old.model_version))
    if site_changed:
        needed = {text_hash for _, _, text_hash in hashes}
        if row_of_text:
            new.update(embeddings.vectors_of_texts(conn, tenant, versions.model_id, needed.difference(row_of_text, new)))
        else:
            new.update(embeddings.vectors_of_site(conn, tenant, site, versions.model_id))
        if 2 * len(needed) < len(row_of_text):
            row_of_text, vectors = _without_unused(row_of_text, vectors, needed)
    row_of_text, vectors = _with_new(row_of_text, vectors, new)
    known = [(number, page, row_of_text[text_hash]) for number, page, text_hash in hashes if text_hash in row_of_text]
    table = np.array(known, dtype=np.int64).reshape(-1, 3)
    columns = (np.ascontiguousarray(table[:, column]) for column in range(3))
    return SiteMatrix(versions.site_version, versions.model_version, row_of_text, vectors, hashes, *columns)


def _without_unused(
    row_of_text: dict[str, int], vectors: QuantisedVectors, needed: set[str]
) -> tuple[dict[str, int], QuantisedVectors]:
    kept = [text_hash for text_hash in row_of_text if text_hash in needed]
    rows = np.array([row_of_text[text_hash] for text_hash in kept], np.int64)
    return {text_hash: at for at, text_hash in enumerate(kept)}, vectors.take(rows)


def _with_new(
    row_of_text: dict[str, int], vectors: QuantisedVectors, new: dict[str, bytes]
) -> tuple[dict[str, int], QuantisedVectors]:
    """Replace and append vectors. Vectors with other dimensions cannot be compared and are ignored."""
    dims = vectors.values.shape[1]
    usable = {text_hash: half for text_hash, half in new.items() if len(half) == 2 * dims}
    if not usable:
        return row_of_text, vectors
    read = QuantisedVectors.quantise(np.frombuffer(b"".join(usable.values()), "<f2").reshape(-1, dims))
    replaced = [(row_of_text[text_hash], at) for at, text_hash in enumerate(usable) if text_hash in row_of_text]
    if replaced:
        rows, by = np.array(replaced, np.int64).T
        vectors = vectors.replace(rows, read.take(by))
        read = read.take(np.array([at for at, text_hash in enumerate(usable) if text_hash not in row_of_text], np.int64))
    added = [text_hash for text_hash in usable if text_hash not in row_of_text]
    rows_of_added = {text_hash: len(vectors) + at for at, text_hash in enumerate(added)}
    return {**row_of_text, **rows_of_added}, vectors.append(read)


def nearest(
    matrix: SiteMatrix, stale: Sequence[int], query: _Floats, limit: int, also: Collection[int], among: bytes | None
) -> Similarities:
    """The nearest chunks, nearest first and by number among equals, then those in `also` that are not among them."""
    numbers, pages, at = matrix.numbers, matrix.pages, matrix.at
    if among is not None:
        is_allowed = _is_in(numbers, np.frombuffer(among, "<u4"))
        numbers, pages, at = numbers[is_allowed], pages[is_allowed], at[is_allowed]
    if stale:
        is_live = ~np.isin(pages, np.array(stale, dtype=np.int64))
        numbers, at = numbers[is_live], at[is_live]
    rows = _candidates(matrix.vectors, at, query, limit)
    scores = matrix.vectors.similarity(at[rows], query)
    best = _best(scores, numbers[rows], limit)
    rows, scores = rows[best], scores[best]
    if also and len(numbers):
        requested = np.array(sorted(set(also)), dtype=np.int64)
        more = np.minimum(np.searchsorted(numbers, requested), len(numbers) - 1)
        more = more[numbers[more] == requested]
        more = more[~np.isin(more, rows)]
        rows = np.concatenate((rows, more))
        scores = np.concatenate((scores, matrix.vectors.similarity(at[more], query)))
    return Similarities(numbers[rows].tolist(), scores.tolist(), len(numbers))


def _candidates(vectors: QuantisedVectors, at: _Ints, query: _Floats, limit: int) -> _Ints:
    """Positions that may be among the nearest by their approximate similarity; all of them where that saves nothing."""
    every = np.arange(len(at)) if limit > 0 else np.zeros(0, np.int64)
    approximate = vectors.approximate_similarity(query) if len(every) > max(limit, _COMPARED_IN_FULL) else None
    if approximate is None:
        return every
    similarity, bound = approximate[0][at], approximate[1][at]
    lowest = similarity - bound
    threshold = np.partition(lowest, len(lowest) - limit)[len(lowest) - limit]
    return np.flatnonzero(similarity + bound >= threshold)


def _is_in(numbers: _Ints, allowed: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which of these ascending numbers are allowed."""
    highest = int(numbers[-1]) if len(numbers) else 0
    if highest > _MAX_GAP_FACTOR * len(numbers) + _SMALL_TABLE:
        return np.isin(numbers, allowed)
    table = np.zeros(highest + 1, np.bool_)
    table[allowed[allowed <= highest]] = True
    return table[numbers]


def _best(scores: _Floats, numbers: _Ints, limit: int) -> _Ints:
    if limit <= 0:
        return np.zeros(0, np.int64)
    candidates = np.arange(len(scores))
    if len(scores) > limit:
        threshold = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        candidates = np.flatnonzero(
            scores >= threshold
        )  # includes ties with the last one: the chunk number decides among equals
    order: _Ints = candidates[np.lexsort((numbers[candidates], -scores[candidates]))][:limit]
    return order
