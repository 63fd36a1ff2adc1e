"""Channels over HTTP: a website is added, crawled, listed, crawled again, and deleted."""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook
from tests.interfaces.api import ENDED, Api, ApiResponse, idle_app, serving_api, whole_app
from tests.support.http_server import Answer, HttpServer, page, prose, serve_site, site

from sitelore.serve.context import ApiSettings

CHANNELS = "/tenant/v1/channels"
SETTINGS = "/manage/v1/tenants/1/crawl-settings"
STYLE = "<style>:root{--primary:#3355ff;--secondary:#ff8800}</style><link href='https://fonts.googleapis.com/css?family=Inter'>"
TOKEN = "a-token-of-the-tests"
EVERY_STATUS = ("ACTIVE", "FAILED", "DELETED")


def pages() -> dict[str, Answer]:
    return {
        "/": page("Home", prose("home"), links=("/a", "/b", "/broken", "/private"), head=STYLE),
        "/a": page("A", prose("a", 400), links=("/a/deep",), head="<meta name=description content='About a'>"),
        "/b": page("B", prose("b")),
        "/a/deep": page("Deep", prose("deep")),
        "/broken": Answer(500),
        "/private": page("Private", prose("private")),
    }


@contextmanager
def served(data: Path, *tokens: str) -> Iterator[tuple[Api, HttpServer]]:
    with serve_site(site(pages(), robots="User-agent: Googlebot\nDisallow: /private\n"), host="localhost") as http_server:
        settings = ApiSettings(tokens=tokens, allow_private=(f"localhost:{http_server.port}",), poll_s=0.05)
        with serving_api(partial(whole_app, data), settings) as api:
            yield api, http_server


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, HttpServer, str]]:
    """A server with a channel whose first crawl has completed."""
    with served(tmp_path_factory.mktemp("channels")) as (api, http_server):
        channel = added(api, http_server.url("/"))
        assert api.call("POST", f"{CHANNELS}/{channel}/webcrawl/start").status == 201
        assert finished(api, channel)["status"] == "COMPLETED"
        yield api, http_server, channel


def added(api: Api, url: str, **fields: object) -> str:
    """The id of a new channel."""
    answer = api.call("POST", CHANNELS, {"title": "Company Website", "url": url, **fields})
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


def finished(api: Api, channel: str) -> dict[str, Any]:
    """The status of the channel once its crawl has ended."""
    run = api.get(f"{CHANNELS}/{channel}/webcrawl/status")["job"]["id"]
    api.finish(run)
    status = api.get(f"{CHANNELS}/{channel}/webcrawl/status")
    assert status["status"] in ENDED
    assert isinstance(status, dict)
    return status


def listed(api: Api, channel: str, query: str = "") -> dict[str, dict[str, Any]]:
    """The pages of a channel by path."""
    answer = api.get(f"{CHANNELS}/{channel}/webcrawl/pages{query}")
    return {"/" + each["url"].split("/", 3)[3]: each for each in answer["pages"]}


def test_the_status_shows_what_was_crawled(crawled: tuple[Api, HttpServer, str]) -> None:
    api, http_server, channel = crawled
    status = api.get(f"{CHANNELS}/{channel}/webcrawl/status")
    assert status["progress"] == "Crawled 4/100 pages, 0 images (0 duplicates skipped)"
    job = status["job"]
    assert (job["trigger"], job["startUrl"], job["maxPages"], job["maxDepth"]) == ("manual", http_server.url("/"), 100, 3)
    assert (job["pagesCrawled"], job["robotsTxtSkipped"], job["statistics"]["pagesFailed"]) == (4, 1, 1)
    assert (job["sameOriginOnly"], job["mediaTypes"]) == (True, ["IMAGE", "VIDEO", "DOCUMENT"])
    assert (job["tenantId"], job["connectedChannelId"], job["updatedAt"]) == ("1", channel, job["completedAt"])
    assert job["crawlConfig"]["screenshots"] == "RENDERED"
    assert status["nextRunAt"] > status["completedAt"]
    assert [each["id"] for each in api.get(f"{CHANNELS}/{channel}/webcrawl/jobs")["jobs"]] == [job["id"]]


def test_pages_are_listed_by_depth_and_state(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, channel = crawled
    every = listed(api, channel)
    assert {path: (each["depth"], each["status"], each["httpStatus"]) for path, each in every.items()} == {
        "/": (0, "ACTIVE", 200),
        "/a": (1, "ACTIVE", 200),
        "/b": (1, "ACTIVE", 200),
        "/broken": (1, "FAILED", 500),
        "/a/deep": (2, "ACTIVE", 200),
    }
    assert (every["/a"]["title"], every["/a"]["description"]) == ("A", "About a")
    assert every["/a"]["contentHash"]
    assert every["/a"]["lastCrawledAt"] == every["/a"]["lastChangedAt"] == every["/a"]["createdAt"]
    assert every["/broken"]["errorMessage"]
    assert set(listed(api, channel, "?depth=1")) == {"/a", "/b", "/broken"}
    assert set(listed(api, channel, "?status=FAILED")) == {"/broken"}
    assert set(listed(api, channel, "?limit=2&offset=1")) == {"/a", "/b"}
    assert next(iter(listed(api, channel, "?sort=wordCount&order=desc"))) == "/a"
    assert list(listed(api, channel, "?sort=url&order=desc&q=%2Fa")) == ["/a/deep", "/a"]
    assert set(listed(api, channel, "?q=DEEP")) == {"/a/deep"}
    assert listed(api, channel, "?q=%25") == {}
    assert api.get(f"{CHANNELS}/{channel}/webcrawl/pages?depth=1&status=FAILED")["facets"] == {
        "status": {"ACTIVE": 2, "FAILED": 1}, "depth": {"1": 1},
    }  # fmt: skip
    assert api.get(f"{CHANNELS}/{channel}/webcrawl/pages?limit=2")["pagination"] == {
        "total": 5, "limit": 2, "offset": 0, "returned": 2, "hasMore": True,
    }  # fmt: skip


def test_a_page_has_its_text_and_markdown(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, channel = crawled
    every = listed(api, channel)
    detail = api.get(f"{CHANNELS}/{channel}/webcrawl/pages/{every['/a']['webPageId']}")
    assert {name: detail[name] for name in every["/a"] if name != "indexed"}.items() <= every["/a"].items()
    assert len(detail["textPreview"]) == 500
    assert detail["extractedText"].startswith(detail["textPreview"])
    assert len(detail["extractedText"]) > 500
    assert detail["markdown"].startswith("# A")
    assert (detail["media"], detail["screenshot"], detail["screenshotUrl"], detail["htmlContent"]) == ([], None, None, None)
    assert (detail["tenantId"], detail["connectedChannelId"], detail["updatedAt"]) == ("1", channel, detail["lastCrawledAt"])
    html = api.get(f"{CHANNELS}/{channel}/webcrawl/pages/{every['/a']['webPageId']}?html=true")["htmlContent"]
    assert html.startswith("<!doctype html>")
    assert detail["textPreview"][2:50] in html
    failed = api.get(f"{CHANNELS}/{channel}/webcrawl/pages/{every['/broken']['id']}")
    assert (failed["status"], failed["extractedText"]) == ("FAILED", "")
    for wrong in ("0", "99999999", "x", "9" * 30, "-1"):
        assert api.call("GET", f"{CHANNELS}/{channel}/webcrawl/pages/{wrong}").kind == "page-not-found"


def test_the_figures_of_a_channel(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, channel = crawled
    figures = api.get(f"{CHANNELS}/{channel}/webcrawl/statistics")
    assert {name: figures["pages"][name] for name in ("total", "active", "failed", "deleted")} == {
        "total": 5, "active": 4, "failed": 1, "deleted": 0,
    }  # fmt: skip
    assert figures["crawls"] == {"total": 1, "failed": 0}
    assert figures["storage"]["compressionSavingsBytes"] == 0
    settings = api.get(SETTINGS)
    assert settings["currentUsage"] == {"pages": 4, "channels": 1}


def test_the_brand_of_the_home_page_is_kept_and_a_persons_entries_come_first(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, channel = crawled
    brand = eventually(lambda: shown if (shown := api.get("/tenant/v1/brand"))["confidence"] else None)
    assert (brand["primaryColor"], brand["secondaryColor"], brand["fontPrimary"]) == ("#3355ff", "#ff8800", "Inter")
    assert (brand["confidence"], brand["entered"], brand["channelId"]) == (1.0, [], channel)
    changed = api.call("PATCH", "/tenant/v1/brand", {"secondaryColor": "rgb(0, 128, 0)", "logo": "https://acme.test/logo.svg"})
    assert (changed.status, changed.json["secondaryColor"], changed.json["primaryColor"]) == (200, "#008000", "#3355ff")
    assert changed.json["entered"] == ["logo", "secondary_color"]
    for wrong in ({"primaryColor": "blueish"}, {"logo": "javascript:x"}, {"fontPrimary": "\0"}, {"other": 1}):
        assert api.call("PATCH", "/tenant/v1/brand", wrong).kind == "invalid"
    restored = api.call("PATCH", "/tenant/v1/brand", {"secondaryColor": None, "logo": None}).json
    assert (restored["secondaryColor"], restored["entered"]) == ("#ff8800", [])


def blobs_in(data: Path) -> int:
    """The number of stored blobs."""
    with closing(sqlite3.connect(data / "blobs.db")) as database:
        [(count,)] = database.execute("SELECT count(*) FROM blobs").fetchall()
    return int(count)


def eventually(probe: Any) -> Any:
    """What the probe gives once it is something."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (result := probe()) is not None:
            return result
        time.sleep(0.05)
    raise AssertionError("it did not happen within 30 s")


def test_a_website_has_one_channel(crawled: tuple[Api, HttpServer, str]) -> None:
    api, http_server, channel = crawled
    assert api.call("POST", CHANNELS, {"url": http_server.url("/a")}).kind == "channel-exists"
    assert api.call("POST", CHANNELS, {"url": f"http://www.localhost:{http_server.port}/"}).kind == "address-refused"
    assert [each["id"] for each in api.get(CHANNELS)["channels"]] == [channel]


def test_what_a_channel_cannot_be_is_refused(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, channel = crawled
    for body, kind in (
        ({"url": "ftp://example.com/"}, "invalid"),
        ({"url": "http://10.0.0.1/"}, "address-refused"),
        ({"url": "https://other.test/", "cron": "* * * * *"}, "invalid"),
        ({"url": "https://other.test/", "cron": "0 0 30 2 *"}, "invalid"),
        ({"url": "https://other.test/", "timeZone": "Mars/Phobos"}, "invalid"),
        ({"url": "https://other.test/", "maxPages": 501}, "invalid"),
        ({"url": "https://other.test/", "type": "Mail"}, "invalid"),
        ({"title": "no address"}, "invalid"),
    ):
        assert api.call("POST", CHANNELS, body).kind == kind, body
    assert api.call("PATCH", f"{CHANNELS}/{channel}", {"url": "https://other.test/"}).kind == "invalid"
    assert api.call("PATCH", f"{CHANNELS}/{channel}", {"maxDepth": None}).kind == "invalid"
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/webcrawl/start"), ("GET", "/webcrawl/status")):
        nothing: dict[str, object] | None = {} if method == "PATCH" else None
        assert api.call(method, f"{CHANNELS}/{uuid.uuid4()}{path}", nothing).kind == "channel-not-found"
    assert api.call("GET", f"{CHANNELS}/%00").kind == "channel-not-found"


def test_a_schedule_changes_at_once_with_the_settings(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, channel = crawled

    def schedule() -> Any:
        return api.get(f"{CHANNELS}/{channel}")["schedule"]

    monthly = schedule()
    assert (monthly["frequency"], monthly["cron"], len(monthly["upcoming"])) == ("MONTHLY", "0 0 1 * *", 5)
    assert 0 <= monthly["jitterSeconds"] < 900
    assert (
        api.call("PATCH", SETTINGS, {"websiteCrawlFrequency": "WEEKLY"}).json["nextScheduledCrawlAt"] == schedule()["nextRunAt"]
    )
    weekly = [datetime.fromisoformat(time) for time in schedule()["upcoming"]]
    assert {(time.weekday(), time.hour) for time in weekly} == {(6, 0)}
    assert [(after - before).days for before, after in pairwise(weekly)] == [7] * 4
    own = api.call("PATCH", f"{CHANNELS}/{channel}", {"cron": "30 3 * * 1", "timeZone": "Asia/Tokyo"}).json
    assert (own["schedule"]["frequency"], own["schedule"]["jitterSeconds"]) == ("CUSTOM", 0)
    first = datetime.fromisoformat(own["schedule"]["nextRunAt"])
    assert (first.hour, first.minute, first.weekday()) == (18, 30, 6), "Monday 03:30 in Tokyo is Sunday 18:30 UTC"
    assert api.call("PATCH", SETTINGS, {"websiteCrawlFrequency": "MANUAL"}).status == 200
    assert schedule()["frequency"] == "CUSTOM", "its own schedule does not depend on the tenant's frequency"
    assert api.call("PATCH", f"{CHANNELS}/{channel}", {"cron": None, "timeZone": None}).json["schedule"] is None
    assert api.get(SETTINGS)["nextScheduledCrawlAt"] is None
    assert api.call("PATCH", SETTINGS, {"websiteCrawlFrequency": "MONTHLY"}).status == 200
    assert schedule()["upcoming"] == monthly["upcoming"]


def test_the_page_limit_of_a_tenant_is_within_that_of_its_plan(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, _ = crawled
    before = api.get(SETTINGS)
    assert (before["plan"], before["planMaxPages"], before["websiteCrawlMaxPages"]) == ("ENTERPRISE", 500, 100)
    for pages_, status in ((9, 422), (10, 200), (500, 200), (501, 422), (True, 422), ("50", 422)):
        assert api.call("PATCH", SETTINGS, {"websiteCrawlMaxPages": pages_}).status == status, pages_
    assert api.call("PATCH", SETTINGS, {"plan": "STARTER"}).json["effectiveMaxPages"] == 100
    assert api.call("PATCH", SETTINGS, {"websiteCrawlMaxPages": 101}).kind == "invalid"
    assert api.call("PATCH", SETTINGS, {"websiteCrawlFrequency": "DAILY"}).kind == "invalid"
    assert api.call("PATCH", SETTINGS, {"timeZone": "Europe/Praha"}).kind == "invalid"
    assert api.call("PATCH", SETTINGS, {"plan": "ENTERPRISE", "websiteCrawlMaxPages": 100}).json == before
    for unknown in ("0", "2", "x", "9" * 12):
        assert api.call("GET", f"/manage/v1/tenants/{unknown}/crawl-settings").kind == "tenant-not-found"


def test_a_schedule_is_previewed_before_it_is_stored(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, _ = crawled
    preview = api.get("/tenant/v1/schedule-preview?cron=30+3+*+*+1&timeZone=Europe/Prague")
    assert (preview["description"], preview["timeZone"]) == ("At 03:30 on Monday", "Europe/Prague")
    times = [datetime.fromisoformat(each) for each in preview["upcoming"]]
    assert [each.weekday() for each in times] == [0] * 5
    assert times == sorted(set(times))
    own = api.get(SETTINGS)
    assert own["websiteCrawlFrequency"] == "MONTHLY"
    assert api.get("/tenant/v1/schedule-preview") == api.get("/tenant/v1/schedule-preview?cron=0+0+1+*+*")
    assert api.get("/tenant/v1/schedule-preview")["timeZone"] == own["timeZone"]
    assert api.get("/tenant/v1/schedule-preview?frequency=WEEKLY")["description"] == "At 00:00 on Sunday"
    assert api.get("/tenant/v1/schedule-preview?frequency=MANUAL")["upcoming"] == []
    wrong = api.call("GET", "/tenant/v1/schedule-preview?cron=every+day")
    assert (wrong.status, wrong.json["errors"][0]["field"]) == (422, "query.cron")
    wrong = api.call("GET", "/tenant/v1/schedule-preview?cron=0+0+*+*+*&timeZone=Nowhere")
    assert (wrong.status, wrong.json["errors"][0]["field"]) == (422, "query.timeZone")


def test_a_tenant_reads_its_own_crawl_settings(crawled: tuple[Api, HttpServer, str]) -> None:
    api, _, _ = crawled
    assert api.get("/tenant/v1/crawl-settings") == api.get(SETTINGS)


def test_a_url_is_checked_against_the_settings_of_a_channel(crawled: tuple[Api, HttpServer, str]) -> None:
    api, http_server, channel = crawled

    def gates(channel: str, url: str) -> dict[str, bool | None]:
        answer = api.get(f"{CHANNELS}/{channel}/webcrawl/explain?url={url}")
        return {each["gate"]: each["passed"] for each in answer["gates"]}

    known = gates(channel, http_server.url("/a"))
    assert {name: known[name] for name in ("discovered", "scope", "depth", "robots")} == {
        "discovered": True, "scope": True, "depth": True, "robots": True,
    }  # fmt: skip
    assert gates(channel, http_server.url("/private"))["robots"] is False, "for Googlebot, which channels obey"
    assert gates(channel, "https://elsewhere.invalid/")["scope"] is False
    other = added(api, "https://never-crawled.invalid/")
    assert gates(other, "https://never-crawled.invalid/new")["scope"] is True
    assert gates(other, "https://never-crawled.invalid/new")["discovered"] is False
    assert api.call("DELETE", f"{CHANNELS}/{other}").status == 204
    assert api.call("GET", f"{CHANNELS}/{channel}/webcrawl/explain?url=nonsense").status == 422


def test_a_second_crawl_finds_what_has_changed(tmp_path: Path) -> None:
    with served(tmp_path) as (api, http_server):
        channel = added(api, http_server.url("/"), maxDepth=1)
        path = f"{CHANNELS}/{channel}/webcrawl"
        assert api.get(f"{path}/status")["status"] is None
        key = uuid.uuid4().hex
        first = api.call("POST", f"{path}/start", Idempotency_Key=key)
        assert (first.status, first.headers["Location"]) == (201, f"{path}/status")
        again = api.call("POST", f"{path}/start", Idempotency_Key=key)
        assert (again.status, again.headers["Idempotent-Replayed"], again.json["id"]) == (201, "true", first.json["id"])
        finished(api, channel)
        before = listed(api, channel)
        http_server.pages = site({**pages(), "/a": page("A", prose("changed", 400)), "/b": Answer(500)})
        assert api.call("POST", f"{path}/start").status == 201
        status = finished(api, channel)
        assert (status["job"]["changedPages"], status["pagesCrawled"]) == (1, 3)
        after = listed(api, channel)
        assert after["/a"]["contentHash"] != before["/a"]["contentHash"]
        assert after["/a"]["lastChangedAt"] > before["/a"]["lastChangedAt"]
        assert after["/"]["lastChangedAt"] == before["/"]["lastChangedAt"]
        assert after["/"]["lastCrawledAt"] > before["/"]["lastCrawledAt"]
        assert (after["/b"]["status"], after["/b"]["httpStatus"], after["/b"]["contentHash"]) == (
            "FAILED", 500, before["/b"]["contentHash"],
        )  # fmt: skip
        assert after["/b"]["id"] == before["/b"]["id"]
        assert prose("b") in api.get(f"{path}/pages/{after['/b']['id']}")["extractedText"]
        http_server.pages = site({name: answer for name, answer in pages().items() if name != "/a"})
        assert api.call("POST", f"{path}/start").status == 201
        finished(api, channel)
        gone = eventually(lambda: listed(api, channel, "?status=DELETED") or None)
        assert {name: (each["httpStatus"], each["indexed"]) for name, each in gone.items()} == {"/a": (404, False)}
        assert listed(api, channel)["/b"]["status"] == "ACTIVE"


def test_a_deleted_page_stays_deleted_until_a_crawl_finds_it_again(tmp_path: Path) -> None:
    with served(tmp_path) as (api, http_server):
        channel = added(api, http_server.url("/"))
        path = f"{CHANNELS}/{channel}/webcrawl"
        api.call("POST", f"{path}/start")
        finished(api, channel)
        eventually(lambda: True if api.get(f"{path}/statistics")["pages"]["indexed"] == 4 else None)
        assert api.get(f"{path}/status")["job"]["pagesIndexed"] == 4
        every = listed(api, channel)
        assert api.get("/search?q=deep")["hits"][0]["title"] == "Deep"
        for name in ("/a/deep", "/broken"):
            assert api.call("DELETE", f"{path}/pages/{every[name]['id']}").status == 204
            assert api.call("DELETE", f"{path}/pages/{every[name]['id']}").kind == "page-not-found"
        assert set(listed(api, channel)) == {"/", "/a", "/b"}
        assert api.get(f"{path}/statistics")["pages"] == {
            "total": 3, "active": 3, "failed": 0, "deleted": 0, "indexed": 3, "screenshots": 0,
        }  # fmt: skip
        assert "Deep" not in {hit["title"] for hit in api.get("/search?q=deep")["hits"]}
        notice = api.call("POST", f"{path}/changed", {"urls": [http_server.url("/b")]})
        assert (notice.status, notice.json["trigger"]) == (201, "webhook")
        assert finished(api, channel)["pagesCrawled"] == 1
        assert set(listed(api, channel)) == {"/", "/a", "/b"}
        assert api.call("POST", f"{path}/start").status == 201
        finished(api, channel)
        assert set(listed(api, channel)) == set(every)


def test_a_deleted_channel_leaves_nothing_and_its_website_can_be_added_again(tmp_path: Path) -> None:
    with served(tmp_path) as (api, http_server):
        channel = added(api, http_server.url("/"))
        api.call("POST", f"{CHANNELS}/{channel}/webcrawl/start")
        finished(api, channel)
        assert blobs_in(tmp_path) > 0
        api.call("POST", f"{CHANNELS}/{channel}/webcrawl/start")
        assert api.call("DELETE", f"{CHANNELS}/{channel}").status == 204
        eventually(lambda: True if blobs_in(tmp_path) == 0 else None)
        assert api.call("GET", f"{CHANNELS}/{channel}").kind == "channel-not-found"
        assert api.get("/crawl-runs")["runs"] == []
        assert api.get("/sites")["sites"] == []
        other = added(api, http_server.url("/"))
        assert other != channel
        assert listed(api, other) == {}


def test_a_crawl_is_refused_while_one_is_active(tmp_path: Path) -> None:
    with serving_api(partial(idle_app, tmp_path)) as api:
        channel = added(api, "https://example.com/")
        path = f"{CHANNELS}/{channel}/webcrawl"
        started = api.call("POST", f"{path}/start").json
        status = api.get(f"{path}/status")
        assert (status["status"], status["isActive"], status["progress"]) == (
            "QUEUED", True, "Crawled 0/100 pages, 0 images (0 duplicates skipped)",
        )  # fmt: skip
        for route, body in (("start", None), ("changed", {"urls": ["https://example.com/a"]})):
            refused = api.call("POST", f"{path}/{route}", body, Idempotency_Key=route)
            assert (refused.status, refused.kind) == (409, "crawl-active")
        assert api.call("POST", f"/crawl-runs/{started['id']}/cancel").status == 200
        assert api.call("POST", f"{path}/start", Idempotency_Key="start").status == 201, (
            "a refused request does not use up its key"
        )


def test_signed_notices_of_changes_need_no_token(tmp_path: Path) -> None:
    with serving_api(partial(idle_app, tmp_path), ApiSettings(tokens=(TOKEN,), secrets_keys=("k" * 32,))) as api:
        channel = added(api, "https://example.com/")
        path = f"{CHANNELS}/{channel}/webcrawl/changed"
        body = json.dumps({"urls": ["https://example.com/news"]})
        secret = api.call("POST", f"{CHANNELS}/{channel}/webhook-secret").json["secret"]
        assert api.get(f"{CHANNELS}/{channel}")["hasWebhookSecret"] is True
        stranger = Api(api.port)

        def send(message: str, at: float, text: str = body, key: str = secret, to: str = path) -> ApiResponse:
            now = datetime.fromtimestamp(at, UTC)
            signed = {"webhook_id": message, "webhook_timestamp": str(int(at))}
            return stranger.call("POST", to, text.encode(), webhook_signature=Webhook(key).sign(message, now, text), **signed)

        now = time.time()
        accepted = send("msg_1", now)
        assert (accepted.status, accepted.json["trigger"], accepted.json["triggeredBy"]) == (201, "webhook", "webhook")
        replayed = send("msg_1", now + 1)
        assert (replayed.json["id"], replayed.headers["Idempotent-Replayed"]) == (accepted.json["id"], "true")
        assert send("msg_1", now, json.dumps({"urls": []})).kind == "key-reused"
        assert send("msg_2", now).kind == "crawl-active"
        for refused in (
            send("msg_3", now - 301),
            send("msg_3", now + 310),
            send("msg_3", now, key="whsec_" + "A" * 32),
            send("msg_3", now, to=f"{CHANNELS}/{uuid.uuid4()}/webcrawl/changed"),
            stranger.call("POST", path, body.encode(), webhook_signature="v1,x", webhook_id="m", webhook_timestamp="1"),
            stranger.call("POST", path, body.encode(), webhook_signature="v1,x"),
        ):
            assert (refused.status, refused.kind) == (401, "bad-signature")
        assert stranger.call("POST", path, body.encode()).kind == "unauthorized"
        assert stranger.call("POST", f"{CHANNELS}/{channel}/webcrawl/start", webhook_signature="v1,x").kind == "unauthorized"
        assert api.call("POST", f"/crawl-runs/{accepted.json['id']}/cancel").status == 200
        assert send("msg_4", now, json.dumps({"urls": ["https://elsewhere.test/"]})).kind == "invalid"
        renewed = api.call("POST", f"{CHANNELS}/{channel}/webhook-secret").json["secret"]
        assert send("msg_5", now).kind == "bad-signature"
        assert send("msg_5", now, key=renewed).status == 201
        with closing(sqlite3.connect(tmp_path / "sitelore.db")) as database:
            [(stored,)] = database.execute("SELECT secret FROM channels").fetchall()
        assert stored.startswith("aes256gcm:")
