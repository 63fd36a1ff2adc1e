"""Rows and stored pages for the crawl, exports, `explain` and the API; reprocessed documents; robots.txt files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import KnownPage, PageSketch, PageUpdate, ReprocessedPage, RowKind, RunCounts, UrlRow
from sitelore.model.ids import BlobKey, RunId, SiteId
from sitelore.model.response import RobotsFile
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store.frontier.claims import lock_runs
from sitelore.store.frontier.settle import page_columns
from sitelore.store.rows import KNOWN_COLUMNS, ROW_COLUMNS, is_kept, is_page, known_of, storable, url_row
from sitelore.store.schema import IS_SEARCHABLE, key_of, pages, redactions, robots, runs, urls
from sitelore.store.statements import (
    BATCH,
    execute_many,
    insert_for,
    reprocessed_page_statement,
    reprocessed_url_statement,
    select_in_batches,
)
from sitelore.store.versions import PageChange, store_changes

ROWS_PER_PAGE = 500
SKETCHES_PER_PAGE = 1_000
_ERROR_CODE_CHARS = 60


def row(conn: sa.Connection, run: RunId, url: Url) -> UrlRow | None:
    """The row of a URL in a run."""
    stored = conn.execute(sa.select(*ROW_COLUMNS).where(urls.c.run_id == run, urls.c.url == key_of(url))).one_or_none()
    return None if stored is None else url_row(stored)


def rows_after(conn: sa.Connection, run: RunId, after: str, state: UrlState | None, sitemaps: bool) -> list[tuple[str, UrlRow]]:
    """The next rows in key order with their keys; fewer than `ROWS_PER_PAGE` when these are the last."""
    query = sa.select(*ROW_COLUMNS).where(urls.c.run_id == run, urls.c.url > after)
    if state is not None:
        query = query.where(urls.c.state == state.value)
    if not sitemaps:
        query = query.where(urls.c.kind == sa.text("'page'"))
    return [(stored.url, url_row(stored)) for stored in conn.execute(query.order_by(urls.c.url).limit(ROWS_PER_PAGE))]


def documents(conn: sa.Connection, run: RunId, limit: int) -> list[BlobKey]:
    """Documents of the run's pages in admission order; a regular sample where there are more than `limit`."""
    c = urls.c
    number, total = sa.func.row_number().over(order_by=c.seq), sa.func.count().over()
    numbered = sa.select(c.document, number.label("number"), total.label("total"))
    of_pages = numbered.where(c.run_id == run, is_kept(), c.document.is_not(None)).subquery()
    step = (of_pages.c.total + (limit - 1)) // limit
    query = sa.select(of_pages.c.document).where(of_pages.c.number % step == 0).order_by(of_pages.c.number)
    return [stored[0] for stored in conn.execute(query)]


def known(conn: sa.Connection, site: SiteId, url: Url) -> KnownPage | None:
    """What earlier visits stored about a URL of the site."""
    stored = conn.execute(sa.select(*KNOWN_COLUMNS).where(pages.c.site_id == site, pages.c.url == key_of(url))).one_or_none()
    return None if stored is None else known_of(stored)


def run_sketches_after(conn: sa.Connection, run: RunId, after: str) -> list[tuple[str, PageSketch]]:
    """Text sketches of the next kept pages of a run; fewer than `SKETCHES_PER_PAGE` when these are the last."""
    return _sketches_after(conn, urls, sa.and_(urls.c.run_id == run, is_kept()), after)


def site_sketches_after(conn: sa.Connection, site: SiteId, after: str) -> list[tuple[str, PageSketch]]:
    """Text sketches of the next searchable pages of a site; fewer than `SKETCHES_PER_PAGE` when these are the last."""
    return _sketches_after(conn, pages, sa.and_(pages.c.site_id == site, sa.text(IS_SEARCHABLE)), after)


def _sketches_after(
    conn: sa.Connection, table: sa.Table, condition: sa.ColumnElement[bool], after: str
) -> list[tuple[str, PageSketch]]:
    c = table.c
    query = sa.select(c.url, c.long_url, c.sketch).where(condition, c.url > after, c.sketch.is_not(None))
    rows = conn.execute(query.order_by(c.url).limit(SKETCHES_PER_PAGE))
    return [(key, PageSketch(Url.trusted(long_url or key), bytes(sketch))) for key, long_url, sketch in rows]


def counts(conn: sa.Connection, run: RunId) -> RunCounts:
    """Counts of a run by state, reason, error and proof. Sitemap rows count in `sitemaps` only."""
    c = urls.c
    states: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    proofs: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    is_new = sa.case((sa.and_(c.changed.is_(None), c.fetches > 0), 1))
    is_changed = sa.case((c.changed == 1, 1))
    groups = (c.kind, c.state, c.skip_reason, c.proof, c.seq.is_(None))
    numbers = (
        sa.func.count(), sa.func.sum(c.fetches), sa.func.sum(c.body_bytes), sa.func.count(is_new), sa.func.count(is_changed),
        sa.func.sum(c.word_count),
    )  # fmt: skip
    # One pass: reading a large run's rows takes far longer than counting them.
    for group in conn.execute(sa.select(*groups, *numbers).where(c.run_id == run).group_by(*groups)):
        kind, state, reason, proof, is_waiting, count, fetched, body_bytes, new, changed, words = group
        if kind == RowKind.SITEMAP:
            sums["sitemaps"] += count
            continue
        states[state] += count
        # A redirect alias repeats the reason of its target; only the target is counted.
        if state == UrlState.SKIPPED and reason is not None:
            skipped[reason] += count
        if proof is not None:
            proofs[proof] += count
        sums.update(fetched=int(fetched or 0), body_bytes=int(body_bytes or 0))
        if is_page(kind, state, reason, None if is_waiting else 0):
            sums.update(pages=count, new=new, changed=changed, words=int(words or 0))
    of_pages = sa.and_(c.run_id == run, c.kind == sa.text("'page'"))
    return RunCounts(
        states=dict(sorted(states.items())),
        skipped=dict(sorted(skipped.items())),
        errors=_errors(conn, of_pages),
        proofs=dict(sorted(proofs.items())),
        redactions=_redactions(conn, run),
        rendering=_rendering(conn, of_pages),
        urls=states.total(),
        pages=sums["pages"],
        fetched=sums["fetched"],
        changed=sums["changed"],
        new=sums["new"],
        sitemaps=sums["sitemaps"],
        body_bytes=sums["body_bytes"],
        words=sums["words"],
        prefetch_unused=conn.scalar(sa.select(runs.c.prefetch_unused).where(runs.c.id == run)) or 0,
    )


def _errors(conn: sa.Connection, of_pages: sa.ColumnElement[bool]) -> dict[str, int]:
    start = sa.func.substr(urls.c.error, 1, _ERROR_CODE_CHARS).label("start")
    query = sa.select(start, sa.func.count()).group_by(start)
    query = query.where(of_pages, urls.c.error.is_not(None), urls.c.state != sa.text("'ALIAS'"))
    errors: Counter[str] = Counter()
    for text, count in conn.execute(query):
        errors[text.partition(":")[0]] += count
    return dict(sorted(errors.items()))


def _rendering(conn: sa.Connection, of_pages: sa.ColumnElement[bool]) -> dict[str, int]:
    reason = urls.c.render_reason
    rendered = sa.and_(is_kept(), reason.is_not(None), urls.c.state == sa.text("'VISITED'"))
    query = sa.select(reason, sa.func.count()).where(of_pages, rendered).group_by(reason).order_by(reason)
    return {stored[0]: stored[1] for stored in conn.execute(query)}


def _redactions(conn: sa.Connection, run: RunId) -> dict[str, int]:
    query = sa.select(redactions.c.rule, redactions.c.found).where(redactions.c.run_id == run)
    return {stored[0]: stored[1] for stored in conn.execute(query.order_by(redactions.c.rule))}


_locked_documents = (
    sa.select(pages.c.url, pages.c.document, pages.c.fetched_at)
    .where(pages.c.site_id == sa.bindparam("site"), pages.c.url.in_(BATCH))
    .with_for_update()
)


def replace_documents(conn: sa.Connection, run: RunId, pages: Sequence[ReprocessedPage]) -> None:
    """Replace the documents of reprocessed pages, except where a crawl stored a newer one meanwhile."""
    site = lock_runs(conn, [run])[run]
    keys = [key_of(page.url) for page in pages]
    stored = {row[0]: (row[1], row[2]) for row in select_in_batches(conn, _locked_documents, keys, site=site)}
    of_run, of_site, changes = [], [], []
    for page in sorted(pages, key=lambda page: key_of(page.url)):
        columns = _columns(page.facts)
        title, content_hash, novelty, *others = columns
        key = key_of(page.url)
        of_run.append((*columns, run, key, page.before))
        # These three are never NULL in `pages`.
        never_null = (title or "", content_hash or "", novelty or "")
        of_site.append((*never_null, *others, page.facts.volatile or None, site, key, page.before))
        document, fetched_at = stored.get(key, (None, 0.0))
        if document == page.before:
            changes.append(PageChange(page.url, page.facts, fetched_at, is_new_version=False))
    execute_many(conn, reprocessed_url_statement, of_run)
    execute_many(conn, reprocessed_page_statement, of_site)
    store_changes(conn, site, changes)


def _columns(facts: PageUpdate) -> tuple[Any, ...]:
    """The values of a page in the order of `REPROCESSED_COLUMNS`."""
    title, content_hash, novelty, canonical, _, _, word_count, noindex, document, _, _, _, _, sketch, *_ = page_columns(facts)
    return title, content_hash, novelty, canonical, word_count, noindex, document, sketch


def save_robots(conn: sa.Connection, file: RobotsFile) -> None:
    """Store a robots.txt in place of the origin's earlier one."""
    values = {
        "origin": file.origin, "fetched_at": file.fetched_at, "status": file.status,
        "body": storable(file.body) or "", "detail": storable(file.detail) or "",
    }  # fmt: skip
    insert = insert_for(conn.dialect.name)(robots).values(values)
    conn.execute(insert.on_conflict_do_update(index_elements=["origin"], set_=values))


def find_robots(conn: sa.Connection, origin: str) -> RobotsFile | None:
    """The robots.txt last received from this origin."""
    row = conn.execute(sa.select(robots).where(robots.c.origin == origin)).one_or_none()
    return None if row is None else RobotsFile(row.origin, row.fetched_at, row.status, row.body, row.detail)
