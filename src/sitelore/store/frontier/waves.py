"""Open a wave, in one transaction: merge duplicate pages, skip crawler traps, admit the rows of the next wave.

The trap detection needs page counts by URL pattern before each wave. Patterns with many pages are not
counted from scratch each time. When a wave admits rows of such a pattern, its counts so far are stored with the sequence
numbers of the wave's rows; the next time only those rows are counted. The sum equals a full count, because all earlier rows
are settled and any later wave with rows of the pattern would have stored its counts again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import (
    CANDIDATES_PER_WAVE,
    Candidate,
    KeptPage,
    Merge,
    PatternYield,
    RowKind,
    UrlRow,
    WaveFacts,
    WaveOpened,
    WavePlan,
)
from sitelore.model.ids import RunId, TenantId
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.store.rows import ROW_COLUMNS, is_kept, is_page, maybe_url, settings_of, storable, url_row
from sitelore.store.runs.counts import COUNTED_COLUMNS, Changes, CountedRow
from sitelore.store.schema import IS_CANDIDATE, IS_MEDIA_CANDIDATE, key_of, pattern_stats, runs, urls
from sitelore.store.statements import (
    RUN,
    TENANT,
    admit_statement,
    execute_many,
    merge_statement,
    page_alias_statement,
    pattern_stats_statement,
    select_in_batches,
    trap_statement,
)

STORED_FROM_PAGES = 1_000
"""Patterns with fewer pages are not stored: counting them is as fast."""

_batch: sa.BindParameter[str] = sa.bindparam("batch", type_=sa.Text, expanding=True)
_first_seq = sa.bindparam("first_seq", type_=sa.Integer)
_stored_counts = sa.select(pattern_stats).where(
    pattern_stats.c.tenant_id == TENANT, pattern_stats.c.run_id == RUN, pattern_stats.c.pattern.in_(_batch)
)
_full_counts = (
    sa.select(
        urls.c.pattern,
        sa.func.count(),
        sa.func.count(urls.c.content_hash.distinct()),
        sa.func.count(urls.c.novelty.distinct()),
    )
    .where(urls.c.tenant_id == TENANT, urls.c.run_id == RUN, urls.c.pattern.in_(_batch), urls.c.content_hash.is_not(None))
    .group_by(urls.c.pattern)
)
_earlier = urls.alias("earlier")
_earlier_of_pattern = (
    sa.select(_earlier.c.seq)
    .where(
        _earlier.c.tenant_id == TENANT,
        _earlier.c.run_id == RUN,
        _earlier.c.pattern == urls.c.pattern,
        _earlier.c.seq < _first_seq,
    )
    .where(_earlier.c.content_hash.is_not(None))
    .limit(1)  # makes Postgres look up each row by index instead of hashing all rows of the run
    .correlate(urls)
)
_same_content = _earlier_of_pattern.where(_earlier.c.content_hash == urls.c.content_hash).scalar_subquery()
_same_novelty = _earlier_of_pattern.where(_earlier.c.novelty == urls.c.novelty).scalar_subquery()
# By state, because the index on admitted rows starts with it.
_ADMITTED = sorted(state.value for state in UrlState if state is not UrlState.DISCOVERED)
_new_counts = (
    sa.select(
        urls.c.pattern,
        sa.func.count(),
        sa.func.count(sa.distinct(sa.case((_same_content.is_(None), urls.c.content_hash)))),
        sa.func.count(sa.distinct(sa.case((_same_novelty.is_(None), urls.c.novelty)))),
    )
    .where(urls.c.tenant_id == TENANT, urls.c.run_id == RUN, urls.c.state.in_(_ADMITTED), urls.c.seq.is_not(None))
    .where(urls.c.seq >= _first_seq, urls.c.seq < sa.bindparam("last_seq", type_=sa.Integer))
    .where(urls.c.pattern.in_(_batch), urls.c.content_hash.is_not(None))
    .group_by(urls.c.pattern)
)


def count_pages(conn: sa.Connection, tenant: TenantId, run: RunId, patterns: Iterable[str]) -> dict[str, PatternYield]:
    """Page counts of these URL patterns; patterns without pages are left out."""
    counts: dict[str, PatternYield] = {}
    requested = set(patterns)
    counted_since: dict[tuple[int, int], list[str]] = defaultdict(list)
    for row in select_in_batches(conn, _stored_counts, requested, tenant=tenant, run=run):
        counts[row.pattern] = PatternYield(row.pages, row.distinct_pages, row.novel_pages)
        counted_since[row.first_seq, row.last_seq].append(row.pattern)
    for (first_seq, last_seq), of_wave in counted_since.items():
        rows = select_in_batches(conn, _new_counts, of_wave, tenant=tenant, run=run, first_seq=first_seq, last_seq=last_seq)
        for pattern, pages, distinct, novel in rows:
            before = counts[pattern]
            counts[pattern] = PatternYield(before.pages + pages, before.distinct + distinct, before.novel + novel)
    for pattern, pages, distinct, novel in select_in_batches(
        conn, _full_counts, requested.difference(counts), tenant=tenant, run=run
    ):
        counts[pattern] = PatternYield(pages, distinct, novel)
    return counts


def store_counts(
    conn: sa.Connection,
    tenant: TenantId,
    run: RunId,
    admitted: Iterable[str],
    counts: dict[str, PatternYield],
    first_seq: int,
    last_seq: int,
) -> None:
    """Store the counts of patterns of which a wave admits rows, numbered from `first_seq` up to `last_seq`."""
    rows = []
    for pattern in sorted(set(admitted)):
        before = counts.get(pattern)
        if before is not None and before.pages >= STORED_FROM_PAGES:
            rows.append((tenant, run, pattern, before.pages, before.distinct, before.novel, first_seq, last_seq))
    execute_many(conn, pattern_stats_statement, rows)


def open_wave(
    conn: sa.Connection,
    tenant: TenantId,
    run: RunId,
    wave: int,
    plan: Callable[[WaveFacts], WavePlan],
    per_wave: int = CANDIDATES_PER_WAVE,
) -> WaveOpened | None:
    """Carry out what `plan` decides, if `wave` is still the current one and all its rows have settled; else None."""
    merged = trapped = 0
    while True:
        values = {"tenant": tenant, "run": run}
        current = conn.execute(_locked_run, values).one_or_none()
        if current is None or current.wave != wave or conn.execute(_unsettled, values).first() is not None:
            return None
        facts = _facts(conn, current, per_wave)
        decision = plan(facts)
        counts = Changes()
        merged += _merge(conn, current, decision.merges, counts)
        trapped += _trap(conn, current, facts, decision.trapped, counts)
        admitted = _admit(conn, current, facts, decision, counts) if decision.admit and not decision.exhausted else 0
        counts.write(conn, tenant)
        if admitted:
            return WaveOpened(wave + 1, admitted, merged, trapped)
        if decision.exhausted or not decision.trapped or not facts.candidates:
            return WaveOpened(wave, 0, merged, trapped)
        # All of these candidates were traps: look at the candidates after them.


# Statements are built once: a site of long chains opens a wave for every page, and building a statement takes SQLAlchemy longer
# than running it takes the database.
_locked_run = sa.select(runs).where(runs.c.tenant_id == TENANT, runs.c.id == RUN).with_for_update()
_unsettled = (
    sa.select(urls.c.seq)
    .where(
        urls.c.tenant_id == TENANT, urls.c.run_id == RUN, urls.c.state.in_(["QUEUED", "IN_PROGRESS"]), urls.c.seq.is_not(None)
    )
    .limit(1)
)
_KEPT_COLUMNS = (urls.c.url, urls.c.long_url, urls.c.seq, urls.c.content_hash, urls.c.canonical, urls.c.identity)
_kept_in_wave = (
    sa.select(*_KEPT_COLUMNS)
    .where(urls.c.tenant_id == TENANT, urls.c.run_id == RUN, is_kept(), urls.c.seq >= _first_seq)
    .order_by(urls.c.seq)
)
# `is_page` is checked in Python for rows found by these: SQLite, which has no statistics here, would take the condition for a
# reason to read every page of the run.
_rows = sa.select(*_KEPT_COLUMNS, urls.c.kind, urls.c.state, urls.c.skip_reason).where(
    urls.c.tenant_id == TENANT, urls.c.run_id == RUN
)
_with_content = _rows.where(urls.c.content_hash.in_(_batch))
_with_identity = _rows.where(urls.c.identity.in_(_batch))
_with_url = _rows.where(urls.c.url.in_(_batch))
_with_canonical = _rows.where(urls.c.canonical.in_(_batch), urls.c.canonical != urls.c.url)
_is_candidate = sa.and_(urls.c.tenant_id == TENANT, urls.c.run_id == RUN, sa.text(IS_CANDIDATE))
_smallest_depth = sa.select(sa.func.min(urls.c.depth)).where(_is_candidate)
_ADMISSION_ORDER = (urls.c.depth, urls.c.source_rank, urls.c.parent_seq, urls.c.position, urls.c.url)
_best_candidates = (
    sa.select(urls.c.url, urls.c.long_url, urls.c.kind, urls.c.depth, urls.c.pattern)
    .where(_is_candidate, urls.c.depth <= sa.bindparam("max_depth", type_=sa.Integer))
    .order_by(*_ADMISSION_ORDER)
    .limit(sa.bindparam("max_rows", type_=sa.Integer))
)
_best_media = (
    sa.select(urls.c.url, urls.c.long_url, urls.c.kind, urls.c.depth, urls.c.pattern)
    .where(urls.c.tenant_id == TENANT, urls.c.run_id == RUN, sa.text(IS_MEDIA_CANDIDATE))
    .order_by(*_ADMISSION_ORDER)
    .limit(sa.bindparam("max_rows", type_=sa.Integer))
)
_KINDS = {kind.value: kind for kind in RowKind}


def _facts(conn: sa.Connection, current: sa.Row[Any], per_wave: int) -> WaveFacts:
    rows = conn.execute(_kept_in_wave, {**_key(current), "first_seq": current.wave_first_seq})
    kept = [_kept(row) for row in rows]
    settled = tuple(page for page in kept if page.content_hash or page.canonical or page.identity)
    candidates = _candidates(conn, current, per_wave)
    settings = settings_of(current.settings)
    has_media = bool(settings.media.types)
    return WaveFacts(
        settings=settings,
        wave=current.wave,
        depth=current.depth,
        kept=current.pages_before_wave + len(kept),
        settled=settled,
        related=_related(conn, current, settled),
        candidates=candidates,
        pattern_yields=count_pages(conn, current.tenant_id, current.id, (candidate.pattern for candidate in candidates)),
        media=_as_candidates(conn.execute(_best_media, {**_key(current), "max_rows": per_wave})) if has_media else (),
        media_admitted=current.media_admitted,
    )


def _key(current: sa.Row[Any]) -> dict[str, Any]:
    """The parameters of queries about a run."""
    return {"tenant": current.tenant_id, "run": current.id}


def _kept(row: Sequence[Any]) -> KeptPage:
    return KeptPage(Url.trusted(row[1] or row[0]), row[2], row[3] or "", maybe_url(row[4]), row[5] or "")


def _related(conn: sa.Connection, current: sa.Row[Any], settled: tuple[KeptPage, ...]) -> tuple[KeptPage, ...]:
    """Other kept pages with the content or identity of one of these, and pages linked to one of these by a canonical link."""
    own = {key_of(page.url) for page in settled}
    lookups = (
        (_with_content, {page.content_hash for page in settled if page.content_hash}),
        (_with_identity, {page.identity for page in settled if page.identity}),
        (_with_url, {key_of(page.canonical) for page in settled if page.canonical} - own),
        (_with_canonical, own),
    )
    related: dict[str, KeptPage] = {}
    for statement, keys in lookups:
        for row in select_in_batches(conn, statement, keys, **_key(current)):
            if row[0] not in own and is_page(row.kind, row.state, row.skip_reason, row.seq):
                related[row[0]] = _kept(row)
    return tuple(sorted(related.values(), key=lambda page: page.seq))


def _candidates(conn: sa.Connection, current: sa.Row[Any], per_wave: int) -> tuple[Candidate, ...]:
    """The remaining candidates of the current depth; when there are none, those of the smallest depth."""
    smallest = conn.scalar(_smallest_depth, _key(current))
    if smallest is None:
        return ()
    values = {**_key(current), "max_depth": max(smallest, current.depth), "max_rows": per_wave}
    return _as_candidates(conn.execute(_best_candidates, values))


def _as_candidates(rows: Iterable[Sequence[Any]]) -> tuple[Candidate, ...]:
    return tuple(Candidate(Url.trusted(row[1] or row[0]), _KINDS[row[2]], row[3], row[4]) for row in rows)


_merged_rows = sa.select(urls.c.url, *COUNTED_COLUMNS).where(
    urls.c.tenant_id == TENANT, urls.c.run_id == RUN, urls.c.url.in_(_batch)
)


def _merge(conn: sa.Connection, current: sa.Row[Any], merges: tuple[Merge, ...], counts: Changes) -> int:
    """Turn pages into aliases. Pages of earlier waves were counted in `pages_before_wave` and are subtracted from it."""
    if not merges:
        return 0
    tenant = current.tenant_id
    targets = {key_of(merge.url): (str(merge.into), merge.proof.value) for merge in merges}
    earlier = 0
    for key, *columns in select_in_batches(conn, _merged_rows, targets, **_key(current)):
        row = CountedRow(*columns)
        counts.add(current.id, row, -1)
        counts.add(current.id, row._replace(state="ALIAS", proof=targets[key][1]))
        is_earlier = row.seq is not None and row.seq < current.wave_first_seq
        earlier += is_earlier and is_page(row.kind, row.state, row.skip_reason, row.seq)
    execute_many(conn, merge_statement, [(*targets[key], tenant, current.id, key) for key in sorted(targets)])
    execute_many(conn, page_alias_statement, [(targets[key][0], tenant, current.site_id, key) for key in sorted(targets)])
    if earlier:
        pages_before_wave = runs.c.pages_before_wave - earlier
        this_run = sa.and_(runs.c.tenant_id == tenant, runs.c.id == current.id)
        conn.execute(sa.update(runs).where(this_run).values(pages_before_wave=pages_before_wave))
    return len(targets)


def _trap(
    conn: sa.Connection, current: sa.Row[Any], facts: WaveFacts, trapped: tuple[tuple[Url, str], ...], counts: Changes
) -> int:
    """Skip candidates that belong to a crawler trap."""
    kinds = {candidate.url: candidate.kind for candidate in facts.candidates}
    for url, _ in trapped:
        counts.add(current.id, CountedRow(kinds[url], "DISCOVERED"), -1)
        counts.add(current.id, CountedRow(kinds[url], "SKIPPED", SkipReason.TRAP.value))
    rows = [(storable(why), current.tenant_id, current.id, key_of(url)) for url, why in trapped]
    execute_many(conn, trap_statement, rows)
    return len(trapped)


_pages_of_wave = sa.select(sa.func.count()).where(
    urls.c.tenant_id == TENANT,
    urls.c.run_id == RUN,
    is_kept(),
    urls.c.seq >= _first_seq,
    urls.c.seq < sa.bindparam("next_seq", type_=sa.Integer),
)
_advance = (
    sa.update(runs)
    .where(runs.c.tenant_id == TENANT, runs.c.id == RUN)
    .values(
        wave=sa.bindparam("new_wave", type_=sa.Integer),
        depth=sa.bindparam("new_depth", type_=sa.Integer),
        next_seq=sa.bindparam("new_next_seq", type_=sa.Integer),
        wave_first_seq=sa.bindparam("new_first_seq", type_=sa.Integer),
        pages_before_wave=runs.c.pages_before_wave + sa.bindparam("more_kept", type_=sa.Integer),
        wave_hosts=runs.c.joined_hosts,
        media_admitted=runs.c.media_admitted + sa.bindparam("more_media", type_=sa.Integer),
    )
)


def _admit(conn: sa.Connection, current: sa.Row[Any], facts: WaveFacts, decision: WavePlan, counts: Changes) -> int:
    candidates = {candidate.url: candidate for candidate in (*facts.candidates, *facts.media)}
    admitted = [candidates[url] for url in decision.admit]
    first, wave = current.next_seq, current.wave + 1
    rows = [(seq, wave, current.tenant_id, current.id, key_of(url)) for seq, url in enumerate(decision.admit, first)]
    execute_many(conn, admit_statement, rows)
    for candidate in admitted:
        counts.add(current.id, CountedRow(candidate.kind, "DISCOVERED"), -1)
        counts.add(current.id, CountedRow(candidate.kind, "QUEUED"))
    patterns = (candidate.pattern for candidate in admitted if candidate.kind is not RowKind.MEDIA)
    store_counts(conn, current.tenant_id, current.id, patterns, facts.pattern_yields, first, first + len(rows))
    kept = conn.scalar(_pages_of_wave, {**_key(current), "first_seq": current.wave_first_seq, "next_seq": first}) or 0
    values = {
        **_key(current), "new_wave": wave, "new_depth": max(current.depth, *(candidate.depth for candidate in admitted)),
        "new_next_seq": first + len(rows), "new_first_seq": first, "more_kept": kept,
        "more_media": sum(candidate.kind is RowKind.MEDIA for candidate in admitted),
    }  # fmt: skip
    conn.execute(_advance, values)
    return len(rows)


_full_rows = sa.select(*ROW_COLUMNS).where(urls.c.tenant_id == TENANT, urls.c.run_id == RUN, urls.c.url.in_(_batch))


def canonical_claims(conn: sa.Connection, tenant: TenantId, run: RunId, wave: int) -> list[tuple[UrlRow, UrlRow]]:
    """Pairs of a page and the kept page it names as canonical, with different content, one of them settled in this wave."""
    this_run = sa.and_(runs.c.tenant_id == tenant, runs.c.id == run)
    current = conn.execute(sa.select(runs.c.wave, runs.c.wave_first_seq).where(this_run)).one_or_none()
    if current is None:
        return []
    first_seq = current.wave_first_seq if current.wave == wave else 0
    in_wave = _kept_in_wave.where(urls.c.wave == wave)
    settled = {row[0]: row[4] for row in conn.execute(in_wave, {"tenant": tenant, "run": run, "first_seq": first_seq})}
    pairs = {key: canonical for key, canonical in settled.items() if canonical is not None and canonical != key}
    pairs.update((row[0], row[4]) for row in select_in_batches(conn, _with_canonical, settled, tenant=tenant, run=run))
    keys = {*pairs, *pairs.values()}
    rows = {row.url: url_row(row) for row in select_in_batches(conn, _full_rows, keys, tenant=tenant, run=run)}
    claims = [(rows[key], rows[canonical]) for key, canonical in pairs.items() if canonical in rows]
    return sorted((pair for pair in claims if _is_claim(*pair)), key=lambda pair: pair[0].seq or 0)


def _is_claim(page: UrlRow, canonical: UrlRow) -> bool:
    """Whether a canonical link needs a proof: both pages are kept, their contents differ, and the canonical page names none.

    A kept page is its own final URL.
    """
    both_kept = page.final_url == page.url and canonical.final_url == canonical.url
    return both_kept and canonical.canonical in {None, canonical.url} and page.content_hash != canonical.content_hash
