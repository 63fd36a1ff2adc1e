"""The settings of a run by the API, single pages without a run, and equal messages for equal mistakes in all places."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.api import Api, serving_api, whole_app
from tests.support.http_server import HttpServer, page, prose, redirect, serve_site, site

import sitelore
from sitelore.app.config.catalogue import SETTINGS, settings_in_files
from sitelore.app.config.file import read_config
from sitelore.app.config.plans import crawl_plans
from sitelore.app.config.sources import set_values
from sitelore.model.errors import BadConfig, UsageError
from sitelore.serve.context import ApiSettings
from sitelore.serve.run_requests import RunRequest, run_settings

URL = "https://example.com/"


def of_request(settings: dict[str, Any], **body: Any) -> Any:
    return run_settings(RunRequest.model_validate({"seedUrl": URL, "settings": settings, **body}), ())


def nested(field: str, value: Any) -> dict[str, Any]:
    group, _, name = field.rpartition(".")
    return {group: {name: value}} if group else {name: value}


EXAMPLES = {
    "seeds": ["https://example.com/b"], "sitemaps": ["https://example.com/s.xml"], "overrides": [{"domain": "example.com"}],
    "accept_language": "de", "user_agent": "x", "scope": "prefix", "personal_ids": ["us-ssn"], "identity.slash": "add",
    "identity.query": "sort", "prefetch": "off", "read": "content", "rendering.mode": "never", "media.types": ["IMAGE"],
    "personal": "off", "ttl_s": "1h", "time_limit_s": "1h",
}  # fmt: skip


def another_value(setting: Any) -> Any:
    """A value that is not the default."""
    default = setting.default()
    if setting.name in EXAMPLES:
        return EXAMPLES[setting.name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, tuple):
        return ["x"]
    return 7 if default is None else default + 1


def as_typed(value: Any) -> str:
    """A value as text of an option."""
    return ",".join(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("setting", settings_in_files(), ids=lambda own: own.name)
def test_every_setting_is_the_same_on_the_command_line_in_files_in_python_and_in_the_api(setting: Any, tmp_path: Path) -> None:
    value, name = another_value(setting), setting.name
    [plan] = crawl_plans([URL], set_values([f"{name}={as_typed(value)}"]))
    path = tmp_path / "sitelore.toml"
    path.write_text(f"[crawl]\n{name} = {json.dumps(value)}\n", encoding="utf-8")
    [in_file] = crawl_plans([URL], {}, read_config(path))
    group, _, last = name.rpartition(".")
    arguments: dict[str, Any] = {group: {last: value}} if group else {name: value}
    in_python = sitelore.Crawler(URL, **arguments).settings
    assert plan.settings == in_file.settings == in_python
    assert plan.settings != crawl_plans([URL], {})[0].settings
    if not setting.not_in_api and name != "documents":  # the default of the API is another one
        requested: Any = of_request(nested(setting.field, value))
        typed: Any = plan.settings
        for part in name.split("."):
            requested, typed = getattr(requested, part), getattr(typed, part)
        assert requested == typed or (name == "exclude" and set(typed) <= set(requested))


@pytest.mark.parametrize("setting", [own for own in SETTINGS if not own.not_in_api], ids=lambda own: own.name)
def test_every_setting_has_a_field_that_sets_it(setting: Any) -> None:
    value = another_value(setting)
    if setting.name == "documents":
        value = True
    before, after = of_request({}), of_request(nested(setting.field, value))
    assert before != after, setting.field


def test_values_of_a_request_reach_the_run() -> None:
    settings = of_request(
        {
            "include": ["/a"], "exclude": ["/b"], "includeDocuments": True, "ttl": "24h", "force": True, "concurrency": 3,
            "limits": {"bodyBytes": "10MB"}, "overrides": [{"domain": "example.com", "removeSelectors": [".x"]}],
        }
    )  # fmt: skip
    assert (settings.include, settings.exclude, settings.ttl_s, settings.force) == (("/a",), ("/b",), 86400.0, True)
    assert (settings.limits.body_bytes, settings.pace.concurrency, settings.pace.per_host) == (10_000_000, 3, 3)
    assert settings.overrides[0].remove_selectors == (".x",)
    assert (settings.open_origins, settings.allow_private, settings.obey_robots) == ((), (), True)


MISTAKES = [
    ("max_retries", -1, "invalid number -1 (use a whole number from 0 to "),
    ("scope", "all", "invalid value 'all' (use host, origin, domain or prefix)"),
    ("ttl", "24", "invalid duration '24' (use 90s, 30m, 24h or 7d)"),
    ("limits.body_bytes", "ten", "invalid size 'ten' (use bytes, 500KB, 10MB or 16MiB)"),
    ("rendering.timeout_s", "x", "invalid duration 'x' (use seconds, 90s, 30m or 24h)"),
    ("accept_language", "ä", "invalid value 'ä' (use languages such as 'de, en;q=0.5')"),
]


@pytest.mark.parametrize(("key", "value", "reason"), MISTAKES)
def test_one_mistake_has_one_message_on_the_command_line_in_files_python_and_the_api(
    key: str, value: Any, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as typed:
        set_values([f"{key}={value}"])
    assert f"--set {key}: {reason}" in str(typed.value)
    path = tmp_path / "sitelore.toml"
    path.write_text(f"[crawl]\n{key} = {value if isinstance(value, int) else repr(value)}\n", encoding="utf-8")
    with pytest.raises(BadConfig) as in_file:
        read_config(path)
    assert f"sitelore.toml, line 2: {key}: {reason}" in str(in_file.value)
    group, _, name = key.rpartition(".")
    with pytest.raises(ValueError, match="invalid") as in_python:
        sitelore.Crawler(URL, **({group: {name: value}} if group else {key: value}))
    assert str(in_python.value).startswith(f"{key}: {reason}")
    field = next(own.field for own in SETTINGS if key in {own.name, own.short})
    with pytest.raises(ValueError, match="invalid") as requested:
        of_request(nested(field, value))
    assert reason in str(requested.value)


@dataclass(frozen=True, slots=True)
class Served:
    api: Api
    http_server: HttpServer


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    pages = {
        "/": page("Home", prose("home"), links=("/a", "/private/x")),
        "/a": page("A page", f"<nav class=x>menu</nav>{prose('alpha')}"),
        "/moved": redirect("/a"),
        "/away": redirect("/private/x"),
        "/private/x": page("Private", prose("private")),
    }
    with serve_site(site(pages, robots="User-agent: *\nDisallow: /private/\n"), host="localhost") as http_server:
        data = tmp_path_factory.mktemp("data")
        settings = ApiSettings(poll_s=0.05, allow_private=(f"localhost:{http_server.port}",))
        with serving_api(partial(whole_app, data), settings) as api:
            yield Served(api, http_server)


def test_a_page_is_scraped_once_and_then_comes_from_the_cache(served: Served) -> None:
    body = {"url": served.http_server.url("/moved"), "ttl": "10m"}
    first = served.api.call("POST", "/scrape", body)
    assert first.status == 200
    assert (first.json["title"], first.json["cached"]) == ("A page", False)
    assert first.json["final_url"] == served.http_server.url("/a")
    assert first.json["markdown"].startswith("# A page\n\n")
    again = served.api.call("POST", "/scrape", body).json
    assert again == {**first.json, "cached": True}
    assert served.api.call("POST", "/scrape", {**body, "ttl": 0}).json["cached"] is False


@pytest.mark.parametrize(
    ("path", "status", "kind", "reason"),
    [
        ("/private/x", 422, "address-refused", "robots.txt line 2"),
        ("/away", 422, "address-refused", "robots.txt line 2"),
        ("/none", 502, "fetch-failed", "answered 404"),
    ],
)
def test_a_page_that_cannot_be_scraped_has_a_reason(served: Served, path: str, status: int, kind: str, reason: str) -> None:
    answer = served.api.call("POST", "/scrape", {"url": served.http_server.url(path)})
    assert (answer.status, answer.kind) == (status, kind)
    assert reason in answer.json["detail"]


def test_a_private_address_is_not_scraped(served: Served) -> None:
    answer = served.api.call("POST", "/scrape", {"url": "http://127.0.0.1:9/"})
    assert (answer.status, answer.kind) == (422, "address-refused")


def test_the_newest_version_of_a_page_is_found_without_its_run(served: Served) -> None:
    url = served.http_server.url("/a")
    assert served.api.call("GET", f"/pages?url={url}").kind == "page-not-found"
    started = served.api.call(
        "POST", "/crawl-runs", {"seedUrl": served.http_server.url("/"), "settings": {"include": ["/a"], "maxPages": 5}}
    )
    assert served.api.finish(started.json["id"])["status"] == "COMPLETED"
    newest = served.api.get(f"/pages?url={url}")
    assert (newest["title"], newest["cached"]) == ("A page", True)
    assert served.api.call("POST", "/scrape", {"url": url, "removeSelectors": ["div..x"]}).status == 422


def test_an_unknown_setting_is_answered_with_the_one_that_was_meant(served: Served) -> None:
    answer = served.api.call("POST", "/crawl-runs", {"seedUrl": URL, "settings": {"limits": {"bodyByte": 5}, "maxPage": 1}})
    assert answer.status == 422
    assert {error["field"]: error["detail"] for error in answer.json["errors"]} == {
        "body.settings.limits.bodyByte": "unknown setting 'limits.bodyByte' (did you mean 'limits.bodyBytes'?)",
        "body.settings.maxPage": "unknown setting 'maxPage' (did you mean 'maxPages'?)",
    }


def test_a_run_needs_a_url_or_a_sitemap(served: Served) -> None:
    answer = served.api.call("POST", "/crawl-runs", {"settings": {}})
    assert (answer.status, answer.json["errors"][0]["detail"]) == (422, "a run needs a seedUrl or a sitemap")
