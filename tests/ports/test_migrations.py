from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.ports.conftest import Database
from tests.ports.frontier import facts, started, the_row, visited

from sitelore.model.errors import StorageError
from sitelore.model.ids import DEFAULT_TENANT, SiteId
from sitelore.model.response import StoredHead
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import UrlState
from sitelore.model.url import Url
from sitelore.store.index.search_index import SqlSearchIndex
from sitelore.store.ledger import SqlLedger
from sitelore.store.migrations import current
from sitelore.store.migrations.current import migrate, upgrade
from sitelore.store.schema import REVISION, metadata, versions
from sitelore.store.versions import PageChange, store_changes


def _drop_all(conn: sa.Connection) -> None:
    metadata.drop_all(conn)
    versions.drop(conn)


def _downgrade(conn: sa.Connection, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(current.__file__).parent))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = conn
    command.downgrade(config, revision)


def _differences(conn: sa.Connection) -> list[Any]:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    context = MigrationContext.configure(conn, opts={"compare_type": True, "compare_server_default": True})
    return list(compare_metadata(context, metadata))


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
    engine = await new_database.engine()
    made_at_once = await engine.write(_definitions)
    assert await engine.write(_differences) == []
    await engine.write(_drop_all)
    await engine.write(upgrade)
    assert await engine.write(_differences) == []
    assert await engine.write(_definitions) == made_at_once
    assert await engine.read(lambda conn: conn.scalar(sa.select(versions.c.version_num))) == REVISION


def test_the_generated_sql_of_a_new_sqlite_database_equals_the_schema() -> None:
    assert current.SQLITE_TABLES.read_text(encoding="utf-8") == current.sqlite_tables()


async def test_reopening_a_database_does_not_change_it(new_database: Database) -> None:
    first = await new_database.engine()
    await first.write(lambda conn: conn.execute(sa.text("INSERT INTO sites (name, created_at) VALUES ('kept', 1)")))
    second = await new_database.engine()
    assert await second.read(lambda conn: conn.scalar(sa.text("SELECT count(*) FROM sites"))) == 1


async def test_a_database_of_an_older_version_is_upgraded(new_database: Database) -> None:
    engine = await new_database.engine()
    await engine.write(metadata.drop_all)
    await engine.write(lambda conn: conn.execute(sa.delete(versions)))
    await engine.write(migrate, "the test's")
    assert await engine.write(_differences) == []


async def test_sites_and_pages_from_before_tenants_are_kept_and_queued_for_indexing(new_database: Database) -> None:
    engine = await new_database.engine()
    await engine.write(_downgrade, "0004")
    site = "INSERT INTO sites (id, name, created_at, rendering) VALUES (7, 'kept', 1, '{}')"
    page = (
        "INSERT INTO pages (site_id, url, fetched_at, content_hash, novelty, document, title, word_count, noindex)"
        " VALUES (7, 'http://kept/', 1, '', '', 'doc', 'Kept', 1, 0)"
    )
    await engine.write(lambda conn: [conn.execute(sa.text(statement)) for statement in (site, page)])
    await engine.write(migrate, "the test's")
    assert await engine.write(_differences) == []
    search_index = SqlSearchIndex(engine, DEFAULT_TENANT)
    [stats] = await search_index.site_stats("default")
    assert (stats.site, stats.name, stats.pages, stats.waiting, stats.version) == (7, "kept", 1, 1, 0)
    assert [page.title for page in await search_index.pages_to_index(stats.site, 9)] == ["Kept"]


async def test_rows_from_before_response_heads_are_kept_without_one(new_database: Database) -> None:
    engine = await new_database.engine()
    ledger = SqlLedger(engine, DEFAULT_TENANT)
    run, [lease] = await started(ledger, "")
    await ledger.settle([visited(lease, "page", response_head=StoredHead("1.1", "OK"))])
    await engine.write(_downgrade, "0006")
    await engine.write(migrate, "the test's")
    assert await engine.write(_differences) == []
    row = await the_row(ledger, run, "")
    assert (row.state, row.status_code, row.response_head) == (UrlState.VISITED, 200, None)


async def test_stored_pages_get_a_version_and_their_site_keeps_its_tenant(new_database: Database) -> None:
    engine = await new_database.engine()
    await engine.write(_downgrade, "0006")
    sites = "INSERT INTO sites (id, name, created_at, tenant) VALUES (7, 'shop', 1, 'red'), (8, 'shop', 2, 'blue')"
    pages = (
        "INSERT INTO pages (site_id, url, fetched_at, content_hash, novelty, document, title, word_count, noindex) VALUES"
        " (7, 'http://shop/', 5, '', '', 'doc7', 'Shop', 1, 0), (8, 'http://shop/', 6, '', '', 'doc8', 'Shop', 1, 0)"
    )
    await engine.write(lambda conn: [conn.execute(sa.text(statement)) for statement in (sites, pages)])
    await engine.write(migrate, "the test's")
    assert await engine.write(_differences) == []
    search_index, ledger = SqlSearchIndex(engine, DEFAULT_TENANT), SqlLedger(engine, DEFAULT_TENANT)
    assert [(stats.tenant, stats.site) for stats in await search_index.site_stats(None)] == [("blue", 8), ("red", 7)]
    for site, at in ((7, 5), (8, 6)):
        [version] = await ledger.page_history(SiteId(site), Url.trusted("http://shop/"))
        assert (version.seen_at, version.ended_at, version.document) == (at, None, f"doc{site}")
    # New ids do not collide with those of the migration.
    run = await ledger.create_run("shop", CrawlSettings(seeds=("http://shop/",)), (), 9.0, "red")
    assert run.site == 7
    change = PageChange(Url.trusted("http://shop/new"), facts("new"), 9.0)
    await engine.write(store_changes, run.site, [change])
    assert len(await ledger.page_history(run.site, change.url)) == 1
    await engine.write(_downgrade, "0006")
    tenants = await engine.read(lambda conn: conn.execute(sa.text("SELECT id, tenant FROM sites ORDER BY id")).all())
    assert [tuple(row) for row in tenants] == [(7, "red"), (8, "blue")]


async def test_a_database_of_a_newer_version_is_refused(new_database: Database) -> None:
    engine = await new_database.engine()
    await engine.write(lambda conn: conn.execute(sa.update(versions).values(version_num="9999")))
    with pytest.raises(StorageError, match="newer version"):
        await new_database.engine()


async def test_foreign_tables_of_the_same_name_are_refused(new_database: Database) -> None:
    engine = await new_database.engine()
    await engine.write(versions.drop)
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
