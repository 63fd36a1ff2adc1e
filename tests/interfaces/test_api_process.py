"""`sitelore serve` as a process: signals, logs and errors at the start."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.api import Api
from tests.journeys.test_secrets import everything_in
from tests.support.crawls import COMMAND, as_expected, differences, environment, run_cli, stored_counts, stored_rows
from tests.support.graph import Graph
from tests.support.http_server import HttpServer, page, prose, serve_site, site
from tests.support.proxies import ECHO, Gate, serve_gate

from sitelore.cli.main import main

TOKEN = "a-token-that-must-not-be-logged"
DRAIN_S = 30


@dataclass(slots=True)
class ServerProcess:
    """A server process and the lines it has logged."""

    process: subprocess.Popen[bytes]
    api: Api
    lines: list[dict[str, Any]] = field(default_factory=list)

    def end(self) -> float:
        """Send SIGTERM; return how long the server took to end."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(DRAIN_S + 10)
        return time.monotonic() - began


@contextlib.contextmanager
def serve_process(
    data: Path, http_server: HttpServer, *options: str, env: dict[str, str] | None = None
) -> Iterator[ServerProcess]:
    allowed = {"SITELORE_ALLOW_PRIVATE": f"{http_server.host}:{http_server.port}", **(env or {})}
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--data", str(data), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment(allowed),
        start_new_session=True,
    )
    assert process.stderr is not None
    lines: list[dict[str, Any]] = []
    try:
        for line in process.stderr:
            lines.append(json.loads(line))
            if lines[-1]["message"] == "listening":
                break
        reading = threading.Thread(target=lambda: lines.extend(map(json.loads, process.stderr or ())), daemon=True)
        reading.start()
        token = (env or {}).get("SITELORE_TOKENS", "").partition(",")[0]
        yield ServerProcess(process, Api(lines[-1]["port"], token), lines)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if lines:
            reading.join(10)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


async def test_sigterm_drains_and_the_next_server_finishes_the_run(tmp_path: Path) -> None:
    graph = Graph(12, 80)
    with serve_site(lambda _: None, host="localhost") as http_server:
        http_server.pages = graph.pages(http_server.origin)
        http_server.delay_s = 0.05
        with serve_process(tmp_path, http_server) as first:
            run = first.api.start(http_server.url("/"), includeDocuments=True)
            assert http_server.wait_for_hits(15)
            took_s = first.end()
            assert first.process.returncode == 0
            assert took_s < DRAIN_S
        rows = [row async for row in stored_rows(tmp_path)]
        assert not [row for row in rows if row.claimed_by or row.state == "IN_PROGRESS"], "a lease was not released"
        assert any(row.state in {"QUEUED", "DISCOVERED"} for row in rows), "the run ended before the signal"
        http_server.delay_s = 0.0
        with serve_process(tmp_path, http_server) as second:
            assert second.api.finish(run)["status"] == "COMPLETED"
            assert second.end() < DRAIN_S
        crawled = as_expected({str(row.url): row async for row in stored_rows(tmp_path)})
        assert not differences(crawled, graph.expected(http_server.origin))
        again = len(http_server.targets()) - len(set(http_server.targets()))
        assert again <= (await stored_counts(tmp_path)).prefetch_unused, "active visits were fetched again"


def test_a_slow_fetch_does_not_delay_the_shutdown(tmp_path: Path) -> None:
    with serve_site(site({"/": page("Home", prose("home"))})) as http_server:
        http_server.slow["/"] = 60.0
        with serve_process(tmp_path, http_server) as server:
            run = server.api.start(http_server.url("/"), requestTimeoutMs=60_000)
            assert http_server.wait_for_hits(2)  # robots.txt and the page
            assert server.end() < DRAIN_S
            assert server.process.returncode == 0
        export = run_cli("export", run, "--format", "json", "--data", str(tmp_path))
        assert [row["state"] for row in json.loads(export.out)] == ["QUEUED"]


def test_logs_are_json_with_ids_and_without_secrets_and_queries(tmp_path: Path) -> None:
    pages = {
        "/?seed=hidden": page("Home", prose("home"), links=("/broken?session=topsecretvalue", "/ok?q=private")),
        "/ok?q=private": page("Ok", prose("ok")),
    }
    with serve_site(site(pages)) as http_server:
        with serve_process(tmp_path, http_server, "--debug", env={"SITELORE_TOKENS": f"{TOKEN},{TOKEN}-2"}) as server:
            run = server.api.start(http_server.url("/?seed=hidden"))
            server.api.finish(run)
            server.api.call("GET", "/crawl-runs?site=who-asks-for-this")
            Api(server.api.port).call("GET", "/crawl-runs", Authorization="Bearer a-wrong-token")
            server.end()
        text = json.dumps(server.lines)
        for secret in (TOKEN, "topsecretvalue", "private", "hidden", "who-asks-for-this", "a-wrong-token"):
            assert secret not in text, f"{secret} was logged"
        settled = [line for line in server.lines if line.get("run") == run and "url" in line]
        assert {line["url"] for line in settled} == {http_server.url("/"), http_server.url("/broken"), http_server.url("/ok")}
        assert all(line["worker"] and line["state"] and line["time"] and line["level"] for line in settled)
        assert {"listening", "run started in this process", "run ended", "request", "stopped"} <= {
            line["message"] for line in server.lines
        }


@contextlib.contextmanager
def open_files_limited(count: int) -> Iterator[None]:
    """Processes that are started inside the block may open this many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_slow_connections_stop_neither_other_clients_nor_the_crawl(tmp_path: Path) -> None:
    """Twice as many connections as the process may open files, each with an unfinished request and without a token."""
    links = tuple(f"/{number}" for number in range(60))
    pages = {"/": page("Home", prose("home"), links=links)} | {link: page(link, prose(link)) for link in links}
    with serve_site(site(pages)) as http_server, contextlib.ExitStack() as opened:
        http_server.delay_s = 0.1
        with open_files_limited(256):
            server = opened.enter_context(serve_process(tmp_path, http_server, env={"SITELORE_TOKENS": TOKEN}))
        run = server.api.start(http_server.url("/"))
        assert http_server.wait_for_hits(3)
        for _ in range(500):
            slow = opened.enter_context(socket.create_connection(("127.0.0.1", server.api.port), 30))
            with contextlib.suppress(ConnectionError):
                slow.sendall(b"GET /crawl-runs HTTP/1.1\r\nHost: localhost\r\n")
        assert server.api.get("/ready") == {"status": "ready"}
        summary = server.api.finish(run)
        assert (summary["status"], summary["counts"]["pages"]) == ("COMPLETED", 61)
        assert server.api.get("/ready") == {"status": "ready"}
        server.end()
        assert server.process.returncode == 0
    assert len(json.dumps(server.lines)) < 100_000


def start_error(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    """The exit code and the error message of a server that does not start."""
    code = main(["serve", *options])
    sentence = capsys.readouterr().err
    assert sentence.count("\n") == 1
    return code, sentence


def test_a_server_that_cannot_start_prints_a_one_line_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--port", "0", "--data", str(tmp_path))
    for host in ("0.0.0.0", "::"):
        code, sentence = start_error(capsys, "--host", host, *options)
        assert code == 2
        assert "SITELORE_TOKENS" in sentence
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, sentence = start_error(capsys, "--port", str(taken.getsockname()[1]), "--data", str(tmp_path))
        assert code == 2
        assert "cannot listen" in sentence
    wrong = {"SITELORE_TOKENS": "too-short-one", "SITELORE_ALLOW_PRIVATE": "http://x/y", "SITELORE_SITES_AT_ONCE": "0"}
    for name, value in wrong.items():
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            code, sentence = start_error(capsys, *options)
        assert code == 2
        assert "too-short-one" not in sentence


def test_two_servers_do_not_share_a_directory(tmp_path: Path) -> None:
    with serve_site(site({})) as http_server, serve_process(tmp_path, http_server) as server:
        done = run_cli("serve", "--port", "0", "--data", str(tmp_path))
        assert done.code == 3
        assert server.api.call("GET", "/health").status == 200


@pytest.mark.parametrize("clients", [40])
def test_many_clients_poll_while_a_crawl_runs(tmp_path: Path, clients: int) -> None:
    """A small version of `make bench-api`."""
    from bench.api import poll

    links = tuple(f"/{number}" for number in range(150))
    pages = {"/": page("Home", prose("home"), links=links)} | {link: page(link, prose(link)) for link in links}
    with serve_site(site(pages)) as http_server:
        http_server.delay_s = 0.05
        with serve_process(tmp_path, http_server) as server:
            run = server.api.start(http_server.url("/"))
            polled = poll(server.api.port, run, clients=clients, seconds=None, pause_s=0.05)
            assert polled.errors == []
            assert polled.requests >= clients
            assert server.api.get(f"/crawl-runs/{run}/summary")["counts"]["pages"] == 151
            print(f"\n{clients} clients: {polled}")


def test_a_server_has_the_access_of_its_operator_and_shows_none_of_it(tmp_path: Path) -> None:
    words = "The gate opens for those who know the word, and everything behind it is written down here. " * 8
    body = f"<title>Inside</title><main><h1>Inside</h1><p>{words}</p><p>{ECHO.decode()}</p></main>".encode()
    gate = Gate({"/": (200, {}, body)}, ("authorization", "Bearer tok-4711-abcdefgh"))
    with serve_site(lambda _: None) as elsewhere, serve_gate(gate) as inside:
        path = tmp_path / "access.toml"
        path.write_text(f'[origins."{inside.origin}"]\nbearer = "tok-4711-abcdefgh"\n', encoding="utf-8")
        path.chmod(0o600)
        env = {"SITELORE_ACCESS": str(path), "SITELORE_ALLOW_PRIVATE": "127.0.0.1"}
        with serve_process(tmp_path / "data", elsewhere, "--debug", env=env) as server:
            run = server.api.start(f"{inside.origin}/")
            assert server.api.finish(run)["counts"]["pages"] == 1
            shown = [server.api.call("GET", path).body for path in (f"/crawl-runs/{run}", "/metrics")]
            shown.append(server.api.call("GET", f"/crawl-runs/{run}/export?format=jsonl").body)
            server.end()
        shown.append(json.dumps(server.lines).encode())
    assert b"[REDACTED:own-credential]" in shown[2]
    assert not any(b"tok-4711" in text for text in shown)
    assert not any(b"tok-4711" in data for _, data in everything_in(tmp_path / "data"))
