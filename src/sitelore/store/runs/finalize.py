"""Finalisation of a run: every row gets a final state, every alias its final target, the site its render statistics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from sitelore.model.frontier import Hop
from sitelore.model.ids import RunId, TenantId
from sitelore.model.rendering import NEEDED, SiteRendering
from sitelore.model.settings import RenderMode
from sitelore.model.states import Proof, RunState, SkipReason
from sitelore.model.url import Url
from sitelore.store.frontier.claims import lock_runs
from sitelore.store.rows import chain_text, encode, hops, is_kept, settings_of, site_rendering_of
from sitelore.store.runs.counts import recount
from sitelore.store.schema import key_of, runs, sites, urls
from sitelore.store.statements import (
    BATCH,
    alias_target_statement,
    execute_many,
    redirect_loop_statement,
    select_in_batches,
)

REDIRECT_LOOP = "redirect_loop: the redirects lead back to where they started"

_MAX_HOPS = 100
"""Longer than any redirect chain that a crawl follows; stops the search in a damaged database."""
_NEEDED = sorted(reason.value for reason in NEEDED)


def finish_rows(conn: sa.Connection, tenant: TenantId, run: RunId) -> None:
    """Skip rows that were never admitted or visited, then resolve every alias to its final target. Safe to repeat."""
    lock_runs(conn, tenant, [run])
    c = urls.c
    of_run = sa.and_(c.tenant_id == tenant, c.run_id == run)
    skipped: dict[str, Any] = {"state": sa.text("'SKIPPED'"), "claimed_by": None, "lease_until": None, "retry_at": None}
    not_admitted = sa.update(urls).where(of_run, c.state == sa.text("'DISCOVERED'"))
    state = conn.scalar(sa.select(runs.c.state).where(runs.c.tenant_id == tenant, runs.c.id == run))
    is_cancelled = state == RunState.CANCELLED
    reason = SkipReason.CANCELLED if is_cancelled else SkipReason.BUDGET
    conn.execute(not_admitted.values(skip_reason=reason.value, **skipped))
    not_visited = sa.update(urls).where(of_run, c.state.in_(["QUEUED", "IN_PROGRESS"]), c.seq.is_not(None))
    conn.execute(not_visited.values(skip_reason=SkipReason.CANCELLED.value, **skipped))
    _resolve_aliases(conn, tenant, run)
    run_row = conn.execute(sa.select(runs.c.site_id, runs.c.media_admitted).where(runs.c.tenant_id == tenant, runs.c.id == run))
    for site, media_admitted in run_row.all():
        if media_admitted:
            from sitelore.store.platform.media import link_redirects  # noqa: PLC0415 - few runs download media

            link_redirects(conn, tenant, site, run)
    recount(conn, tenant, run)


@dataclass(frozen=True, slots=True)
class _Alias:
    """A row that redirects to, or was merged into, another URL."""

    hop: Hop
    target: str
    proof: str
    reason: tuple[str | None, ...]
    """Error, skip reason and detail of the row."""
    chain: tuple[Hop, ...]


def _resolve_aliases(conn: sa.Connection, tenant: TenantId, run: RunId) -> None:
    """Store for every alias its final target, all redirects on the way, and the reason when the target is not a page."""
    aliases = _aliases(conn, tenant, run)
    loops = _redirect_loops(aliases)
    execute_many(conn, redirect_loop_statement, [(REDIRECT_LOOP, tenant, run, key) for key in sorted(loops)])
    for key in loops:
        del aliases[key]
    resolved = {key: _resolve(key, aliases) for key in aliases}
    reasons = _reasons_of_failed_targets(conn, tenant, run, {key_of(target) for target, _ in resolved.values()})
    changes = []
    for key in sorted(aliases):
        alias, (target, redirects) = aliases[key], resolved[key]
        reason, chain = alias.reason, alias.chain
        if alias.proof == Proof.REDIRECT:
            reason = reasons.get(key_of(target), reason)
            # A chain stored by an earlier call is longer: since then every alias on it leads straight to the target.
            chain = chain if chain[:1] == redirects[:1] and len(chain) > len(redirects) else redirects
        if (target, reason, chain) != (alias.target, alias.reason, alias.chain):
            changes.append((target, *reason, chain_text(chain), tenant, run, key))
    execute_many(conn, alias_target_statement, changes)


def _aliases(conn: sa.Connection, tenant: TenantId, run: RunId) -> dict[str, _Alias]:
    c = urls.c
    query = sa.select(c.url, c.long_url, c.status_code, c.alias_of, c.proof, c.error, c.skip_reason, c.detail, c.chain)
    query = query.where(c.tenant_id == tenant, c.run_id == run, c.state == sa.text("'ALIAS'"))
    query = query.where(c.alias_of.is_not(None), c.seq.is_not(None))
    return {
        row[0]: _Alias(Hop(Url.trusted(row[1] or row[0]), row[2] or 0), row[3], row[4], tuple(row[5:8]), hops(row[8]))
        for row in conn.execute(query)
    }


def _redirect_loops(aliases: dict[str, _Alias]) -> set[str]:
    """Redirects that lead back to themselves. Each was reached by a link of its own, so none had the others in its chain."""
    loops: set[str] = set()
    finished: set[str] = set()
    for start in aliases:
        path: dict[str, None] = {}
        key = start
        while key in aliases and key not in finished and key not in path:
            path[key] = None
            key = key_of(aliases[key].target)
        if key in path:
            keys = list(path)
            loops.update(keys[keys.index(key) :])
        finished.update(path)
    return loops


def _resolve(key: str, aliases: dict[str, _Alias]) -> tuple[str, tuple[Hop, ...]]:
    """The final target of an alias and the redirects on the way. Merged pages are not redirects."""
    redirects: list[Hop] = []
    target = ""
    for _ in range(_MAX_HOPS):
        alias = aliases.get(key)
        if alias is None:
            break
        if alias.proof == Proof.REDIRECT:
            redirects.append(alias.hop)
        target = alias.target
        key = key_of(target)
    return target, tuple(redirects)


def _reasons_of_failed_targets(
    conn: sa.Connection, tenant: TenantId, run: RunId, keys: Iterable[str]
) -> dict[str, tuple[str | None, ...]]:
    """Error, skip reason and detail of the targets that are not pages."""
    c = urls.c
    # `is_kept` is NULL, not false, where skip_reason is NULL.
    is_page = sa.func.coalesce(is_kept(), sa.false())
    query = sa.select(c.url, c.error, c.skip_reason, c.detail)
    query = query.where(
        c.tenant_id == tenant, c.run_id == run, c.url.in_(BATCH), c.state != sa.text("'ALIAS'"), sa.not_(is_page)
    )
    return {row[0]: tuple(row[1:]) for row in select_in_batches(conn, query, keys)}


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
        needed_browser = sa.case((c.render_reason.in_(_NEEDED), 1), (c.render_reason.is_(None), 0))
        query = sa.select(sa.func.sum(needed_browser), sa.func.count(needed_browser))
        query = query.where(c.tenant_id == tenant, c.run_id == run, is_kept(), c.fetches > 0, c.state == sa.text("'VISITED'"))
        needed, total = conn.execute(query).one()
        if total:
            browser, http = int(needed), int(total - needed)
    text = encode(SiteRendering(before.runs + 1, browser, http)).decode()
    conn.execute(sa.update(sites).where(this_site).values(rendering=text))
