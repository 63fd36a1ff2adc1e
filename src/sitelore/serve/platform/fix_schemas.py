"""Requests and responses of the routes for connected repositories and draft pull requests."""

from __future__ import annotations

from typing import Annotated

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from sitelore.model.platform.fixes import ConnectedRepository, FixRequest, FixState, RepositoryHost
from sitelore.serve.responses import Pagination
from sitelore.serve.schemas import moment

_BODY = ConfigDict(extra="forbid", strict=True, frozen=True)
MAX_FINDINGS = 50


class NewRepository(BaseModel):
    """A repository to connect."""

    model_config = _BODY

    url: Annotated[str, Field(min_length=1, max_length=500, description="Its URL.", examples=["https://github.com/owner/name"])]
    token: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="A token that may write contents and pull requests of this repository only. It is never shown.",
        ),
    ]
    host: Annotated[str | None, Field(pattern="^(github|gitlab)$", description="Needed where the URL does not say it.")] = None
    base: Annotated[
        str, Field(max_length=200, description="The branch to merge into. Default: the main branch of the repository.")
    ] = ""


class Selection(BaseModel):
    """The findings to fix: those with these ids, or all open ones of these rules."""

    model_config = _BODY

    rules: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=30, description="Ids of rules.")] = Field(
        default_factory=list
    )
    findings: Annotated[
        list[Annotated[str, Field(pattern="^[0-9a-f]{20}$")]], Field(max_length=MAX_FINDINGS, description="Ids of findings.")
    ] = Field(default_factory=list)


class RepositoryView(msgspec.Struct, frozen=True):
    """The repository of a site. Its token is not shown."""

    host: RepositoryHost
    url: str
    base: str
    created_at: str
    created_by: str


class FixView(msgspec.Struct, frozen=True):
    """A request for a draft pull request."""

    id: str
    state: FixState
    rules: list[str]
    findings: list[str]
    """The ids of the findings that the pull request fixes."""
    repository: str
    branch: str
    number: int | None
    url: str | None
    created_at: str
    created_by: str
    updated_at: str
    merged_at: str | None
    error: str


class FixList(msgspec.Struct, frozen=True):
    """A page of the requests of a site, newest first."""

    fixes: list[FixView]
    pagination: Pagination


ANSWERS: tuple[type[msgspec.Struct], ...] = (RepositoryView, FixView, FixList)


def repository_view(repository: ConnectedRepository) -> RepositoryView:
    """A repository as the API shows it."""
    created_at = moment(repository.created_at) or ""
    return RepositoryView(repository.host, repository.url, repository.base, created_at, repository.created_by)


def fix_view(request: FixRequest) -> FixView:
    """A request as the API shows it."""
    return FixView(
        id=request.id,
        state=request.state,
        rules=list(request.rules),
        findings=list(request.findings),
        repository=request.repository,
        branch=request.branch,
        number=request.number,
        url=request.url or None,
        created_at=moment(request.created_at) or "",
        created_by=request.created_by,
        updated_at=moment(request.updated_at) or "",
        merged_at=moment(request.merged_at),
        error=request.error,
    )
