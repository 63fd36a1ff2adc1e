"""Deletes runs, sites, tenants and old versions of pages, and lists the blobs that are still needed.

Every function but `vacuum_file` is part of one transaction. Foreign keys delete most rows with the run, site or tenant they
belong to; the tables without one are emptied here. Blobs are deleted later by `app/operations/deletion.py`, because other rows
may refer to the same content. `vacuum_file` removes the deleted text from SQLite files.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from sitelore.model.ids import BlobKey, RunId, SiteId, TenantId
from sitelore.model.states import ENDED
from sitelore.model.url import Url
from sitelore.store.engine import sqlite_error
from sitelore.store.frontier.claims import lock_runs
from sitelore.store.schema import (
    audit_settings,
    chunk_texts,
    chunks,
    events,
    idempotency_keys,
    links,
    metadata,
    page_versions,
    pages,
    postings,
    robots,
    runs,
    site_urls,
    sites,
    tenants,
    urls,
    vectors,
    visits,
)
from sitelore.store.statements import OF_RUN, OF_SITE, PAGES_WITH_URL, batches, retire_id

REFERENCES_PER_READ = 2_000
VERSIONS_PER_DELETE = 1_000

BLOB_COLUMNS: tuple[tuple[sa.Column[Any], ...], ...] = (
    (page_versions.c.document,),
    (pages.c.document, pages.c.snapshot, pages.c.screenshot, pages.c.indexed),
    (visits.c.document, visits.c.snapshot, visits.c.screenshot),
)
"""All columns that hold keys of blobs, by table. `visits` is last: a visit that finds a page unchanged copies keys from `pages`
to `visits`, so a key that moves while the tables are read is seen at least once."""

_HAS_PGVECTOR_TABLE = sa.text("SELECT to_regclass('sitelore_vectors.chunk_vectors') IS NOT NULL")
_ENDED = frozenset(state.value for state in ENDED)


class ReferencePage(NamedTuple):
    """A part of all references to blobs, and where the next one begins; None after the last one."""

    keys: set[BlobKey]
    next: tuple[int, tuple[Any, ...] | None] | None


def delete_run(conn: sa.Connection, tenant: TenantId, run: RunId) -> bool:
    """Delete a run and its rows; the pages of its site stay. False when the run does not exist or has not ended."""
    lock_runs(conn, tenant, [run])
    this_run = sa.and_(runs.c.tenant_id == tenant, runs.c.id == run)
    if conn.scalar(sa.select(runs.c.state).where(this_run)) not in _ENDED:
        return False
    _delete_runs(conn, tenant, [run])
    return True


def delete_site(conn: sa.Connection, tenant: TenantId, site: SiteId) -> bool:
    """Delete a site with its runs, pages, versions, links and search index. False when it is missing or has an active run."""
    this_site = sa.and_(sites.c.tenant_id == tenant, sites.c.id == site)
    # `create_run` takes a weaker lock on this row, so no run can be created meanwhile.
    name = conn.scalar(sa.select(sites.c.name).where(this_site).with_for_update())
    if name is None:
        return False
    of_site = sa.and_(runs.c.tenant_id == tenant, runs.c.site_id == site)
    of_runs = conn.execute(sa.select(runs.c.id, runs.c.state).where(of_site).order_by(runs.c.id)).all()
    if any(row.state not in _ENDED for row in of_runs):
        return False
    run_ids = [row.id for row in of_runs]
    lock_runs(conn, tenant, run_ids)
    _delete_robots(conn, tenant, _hosts(conn, tenant, site, run_ids) | {name})
    _delete_runs(conn, tenant, run_ids)
    _delete_pgvector_rows(conn, tenant, site)
    of_versions = sa.select(page_versions.c.id).where(page_versions.c.tenant_id == tenant, page_versions.c.site_id == site)
    conn.execute(sa.delete(links).where(links.c.tenant_id == tenant, links.c.version_id.in_(of_versions)))
    for table in (chunks, chunk_texts, postings):
        conn.execute(sa.delete(table).where(table.c.tenant_id == tenant, table.c.site_id == site))
    delete_unused_vectors(conn, tenant)
    of_audits = sa.and_(audit_settings.c.tenant_id == tenant, audit_settings.c.site_id == site)
    conn.execute(sa.delete(audit_settings).where(of_audits))
    conn.execute(sa.delete(sites).where(this_site))
    retire_id(conn, site)
    from sitelore.store.platform.media import delete_without_sites  # noqa: PLC0415 - not needed by a crawl

    delete_without_sites(conn, tenant)
    return True


def delete_tenant(conn: sa.Connection, tenant: TenantId) -> bool:
    """Delete a tenant with everything of it. False when there is none, or a run of it has not ended."""
    # With the row of the tenant and those of its sites locked, no site and no run can be created meanwhile.
    if conn.execute(sa.select(tenants.c.id).where(tenants.c.id == tenant).with_for_update()).first() is None:
        return False
    own_sites = sa.select(sites.c.id).where(sites.c.tenant_id == tenant).order_by(sites.c.id)
    site_ids = conn.scalars(own_sites.with_for_update()).all()
    if conn.scalar(sa.select(sa.func.count()).where(runs.c.tenant_id == tenant, runs.c.state.not_in(_ENDED))):
        return False
    for site in site_ids:
        delete_site(conn, tenant, SiteId(site))
    from sitelore.store.platform import schema as _  # noqa: F401, PLC0415 - adds its tables to `metadata`

    # Every table, whether it has a foreign key or not: a new one must not be forgotten here.
    for table in reversed(metadata.sorted_tables):
        if table is not tenants:
            conn.execute(sa.delete(table).where(table.c.tenant_id == tenant))
    conn.execute(sa.delete(tenants).where(tenants.c.id == tenant))
    retire_id(conn, tenant)
    return True


def delete_versions(conn: sa.Connection, tenant: TenantId, ended_before: float) -> int:
    """Delete up to `VERSIONS_PER_DELETE` versions of pages that ended before this time. Returns how many were deleted."""
    c = page_versions.c
    old = sa.select(c.id).where(c.tenant_id == tenant, c.ended_at < ended_before).limit(VERSIONS_PER_DELETE)
    ids = conn.scalars(old.with_for_update()).all()
    for batch in batches(ids):
        conn.execute(sa.delete(links).where(links.c.tenant_id == tenant, links.c.version_id.in_(batch)))
        conn.execute(sa.delete(page_versions).where(c.tenant_id == tenant, c.id.in_(batch)))
    return len(ids)


def runs_to_expire(conn: sa.Connection, tenant: TenantId, ended_before: float) -> list[RunId]:
    """Runs that ended before this time, oldest first, without the latest run of each site."""
    c, newer = runs.c, runs.alias("newer")
    is_newer = sa.tuple_(newer.c.created_at, newer.c.id) > sa.tuple_(c.created_at, c.id)
    has_newer = sa.exists().where(newer.c.tenant_id == tenant, newer.c.site_id == c.site_id, is_newer).correlate(runs)
    ended_at = sa.func.coalesce(c.finished_at, c.created_at)
    query = sa.select(c.id).where(c.tenant_id == tenant, c.state.in_(sorted(_ENDED)), ended_at < ended_before, has_newer)
    return [RunId(run) for run in conn.scalars(query.order_by(c.created_at, c.id))]


def _delete_runs(conn: sa.Connection, tenant: TenantId, ids: Sequence[RunId]) -> None:
    from sitelore.store.platform.webhooks import delete_deliveries_of_runs  # noqa: PLC0415 its tables are loaded on demand

    delete_deliveries_of_runs(conn, tenant, ids)
    for batch in batches(ids):
        _delete_events(conn, tenant, batch)
        of_batch = idempotency_keys.c.run_id.in_(batch)
        conn.execute(sa.delete(idempotency_keys).where(idempotency_keys.c.tenant_id == tenant, of_batch))
    for run in ids:
        conn.execute(sa.delete(runs).where(runs.c.tenant_id == tenant, runs.c.id == run))


def _delete_events(conn: sa.Connection, tenant: TenantId, ids: Sequence[RunId]) -> None:
    """Delete the events of runs. On SQLite the tenant's last event stays, without URL and facts.

    SQLite takes the next id from the largest one, and readers that have seen an id would miss an event that gets it again.
    """
    of_runs = sa.and_(events.c.tenant_id == tenant, events.c.run_id.in_(ids))
    if conn.dialect.name == "postgresql":
        conn.execute(sa.delete(events).where(of_runs))
        return
    last = conn.scalar(sa.select(sa.func.max(events.c.id)).where(events.c.tenant_id == tenant))
    conn.execute(sa.update(events).where(of_runs, events.c.id == last).values(url=None, facts=None))
    conn.execute(sa.delete(events).where(of_runs, events.c.id != last))


def _hosts(conn: sa.Connection, tenant: TenantId, site: SiteId, run_ids: Sequence[RunId]) -> set[str]:
    """The hosts, with their ports, of the site's pages and of everything that these runs admitted."""
    of_pages = sa.select(site_urls.c.url).select_from(PAGES_WITH_URL).where(OF_SITE)
    hosts = {Url.trusted(url).authority for url in conn.scalars(of_pages, {"tenant": tenant, "site": site})}
    admitted = sa.select(urls.c.host).where(OF_RUN, urls.c.seq.is_not(None)).distinct()
    for run in run_ids:
        hosts.update(conn.scalars(admitted, {"tenant": tenant, "run": run}))
    return hosts


def _delete_robots(conn: sa.Connection, tenant: TenantId, hosts: set[str]) -> None:
    """Delete the stored robots.txt of hosts. Where another site has the host, its next run fetches it again."""
    for batch in batches(sorted(f"{scheme}://{host}" for host in hosts for scheme in ("http", "https"))):
        conn.execute(sa.delete(robots).where(robots.c.tenant_id == tenant, robots.c.origin.in_(batch)))


def delete_unused_vectors(conn: sa.Connection, tenant: TenantId) -> None:
    """Delete the vectors of texts that no chunk of the tenant has any more."""
    is_used = sa.exists().where(chunks.c.tenant_id == tenant, chunks.c.text_hash == vectors.c.text_hash).correlate(vectors)
    conn.execute(sa.delete(vectors).where(vectors.c.tenant_id == tenant, ~is_used))


def _delete_pgvector_rows(conn: sa.Connection, tenant: TenantId, site: SiteId) -> None:
    if conn.dialect.name != "postgresql" or not conn.scalar(_HAS_PGVECTOR_TABLE):
        return
    from sitelore.store.vectors import pgvector  # noqa: PLC0415 - needs numpy, which is not installed without search

    pgvector.remove(conn, tenant, site)


def site_named(conn: sa.Connection, tenant: TenantId, name: str) -> SiteId | None:
    """The id of the tenant's site of this name."""
    site = conn.scalar(sa.select(sites.c.id).where(sites.c.tenant_id == tenant, sites.c.name == name))
    return None if site is None else SiteId(site)


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


_LOG = logging.getLogger(__name__)

_BUSY_S = 30.0
_CHECKPOINT_ATTEMPTS = 20
_CHECKPOINT_PAUSE_S = 0.05
_SIZES = ("PRAGMA freelist_count", "PRAGMA page_count", "PRAGMA page_size")


def vacuum_file(path: Path, vacuum_bytes: float, if_free: float) -> None:
    """Empty the write-ahead log, and write the file anew if it is small enough and this share of it is unused."""
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)) as connection:
            _checkpoint(connection)  # first: the size of the file is not known before
            free, pages, page_bytes = (connection.execute(query).fetchone()[0] for query in _SIZES)
            if pages * page_bytes <= vacuum_bytes and free >= if_free * pages:
                connection.execute("VACUUM")
                _checkpoint(connection)
    except sqlite3.Error as error:
        raise sqlite_error(error, path) or error from error


def _checkpoint(connection: sqlite3.Connection) -> None:
    """Write the log to the database file and truncate it. A transaction that reads an old state delays that."""
    for _ in range(_CHECKPOINT_ATTEMPTS):
        [is_busy, _, _] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not is_busy:
            return
        time.sleep(_CHECKPOINT_PAUSE_S)
    _LOG.warning("another process reads the data directory: deleted text leaves its write-ahead log later")
