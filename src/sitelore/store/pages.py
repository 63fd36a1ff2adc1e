"""Rows and stored pages for the crawl, exports, `explain` and the API; reprocessed documents; robots.txt files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import KnownPage, PageSketch, PageUpdate, ReprocessedPage, RowKind, UrlRow
from sitelore.model.ids import BlobKey, RunId, SiteId, TenantId
from sitelore.model.response import RobotsFile
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store.frontier.claims import lock_runs
from sitelore.store.frontier.settle import page_columns
from sitelore.store.rows import KNOWN_COLUMNS, ROW_COLUMNS, is_kept, known_of, storable, url_row
from sitelore.store.runs.counts import COUNTED_COLUMNS, Changes, CountedRow
from sitelore.store.schema import IS_SEARCHABLE, key_of, pages, robots, urls
from sitelore.store.statements import (
    BATCH,
    RUN,
    SITE,
    TENANT,
    execute_many,
    insert_for,
    reprocessed_page_statement,
    reprocessed_url_statement,
    select_in_batches,
)
from sitelore.store.versions import PageChange, store_changes

ROWS_PER_PAGE = 500
SKETCHES_PER_PAGE = 1_000


def row(conn: sa.Connection, tenant: TenantId, run: RunId, url: Url) -> UrlRow | None:
    """The row of a URL in a run."""
    c = urls.c
    query = sa.select(*ROW_COLUMNS).where(c.tenant_id == tenant, c.run_id == run, c.url == key_of(url))
    stored = conn.execute(query).one_or_none()
    return None if stored is None else url_row(stored)


def rows_after(
    conn: sa.Connection, tenant: TenantId, run: RunId, after: str, state: UrlState | None, kinds: Collection[RowKind]
) -> list[tuple[str, UrlRow]]:
    """The next rows in key order with their keys; fewer than `ROWS_PER_PAGE` when these are the last."""
    query = sa.select(*ROW_COLUMNS).where(urls.c.tenant_id == tenant, urls.c.run_id == run, urls.c.url > after)
    if state is not None:
        query = query.where(urls.c.state == state.value)
    if len(kinds) < len(RowKind):
        query = query.where(urls.c.kind.in_(sorted(kinds)))
    return [(stored.url, url_row(stored)) for stored in conn.execute(query.order_by(urls.c.url).limit(ROWS_PER_PAGE))]


def documents(conn: sa.Connection, tenant: TenantId, run: RunId, limit: int) -> list[BlobKey]:
    """Documents of the run's pages in admission order; a regular sample where there are more than `limit`."""
    c = urls.c
    number, total = sa.func.row_number().over(order_by=c.seq), sa.func.count().over()
    numbered = sa.select(c.document, number.label("number"), total.label("total"))
    of_pages = numbered.where(c.tenant_id == tenant, c.run_id == run, is_kept(), c.document.is_not(None)).subquery()
    step = (of_pages.c.total + (limit - 1)) // limit
    query = sa.select(of_pages.c.document).where(of_pages.c.number % step == 0).order_by(of_pages.c.number)
    return [stored[0] for stored in conn.execute(query)]


def known(conn: sa.Connection, tenant: TenantId, site: SiteId, url: Url) -> KnownPage | None:
    """What earlier visits stored about a URL of the site."""
    c = pages.c
    query = sa.select(*KNOWN_COLUMNS).where(c.tenant_id == tenant, c.site_id == site, c.url == key_of(url))
    stored = conn.execute(query).one_or_none()
    return None if stored is None else known_of(stored)


def run_sketches_after(conn: sa.Connection, tenant: TenantId, run: RunId, after: str) -> list[tuple[str, PageSketch]]:
    """Text sketches of the next kept pages of a run; fewer than `SKETCHES_PER_PAGE` when these are the last."""
    return _sketches_after(conn, urls, sa.and_(urls.c.tenant_id == tenant, urls.c.run_id == run, is_kept()), after)


def site_sketches_after(conn: sa.Connection, tenant: TenantId, site: SiteId, after: str) -> list[tuple[str, PageSketch]]:
    """Text sketches of the next searchable pages of a site; fewer than `SKETCHES_PER_PAGE` when these are the last."""
    of_site = sa.and_(pages.c.tenant_id == tenant, pages.c.site_id == site)
    return _sketches_after(conn, pages, sa.and_(of_site, sa.text(IS_SEARCHABLE)), after)


def _sketches_after(
    conn: sa.Connection, table: sa.Table, condition: sa.ColumnElement[bool], after: str
) -> list[tuple[str, PageSketch]]:
    c = table.c
    query = sa.select(c.url, c.long_url, c.sketch).where(condition, c.url > after, c.sketch.is_not(None))
    rows = conn.execute(query.order_by(c.url).limit(SKETCHES_PER_PAGE))
    return [(key, PageSketch(Url.trusted(long_url or key), bytes(sketch))) for key, long_url, sketch in rows]


_locked_documents = (
    sa.select(pages.c.url, pages.c.document, pages.c.fetched_at)
    .where(pages.c.tenant_id == TENANT, pages.c.site_id == SITE, pages.c.url.in_(BATCH))
    .with_for_update()
)


_words_of_pages = sa.select(urls.c.url, urls.c.document, *COUNTED_COLUMNS).where(
    urls.c.tenant_id == TENANT, urls.c.run_id == RUN, urls.c.url.in_(BATCH)
)


def replace_documents(conn: sa.Connection, tenant: TenantId, run: RunId, pages: Sequence[ReprocessedPage]) -> None:
    """Replace the documents of reprocessed pages, except where a crawl stored a newer one meanwhile."""
    site = lock_runs(conn, tenant, [run]).get(run)
    if site is None:  # deleted meanwhile
        return
    keys = [key_of(page.url) for page in pages]
    stored = {row[0]: (row[1], row[2]) for row in select_in_batches(conn, _locked_documents, keys, tenant=tenant, site=site)}
    of_run, of_site, changes = [], [], []
    for page in sorted(pages, key=lambda page: key_of(page.url)):
        columns = _columns(page.facts)
        title, content_hash, novelty, *others = columns
        key = key_of(page.url)
        of_run.append((*columns, tenant, run, key, page.before))
        # These three are never NULL in `pages`.
        never_null = (title or "", content_hash or "", novelty or "")
        of_site.append((*never_null, *others, page.facts.volatile or None, tenant, site, key, page.before))
        document, fetched_at = stored.get(key, (None, 0.0))
        if document == page.before:
            changes.append(PageChange(page.url, page.facts, fetched_at, is_new_version=False))
    _count_words(conn, tenant, run, pages)
    execute_many(conn, reprocessed_url_statement, of_run)
    execute_many(conn, reprocessed_page_statement, of_site)
    store_changes(conn, tenant, site, changes)


def _count_words(conn: sa.Connection, tenant: TenantId, run: RunId, pages: Sequence[ReprocessedPage]) -> None:
    """Add the words that reprocessing adds to, or takes from, the pages of a run to its statistics."""
    by_key = {key_of(page.url): page for page in pages}
    counts = Changes()
    for key, document, *columns in select_in_batches(conn, _words_of_pages, by_key, tenant=tenant, run=run):
        if document == by_key[key].before:
            row = CountedRow(*columns)
            counts.add(run, row, -1)
            counts.add(run, row._replace(word_count=by_key[key].facts.word_count))
    counts.write(conn, tenant)


def _columns(facts: PageUpdate) -> tuple[Any, ...]:
    """The values of a page in the order of `REPROCESSED_COLUMNS`."""
    title, content_hash, novelty, canonical, _, _, word_count, noindex, document, _, _, _, _, sketch, *_ = page_columns(facts)
    return title, content_hash, novelty, canonical, word_count, noindex, document, sketch


def save_robots(conn: sa.Connection, tenant: TenantId, file: RobotsFile) -> None:
    """Store a robots.txt in place of the origin's earlier one."""
    values = {
        "tenant_id": tenant, "origin": file.origin, "fetched_at": file.fetched_at, "status": file.status,
        "body": storable(file.body) or "", "detail": storable(file.detail) or "",
    }  # fmt: skip
    insert = insert_for(conn.dialect.name)(robots).values(values)
    conn.execute(insert.on_conflict_do_update(index_elements=["tenant_id", "origin"], set_=values))


def find_robots(conn: sa.Connection, tenant: TenantId, origin: str) -> RobotsFile | None:
    """The robots.txt last received from this origin."""
    row = conn.execute(sa.select(robots).where(robots.c.tenant_id == tenant, robots.c.origin == origin)).one_or_none()
    return None if row is None else RobotsFile(row.origin, row.fetched_at, row.status, row.body, row.detail)
