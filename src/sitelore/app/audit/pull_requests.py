"""Draft pull requests for findings: connect a repository, queue a request, open or update its pull request, check its state.

A request is a row that a server or `sitelore fix --pull-request` works on. Every step may be repeated: the commit depends only
on the base branch and the patches, a branch is replaced only while its last commit is ours, and an open pull request of the
branch is updated. Nothing is ever merged, and the base branch is never written.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from sitelore.app.app import App
from sitelore.app.audit.fixing import MAX_FILE_BYTES, base_path_of, find_fixes, is_source_folder, is_source_name
from sitelore.app.audit.phase import AuditResult, audit_run
from sitelore.audit.catalogue import RULES
from sitelore.audit.fixes.checkout import Checkout
from sitelore.audit.fixes.proposals import FIXABLE, Proposal
from sitelore.audit.fixes.source import Edit, NoFix, apply_edits, changed_lines
from sitelore.background import repeat
from sitelore.fetch.access import RunAccess
from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.model.audit.findings import OPEN_STATUSES, FindingStatus
from sitelore.model.errors import StorageError, UsageError
from sitelore.model.ids import RunId, SiteId, TenantId, new_uuid
from sitelore.model.platform.fixes import (
    MAX_OPEN_REQUESTS,
    MAX_REQUESTS_PER_HOUR,
    ConnectedRepository,
    FixLimit,
    FixRequest,
    FixState,
    RepositoryHost,
)
from sitelore.platform.outgoing_urls import refusal
from sitelore.platform.pull_requests.description import commit_message, description_of, title_of
from sitelore.platform.pull_requests.git_repository import (
    GitFailed,
    GitRefused,
    GitRepository,
    SourceFile,
    is_branch_name,
    open_repository,
)
from sitelore.platform.pull_requests.hosts import (
    FETCH_SETTINGS,
    HostApi,
    HostBusy,
    HostFailed,
    HostRefused,
    NewPullRequest,
    Sleep,
    host_of,
    open_host,
    repository_url,
)
from sitelore.platform.secret_box import SecretBox, SecretUnreadable
from sitelore.platform_ports import FixStore

_LOG = logging.getLogger(__name__)

MAX_FILES = 5
MAX_LINES = 50
"""Changed by one pull request. The other findings follow after it was merged."""
CHECK_INTERVAL_S = 600.0
"""How often a server looks at an open pull request."""
_LEASE_S = 1_800.0
_ATTEMPTS = 3
_RETRY_S = 120.0
_BATCH = 20
_AUDITS_SEARCHED = 50
_INTERVAL_S = 2.0
_DELAY_S = 5.0
"""A server answers requests first."""
_MAX_TOKEN_CHARS = 1_000
_LIMITS = {
    FixLimit.NOT_CONNECTED: "the site has no connected repository",
    FixLimit.OPEN: f"{MAX_OPEN_REQUESTS} pull requests of the repository are open; review them first",
    FixLimit.HOUR: f"the repository got {MAX_REQUESTS_PER_HOUR} pull requests within an hour; try again later",
    FixLimit.CLOSED: "was closed without being merged, so it is not proposed again",
    FixLimit.MERGED: "was merged; crawl the site again first",
}


class RepositoryLimitReached(UsageError):
    """A limit of pull requests of the repository is reached."""


class CannotFix(Exception):
    """Raised when a request cannot have a pull request. The message is a sentence without its full stop."""


@dataclass(frozen=True, slots=True)
class FixSelection:
    """The findings to fix: all open ones of these rules, or those with these keys."""

    rules: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def branch_name(self, site: str) -> str:
        """The name of the branch of the pull request: equal for equal rules and findings."""
        text = json.dumps([site, sorted(self.rules), sorted(self.keys)])
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return f"sitelore/{self.rules[0] if len(self.rules) == 1 else 'fixes'}-{digest}"


class FixService:
    """Connected repositories and fix requests of all tenants. Every method takes the tenant first."""

    def __init__(
        self,
        app: App,
        store: FixStore,
        secrets: SecretBox,
        guard: AddressGuard,
        access: RunAccess,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._app = app
        self._store = store
        self._secrets = secrets
        self._guard = guard
        self._access = access
        self._sleep = sleep

    # Repositories

    async def connect(
        self,
        tenant: TenantId,
        site: SiteId,
        url: str,
        token: str,
        *,
        host: RepositoryHost | None = None,
        base: str = "",
        by: str = "",
    ) -> ConnectedRepository:
        """Connect a repository to a site after asking its host whether the token may write there. Raises `UsageError`."""
        address = repository_url(url)
        if address is None:
            raise UsageError("not the URL of a repository (use https://github.com/owner/name)")
        if refused := refusal(address, self._guard):
            raise UsageError(f"the URL cannot be used: {refused.rstrip('.')}")
        host = host or host_of(address)
        if host is None:
            raise UsageError("the URL does not say whether its host is GitHub or GitLab; name it")
        if not 0 < len(token) <= _MAX_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
            raise UsageError("not a token: it is empty, too long, or has characters that no token has")
        if base and not is_branch_name(base):
            raise UsageError(f"not the name of a branch: {base!r}")
        try:
            async with self._open_host_api(host, address, token) as api:
                facts = await api.facts()
        except HostFailed as problem:
            raise UsageError(f"{host.value} {problem}") from None
        if not facts.can_push or facts.is_archived:
            reason = "is archived" if facts.is_archived else "may not be written with this token"
            raise UsageError(f"the repository {reason}")
        now = self._app.clock()
        sealed = self._secrets.seal(token, _secret_row(tenant, site))
        repository = ConnectedRepository(site, host, address, base or facts.default_branch, sealed, now, by)
        await self._store.for_tenant(tenant).save_repository(repository)
        return repository

    async def repository(self, tenant: TenantId, site: SiteId) -> ConnectedRepository | None:
        """The repository of a site."""
        return await self._store.for_tenant(tenant).repository(site)

    async def disconnect(self, tenant: TenantId, site: SiteId) -> bool:
        """Delete the repository of a site with its token. False when there is none."""
        return await self._store.for_tenant(tenant).delete_repository(site)

    # Requests

    async def request(
        self, tenant: TenantId, site: SiteId, site_name: str, selection: FixSelection, by: str = ""
    ) -> FixRequest:
        """Queue a request for a set of findings, or the pending one of the same set again. Raises `UsageError`."""
        store = self._store.for_tenant(tenant)
        repository = await store.repository(site)
        if repository is None:
            raise UsageError(_LIMITS[FixLimit.NOT_CONNECTED])
        if not (selection.rules or selection.keys):
            raise UsageError("name rules or findings")
        if unfixable := sorted(set(selection.rules) - FIXABLE):
            raise UsageError(f"no patches exist for findings of {', '.join(unfixable)}")
        await self.requests(tenant, site, _BATCH, 0)  # what crawls since then say about merged ones
        now, branch_name = self._app.clock(), selection.branch_name(site_name)
        rules, keys = tuple(sorted(selection.rules)), tuple(sorted(selection.keys))
        request = FixRequest(
            new_uuid(now), site, repository.url, branch_name, branch_name, rules, keys, FixState.QUEUED, now, by
        )
        queued, limit = await store.request_fix(request)
        if limit in {FixLimit.OPEN, FixLimit.HOUR}:
            raise RepositoryLimitReached(_LIMITS[limit])
        if limit is not None:
            raise UsageError(f"{queued.url} {_LIMITS[limit]}" if queued is not None else _LIMITS[limit])
        assert queued is not None
        return queued

    async def requests(self, tenant: TenantId, site: SiteId, limit: int, offset: int) -> tuple[list[FixRequest], int]:
        """A page of the requests of a site, newest first, and the total."""
        listed, total = await self._store.for_tenant(tenant).list_fixes(site, limit, offset)
        return [await self._with_audit_outcome(tenant, request) for request in listed], total

    async def find(self, tenant: TenantId, site: SiteId, request: str) -> FixRequest | None:
        """The request of a site with this id."""
        known = await self._store.for_tenant(tenant).fix(site, request)
        return None if known is None else await self._with_audit_outcome(tenant, known)

    async def refresh(self, tenant: TenantId, site: SiteId, request: str) -> FixRequest | None:
        """Update an open request from its pull request now."""
        known = await self.find(tenant, site, request)
        if known is None or known.state is not FixState.OPEN:
            return known
        return await self._process_and_store(tenant, known)

    async def _with_audit_outcome(self, tenant: TenantId, request: FixRequest) -> FixRequest:
        """A merged request, with its state updated from the audits since then."""
        if request.state not in {FixState.MERGED, FixState.NOT_RESOLVED} or request.merged_at is None:
            return request
        audits, ledger = self._app.audits.for_tenant(tenant), self._app.ledger.for_tenant(tenant)
        records = await audits.findings_with_keys(request.site, set(request.findings))
        still_open = [record for record in records if record.status in OPEN_STATUSES]
        state = FixState.MERGED
        if not still_open and any(record.status is FindingStatus.RESOLVED for record in records):
            state = FixState.RESOLVED
        for name in {record.seen_run for record in still_open}:
            run = await ledger.run(RunId(name))
            if run is not None and run.created_at > request.merged_at:
                state = FixState.NOT_RESOLVED
        if state is request.state:
            return request
        changed = replace(request, state=state, updated_at=self._app.clock())
        await self._store.for_tenant(tenant).save_fix(changed)
        return changed

    # Work

    async def claim_and_process(self, tenant: TenantId, request: str) -> FixRequest | None:
        """Lease a request that is due, and open, update or check its pull request. None when another server has the lease."""
        now = self._app.clock()
        claimed = await self._store.for_tenant(tenant).claim_fix(request, now, now + _LEASE_S)
        return None if claimed is None else await self._process_and_store(tenant, claimed)

    async def process_due_requests(self) -> int:
        """Work on every request that is due. Returns their number."""
        count = 0
        for due in await self._store.due_fixes(self._app.clock(), _BATCH):
            count += await self.claim_and_process(due.tenant, due.id) is not None
        return count

    async def run_until_stopped(self, stop: asyncio.Event) -> None:
        """Work on requests until stopped."""
        await repeat("pull requests", self.process_due_requests, stop, _INTERVAL_S, _DELAY_S)

    async def _process_and_store(self, tenant: TenantId, request: FixRequest) -> FixRequest:
        """Open, update or check the pull request of a due request, and store the result."""
        try:
            changed = await self._process_request(tenant, request)
        except HostBusy as busy:
            changed = replace(request, due_at=self._app.clock() + busy.retry_after_s, error=str(busy))
        except (CannotFix, HostRefused, GitRefused, SecretUnreadable) as problem:
            changed = self._after_failure(request, problem, is_final=True)
        except (HostFailed, GitFailed) as problem:
            changed = self._after_failure(request, problem, is_final=request.attempts >= _ATTEMPTS)
        except StorageError:
            raise
        except Exception as problem:  # noqa: BLE001 one request must not end the others; it is stored as failed
            _LOG.exception("fix request failed", extra={"fix": request.id})
            changed = self._after_failure(request, CannotFix(f"internal error ({type(problem).__name__})"), is_final=True)
        changed = replace(changed, updated_at=self._app.clock())
        await self._store.for_tenant(tenant).save_fix(changed)
        return changed

    def _after_failure(self, request: FixRequest, problem: Exception, *, is_final: bool) -> FixRequest:
        message = f"git {problem}" if isinstance(problem, GitFailed) else str(problem)
        if request.state is FixState.OPEN:  # the pull request is there, it is only not visible now
            return replace(request, due_at=self._app.clock() + CHECK_INTERVAL_S, error=message)
        if is_final:
            return replace(request, state=FixState.FAILED, error=message)
        return replace(request, due_at=self._app.clock() + _RETRY_S * request.attempts, error=message)

    async def _process_request(self, tenant: TenantId, request: FixRequest) -> FixRequest:
        repository = await self._store.for_tenant(tenant).repository(request.site)
        if repository is None or repository.url != request.repository:
            raise CannotFix("the repository is not connected any more")
        token = self._secrets.open(repository.token, _secret_row(tenant, request.site))
        async with self._open_host_api(repository.host, repository.url, token) as api:
            if request.state is FixState.OPEN and request.number is not None:
                pull = await api.pull_request(request.number)
                due_at = self._app.clock() + CHECK_INTERVAL_S
                looked = replace(request, state=pull.state, url=pull.url, merged_at=pull.merged_at, due_at=due_at, error="")
                return await self._with_audit_outcome(tenant, looked)
            async with open_repository(repository.url, api.git_user, token, self._guard, self._access) as git:
                return await self._open_or_update(tenant, request, repository.base, git, api)

    async def _open_or_update(
        self, tenant: TenantId, request: FixRequest, base: str, git: GitRepository, api: HostApi
    ) -> FixRequest:
        """Commit the patches, push them to the branch of the request, and open or update its pull request."""
        heads = await git.heads(base, request.branch)
        if base not in heads:
            raise CannotFix(f"the repository has no branch {base!r}")
        if request.branch in heads and not await git.is_ours(request.branch):
            raise CannotFix(f"the branch {request.branch} has commits of other people, so it is left alone")
        commit = await git.fetch_base(base)
        result = await self._latest_audit(tenant, request.site)
        files = [file for file in await git.list_files(commit) if _is_source_file(file)]
        contents = await git.read_files(files)
        proposals, left_out = await self._select_proposals(result, request, contents)
        texts = {path: apply_edits(_decode_file(contents[path]), edits) for path, edits in _edits_by_file(proposals).items()}
        patched = {path: text.encode("utf-8", "surrogateescape") for path, text in texts.items()}
        made = await git.commit(commit, files, patched, commit_message(proposals))
        if heads.get(request.branch) != made:
            await git.push(made, request.branch, heads.get(request.branch, ""))
        description = description_of(proposals, left_out)
        pull = await api.open_or_update(NewPullRequest(request.branch, base, title_of(proposals), description))
        return replace(
            request, state=FixState.OPEN, number=pull.number, url=pull.url, error="", attempts=0,
            findings=tuple(sorted(proposal.finding.key for proposal in proposals)),
            due_at=self._app.clock() + CHECK_INTERVAL_S,
        )  # fmt: skip

    async def _latest_audit(self, tenant: TenantId, site: SiteId) -> AuditResult:
        """The latest stored audit of a site, computed again: fixes need links and pages as well."""
        done = await self._app.audits.for_tenant(tenant).audits(site, _AUDITS_SEARCHED)
        name = next((audit.run for audit in done if audit.finished_at is not None and not audit.error), None)
        run = await self._app.ledger.for_tenant(tenant).run(RunId(name)) if name is not None else None
        if run is None:
            raise CannotFix("no run of the site was audited; audit it first")
        return await audit_run(self._app, run, store=False)

    async def _select_proposals(
        self, result: AuditResult, request: FixRequest, contents: dict[str, bytes]
    ) -> tuple[list[Proposal], int]:
        """The proposals of a request that fit into one pull request, and the number of the others."""
        checkout = Checkout({path: _decode_file(content) for path, content in contents.items()}, base_path_of(result.site))
        records = [
            record
            for record in result.selected(request.rules or RULES.keys())
            if not request.chosen or record.finding.key in request.chosen
        ]
        if not records:
            raise CannotFix("none of the findings is open")
        fixes = await find_fixes(self._app, result, records, checkout, {})
        fitting = _proposals_within_limits(fixes.proposals, checkout)
        if not fitting:
            reasons = sorted({refused.reason for refused in fixes.refusals})
            raise CannotFix(f"no finding has a patch: {'; '.join(reasons[:3]) or 'too many lines would change'}")
        return fitting, len(fixes.proposals) - len(fitting)

    @asynccontextmanager
    async def _open_host_api(self, host: RepositoryHost, url: str, token: str) -> AsyncIterator[HostApi]:
        """The API of a host. Each use has a client of its own: cookies of one tenant must not reach another."""
        fetcher = HttpFetcher(FETCH_SETTINGS, self._guard, access=self._access)
        try:
            yield open_host(host, url, token, fetcher, self._app.clock, self._sleep)
        finally:
            await fetcher.close()


def _secret_row(tenant: TenantId, site: SiteId) -> str:
    return f"repository:{tenant}:{site}"


def _is_source_file(file: SourceFile) -> bool:
    folders = file.path.split("/")[:-1]
    return is_source_name(file.path) and file.size <= MAX_FILE_BYTES and all(map(is_source_folder, folders))


def _decode_file(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _edits_by_file(proposals: Collection[Proposal]) -> dict[str, list[Edit]]:
    """The edits by file."""
    edits: dict[str, list[Edit]] = {}
    for proposal in proposals:
        edits.setdefault(proposal.path, []).extend(proposal.edits)
    return edits


def _proposals_within_limits(proposals: Sequence[Proposal], checkout: Checkout) -> list[Proposal]:
    """The first proposals that together change few enough files and lines, and do not overlap."""
    chosen: list[Proposal] = []
    edits: dict[str, list[Edit]] = {}
    lines: dict[str, int] = {}
    for proposal in proposals:
        path = proposal.path
        if path not in edits and len(edits) == MAX_FILES:
            continue
        before = checkout.files[path]
        try:
            after = apply_edits(before, [*edits.get(path, []), *proposal.edits])
        except NoFix:
            continue
        changed = changed_lines(before, after)
        if sum(lines.values()) - lines.get(path, 0) + changed > MAX_LINES:
            continue
        chosen.append(proposal)
        edits.setdefault(path, []).extend(proposal.edits)
        lines[path] = changed
        if sum(lines.values()) == MAX_LINES:
            break
    return chosen
