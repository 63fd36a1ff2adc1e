"""Rows and stored pages for the crawl, exports, `explain` and the API; reprocessed documents; robots.txt files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import KnownPage, PageSketch, PageUpdate, ReprocessedPage, RowKind, UrlRow
from sitelore.model.ids import BlobKey, RunId, SiteId, TenantId
from sitelore.model.response import RobotsFile
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store.frontier.claims import lock_runs
from sitelore.store.frontier.settle import lookup_canonical, page_columns
from sitelore.store.pages.site_urls import UrlIds, find_url_id, in_url_order
from sitelore.store.pages.versions import PageChange, store_changes
from sitelore.store.rows import KNOWN_COLUMNS, ROW_COLUMNS, WHOLE_ROWS, WITH_CANONICAL, is_kept, known_of, storable, url_row
from sitelore.store.runs.counts import COUNTED_COLUMNS, Changes, CountedRow
from sitelore.store.schema import IS_SEARCHABLE, pages, robots, site_urls, urls, visits
from sitelore.store.statements import (
    BATCH,
    OF_RUN,
    OF_SITE,
    OF_VISIT,
    PAGES_WITH_URL,
    SITE,
    SITE_OF_RUN,
    TENANT,
    WITH_URL,
    execute_many,
    put_row,
    reprocessed_page_statement,
    reprocessed_visit_statement,
    select_in_batches,
)

ROWS_PER_PAGE = 500
SKETCHES_PER_PAGE = 1_000


_rows = sa.select(*ROW_COLUMNS).select_from(WHOLE_ROWS).where(OF_RUN)
_row_of_id = _rows.where(urls.c.url_id == sa.bindparam("url_id", type_=sa.BigInteger))


def row(conn: sa.Connection, tenant: TenantId, run: RunId, url: Url) -> UrlRow | None:
    """The row of a URL in a run."""
    values = {"tenant": tenant, "run": run}
    site = conn.scalar(sa.select(SITE_OF_RUN), values)
    stored = conn.execute(_row_of_id, {**values, "url_id": find_url_id(conn, tenant, site, url)}).one_or_none()
    return None if stored is None else url_row(run, stored)


def rows_after(
    conn: sa.Connection, tenant: TenantId, run: RunId, after: str, state: UrlState | None, kinds: Collection[RowKind]
) -> list[tuple[str, UrlRow]]:
    """The next rows in key order with their keys; fewer than `ROWS_PER_PAGE` when these are the last."""
    query = _rows
    if state is not None:
        query = query.where(urls.c.state == state.value)
    if len(kinds) < len(RowKind):
        query = query.where(urls.c.kind.in_(sorted(kinds)))
    values = {"tenant": tenant, "run": run}
    rows = in_url_order(conn, query, SITE_OF_RUN, values, after, ROWS_PER_PAGE)
    return [(stored[0], url_row(run, stored)) for stored in rows]


def documents(conn: sa.Connection, tenant: TenantId, run: RunId, limit: int) -> list[BlobKey]:
    """Documents of the run's pages in admission order; a regular sample where there are more than `limit`."""
    number, total = sa.func.row_number().over(order_by=urls.c.seq), sa.func.count().over()
    numbered = sa.select(visits.c.document, number.label("number"), total.label("total"))
    numbered = numbered.select_from(urls.join(visits, OF_VISIT))
    of_pages = numbered.where(OF_RUN, is_kept(), visits.c.document.is_not(None)).subquery()
    step = (of_pages.c.total + (limit - 1)) // limit
    query = sa.select(of_pages.c.document).where(of_pages.c.number % step == 0).order_by(of_pages.c.number)
    return [stored[0] for stored in conn.execute(query, {"tenant": tenant, "run": run})]


def known(conn: sa.Connection, tenant: TenantId, site: SiteId, url: Url) -> KnownPage | None:
    """What earlier visits stored about a URL of the site."""
    c = pages.c
    url_id = find_url_id(conn, tenant, site, url)
    query = sa.select(*KNOWN_COLUMNS).select_from(WITH_CANONICAL)
    query = query.where(c.tenant_id == TENANT, c.site_id == site, c.url_id == url_id)
    stored = conn.execute(query, {"tenant": tenant}).one_or_none()
    return None if stored is None else known_of(stored)


def run_sketches_after(conn: sa.Connection, tenant: TenantId, run: RunId, after: str) -> list[tuple[str, PageSketch]]:
    """Text sketches of the next kept pages of a run; fewer than `SKETCHES_PER_PAGE` when these are the last."""
    return _sketches(in_url_order(conn, _run_sketches, SITE_OF_RUN, {"tenant": tenant, "run": run}, after, SKETCHES_PER_PAGE))


def site_sketches_after(conn: sa.Connection, tenant: TenantId, site: SiteId, after: str) -> list[tuple[str, PageSketch]]:
    """Text sketches of the next searchable pages of a site; fewer than `SKETCHES_PER_PAGE` when these are the last."""
    return _sketches(in_url_order(conn, _site_sketches, SITE, {"tenant": tenant, "site": site}, after, SKETCHES_PER_PAGE))


_run_sketches = (
    sa.select(site_urls.c.url, site_urls.c.long_url, visits.c.sketch)
    .select_from(WITH_URL.join(visits, OF_VISIT))
    .where(OF_RUN, is_kept(), visits.c.sketch.is_not(None))
)
_site_sketches = (
    sa.select(site_urls.c.url, site_urls.c.long_url, pages.c.sketch)
    .select_from(PAGES_WITH_URL)
    .where(OF_SITE, sa.text(IS_SEARCHABLE), pages.c.sketch.is_not(None))
)


def _sketches(rows: Iterable[Sequence[Any]]) -> list[tuple[str, PageSketch]]:
    return [(key, PageSketch(Url.trusted(long_url or key), bytes(sketch))) for key, long_url, sketch in rows]


_locked_documents = (
    sa.select(pages.c.url_id, pages.c.document, pages.c.fetched_at).where(OF_SITE, pages.c.url_id.in_(BATCH)).with_for_update()
)


_words_of_pages = (
    sa.select(urls.c.url_id, visits.c.document, *COUNTED_COLUMNS)
    .select_from(urls.join(visits, OF_VISIT))
    .where(OF_RUN, urls.c.url_id.in_(BATCH))
)


def replace_documents(conn: sa.Connection, tenant: TenantId, run: RunId, pages: Sequence[ReprocessedPage]) -> None:
    """Replace the documents of reprocessed pages, except where a crawl stored a newer one meanwhile."""
    current = lock_runs(conn, tenant, [run]).get(run)
    if current is None:  # deleted meanwhile
        return
    site = current.site
    by_url = {page.url: page for page in pages}
    url_ids = UrlIds(conn, tenant, site)
    url_ids.add(by_url)
    url_ids.add(canonical for page in pages if (canonical := lookup_canonical(page.facts)) is not None)
    by_id = {url_ids[url]: page for url, page in by_url.items()}
    stored = {row[0]: (row[1], row[2]) for row in select_in_batches(conn, _locked_documents, by_id, tenant=tenant, site=site)}
    of_run, of_site, changes = [], [], []
    for url_id in sorted(by_id):
        page = by_id[url_id]
        columns = _columns(page.facts, url_ids)
        title, content_hash, novelty, *others = columns
        of_run.append((*columns, tenant, current.number, url_id, page.before))
        # These three are never NULL in `pages`.
        never_null = (title or "", content_hash or "", novelty or "")
        of_site.append((*never_null, *others, page.facts.volatile or None, tenant, site, url_id, page.before))
        document, fetched_at = stored.get(url_id, (None, 0.0))
        if document == page.before:
            changes.append(PageChange(page.url, page.facts, fetched_at, is_new_version=False))
    _count_words(conn, tenant, run, by_id)
    execute_many(conn, reprocessed_visit_statement, of_run)
    execute_many(conn, reprocessed_page_statement, of_site)
    store_changes(conn, tenant, site, sorted(changes, key=lambda change: change.url))


def _count_words(conn: sa.Connection, tenant: TenantId, run: RunId, by_id: Mapping[int, ReprocessedPage]) -> None:
    """Add the words that reprocessing adds to, or takes from, the pages of a run to its statistics."""
    counts = Changes()
    for url_id, document, *columns in select_in_batches(conn, _words_of_pages, by_id, tenant=tenant, run=run):
        if document == by_id[url_id].before:
            row = CountedRow(*columns)
            counts.add(run, row, -1)
            counts.add(run, row._replace(word_count=by_id[url_id].facts.word_count))
    counts.write(conn, tenant)


def _columns(facts: PageUpdate, url_ids: UrlIds) -> tuple[Any, ...]:
    """The values of a page in the order of `REPROCESSED_COLUMNS`."""
    columns = page_columns(facts, url_ids)
    title, content_hash, novelty, canonical, _, _, word_count, noindex, document, *_, sketch = columns
    return title, content_hash, novelty, canonical, word_count, noindex, document, sketch


def save_robots(conn: sa.Connection, tenant: TenantId, file: RobotsFile) -> None:
    """Store a robots.txt in place of the origin's earlier one."""
    values = {
        "fetched_at": file.fetched_at, "status": file.status, "body": storable(file.body) or "",
        "detail": storable(file.detail) or "",
    }  # fmt: skip
    put_row(conn, robots, {"tenant_id": tenant, "origin": file.origin}, values)


def find_robots(conn: sa.Connection, tenant: TenantId, origin: str) -> RobotsFile | None:
    """The robots.txt last received from this origin."""
    row = conn.execute(sa.select(robots).where(robots.c.tenant_id == tenant, robots.c.origin == origin)).one_or_none()
    return None if row is None else RobotsFile(row.origin, row.fetched_at, row.status, row.body, row.detail)
