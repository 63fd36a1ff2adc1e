"""How near chunks are to a question, where the vectors are in the ledger's own database.

On SQLite, and on a Postgres without pgvector, the process keeps a matrix and compares. With pgvector the database can compare
too: it takes four times the CPU, and always knows the last change. So it answers while a site changes, while a matrix is read,
and for sites that are too large for a process; a site that stands still and is asked about again gets its matrix.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from array import array
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from sitelore.model.errors import SiteloreError
from sitelore.model.ids import SiteId
from sitelore.model.search import Similarities
from sitelore.store import dense_sql, vectors_sql
from sitelore.store.dense_sql import Question
from sitelore.store.engine import Engine
from sitelore.store.matrices import Matrices, Matrix, nearest
from sitelore.store.schema import sites

_LOG = logging.getLogger(__name__)

_ASKED_AGAIN = 4
"""Questions about a site that stands still before its matrix is read: reading it costs as much as twenty answers."""
_MOST_BYTES = 1 << 29
"""Of one matrix beside a database that can compare; beyond it, it does."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A vector that chunks of a site are compared with."""

    site: SiteId
    model: str
    query: bytes
    limit: int
    also: Collection[int] = ()
    among: bytes | None = None

    @property
    def vector(self) -> NDArray[np.float32]:
        """As precise as the vectors are, so that every database compares the same numbers."""
        return np.frombuffer(self.query, "<f4").astype(np.float16).astype(np.float32)

    @property
    def few(self) -> list[int] | None:
        """The numbers that it is compared with; None for all."""
        return None if self.among is None else array("I", self.among).tolist()


class VectorSearch(Protocol):
    """Who compares vectors. What it holds is derived from the ledger's database."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether vectors are kept outside of the database, so that it need not hold them in a form to compare."""
        ...

    async def nearest(self, asked: Asked) -> Similarities:
        """The nearest live chunks, and those asked for by number."""
        ...

    async def put(self, model: str, hashes: Collection[str]) -> None:
        """Vectors of these texts are in the database now."""
        ...

    async def catch_up(self, model: str, site: SiteId | None) -> None:
        """Nothing is left to embed: what it holds becomes what the database says."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...


_Key = tuple[int, str, int]


class LocalVectorSearch:
    """By a matrix in the process, or by pgvector."""

    is_elsewhere = False

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._matrices = Matrices()
        self._counted: dense_sql.Counted = {}
        self._asked: dict[_Key, tuple[tuple[int, int, int], int]] = {}
        self._reading: dict[_Key, asyncio.Task[None]] = {}

    async def nearest(self, asked: Asked) -> Similarities:
        """The nearest live chunks, exactly."""
        found: Similarities | tuple[Matrix, list[int]] | None = await self._engine.read_autocommit(self._kept, asked)
        if found is None:
            found = await self._engine.read_long(self._compared, asked)
        if isinstance(found, tuple):
            return await asyncio.to_thread(nearest, *found, asked.vector, asked.limit, asked.also, asked.among)
        return found or Similarities()

    def _kept(self, conn: sa.Connection, asked: Asked) -> tuple[Matrix, list[int]] | None:
        """The site's matrix, if it is here as the database has it."""
        standing = vectors_sql.versions(conn, asked.site, asked.model)
        return None if standing is None else self._matrices.kept(conn, asked.site, standing, len(asked.query) // 4)

    def _compared(self, conn: sa.Connection, asked: Asked) -> Similarities | tuple[Matrix, list[int]] | None:
        vector = asked.vector
        if not dense_sql.is_ready(conn):
            return self._matrices.current(conn, asked.site, asked.model, len(vector))
        standing = vectors_sql.versions(conn, asked.site, asked.model)
        if standing is None:
            return None
        question = Question(asked.site, asked.model, vector.tolist(), asked.limit, asked.also, asked.few)
        found = dense_sql.nearest(conn, question, self._counted)
        chunks = conn.scalar(sa.select(sites.c.chunk_count).where(sites.c.id == asked.site)) or 0
        if chunks * vector.nbytes <= _MOST_BYTES:
            self._note((asked.site, asked.model, len(vector)), standing)
        return found

    def _note(self, key: _Key, standing: tuple[int, int, int]) -> None:
        """Asked often enough at the same versions, the matrix is read beside the questions that go on."""
        before, count = self._asked.get(key, (standing, 0))
        count = count + 1 if before == standing else 1
        self._asked[key] = (standing, count)
        if count >= _ASKED_AGAIN and key not in self._reading:
            self._reading[key] = asyncio.get_running_loop().create_task(self._read(key))

    async def _read(self, key: _Key) -> None:
        try:
            await self._engine.read_long(self._matrices.current, *key)
        except SiteloreError as problem:
            _LOG.warning("a site's vectors could not be read, the database goes on comparing: %s", problem)
        finally:
            del self._reading[key], self._asked[key]

    async def put(self, model: str, hashes: Collection[str]) -> None:
        """Nothing to do: the versions tell."""

    async def catch_up(self, model: str, site: SiteId | None) -> None:
        """Nothing to do: the versions tell."""

    async def close(self) -> None:
        """End what is being read."""
        reading = list(self._reading.values())
        for task in reading:
            task.cancel()
        for task in reading:
            with contextlib.suppress(asyncio.CancelledError):
                await task
