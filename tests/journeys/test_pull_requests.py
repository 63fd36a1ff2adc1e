"""Draft pull requests for findings, on a real git server behind stand-ins of the APIs of GitHub and GitLab.

Gitea and GitLab themselves are not available from package registries, so `git http-backend` serves the repositories here, and
the stand-ins check every request against the documentation of each API (`tests/support/repository_host.py`).
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import pytest
from tests.support.crawls import crawl_in, crawl_settings
from tests.support.http_server import Answer, HttpServer, serve_site
from tests.support.repository_host import MERGED_AT, NAME, OWNER, TOKEN, Reply, StandIn, repository_host
from tests.unit.audit.sites import html

from sitelore.app.app import App
from sitelore.app.audit.phase import audit_run
from sitelore.app.audit.pull_requests import MAX_FILES, FixSelection, FixService, RepositoryLimitReached
from sitelore.app.wiring import embedded
from sitelore.fetch.access import RunAccess
from sitelore.fetch.guard import AddressGuard
from sitelore.model.errors import UsageError
from sitelore.model.ids import DEFAULT_TENANT, SiteId
from sitelore.model.platform.fixes import MAX_REQUESTS_PER_HOUR, FixRequest, FixState, RepositoryHost
from sitelore.platform.pull_requests import git_repository
from sitelore.platform.pull_requests.hosts import HostApi
from sitelore.platform.secret_box import SecretBox
from sitelore.store.audits.fix_requests import SqlFixStore

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

TENANT = DEFAULT_TENANT
LANG = FixSelection(rules=("lang-missing",))
VIEWPORT = FixSelection(rules=("viewport-missing",))


def sources() -> dict[str, bytes]:
    """The files of a site with two pages without a language, one of them without a viewport, and things that are no sources."""
    pages = {
        "index.html": html(links="/a.html /b.html /c.html", seed=2),
        "a.html": html(links="/index.html", title="How the wheels were made", attributes="", seed=3),
        "b.html": html(links="/index.html", title="How the stones were cut", attributes="", seed=4),
        "c.html": html(links="/index.html", title="How the grain was carried", seed=5),
    }
    viewport = "<meta name=viewport content='width=device-width, initial-scale=1'>"
    pages["b.html"] = pages["b.html"].replace(viewport, "")
    files = {path: text.replace("\n", "\r\n").encode() + b"<!-- caf\xe9 -->" for path, text in pages.items()}
    return {**files, "build.sh": b"#!/bin/sh\n", ".github/workflows/a.html": files["a.html"], "picture.png": bytes(range(256))}


@dataclass
class World:
    """A crawled and audited site, its repository on a host, and the service."""

    app: App
    service: FixService
    host: StandIn
    site_server: HttpServer
    site: SiteId
    waits: list[float]

    async def connect(self, **more: str) -> None:
        await self.service.connect(TENANT, self.site, self.host.url, TOKEN, host=self.host.kind, **more)

    async def request(self, selection: FixSelection = LANG) -> FixRequest:
        """Queue a request and work on it."""
        queued = await self.service.request(TENANT, self.site, "127.0.0.1", selection, "ann@mill.test")
        done = await self.service.claim_and_process(TENANT, queued.id)
        assert done is not None
        assert await self.service.find(TENANT, self.site, queued.id) == done
        return done

    async def crawl(self) -> None:
        run = (await crawl_in(self.app, crawl_settings(self.site_server.url("/index.html"), audit=True, force=True))).run
        await audit_run(self.app, run)
        self.site = run.site

    async def refresh(self, request: FixRequest) -> FixRequest:
        known = await self.service.refresh(TENANT, self.site, request.id)
        assert known is not None
        return known


@pytest.fixture(params=list(RepositoryHost))
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StandIn]:
    with repository_host(request.param, tmp_path / "host", sources()) as stand_in:
        yield stand_in


@pytest.fixture
async def world(host: StandIn, tmp_path: Path) -> AsyncIterator[World]:
    def served(path: str) -> Answer | None:
        try:
            return Answer(body=host.read("main", path.lstrip("/")))
        except Exception:  # noqa: BLE001 whatever git says about a path that is not there
            return None

    waits: list[float] = []

    async def wait(delay_s: float) -> None:
        waits.append(delay_s)

    with serve_site(served) as site_server:
        async with embedded(tmp_path / "data", writing=True) as app:
            store = SqlFixStore(app.ledger._engine, TENANT)  # type: ignore[attr-defined]
            guard = AddressGuard((), ("127.0.0.1",))
            service = FixService(app, store, SecretBox(("a key",)), guard, RunAccess(), wait)
            made = World(app, service, host, site_server, SiteId(0), waits)
            await made.crawl()
            yield made


async def test_a_draft_fixes_the_findings_of_a_rule_and_the_next_crawl_after_its_merge_resolves_them(world: World) -> None:
    await world.connect()
    before = world.host.head("main")
    request = await world.request()
    assert (request.state, request.number, request.error) == (FixState.OPEN, 1, "")
    assert len(request.findings) == 2
    [pull] = world.host.pulls
    assert (pull["branch"], pull["base"], pull["is_draft"]) == (request.branch, "main", True)
    assert request.branch.startswith("sitelore/lang-missing-")
    assert "Fix 2 findings" in pull["title"]
    for text in ("/a.html`", "/b.html`", "a.html", "lang=", "The same rule ran on the changed file", "Evidence"):
        assert text in pull["text"], text
    assert world.host.head("main") == before
    changed = world.host.git("diff", "--name-only", "main", request.branch).decode().split()
    assert changed == ["a.html", "b.html"]
    original, patched = sources()["a.html"], world.host.read(request.branch, "a.html")
    assert patched != original
    assert patched.replace(b' lang="en"', b"", 1) == original
    assert (await world.refresh(request)).state is FixState.OPEN

    world.host.merge(1)
    merged = await world.refresh(request)
    assert merged.state is FixState.MERGED
    assert merged.merged_at == datetime.fromisoformat(MERGED_AT).timestamp()
    with pytest.raises(UsageError, match="crawl the site again"):
        await world.request()
    await world.crawl()
    listed, _ = await world.service.requests(TENANT, world.site, 9, 0)
    assert [each.state for each in listed] == [FixState.RESOLVED]


async def test_findings_that_a_crawl_after_the_merge_still_has_show_that_the_fix_did_not_work(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.connect()
    request = await world.request()
    world.host.merge(1, "2020-01-15T08:00:00Z")
    merged = await world.refresh(request)
    assert merged.state is FixState.NOT_RESOLVED  # this run began after the merge
    await world.service._store.save_fix(replace(merged, state=FixState.MERGED, merged_at=world.app.clock()))
    listed, _ = await world.service.requests(TENANT, world.site, 9, 0)
    assert listed[0].state is FixState.MERGED  # no run began after it
    world.host.commit(sources(), "main")  # a person takes the change back
    await world.crawl()
    [again], _ = await world.service.requests(TENANT, world.site, 9, 0)
    assert again.state is FixState.NOT_RESOLVED
    second = await world.request()
    assert (second.number, second.branch) == (2, f"{request.branch}-2")


async def test_a_second_request_for_the_same_findings_updates_the_pull_request(world: World) -> None:
    await world.connect()
    first = await world.request()
    head = world.host.head(first.branch)
    second = await world.request()
    assert replace(second, updated_at=first.updated_at, due_at=first.due_at) == first
    assert world.host.head(first.branch) == head
    assert len(world.host.pulls) == 1
    # The base moves: the branch is made anew from it, and the title that a person has changed stays.
    world.host.pulls[0]["title"] = "Draft: by a person"
    world.host.commit({"d.html": sources()["c.html"]}, "main")
    again = await world.request()
    assert again.id == first.id
    assert world.host.head(first.branch) != head
    assert world.host.git("rev-parse", f"{first.branch}^").decode().strip() == world.host.head("main")
    assert len(world.host.pulls) == 1
    assert world.host.pulls[0]["title"] == "Draft: by a person"
    other = await world.request(VIEWPORT)
    assert (other.number, len(other.findings)) == (2, 1)


async def test_a_request_whose_process_died_after_the_push_or_the_opening_is_repeated_without_a_second_pull_request(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.connect()
    queued = await world.service.request(TENANT, world.site, "127.0.0.1", LANG)

    async def die(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(HostApi, "open_or_update", die)
        with pytest.raises(asyncio.CancelledError):
            await world.service.claim_and_process(TENANT, queued.id)
    assert world.host.branches() == ["main", queued.branch]
    assert await world.service.claim_and_process(TENANT, queued.id) is None  # leased
    first = await world.request()
    assert (first.id, first.state, first.number) == (queued.id, FixState.OPEN, 1)
    await world.service._store.save_fix(replace(first, number=None, url="", state=FixState.QUEUED))
    assert (await world.request()).number == 1
    assert len(world.host.pulls) == 1


async def test_commits_of_a_person_on_the_branch_stay(world: World) -> None:
    await world.connect()
    request = await world.request()
    head = world.host.commit({"a.html": b"by a person"}, request.branch)
    again = await world.request()
    assert again.state is FixState.FAILED
    assert "commits of other people" in again.error
    assert world.host.head(request.branch) == head


async def test_a_pull_request_that_was_closed_is_not_proposed_again(world: World) -> None:
    await world.connect()
    request = await world.request()
    world.host.close(1)
    assert (await world.refresh(request)).state is FixState.CLOSED
    with pytest.raises(UsageError, match="closed without being merged"):
        await world.request()
    assert len(world.host.pulls) == 1


async def test_a_busy_host_is_tried_again_after_the_pause_that_it_asks_for(world: World) -> None:
    await world.connect()
    limited = {"Retry-After": "7"} if world.host.kind is RepositoryHost.GITLAB else {"x-ratelimit-remaining": "0"}
    status = 429 if world.host.kind is RepositoryHost.GITLAB else 403
    world.host.next_replies = [Reply(status, None, limited), Reply(502)]
    assert (await world.request()).state is FixState.OPEN
    assert world.waits == [7.0 if world.host.kind is RepositoryHost.GITLAB else 2.0, 4.0]


async def test_a_long_pause_gives_the_request_back_to_the_queue(world: World) -> None:
    await world.connect()
    world.host.next_replies = [Reply(429, None, {"Retry-After": "900"})]
    request = await world.request()
    assert (request.state, request.error) == (FixState.QUEUED, "answered 429; it is tried again later")
    assert 800 < request.due_at - world.app.clock() <= 900
    assert world.waits == []
    assert await world.service.process_due_requests() == 0


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "refused the token"),
        (403, "does not permit"),
        (404, "no such repository"),
        (422, "did not accept"),
        (301, "moved"),
    ],
)
async def test_a_refusal_of_the_host_fails_the_request_with_its_reason(world: World, status: int, message: str) -> None:
    await world.connect()
    world.host.next_replies = [Reply(status, {"message": f"text of the host {TOKEN}"})]
    request = await world.request()
    assert request.state is FixState.FAILED
    assert message in request.error
    assert TOKEN not in request.error


async def test_a_host_without_drafts_gets_none(world: World) -> None:
    await world.connect()
    world.host.offers_drafts = False
    request = await world.request()
    assert request.state is FixState.FAILED
    assert "drafts" in request.error
    assert world.host.pulls == []


async def test_git_that_is_refused_or_unavailable_says_so_without_its_output(world: World) -> None:
    await world.connect()
    world.host.git_status = 403
    refused = await world.request()
    assert refused.state is FixState.FAILED
    assert "token is not valid, or may not do this" in refused.error
    world.host.git_status = 503
    unavailable = await world.request()
    assert (unavailable.state, unavailable.error) == (FixState.QUEUED, "git ls-remote failed")


async def test_a_repository_is_connected_only_with_a_token_that_may_write(world: World) -> None:
    for change, message in (
        ({"can_push": False}, "may not be written"),
        ({"can_push": True, "is_archived": True}, "archived"),
        ({"is_archived": False, "token": "another"}, "refused the token"),
    ):
        for name, value in change.items():
            setattr(world.host, name, value)
        with pytest.raises(UsageError, match=message):
            await world.connect()
    assert await world.service.repository(TENANT, world.site) is None
    with pytest.raises(UsageError, match="no connected repository"):
        await world.request()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://user:word@git.test/a/b", "not the URL of a repository"),
        ("https://git.test/only", "not the URL of a repository"),
        ("https://git.test/a/../b/c?x", "not the URL of a repository"),
        ("file:///etc/passwd", "not the URL of a repository"),
        ("http://10.0.0.1/a/b", "cannot be used"),
        ("http://git.test/a/b", "not an https URL"),
        ("https://git.test/a/b", "GitHub or GitLab"),
    ],
)
async def test_an_address_that_must_not_be_connected_is_refused(world: World, url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        await world.service.connect(TENANT, world.site, url, TOKEN)


async def test_the_token_is_encrypted_and_never_in_arguments_files_or_logs(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    commands: list[tuple[object, ...]] = []
    folders: list[bytes] = []
    real = asyncio.create_subprocess_exec

    async def recorded(*arguments: object, **options: object) -> object:
        commands.append(arguments)
        for parent, _, names in os.walk(str(options["cwd"])):
            folders.extend(Path(parent, name).read_bytes() for name in names)
        return await real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", recorded)
    await world.connect()
    assert (await world.request()).state is FixState.OPEN
    repository = await world.service.repository(TENANT, world.site)
    assert repository is not None
    assert repository.token.startswith("aes256gcm:")
    assert TOKEN not in repr(repository)
    assert len(commands) > 8
    assert TOKEN not in str(commands)
    assert TOKEN.encode() not in b"".join(folders)
    assert TOKEN not in caplog.text
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").glob("sitelore.db*"))
    assert TOKEN.encode() not in stored


async def test_git_connects_only_where_the_address_guard_allows(world: World) -> None:
    await world.connect()
    closed = FixService(
        world.app,
        world.service._store,
        SecretBox(("a key",)),
        AddressGuard((), ()),
        RunAccess(),
    )
    async with git_repository.open_repository(world.host.url, "u", TOKEN, AddressGuard((), ()), RunAccess()) as git:
        with pytest.raises(git_repository.GitRefused, match="the address is not allowed"):
            await git.heads("main")
    queued = await closed.request(TENANT, world.site, "127.0.0.1", LANG)
    done = await closed.claim_and_process(TENANT, queued.id)
    assert done is not None
    assert done.state is FixState.FAILED


async def test_a_revoked_repository_ends_what_is_queued(world: World) -> None:
    await world.connect()
    queued = await world.service.request(TENANT, world.site, "127.0.0.1", LANG)
    assert await world.service.disconnect(TENANT, world.site)
    assert await world.service.process_due_requests() == 1
    done = await world.service.find(TENANT, world.site, queued.id)
    assert done is not None
    assert (done.state, done.error) == (FixState.FAILED, "the repository is not connected any more")
    assert world.host.pulls == []


async def test_another_base_branch_can_be_named_and_a_missing_one_is_reported(world: World) -> None:
    world.host.commit(sources(), "trunk")
    await world.connect(base="trunk")
    assert (await world.request()).state is FixState.OPEN
    assert world.host.pulls[0]["base"] == "trunk"
    await world.connect(base="nowhere")
    missing = await world.request(VIEWPORT)
    assert missing.error == "the repository has no branch 'nowhere'"
    with pytest.raises(UsageError, match="not the name of a branch"):
        await world.connect(base="--upload-pack=x")


async def test_a_request_for_chosen_findings_fixes_these_alone(world: World) -> None:
    await world.connect()
    records = await world.app.audits.unseen_findings(world.site, "", "")
    [chosen] = [each for each in records if each.finding.rule == "lang-missing" and each.finding.url.endswith("/b.html")]
    request = await world.request(FixSelection(keys=(chosen.finding.key,)))
    assert request.findings == (chosen.finding.key,)
    assert world.host.git("diff", "--name-only", "main", request.branch).decode().split() == ["b.html"]
    none = await world.request(FixSelection(keys=("0" * 20,)))
    assert none.error == "none of the findings is open"


async def test_pull_requests_of_a_repository_are_limited(world: World) -> None:
    await world.connect()
    for number in range(MAX_REQUESTS_PER_HOUR):
        await world.service.request(TENANT, world.site, "127.0.0.1", FixSelection(keys=(f"{number:020}",)))
    with pytest.raises(RepositoryLimitReached, match="2 pull requests within an hour"):
        await world.service.request(TENANT, world.site, "127.0.0.1", LANG)
    with pytest.raises(UsageError, match="no patches exist"):
        await world.service.request(TENANT, world.site, "127.0.0.1", FixSelection(rules=("page-gone",)))


def test_the_stand_in_and_the_limits_are_what_the_tests_assume() -> None:
    assert MAX_FILES >= 2
    assert f"/{OWNER}/{NAME}" in StandIn(RepositoryHost.GITHUB, Path()).url
