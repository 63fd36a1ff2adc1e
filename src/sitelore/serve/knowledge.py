"""The knowledge plane: search, sites, what is held back from deletion, and pipelines by name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from sitelore.crawl.pipelines import start_pipeline
from sitelore.export.answers import answer_json
from sitelore.model.errors import NoSuchRun, UsageError
from sitelore.model.frontier import Run
from sitelore.model.knowledge import SearchMode, SearchQuery, SiteShelf
from sitelore.model.settings import Pipeline
from sitelore.serve import problems
from sitelore.serve.described import answers
from sitelore.serve.desk import Desk, encode
from sitelore.serve.problems import FieldProblem, Refused
from sitelore.serve.quick import JSON, AtDesk
from sitelore.serve.wire import Found, HeldPages, RunView, SiteList, SiteView, run_view

router = APIRouter(tags=["knowledge"])

_NAME = r"^[!-~]{1,300}$"
_MOST_DIRTY = 100  # more does not fit into a body that any request may have
SiteName = Annotated[str, Path(pattern=_NAME, description="A site as `/sites` names it.")]


class Dirty(BaseModel):
    """What is said to have changed; nothing means: see for yourself."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    urls: Annotated[
        list[str],
        Field(max_length=_MOST_DIRTY, description="URLs of the site that have changed."),
    ] = Field(default_factory=list)


class Decision(BaseModel):
    """What becomes of pages that look gone."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    agree: Annotated[bool, Field(description="True: they are gone. False: keep what they last said.")]


@router.get("/search", response_class=Response, summary="Search", responses=answers(Found))
async def search(
    desk: AtDesk,
    q: Annotated[str, Query(min_length=1, max_length=2000, description="What to look for, in words or as a question.")],
    site: Annotated[list[str] | None, Query(max_length=100, description="Only these sites.")] = None,
    path: Annotated[str, Query(max_length=2000, description="Only pages at or below this path.")] = "",
    lang: Annotated[list[str] | None, Query(max_length=50, description="Only pages in these languages.")] = None,
    kind: Annotated[list[str] | None, Query(alias="type", max_length=20, description="Only page, pdf, docx …")] = None,
    since: Annotated[
        str | None, Query(max_length=40, description="Only pages dated on or after this day (2025-01-31).")
    ] = None,
    until: Annotated[str | None, Query(max_length=40, description="Only pages dated before this day.")] = None,
    limit: Annotated[int, Query(ge=1, le=100, description="Answers at most.")] = 10,
    mode: Annotated[SearchMode, Query(description="Words and meaning, words alone, or meaning alone.")] = SearchMode.HYBRID,
    flagged: Annotated[bool, Query(description="Whether text that reads like orders to a machine may answer.")] = True,
) -> Response:
    """The chunks that answer best, with snippets and addresses that lead to the text itself."""
    query = SearchQuery(
        q,
        sites=tuple(site or ()),
        path=path,
        langs=tuple(lang or ()),
        kinds=tuple(kind or ()),
        since=_seconds(since, "query.since"),
        until=_seconds(until, "query.until"),
        limit=limit,
        mode=mode,
        flagged=flagged,
    )
    answer = await desk.backstage.library.search(query)
    return Response(encode(answer_json(query, answer)), media_type=JSON)


@router.get("/sites", response_class=Response, summary="The sites", responses=answers(SiteList))
async def list_sites(desk: AtDesk) -> Response:
    """Every site with how much of it is indexed."""
    shelves = await desk.backstage.library.sites()
    return Response(encode(SiteList([_site(shelf) for shelf in shelves])), media_type=JSON)


@router.get(
    "/sites/{site}/deletions",
    response_class=Response,
    summary="Pages held back from deletion",
    responses=answers(HeldPages, problems.SITE_NOT_FOUND),
)
async def show_deletions(site: SiteName, desk: AtDesk) -> Response:
    """How many pages look gone, too many at once to be believed."""
    shelf = await _shelf(site, desk)
    return Response(encode(HeldPages(shelf.name, shelf.held)), media_type=JSON)


@router.post(
    "/sites/{site}/deletions",
    response_class=Response,
    summary="Decide about held pages",
    responses=answers(HeldPages, problems.SITE_NOT_FOUND),
)
async def decide_deletions(site: SiteName, asked: Decision, desk: AtDesk) -> Response:
    """Drop the held pages from the index, or keep what they last said. The answer says how many it was."""
    shelf = await _shelf(site, desk)
    backstage = desk.backstage
    held = await backstage.library.knowledge.release_held(shelf.site, backstage.clock(), agreed=asked.agree)
    return Response(encode(HeldPages(shelf.name, held)), media_type=JSON)


@router.post(
    "/sites/{site}/pipelines/{pipeline}",
    status_code=201,
    response_class=Response,
    summary="Start a pipeline",
    responses=answers(RunView, problems.SITE_NOT_FOUND, status=201),
)
async def start(site: SiteName, pipeline: Pipeline, asked: Dirty, desk: AtDesk) -> Response:
    """Look at a site again: all of it (`index-site`), or what has changed (`update-delta`)."""
    return _made(await _start(site, pipeline, asked.urls, desk))


@router.post(
    "/hooks/{site}",
    status_code=201,
    response_class=Response,
    summary="Something was published",
    responses=answers(RunView, problems.SITE_NOT_FOUND, status=201),
)
async def hook(site: SiteName, asked: Dirty, desk: AtDesk) -> Response:
    """For a CMS to call: the same as the pipeline `update-delta`."""
    return _made(await _start(site, Pipeline.UPDATE_DELTA, asked.urls, desk))


async def _start(site: str, pipeline: Pipeline, dirty: list[str], desk: Desk) -> Run:
    backstage = desk.backstage
    try:
        run = await start_pipeline(backstage.ledger, site, pipeline, dirty, backstage.clock(), backstage.redaction)
    except NoSuchRun:
        raise _no_site(site) from None
    except UsageError as problem:
        raise Refused(problems.INVALID, errors=(FieldProblem("body.urls", str(problem)),)) from None
    await backstage.announce(run.id)
    return run


def _made(run: Run) -> Response:
    return Response(encode(run_view(run)), 201, {"Location": f"/crawl-runs/{run.id}"}, JSON)


async def _shelf(site: str, desk: Desk) -> SiteShelf:
    found = await desk.backstage.library.sites(names=(site,))
    if not found:
        raise _no_site(site)
    return found[0]


def _no_site(site: str) -> Refused:
    return Refused(problems.SITE_NOT_FOUND, f"no site is called {site}")


def _site(shelf: SiteShelf) -> SiteView:
    return SiteView(shelf.name, shelf.pages, shelf.waiting, shelf.chunks, shelf.embedded, shelf.held)


def _seconds(day: str | None, field: str) -> float | None:
    if day is None:
        return None
    try:
        moment = datetime.fromisoformat(day)
    except ValueError:
        raise Refused(problems.INVALID, errors=(FieldProblem(field, "it takes a date like 2025-01-31"),)) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
