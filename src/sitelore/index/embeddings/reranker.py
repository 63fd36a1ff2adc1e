"""Re-ranks the best results by an endpoint with a cross-encoder: `POST {base}/rerank`, as Cohere, Jina, vLLM or TEI."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from sitelore.index.embeddings.endpoint import Endpoint, EndpointClient, TemporaryFailure, sendable

_BYTES_PER_RESULT = 30_000
"""Some endpoints send each text back."""


class RemoteReranker:
    """Scores how well texts answer a query by the model of an endpoint. `sleep` waits between retries."""

    def __init__(self, endpoint: Endpoint, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._client = EndpointClient(endpoint, sleep)

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The score of each text, between 0 and 1."""
        if not texts:
            return []
        documents = [sendable(text) for text in texts]
        body = {"model": self._client.endpoint.model, "query": sendable(query), "documents": documents, "top_n": len(documents)}
        max_bytes = len(documents) * _BYTES_PER_RESULT + 100_000
        decode = partial(_decode_scores, count=len(documents))
        scores = await self._client.request(body, decode, is_query=True, max_bytes=max_bytes)
        if scores is None:
            raise self._client.failed(f"answered other than {len(documents)} scores")
        return scores


def _decode_scores(body: bytes, count: int) -> list[float] | None:
    """The scores in the order of the texts; None where some are missing. Scores that are no probabilities are made ones."""
    try:
        scores = {int(result["index"]): float(result["relevance_score"]) for result in json.loads(body)["results"]}
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        raise TemporaryFailure("answered something that is not a list of scores") from None
    if sorted(scores) != list(range(count)) or not all(map(math.isfinite, scores.values())):
        return None
    in_order = [scores[at] for at in range(count)]
    return in_order if all(0 <= score <= 1 for score in in_order) else [0.5 + 0.5 * math.tanh(score / 2) for score in in_order]
