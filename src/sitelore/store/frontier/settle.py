"""Settle: write everything that a batch of visits changes, in one transaction."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from sitelore.model.frontier import PageUpdate, RowKind, Settlement, StoredEventKind
from sitelore.model.ids import BlobKey, RunId, TenantId
from sitelore.model.states import Proof, UrlState
from sitelore.model.url import Url
from sitelore.store.frontier.claims import lock_runs, offer
from sitelore.store.rows import chain_text, encode, head_text, headers_text, names_of, render_text, storable
from sitelore.store.runs.counts import COUNTED_COLUMNS, Changes, CountedRow
from sitelore.store.runs.events import NewEvent, store_events
from sitelore.store.schema import KEY_CHARS, key_of, runs, urls
from sitelore.store.statements import (
    BATCH,
    RUN,
    TENANT,
    VISIT_PARAMETERS,
    execute_many,
    page_statement,
    redaction_statement,
    select_in_batches,
    unchanged_page_statement,
    visit_statement,
)
from sitelore.store.versions import PageChange, store_changes

_Key = tuple[str, str]


class _LeasedRow(NamedTuple):
    """A row that is leased to a worker."""

    token: int
    lastmod: float | None
    counted: CountedRow


def settle(conn: sa.Connection, tenant: TenantId, settlements: Sequence[Settlement]) -> list[bool]:
    """Write each verdict with its effects where the fencing token still matches; False for each that was rejected.

    The result does not depend on how visits are split into batches: a row is only written by the holder of its token, and
    shared data (offers, counts, hosts) merges by minimum, sum and union.
    """
    sites = lock_runs(conn, tenant, (settlement.lease.run for settlement in settlements))
    leased = _leased_rows(conn, tenant, settlements)
    counts = Changes()
    accepted: list[bool] = []
    visits: list[tuple[Any, ...]] = []
    pages: dict[tuple[int, str], tuple[Any, ...]] = {}
    unchanged: list[tuple[Any, ...]] = []
    changes: dict[int, dict[Url, PageChange]] = defaultdict(dict)
    for settlement in settlements:
        lease, effects = settlement.lease, settlement.effects
        key = (lease.run, key_of(lease.url))
        row = leased.get(key)
        accepted.append(row is not None and row.token == lease.token)
        if row is None or not accepted[-1]:
            continue
        del leased[key]  # a lease that occurs twice in a batch settles once
        columns = _NO_PAGE if effects.page is None else page_columns(effects.page)
        visit = _visit_tuple((tenant, *key), settlement, columns)
        visits.append(visit)
        counts.add(lease.run, row.counted, -1)
        counts.add(lease.run, _counted_after(row.counted, settlement, visit))
        if effects.page is not None:
            site = sites[lease.run]
            fetched_at = settlement.at if effects.fetched else 0.0
            pages[site, key[1]] = _page_tuple(tenant, site, settlement, columns, fetched_at, row.lastmod)
            known, document = lease.known, effects.page.document
            is_same = known is not None and known.document == document
            if is_same and not effects.page.facts:
                continue
            # The facts of an equal document may differ: they are about the markup.
            is_new = effects.changed is not False and not is_same
            changes[site][lease.url] = PageChange(lease.url, effects.page, settlement.at, is_new)
            if known is not None and not is_new and not is_same:
                unchanged.append((document, tenant, site, key[1], known.document))
    execute_many(conn, visit_statement, visits)
    execute_many(conn, unchanged_page_statement, unchanged)
    execute_many(conn, page_statement, [pages[key] for key in sorted(pages)])
    for site in sorted(changes):
        store_changes(conn, tenant, site, [changes[site][url] for url in sorted(changes[site])])
    written = [settlement for settlement, is_accepted in zip(settlements, accepted, strict=True) if is_accepted]
    for run in sorted({settlement.lease.run for settlement in written}):
        of_run = [settlement for settlement in written if settlement.lease.run == run]
        offer(conn, tenant, run, (new for settlement in of_run for new in settlement.effects.offers), counts)
    if any(_has_media(settlement) for settlement in written):
        from sitelore.store.platform.media import settle_media  # noqa: PLC0415 - few runs download media

        settle_media(conn, tenant, sites, written, counts)
    counts.write(conn, tenant)
    store_events(conn, tenant, _page_events(written))
    _count_redactions(conn, tenant, written)
    _join_hosts(conn, tenant, written)
    return accepted


def _has_media(settlement: Settlement) -> bool:
    effects = settlement.effects
    return effects.shown is not None or effects.media is not None or effects.is_oversized_video


_leased = (
    sa.select(urls.c.url, urls.c.token, urls.c.lastmod, *COUNTED_COLUMNS)
    .where(urls.c.tenant_id == TENANT, urls.c.run_id == RUN, urls.c.url.in_(BATCH))
    .where(urls.c.state == sa.text("'IN_PROGRESS'"))
    .with_for_update()
)


def _leased_rows(conn: sa.Connection, tenant: TenantId, settlements: Sequence[Settlement]) -> dict[_Key, _LeasedRow]:
    """The rows that are still leased to any worker. The rows are locked."""
    keys: dict[RunId, set[str]] = defaultdict(set)
    for settlement in settlements:
        keys[settlement.lease.run].add(key_of(settlement.lease.url))
    return {
        (run, row[0]): _LeasedRow(row[1], row[2], CountedRow(*row[3:]))
        for run, keys_of_run in keys.items()
        for row in select_in_batches(conn, _leased, keys_of_run, tenant=tenant, run=run)
    }


def _counted_after(before: CountedRow, settlement: Settlement, visit: tuple[Any, ...]) -> CountedRow:
    """A leased row after this visit was written to it. `visit`: see `_visit_tuple`."""
    values = dict(zip(VISIT_PARAMETERS, visit, strict=True))
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


def _visit_tuple(key: tuple[int, str, str], settlement: Settlement, columns: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a visit in the order of `VISIT_PARAMETERS`. `columns`: see `page_columns`."""
    verdict, effects = settlement.verdict, settlement.effects
    is_retry = verdict.state is UrlState.QUEUED
    proof = Proof.REDIRECT if verdict.state is UrlState.ALIAS else None
    return (
        verdict.state._value_,
        verdict.retry_at if is_retry else None,
        verdict.status_code,
        None if verdict.skip_reason is None else verdict.skip_reason._value_,
        storable(verdict.detail),
        storable(verdict.error),
        None if effects.alias_of is None else str(effects.alias_of),
        None if proof is None else proof._value_,
        *columns,
        effects.elapsed_s if effects.fetched else None,
        effects.body_bytes,
        None if effects.changed is None else int(effects.changed),
        head_text(effects.response_head),
        chain_text(effects.chain),
        settlement.at if effects.fetched else None,
        1 if is_retry else 0,
        1 if effects.fetched else 0,
        *key,
    )


def page_columns(page: PageUpdate) -> tuple[Any, ...]:
    """The values of the columns that `urls` and `pages` share, in the order of `VISIT_PARAMETERS`."""
    canonical = page.canonical
    return (
        storable(page.title),
        page.content_hash or None,
        page.novelty or None,
        # Longer than a key it could not be looked up, so it cannot prove a duplicate.
        None if canonical is None or len(canonical) > KEY_CHARS else str(canonical),
        key_of(page.identity) if page.identity else None,
        storable(page.content_type),
        page.word_count,
        int(page.noindex),
        page.document,
        page.snapshot,
        None if page.etag is None else storable(page.etag),
        None if page.last_modified is None else storable(page.last_modified),
        headers_text(page.headers),
        page.sketch or None,
        *_render_columns(page),
    )


def _render_columns(page: PageUpdate) -> tuple[str | None, str | None, BlobKey | None]:
    note = page.render
    return (None, None, page.screenshot) if note is None else (note.reason._value_, render_text(note), page.screenshot)


def _page_tuple(
    tenant: TenantId, site: int, settlement: Settlement, columns: tuple[Any, ...], fetched_at: float, lastmod: float | None
) -> tuple[Any, ...]:
    """The values of a page in the order of `PAGE_COLUMNS`. `columns`: see `page_columns`."""
    url, page = settlement.lease.url, settlement.effects.page
    assert page is not None  # only pages are written
    (title, content_hash, novelty, canonical, _, kind, word_count, noindex, document, snapshot, etag, last_modified,
     headers, sketch, render_reason, _, screenshot) = columns  # fmt: skip
    return (
        tenant, site, key_of(url), fetched_at, content_hash or "", novelty or "", document, etag, last_modified, lastmod,
        title or "", canonical, snapshot, word_count, noindex, kind, None, headers, render_reason, screenshot,
        str(url) if len(url) > KEY_CHARS else None, page.volatile or None, sketch,
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
