"""Vectors compared by Qdrant, which holds a copy of what the database says and can be given it again at any time.

A collection holds the vectors of one model. A point is a chunk: its id is the site's number and the chunk's, and it says whose
it is (`tenant`, `site`), so that every question is asked within both. One more point for each site, the mark, says up to which
versions of the database the copy is complete. Vectors are sent as they are put; whatever that missed (Qdrant was away, chunks
were dropped, pages came back) is found by comparing the two where the mark is behind, when nothing is left to embed.

The copy may lag behind, so what Qdrant finds is looked up in the database before it is given: a chunk that is gone stays gone.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from sitelore.model.errors import VectorsAway
from sitelore.model.ids import SiteId
from sitelore.model.search import Similarities
from sitelore.store import mirror_sql
from sitelore.store.engine import Engine
from sitelore.store.likeness import Asked
from sitelore.store.mirror_sql import Held, Standing, Whole, Written
from sitelore.store.qdrant_rest import Json, NoCollection, QdrantRest, QdrantServer

_LOG = logging.getLogger(__name__)

_FIELDS: dict[str, Json] = {"tenant": {"type": "keyword", "is_tenant": True}, "site": {"type": "integer"}}
_NUMBERS_AT_ONCE = 400_000
_POINTS_AT_ONCE = 1_000
_IDS_AT_ONCE = 10_000
_FEW = 2_000
"""Chunks that are named one by one in a question; of more, the nearest of all are sifted first."""
_MORE = 4
"""Times as many are asked for to be sifted."""


class QdrantVectorSearch:
    """By Qdrant. While it cannot be used `nearest` raises `VectorsAway`; nothing else does."""

    is_elsewhere = True

    def __init__(self, engine: Engine, server: QdrantServer) -> None:
        self._engine = engine
        self._rest = QdrantRest(server)
        self._made: set[str] = set()
        self._marks: dict[tuple[str, SiteId], Standing] = {}
        self._counted: mirror_sql.Counted = {}

    async def nearest(self, asked: Asked) -> Similarities:
        """The nearest live chunks, exactly. `embedded` is what the database has; of `among` it may be less."""
        shown = await self._engine.read_long(mirror_sql.shown, asked.model, asked.site, self._counted)
        if shown is None or not shown.embedded:
            return Similarities()
        among = asked.few
        limit = max(0, asked.limit)
        wanted = sorted(set(asked.also) if among is None else set(asked.also).intersection(among))
        total = shown.embedded if among is None else min(shown.embedded, len(among))
        chosen = _within(shown.tenant, asked.site)
        if shown.stale:
            chosen["must_not"] = [{"key": "page", "match": {"any": shown.stale}}]
        found = await self._found(asked, chosen, limit, among, wanted)
        live = await self._engine.read_long(mirror_sql.live, asked.site, list(found))
        kept = sorted((number for number in found if number in live), key=lambda number: (-found[number], number))
        also = set(wanted)
        best = kept[:limit]
        best += (number for number in kept[limit:] if number in also)
        return Similarities(best, [found[number] for number in best], total)

    async def _found(
        self, asked: Asked, chosen: Json, limit: int, among: list[int] | None, wanted: Sequence[int]
    ) -> dict[int, float]:
        """Numbers with their scores: the nearest, and those that are wanted anyhow."""
        vector = asked.vector
        collection, of_site = self._collection(asked.model, len(vector)), asked.site << 32
        numbers = vector.tolist()
        searches = [(_named(chosen, of_site, wanted), len(wanted))] if wanted else []
        if limit and among is None:
            searches.append((chosen, limit))
        elif limit and among and len(among) > _FEW:
            searches.append((chosen, _MORE * limit))
        elif limit and among:
            searches.append((_named(chosen, of_site, among), limit))
        if not searches:
            return {}
        try:
            answers = await self._rest.nearest(collection, numbers, searches)
            found = {point - of_site: score for answer in answers for point, score in answer}
            if among is not None and len(among) > _FEW:
                allowed = set(among)
                came = len(answers[-1])
                found = {number: score for number, score in found.items() if number in allowed}
                if came == _MORE * limit and len(found) < limit + len(wanted):
                    more = await self._rest.nearest(collection, numbers, [(_named(chosen, of_site, among), limit)])
                    found.update((point - of_site, score) for point, score in more[0])
        except NoCollection:
            self._forget(asked.model)
            raise
        return found

    async def put(self, model: str, hashes: Collection[str]) -> None:
        """Send the vectors of these texts, for every chunk that says them."""
        try:
            await self._send(model, await self._engine.read_long(mirror_sql.of_texts, model, hashes))
        except VectorsAway as problem:
            _LOG.warning("vectors wait to be sent: %s", problem)

    async def catch_up(self, model: str, site: SiteId | None) -> None:
        """Make the copy of every site that is behind complete; nothing is asked of Qdrant where this process knows it is."""
        try:
            for standing in await self._behind(model, site):
                async with self._engine.leader_lock(f"vectors {standing.site} {model}") as is_ours:
                    if is_ours:
                        await self._complete(model, standing.site)
        except VectorsAway as problem:
            _LOG.warning("vectors wait to be sent: %s", problem)

    async def close(self) -> None:
        """Do nothing: every request has its own connection."""

    async def _behind(self, model: str, site: SiteId | None) -> list[Standing]:
        """Sites of which something has changed since their mark."""
        now = await self._engine.read_long(mirror_sql.standings, model, site)
        unknown = [one for one in now if (model, one.site) not in self._marks]
        if unknown:
            await self._read_marks(model, unknown)
        marks = [(one, self._marks.get((model, one.site))) for one in now]
        same = [mark for one, mark in marks if mark is not None and mark.chunks_version == one.chunks_version]
        since = min((mark.vectors_version for mark in same), default=0)
        if all(mark == one for one, mark in marks):
            return []
        latest = await self._engine.read_long(mirror_sql.vectors_since, model, since)
        behind = []
        for one, mark in marks:
            if mark is None or mark.chunks_version != one.chunks_version or latest.get(one.site, 0) > mark.vectors_version:
                behind.append(one)
            else:
                self._marks[model, one.site] = one
        return behind

    async def _read_marks(self, model: str, unknown: Sequence[Standing]) -> None:
        """As far as every collection of the model has the same."""
        ids = {one.site << 32: one for one in unknown}
        marks: dict[int, list[list[int]]] = {}
        collections = await self._collections(model)
        for name in collections:
            for point, payload in (await self._rest.payloads(name, sorted(ids))).items():
                marks.setdefault(point, []).append(payload.get("versions") or [])
        for point, found in marks.items():
            one = ids[point]
            if len(found) == len(collections) and len(found[0]) == 2 and all(versions == found[0] for versions in found):
                self._marks[model, one.site] = Standing(one.site, one.tenant, *found[0])

    async def _complete(self, model: str, site: SiteId) -> None:
        whole = await self._engine.read_long(mirror_sql.whole, model, site)
        if whole is None:
            return
        there = await self._collections(model)
        for dims in sorted({*whole.by_dims, *there.values()}):
            collection = self._collection(model, dims)
            if collection not in there:
                await self._make(collection, dims)
            await self._compare(model, whole, dims)
        self._marks[model, site] = whole.standing

    async def _compare(self, model: str, whole: Whole, dims: int) -> None:
        """What the database has and Qdrant has not is sent, what only Qdrant has is dropped, and the mark is set."""
        collection, standing, wanted = self._collection(model, dims), whole.standing, whole.by_dims.get(dims, {})
        of_site = standing.site << 32
        held: dict[int, Held] = {}
        chosen = _within(standing.tenant, standing.site)
        async for point, payload in self._rest.all_payloads(collection, chosen, list(Held._fields)):
            held[point - of_site] = Held(*(payload.get(name) for name in Held._fields))  # type: ignore[arg-type] # not ours yet
        missing = [number for number, one in wanted.items() if held.get(number) != one]
        for start in range(0, len(missing), _POINTS_AT_ONCE):
            some = missing[start : start + _POINTS_AT_ONCE]
            await self._send(model, await self._engine.read_long(mirror_sql.of_numbers, model, standing.site, some))
        extra = [of_site + number for number in held if number not in wanted and number < whole.next_chunk]
        for start in range(0, len(extra), _IDS_AT_ONCE):
            await self._rest.drop(collection, extra[start : start + _IDS_AT_ONCE])
        versions = [standing.chunks_version, standing.vectors_version]
        await self._rest.put(collection, [{"id": of_site, "vector": [0.0] * dims, "payload": {"versions": versions}}])

    async def _send(self, model: str, written: Iterable[Written]) -> None:
        by_dims: dict[int, list[Written]] = {}
        for one in written:
            by_dims.setdefault(len(one.half) // 2, []).append(one)
        for dims, same in by_dims.items():
            collection = self._collection(model, dims)
            if collection not in self._made:
                await self._make(collection, dims)
            at_once = max(1, min(_POINTS_AT_ONCE, _NUMBERS_AT_ONCE // dims))
            for start in range(0, len(same), at_once):
                points = await asyncio.to_thread(_points, same[start : start + at_once], dims)
                try:
                    await self._rest.put(collection, points)
                except NoCollection:
                    self._forget(model)
                    raise

    async def _make(self, collection: str, dims: int) -> None:
        await self._rest.make(collection, dims, _FIELDS)
        self._made.add(collection)

    async def _collections(self, model: str) -> dict[str, int]:
        """Collections of this model that are there, with their dimensions."""
        begin = self._collection(model, 0)[:-1]
        names = [name for name in await self._rest.collections() if name.startswith(begin)]
        return {name: int(name[len(begin) :]) for name in names if name[len(begin) :].isdecimal()}

    def _collection(self, model: str, dims: int) -> str:
        return f"{self._rest.server.name}-{hashlib.sha256(model.encode()).hexdigest()[:12]}-{dims}"

    def _forget(self, model: str) -> None:
        """It lost a collection: what was known of it is not so."""
        self._made.clear()
        for key in [key for key in self._marks if key[0] == model]:
            del self._marks[key]


def _within(tenant: str, site: int) -> Json:
    """The filter that everything is asked with."""
    return {"must": [{"key": "tenant", "match": {"value": tenant}}, {"key": "site", "match": {"value": site}}]}


def _named(chosen: Json, of_site: int, numbers: Sequence[int]) -> Json:
    return {**chosen, "must": [*chosen["must"], {"has_id": [of_site + number for number in numbers]}]}


def _points(written: Sequence[Written], dims: int) -> list[Json]:
    """What is no number is taken for nothing, as in the process."""
    halves = np.frombuffer(b"".join(one.half for one in written), "<f2").reshape(-1, dims).astype(np.float32)
    vectors = np.nan_to_num(halves, nan=0.0, posinf=0.0, neginf=0.0).tolist()
    return [
        {"id": one.site << 32 | one.number, "vector": vector, "payload": _payload(one)}
        for one, vector in zip(written, vectors, strict=True)
    ]


def _payload(one: Written) -> Json:
    return {"tenant": one.tenant, "site": one.site, **one.held._asdict()}
