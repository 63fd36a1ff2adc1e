"""Deletion detection (presence of pages): ended runs decide which pages were removed from their site.

A run that was used for this has 1 in the column `presence_checked`. Pages that look gone, too many at once, are held
(`held = 1`) until a user confirms or rejects their deletion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import StoredEventKind
from sitelore.model.ids import RunId, SiteId, TenantId
from sitelore.model.search import PageInRun, Presence, PresenceChange, PresenceChanges, RunOutcome
from sitelore.model.settings import CrawlSettings, Pipeline, Scope
from sitelore.model.states import ENDED, RunState, SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.ports import PresenceCheck
from sitelore.store.frontier.claims import lock_runs
from sitelore.store.index.writes import drop_unsearchable
from sitelore.store.pages.site_urls import UrlIds
from sitelore.store.rows import maybe_url, settings_of, storable
from sitelore.store.runs.events import NewEvent, store_events
from sitelore.store.schema import pages, runs, site_urls, sites, urls, visits
from sitelore.store.statements import (
    BATCH,
    OF_RUN,
    OF_SITE,
    OF_VISIT,
    PAGE_KEY,
    PAGES_WITH_URL,
    RUN_NUMBER,
    SITE,
    TENANT,
    Statement,
    execute_many,
    select_in_batches,
    update_page,
)

_ENDED = sorted(state.value for state in ENDED)
_SCOPE_WIDTHS = {Scope.PREFIX: 0, Scope.ORIGIN: 1, Scope.HOST: 2, Scope.DOMAIN: 3}
_CUT_SHORT = sorted(
    reason.value
    for reason in (
        SkipReason.BUDGET, SkipReason.DEPTH, SkipReason.TRAP, SkipReason.CANCELLED, SkipReason.ROBOTS_UNREACHABLE,
    )
)  # fmt: skip
_NOT_READ = sorted(reason.value for reason in (SkipReason.TOO_LARGE, SkipReason.ADDRESS))

_STATES: dict[str | None, UrlState | None] = {None: None, **{state.value: state for state in UrlState}}
_REASONS: dict[str | None, SkipReason | None] = {None: None, **{reason.value: reason for reason in SkipReason}}
_PRESENCES = {presence.value: presence for presence in Presence}

_unchecked_runs = (
    sa.select(runs.c.id, runs.c.state, runs.c.settings, runs.c.finished_at, runs.c.created_at, runs.c.error)
    .where(runs.c.tenant_id == TENANT, runs.c.site_id == SITE, sa.text("presence_checked = 0"), runs.c.state.in_(_ENDED))
    .order_by(runs.c.finished_at, runs.c.id)
)
_last_checked_run = (
    sa.select(runs.c.id)
    .where(runs.c.tenant_id == TENANT, runs.c.site_id == SITE, sa.text("presence_checked = 1"))
    .order_by(runs.c.finished_at.desc(), runs.c.id.desc())
    .limit(1)
)
_held_urls = (
    sa.select(sa.func.coalesce(site_urls.c.long_url, site_urls.c.url))
    .select_from(PAGES_WITH_URL)
    .where(OF_SITE, sa.text("held = 1"))
    .order_by(site_urls.c.url)
)
# Documents are indexed like pages, whether they were visited as pages or as media.
_row_of_run = sa.and_(
    urls.c.tenant_id == TENANT,
    urls.c.run_number == RUN_NUMBER,
    urls.c.url_id == pages.c.url_id,
    urls.c.kind != sa.text("'sitemap'"),
)
_target = site_urls.alias("target_url")
# Pages that were fetched after the run ended are left out: the run says nothing about them.
_pages_with_rows = (
    sa.select(
        site_urls.c.url, site_urls.c.long_url, pages.c.presence, pages.c.soft_misses, urls.c.state, visits.c.status_code,
        urls.c.skip_reason, sa.func.coalesce(_target.c.long_url, _target.c.url),
    )
    .select_from(
        PAGES_WITH_URL.outerjoin(urls, _row_of_run)
        .outerjoin(visits, OF_VISIT)
        .outerjoin(_target, sa.and_(_target.c.tenant_id == TENANT, _target.c.id == urls.c.alias_of))
    )
    .where(OF_SITE, pages.c.fetched_at <= sa.bindparam("finished_at"))
    .order_by(site_urls.c.url)
)  # fmt: skip


def check_presence(
    conn: sa.Connection, tenant: TenantId, site: SiteId, decide: PresenceCheck, now: float
) -> list[PresenceChanges]:
    """Check the presence of the site's pages by every ended run that was not used for it yet, in the order of their ends."""
    _lock_site(conn, tenant, site)
    results = []
    for run in conn.execute(_unchecked_runs, {"tenant": tenant, "site": site}).all():
        result = decide(_outcome(conn, tenant, site, run))
        # Dated by the end of the run and not by this check, which may follow much later: `changes` compares two runs.
        _store_presence(conn, tenant, site, result.changed, run.finished_at or now)
        store_events(conn, tenant, _events(RunId(run.id), result, now))
        this_run = sa.and_(runs.c.tenant_id == tenant, runs.c.id == run.id)
        conn.execute(sa.update(runs).where(this_run).values(presence_checked=1))
        results.append(result)
    drop_unsearchable(conn, tenant, site)
    return results


def release_held(conn: sa.Connection, tenant: TenantId, site: SiteId, now: float, *, agreed: bool) -> int:
    """Delete the held pages (`agreed`), or keep them. Returns how many there were. Deletions are events of the last run."""
    _lock_site(conn, tenant, site)
    held = sa.update(pages).where(pages.c.tenant_id == tenant, pages.c.site_id == site, sa.text("held = 1"))
    if agreed:
        values = {"tenant": tenant, "site": site}
        run = conn.scalar(_last_checked_run, values)
        if run is not None:
            lock_runs(conn, tenant, [run])
            gone = conn.execute(_held_urls, values)
            store_events(conn, tenant, (NewEvent(run, StoredEventKind.PAGE_GONE, now, Url.trusted(url)) for [url] in gone))
        count = conn.execute(held.values(held=0, presence=Presence.GONE.value, presence_at=now)).rowcount
    else:
        count = conn.execute(held.values(held=0, soft_misses=0, evidence=None)).rowcount
    drop_unsearchable(conn, tenant, site)
    return count


def _lock_site(conn: sa.Connection, tenant: TenantId, site: SiteId) -> None:
    conn.execute(sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.id == site).with_for_update())


def _events(run: RunId, result: PresenceChanges, now: float) -> Iterator[NewEvent]:
    """An event for each page that is gone now, and one where deletions are held back."""
    for change in result.changed:
        if change.presence is Presence.GONE:
            yield NewEvent(run, StoredEventKind.PAGE_GONE, now, change.url)
    if result.held:
        yield NewEvent(run, StoredEventKind.DELETIONS_HELD, now, facts={"held": result.held})


def _outcome(conn: sa.Connection, tenant: TenantId, site: SiteId, run: Any) -> RunOutcome:
    values = {"tenant": tenant, "site": site, "run": run.id, "finished_at": run.finished_at or run.created_at}
    pages_in_run = tuple(
        PageInRun(
            Url.trusted(long_url or key), _PRESENCES[presence], soft_misses, _STATES[state], status_code, _REASONS[reason],
            maybe_url(alias_of),
        )
        for key, long_url, presence, soft_misses, state, status_code, reason, alias_of in conn.execute(_pages_with_rows, values)
    )  # fmt: skip
    return RunOutcome(RunId(run.id), _is_complete(conn, tenant, site, run), pages_in_run)


def _is_complete(conn: sa.Connection, tenant: TenantId, site: SiteId, run: Any) -> bool:
    """Whether the run saw every URL of the site, so that a page it did not see does not exist."""
    if run.state != RunState.COMPLETED.value:
        return False
    settings = settings_of(run.settings)
    if settings.scope is Scope.PREFIX or settings.include or settings.sitemap_only:
        return False
    if conn.execute(_not_visited, {"tenant": tenant, "run": run.id, "site": site}).first() is not None:
        return False
    return _covers_earlier_runs(conn, tenant, site, run, settings)


_was_page_before = sa.exists(sa.literal_column("1")).where(OF_SITE, pages.c.url_id == urls.c.url_id)
_not_visited = (
    sa.select(urls.c.url_id)
    .select_from(urls.outerjoin(visits, OF_VISIT))
    .where(OF_RUN, urls.c.kind != sa.text("'media'"))
    .where(
        sa.or_(
            urls.c.state.in_(["FAILED", "HTTP_TERMINAL", "DISCOVERED", "QUEUED", "IN_PROGRESS"]),
            visits.c.status_code >= 500,
            sa.and_(urls.c.state == "SKIPPED", urls.c.skip_reason.in_(_CUT_SHORT)),
            # A page that was readable before: its links were not seen. A URL that never was a page has no links to miss.
            sa.and_(urls.c.state == "FORBIDDEN", _was_page_before),
            sa.and_(urls.c.state == "SKIPPED", urls.c.skip_reason.in_(_NOT_READ), _was_page_before),
        )
    )
    .limit(1)
)


def _covers_earlier_runs(conn: sa.Connection, tenant: TenantId, site: SiteId, run: Any, settings: CrawlSettings) -> bool:
    """Whether the run started at all pages where earlier runs started, and had at least their scope."""
    of_site = sa.and_(runs.c.tenant_id == tenant, runs.c.site_id == site)
    earlier = sa.select(runs.c.settings).where(of_site, runs.c.id != run.id)
    texts = set(conn.scalars(earlier.where(runs.c.state.in_(_ENDED), runs.c.finished_at <= run.finished_at)))
    starts: set[str] = set()
    for before in map(settings_of, texts):
        if before.pipeline is Pipeline.UPDATE_DELTA and before.max_depth == 0:
            continue  # its seeds were a list of single pages, not starting points of the site
        if _SCOPE_WIDTHS[before.scope] > _SCOPE_WIDTHS[settings.scope] or not set(settings.exclude).issubset(before.exclude):
            return False
        if (before.discover_sitemaps and not settings.discover_sitemaps) or (
            before.follow_redirects and not settings.follow_redirects
        ):
            return False
        starts.update(url for raw in (*before.seeds, *before.sitemaps) if (url := Url.parse(raw)) is not None)
    start_ids = UrlIds(conn, tenant, site).find(starts)
    return not list(select_in_batches(conn, _pages_not_in_run, start_ids, tenant=tenant, site=site, run=run.id))


_pages_not_in_run = (
    sa.select(pages.c.url_id)
    .where(OF_SITE, pages.c.url_id.in_(BATCH))
    .where(pages.c.presence != "GONE", pages.c.alias_of.is_(None))
    .where(~sa.exists(sa.literal_column("1")).where(OF_RUN, urls.c.url_id == pages.c.url_id).correlate(pages))
    .limit(1)
)


def _store_presence(conn: sa.Connection, tenant: TenantId, site: SiteId, changed: Sequence[PresenceChange], at: float) -> None:
    url_ids = UrlIds(conn, tenant, site)
    url_ids.add(change.url for change in changed)
    by_id = {url_ids[change.url]: change for change in changed}
    rows = []
    for url_id, change in sorted(by_id.items()):
        presence, evidence = change.presence.value, storable(change.evidence)
        rows.append((presence, presence, at, evidence, change.soft_misses, int(change.held), tenant, site, url_id))
    execute_many(conn, _presence_statement, rows)


def _presence_statement(_dialect_name: str) -> Statement:
    c = pages.c
    changed_at = sa.case(
        (c.presence == sa.bindparam("same_presence", type_=sa.Text), c.presence_at), else_=sa.bindparam("at", type_=sa.Double)
    )
    statement = update_page(
        (c.presence, sa.bindparam("presence", type_=sa.Text)),
        (c.presence_at, changed_at),
        (c.evidence, sa.bindparam("evidence", type_=sa.Text)),
        (c.soft_misses, sa.bindparam("soft_misses", type_=sa.Integer)),
        (c.held, sa.bindparam("held", type_=sa.Integer)),
    )
    return statement, ("presence", "same_presence", "at", "evidence", "soft_misses", "held", *PAGE_KEY)
