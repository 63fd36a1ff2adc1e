"""After a run: which pages of its site are there, which are gone, and of which nobody can say.

A page is gone only with evidence: the server says so (404, 410), it was a soft 404 twice in a row, it has become another page's
alias, or a complete crawl of the site did not come by it. A page that could not be looked at is unknown, and what it last said
stays. Where too much of a site looks gone at once, it is more likely that something is wrong with the site or with us: those
pages are held until somebody agrees.
"""

from __future__ import annotations

from sitelore.model.search import PageInRun, Presence, PresenceChange, PresenceChanges, RunOutcome
from sitelore.model.states import REDIRECT_STATES, UNCHANGED, SkipReason, UrlState

HELD_SHARE = 0.3
"""Of a site's pages: beyond this, pages that look gone are held."""
HELD_PAGES = 3
"""So many pages may go at once on a small site, unless they are all it has."""
SOFT_MISSES = 2

_THERE = frozenset({UrlState.VISITED, UrlState.NOT_MODIFIED})
_MOVED = frozenset(REDIRECT_STATES.values()) | {UrlState.ALIAS}
# The site itself, or the person who set the crawl up, no longer wants these looked at; that says nothing of their being there.
_NOT_LOOKED_AT = frozenset(SkipReason) - UNCHANGED


def check_presence(outcome: RunOutcome) -> PresenceChanges:
    """What this run changes in what is known of the site's pages."""
    seen = {page.url: _standing(page, outcome) for page in outcome.pages}
    before = {page.url: page for page in outcome.pages}
    going = [new for new in seen.values() if new.presence is Presence.GONE and before[new.url].presence is not Presence.GONE]
    there = sum(page.presence is not Presence.GONE for page in outcome.pages)
    # A page that has become another page's alias is not lost: what it said is said there.
    lost = [new for new in going if before[new.url].state not in _MOVED]
    is_held = len(lost) > HELD_SHARE * there and (len(lost) > HELD_PAGES or len(lost) == there)
    changed = []
    for url, new in seen.items():
        kept = new
        if is_held and new in lost:
            kept = PresenceChange(url, Presence.UNKNOWN, new.evidence, new.soft_misses, held=True)
        if _differs(before[url], kept):
            changed.append(kept)
    return PresenceChanges(tuple(changed), held=len(lost) if is_held else 0, gone=len(going) - (len(lost) if is_held else 0))


def _standing(page: PageInRun, outcome: RunOutcome) -> PresenceChange:
    """One page by itself."""
    state, url = page.state, page.url
    if state in _THERE or (state is UrlState.SKIPPED and page.skip_reason in UNCHANGED):
        return PresenceChange(url, Presence.PRESENT)
    if state is None:
        if not outcome.is_complete:
            return _as_before(page, "the run did not come by it, and did not look at the whole site")
        return PresenceChange(url, Presence.GONE, "a complete crawl of the site did not come by it")
    if state is UrlState.NOT_FOUND:
        return PresenceChange(url, Presence.GONE, f"the server answered {page.status_code}")
    if state is UrlState.SOFT_404:
        misses = page.soft_misses + 1
        if misses >= SOFT_MISSES or page.presence is Presence.GONE:
            return PresenceChange(url, Presence.GONE, f"a soft 404, {misses} times in a row", misses)
        return PresenceChange(url, Presence.UNKNOWN, "a soft 404, once", misses)
    if state in _MOVED:
        target = f" to {page.alias_of}" if page.alias_of is not None else ""
        return PresenceChange(url, Presence.GONE, f"it leads{target}")
    return _as_before(page, _why_unknown(page))


def _why_unknown(page: PageInRun) -> str:
    if page.state is UrlState.SKIPPED and page.skip_reason in _NOT_LOOKED_AT:
        return f"it was not looked at: {page.skip_reason}"
    status = f", the server answered {page.status_code}" if page.status_code else ""
    return f"it could not be looked at: {page.state}{status}"


def _as_before(page: PageInRun, why: str) -> PresenceChange:
    """Nobody knows. What was gone with evidence stays gone."""
    if page.presence is Presence.GONE:
        return PresenceChange(page.url, Presence.GONE, "", page.soft_misses)
    return PresenceChange(page.url, Presence.UNKNOWN, why, page.soft_misses)


def _differs(before: PageInRun, now: PresenceChange) -> bool:
    return (
        now.presence is not before.presence
        or now.soft_misses != before.soft_misses
        or now.held
        or now.presence is Presence.UNKNOWN
    )
