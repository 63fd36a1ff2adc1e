"""Decides after a run which pages of its site are present, gone or unknown.

A page is gone only with evidence: a 404 or 410, two soft 404s in a row, a redirect or merge into another page, or a complete
crawl that found no link to it. A page that could not be checked is unknown, and its stored content stays. When a large share
of a site appears to be gone at once, an outage or a bug is more likely: those pages are held until a user confirms.
"""

from __future__ import annotations

from sitelore.model.search import PageInRun, Presence, PresenceChange, PresenceChanges, RunOutcome
from sitelore.model.states import KEPT, REDIRECT_STATES, UNCHANGED, SkipReason, UrlState

HELD_SHARE = 0.3
"""Share of a site's pages: when more than this appear to be gone, they are held."""
HELD_PAGES = 3
"""Number of pages of a small site that may disappear at once without being held, unless they are all of its pages."""
SOFT_MISSES = 2

_MOVED_STATES = frozenset(REDIRECT_STATES.values()) | {UrlState.ALIAS}
# Robots.txt, scope or settings excluded these from the run, which says nothing about whether they exist.
_NOT_CHECKED = frozenset(SkipReason) - UNCHANGED


def check_presence(outcome: RunOutcome) -> PresenceChanges:
    """The changes of presence that follow from a run."""
    results = {page.url: _presence(page, outcome) for page in outcome.pages}
    before = {page.url: page for page in outcome.pages}
    gone = [new for new in results.values() if new.presence is Presence.GONE and before[new.url].presence is not Presence.GONE]
    present = sum(page.presence is not Presence.GONE for page in outcome.pages)
    # A page that became an alias is not lost: its content is at the target.
    lost = [new for new in gone if before[new.url].state not in _MOVED_STATES]
    is_held = len(lost) > HELD_SHARE * present and (len(lost) > HELD_PAGES or len(lost) == present)
    changes = []
    for url, result in results.items():
        change = result
        if is_held and result in lost:
            change = PresenceChange(url, Presence.UNKNOWN, result.evidence, result.soft_misses, held=True)
        if _differs(before[url], change):
            changes.append(change)
    return PresenceChanges(tuple(changes), held=len(lost) if is_held else 0, gone=len(gone) - (len(lost) if is_held else 0))


def _presence(page: PageInRun, outcome: RunOutcome) -> PresenceChange:
    """The presence of one page, judged without other pages."""
    state, url = page.state, page.url
    if state in KEPT or (state is UrlState.SKIPPED and page.skip_reason in UNCHANGED):
        return PresenceChange(url, Presence.PRESENT, "it was gone before" if page.presence is Presence.GONE else "")
    if state is None:
        if not outcome.is_complete:
            return _unchanged_presence(page, "the run did not reach it, and did not crawl the whole site")
        return PresenceChange(url, Presence.GONE, "a complete crawl of the site found no link to it")
    if state is UrlState.NOT_FOUND:
        return PresenceChange(url, Presence.GONE, f"the server answered {page.status_code}")
    if state is UrlState.SOFT_404:
        misses = page.soft_misses + 1
        if misses >= SOFT_MISSES or page.presence is Presence.GONE:
            return PresenceChange(url, Presence.GONE, f"a soft 404, {misses} times in a row", misses)
        return PresenceChange(url, Presence.UNKNOWN, "a soft 404, once", misses)
    if state in _MOVED_STATES:
        target = f" to {page.alias_of}" if page.alias_of is not None else ""
        return PresenceChange(url, Presence.GONE, f"it redirects{target}")
    return _unchanged_presence(page, _reason_unknown(page))


def _reason_unknown(page: PageInRun) -> str:
    if page.state is UrlState.SKIPPED and page.skip_reason in _NOT_CHECKED:
        return f"it was not checked: {page.skip_reason}"
    status = f", the server answered {page.status_code}" if page.status_code else ""
    return f"it could not be checked: {page.state}{status}"


def _unchanged_presence(page: PageInRun, reason: str) -> PresenceChange:
    """Without evidence a page is unknown; one that was gone with evidence stays gone."""
    if page.presence is Presence.GONE:
        return PresenceChange(page.url, Presence.GONE, "", page.soft_misses)
    return PresenceChange(page.url, Presence.UNKNOWN, reason, page.soft_misses)


def _differs(before: PageInRun, now: PresenceChange) -> bool:
    return (
        now.presence is not before.presence
        or now.soft_misses != before.soft_misses
        or now.held
        or now.presence is Presence.UNKNOWN
    )
