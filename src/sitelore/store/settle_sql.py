"""Settle: everything that a batch of visits changes, in one transaction."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import PageFacts, Settlement
from sitelore.model.ids import BlobKey
from sitelore.model.states import Proof, UrlState
from sitelore.store.frontier_sql import chunks, lock_runs, offer
from sitelore.store.rows import chain_text, encode, headers_text, names_of, render_text, storable
from sitelore.store.schema import KEY_CHARS, key_of, runs, urls
from sitelore.store.statements import page_statement, redaction_statement, run_many, same_statement, visit_statement

_Key = tuple[str, str]


def settle(conn: sa.Connection, settlements: Sequence[Settlement]) -> list[bool]:
    """Write each verdict whose token still matches, with its effects.

    What is written does not depend on how visits are split into batches: rows are only ever written by the holder of their
    token, and what is shared (offers, counts, hosts) merges by minimum, sum and union.
    """
    sites = lock_runs(conn, (one.lease.run for one in settlements))
    held = _held(conn, settlements)
    accepted: list[bool] = []
    visits: list[tuple[Any, ...]] = []
    pages: dict[tuple[int, str], tuple[Any, ...]] = {}
    same: list[tuple[Any, ...]] = []
    for one in settlements:
        key = (one.lease.run, key_of(one.lease.url))
        token, lastmod = held.get(key, (None, None))
        accepted.append(token == one.lease.token)
        if not accepted[-1]:
            continue
        del held[key]  # the same lease twice in one batch settles once
        part = _NO_PAGE if one.effects.page is None else page_part(one.effects.page)
        visits.append(_visit_tuple(key, one, part))
        if one.effects.page is not None:
            site = sites[one.lease.run]
            fetched_at = one.at if one.effects.fetched else 0.0
            pages[site, key[1]] = _page_tuple(site, one, part, fetched_at, lastmod)
            known, document = one.lease.known, one.effects.page.document
            if one.effects.changed is False and known is not None and known.document != document:
                same.append((document, site, key[1], known.document))
    run_many(conn, visit_statement, visits)
    run_many(conn, same_statement, same)
    run_many(conn, page_statement, [pages[key] for key in sorted(pages)])
    written = [one for one, ok in zip(settlements, accepted, strict=True) if ok]
    offer(conn, ((one.lease.run, each) for one in written for each in one.effects.offers))
    _count_redactions(conn, written)
    _join_hosts(conn, written)
    return accepted


_leased_rows = (
    sa.select(urls.c.url, urls.c.token, urls.c.lastmod)
    .where(urls.c.run_id == sa.bindparam("run"), urls.c.url.in_(sa.bindparam("some", expanding=True)))
    .where(urls.c.state == sa.text("'IN_PROGRESS'"))
    .with_for_update()
)


def _held(conn: sa.Connection, settlements: Sequence[Settlement]) -> dict[_Key, tuple[int, float | None]]:
    """Token and lastmod of the rows that are still leased to someone."""
    keys: dict[str, list[str]] = defaultdict(list)
    for one in settlements:
        keys[one.lease.run].append(key_of(one.lease.url))
    held: dict[_Key, tuple[int, float | None]] = {}
    for run, wanted in keys.items():
        for some in chunks(sorted(set(wanted))):
            rows = conn.execute(_leased_rows, {"run": run, "some": some})
            held.update(((run, row[0]), (row[1], row[2])) for row in rows)
    return held


_NO_PAGE = (None, None, None, None, None, None, 0, 0, None, None, None, None, None, None, None, None, None)


def _visit_tuple(key: _Key, one: Settlement, part: tuple[Any, ...]) -> tuple[Any, ...]:
    """In the order of `VISIT_PARAMETERS`. `part` is the page's."""
    verdict, effects = one.verdict, one.effects
    again = verdict.state is UrlState.QUEUED
    proof = Proof.REDIRECT if verdict.state is UrlState.ALIAS else None
    return (
        verdict.state._value_,
        verdict.retry_at if again else None,
        verdict.status_code,
        None if verdict.skip_reason is None else verdict.skip_reason._value_,
        storable(verdict.detail),
        storable(verdict.error),
        None if effects.alias_of is None else str(effects.alias_of),
        None if proof is None else proof._value_,
        *part,
        effects.elapsed_s if effects.fetched else None,
        effects.body_bytes,
        None if effects.changed is None else int(effects.changed),
        chain_text(effects.chain),
        one.at if effects.fetched else None,
        1 if again else 0,
        1 if effects.fetched else 0,
        *key,
    )


def page_part(page: PageFacts) -> tuple[Any, ...]:
    """The columns that `urls` and `pages` share, in the order of `VISIT_PARAMETERS`."""
    canonical = page.canonical
    return (
        storable(page.title),
        page.content_hash or None,
        page.novelty or None,
        # Beyond the length of a key it could not be looked up, and proves nothing.
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
        *_render_part(page),
    )


def _render_part(page: PageFacts) -> tuple[str | None, str | None, BlobKey | None]:
    note = page.render
    return (None, None, page.screenshot) if note is None else (note.reason._value_, render_text(note), page.screenshot)


def _page_tuple(site: int, one: Settlement, part: tuple[Any, ...], fetched_at: float, lastmod: float | None) -> tuple[Any, ...]:
    """In the order of `PAGE_COLUMNS`. `part` is the page's."""
    url, page = one.lease.url, one.effects.page
    assert page is not None  # only then there is a row to write
    (title, content_hash, novelty, canonical, _, kind, word_count, noindex, document, snapshot, etag, last_modified,
     headers, sketch, render_reason, _, screenshot) = part  # fmt: skip
    return (
        site, key_of(url), fetched_at, content_hash or "", novelty or "", document, etag, last_modified, lastmod, title or "",
        canonical, snapshot, word_count, noindex, kind, None, headers, render_reason, screenshot,
        str(url) if len(url) > KEY_CHARS else None, page.volatile or None, sketch,
    )  # fmt: skip


def _count_redactions(conn: sa.Connection, settlements: Sequence[Settlement]) -> None:
    found: Counter[_Key] = Counter()
    for one in settlements:
        for rule, count in one.effects.redactions.items():
            found[one.lease.run, rule] += count
    run_many(conn, redaction_statement, [(*key, found[key]) for key in sorted(found)])


def _join_hosts(conn: sa.Connection, settlements: Sequence[Settlement]) -> None:
    joining: dict[str, set[str]] = defaultdict(set)
    for one in settlements:
        if one.effects.joins_host is not None:
            joining[one.lease.run].add(one.effects.joins_host)
    for run, hosts in joining.items():
        joined = names_of(conn.scalar(sa.select(runs.c.joined_hosts).where(runs.c.id == run)) or "[]")
        if not hosts.issubset(joined):
            text = encode(sorted(hosts.union(joined))).decode()
            conn.execute(sa.update(runs).where(runs.c.id == run).values(joined_hosts=text))
