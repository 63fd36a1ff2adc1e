"""Fixtures: the ledger on SQLite in a file, and on a real Postgres."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from scripts.servers import LocalServers
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from tests.support.workers import administer, create_database, drop_database, temporary_database

from sitelore.model.ids import DEFAULT_TENANT
from sitelore.store.engine import PostgresConfig, PostgresEngine, SqliteEngine, open_postgres, open_sqlite
from sitelore.store.ledger import SqlLedger, SqlRunQueue
from sitelore.store.schema import complete_metadata
from sitelore.store.vectors.pgvector import SCHEMA as VECTORS


class Database:
    """An empty database for one test. The fixture closes all engines opened through it."""

    def __init__(self, where: Path | str) -> None:
        self.where = where
        self._opened: list[SqliteEngine | PostgresEngine] = []

    async def engine(self) -> SqliteEngine | PostgresEngine:
        engine = await (
            open_sqlite(self.where) if isinstance(self.where, Path) else open_postgres(self.where, PostgresConfig(pool_size=4))
        )
        self._opened.append(engine)
        return engine

    async def ledger(self) -> SqlLedger:
        return SqlLedger(await self.engine(), DEFAULT_TENANT)

    async def owner(self) -> SqliteEngine | PostgresEngine:
        """An engine without the restrictions of the application: it may create tables, and sees all tenants."""
        if isinstance(self.where, Path):
            return await self.engine()
        address = sa.make_url(self.where).set(drivername="postgresql+asyncpg")
        owner = PostgresEngine(create_async_engine(address, poolclass=NullPool), "owner", PostgresConfig())
        self._opened.append(owner)
        return owner

    async def queue(self) -> SqlRunQueue:
        return SqlRunQueue(await self.engine())

    async def tenants(self, *names: str) -> list[SqlLedger]:
        """The ledgers of new tenants."""
        engine = await self.engine()
        made = [await SqlRunQueue(engine).create_tenant(name, 0.0) for name in names]
        return [SqlLedger(engine, tenant.id) for tenant in made]

    async def close(self) -> None:
        for engine in self._opened:
            await engine.close()
        self._opened.clear()


@pytest.fixture(scope="session")
def postgres_url(request: pytest.FixtureRequest) -> str:
    """A Postgres server on which tests create databases."""
    return os.environ.get("SITELORE_TEST_DATABASE_URL") or _local(request).postgres.url


@pytest.fixture(scope="session")
def redis_url(request: pytest.FixtureRequest) -> str:
    """A Redis that tests may flush."""
    return os.environ.get("SITELORE_TEST_REDIS_URL") or _local(request).valkey.url


@pytest.fixture(scope="session")
def s3_url(request: pytest.FixtureRequest) -> str:
    """An S3 bucket that tests may write to."""
    return os.environ.get("SITELORE_TEST_BLOBS_URL") or _local(request).s3.url


def _local(request: pytest.FixtureRequest) -> LocalServers:
    """Local servers, started only when a test needs one and the environment names none."""
    servers = request.getfixturevalue("servers")
    assert isinstance(servers, LocalServers)
    return servers


@pytest.fixture(scope="session")
def emptied_url(postgres_url: str) -> Iterator[str]:
    """A database that every test empties: creating one for each test would take longer than the tests."""
    with ThreadPoolExecutor(1) as thread:  # this thread has a running event loop
        url = thread.submit(asyncio.run, create_database(postgres_url)).result()
        yield url
        thread.submit(asyncio.run, drop_database(postgres_url, url)).result()


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database of each kind, its tables empty."""
    if request.param == "sqlite":
        database = Database(tmp_path / "ledger.db")
        yield database
        await database.close()
        return
    url = str(request.getfixturevalue("emptied_url"))
    database = Database(url)
    try:
        yield database
    finally:
        await database.close()
        tables = ", ".join(table.name for table in complete_metadata().sorted_tables)
        await administer(url, f"TRUNCATE {tables} RESTART IDENTITY")
        await administer(url, "INSERT INTO tenants (name, created_at, plan) VALUES ('default', 0, 'ENTERPRISE')")
        await administer(url, f"DROP SCHEMA IF EXISTS {VECTORS} CASCADE")


@pytest.fixture(params=["sqlite", "postgres"])
async def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database of each kind without tables."""
    if request.param == "sqlite":
        database = Database(tmp_path / "ledger.db")
        yield database
        await database.close()
        return
    async with temporary_database(str(request.getfixturevalue("postgres_url"))) as url:
        database = Database(url)
        try:
            yield database
        finally:
            await database.close()


@pytest.fixture
async def ledger(database: Database) -> SqlLedger:
    """A ledger over an empty database of each kind."""
    return await database.ledger()


@pytest.fixture
async def queue(database: Database) -> SqlRunQueue:
    """The run queue of all tenants over the same database as `ledger`."""
    return await database.queue()
