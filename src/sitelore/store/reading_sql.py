"""Rows and counts, for exports, `explain` and the API."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa

from sitelore.model.frontier import RowKind, RunCounts, UrlRow
from sitelore.model.ids import BlobKey, RunId
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store.rows import ROW_COLUMNS, is_kept, is_page, url_row
from sitelore.store.schema import key_of, redactions, urls

ROWS_PER_PAGE = 500
_CODE_CHARS = 60


def row(conn: sa.Connection, run: RunId, url: Url) -> UrlRow | None:
    """One row."""
    found = conn.execute(sa.select(*ROW_COLUMNS).where(urls.c.run_id == run, urls.c.url == key_of(url))).one_or_none()
    return None if found is None else url_row(found)


def rows_after(conn: sa.Connection, run: RunId, after: str, state: UrlState | None, sitemaps: bool) -> list[UrlRow]:
    """The next rows in key order; fewer than `ROWS_PER_PAGE` when these are the last."""
    query = sa.select(*ROW_COLUMNS).where(urls.c.run_id == run, urls.c.url > after)
    if state is not None:
        query = query.where(urls.c.state == state.value)
    if not sitemaps:
        query = query.where(urls.c.kind == sa.text("'page'"))
    return [url_row(found) for found in conn.execute(query.order_by(urls.c.url).limit(ROWS_PER_PAGE))]


def documents(conn: sa.Connection, run: RunId, most: int) -> list[BlobKey]:
    """Documents of the run's pages; of more than `most` every second, every third … in the order of admission."""
    c = urls.c
    number, total = sa.func.row_number().over(order_by=c.seq), sa.func.count().over()
    numbered = sa.select(c.document, number.label("number"), total.label("total"))
    of_pages = numbered.where(c.run_id == run, is_kept(), c.document.is_not(None)).subquery()
    step = (of_pages.c.total + (most - 1)) // most
    query = sa.select(of_pages.c.document).where(of_pages.c.number % step == 0).order_by(of_pages.c.number)
    return [found[0] for found in conn.execute(query)]


def counts(conn: sa.Connection, run: RunId) -> RunCounts:
    """The run in numbers. Sitemap rows count in `sitemaps` alone."""
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
    # All in one pass: a large run's rows take far longer to read than to count.
    for row in conn.execute(sa.select(*groups, *numbers).where(c.run_id == run).group_by(*groups)):
        kind, state, reason, proof, is_waiting, count, fetched, body_bytes, new, changed, words = row
        if kind == RowKind.SITEMAP:
            sums["sitemaps"] += count
            continue
        states[state] += count
        # A redirect alias repeats how its target ended; the target is the one that counts.
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
    )


def _errors(conn: sa.Connection, of_pages: sa.ColumnElement[bool]) -> dict[str, int]:
    start = sa.func.substr(urls.c.error, 1, _CODE_CHARS).label("start")
    query = sa.select(start, sa.func.count()).group_by(start)
    query = query.where(of_pages, urls.c.error.is_not(None), urls.c.state != sa.text("'ALIAS'"))
    found: Counter[str] = Counter()
    for text, count in conn.execute(query):
        found[text.partition(":")[0]] += count
    return dict(sorted(found.items()))


def _rendering(conn: sa.Connection, of_pages: sa.ColumnElement[bool]) -> dict[str, int]:
    reason = urls.c.render_reason
    read = sa.and_(is_kept(), reason.is_not(None), urls.c.state == sa.text("'VISITED'"))
    query = sa.select(reason, sa.func.count()).where(of_pages, read).group_by(reason).order_by(reason)
    return {row[0]: row[1] for row in conn.execute(query)}


def _redactions(conn: sa.Connection, run: RunId) -> dict[str, int]:
    query = sa.select(redactions.c.rule, redactions.c.found).where(redactions.c.run_id == run)
    return {row[0]: row[1] for row in conn.execute(query.order_by(redactions.c.rule))}
