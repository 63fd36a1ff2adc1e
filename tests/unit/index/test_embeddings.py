"""The choice of the embedder, and embedding of all texts despite failures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from sitelore.index.embeddings import backfill
from sitelore.index.embeddings.backfill import embed_missing
from sitelore.index.embeddings.factory import embedder_for, reranker_for
from sitelore.index.embeddings.local import LocalEmbedder
from sitelore.index.embeddings.remote import RemoteEmbedder
from sitelore.index.embeddings.reranker import RemoteReranker
from sitelore.model.errors import EmbeddingFailed, TextsRefused, UsageError
from sitelore.model.ids import CleanText, SiteId
from sitelore.model.search import IndexProgress, SiteIndexStats, TextToEmbed
from sitelore.ports import SearchIndex


@dataclass
class ChunkTable:
    """Of `SearchIndex`, what embedding asks for."""

    texts: dict[str, str]
    vectors: dict[str, bytes] = field(default_factory=dict)
    puts: int = 0
    lists: int = 0

    async def site_stats(self, model: str = "") -> list[SiteIndexStats]:
        return [SiteIndexStats(SiteId(1), "bottles", chunks=len(self.texts), embedded=len(self.vectors))]

    async def texts_to_embed(self, model: str, limit: int, site: SiteId | None = None) -> list[TextToEmbed]:
        self.lists += 1
        waiting = [(key, text) for key, text in self.texts.items() if key not in self.vectors]
        return [TextToEmbed(key, CleanText(text)) for key, text in waiting[:limit]]

    async def without_vector(self, model: str, hashes: Collection[str]) -> set[str]:
        return set(hashes) - self.vectors.keys()

    async def put_vectors(self, model: str, vectors: Sequence[tuple[str, bytes]]) -> None:
        self.puts += 1
        self.vectors |= dict(vectors)


@dataclass
class Model:
    """Makes a vector from a text's first byte, refuses some texts, and fails on request."""

    refuses: frozenset[str] = frozenset()
    breaks_after: int = 10**9
    seen: list[str] = field(default_factory=list)
    model: str = "first-byte"

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        if len(self.seen) >= self.breaks_after:
            raise EmbeddingFailed("it is down")
        if self.refuses & set(texts):
            raise TextsRefused("not these")
        self.seen += texts
        return [text[:1].encode() for text in texts]

    async def embed_query(self, text: str) -> bytes:
        return text[:1].encode()

    async def close(self) -> None: ...


def chunk_table(count: int) -> ChunkTable:
    return ChunkTable({f"hash-{at}": f"{at} bottles" for at in range(count)})


async def embedded(at: ChunkTable, model: Model, batch: int) -> IndexProgress:
    """How far it was at the end."""
    return [IndexProgress(), *[progress async for progress in embed_missing(cast("SearchIndex", at), model, batch=batch)]][-1]


async def test_every_text_gets_its_vector_batch_by_batch() -> None:
    texts = chunk_table(10)
    steps = [step async for step in embed_missing(cast("SearchIndex", texts), Model(), batch=4)]
    assert texts.vectors == {f"hash-{at}": str(at)[:1].encode() for at in range(10)}
    assert texts.puts == 3
    assert [step.texts_done for step in steps] == [4, 8, 10]
    assert {step.texts for step in steps} == {10}
    assert steps[-1].notes == ()


async def test_texts_are_listed_for_many_batches_at_once() -> None:
    texts = chunk_table(1_100)
    await embedded(texts, Model(), 64)
    assert (len(texts.vectors), texts.lists) == (1_100, 3)


async def test_a_share_of_the_cpu_leaves_pauses_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pauses = iter(range(100)), list[float]()

    async def pause(_: asyncio.Event, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(backfill, "wait", pause)
    monkeypatch.setattr(time, "process_time", lambda: 2.0 * next(clock))
    table = cast("SearchIndex", chunk_table(8))
    done = [step.texts_done async for step in embed_missing(table, Model(), batch=4, cpu_share=0.25)]
    assert (done, pauses) == ([4, 8], [6.0, 6.0])


async def test_nothing_is_embedded_twice() -> None:
    texts, model = chunk_table(6), Model(breaks_after=4)
    with pytest.raises(EmbeddingFailed, match="it is down"):
        await embedded(texts, model, 2)
    assert len(texts.vectors) == 4
    again = Model()
    await embedded(texts, again, 2)
    assert (again.seen, len(texts.vectors)) == (["4 bottles", "5 bottles"], 6)


async def test_it_stops_after_the_batch_under_way() -> None:
    texts, stop = chunk_table(10), asyncio.Event()
    async for step in embed_missing(cast("SearchIndex", texts), Model(), batch=3, stop=stop):
        assert step.texts_done == 3
        stop.set()
    assert len(texts.vectors) == 3


async def test_one_text_that_is_refused_costs_the_others_nothing() -> None:
    texts, model = chunk_table(20), Model(refuses=frozenset({"7 bottles", "8 bottles", "19 bottles"}))
    done = await embedded(texts, model, 8)
    assert set(texts.texts) - set(texts.vectors) == {"hash-7", "hash-8", "hash-19"}
    assert sorted(model.seen) == sorted(set(model.seen))
    assert done.notes == ("3 texts have no vector: not these",)


async def test_embedding_stops_when_the_model_refuses_every_text() -> None:
    texts = chunk_table(500)
    model = Model(refuses=frozenset(texts.texts.values()))
    with pytest.raises(EmbeddingFailed, match="not these"):
        await embedded(texts, model, 64)
    assert not texts.vectors


async def test_a_model_that_refuses_the_few_there_are_ends_all_the_same() -> None:
    texts = chunk_table(3)
    done = await embedded(texts, Model(refuses=frozenset(texts.texts.values())), 1)
    assert (done.texts_done, len(done.notes)) == (0, 1)


def test_none_is_none() -> None:
    assert embedder_for("none") is None


def test_an_endpoint_is_named_by_model_and_address() -> None:
    chosen = embedder_for("openai:text-embedding-3-small@https://api.example.com/v1#512", "a-key")
    assert isinstance(chosen, RemoteEmbedder)
    assert chosen.model == "text-embedding-3-small-512@api.example.com"
    assert chosen._endpoint.address == "https://api.example.com/v1/embeddings"
    assert chosen._endpoint.headers["Authorization"] == "Bearer a-key"
    keyless = embedder_for("openai:nomic-embed-text@http://127.0.0.1:11434/v1/")
    assert isinstance(keyless, RemoteEmbedder)
    assert "Authorization" not in keyless._endpoint.headers


@pytest.mark.parametrize(
    "spec",
    ["openai:", "openai:m@", "openai:m@ftp://h/v1", "openai:m@https://user:hunter2@h/v1", "openai:m m@https://h/", "nonsense"],
)
def test_an_invalid_embedder_setting_gives_a_one_line_error(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        embedder_for(spec)
    assert "openai:MODEL@https://host/v1" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_auto_takes_the_local_model_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitelore.index.embeddings.local.find_spec", lambda name: None)
    assert embedder_for("auto") is None
    with pytest.raises(UsageError, match="not installed"):
        embedder_for("local")
    monkeypatch.undo()
    assert isinstance(embedder_for(""), LocalEmbedder | None)


def test_a_directory_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"model\.onnx"):
        embedder_for(str(tmp_path))


def test_a_reranker_is_named_by_model_and_address() -> None:
    assert reranker_for("") is None
    assert isinstance(reranker_for("bge-reranker-base@http://127.0.0.1:8000/v1", "a-key"), RemoteReranker)
    with pytest.raises(UsageError, match="MODEL@https://host/v1"):
        reranker_for("https://host/v1")


async def test_two_processes_that_embed_at_once_embed_each_text_once() -> None:
    table, background, command = chunk_table(40), Model(), Model()
    waiting = [
        embed_missing(cast("SearchIndex", table), background, batch=4),
        embed_missing(cast("SearchIndex", table), command, batch=4, from_last=True),
    ]
    while waiting:
        for process in list(waiting):
            if await anext(process, None) is None:
                waiting.remove(process)
    assert len(table.vectors) == 40
    assert sorted(background.seen + command.seen) == sorted(table.texts.values())
    assert len(background.seen) == len(command.seen) == 20
