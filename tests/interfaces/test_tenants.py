"""Two tenants with the same pages of the same site: no interface shows one of them data of the other."""

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
from tests.support.crawls import crawl_settings
from tests.support.http_server import HttpServer, Pages, page, serve_site, site
from tests.support.workers import scaled_app

from sitelore.app.app import App
from sitelore.app.wiring import embedded
from sitelore.cli.commands.operations.mcp import mcp_backend
from sitelore.crawl.context import Progress
from sitelore.crawl.runs import first_offers, start_pipeline
from sitelore.model.errors import NoSuchRun
from sitelore.model.frontier import Run
from sitelore.model.ids import DEFAULT_TENANT, TenantId
from sitelore.model.search import SearchMode, SearchQuery
from sitelore.model.settings import CrawlSettings, PersonalPolicy, Pipeline
from sitelore.model.states import RunState
from sitelore.serve.mcp.tools import mcp_server

TENANTS = ("red", "blue")
NAME = "docs.example"
BODY = "<p>{name} boats cross the harbour. Write to anna.smith@people.example about it. " + "The ferry waits. " * 30 + "</p>"


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


def pages(text: str) -> Pages:
    return site({"/": page("Boats", BODY.format(name=text))})


async def tenant_id(app: App, name: str) -> TenantId:
    return (await app.queue.create_tenant(name, app.clock())).id


async def crawled(app: App, tenant: str, settings: CrawlSettings) -> Run:
    ledger = app.ledger.for_tenant(await tenant_id(app, tenant))
    run = await ledger.create_run(NAME, settings, first_offers(settings), app.clock())
    wait_until_ended = await app.crawl(run, Progress(), asyncio.Event())
    assert wait_until_ended.state is RunState.COMPLETED
    return wait_until_ended


async def both_crawled(app: App, http_server: HttpServer, **changes: Any) -> None:
    """Crawl the same URL for both tenants; the page contains the tenant's name."""
    for tenant in TENANTS:
        http_server.pages = pages(tenant)
        await crawled(app, tenant, crawl_settings(http_server.url(), **changes.get(tenant, {})))


async def call_tool(app: App, tenant: TenantId, tool: str, **arguments: Any) -> str:
    async with Client(mcp_server(mcp_backend(app), tenant=tenant)) as client:
        answer = await client.call_tool(tool, arguments)
        (content,) = answer.content
        assert isinstance(content, TextContent)
        return content.text


async def test_search_and_pages_are_those_of_the_requesting_tenant(app: App) -> None:
    with serve_site(pages("")) as http_server:
        await both_crawled(app, http_server)
        for tenant, other in (TENANTS, TENANTS[::-1]):
            own = await tenant_id(app, tenant)
            answer = await app.search.service(own).search(SearchQuery("boats in the harbour", mode=SearchMode.LEXICAL))
            assert answer.hits
            assert all(f"{tenant} boats" in hit.chunk.text and f"{other} boats" not in hit.chunk.text for hit in answer.hits)
            for tool, arguments in (("search", {"query": "boats in the harbour"}), ("read_page", {"url": http_server.url()})):
                text = await call_tool(app, own, tool, **arguments)
                assert f"{tenant} boats" in text
                assert f"{other} boats" not in text
            assert "1 pages" in await call_tool(app, own, "list_sites")
        for tool, arguments in (("search", {"query": "boats"}), ("read_page", {"url": http_server.url()}), ("list_sites", {})):
            text = await call_tool(app, DEFAULT_TENANT, tool, **arguments)
            assert not any(f"{tenant} boats" in text for tenant in TENANTS)
            assert NAME not in text
        assert "nothing has been crawled yet" in await call_tool(app, DEFAULT_TENANT, "explain_url", url=http_server.url())


async def test_an_explanation_uses_the_tenants_own_run(app: App) -> None:
    with serve_site(pages("red")) as http_server:
        await crawled(app, "red", crawl_settings(http_server.url()))
        for _ in range(3):
            other = app.ledger.for_tenant(await tenant_id(app, "blue"))
            await other.create_run(NAME, crawl_settings(http_server.url()), (), app.clock())
        answer = await call_tool(app, await tenant_id(app, "red"), "explain_url", url=http_server.url())
        assert "VISITED" in answer


async def test_settings_of_one_tenant_do_not_apply_to_another(app: App) -> None:
    """Personal data stay masked although the other tenant, who crawled later, has them shown."""
    with serve_site(pages("")) as http_server:
        await both_crawled(app, http_server, blue={"personal": PersonalPolicy.OFF})
        texts = {}
        for tenant in TENANTS:
            service = app.search.service(await tenant_id(app, tenant))
            answer = await service.search(SearchQuery("boats", mode=SearchMode.LEXICAL))
            texts[tenant] = answer.hits[0].chunk.text
        assert "anna.smith@people.example" in texts["blue"]
        assert "anna.smith@people.example" not in texts["red"]
        red = app.ledger.for_tenant(await tenant_id(app, "red"))
        run = await start_pipeline(red, NAME, Pipeline.INDEX_SITE, (), app.clock())
        assert run.settings.personal is not PersonalPolicy.OFF
        with pytest.raises(NoSuchRun):
            await start_pipeline(app.ledger, NAME, Pipeline.INDEX_SITE, (), app.clock())
