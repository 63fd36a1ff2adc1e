"""Quick-crawl routes: start a crawl with one URL, get the pages back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from sitelore.export.pages import document_of
from sitelore.model.frontier import UrlListing, UrlOrder, UrlRow
from sitelore.model.platform.accounts import Caller
from sitelore.model.states import UrlState
from sitelore.serve import problems
from sitelore.serve.openapi import answers
from sitelore.serve.responses import REPLAYED, json_response, pagination_of
from sitelore.serve.routes.dependencies import Key, Limit, Offset, Service
from sitelore.serve.run_requests import QuickCrawlRequest, idempotency_key_of, quick_settings
from sitelore.serve.run_service import RunService
from sitelore.serve.schemas import Job, JobAnswer, JobPage, Started, millis
from sitelore.serve.security.auth import CRAWLS, READS

router = APIRouter(tags=["quick"])
# URLs that were really requested and are not aliases of another page.
_REQUESTED = frozenset(
    {
        UrlState.VISITED, UrlState.NOT_MODIFIED, UrlState.FORBIDDEN, UrlState.NOT_FOUND, UrlState.SOFT_404,
        UrlState.HTTP_TERMINAL, UrlState.FAILED,
    }
)  # fmt: skip


@router.post(
    "/crawl",
    status_code=201,
    summary="Start a quick crawl",
    responses=answers(Started, problems.ADDRESS_REFUSED, problems.KEY_REUSED, status=201),
)
async def start_crawl(
    body: QuickCrawlRequest, caller: Annotated[Caller, CRAWLS], service: Service, key: Key = None
) -> Response:
    """Crawl a site from one URL; the response holds the job id."""
    settings = quick_settings(body, service.settings.allow_private)
    created = await service.start(settings, idempotency_key_of(key, caller.token_id, settings), caller)
    headers = {"Location": f"/crawl/{created.run.id}", **({} if created.is_new else {REPLAYED: "true"})}
    return json_response(Started(created.run.id, "started"), 201, headers)


@router.get(
    "/crawl/{job_id}",
    dependencies=[READS],
    summary="A quick crawl with its pages",
    responses=answers(JobAnswer, problems.RUN_NOT_FOUND),
)
async def show_crawl(
    job_id: str,
    service: Service,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """The job and the pages crawled so far, in the order they were admitted."""
    run = await service.run(job_id)
    ledger = service.context.ledger
    rows, total = await ledger.list_run_urls(run.id, UrlListing(_REQUESTED, UrlOrder.ID, limit=limit, offset=offset))
    job = Job(
        id=run.id,
        status=run.state.value.lower(),
        seed_url=next(iter(run.settings.seeds), None),
        max_pages=run.settings.max_pages,
        pages=[await _page(row, service) for row in rows],
        pagination=pagination_of(total, limit, offset, len(rows)),
        started_at=millis(run.started_at),
        ended_at=millis(run.finished_at),
    )
    return json_response(JobAnswer(job))


async def _page(row: UrlRow, service: RunService) -> JobPage:
    links: list[str] = []
    if row.document is not None:
        document = await document_of(row, service.context.blobs)
        links = [link["url"] for link in document.get("links", [])]
    return JobPage(str(row.url), row.status_code, row.title, links, millis(row.fetched_at), row.error)
