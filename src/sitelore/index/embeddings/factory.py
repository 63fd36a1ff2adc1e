"""Creates the embedder and the reranker that the operator's settings name."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from sitelore.index.embeddings.local import LocalEmbedder, find_model
from sitelore.model.errors import UsageError
from sitelore.model.url import Url
from sitelore.ports import Embedder, Reranker

_LOG = logging.getLogger(__name__)

_REMOTE = re.compile(r"openai:(?P<model>[^\s@]{1,200})@(?P<base>https?://[^\s@#]+)(?:#(?P<dimensions>[1-9][0-9]{0,3}))?")
_RERANKER = re.compile(r"(?P<model>[^\s@]{1,200})@(?P<base>https?://[^\s@#]+)")
_FORMS = "auto, none, local, a directory with model.onnx and tokenizer.json, or openai:MODEL@https://host/v1[#DIMENSIONS]"


def embedder_for(spec: str, key: str = "") -> Embedder | None:
    """The embedder for a value of `SITELORE_EMBEDDINGS`. Empty or `auto`: the local model where it is installed, else none."""
    spec = spec.strip()
    if spec in {"", "auto"}:
        return _local_if_installed()
    if spec == "none":
        return None
    if spec == "local":
        return LocalEmbedder(find_model())
    if spec.startswith("openai:"):
        return _remote(spec, key)
    directory = Path(spec).expanduser()
    if not directory.is_dir():
        raise UsageError(f"SITELORE_EMBEDDINGS is neither a known word nor a directory; it takes {_FORMS}")
    return LocalEmbedder(find_model(directory))


def _local_if_installed() -> Embedder | None:
    try:
        return LocalEmbedder(find_model())
    except UsageError as problem:
        _LOG.info("search by words alone: %s", problem)
        return None


def _remote(spec: str, key: str) -> Embedder:
    from sitelore.index.embeddings.endpoint import Endpoint  # noqa: PLC0415 HTTP takes long to import, and most have no endpoint
    from sitelore.index.embeddings.remote import RemoteEmbedder  # noqa: PLC0415 see above

    match = _REMOTE.fullmatch(spec)
    base = Url.parse(match["base"]) if match else None
    if match is None or base is None:
        # The value is not repeated: it may contain a password.
        raise UsageError(f"SITELORE_EMBEDDINGS cannot be read; it takes {_FORMS}, and the key in SITELORE_EMBEDDINGS_KEY")
    dimensions = int(match["dimensions"]) if match["dimensions"] else None
    return RemoteEmbedder(Endpoint(base, match["model"], key, dimensions))


def reranker_for(spec: str, key: str = "") -> Reranker | None:
    """The reranker for a value of `SITELORE_RERANKER`; none if it is empty."""
    spec = spec.strip()
    if not spec:
        return None
    from sitelore.index.embeddings.endpoint import Endpoint  # noqa: PLC0415 as in `_remote`
    from sitelore.index.embeddings.reranker import RemoteReranker  # noqa: PLC0415 as in `_remote`

    match = _RERANKER.fullmatch(spec)
    base = Url.parse(match["base"]) if match else None
    if match is None or base is None:
        raise UsageError(
            "SITELORE_RERANKER cannot be read; it takes MODEL@https://host/v1, and the key in SITELORE_RERANKER_KEY"
        )
    return RemoteReranker(Endpoint(base, match["model"], key, task="rerank", key_setting="SITELORE_RERANKER_KEY"))
