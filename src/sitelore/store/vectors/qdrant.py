"""Vector search by Qdrant, which holds a copy of the vectors in the database and can be filled again at any time.

A collection holds the vectors of one model. A point is a chunk: its id combines the numbers of site and chunk, and its payload
has `tenant` and `site`, by which every search is filtered. One more point for each site, the sync marker, holds the versions of
the database up to which the copy is complete. Vectors are sent when they are stored. What that missed (Qdrant was unavailable,
chunks were dropped, pages came back) is found by comparing both sides where the marker is behind, when nothing is left to
embed.

`QdrantRest` is the client: the few calls of the REST interface (1.11 and later) that are needed. The copy may lag behind, so
results of Qdrant are checked against the database: a deleted chunk is never returned.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np

from sitelore.json_client import RequestFailed, ResponseTooLarge, send_request
from sitelore.model.errors import UsageError, VectorsUnavailable
from sitelore.model.ids import SiteId, TenantId
from sitelore.model.search import Similarities
from sitelore.model.url import Url
from sitelore.store.engine import Engine
from sitelore.store.tenants import for_tenant
from sitelore.store.vectors import sync
from sitelore.store.vectors.search import VectorQuery
from sitelore.store.vectors.sync import ChunkVector, SiteVectors, SyncState, VectorRow

_FORM = "qdrant:http://host:6333, with #NAME at the end where several databases share one Qdrant"
_SPEC = re.compile(r"qdrant:(?P<base>https?://[^\s#]+)(?:#(?P<name>[A-Za-z0-9_-]{1,100}))?")
_QUERY_TIMEOUT_S, _WRITE_TIMEOUT_S = 5.0, 60.0
_RETRY_DELAY_S = 10.0
_MAX_RESPONSE_BYTES = 64 << 20
_SCROLL_PAGE = 10_000

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class QdrantServer:
    """The address of a Qdrant, its key, and the prefix of our collections."""

    base: Url
    name: str = "sitelore"
    key: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """The base URL, without a trailing slash."""
        return f"{self.base.origin}{self.base.path.rstrip('/')}"

    @classmethod
    def read(cls, spec: str, key: str = "") -> QdrantServer:
        """Parse a value of `SITELORE_VECTORS`."""
        match = _SPEC.fullmatch(spec.strip())
        base = Url.parse(match["base"]) if match and "@" not in match["base"] else None
        if match is None or base is None:
            # The value is not repeated: it may contain a password.
            raise UsageError(f"SITELORE_VECTORS cannot be read; it takes {_FORM}, and the key in SITELORE_VECTORS_KEY")
        return cls(base, match["name"] or "sitelore", key)


class NoCollection(VectorsUnavailable):
    """Qdrant answers, but has no collection of this name (any more)."""


class QdrantRest:
    """A Qdrant. After a failure, calls fail at once for a while, so that queries do not wait for its timeout one by one."""

    def __init__(self, server: QdrantServer) -> None:
        self.server = server
        self._retry_at = 0.0
        self._headers = {"Content-Type": "application/json", "User-Agent": "Sitelore"}
        if server.key:
            self._headers["api-key"] = server.key

    async def collections(self) -> list[str]:
        """The names of all collections."""
        result = await self._call("GET", "/collections", None, _QUERY_TIMEOUT_S)
        return [str(collection["name"]) for collection in result["collections"]]

    async def make(self, collection: str, dims: int, fields: Mapping[str, Json]) -> None:
        """Create a collection for exact search, with an index for these payload fields. An existing one is kept."""
        # float16 is the precision of our vectors. No HNSW graph: one shared by tenants misses results under a filter.
        vectors = {"size": dims, "distance": "Dot", "datatype": "float16"}
        path = f"/collections/{quote(collection)}"
        config: Json = {"vectors": vectors, "hnsw_config": {"m": 0}, "on_disk_payload": True}
        await self._call("PUT", path, config, _WRITE_TIMEOUT_S, also=frozenset({409}))
        for name, schema in fields.items():
            await self._call("PUT", f"{path}/index?wait=true", {"field_name": name, "field_schema": schema}, _WRITE_TIMEOUT_S)

    async def put(self, collection: str, points: Sequence[Json]) -> None:
        """Insert points with `id`, `vector` and `payload`, or replace those with the same id."""
        await self._call("PUT", f"/collections/{quote(collection)}/points?wait=true", {"points": points}, _WRITE_TIMEOUT_S)

    async def drop(self, collection: str, ids: Sequence[int]) -> None:
        """Delete points."""
        await self._call("POST", f"/collections/{quote(collection)}/points/delete?wait=true", {"points": ids}, _WRITE_TIMEOUT_S)

    async def payloads(self, collection: str, ids: Sequence[int]) -> dict[int, Json]:
        """The payloads of those of these points that exist."""
        request: Json = {"ids": ids, "with_payload": True, "with_vector": False}
        points = await self._call("POST", f"/collections/{quote(collection)}/points", request, _WRITE_TIMEOUT_S)
        return {int(point["id"]): point.get("payload") or {} for point in points}

    async def all_payloads(self, collection: str, filter_: Json, names: Sequence[str]) -> AsyncIterator[tuple[int, Json]]:
        """The payloads of all points that match a filter, read page by page."""
        request: Json = {"filter": filter_, "limit": _SCROLL_PAGE, "with_payload": names, "with_vector": False}
        while True:
            page = await self._call("POST", f"/collections/{quote(collection)}/points/scroll", request, _WRITE_TIMEOUT_S)
            for point in page["points"]:
                yield int(point["id"]), point.get("payload") or {}
            if (next_offset := page.get("next_page_offset")) is None:
                return
            request["offset"] = next_offset

    async def nearest(
        self, collection: str, vector: Sequence[float], queries: Sequence[tuple[Json, int]]
    ) -> list[list[tuple[int, float]]]:
        """For each filter and limit the nearest points with their inner products, nearest first."""
        searches = [
            {"query": vector, "filter": filter_, "limit": limit, "params": {"exact": True}, "with_payload": False}
            for filter_, limit in queries
        ]
        path = f"/collections/{quote(collection)}/points/query/batch"
        results = await self._call("POST", path, {"searches": searches}, _QUERY_TIMEOUT_S)
        return [[(int(point["id"]), float(point["score"])) for point in result["points"]] for result in results]

    async def _call(
        self, method: str, path: str, body: Json | None, timeout_s: float, also: Collection[int] = frozenset()
    ) -> Any:
        """Call Qdrant and return the `result` of its response; None for a status of `also`."""
        if time.monotonic() < self._retry_at:
            raise self._away("did not answer a moment ago")
        try:
            return await self._request(method, path, body, timeout_s, also)
        except NoCollection:
            raise
        except VectorsUnavailable:
            self._retry_at = time.monotonic() + _RETRY_DELAY_S
            raise

    async def _request(self, method: str, path: str, body: Json | None, timeout_s: float, also: Collection[int]) -> Any:
        url = self.server.address + path
        data = None if body is None else msgspec.json.encode(body)
        try:
            response = await send_request(method, url, self._headers, data, timeout_s=timeout_s, max_bytes=_MAX_RESPONSE_BYTES)
            if response.status != 200 and response.status not in also:
                raise self._refused(response.status)
            return msgspec.json.decode(response.body)["result"] if response.status == 200 else None
        except (ResponseTooLarge, msgspec.MsgspecError, KeyError, TypeError, ValueError, RecursionError):
            raise self._away("answered something that Qdrant would not") from None
        except RequestFailed as failure:
            raise self._away(str(failure)) from None

    def _refused(self, status: int) -> VectorsUnavailable:
        if status == 404:
            return NoCollection(self._sentence("has no such collection"))
        if status in {401, 403}:
            return self._away(f"answered {status}: SITELORE_VECTORS_KEY is missing or wrong")
        return self._away(f"answered {status}")

    def _away(self, what: str) -> VectorsUnavailable:
        return VectorsUnavailable(self._sentence(what))

    def _sentence(self, what: str) -> str:
        return f"the Qdrant at {self.server.base.authority} {what}"


_LOG = logging.getLogger(__name__)

_FIELDS: dict[str, Json] = {"tenant": {"type": "keyword", "is_tenant": True}, "site": {"type": "integer"}}
_MAX_BATCH_NUMBERS = 400_000
_MAX_BATCH_POINTS = 1_000
_MAX_BATCH_IDS = 10_000
_MAX_FILTER_IDS = 2_000
"""The most chunk numbers that are sent as a filter. With more, the nearest of all chunks are filtered here."""
_OVERSAMPLING = 4
"""How many times `limit` is requested when results are filtered here."""


class QdrantVectorSearch:
    """Vector search by Qdrant. While Qdrant is unavailable, `nearest` raises `VectorsUnavailable`; the other methods log it."""

    is_external = True

    def __init__(self, engine: Engine, server: QdrantServer) -> None:
        self._engine = engine
        self._rest = QdrantRest(server)
        self._created: set[str] = set()
        self._markers: dict[tuple[str, SiteId], SyncState] = {}
        self._counts: sync.EmbeddedCounts = {}

    async def nearest(self, query: VectorQuery) -> Similarities:
        """The nearest live chunks, exactly. `embedded` is the count of the database; with `among` it may be too high."""
        context = await self._engine.read_long(
            for_tenant, sync.search_context, query.tenant, query.model, query.site, self._counts
        )
        if context is None or not context.embedded:
            return Similarities()
        among = query.allowed_numbers
        limit = max(0, query.limit)
        also = sorted(set(query.also) if among is None else set(query.also).intersection(among))
        total = context.embedded if among is None else min(context.embedded, len(among))
        site_filter = _site_filter(context.tenant, query.site)
        if context.stale:
            site_filter["must_not"] = [{"key": "page", "match": {"any": context.stale}}]
        scores = await self._scores(query, site_filter, limit, among, also)
        live = await self._engine.read_long(for_tenant, sync.live_chunks, query.tenant, query.site, list(scores))
        ranked = sorted((number for number in scores if number in live), key=lambda number: (-scores[number], number))
        requested = set(also)
        best = ranked[:limit]
        best += (number for number in ranked[limit:] if number in requested)
        return Similarities(best, [scores[number] for number in best], total)

    async def _scores(
        self, query: VectorQuery, site_filter: Json, limit: int, among: list[int] | None, also: Sequence[int]
    ) -> dict[int, float]:
        """Scores by chunk number: of the nearest chunks, and of those in `also`."""
        vector = query.vector
        collection, first_id = self._collection(query.model, len(vector)), query.site << 32
        numbers = vector.tolist()
        searches = [(_with_ids(site_filter, first_id, also), len(also))] if also else []
        if limit and among is None:
            searches.append((site_filter, limit))
        elif limit and among and len(among) > _MAX_FILTER_IDS:
            searches.append((site_filter, _OVERSAMPLING * limit))
        elif limit and among:
            searches.append((_with_ids(site_filter, first_id, among), limit))
        if not searches:
            return {}
        try:
            results = await self._rest.nearest(collection, numbers, searches)
            scores = {point - first_id: score for result in results for point, score in result}
            if among is not None and len(among) > _MAX_FILTER_IDS:
                allowed = set(among)
                is_full = len(results[-1]) == _OVERSAMPLING * limit
                scores = {number: score for number, score in scores.items() if number in allowed}
                if is_full and len(scores) < limit + len(also):
                    more = await self._rest.nearest(collection, numbers, [(_with_ids(site_filter, first_id, among), limit)])
                    scores.update((point - first_id, score) for point, score in more[0])
        except NoCollection:
            self._forget(query.model)
            raise
        return scores

    async def put(self, tenant: TenantId, model: str, hashes: Collection[str]) -> None:
        """Send the vectors of these texts, for every chunk that has one of them."""
        try:
            await self._send(model, await self._engine.read_long(for_tenant, sync.vectors_of_texts, tenant, model, hashes))
        except VectorsUnavailable as problem:
            _LOG.warning("vectors not sent, retrying later: %s", problem)

    async def catch_up(self, tenant: TenantId, model: str, site: SiteId | None) -> None:
        """Complete the copy of every site that is behind. Sites that this process knows to be complete need no request."""
        try:
            for state in await self._sites_behind(tenant, model, site):
                async with self._engine.leader_lock(f"vectors {state.site} {model}") as is_leader:
                    if is_leader:
                        await self._complete(tenant, model, state.site)
        except VectorsUnavailable as problem:
            _LOG.warning("vectors not sent, retrying later: %s", problem)

    async def close(self) -> None:
        """Do nothing: every request has its own connection."""

    async def _sites_behind(self, tenant: TenantId, model: str, site: SiteId | None) -> list[SyncState]:
        """Sites that have changed since their sync marker."""
        states = await self._engine.read_long(for_tenant, sync.sync_states, tenant, model, site)
        unknown = [state for state in states if (model, state.site) not in self._markers]
        if unknown:
            await self._read_markers(model, unknown)
        pairs = [(state, self._markers.get((model, state.site))) for state in states]
        if all(marker == state for state, marker in pairs):
            return []
        same_chunks = [marker for state, marker in pairs if marker and marker.chunks_version == state.chunks_version]
        since = min((marker.vectors_version for marker in same_chunks), default=0)
        latest = await self._engine.read_long(for_tenant, sync.latest_vectors, tenant, model, since)
        behind = []
        for state, marker in pairs:
            has_new_chunks = marker is None or marker.chunks_version != state.chunks_version
            if marker is None or has_new_chunks or latest.get(state.site, 0) > marker.vectors_version:
                behind.append(state)
            else:
                self._markers[model, state.site] = state
        return behind

    async def _read_markers(self, model: str, unknown: Sequence[SyncState]) -> None:
        """Read the sync markers of sites. A marker counts only if all collections of the model have the same."""
        states = {state.site << 32: state for state in unknown}
        markers: dict[int, list[list[int]]] = {}
        collections = await self._collections(model)
        for name in collections:
            for point, payload in (await self._rest.payloads(name, sorted(states))).items():
                markers.setdefault(point, []).append(payload.get("versions") or [])
        for point, of_collections in markers.items():
            state, first = states[point], of_collections[0]
            if len(of_collections) == len(collections) and len(first) == 2 and all(m == first for m in of_collections):
                self._markers[model, state.site] = SyncState(state.site, state.tenant, *first)

    async def _complete(self, tenant: TenantId, model: str, site: SiteId) -> None:
        site_vectors = await self._engine.read_long(for_tenant, sync.site_vectors, tenant, model, site)
        if site_vectors is None:
            return
        collections = await self._collections(model)
        for dims in sorted({*site_vectors.by_dims, *collections.values()}):
            collection = self._collection(model, dims)
            if collection not in collections:
                await self._create(collection, dims)
            await self._sync(tenant, model, site_vectors, dims)
        self._markers[model, site] = site_vectors.state

    async def _sync(self, tenant: TenantId, model: str, site_vectors: SiteVectors, dims: int) -> None:
        """Send what is missing in Qdrant, delete what is not in the database, and set the sync marker."""
        collection, state, expected = self._collection(model, dims), site_vectors.state, site_vectors.by_dims.get(dims, {})
        first_id = state.site << 32
        actual: dict[int, VectorRow] = {}
        site_filter = _site_filter(state.tenant, state.site)
        async for point, payload in self._rest.all_payloads(collection, site_filter, list(VectorRow._fields)):
            fields = (payload.get(name) for name in VectorRow._fields)
            actual[point - first_id] = VectorRow(*fields)  # type: ignore[arg-type] # any JSON; only compared
        missing = [number for number, row in expected.items() if actual.get(number) != row]
        for start in range(0, len(missing), _MAX_BATCH_POINTS):
            batch = missing[start : start + _MAX_BATCH_POINTS]
            await self._send(
                model, await self._engine.read_long(for_tenant, sync.vectors_of_chunks, tenant, model, state.site, batch)
            )
        extra = [first_id + number for number in actual if number not in expected and number < site_vectors.next_chunk]
        for start in range(0, len(extra), _MAX_BATCH_IDS):
            await self._rest.drop(collection, extra[start : start + _MAX_BATCH_IDS])
        versions = [state.chunks_version, state.vectors_version]
        await self._rest.put(collection, [{"id": first_id, "vector": [0.0] * dims, "payload": {"versions": versions}}])

    async def _send(self, model: str, vectors: Iterable[ChunkVector]) -> None:
        by_dims: dict[int, list[ChunkVector]] = {}
        for vector in vectors:
            by_dims.setdefault(len(vector.half) // 2, []).append(vector)
        for dims, of_dims in by_dims.items():
            collection = self._collection(model, dims)
            if collection not in self._created:
                await self._create(collection, dims)
            batch_size = max(1, min(_MAX_BATCH_POINTS, _MAX_BATCH_NUMBERS // dims))
            for start in range(0, len(of_dims), batch_size):
                points = await asyncio.to_thread(_points, of_dims[start : start + batch_size], dims)
                try:
                    await self._rest.put(collection, points)
                except NoCollection:
                    self._forget(model)
                    raise

    async def _create(self, collection: str, dims: int) -> None:
        await self._rest.make(collection, dims, _FIELDS)
        self._created.add(collection)

    async def _collections(self, model: str) -> dict[str, int]:
        """Existing collections of this model, with their dimensions."""
        prefix = self._collection(model, 0)[:-1]
        names = [name for name in await self._rest.collections() if name.startswith(prefix)]
        return {name: int(name[len(prefix) :]) for name in names if name[len(prefix) :].isdecimal()}

    def _collection(self, model: str, dims: int) -> str:
        return f"{self._rest.server.name}-{hashlib.sha256(model.encode()).hexdigest()[:12]}-{dims}"

    def _forget(self, model: str) -> None:
        """Qdrant lost a collection: forget what is known of the model's collections and markers."""
        self._created.clear()
        for key in [key for key in self._markers if key[0] == model]:
            del self._markers[key]


async def delete_points(server: QdrantServer, tenant: str, site: SiteId | None = None) -> None:
    """Delete the points of a tenant, or of one of its sites, and their sync markers, in the collections of all models."""
    rest = QdrantRest(server)
    points_filter = {"must": [{"key": "tenant", "match": {"value": tenant}}]} if site is None else _site_filter(tenant, site)
    for collection in await rest.collections():
        if not collection.startswith(f"{server.name}-"):
            continue
        ids = {point async for point, _ in rest.all_payloads(collection, points_filter, ["site"])}
        markers = {point >> 32 << 32 for point in ids} | (set() if site is None else {site << 32})
        deleted = sorted(ids | markers)
        for start in range(0, len(deleted), _MAX_BATCH_IDS):
            await rest.drop(collection, deleted[start : start + _MAX_BATCH_IDS])


def _site_filter(tenant: str, site: int) -> Json:
    """The filter of every search: points of the tenant's site."""
    return {"must": [{"key": "tenant", "match": {"value": tenant}}, {"key": "site", "match": {"value": site}}]}


def _with_ids(site_filter: Json, first_id: int, numbers: Sequence[int]) -> Json:
    return {**site_filter, "must": [*site_filter["must"], {"has_id": [first_id + number for number in numbers]}]}


def _points(vectors: Sequence[ChunkVector], dims: int) -> list[Json]:
    """The points of chunks; NaN and infinity become 0, as in memory."""
    halves = np.frombuffer(b"".join(vector.half for vector in vectors), "<f2").reshape(-1, dims).astype(np.float32)
    numbers = np.nan_to_num(halves, nan=0.0, posinf=0.0, neginf=0.0).tolist()
    return [
        {
            "id": vector.site << 32 | vector.number,
            "vector": values,
            "payload": {"tenant": vector.tenant, "site": vector.site, **vector.row._asdict()},
        }
        for vector, values in zip(vectors, numbers, strict=True)
    ]
