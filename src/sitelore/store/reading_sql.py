"""Rows and counts, for exports, `explain` and the API."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa

from sitelore.model.frontier import RunCounts, UrlRow
from sitelore.model.ids import BlobKey, RunId
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store.rows import ROW_COLUMNS, is_kept, url_row
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
    numbered = sa.select(c.document, sa.func.row_number().over(order_by=c.seq).label("number"))
    of_pages = numbered.where(c.run_id == run, is_kept(), c.document.is_not(None)).subquery()
    total = conn.scalar(sa.select(sa.func.count()).select_from(of_pages)) or 0
    step = max(1, -(-total // most))
    query = sa.select(of_pages.c.document).where(of_pages.c.number % step == 0).order_by(of_pages.c.number)
    return [found[0] for found in conn.execute(query)]


def counts(conn: sa.Connection, run: RunId) -> RunCounts:
    """The run in numbers. Sitemap rows count in `sitemaps` alone."""
    c = urls.c
    of_pages = sa.and_(c.run_id == run, c.kind == sa.text("'page'"))
    states: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    proofs: Counter[str] = Counter()
    groups = sa.select(c.state, c.skip_reason, c.proof, sa.func.count()).where(of_pages)
    for state, reason, proof, count in conn.execute(groups.group_by(c.state, c.skip_reason, c.proof)):
        states[state] += count
        # A redirect alias repeats how its target ended; the target is the one that counts.
        if state == UrlState.SKIPPED and reason is not None:
            skipped[reason] += count
        if proof is not None:
            proofs[proof] += count
    total, fetched, body_bytes = conn.execute(
        sa.select(sa.func.count(), sa.func.sum(c.fetches), sa.func.sum(c.body_bytes)).where(of_pages)
    ).one()
    is_new = sa.case((sa.and_(c.changed.is_(None), c.fetches > 0), 1))
    is_changed = sa.case((c.changed == 1, 1))
    kept, new, changed, words = conn.execute(
        sa.select(sa.func.count(), sa.func.count(is_new), sa.func.count(is_changed), sa.func.sum(c.word_count)).where(
            of_pages, is_kept()
        )
    ).one()
    return RunCounts(
        states=dict(sorted(states.items())),
        skipped=dict(sorted(skipped.items())),
        errors=_errors(conn, of_pages),
        proofs=dict(sorted(proofs.items())),
        redactions=_redactions(conn, run),
        rendering=_rendering(conn, of_pages),
        urls=total,
        pages=kept,
        fetched=int(fetched or 0),
        changed=changed,
        new=new,
        sitemaps=conn.scalar(sa.select(sa.func.count()).where(c.run_id == run, c.kind == sa.text("'sitemap'"))) or 0,
        body_bytes=int(body_bytes or 0),
        words=int(words or 0),
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
