"""Migrate a database to the current schema, in one transaction."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from sitelore.model.errors import StorageError
from sitelore.store.migrations.sqlite_tables import make_tables
from sitelore.store.schema import REVISION, for_postgres, metadata, urls, versions

_MIGRATION_LOCK = 7_358_102_944_861_371
"""Advisory lock (any number): keeps two servers from creating the same tables."""


def migrate(conn: sa.Connection, name: str) -> None:
    """Create the tables of a new database, or upgrade an older one. Only upgrades import Alembic, which is slow to import."""
    if conn.dialect.name == "postgresql":
        for_postgres()
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
    inspector = sa.inspect(conn)
    if inspector.has_table(versions.name):
        revision = conn.scalar(sa.select(versions.c.version_num))
        if revision != REVISION:
            _refuse_newer(revision, name)
            upgrade(conn)
    elif inspector.has_table(urls.name):
        raise StorageError(f"The database {name} contains tables that are not Sitelore's.")
    else:
        if conn.dialect.name == "sqlite" and not inspector.get_table_names():
            make_tables(conn)
        else:
            metadata.create_all(conn)
            versions.create(conn)
        conn.execute(sa.insert(versions).values(version_num=REVISION))


def _refuse_newer(revision: str | None, name: str) -> None:
    if revision is not None and revision > REVISION:
        raise StorageError(f"The database {name} was written by a newer version of Sitelore ({revision}).")


def upgrade(conn: sa.Connection) -> None:
    """Run all missing migrations."""
    from alembic import command  # noqa: PLC0415 - slow to import, and seldom needed
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = conn
    command.upgrade(config, "head")
