"""Records queries to the search index where the operator wants that: audits say which ones it could not answer."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, replace

from sitelore.extract.redaction.redactor import redactor_of
from sitelore.index.query_syntax import parse_query
from sitelore.model.errors import SiteloreError
from sitelore.model.ids import SiteId, piece_of
from sitelore.model.search import SearchAnswer, SearchQuery, SiteIndexStats
from sitelore.model.settings import Redaction
from sitelore.ports import AuditStore, Clock

_LOG = logging.getLogger(__name__)

WEAK_SCORE = 0.35
"""The score below which the best result hardly has to do with the query: on manuals, real questions have at least 0.5."""
_MAX_CHARS = 200
_MAX_READ_CHARS = 2_000
_MAX_SITES = 20


@dataclass(frozen=True, slots=True)
class SearchRecorder:
    """Records the searches of a tenant."""

    audits: AuditStore
    clock: Clock
    redaction: Redaction
    retention_s: float

    async def record(self, query: SearchQuery, answer: SearchAnswer, sites: Collection[SiteIndexStats]) -> None:
        """Record a search: of the sites with results, else of all that were searched. A failure is logged.

        Searches with other filters than sites are left out: the filter may be why nothing was found.
        """
        parsed = parse_query(query).query
        if parsed.path or parsed.langs or parsed.kinds or parsed.since or parsed.until or not answer.chunks:
            return
        site_ids: set[SiteId] = {hit.chunk.site for hit in answer.hits}
        if not site_ids:
            names = parsed.sites
            site_ids = {site.site for site in sites if site.chunks and (not names or any(map(site.is_named, names)))}
        if len(site_ids) > _MAX_SITES:
            return
        # Personal data too, whatever the policy for pages: it belongs to the person who searches.
        redactor = redactor_of(replace(self.redaction, personal=True, keep_contacts=False))
        text = piece_of(redactor.redact(" ".join(query.text[:_MAX_READ_CHARS].split()))[0], 0, _MAX_CHARS)
        now, best = self.clock(), max((hit.score for hit in answer.hits), default=0.0)
        try:
            await self.audits.record_search(
                site_ids, text, has_results=bool(answer.hits), is_weak=bool(answer.hits) and best < WEAK_SCORE, now=now,
                kept_since=now - self.retention_s,
            )  # fmt: skip
        except SiteloreError as problem:
            _LOG.warning("search not recorded: %s", problem)
