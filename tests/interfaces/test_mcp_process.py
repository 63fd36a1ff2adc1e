"""`sitelore mcp` as a process on a crawled site, and MCP as a path of the API."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent
from tests.interfaces.api import idle_app
from tests.interfaces.cli import COMMAND, environment, error_line, sitelore
from tests.interfaces.mcp_app import FakeBackend

from sitelore.app.demo_site import demo_site
from sitelore.extras import install_command
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.platform.accounts import MCP_SCOPES, TENANT_SCOPES, Caller, TokenKind
from sitelore.platform.accounts.accounts import AccountService, TokenRequest
from sitelore.platform.accounts.tenants import TenantService
from sitelore.serve.context import ApiSettings
from sitelore.serve.mcp.transports import McpApp
from sitelore.serve.server import listening_socket, serve

TOKEN = "a-token-of-some-length"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp") / "data"
    with demo_site() as address:
        done = sitelore("crawl", address, "--delay", "0", "--output", "db", "--data", folder)
        assert done.returncode == 0, done.stderr
    return folder


async def call_tool_text(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def test_a_client_can_search_and_read_crawled_pages(data: Path) -> None:
    arguments = ["-m", "sitelore", "mcp", "--data", str(data)]
    async with Client(StdioServerParameters(command=sys.executable, args=arguments, env=environment())) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == ["search", "read_page", "list_sites", "explain_url"]
        assert "10 pages" in await call_tool_text(client, "list_sites")
        answer = await call_tool_text(client, "search", query="demo site")
        source = answer.partition("\nsource: ")[2].partition("\n")[0]
        page = await call_tool_text(client, "read_page", url=source)
        assert "UNTRUSTED-WEB-CONTENT" in page
        assert f"source: {source.partition('#')[0]}\n" in page
        assert "outcome: passed; VISITED" in await call_tool_text(client, "explain_url", url=source)
        assert (await client.call_tool("crawl_site", {"url": source})).is_error


def test_stdout_carries_the_protocol_and_nothing_else(data: Path) -> None:
    lines = ["this is no message", json.dumps(HELLO), json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})]
    process = subprocess.Popen(
        [*COMMAND, "--debug", "mcp", "--debug", "--data", str(data)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: list[dict[str, Any]] = []
    with process:
        for line in lines[:2]:
            process.stdin.write(f"{line}\n")
        process.stdin.flush()
        while not any(answer.get("id") == 1 for answer in answers):
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.write(f"{lines[2]}\n")
        process.stdin.flush()
        answers.append(json.loads(process.stdout.readline()))
        rest, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert rest == ""
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}
    assert next(tool["name"] for tool in answers[-1]["result"]["tools"]) == "search"


def test_a_signal_ends_it_while_a_client_is_connected(data: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "mcp", "--allow-crawl", "--data", str(data)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "sitelore"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


async def test_it_serves_http_on_its_own_port(data: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "mcp", "--http", "127.0.0.1:0", "--data", str(data), stderr=asyncio.subprocess.PIPE, env=environment()
    )
    assert process.stderr is not None
    try:
        port = 0
        while not port:
            port = json.loads(await process.stderr.readline()).get("port", 0)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            assert "10 pages" in await call_tool_text(client, "list_sites")
    finally:
        process.terminate()
        await process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--http", "here"), "--http: invalid address 'here' (use HOST:PORT"),
        (("--http", "127.0.0.1:99999"), "(use HOST:PORT"),
        (("--http", "::1:80"), "(use HOST:PORT"),
        (("--http", "0.0.0.0:0"), "without SITELORE_TOKENS the server listens only on loopback"),
        ((), "no crawl data in"),
    ],
)
def test_an_invalid_option_gives_a_one_line_error(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    done = sitelore("mcp", *arguments, "--data", tmp_path / "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in error_line(done)


def test_without_the_extra_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sitelore.extras.find_spec", lambda name: None if name == "mcp" else find_spec(name))
    assert install_command("mcp") in error_line(sitelore("mcp", "--data", tmp_path))


async def test_the_api_serves_mcp_behind_its_own_security_middleware(tmp_path: Path) -> None:
    stop = asyncio.Event()
    socket = listening_socket("127.0.0.1", 0, with_tokens=True)
    address = f"http://127.0.0.1:{socket.getsockname()[1]}"
    async with idle_app(tmp_path) as context:
        serving = asyncio.create_task(serve(context, ApiSettings(tokens=(TOKEN,)), socket, stop, McpApp(FakeBackend())))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers) as known, httpx2.AsyncClient() as stranger:
            async with Client(streamable_http_client(f"{address}/mcp", http_client=known)) as client:
                assert "shop.example" in await call_tool_text(client, "list_sites")
            assert (await known.get(f"{address}/mcp")).status_code == 405
            assert (await known.get(f"{address}/crawl-runs")).status_code == 200
            assert (await stranger.post(f"{address}/mcp", json={})).status_code == 401
        stop.set()
        await serving


async def test_over_http_the_token_names_the_tenant_and_limits_the_tools(tmp_path: Path) -> None:
    stop, backend = asyncio.Event(), FakeBackend()
    socket = listening_socket("127.0.0.1", 0, with_tokens=True)
    address = f"http://127.0.0.1:{socket.getsockname()[1]}/mcp"
    async with idle_app(tmp_path) as context:
        tenants = TenantService(context.queue, context.directory, context.clock, Caller())
        red, blue = [await tenants.create(name) for name in ("red", "blue")]
        caller = Caller(red.tenant.id, TENANT_SCOPES)
        accounts = AccountService(context.directory.for_tenant(red.tenant.id), context.clock, caller)
        reading = (await accounts.create_token(TokenRequest("mcp", kind=TokenKind.MCP))).text
        mcp = McpApp(backend, may_crawl=True)
        serving = asyncio.create_task(serve(context, ApiSettings(tokens=(TOKEN,)), socket, stop, mcp))
        ids = {red.token.text: red.tenant.id, blue.token.text: blue.tenant.id, reading: red.tenant.id, TOKEN: DEFAULT_TENANT}
        for text, tenant in ids.items():
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {text}"}) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                await call_tool_text(client, "search", query="hours")
                assert backend.queries[-1][1] == tenant
                answer = await client.call_tool("crawl_site", {"url": "https://shop.example/", "max_pages": 3})
                assert answer.is_error == (text == reading), "a token of this kind reads and searches alone"
        lacking = [TokenRequest("a", frozenset({scope})) for scope in MCP_SCOPES]
        for request in (*lacking, TokenRequest("a", channel="c1")):
            headers = {"Authorization": f"Bearer {(await accounts.create_token(request)).text}"}
            async with httpx2.AsyncClient(headers=headers) as http:
                assert (await http.post(address, json={})).status_code == 403
        stop.set()
        await serving
