"""Types of fix requests: repositories that a tenant connected to its sites, and draft pull requests for findings of audits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sitelore.model.ids import SiteId, TenantId

MAX_OPEN_REQUESTS = 5
"""Of a repository at the same time."""
MAX_REQUESTS_PER_HOUR = 2
"""New pull requests of a repository."""


class RepositoryHost(StrEnum):
    """The API of the server that has a repository."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True)
class ConnectedRepository:
    """The repository from which a site is made. Each site has one at most."""

    site: SiteId
    host: RepositoryHost
    url: str
    """`https://github.com/owner/name`, without `.git`."""
    base: str
    """The branch that pull requests are to be merged into."""
    token: str = field(repr=False)
    """As it is stored (`platform/secret_box.py`)."""
    created_at: float
    created_by: str = ""


class FixState(StrEnum):
    """The state of a fix request."""

    QUEUED = "queued"
    """Its pull request is to be opened or updated."""
    OPEN = "open"
    """A person can review the pull request."""
    MERGED = "merged"
    """No crawl that began after the merge was audited yet."""
    RESOLVED = "resolved"
    """An audit of a crawl after the merge did not have the findings any more."""
    NOT_RESOLVED = "not_resolved"
    """An audit of a crawl after the merge had one of the findings again: not deployed yet, or the fix did not work."""
    CLOSED = "closed"
    """Closed without being merged. It is not proposed again."""
    FAILED = "failed"


ENDED_BY_MERGE = frozenset({FixState.MERGED, FixState.RESOLVED, FixState.NOT_RESOLVED})
PENDING_STATES = frozenset({FixState.QUEUED, FixState.OPEN})
"""The states in which a server still has to open, update or check the pull request."""


@dataclass(frozen=True, slots=True)
class FixRequest:
    """A draft pull request for a set of findings."""

    id: str
    site: SiteId
    repository: str
    """The URL of the repository."""
    subject: str
    """The name of the set of findings: equal for equal rules and findings."""
    branch: str
    """The branch of the pull request: the subject, with a number after one that was merged."""
    rules: tuple[str, ...]
    chosen: tuple[str, ...]
    """The keys of the findings that were chosen; empty: all open findings of the rules."""
    state: FixState
    created_at: float
    created_by: str = ""
    updated_at: float = 0.0
    due_at: float = 0.0
    """When a server next works on it; a lease while one does."""
    attempts: int = 0
    number: int | None = None
    """Of the pull request on its host."""
    url: str = ""
    """Of the pull request."""
    findings: tuple[str, ...] = ()
    """The keys of the findings that the pull request fixes."""
    merged_at: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class DueFix:
    """A fix request that a server is to work on."""

    tenant: TenantId
    id: str


class FixLimit(StrEnum):
    """Why a fix request was not accepted."""

    NOT_CONNECTED = "not_connected"
    OPEN = "open"
    HOUR = "hour"
    CLOSED = "closed"
    MERGED = "merged"
