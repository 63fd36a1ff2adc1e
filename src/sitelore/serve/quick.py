"""The quick plane: one line in, the pages out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from sitelore.export.pages import document_of
from sitelore.model.frontier import UrlRow
from sitelore.model.listing import UrlListing, UrlOrder
from sitelore.model.states import UrlState
from sitelore.serve import problems
from sitelore.serve.asking import QuickCrawl, once_of, quick_settings
from sitelore.serve.described import answers
from sitelore.serve.desk import Desk, desk_of, encode
from sitelore.serve.doors import CALLER
from sitelore.serve.wire import Job, JobAnswer, JobPage, Started, millis, page_of

router = APIRouter(tags=["quick"])
JSON = "application/json"
REPLAYED = "Idempotent-Replayed"

# Whatever was really asked for and is no other page under a second name.
_ASKED_FOR = frozenset(
    {
        UrlState.VISITED, UrlState.NOT_MODIFIED, UrlState.FORBIDDEN, UrlState.NOT_FOUND, UrlState.SOFT_404,
        UrlState.HTTP_TERMINAL, UrlState.FAILED,
    }
)  # fmt: skip

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,255}$",
        description="Asking again with the same key, within a day, gives what was made the first time.",
    ),
]
AtDesk = Annotated[Desk, Depends(desk_of)]


@router.post(
    "/crawl",
    status_code=201,
    response_class=Response,
    summary="Start a quick crawl",
    responses=answers(Started, problems.ADDRESS_REFUSED, problems.KEY_REUSED, status=201),
)
async def start_crawl(asked: QuickCrawl, request: Request, desk: AtDesk, key: Key = None) -> Response:
    """Crawl a site from one URL; the answer names the job."""
    settings = quick_settings(asked, desk.settings.allow_private)
    made = await desk.start(settings, once_of(key, request.scope[CALLER], settings))
    headers = {"Location": f"/crawl/{made.run.id}", **({} if made.is_new else {REPLAYED: "true"})}
    return Response(encode(Started(made.run.id, "started")), 201, headers, JSON)


@router.get(
    "/crawl/{job_id}",
    response_class=Response,
    summary="A quick crawl with its pages",
    responses=answers(JobAnswer, problems.RUN_NOT_FOUND),
)
async def show_crawl(
    job_id: str,
    desk: AtDesk,
    limit: Annotated[int, Query(ge=1, le=1000, description="Pages in the answer at most.")] = 100,
    offset: Annotated[int, Query(ge=0, le=10**9, description="Pages to leave out first.")] = 0,
) -> Response:
    """The job and the pages crawled so far, in the order they were admitted."""
    run = await desk.run(job_id)
    ledger = desk.backstage.ledger
    rows, total = await ledger.list_rows(run.id, UrlListing(_ASKED_FOR, UrlOrder.ID, limit=limit, offset=offset))
    job = Job(
        id=run.id,
        status=run.state.value.lower(),
        seed_url=next(iter(run.settings.seeds), None),
        max_pages=run.settings.max_pages,
        pages=[await _page(row, desk) for row in rows],
        pagination=page_of(total, limit, offset, len(rows)),
        started_at=millis(run.started_at),
        ended_at=millis(run.finished_at),
    )
    return Response(encode(JobAnswer(job)), media_type=JSON)


async def _page(row: UrlRow, desk: Desk) -> JobPage:
    links: list[str] = []
    if row.document is not None:
        document = await document_of(row, desk.backstage.blobs)
        links = [link["url"] for link in document.get("links", [])]
    return JobPage(str(row.url), row.status_code, row.title, links, millis(row.fetched_at), row.error)
