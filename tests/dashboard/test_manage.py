"""The operator's portal and the account of a tenant, in a real browser against a real server."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.dashboard.conftest import OpenScreen, Screen
from tests.dashboard.test_accessibility import findings
from tests.interfaces.api import Api
from tests.interfaces.test_api_process import ServerProcess, serve_process
from tests.support.crawls import run_cli
from tests.support.http_server import HttpServer, page, prose, serve_site, site

OPERATOR = "a-token-of-the-operator"
SCREENS = [
    "/manage", "/manage/tenants/1", "/manage/queues", "/manage/deletions", "/manage/dead-letters", "/manage/backups",
    "/account", "/account/users", "/account/audit", "/account/audit?action=nothing", "/manage/tenants/987654",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hosting:
    """A server of an operator with a tenant, who has a crawled site."""

    server: ServerProcess
    site: HttpServer
    data: Path
    tenant: str
    token: str

    @property
    def port(self) -> int:
        return self.server.api.port

    @property
    def operator(self) -> Api:
        return Api(self.port, OPERATOR)

    @property
    def own(self) -> Api:
        return Api(self.port, self.token)

    def change(self, statement: str, *values: Any) -> None:
        """Bring about in the database what takes days or many visits otherwise."""
        with closing(sqlite3.connect(self.data / "sitelore.db", timeout=30)) as database, database:
            database.execute(statement, values)


@pytest.fixture(scope="module")
def hosting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosting]:
    data, backups = tmp_path_factory.mktemp("hosting"), tmp_path_factory.mktemp("backups")
    env = {"SITELORE_TOKENS": OPERATOR, "SITELORE_BACKUPS": str(backups)}
    pages = {"/": page("Home", prose("home"), links=("/a",)), "/a": page("Amber", prose("amber"))}
    with serve_site(site(pages), host="localhost") as http_server, serve_process(data, http_server, env=env) as server:
        made = server.api.call("POST", "/manage/v1/tenants", {"name": "acme", "ownerEmail": "ann@acme.test"}).json
        own = Api(server.api.port, made["token"])
        channel = own.call("POST", "/tenant/v1/channels", {"url": http_server.url("/")}).json["id"]
        own.finish(own.call("POST", f"/tenant/v1/channels/{channel}/webcrawl/start").json["id"])
        assert run_cli("backup", str(backups / "first.tar"), "--data", str(data)).code == 0
        yield Hosting(server, http_server, data, made["id"], made["token"])


def sign_in(screen: Screen, token: str) -> Page:
    tab = screen.open("/")
    tab.get_by_label("Token").fill(token)
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("navigation").wait_for()
    return tab


def operate(hosting: Hosting, open_screen: OpenScreen, path: str, **how: Any) -> Page:
    screen = open_screen(hosting.port, **how)
    sign_in(screen, OPERATOR)
    return screen.open(path)


def copied(tab: Page) -> str:
    """The secret of the dialog that shows it once, which is closed then."""
    dialog = tab.get_by_role("dialog")
    secret = dialog.locator("code").inner_text().strip()
    tab.keyboard.press("Escape")
    expect(dialog).to_contain_text("It is not shown again")
    tab.get_by_role("button", name="I have stored it").click()
    expect(dialog).to_have_count(0)
    return secret


def row(tab: Page, text: str) -> Any:
    return tab.get_by_role("row").filter(has_text=text)


def test_a_tenant_is_created_suspended_resumed_and_deleted(hosting: Hosting, open_screen: OpenScreen) -> None:
    tab = operate(hosting, open_screen, "/manage")
    expect(row(tab, "acme")).to_contain_text("2 pages across 1 website channel")
    tab.get_by_role("button", name="Create tenant").click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_label("Name").fill("acme")
    dialog.get_by_role("button", name="Create tenant").click()
    expect(dialog).to_contain_text("A tenant is named acme already.")
    dialog.get_by_label("Name").fill("bolt")
    dialog.get_by_role("button", name="Create tenant").click()
    expect(tab.get_by_text("The first token of the tenant")).to_be_visible()
    own = Api(hosting.port, copied(tab))
    assert own.get("/tenant/v1/me")["tenant"]["name"] == "bolt"

    tab.get_by_role("link", name="bolt").click()
    expect(tab.get_by_text("0 pages across 0 website channels")).to_be_visible()
    tab.get_by_role("button", name="Suspend").click()
    tab.get_by_role("dialog").get_by_role("button", name="Suspend").click()
    expect(tab.get_by_text("Suspended", exact=True)).to_be_visible()
    assert own.call("GET", "/crawl-runs").kind == "tenant-suspended"
    tab.get_by_role("button", name="Resume").click()
    expect(tab.get_by_text("Active", exact=True)).to_be_visible()
    assert own.call("GET", "/crawl-runs").status == 200

    tab.get_by_role("button", name="Delete").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_label("Type bolt to confirm").fill("bolt")
    dialog.get_by_role("button", name="Delete").click()
    expect(tab).to_have_url(re.compile(r"/ui/manage$"))
    expect(row(tab, "acme")).to_be_visible()
    expect(row(tab, "bolt")).to_have_count(0)
    assert own.call("GET", "/crawl-runs").status == 401


def test_crawl_settings_are_changed_with_the_next_times_shown_before(hosting: Hosting, open_screen: OpenScreen) -> None:
    tab = operate(hosting, open_screen, f"/manage/tenants/{hosting.tenant}")
    times = tab.locator("ul.times li")
    expect(times).to_have_count(5)
    save = tab.get_by_role("button", name="Save settings")
    expect(save).to_be_disabled()
    tab.get_by_label("Crawl frequency").select_option("Manual")
    expect(tab.get_by_text("Only when a person or a program starts a crawl.")).to_be_visible()
    tab.get_by_label("Crawl frequency").select_option("Weekly")
    expect(times).to_have_count(5)
    tab.get_by_label("Time zone").select_option("Europe/Prague")
    pages = tab.get_by_label("Pages of a crawl at most")
    pages.fill("700")
    pages.blur()
    expect(pages).to_have_value("500")
    pages.fill("120")
    expect(tab.get_by_text("Crawls read at most 50 pages: the plan permits 50.")).to_be_visible()
    tab.get_by_label("Plan", exact=True).select_option("Pro: 300 pages")
    expect(tab.get_by_text("Crawls read at most 120 pages: the plan permits 300.")).to_be_visible()
    with tab.expect_response(lambda response: response.request.method == "PATCH"):
        save.click()
    expect(save).to_be_disabled()
    stored = hosting.operator.get(f"/manage/v1/tenants/{hosting.tenant}/crawl-settings")
    assert (stored["websiteCrawlMaxPages"], stored["effectiveMaxPages"], stored["plan"]) == (120, 120, "PRO")
    assert (stored["websiteCrawlFrequency"], stored["timeZone"]) == ("WEEKLY", "Europe/Prague")


def test_the_operators_own_tenant_stays_and_an_unknown_one_is_named(hosting: Hosting, open_screen: OpenScreen) -> None:
    tab = operate(hosting, open_screen, "/manage/tenants/1")
    expect(tab.get_by_text("It cannot be suspended or deleted.")).to_be_visible()
    tab.goto(tab.url + "987654")
    expect(tab.get_by_text("There is no tenant with this id.")).to_be_visible()
    tab.get_by_role("link", name="All tenants").click()
    expect(row(tab, "acme")).to_be_visible()


def test_a_token_is_created_rotated_and_revoked(hosting: Hosting, open_screen: OpenScreen) -> None:
    screen = open_screen(hosting.port)
    sign_in(screen, hosting.token)
    tab = screen.open("/account")
    expect(tab.get_by_role("link", name="Manage")).to_have_count(0)
    tab.get_by_role("button", name="Create token").click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_label("Name").fill("web site")
    dialog.get_by_label("Read runs, pages and figures").check()
    dialog.get_by_label("Expires").select_option("In 90 days")
    dialog.get_by_role("button", name="Create token").click()
    first = copied(tab)
    assert Api(hosting.port, first).get("/tenant/v1/me")["scopes"] == ["read"]
    expect(row(tab, "web site")).to_contain_text("Valid")
    tab.get_by_role("button", name="Rotate web site").click()
    tab.get_by_label("Grace period").select_option("None: the old token ends now")
    tab.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    second = copied(tab)
    expect(row(tab, "web site").filter(has_text="Expired")).to_have_count(1)
    assert Api(hosting.port, first).call("GET", "/crawl-runs").status == 401
    assert Api(hosting.port, second).call("GET", "/crawl-runs").status == 200
    tab.get_by_role("button", name="Revoke web site").click()
    tab.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row(tab, "web site").filter(has_text="Revoked")).to_have_count(1)
    assert Api(hosting.port, second).call("GET", "/crawl-runs").status == 401


def test_a_revoked_token_ends_the_session_of_its_browser(hosting: Hosting, open_screen: OpenScreen) -> None:
    made = hosting.own.call("POST", "/tenant/v1/tokens", {"name": "browser"}).json
    screen = open_screen(hosting.port)
    sign_in(screen, made["token"])
    assert hosting.own.call("DELETE", f"/tenant/v1/tokens/{made['id']}").status == 200
    expect(screen.open("/").get_by_role("button", name="Sign in")).to_be_visible()


def test_users_are_added_changed_and_deleted(hosting: Hosting, open_screen: OpenScreen) -> None:
    screen = open_screen(hosting.port)
    sign_in(screen, hosting.token)
    tab = screen.open("/account/users")
    tab.get_by_role("button", name="Add user").click()
    dialog = tab.get_by_role("dialog")
    dialog.get_by_label("E-mail address").fill("bob@acme.test")
    dialog.get_by_role("button", name="Add user").click()
    expect(row(tab, "bob@acme.test")).to_be_visible()
    with tab.expect_response(re.compile("/tenant/v1/users/")):
        tab.get_by_label("Role of bob@acme.test").select_option("Viewer: read and search")
    assert {user["email"]: user["role"] for user in hosting.own.get("/tenant/v1/users")["users"]}["bob@acme.test"] == "viewer"
    tab.get_by_role("button", name="Delete ann@acme.test").click()
    tab.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(tab.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    tab.get_by_role("button", name="Cancel").click()
    tab.get_by_role("button", name="Delete bob@acme.test").click()
    tab.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row(tab, "bob@acme.test")).to_have_count(0)


def test_the_audit_log_is_filtered_and_verified(hosting: Hosting, open_screen: OpenScreen) -> None:
    cord = hosting.operator.call("POST", "/manage/v1/tenants", {"name": "cord", "ownerEmail": "cy@cord.test"}).json["id"]
    assert hosting.operator.call("DELETE", f"/manage/v1/tenants/{cord}").status < 300
    tab = operate(hosting, open_screen, "/account/audit")
    expect(row(tab, "tenant.created").first).to_be_visible()
    tab.get_by_role("searchbox").fill("no such record")
    expect(tab.get_by_text("No record matches these filters.")).to_be_visible()
    assert "q=no+such+record" in tab.url
    tab.get_by_role("button", name="Clear filters").last.click()
    actions = tab.get_by_role("group", name="Action")
    actions.get_by_role("button", name=re.compile("^tenant.created")).click()
    expect(tab.locator("table.rows tbody td:nth-child(4)").first).to_have_text("tenant.created")
    assert "action=tenant.created" in tab.url
    tab.get_by_role("button", name=re.compile("^Object")).click()
    expect(tab.get_by_role("columnheader", name="Object")).to_have_attribute("aria-sort", "ascending")
    objects = tab.locator("table.rows tbody td:nth-child(5)")
    expect(objects).to_have_text(sorted(objects.all_inner_texts()))
    with tab.expect_download() as download:
        tab.get_by_role("button", name="JSON").click()
    records = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert {record["action"] for record in records} == {"tenant.created"}
    tab.get_by_role("button", name="Clear filters").click()
    expect(row(tab, "tenant.created").first).to_be_visible()
    tab.get_by_role("button", name="Verify the log").click()
    expect(tab.get_by_text(re.compile(r"Intact: \d+ records? continues? the chain"))).to_be_visible()
    hosting.change("UPDATE audit_log SET actor = 'intruder' WHERE tenant_id = 1 AND seq = 1")
    tab.get_by_role("button", name="Verify the log").click()
    expect(tab.get_by_text("The chain is broken at record 1")).to_be_visible()
    hosting.change("UPDATE audit_log SET actor = 'operator' WHERE tenant_id = 1 AND seq = 1")


def test_queues_show_a_crawl_of_another_tenant_and_its_worker(hosting: Hosting, open_screen: OpenScreen) -> None:
    tab = operate(hosting, open_screen, "/manage/queues")
    expect(tab.get_by_text("No run is active.")).to_be_visible()
    hosting.site.delay_s = 1.0
    try:
        run = hosting.own.start(hosting.site.url("/"), demoDelayMs=500)
        expect(tab.get_by_role("region", name="Active runs").get_by_role("row").filter(has_text="acme")).to_be_visible()
        expect(tab.get_by_role("region", name="Workers").get_by_role("row").nth(1)).to_be_visible()
        hosting.own.call("POST", f"/crawl-runs/{run}/cancel")
        expect(tab.get_by_text("No run is active.")).to_be_visible()
    finally:
        hosting.site.delay_s = 0.0


def test_held_deletions_of_a_tenant_are_decided(hosting: Hosting, open_screen: OpenScreen) -> None:
    tab = operate(hosting, open_screen, "/manage/deletions")
    expect(tab.get_by_text("No deletion is held back.")).to_be_visible()
    hosting.change("UPDATE pages SET held = 1 WHERE tenant_id = ?", hosting.tenant)
    tab.reload()
    expect(row(tab, "acme")).to_contain_text("2")
    tab.get_by_role("button", name="Keep them").click()
    expect(tab.get_by_text("No deletion is held back.")).to_be_visible()
    hosting.change("UPDATE pages SET held = 1 WHERE tenant_id = ?", hosting.tenant)
    tab.reload()
    tab.get_by_role("button", name="Delete pages").click()
    tab.get_by_role("dialog").get_by_role("button", name="Delete pages").click()
    expect(tab.get_by_text("No deletion is held back.")).to_be_visible()
    actions = [record["action"] for record in hosting.own.get("/tenant/v1/audit")["records"]]
    assert actions[:2] == ["deletions.agreed", "deletions.refused"], "the tenant sees what the operator decided"


def test_dead_letters_of_a_tenant_are_sent_again(hosting: Hosting, open_screen: OpenScreen) -> None:
    tab = operate(hosting, open_screen, "/manage/dead-letters")
    expect(tab.get_by_text("There are no dead letters.")).to_be_visible()
    webhook = hosting.own.call("POST", "/tenant/v1/webhooks", {"url": hosting.site.url("/hook")}).json["id"]
    hosting.change(
        "INSERT INTO webhook_deliveries (tenant_id, endpoint_id, event_id, run_id, type, state, created_at)"
        " VALUES (?, ?, 1, 'r', 'run.completed', 'DEAD', 1e9)",
        hosting.tenant,
        webhook,
    )
    path = f"/tenant/v1/webhooks/{webhook}"
    assert hosting.own.call("PATCH", path, {"enabled": False}).status == 200
    tab.reload()
    expect(row(tab, "acme")).to_contain_text("its tenant has to enable it first")
    assert hosting.own.call("PATCH", path, {"enabled": True}).status == 200
    tab.reload()
    tab.get_by_role("button", name="Send again").click()
    expect(tab.get_by_text("1 event is sent again.")).to_be_visible()
    expect(tab.get_by_text("There are no dead letters.")).to_be_visible()
    assert hosting.own.call("DELETE", path).status == 204


def test_backups_are_listed_with_the_command_that_makes_one(hosting: Hosting, open_screen: OpenScreen) -> None:
    tab = operate(hosting, open_screen, "/manage/backups")
    expect(row(tab, "first.tar")).to_contain_text("SQLite")
    expect(tab.get_by_text("sitelore backup")).to_be_visible()


def test_too_many_wrong_tokens_have_to_wait(tmp_path: Path, open_screen: OpenScreen) -> None:
    env = {"SITELORE_TOKENS": OPERATOR, "SITELORE_RATE_LIMITS": "login=2/h"}
    with serve_site(site({})) as http_server, serve_process(tmp_path, http_server, env=env) as server:
        tab = open_screen(server.api.port).open("/")
        for _ in range(3):
            tab.get_by_label("Token").fill("wrong")
            with tab.expect_response(re.compile("/session$")):
                tab.get_by_role("button", name="Sign in").click()
        expect(tab.get_by_text("too many failed sign-ins from this address; try again in")).to_be_visible()


def test_the_first_token_closes_the_server_but_not_this_browser(tmp_path: Path, open_screen: OpenScreen) -> None:
    with serve_site(site({})) as http_server, serve_process(tmp_path, http_server) as server:
        screen = open_screen(server.api.port)
        tab = screen.open("/manage")
        tab.get_by_role("button", name="Create tenant").click()
        expect(tab.get_by_text("Create a token of the operator first.")).to_be_visible()
        tab.get_by_role("link", name="Go to the tokens").click()
        tab.get_by_role("button", name="Create token").click()
        expect(tab.get_by_text("This is the first token")).to_be_visible()
        tab.get_by_role("dialog").get_by_label("Name").fill("operations")
        tab.get_by_role("dialog").get_by_role("button", name="Create token").click()
        copied(tab)
        tab.wait_for_function("async () => (await fetch('/crawl-runs', { credentials: 'omit' })).status === 401")
        tab = screen.open("/manage")
        tab.get_by_role("button", name="Create tenant").click()
        tab.get_by_role("dialog").get_by_label("Name").fill("acme")
        tab.get_by_role("dialog").get_by_role("button", name="Create tenant").click()
        copied(tab)
        expect(row(tab, "acme")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_the_portal_and_its_dialogs(
    hosting: Hosting, open_screen: OpenScreen, scheme: str
) -> None:
    screen = open_screen(hosting.port, scheme=scheme)
    tab = sign_in(screen, OPERATOR)
    wrong: dict[str, Any] = {}
    for path in [*SCREENS, f"/manage/tenants/{hosting.tenant}"]:
        screen.open(path)
        if violations := findings(screen):
            wrong[path] = violations
    for path, button in (
        ("/manage", "Create tenant"), ("/account", "Create token"), ("/account/users", "Add user"),
        (f"/manage/tenants/{hosting.tenant}", "Delete"),
    ):  # fmt: skip
        screen.open(path)
        tab.get_by_role("button", name=button).click()
        tab.get_by_role("dialog").wait_for()
        if violations := findings(screen):
            wrong[f"{path} {button}"] = violations
    assert wrong == {}


@pytest.mark.parametrize("width", [360, 1280])
def test_no_screen_of_the_portal_is_wider_than_its_window(hosting: Hosting, open_screen: OpenScreen, width: int) -> None:
    screen = open_screen(hosting.port, width=width)
    sign_in(screen, OPERATOR)
    for path in SCREENS:
        tab = screen.open(path)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, path
