"""Quality (nDCG@10) and latency of search over a real store.

    python -m bench.search [FILE ...] [--json OUT]         nDCG@10 (linear gain) of hybrid, rank fusion, lexical, dense
    python -m bench.search --size 100000 [--questions N]   latency of a query over this many chunks
    python -m bench.search … --scaled                      on Postgres instead of SQLite

FILE is a JSON file with `docs`, `queries` and `rel`; by default both collections of `../shared/corpora/retrieval` are used.
Each document is one page of one chunk: documents are shorter than a chunk. Vectors are computed once for each text and cached
in `.bench/search`. With `--size` the chunks are random sentences of the collections' documents with random vectors, queries are
embedded as usual, and a second tenant has some of the same pages.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path

import numpy as np
from bench.measure import ensure, tree_run_s
from bench.search_store import SearchStore, Text, open_postgres_store, open_sqlite_store

from sitelore.index.embeddings.local import LocalEmbedder, find_model
from sitelore.index.ranking import fuse_ranks
from sitelore.index.search import Searcher
from sitelore.model.errors import SiteloreError
from sitelore.model.search import SearchMode, SearchQuery
from sitelore.ports import Embedder

ROOT = Path(__file__).resolve().parent.parent
CORPORA = Path(os.environ.get("SITELORE_CORPORA") or ROOT.parent / "shared" / "corpora") / "retrieval"
FILES = (CORPORA / "cranfield.json", CORPORA / "k8s.json")
VECTOR_CACHE = ROOT / ".bench" / "search"
TOP = 10
DEEP = 50
CHUNKS_OF_A_PAGE = 4
DIMENSIONS = 384
WARM_UP = 20
WAYS = ("hybrid", "rank fusion", "words", "meaning")


@dataclass(frozen=True, slots=True)
class Questions:
    """A collection of documents with queries and graded relevance judgments."""

    name: str
    docs: Mapping[str, str]
    queries: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, float]]

    @classmethod
    def read(cls, path: Path) -> Questions:
        """Read a file with `docs`, `queries` and `rel`."""
        data = json.loads(path.read_text(encoding="utf-8"))
        return cls(path.stem, data["docs"], data["queries"], data["rel"])

    @property
    def texts(self) -> list[Text]:
        """One page for each document, with an address that contains no words of it."""
        return [Text(address, (text,)) for address, text in zip(self.addresses, self.docs.values(), strict=True)]

    @property
    def addresses(self) -> dict[str, str]:
        """Address → document."""
        return {f"https://{self.name}.example/{at}": key for at, key in enumerate(self.docs)}


class CachingEmbedder:
    """An embedder with a cache of vectors by text, stored in a file."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        self._path = path
        self._kept: dict[str, bytes] = {}
        if path.exists():
            with np.load(path) as stored:
                self._kept = dict(zip(stored["keys"].tolist(), (row.tobytes() for row in stored["rows"]), strict=True))

    @property
    def model(self) -> str:
        """The model's name."""
        return self._embedder.model

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Embed passages, as float16."""
        return [np.frombuffer(await self._vector(text), "<f4").astype("<f2").tobytes() for text in texts]

    async def embed_query(self, text: str) -> bytes:
        """Embed a query, as float32."""
        return await self._vector(text)

    async def close(self) -> None:
        """Store the cache."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        rows = np.array([np.frombuffer(vector, "<f4") for vector in self._kept.values()], "<f4")
        np.savez(self._path, keys=np.array(list(self._kept)), rows=rows)
        await self._embedder.close()

    async def _vector(self, text: str) -> bytes:
        key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
        if key not in self._kept:
            self._kept[key] = await self._embedder.embed_query(text)
            if len(self._kept) % 500 == 0:
                print(f"  {len(self._kept)} vectors", flush=True)
        return self._kept[key]


def ndcg(ranking: Sequence[str], relevant: Mapping[str, float], top: int = TOP) -> float:
    """nDCG with linear gain; 0 where nothing is relevant."""
    ideal = sum(gain / log2(at + 2) for at, gain in enumerate(sorted(relevant.values(), reverse=True)[:top]))
    gained = sum(relevant.get(key, 0) / log2(at + 2) for at, key in enumerate(ranking[:top]))
    return gained / ideal if ideal else 0.0


OpenStore = Callable[[str], AbstractAsyncContextManager[SearchStore]]
"""Opens a new store with this name."""


async def measured(collection: Questions, embedder: Embedder | None, open_store: OpenStore) -> dict[str, float]:
    """nDCG@10 of every search mode that is available."""
    async with open_store(collection.name) as store:
        texts = collection.texts
        await store.add_pages(texts)
        if embedder is not None:
            bodies = [text.chunks[0] for text in texts]
            await store.add_vectors(embedder.model, zip(bodies, await embedder.embed(bodies), strict=True))
        return await _figures(collection, Searcher(store.search_index, embedder), has_vectors=embedder is not None)


async def _figures(collection: Questions, searcher: Searcher, *, has_vectors: bool) -> dict[str, float]:
    scores: dict[str, list[float]] = {way: [] for way in (WAYS if has_vectors else ("words",))}
    addresses = collection.addresses
    for key, text in collection.queries.items():
        rankings: dict[str, list[str]] = {}
        for way, mode in (("words", SearchMode.LEXICAL), ("meaning", SearchMode.DENSE), ("hybrid", SearchMode.HYBRID)):
            if way in scores:
                limit = DEEP if has_vectors and way != "hybrid" else TOP
                answer = await searcher.search(SearchQuery(text, limit=limit, mode=mode))
                assert answer.mode is mode, f"requested {mode}, got {answer.mode}"
                rankings[way] = [addresses[str(hit.chunk.url)] for hit in answer.hits]
        if has_vectors:
            both = fuse_ranks([rankings["words"], rankings["meaning"]])
            rankings["rank fusion"] = sorted(both, key=lambda key: (-both[key], key))
        for way, ranking in rankings.items():
            scores[way].append(ndcg(ranking, collection.relevant.get(key, {})))
    return {way: statistics.fmean(values) for way, values in scores.items()}


def _local() -> Embedder | None:
    try:
        return CachingEmbedder(embedder := LocalEmbedder(find_model()), VECTOR_CACHE / f"{embedder.model}.npz")
    except SiteloreError as problem:
        print(f"words alone: {problem}")
        return None


async def quality(files: Sequence[Path], open_store: OpenStore) -> dict[str, dict[str, float]]:
    """Measure every collection, and print each result when it is known."""
    embedder = _local()
    results: dict[str, dict[str, float]] = {}
    print(f"{'nDCG@10':<16}" + "".join(f"{way:>14}" for way in WAYS))
    for file in files:
        collection = Questions.read(file)
        figures = results[collection.name] = await measured(collection, embedder, open_store)
        columns = "".join(f"{figures[way]:>14.4f}" if way in figures else f"{'-':>14}" for way in WAYS)
        print(f"{collection.name:<16}{columns}", flush=True)
    if embedder is not None:
        await embedder.close()
    return results


def drawn(count: int, seed: int = 1) -> Iterator[str]:
    """Chunks of a typical size, made of sentences of one collection's documents in random order."""
    chance = random.Random(seed)
    documents = [[*Questions.read(file).docs.values()] for file in FILES]
    for _ in range(count):
        source = chance.choice(documents)
        parts = [chance.choice(source) for _ in range(3)]
        yield "\n\n".join(part[: chance.randrange(300, 1_000)] for part in parts)


async def _filled(store: SearchStore, size: int, model: str) -> SearchStore:
    """Fill the store: one tenant with this many chunks, another with the first of the same pages. Return the first's."""
    pages = [tuple(chunks) for chunks in zip(*[drawn(size)] * CHUNKS_OF_A_PAGE, strict=False)]
    ours, theirs = await store.create_tenant("ours"), await store.create_tenant("theirs")
    for tenant, name, count in ((ours, "ours", len(pages)), (theirs, "theirs", len(pages) // 10)):
        texts = [Text(f"https://{name}.example/p{at}", page, f"Page {at}") for at, page in enumerate(pages[:count])]
        await tenant.add_pages(texts, name)
        await _add_random_vectors(tenant, model, [chunk for page in pages[:count] for chunk in page])
    return ours


async def _add_random_vectors(store: SearchStore, model: str, bodies: Sequence[str]) -> None:
    chance = np.random.default_rng(1)
    for start in range(0, len(bodies), 5_000):
        batch = bodies[start : start + 5_000]
        rows = chance.standard_normal((len(batch), DIMENSIONS), np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        await store.add_vectors(model, zip(batch, (row.astype("<f2").tobytes() for row in rows), strict=True))


async def speed(size: int, count: int, open_store: OpenStore) -> None:
    """Print the latency of consecutive queries after a warm-up."""
    try:
        embedder = LocalEmbedder(find_model())
    except SiteloreError as problem:
        print(f"words alone: {problem}")
        embedder = None
    async with open_store("speed") as store:
        began = time.monotonic()
        ours = await _filled(store, size, embedder.model if embedder else "none")
        print(f"filled in {time.monotonic() - began:.0f} s", flush=True)
        searcher = Searcher(ours.search_index, embedder)
        questions = [text for file in FILES for text in Questions.read(file).queries.values()]
        random.Random(2).shuffle(questions)
        began, used = time.monotonic(), time.process_time()
        await searcher.search(SearchQuery(questions[0]))
        print(f"the first question, which loads all: {time.monotonic() - began:.1f} s, CPU {time.process_time() - used:.1f} s")
        for mode in (SearchMode.HYBRID, SearchMode.LEXICAL) if embedder else (SearchMode.LEXICAL,):
            for what, query in (
                ("", SearchQuery("", mode=mode)),
                (", one language", SearchQuery("", langs=("en",), mode=mode)),
            ):
                served = tree_run_s(store.server) if store.server else 0.0
                await _timed(f"{mode}{what}", query, searcher, questions[: count + WARM_UP])
                if store.server:
                    served = 1_000 * (tree_run_s(store.server) - served) / (count + WARM_UP)
                    print(f"{'':<24}Postgres' CPU for a question, ms: {served:.1f}", flush=True)


async def _timed(what: str, query: SearchQuery, searcher: Searcher, questions: Sequence[str]) -> None:
    wall, cpu = [], []
    for text in questions:
        began, used = time.perf_counter(), time.process_time()
        answer = await searcher.search(replace(query, text=text))
        wall.append(1_000 * (time.perf_counter() - began))
        cpu.append(1_000 * (time.process_time() - used))
        assert answer.mode is query.mode, f"requested {query.mode}, got {answer.mode}"
    wall, cpu = sorted(wall[WARM_UP:]), sorted(cpu[WARM_UP:])
    parts = (
        f"{name} p50 {at[len(at) // 2]:.1f} p95 {at[len(at) * 95 // 100]:.1f}" for name, at in (("wall", wall), ("CPU", cpu))
    )
    print(f"{what:<24}{answer.chunks:,} chunks, ms: {', '.join(parts)}, load {os.getloadavg()[0]:.1f}", flush=True)


def main() -> None:
    """Measure quality, or with `--size` latency."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=FILES)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--scaled", action="store_true", help="on Postgres")
    arguments = parser.parse_args()
    for file in arguments.files:
        ensure(file.exists(), f"the collection is not on this machine: {file.name} (set SITELORE_CORPORA)")
    with tempfile.TemporaryDirectory() as directory:

        def open_store(name: str) -> AbstractAsyncContextManager[SearchStore]:
            return open_postgres_store() if arguments.scaled else open_sqlite_store(Path(directory) / f"{name}.db")

        if arguments.size:
            asyncio.run(speed(arguments.size, arguments.questions, open_store))
            return
        results = asyncio.run(quality(arguments.files, open_store))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
