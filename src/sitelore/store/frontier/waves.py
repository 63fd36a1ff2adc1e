"""Opens a wave, the next batch of URLs to visit, in one transaction: merges duplicates, skips crawler traps, admits rows.

The trap detection needs page counts by URL pattern before each wave. Patterns with many pages are not
counted from scratch each time. When a wave admits rows of such a pattern, its counts so far are stored with the sequence
numbers of the wave's rows; the next time only those rows are counted. The sum equals a full count, because all earlier rows
are settled and any later wave with rows of the pattern would have stored its counts again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

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
from sitelore.store.pages.site_urls import UrlIds
from sitelore.store.rows import (
    ROW_COLUMNS,
    WHOLE_ROWS,
    is_kept,
    is_page,
    maybe_url,
    pattern_of,
    settings_of,
    storable,
    url_row,
)
from sitelore.store.runs.counts import COUNTED_COLUMNS, Changes, CountedRow
from sitelore.store.schema import IS_CANDIDATE, IS_MEDIA_CANDIDATE, pattern_stats, runs, site_urls, urls, visits
from sitelore.store.statements import (
    OF_RUN,
    OF_VISIT,
    RUN,
    RUN_NUMBER,
    TENANT,
    WITH_URL,
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
_batch_of_ids: sa.BindParameter[int] = sa.bindparam("batch", type_=sa.BigInteger, expanding=True)
_first_seq = sa.bindparam("first_seq", type_=sa.Integer)
_stored_counts = sa.select(pattern_stats).where(
    pattern_stats.c.tenant_id == TENANT, pattern_stats.c.run_id == RUN, pattern_stats.c.pattern.in_(_batch)
)
_of_run = sa.and_(visits.c.tenant_id == TENANT, visits.c.run_number == RUN_NUMBER)
_full_counts = (
    sa.select(
        visits.c.pattern,
        sa.func.count(),
        sa.func.count(visits.c.content_hash.distinct()),
        sa.func.count(visits.c.novelty.distinct()),
    )
    .where(_of_run, visits.c.pattern.in_(_batch), visits.c.content_hash.is_not(None))
    .group_by(visits.c.pattern)
)
_earlier = visits.alias("earlier")
_earlier_of_pattern = (
    sa.select(_earlier.c.seq)
    .where(
        _earlier.c.tenant_id == TENANT,
        _earlier.c.run_number == visits.c.run_number,
        _earlier.c.pattern == visits.c.pattern,
        _earlier.c.seq < _first_seq,
    )
    .where(_earlier.c.content_hash.is_not(None))
    .limit(1)  # makes Postgres look up each row by index instead of hashing all rows of the run
    .correlate(visits)
)
_same_content = _earlier_of_pattern.where(_earlier.c.content_hash == visits.c.content_hash).scalar_subquery()
_same_novelty = _earlier_of_pattern.where(_earlier.c.novelty == visits.c.novelty).scalar_subquery()
# By state, because the index on admitted rows starts with it.
_ADMITTED = sorted(state.value for state in UrlState if state is not UrlState.DISCOVERED)
_new_counts = (
    sa.select(
        visits.c.pattern,
        sa.func.count(),
        sa.func.count(sa.distinct(sa.case((_same_content.is_(None), visits.c.content_hash)))),
        sa.func.count(sa.distinct(sa.case((_same_novelty.is_(None), visits.c.novelty)))),
    )
    .select_from(urls.join(visits, OF_VISIT))
    .where(OF_RUN, urls.c.state.in_(_ADMITTED), urls.c.seq.is_not(None))
    .where(urls.c.seq >= _first_seq, urls.c.seq < sa.bindparam("last_seq", type_=sa.Integer))
    .where(visits.c.pattern.in_(_batch), visits.c.content_hash.is_not(None))
    .group_by(visits.c.pattern)
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
        of_wave = _facts(conn, current, per_wave)
        decision = plan(of_wave.facts)
        counts = Changes()
        merged += _merge(conn, current, decision.merges, counts)
        trapped += _trap(conn, current, of_wave, decision.trapped, counts)
        admitted = _admit(conn, current, of_wave, decision, counts) if decision.admit and not decision.exhausted else 0
        counts.write(conn, tenant)
        if admitted:
            return WaveOpened(wave + 1, admitted, merged, trapped)
        if decision.exhausted or not decision.trapped or not of_wave.facts.candidates:
            return WaveOpened(wave, 0, merged, trapped)
        # All of these candidates were traps: look at the candidates after them.


# Statements are built once: a site of long chains opens a wave for every page, and building a statement takes SQLAlchemy longer
# than running it takes the database.
_locked_run = sa.select(runs).where(runs.c.tenant_id == TENANT, runs.c.id == RUN).with_for_update()
_unsettled = sa.select(urls.c.seq).where(OF_RUN, urls.c.state.in_(["QUEUED", "IN_PROGRESS"]), urls.c.seq.is_not(None)).limit(1)
_canonical = site_urls.alias("canonical_url")
_kept_rows = sa.select(
    urls.c.url_id, *site_urls.c["url", "long_url"], urls.c.seq, visits.c.content_hash, _canonical.c.url, visits.c.identity,
    visits.c.canonical,
).select_from(
    WITH_URL.outerjoin(visits, OF_VISIT).outerjoin(
        _canonical, sa.and_(_canonical.c.tenant_id == TENANT, _canonical.c.id == visits.c.canonical)
    )
)  # fmt: skip
_kept_in_wave = _kept_rows.where(OF_RUN, is_kept(), urls.c.seq >= _first_seq).order_by(urls.c.seq)
# `is_page` is checked in Python for rows found by these: SQLite, which has no statistics here, would take the condition for a
# reason to read every page of the run.
_rows = _kept_rows.add_columns(urls.c.kind, urls.c.state, urls.c.skip_reason).where(OF_RUN, urls.c.url_id.in_(_batch_of_ids))
_with_content = sa.select(visits.c.url_id).where(_of_run, visits.c.content_hash.in_(_batch))
_with_identity = sa.select(visits.c.url_id).where(_of_run, visits.c.identity.in_(_batch))
_with_canonical = sa.select(visits.c.url_id, visits.c.canonical).where(
    _of_run, visits.c.canonical.in_(_batch_of_ids), visits.c.canonical != visits.c.url_id
)
_is_candidate = sa.and_(OF_RUN, sa.text(IS_CANDIDATE))
_smallest_depth = sa.select(sa.func.min(urls.c.depth)).where(_is_candidate)
_ADMISSION_ORDER = (urls.c.depth, urls.c.source_rank, urls.c.parent_seq, urls.c.position, site_urls.c.url)
_best_candidates = (
    sa.select(urls.c.url_id, site_urls.c.url, site_urls.c.long_url, urls.c.kind, urls.c.depth, urls.c.pattern)
    .select_from(WITH_URL)
    .where(_is_candidate, urls.c.depth <= sa.bindparam("max_depth", type_=sa.Integer))
    .order_by(*_ADMISSION_ORDER)
    .limit(sa.bindparam("max_rows", type_=sa.Integer))
)
_best_media = (
    sa.select(urls.c.url_id, site_urls.c.url, site_urls.c.long_url, urls.c.kind, urls.c.depth, urls.c.pattern)
    .select_from(WITH_URL)
    .where(OF_RUN, sa.text(IS_MEDIA_CANDIDATE))
    .order_by(*_ADMISSION_ORDER)
    .limit(sa.bindparam("max_rows", type_=sa.Integer))
)
_KINDS = {kind.value: kind for kind in RowKind}


class _Wave(NamedTuple):
    """The facts of a wave, and the ids of its candidates."""

    facts: WaveFacts
    url_ids: dict[Url, int]


def _facts(conn: sa.Connection, current: sa.Row[Any], per_wave: int) -> _Wave:
    rows = conn.execute(_kept_in_wave, {**_key(current), "first_seq": current.wave_first_seq}).all()
    settled = [row for row in rows if row.content_hash or row.canonical or row.identity]
    url_ids, candidates = _candidates(conn, current, per_wave)
    settings = settings_of(current.settings)
    media: tuple[Candidate, ...] = ()
    if settings.media.types:
        of_media, media = _as_candidates(conn.execute(_best_media, {**_key(current), "max_rows": per_wave}))
        url_ids |= of_media
    facts = WaveFacts(
        settings=settings,
        wave=current.wave,
        depth=current.depth,
        kept=current.pages_before_wave + len(rows),
        settled=tuple(map(_kept, settled)),
        related=_related(conn, current, settled),
        candidates=candidates,
        pattern_yields=count_pages(conn, current.tenant_id, current.id, (candidate.pattern for candidate in candidates)),
        media=media,
        media_admitted=current.media_admitted,
    )
    return _Wave(facts, url_ids)


def _key(current: sa.Row[Any]) -> dict[str, Any]:
    """The parameters of queries about a run."""
    return {"tenant": current.tenant_id, "run": current.id}


def _kept(row: Sequence[Any]) -> KeptPage:
    return KeptPage(Url.trusted(row[2] or row[1]), row[3], row[4] or "", maybe_url(row[5]), row[6] or "")


def _related(conn: sa.Connection, current: sa.Row[Any], settled: Sequence[Any]) -> tuple[KeptPage, ...]:
    """Other kept pages with the content or identity of one of these, and pages linked to one of these by a canonical link."""
    own = {row.url_id for row in settled}
    lookups: tuple[tuple[sa.Select[Any], set[Any]], ...] = (
        (_with_content, {row.content_hash for row in settled if row.content_hash}),
        (_with_identity, {row.identity for row in settled if row.identity}),
        (_with_canonical, own),
    )
    related = {row.canonical for row in settled if row.canonical is not None}
    for statement, keys in lookups:
        related.update(row[0] for row in select_in_batches(conn, statement, keys, **_key(current)))
    rows = select_in_batches(conn, _rows, related - own, **_key(current))
    return tuple(_kept(row) for row in sorted(rows, key=_seq) if is_page(row.kind, row.state, row.skip_reason, row.seq))


def _seq(row: Any) -> int:
    return row.seq or 0


def _candidates(conn: sa.Connection, current: sa.Row[Any], per_wave: int) -> tuple[dict[Url, int], tuple[Candidate, ...]]:
    """The remaining candidates of the current depth with their ids; when there are none, those of the smallest depth."""
    smallest = conn.scalar(_smallest_depth, _key(current))
    if smallest is None:
        return {}, ()
    values = {**_key(current), "max_depth": max(smallest, current.depth), "max_rows": per_wave}
    return _as_candidates(conn.execute(_best_candidates, values))


def _as_candidates(rows: Iterable[Sequence[Any]]) -> tuple[dict[Url, int], tuple[Candidate, ...]]:
    url_ids: dict[Url, int] = {}
    candidates = []
    for url_id, key, long_url, kind, depth, pattern in rows:
        url = Url.trusted(long_url or key)
        url_ids[url] = url_id
        candidates.append(Candidate(url, _KINDS[kind], depth, pattern_of(pattern, url)))
    return url_ids, tuple(candidates)


_merged_rows = (
    sa.select(urls.c.url_id, *COUNTED_COLUMNS)
    .select_from(urls.outerjoin(visits, OF_VISIT))
    .where(OF_RUN, urls.c.url_id.in_(_batch_of_ids))
)


def _merge(conn: sa.Connection, current: sa.Row[Any], merges: tuple[Merge, ...], counts: Changes) -> int:
    """Turn pages into aliases. Pages of earlier waves were counted in `pages_before_wave` and are subtracted from it."""
    if not merges:
        return 0
    tenant = current.tenant_id
    url_ids = UrlIds(conn, tenant, current.site_id)
    url_ids.add({url for merge in merges for url in (merge.url, merge.into)})
    targets = {url_ids[merge.url]: (url_ids[merge.into], merge.proof.value) for merge in merges}
    earlier = 0
    for url_id, *columns in select_in_batches(conn, _merged_rows, targets, **_key(current)):
        row = CountedRow(*columns)
        counts.add(current.id, row, -1)
        counts.add(current.id, row._replace(state="ALIAS", proof=targets[url_id][1]))
        is_earlier = row.seq is not None and row.seq < current.wave_first_seq
        earlier += is_earlier and is_page(row.kind, row.state, row.skip_reason, row.seq)
    execute_many(conn, merge_statement, [(*targets[key], tenant, current.number, key) for key in sorted(targets)])
    execute_many(conn, page_alias_statement, [(targets[key][0], tenant, current.site_id, key) for key in sorted(targets)])
    if earlier:
        pages_before_wave = runs.c.pages_before_wave - earlier
        this_run = sa.and_(runs.c.tenant_id == tenant, runs.c.id == current.id)
        conn.execute(sa.update(runs).where(this_run).values(pages_before_wave=pages_before_wave))
    return len(targets)


def _trap(conn: sa.Connection, current: sa.Row[Any], wave: _Wave, trapped: tuple[tuple[Url, str], ...], counts: Changes) -> int:
    """Skip candidates that belong to a crawler trap."""
    kinds = {candidate.url: candidate.kind for candidate in wave.facts.candidates}
    for url, _ in trapped:
        counts.add(current.id, CountedRow(kinds[url], "DISCOVERED"), -1)
        counts.add(current.id, CountedRow(kinds[url], "SKIPPED", SkipReason.TRAP.value))
    rows = [(storable(why), current.tenant_id, current.number, wave.url_ids[url]) for url, why in trapped]
    execute_many(conn, trap_statement, rows)
    return len(trapped)


_pages_of_wave = sa.select(sa.func.count()).where(
    OF_RUN,
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


def _admit(conn: sa.Connection, current: sa.Row[Any], of_wave: _Wave, decision: WavePlan, counts: Changes) -> int:
    facts, url_ids = of_wave
    candidates = {candidate.url: candidate for candidate in (*facts.candidates, *facts.media)}
    admitted = [candidates[url] for url in decision.admit]
    first, wave = current.next_seq, current.wave + 1
    rows = [(seq, wave, current.tenant_id, current.number, url_ids[url]) for seq, url in enumerate(decision.admit, first)]
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


_full_rows = sa.select(urls.c.url_id, *ROW_COLUMNS).select_from(WHOLE_ROWS).where(OF_RUN, urls.c.url_id.in_(_batch_of_ids))


def canonical_claims(conn: sa.Connection, tenant: TenantId, run: RunId, wave: int) -> list[tuple[UrlRow, UrlRow]]:
    """Pairs of a page and the kept page it names as canonical, with different content, one of them settled in this wave."""
    this_run = sa.and_(runs.c.tenant_id == tenant, runs.c.id == run)
    current = conn.execute(sa.select(runs.c.wave, runs.c.wave_first_seq).where(this_run)).one_or_none()
    if current is None:
        return []
    first_seq = current.wave_first_seq if current.wave == wave else 0
    in_wave = _kept_in_wave.where(urls.c.wave == wave)
    rows_of_wave = conn.execute(in_wave, {"tenant": tenant, "run": run, "first_seq": first_seq})
    settled = {row.url_id: row.canonical for row in rows_of_wave}
    pairs = {url_id: canonical for url_id, canonical in settled.items() if canonical is not None and canonical != url_id}
    pairs.update(
        (row.url_id, row.canonical) for row in select_in_batches(conn, _with_canonical, settled, tenant=tenant, run=run)
    )
    of_pairs = {*pairs, *pairs.values()}
    rows = {row[0]: url_row(run, row[1:]) for row in select_in_batches(conn, _full_rows, of_pairs, tenant=tenant, run=run)}
    claims = [(rows[url_id], rows[canonical]) for url_id, canonical in pairs.items() if canonical in rows]
    return sorted((pair for pair in claims if _is_claim(*pair)), key=lambda pair: pair[0].seq or 0)


def _is_claim(page: UrlRow, canonical: UrlRow) -> bool:
    """Whether a canonical link needs a proof: both pages are kept, their contents differ, and the canonical page names none.

    A kept page is its own final URL.
    """
    both_kept = page.final_url == page.url and canonical.final_url == canonical.url
    return both_kept and canonical.canonical in {None, canonical.url} and page.content_hash != canonical.content_hash
