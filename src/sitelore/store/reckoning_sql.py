"""What runs say about pages that are no longer there. The decision itself is a pure function that the caller brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.ids import RunId, SiteId
from sitelore.model.search import PageInRun, Presence, PresenceChange, PresenceChanges, RunOutcome
from sitelore.model.settings import CrawlSettings, Pipeline, Scope
from sitelore.model.states import ENDED, RunState, SkipReason, UrlState
from sitelore.model.url import Url
from sitelore.ports import PresenceCheck
from sitelore.store.frontier_sql import chunks as pieces
from sitelore.store.indexing_sql import drop_unsearchable
from sitelore.store.rows import maybe_url, settings_of, storable
from sitelore.store.schema import key_of, pages, runs, sites, urls
from sitelore.store.statements import run_many

_ENDED = sorted(state.value for state in ENDED)
_WIDTHS = {Scope.PREFIX: 0, Scope.ORIGIN: 1, Scope.HOST: 2, Scope.DOMAIN: 3}
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

_site = sa.bindparam("site", type_=sa.Integer)
_run = sa.bindparam("run", type_=sa.Text)
_to_reckon = (
    sa.select(runs.c.id, runs.c.state, runs.c.settings, runs.c.finished_at, runs.c.created_at, runs.c.error)
    .where(runs.c.site_id == _site, sa.text("reckoned = 0"), runs.c.state.in_(_ENDED))
    .order_by(runs.c.finished_at, runs.c.id)
)
_of_run = sa.and_(urls.c.run_id == _run, urls.c.url == pages.c.url, urls.c.kind == sa.text("'page'"))
# What a later visit has found is not for this run to say: it did not see it.
_standings = (
    sa.select(
        pages.c.url, pages.c.long_url, pages.c.presence, pages.c.soft_misses, urls.c.state, urls.c.status_code,
        urls.c.skip_reason, urls.c.alias_of,
    )
    .select_from(pages.outerjoin(urls, _of_run))
    .where(pages.c.site_id == _site, pages.c.fetched_at <= sa.bindparam("finished_at", type_=sa.Double))
    .order_by(pages.c.url)
)  # fmt: skip


def check_presence(conn: sa.Connection, site: SiteId, decide: PresenceCheck, now: float) -> list[PresenceChanges]:
    """Let every run that has ended, and was not asked yet, say which pages are gone, in the order in which they ended."""
    conn.execute(sa.select(sites.c.id).where(sites.c.id == site).with_for_update())
    reckonings = []
    for run in conn.execute(_to_reckon, {"site": site}).all():
        reckoning = decide(_outcome(conn, site, run))
        _stand(conn, site, reckoning.changed, now)
        conn.execute(sa.update(runs).where(runs.c.id == run.id).values(reckoned=1))
        reckonings.append(reckoning)
    drop_unsearchable(conn, site)
    return reckonings


def release_held(conn: sa.Connection, site: SiteId, now: float, agreed: bool) -> int:
    """Pages that look gone, all at once: somebody agrees, or they stay."""
    conn.execute(sa.select(sites.c.id).where(sites.c.id == site).with_for_update())
    held = sa.update(pages).where(pages.c.site_id == site, sa.text("held = 1"))
    if agreed:
        count = conn.execute(held.values(held=0, presence=Presence.GONE.value, presence_at=now)).rowcount
    else:
        count = conn.execute(held.values(held=0, soft_misses=0, evidence=None)).rowcount
    drop_unsearchable(conn, site)
    return count


def _outcome(conn: sa.Connection, site: SiteId, run: Any) -> RunOutcome:
    rows = conn.execute(_standings, {"site": site, "run": run.id, "finished_at": run.finished_at or run.created_at})
    met = tuple(
        PageInRun(
            Url.trusted(long_url or key), _PRESENCES[presence], soft_misses, _STATES[state], status_code, _REASONS[reason],
            maybe_url(alias_of),
        )
        for key, long_url, presence, soft_misses, state, status_code, reason, alias_of in rows
    )  # fmt: skip
    return RunOutcome(RunId(run.id), _is_complete(conn, site, run), met)


def _is_complete(conn: sa.Connection, site: SiteId, run: Any) -> bool:
    """Whether the run looked at every URL of the site, so that a page which it did not meet is not there."""
    if run.state != RunState.COMPLETED.value:
        return False
    settings = settings_of(run.settings)
    if settings.scope is Scope.PREFIX or settings.include or settings.sitemap_only:
        return False
    if conn.execute(_left_out, {"run": run.id, "site": site}).first() is not None:
        return False
    return _is_as_wide_as_before(conn, site, run, settings)


_known_page = sa.exists(sa.literal_column("1")).where(pages.c.site_id == _site, pages.c.url == urls.c.url)
_left_out = (
    sa.select(urls.c.url)
    .where(urls.c.run_id == _run)
    .where(
        sa.or_(
            urls.c.state.in_(["FAILED", "HTTP_TERMINAL", "DISCOVERED", "QUEUED", "IN_PROGRESS"]),
            urls.c.status_code >= 500,
            sa.and_(urls.c.state == "SKIPPED", urls.c.skip_reason.in_(_CUT_SHORT)),
            # The links of a page that was readable before were not seen. An address that never was a page has none to miss.
            sa.and_(urls.c.state == "FORBIDDEN", _known_page),
            sa.and_(urls.c.state == "SKIPPED", urls.c.skip_reason.in_(_NOT_READ), _known_page),
        )
    )
    .limit(1)
)


def _is_as_wide_as_before(conn: sa.Connection, site: SiteId, run: Any, settings: CrawlSettings) -> bool:
    """A run that began elsewhere or was told to go less far than an earlier one says nothing about what that one found."""
    earlier = sa.select(runs.c.settings).where(runs.c.site_id == site, runs.c.id != run.id)
    texts = set(conn.scalars(earlier.where(runs.c.state.in_(_ENDED), runs.c.finished_at <= run.finished_at)))
    begun: set[str] = set()
    for one in map(settings_of, texts):
        if one.pipeline is Pipeline.UPDATE_DELTA and one.max_depth == 0:
            continue  # told where to look, page by page: its seeds are no place where the site begins
        if _WIDTHS[one.scope] > _WIDTHS[settings.scope] or not set(settings.exclude).issubset(one.exclude):
            return False
        if (one.discover_sitemaps and not settings.discover_sitemaps) or (
            one.follow_redirects and not settings.follow_redirects
        ):
            return False
        begun.update(key_of(url) for raw in (*one.seeds, *one.sitemaps) if (url := Url.parse(raw)) is not None)
    return not any(
        conn.execute(_not_met, {"site": site, "run": run.id, "some": some}).first() for some in pieces(sorted(begun))
    )


_not_met = (
    sa.select(pages.c.url)
    .where(pages.c.site_id == _site, pages.c.url.in_(sa.bindparam("some", expanding=True)))
    .where(pages.c.presence != "GONE", pages.c.alias_of.is_(None))
    .where(~sa.exists(sa.literal_column("1")).where(urls.c.run_id == _run, urls.c.url == pages.c.url))
    .limit(1)
)
"""Pages at which an earlier run began, and which this one did not come by."""


def _stand(conn: sa.Connection, site: SiteId, changed: Sequence[PresenceChange], now: float) -> None:
    rows = [
        (one.presence.value, one.presence.value, now, storable(one.evidence), one.soft_misses, int(one.held), site, key)
        for key, one in sorted({key_of(one.url): one for one in changed}.items())
    ]
    run_many(conn, _standing, rows)


def _standing(_dialect_name: str) -> tuple[sa.UpdateBase, tuple[str, ...]]:
    c = pages.c
    other = sa.case(
        (c.presence == sa.bindparam("its_presence", type_=sa.Text), c.presence_at), else_=sa.bindparam("now", type_=sa.Double)
    )
    statement = sa.update(pages).ordered_values(
        (c.presence, sa.bindparam("presence", type_=sa.Text)),
        (c.presence_at, other),
        (c.evidence, sa.bindparam("evidence", type_=sa.Text)),
        (c.soft_misses, sa.bindparam("soft_misses", type_=sa.Integer)),
        (c.held, sa.bindparam("held", type_=sa.Integer)),
    )
    where = statement.where(c.site_id == sa.bindparam("the_site"), c.url == sa.bindparam("the_url"))
    return where, ("presence", "its_presence", "now", "evidence", "soft_misses", "held", "the_site", "the_url")
