"""Sessions of sites in a process and on many workers: they reach every worker encrypted, and show up nowhere."""

from __future__ import annotations

import logging
from pathlib import Path

import asyncpg
import pytest
from prometheus_client import generate_latest
from scripts.servers import LocalServers
from tests.journeys.test_secrets import everything_in
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.login_site import LoginSite, serve_login_site
from tests.support.workers import crawl_with_workers, scaled_app, wait_until_ended, worker_pool

from sitelore.app.wiring import embedded
from sitelore.model.access import Cookie, SiteSession
from sitelore.model.errors import UsageError
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.states import RunState
from sitelore.store.schema import complete_metadata

KEY = "SITELORE_SECRETS_KEY"


def session_of(site: LoginSite) -> SiteSession:
    """A new session, as `sitelore login` would store it."""
    return SiteSession(
        site.origin,
        (Cookie("session", site.issue(), "127.0.0.1"),),
        login_pages=(f"{site.origin}/login",),
        check_url=f"{site.origin}/account",
    )


def expected_pages(site: LoginSite) -> int:
    """All pages and the home page, and the login form twice: by a link, and by the redirect of a page that is closed to all."""
    return site.pages + 3


async def everything_in_postgres(url: str) -> str:
    """Every row of every table as text."""
    connection = await asyncpg.connect(url.replace("postgresql+asyncpg", "postgresql"))
    try:
        tables = [table.name for table in complete_metadata().sorted_tables]
        rows = [await connection.fetch(f"SELECT t::text FROM {name} t") for name in tables]
    finally:
        await connection.close()
    return "\n".join(row[0] for table in rows for row in table)


async def test_logs_and_metrics_show_nothing_of_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(KEY, raising=False)
    with serve_login_site(LoginSite(renews_at="/page/1")) as site, caplog.at_level(logging.DEBUG):
        async with embedded(tmp_path / "data", writing=True) as app:
            await app.site_sessions.save(DEFAULT_TENANT, session_of(site))
            result = await crawl_in(app, crawl_settings(f"{site.origin}/", concurrency=1))
            shown = [repr(app), repr(result.run), generate_latest().decode(), caplog.text]
    assert result.run.state is RunState.COMPLETED
    assert result.counts.pages == expected_pages(site)
    assert len(site.issued) == 2
    stored = everything_in(tmp_path / "data")
    for secret in site.issued:
        assert not any(secret in text for text in shown)
        assert [name for name, data in stored if secret.encode() in data] == []


async def test_the_workers_of_a_deployment_share_a_session(servers: LocalServers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "k" * 40)
    with serve_login_site(LoginSite()) as site:
        settings = crawl_settings(f"{site.origin}/", concurrency=2, force=True)
        async with scaled_app(servers) as (app, operator):
            await app.site_sessions.save(DEFAULT_TENANT, session_of(site))
            with worker_pool(operator) as pool:
                pool.start(2)
                run = await crawl_with_workers(app, settings)
                assert run.state is RunState.COMPLETED, run.error
                assert (await app.ledger.counts(run.id)).pages == expected_pages(site)

                site.valid.clear()
                run = await crawl_with_workers(app, settings)
                assert run.state is RunState.INTERRUPTED
                assert run.error.startswith(f"session_ended: the session of 127.0.0.1:{site.port} has ended")
                await app.site_sessions.save(DEFAULT_TENANT, session_of(site))
                await app.resume_run(run.id)
                run = await wait_until_ended(app, run)
                assert run.state is RunState.COMPLETED, run.error
                assert (await app.ledger.counts(run.id)).pages == expected_pages(site)
                pool.stop()
                logged = pool.log_text()
            stored = await everything_in_postgres(operator.database_url)
            for secret in site.issued:
                assert secret not in stored
                assert secret not in logged


async def test_a_worker_without_the_key_says_so_and_the_run_can_be_resumed(
    servers: LocalServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_login_site(LoginSite()) as site:
        async with scaled_app(servers) as (app, operator):
            monkeypatch.delenv(KEY, raising=False)
            with pytest.raises(UsageError, match="sessions in a shared database need SITELORE_SECRETS_KEY"):
                await app.site_sessions.save(DEFAULT_TENANT, session_of(site))
            monkeypatch.setenv(KEY, "k" * 40)
            await app.site_sessions.save(DEFAULT_TENANT, session_of(site))
            monkeypatch.setenv(KEY, "x" * 40)
            with worker_pool(operator) as pool:
                pool.start()
                run = await crawl_with_workers(app, crawl_settings(f"{site.origin}/"))
            assert run.state is RunState.INTERRUPTED
            assert "cannot be used: the secret cannot be decrypted" in run.error
        assert [path for path in site.paths() if path != "/robots.txt"] == []
