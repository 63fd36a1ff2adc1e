"""Routes of runs and of quick crawls over HTTP, for a site with a known result."""

from __future__ import annotations

import csv
import gzip
import io
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.api import Api, serving_api, whole_app
from tests.journeys.test_site_memory import COOKIES, kettles
from tests.support.crawls import differences, exported_rows, run_cli
from tests.support.graph import Expected, Graph
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site, site

from sitelore.serve.context import ApiSettings

GRAPH = Graph(7, 70, with_sitemap=True)


@dataclass(frozen=True, slots=True)
class Served:
    """A server, the site it may crawl, its data, and one run that has completed."""

    api: Api
    http_server: HttpServer
    data: Path
    run: str
    summary: dict[str, Any]

    def export(self, query: str = "") -> list[dict[str, Any]]:
        rows = self.api.get(f"/crawl-runs/{self.run}/export{query}")
        assert isinstance(rows, list)
        return rows


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("api")
    with serve_site(lambda _: None, host="localhost") as http_server:
        http_server.pages = GRAPH.pages(http_server.origin)
        settings = ApiSettings(allow_private=(f"localhost:{http_server.port}",), poll_s=0.05)
        with serving_api(partial(whole_app, data), settings) as api:
            run = api.start(http_server.url("/"), includeDocuments=True)
            yield Served(api, http_server, data, run, api.finish(run))


def test_a_crawl_by_the_api_equals_the_oracle(served: Served) -> None:
    crawled = {
        row["url"]: Expected(
            row["state"],
            row["depth"],
            row["parent"],
            row["final_url"] if row["state"] in {"VISITED", "ALIAS"} else None,
            row["skip_reason"],
        )
        for row in served.export()
    }
    assert not differences(crawled, GRAPH.expected(served.http_server.origin))


def test_a_run_has_the_settings_of_its_request(served: Served) -> None:
    run = served.api.get(f"/crawl-runs/{served.run}")
    seed = served.http_server.url("/")
    assert (run["seed_url"], run["normalized_seed_url"], run["root_url"]) == (seed, seed, seed)
    assert run["allowed_hosts"] == [f"localhost:{served.http_server.port}"]
    assert run["status"] == "COMPLETED"
    assert run["run_config"] == {
        "maxPages": 5000,
        "maxDepth": 25,
        "scopeMode": "host",
        "includeDocuments": True,
        "includeMedia": False,
        "followRedirects": True,
        "demoDelayMs": 0,
        "requestTimeoutMs": 10000,
        "maxRetries": 2,
        "read": "full",
        "render": "auto",
        "screenshots": False,
        "personal": "chunks",
        "acceptLanguage": "",
        "audit": False,
    }
    assert run["created_at"] <= run["started_at"] <= run["finished_at"]


def test_every_setting_of_a_run_comes_back_as_it_was_sent(served: Served) -> None:
    sent = {
        "maxPages": 3,
        "maxDepth": 2,
        "scopeMode": "prefix",
        "includeDocuments": False,
        "includeMedia": True,
        "followRedirects": False,
        "demoDelayMs": 5,
        "requestTimeoutMs": 2500,
        "maxRetries": 0,
        "read": "content",
        "render": "never",
        "screenshots": True,
        "personal": "everywhere",
        "acceptLanguage": "de, en;q=0.5",
        "audit": True,
    }
    answer = served.api.call("POST", "/crawl-runs", {"seedUrl": served.http_server.url("/"), "settings": sent})
    assert answer.json["run_config"] == sent
    assert answer.headers["Location"] == f"/crawl-runs/{answer.json['id']}"
    assert served.api.finish(answer.json["id"])["counts"]["pages"] == 3
    same_host = served.api.call(
        "POST", "/crawl-runs", {"seedUrl": served.http_server.url("/"), "settings": {"scopeMode": "same_host"}}
    )
    assert same_host.json["run_config"]["scopeMode"] == "host"
    served.api.call("POST", f"/crawl-runs/{same_host.json['id']}/cancel")


def test_the_summary_counts_what_the_export_lists(served: Served) -> None:
    counts, rows = served.api.get(f"/crawl-runs/{served.run}/summary")["counts"], served.export()
    assert counts["total_urls"] == len(rows)
    for state in {row["state"] for row in rows}:
        assert counts["by_status"][state] == sum(row["state"] == state for row in rows)
    assert counts["pages"] == sum(row["state"] == "VISITED" for row in rows)
    assert (counts["queued"], counts["in_progress"]) == (0, 0)
    assert served.summary["counts"] == counts


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("sort", ["id", "visited_at", "updated_at", "normalized_url", "depth"])
def test_the_pages_of_the_url_list_are_complete_and_in_order(served: Served, sort: str, order: str) -> None:
    where = f"/crawl-runs/{served.run}/urls?sort={sort}&order={order}"
    rows: list[dict[str, Any]] = []
    while True:
        part = served.api.get(f"{where}&limit=17&offset={len(rows)}")
        rows += part["urls"]
        assert part["pagination"]["returned"] == len(part["urls"])
        assert part["pagination"]["total"] == served.summary["counts"]["total_urls"]
        if not part["pagination"]["has_more"]:
            break
    assert sorted(row["id"] for row in rows) == [row["key"] for row in served.export()]
    values = [row[{"id": "seq", "updated_at": "visited_at"}.get(sort, sort)] for row in rows]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=order == "desc")
    assert values[: len(known)] == known, "rows without a value come last"


def test_urls_can_be_filtered_by_state(served: Served) -> None:
    part = served.api.get(f"/crawl-runs/{served.run}/urls?status=ALIAS&limit=1000")
    aliases = [row for row in served.export() if row["state"] == "ALIAS"]
    assert part["pagination"]["total"] == len(part["urls"]) == len(aliases) > 0
    assert {row["id"]: row["final_url"] for row in part["urls"]} == {row["key"]: row["final_url"] for row in aliases}
    beyond = served.api.get(f"/crawl-runs/{served.run}/urls?status=ALIAS&offset=100000")
    assert beyond["urls"] == []
    assert beyond["pagination"]["total"] == len(aliases)
    assert not beyond["pagination"]["has_more"]


@pytest.mark.parametrize("form", ["json", "csv", "jsonl", "warc", "llms-txt", "llms-full-txt", "actions", "tools"])
def test_an_export_equals_that_of_the_command_line_byte_for_byte(served: Served, form: str, tmp_path: Path) -> None:
    answer = served.api.call("GET", f"/crawl-runs/{served.run}/export?format={form}")
    typed = run_cli("export", served.run, "--format", form, "--out", str(tmp_path / "file"), "--data", str(served.data))
    assert typed.code == 0, typed.err
    assert answer.body == (tmp_path / "file").read_bytes()
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{served.run}.{form}"'
    assert answer.headers["Transfer-Encoding"] == "chunked"


def test_ndjson_is_the_json_export_line_by_line(served: Served) -> None:
    answer = served.api.call("GET", f"/crawl-runs/{served.run}/export?format=ndjson")
    assert [json.loads(line) for line in answer.body.splitlines()] == served.export()
    assert answer.kind == "application/x-ndjson"


@pytest.mark.parametrize("limit", [1, 5])
def test_an_export_can_be_limited(served: Served, limit: int) -> None:
    assert served.export(f"?limit={limit}") == served.export()[:limit]
    for form in ("ndjson", "jsonl"):
        answer = served.api.call("GET", f"/crawl-runs/{served.run}/export?format={form}&limit={limit}")
        assert len(answer.body.splitlines()) == limit
    table = served.api.call("GET", f"/crawl-runs/{served.run}/export?format=csv&limit={limit}")
    assert len(list(csv.reader(io.StringIO(table.body.decode())))) == limit + 1


def test_the_graph_has_an_edge_for_every_url_that_was_found_on_a_page(served: Served) -> None:
    graph = served.api.get(f"/crawl-runs/{served.run}/graph")
    edges = {(edge["discovered_from_url_id"], edge["id"]) for edge in graph["edges"]}
    assert edges == {(row["parent"], row["key"]) for row in served.export() if row["parent"]}
    assert graph["returned"] == len(graph["edges"]) == len(edges)
    assert not graph["truncated"]
    cut = served.api.get(f"/crawl-runs/{served.run}/graph?limit=4")
    assert cut == {"edges": graph["edges"][:4], "returned": 4, "truncated": True}


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_the_lineage_has_every_url_below_its_parent_with_a_place(served: Served, encoding: str) -> None:
    answer = served.api.call("GET", f"/crawl-runs/{served.run}/lineage", **{"Accept-Encoding": encoding})
    tree = json.loads(gzip.decompress(answer.body) if encoding == "gzip" else answer.body)
    parents = {
        url: tree["urls"][parent] if parent >= 0 else None for url, parent in zip(tree["urls"], tree["parents"], strict=True)
    }
    rows = {row["key"]: row["parent"] for row in served.export()}
    assert {url: parents[url] for url in rows} == rows
    states = {url: tree["state_names"][state] for url, state in zip(tree["urls"], tree["states"], strict=True) if state >= 0}
    assert states == {row["key"]: row["state"] for row in served.export()}
    assert all(parent < at for at, parent in enumerate(tree["parents"]))
    assert len(set(zip(tree["x"], tree["y"], strict=True))) == len(tree["urls"])
    assert not tree["truncated"]
    cut = served.api.get(f"/crawl-runs/{served.run}/lineage?limit=5")
    assert cut["truncated"]
    assert set(cut["urls"]) < set(tree["urls"])


def test_runs_are_listed_in_pages_with_their_total(served: Served) -> None:
    with serve_site(site({"/": page("Other", prose("other"))}), host="localhost") as other:
        refused = served.api.call("POST", "/crawl-runs", {"seedUrl": other.url("/")})
    assert refused.kind == "address-refused"
    runs = [served.api.start(served.http_server.url("/"), maxPages=1) for _ in range(3)]
    for run in runs:
        served.api.finish(run)
    whole = served.api.get("/crawl-runs?limit=1000")
    ids = [run["id"] for run in whole["runs"]]
    assert set(runs) < set(ids)
    assert whole["pagination"]["total"] == len(ids)
    assert [run["created_at"] for run in whole["runs"]] == sorted((run["created_at"] for run in whole["runs"]), reverse=True)
    parts = [served.api.get(f"/crawl-runs?limit=2&offset={offset}") for offset in range(0, len(ids), 2)]
    assert [run["id"] for part in parts for run in part["runs"]] == ids
    assert [part["pagination"]["has_more"] for part in parts] == [True] * (len(parts) - 1) + [False]
    assert served.api.get("/crawl-runs?order=asc&limit=1000")["runs"] == whole["runs"][::-1]
    assert served.api.get("/crawl-runs?status=FAILED")["pagination"]["total"] == 0
    assert served.api.get("/crawl-runs?site=elsewhere.example")["pagination"]["total"] == 0
    assert served.api.get(f"/crawl-runs?site=localhost:{served.http_server.port}")["pagination"]["total"] == len(ids)


def test_a_quick_crawl_gives_its_pages_with_their_links(served: Served) -> None:
    start_cli = served.api.call("POST", "/crawl", {"url": served.http_server.url("/"), "max_pages": 5})
    assert start_cli.status == 201
    assert start_cli.json["status"] == "started"
    job_id = start_cli.json["job_id"]
    served.api.finish(job_id)
    job = served.api.get(f"/crawl/{job_id}")["job"]
    assert (job["id"], job["status"], job["seed_url"], job["max_pages"]) == (
        job_id,
        "completed",
        served.http_server.url("/"),
        5,
    )
    assert sum(page["status_code"] in {200, 304} for page in job["pages"]) == 5
    assert job["pages"][0]["url"] == served.http_server.url("/")
    assert job["pages"][0]["links"]
    assert job["started_at"] <= job["pages"][0]["crawled_at"] <= job["ended_at"]
    assert job["pagination"]["total"] == len(job["pages"])
    part = served.api.get(f"/crawl/{job_id}?limit=2&offset=1")["job"]
    assert part["pages"] == job["pages"][1:3]


def test_an_idempotency_key_creates_one_run(served: Served) -> None:
    for path, body in (
        ("/crawl-runs", {"seedUrl": served.http_server.url("/")}),
        ("/crawl", {"url": served.http_server.url("/")}),
    ):
        send = partial(served.api.call, "POST", path, body, Idempotency_Key=f"again-{path}")
        with ThreadPoolExecutor(8) as threads:
            made = list(threads.map(lambda _, send=send: send(), range(8)))
        assert {answer.status for answer in made} == {201}
        ids = {answer.json.get("id") or answer.json["job_id"] for answer in made}
        assert len(ids) == 1
        assert sorted(answer.headers["Idempotent-Replayed"] or "" for answer in made) == ["", *["true"] * 7]
        other = served.api.call("POST", "/crawl", {"url": served.http_server.url("/x")}, Idempotency_Key=f"again-{path}")
        assert other.kind == "key-reused"
        served.api.call("POST", f"/crawl-runs/{ids.pop()}/cancel")


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "ü"])
def test_a_key_must_be_visible_ascii(served: Served, key: str) -> None:
    answer = served.api.call("POST", "/crawl", {"url": served.http_server.url("/")}, Idempotency_Key=key)
    assert answer.kind == "invalid"
    assert answer.json["errors"][0]["field"] == "header.Idempotency-Key"


def test_a_run_that_has_ended_cannot_be_cancelled_or_resumed(served: Served) -> None:
    assert served.api.call("POST", f"/crawl-runs/{served.run}/cancel").kind == "already-ended"
    assert served.api.call("POST", f"/crawl-runs/{served.run}/resume").kind == "already-ended"


def test_a_crawl_that_its_time_limit_interrupted_continues_when_the_api_resumes_it(tmp_path: Path) -> None:
    graph = Graph(25, 40)
    with serve_site(lambda _: None) as http_server:
        http_server.pages, http_server.delay_s = graph.pages(http_server.origin), 1.0
        flags = ("--data", str(tmp_path), "--delay", "0", "--json", "--output", "db")
        cut = run_cli("crawl", http_server.url(), *flags, "--time-limit", "2s")
        assert cut.code == 15, cut.err
        http_server.delay_s = 0.0
        with serving_api(partial(whole_app, tmp_path)) as api:
            run = cut.summary["run"]
            assert api.get(f"/crawl-runs/{run}")["status"] == "INTERRUPTED"
            with api.follow(run) as events:
                [event] = events
            assert event.kind == "end", "nothing more happens until it is resumed"
            for _ in range(10):  # on a busy machine its two seconds may pass again
                assert api.call("POST", f"/crawl-runs/{run}/resume").json["status"] in {"QUEUED", "RUNNING"}
                status = api.finish(run)["status"]
                if status != "INTERRUPTED":
                    break
            assert status == "COMPLETED"
    assert exported_rows(tmp_path).keys() == graph.expected(http_server.origin).keys()


@pytest.mark.parametrize("tail", ["", "/summary", "/urls", "/export", "/graph", "/events"])
def test_an_unknown_run_is_not_found(served: Served, tail: str) -> None:
    for name in ("20200101-000000-abcd", "no%20run", "%00", "a" * 500, "%F0%9F%92%A9"):
        assert served.api.call("GET", f"/crawl-runs/{name}{tail}").kind == "run-not-found"
    assert served.api.call("POST", "/crawl-runs/nope/cancel").kind == "run-not-found"
    assert served.api.call("GET", "/crawl/nope").kind == "run-not-found"


def _wide_site(pages: int) -> dict[str, Any]:
    links = tuple(f"/{number}" for number in range(pages))
    return {"/": page("Home", prose("home"), links=links)} | {link: page(link, prose(link)) for link in links}


def test_a_cancelled_run_sends_no_more_requests_and_gives_every_row_a_reason(tmp_path: Path) -> None:
    with serve_site(site(_wide_site(200))) as http_server:
        http_server.delay_s = 0.05
        settings = ApiSettings(allow_private=(f"127.0.0.1:{http_server.port}",), poll_s=0.05)
        with serving_api(partial(whole_app, tmp_path), settings) as api:
            run, waiting = api.start(http_server.url("/")), api.start(http_server.url("/"))
            assert http_server.wait_for_hits(20)
            assert api.call("POST", f"/crawl-runs/{waiting}/cancel").json["status"] == "CANCELLED"
            assert api.call("POST", f"/crawl-runs/{run}/cancel").json["status"] == "CANCELLED"
            assert api.call("POST", f"/crawl-runs/{run}/cancel").json["status"] == "CANCELLED"
            ended = api.finish(run)
            last = api.start(http_server.url("/"), maxPages=1)  # of the same site: it starts when the other has ended
            assert api.finish(last)["counts"]["pages"] == 1
            assert ended["status"] == "CANCELLED"
            assert ended["counts"]["skipped"]["cancelled"] > 100
            assert set(ended["counts"]["by_status"]) <= {"VISITED", "SKIPPED"}
            assert len(http_server.hits) < 100
            assert api.get(f"/crawl-runs/{waiting}/summary")["counts"]["skipped"] == {"cancelled": 1}


def test_runs_of_one_site_are_sequential_while_other_sites_continue(tmp_path: Path) -> None:
    pages, released = site(_wide_site(12)), threading.Event()

    def blocking_page(target: str) -> Answer | None:
        released.wait(60)
        return pages(target)

    with serve_site(blocking_page) as slow, serve_site(site(_wide_site(3))) as quick:
        allowed = tuple(f"127.0.0.1:{http_server.port}" for http_server in (slow, quick))
        with serving_api(partial(whole_app, tmp_path), ApiSettings(allow_private=allowed, poll_s=0.05)) as api:
            try:
                first, second = api.start(slow.url("/")), api.start(slow.url("/"))
                other = api.finish(api.start(quick.url("/")))
                assert api.get(f"/crawl-runs/{second}")["status"] == "QUEUED"
            finally:
                released.set()
            ends = [api.finish(run) for run in (first, second)]
            assert other["finished_at"] < ends[0]["finished_at"] <= ends[1]["started_at"]


def test_followers_receive_progress_and_the_end_and_can_resume(tmp_path: Path) -> None:
    with serve_site(site(_wide_site(60))) as http_server:
        http_server.delay_s = 0.02
        settings = ApiSettings(allow_private=(f"127.0.0.1:{http_server.port}",), poll_s=0.02, heartbeat_s=0.05)
        with serving_api(partial(whole_app, tmp_path), settings) as api:
            run = api.start(http_server.url("/"))
            with api.follow(run) as events:
                assert [event.kind for event in events][-1] == "end"  # then the server closes the stream
            run = api.start(http_server.url("/"))
            with api.follow(run) as events:
                first = next(events)
            with api.follow(run, first.id) as events:
                rest = [event for event in events if event.kind != "heartbeat"]
            ids = [event.id for event in rest]
            assert first.id not in ids
            assert len(set(ids)) == len(ids)
            assert [event.kind for event in rest] == ["progress"] * (len(rest) - 1) + ["end"]
            pages = [event.data["counts"]["pages"] for event in (first, *rest)]
            assert pages == sorted(pages)
            assert rest[-1].data == api.get(f"/crawl-runs/{run}/summary")
            assert api.call("GET", f"/crawl-runs/{run}/events", Last_Event_ID=ids[-1]).status == 204
            with api.follow(run, "something else") as events:
                assert [event.id for event in events] == [ids[-1]]


def test_a_follower_of_an_idle_run_receives_heartbeats_and_is_disconnected_at_shutdown(tmp_path: Path) -> None:
    with serve_site(site({"/": page("Home", prose("home"))})) as http_server:
        http_server.slow["/"] = 1.5
        settings = ApiSettings(allow_private=(f"127.0.0.1:{http_server.port}",), poll_s=0.02, heartbeat_s=0.05)
        with serving_api(partial(whole_app, tmp_path), settings) as api:
            run = api.start(http_server.url("/"))
            with api.follow(run) as events:
                assert any(event.kind == "heartbeat" for event in events)
                telling = threading.Thread(target=api.stop)
                telling.start()
                assert all(event.kind in {"heartbeat", "progress"} for event in events)
                telling.join()


def test_pages_are_served_without_repeated_text_like_exports_and_inspect(tmp_path: Path) -> None:
    with serve_site(kettles(10), host="localhost") as http_server:
        settings = ApiSettings(allow_private=(f"localhost:{http_server.port}",), poll_s=0.05)
        with serving_api(partial(whole_app, tmp_path), settings) as api:
            run = api.start(http_server.url("/"))
            api.finish(run)
            export = f"/crawl-runs/{run}/export?format=jsonl"
            trimmed, whole = api.call("GET", export).body, api.call("GET", f"{export}&whole=true").body
        assert COOKIES in whole.decode()
        assert COOKIES not in trimmed.decode()
        assert run_cli("export", run, "--format", "jsonl", "--data", str(tmp_path)).out.encode() == trimmed
        pages = {page["url"]: page for page in map(json.loads, trimmed.splitlines())}
        inspected = run_cli("inspect", http_server.url("/page-3"), "--json", "--data", str(tmp_path))
        assert json.loads(inspected.out)["markdown"] == pages[http_server.url("/page-3")]["markdown"]
        assert "blocks that repeat over the site are left out" in inspected.err


def test_a_seed_with_a_secret_is_refused_and_not_repeated(served: Served) -> None:
    secret = "ghp_" + "a1B2" * 9
    for path, body in (
        ("/crawl-runs", {"seedUrl": served.http_server.url(f"/?k={secret}")}),
        ("/crawl", {"url": served.http_server.url(f"/?k={secret}")}),
    ):
        answer = served.api.call("POST", path, body)
        assert answer.status == 422
        assert "github-token" in answer.json["detail"]
        assert secret not in str(answer.json)
