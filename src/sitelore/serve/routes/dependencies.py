"""Parameters and dependencies that routes share: the service of the caller's tenant, sites, lists, idempotency keys."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Path, Query

from sitelore.model.ids import SiteId
from sitelore.model.url import Url
from sitelore.serve.problems import INVALID, SITE_NOT_FOUND, ApiProblem, FieldProblem
from sitelore.serve.run_requests import PRINTABLE
from sitelore.serve.run_service import RunService, run_service_of
from sitelore.times import parse_time

Service = Annotated[RunService, Depends(run_service_of)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,255}$",
        description="A request with the same key within a day returns the run that the first one created.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=1_000, description="Entries in the answer at most.")]
Offset = Annotated[int, Query(ge=0, le=10**9, description="Entries to leave out first.")]
SiteName = Annotated[str, Path(pattern=r"^[!-~]{1,300}$", description="A site as `/sites` names it.")]
PageUrl = Annotated[
    str, Query(alias="url", min_length=1, max_length=8192, pattern=PRINTABLE, description="The URL of the page.")
]


async def site_id_of(site: SiteName, service: Service) -> SiteId:
    """The id of the site in the path; a FastAPI dependency. Routes check the scope of the caller before it."""
    site_id = await service.context.ledger.site_named(site)
    if site_id is None:
        raise unknown_site(site)
    return site_id


KnownSite = Annotated[SiteId, Depends(site_id_of)]


def unknown_site(site: str) -> ApiProblem:
    """The problem of a site that the tenant does not have."""
    return ApiProblem(SITE_NOT_FOUND, f"unknown site: {site}")


def parsed_url(text: str) -> Url:
    """The URL of a query parameter; raises a problem when it is none."""
    url = Url.parse(text)
    if url is None:
        raise ApiProblem(INVALID, errors=(FieldProblem("query.url", "not an absolute http(s) URL"),))
    return url


def time_of(text: str | None, field: str, form: str = "date (use YYYY-MM-DD)") -> float | None:
    """The Unix time of a value of a request; raises a problem when it is none."""
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError:
        raise ApiProblem(INVALID, errors=(FieldProblem(field, f"not a {form}"),)) from None
