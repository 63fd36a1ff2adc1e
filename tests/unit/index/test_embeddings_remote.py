"""The remote embedder and the remote reranker against an HTTP endpoint on loopback that responds in many ways."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from sitelore.index.embeddings.endpoint import Endpoint
from sitelore.index.embeddings.remote import RemoteEmbedder
from sitelore.index.embeddings.reranker import RemoteReranker
from sitelore.model.errors import EmbeddingFailed, TextsRefused
from sitelore.model.url import Url

KEY = "sk-the-operators-own-key"
TEXT = "a confidential text"

RequestBody = dict[str, Any]
Responder = Callable[[RequestBody], web.Response]


@dataclass
class FakeService:
    """An embedder, the requests to its server, and the waits between retries."""

    embedder: RemoteEmbedder
    reranker: RemoteReranker
    requests: list[RequestBody] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 3.0, -4.0, 0.0]


def usual(body: RequestBody) -> web.Response:
    entries = [{"object": "embedding", "index": at, "embedding": vector_of(text)} for at, text in enumerate(body["input"])]
    return web.json_response({"object": "list", "data": entries[::-1], "model": body["model"]})


@asynccontextmanager
async def fake_service(*responders: Responder, path: str = "/v1", **limits: Any) -> AsyncIterator[FakeService]:
    """Each request meets the next mood; the last one stays."""
    service: FakeService

    async def answer(request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        service.requests.append(body)
        service.headers.append(dict(request.headers))
        return responders[min(len(service.requests), len(responders)) - 1](body)

    async def waiting(seconds: float) -> None:
        service.waited.append(seconds)

    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/v1/embeddings", answer)
    app.router.add_post("/v1/rerank", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    base = Url.parse(f"http://127.0.0.1:{port}{path}")
    assert base is not None
    embedder = RemoteEmbedder(Endpoint(base, "small", KEY, **limits), sleep=waiting)
    service = FakeService(
        embedder,
        RemoteReranker(Endpoint(base, "cross", KEY, task="rerank", key_setting="SITELORE_RERANKER_KEY"), sleep=waiting),
    )
    try:
        yield service
    finally:
        await service.embedder.close()
        await runner.cleanup()


def status(code: int, **headers: str) -> Responder:
    # What a server says about an error may repeat what it was sent.
    return lambda body: web.Response(status=code, text=json.dumps(body) + KEY, headers=headers)


def body(data: bytes) -> Responder:
    return lambda _: web.Response(body=data, content_type="application/json")


async def test_vectors_come_back_in_order_and_of_unit_length() -> None:
    async with fake_service(usual) as service:
        vectors = await service.embedder.embed(["ab", "abcdef"])
        query = np.frombuffer(await service.embedder.embed_query("ab"), dtype="<f4")
    first, second = (np.frombuffer(vector, dtype="<f2").astype(np.float64) for vector in vectors)
    wanted = np.array(vector_of("ab")) / np.linalg.norm(vector_of("ab"))
    assert np.allclose(first, wanted, atol=1e-3)
    assert np.allclose(query, wanted, atol=1e-6)
    assert second[0] > first[0]
    assert service.requests[0] == {"model": "small", "input": ["ab", "abcdef"], "encoding_format": "float"}
    assert service.headers[0]["Authorization"] == f"Bearer {KEY}"


async def test_many_texts_go_in_batches() -> None:
    async with fake_service(usual) as service:
        vectors = await service.embedder.embed([*("x" * (1 + at % 7) for at in range(100)), "long " * 30_000, "", "\ud800"])
    assert len(vectors) == 103
    assert [len(body["input"]) for body in service.requests] == [64, 39]
    assert max(len(text) for body in service.requests for text in body["input"]) == 24_000
    assert service.requests[1]["input"][-2:] == [" ", "?"]


async def test_embedding_no_texts_sends_no_request() -> None:
    async with fake_service(usual) as service:
        assert await service.embedder.embed([]) == []
    assert not service.requests


async def test_a_busy_endpoint_is_retried_after_its_retry_after() -> None:
    async with fake_service(status(429, **{"Retry-After": "7"}), status(503), status(500), usual) as service:
        assert len(await service.embedder.embed(["ab"])) == 1
    assert service.waited == [7.0, 1.0, 2.0]


async def test_an_endpoint_that_asks_for_too_much_patience_is_left() -> None:
    async with fake_service(status(429, **{"Retry-After": "3600"})) as service:
        with pytest.raises(EmbeddingFailed, match="answered 429 and asks to wait 3600 s"):
            await service.embedder.embed([TEXT])
    assert (len(service.requests), service.waited) == (1, [])


@pytest.mark.parametrize("header", ["soon", "Wed, 21 Oct 2015 07:28:00 GMT", "-5", "nan", "1e999", ""])
async def test_an_invalid_retry_after_gives_the_default_wait(header: str) -> None:
    async with fake_service(status(429, **{"Retry-After": header}), usual) as service:
        assert len(await service.embedder.embed(["ab"])) == 1
    assert service.waited == [0.5]


async def test_an_endpoint_that_stays_down_is_given_up() -> None:
    async with fake_service(status(502)) as service:
        with pytest.raises(EmbeddingFailed, match="answered 502, 5 times"):
            await service.embedder.embed([TEXT])
        assert len(service.requests) == 5
        with pytest.raises(EmbeddingFailed, match="answered 502, 2 times"):
            await service.embedder.embed_query(TEXT)
    assert service.waited == [0.5, 1.0, 2.0, 4.0, 0.5]


@pytest.mark.parametrize(
    ("mood", "sentence"),
    [
        (status(400), "answered 400"),
        (status(413), "answered 413"),
        (status(401), "SITELORE_EMBEDDINGS_KEY is missing or wrong"),
        (status(404), "no model small"),
        (status(302, Location="http://127.0.0.1:1/"), "a redirect, which is not followed"),
        (status(418), "answered 418"),
        (body(b"{"), "not a list of embeddings, 5 times"),
        (body(b"[" * 100_000), "not a list of embeddings"),
        (body(b"[1, 2]"), "not a list of embeddings"),
        (body(b'{"data": [{"embedding": [[1, 2]]}]}'), "not a list of embeddings"),
        (body(b'{"data": [{"embedding": ["x"]}]}'), "not a list of embeddings"),
        (body(b'{"data": [{"embedding": "!!"}]}'), "not a list of embeddings"),
        (body(b'{"data": []}'), "0 vectors for 1 texts"),
        (body(b'{"data": [{"embedding": []}]}'), "something else than vectors"),
        (body(b'{"data": [{"embedding": [NaN, 1]}]}'), "something else than vectors"),
        (body(b'{"data": [{"embedding": [0, 0]}]}'), "something else than vectors"),
        (body(b'{"data": [{"embedding": [' + b"1," * 9000 + b"1]}]}"), "something else than vectors"),
        (body(b" " * 500_000), "more than vectors can be"),
    ],
)  # fmt: skip
async def test_errors_are_one_line_without_key_or_text(mood: Responder, sentence: str) -> None:
    async with fake_service(mood) as service:
        with pytest.raises(EmbeddingFailed) as caught:
            await service.embedder.embed([TEXT])
    message = str(caught.value)
    assert sentence in message
    assert KEY not in message
    assert TEXT not in message
    assert "\n" not in message
    assert KEY not in repr(service.embedder._endpoint)


async def test_a_refusal_of_texts_is_a_distinct_error() -> None:
    async with fake_service(status(422)) as service:
        with pytest.raises(TextsRefused):
            await service.embedder.embed([TEXT])
    assert len(service.requests) == 1


async def test_vectors_of_another_length_are_refused() -> None:
    async with fake_service(usual, body(b'{"data": [{"embedding": [1, 2]}]}')) as service:
        await service.embedder.embed(["ab"])
        with pytest.raises(EmbeddingFailed, match="vectors of 2 numbers where 4 are expected"):
            await service.embedder.embed(["ab"])


async def test_dimensions_are_requested_and_checked() -> None:
    async with fake_service(usual, dimensions=3) as service:
        with pytest.raises(EmbeddingFailed, match="vectors of 4 numbers where 3 are expected"):
            await service.embedder.embed(["ab"])
        assert service.embedder.model.startswith("small-3@127.0.0.1:")
    assert service.requests[0]["dimensions"] == 3


async def test_base64_is_understood() -> None:
    packed = base64.b64encode(np.array([3.0, 4.0], dtype="<f4").tobytes()).decode()
    async with fake_service(body(json.dumps({"data": [{"embedding": packed}]}).encode())) as service:
        vector = np.frombuffer(await service.embedder.embed_query("ab"), dtype="<f4")
    assert np.allclose(vector, [0.6, 0.8])


async def test_a_silent_endpoint_is_not_waited_for_for_ever() -> None:
    ended = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    base = Url.parse(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/")
    assert base is not None

    async def waiting(_: float) -> None: ...

    embedder = RemoteEmbedder(Endpoint(base, "small", tries=2, timeout_s=0.05), sleep=waiting)
    with pytest.raises(EmbeddingFailed, match=r"gave no answer within 0\.05 s, 2 times"):
        await embedder.embed([TEXT])
    ended.set()
    await embedder.close()
    server.close()
    await server.wait_closed()
    embedder = RemoteEmbedder(Endpoint(base, "small", tries=1))
    with pytest.raises(EmbeddingFailed, match="cannot be reached"):
        await embedder.embed([TEXT])
    await embedder.close()


def ranked(scores: list[Any]) -> Responder:
    """A response as rerank endpoints send it: the best first."""
    results = [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]
    return lambda body: web.json_response({"results": sorted(results, key=lambda result: str(result["relevance_score"]))})


async def test_scores_of_a_reranker_come_in_the_order_of_the_texts() -> None:
    async with fake_service(status(503), ranked([0.2, 0.9, 0.5])) as service:
        assert await service.reranker.scores("how?", ["ab", "", "\ud800"]) == [0.2, 0.9, 0.5]
        assert await service.reranker.scores("how?", []) == []
    assert service.requests[1] == {"model": "cross", "query": "how?", "documents": ["ab", " ", "?"], "top_n": 3}
    assert service.headers[0]["Authorization"] == f"Bearer {KEY}"


async def test_scores_without_bounds_are_mapped_between_0_and_1() -> None:
    async with fake_service(ranked([-8.0, 0.0, 11.0])) as service:
        low, middle, high = await service.reranker.scores("how?", ["a", "b", "c"])
    assert (round(low, 3), middle, round(high, 3)) == (0.0, 0.5, 1.0)


@pytest.mark.parametrize(
    ("mood", "sentence"),
    [
        (ranked([0.5]), "other than 2 scores"),
        (ranked([0.5, float("nan")]), "other than 2 scores"),
        (body(b'{"results": 3}'), "not a list of scores, 2 times"),
        (status(404), "no model cross, or no rerank at this address"),
        (status(401), "SITELORE_RERANKER_KEY"),
    ],
)
async def test_errors_of_a_reranker_are_one_line_without_key_or_text(mood: Responder, sentence: str) -> None:
    async with fake_service(mood) as service:
        with pytest.raises(EmbeddingFailed) as caught:
            await service.reranker.scores("how?", [TEXT, TEXT])
    assert sentence in str(caught.value)
    assert KEY not in str(caught.value)
    assert TEXT not in str(caught.value)
