"""Statements that run for every page and every link, and the tools to execute statements in batches.

The statements are built from the tables once and compiled once for each database. They are executed with plain tuples
(`exec_driver_sql`), because SQLAlchemy's handling of parameter dictionaries would cost more than the database itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from sitelore.model.ids import TenantId
from sitelore.store.schema import ID_SEQUENCES, INDEX_COLUMNS, pages, pattern_stats, redactions, runs, site_urls, urls, visits

_T = TypeVar("_T")

BATCH_SIZE = 500
"""Values in one IN list: far below the limits of both databases."""
BATCH: sa.BindParameter[Any] = sa.bindparam("batch", expanding=True)
"""The parameter of an IN list that `select_in_batches` fills."""
TENANT: sa.BindParameter[int] = sa.bindparam("tenant", type_=sa.Integer)
RUN: sa.BindParameter[str] = sa.bindparam("run", type_=sa.Text)
SITE: sa.BindParameter[int] = sa.bindparam("site", type_=sa.Integer)

_this_run = sa.and_(runs.c.tenant_id == TENANT, runs.c.id == RUN)
RUN_NUMBER = sa.select(runs.c.number).where(_this_run).scalar_subquery()
"""The number of the run `RUN`."""
SITE_OF_RUN = sa.select(runs.c.site_id).where(_this_run).scalar_subquery()
"""The site of the run `RUN`."""
OF_RUN = sa.and_(urls.c.tenant_id == TENANT, urls.c.run_number == RUN_NUMBER)
"""Whether a row of `urls` belongs to the run `RUN`."""
WITH_URL = urls.join(site_urls, sa.and_(site_urls.c.tenant_id == TENANT, site_urls.c.id == urls.c.url_id))
"""Rows of `urls` with their URLs."""
OF_VISIT = sa.and_(visits.c.tenant_id == TENANT, visits.c.run_number == urls.c.run_number, visits.c.url_id == urls.c.url_id)
"""Joins `visits` to `urls`."""
OF_SITE = sa.and_(pages.c.tenant_id == TENANT, pages.c.site_id == SITE)
"""Whether a row of `pages` belongs to the site `SITE`."""
PAGES_WITH_URL = pages.join(site_urls, sa.and_(site_urls.c.tenant_id == pages.c.tenant_id, site_urls.c.id == pages.c.url_id))
"""Rows of `pages` with their URLs."""

OFFER_COLUMNS = (
    "tenant_id", "run_number", "url_id", "host", "kind", "state", "source", "depth", "source_rank", "parent", "parent_seq",
    "position", "refused", "pattern", "chain", "lastmod", "skip_reason", "detail",
)  # fmt: skip
_URL_KEY, PAGE_KEY = ("tenant_key", "run_key", "url_key"), ("tenant_key", "site_key", "url_key")
"""Parameters of statements that update one row of `urls`, `visits` or `pages`."""
FIXED_OFFER_COLUMNS = OFFER_COLUMNS.index("kind")
"""The first columns of an offer are the same in every offer of a URL: its key and its host."""
_REPLACED_BY_OFFER = OFFER_COLUMNS[FIXED_OFFER_COLUMNS:]
_REPLACED_OFFER_PARAMETERS = (*_REPLACED_BY_OFFER, *_URL_KEY)
_SET_BY_VISIT = ("state", "retry_at", "skip_reason", "detail", "alias_of", "proof")
SETTLED_PARAMETERS = (*_SET_BY_VISIT, "new_chain", "more_attempts", "more_fetches", *_URL_KEY)
VISIT_COLUMNS = tuple(column.name for column in visits.c)
PAGE_COLUMNS = tuple(column.name for column in pages.c if column.name not in INDEX_COLUMNS)
REPROCESSED_COLUMNS = ("title", "content_hash", "novelty", "canonical", "word_count", "noindex", "document", "sketch")

Statement = tuple[sa.UpdateBase, tuple[str, ...]]
"""A statement and its parameters in the order in which callers pass them."""


def batches(items: Sequence[_T], size: int = BATCH_SIZE) -> Iterator[Sequence[_T]]:
    """Split a sequence into parts of at most `size`."""
    return (items[start : start + size] for start in range(0, len(items), size))


def select_in_batches(conn: sa.Connection, statement: sa.Executable, keys: Iterable[Any], **values: Any) -> Iterator[Any]:
    """Rows of a statement whose parameter `batch` is an IN list, for all keys in ascending order."""
    for batch in batches(sorted(keys)):
        yield from conn.execute(statement, {**values, "batch": batch})


def next_ids(conn: sa.Connection, tenant: TenantId, table: sa.Table, count: int, column: str = "id") -> Sequence[int]:
    """New ids for rows of a tenant: from a sequence on Postgres, above the tenant's largest on SQLite, which has one writer."""
    if count == 0:
        return ()
    if conn.dialect.name == "postgresql":
        series = sa.func.generate_series(1, count).table_valued("number")
        return conn.scalars(sa.select(ID_SEQUENCES[table.name].next_value()).select_from(series)).all()
    last = conn.scalar(sa.select(sa.func.max(table.c[column])).where(table.c.tenant_id == tenant)) or 0
    return range(last + 1, last + count + 1)


def next_id_of_all(conn: sa.Connection, tenant: TenantId, table: sa.Table) -> int:
    """A new id for a row of `tenants` or `sites`, unique over all tenants. Ids of deleted rows are not used again.

    Caches of a running server are kept by these ids. SQLite has no sequences: `retire_id` stores the largest deleted id.
    """
    if conn.dialect.name == "postgresql":
        return next_ids(conn, tenant, table, 1)[0]
    largest: int = conn.scalar(sa.select(sa.func.max(table.c.id))) or 0
    retired: int = conn.exec_driver_sql("PRAGMA user_version").scalar_one()
    return max(largest, retired) + 1


def retire_id(conn: sa.Connection, number: int) -> None:
    """Keep the id of a deleted row from being used again, on SQLite by a number in the header of the file."""
    if conn.dialect.name == "sqlite" and number > conn.exec_driver_sql("PRAGMA user_version").scalar_one():
        conn.exec_driver_sql(f"PRAGMA user_version = {number:d}")


def insert_for(dialect_name: str) -> Any:
    """The dialect's `insert`, which supports ON CONFLICT. Both dialects spell it alike but share no type."""
    # Imported here because each dialect takes long to import and only one is needed.
    if dialect_name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgresql_insert  # noqa: PLC0415 see above

        return postgresql_insert
    from sqlalchemy.dialects.sqlite import insert as sqlite_insert  # noqa: PLC0415 see above

    return sqlite_insert


def put_row(conn: sa.Connection, table: sa.Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Insert a row, or replace these values of the row that has the same key."""
    insert = insert_for(conn.dialect.name)(table).values(**key, **values)
    conn.execute(insert.on_conflict_do_update(index_elements=list(key), set_=values))


def read_page(conn: sa.Connection, query: sa.Select[Any], limit: int, offset: int) -> tuple[Sequence[sa.Row[Any]], int]:
    """Some rows of a query, and how many it has."""
    counted = query.order_by(None).with_only_columns(sa.func.count(), maintain_column_froms=True)
    return conn.execute(query.limit(limit).offset(offset)).all(), conn.scalar(counted) or 0


def insert_statement(dialect_name: str, table: sa.Table) -> tuple[Any, tuple[str, ...]]:
    """Insert all columns of a row."""
    names = tuple(column.name for column in table.c)
    return insert_for(dialect_name)(table).values({name: sa.bindparam(name) for name in names}), names


def upsert(dialect_name: str, table: sa.Table) -> Statement:
    """Insert a row, or replace everything but the key of the row with the same key."""
    insert, names = insert_statement(dialect_name, table)
    changes = {column.name: insert.excluded[column.name] for column in table.c if not column.primary_key}
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=changes), names


def execute_many(conn: sa.Connection, build: Callable[[str], Statement], rows: Sequence[tuple[Any, ...]]) -> None:
    """Execute a statement, given by the function that builds it, once for each tuple of parameters."""
    if rows:
        conn.exec_driver_sql(_compiled(build, conn.dialect), list(rows))


_compiled_texts: dict[tuple[Callable[[str], Statement], str], str] = {}


def _compiled(build: Callable[[str], Statement], dialect: sa.Dialect) -> str:
    text = _compiled_texts.get((build, dialect.name))
    if text is None:
        statement, parameters = build(dialect.name)
        compiled = statement.compile(dialect=dialect)
        order = tuple(getattr(compiled, "positiontup", None) or ())
        if order != parameters:
            raise AssertionError(f"{build.__name__} takes {order}, its callers pass {parameters}")
        text = _compiled_texts[build, dialect.name] = str(compiled)
    return text


def bind(column: sa.Column[Any]) -> sa.BindParameter[Any]:
    """A parameter with the name and type of a column."""
    return sa.bindparam(column.name, type_=column.type)


def _update_of_run(table: sa.Table, *values: tuple[sa.Column[Any], Any]) -> sa.Update:
    """Update one row of `urls` or `visits`, found by its key."""
    c = table.c
    return (
        sa.update(table)
        .ordered_values(*values)
        .where(c.tenant_id == sa.bindparam("tenant_key"), c.run_number == sa.bindparam("run_key"))
        .where(c.url_id == sa.bindparam("url_key"))
    )


def _update_url(*values: tuple[sa.Column[Any], Any]) -> sa.Update:
    return _update_of_run(urls, *values)


def update_page(*values: tuple[sa.Column[Any], Any]) -> sa.Update:
    """Update one row of `pages`, found by its key (`tenant_key`, `site_key`, `url_key`)."""
    c = pages.c
    statement = sa.update(pages).ordered_values(*values)
    return statement.where(
        c.tenant_id == sa.bindparam("tenant_key"), c.site_id == sa.bindparam("site_key"), c.url_id == sa.bindparam("url_key")
    )


def offer_statement(_dialect_name: str) -> Statement:
    """Insert the row of an offer."""
    return sa.insert(urls).values({name: bind(urls.c[name]) for name in OFFER_COLUMNS}), OFFER_COLUMNS


def better_offer_statement(_dialect_name: str) -> Statement:
    """Replace the offer of a row that is not admitted yet by a better one."""
    return _update_url(*((urls.c[name], bind(urls.c[name])) for name in _REPLACED_BY_OFFER)), _REPLACED_OFFER_PARAMETERS


def lastmod_statement(_dialect_name: str) -> Statement:
    """Store the largest lastmod of all offers, so that the order of offers does not matter."""
    return _update_url((urls.c.lastmod, bind(urls.c.lastmod))), ("lastmod", *_URL_KEY)


def lease_statement(_dialect_name: str) -> Statement:
    """Lease a row to a worker and raise its fencing token."""
    c = urls.c
    statement = _update_url(
        (c.state, sa.text("'IN_PROGRESS'")),
        (c.token, c.token + sa.text("1")),
        (c.claimed_by, sa.bindparam("worker", type_=sa.Text)),
        (c.lease_until, sa.bindparam("lease_end", type_=sa.Double)),
    )
    return statement, ("worker", "lease_end", *_URL_KEY)


def renew_statement(_dialect_name: str) -> Statement:
    """Extend a lease. The caller has checked the token, and no claim can raise it meanwhile because the row is leased."""
    statement = _update_url((urls.c.lease_until, sa.bindparam("lease_end", type_=sa.Double)))
    return statement, ("lease_end", *_URL_KEY)


def settled_statement(_dialect_name: str) -> Statement:
    """Write the verdict of a visit to its row. The caller has locked the row and checked its token."""
    c = urls.c
    statement = _update_url(
        *((c[name], bind(c[name])) for name in _SET_BY_VISIT),
        (c.chain, sa.func.coalesce(sa.bindparam("new_chain", type_=sa.Text), c.chain)),
        (c.attempts, c.attempts + sa.bindparam("more_attempts", type_=sa.Integer)),
        (c.fetches, c.fetches + sa.bindparam("more_fetches", type_=sa.Integer)),
        (c.claimed_by, sa.null()),
        (c.lease_until, sa.null()),
    )
    return statement, SETTLED_PARAMETERS


def visit_statement(dialect_name: str) -> Statement:
    """Store the result of a visit in place of that of an earlier attempt; without a request the time of the last one stays."""
    insert = insert_for(dialect_name)(visits).values({name: sa.bindparam(name) for name in VISIT_COLUMNS})
    key = VISIT_COLUMNS[:3]
    changes = {name: insert.excluded[name] for name in VISIT_COLUMNS if name not in key}
    changes["fetched_at"] = sa.func.coalesce(insert.excluded.fetched_at, visits.c.fetched_at)
    return insert.on_conflict_do_update(index_elements=key, set_=changes), VISIT_COLUMNS


def page_statement(dialect_name: str) -> Statement:
    """Store a site's page. With `fetched_at` 0 nothing was fetched: fetch time and lastmod stay unchanged."""
    insert = insert_for(dialect_name)(pages).values({name: sa.bindparam(name) for name in PAGE_COLUMNS})
    new, old = insert.excluded, pages.c
    key = ("tenant_id", "site_id", "url_id")
    changes = {name: new[name] for name in PAGE_COLUMNS if name not in key}
    fetched = new.fetched_at > sa.text("0")
    changes["fetched_at"] = sa.case((fetched, new.fetched_at), else_=old.fetched_at)
    changes["lastmod"] = sa.case((fetched, sa.func.coalesce(new.lastmod, old.lastmod)), else_=old.lastmod)
    return insert.on_conflict_do_update(index_elements=key, set_=changes), PAGE_COLUMNS


def unchanged_page_statement(_dialect_name: str) -> Statement:
    """Mark a page's chunks as current for its new document, which differs from the last one in volatile parts only."""
    c = pages.c
    statement = update_page((c.indexed, sa.bindparam("new", type_=sa.Text)))
    statement = statement.where(c.document == sa.bindparam("before"), c.indexed == c.document)
    return statement, ("new", *PAGE_KEY, "before")


def reprocessed_visit_statement(_dialect_name: str) -> Statement:
    """Store the reprocessed document of a run's page, unless a newer document was stored meanwhile."""
    c = visits.c
    statement = _update_of_run(visits, *((c[name], bind(c[name])) for name in REPROCESSED_COLUMNS))
    return statement.where(c.document == sa.bindparam("before")), (*REPROCESSED_COLUMNS, *_URL_KEY, "before")


def reprocessed_page_statement(_dialect_name: str) -> Statement:
    """Store the reprocessed document of a site's page, unless a newer document was stored meanwhile."""
    c = pages.c
    names = (*REPROCESSED_COLUMNS, "volatile")
    statement = update_page(*((c[name], bind(c[name])) for name in names))
    return statement.where(c.document == sa.bindparam("before")), (*names, *PAGE_KEY, "before")


def redaction_statement(dialect_name: str) -> Statement:
    """Add to the number of redactions that a rule made in a run."""
    return add_statement(dialect_name, redactions, "found")


def add_statement(dialect_name: str, table: sa.Table, column: str) -> Statement:
    """Insert a row whose only value besides its key is a number, or add the number to that of the stored row."""
    names = tuple(column.name for column in table.c)
    insert = insert_for(dialect_name)(table).values({name: sa.bindparam(name) for name in names})
    total = table.c[column] + insert.excluded[column]
    return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_={column: total}), names


def pattern_stats_statement(dialect_name: str) -> Statement:
    """Store the page counts of a URL pattern."""
    return upsert(dialect_name, pattern_stats)


def merge_statement(_dialect_name: str) -> Statement:
    """Turn a page of a run into an alias of another page."""
    c = urls.c
    statement = _update_url(
        (c.state, sa.text("'ALIAS'")),
        (c.alias_of, sa.bindparam("into", type_=sa.BigInteger)),
        (c.proof, sa.bindparam("proof_of")),
    )
    return statement, ("into", "proof_of", *_URL_KEY)


def page_alias_statement(_dialect_name: str) -> Statement:
    """Turn a page of a site into an alias of another page."""
    return update_page((pages.c.alias_of, sa.bindparam("into", type_=sa.BigInteger))), ("into", *PAGE_KEY)


def trap_statement(_dialect_name: str) -> Statement:
    """Skip a row that belongs to a crawler trap."""
    c = urls.c
    statement = _update_url(
        (c.state, sa.text("'SKIPPED'")), (c.skip_reason, sa.text("'trap'")), (c.detail, sa.bindparam("why", type_=sa.Text))
    )
    return statement.where(c.seq.is_(None)), ("why", *_URL_KEY)


def admit_statement(_dialect_name: str) -> Statement:
    """Admit a row to a wave."""
    c = urls.c
    statement = _update_url(
        (c.state, sa.text("'QUEUED'")),
        (c.seq, sa.bindparam("new_seq", type_=sa.Integer)),
        (c.wave, sa.bindparam("new_wave", type_=sa.Integer)),
    )
    # Not `state = 'DISCOVERED'`: Postgres would then use the index on candidates and read all of it for each row.
    return statement.where(c.seq.is_(None)), ("new_seq", "new_wave", *_URL_KEY)


def alias_target_statement(_dialect_name: str) -> Statement:
    """Store an alias's final target, and why that target is not a page."""
    names = ("alias_of", "skip_reason", "detail", "chain")
    return _update_url(*((urls.c[name], bind(urls.c[name])) for name in names)), (*names, *_URL_KEY)


def visit_error_statement(_dialect_name: str) -> Statement:
    """Store the error of a row that was visited."""
    return _update_of_run(visits, (visits.c.error, bind(visits.c.error))), ("error", *_URL_KEY)


def redirect_loop_statement(_dialect_name: str) -> Statement:
    """Fail a row whose redirects lead back to itself."""
    c = urls.c
    return _update_url((c.state, sa.text("'FAILED'")), (c.alias_of, sa.null()), (c.proof, sa.null())), _URL_KEY
