"""Ctrl-C drains and exits 11; `--resume` goes on where it stopped."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.support.graph import Graph
from tests.support.journey import command, exported, started, stored_rows
from tests.support.kill import fetched_more_than_once
from tests.support.serve import serving

FLAGS = ("--delay", "0", "--concurrency", "4", "--json")


async def test_an_interrupted_crawl_resumes_to_the_same_export_and_fetches_nothing_twice(tmp_path: Path) -> None:
    calm, cut = tmp_path / "calm", tmp_path / "cut"
    graph = Graph(21, 150)
    with serving(lambda _: None) as web:
        web.pages = graph.pages(web.origin)
        assert command("crawl", web.url(), "--data", str(calm), *FLAGS).code == 0
        web.forget()
        with started("crawl", web.url(), "--data", str(cut), *FLAGS) as process:
            assert web.wait_for_hits(40)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        assert process.returncode == 11, err.decode()
        assert b"Traceback" not in err
        assert b"--resume" in err
        states = {row.state.value async for row in stored_rows(cut)}
        assert "IN_PROGRESS" not in states
        assert "QUEUED" in states or "DISCOVERED" in states

        done = command("crawl", web.url(), "--data", str(cut), *FLAGS, "--resume")
        assert done.code == 0, done.err
        assert exported(calm) == exported(cut)
        assert fetched_more_than_once(web) == 0


def test_resuming_what_has_ended_says_so(tmp_path: Path) -> None:
    graph = Graph(22, 60)
    with serving(lambda _: None) as web:
        web.pages = graph.pages(web.origin)
        assert command("crawl", web.url(), "--data", str(tmp_path), *FLAGS, "--max-pages", "3").code == 0
        web.forget()
        done = command("crawl", web.url(), "--data", str(tmp_path), *FLAGS, "--resume")
        assert done.code in {0, 2}, done.err
        assert "Traceback" not in done.err
        assert len(done.err.strip().splitlines()) >= 1
        assert web.targets() == []


def test_a_crawl_out_of_time_exits_15_and_a_resumed_one_has_its_time_anew(tmp_path: Path) -> None:
    graph = Graph(23, 60)
    with serving(lambda _: None) as web:
        web.pages, web.delay_s = graph.pages(web.origin), 3.0
        done = command("crawl", web.url(), "--data", str(tmp_path), *FLAGS, "--time-limit", "6s")
        assert done.code == 15, done.err
        assert "Traceback" not in done.err
        web.delay_s = 0.0
        done = command("crawl", web.url(), "--data", str(tmp_path), *FLAGS, "--resume")
        assert done.code == 0, done.err
        assert fetched_more_than_once(web) == 0
