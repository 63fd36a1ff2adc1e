"""Client for Qdrant: the few calls of its REST interface (1.11 and later) that are needed.

Errors are one sentence, without the key or the response.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import msgspec

from sitelore.json_client import RequestFailed, ResponseTooLarge, send_request
from sitelore.model.errors import UsageError, VectorsAway
from sitelore.model.url import Url

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


class NoCollection(VectorsAway):
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
        except VectorsAway:
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

    def _refused(self, status: int) -> VectorsAway:
        if status == 404:
            return NoCollection(self._sentence("has no such collection"))
        if status in {401, 403}:
            return self._away(f"answered {status}: SITELORE_VECTORS_KEY is missing or wrong")
        return self._away(f"answered {status}")

    def _away(self, what: str) -> VectorsAway:
        return VectorsAway(self._sentence(what))

    def _sentence(self, what: str) -> str:
        return f"the Qdrant at {self.server.base.authority} {what}"
