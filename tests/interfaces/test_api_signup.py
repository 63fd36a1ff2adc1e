"""Sign-up: a tenant, its owner, a token, a channel and a first crawl, all of them or none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.interfaces.api import Api, idle_app, serving_api, whole_app
from tests.interfaces.test_api_access import OPERATOR, scaled_idle_app
from tests.support.http_server import page, prose, serve_site, site

from sitelore.model.platform.rate_limits import parse_rate_limits
from sitelore.platform.channels.channels import ChannelService
from sitelore.serve.context import ApiSettings

PATH = "/auth/v1/register/complete"
ACME = {"companyName": "Acme Corp", "email": "Ann@Acme.test", "companyWebsite": "https://acme.invalid/"}
OPEN = ApiSettings(tokens=(OPERATOR,), open_signup=True, rate_limits=parse_rate_limits("signup=100/h", ""), poll_s=0.05)


@pytest.fixture(params=["embedded", "scaled"])
def api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Api]:
    build = (
        partial(idle_app, tmp_path)
        if request.param == "embedded"
        else partial(scaled_idle_app, request.getfixturevalue("servers"))
    )
    with serving_api(build, OPEN) as api:
        yield api


def test_a_company_gets_a_tenant_an_owner_a_token_a_channel_and_a_first_crawl(api: Api) -> None:
    answer = Api(api.port).call("POST", PATH, ACME)
    assert answer.status == 201, answer.body
    made = answer.json
    assert (made["tenant"]["name"], made["user"]["email"], made["user"]["role"]) == ("Acme Corp", "ann@acme.test", "owner")
    assert (made["channel"]["title"], made["channel"]["url"]) == ("Company Website", "https://acme.invalid/")
    assert made["crawlJob"]["status"] == "QUEUED"
    own = Api(api.port, made["token"])
    identity = own.get("/tenant/v1/me")
    assert (identity["tenant"]["id"], identity["actor"], identity["role"]) == (made["tenant"]["id"], "ann@acme.test", "owner")
    assert [channel["id"] for channel in own.get("/tenant/v1/channels")["channels"]] == [made["channel"]["id"]]
    assert own.get(f"/tenant/v1/channels/{made['channel']['id']}/webcrawl/status")["status"] == "QUEUED"
    [job] = own.get(f"/tenant/v1/channels/{made['channel']['id']}/webcrawl/jobs")["jobs"]
    assert (job["triggeredBy"], job["maxPages"]) == ("ann@acme.test", 50), "the limit of the plan FREE"
    settings = api.get(f"/manage/v1/tenants/{made['tenant']['id']}/crawl-settings")
    assert (settings["websiteCrawlMaxPages"], settings["websiteCrawlFrequency"]) == (100, "MONTHLY")
    actions = [record["action"] for record in own.get("/tenant/v1/audit")["records"]]
    assert actions == ["run.created", "channel.created", "token.created", "user.created"]
    assert own.get("/tenant/v1/audit/verify")["isIntact"]
    assert made["token"][-49:] not in str(own.get("/tenant/v1/audit"))


def test_two_companies_of_one_name_and_website_become_two_tenants(api: Api) -> None:
    first, second = (Api(api.port).call("POST", PATH, ACME).json for _ in range(2))
    assert first["tenant"]["id"] != second["tenant"]["id"]
    assert second["tenant"]["name"].startswith("Acme Corp ")
    for made in (first, second):
        own = Api(api.port, made["token"])
        assert [run["id"] for run in own.get("/crawl-runs")["runs"]] == [made["crawlJob"]["id"]]
        assert len(own.get("/tenant/v1/users")["users"]) == 1


def test_without_a_website_there_is_no_channel(api: Api) -> None:
    made = Api(api.port).call("POST", PATH, {"companyName": "Acme", "email": "ann@acme.test"}).json
    assert (made["channel"], made["crawlJob"]) == (None, None)
    assert Api(api.port, made["token"]).get("/tenant/v1/channels")["channels"] == []


def test_a_sign_up_that_fails_leaves_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    before = api.get("/manage/v1/tenants")["tenants"]
    monkeypatch.setattr(ChannelService, "new_crawl", crash)
    assert Api(api.port).call("POST", PATH, ACME).status == 500
    assert api.get("/manage/v1/tenants")["tenants"] == before
    log = api.get("/tenant/v1/audit")
    assert log["records"] == []
    monkeypatch.undo()
    assert Api(api.port).call("POST", PATH, ACME).json["tenant"]["name"] == "Acme Corp"


WRONG: list[tuple[dict[str, str], str]] = [
    ({"companyWebsite": "http://127.0.0.1/"}, "address-refused"),
    ({"companyWebsite": "http://169.254.169.254/"}, "address-refused"),
    ({"companyWebsite": "ftp://acme.invalid/"}, "invalid"),
    ({"companyWebsite": ""}, "invalid"),
    ({"email": "ann"}, "invalid"),
    ({"companyName": ""}, "invalid"),
    ({"companyName": "a\x00b"}, "invalid"),
    ({"companyName": "ghp_8cDrtuiX0CnA1fLZvgddJNOXOI8hV3BRclP6"}, "invalid"),
    ({"role": "admin"}, "invalid"),
]


def test_a_wrong_sign_up_is_refused_and_stores_nothing(api: Api) -> None:
    kinds = [Api(api.port).call("POST", PATH, {**ACME, **changes}).kind for changes, _ in WRONG]
    assert kinds == [kind for _, kind in WRONG]
    assert len(api.get("/manage/v1/tenants")["tenants"]) == 1


def test_sign_up_is_closed_by_default_and_limited_by_address(tmp_path: Path) -> None:
    with serving_api(partial(idle_app, tmp_path), ApiSettings(tokens=(OPERATOR,))) as api:
        answers = [Api(api.port).call("POST", PATH, ACME) for _ in range(6)]
        assert [answer.kind for answer in answers] == ["signup-closed"] * 5 + ["rate-limited"]
        assert 700 <= int(answers[-1].headers["Retry-After"]) <= 720
        assert api.call("GET", "/crawl-runs").status == 200


def test_the_first_crawl_reads_the_website(tmp_path: Path) -> None:
    with serve_site(site({"/": page("Acme", prose("anvils"))})) as http_server:
        allowed = (f"{http_server.host}:{http_server.port}",)
        settings = ApiSettings(tokens=(OPERATOR,), open_signup=True, allow_private=allowed, poll_s=0.05)
        with serving_api(partial(whole_app, tmp_path), settings) as api:
            made = Api(api.port).call("POST", PATH, {**ACME, "companyWebsite": http_server.url("/")}).json
            own = Api(api.port, made["token"])
            assert own.finish(made["crawlJob"]["id"])["status"] == "COMPLETED"
            [shown] = own.get(f"/tenant/v1/channels/{made['channel']['id']}/webcrawl/pages")["pages"]
            assert shown["title"] == "Acme"
