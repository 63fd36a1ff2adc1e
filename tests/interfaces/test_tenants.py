"""Two tenants with the same pages of the same site: no face shows one of them anything of the other's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import TextContent
from scripts.servers import LocalServers
from tests.support.fleet import scaled_app
from tests.support.journey import crawl_settings
from tests.support.serve import Pages, Web, page, serving, site

from sitelore.app.app import App
from sitelore.app.wiring import embedded
from sitelore.cli.commands.mcp import mcp_backend
from sitelore.crawl.context import Progress
from sitelore.crawl.runs import first_offers, start_pipeline
from sitelore.model.errors import NoSuchRun
from sitelore.model.frontier import Run
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.search import SearchMode, SearchQuery
from sitelore.model.settings import CrawlSettings, PersonalPolicy, Pipeline
from sitelore.model.states import RunState
from sitelore.serve.mcp.tools import mcp_server

TENANTS = ("red", "blue")
NAME = "docs.example"
BODY = "<p>{said} boats cross the harbour. Write to anna.smith@people.example about it. " + "The ferry waits. " * 30 + "</p>"


@asynccontextmanager
async def _apps(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[App]:
    if kind == "embedded":
        async with embedded(tmp_path, writing=True) as app:
            yield app
        return
    servers = request.getfixturevalue("servers")
    assert isinstance(servers, LocalServers)
    async with scaled_app(servers) as (app, _):
        yield app


@pytest.fixture(params=["embedded", "scaled"])
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[App]:
    async with _apps(request.param, tmp_path, request) as app:
        yield app


def pages(said: str) -> Pages:
    return site({"/": page("Boats", BODY.format(said=said))})


async def crawled(app: App, tenant: str, settings: CrawlSettings) -> Run:
    run = await app.ledger.create_run(NAME, settings, first_offers(settings), app.clock(), tenant)
    ended = await app.crawl(run, Progress(), asyncio.Event())
    assert ended.state is RunState.COMPLETED
    return ended


async def both_crawled(app: App, web: Web, **changes: Any) -> None:
    """The same address, one after the other; the page says whose it is."""
    for tenant in TENANTS:
        web.pages = pages(tenant)
        await crawled(app, tenant, crawl_settings(web.url(), **changes.get(tenant, {})))


async def told(app: App, tenant: str, tool: str, **arguments: Any) -> str:
    async with Client(mcp_server(mcp_backend(app), tenant=tenant)) as client:
        answer = await client.call_tool(tool, arguments)
        (content,) = answer.content
        assert isinstance(content, TextContent)
        return content.text


async def test_search_and_pages_are_those_of_the_tenant_that_asks(app: App) -> None:
    with serving(pages("")) as web:
        await both_crawled(app, web)
        for tenant, other in (TENANTS, TENANTS[::-1]):
            answer = await app.search_service.search(SearchQuery("boats in the harbour", tenant, mode=SearchMode.LEXICAL))
            assert answer.hits
            assert all(f"{tenant} boats" in hit.chunk.text and f"{other} boats" not in hit.chunk.text for hit in answer.hits)
            for tool, arguments in (("search", {"query": "boats in the harbour"}), ("read_page", {"url": web.url()})):
                said = await told(app, tenant, tool, **arguments)
                assert f"{tenant} boats" in said
                assert f"{other} boats" not in said
            assert "1 pages" in await told(app, tenant, "list_sites")
        for tool, arguments in (("search", {"query": "boats"}), ("read_page", {"url": web.url()}), ("list_sites", {})):
            said = await told(app, DEFAULT_TENANT, tool, **arguments)
            assert not any(f"{tenant} boats" in said for tenant in TENANTS)
            assert NAME not in said
        assert "nothing has been crawled yet" in await told(app, DEFAULT_TENANT, "explain_url", url=web.url())


async def test_an_explanation_is_of_the_tenants_own_run_however_many_others_have(app: App) -> None:
    with serving(pages("red")) as web:
        await crawled(app, "red", crawl_settings(web.url()))
        for _ in range(3):
            await app.ledger.create_run(NAME, crawl_settings(web.url()), (), app.clock(), "blue")
        said = await told(app, "red", "explain_url", url=web.url())
        assert "VISITED" in said


async def test_what_one_tenant_asked_of_a_site_says_nothing_about_anothers(app: App) -> None:
    """Personal data stay masked though the other, who came later, wants them shown."""
    with serving(pages("")) as web:
        await both_crawled(app, web, blue={"personal": PersonalPolicy.OFF})
        texts = {}
        for tenant in TENANTS:
            answer = await app.search_service.search(SearchQuery("boats", tenant, mode=SearchMode.LEXICAL))
            texts[tenant] = answer.hits[0].chunk.text
        assert "anna.smith@people.example" in texts["blue"]
        assert "anna.smith@people.example" not in texts["red"]
        run = await start_pipeline(app.ledger, NAME, Pipeline.INDEX_SITE, (), app.clock(), tenant="red")
        assert run.settings.personal is not PersonalPolicy.OFF
        with pytest.raises(NoSuchRun):
            await start_pipeline(app.ledger, NAME, Pipeline.INDEX_SITE, (), app.clock())
