"""The end of a run: no row is left without a reason, and every alias knows where it leads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import Hop
from sitelore.model.ids import RunId
from sitelore.model.states import Proof, RunState, SkipReason
from sitelore.model.url import Url
from sitelore.store.frontier_sql import chunks, lock_runs
from sitelore.store.rows import chain_text, hops, is_kept
from sitelore.store.schema import key_of, runs, urls
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
    is_cancelled = conn.scalar(sa.select(runs.c.state).where(runs.c.id == run)) == RunState.CANCELLED
    reason = SkipReason.CANCELLED if is_cancelled else SkipReason.BUDGET
    conn.execute(waiting.values(skip_reason=reason.value, **skipped))
    left = sa.update(urls).where(c.run_id == run, c.state.in_(["QUEUED", "IN_PROGRESS"]), c.seq.is_not(None))
    conn.execute(left.values(skip_reason=SkipReason.CANCELLED.value, **skipped))
    _end_aliases(conn, run)


@dataclass(frozen=True, slots=True)
class _Alias:
    """A row that is another one: where it leads, by which hop, and what its row says of that."""

    hop: Hop
    into: str
    proof: str
    why: tuple[str | None, ...]
    chain: tuple[Hop, ...]


def _end_aliases(conn: sa.Connection, run: RunId) -> None:
    """Every alias gets the end of its way, all hops of it, and the reason when there is no page at the end."""
    aliases = _aliases(conn, run)
    circles = _circles(aliases)
    run_many(conn, loop_statement, [(LOOP, run, key) for key in sorted(circles)])
    for key in circles:
        del aliases[key]
    ways = {key: _way(key, aliases) for key in aliases}
    endings = dict(_failed_endings(conn, run, sorted({key_of(end) for end, _ in ways.values()})))
    changes = []
    for key in sorted(aliases):
        alias, (end, way) = aliases[key], ways[key]
        why, chain = alias.why, alias.chain
        if alias.proof == Proof.REDIRECT:
            why = endings.get(key_of(end), why)
            # A way that was told before is known whole: by now every alias of it leads straight to the end.
            chain = chain if chain[:1] == way[:1] and len(chain) > len(way) else way
        if (end, why, chain) != (alias.into, alias.why, alias.chain):
            changes.append((end, *why, chain_text(chain), run, key))
    run_many(conn, ending_statement, changes)


def _aliases(conn: sa.Connection, run: RunId) -> dict[str, _Alias]:
    c = urls.c
    query = sa.select(c.url, c.long_url, c.status_code, c.alias_of, c.proof, c.error, c.skip_reason, c.detail, c.chain)
    query = query.where(c.run_id == run, c.state == sa.text("'ALIAS'"), c.alias_of.is_not(None), c.seq.is_not(None))
    return {
        row[0]: _Alias(Hop(Url.trusted(row[1] or row[0]), row[2] or 0), row[3], row[4], tuple(row[5:8]), hops(row[8]))
        for row in conn.execute(query)
    }


def _circles(aliases: dict[str, _Alias]) -> set[str]:
    """Redirects that lead back to themselves. Each was reached by a link of its own, so none saw the others in its chain."""
    circles: set[str] = set()
    ended: set[str] = set()
    for start in aliases:
        path: dict[str, None] = {}
        key = start
        while key in aliases and key not in ended and key not in path:
            path[key] = None
            key = key_of(aliases[key].into)
        if key in path:
            walked = list(path)
            circles.update(walked[walked.index(key) :])
        ended.update(path)
    return circles


def _way(key: str, aliases: dict[str, _Alias]) -> tuple[str, tuple[Hop, ...]]:
    """The URL at the end of a chain of aliases, and the redirects on the way; merged pages are no hops."""
    way: list[Hop] = []
    end = ""
    for _ in range(_HOPS):
        alias = aliases.get(key)
        if alias is None:
            break
        if alias.proof == Proof.REDIRECT:
            way.append(alias.hop)
        end = alias.into
        key = key_of(end)
    return end, tuple(way)


def _failed_endings(conn: sa.Connection, run: RunId, keys: list[str]) -> Iterator[tuple[str, tuple[str | None, ...]]]:
    """Why targets did not become pages."""
    c = urls.c
    for some in chunks(keys):
        query = sa.select(c.url, c.error, c.skip_reason, c.detail)
        query = query.where(c.run_id == run, c.url.in_(some), c.state != sa.text("'ALIAS'"), sa.not_(_is_page()))
        for row in conn.execute(query):
            yield row[0], tuple(row[1:])


def _is_page() -> sa.ColumnElement[bool]:
    # `is_kept` is unknown, not false, where skip_reason is NULL; a negation needs a plain answer.
    return sa.func.coalesce(is_kept(), sa.false())
