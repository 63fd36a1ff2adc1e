"""A fake Qdrant for tests: the REST calls that Sitelore makes, as in the interface description of Qdrant 1.20, on loopback.

It compares vectors exactly, in memory, and rejects requests with fields that the description does not have.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from aiohttp import web

Json = dict[str, Any]


class Refused(Exception):
    """The request is not in the interface description."""


@dataclass(slots=True)
class Collection:
    """Vectors of one size with their payloads."""

    size: int
    indexed: dict[str, Any] = field(default_factory=dict)
    points: dict[int, tuple[Any, Json]] = field(default_factory=dict)


@dataclass(slots=True)
class FakeQdrant:
    """The collections, the requests so far, and `status`: an error status for every response, 0 for none."""

    url: str = ""
    key: str = ""
    status: int = 0
    collections: dict[str, Collection] = field(default_factory=dict)
    requests: list[tuple[str, str, Json]] = field(default_factory=list)

    def chunks(self) -> dict[int, Json]:
        """Payloads of all points except marks, by id."""
        return {
            point: payload
            for collection in self.collections.values()
            for point, (_, payload) in collection.points.items()
            if "versions" not in payload
        }

    def calls(self, end: str) -> list[Json]:
        """The bodies of requests whose path ends with `end`."""
        return [body for _, path, body in self.requests if path.endswith(end)]

    async def answer(self, request: web.Request) -> web.Response:
        """Respond to a request."""
        body = json.loads(await request.read() or b"{}")
        self.requests.append((request.method, request.path, body))
        if self.status:
            return web.json_response({"status": {"error": "failing by request of the test"}}, status=self.status)
        if self.key and request.headers.get("api-key") != self.key:
            return web.Response(text="Invalid API key or JWT", status=401)
        parts = request.path.strip("/").split("/")
        try:
            result = self._result(request.method, parts, body)
        except KeyError:
            return web.json_response({"status": {"error": "Not found: Collection"}}, status=404)
        except FileExistsError:
            return web.json_response({"status": {"error": "Wrong input: Collection already exists!"}}, status=409)
        except Refused as problem:
            return web.json_response({"status": {"error": f"Format error in JSON body: {problem}"}}, status=400)
        return web.json_response({"result": result, "status": "ok", "time": 0.0})

    def _result(self, method: str, parts: list[str], body: Json) -> Any:
        if parts[0] != "collections":
            raise Refused(f"no path {parts}")
        if len(parts) == 1 and method == "GET":
            return {"collections": [{"name": name} for name in self.collections]}
        name, call = parts[1], (method, "/".join(parts[2:]))
        if call == ("PUT", ""):
            return self._make(name, body)
        collection = self.collections[name]
        calls = {
            ("PUT", "index"): _index,
            ("PUT", "points"): _upsert,
            ("POST", "points"): _retrieve,
            ("POST", "points/delete"): _delete,
            ("POST", "points/scroll"): _scroll,
            ("POST", "points/query/batch"): _query_batch,
        }
        if call not in calls:
            raise Refused(f"no call {call}")
        return calls[call](collection, body)

    def _make(self, name: str, body: Json) -> bool:
        _only(body, {"vectors", "hnsw_config", "on_disk_payload"})
        _only(body["vectors"], {"size", "distance", "datatype"})
        _only(body["hnsw_config"], {"m"})
        if body["vectors"]["distance"] != "Dot" or body["vectors"]["datatype"] not in {"float32", "float16"}:
            raise Refused("unsupported distance or datatype")
        if name in self.collections:
            raise FileExistsError
        self.collections[name] = Collection(body["vectors"]["size"])
        return True


def _only(body: Json, known: set[str]) -> None:
    if not isinstance(body, dict) or set(body) - known:
        raise Refused(f"unknown: {body}")


def _index(collection: Collection, body: Json) -> Json:
    _only(body, {"field_name", "field_schema"})
    _only(body["field_schema"], {"type", "is_tenant"})
    collection.indexed[body["field_name"]] = body["field_schema"]
    return {"operation_id": 0, "status": "completed"}


def _upsert(collection: Collection, body: Json) -> Json:
    _only(body, {"points"})
    for point in body["points"]:
        _only(point, {"id", "vector", "payload"})
        if len(point["vector"]) != collection.size:
            raise Refused("Vector dimension error")
        if not isinstance(point["id"], int) or not 0 <= point["id"] < 1 << 64:
            raise Refused("an id is an unsigned integer of 64 bits")
        vector = np.array(point["vector"], np.float32).astype(np.float16).astype(np.float32)
        collection.points[point["id"]] = (vector, point["payload"])
    return {"operation_id": 0, "status": "completed"}


def _delete(collection: Collection, body: Json) -> Json:
    _only(body, {"points"})
    for point in body["points"]:
        collection.points.pop(point, None)
    return {"operation_id": 0, "status": "completed"}


def _retrieve(collection: Collection, body: Json) -> list[Json]:
    _only(body, {"ids", "with_payload", "with_vector"})
    return [{"id": point, "payload": collection.points[point][1]} for point in body["ids"] if point in collection.points]


def _scroll(collection: Collection, body: Json) -> Json:
    _only(body, {"filter", "limit", "offset", "with_payload", "with_vector"})
    left = [point for point in sorted(collection.points) if _passes(collection, point, body["filter"])]
    left = [point for point in left if point >= body.get("offset", 0)]
    page = left[: body["limit"]]
    after = left[body["limit"]] if len(left) > len(page) else None
    points = [
        {"id": point, "payload": {name: collection.points[point][1].get(name) for name in body["with_payload"]}}
        for point in page
    ]
    return {"points": points, "next_page_offset": after}


def _query_batch(collection: Collection, body: Json) -> list[Json]:
    _only(body, {"searches"})
    return [{"points": _query(collection, search)} for search in body["searches"]]


def _query(collection: Collection, body: Json) -> list[Json]:
    _only(body, {"query", "filter", "limit", "params", "with_payload"})
    _only(body["params"], {"exact"})
    if len(body["query"]) != collection.size or body["limit"] < 1:
        raise Refused("Vector dimension error, or no limit")
    query = np.array(body["query"], np.float32)
    points = [
        {"id": point, "version": 0, "score": float(vector @ query)}
        for point, (vector, _) in collection.points.items()
        if _passes(collection, point, body["filter"])
    ]
    points.sort(key=lambda point: -float(point["score"]))
    return points[: body["limit"]]


def _passes(collection: Collection, point: int, filter_: Json) -> bool:
    _only(filter_, {"must", "must_not"})
    payload = collection.points[point][1]
    return all(_meets(point, payload, condition) for condition in filter_.get("must", [])) and not any(
        _meets(point, payload, condition) for condition in filter_.get("must_not", [])
    )


def _meets(point: int, payload: Json, condition: Json) -> bool:
    if "has_id" in condition:
        _only(condition, {"has_id"})
        return point in condition["has_id"]
    _only(condition, {"key", "match"})
    _only(condition["match"], {"value", "any"})
    value = payload.get(condition["key"])
    return value in condition["match"]["any"] if "any" in condition["match"] else value == condition["match"]["value"]


@asynccontextmanager
async def fake_qdrant(key: str = "") -> AsyncIterator[FakeQdrant]:
    """Serve a fake Qdrant on a free port until the block ends."""
    qdrant = FakeQdrant(key=key)
    app = web.Application(client_max_size=32 << 20)
    app.router.add_route("*", "/{path:.*}", qdrant.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        qdrant.url = f"http://{host}:{port}"
        yield qdrant
    finally:
        await runner.cleanup()
