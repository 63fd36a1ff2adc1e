"""Access to sites over the API: stored encrypted for a tenant, used by its crawls, and never shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.api import Api, serving_api, whole_app
from tests.journeys.test_secrets import everything_in
from tests.support.http_server import prose
from tests.support.proxies import Gate, serve_gate

from sitelore.serve.context import ApiSettings

OPERATOR = "the-token-of-the-operator"
PASSWORD, TOKEN, SESSION = "wonderful-gate-word", "tok-4711-abcdefgh", "sess-0815-ijklmnop"
ENCODED = base64.b64encode(f"ann:{PASSWORD}".encode()).decode()
COOKIE = {"name": "session", "value": SESSION, "domain": "127.0.0.1", "path": "/", "expires": -1, "secure": False}
WAYS: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "auth": ({"auth": f"ann:{PASSWORD}"}, ("authorization", ENCODED)),
    "bearer": ({"bearer": TOKEN}, ("authorization", f"Bearer {TOKEN}")),
    "headers": ({"headers": {"X-Key": TOKEN}}, ("x-key", TOKEN)),
    "cookie": ({"cookie": f"session={SESSION}"}, ("cookie", f"session={SESSION}")),
    "storageState": ({"storageState": {"cookies": [COOKIE], "origins": []}}, ("cookie", f"session={SESSION}")),
}


@dataclass(frozen=True, slots=True)
class World:
    """A server with two tenants."""

    red: Api
    blue: Api
    data: Path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    data = tmp_path_factory.mktemp("data")
    with serving_api(
        partial(whole_app, data), ApiSettings(tokens=(OPERATOR,), allow_private=("127.0.0.1",), poll_s=0.05)
    ) as api:
        red, blue = (
            Api(api.port, api.call("POST", "/manage/v1/tenants", {"name": name}).json["token"]) for name in ("red", "blue")
        )
        yield World(red, blue, data)


@pytest.mark.parametrize("way", WAYS)
def test_stored_access_opens_the_site_for_crawls_of_its_tenant_alone(way: str, world: World) -> None:
    fields, gate = WAYS[way]
    secrets = (PASSWORD, ENCODED) if way == "auth" else (TOKEN,) if way in {"bearer", "headers"} else (SESSION,)
    home = f"<title>Inside</title><main><h1>Inside</h1><p>{prose('inside')} {' '.join(secrets)}</p></main>"
    with serve_gate(Gate({"/": (200, {}, home.encode())}, gate)) as site:
        answers = [world.red.call("PUT", "/site-access", {"url": f"{site.origin}/any", **fields})]
        assert answers[0].status == 200, answers[0].body
        assert answers[0].json["origin"] == site.origin
        answers.append(world.red.call("GET", "/site-access"))
        assert site.origin in [row["origin"] for row in answers[1].json["origins"]]
        assert site.origin not in str(world.blue.get("/site-access"))
        run = world.red.start(f"{site.origin}/")
        assert world.red.finish(run)["counts"]["pages"] == 1
        answers += [
            world.red.call("GET", f"/crawl-runs/{run}"),
            world.red.call("GET", f"/crawl-runs/{run}/export?format=jsonl"),
        ]
        answers.append(world.red.call("POST", "/scrape", {"url": f"{site.origin}/", "ttl": 0}))
        assert answers[-1].json["title"] == "Inside"
        foreign = world.blue.start(f"{site.origin}/")
        assert world.blue.finish(foreign)["counts"]["pages"] == 0
        answers.append(world.red.call("GET", "/tenant/v1/audit"))
        assert '"site-access.changed"' in answers[-1].body.decode()
        assert world.red.call("DELETE", f"/site-access?url={site.origin}/").status == 204
        assert world.red.call("DELETE", f"/site-access?url={site.origin}/").kind == "site-access-not-found"
        assert world.red.finish(world.red.start(f"{site.origin}/"))["counts"]["pages"] == 0
    assert not [answer.body for answer in answers for secret in secrets if secret.encode() in answer.body]
    assert not [name for name, data in everything_in(world.data) for secret in secrets if secret.encode() in data]


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({}, "body", "name one of headers, cookie, storageState, auth and bearer"),
        ({"auth": "ann"}, "body.auth", "invalid credentials (use USER:PASSWORD)"),
        ({"headers": {"Host": "x"}}, "body.header", "Host cannot be set (the client sets it)"),
        ({"cookie": SESSION}, "body.cookie", "invalid cookies (use 'name=value; name=value' in printable ASCII)"),
        ({"storageState": {"cookies": 1}}, "body.storageState", "not a storage state of Playwright"),
        ({"cookies": "cookies.txt"}, "body.cookies", "Extra inputs are not permitted"),
    ],
)
def test_a_mistake_is_explained_without_repeating_a_secret(body: dict[str, Any], field: str, reason: str, world: World) -> None:
    answer = world.red.call("PUT", "/site-access", {"url": "https://example.com/", **body})
    assert answer.status == 422
    [problem] = answer.json["errors"]
    assert (problem["field"], reason in problem["detail"]) == (field, True), problem
    assert SESSION not in answer.body.decode()


def test_credentials_in_a_url_are_refused_and_not_repeated(world: World) -> None:
    world.red.start("https://known.invalid/")
    url = f"https://ann:{PASSWORD}@example.com/"
    for path, body in (
        ("/crawl-runs", {"seedUrl": url}),
        ("/crawl-runs", {"seedUrl": "https://example.com/", "settings": {"sitemaps": [url]}}),
        ("/crawl", {"url": url}),
        ("/scrape", {"url": url}),
        ("/tenant/v1/channels", {"url": url}),
        ("/sites/known.invalid/pipelines/update-delta", {"urls": [url]}),
        ("/hooks/known.invalid", {"urls": [url]}),
    ):
        answer = world.red.call("POST", path, body)
        assert answer.status == 422, (path, answer.body)
        assert "the URL contains credentials; set auth for the site instead" in answer.json["errors"][0]["detail"], path
        assert PASSWORD not in json.dumps(answer.json)
