"""Exact likeness in the process: a site's vectors as one matrix, kept until the site or the model changes.

What was read once is not read again: a change of the site costs a look at its chunks, and a batch of new vectors costs that
batch. Equal texts share a row.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from sitelore.model.ids import SiteId
from sitelore.model.search import Similarities
from sitelore.store import shelves_sql, vectors_sql
from sitelore.store.vector_rows import Rows

_MOST_BYTES = 1 << 30
"""Of all matrices together; the one that was not asked for the longest goes first."""
_SPREAD, _SMALL = 8, 1 << 16
"""A table of all numbers beats a search by far, and is small unless numbers run far ahead of chunks."""
_FEW = 1_000
"""Vectors that are compared in full without a look at them before."""

_Floats = NDArray[np.float32]
_Ints = NDArray[np.int64]


@dataclass(slots=True)
class Matrix:
    """`rows[at[i]]` is the vector of chunk `numbers[i]`."""

    site_version: int
    model_version: int
    row_of: dict[str, int]
    rows: Rows
    hashes: list[tuple[int, int, str]]
    numbers: _Ints
    pages: _Ints
    at: _Ints


class Matrices:
    """The matrices of the sites that were asked about, the latest last."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[int, int, int], Matrix] = OrderedDict()
        self._lock = threading.Lock()

    def current(self, conn: sa.Connection, site: SiteId, model: str, dims: int) -> tuple[Matrix, list[int]] | None:
        """The site's matrix as it stands in the database, and the pages whose chunks may not be shown."""
        standing = vectors_sql.versions(conn, site, model)
        if standing is None:
            return None
        site_version, model_id, model_version = standing
        key = (site, model_id, dims)
        with self._lock:
            found = self._kept.get(key) or Matrix(
                -1, -1, {}, Rows.of(np.zeros((0, dims), np.float16)), [], *(np.zeros(0, np.int64) for _ in range(3))
            )
        found = _refreshed(conn, site, model_id, found, (site_version, model_version))
        with self._lock:
            self._kept[key] = found
            self._kept.move_to_end(key)
            self._make_room()
        return found, shelves_sql.stale_pages(conn, site)

    def kept(
        self, conn: sa.Connection, site: SiteId, standing: tuple[int, int, int], dims: int
    ) -> tuple[Matrix, list[int]] | None:
        """The same where nothing has to be read for it: it is here and `standing` (`vectors_sql.versions`) is as it was."""
        site_version, model_id, model_version = standing
        key = (site, model_id, dims)
        with self._lock:
            found = self._kept.get(key)
            if found is None or (found.site_version, found.model_version) != (site_version, model_version):
                return None
            self._kept.move_to_end(key)
        return found, shelves_sql.stale_pages(conn, site)

    def _make_room(self) -> None:
        while len(self._kept) > 1 and sum(one.rows.nbytes for one in self._kept.values()) > self._most_bytes:
            self._kept.popitem(last=False)


def _refreshed(conn: sa.Connection, site: SiteId, model: int, was: Matrix, now: tuple[int, int]) -> Matrix:
    """The matrix at these versions. A new object: whoever computes with the old one is not disturbed."""
    if (was.site_version, was.model_version) == now:
        return was
    hashes = was.hashes if was.site_version == now[0] else vectors_sql.hashes(conn, site)
    row_of, rows = was.row_of, was.rows
    new: dict[str, bytes] = {}
    if was.model_version != now[1] and was.model_version >= 0:
        new.update(vectors_sql.halves_since(conn, site, model, was.model_version))
    if was.site_version != now[0]:
        wanted = {one[2] for one in hashes}
        if row_of:
            new.update(vectors_sql.halves(conn, model, sorted(wanted.difference(row_of, new))))
        else:
            new.update(vectors_sql.halves_of_site(conn, site, model))
        if 2 * len(wanted) < len(row_of):
            row_of, rows = _shrunk(row_of, rows, wanted)
    row_of, rows = _grown(row_of, rows, new)
    known = [(number, page, row_of[text]) for number, page, text in hashes if text in row_of]
    table = np.array(known, dtype=np.int64).reshape(-1, 3)
    return Matrix(*now, row_of, rows, hashes, *(np.ascontiguousarray(table[:, column]) for column in range(3)))


def _shrunk(row_of: dict[str, int], rows: Rows, wanted: set[str]) -> tuple[dict[str, int], Rows]:
    kept = [text for text in row_of if text in wanted]
    return {text: at for at, text in enumerate(kept)}, rows.picked(np.array([row_of[text] for text in kept], np.int64))


def _grown(row_of: dict[str, int], rows: Rows, new: dict[str, bytes]) -> tuple[dict[str, int], Rows]:
    """Vectors of another length belong to no comparison."""
    dims = rows.values.shape[1]
    usable = {text: half for text, half in new.items() if len(half) == 2 * dims}
    if not usable:
        return row_of, rows
    read = Rows.of(np.frombuffer(b"".join(usable.values()), "<f2").reshape(-1, dims))
    replaced = [(row_of[text], at) for at, text in enumerate(usable) if text in row_of]
    if replaced:
        changed, by = np.array(replaced, np.int64).T
        rows = rows.with_changes(changed, read.picked(by))
        read = read.picked(np.array([at for at, text in enumerate(usable) if text not in row_of], np.int64))
    start = len(rows)
    added = {text: start + at for at, text in enumerate(text for text in usable if text not in row_of)}
    return {**row_of, **added}, rows.followed_by(read)


def nearest(
    matrix: Matrix, stale: Sequence[int], query: _Floats, limit: int, also: Collection[int], among: bytes | None
) -> Similarities:
    """The nearest chunks, nearest first and by number among equals, then those in `also` that are not among them."""
    numbers, pages, at = matrix.numbers, matrix.pages, matrix.at
    if among is not None:
        wanted = _is_among(numbers, np.frombuffer(among, "<u4"))
        numbers, pages, at = numbers[wanted], pages[wanted], at[wanted]
    if stale:
        shown = ~np.isin(pages, np.array(stale, dtype=np.int64))
        numbers, at = numbers[shown], at[shown]
    found = _candidates(matrix.rows, at, query, limit)
    scores = matrix.rows.likeness(at[found], query)
    best = _best(scores, numbers[found], limit)
    found, scores = found[best], scores[best]
    if also and len(numbers):
        asked = np.array(sorted(set(also)), dtype=np.int64)
        more = np.minimum(np.searchsorted(numbers, asked), len(numbers) - 1)
        more = more[numbers[more] == asked]
        more = more[~np.isin(more, found)]
        found = np.concatenate((found, more))
        scores = np.concatenate((scores, matrix.rows.likeness(at[more], query)))
    return Similarities(numbers[found].tolist(), scores.tolist(), len(numbers))


def _candidates(rows: Rows, at: _Ints, query: _Floats, limit: int) -> _Ints:
    """Those that may be among the nearest; all where a look at them would cost more than it spares."""
    every = np.arange(len(at)) if limit > 0 else np.zeros(0, np.int64)
    known = rows.about(query) if len(every) > max(limit, _FEW) else None
    if known is None:
        return every
    about, slack = known[0][at], known[1][at]
    least = about - slack
    floor = np.partition(least, len(least) - limit)[len(least) - limit]
    return np.flatnonzero(about + slack >= floor)


def _is_among(numbers: _Ints, wanted: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Which of these ascending numbers are wanted."""
    highest = int(numbers[-1]) if len(numbers) else 0
    if highest > _SPREAD * len(numbers) + _SMALL:
        return np.isin(numbers, wanted)
    table = np.zeros(highest + 1, np.bool_)
    table[wanted[wanted <= highest]] = True
    return table[numbers]


def _best(scores: _Floats, numbers: _Ints, limit: int) -> _Ints:
    if limit <= 0:
        return np.zeros(0, np.int64)
    found = np.arange(len(scores))
    if len(scores) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        found = np.flatnonzero(scores >= least)  # ties with the last one too, so that the order among equals decides
    order: _Ints = found[np.lexsort((numbers[found], -scores[found]))][:limit]
    return order
