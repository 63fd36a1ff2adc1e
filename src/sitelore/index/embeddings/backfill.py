"""Embeds the texts that have no vector yet, batch by batch, in the background."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence

from sitelore.background import wait
from sitelore.model.errors import EmbeddingFailed, TextsRefused
from sitelore.model.ids import SiteId
from sitelore.model.search import IndexProgress, TextToEmbed
from sitelore.ports import Embedder, SearchIndex

_LOG = logging.getLogger(__name__)

BATCH = 64
LISTED_TEXTS = 1_000
"""Texts that are listed at once, the most important first: listing orders all pages that lack vectors."""
_MAX_REFUSALS_IN_A_ROW = 8
_MAX_REFUSALS = 1000


async def embed_missing(
    search_index: SearchIndex,
    embedder: Embedder,
    *,
    site: SiteId | None = None,
    stop: asyncio.Event | None = None,
    batch: int = BATCH,
    cpu_share: float = 1.0,
    from_last: bool = False,
) -> AsyncIterator[IndexProgress]:
    """Embed every text that has no vector, the most important pages first, and report progress after each batch.

    A batch is stored before the next one starts, so it can be interrupted anywhere. Texts that the model refuses are skipped,
    and tried again the next time. Raises `EmbeddingFailed` when the embedder is unavailable; finished batches are kept.
    `cpu_share`: the share of one core that this process may use meanwhile; after each batch it pauses for the rest.
    `from_last`: take each list of texts from its end, so that two processes that embed at once share the work.
    """
    stats = await search_index.site_stats(embedder.model)
    # An upper bound: chunks with equal texts share a vector.
    total = sum(entry.chunks - entry.embedded for entry in stats if site in {None, entry.site})
    done, refused, in_a_row = 0, dict[str, str](), 0
    listed: list[TextToEmbed] = []
    while not (stop and stop.is_set()):
        if not listed:
            listed = await search_index.texts_to_embed(embedder.model, LISTED_TEXTS + len(refused), site)
            listed = [text for text in listed if text.text_hash not in refused]
        if not listed:
            break
        next_texts = slice(-batch, None) if from_last else slice(batch)
        texts = listed[next_texts]
        del listed[next_texts]
        missing = await search_index.without_vector(embedder.model, [text.text_hash for text in texts])
        texts = [text for text in texts if text.text_hash in missing]  # another process may embed, too
        if not texts:
            continue
        cpu_before = time.process_time()
        vectors, failed = await _embed(embedder, texts)
        if vectors:
            await search_index.put_vectors(embedder.model, vectors)
        refused |= failed
        in_a_row = 0 if vectors else in_a_row + len(failed)
        if in_a_row >= _MAX_REFUSALS_IN_A_ROW or len(refused) > _MAX_REFUSALS:
            raise EmbeddingFailed(next(reversed(refused.values())))
        done += len(vectors)
        yield _progress(total, done, refused)
        pause_s = (time.process_time() - cpu_before) * (1 / cpu_share - 1)
        if pause_s > 0:
            await wait(stop or asyncio.Event(), pause_s)


async def _embed(embedder: Embedder, texts: Sequence[TextToEmbed]) -> tuple[list[tuple[str, bytes]], dict[str, str]]:
    """Vectors by text hash, and the refused texts with the reason. A refused batch is halved until the culprit is alone."""
    stack = [list(texts)]
    vectors: list[tuple[str, bytes]] = []
    refused = dict[str, str]()
    while stack:
        part = stack.pop()
        try:
            embedded = await embedder.embed([text.text for text in part])
        except TextsRefused as problem:
            if len(part) == 1:
                refused[part[0].text_hash] = str(problem)
                if not vectors and len(refused) >= _MAX_REFUSALS_IN_A_ROW:
                    break  # the texts are not the reason
            else:
                half = len(part) // 2
                stack += [part[half:], part[:half]]
            continue
        except EmbeddingFailed:
            if not vectors:
                raise
            _LOG.info("embedding failed within a batch; its finished vectors are kept")
            break
        vectors += zip((text.text_hash for text in part), embedded, strict=True)
    return vectors, refused


def _progress(total: int, done: int, refused: dict[str, str]) -> IndexProgress:
    notes = (f"{len(refused)} texts have no vector: {next(reversed(refused.values()))}",) if refused else ()
    return IndexProgress(texts=max(total, done + len(refused)), texts_done=done, notes=notes)
