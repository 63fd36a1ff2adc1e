"""Finalisation of a run: every row gets a final state, every alias its final target, the site its render statistics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import Hop
from sitelore.model.ids import RunId, TenantId
from sitelore.model.response import NEEDED, SiteRendering
from sitelore.model.settings import RenderMode
from sitelore.model.states import Proof, RunState, SkipReason
from sitelore.model.url import Url
from sitelore.store.frontier.claims import NumberedRun, lock_runs
from sitelore.store.rows import chain_text, encode, hops, is_kept, settings_of, site_rendering_of
from sitelore.store.runs.counts import recount
from sitelore.store.schema import runs, site_urls, sites, urls, visits
from sitelore.store.statements import (
    BATCH,
    OF_RUN,
    OF_VISIT,
    WITH_URL,
    alias_target_statement,
    execute_many,
    redirect_loop_statement,
    select_in_batches,
    visit_error_statement,
)

REDIRECT_LOOP = "redirect_loop: the redirects lead back to where they started"

_MAX_HOPS = 100
"""Longer than any redirect chain that a crawl follows; stops the search in a damaged database."""
_NEEDED = sorted(reason.value for reason in NEEDED)


def finish_rows(conn: sa.Connection, tenant: TenantId, run: RunId) -> None:
    """Skip rows that were never admitted or visited, then resolve every alias to its final target. Safe to repeat."""
    current = lock_runs(conn, tenant, [run]).get(run)
    if current is None:
        return
    c = urls.c
    of_run = sa.and_(c.tenant_id == tenant, c.run_number == current.number)
    skipped: dict[str, Any] = {"state": sa.text("'SKIPPED'"), "claimed_by": None, "lease_until": None, "retry_at": None}
    not_admitted = sa.update(urls).where(of_run, c.state == sa.text("'DISCOVERED'"))
    state = conn.scalar(sa.select(runs.c.state).where(runs.c.tenant_id == tenant, runs.c.id == run))
    is_cancelled = state == RunState.CANCELLED
    reason = SkipReason.CANCELLED if is_cancelled else SkipReason.BUDGET
    conn.execute(not_admitted.values(skip_reason=reason.value, **skipped))
    not_visited = sa.update(urls).where(of_run, c.state.in_(["QUEUED", "IN_PROGRESS"]), c.seq.is_not(None))
    conn.execute(not_visited.values(skip_reason=SkipReason.CANCELLED.value, **skipped))
    _resolve_aliases(conn, tenant, current)
    if conn.scalar(sa.select(runs.c.media_admitted).where(runs.c.tenant_id == tenant, runs.c.id == run)):
        from sitelore.store.platform.media import link_redirects  # noqa: PLC0415 - few runs download media

        link_redirects(conn, tenant, current.site, run)
    recount(conn, tenant, run)


@dataclass(frozen=True, slots=True)
class _Alias:
    """A row that redirects to, or was merged into, another URL."""

    hop: Hop
    target: int
    """The id of the other URL."""
    proof: str
    reason: tuple[str | None, ...]
    """Error, skip reason and detail of the row."""
    chain: tuple[Hop, ...]


def _resolve_aliases(conn: sa.Connection, tenant: TenantId, run: NumberedRun) -> None:
    """Store for every alias its final target, all redirects on the way, and the reason when the target is not a page."""
    key_of_run = (tenant, run.number)
    aliases = _aliases(conn, tenant, run.id)
    loops = _redirect_loops(aliases)
    execute_many(conn, redirect_loop_statement, [(*key_of_run, url_id) for url_id in sorted(loops)])
    errors: list[tuple[Any, ...]] = [(REDIRECT_LOOP, *key_of_run, url_id) for url_id in sorted(loops)]
    for key in loops:
        del aliases[key]
    resolved = {key: _resolve(key, aliases) for key in aliases}
    reasons = _reasons_of_failed_targets(conn, tenant, run.id, {target for target, _ in resolved.values()})
    changes = []
    for key in sorted(aliases):
        alias, (target, redirects) = aliases[key], resolved[key]
        reason, chain = alias.reason, alias.chain
        if alias.proof == Proof.REDIRECT:
            reason = reasons.get(target, reason)
            # A chain stored by an earlier call is longer: since then every alias on it leads straight to the target.
            chain = chain if chain[:1] == redirects[:1] and len(chain) > len(redirects) else redirects
        if (target, reason, chain) != (alias.target, alias.reason, alias.chain):
            error, skip_reason, detail = reason
            changes.append((target, skip_reason, detail, chain_text(chain), *key_of_run, key))
            errors.append((error, *key_of_run, key))
    execute_many(conn, alias_target_statement, changes)
    execute_many(conn, visit_error_statement, errors)


def _aliases(conn: sa.Connection, tenant: TenantId, run: RunId) -> dict[int, _Alias]:
    """The aliases of a run, by the ids of their URLs."""
    c = urls.c
    query = sa.select(
        c.url_id, *site_urls.c["url", "long_url"], visits.c.status_code, c.alias_of, c.proof, visits.c.error, c.skip_reason,
        c.detail, c.chain,
    )  # fmt: skip
    query = query.select_from(WITH_URL.outerjoin(visits, OF_VISIT)).where(OF_RUN, c.state == sa.text("'ALIAS'"))
    query = query.where(c.alias_of.is_not(None), c.seq.is_not(None))
    return {
        row[0]: _Alias(Hop(Url.trusted(row[2] or row[1]), row[3] or 0), row[4], row[5], tuple(row[6:9]), hops(row[9]))
        for row in conn.execute(query, {"tenant": tenant, "run": run})
    }


def _redirect_loops(aliases: dict[int, _Alias]) -> set[int]:
    """Redirects that form a loop. Each was reached by a separate link, so none had the others in its chain."""
    loops: set[int] = set()
    finished: set[int] = set()
    for start in aliases:
        path: dict[int, None] = {}
        key = start
        while key in aliases and key not in finished and key not in path:
            path[key] = None
            key = aliases[key].target
        if key in path:
            keys = list(path)
            loops.update(keys[keys.index(key) :])
        finished.update(path)
    return loops


def _resolve(key: int, aliases: dict[int, _Alias]) -> tuple[int, tuple[Hop, ...]]:
    """The final target of an alias and the redirects on the way. Merged pages are not redirects."""
    redirects: list[Hop] = []
    for _ in range(_MAX_HOPS):
        alias = aliases.get(key)
        if alias is None:
            break
        if alias.proof == Proof.REDIRECT:
            redirects.append(alias.hop)
        key = alias.target
    return key, tuple(redirects)


def _reasons_of_failed_targets(
    conn: sa.Connection, tenant: TenantId, run: RunId, url_ids: Iterable[int]
) -> dict[int, tuple[str | None, ...]]:
    """Error, skip reason and detail of the targets that are not pages."""
    c = urls.c
    # `is_kept` is NULL, not false, where skip_reason is NULL.
    is_page = sa.func.coalesce(is_kept(), sa.false())
    query = sa.select(c.url_id, visits.c.error, c.skip_reason, c.detail).select_from(urls.outerjoin(visits, OF_VISIT))
    query = query.where(OF_RUN, c.url_id.in_(BATCH), c.state != sa.text("'ALIAS'"), sa.not_(is_page))
    return {row[0]: tuple(row[1:]) for row in select_in_batches(conn, query, url_ids, tenant=tenant, run=run)}


def update_render_stats(conn: sa.Connection, tenant: TenantId, run: RunId) -> None:
    """Add an ended run to its site's render statistics: how many pages needed a browser, and how many did not.

    Only runs that were free to choose say that. The caller has locked the site's row.
    """
    this_run = sa.and_(runs.c.tenant_id == tenant, runs.c.id == run)
    site, settings = conn.execute(sa.select(runs.c.site_id, runs.c.settings).where(this_run)).one()
    this_site = sa.and_(sites.c.tenant_id == tenant, sites.c.id == site)
    before = site_rendering_of(conn.scalar(sa.select(sites.c.rendering).where(this_site)))
    browser, http = before.browser, before.http
    if settings_of(settings).rendering.mode is RenderMode.AUTO:
        c = urls.c
        render_reason = visits.c.render_reason
        needed_browser = sa.case((render_reason.in_(_NEEDED), 1), (render_reason.is_(None), 0))
        query = sa.select(sa.func.sum(needed_browser), sa.func.count(needed_browser)).select_from(urls.join(visits, OF_VISIT))
        query = query.where(OF_RUN, is_kept(), c.fetches > 0, c.state == sa.text("'VISITED'"))
        needed, total = conn.execute(query, {"tenant": tenant, "run": run}).one()
        if total:
            browser, http = int(needed), int(total - needed)
    text = encode(SiteRendering(before.runs + 1, browser, http)).decode()
    conn.execute(sa.update(sites).where(this_site).values(rendering=text))
