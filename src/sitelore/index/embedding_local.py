"""Vectors made on this machine: an ONNX model on the CPU, no network, the same bytes for the same text."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sitelore.index.embedding_model import ADVICE, ModelFiles
from sitelore.model.errors import UsageError

_CHARS_PER_TOKEN = 40
_QUIET = 3
_NICE = 10

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Loaded:
    session: Any
    tokenizer: Any
    inputs: tuple[str, ...]


class LocalEmbedder:
    """A model that `find_model` found, loaded when it is first needed.

    Each text goes through the model alone. Padded batches were measured slower per text from 128 tokens on (they do not fit
    the cache), and a vector that depends on its text and on nothing else makes a rebuilt index the same index.
    """

    def __init__(self, files: ModelFiles, *, threads: int = 1) -> None:
        self._files = files
        self._threads = threads
        self._loaded: _Loaded | None = None
        self._loading = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "embedding", _stand_back)

    @property
    def model(self) -> str:
        """What vectors are kept under."""
        return self._files.name

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Passages, as little-endian float16: one after the other, behind all other work. A question need not wait for them."""
        loop = asyncio.get_running_loop()
        vectors = []
        for text in texts:
            vector = await loop.run_in_executor(self._pool, self._vector, self._files.passage_prompt + text)
            vectors.append(vector.astype("<f2").tobytes())
        return vectors

    async def embed_query(self, text: str) -> bytes:
        """A question, as little-endian float32."""
        vector = await asyncio.to_thread(self._vector, self._files.query_prompt + text)
        return vector.astype("<f4").tobytes()

    async def close(self) -> None:
        """Give the thread and the memory back."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._loaded = None

    def _vector(self, text: str) -> Floats:
        loaded = self._load()
        # Half a surrogate pair is no text to the tokenizer, and a text of megabytes would be read to its end for its beginning.
        clean = text[: self._files.max_tokens * _CHARS_PER_TOKEN].encode("utf-8", "replace").decode()
        ids = np.array([loaded.tokenizer.encode(clean).ids or [0]], dtype=np.int64)
        feeds = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.arange(ids.shape[1], dtype=np.int64)[np.newaxis],
        }
        try:
            found = loaded.session.run(None, {name: feeds[name] for name in loaded.inputs})[0]
        except Exception as problem:
            raise UsageError(f"the embedding model {self._files.model} does not work: {_first_line(problem)}") from problem
        return _unit(self._pooled(np.asarray(found, dtype=np.float32)))

    def _pooled(self, found: Floats) -> Floats:
        """One vector for the text, from one for each token, unless the model has done that itself."""
        if found.ndim == 3:
            found = found[:, 0] if self._files.first_token else found.mean(axis=1)
        if found.ndim != 2 or found.shape[0] != 1:
            raise UsageError(f"the embedding model {self._files.model} gives something else than vectors")
        vector: Floats = found[0]
        return vector

    def _load(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                self._loaded = _open(self._files, self._threads)
            return self._loaded


def _stand_back() -> None:
    """Let crawls go first: on Linux, priority belongs to a thread."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def _open(files: ModelFiles, threads: int) -> _Loaded:
    try:
        import onnxruntime  # noqa: PLC0415 an extra, and slow to import
        import tokenizers  # noqa: PLC0415 as above
    except ImportError as problem:
        raise UsageError(f"no local embeddings: {problem.name} cannot be imported; {ADVICE}") from None
    files.verify()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.log_severity_level = _QUIET
    # Threads that wait by spinning would take the CPU from the crawl.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
        tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        tokenizer.no_padding()
        tokenizer.enable_truncation(files.max_tokens)
    except Exception as problem:
        raise UsageError(f"the embedding model {files.model} cannot be loaded: {_first_line(problem)}") from problem
    inputs = tuple(given.name for given in session.get_inputs())
    known = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
    if unknown := set(inputs) - known:
        raise UsageError(f"the embedding model {files.model} asks for {', '.join(sorted(unknown))}; that is not known here")
    return _Loaded(session, tokenizer, inputs)


def _unit(vector: Floats) -> Floats:
    """Of length one; a text of which the model makes nothing is near to nothing."""
    finite: Floats = np.nan_to_num(vector, nan=0.0, posinf=0.0, neginf=0.0)
    length = float(np.linalg.norm(finite))
    return (finite / length).astype(np.float32) if length else finite


def _first_line(problem: Exception) -> str:
    return str(problem).partition("\n")[0][:300]
