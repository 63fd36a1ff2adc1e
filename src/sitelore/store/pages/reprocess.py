"""Store documents that were reprocessed from snapshots. URL states do not change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import PageFacts, ReprocessedPage
from sitelore.model.ids import RunId
from sitelore.store.frontier.claims import lock_runs
from sitelore.store.frontier.settle import page_columns
from sitelore.store.schema import key_of
from sitelore.store.statements import execute_many, reprocessed_page_statement, reprocessed_url_statement


def replace_documents(conn: sa.Connection, run: RunId, pages: Sequence[ReprocessedPage]) -> None:
    """Replace the documents of reprocessed pages, except where a crawl stored a newer one meanwhile."""
    site = lock_runs(conn, [run])[run]
    of_run, of_site = [], []
    for page in sorted(pages, key=lambda page: key_of(page.url)):
        columns = _columns(page.facts)
        title, content_hash, novelty, *others = columns
        key = key_of(page.url)
        of_run.append((*columns, run, key, page.before))
        # These three are never NULL in `pages`.
        never_null = (title or "", content_hash or "", novelty or "")
        of_site.append((*never_null, *others, page.facts.volatile or None, site, key, page.before))
    execute_many(conn, reprocessed_url_statement, of_run)
    execute_many(conn, reprocessed_page_statement, of_site)


def _columns(facts: PageFacts) -> tuple[Any, ...]:
    """The values of a page in the order of `REPROCESSED_COLUMNS`."""
    title, content_hash, novelty, canonical, _, _, word_count, noindex, document, _, _, _, _, sketch, *_ = page_columns(facts)
    return title, content_hash, novelty, canonical, word_count, noindex, document, sketch
