from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.ports.conftest import Database
from tests.ports.frontier import facts

from sitelore.model.errors import StorageError
from sitelore.model.ids import DEFAULT_TENANT, RunId, SiteId
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.store.engine import PostgresEngine, SqliteEngine
from sitelore.store.index.search_index import SqlSearchIndex
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.migrations import current
from sitelore.store.migrations.current import migrate, upgrade
from sitelore.store.pages.versions import PageChange, store_changes
from sitelore.store.schema import REVISION, complete_metadata, versions
from sitelore.store.tenants import for_tenant


def _drop_all(conn: sa.Connection) -> None:
    complete_metadata().drop_all(conn)
    versions.drop(conn)


def _make(conn: sa.Connection, revision: str) -> None:
    """Replace the tables by those of an older version."""
    from alembic import command
    from alembic.config import Config

    _drop_all(conn)
    config = Config()
    config.set_main_option("script_location", str(Path(current.__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = conn
    command.upgrade(config, revision)


def _differences(conn: sa.Connection) -> list[Any]:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(conn, opts={"compare_type": True, "compare_server_default": True})
    return list(compare_metadata(context, complete_metadata()))


def _definitions(conn: sa.Connection) -> list[Any]:
    """What Alembic does not compare: collations and the conditions of partial indexes."""
    if conn.dialect.name == "sqlite":
        query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND type = 'index' ORDER BY name"
        return [tuple(row) for row in conn.exec_driver_sql(query)]
    indexes = conn.exec_driver_sql("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1")
    columns = conn.exec_driver_sql(
        "SELECT table_name, column_name, collation_name, data_type FROM information_schema.columns"
        " WHERE table_schema = 'public' ORDER BY 1, 2"
    )
    return [tuple(row) for row in (*indexes, *columns)]


async def test_the_sum_of_all_migrations_equals_the_schema(new_database: Database) -> None:
    await new_database.engine()
    owner = await new_database.owner()
    made_at_once = await owner.write(_definitions)
    assert await owner.write(_differences) == []
    await owner.write(_drop_all)
    await owner.write(upgrade)
    assert await owner.write(_differences) == []
    assert await owner.write(_definitions) == made_at_once
    assert await owner.read(lambda conn: conn.scalar(sa.select(versions.c.version_num))) == REVISION


def test_the_generated_sql_of_a_new_sqlite_database_equals_the_schema() -> None:
    assert current.SQLITE_TABLES.read_text(encoding="utf-8") == current.sqlite_tables()


async def test_reopening_a_database_does_not_change_it(new_database: Database) -> None:
    ledger = await new_database.ledger()
    run = await ledger.create_run("kept", CrawlSettings(), (), 1.0)
    again = await new_database.ledger()
    assert [listed.id for listed in await again.runs()] == [run.id]


async def test_a_database_of_an_older_version_is_upgraded(new_database: Database) -> None:
    await new_database.engine()
    owner = await new_database.owner()
    await owner.write(complete_metadata().drop_all)
    await owner.write(lambda conn: conn.execute(sa.delete(versions)))
    await owner.write(migrate, "the test's")
    assert await owner.write(_differences) == []


async def _upgraded(database: Database, revision: str, *statements: str) -> SqliteEngine | PostgresEngine:
    """A database of an older version with these rows, after its migration."""
    await database.engine()
    owner = await database.owner()
    await owner.write(_make, revision)
    await owner.write(lambda conn: [conn.execute(sa.text(statement)) for statement in statements])
    engine = await database.engine()
    assert await owner.write(_differences) == []
    return engine


async def test_sites_and_pages_from_before_tenants_are_kept_and_queued_for_indexing(new_database: Database) -> None:
    site = "INSERT INTO sites (id, name, created_at, rendering) VALUES (7, 'kept', 1, '{}')"
    page = (
        "INSERT INTO pages (site_id, url, fetched_at, content_hash, novelty, document, title, word_count, noindex)"
        " VALUES (7, 'http://kept/', 1, '', '', 'doc', 'Kept', 1, 0)"
    )
    search_index = SqlSearchIndex(await _upgraded(new_database, "0004", site, page), DEFAULT_TENANT)
    [stats] = await search_index.site_stats()
    assert (stats.site, stats.name, stats.pages, stats.waiting, stats.version) == (7, "kept", 1, 1, 0)
    assert [page.title for page in await search_index.pages_to_index(stats.site, 9)] == ["Kept"]


async def test_stored_pages_get_a_version_and_their_site_keeps_its_tenant(new_database: Database) -> None:
    sites = "INSERT INTO sites (id, name, created_at, tenant) VALUES (7, 'shop', 1, 'red'), (8, 'shop', 2, 'blue')"
    pages = (
        "INSERT INTO pages (site_id, url, fetched_at, content_hash, novelty, document, title, word_count, noindex) VALUES"
        " (7, 'http://shop/', 5, '', '', 'doc7', 'Shop', 1, 0), (8, 'http://shop/', 6, '', '', 'doc8', 'Shop', 1, 0)"
    )
    engine = await _upgraded(new_database, "0006", sites, pages)
    tenants = {tenant.name: tenant.id for tenant in await SqlRunQueue(engine).tenants()}
    assert tenants == {"default": 1, "blue": 2, "red": 3}
    for name, site, at in (("red", 7, 5), ("blue", 8, 6)):
        ledger = SqlLedger(engine, tenants[name])
        assert [stats.site for stats in await SqlSearchIndex(engine, tenants[name]).site_stats()] == [site]
        [version] = await ledger.page_history(SiteId(site), Url.trusted("http://shop/"))
        assert (version.seen_at, version.ended_at, version.document) == (at, None, f"doc{site}")
        # New ids do not collide with those of the migration.
        run = await ledger.create_run("shop", CrawlSettings(seeds=("http://shop/",)), (), 9.0)
        assert run.site == site
        change = PageChange(Url.trusted("http://shop/new"), facts("new"), 9.0)
        await engine.write(for_tenant, store_changes, tenants[name], run.site, [change])
        assert len(await ledger.page_history(run.site, change.url)) == 1
    other = await SqlLedger(engine, tenants["red"]).create_run("other", CrawlSettings(), (), 9.0)
    assert other.site == 9


async def test_the_statistics_of_a_run_from_before_are_counted_by_the_migration(new_database: Database) -> None:
    site = "INSERT INTO sites (id, name, created_at) VALUES (1, 'site', 1)"
    run = (
        "INSERT INTO runs (id, site_id, state, settings, created_at, started_at, wave, depth, next_seq, wave_seq, kept_before,"
        " joined_hosts, error) VALUES ('old', 1, 'RUNNING', '{}', 1, 2, 1, 0, 4, 1, 0, '[]', '')"
    )
    columns = "run_id, url, host, kind, state, source, depth, source_rank, parent_seq, position, refused, shape"
    rows = [
        f"INSERT INTO urls ({columns}, seq, skip_reason, error, fetches, word_count)"
        f" VALUES ('old', '{url}', 'h', 'page', '{state}', 'link', 0, 0, 0, 0, 0, '', {seq}, {reason}, {error}, {fetches},"
        f" {words})"
        for url, state, seq, reason, error, fetches, words in (
            ("http://h/a", "VISITED", 1, "NULL", "NULL", 1, 7),
            ("http://h/b", "FAILED", 2, "NULL", "'timeout: late'", 3, 0),
            ("http://h/c", "IN_PROGRESS", 3, "NULL", "NULL", 0, 0),
            ("http://h/d", "SKIPPED", "NULL", "'scope'", "NULL", 0, 0),
        )
    ]
    engine = await _upgraded(new_database, "0006", site, run, *rows)
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    counts = await ledger.counts(RunId("old"))
    assert counts.states == {"FAILED": 1, "IN_PROGRESS": 1, "SKIPPED": 1, "VISITED": 1}
    assert (counts.skipped, counts.errors, counts.pages, counts.words, counts.fetched, counts.new) == (
        {"scope": 1}, {"timeout": 1}, 1, 7, 4, 1,
    )  # fmt: skip
    stored = await ledger.run(RunId("old"))
    assert stored is not None
    assert (stored.time_limit_from, stored.tenant) == (2, DEFAULT_TENANT)


async def test_a_database_of_a_newer_version_is_refused(new_database: Database) -> None:
    await new_database.engine()
    owner = await new_database.owner()
    await owner.write(lambda conn: conn.execute(sa.update(versions).values(version_num="9999")))
    with pytest.raises(StorageError, match="newer version"):
        await new_database.engine()


async def test_foreign_tables_of_the_same_name_are_refused(new_database: Database) -> None:
    await new_database.engine()
    owner = await new_database.owner()
    await owner.write(versions.drop)
    with pytest.raises(StorageError, match="not Sitelore's"):
        await new_database.engine()


def test_a_new_database_is_created_without_importing_alembic(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys, pathlib\n"
        "from sitelore.store.engine import open_sqlite\n"
        "async def main():\n"
        "    await (await open_sqlite(pathlib.Path(sys.argv[1]))).close()\n"
        "asyncio.run(main())\n"
        "print(sorted({'alembic', 'asyncpg', 'greenlet'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "new.db")], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
