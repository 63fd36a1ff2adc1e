"""Vectors made by any server that speaks as OpenAI's does: `POST {base}/embeddings`.

The server is the operator's choice, not an address that a page named: the address guard does not apply. Redirects are not
followed, since texts and the key would go with them. What goes wrong becomes one sentence, without text, key or answer.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import numpy as np
import numpy.typing as npt

from sitelore.model.errors import EmbeddingFailed, TextsRefused
from sitelore.model.url import Url

BATCH_TEXTS = 64
_BATCH_CHARS = 200_000
_TEXT_CHARS = 24_000
_MOST_DIMENSIONS = 8192
_BYTES_PER_NUMBER = 32
_REFUSED = frozenset({400, 413, 422})
_LATER = frozenset({408, 425, 429})
_FIRST_WAIT_S, _MOST_WAIT_S = 0.5, 30.0

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, for what, and how long."""

    base: Url
    model: str
    key: str = field(default="", repr=False)
    dimensions: int | None = None
    """Asked of models that can shorten their vectors; None: as long as they are."""
    tries: int = 5
    query_tries: int = 2
    timeout_s: float = 60.0
    query_timeout_s: float = 10.0
    patience_s: float = 60.0
    """The longest `Retry-After` that is waited for."""

    @property
    def address(self) -> str:
        """Where embeddings are asked for."""
        query = f"?{self.base.query}" if self.base.query else ""
        return f"{self.base.origin}{self.base.path.rstrip('/')}/embeddings{query}"

    @property
    def headers(self) -> dict[str, str]:
        """With the key, where there is one."""
        named = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "Sitelore"}
        return {**named, "Authorization": f"Bearer {self.key}"} if self.key else named


class _TryAgain(Exception):
    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.wait_s = wait_s


class RemoteEmbedder:
    """The model of an endpoint. `sleep` is what it waits with."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._endpoint = endpoint
        self._sleep = sleep
        self._session: aiohttp.ClientSession | None = None
        self._dimensions = endpoint.dimensions

    @property
    def model(self) -> str:
        """What vectors are kept under: the model and who runs it."""
        size = f"-{self._endpoint.dimensions}" if self._endpoint.dimensions else ""
        return f"{self._endpoint.model}{size}@{self._endpoint.base.authority}"

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Passages, as little-endian float16."""
        limits = (self._endpoint.tries, self._endpoint.timeout_s)
        vectors = [vector for batch in _batches(texts) for vector in await self._ask(batch, *limits)]
        return [vector.astype("<f2").tobytes() for vector in vectors]

    async def embed_query(self, text: str) -> bytes:
        """A question, as little-endian float32. Somebody waits for the answer: it fails sooner."""
        vectors = await self._ask([_sendable(text)], self._endpoint.query_tries, self._endpoint.query_timeout_s)
        return vectors[0].astype("<f4").tobytes()

    async def close(self) -> None:
        """End all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _ask(self, texts: list[str], tries: int, timeout_s: float) -> list[Floats]:
        wait_s, why = _FIRST_WAIT_S, ""
        for left in range(tries - 1, -1, -1):
            try:
                return self._vectors(await self._post(texts, timeout_s), len(texts))
            except _TryAgain as again:
                why, asked_s = again.why, again.wait_s or 0.0
            if asked_s > self._endpoint.patience_s:
                raise self._failed(f"{why} and asks to wait {asked_s:.0f} s")
            if left:
                await self._sleep(max(wait_s, asked_s))
                wait_s = min(wait_s * 2, _MOST_WAIT_S)
        raise self._failed(f"{why}, {tries} times")

    async def _post(self, texts: list[str], timeout_s: float) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), headers=self._endpoint.headers)
        asked: dict[str, Any] = {"model": self._endpoint.model, "input": texts, "encoding_format": "float"}
        if self._endpoint.dimensions:
            asked["dimensions"] = self._endpoint.dimensions
        limit = len(texts) * (_MOST_DIMENSIONS * _BYTES_PER_NUMBER + 1000) + 100_000
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._session.post(self._endpoint.address, data=json.dumps(asked).encode(), allow_redirects=False) as answer,
            ):
                self._judge(answer)
                return await self._body(answer, limit)
        except TimeoutError:
            raise _TryAgain(f"gave no answer within {timeout_s:g} s") from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError):
            raise self._failed("has no certificate that can be trusted") from None
        except aiohttp.ClientConnectorError:
            raise _TryAgain("cannot be reached") from None
        except (aiohttp.ClientError, OSError):
            raise _TryAgain("broke off the connection") from None

    def _judge(self, answer: aiohttp.ClientResponse) -> None:
        status = answer.status
        if status == 200:
            return
        if status in _LATER or status >= 500:
            raise _TryAgain(f"answered {status}", _seconds(answer.headers.get("Retry-After", "")))
        if status in _REFUSED:
            where = self._endpoint.base.authority
            raise TextsRefused(f"the embedding endpoint {where} answered {status}: it takes not these texts, or not this model")
        if status in {401, 403}:
            raise self._failed(f"answered {status}: SITELORE_EMBEDDINGS_KEY is missing or wrong")
        if status == 404:
            raise self._failed(f"answered 404: no model {self._endpoint.model}, or no embeddings at this address")
        raise self._failed(f"answered {status}" + (", a redirect, which is not followed" if 300 <= status < 400 else ""))

    async def _body(self, answer: aiohttp.ClientResponse, limit: int) -> bytes:
        body = bytearray()
        async for piece in answer.content.iter_chunked(1 << 16):
            body += piece
            if len(body) > limit:
                raise self._failed("answered more than vectors can be")
        return bytes(body)

    def _vectors(self, body: bytes, count: int) -> list[Floats]:
        try:
            found = json.loads(body)["data"]
            vectors = [_numbers(entry["embedding"]) for entry in _in_order(found)]
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
            # Broken in the middle, more often than not by something between here and there.
            raise _TryAgain("answered something that is not a list of embeddings") from None
        if len(vectors) != count:
            raise self._failed(f"answered {len(vectors)} vectors for {count} texts")
        for vector in vectors:
            self._measure(vector)
        return [vector / np.linalg.norm(vector) for vector in vectors]

    def _measure(self, vector: Floats) -> None:
        """The first vector says how long all are."""
        size = len(vector)
        if not 0 < size <= _MOST_DIMENSIONS or not np.isfinite(vector).all() or not vector.any():
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
    """Within limits, as text that any server can read; endpoints refuse an empty one."""
    return text[:_TEXT_CHARS].encode("utf-8", "replace").decode() or " "


def _in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By `index` where every entry has its own; else as they came."""
    places = [entry.get("index") for entry in found]
    if sorted(place for place in places if isinstance(place, int)) == list(range(len(found))):
        return sorted(found, key=lambda entry: int(entry["index"]))
    return found


def _numbers(given: object) -> Floats:
    if isinstance(given, str):  # some answer in base64 whatever they were asked for
        try:
            return np.frombuffer(base64.b64decode(given, validate=True), dtype="<f4").astype(np.float32)
        except binascii.Error as problem:
            raise ValueError("not base64") from problem
    numbers = np.array(given, dtype=np.float32)
    if numbers.ndim != 1:
        raise ValueError("not a vector")
    return numbers


def _seconds(retry_after: str) -> float | None:
    """`Retry-After` in seconds; a date is for servers that mean hours, and the usual wait does."""
    try:
        wait_s = float(retry_after)
    except ValueError:
        return None
    return wait_s if 0 <= wait_s < 1e9 else None
