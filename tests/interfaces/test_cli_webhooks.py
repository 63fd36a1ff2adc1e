"""`sitelore webhooks`: add, list, test, rotate, replay and remove."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook
from tests.support.crawls import run_cli
from tests.support.webhook_receiver import Reply, receiver

ENV = {"SITELORE_ALLOW_PRIVATE": "127.0.0.1"}


def webhooks(data: Path, *arguments: str, code: int = 0) -> str:
    done = run_cli("webhooks", *arguments, "--data", str(data), env=ENV)
    assert done.code == code, done.err
    return str(done.out)


def as_json(data: Path, *arguments: str, code: int = 0) -> Any:
    return json.loads(webhooks(data, *arguments, "--json", code=code))


def test_a_webhook_is_added_tested_rotated_and_removed(tmp_path: Path) -> None:
    with receiver() as hook:
        secret = webhooks(tmp_path, "add", hook.url, "--type", "page.gone").strip()
        [listed] = as_json(tmp_path, "list")
        assert (listed["url"], listed["types"], listed["enabled"]) == (hook.url, ["page.gone"], True)
        assert "secret" not in listed
        assert as_json(tmp_path, "test", listed["id"])["accepted"] is True
        assert Webhook(secret).verify(hook.requests[0].body, hook.requests[0].headers) == hook.requests[0].json
        hook.answer = lambda _: Reply(500)
        assert as_json(tmp_path, "test", listed["id"][:30], code=1)["status"] == 500
        rotated = as_json(tmp_path, "rotate", listed["id"], "--grace", "1h")
        assert rotated["secret"] != secret
        assert as_json(tmp_path, "deliveries", listed["id"]) == []
        assert webhooks(tmp_path, "replay", listed["id"]) == ""
        webhooks(tmp_path, "enable", listed["id"])
        webhooks(tmp_path, "remove", listed["id"])
        assert as_json(tmp_path, "list") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "http://receiver.example/"), "the URL cannot be used: not an https URL"),
        (("add", "https://receiver.example/", "--type", "x"), "unknown event type 'x'"),
        (("remove", "abc"), "no webhook starts with 'abc'"),
        (("list", "--tenant", "no one's"), 'no tenant "no one\'s"'),
    ],
)
def test_mistakes_are_explained_in_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    webhooks(tmp_path, "add", "https://receiver.example/")
    done = run_cli("webhooks", *arguments, "--data", str(tmp_path), env=ENV)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1
