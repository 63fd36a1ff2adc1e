"""The list of a channel's pages looks up the last visit of each page, however many pages the site has (SQLite)."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from sitelore.model.ids import DEFAULT_TENANT, SiteId
from sitelore.store.engine import open_sqlite
from sitelore.store.platform.channels import pages


async def test_no_table_is_read_whole_for_each_page(tmp_path: Path) -> None:
    engine = await open_sqlite(tmp_path / "sitelore.db")

    def plan(conn: sa.Connection) -> list[str]:
        query = pages._pages(DEFAULT_TENANT, SiteId(1), [1, 2])
        statement = str(query.compile(conn, compile_kwargs={"literal_binds": True}))
        return [row[3] for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}")]

    steps = await engine.read(plan)
    await engine.close()
    assert [step for step in steps if step.startswith("SCAN")] == []
    visits = [step for step in steps if step.startswith("SEARCH urls") and "LEFT-JOIN" in step]
    assert visits == ["SEARCH urls USING INDEX sqlite_autoindex_urls_1 (tenant_id=? AND run_number=? AND url_id=?) LEFT-JOIN"]
