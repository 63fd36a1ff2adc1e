"""Search results as JSON, in one format for the command line, the API and MCP."""

from __future__ import annotations

from typing import Any

from sitelore.export.pages import moment
from sitelore.model.search import Hit, SearchAnswer, SearchQuery


def answer_json(query: SearchQuery, answer: SearchAnswer) -> dict[str, Any]:
    """A search answer with all hits, best first."""
    return {
        "query": query.text,
        "mode": answer.mode.value,
        "chunks": answer.chunks,
        "embedded": answer.embedded,
        "hits": [hit_json(hit) for hit in answer.hits],
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    """One hit with its position on the page."""
    record = hit.card
    return {
        "url": str(record.url),
        "citation": hit.citation,
        "site": record.site_name,
        "title": record.title,
        "headings": list(record.headings),
        "snippet": hit.snippet,
        "highlights": [list(pair) for pair in hit.highlights],
        "score": round(hit.score, 6),
        "lexical": None if hit.lexical is None else round(hit.lexical, 6),
        "dense": None if hit.dense is None else round(hit.dense, 6),
        "chunk": record.id,
        "text": record.text,
        "lead": record.lead,
        "start": record.start,
        "end": record.end,
        "tokens": record.tokens,
        "landmark": record.landmark,
        "lang": record.lang,
        "type": record.kind,
        "dated": moment(record.dated),
        "fetched_at": moment(record.fetched_at),
        "presence": record.presence.value,
        "flags": [{"rule": flag.rule, "evidence": flag.evidence} for flag in record.flags],
    }
