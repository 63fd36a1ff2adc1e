"""An endpoint as operators have them: real HTTP on loopback, in every mood."""

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

from sitelore.index.embeddings.remote import Endpoint, RemoteEmbedder
from sitelore.model.errors import EmbeddingFailed, TextsRefused
from sitelore.model.url import Url

KEY = "sk-the-operators-own-key"
TEXT = "a text that nobody else should read"

Asked = dict[str, Any]
Mood = Callable[[Asked], web.Response]


@dataclass
class Rig:
    """An embedder, what its server was asked, and how long it would have waited."""

    embedder: RemoteEmbedder
    asked: list[Asked] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 3.0, -4.0, 0.0]


def usual(asked: Asked) -> web.Response:
    entries = [{"object": "embedding", "index": at, "embedding": vector_of(text)} for at, text in enumerate(asked["input"])]
    return web.json_response({"object": "list", "data": entries[::-1], "model": asked["model"]})


@asynccontextmanager
async def rigged(*moods: Mood, path: str = "/v1", **limits: Any) -> AsyncIterator[Rig]:
    """Each request meets the next mood; the last one stays."""
    rig: Rig

    async def answer(request: web.Request) -> web.Response:
        asked = json.loads(await request.read())
        rig.asked.append(asked)
        rig.headers.append(dict(request.headers))
        return moods[min(len(rig.asked), len(moods)) - 1](asked)

    async def waiting(seconds: float) -> None:
        rig.waited.append(seconds)

    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/v1/embeddings", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    base = Url.parse(f"http://127.0.0.1:{port}{path}")
    assert base is not None
    rig = Rig(RemoteEmbedder(Endpoint(base, "small", KEY, **limits), sleep=waiting))
    try:
        yield rig
    finally:
        await rig.embedder.close()
        await runner.cleanup()


def status(code: int, **headers: str) -> Mood:
    # What a server says about an error may repeat what it was sent.
    return lambda asked: web.Response(status=code, text=json.dumps(asked) + KEY, headers=headers)


def body(data: bytes) -> Mood:
    return lambda _: web.Response(body=data, content_type="application/json")


async def test_vectors_come_back_in_order_and_of_unit_length() -> None:
    async with rigged(usual) as rig:
        vectors = await rig.embedder.embed(["ab", "abcdef"])
        query = np.frombuffer(await rig.embedder.embed_query("ab"), dtype="<f4")
    first, second = (np.frombuffer(vector, dtype="<f2").astype(np.float64) for vector in vectors)
    wanted = np.array(vector_of("ab")) / np.linalg.norm(vector_of("ab"))
    assert np.allclose(first, wanted, atol=1e-3)
    assert np.allclose(query, wanted, atol=1e-6)
    assert second[0] > first[0]
    assert rig.asked[0] == {"model": "small", "input": ["ab", "abcdef"], "encoding_format": "float"}
    assert rig.headers[0]["Authorization"] == f"Bearer {KEY}"


async def test_many_texts_go_in_batches() -> None:
    async with rigged(usual) as rig:
        vectors = await rig.embedder.embed([*("x" * (1 + at % 7) for at in range(100)), "long " * 30_000, "", "\ud800"])
    assert len(vectors) == 103
    assert [len(asked["input"]) for asked in rig.asked] == [64, 39]
    assert max(len(text) for asked in rig.asked for text in asked["input"]) == 24_000
    assert rig.asked[1]["input"][-2:] == [" ", "?"]


async def test_nothing_asks_nobody() -> None:
    async with rigged(usual) as rig:
        assert await rig.embedder.embed([]) == []
    assert not rig.asked


async def test_a_busy_endpoint_is_asked_again_when_it_says() -> None:
    async with rigged(status(429, **{"Retry-After": "7"}), status(503), status(500), usual) as rig:
        assert len(await rig.embedder.embed(["ab"])) == 1
    assert rig.waited == [7.0, 1.0, 2.0]


async def test_an_endpoint_that_asks_for_too_much_patience_is_left() -> None:
    async with rigged(status(429, **{"Retry-After": "3600"})) as rig:
        with pytest.raises(EmbeddingFailed, match="answered 429 and asks to wait 3600 s"):
            await rig.embedder.embed([TEXT])
    assert (len(rig.asked), rig.waited) == (1, [])


@pytest.mark.parametrize("header", ["soon", "Wed, 21 Oct 2015 07:28:00 GMT", "-5", "nan", "1e999", ""])
async def test_a_retry_after_that_says_nothing_is_the_usual_wait(header: str) -> None:
    async with rigged(status(429, **{"Retry-After": header}), usual) as rig:
        assert len(await rig.embedder.embed(["ab"])) == 1
    assert rig.waited == [0.5]


async def test_an_endpoint_that_stays_down_is_given_up() -> None:
    async with rigged(status(502)) as rig:
        with pytest.raises(EmbeddingFailed, match="answered 502, 5 times"):
            await rig.embedder.embed([TEXT])
        assert len(rig.asked) == 5
        with pytest.raises(EmbeddingFailed, match="answered 502, 2 times"):
            await rig.embedder.embed_query(TEXT)
    assert rig.waited == [0.5, 1.0, 2.0, 4.0, 0.5]


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
async def test_what_goes_wrong_is_a_sentence_without_key_or_text(mood: Mood, sentence: str) -> None:
    async with rigged(mood) as rig:
        with pytest.raises(EmbeddingFailed) as caught:
            await rig.embedder.embed([TEXT])
    said = str(caught.value)
    assert sentence in said
    assert KEY not in said
    assert TEXT not in said
    assert "\n" not in said
    assert KEY not in repr(rig.embedder._endpoint)


async def test_a_refusal_of_texts_is_told_apart() -> None:
    async with rigged(status(422)) as rig:
        with pytest.raises(TextsRefused):
            await rig.embedder.embed([TEXT])
    assert len(rig.asked) == 1


async def test_vectors_of_another_length_are_refused() -> None:
    async with rigged(usual, body(b'{"data": [{"embedding": [1, 2]}]}')) as rig:
        await rig.embedder.embed(["ab"])
        with pytest.raises(EmbeddingFailed, match="vectors of 2 numbers where 4 are expected"):
            await rig.embedder.embed(["ab"])


async def test_dimensions_are_asked_for_and_checked() -> None:
    async with rigged(usual, dimensions=3) as rig:
        with pytest.raises(EmbeddingFailed, match="vectors of 4 numbers where 3 are expected"):
            await rig.embedder.embed(["ab"])
        assert rig.embedder.model.startswith("small-3@127.0.0.1:")
    assert rig.asked[0]["dimensions"] == 3


async def test_base64_is_understood() -> None:
    packed = base64.b64encode(np.array([3.0, 4.0], dtype="<f4").tobytes()).decode()
    async with rigged(body(json.dumps({"data": [{"embedding": packed}]}).encode())) as rig:
        vector = np.frombuffer(await rig.embedder.embed_query("ab"), dtype="<f4")
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
