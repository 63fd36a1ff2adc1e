"""Settlement: writes the results of a batch of visits (states, pages, links, events) in one transaction."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sqlalchemy as sa

from sitelore.model.frontier import KnownPage, PageUpdate, RowKind, Settlement, StoredEventKind
from sitelore.model.ids import BlobKey, TenantId
from sitelore.model.states import UNCHANGED, Proof, UrlState
from sitelore.model.url import Url
from sitelore.store.frontier.claims import NumberedRun, known_pages, lock_runs, offer, urls_of_offer
from sitelore.store.pages.site_urls import UrlIds
from sitelore.store.pages.versions import PageChange, store_changes
from sitelore.store.rows import chain_text, encode, head_text, headers_text, names_of, pattern_of, render_text, storable
from sitelore.store.runs.counts import COUNTED_OF_ROW, COUNTED_OF_VISIT, Changes, CountedRow
from sitelore.store.runs.events import NewEvent, store_events
from sitelore.store.schema import KEY_CHARS, key_of, runs, urls
from sitelore.store.schema import visits as visits_table
from sitelore.store.statements import (
    BATCH,
    OF_RUN,
    RUN_NUMBER,
    SETTLED_PARAMETERS,
    TENANT,
    VISIT_COLUMNS,
    execute_many,
    page_statement,
    redaction_statement,
    select_in_batches,
    settled_statement,
    unchanged_page_statement,
    visit_statement,
)

_Key = tuple[str, str]


class _LeasedRow(NamedTuple):
    """A row that is leased to a worker."""

    url_id: int
    token: int
    lastmod: float | None
    pattern: str | None
    counted: CountedRow


class _Accepted(NamedTuple):
    """A settlement whose fencing token is the current one."""

    settlement: Settlement
    row: _LeasedRow
    run: NumberedRun
    change: PageChange | None


def settle(conn: sa.Connection, tenant: TenantId, settlements: Sequence[Settlement]) -> list[bool]:
    """Write each verdict with its effects where the fencing token still matches; False for each that was rejected.

    The result does not depend on how visits are split into batches: a row is only written by the holder of its token, and
    shared data (offers, counts, hosts) merges by minimum, sum and union.
    """
    locked = lock_runs(conn, tenant, (settlement.lease.run for settlement in settlements))
    url_ids = {run.site: UrlIds(conn, tenant, run.site) for run in locked.values()}
    leased = _leased_rows(conn, tenant, settlements, locked, url_ids)
    accepted: list[bool] = []
    to_write: list[_Accepted] = []
    for settlement in settlements:
        lease = settlement.lease
        key = (lease.run, lease.url)
        row = leased.get(key)
        accepted.append(row is not None and row.token == lease.token)
        if row is not None and accepted[-1]:
            del leased[key]  # a lease that occurs twice in a batch settles once
            to_write.append(_Accepted(settlement, row, locked[lease.run], _page_change(settlement)))
    counts = Changes()
    by_site: dict[int, list[_Accepted]] = defaultdict(list)
    for one in to_write:
        by_site[one.run.site].append(one)
    for site in sorted(by_site):
        _settle_site(conn, tenant, site, by_site[site], url_ids[site], counts)
    written = [one.settlement for one in to_write]
    if any(_has_media(settlement) for settlement in written):
        from sitelore.store.platform.media import settle_media  # noqa: PLC0415 - few runs download media

        settle_media(conn, tenant, {run.id: run.site for run in locked.values()}, written, counts)
    counts.write(conn, tenant)
    store_events(conn, tenant, _page_events(written))
    _count_redactions(conn, tenant, written)
    _join_hosts(conn, tenant, written)
    return accepted


def _settle_site(
    conn: sa.Connection, tenant: TenantId, site: int, settled: Sequence[_Accepted], url_ids: UrlIds, counts: Changes
) -> None:
    """Write the settlements of a site's runs: verdicts, visits, pages with their versions, and offers."""
    settled = _with_current_pages(conn, tenant, settled)
    url_ids.add(set(_mentioned(settled)))
    verdicts: list[tuple[Any, ...]] = []
    visits: list[tuple[Any, ...]] = []
    pages: dict[int, tuple[Any, ...]] = {}
    unchanged: list[tuple[Any, ...]] = []
    changes: dict[Url, PageChange] = {}
    for settlement, row, run, change in settled:
        lease, effects = settlement.lease, settlement.effects
        key = (tenant, run.number, row.url_id)
        columns = _NO_PAGE if effects.page is None else page_columns(effects.page, url_ids)
        verdicts.append(verdict := _verdict_tuple(key, settlement, url_ids))
        visits.append(visit := _visit_tuple(key, settlement, row, columns))
        counts.add(lease.run, row.counted, -1)
        counts.add(lease.run, _counted_after(row.counted, settlement, verdict, visit))
        if effects.page is not None:
            fetched_at = settlement.at if effects.fetched else 0.0
            pages[row.url_id] = _page_tuple((tenant, site, row.url_id), settlement, columns, fetched_at, row.lastmod)
        if change is not None:
            changes[lease.url] = change
            if lease.known is not None and not change.is_new_version and lease.known.document != change.page.document:
                unchanged.append((change.page.document, tenant, site, row.url_id, lease.known.document))
    execute_many(conn, settled_statement, verdicts)
    execute_many(conn, visit_statement, visits)
    execute_many(conn, unchanged_page_statement, unchanged)
    execute_many(conn, page_statement, [pages[url_id] for url_id in sorted(pages)])
    store_changes(conn, tenant, site, [changes[url] for url in sorted(changes)], url_ids)
    for run in sorted({one.run for one in settled}):
        of_run = [one.settlement for one in settled if one.run == run]
        offer(conn, tenant, run, (new for settlement in of_run for new in settlement.effects.offers), url_ids, counts)


def _with_current_pages(conn: sa.Connection, tenant: TenantId, settled: Sequence[_Accepted]) -> Sequence[_Accepted]:
    """The settlements of a site, in which pages that were kept as stored are those that are stored now.

    A visit knows them from its claim, and `reprocess` may have replaced a document since.
    """
    kept = [one.row.url_id for one in settled if _keeps_stored_page(one.settlement)]
    if not kept:
        return settled
    stored = known_pages(conn, tenant, settled[0].run.id, kept, for_update=True)
    return [_with_page(one, stored.get(one.row.url_id)) for one in settled]


def _keeps_stored_page(settlement: Settlement) -> bool:
    verdict = settlement.verdict
    is_unchanged = verdict.state is UrlState.NOT_MODIFIED or verdict.skip_reason in UNCHANGED
    return is_unchanged and settlement.lease.known is not None and settlement.effects.page is not None


def _with_page(one: _Accepted, stored: KnownPage | None) -> _Accepted:
    lease, effects = one.settlement.lease, one.settlement.effects
    if stored is None or lease.known is None or effects.page is None or stored.document == lease.known.document:
        return one
    page = replace(stored.unchanged(), identity=effects.page.identity)
    settlement = replace(one.settlement, lease=replace(lease, known=stored), effects=replace(effects, page=page))
    return one._replace(settlement=settlement, change=None)


def _page_change(settlement: Settlement) -> PageChange | None:
    """The change of a page whose document differs from the stored one, or whose facts may differ: they are about the markup."""
    known, effects = settlement.lease.known, settlement.effects
    if effects.page is None:
        return None
    is_same = known is not None and known.document == effects.page.document
    if is_same and not effects.page.facts:
        return None
    is_new = effects.changed is not False and not is_same
    return PageChange(settlement.lease.url, effects.page, settlement.at, is_new)


def _mentioned(settled: Sequence[_Accepted]) -> Iterator[str]:
    """All URLs that these settlements name."""
    for settlement, _, _, change in settled:
        effects = settlement.effects
        if change is not None:
            yield from change.mentioned()
        if effects.alias_of is not None:
            yield effects.alias_of
        if effects.page is not None and (canonical := lookup_canonical(effects.page)) is not None:
            yield canonical
        for new in effects.offers:
            yield from urls_of_offer(new)


def _has_media(settlement: Settlement) -> bool:
    effects = settlement.effects
    return effects.shown is not None or effects.media is not None or effects.is_oversized_video


_leased = (
    sa.select(*urls.c["url_id", "token", "lastmod", "pattern", "attempts"], *COUNTED_OF_ROW)
    .where(OF_RUN, urls.c.url_id.in_(BATCH), urls.c.state == sa.text("'IN_PROGRESS'"))
    .with_for_update()
)
# Not a join: without statistics, Postgres would read all visits of a young run.
_earlier_attempts = sa.select(visits_table.c.url_id, *COUNTED_OF_VISIT).where(
    visits_table.c.tenant_id == TENANT, visits_table.c.run_number == RUN_NUMBER, visits_table.c.url_id.in_(BATCH)
)


def _leased_rows(
    conn: sa.Connection,
    tenant: TenantId,
    settlements: Sequence[Settlement],
    locked: dict[str, NumberedRun],
    url_ids: dict[int, UrlIds],
) -> dict[_Key, _LeasedRow]:
    """The rows that are still leased to any worker. The rows are locked."""
    leased: dict[_Key, _LeasedRow] = {}
    for run in locked.values():
        ids_of_site = url_ids[run.site]
        settled = {settlement.lease.url for settlement in settlements if settlement.lease.run == run.id}
        values = {"tenant": tenant, "run": run.id}
        rows = list(select_in_batches(conn, _leased, ids_of_site.find(settled), **values))
        retried = [row.url_id for row in rows if row.attempts]
        earlier = {row[0]: row[1:] for row in select_in_batches(conn, _earlier_attempts, retried, **values)}
        by_id = {
            row[0]: _LeasedRow(row[0], row[1], row[2], row[3], CountedRow(*row[5:], *earlier.get(row[0], ()))) for row in rows
        }
        leased.update(((run.id, url), by_id[url_id]) for url in settled if (url_id := ids_of_site.get(url)) in by_id)
    return leased


def _counted_after(before: CountedRow, settlement: Settlement, verdict: tuple[Any, ...], visit: tuple[Any, ...]) -> CountedRow:
    """A leased row after this visit was written. `verdict`, `visit`: see `_verdict_tuple` and `_visit_tuple`."""
    values = {**dict(zip(SETTLED_PARAMETERS, verdict, strict=True)), **dict(zip(VISIT_COLUMNS, visit, strict=True))}
    changed = {name: values[name] for name in CountedRow._fields if name in values}
    return before._replace(**changed, fetches=before.fetches + int(settlement.effects.fetched))


def _page_events(written: Sequence[Settlement]) -> Iterator[NewEvent]:
    """An event for each page that is new or has changed."""
    for settlement in written:
        lease, effects = settlement.lease, settlement.effects
        if effects.page is None or effects.changed is False or not effects.fetched or lease.kind is not RowKind.PAGE:
            continue
        kind = StoredEventKind.PAGE_NEW if lease.known is None else StoredEventKind.PAGE_CHANGED
        yield NewEvent(lease.run, kind, settlement.at, lease.url)


_NO_PAGE = (None, None, None, None, None, None, 0, 0, None, None, None, None, None, None, None, None, None)


def _verdict_tuple(key: tuple[int, int, int], settlement: Settlement, url_ids: UrlIds) -> tuple[Any, ...]:
    """The values of a verdict in the order of `SETTLED_PARAMETERS`."""
    verdict, effects = settlement.verdict, settlement.effects
    is_retry = verdict.state is UrlState.QUEUED
    proof = Proof.REDIRECT if verdict.state is UrlState.ALIAS else None
    return (
        verdict.state._value_,
        verdict.retry_at if is_retry else None,
        None if verdict.skip_reason is None else verdict.skip_reason._value_,
        storable(verdict.detail),
        None if effects.alias_of is None else url_ids[effects.alias_of],
        None if proof is None else proof._value_,
        chain_text(effects.chain),
        1 if is_retry else 0,
        1 if effects.fetched else 0,
        *key,
    )


def _visit_tuple(
    key: tuple[int, int, int], settlement: Settlement, row: _LeasedRow, columns: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The values of a visit in the order of `VISIT_COLUMNS`. `columns`: see `page_columns`."""
    verdict, effects = settlement.verdict, settlement.effects
    return (
        *key,
        row.counted.seq,
        pattern_of(row.pattern, settlement.lease.url),
        verdict.status_code,
        storable(verdict.error),
        settlement.at if effects.fetched else None,
        effects.elapsed_s if effects.fetched else None,
        effects.body_bytes,
        None if effects.changed is None else int(effects.changed),
        *columns,
        head_text(effects.response_head),
    )


def lookup_canonical(page: PageUpdate) -> Url | None:
    """The canonical URL of a page. One that is longer than a key is not stored: it could not prove a duplicate."""
    return None if page.canonical is None or len(page.canonical) > KEY_CHARS else page.canonical


def page_columns(page: PageUpdate, url_ids: UrlIds) -> tuple[Any, ...]:
    """The values of the columns that `visits` and `pages` share, in the order of `VISIT_COLUMNS`."""
    canonical = lookup_canonical(page)
    return (
        storable(page.title),
        page.content_hash or None,
        page.novelty or None,
        None if canonical is None else url_ids[canonical],
        key_of(page.identity) if page.identity else None,
        storable(page.content_type),
        page.word_count,
        int(page.noindex),
        page.document,
        page.snapshot,
        None if page.etag is None else storable(page.etag),
        None if page.last_modified is None else storable(page.last_modified),
        headers_text(page.headers),
        *_render_columns(page),
        page.sketch or None,
    )


def _render_columns(page: PageUpdate) -> tuple[str | None, str | None, BlobKey | None]:
    note = page.render
    return (None, None, page.screenshot) if note is None else (note.reason._value_, render_text(note), page.screenshot)


def _page_tuple(
    key: tuple[int, int, int],
    settlement: Settlement,
    columns: tuple[Any, ...],
    fetched_at: float,
    lastmod: float | None,
) -> tuple[Any, ...]:
    """The values of a page in the order of `PAGE_COLUMNS`. `columns`: see `page_columns`."""
    page = settlement.effects.page
    assert page is not None  # only pages are written
    (title, content_hash, novelty, canonical, _, kind, word_count, noindex, document, snapshot, etag, last_modified,
     headers, render_reason, _, screenshot, sketch) = columns  # fmt: skip
    return (
        *key, fetched_at, content_hash or "", novelty or "", document, etag, last_modified, lastmod, title or "", canonical,
        snapshot, word_count, noindex, kind, None, headers, render_reason, screenshot, page.volatile or None, sketch,
    )  # fmt: skip


def _count_redactions(conn: sa.Connection, tenant: TenantId, settlements: Sequence[Settlement]) -> None:
    counts: Counter[_Key] = Counter()
    for settlement in settlements:
        for rule, count in settlement.effects.redactions.items():
            counts[settlement.lease.run, rule] += count
    execute_many(conn, redaction_statement, [(tenant, *key, counts[key]) for key in sorted(counts)])


def _join_hosts(conn: sa.Connection, tenant: TenantId, settlements: Sequence[Settlement]) -> None:
    """Add hosts that became part of their run's scope."""
    new_hosts: dict[str, set[str]] = defaultdict(set)
    for settlement in settlements:
        if settlement.effects.joins_host is not None:
            new_hosts[settlement.lease.run].add(settlement.effects.joins_host)
    for run, hosts in new_hosts.items():
        this_run = sa.and_(runs.c.tenant_id == tenant, runs.c.id == run)
        joined = names_of(conn.scalar(sa.select(runs.c.joined_hosts).where(this_run)) or "[]")
        if not hosts.issubset(joined):
            text = encode(sorted(hosts.union(joined))).decode()
            conn.execute(sa.update(runs).where(this_run).values(joined_hosts=text))
