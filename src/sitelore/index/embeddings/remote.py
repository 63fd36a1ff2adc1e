"""Embeds texts by an OpenAI-compatible endpoint: `POST {base}/embeddings`."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sitelore.index.embeddings.endpoint import Endpoint, EndpointClient, TemporaryFailure, sendable

BATCH_TEXTS = 64
_BATCH_CHARS = 200_000
_MAX_DIMENSIONS = 8192
_BYTES_PER_NUMBER = 32

Floats = npt.NDArray[np.float32]


class RemoteEmbedder:
    """Embeds by the model of an endpoint, with retries. `sleep` waits between them."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._endpoint = endpoint
        self._client = EndpointClient(endpoint, sleep)
        self._dimensions = endpoint.dimensions

    @property
    def model(self) -> str:
        """The name under which vectors are stored: the model and the host that runs it."""
        size = f"-{self._endpoint.dimensions}" if self._endpoint.dimensions else ""
        return f"{self._endpoint.model}{size}@{self._endpoint.base.authority}"

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Embed passages as little-endian float16."""
        vectors = [vector for batch in _batches(texts) for vector in await self._request_vectors(batch, is_query=False)]
        return [vector.astype("<f2").tobytes() for vector in vectors]

    async def embed_query(self, text: str) -> bytes:
        """Embed a query as little-endian float32. A user waits for it, so it gives up sooner."""
        vectors = await self._request_vectors([sendable(text)], is_query=True)
        return vectors[0].astype("<f4").tobytes()

    async def close(self) -> None:
        """Do nothing: every request has its own connection."""

    async def _request_vectors(self, texts: list[str], *, is_query: bool) -> list[Floats]:
        endpoint = self._endpoint
        body: dict[str, Any] = {"model": endpoint.model, "input": texts, "encoding_format": "float"}
        if endpoint.dimensions:
            body["dimensions"] = endpoint.dimensions
        max_bytes = len(texts) * (_MAX_DIMENSIONS * _BYTES_PER_NUMBER + 1000) + 100_000
        decode = partial(self._vectors, count=len(texts))
        return await self._client.request(body, decode, is_query=is_query, max_bytes=max_bytes)

    def _vectors(self, body: bytes, count: int) -> list[Floats]:
        try:
            entries = json.loads(body)["data"]
            vectors = [_decode_vector(entry["embedding"]) for entry in _in_order(entries)]
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            # Mostly a response that was cut off on its way, by a proxy for example: worth a retry.
            raise TemporaryFailure("answered something that is not a list of embeddings") from None
        if len(vectors) != count:
            raise self._client.failed(f"answered {len(vectors)} vectors for {count} texts")
        for vector in vectors:
            self._check_vector(vector)
        return [vector / np.linalg.norm(vector) for vector in vectors]

    def _check_vector(self, vector: Floats) -> None:
        """Every vector must be as long as the first one."""
        size = len(vector)
        if not 0 < size <= _MAX_DIMENSIONS or not np.isfinite(vector).all() or not vector.any():
            raise self._client.failed("answered something else than vectors")
        if self._dimensions not in {None, size}:
            raise self._client.failed(f"answered vectors of {size} numbers where {self._dimensions} are expected")
        self._dimensions = size


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in map(sendable, texts):
        if batch and (len(batch) == BATCH_TEXTS or chars + len(text) > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _in_order(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort by `index` where every entry has its own; else keep the order of the response."""
    indices = [entry.get("index") for entry in entries]
    if sorted(index for index in indices if isinstance(index, int)) == list(range(len(entries))):
        return sorted(entries, key=lambda entry: int(entry["index"]))
    return entries


def _decode_vector(value: object) -> Floats:
    if isinstance(value, str):  # some endpoints answer in base64 although floats were requested
        try:
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
        except binascii.Error as problem:
            raise ValueError("not base64") from problem
    numbers = np.array(value, dtype=np.float32)
    if numbers.ndim != 1:
        raise ValueError("not a vector")
    return numbers
