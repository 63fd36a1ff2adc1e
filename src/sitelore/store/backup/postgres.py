"""Backups of Postgres by its own programs, `pg_dump` and `pg_restore`."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from sitelore.model.errors import StorageError, UsageError
from sitelore.model.ids import TenantId
from sitelore.store.engine import PostgresConfig, PostgresEngine
from sitelore.store.schema import ID_SEQUENCES, metadata, urls, versions
from sitelore.store.tenants import enable_row_security, for_all_tenants, list_tenants

_OTHERS = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend'"
)
_HINT = "; connect as a role with BYPASSRLS, such as a superuser, for this command"


def require_program(name: str) -> str:
    """The path of a Postgres program; an error says how to install it."""
    path = shutil.which(name)
    if path is None:
        raise UsageError(f"{name} is not installed; install the client of your Postgres version (Debian: postgresql-client)")
    return path


async def dump(url: str, target: Path, environment: Mapping[str, str]) -> None:
    """Write one consistent state of the database into a file, without the vectors of pgvector, which are derived.

    The file is in the custom format, which is compressed; an older one is replaced when the new one is complete.
    """
    program, reader = require_program("pg_dump"), require_program("pg_restore")
    unfinished = target.with_name(f"{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    # Tables alone: an extension could only be restored by a superuser.
    options = ("--format=custom", "--no-owner", "--no-privileges", "--table=public.*")
    await _run([program, *options, f"--file={unfinished}"], url, environment)
    await _run([reader, "--list", "--file=/dev/null", str(unfinished)], url, environment)
    unfinished.replace(target)


async def restore(url: str, source: Path, environment: Mapping[str, str]) -> None:
    """Create the tables of a dump, in one transaction."""
    program = require_program("pg_restore")
    options = ("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error")
    await _run([program, *options, f"--dbname={sa.make_url(url).database}", str(source)], url, environment)


async def _run(command: list[str], url: str, environment: Mapping[str, str]) -> None:
    """Run a program. The address goes by the environment: other users can read command lines."""
    process = await asyncio.create_subprocess_exec(
        *command, env={**environment, **_connection(url)}, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        _, errors = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        text = " ".join(errors.decode("utf-8", "replace").split())[:500]
        hint = _HINT if "row-level security" in text else ""
        raise StorageError(f"{Path(command[0]).name} failed: {text.rstrip('.')}{hint}")


def _connection(url: str) -> dict[str, str]:
    """The variables by which Postgres' programs find the database."""
    parts = sa.make_url(url)
    variables = {
        "PGHOST": parts.host, "PGPORT": str(parts.port or ""), "PGUSER": parts.username, "PGPASSWORD": parts.password,
        "PGDATABASE": parts.database,
    }  # fmt: skip
    for option, variable in (("host", "PGHOST"), ("port", "PGPORT"), ("sslmode", "PGSSLMODE"), ("ssl", "PGSSLMODE")):
        if option in parts.query:
            value = parts.query[option]
            variables[variable] = unquote(value if isinstance(value, str) else value[-1])
    return {name: str(value) for name, value in variables.items() if value}


def connect(url: str) -> PostgresEngine:
    """An engine on this database that neither migrates it nor takes the application's role."""
    from sqlalchemy.ext.asyncio import create_async_engine  # noqa: PLC0415 - a backup of a data directory needs none of it

    address = sa.make_url(url).set(drivername="postgresql+asyncpg")
    name = address.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
    return PostgresEngine(create_async_engine(address, poolclass=NullPool), name, PostgresConfig())


async def dump_state(engine: PostgresEngine) -> tuple[bool, int]:
    """Whether the database has tables of ours, and how many other connections to it there are."""

    def read(conn: sa.Connection) -> tuple[bool, int]:
        return sa.inspect(conn).has_table(urls.name), int(conn.scalar(_OTHERS) or 0)

    return await engine.read(read)


async def revision_of(engine: PostgresEngine) -> str:
    """The revision of the schema."""
    return str(await engine.read(lambda conn: conn.scalar(sa.select(versions.c.version_num))))


async def tenant_ids(engine: PostgresEngine) -> list[TenantId]:
    """The ids of all tenants."""
    return [tenant.id for tenant in await engine.read(for_all_tenants, list_tenants)]


async def drop_tables(engine: PostgresEngine) -> None:
    """Delete all tables of ours, those of a newer version included, and the vectors that are derived from them."""
    from sitelore.store.platform import schema as _  # noqa: F401, PLC0415 - adds its tables to `metadata`

    def drop(conn: sa.Connection) -> None:
        conn.exec_driver_sql("DROP SCHEMA IF EXISTS sitelore_vectors CASCADE")
        for table in (*metadata.sorted_tables, versions):
            conn.exec_driver_sql(f"DROP TABLE IF EXISTS {table.name} CASCADE")
        for name in ID_SEQUENCES:
            conn.exec_driver_sql(f"DROP SEQUENCE IF EXISTS {name}_ids CASCADE")

    await engine.write(drop)


async def secure(engine: PostgresEngine) -> None:
    """Create the application's role and its permissions again, which a dump does not contain."""
    from sitelore.store.platform import schema as _  # noqa: F401, PLC0415 - adds its tables to `metadata`

    await engine.write(enable_row_security)
