"""Embeds texts by an OpenAI-compatible endpoint: `POST {base}/embeddings`.

Errors are one sentence, without the texts, the key or the response.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sitelore.json_client import RequestFailed, ResponseTooLarge, ServiceResponse, UntrustedCertificate, send_request
from sitelore.model.errors import EmbeddingFailed, TextsRefused
from sitelore.model.url import Url

BATCH_TEXTS = 64
_BATCH_CHARS = 200_000
_TEXT_CHARS = 24_000
_MAX_DIMENSIONS = 8192
_BYTES_PER_NUMBER = 32
_REFUSED_STATUSES = frozenset({400, 413, 422})
_RETRY_STATUSES = frozenset({408, 425, 429})
_FIRST_DELAY_S, _MAX_DELAY_S = 0.5, 30.0

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An embedding endpoint: its address, model, key and limits."""

    base: Url
    model: str
    key: str = field(default="", repr=False)
    dimensions: int | None = None
    """Sent to models that can shorten their vectors; None for the full length."""
    tries: int = 5
    query_tries: int = 2
    timeout_s: float = 60.0
    query_timeout_s: float = 10.0
    patience_s: float = 60.0
    """The longest `Retry-After` that is obeyed; a longer one fails the request."""

    @property
    def address(self) -> str:
        """The URL of the embeddings call."""
        query = f"?{self.base.query}" if self.base.query else ""
        return f"{self.base.origin}{self.base.path.rstrip('/')}/embeddings{query}"

    @property
    def headers(self) -> dict[str, str]:
        """The request headers, with the key where there is one."""
        named = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "Sitelore"}
        return {**named, "Authorization": f"Bearer {self.key}"} if self.key else named


class _TemporaryFailure(Exception):
    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s


class RemoteEmbedder:
    """Embeds by the model of an endpoint, with retries. `sleep` waits between them."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._endpoint = endpoint
        self._sleep = sleep
        self._dimensions = endpoint.dimensions

    @property
    def model(self) -> str:
        """The name under which vectors are stored: the model and the host that runs it."""
        size = f"-{self._endpoint.dimensions}" if self._endpoint.dimensions else ""
        return f"{self._endpoint.model}{size}@{self._endpoint.base.authority}"

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Embed passages as little-endian float16."""
        limits = (self._endpoint.tries, self._endpoint.timeout_s)
        vectors = [vector for batch in _batches(texts) for vector in await self._request_vectors(batch, *limits)]
        return [vector.astype("<f2").tobytes() for vector in vectors]

    async def embed_query(self, text: str) -> bytes:
        """Embed a query as little-endian float32. A user waits for it, so it gives up sooner."""
        vectors = await self._request_vectors([_sendable(text)], self._endpoint.query_tries, self._endpoint.query_timeout_s)
        return vectors[0].astype("<f4").tobytes()

    async def close(self) -> None:
        """Do nothing: every request has its own connection."""

    async def _request_vectors(self, texts: list[str], tries: int, timeout_s: float) -> list[Floats]:
        delay_s, reason = _FIRST_DELAY_S, ""
        for left in range(tries - 1, -1, -1):
            try:
                return self._vectors(await self._post(texts, timeout_s), len(texts))
            except _TemporaryFailure as failure:
                reason, retry_after_s = failure.reason, failure.retry_after_s or 0.0
            if retry_after_s > self._endpoint.patience_s:
                raise self._failed(f"{reason} and asks to wait {retry_after_s:.0f} s")
            if left:
                await self._sleep(max(delay_s, retry_after_s))
                delay_s = min(delay_s * 2, _MAX_DELAY_S)
        raise self._failed(f"{reason}, {tries} times")

    async def _post(self, texts: list[str], timeout_s: float) -> bytes:
        endpoint = self._endpoint
        request: dict[str, Any] = {"model": endpoint.model, "input": texts, "encoding_format": "float"}
        if endpoint.dimensions:
            request["dimensions"] = endpoint.dimensions
        max_bytes = len(texts) * (_MAX_DIMENSIONS * _BYTES_PER_NUMBER + 1000) + 100_000
        data = json.dumps(request).encode()
        try:
            response = await send_request(
                "POST", endpoint.address, endpoint.headers, data, timeout_s=timeout_s, max_bytes=max_bytes
            )
        except ResponseTooLarge:
            raise self._failed("answered more than vectors can be") from None
        except UntrustedCertificate as failure:
            raise self._failed(str(failure)) from None
        except RequestFailed as failure:
            raise _TemporaryFailure(str(failure)) from None
        self._check_status(response)
        return response.body

    def _check_status(self, response: ServiceResponse) -> None:
        status = response.status
        if status == 200:
            return
        if status in _RETRY_STATUSES or status >= 500:
            raise _TemporaryFailure(f"answered {status}", _seconds(response.headers.get("retry-after", "")))
        if status in _REFUSED_STATUSES:
            where = self._endpoint.base.authority
            raise TextsRefused(
                f"the embedding endpoint {where} answered {status}: it does not accept these texts or this model"
            )
        if status in {401, 403}:
            raise self._failed(f"answered {status}: SITELORE_EMBEDDINGS_KEY is missing or wrong")
        if status == 404:
            raise self._failed(f"answered 404: no model {self._endpoint.model}, or no embeddings at this address")
        raise self._failed(f"answered {status}" + (", a redirect, which is not followed" if 300 <= status < 400 else ""))

    def _vectors(self, body: bytes, count: int) -> list[Floats]:
        try:
            entries = json.loads(body)["data"]
            vectors = [_decode_vector(entry["embedding"]) for entry in _in_order(entries)]
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            # Mostly a response that was cut off on its way, by a proxy for example: worth a retry.
            raise _TemporaryFailure("answered something that is not a list of embeddings") from None
        if len(vectors) != count:
            raise self._failed(f"answered {len(vectors)} vectors for {count} texts")
        for vector in vectors:
            self._check_vector(vector)
        return [vector / np.linalg.norm(vector) for vector in vectors]

    def _check_vector(self, vector: Floats) -> None:
        """Every vector must be as long as the first one."""
        size = len(vector)
        if not 0 < size <= _MAX_DIMENSIONS or not np.isfinite(vector).all() or not vector.any():
            raise self._failed("answered something else than vectors")
        if self._dimensions not in {None, size}:
            raise self._failed(f"answered vectors of {size} numbers where {self._dimensions} are expected")
        self._dimensions = size

    def _failed(self, what: str) -> EmbeddingFailed:
        return EmbeddingFailed(f"the embedding endpoint {self._endpoint.base.authority} {what}")


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    chars = 0
    for text in map(_sendable, texts):
        if batch and (len(batch) == BATCH_TEXTS or chars + len(text) > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _sendable(text: str) -> str:
    """The text truncated and as valid UTF-8. Endpoints refuse empty texts, so one space is sent instead."""
    return text[:_TEXT_CHARS].encode("utf-8", "replace").decode() or " "


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


def _seconds(retry_after: str) -> float | None:
    """`Retry-After` in seconds; None for a date, which servers use for long waits: the usual delay applies."""
    try:
        seconds = float(retry_after)
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None
