"""The life of a URL and the life of a run: every state, every reason, every move that is allowed.

The drawing in `docs/architecture.md` is read by a test and must equal `URL_MOVES` and `RUN_MOVES`.
"""

from __future__ import annotations

from enum import StrEnum


class UrlState(StrEnum):
    """Where a URL stands in its run."""

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
    """Why a URL was not fetched, or why what came back was not kept."""

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
    SECRET = "secret"  # noqa: S105 a reason, and no secret itself
    CANCELLED = "cancelled"


class RunState(StrEnum):
    """Where a run stands."""

    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class Proof(StrEnum):
    """What shows that two URLs are one page."""

    REDIRECT = "redirect"
    CANONICAL = "canonical"
    IDENTITY = "identity"
    """The site's own options say that the two addresses are one (`Identity` in the settings)."""
    EQUAL_CONTENT = "equal_content"


WAITING = frozenset({UrlState.DISCOVERED, UrlState.QUEUED, UrlState.IN_PROGRESS})
TERMINAL = frozenset(UrlState) - WAITING
ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})
# A page that was left alone because it is known to be unchanged is still a page of the run.
UNCHANGED = frozenset({SkipReason.LASTMOD, SkipReason.TTL})

REDIRECT_STATES = {
    301: UrlState.REDIRECT_301,
    302: UrlState.REDIRECT_302,
    303: UrlState.REDIRECT_303,
    307: UrlState.REDIRECT_307,
    308: UrlState.REDIRECT_308,
}

URL_MOVES: dict[UrlState, frozenset[UrlState]] = {
    UrlState.DISCOVERED: frozenset({UrlState.QUEUED, UrlState.SKIPPED}),
    UrlState.QUEUED: frozenset({UrlState.IN_PROGRESS, UrlState.SKIPPED}),
    UrlState.IN_PROGRESS: TERMINAL | {UrlState.QUEUED},
    # Merging by proof is judged when a wave has settled; a refused offer is outdone by a better one.
    UrlState.VISITED: frozenset({UrlState.ALIAS}),
    UrlState.NOT_MODIFIED: frozenset({UrlState.ALIAS}),
    UrlState.SKIPPED: frozenset({UrlState.DISCOVERED, UrlState.ALIAS}),
    # At the end of a run: redirects that turn out to lead in a circle are nobody's alias.
    UrlState.ALIAS: frozenset({UrlState.FAILED}),
}

RUN_MOVES: dict[RunState, frozenset[RunState]] = {
    RunState.QUEUED: frozenset({RunState.RUNNING, RunState.CANCELLED, RunState.FAILED}),
    # Back to QUEUED: the run crashed and gets its second attempt after a pause.
    RunState.RUNNING: frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED, RunState.QUEUED}),
}
