"""The statements that run for every page and every link: built once from the tables, compiled once for each database.

They are executed with plain tuples (`exec_driver_sql`), because SQLAlchemy's handling of parameter dictionaries would cost
more than the database itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from sitelore.store.schema import KNOWLEDGE_COLUMNS, pages, redactions, shape_yields, urls

OFFER_COLUMNS = (
    "run_id", "url", "long_url", "host", "kind", "state", "source", "depth", "source_rank", "parent", "parent_seq",
    "position", "refused", "shape", "chain", "lastmod", "skip_reason", "detail",
)  # fmt: skip
_RANK = ("refused", "depth", "source_rank", "parent_seq", "position")
_SET_BY_VISIT = (
    "state", "retry_at", "status_code", "skip_reason", "detail", "error", "alias_of", "proof", "title", "content_hash",
    "novelty", "canonical", "identity", "content_type", "word_count", "noindex", "document", "snapshot", "etag",
    "last_modified", "headers", "sketch", "render_reason", "rendering", "screenshot", "elapsed_s", "body_bytes", "changed",
)  # fmt: skip
VISIT_PARAMETERS = (*_SET_BY_VISIT, "chain_met", "fetch_time", "more_attempts", "more_fetches", "the_run", "the_url")
PAGE_COLUMNS = tuple(column.name for column in pages.c if column.name not in KNOWLEDGE_COLUMNS)

REREAD_COLUMNS = ("title", "content_hash", "novelty", "canonical", "word_count", "noindex", "document", "sketch")

_Built = tuple[sa.UpdateBase, tuple[str, ...]]


def insert_for(dialect_name: str) -> Any:
    """The `insert` that knows ON CONFLICT. The two spell it alike but share no type."""
    # Imported here because each dialect takes long to import and only one is wanted.
    if dialect_name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgresql_insert  # noqa: PLC0415 see above

        return postgresql_insert
    from sqlalchemy.dialects.sqlite import insert as sqlite_insert  # noqa: PLC0415 see above

    return sqlite_insert


def run_many(conn: sa.Connection, build: Callable[[str], _Built], rows: Sequence[tuple[Any, ...]]) -> None:
    """One of the statements below, for every tuple of parameters."""
    if rows:
        conn.exec_driver_sql(_compiled(build, conn.dialect), list(rows))


_texts: dict[tuple[Callable[[str], _Built], str], str] = {}


def _compiled(build: Callable[[str], _Built], dialect: sa.Dialect) -> str:
    text = _texts.get((build, dialect.name))
    if text is None:
        statement, parameters = build(dialect.name)
        compiled = statement.compile(dialect=dialect)
        order = tuple(getattr(compiled, "positiontup", None) or ())
        if order != parameters:
            raise AssertionError(f"{build.__name__} takes {order}, its callers give {parameters}")
        text = _texts[build, dialect.name] = str(compiled)
    return text


def offer_statement(dialect_name: str) -> _Built:
    """Insert an offer, or let it replace the one that stands if it is better and the row is still open to offers."""
    insert = insert_for(dialect_name)(urls).values({name: sa.bindparam(name) for name in OFFER_COLUMNS})
    new, old = insert.excluded, urls.c
    fixed = ("run_id", "url", "long_url", "host", "lastmod")
    changes = {name: new[name] for name in OFFER_COLUMNS if name not in fixed}
    changes["lastmod"] = sa.case((sa.or_(old.lastmod.is_(None), new.lastmod > old.lastmod), new.lastmod), else_=old.lastmod)
    statement = insert.on_conflict_do_update(
        index_elements=[old.run_id, old.url],
        set_=changes,
        where=sa.and_(
            old.seq.is_(None),
            sa.or_(
                old.state == sa.text("'DISCOVERED'"), sa.and_(old.state == sa.text("'SKIPPED'"), old.refused == sa.text("1"))
            ),
            sa.tuple_(*(new[name] for name in _RANK)) < sa.tuple_(*(old[name] for name in _RANK)),
        ),
    )
    return statement, OFFER_COLUMNS


def lastmod_statement(_dialect_name: str) -> _Built:
    """Keep the largest lastmod seen, whichever offer won: the maximum does not depend on the order of offers either."""
    c = urls.c
    newer = sa.bindparam("newer", type_=sa.Double)
    statement = (
        sa.update(urls)
        .values(lastmod=newer)
        .where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url"), c.seq.is_(None))
        .where(sa.or_(c.lastmod.is_(None), c.lastmod < sa.bindparam("newer_too", type_=sa.Double)))
    )
    return statement, ("newer", "the_run", "the_url", "newer_too")


def lease_statement(_dialect_name: str) -> _Built:
    """A row is leased: its token is raised."""
    c = urls.c
    statement = sa.update(urls).ordered_values(
        (c.state, sa.text("'IN_PROGRESS'")),
        (c.token, c.token + sa.text("1")),
        (c.claimed_by, sa.bindparam("worker", type_=sa.Text)),
        (c.lease_until, sa.bindparam("lease_end", type_=sa.Double)),
    )
    where = statement.where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url"))
    return where, ("worker", "lease_end", "the_run", "the_url")


def renew_statement(_dialect_name: str) -> _Built:
    """A lease lasts longer. The caller has checked its token, and no claim can raise it meanwhile: the row is leased."""
    c = urls.c
    statement = sa.update(urls).values(lease_until=sa.bindparam("lease_end", type_=sa.Double))
    where = statement.where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url"))
    return where, ("lease_end", "the_run", "the_url")


def visit_statement(_dialect_name: str) -> _Built:
    """The row of a settled visit. The caller has locked it and checked its token."""
    c = urls.c
    values: dict[str, Any] = {name: sa.bindparam(name, type_=c[name].type) for name in _SET_BY_VISIT}
    values |= {
        "chain": sa.func.coalesce(sa.bindparam("chain_met", type_=sa.Text), c.chain),
        "fetched_at": sa.func.coalesce(sa.bindparam("fetch_time", type_=sa.Double), c.fetched_at),
        "attempts": c.attempts + sa.bindparam("more_attempts", type_=sa.Integer),
        "fetches": c.fetches + sa.bindparam("more_fetches", type_=sa.Integer),
        "claimed_by": sa.null(),
        "lease_until": sa.null(),
    }
    ordered = [(c[name], values[name]) for name in values]
    statement = sa.update(urls).ordered_values(*ordered)
    return statement.where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url")), VISIT_PARAMETERS


def page_statement(dialect_name: str) -> _Built:
    """What a site knows of a URL. `fetched_at` 0 says that nothing was fetched: then time and lastmod stay as they were."""
    insert = insert_for(dialect_name)(pages).values({name: sa.bindparam(name) for name in PAGE_COLUMNS})
    new, old = insert.excluded, pages.c
    changes = {name: new[name] for name in PAGE_COLUMNS if name not in {"site_id", "url"}}
    fetched = new.fetched_at > sa.text("0")
    changes["fetched_at"] = sa.case((fetched, new.fetched_at), else_=old.fetched_at)
    changes["lastmod"] = sa.case((fetched, sa.func.coalesce(new.lastmod, old.lastmod)), else_=old.lastmod)
    return insert.on_conflict_do_update(index_elements=[old.site_id, old.url], set_=changes), PAGE_COLUMNS


def same_statement(_dialect_name: str) -> _Built:
    """A page that differs from its last fetch in noise alone: its chunks stand for the new document as they did for the old."""
    c = pages.c
    statement = sa.update(pages).values(indexed=sa.bindparam("new", type_=sa.Text))
    where = statement.where(c.site_id == sa.bindparam("the_site"), c.url == sa.bindparam("the_url"))
    return where.where(c.document == sa.bindparam("before"), c.indexed == c.document), ("new", "the_site", "the_url", "before")


def reread_statement(_dialect_name: str) -> _Built:
    """A page read again from its snapshot, if nothing newer stands there."""
    c = urls.c
    statement = sa.update(urls).ordered_values(*((c[name], sa.bindparam(name, type_=c[name].type)) for name in REREAD_COLUMNS))
    where = statement.where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url"))
    return where.where(c.document == sa.bindparam("before")), (*REREAD_COLUMNS, "the_run", "the_url", "before")


def page_reread_statement(_dialect_name: str) -> _Built:
    """The same in what the site knows."""
    c = pages.c
    names = (*REREAD_COLUMNS, "volatile")
    statement = sa.update(pages).ordered_values(*((c[name], sa.bindparam(name, type_=c[name].type)) for name in names))
    where = statement.where(c.site_id == sa.bindparam("the_site"), c.url == sa.bindparam("the_url"))
    return where.where(c.document == sa.bindparam("before")), (*names, "the_site", "the_url", "before")


def redaction_statement(dialect_name: str) -> _Built:
    """Add to how often a rule redacted something."""
    names = ("run_id", "rule", "found")
    insert = insert_for(dialect_name)(redactions).values({name: sa.bindparam(name) for name in names})
    total = redactions.c.found + insert.excluded.found
    return insert.on_conflict_do_update(index_elements=["run_id", "rule"], set_={"found": total}), names


def yield_statement(dialect_name: str) -> _Built:
    """What a shape has yielded so far."""
    names = tuple(column.name for column in shape_yields.c)
    insert = insert_for(dialect_name)(shape_yields).values({name: sa.bindparam(name) for name in names})
    changes = {name: insert.excluded[name] for name in names if name not in {"run_id", "shape"}}
    return insert.on_conflict_do_update(index_elements=["run_id", "shape"], set_=changes), names


def merge_statement(_dialect_name: str) -> _Built:
    """A page that turned out to be another one."""
    c = urls.c
    statement = sa.update(urls).ordered_values(
        (c.state, sa.text("'ALIAS'")), (c.alias_of, sa.bindparam("into", type_=sa.Text)), (c.proof, sa.bindparam("proof_of"))
    )
    where = statement.where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url"))
    return where, ("into", "proof_of", "the_run", "the_url")


def page_alias_statement(_dialect_name: str) -> _Built:
    """The same in what the site knows."""
    statement = sa.update(pages).values(alias_of=sa.bindparam("into", type_=sa.Text))
    where = statement.where(pages.c.site_id == sa.bindparam("the_site"), pages.c.url == sa.bindparam("the_url"))
    return where, ("into", "the_site", "the_url")


def trap_statement(_dialect_name: str) -> _Built:
    """A row given up as a trap."""
    c = urls.c
    statement = sa.update(urls).ordered_values(
        (c.state, sa.text("'SKIPPED'")), (c.skip_reason, sa.text("'trap'")), (c.detail, sa.bindparam("why", type_=sa.Text))
    )
    where = statement.where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url"))
    return where.where(c.seq.is_(None)), ("why", "the_run", "the_url")


def admit_statement(_dialect_name: str) -> _Built:
    """A row enters the wave."""
    c = urls.c
    statement = sa.update(urls).ordered_values(
        (c.state, sa.text("'QUEUED'")),
        (c.seq, sa.bindparam("its_seq", type_=sa.Integer)),
        (c.wave, sa.bindparam("its_wave", type_=sa.Integer)),
    )
    where = statement.where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url"))
    # Not `state = 'DISCOVERED'`: it would lead Postgres into the index on candidates, and through all of it for each row.
    return where.where(c.seq.is_(None)), ("its_seq", "its_wave", "the_run", "the_url")


def ending_statement(_dialect_name: str) -> _Built:
    """An alias learns where it really leads and how that ended."""
    c = urls.c
    names = ("alias_of", "error", "skip_reason", "detail", "chain")
    statement = sa.update(urls).ordered_values(*((c[name], sa.bindparam(name, type_=sa.Text)) for name in names))
    where = statement.where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url"))
    return where, (*names, "the_run", "the_url")


def loop_statement(_dialect_name: str) -> _Built:
    """A redirect that leads in a circle is an alias of nothing."""
    c = urls.c
    statement = sa.update(urls).ordered_values(
        (c.error, sa.bindparam("error", type_=sa.Text)),
        (c.state, sa.text("'FAILED'")),
        (c.alias_of, sa.null()),
        (c.proof, sa.null()),
    )
    where = statement.where(c.run_id == sa.bindparam("the_run"), c.url == sa.bindparam("the_url"))
    return where, ("error", "the_run", "the_url")
