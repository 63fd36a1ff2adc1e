"""Indexing a batch reads the rows of that batch, however many pages the site has (SQLite)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from sitelore.model.ids import DEFAULT_TENANT, BlobKey, SiteId
from sitelore.model.search import IndexedPage
from sitelore.model.url import Url
from sitelore.store.engine import open_sqlite
from sitelore.store.index.writes import open_epoch, pages_to_index, write_pages
from sitelore.store.pages import site_urls as url_ids
from sitelore.store.schema import pages, site_urls, sites

SITE = SiteId(1)


def _fill(conn: sa.Connection) -> None:
    conn.execute(sa.insert(sites).values(tenant_id=DEFAULT_TENANT, id=SITE, name="site.test", created_at=0))
    page = {
        "tenant_id": DEFAULT_TENANT,
        "site_id": SITE,
        "fetched_at": 0,
        "content_hash": "",
        "novelty": "",
        "title": "",
        "word_count": 1,
        "noindex": 0,
    }
    named = {"tenant_id": DEFAULT_TENANT, "site_id": SITE}
    conn.execute(sa.insert(site_urls), [{**named, "id": 200 - n, "url": f"http://site.test/{n:03}"} for n in range(200)])
    conn.execute(sa.insert(pages), [{**page, "url_id": 200 - n, "document": f"{n}"} for n in range(200)])


def _plans_of_a_batch(conn: sa.Connection) -> list[str]:
    """The query plan of each statement on `pages` that indexing a batch executes."""
    statements: list[tuple[str, Any]] = []

    def collect(_conn: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, executemany: bool) -> None:
        if " pages" in statement:
            statements.append((statement, parameters[0] if executemany else parameters))

    sa.event.listen(conn, "before_cursor_execute", collect)
    open_epoch(conn, DEFAULT_TENANT, SITE, "epoch")
    for _ in range(2):
        batch = pages_to_index(conn, DEFAULT_TENANT, SITE, 32, "http://site.test/100")
        write_pages(conn, DEFAULT_TENANT, SITE, "epoch", [IndexedPage(Url(page.url), BlobKey(page.document)) for page in batch])
    sa.event.remove(conn, "before_cursor_execute", collect)
    plans = []
    for statement, parameters in statements:
        if not statement.startswith("UPDATE pages SET indexed_epoch"):  # once for each epoch, not for each batch
            rows = conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.append(" / ".join(row[3] for row in rows))
    return plans


_BY_KEY = "SEARCH pages USING INDEX sqlite_autoindex_pages_1 (tenant_id=? AND site_id=? AND url_id=?)"
_WAITING = (
    "SEARCH pages USING INDEX pages_to_index (tenant_id=? AND site_id=?)"
    " / SEARCH site_urls USING PRIMARY KEY (tenant_id=? AND id=?)"
)
_COUNTED = f"CO-ROUTINE anon_1 / {_WAITING} / SCAN anon_1"
_STALE = "SEARCH pages USING INDEX pages_stale (tenant_id=? AND site_id=?)"
_SORTED = f"{_WAITING} / USE TEMP B-TREE FOR ORDER BY"
_WALKED = f"SEARCH site_urls USING INDEX site_urls_named (tenant_id=? AND site_id=? AND url>?) / {_BY_KEY}"


@pytest.mark.parametrize(("few_rows", "read"), [(200, _SORTED), (100, _WALKED)])
async def test_a_batch_is_indexed_without_reading_all_pages(
    few_rows: int, read: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url_ids, "FEW_ROWS", few_rows)
    engine = await open_sqlite(tmp_path / "ledger.db")
    await engine.write(_fill)
    plans = await engine.write(_plans_of_a_batch)
    await engine.close()
    assert set(plans) == {_COUNTED, read, _STALE, _BY_KEY}


@pytest.mark.parametrize("few_rows", [200, 100])
async def test_pages_wait_for_indexing_in_the_order_of_their_urls(
    few_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url_ids, "FEW_ROWS", few_rows)
    engine = await open_sqlite(tmp_path / "ledger.db")
    await engine.write(_fill)
    first = await engine.read(pages_to_index, DEFAULT_TENANT, SITE, 3)
    assert [page.url[-3:] for page in first] == ["000", "001", "002"]
    others = await engine.read(pages_to_index, DEFAULT_TENANT, SITE, 500, first[-1].url)
    assert [page.url[-3:] for page in others] == [f"{n:03}" for n in range(3, 200)]
    await engine.close()
