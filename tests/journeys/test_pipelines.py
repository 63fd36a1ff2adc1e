"""Named pipelines: the same visits with different sources of URLs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.interfaces.api import serving_api, whole_app
from tests.support.crawls import run_cli
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site, site

from sitelore.crawl.runs import pipeline_settings
from sitelore.model.errors import UsageError
from sitelore.model.settings import CrawlSettings, Pipeline
from sitelore.serve.context import ApiSettings

NAMES = ("apples", "bears", "clouds", "dunes")


def shop() -> dict[str, Answer]:
    return {"/": page("Shop", prose("shop"), links=tuple(f"/{name}" for name in NAMES))} | {
        f"/{name}": page(name.title(), prose(name), links=("/",)) for name in NAMES
    }


def crawled(http_server: HttpServer, data: Path) -> str:
    done = run_cli("crawl", http_server.url(), "--delay", "0", "--output", "db", "--json", "--data", str(data))
    assert done.code == 0, done.err
    http_server.clear_log()
    return http_server.origin.removeprefix("http://")


def test_a_pipeline_visits_everything_or_only_changed_or_named_pages(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        name = crawled(http_server, tmp_path)
        again = run_cli("pipeline", "index-site", name, "--json", "--output", "db", "--data", str(tmp_path))
        assert again.code == 0, again.err
        assert again.summary["states"] == {"VISITED": 5}
        assert not any(hit.conditional for hit in http_server.hits)
        http_server.clear_log()
        http_server.edit("/clouds")
        delta = run_cli("pipeline", "update-delta", name, "--json", "--output", "db", "--data", str(tmp_path))
        assert delta.summary["states"] == {"NOT_MODIFIED": 4, "VISITED": 1}
        http_server.clear_log()
        http_server.edit("/bears")
        dirty = run_cli(
            "pipeline", "update-delta", name, http_server.url("/bears"), "--json", "--output", "db", "--data", str(tmp_path)
        )
        assert dirty.code == 0, dirty.err
        assert [hit.target for hit in http_server.hits if hit.target != "/robots.txt"] == ["/bears"]
        unknown = run_cli("pipeline", "update-delta", "unknown.example", "--data", str(tmp_path))
        assert unknown.code == 2
        assert "crawl it first" in unknown.err


def test_a_webhook_starts_a_delta_of_the_pages_it_names(tmp_path: Path) -> None:
    with serve_site(site(shop())) as http_server:
        name = crawled(http_server, tmp_path)
        http_server.edit("/dunes")
        settings = ApiSettings(poll_s=0.05)
        with serving_api(lambda: whole_app(tmp_path), settings) as api:
            made = api.call("POST", f"/hooks/{name}", {"urls": [http_server.url("/dunes")]})
            assert made.status == 201, made.body
            api.finish(json.loads(made.body)["id"])
            assert [hit.target for hit in http_server.hits if hit.target != "/robots.txt"] == ["/dunes"]
            elsewhere = api.call("POST", f"/hooks/{name}", {"urls": ["http://169.254.169.254/latest"]})
            assert elsewhere.status == 422
            assert api.call("POST", "/hooks/unknown", {}).status == 404
            answer = json.loads(api.call("GET", "/search?q=dunes&limit=3&mode=lexical").body)
            assert answer["hits"][0]["url"] == http_server.url("/dunes")
            [stats] = json.loads(api.call("GET", "/sites").body)["sites"]
            assert (stats["name"], stats["pages"], stats["held"]) == (name, 5, 0)
            assert json.loads(api.call("GET", f"/sites/{name}/deletions").body) == {"site": name, "pages": 0}
            assert api.call("GET", "/search?q=dunes&since=yesterday").status == 422


@pytest.mark.parametrize("url", ["ftp://shop.example/x", "https://evil.example/", "https://shop.example.evil/", "x"])
def test_a_url_of_another_site_is_refused(url: str) -> None:
    before = CrawlSettings(seeds=("https://shop.example/",))
    with pytest.raises(UsageError):
        pipeline_settings(before, "shop.example", Pipeline.UPDATE_DELTA, [url])


def test_a_host_with_and_without_www_is_the_same_site() -> None:
    before = CrawlSettings(seeds=("https://shop.example/",), max_pages=5)
    settings = pipeline_settings(before, "shop.example", Pipeline.UPDATE_DELTA, ["https://www.shop.example/a"])
    assert (settings.seeds, settings.max_depth, settings.max_pages) == (("https://www.shop.example/a",), 0, None)
    with pytest.raises(UsageError):
        pipeline_settings(before, "shop.example", Pipeline.INDEX_SITE, ["https://shop.example/a"])
