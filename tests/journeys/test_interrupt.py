"""Ctrl-C drains and exits with 11; `--resume` continues the run."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.support.crawls import exported_json, run_cli, start_cli, stored_counts, stored_rows
from tests.support.faults import refetched
from tests.support.graph import Graph
from tests.support.http_server import serve_site

FLAGS = ("--delay", "0", "--concurrency", "4", "--json")


async def test_an_interrupted_crawl_resumes_to_the_same_export_and_fetches_no_admitted_page_twice(tmp_path: Path) -> None:
    calm, cut = tmp_path / "calm", tmp_path / "cut"
    graph = Graph(21, 150)
    with serve_site(lambda _: None) as http_server:
        http_server.pages = graph.pages(http_server.origin)
        assert run_cli("crawl", http_server.url(), "--data", str(calm), *FLAGS).code == 0
        http_server.clear_log()
        with start_cli("crawl", http_server.url(), "--data", str(cut), *FLAGS) as process:
            assert http_server.wait_for_hits(40)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        assert process.returncode == 11, err.decode()
        assert b"Traceback" not in err
        assert b"--resume" in err
        states = {row.state.value async for row in stored_rows(cut)}
        assert "IN_PROGRESS" not in states
        assert "QUEUED" in states or "DISCOVERED" in states

        done = run_cli("crawl", http_server.url(), "--data", str(cut), *FLAGS, "--resume")
        assert done.code == 0, done.err
        assert exported_json(calm) == exported_json(cut)
        # Only what was fetched ahead of its admission is fetched again, and it is counted.
        assert refetched(http_server) <= (await stored_counts(cut)).prefetch_unused


def test_a_second_interrupt_abandons_the_requests_in_flight(tmp_path: Path) -> None:
    graph = Graph(24, 30)
    with serve_site(lambda _: None) as http_server:
        http_server.pages = graph.pages(http_server.origin)
        http_server.delay_s = 60.0
        with start_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS) as process:
            assert http_server.wait_for_hits(1)
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            while b"stopping" not in process.stderr.readline():
                pass
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        assert process.returncode == 11, err.decode()
        assert [line for line in err.decode().splitlines() if " queued, " not in line] == [
            f"sitelore: interrupted after 0 pages; continue with `sitelore crawl --resume --data {tmp_path}`"
        ]
        assert b'"INTERRUPTED"' in out
        http_server.delay_s = 0.0
        assert run_cli("crawl", "--data", str(tmp_path), *FLAGS, "--resume").code == 0


def test_resuming_an_ended_run_is_an_error_that_says_so(tmp_path: Path) -> None:
    graph = Graph(22, 60)
    with serve_site(lambda _: None) as http_server:
        http_server.pages = graph.pages(http_server.origin)
        assert run_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, "--max-pages", "3").code == 0
        http_server.clear_log()
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, "--resume")
        assert done.code in {0, 2}, done.err
        assert "Traceback" not in done.err
        assert len(done.err.strip().splitlines()) >= 1
        assert http_server.targets() == []


def test_a_crawl_past_its_time_limit_exits_with_15_and_a_resumed_one_gets_the_full_time_again(tmp_path: Path) -> None:
    graph = Graph(23, 60)
    with serve_site(lambda _: None) as http_server:
        http_server.pages, http_server.delay_s = graph.pages(http_server.origin), 3.0
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, "--time-limit", "6s")
        assert done.code == 15, done.err
        assert "Traceback" not in done.err
        assert done.summary["state"] == "INTERRUPTED"
        http_server.delay_s = 0.0
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), *FLAGS, "--resume")
        assert done.code == 0, done.err
        assert refetched(http_server) == 0


def test_a_resumed_crawl_obeys_a_new_time_limit(tmp_path: Path) -> None:
    calm, cut = tmp_path / "calm", tmp_path / "cut"
    graph = Graph(23, 60)
    with serve_site(lambda _: None) as http_server:
        http_server.pages = graph.pages(http_server.origin)
        assert run_cli("crawl", http_server.url(), "--data", str(calm), *FLAGS).code == 0
        http_server.delay_s = 1.0
        assert run_cli("crawl", http_server.url(), "--data", str(cut), *FLAGS, "--time-limit", "2s").code == 15
        again = run_cli("crawl", "--data", str(cut), *FLAGS, "--resume", "--time-limit", "1s")
        assert again.code == 15, again.err
        http_server.delay_s = 0.0
        done = run_cli("crawl", "--data", str(cut), *FLAGS, "--resume", "--time-limit", "5m")
        assert done.code == 0, done.err
        assert exported_json(calm) == exported_json(cut)
