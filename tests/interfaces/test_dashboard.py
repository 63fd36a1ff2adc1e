"""The dashboard over HTTP: its files, its content security policy, sessions with tokens, and the routes that only it uses."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from scripts.openapi import FILE, description
from starlette.applications import Starlette
from tests.interfaces.api import Api, idle_app, serving_api
from tests.support.crawls import crawl, crawl_settings
from tests.support.http_server import page, prose, redirect, serve_site, site

from sitelore.model.platform.rate_limits import parse_rate_limits
from sitelore.platform.accounts.authentication import ONE_TIME_LOGIN
from sitelore.serve import dashboard
from sitelore.serve.context import ApiSettings, AppContext
from sitelore.serve.security.sessions import Sessions

TOKEN = "a-token-of-the-operator"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small application in place of the built one."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(f'<meta property="csp-nonce" nonce="{dashboard.NONCE}"><script src="/ui/assets/a-1.js">')
    (folder / "assets" / "a-1.js").write_text("let plain")
    (folder / "assets" / "a-1.js.gz").write_bytes(b"compressed")
    (folder / "icon.svg").write_text("<svg/>")
    monkeypatch.setattr(dashboard, "routes", partial(dashboard.routes, folder))
    return folder


@pytest.fixture
def api(tmp_path: Path, built: Path) -> Iterator[Api]:
    with serving_api(partial(idle_app, tmp_path / "data")) as served:
        yield served


def test_every_screen_is_the_application_with_a_nonce_of_its_own(api: Api) -> None:
    assert api.call("GET", "/").headers["Location"] == "/ui/"
    nonces = set()
    for path in ("/ui/", "/ui/runs/01a1f018?x=1", "/ui/search"):
        answer = api.call("GET", path)
        policy = answer.headers["Content-Security-Policy"]
        assert (answer.status, answer.kind) == (200, "text/html")
        assert "script-src 'self';" in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        [nonce] = re.findall(rb'nonce="([^"]+)"', answer.body)
        assert f"'nonce-{nonce.decode()}'" in policy
        assert answer.headers["Cache-Control"] == "no-store"
        nonces.add(nonce)
    assert len(nonces) == 3


def test_assets_are_cached_for_ever_and_compressed_where_that_is_understood(api: Api) -> None:
    answer = api.call("GET", "/ui/assets/a-1.js")
    assert answer.body == b"let plain"
    assert answer.kind == "text/javascript"
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    compressed = api.call("GET", "/ui/assets/a-1.js", Accept_Encoding="gzip, br")
    assert (compressed.body, compressed.headers["Content-Encoding"]) == (b"compressed", "gzip")
    assert "immutable" not in api.call("GET", "/ui/icon.svg").headers["Cache-Control"]
    assert api.call("GET", "/ui/assets/a-2.js").kind == "not-found"
    for path in ("/ui/assets/../../app.py", "/ui/..%2f..%2fapp.py", "/ui/%2e%2e/app.py"):
        assert b"import" not in api.call("GET", path).body


def test_a_package_without_the_dashboard_says_so(tmp_path: Path) -> None:
    app = Starlette(routes=dashboard.routes(tmp_path / "nothing"))
    from starlette.testclient import TestClient

    for path in ("/", "/ui", "/ui/runs"):
        answer = TestClient(app).get(path)
        assert answer.status_code == 200
        assert "without its dashboard" in answer.text


@pytest.fixture
def guarded(tmp_path: Path, built: Path) -> Iterator[tuple[Api, list[str]]]:
    """A server with a token, and one-time logins."""
    logins: list[str] = []

    @asynccontextmanager
    async def app() -> AsyncIterator[AppContext]:
        async with idle_app(tmp_path / "data") as context:
            logins.append(await Sessions(context.session_store).new_login(ONE_TIME_LOGIN))
            yield context

    with serving_api(app, ApiSettings((TOKEN,), rate_limits=parse_rate_limits("login=3/h", "limits"))) as served:
        served.get("/health")  # the application is open
        yield replace(served, token=""), logins


def cookie_of(answer: object) -> str:
    raw = answer.headers["Set-Cookie"]  # type: ignore[attr-defined]
    assert "HttpOnly" in raw
    assert "SameSite=Strict" in raw
    return str(raw.partition(";")[0])


def test_a_one_time_login_opens_a_session_once(guarded: tuple[Api, list[str]]) -> None:
    api, logins = guarded
    assert api.call("GET", "/ui/").status == 200
    assert api.call("GET", "/session").kind == "unauthorized"
    [code] = logins
    first = api.call("POST", "/session/code", {"code": code})
    assert first.status == 201
    cookie = cookie_of(first)
    assert api.call("GET", "/crawl-runs", Cookie=cookie).status == 200
    assert api.call("POST", "/session/code", {"code": code}).kind == "login-expired"
    assert (first.json["actor"], first.json["tenant"]) == ("operator", "1")
    assert "admin" in first.json["scopes"]


def test_failed_sign_ins_are_limited_and_valid_tokens_still_work(guarded: tuple[Api, list[str]]) -> None:
    api, [code] = guarded
    right = f"Bearer {TOKEN}"
    assert api.call("GET", "/session", Authorization=right).status == 200
    kinds = [api.call("POST", "/session", Authorization=f"Bearer guess-{number}").kind for number in range(5)]
    assert kinds == ["unauthorized"] * 3 + ["rate-limited"] * 2
    assert int(api.call("POST", "/session", Authorization="Bearer guess").headers["Retry-After"]) > 60
    assert api.call("POST", "/session/code", {"code": code}).kind == "rate-limited"
    assert api.call("GET", "/session", Authorization=right).status == 200
    assert api.call("GET", "/session").kind == "unauthorized", "a request without a token is no guess"


def test_a_server_that_started_without_tokens_notices_the_first_one(tmp_path: Path, built: Path) -> None:
    with serving_api(partial(idle_app, tmp_path / "data")) as api:
        assert api.get("/session")["needs_token"] is False
        token = api.call("POST", "/tenant/v1/tokens", {"name": "first", "kind": "admin"}).json["token"]
        while api.call("GET", "/crawl-runs").status != 401:
            time.sleep(0.05)  # the server looks once a second
        own = Api(api.port, token)
        assert own.get("/session")["needs_token"] is True
        assert own.call("GET", "/crawl-runs", Host="any.example").status == 200, "the token replaces the check of Host"


def test_a_token_opens_a_session_that_can_be_ended(guarded: tuple[Api, list[str]]) -> None:
    api, _ = guarded
    assert api.call("POST", "/session", Authorization="Bearer wrong").kind == "unauthorized"
    answer = api.call("POST", "/session", Authorization=f"Bearer {TOKEN}")
    cookie, csrf = cookie_of(answer), answer.json["csrf_token"]
    assert api.call("GET", "/session", Cookie=cookie).json["csrf_token"] == csrf
    origin = f"http://127.0.0.1:{api.port}"
    assert api.call("DELETE", "/session", Cookie=cookie).kind == "cross-origin"
    assert api.call("GET", "/crawl-runs", Cookie=cookie).status == 200
    assert api.call("DELETE", "/session", Cookie=cookie, Origin=origin, X_CSRF_Token=csrf).status == 204
    assert api.call("GET", "/crawl-runs", Cookie=cookie).kind == "unauthorized"


def test_a_page_of_another_site_cannot_use_the_cookie(guarded: tuple[Api, list[str]]) -> None:
    api, _ = guarded
    answer = api.call("POST", "/session", Authorization=f"Bearer {TOKEN}")
    cookie, csrf = cookie_of(answer), answer.json["csrf_token"]
    body = {"seedUrl": "http://192.0.2.1/"}
    own = f"http://127.0.0.1:{api.port}"
    for headers in ({}, {"Origin": own}, {"Origin": "http://evil.example", "X-CSRF-Token": csrf}, {"X-CSRF-Token": csrf}):
        assert api.call("POST", "/crawl-runs", body, Cookie=cookie, **headers).kind == "cross-origin"
    permitted = api.call("POST", "/crawl-runs", body, Cookie=cookie, Origin=own, X_CSRF_Token=csrf)
    assert permitted.kind == "address-refused", "the request did not pass the session"


def test_a_server_without_tokens_needs_no_session(api: Api) -> None:
    session = api.get("/session")
    assert (session["needs_token"], session["has_demo"], session["csrf_token"]) == (False, False, "")
    assert api.call("POST", "/demo").kind == "not-found"


PAGES = {
    "/": page("Home", prose("home"), links=("/a", "/b", "/moved", "/gone", "/private")),
    "/a": page("Amber <b>", prose("a"), links=("/b",)),
    "/b": page("Basalt", prose("b")),
    "/moved": redirect("/a"),
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, str, str]]:
    """A server with one completed run, the path of the run, and the origin of the site."""
    import asyncio

    data = tmp_path_factory.mktemp("pages")
    with serve_site(site(PAGES, robots="User-agent: *\nDisallow: /private")) as http_server:
        run = asyncio.run(crawl(data, crawl_settings(http_server.url("/")))).run
        origin = http_server.origin
    with serving_api(partial(idle_app, data)) as api:
        yield api, f"/crawl-runs/{run.id}", origin


def test_urls_are_filtered_and_facets_ignore_their_own_filter(crawled: tuple[Api, str, str]) -> None:
    api, run, origin = crawled

    def listed(query: str) -> list[str]:
        return [url["url"].removeprefix(origin) for url in api.get(f"{run}/urls?sort=normalized_url&{query}")["urls"]]

    assert listed("q=MBER") == ["/a"]
    assert listed("q=%25") == [], "a wildcard of SQL is no wildcard here"
    assert listed("status=NOT_FOUND&status=SKIPPED") == ["/gone", "/private"]
    assert listed("skip_reason=robots") == ["/private"]
    assert listed("error=timeout") == []
    facets = api.get(f"{run}/facets?status=NOT_FOUND")
    assert facets["by_status"] == {"VISITED": 3, "ALIAS": 1, "NOT_FOUND": 1, "SKIPPED": 1}
    assert facets["skipped"] == {}
    assert api.get(f"{run}/facets?skip_reason=robots")["by_status"] == {"SKIPPED": 1}
    assert api.get(f"{run}/facets?q=basalt") == {"by_status": {"VISITED": 1}, "skipped": {}, "errors": {}}


def test_an_export_takes_the_filters_of_the_list(crawled: tuple[Api, str, str]) -> None:
    api, run, origin = crawled
    exported = api.call("GET", f"{run}/export?format=ndjson&status=VISITED&q=/").body.splitlines()
    assert len(exported) == 3
    assert [row["url"] for row in api.get(f"{run}/export?format=json&skip_reason=robots")] == [f"{origin}/private"]


def test_a_page_comes_with_its_content_source_links_and_reasons(crawled: tuple[Api, str, str]) -> None:
    api, run, origin = crawled
    url = quote(f"{origin}/b", safe="")
    shown = api.get(f"{run}/page?url={url}")
    assert (shown["title"], shown["crawl_status"]) == ("Basalt", "OK")
    assert shown["markdown"].startswith("# Basalt")
    source = api.call("GET", f"{run}/source?url={url}")
    assert source.body == PAGES["/b"].body
    assert source.kind == "text/plain"
    assert "sandbox" in source.headers["Content-Security-Policy"]
    links = api.get(f"{run}/links?url={url}")
    assert [link["source"].removeprefix(origin) for link in links["inlinks"]] == ["/", "/a"]
    assert links["outlinks"] == []
    gates = {gate["gate"]: gate for gate in api.get(f"{run}/explain?url={quote(f'{origin}/private', safe='')}")["gates"]}
    assert gates["robots"]["passed"] is False
    assert "Disallow: /private" in gates["robots"]["rule"]


def test_a_page_has_neighbours_aliases_and_chunks(crawled: tuple[Api, str, str]) -> None:
    api, run, origin = crawled

    def about(part: str, path: str) -> Any:
        return api.get(f"{run}/{part}?url={quote(origin + path, safe='')}")

    pages = [url["url"] for url in api.get(f"{run}/urls?status=VISITED")["urls"]]
    order = [about("neighbours", page.removeprefix(origin)) for page in pages]
    assert [each["next"] for each in order] == [*pages[1:], None]
    assert [each["previous"] for each in order] == [None, *pages[:-1]]
    assert about("neighbours", "/never-seen") == {"previous": None, "next": None}
    [alias] = api.get(f"{run}/urls?status=ALIAS")["urls"]
    target = alias["final_url"].removeprefix(origin)
    assert [each["url"] for each in about("aliases", target)["aliases"]] == [alias["url"]]
    assert about("aliases", "/never-seen")["aliases"] == []
    api.get("/search?q=basalt")  # brings the index up to date
    chunks = about("chunks", "/b")["chunks"]
    assert "Basalt" in chunks[0]["text"] or chunks[0]["headings"][:1] == ["Basalt"]
    assert [each["start"] for each in chunks] == sorted(each["start"] for each in chunks)
    assert about("chunks", "/gone")["chunks"] == []


def test_hosts_and_events_tell_how_a_run_went(crawled: tuple[Api, str, str]) -> None:
    api, run, origin = crawled
    summary = api.get(f"{run}/summary")
    [host] = api.get(f"{run}/hosts")["hosts"]
    assert host["host"] == origin.removeprefix("http://")
    assert host["by_status"] == summary["counts"]["by_status"]
    assert host["urls"] == summary["counts"]["total_urls"]
    assert (host["retry_at"], host["is_closed"]) == (None, False)
    assert host["elapsed_ms"] >= 0
    log = api.get(f"{run}/log")
    kinds = [event["kind"] for event in log["events"]]
    assert (kinds[0], kinds[-1], log["has_more"]) == ("run.started", "run.ended", False)
    assert kinds.count("page.new") == summary["counts"]["by_status"]["VISITED"]
    first = api.get(f"{run}/log?limit=1")
    assert (first["events"], first["has_more"]) == (log["events"][:1], True)
    assert api.get(f"{run}/log?after={first['events'][0]['id']}")["events"] == log["events"][1:]


def test_versions_of_a_page_are_compared_word_by_word(tmp_path: Path) -> None:
    pages = {"/": page("Basalt", "<p>Basalt is a dark rock.</p><p>It cools fast.</p>" + prose("rock"))}
    with serve_site(pages.get) as http_server:
        asyncio.run(crawl(tmp_path, crawl_settings(http_server.url("/"))))
        pages["/"] = page("Basalt", "<p>Basalt is a black rock.</p><p>It has columns.</p>" + prose("rock"))
        run = asyncio.run(crawl(tmp_path, crawl_settings(http_server.url("/"), force=True))).run
        url = quote(http_server.url("/"), safe="")
    with serving_api(partial(idle_app, tmp_path)) as api:
        versions = api.get(f"/crawl-runs/{run.id}/versions?url={url}")["versions"]
        assert [each["number"] for each in versions] == [2, 1]
        assert versions[0]["ended_at"] is None
        diff = api.get(f"/crawl-runs/{run.id}/diff?url={url}")
        assert (diff["before"], diff["after"]) == (versions[1], versions[0])
        changed = [line for line in diff["lines"] if line["kind"] != "same"]
        words = [span for span in changed[0]["spans"] if span["kind"] != "same"]
        assert words == [{"kind": "removed", "text": "dark"}, {"kind": "added", "text": "black"}]
        whole = [(line["kind"], line["spans"][0]["text"]) for line in changed[1:]]
        assert whole == [("removed", "It cools fast."), ("added", "It has columns.")]
        first = api.get(f"/crawl-runs/{run.id}/diff?url={url}&version=1")
        assert first["before"] is None
        assert {line["kind"] for line in first["lines"]} == {"added"}
        assert api.call("GET", f"/crawl-runs/{run.id}/diff?url={url}&version=3").kind == "page-not-found"


@pytest.mark.parametrize("route", ["page", "source", "screenshot"])
def test_a_url_that_is_no_page_has_none_of_a_page(crawled: tuple[Api, str, str], route: str) -> None:
    api, run, origin = crawled
    for target in ("/gone", "/private", "/never-seen"):
        assert api.call("GET", f"{run}/{route}?url={quote(origin + target, safe='')}").kind == "page-not-found"
    assert api.call("GET", f"{run}/{route}?url=no-url").kind == "invalid"
    assert api.call("GET", f"/crawl-runs/none/{route}?url={quote(origin, safe='')}").kind == "run-not-found"


def test_the_description_that_the_types_of_the_dashboard_are_generated_from_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == description(), "run `make openapi`"


def test_every_reference_in_the_description_leads_to_a_schema() -> None:
    text = description()
    schemas = json.loads(text)["components"]["schemas"]
    assert {name for name in re.findall(r'"#/components/schemas/([^"]+)"', text) if name not in schemas} == set()
