"""A server that is killed while it sends webhooks: none is lost, and those of a run stay in order."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import webhooks as bench
from tests.interfaces.test_api_process import serve_process
from tests.support.http_server import serve_site, site
from tests.support.webhook_receiver import receiver

EVENTS, RUNS = 600, 6


async def test_no_event_is_lost_when_a_server_is_killed_while_it_sends(tmp_path: Path) -> None:
    with receiver() as hook, serve_site(site({})) as http_server:
        await bench.prepare(tmp_path / "sitelore.db", hook.url, EVENTS, RUNS)
        for goal in (50, 200, 350):
            with serve_process(tmp_path, http_server, env={"SITELORE_ALLOW_PRIVATE": "127.0.0.1"}) as server:
                assert hook.wait_for(lambda goal=goal: len(hook.requests) >= goal)  # type: ignore[misc]
                server.process.kill()
        with serve_process(tmp_path, http_server, env={"SITELORE_ALLOW_PRIVATE": "127.0.0.1"}):
            assert hook.wait_for(lambda: len({request.id for request in hook.requests}) == EVENTS)
        bench.check(hook, EVENTS, RUNS, set())
        assert len(hook.requests) < EVENTS + 4 * 3 + 1, "at most one event of each queue that was leased is sent again"


def test_the_soak_finds_every_event(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with receiver() as hook:
        import asyncio

        asyncio.run(bench.prepare(tmp_path / "sitelore.db", hook.url, 200, 4))
        assert bench.send_and_kill(tmp_path / "sitelore.db", hook, 200, 2) <= 2
        bench.check(hook, 200, 4, set())
