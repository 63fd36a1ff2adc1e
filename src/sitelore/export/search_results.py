"""Search results as JSON, in one format for the command line, the API and MCP."""

from __future__ import annotations

from typing import Any

from sitelore.export.pages import moment
from sitelore.model.knowledge import Hit, SearchAnswer, SearchQuery


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
    card = hit.card
    return {
        "url": str(card.url),
        "citation": hit.citation,
        "site": card.site_name,
        "title": card.title,
        "headings": list(card.headings),
        "snippet": hit.snippet,
        "highlights": [list(pair) for pair in hit.highlights],
        "score": round(hit.score, 6),
        "lexical": None if hit.lexical is None else round(hit.lexical, 6),
        "dense": None if hit.dense is None else round(hit.dense, 6),
        "chunk": card.id,
        "text": card.text,
        "lead": card.lead,
        "start": card.start,
        "end": card.end,
        "tokens": card.tokens,
        "landmark": card.landmark,
        "lang": card.lang,
        "type": card.kind,
        "dated": moment(card.dated),
        "fetched_at": moment(card.fetched_at),
        "presence": card.presence.value,
        "flags": [{"rule": flag.rule, "evidence": flag.evidence} for flag in card.flags],
    }
