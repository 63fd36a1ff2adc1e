"""Bring a database to the current schema, as part of one transaction."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from sitelore.model.errors import StorageError
from sitelore.store.migrations.sqlite_tables import make_tables
from sitelore.store.schema import REVISION, for_postgres, metadata, urls, versions

_ONE_AT_A_TIME = 7_358_102_944_861_371
"""Any number: the advisory lock that keeps two servers from making the same tables."""


def migrate(conn: sa.Connection, name: str) -> None:
    """A new database is made from the tables and stamped; Alembic, slow to import, is called for older ones alone."""
    if conn.dialect.name == "postgresql":
        for_postgres()
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
    found = sa.inspect(conn)
    if found.has_table(versions.name):
        revision = conn.scalar(sa.select(versions.c.version_num))
        if revision != REVISION:
            _refuse_newer(revision, name)
            upgrade(conn)
    elif found.has_table(urls.name):
        raise StorageError(f"The database {name} holds tables that are not Sitelore's.")
    else:
        if conn.dialect.name == "sqlite" and not found.get_table_names():
            make_tables(conn)
        else:
            metadata.create_all(conn)
            versions.create(conn)
        conn.execute(sa.insert(versions).values(version_num=REVISION))


def _refuse_newer(revision: str | None, name: str) -> None:
    if revision is not None and revision > REVISION:
        raise StorageError(f"The database {name} was written by a newer version of Sitelore ({revision}).")


def upgrade(conn: sa.Connection) -> None:
    """Every step that is missing."""
    from alembic import command  # noqa: PLC0415 - slow to import, and seldom needed
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = conn
    command.upgrade(config, "head")
