"""Sites behind a login: `sitelore login` stores a session, crawls use it, notice when it has ended, and store none of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.journeys.test_secrets import everything_in
from tests.support.crawls import CliResult, run_cli
from tests.support.login_site import PASSWORD, USER, LoginSite, serve_login_site

STEPS = """
steps = [
    {goto = "/login"},
    {fill = "#user", value = "env:SITE_USER"},
    {fill = "#password", value = "env:SITE_PASSWORD"},
    {click = "#go"},
    {wait = "h1"},
]
"""
ENV = {"SITE_USER": USER, "SITE_PASSWORD": PASSWORD, "SITELORE_SECRETS_KEY": ""}


def log_in(site: LoginSite, data: Path, **env: str) -> CliResult:
    steps = data.parent / "steps.toml"
    steps.write_text(STEPS, encoding="utf-8")
    return run_cli("login", f"{site.origin}/", "--steps", str(steps), "--data", str(data), env={**ENV, **env})


def crawl(site: LoginSite, data: Path, *options: str) -> CliResult:
    common = ("--delay", "0", "--concurrency", "1", "--json", "--data", str(data))
    return run_cli("crawl", *(() if "--resume" in options else (f"{site.origin}/",)), *common, *options, env=ENV)


def leaks(site: LoginSite, folder: Path, *texts: str) -> set[tuple[str, str]]:
    everywhere = [*everything_in(folder), *(("output", text.encode()) for text in texts)]
    return {(name, secret) for name, data in everywhere for secret in site.secrets() if secret.encode() in data}


def states(data: Path) -> dict[str, str]:
    done = run_cli("export", "latest", "--format", "json", "--data", str(data))
    return {row["url"]: row["state"] for row in json.loads(done.out)}


@pytest.mark.parametrize("render", ["never", "always"])
def test_a_crawl_uses_the_session_and_nothing_of_it_is_stored(render: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_login_site(LoginSite(renews_at="/page/2")) as site:
        done = log_in(site, data)
        assert done.code == 0, done.err
        assert (data / "secret.key").stat().st_mode & 0o777 == 0o600
        listed = run_cli("login", "--list", "--data", str(data))
        assert site.origin in listed.out
        formats = [word for name in ("md", "jsonl", "warc", "csv") for word in ("--output", name)]
        crawled = crawl(site, data, "--render", render, "--debug", *formats)
        assert crawled.code == 0, crawled.err
        assert crawled.summary["pages"] >= 7
        assert "/logout" not in site.paths()
        again = crawl(site, data, "--render", render, "--force")  # the renewed cookie was kept: the first one has ended
        assert again.code == 0, again.err
        assert again.summary["pages"] == crawled.summary["pages"]
        outputs = [text for result in (done, listed, crawled, again) for text in (result.out, result.err)]
        assert len(site.issued) > 1
        assert leaks(site, data, *outputs) == set()


@pytest.mark.parametrize("form_in_place", [False, True])
def test_a_crawl_whose_session_ends_stops_and_changes_nothing_until_it_is_resumed(form_in_place: bool, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_login_site(LoginSite(form_in_place=form_in_place)) as site:
        assert log_in(site, data).code == 0
        first = crawl(site, data)
        assert first.code == 0, first.err
        before = states(data)
        site.expire_after(5)
        ended = crawl(site, data, "--force")
        assert ended.code == 11, ended.err
        assert f"the session of {site.origin.removeprefix('http://')} has ended" in ended.err
        assert f"run `sitelore login {site.origin}/`" in ended.err
        assert "crawl --resume" in ended.err
        assert ended.summary["state"] == "INTERRUPTED"
        changes = run_cli("changes", site.origin.removeprefix("http://"), "--json", "--data", str(data))
        assert all(word not in changes.out for word in ("Members only", '"gone"', '"changed"')), changes.out
        still = crawl(site, data, "--resume")
        assert still.code == 11, still.err
        assert log_in(site, data).code == 0
        resumed = crawl(site, data, "--resume")
        assert resumed.code == 0, resumed.err
        assert resumed.summary["state"] == "COMPLETED"
        assert states(data) == before
        assert leaks(site, data, ended.err, ended.out) == set()


def test_a_declared_sign_stops_a_crawl_that_has_no_stored_session(tmp_path: Path) -> None:
    config = tmp_path / "site.json"
    config.write_text('{"domain": "127.0.0.1", "loggedOut": {"text": "Members only"}}', encoding="utf-8")
    with serve_login_site(LoginSite(form_in_place=True)) as site:
        options = ("--domain-config", str(config), "--exclude", "/admin", "--cookie", f"session={site.issue()}")
        done = crawl(site, tmp_path / "data", *options)
        assert done.code == 0, done.err
        assert "/logout" not in site.paths()
        site.valid = set()
        done = crawl(site, tmp_path / "data", *options, "--force")
    assert done.code == 11, done.err
    assert "the crawl is logged out of 127.0.0.1" in done.err
    assert "Members only" in done.err


def test_a_login_that_the_site_refuses_stores_nothing(tmp_path: Path) -> None:
    with serve_login_site(LoginSite()) as site:
        done = log_in(site, tmp_path / "data", SITE_PASSWORD="wrong-0815-word")
        assert done.code == 1
        assert "step 5 (wait 'h1'): no visible element within 15 s on" in done.err
        assert done.err.endswith("/login, which still shows a password field\n")
        assert "wrong-0815-word" not in done.err + done.out
        listed = run_cli("login", "--list", "--data", str(tmp_path / "data"))
        assert listed.out == ""


def test_a_session_is_forgotten(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_login_site(LoginSite()) as site:
        assert log_in(site, data).code == 0
        assert run_cli("login", "--forget", site.origin, "--data", str(data)).code == 0
        assert run_cli("login", "--forget", site.origin, "--data", str(data)).code == 1
        crawl(site, data, "--max-pages", "1")
        assert not any("sess-" in headers.get("cookie", "") for method, path, headers in site.requests if path == "/")


def test_a_session_of_another_key_stops_the_crawl_with_a_clear_error(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_login_site(LoginSite()) as site:
        assert log_in(site, data).code == 0
        (data / "secret.key").write_text("0" * 64 + "\n", encoding="ascii")
        done = crawl(site, data)
    assert done.code == 11
    assert "cannot be used: the secret cannot be decrypted" in done.err


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("steps = [{fill = '#user', value = 'ann'}]", "step 1: the value must be env:NAME"),
        ("steps = [{fill = '#user', value = 'env:ABSENT_4711'}]", "step 1: the environment variable ABSENT_4711 is not set"),
        ("steps = [{fill = '#user'}]", "step 1: fill needs a value"),
        ("steps = [{hover = '#user'}]", "step 1: must have one of fill, click, wait, goto, press"),
        ("steps = []", "must contain a list of 1 to 50 steps"),
        ("steps = [", "is not valid TOML (end of document)"),
    ],
)
def test_a_mistake_in_the_steps_names_the_step(steps: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "steps.toml"
    path.write_text(steps, encoding="utf-8")
    done = run_cli("login", "http://127.0.0.1:9/", "--steps", str(path), "--data", str(tmp_path / "data"), env=ENV)
    assert done.code == 2
    assert message in done.err


def test_without_a_display_the_error_says_what_to_do(tmp_path: Path) -> None:
    done = run_cli("login", "http://127.0.0.1:9/", "--data", str(tmp_path), env={"DISPLAY": "", "WAYLAND_DISPLAY": ""})
    assert done.code == 2
    assert "there is no display for a browser window; declare the login with --steps FILE" in done.err
