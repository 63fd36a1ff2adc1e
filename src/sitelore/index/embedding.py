"""Which embedder the operator chose, and giving vectors to texts that have none: in the background, a batch at a time."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from sitelore.index.embedding_local import LocalEmbedder
from sitelore.index.embedding_model import find_model
from sitelore.index.embedding_remote import Endpoint, RemoteEmbedder
from sitelore.model.errors import EmbeddingFailed, TextsRefused, UsageError
from sitelore.model.ids import SiteId
from sitelore.model.search import IndexProgress, TextToEmbed
from sitelore.model.url import Url
from sitelore.ports import Embedder, SearchIndex

_LOG = logging.getLogger(__name__)

BATCH = 16
_REFUSALS_IN_A_ROW = 8
_MOST_REFUSED = 1000
_REMOTE = re.compile(r"openai:(?P<model>[^\s@]{1,200})@(?P<base>https?://[^\s@#]+)(?:#(?P<dimensions>[1-9][0-9]{0,3}))?")
_FORMS = "auto, none, local, a directory with model.onnx and tokenizer.json, or openai:MODEL@https://host/v1[#DIMENSIONS]"


def embedder_for(spec: str, key: str = "") -> Embedder | None:
    """What `SITELORE_EMBEDDINGS` asks for. Nothing, or `auto`: the local model where it is installed, else none."""
    spec = spec.strip()
    if spec in {"", "auto"}:
        return _local_if_there()
    if spec == "none":
        return None
    if spec == "local":
        return LocalEmbedder(find_model())
    if spec.startswith("openai:"):
        return _remote(spec, key)
    directory = Path(spec).expanduser()
    if not directory.is_dir():
        raise UsageError(f"SITELORE_EMBEDDINGS is neither a word that is known nor a directory; it takes {_FORMS}")
    return LocalEmbedder(find_model(directory))


def _local_if_there() -> Embedder | None:
    try:
        return LocalEmbedder(find_model())
    except UsageError as problem:
        _LOG.info("search goes by words alone: %s", problem)
        return None


def _remote(spec: str, key: str) -> Embedder:
    found = _REMOTE.fullmatch(spec)
    base = Url.parse(found["base"]) if found else None
    if found is None or base is None:
        # Not repeated: somebody may have put a password into it.
        raise UsageError(f"SITELORE_EMBEDDINGS cannot be read; it takes {_FORMS}, and the key in SITELORE_EMBEDDINGS_KEY")
    dimensions = int(found["dimensions"]) if found["dimensions"] else None
    return RemoteEmbedder(Endpoint(base, found["model"], key, dimensions))


async def embed_missing(
    search_index: SearchIndex,
    embedder: Embedder,
    *,
    site: SiteId | None = None,
    stop: asyncio.Event | None = None,
    batch: int = BATCH,
) -> AsyncIterator[IndexProgress]:
    """Give every text that has no vector one, and say after each batch how far it is.

    A batch is kept before the next is begun, so it may be cut off anywhere. Texts that the model refuses are left out, and
    tried again the next time. Raises `EmbeddingFailed` when nothing is to be had: what was made before that is kept.
    """
    shelves = await search_index.site_stats(None, embedder.model)
    # Chunks with equal texts share a vector: it may be fewer in the end.
    total = sum(shelf.chunks - shelf.embedded for shelf in shelves if site in {None, shelf.site})
    done, refused, in_a_row = 0, dict[str, str](), 0
    while not (stop and stop.is_set()):
        waiting = await search_index.texts_to_embed(embedder.model, batch + len(refused), site)
        texts = [text for text in waiting if text.text_hash not in refused][:batch]
        if not texts:
            break
        made, failed = await _embed(embedder, texts)
        if made:
            await search_index.put_vectors(embedder.model, made)
        refused |= failed
        in_a_row = 0 if made else in_a_row + len(failed)
        if in_a_row >= _REFUSALS_IN_A_ROW or len(refused) > _MOST_REFUSED:
            raise EmbeddingFailed(next(reversed(refused.values())))
        done += len(made)
        yield _progress(total, done, refused)


async def _embed(embedder: Embedder, texts: Sequence[TextToEmbed]) -> tuple[list[tuple[str, bytes]], dict[str, str]]:
    """Vectors by text hash, and the texts that were refused. A batch that is refused is halved until the culprit is alone."""
    waiting = [list(texts)]
    made: list[tuple[str, bytes]] = []
    refused = dict[str, str]()
    while waiting:
        part = waiting.pop()
        try:
            vectors = await embedder.embed([text.text for text in part])
        except TextsRefused as problem:
            if len(part) == 1:
                refused[part[0].text_hash] = str(problem)
                if not made and len(refused) >= _REFUSALS_IN_A_ROW:
                    break  # not the texts, then
            else:
                half = len(part) // 2
                waiting += [part[half:], part[:half]]
            continue
        except EmbeddingFailed:
            if not made:
                raise
            _LOG.info("embedding broke off in a batch; what was made is kept")
            break
        made += zip((text.text_hash for text in part), vectors, strict=True)
    return made, refused


def _progress(total: int, done: int, refused: dict[str, str]) -> IndexProgress:
    notes = (f"{len(refused)} texts have no vector: {next(reversed(refused.values()))}",) if refused else ()
    return IndexProgress(texts=max(total, done + len(refused)), texts_done=done, notes=notes)
