"""States of URLs and runs, the allowed transitions between them, and the reasons of skipped URLs.

A test checks that the diagrams in `docs/architecture.md` equal `URL_TRANSITIONS` and `RUN_TRANSITIONS`.
"""

from __future__ import annotations

from enum import StrEnum


class UrlState(StrEnum):
    """The state of a URL in its run."""

    DISCOVERED = "DISCOVERED"
    QUEUED = "QUEUED"
    IN_PROGRESS = "IN_PROGRESS"
    VISITED = "VISITED"
    NOT_MODIFIED = "NOT_MODIFIED"
    REDIRECT_301 = "REDIRECT_301"
    REDIRECT_302 = "REDIRECT_302"
    REDIRECT_303 = "REDIRECT_303"
    REDIRECT_307 = "REDIRECT_307"
    REDIRECT_308 = "REDIRECT_308"
    ALIAS = "ALIAS"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    SOFT_404 = "SOFT_404"
    HTTP_TERMINAL = "HTTP_TERMINAL"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


class SkipReason(StrEnum):
    """Why a URL was not fetched, or its response not kept."""

    ROBOTS = "robots"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    SCOPE = "scope"
    EXCLUDED = "excluded"
    NOT_IN_SITEMAP = "not_in_sitemap"
    NOFOLLOW = "nofollow"
    DEPTH = "depth"
    BUDGET = "budget"
    TRAP = "trap"
    LASTMOD = "unchanged_lastmod"
    TTL = "within_ttl"
    TOO_LARGE = "too_large"
    ADDRESS = "address_refused"
    CONTENT_TYPE = "content_type"
    SITEMAP = "sitemap"
    SECRET = "secret"  # noqa: S105 a reason, not a secret
    CANCELLED = "cancelled"


class RunState(StrEnum):
    """The state of a run."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    INTERRUPTED = "INTERRUPTED"
    """Stopped by Ctrl-C or its time limit; it continues when it is resumed."""


class Proof(StrEnum):
    """The evidence that two URLs are one page."""

    REDIRECT = "redirect"
    CANONICAL = "canonical"
    IDENTITY = "identity"
    """The site's identity options give both URLs the same form (`Identity` in the settings)."""
    EQUAL_CONTENT = "equal_content"


KEPT = frozenset({UrlState.VISITED, UrlState.NOT_MODIFIED})
WAITING = frozenset({UrlState.DISCOVERED, UrlState.QUEUED, UrlState.IN_PROGRESS})
TERMINAL = frozenset(UrlState) - WAITING
ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})
ACTIVE = frozenset({RunState.QUEUED, RunState.RUNNING})
"""Runs that workers take up on their own."""
# A page that was not fetched because it is unchanged still counts as a page of the run.
UNCHANGED = frozenset({SkipReason.LASTMOD, SkipReason.TTL})

REDIRECT_STATES = {
    301: UrlState.REDIRECT_301,
    302: UrlState.REDIRECT_302,
    303: UrlState.REDIRECT_303,
    307: UrlState.REDIRECT_307,
    308: UrlState.REDIRECT_308,
}

URL_TRANSITIONS: dict[UrlState, frozenset[UrlState]] = {
    UrlState.DISCOVERED: frozenset({UrlState.QUEUED, UrlState.SKIPPED}),
    UrlState.QUEUED: frozenset({UrlState.IN_PROGRESS, UrlState.SKIPPED}),
    UrlState.IN_PROGRESS: TERMINAL | {UrlState.QUEUED},
    # Pages are merged when a wave has settled; a refused URL is discovered again by a better offer.
    UrlState.VISITED: frozenset({UrlState.ALIAS}),
    UrlState.NOT_MODIFIED: frozenset({UrlState.ALIAS}),
    UrlState.SKIPPED: frozenset({UrlState.DISCOVERED, UrlState.ALIAS}),
    # At the end of a run: a redirect that turns out to be part of a loop is not an alias.
    UrlState.ALIAS: frozenset({UrlState.FAILED}),
}

RUN_TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.RUNNING, RunState.CANCELLED, RunState.FAILED}),
    # Back to QUEUED: the run crashed and gets its second attempt after a pause.
    RunState.RUNNING: frozenset(
        {RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.QUEUED, RunState.INTERRUPTED}
    ),
    # Back to QUEUED: the run was resumed.
    RunState.INTERRUPTED: frozenset({RunState.QUEUED, RunState.CANCELLED}),
}
