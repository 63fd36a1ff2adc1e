"""Data that an older version stored is migrated without loss, even if the migration is killed.

The archives in `migration_data` hold the data and what that version printed for it; `scripts/migration_fixture.py` made them.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.interfaces.api import ApiResponse, serving_api
from tests.interfaces.cli import sitelore
from tests.support import migration_data as data
from tests.support.http_server import serve_site
from tests.support.workers import administer, create_database, drop_database

from sitelore.app.wiring import build_app
from sitelore.model.ids import RunId
from sitelore.serve.context import ApiSettings, AppContext, context_of

ROOT = Path(__file__).parents[2]
KILLS = 5
NO_MEDIA = {"types": [], "file_bytes": 16 * 2**20, "video_bytes": 50 * 2**20, "per_page": 200, "per_run": 20_000}
NEW_SETTINGS: dict[str, dict[str, object]] = {
    "0006": {"accept_language": "", "audit_facts": False, "audit": False, "media": NO_MEDIA},
    "0007": {"audit": False, "media": NO_MEDIA},
    "0016": {},
}
"""Settings of runs that did not exist when the data of a schema was stored, with their defaults."""


def in_thread(work: Any) -> Any:
    """The result of a coroutine, from its own thread and event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@dataclass(frozen=True)
class Copy:
    """One copy of the stored data: its files, its database, and the environment variables with which it is opened."""

    folder: Path
    database: str
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, arguments: Sequence[str]) -> bytes:
        """Run a command of the current version on this copy."""
        with self.environment():
            done = sitelore(*arguments, "--data", self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout.encode()

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Set the environment variables until the block ends."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.variables.items():
                patch.setenv(name, value)
            yield


@dataclass(frozen=True)
class Expected:
    """What the older version printed."""

    runs: list[str]
    """Oldest first; the last one is unfinished."""
    outputs: dict[str, str]
    resumed: str
    idempotent_run: str
    idempotent_run_created_at: float

    def exported(self, run: str) -> str:
        return self.outputs[f"export {run} json"]


@dataclass(frozen=True)
class Storage:
    """Stored data of which tests take copies."""

    schema: str
    expected: Expected
    copy: Callable[[], Copy]


def unpack(schema: str, name: str, folder: Path) -> Expected:
    with tarfile.open(data.FOLDER / f"{schema}_{name}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 and older have none
        archive.extractall(folder)
    return Expected(**json.loads((folder / "expected.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module", params=sorted(NEW_SETTINGS))
def schema(request: pytest.FixtureRequest) -> str:
    """The schema of the stored data."""
    return str(request.param)


@pytest.fixture(scope="module")
def sqlite_storage(schema: str, tmp_path_factory: pytest.TempPathFactory) -> Storage:
    """A data directory."""
    stored = tmp_path_factory.mktemp("stored")
    expected = unpack(schema, "sqlite", stored)

    def copy() -> Copy:
        folder = tmp_path_factory.mktemp("copy")
        for name in ("sitelore.db", "blobs.db"):
            shutil.copy(stored / name, folder)
        return Copy(folder, str(folder / "sitelore.db"))

    return Storage(schema, expected, copy)


@pytest.fixture(scope="module")
def postgres_storage(
    schema: str, postgres_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Storage]:
    """A Postgres database with its blobs in a directory. The dump is loaded once; Postgres makes the copies."""
    stored = tmp_path_factory.mktemp("stored")
    expected = unpack(schema, "postgres", stored)
    databases = [template := in_thread(create_database(postgres_url))]
    in_thread(administer(template, (stored / "dump.sql").read_text(encoding="utf-8")))

    def copy() -> Copy:
        folder = tmp_path_factory.mktemp("copy")
        shutil.copytree(stored / "blobs", folder / "blobs")
        databases.append(database := in_thread(create_database(postgres_url, sa.make_url(template).database or "")))
        blobs = (folder / "blobs").as_uri()
        variables = {"SITELORE_DATABASE_URL": database, "SITELORE_REDIS_URL": redis_url, "SITELORE_BLOBS_URL": blobs}
        return Copy(folder, database, variables)

    yield Storage(schema, expected, copy)
    for database in databases:
        in_thread(drop_database(postgres_url, database))


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest, schema: str) -> Storage:
    """Stored data of each kind and schema."""
    return storage_of(request, request.param)


@pytest.fixture
def one_storage(request: pytest.FixtureRequest, schema: str) -> Storage:
    """Stored data of each kind and of each schema, but not of both: for tests that take long."""
    return storage_of(request, {"0006": "sqlite", "0007": "postgres", "0016": "postgres"}[schema])


def storage_of(request: pytest.FixtureRequest, kind: str) -> Storage:
    storage = request.getfixturevalue(f"{kind}_storage")
    assert isinstance(storage, Storage)
    return storage


def differences(printed: dict[str, str], storage: Storage) -> dict[str, list[str]]:
    """The lines that differ, by output, apart from settings that did not exist yet and from the scores of hits."""
    expected = {name: without_scores(name, text) for name, text in storage.expected.outputs.items()}
    settings = NEW_SETTINGS[storage.schema]
    actual = {name: without_scores(name, without_settings(settings, name, text)) for name, text in printed.items()}
    return {
        name: list(unified_diff(expected[name].splitlines(), text.splitlines(), "before", "after", lineterm="", n=0))
        for name, text in actual.items()
        if text != expected[name] and not name.endswith("llms-txt")  # its sections and descriptions are new
    }


def without_settings(new: dict[str, object], name: str, text: str) -> str:
    if not name.startswith("show "):
        return text
    summary = json.loads(text)
    settings = summary["settings"]
    assert {setting: settings.pop(setting) for setting in new} == new
    return json.dumps(summary, indent=1)


def without_scores(name: str, text: str) -> str:
    """The output of a search without its scores, whose formula has changed, and without its suggestion, which is new."""
    if not name.startswith("search "):
        return text
    result = json.loads(text)
    result.pop("suggestion", None)
    for hit in result["hits"]:
        del hit["score"]
    return json.dumps(result, indent=1)


def test_every_command_prints_the_same_as_before_the_migration(storage: Storage) -> None:
    copy, expected = storage.copy(), storage.expected
    printed = data.collect(copy.run, expected.runs, copy.folder / "written")
    assert printed.keys() == expected.outputs.keys()
    assert differences(printed, storage) == {}
    # By now the index was updated.
    for run in expected.runs:
        assert copy.run(("export", run, "--format", "json")).decode() == expected.exported(run)


def test_a_migration_that_was_killed_is_repeated_without_loss(one_storage: Storage) -> None:
    expected = one_storage.expected
    whole, *killed = (one_storage.copy() for _ in range(KILLS + 1))
    command = [sys.executable, "-m", "tests.support.killed_migration", *(copy.database for copy in (whole, *killed))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    statements, *codes = map(int, done.stdout.split())
    assert statements > KILLS
    assert codes == [-9] * KILLS
    for copy in killed:
        assert differences(data.collect_rows(copy.run, expected.runs), one_storage) == {}


@pytest.fixture
def guide_port() -> int:
    """The port of the site in the stored URLs, if no other process uses it."""
    try:
        socket.create_server(("127.0.0.1", data.GUIDE_PORT)).close()
    except OSError:
        pytest.skip(f"port {data.GUIDE_PORT} is in use")
    return data.GUIDE_PORT


def test_an_unfinished_run_resumes_after_the_migration(one_storage: Storage, guide_port: int) -> None:
    copy, expected = one_storage.copy(), one_storage.expected
    run = expected.runs[-1]
    visited = {row["url"].removeprefix(data.GUIDE) for row in json.loads(expected.exported(run)) if row["state"] == "VISITED"}
    with serve_site(data.guide(later=True), port=guide_port) as server:
        copy.run(("crawl", "--resume", *data.CRAWL))
        assert visited.isdisjoint(server.targets())
        assert copy.run(("export", run, "--format", "json")).decode() == expected.resumed
        # The site did not change, and the pages of earlier runs are known.
        summary = json.loads(copy.run(("crawl", *data.GUIDE_SEEDS, *data.CRAWL)))
    assert (summary["state"], summary["new"], summary["changed"]) == ("COMPLETED", 0, 0)
    assert summary["saved"]["not_modified"] > len(visited)


def test_held_deletions_can_be_confirmed_after_the_migration(one_storage: Storage) -> None:
    copy = one_storage.copy()
    held = json.loads(one_storage.expected.outputs["deletions"])["sites"]
    assert held
    assert json.loads(copy.run(("deletions", "--agree", "--json"))) == {"sites": held, "agreed": True}
    assert json.loads(copy.run(("deletions", "--json")))["sites"] == {}
    removed = [f"{data.SHOP}/products/{n}" for n in range(1, 7)]
    hits = json.loads(copy.run(("search", "warehouse inventory", "--limit", "50", "--json")))["hits"]
    assert hits
    assert {hit["url"] for hit in hits}.isdisjoint(removed)


def test_an_idempotency_key_is_kept_by_the_migration(one_storage: Storage) -> None:
    other = {**data.IDEMPOTENT_REQUEST, "settings": {"maxPages": 4}}
    answer = repeat_request(one_storage.copy(), one_storage.expected, other)
    assert answer.kind == "key-reused"


def test_a_request_repeated_after_the_migration_returns_its_run(one_storage: Storage) -> None:
    answer = repeat_request(one_storage.copy(), one_storage.expected, data.IDEMPOTENT_REQUEST)
    assert answer.status == 201, answer.body
    assert answer.json["id"] == one_storage.expected.idempotent_run


def repeat_request(copy: Copy, expected: Expected, body: object) -> ApiResponse:
    """Send a request with the stored idempotency key, a minute after it was used: keys expire after a day."""

    @asynccontextmanager
    async def idle_app() -> AsyncIterator[AppContext]:
        async def background_work(stop: asyncio.Event) -> None:
            await stop.wait()

        async def announce(_: RunId) -> None:
            pass

        async with build_app(copy.folder, writing=True) as app:
            at = expected.idempotent_run_created_at + 60
            yield replace(context_of(app), run_background=background_work, announce=announce, clock=lambda: at)

    settings = ApiSettings(poll_s=0.05, allow_private=(data.ALLOW_PRIVATE,))
    with copy.environment(), serving_api(idle_app, settings) as api:
        return api.call("POST", "/crawl-runs", body, Idempotency_Key=data.IDEMPOTENCY_KEY)
