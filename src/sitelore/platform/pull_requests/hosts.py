"""The APIs of GitHub and GitLab, as far as draft pull requests need them.

Requests go through the address guard and follow no redirects. The texts of its answers are never repeated, because they may
name the token. A busy host is tried again after the pause that it asks for, and given back to the queue when that is long.
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from sitelore.model.platform.fixes import FixState, RepositoryHost
from sitelore.model.response import Failure, Request, Response
from sitelore.model.settings import CrawlSettings, FetchLimits, Pace
from sitelore.model.url import Url
from sitelore.ports import Clock, Fetcher

FETCH_SETTINGS = CrawlSettings(
    documents=False,
    pace=Pace(concurrency=2),
    limits=FetchLimits(connect_s=10.0, headers_s=30.0, body_s=30.0, wire_bytes=4 << 20, body_bytes=4 << 20),
)
"""Limits of requests to hosts."""
_ATTEMPTS = 3
_MAX_WAIT_S = 30.0
_DELAY_S = 2.0
_BUSY_S = 60.0
_GITLAB_DEVELOPER = 30
"""The lowest level of access that may push."""
_PATH = re.compile(r"/[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)+")

Sleep = Callable[[float], Awaitable[None]]
T = TypeVar("T")


class HostFailed(Exception):
    """The host did not do what was requested. The message completes a sentence that starts with the host's name."""


class HostRefused(HostFailed):
    """The host refused: trying again does not help."""


class HostConflict(HostRefused):
    """The request contradicts what the host has, such as an open pull request of the branch."""


class HostBusy(HostFailed):
    """The host is to be tried again later."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What a host says about a repository."""

    default_branch: str
    can_push: bool
    is_archived: bool


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request (GitLab: merge request)."""

    number: int
    url: str
    state: FixState
    """`OPEN`, `MERGED` or `CLOSED`."""
    merged_at: float | None = None


@dataclass(frozen=True, slots=True)
class NewPullRequest:
    """A pull request to open or update."""

    branch: str
    base: str
    title: str
    description: str


def repository_url(text: str) -> str | None:
    """The URL of a repository in its usual form; None when it is none."""
    url = Url.parse(text.strip())
    if url is None or url.query or "#" in text or "@" in text.split("//", 1)[-1].split("/", 1)[0]:
        return None
    path = url.path.rstrip("/").removesuffix(".git")
    return f"{url.origin}{path}" if _PATH.fullmatch(path) and ".." not in path else None


def host_of(url: str) -> RepositoryHost | None:
    """The kind of host by its name; None when the name does not say."""
    name = Url.trusted(url).host
    if name == "github.com":
        return RepositoryHost.GITHUB
    return RepositoryHost.GITLAB if name == "gitlab.com" or name.startswith("gitlab.") else None


def open_host(host: RepositoryHost, url: str, token: str, fetcher: Fetcher, clock: Clock, sleep: Sleep) -> HostApi:
    """The API of the host of a repository."""
    kind = GitHub if host is RepositoryHost.GITHUB else GitLab
    return kind(url, token, fetcher, clock, sleep)


class HostApi(ABC):
    """Draft pull requests of one repository."""

    name: str
    git_user: str
    """The user name that git sends with the token."""

    def __init__(self, url: str, token: str, fetcher: Fetcher, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        self._url = Url.trusted(url)
        self._token = token
        self._fetcher = fetcher
        self._clock = clock
        self._sleep = sleep

    @abstractmethod
    async def facts(self) -> RepositoryFacts:
        """What the host says about the repository, and about the token."""

    @abstractmethod
    async def pull_request(self, number: int) -> PullRequest:
        """A pull request as it is now."""

    @abstractmethod
    async def find(self, branch: str, base: str) -> PullRequest | None:
        """The open pull request of a branch."""

    @abstractmethod
    async def create(self, new: NewPullRequest) -> PullRequest:
        """Open a draft. Raises `HostConflict` when the branch has an open pull request already."""

    @abstractmethod
    async def update(self, number: int, new: NewPullRequest) -> PullRequest:
        """Replace the description. Title, draft and labels stay, because a person may have changed them."""

    @abstractmethod
    def _headers(self) -> Mapping[str, str]:
        """Headers of every request, with the token."""

    @property
    @abstractmethod
    def _api(self) -> str:
        """The URL of the repository in the API."""

    async def open_or_update(self, new: NewPullRequest) -> PullRequest:
        """The pull request of a branch, opened as a draft or with a new description."""
        known = await self.find(new.branch, new.base)
        if known is None:
            try:
                return await self.create(new)
            except HostConflict:
                # Another process opened it, or the answer to an earlier attempt was lost.
                known = await self.find(new.branch, new.base)
        if known is None:
            raise HostRefused("did not accept the draft; it may not offer drafts for this repository")
        return await self.update(known.number, new)

    async def _send(self, kind: type[T], method: str, path: str, body: Mapping[str, Any] | None = None) -> T:
        """Send a request, and decode its answer. Raises `HostConflict` for the status 409 and 422."""
        for attempt in range(1, _ATTEMPTS + 1):
            response = await self._exchange(method, path, body)
            if response is not None and response.status in {HTTPStatus.OK, HTTPStatus.CREATED}:
                try:
                    return msgspec.json.decode(response.body, type=kind)
                except msgspec.MsgspecError:
                    raise HostRefused("gave an answer that its API does not describe") from None
            wait_s = self._wait_s(response)
            if attempt == _ATTEMPTS or wait_s > _MAX_WAIT_S:
                status = f"answered {response.status}" if response is not None else "cannot be reached"
                raise HostBusy(f"{status}; it is tried again later", max(wait_s, _BUSY_S))
            await self._sleep(max(wait_s, _DELAY_S * attempt))
        raise AssertionError("unreachable")

    async def _exchange(self, method: str, path: str, body: Mapping[str, Any] | None) -> Response | None:
        headers = {**self._headers(), **({"Content-Type": "application/json"} if body is not None else {})}
        url = Url.parse(f"{self._api}{path}")
        if url is None:
            raise HostRefused("has no such address")
        result = await self._fetcher.fetch(
            Request(
                url,
                method=method,
                any_content_type=True,
                accept=self._accept,
                body=None if body is None else json.dumps(body).encode(),
                headers=tuple(headers.items()),
            )
        )
        if isinstance(result, Response):
            return result
        if result.failure is Failure.ADDRESS:
            # Which addresses a name has inside of the network is not for tenants.
            raise HostRefused("cannot be reached: the address is not allowed")
        return None

    _accept = "application/json"

    def _wait_s(self, response: Response | None) -> float:
        """How long to wait before another attempt. Raises `HostRefused` where that is of no use."""
        if response is None:
            return 0.0
        retry_after_s = response.retry_after_s(self._clock())
        is_limited = retry_after_s is not None or response.header("x-ratelimit-remaining") == "0"
        status = response.status
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500 or (status == HTTPStatus.FORBIDDEN and is_limited):
            reset = response.header("x-ratelimit-reset") or response.header("ratelimit-reset") or ""
            until_reset_s = float(reset) - self._clock() if reset.isdigit() else 0.0
            return max(0.0, until_reset_s) if retry_after_s is None else retry_after_s
        reasons = {
            **dict.fromkeys((301, 302, 307, 308), "has moved the repository; connect it by its new URL"),
            401: "refused the token; connect the repository again with a valid one",
            403: "does not permit this with the token; it needs to write contents and pull requests",
            404: "has no such repository, or the token may not see it",
        }
        if status in {HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}:
            raise HostConflict("did not accept the request")
        raise HostRefused(reasons.get(status, f"answered {status}"))


class GitHub(HostApi):
    """GitHub, on github.com or a server of its own."""

    name = "GitHub"
    git_user = "x-access-token"
    _accept = "application/vnd.github+json"

    @property
    def _api(self) -> str:
        is_public = self._url.host == "github.com"
        root = "https://api.github.com" if is_public else f"{self._url.origin}/api/v3"
        return f"{root}/repos{self._url.path}"

    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._token}", "X-GitHub-Api-Version": "2022-11-28"}

    async def facts(self) -> RepositoryFacts:
        """`GET /repos/{owner}/{repo}`."""
        repository = await self._send(_GitHubRepository, "GET", "")
        return RepositoryFacts(repository.default_branch, repository.permissions.push, repository.archived)

    async def pull_request(self, number: int) -> PullRequest:
        """`GET /repos/{owner}/{repo}/pulls/{number}`."""
        return _github_pull(await self._send(_GitHubPull, "GET", f"/pulls/{number}"))

    async def find(self, branch: str, base: str) -> PullRequest | None:
        """`GET /repos/{owner}/{repo}/pulls?head={owner}:{branch}`."""
        owner = self._url.path.split("/")[1]
        query = urlencode({"state": "open", "head": f"{owner}:{branch}", "base": base})
        pulls = await self._send(list[_GitHubPull], "GET", f"/pulls?{query}")
        return _github_pull(pulls[0]) if pulls else None

    async def create(self, new: NewPullRequest) -> PullRequest:
        """`POST /repos/{owner}/{repo}/pulls`."""
        body = {"title": new.title, "head": new.branch, "base": new.base, "body": new.description, "draft": True}
        return _github_pull(await self._send(_GitHubPull, "POST", "/pulls", body))

    async def update(self, number: int, new: NewPullRequest) -> PullRequest:
        """`PATCH /repos/{owner}/{repo}/pulls/{number}`."""
        return _github_pull(await self._send(_GitHubPull, "PATCH", f"/pulls/{number}", {"body": new.description}))


class GitLab(HostApi):
    """GitLab, on gitlab.com or a server of its own."""

    name = "GitLab"
    git_user = "oauth2"

    @property
    def _api(self) -> str:
        return f"{self._url.origin}/api/v4/projects/{quote(self._url.path[1:], safe='')}"

    def _headers(self) -> Mapping[str, str]:
        return {"PRIVATE-TOKEN": self._token}

    async def facts(self) -> RepositoryFacts:
        """`GET /projects/{id}`."""
        project = await self._send(_GitLabProject, "GET", "")
        own, of_group = project.permissions.project_access, project.permissions.group_access
        level = max(access.access_level for access in (own, of_group, _GitLabAccess()) if access is not None)
        return RepositoryFacts(project.default_branch, level >= _GITLAB_DEVELOPER, project.archived)

    async def pull_request(self, number: int) -> PullRequest:
        """`GET /projects/{id}/merge_requests/{iid}`."""
        return _gitlab_pull(await self._send(_GitLabPull, "GET", f"/merge_requests/{number}"))

    async def find(self, branch: str, base: str) -> PullRequest | None:
        """`GET /projects/{id}/merge_requests?source_branch={branch}`."""
        query = urlencode({"state": "opened", "source_branch": branch, "target_branch": base})
        pulls = await self._send(list[_GitLabPull], "GET", f"/merge_requests?{query}")
        return _gitlab_pull(pulls[0]) if pulls else None

    async def create(self, new: NewPullRequest) -> PullRequest:
        """`POST /projects/{id}/merge_requests`. A title that starts with `Draft:` makes a draft."""
        body = {
            "source_branch": new.branch, "target_branch": new.base, "title": f"Draft: {new.title}",
            "description": new.description, "remove_source_branch": True,
        }  # fmt: skip
        return _gitlab_pull(await self._send(_GitLabPull, "POST", "/merge_requests", body))

    async def update(self, number: int, new: NewPullRequest) -> PullRequest:
        """`PUT /projects/{id}/merge_requests/{iid}`."""
        body = {"description": new.description}
        return _gitlab_pull(await self._send(_GitLabPull, "PUT", f"/merge_requests/{number}", body))


# Answers


class _GitHubPermissions(msgspec.Struct):
    push: bool = False


class _GitHubRepository(msgspec.Struct):
    default_branch: str
    archived: bool = False
    permissions: _GitHubPermissions = msgspec.field(default_factory=_GitHubPermissions)


class _GitHubPull(msgspec.Struct):
    number: int
    html_url: str
    state: str
    merged_at: datetime | None = None


class _GitLabAccess(msgspec.Struct):
    access_level: int = 0


class _GitLabPermissions(msgspec.Struct):
    project_access: _GitLabAccess | None = None
    group_access: _GitLabAccess | None = None


class _GitLabProject(msgspec.Struct):
    default_branch: str
    archived: bool = False
    permissions: _GitLabPermissions = msgspec.field(default_factory=_GitLabPermissions)


class _GitLabPull(msgspec.Struct):
    iid: int
    web_url: str
    state: str
    merged_at: datetime | None = None


def _github_pull(pull: _GitHubPull) -> PullRequest:
    closed = FixState.MERGED if pull.merged_at is not None else FixState.CLOSED
    state = FixState.OPEN if pull.state == "open" else closed
    return PullRequest(pull.number, _web_url(pull.html_url), state, _time(pull.merged_at))


def _gitlab_pull(pull: _GitLabPull) -> PullRequest:
    states = {"opened": FixState.OPEN, "locked": FixState.OPEN, "merged": FixState.MERGED}
    return PullRequest(pull.iid, _web_url(pull.web_url), states.get(pull.state, FixState.CLOSED), _time(pull.merged_at))


def _web_url(text: str) -> str:
    url = Url.parse(text)
    return "" if url is None else str(url)


def _time(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
