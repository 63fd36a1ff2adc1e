"""Qdrant as it is spoken to: the few calls of its REST interface (1.11 and later) that are needed, and nothing of ours.

The server is the operator's choice, not an address that a page named: the address guard does not apply. Redirects are not
followed, since the key would go with them. What goes wrong becomes one sentence, without the key or the answer.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

from sitelore.model.errors import UsageError, VectorsAway
from sitelore.model.url import Url

_FORM = "qdrant:http://host:6333, with #NAME at the end where several databases share one Qdrant"
_SPEC = re.compile(r"qdrant:(?P<base>https?://[^\s#]+)(?:#(?P<name>[A-Za-z0-9_-]{1,100}))?")
_QUESTION_S, _WRITE_S = 5.0, 60.0
_AGAIN_S = 10.0
_MOST_BYTES = 64 << 20
_PAGE = 10_000

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class QdrantServer:
    """Where it is, and what our collections begin with."""

    base: Url
    name: str = "sitelore"
    key: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """Without a slash at the end."""
        return f"{self.base.origin}{self.base.path.rstrip('/')}"

    @classmethod
    def read(cls, spec: str, key: str = "") -> QdrantServer:
        """What `SITELORE_VECTORS` says."""
        found = _SPEC.fullmatch(spec.strip())
        base = Url.parse(found["base"]) if found and "@" not in found["base"] else None
        if found is None or base is None:
            # Not repeated: somebody may have put a password into it.
            raise UsageError(f"SITELORE_VECTORS cannot be read; it takes {_FORM}, and the key in SITELORE_VECTORS_KEY")
        return cls(base, found["name"] or "sitelore", key)


class NoCollection(VectorsAway):
    """Qdrant answers, but has nothing under this name (any more)."""


class QdrantRest:
    """One Qdrant. After a failure it is left alone for a while: questions must not wait for it one after the other."""

    def __init__(self, server: QdrantServer) -> None:
        self.server = server
        self._session: aiohttp.ClientSession | None = None
        self._ask_again_at = 0.0

    async def collections(self) -> list[str]:
        """Every collection's name."""
        found = await self._ask("GET", "/collections", None, _QUESTION_S)
        return [str(one["name"]) for one in found["collections"]]

    async def make(self, collection: str, dims: int, fields: Mapping[str, Json]) -> None:
        """A collection that is compared exactly, with these payload fields to filter by. Harmless where it is there."""
        # As precise as the vectors are. No graph: one that is shared by tenants misses what a filter leaves.
        vectors = {"size": dims, "distance": "Dot", "datatype": "float16"}
        path = f"/collections/{quote(collection)}"
        made: Json = {"vectors": vectors, "hnsw_config": {"m": 0}, "on_disk_payload": True}
        await self._ask("PUT", path, made, _WRITE_S, also=frozenset({409}))
        for name, schema in fields.items():
            await self._ask("PUT", f"{path}/index?wait=true", {"field_name": name, "field_schema": schema}, _WRITE_S)

    async def put(self, collection: str, points: Sequence[Json]) -> None:
        """Points with `id`, `vector` and `payload`, in the place of those of the same id."""
        await self._ask("PUT", f"/collections/{quote(collection)}/points?wait=true", {"points": points}, _WRITE_S)

    async def drop(self, collection: str, ids: Sequence[int]) -> None:
        """These points are no longer there."""
        await self._ask("POST", f"/collections/{quote(collection)}/points/delete?wait=true", {"points": ids}, _WRITE_S)

    async def payloads(self, collection: str, ids: Sequence[int]) -> dict[int, Json]:
        """What is kept with these points, as far as they are there."""
        asked: Json = {"ids": ids, "with_payload": True, "with_vector": False}
        found = await self._ask("POST", f"/collections/{quote(collection)}/points", asked, _WRITE_S)
        return {int(one["id"]): one.get("payload") or {} for one in found}

    async def all_payloads(self, collection: str, chosen: Json, names: Sequence[str]) -> AsyncIterator[tuple[int, Json]]:
        """The same for every point that a filter leaves, a page at a time."""
        asked: Json = {"filter": chosen, "limit": _PAGE, "with_payload": names, "with_vector": False}
        while True:
            found = await self._ask("POST", f"/collections/{quote(collection)}/points/scroll", asked, _WRITE_S)
            for one in found["points"]:
                yield int(one["id"]), one.get("payload") or {}
            if (after := found.get("next_page_offset")) is None:
                return
            asked["offset"] = after

    async def nearest(
        self, collection: str, vector: Sequence[float], asked: Sequence[tuple[Json, int]]
    ) -> list[list[tuple[int, float]]]:
        """For each filter and limit the nearest points, nearest first, with their inner products."""
        searches = [
            {"query": vector, "filter": chosen, "limit": limit, "params": {"exact": True}, "with_payload": False}
            for chosen, limit in asked
        ]
        path = f"/collections/{quote(collection)}/points/query/batch"
        found = await self._ask("POST", path, {"searches": searches}, _QUESTION_S)
        return [[(int(one["id"]), float(one["score"])) for one in part["points"]] for part in found]

    async def close(self) -> None:
        """End all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(
        self, method: str, path: str, body: Json | None, within_s: float, also: Collection[int] = frozenset()
    ) -> Any:
        if time.monotonic() < self._ask_again_at:
            raise self._away("did not answer a moment ago")
        try:
            return await self._answer(method, path, body, within_s, also)
        except NoCollection:
            raise
        except VectorsAway:
            self._ask_again_at = time.monotonic() + _AGAIN_S
            raise

    async def _answer(self, method: str, path: str, body: Json | None, within_s: float, also: Collection[int]) -> Any:
        if self._session is None:
            headers = {"Content-Type": "application/json", "User-Agent": "Sitelore"}
            if self.server.key:
                headers["api-key"] = self.server.key
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), headers=headers)
        data = None if body is None else msgspec.json.encode(body)
        try:
            async with (
                asyncio.timeout(within_s),
                self._session.request(method, self.server.address + path, data=data, allow_redirects=False) as answer,
            ):
                text = await _body(answer)
                if answer.status != 200 and answer.status not in also:
                    raise self._refused(answer.status)
                return msgspec.json.decode(text)["result"] if answer.status == 200 else None
        except TimeoutError:
            raise self._away(f"gave no answer within {within_s:g} s") from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError):
            raise self._away("has no certificate that can be trusted") from None
        except aiohttp.ClientConnectorError:
            raise self._away("cannot be reached") from None
        except (aiohttp.ClientError, OSError):
            raise self._away("broke off the connection") from None
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError, RecursionError):
            raise self._away("answered something that Qdrant would not") from None

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


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in answer.content.iter_chunked(1 << 16):
        body += piece
        if len(body) > _MOST_BYTES:
            raise ValueError("more than was asked for")
    return bytes(body)
