"""Clusters the chunks of the search index of a site by their embeddings, for the insight of that name."""

from __future__ import annotations

import asyncio

from sitelore.app.app import App
from sitelore.audit.insights.chunk_clusters import (
    MAX_CHUNKS,
    ChunkClusters,
    ChunkText,
    group_chunks,
    label_groups,
    typical_chunks,
)
from sitelore.model.frontier import Run


async def cluster_chunks(app: App, run: Run) -> ChunkClusters | None:
    """The clusters of a site's chunks; None where too few of them have embeddings of the model that searches use."""
    service = app.search.service(run.tenant)
    if not service.model:
        return None
    sample = await app.audits.for_tenant(run.tenant).sample_vectors(run.site, service.model, MAX_CHUNKS)
    groups = await asyncio.to_thread(group_chunks, sample)
    if not groups:
        return None
    records = await service.search_index.chunk_records(run.site, typical_chunks(sample, groups))
    texts = {each.number: ChunkText(str(each.url), (each.title, *each.headings), each.text) for each in records}
    return await asyncio.to_thread(label_groups, sample, groups, texts)
