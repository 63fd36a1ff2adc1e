"""robots.txt files as received, by origin."""

from __future__ import annotations

import sqlalchemy as sa

from sitelore.model.response import RobotsFile
from sitelore.store.rows import storable
from sitelore.store.schema import robots
from sitelore.store.statements import insert_for


def save_robots(conn: sa.Connection, file: RobotsFile) -> None:
    """Store a robots.txt in place of the origin's earlier one."""
    values = {
        "origin": file.origin, "fetched_at": file.fetched_at, "status": file.status,
        "body": storable(file.body) or "", "detail": storable(file.detail) or "",
    }  # fmt: skip
    insert = insert_for(conn.dialect.name)(robots).values(values)
    conn.execute(insert.on_conflict_do_update(index_elements=["origin"], set_=values))


def find_robots(conn: sa.Connection, origin: str) -> RobotsFile | None:
    """The robots.txt last received from this origin."""
    row = conn.execute(sa.select(robots).where(robots.c.origin == origin)).one_or_none()
    return None if row is None else RobotsFile(row.origin, row.fetched_at, row.status, row.body, row.detail)
