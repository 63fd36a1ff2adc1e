"""Opens copies of a database, and kills the process in the middle of each migration.

    python -m tests.support.killed_migration COPY...

A COPY is the path of an SQLite file or the URL of a Postgres database. The first one is migrated to its end, to count the
statements. Each of the others is opened in a process of its own, which kills itself before one of these statements. The points
are spread evenly over the migration; the last one is the commit. Prints the number of statements and the exit codes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import alembic.command
import alembic.config
import asyncpg
import sqlalchemy as sa
import sqlalchemy.ext.asyncio

from sitelore.store.engine import PostgresConfig, open_postgres, open_sqlite

_USED_BY_MIGRATIONS = (alembic.command, alembic.config, asyncpg, sqlalchemy.ext.asyncio)
"""Imported here, once for all processes: the migration itself imports them only when it needs them."""


async def _open(where: str) -> None:
    if where.startswith("postgres"):
        await (await open_postgres(where, PostgresConfig(pool_size=2))).close()
    else:
        await (await open_sqlite(Path(where))).close()


def _before_each_statement(action: Callable[[], object]) -> None:
    """Call a function before each statement and each commit."""

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def statement(*_: Any) -> None:
        action()

    @sa.event.listens_for(sa.Engine, "commit")
    def commit(*_: Any) -> None:
        action()


def _in_child(work: Callable[[int], None]) -> tuple[bytes, int]:
    """Run a function in a forked process, which imports nothing again; return what it wrote to its pipe, and its exit code."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        work(writing)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        written = pipe.read()
    return written, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _count(where: str) -> int:
    """Migrate to the end; return how many statements and commits that took."""

    def work(pipe: int) -> None:
        _before_each_statement(lambda: os.write(pipe, b"."))
        asyncio.run(_open(where))

    written, code = _in_child(work)
    assert code == 0, code
    return len(written)


def _kill_before(where: str, number: int) -> int:
    """Migrate until the statement with this number, and be killed there; return the exit code."""

    def work(pipe: int) -> None:
        left = iter(range(number - 1, -1, -1))
        _before_each_statement(lambda: os.kill(os.getpid(), signal.SIGKILL) if not next(left) else None)
        asyncio.run(_open(where))

    return _in_child(work)[1]


def main() -> None:
    whole, *copies = sys.argv[1:]
    total = _count(whole)
    print(total, *(_kill_before(copy, total * (n + 1) // len(copies)) for n, copy in enumerate(copies)))


if __name__ == "__main__":
    main()
