"""The webhook routes as a client uses them, with one process and with servers and workers."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from scripts.servers import LocalServers
from standardwebhooks.webhooks import Webhook
from tests.interfaces.api import Api, serving_api, whole_app
from tests.interfaces.test_api_process import serve_process
from tests.support.http_server import HttpServer, page, prose, serve_site, site
from tests.support.webhook_receiver import Receiver, Reply, receiver
from tests.support.workers import scaled_app, worker_pool

from sitelore.serve.context import ApiSettings

ROUTE = "/tenant/v1/webhooks"
KEY = "0123456789abcdef" * 4


@pytest.fixture
def http_server() -> Iterator[HttpServer]:
    pages = {"/": page("Home", prose("home"), links=("/a",)), "/a": page("A", prose("a"))}
    with serve_site(site(pages)) as server:
        yield server


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as received:
        yield received


@contextmanager
def embedded_server(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setenv("SITELORE_ALLOW_PRIVATE", "127.0.0.1")
    monkeypatch.setenv("SITELORE_SECRETS_KEY", KEY)
    with serving_api(partial(whole_app, data), ApiSettings(poll_s=0.05, allow_private=("127.0.0.1",))) as api:
        yield api


def crawl_and_check(api: Api, http_server: HttpServer, hook: Receiver) -> str:
    """Create a webhook, crawl, and check every message; the id of the webhook."""
    answer = api.call("POST", ROUTE, {"url": hook.url})
    assert answer.status == 201, answer.body
    made = answer.json
    assert answer.headers["Location"] == f"{ROUTE}/{made['id']}"
    secret = made.pop("secret")
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert api.get(f"{ROUTE}/{made['id']}") == made
    run = api.start(http_server.url("/"))
    assert api.finish(run)["status"] == "COMPLETED"
    assert hook.wait_for(lambda: any(request.type == "run.completed" for request in hook.requests)), hook.requests
    assert [request.type for request in hook.requests] == ["run.started", "page.new", "page.new", "run.completed"]
    for request in hook.requests:
        assert Webhook(secret).verify(request.body, request.headers) == request.json
        assert request.data["runId"] == run
        assert api.get(request.data["runPath"])["id"] == run
    assert {request.data["url"] for request in hook.requests[1:3]} == {http_server.url("/"), http_server.url("/a")}
    assert all(request.data["webPageId"].isdigit() for request in hook.requests[1:3])
    assert hook.requests[3].data["pagesCrawled"] == 2
    log = api.get(f"{ROUTE}/{made['id']}/deliveries")
    assert log["pagination"] == {"total": 4, "limit": 100, "offset": 0, "returned": 4, "hasMore": False}
    assert [entry["type"] for entry in log["deliveries"]][::-1] == [request.type for request in hook.requests]
    return str(made["id"])


def test_a_crawl_is_reported_and_the_webhook_is_managed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, http_server: HttpServer, hook: Receiver
) -> None:
    with embedded_server(tmp_path, monkeypatch) as api:
        webhook = crawl_and_check(api, http_server, hook)
        [listed] = api.get(ROUTE)["webhooks"]
        assert "secret" not in listed
        assert (listed["enabled"], listed["types"], listed["failingSince"]) == (True, [], None)
        rotated = api.call("POST", f"{ROUTE}/{webhook}/rotate", {"graceSeconds": 60})
        assert rotated.status == 200
        assert rotated.json["oldSecretUntil"] is not None
        tested = api.call("POST", f"{ROUTE}/{webhook}/test")
        assert tested.json == {
            "accepted": True,
            "status": 204,
            "elapsedMs": tested.json["elapsedMs"],
            "answer": "",
            "error": None,
        }
        assert Webhook(rotated.json["secret"]).verify(hook.requests[-1].body, hook.requests[-1].headers)
        changed = api.call("PATCH", f"{ROUTE}/{webhook}", {"types": ["run.completed"]})
        assert changed.json["types"] == ["run.completed"]
        hook.answer = lambda _: Reply(410)
        hook.requests.clear()
        api.finish(api.start(http_server.url("/")))
        assert hook.wait_for(lambda: bool(hook.requests))
        assert [request.type for request in hook.requests] == ["run.completed"]
        stopped = wait_until_disabled(api, webhook)
        assert stopped["disabledReason"] == "the receiver answered 410 Gone"
        [dead] = api.get(f"{ROUTE}/{webhook}/deliveries?state=DEAD")["deliveries"]
        assert (dead["status"], dead["attempts"]) == (410, 1)
        replay = f"{ROUTE}/{webhook}/deliveries/{dead['eventId']}/replay"
        assert api.call("POST", replay).kind == "webhook-disabled"
        assert api.call("POST", f"{ROUTE}/{webhook}/replay", {}).kind == "webhook-disabled"
        assert api.call("PATCH", f"{ROUTE}/{webhook}", {"enabled": True}).json["enabled"] is True
        hook.answer = lambda _: Reply(200, body=b"thanks")
        assert api.call("POST", replay).json == {"replayed": 1}
        assert hook.wait_for(lambda: len(hook.requests) == 2)
        assert hook.requests[1].id == hook.requests[0].id
        assert api.call("POST", f"{ROUTE}/{webhook}/replay", {"since": "2020-01-01"}).json == {"replayed": 0}
        assert api.call("DELETE", f"{ROUTE}/{webhook}").status == 204
        assert api.get(ROUTE)["webhooks"] == []
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert rotated.json["secret"].removeprefix("whsec_").encode() not in stored


def wait_until_disabled(api: Api, webhook: str) -> dict[str, object]:
    """The webhook, as soon as the answer to the last message is stored."""
    while (view := api.get(f"{ROUTE}/{webhook}"))["enabled"]:
        pass
    return dict(view)


def test_wrong_requests_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: Receiver) -> None:
    with embedded_server(tmp_path, monkeypatch) as api:
        for body in (
            {},
            {"url": "nonsense"},
            {"url": "http://receiver.example/"},
            {"url": "https://10.0.0.1/"},
            {"url": hook.url, "types": ["page.old"]},
            {"url": hook.url, "secret": "whsec_mine"},
        ):
            assert api.call("POST", ROUTE, body).kind == "invalid", body
        for method, path, sent in (
            ("GET", "", None), ("PATCH", "", {"enabled": False}), ("DELETE", "", None), ("POST", "/rotate", {}),
            ("POST", "/test", None), ("GET", "/deliveries", None), ("POST", "/replay", {}),
            ("POST", "/deliveries/1/replay", None),
        ):  # fmt: skip
            for name in ("unknown", "%00", "..%2F"):
                answer = api.call(method, f"{ROUTE}/{name}{path}", sent)
                assert answer.status == 404, (method, path, answer.body)
        webhook = api.call("POST", ROUTE, {"url": hook.url}).json["id"]
        assert api.call("POST", f"{ROUTE}/{webhook}/deliveries/17/replay").kind == "webhook-not-found"
        assert api.call("POST", f"{ROUTE}/{webhook}/deliveries/x/replay").kind == "webhook-not-found"
        assert api.call("POST", f"{ROUTE}/{webhook}/replay", {"since": "yesterday"}).kind == "invalid"
        assert api.call("POST", f"{ROUTE}/{webhook}/rotate", {"graceSeconds": -1}).kind == "invalid"
        for _ in range(19):
            assert api.call("POST", ROUTE, {"url": hook.url}).status == 201
        assert api.call("POST", ROUTE, {"url": hook.url}).kind == "invalid"
    assert hook.requests == []


async def test_servers_and_workers_report_a_crawl_too(
    servers: LocalServers, tmp_path: Path, http_server: HttpServer, hook: Receiver
) -> None:
    async with scaled_app(servers) as (_, operator):
        with worker_pool(operator) as pool:
            env = pool.variables() | {"SITELORE_ALLOW_PRIVATE": "127.0.0.1", "SITELORE_SECRETS_KEY": KEY}
            with serve_process(tmp_path, http_server, env=env) as server:
                pool.start(1)
                crawl_and_check(server.api, http_server, hook)
