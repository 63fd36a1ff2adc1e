"""`sitelore serve` as a person starts it: a process, its signals, its logs, its complaints."""

from __future__ import annotations

import contextlib
import json
import os
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
from tests.support.graph import Graph
from tests.support.journey import COMMAND, as_expected, command, differences, environment, stored_rows
from tests.support.serve import Web, page, prose, serving, site

from sitelore.cli.main import main

TOKEN = "a-token-that-must-not-be-logged"
DRAIN_S = 30


@dataclass(slots=True)
class Serving:
    """A server process and the lines it has logged."""

    process: subprocess.Popen[bytes]
    api: Api
    lines: list[dict[str, Any]] = field(default_factory=list)

    def end(self) -> float:
        """SIGTERM; how long it took to end."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(DRAIN_S + 10)
        return time.monotonic() - began


@contextlib.contextmanager
def serve_process(data: Path, web: Web, *options: str, env: dict[str, str] | None = None) -> Iterator[Serving]:
    allowed = {"SITELORE_ALLOW_PRIVATE": f"{web.host}:{web.port}", **(env or {})}
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
        yield Serving(process, Api(lines[-1]["port"], token), lines)
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
    with serving(lambda _: None, host="localhost") as web:
        web.pages = graph.pages(web.origin)
        web.delay_s = 0.05
        with serve_process(tmp_path, web) as first:
            run = first.api.start(web.url("/"), includeDocuments=True)
            assert web.wait_for_hits(15)
            took_s = first.end()
            assert first.process.returncode == 0
            assert took_s < DRAIN_S
        rows = [row async for row in stored_rows(tmp_path)]
        assert not [row for row in rows if row.claimed_by or row.state == "IN_PROGRESS"], "a lease was left behind"
        assert any(row.state == "QUEUED" for row in rows), "the run was over before the signal"
        web.delay_s = 0.0
        with serve_process(tmp_path, web) as second:
            assert second.api.finish(run)["status"] == "COMPLETED"
            assert second.end() < DRAIN_S
        found = as_expected({str(row.url): row async for row in stored_rows(tmp_path)})
        assert not differences(found, graph.expected(web.origin))
        assert len(web.targets()) == len(set(web.targets())), "what was in flight was fetched again"


def test_a_fetch_that_takes_too_long_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with serving(site({"/": page("Home", prose("home"))})) as web:
        web.slow["/"] = 60.0
        with serve_process(tmp_path, web) as server:
            run = server.api.start(web.url("/"), requestTimeoutMs=60_000)
            assert web.wait_for_hits(2)  # robots.txt and the page
            assert server.end() < DRAIN_S
            assert server.process.returncode == 0
        shown = command("export", run, "--format", "json", "--data", str(tmp_path))
        assert [row["state"] for row in json.loads(shown.out)] == ["QUEUED"]


def test_logs_are_json_with_ids_and_without_secrets_and_queries(tmp_path: Path) -> None:
    pages = {
        "/?seed=hidden": page("Home", prose("home"), links=("/broken?session=topsecretvalue", "/ok?q=private")),
        "/ok?q=private": page("Ok", prose("ok")),
    }
    with serving(site(pages)) as web:
        with serve_process(tmp_path, web, "--debug", env={"SITELORE_TOKENS": f"{TOKEN},{TOKEN}-2"}) as server:
            run = server.api.start(web.url("/?seed=hidden"))
            server.api.finish(run)
            server.api.call("GET", "/crawl-runs?site=who-asks-for-this")
            Api(server.api.port).call("GET", "/crawl-runs", Authorization="Bearer a-wrong-token-of-somebody")
            server.end()
        text = json.dumps(server.lines)
        for secret in (TOKEN, "topsecretvalue", "private", "hidden", "who-asks-for-this", "a-wrong-token-of-somebody"):
            assert secret not in text, f"{secret} was logged"
        settled = [line for line in server.lines if line.get("run") == run and "url" in line]
        assert {line["url"] for line in settled} == {web.url("/"), web.url("/broken"), web.url("/ok")}
        assert all(line["worker"] and line["state"] and line["time"] and line["level"] for line in settled)
        assert {"listening", "run started in this process", "run ended", "request", "stopped"} <= {
            line["message"] for line in server.lines
        }


def complaint(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    """The exit code of a server that does not start, and its sentence."""
    code = main(["serve", *options])
    sentence = capsys.readouterr().err
    assert sentence.count("\n") == 1
    return code, sentence


def test_a_server_says_what_is_wrong_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--port", "0", "--data", str(tmp_path))
    for host in ("0.0.0.0", "::"):
        code, sentence = complaint(capsys, "--host", host, *options)
        assert code == 2
        assert "SITELORE_TOKENS" in sentence
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, sentence = complaint(capsys, "--port", str(taken.getsockname()[1]), "--data", str(tmp_path))
        assert code == 2
        assert "cannot listen" in sentence
    wrong = {"SITELORE_TOKENS": "too-short-one", "SITELORE_ALLOW_PRIVATE": "http://x/y", "SITELORE_SITES_AT_ONCE": "0"}
    for name, value in wrong.items():
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            code, sentence = complaint(capsys, *options)
        assert code == 2
        assert "too-short-one" not in sentence


def test_two_servers_do_not_share_a_directory(tmp_path: Path) -> None:
    with serving(site({})) as web, serve_process(tmp_path, web) as server:
        done = command("serve", "--port", "0", "--data", str(tmp_path))
        assert done.code == 3
        assert server.api.call("GET", "/health").status == 200


@pytest.mark.parametrize("clients", [40])
def test_many_clients_poll_while_a_crawl_runs(tmp_path: Path, clients: int) -> None:
    """A smaller sister of `make bench-api`."""
    from bench.api import poll

    links = tuple(f"/{number}" for number in range(150))
    pages = {"/": page("Home", prose("home"), links=links)} | {link: page(link, prose(link)) for link in links}
    with serving(site(pages)) as web:
        web.delay_s = 0.05
        with serve_process(tmp_path, web) as server:
            run = server.api.start(web.url("/"))
            polled = poll(server.api.port, run, clients=clients, seconds=None, pause_s=0.05)
            assert polled.errors == []
            assert polled.requests >= clients
            assert server.api.get(f"/crawl-runs/{run}/summary")["counts"]["pages"] == 151
            print(f"\n{clients} clients: {polled}")
