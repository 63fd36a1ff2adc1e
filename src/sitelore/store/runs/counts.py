"""Statistics of a run, kept as numbers by name in `run_counts`, so that reading them does not read the run's rows.

Every transaction that changes rows adds what they contribute now and subtracts what they contributed before; the end of a
run counts all rows once more. Transactions that do so hold the lock of the run. Claims and releases do not: they only move
rows between QUEUED and IN_PROGRESS, which count as one state here. Rows in progress are few and are counted when statistics
are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa

from sitelore.model.frontier import MediaCounts, RowKind, RunCounts
from sitelore.model.ids import RunId, TenantId
from sitelore.model.states import UrlState
from sitelore.store.rows import is_page
from sitelore.store.schema import redactions, run_counts, runs, urls, visits
from sitelore.store.statements import OF_RUN, OF_VISIT, RUN, TENANT, Statement, add_statement, execute_many

ERROR_CODE_CHARS = 60
_OPEN = "QUEUED"
"""The name under which QUEUED and IN_PROGRESS rows are counted."""
_MEDIA = "media"
"""Numbers with this prefix are kept when rows are counted again; those with the next one are counted from media rows."""
_MEDIA_ROWS = "media_rows"
_FAILED = frozenset({"FAILED", "HTTP_TERMINAL", "NOT_FOUND", "FORBIDDEN"})

_body_bytes, _word_count = (sa.func.coalesce(visits.c[name], sa.text("0")) for name in ("body_bytes", "word_count"))
COUNTED_OF_ROW = tuple(urls.c["kind", "state", "skip_reason", "seq", "proof", "fetches"])
COUNTED_OF_VISIT = (visits.c.error, _body_bytes, visits.c.changed, _word_count, visits.c.render_reason)
COUNTED_COLUMNS = (*COUNTED_OF_ROW, *COUNTED_OF_VISIT)


class CountedRow(NamedTuple):
    """The columns of a row that statistics depend on, in the order of `COUNTED_COLUMNS`."""

    kind: str
    state: str
    skip_reason: str | None = None
    seq: int | None = None
    proof: str | None = None
    fetches: int = 0
    error: str | None = None
    body_bytes: int = 0
    changed: int | None = None
    word_count: int = 0
    render_reason: str | None = None


class Changes:
    """What a transaction adds to the statistics of runs."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, run: str, row: CountedRow, times: int = 1) -> None:
        """Count a row as it is now; with `times=-1`, a row as it was before."""
        for name, value in _contribution(row):
            self._counts[run, name] += times * value

    def add_media(self, run: str, name: str, value: int) -> None:
        """Add to a number of `MediaCounts` that cannot be derived from the rows of the run."""
        self._counts[run, f"{_MEDIA}:{name}"] += value

    def write(self, conn: sa.Connection, tenant: TenantId) -> None:
        """Add the changes to the stored statistics."""
        rows = [(tenant, *key, value) for key, value in sorted(self._counts.items()) if value]
        execute_many(conn, _add_counts_statement, rows)


def _contribution(row: CountedRow, count: int = 1) -> list[tuple[str, int]]:
    """What a row adds to the statistics, or several equal rows whose numbers are summed. Sitemaps and media
    count on their own.
    """
    if row.kind == RowKind.SITEMAP:
        return [("sitemaps", count)]
    if row.kind == RowKind.MEDIA:
        failed = count if row.state in _FAILED else 0
        return [
            (f"{_MEDIA_ROWS}:urls", count),
            (f"{_MEDIA_ROWS}:bandwidth_bytes", row.body_bytes),
            (f"{_MEDIA_ROWS}:failed", failed),
        ]
    state = _OPEN if row.state == UrlState.IN_PROGRESS else row.state
    counts = [(f"state:{state}", count), ("fetched", row.fetches), ("body_bytes", row.body_bytes)]
    # A redirect alias repeats the reason and the error of its target; only the target is counted.
    if row.skip_reason is not None and state == UrlState.SKIPPED:
        counts.append((f"skipped:{row.skip_reason}", count))
    if row.error is not None and state != UrlState.ALIAS:
        counts.append((f"error:{error_code(row.error)}", count))
    if row.proof is not None:
        counts.append((f"proof:{row.proof}", count))
    if is_page(row.kind, state, row.skip_reason, row.seq):
        counts += [("pages", count), ("words", row.word_count), ("changed", count if row.changed == 1 else 0)]
        counts.append(("new", count if row.changed is None and row.fetches > 0 else 0))
        if row.render_reason is not None and state == UrlState.VISITED:
            counts.append((f"rendering:{row.render_reason}", count))
    return counts


def error_code(error: str) -> str:
    """The cause that an error is counted under: the part before its first colon."""
    return error[:ERROR_CODE_CHARS].partition(":")[0]


def _add_counts_statement(dialect_name: str) -> Statement:
    """Add to a number of the statistics."""
    return add_statement(dialect_name, run_counts, "value")


_c = urls.c
_groups = (
    _c.kind, _c.state, _c.skip_reason, _c.seq.is_(None), _c.proof, sa.func.substr(visits.c.error, 1, ERROR_CODE_CHARS),
    visits.c.changed, visits.c.render_reason, _c.fetches > 0,
)  # fmt: skip
_grouped_rows = (
    sa.select(*_groups, sa.func.count(), *(sa.func.sum(column) for column in (_c.fetches, _body_bytes, _word_count)))
    .select_from(urls.outerjoin(visits, OF_VISIT))
    .where(OF_RUN)
    .group_by(*_groups)
)


def recount(conn: sa.Connection, tenant: TenantId, run: RunId) -> None:
    """Count all rows of a run again. The caller has locked the run."""
    of_run = sa.and_(run_counts.c.tenant_id == tenant, run_counts.c.run_id == run)
    conn.execute(sa.delete(run_counts).where(of_run, run_counts.c.name.not_like(f"{_MEDIA}:%")))
    totals: Counter[str] = Counter()
    for group in conn.execute(_grouped_rows, {"tenant": tenant, "run": run}):
        kind, state, skip_reason, is_not_admitted, proof, error, changed, render_reason, _, count, *sums = group
        fetches, body_bytes, words = map(int, sums)
        seq = None if is_not_admitted else 0
        row = CountedRow(kind, state, skip_reason, seq, proof, fetches, error, body_bytes, changed, words, render_reason)
        for name, value in _contribution(row, count):
            totals[name] += value
    rows = [(tenant, run, name, value) for name, value in sorted(totals.items()) if value]
    execute_many(conn, _add_counts_statement, rows)


def recount_runs(conn: sa.Connection, tenant: TenantId) -> None:
    """Count the runs of a tenant that have no statistics yet, after a migration."""
    is_counted = sa.exists().where(run_counts.c.tenant_id == tenant, run_counts.c.run_id == runs.c.id)
    for run in conn.scalars(sa.select(runs.c.id).where(runs.c.tenant_id == tenant, ~is_counted)).all():
        recount(conn, tenant, RunId(run))


_counts = sa.select(run_counts.c.name, run_counts.c.value).where(run_counts.c.tenant_id == TENANT, run_counts.c.run_id == RUN)
_redactions = (
    sa.select(redactions.c.rule, redactions.c.found)
    .where(redactions.c.tenant_id == TENANT, redactions.c.run_id == RUN)
    .order_by(redactions.c.rule)
)
_in_progress = sa.select(sa.func.count()).where(
    OF_RUN,
    urls.c.state == sa.text("'IN_PROGRESS'"),
    urls.c.seq.is_not(None),
    urls.c.kind == sa.text("'page'"),
)
_prefetch_unused = sa.select(runs.c.prefetch_unused).where(runs.c.tenant_id == TENANT, runs.c.id == RUN)


def counts(conn: sa.Connection, tenant: TenantId, run: RunId) -> RunCounts:
    """Counts of a run by state, reason, error and proof. Sitemaps and media count in `sitemaps` and `media` only."""
    values: dict[str, Any] = {"tenant": tenant, "run": run}
    stored = {name: value for name, value in conn.execute(_counts, values) if value}
    in_progress = conn.scalar(_in_progress, values) or 0
    states = _group(stored, "state")
    if in_progress:
        states["IN_PROGRESS"] = in_progress
        states[_OPEN] = states.get(_OPEN, 0) - in_progress
    states = {name: count for name, count in sorted(states.items()) if count > 0}
    return RunCounts(
        states=states,
        skipped=_group(stored, "skipped"),
        errors=_group(stored, "error"),
        proofs=_group(stored, "proof"),
        redactions={row[0]: row[1] for row in conn.execute(_redactions, values)},
        rendering=_group(stored, "rendering"),
        urls=sum(states.values()),
        pages=stored.get("pages", 0),
        fetched=stored.get("fetched", 0),
        changed=stored.get("changed", 0),
        new=stored.get("new", 0),
        sitemaps=stored.get("sitemaps", 0),
        body_bytes=stored.get("body_bytes", 0),
        words=stored.get("words", 0),
        prefetch_unused=conn.scalar(_prefetch_unused, values) or 0,
        media=media_counts(stored),
    )


def media_counts(stored: Mapping[str, int]) -> MediaCounts:
    """The media statistics among stored numbers."""
    return MediaCounts(**_group(stored, _MEDIA), **_group(stored, _MEDIA_ROWS))


def _group(stored: Mapping[str, int], group: str) -> dict[str, int]:
    """The numbers whose name starts with the group, sorted."""
    prefix = f"{group}:"
    return {name.removeprefix(prefix): stored[name] for name in sorted(stored) if name.startswith(prefix)}
