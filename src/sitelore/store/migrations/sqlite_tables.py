"""The tables of a new SQLite database as SQL: `sqlite_tables.sql`, which a test compares with `schema.py`.

    python -m sitelore.store.migrations.sqlite_tables        regenerates it

Compiling three dozen statements takes SQLAlchemy longer than a small crawl takes for all of its pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sitelore.store.schema import metadata, versions

FILE = Path(__file__).with_suffix(".sql")
_SEPARATOR = ";\n"


def make_tables(conn: sa.Connection) -> None:
    """Create all tables in an empty database."""
    for statement in FILE.read_text(encoding="utf-8").removesuffix(_SEPARATOR).split(_SEPARATOR):
        conn.exec_driver_sql(statement)


def sqlite_tables() -> str:
    """The expected content of the file."""
    tables: list[str] = []
    indexes: list[str] = []

    def collect(statement: Any, *_: Any, **__: Any) -> None:
        lines = str(statement.compile(dialect=engine.dialect)).strip().splitlines()
        (tables if lines[0].startswith("CREATE TABLE") else indexes).append("\n".join(line.rstrip() for line in lines))

    engine = sa.create_mock_engine("sqlite://", collect)
    metadata.create_all(engine, checkfirst=False)
    versions.create(engine, checkfirst=False)
    return "".join(
        f"{statement}{_SEPARATOR}" for statement in (*tables, *sorted(indexes))
    )  # SQLAlchemy emits indexes in no fixed order


if __name__ == "__main__":
    FILE.write_text(sqlite_tables(), encoding="utf-8")
