"""Migrate a database to the current schema, in one transaction.

The tables of a new SQLite database are created from SQL, `sqlite_tables.sql`, which a test compares with `schema.py`: compiling
three dozen statements takes SQLAlchemy longer than a small crawl takes for all of its pages.

    python -m sitelore.store.migrations.current        regenerates it
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sitelore.model.errors import StorageError
from sitelore.store.runs.counts import recount_runs
from sitelore.store.schema import REVISION, complete_metadata, for_postgres, urls, versions
from sitelore.store.tenants import create_default_tenant, each_tenant, enable_row_security, suspend_row_security

_MIGRATION_LOCK = 7_358_102_944_861_371
"""Advisory lock (any number): keeps two servers from creating the same tables."""

SQLITE_TABLES = Path(__file__).with_name("sqlite_tables.sql")
_SEPARATOR = ";\n"


def migrate(conn: sa.Connection, name: str) -> None:
    """Create the tables of a new database, or upgrade an older one. Only upgrades import Alembic, which is slow to import."""
    if conn.dialect.name == "postgresql":
        complete_metadata()
        for_postgres()
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
    inspector = sa.inspect(conn)
    if inspector.has_table(versions.name):
        revision = conn.scalar(sa.select(versions.c.version_num))
        if revision != REVISION:
            _refuse_newer(revision, name)
            suspend_row_security(conn)
            upgrade(conn)
            for tenant in each_tenant(conn):
                recount_runs(conn, tenant)
            enable_row_security(conn)
    elif inspector.has_table(urls.name):
        raise StorageError(f"The database {name} contains tables that are not Sitelore's.")
    else:
        if conn.dialect.name == "sqlite" and not inspector.get_table_names():
            make_tables(conn)
        else:
            complete_metadata().create_all(conn)
            versions.create(conn)
        create_default_tenant(conn)
        enable_row_security(conn)
        conn.execute(sa.insert(versions).values(version_num=REVISION))


def _refuse_newer(revision: str | None, name: str) -> None:
    if revision is not None and revision > REVISION:
        raise StorageError(f"The database {name} was written by a newer version of Sitelore ({revision}); install it.")


def upgrade(conn: sa.Connection) -> None:
    """Run all missing migrations."""
    from alembic import command  # noqa: PLC0415 - slow to import, and seldom needed
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = conn
    command.upgrade(config, "head")


def make_tables(conn: sa.Connection) -> None:
    """Create all tables in an empty database."""
    for statement in SQLITE_TABLES.read_text(encoding="utf-8").removesuffix(_SEPARATOR).split(_SEPARATOR):
        conn.exec_driver_sql(statement)


def sqlite_tables() -> str:
    """The expected content of the file."""
    complete_metadata()
    tables: list[str] = []
    indexes: list[str] = []

    def collect(statement: Any, *_: Any, **__: Any) -> None:
        lines = str(statement.compile(dialect=engine.dialect)).strip().splitlines()
        (tables if lines[0].startswith("CREATE TABLE") else indexes).append("\n".join(line.rstrip() for line in lines))

    engine = sa.create_mock_engine("sqlite://", collect)
    complete_metadata().create_all(engine, checkfirst=False)
    versions.create(engine, checkfirst=False)
    return "".join(
        f"{statement}{_SEPARATOR}" for statement in (*tables, *sorted(indexes))
    )  # SQLAlchemy emits indexes in no fixed order


if __name__ == "__main__":
    SQLITE_TABLES.write_text(sqlite_tables(), encoding="utf-8")
