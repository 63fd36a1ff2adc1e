"""Every route against every kind of token, embedded and scaled: what a token may not do or see is refused."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from scripts.servers import LocalServers
from tests.interfaces.api import Api, ApiResponse, idle_app, serving_api, whole_app
from tests.support.http_server import page, prose, serve_site, site
from tests.support.workers import scaled_app

from sitelore.model.ids import RunId
from sitelore.model.platform.accounts import TENANT_SCOPES, TokenScope
from sitelore.model.platform.rate_limits import parse_rate_limits
from sitelore.serve.app import ROUTERS
from sitelore.serve.context import ApiSettings, AppContext, context_of
from sitelore.serve.security.auth import required_scope
from sitelore.serve.security.middleware import OPEN_PATHS, PUBLIC_PATHS

OPERATOR = "the-token-of-the-operator"
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
MANY_FAILURES = parse_rate_limits("login=9999/s", "limits")
SIGNED = "POST /tenant/v1/channels/{channel_id}/webcrawl/changed"
"""The route that takes a signature instead of a token."""
ANY_TOKEN = {"/tenant/v1/me", "/session"}
"""Routes without a scope, for every token."""
ROUTES: list[tuple[str, APIRoute]] = [
    (method, route)
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute) and route.path not in PUBLIC_PATHS
    for method in sorted(route.methods or ())
]
NAMES = [f"{method} {route.path}" for method, route in ROUTES]
_NO_ID = "0197aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"
NOT_THERE = {
    "run_id": _NO_ID, "job_id": _NO_ID, "site": "nowhere.test", "token_id": "a" * 22, "user_id": _NO_ID, "tenant_id": "987654",
    "pipeline": "update-delta", "channel_id": _NO_ID, "web_page_id": "456789", "web_media_id": "345678",
    "finding_id": "0" * 20, "fix_id": _NO_ID, "webhook_id": _NO_ID, "event_id": "567890",
}  # fmt: skip
BODIES: dict[str, Any] = {
    "POST /crawl": {"url": "https://site.invalid/"},
    "POST /crawl-runs": {"seedUrl": "https://site.invalid/"},
    "POST /sites/{site}/deletions": {"agree": False},
    "POST /sites/{site}/findings/{finding_id}/ignore": {"reason": "known", "scope": "finding"},
    "POST /tenant/v1/tokens": {"name": "more"},
    "POST /tenant/v1/users": {"email": "eve@people.test"},
    "PATCH /tenant/v1/users/{user_id}": {"role": "viewer"},
    "POST /manage/v1/tenants": {"name": "more"},
    "POST /manage/v1/tenants/{tenant_id}/deletions": {"site": "nowhere.test", "agree": False},
    "POST /tenant/v1/channels": {"url": "https://more.invalid/"},
    "PUT /sites/{site}/repository": {"url": "http://10.0.0.1/owner/name", "token": "secret", "host": "github"},
    "POST /sites/{site}/fixes/pull-request": {"rules": ["lang-missing"]},
    "POST /tenant/v1/webhooks": {"url": "https://more.invalid/"},
    "PUT /site-access": {"url": "https://more.invalid/", "bearer": "token"},
}
OF_A_PAGE = (
    "page", "source", "screenshot", "links", "explain", "versions", "diff", "chunks", "neighbours", "aliases",
)  # fmt: skip
QUERIES = {
    "GET /search": "?q=boats",
    "GET /pages": "?url=https://red.invalid/",
    "DELETE /site-access": "?url=https://red.invalid/",
    "GET /tenant/v1/channels/{channel_id}/webcrawl/explain": "?url=https://red.invalid/",
    **{f"GET /crawl-runs/{{run_id}}/{part}": "?url=https://red.invalid/" for part in OF_A_PAGE},
}


@dataclass
class Tenant:
    """A tenant with a token for everything in it, and what the tests name of it."""

    id: str
    token: str
    ids: dict[str, str]


@dataclass
class World:
    """A server with two tenants."""

    api: Api
    red: Tenant
    blue: Tenant

    def call(self, token: str, name: str, ids: dict[str, str]) -> ApiResponse:
        """Send a request of this route with a valid body, naming these ids."""
        method, _, path = name.partition(" ")
        filled = re.sub(r"\{(\w+)\}", lambda match: ids.get(match[1], NOT_THERE[match[1]]), path)
        body = BODIES.get(name, {} if method in {"POST", "PATCH", "PUT"} else None)
        return Api(self.api.port, token).call(method, filled + QUERIES.get(name, ""), body)

    def new_token(self, tenant: Tenant, **fields: object) -> dict[str, Any]:
        """Create a token with the tenant's first one."""
        answer = Api(self.api.port, tenant.token).call("POST", "/tenant/v1/tokens", {"name": "test", **fields})
        assert answer.status == 201, answer.body
        assert isinstance(answer.json, dict)
        return answer.json


@asynccontextmanager
async def scaled_idle_app(servers: LocalServers) -> AsyncIterator[AppContext]:
    async def attend(stop: asyncio.Event) -> None:
        await stop.wait()

    async def announce(_: RunId) -> None:
        pass

    async with scaled_app(servers) as (app, _):
        yield replace(context_of(app), run_background=attend, announce=announce)


@contextmanager
def serving_world(kind: str, request: pytest.FixtureRequest, data: Path) -> Iterator[World]:
    build = partial(idle_app, data) if kind == "embedded" else partial(scaled_idle_app, request.getfixturevalue("servers"))
    with serving_api(build, ApiSettings(tokens=(OPERATOR,), poll_s=0.05, rate_limits=MANY_FAILURES)) as api:
        yield World(api, new_tenant(api, "red"), new_tenant(api, "blue"))


def new_tenant(api: Api, name: str) -> Tenant:
    made = api.call("POST", "/manage/v1/tenants", {"name": name, "ownerEmail": f"ann@{name}.test"})
    assert made.status == 201, made.body
    own = Api(api.port, made.json["token"])
    run = own.start(f"https://{name}.invalid/")
    user = own.get("/tenant/v1/users")["users"][0]["id"]
    spare = own.call("POST", "/tenant/v1/users", {"email": f"bob@{name}.test"}).json["id"]
    token = own.call("POST", "/tenant/v1/tokens", {"name": "spare"}).json["id"]
    channel = own.call("POST", "/tenant/v1/channels", {"url": f"https://channel.{name}.invalid/"}).json["id"]
    webhook = own.call("POST", "/tenant/v1/webhooks", {"url": f"https://{name}.invalid/hook"}).json["id"]
    assert user != spare
    ids = {
        "run_id": run,
        "job_id": run,
        "site": f"{name}.invalid",
        "user_id": spare,
        "token_id": token,
        "tenant_id": made.json["id"],
        "channel_id": channel,
        "webhook_id": webhook,
    }
    return Tenant(made.json["id"], made.json["token"], ids)


@pytest.fixture(scope="module", params=["embedded", "scaled"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving_world(request.param, request, tmp_path_factory.mktemp("world")) as world:
        yield world


def scope_of(method: str, route: APIRoute) -> TokenScope | None:
    return TokenScope.CRAWL if f"{method} {route.path}" == SIGNED else required_scope(route.dependant)


def test_every_route_demands_a_scope() -> None:
    assert {route.path for method, route in ROUTES if scope_of(method, route) is None} == ANY_TOKEN


def test_the_documentation_lists_the_scope_of_every_route() -> None:
    table = DOCS.read_text(encoding="utf-8").partition("## Scopes")[2].partition("\n## ")[0]
    documented = dict(re.findall(r"^\| `([A-Z]+ /[^`]*)` \| (.+?) \|$", table, re.MULTILINE))
    expected = {
        name: f"`{scope}`" if (scope := scope_of(method, route)) else "any"
        for name, (method, route) in zip(NAMES, ROUTES, strict=True)
    }
    expected[SIGNED] += ", or a signature"
    expected |= {f"{'GET' if path in OPEN_PATHS else 'POST'} {path}": "no token" for path in PUBLIC_PATHS}
    expected |= {"GET /openapi.json": "any", "POST /mcp": "`read` and `search`"}
    assert documented == expected


def test_requests_without_a_valid_token_all_get_the_same_answer(world: World) -> None:
    revoked, expired = world.new_token(world.red), world.new_token(world.red)
    own = Api(world.api.port, world.red.token)
    assert own.call("DELETE", f"/tenant/v1/tokens/{revoked['id']}").json["isValid"] is False
    assert own.call("POST", f"/tenant/v1/tokens/{expired['id']}/rotate", {"graceSeconds": 0}).status == 201
    unknown = re.sub(r"_[0-9A-Za-z]{22}_", "_" + "a" * 22 + "_", world.red.token)
    wrong = world.red.token[:-49] + world.blue.token[-49:]
    for name in [*NAMES, "POST /mcp", "GET /openapi.json", "GET /nowhere"]:
        answers = [world.call(token, name, world.red.ids) for token in ("", revoked["token"], expired["token"], unknown, wrong)]
        assert {answer.status for answer in answers} == {401}, name
        assert len({answer.body for answer in answers}) == 1, name
        assert {answer.headers["WWW-Authenticate"] for answer in answers} == {'Bearer realm="sitelore"'}


@pytest.mark.parametrize("name", NAMES)
def test_a_token_without_the_scope_is_refused_whatever_it_names(world: World, name: str) -> None:
    scope = scope_of(*ROUTES[NAMES.index(name)])
    if scope is None:
        return
    lacking = sorted(TENANT_SCOPES - {scope})
    token = world.new_token(world.red, scopes=lacking)["token"]
    for ids in (world.red.ids, world.blue.ids, NOT_THERE):
        answer = world.call(token, name, ids)
        assert (answer.status, answer.kind) == (403, "forbidden"), answer.body
        assert scope in answer.json["detail"]


@pytest.mark.parametrize(
    "name", [name for name in NAMES if not name.startswith("GET") and name.partition(" ")[2] not in ANY_TOKEN]
)
def test_a_token_for_reading_changes_nothing(world: World, name: str) -> None:
    token = world.new_token(world.red, scopes=["read", "search"])["token"]
    assert world.call(token, name, world.red.ids).status == 403


@pytest.mark.parametrize("name", [name for name in NAMES if "/manage/" in name or name == "GET /metrics"])
def test_a_token_of_a_tenant_does_not_reach_the_operators_routes(world: World, name: str) -> None:
    for ids in (world.red.ids, world.blue.ids, NOT_THERE):
        assert world.call(world.red.token, name, ids).status == 403


@pytest.mark.parametrize("name", [name for name in NAMES if "{" in name and "/manage/" not in name])
def test_what_another_tenant_has_does_not_exist(world: World, name: str) -> None:
    theirs, missing = world.call(world.blue.token, name, world.red.ids), world.call(world.blue.token, name, NOT_THERE)
    assert theirs.status == missing.status == 404, (theirs.body, missing.body)
    assert without_ids(theirs, NOT_THERE | world.red.ids) == without_ids(missing, NOT_THERE)


def without_ids(answer: ApiResponse, ids: dict[str, str]) -> str:
    text = answer.body.decode()
    for value in sorted({*ids.values()}, key=len, reverse=True):
        text = text.replace(value, "…")
    return text


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name.startswith("GET") and "{" not in name and "/manage/" not in name]
)
def test_lists_hold_nothing_of_another_tenant(world: World, name: str) -> None:
    if name == "GET /metrics":
        text = Api(world.api.port, OPERATOR).call("GET", "/metrics").body.decode()
        assert not [tenant for tenant in ("red", "blue") if tenant in re.split(r"[^a-z]+", text)]
        return
    answer = world.call(world.blue.token, name, {})
    if name == "GET /pages":  # one page, of any site
        assert answer.status == 404, answer.body
        return
    assert answer.status == 200, answer.body
    text = answer.body.decode()
    own = {value for field, value in world.red.ids.items() if field != "tenant_id"}
    assert not [value for value in own if value in text]
    assert "ann@red.test" not in text


def test_a_token_that_is_bound_to_a_channel_reaches_nothing_else(world: World) -> None:
    token = world.new_token(world.red, channelId="0197aaaa-bbbb-7ccc-8ddd-000000000000")["token"]
    for name, (method, route) in zip(NAMES, ROUTES, strict=True):
        if "{channel_id}" in name:
            assert world.call(token, name, world.red.ids).kind == "channel-not-found", name
        elif name == "GET /tenant/v1/channels":
            assert world.call(token, name, world.red.ids).json["channels"] == []
        elif scope_of(method, route) is not None:
            assert world.call(token, name, world.red.ids).status == 403, name
    assert world.call(token, "GET /tenant/v1/me", {}).json["channelId"] == "0197aaaa-bbbb-7ccc-8ddd-000000000000"


def test_a_tenant_manages_its_tokens_and_users(world: World) -> None:
    own = Api(world.api.port, world.blue.token)
    identity = own.get("/tenant/v1/me")
    assert (identity["tenant"]["name"], identity["actor"], identity["role"]) == ("blue", "ann@blue.test", "owner")
    made = world.new_token(world.blue, scopes=["read"], expiresAt="2999-01-01T00:00:00Z")
    assert made["token"].startswith(made["prefix"] + "_")
    assert (made["expiresAt"], made["isValid"], made["lastUsedAt"]) == ("2999-01-01T00:00:00.000Z", True, None)
    assert Api(world.api.port, made["token"]).get("/crawl-runs")["pagination"]["total"] >= 1
    shown = own.get(f"/tenant/v1/tokens/{made['id']}")
    assert "token" not in shown
    renewed = own.call("POST", f"/tenant/v1/tokens/{made['id']}/rotate", {}).json
    assert renewed["rotatedFrom"] == made["id"]
    for token in (made["token"], renewed["token"]):
        assert Api(world.api.port, token).call("GET", "/crawl-runs").status == 200
    user = own.call("POST", "/tenant/v1/users", {"email": "carl@blue.test", "role": "viewer"}).json
    assert own.call("POST", "/tenant/v1/users", {"email": "carl@blue.test"}).kind == "conflict"
    assert own.call("PATCH", f"/tenant/v1/users/{user['id']}", {"role": "member"}).json["role"] == "member"
    of_user = world.new_token(world.blue, userId=user["id"])
    assert of_user["scopes"] == ["crawl", "read", "search"]
    assert own.call("DELETE", f"/tenant/v1/users/{user['id']}").status == 204
    assert Api(world.api.port, of_user["token"]).call("GET", "/crawl-runs").status == 401
    owner = next(each for each in own.get("/tenant/v1/users")["users"] if each["role"] == "owner")
    assert own.call("DELETE", f"/tenant/v1/users/{owner['id']}").kind == "conflict"
    assert own.call("POST", "/tenant/v1/users", {"email": "no address"}).status == 422
    assert own.call("POST", "/tenant/v1/tokens", {"name": "x", "scopes": ["admin"]}).kind == "forbidden"
    assert own.call("POST", "/tenant/v1/tokens", {"name": "x", "expiresAt": "2000-01-01T00:00:00Z"}).status == 422


def test_changes_are_in_the_audit_log_without_secrets(world: World) -> None:
    own = Api(world.api.port, world.red.token)
    run = own.start("https://audited.invalid/")
    cancelled = own.call("POST", f"/crawl-runs/{run}/cancel")
    token = world.new_token(world.red)
    log = own.get("/tenant/v1/audit?limit=1000")
    by_object = {(record["action"], record["object"]): record for record in log["records"]}
    assert ("run.created", f"run:{run}") in by_object
    record = by_object["run.cancelled", f"run:{run}"]
    assert (record["actor"], record["requestId"]) == ("ann@red.test", cancelled.headers["X-Request-Id"])
    assert by_object["token.created", f"token:{token['id']}"]["afterHash"]
    assert token["token"][-49:] not in str(log)
    assert own.get(f"/tenant/v1/audit?action=run.cancelled&object=run:{run}")["pagination"]["total"] == 1
    check = own.get("/tenant/v1/audit/verify")
    assert (check["isIntact"], check["lastHash"]) == (True, own.get("/tenant/v1/audit?limit=1")["records"][0]["hash"])


def test_the_operator_suspends_and_deletes_tenants(world: World) -> None:
    operator = Api(world.api.port, OPERATOR)
    green = new_tenant(operator, "green")
    assert operator.call("POST", "/manage/v1/tenants", {"name": "green"}).kind == "conflict"
    assert {"red", "blue", "green"} <= {tenant["name"] for tenant in operator.get("/manage/v1/tenants")["tenants"]}
    assert operator.call("POST", f"/manage/v1/tenants/{green.id}/suspend").json["suspendedAt"]
    assert Api(world.api.port, green.token).call("GET", "/tenant/v1/me").kind == "tenant-suspended"
    assert operator.call("POST", f"/manage/v1/tenants/{green.id}/resume").json["suspendedAt"] is None
    assert Api(world.api.port, green.token).call("GET", "/tenant/v1/me").status == 200
    assert operator.call("DELETE", f"/manage/v1/tenants/{green.id}").status == 204
    assert Api(world.api.port, green.token).call("GET", "/tenant/v1/me").status == 401
    assert operator.call("GET", f"/manage/v1/tenants/{green.id}").kind == "tenant-not-found"
    assert operator.call("DELETE", "/manage/v1/tenants/1").status == 409
    actions = [record["action"] for record in operator.get(f"/tenant/v1/audit?object=tenant:{green.id}")["records"]]
    assert actions == ["tenant.deleted", "tenant.suspended", "tenant.resumed", "tenant.suspended", "tenant.created"]


@pytest.mark.parametrize("kind", ["embedded", "scaled"])
def test_beyond_the_rate_limit_requests_are_refused_with_headers(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    build = partial(idle_app, tmp_path) if kind == "embedded" else partial(scaled_idle_app, request.getfixturevalue("servers"))
    limits = parse_rate_limits("search=2/h other=5/h tenant.other=50/h", "")
    with serving_api(build, ApiSettings(tokens=(OPERATOR, "another-operator-token"), rate_limits=limits)) as api:
        answers = [api.call("GET", "/crawl-runs") for _ in range(6)]
        assert [answer.status for answer in answers] == [200] * 5 + [429]
        assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["4", "3", "2", "1", "0", "0"]
        assert {answer.headers["RateLimit-Limit"] for answer in answers} == {"5"}
        last = answers[-1]
        assert last.kind == "rate-limited"
        assert last.headers["Retry-After"] == last.headers["RateLimit-Reset"]
        assert 700 <= int(last.headers["Retry-After"]) <= 720
        assert api.call("GET", "/search?q=x").status == 200, "another class has a bucket of its own"
        assert Api(api.port, "another-operator-token").call("GET", "/crawl-runs").status == 200, "and so has another token"
        assert api.call("GET", "/health").headers["RateLimit-Limit"] is None
        assert Api(api.port, "unknown").call("GET", "/crawl-runs").status == 401


def test_a_server_without_tokens_checks_one_that_is_sent(tmp_path: Path) -> None:
    with serving_api(partial(idle_app, tmp_path)) as api:
        red = new_tenant(api, "red")
        assert api.get("/crawl-runs")["runs"] == [], "those of the default tenant"
        assert [run["id"] for run in Api(api.port, red.token).get("/crawl-runs")["runs"]] == [red.ids["run_id"]]
        assert Api(api.port, "unknown").call("GET", "/crawl-runs").status == 401
        assert Api(api.port, red.token).call("GET", "/manage/v1/tenants").status == 403
    with serving_api(partial(idle_app, tmp_path), ApiSettings(has_stored_tokens=True)) as api:
        assert api.call("GET", "/crawl-runs").status == 401
        assert Api(api.port, red.token).call("GET", "/crawl-runs", Host="any.example").status == 200


def test_crawls_searches_and_exports_of_two_tenants_stay_apart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "sitelore")
    runs: list[str] = []
    with serve_site(site({"/": page("Boats", prose("harbour"))})) as http_server:
        allowed = (f"{http_server.host}:{http_server.port}",)
        with serving_api(
            partial(whole_app, tmp_path), ApiSettings(tokens=(OPERATOR,), allow_private=allowed, poll_s=0.05)
        ) as api:
            for name in ("red", "blue"):
                http_server.pages = site({"/": page(f"{name} boats", prose(f"{name} harbour"))})
                token = api.call("POST", "/manage/v1/tenants", {"name": name}).json["token"]
                own = Api(api.port, token)
                run = own.start(http_server.url("/"))
                assert own.finish(run)["status"] == "COMPLETED"
                for tail in ("export", "export?format=jsonl", "export?format=csv", "urls", "graph", "lineage"):
                    answer = own.call("GET", f"/crawl-runs/{run}/{tail}")
                    assert answer.status == 200
                    other = "blue" if name == "red" else "red"
                    assert not [text for text in (f"{other} boats", *runs) if text in answer.body.decode()]
                for other_run in runs:
                    for tail in ("", "/events", "/export", "/summary"):
                        assert own.call("GET", f"/crawl-runs/{other_run}{tail}").kind == "run-not-found"
                runs.append(run)
                assert f"{name} boats" in own.call("GET", f"/crawl-runs/{run}/export?format=jsonl").body.decode()
                assert api.call("GET", f"/crawl-runs/{run}").kind == "run-not-found", "the operator's own tenant is another one"
                assert own.get("/crawl-runs")["pagination"]["total"] == 1
                assert [each["name"] for each in own.get("/sites")["sites"]] == ["127.0.0.1:" + str(http_server.port)]
            assert api.get("/sites")["sites"] == []
            metrics = api.call("GET", "/metrics").body.decode()
            assert re.search(r"\b(?:red|blue)\b", metrics) is None
            assert not [text for text in (http_server.host, *runs) if text in metrics]
    assert not [record for record in caplog.records if "boats" in f"{record.getMessage()} {record.__dict__}"]
