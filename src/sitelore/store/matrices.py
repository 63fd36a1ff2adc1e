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
from sitelore.model.knowledge import Likeness
from sitelore.store import shelves_sql, vectors_sql

_MOST_BYTES = 1 << 30
"""Of all matrices together; the one that was not asked for the longest goes first."""

_Floats = NDArray[np.float32]
_Ints = NDArray[np.int64]


@dataclass(slots=True)
class Matrix:
    """`rows[at[i]]` is the vector of chunk `numbers[i]`."""

    site_version: int
    model_version: int
    row_of: dict[str, int]
    rows: _Floats
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
                -1, -1, {}, np.zeros((0, dims), np.float32), [], *(np.zeros(0, np.int64) for _ in range(3))
            )
        found = _refreshed(conn, site, model_id, found, (site_version, model_version))
        with self._lock:
            self._kept[key] = found
            self._kept.move_to_end(key)
            self._make_room()
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


def _shrunk(row_of: dict[str, int], rows: _Floats, wanted: set[str]) -> tuple[dict[str, int], _Floats]:
    kept = [text for text in row_of if text in wanted]
    return {text: at for at, text in enumerate(kept)}, rows[[row_of[text] for text in kept]]


def _grown(row_of: dict[str, int], rows: _Floats, new: dict[str, bytes]) -> tuple[dict[str, int], _Floats]:
    """Vectors of another length belong to no comparison; what is no number is taken for nothing."""
    dims = rows.shape[1]
    usable = {text: half for text, half in new.items() if len(half) == 2 * dims}
    if not usable:
        return row_of, rows
    read = np.frombuffer(b"".join(usable.values()), "<f2").reshape(-1, dims).astype(np.float32)
    if not np.isfinite(read.sum()):
        read = np.nan_to_num(read, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
    replaced = [text for text in usable if text in row_of]
    if replaced:
        rows = rows.copy()
    places = {text: at for at, text in enumerate(usable)}
    for text in replaced:
        rows[row_of[text]] = read[places[text]]
    added = [text for text in usable if text not in row_of]
    start = len(rows)
    row_of = {**row_of, **{text: start + at for at, text in enumerate(added)}}
    more = read if not replaced else read[[places[text] for text in added]]
    return row_of, np.concatenate((rows, more)) if len(rows) else more


def nearest(
    matrix: Matrix, stale: Sequence[int], query: _Floats, limit: int, also: Collection[int], among: bytes | None
) -> Likeness:
    """The nearest chunks, nearest first and by number among equals, then those in `also` that are not among them."""
    of_text = matrix.rows @ query
    numbers, pages, at = matrix.numbers, matrix.pages, matrix.at
    if among is not None:
        wanted = np.isin(numbers, np.frombuffer(among, "<u4").astype(np.int64))
        numbers, pages, at = numbers[wanted], pages[wanted], at[wanted]
    if stale:
        shown = ~np.isin(pages, np.array(stale, dtype=np.int64))
        numbers, at = numbers[shown], at[shown]
    scores = of_text[at]
    best = _best(scores, numbers, limit)
    if also:
        more = np.flatnonzero(np.isin(numbers, np.array(sorted(set(also)), dtype=np.int64)))
        best = np.concatenate((best, more[~np.isin(more, best)]))
    return Likeness(numbers[best].tolist(), scores[best].tolist(), len(numbers))


def _best(scores: _Floats, numbers: _Ints, limit: int) -> _Ints:
    if limit <= 0:
        return np.zeros(0, np.int64)
    found = np.arange(len(scores))
    if len(scores) > limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        found = np.flatnonzero(scores >= least)  # ties with the last one too, so that the order among equals decides
    order: _Ints = found[np.lexsort((numbers[found], -scores[found]))][:limit]
    return order
