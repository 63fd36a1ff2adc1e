"""Integer ids of URLs: assigns and finds them. Every table but `site_urls` names the URLs of a site by id."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.model.ids import TenantId
from sitelore.store.schema import KEY_CHARS, key_of, site_urls
from sitelore.store.statements import BATCH, SITE, TENANT, Statement, execute_many, insert_for, next_ids, select_in_batches

SqlValue = sa.ColumnElement[Any]

_ids_of_keys = sa.select(site_urls.c.url, site_urls.c.id).where(
    site_urls.c.tenant_id == TENANT, site_urls.c.site_id == SITE, site_urls.c.url.in_(BATCH)
)


class UrlIds:
    """The ids of a site's URLs, each looked up once in a transaction."""

    def __init__(self, conn: sa.Connection, tenant: TenantId, site: int) -> None:
        self._conn, self._tenant, self._site = conn, tenant, site
        self._ids: dict[str, int] = {}

    def __getitem__(self, url: str) -> int:
        """The id of a URL that was added."""
        return self._ids[url]

    def get(self, url: str) -> int | None:
        """The id of a URL that was looked up, if it has one."""
        return self._ids.get(url)

    def find(self, urls: Iterable[str]) -> set[int]:
        """Look up the ids of these URLs, and give those that there are."""
        wanted = set(urls)
        self._read({key_of(url): url for url in wanted if url not in self._ids})
        return {self._ids[url] for url in wanted if url in self._ids}

    def add(self, urls: Iterable[str]) -> None:
        """Look up the ids of these URLs; those that have none get one."""
        by_key = {key_of(url): url for url in urls if url not in self._ids}
        self._read(by_key)
        missing = {key: url for key, url in by_key.items() if url not in self._ids}
        if missing:
            self._insert(sorted(missing), missing)
            self._read(missing)  # another transaction may have been first

    def _read(self, by_key: Mapping[str, str]) -> None:
        rows = select_in_batches(self._conn, _ids_of_keys, by_key, tenant=self._tenant, site=self._site)
        self._ids.update((by_key[row[0]], row[1]) for row in rows)

    def _insert(self, keys: Sequence[str], by_key: Mapping[str, str]) -> None:
        new_ids = next_ids(self._conn, self._tenant, site_urls, len(keys))
        rows = [
            (self._tenant, url_id, self._site, key, str(by_key[key]) if len(by_key[key]) > KEY_CHARS else None)
            for url_id, key in zip(new_ids, keys, strict=True)
        ]
        execute_many(self._conn, _url_statement, rows)


def url_ids(conn: sa.Connection, tenant: TenantId, site: int, urls: Collection[str]) -> dict[str, int]:
    """The ids of URLs; those that have none get one."""
    ids = UrlIds(conn, tenant, site)
    ids.add(urls)
    return {url: ids[url] for url in urls}


def find_url_id(conn: sa.Connection, tenant: TenantId, site: int | None, url: str) -> int | None:
    """The id of a URL of a site, if it has one."""
    row = conn.execute(_ids_of_keys, {"tenant": tenant, "site": site, "batch": [key_of(url)]}).one_or_none()
    return None if row is None else int(row.id)


def _url_statement(dialect_name: str) -> Statement:
    """Give a URL an id, unless it has one."""
    names = tuple(column.name for column in site_urls.c)
    insert = insert_for(dialect_name)(site_urls).values({name: sa.bindparam(name) for name in names})
    return insert.on_conflict_do_nothing(index_elements=["tenant_id", "site_id", "url"]), names


FEW_ROWS = 2_000
"""Up to this many rows are sorted for each part that is read in URL order; more are found by walking the index of URLs."""


def in_url_order(
    conn: sa.Connection, query: sa.Select[Any], site: SqlValue, values: Mapping[str, Any], after: str, limit: int
) -> Sequence[Any]:
    """The next rows of a query that joins `site_urls`, ordered by URL. `site`: the site of all these URLs.

    A site has many more URLs than it has pages, or rows in a small run; walking the index for a few rows would read them all.
    """
    first_rows = query.with_only_columns(sa.literal_column("1"), maintain_column_froms=True).limit(FEW_ROWS + 1).subquery()
    ordered = query.where(site_urls.c.url > sa.bindparam("after", type_=sa.Text)).order_by(site_urls.c.url)
    if (conn.scalar(sa.select(sa.func.count()).select_from(first_rows), values) or 0) > FEW_ROWS:
        ordered = ordered.where(site_urls.c.tenant_id == TENANT, site_urls.c.site_id == site)
    return conn.execute(ordered.limit(limit), {**values, "after": after}).all()
