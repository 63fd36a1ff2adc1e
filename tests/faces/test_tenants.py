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
from tests.web.fleet import scaled_house
from tests.web.journey import crawl_settings
from tests.web.serve import Pages, Web, page, serving, site

from sitelore.cli.mcp_serving import sources_of
from sitelore.crawl.runs import first_offers, start_pipeline
from sitelore.crawl.worker_context import Progress
from sitelore.deploy.embedded import House, embedded
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
async def _houses(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[House]:
    if kind == "embedded":
        async with embedded(tmp_path, writing=True) as house:
            yield house
        return
    servers = request.getfixturevalue("servers")
    assert isinstance(servers, LocalServers)
    async with scaled_house(servers) as (house, _):
        yield house


@pytest.fixture(params=["embedded", "scaled"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    async with _houses(request.param, tmp_path, request) as house:
        yield house


def pages(said: str) -> Pages:
    return site({"/": page("Boats", BODY.format(said=said))})


async def crawled(house: House, tenant: str, settings: CrawlSettings) -> Run:
    run = await house.ledger.create_run(NAME, settings, first_offers(settings), house.clock(), tenant)
    ended = await house.crawl(run, Progress(), asyncio.Event())
    assert ended.state is RunState.COMPLETED
    return ended


async def both_crawled(house: House, web: Web, **changes: Any) -> None:
    """The same address, one after the other; the page says whose it is."""
    for tenant in TENANTS:
        web.pages = pages(tenant)
        await crawled(house, tenant, crawl_settings(web.url(), **changes.get(tenant, {})))


async def told(house: House, tenant: str, tool: str, **arguments: Any) -> str:
    async with Client(mcp_server(sources_of(house), tenant=tenant)) as client:
        answer = await client.call_tool(tool, arguments)
        (content,) = answer.content
        assert isinstance(content, TextContent)
        return content.text


async def test_search_and_pages_are_those_of_the_tenant_that_asks(house: House) -> None:
    with serving(pages("")) as web:
        await both_crawled(house, web)
        for tenant, other in (TENANTS, TENANTS[::-1]):
            answer = await house.search_service.search(SearchQuery("boats in the harbour", tenant, mode=SearchMode.LEXICAL))
            assert answer.hits
            assert all(f"{tenant} boats" in hit.card.text and f"{other} boats" not in hit.card.text for hit in answer.hits)
            for tool, arguments in (("search", {"query": "boats in the harbour"}), ("read_page", {"url": web.url()})):
                said = await told(house, tenant, tool, **arguments)
                assert f"{tenant} boats" in said
                assert f"{other} boats" not in said
            assert "1 pages" in await told(house, tenant, "list_sites")
        for tool, arguments in (("search", {"query": "boats"}), ("read_page", {"url": web.url()}), ("list_sites", {})):
            said = await told(house, DEFAULT_TENANT, tool, **arguments)
            assert not any(f"{tenant} boats" in said for tenant in TENANTS)
            assert NAME not in said
        assert "nothing has been crawled yet" in await told(house, DEFAULT_TENANT, "explain_url", url=web.url())


async def test_an_explanation_is_of_the_tenants_own_run_however_many_others_have(house: House) -> None:
    with serving(pages("red")) as web:
        await crawled(house, "red", crawl_settings(web.url()))
        for _ in range(3):
            await house.ledger.create_run(NAME, crawl_settings(web.url()), (), house.clock(), "blue")
        said = await told(house, "red", "explain_url", url=web.url())
        assert "VISITED" in said


async def test_what_one_tenant_asked_of_a_site_says_nothing_about_anothers(house: House) -> None:
    """Personal data stay masked though the other, who came later, wants them shown."""
    with serving(pages("")) as web:
        await both_crawled(house, web, blue={"personal": PersonalPolicy.OFF})
        texts = {}
        for tenant in TENANTS:
            answer = await house.search_service.search(SearchQuery("boats", tenant, mode=SearchMode.LEXICAL))
            texts[tenant] = answer.hits[0].card.text
        assert "anna.smith@people.example" in texts["blue"]
        assert "anna.smith@people.example" not in texts["red"]
        run = await start_pipeline(house.ledger, NAME, Pipeline.INDEX_SITE, (), house.clock(), tenant="red")
        assert run.settings.personal is not PersonalPolicy.OFF
        with pytest.raises(NoSuchRun):
            await start_pipeline(house.ledger, NAME, Pipeline.INDEX_SITE, (), house.clock())
