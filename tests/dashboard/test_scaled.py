"""The dashboard on Postgres, Valkey and S3: two servers, and a worker that crawls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from playwright.sync_api import expect
from scripts.servers import LocalServers
from tests.dashboard.conftest import OpenScreen
from tests.interfaces.api import Api
from tests.interfaces.test_api_process import ServerProcess, serve_process
from tests.support.http_server import HttpServer, page, prose, serve_site, site
from tests.support.workers import create_database, drop_database, worker_pool, worker_settings

OPERATOR = "a-token-of-the-operator"
PAGES = {
    "/": page("Harbour", prose("harbour"), links=("/boats", "/nets", "/gone")),
    "/boats": page("Boats", prose("boats"), links=("/",)),
    "/nets": page("Nets", prose("nets"), links=("/",)),
}
_T = TypeVar("_T")


def run_in_thread(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine while Playwright's synchronous interface uses the event loop of this thread."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, coroutine).result()


@dataclass(frozen=True, slots=True)
class Scaled:
    """Two servers of one installation, and the site that its worker may crawl."""

    first: ServerProcess
    second: ServerProcess
    site: HttpServer


@pytest.fixture(scope="module")
def scaled(servers: LocalServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scaled]:
    url = run_in_thread(create_database(servers.postgres.url))
    data = tmp_path_factory.mktemp("scaled")
    try:
        with serve_site(site(PAGES), host="localhost") as http_server, worker_pool(worker_settings(servers, url)) as pool:
            env = pool.variables() | {"SITELORE_TOKENS": OPERATOR}
            with (
                serve_process(data, http_server, env=env) as first,
                serve_process(data, http_server, env=env) as second,
            ):
                pool.start()
                yield Scaled(first, second, http_server)
    finally:
        run_in_thread(drop_database(servers.postgres.url, url))


def test_a_browser_signs_in_at_one_server_and_uses_the_other(scaled: Scaled, open_screen: OpenScreen) -> None:
    assert scaled.first.process.stdout is not None
    code = scaled.first.process.stdout.readline().decode().split()[1].partition("#")[2]
    screen = open_screen(scaled.second.api.port)
    tab = screen.page
    tab.goto(f"{screen.origin}/ui/#{code}")
    expect(tab.get_by_role("navigation")).to_be_visible()
    assert Api(scaled.first.api.port).call("POST", "/session/code", {"code": code.partition("=")[2]}).kind == "login-expired"

    # Behind a proxy both servers see one Host header, whose port names the cookie.
    [cookie] = tab.context.cookies()
    headers = {"Cookie": f"{cookie['name']}={cookie['value']}", "Host": f"127.0.0.1:{scaled.second.api.port}"}
    either = [Api(server.api.port) for server in (scaled.first, scaled.second)]
    assert [server.call("GET", "/crawl-runs", **headers).status for server in either] == [200, 200]

    tab.get_by_role("button", name="Sign out").click()
    expect(tab.get_by_role("button", name="Sign in")).to_be_visible()
    assert [server.call("GET", "/crawl-runs", **headers).status for server in either] == [401, 401]


def test_a_crawl_by_a_worker_is_started_watched_read_and_searched(scaled: Scaled, open_screen: OpenScreen) -> None:
    screen = open_screen(scaled.first.api.port)
    tab = screen.open("/")
    tab.get_by_label("Token").fill(OPERATOR)
    tab.get_by_role("button", name="Sign in").click()
    scaled.site.delay_s = 0.5
    try:
        field = tab.get_by_label("Website address")
        field.fill(scaled.site.url("/"))
        field.press("Enter")
        expect(tab).to_have_url(re.compile("/ui/channels/"))
        channel = tab.url.rpartition("/")[2]
        run = scaled.first.api.get(f"/tenant/v1/channels/{channel}/webcrawl/status")["job"]["id"]
        screen.open("/manage/queues")
        expect(tab.get_by_role("region", name="Active runs").get_by_role("link")).to_have_attribute("href", f"/ui/runs/{run}")
        expect(tab.get_by_role("region", name="Workers").get_by_role("row").nth(1)).to_be_visible()
    finally:
        scaled.site.delay_s = 0.0
    tab.get_by_role("region", name="Active runs").get_by_role("link").click()
    expect(tab.get_by_text("Completed", exact=True)).to_be_visible(timeout=60_000)

    screen.open(f"/runs/{run}/urls")
    tab.get_by_role("button", name=re.compile(r"^Not found")).click()
    expect(tab.locator("table.rows tbody tr")).to_have_count(1)
    tab.get_by_role("button", name=re.compile(r"^Not found")).click()
    tab.get_by_role("button", name="/boats").click()
    tab.get_by_role("link", name="Read the page").click()
    expect(tab.get_by_role("heading", name="Boats", level=1)).to_be_visible()

    screen.open("/search")
    expect(tab.get_by_text("not indexed yet")).to_have_count(0, timeout=30_000)
    tab.get_by_role("searchbox").fill("boats")
    tab.get_by_role("button", name="Search").click()
    expect(tab.get_by_role("link", name="Boats").first).to_be_visible()


def test_a_tenant_that_is_created_at_one_server_is_known_at_the_other(scaled: Scaled, open_screen: OpenScreen) -> None:
    screen = open_screen(scaled.first.api.port)
    tab = screen.open("/manage")
    tab.get_by_label("Token").fill(OPERATOR)
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("button", name="Create tenant").click()
    tab.get_by_role("dialog").get_by_label("Name").fill("acme")
    tab.get_by_role("dialog").get_by_role("button", name="Create tenant").click()
    token = tab.get_by_role("dialog").locator("code").inner_text().strip()
    tab.get_by_role("button", name="I have stored it").click()
    other = Api(scaled.second.api.port, token)
    assert other.get("/tenant/v1/me")["tenant"]["name"] == "acme"
    tab.get_by_role("link", name="acme").click()
    tab.get_by_role("button", name="Suspend").click()
    tab.get_by_role("dialog").get_by_role("button", name="Suspend").click()
    expect(tab.get_by_text("Suspended", exact=True)).to_be_visible()
    while other.call("GET", "/crawl-runs").status == 200:  # the other server looks a token up once a second
        tab.wait_for_timeout(50)
    assert other.call("GET", "/crawl-runs").kind == "tenant-suspended"
