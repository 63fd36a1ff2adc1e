"""Deletes runs, sites and tenants, and lists the blobs that are still needed. Every function is part of one transaction.

Foreign keys delete most rows with the run, site or tenant they belong to; the tables without one are emptied here. Blobs are
deleted later by `app/deletion.py`, because other rows may refer to the same content.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from sitelore.model.ids import BlobKey, RunId, SiteId, TenantId
from sitelore.model.states import ENDED
from sitelore.store.frontier.claims import lock_runs
from sitelore.store.schema import (
    chunk_texts,
    chunks,
    events,
    idempotency_keys,
    links,
    page_versions,
    pages,
    postings,
    robots,
    runs,
    sites,
    tenants,
    urls,
    vectors,
)
from sitelore.store.statements import batches
from sitelore.store.vectors import pgvector

REFERENCES_PER_READ = 2_000

BLOB_COLUMNS: tuple[tuple[sa.Column[Any], ...], ...] = (
    (page_versions.c.document,),
    (pages.c.document, pages.c.snapshot, pages.c.screenshot, pages.c.indexed),
    (urls.c.document, urls.c.snapshot, urls.c.screenshot),
)
"""All columns that hold keys of blobs, by table. `urls` is last: a visit that finds a page unchanged copies its keys from `pages`,
so a key that is no longer in `pages` when that table is read is in `urls` by then."""

_ENDED = frozenset(state.value for state in ENDED)


class ReferencePage(NamedTuple):
    """A part of all references to blobs, and where the next one begins; None after the last one."""

    keys: set[BlobKey]
    next: tuple[int, tuple[Any, ...] | None] | None


def delete_run(conn: sa.Connection, tenant: TenantId, run: RunId) -> bool:
    """Delete a run and its rows; the pages of its site stay. False when there is no such run or it has not ended."""
    lock_runs(conn, tenant, [run])
    this_run = sa.and_(runs.c.tenant_id == tenant, runs.c.id == run)
    if conn.scalar(sa.select(runs.c.state).where(this_run)) not in _ENDED:
        return False
    _overwrite_deleted_rows(conn)
    _delete_runs(conn, tenant, [run])
    return True


def delete_site(conn: sa.Connection, tenant: TenantId, site: SiteId) -> bool:
    """Delete a site with its runs, pages, versions, links and search index. False when it is missing or has an active run."""
    this_site = sa.and_(sites.c.tenant_id == tenant, sites.c.id == site)
    # `create_run` takes a weaker lock on this row, so no run can be created meanwhile.
    if conn.execute(sa.select(sites.c.id).where(this_site).with_for_update()).first() is None:
        return False
    of_site = sa.and_(runs.c.tenant_id == tenant, runs.c.site_id == site)
    found = conn.execute(sa.select(runs.c.id, runs.c.state).where(of_site).order_by(runs.c.id)).all()
    if any(row.state not in _ENDED for row in found):
        return False
    _overwrite_deleted_rows(conn)
    run_ids = [row.id for row in found]
    lock_runs(conn, tenant, run_ids)
    _delete_robots(conn, tenant, run_ids)
    _delete_runs(conn, tenant, run_ids)
    texts = conn.scalars(
        sa.select(chunks.c.text_hash).where(chunks.c.tenant_id == tenant, chunks.c.site_id == site).distinct()
    ).all()
    pgvector.remove(conn, tenant, site)
    of_versions = sa.select(page_versions.c.id).where(page_versions.c.tenant_id == tenant, page_versions.c.site_id == site)
    conn.execute(sa.delete(links).where(links.c.tenant_id == tenant, links.c.version_id.in_(of_versions)))
    for table in (chunks, chunk_texts, postings):
        conn.execute(sa.delete(table).where(table.c.tenant_id == tenant, table.c.site_id == site))
    _delete_vectors(conn, tenant, texts)
    conn.execute(sa.delete(sites).where(this_site))
    return True


def delete_tenant(conn: sa.Connection, tenant: TenantId) -> bool:
    """Delete a tenant with everything of it. False when there is none, or a run of it has not ended."""
    if conn.execute(sa.select(tenants.c.id).where(tenants.c.id == tenant).with_for_update()).first() is None:
        return False
    if conn.scalar(sa.select(sa.func.count()).where(runs.c.tenant_id == tenant, runs.c.state.not_in(_ENDED))):
        return False
    for site in conn.scalars(sa.select(sites.c.id).where(sites.c.tenant_id == tenant)).all():
        delete_site(conn, tenant, SiteId(site))
    _overwrite_deleted_rows(conn)
    conn.execute(sa.delete(vectors).where(vectors.c.tenant_id == tenant))
    conn.execute(sa.delete(tenants).where(tenants.c.id == tenant))
    return True


def _delete_runs(conn: sa.Connection, tenant: TenantId, ids: Sequence[RunId]) -> None:
    for table in (events, idempotency_keys):
        for batch in batches(ids):
            conn.execute(sa.delete(table).where(table.c.tenant_id == tenant, table.c.run_id.in_(batch)))
    for run in ids:
        conn.execute(sa.delete(runs).where(runs.c.tenant_id == tenant, runs.c.id == run))


def _delete_robots(conn: sa.Connection, tenant: TenantId, ids: Sequence[RunId]) -> None:
    """Delete the stored robots.txt of all hosts of these runs. Where another site has the host, its next run fetches it again."""
    hosts: set[str] = set()
    for run in ids:
        of_run = sa.select(urls.c.host).where(urls.c.tenant_id == tenant, urls.c.run_id == run)
        hosts.update(conn.scalars(of_run.distinct()))
    for batch in batches(sorted(f"{scheme}://{host}" for host in hosts for scheme in ("http", "https"))):
        conn.execute(sa.delete(robots).where(robots.c.tenant_id == tenant, robots.c.origin.in_(batch)))


def _delete_vectors(conn: sa.Connection, tenant: TenantId, texts: Sequence[str]) -> None:
    """Delete the vectors of these texts where no chunk of another site of the tenant has the text."""
    is_used = sa.exists().where(chunks.c.tenant_id == tenant, chunks.c.text_hash == vectors.c.text_hash).correlate(vectors)
    for batch in batches(sorted(texts)):
        conn.execute(sa.delete(vectors).where(vectors.c.tenant_id == tenant, vectors.c.text_hash.in_(batch), ~is_used))


def _overwrite_deleted_rows(conn: sa.Connection) -> None:
    """Let SQLite overwrite with zeros what this connection deletes from now on; otherwise the text stays in the file."""
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql("PRAGMA secure_delete = ON")


def site_named(conn: sa.Connection, tenant: TenantId, name: str) -> SiteId | None:
    """The id of the tenant's site of this name."""
    found = conn.scalar(sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.name == name))
    return None if found is None else SiteId(found)


def blob_references(conn: sa.Connection, tenant: TenantId, table: int, after: tuple[Any, ...] | None) -> ReferencePage:
    """Keys of blobs in the next rows of a table of `BLOB_COLUMNS`, in the order of its primary key."""
    columns = BLOB_COLUMNS[table]
    rows_table = columns[0].table
    key = [column for column in rows_table.primary_key if column.name != "tenant_id"]
    query = sa.select(*columns, *key).where(rows_table.c.tenant_id == tenant).order_by(*key).limit(REFERENCES_PER_READ)
    if after is not None:
        last = sa.tuple_(*(sa.bindparam(None, value, column.type) for value, column in zip(after, key, strict=True)))
        query = query.where(sa.tuple_(*key) > last)
    rows = conn.execute(query).all()
    keys = {BlobKey(value) for row in rows for value in row[: len(columns)] if value}
    if len(rows) == REFERENCES_PER_READ:
        return ReferencePage(keys, (table, tuple(rows[-1][len(columns) :])))
    return ReferencePage(keys, (table + 1, None) if table + 1 < len(BLOB_COLUMNS) else None)
