"""Pages read again from their snapshots, and the sketches of a run's pages. URL states are none of this file's business."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import PageFacts, PageSketch, ReprocessedPage
from sitelore.model.ids import RunId
from sitelore.model.url import Url
from sitelore.store.frontier_sql import lock_runs
from sitelore.store.rows import is_kept
from sitelore.store.schema import key_of, urls
from sitelore.store.settle_sql import page_part
from sitelore.store.statements import page_reread_statement, reread_statement, run_many

SKETCHES_PER_PAGE = 1_000


def sketches_after(conn: sa.Connection, run: RunId, after: str) -> list[tuple[str, PageSketch]]:
    """The next kept pages in key order, each with its key; fewer than `SKETCHES_PER_PAGE` when these are the last."""
    c = urls.c
    query = sa.select(c.url, c.long_url, c.sketch).where(c.run_id == run, c.url > after, is_kept(), c.sketch.is_not(None))
    rows = conn.execute(query.order_by(c.url).limit(SKETCHES_PER_PAGE))
    return [(key, PageSketch(Url.trusted(long_url or key), bytes(sketch))) for key, long_url, sketch in rows]


def replace_documents(conn: sa.Connection, run: RunId, pages_read: Sequence[ReprocessedPage]) -> None:
    """What pages say after being read again, where they still say what was read before: a crawl meanwhile wins."""
    site = lock_runs(conn, [run])[run]
    read = sorted(pages_read, key=lambda one: key_of(one.url))
    run_many(conn, reread_statement, [(*_columns(one.facts), run, key_of(one.url), one.before) for one in read])
    known = [(*_never_null(one.facts), one.facts.volatile or None, site, key_of(one.url), one.before) for one in read]
    run_many(conn, page_reread_statement, known)


def _columns(facts: PageFacts) -> tuple[Any, ...]:
    """In the order of `REREAD_COLUMNS`."""
    title, content_hash, novelty, canonical, _, _, word_count, noindex, document, _, _, _, _, sketch, *_ = page_part(facts)
    return title, content_hash, novelty, canonical, word_count, noindex, document, sketch


def _never_null(facts: PageFacts) -> tuple[Any, ...]:
    title, content_hash, novelty, *rest = _columns(facts)
    return title or "", content_hash or "", novelty or "", *rest
