"""The end of a run: no row is left without a reason, and every alias knows where it leads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from sitelore.model.ids import RunId
from sitelore.model.states import Proof, SkipReason
from sitelore.store.frontier_sql import chunks, lock_runs
from sitelore.store.rows import is_kept
from sitelore.store.schema import key_of, urls
from sitelore.store.statements import ending_statement, loop_statement, run_many

LOOP = "redirect_loop: the redirects lead back to where they started"

_HOPS = 100
"""Longer than any chain the crawl follows; a guard against a damaged ledger."""


def finish_rows(conn: sa.Connection, run: RunId) -> None:
    """Skip what was never admitted or never visited, then lead every alias to its end. Doing it twice changes nothing."""
    lock_runs(conn, [run])
    c = urls.c
    skipped: dict[str, Any] = {"state": sa.text("'SKIPPED'"), "claimed_by": None, "lease_until": None, "retry_at": None}
    waiting = sa.update(urls).where(c.run_id == run, c.state == sa.text("'DISCOVERED'"))
    conn.execute(waiting.values(skip_reason=SkipReason.BUDGET.value, **skipped))
    left = sa.update(urls).where(c.run_id == run, c.state.in_(["QUEUED", "IN_PROGRESS"]), c.seq.is_not(None))
    conn.execute(left.values(skip_reason=SkipReason.CANCELLED.value, **skipped))
    _end_aliases(conn, run)


def _end_aliases(conn: sa.Connection, run: RunId) -> None:
    c = urls.c
    query = sa.select(c.url, c.alias_of, c.proof, c.error, c.skip_reason, c.detail)
    query = query.where(c.run_id == run, c.state == sa.text("'ALIAS'"), c.alias_of.is_not(None), c.seq.is_not(None))
    aliases = {row[0]: tuple(row[1:]) for row in conn.execute(query)}
    circles = _circles(aliases)
    run_many(conn, loop_statement, [(LOOP, run, key) for key in sorted(circles)])
    for key in circles:
        del aliases[key]
    leads = {key: _last(key, aliases) for key in aliases}
    endings = dict(_failed_endings(conn, run, sorted({key_of(url) for url in leads.values()})))
    changes = []
    for key in sorted(aliases):
        _, proof, *why = aliases[key]
        if proof == Proof.REDIRECT:
            why = endings.get(key_of(leads[key]), why)
        if (leads[key], *why) != (aliases[key][0], *aliases[key][2:]):
            changes.append((leads[key], *why, run, key))
    run_many(conn, ending_statement, changes)


def _circles(aliases: dict[str, tuple[Any, ...]]) -> set[str]:
    """Redirects that lead back to themselves. Each was reached by a link of its own, so none saw the others in its chain."""
    circles: set[str] = set()
    ended: set[str] = set()
    for start in aliases:
        path: dict[str, None] = {}
        key = start
        while key in aliases and key not in ended and key not in path:
            path[key] = None
            key = key_of(aliases[key][0])
        if key in path:
            walked = list(path)
            circles.update(walked[walked.index(key) :])
        ended.update(path)
    return circles


def _last(key: str, aliases: dict[str, tuple[Any, ...]]) -> str:
    """The URL at the end of a chain of aliases."""
    url: str = aliases[key][0]
    for _ in range(_HOPS):
        further = aliases.get(key_of(url))
        if further is None:
            break
        url = further[0]
    return url


def _failed_endings(conn: sa.Connection, run: RunId, keys: list[str]) -> Iterator[tuple[str, list[str | None]]]:
    """Why targets did not become pages."""
    c = urls.c
    for some in chunks(keys):
        query = sa.select(c.url, c.error, c.skip_reason, c.detail)
        query = query.where(c.run_id == run, c.url.in_(some), c.state != sa.text("'ALIAS'"), sa.not_(_is_page()))
        for row in conn.execute(query):
            yield row[0], list(row[1:])


def _is_page() -> sa.ColumnElement[bool]:
    # `is_kept` is unknown, not false, where skip_reason is NULL; a negation needs a plain answer.
    return sa.func.coalesce(is_kept(), sa.false())
