"""`sitelore tenant` and `sitelore token`, on a data directory, also beside a running server, and on servers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from scripts.servers import LocalServers
from tests.interfaces.cli import sitelore
from tests.interfaces.test_api_process import serve_process
from tests.support.crawls import COMMAND, environment
from tests.support.http_server import page, serve_site, site
from tests.support.workers import scaled_app, worker_pool

from sitelore.platform.accounts.authentication import parse_token


def result(*arguments: str | Path) -> Any:
    """The JSON that a command prints."""
    done = sitelore(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_tenants_and_tokens_from_creation_to_the_end(tmp_path: Path) -> None:
    data = ("--data", tmp_path / "data")
    assert result("tenant", "create", "red", *data)["id"] == "2"
    assert [tenant["name"] for tenant in result("tenant", "list", *data)] == ["default", "red"]
    done = sitelore("token", "create", "--tenant", "red", "--name", "ci", "--scope", "read", "--scope", "search",
                    "--expires", "90d", *data)  # fmt: skip
    assert done.returncode == 0
    text = done.stdout.strip()
    parsed = parse_token(text)
    assert parsed is not None
    assert text not in done.stderr
    [listed] = result("token", "list", "--tenant", "red", *data)
    assert (listed["id"], listed["scopes"], listed["valid"], listed["created_by"]) == (
        parsed.id, ["read", "search"], True, "command line",
    )  # fmt: skip
    assert listed["expires_at"] == pytest.approx(listed["created_at"] + 90 * 86_400)
    renewed = result("token", "rotate", text, "--tenant", "red", "--grace", "0", *data)
    assert renewed["rotated_from"] == parsed.id
    assert sitelore("token", "revoke", renewed["id"], "--tenant", "red", *data).returncode == 0
    assert [token["valid"] for token in result("token", "list", "--tenant", "red", *data)] == [False, False]
    table = sitelore("token", "list", "--tenant", "red", *data).stdout
    assert "revoked" in table
    assert text[-49:] not in table
    sitelore("tenant", "suspend", "red", *data)
    assert result("tenant", "show", "red", *data)[0]["suspended_at"]
    sitelore("tenant", "suspend", "red", "--end", *data)
    assert result("tenant", "show", "red", *data)[0]["suspended_at"] is None
    assert "would delete" in sitelore("tenant", "delete", "red", *data).stderr
    assert sitelore("tenant", "delete", "red", "--yes", *data).returncode == 0
    assert [tenant["name"] for tenant in result("tenant", "list", *data)] == ["default"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("token", "create", "--tenant", "green"), "no tenant 'green'"),
        (("token", "revoke", "unknown"), "no token unknown"),
        (("token", "rotate", "unknown"), "no token unknown"),
        (("tenant", "create", "default"), "already"),
        (("tenant", "delete", "default", "--yes"), "cannot be suspended"),
        (("token", "create", "--kind", "mcp", "--scope", "crawl"), "may not have crawl"),
        (("token", "create", "--expires", "banana"), "invalid duration"),
        (("tenant", "create", "ghp_8cDrtuiX0CnA1fLZvgddJNOXOI8hV3BRclP6"), "looks like a secret"),
    ],
)
def test_wrong_arguments_are_one_line_and_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    assert sitelore("tenant", "create", "red", "--data", tmp_path).returncode == 0
    done = sitelore(*arguments, "--data", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_tokens_are_created_and_revoked_beside_a_running_server(tmp_path: Path) -> None:
    data = ("--data", tmp_path)
    first = result("token", "create", "--name", "before the start", *data)["token"]
    with (
        serve_site(site({"/": page("Home")})) as http_server,
        serve_process(tmp_path, http_server) as server,
    ):
        assert server.api.call("GET", "/crawl-runs").status == 401, "a token in the database is needed"
        assert server.api.call("GET", "/crawl-runs", Authorization=f"Bearer {first}").status == 200
        second = result("token", "create", *data)
        header = f"Bearer {second['token']}"
        assert server.api.call("GET", "/crawl-runs", Authorization=header).status == 200
        sitelore("token", "revoke", second["id"], *data)
        while server.api.call("GET", "/crawl-runs", Authorization=header).status != 401:
            pass  # at most a second; test_accounts.py proves it with a clock of its own
        assert server.end() < 30
        log = json.dumps(server.lines)
        assert first[-49:] not in log
        assert second["token"][-49:] not in log


async def test_a_token_works_on_every_server(servers: LocalServers, tmp_path: Path) -> None:
    async with scaled_app(servers) as (_, operator):
        with worker_pool(operator) as pool, serve_site(site({"/": page("Home")})) as http_server:
            env = pool.variables()
            token = await in_process(env, "token", "create", "--scope", "read")
            with serve_process(tmp_path, http_server, env=env) as one, serve_process(tmp_path, http_server, env=env) as two:
                for server in (one, two):
                    assert server.api.call("GET", "/crawl-runs").status == 401
                    assert server.api.call("GET", "/crawl-runs", Authorization=f"Bearer {token['token']}").status == 200
                await in_process(env, "token", "revoke", token["id"])
                for server in (one, two):
                    while server.api.call("GET", "/crawl-runs", Authorization=f"Bearer {token['token']}").status != 401:
                        pass


async def in_process(env: dict[str, str], *arguments: str) -> Any:
    """Run a command in a process of its own: this one has a running event loop."""
    words = [*COMMAND, *arguments, *(() if "revoke" in arguments else ("--json",))]
    process = await asyncio.create_subprocess_exec(*words, env=environment(env), stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(out) if out else None
