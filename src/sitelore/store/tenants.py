"""Tenants, and row-level security on Postgres: a transaction sees and writes only the rows of its own tenant.

Every query names its tenant anyway; the policies are a second lock for a query that forgets it. A transaction sets its tenant
with `set_config(…, is_local)`, which ends with the transaction and so cannot reach the next user of a pooled connection.
Schedulers, maintenance, authentication, senders of webhooks and fix requests serve all tenants: they may read the tables in
`_SHARED_TABLES` across tenants.

Superusers and roles with BYPASSRLS ignore policies. Connected as one of them, the application takes the role `APP_ROLE` for all
work but migrations (`app_role`). FORCE makes policies apply to the owner of the tables as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from sitelore.model.errors import StorageError
from sitelore.model.frontier import Tenant
from sitelore.model.ids import DEFAULT_TENANT, DEFAULT_TENANT_NAME, TenantId
from sitelore.store.schema import complete_metadata, tenants
from sitelore.store.statements import insert_for, next_id_of_all

P = ParamSpec("P")
T = TypeVar("T")

SUSPENDED = sa.select(tenants.c.id).where(tenants.c.suspended_at.is_not(None))
"""Ids of suspended tenants: nothing is started or sent for them."""
APP_ROLE = "sitelore_app"
_ALL_TENANTS = "*"
_SHARED_TABLES = frozenset({
    "tenants", "sites", "runs", "urls", "audits", "channels", "crawl_jobs", "schedules", "tokens", "webhook_endpoints",
    "webhook_queues", "fix_requests",
})  # fmt: skip
_SET_TENANT = "SELECT set_config('sitelore.tenant', $1, true)"
_CURRENT = "current_setting('sitelore.tenant', true)"
# In subqueries, so that Postgres evaluates each once for a statement and not for each row.
_OWN = f"(SELECT CASE WHEN {_CURRENT} ~ '^[0-9]+$' THEN {_CURRENT}::int END)"
_IS_SHARED = f"(SELECT {_CURRENT} = '{_ALL_TENANTS}')"


def for_tenant(
    conn: sa.Connection,
    fn: Callable[Concatenate[sa.Connection, TenantId, P], T],
    tenant: TenantId,
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Run a repository function in a transaction of this tenant."""
    _set(conn, str(tenant))
    return fn(conn, tenant, *args, **kwargs)


def for_all_tenants(
    conn: sa.Connection, fn: Callable[Concatenate[sa.Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a repository function that serves all tenants."""
    _set(conn, _ALL_TENANTS)
    return fn(conn, *args, **kwargs)


@contextmanager
def all_tenants(conn: sa.Connection) -> Iterator[None]:
    """Temporarily let a transaction of one tenant read shared tables across tenants."""
    if conn.dialect.name != "postgresql":
        yield
        return
    before = conn.exec_driver_sql(f"SELECT {_CURRENT}").scalar_one()
    _set(conn, _ALL_TENANTS)
    yield
    _set(conn, before or "")


def each_tenant(conn: sa.Connection) -> Iterator[TenantId]:
    """All tenants in turn; while one is handled, the transaction is that tenant's."""
    before = conn.exec_driver_sql(f"SELECT {_CURRENT}").scalar_one() if conn.dialect.name == "postgresql" else ""
    _set(conn, _ALL_TENANTS)
    for tenant in conn.scalars(sa.select(tenants.c.id).order_by(tenants.c.id)).all():
        _set(conn, str(tenant))
        yield TenantId(tenant)
    _set(conn, before or "")


def _set(conn: sa.Connection, value: str) -> None:
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql(_SET_TENANT, (value,))


_select_tenants = sa.select(*(tenants.c[field.name] for field in fields(Tenant)))


def list_tenants(conn: sa.Connection) -> list[Tenant]:
    """All tenants, by id."""
    return [Tenant(*row) for row in conn.execute(_select_tenants.order_by(tenants.c.id))]


def find_tenant(conn: sa.Connection, name: str) -> Tenant | None:
    """The tenant of this name."""
    row = conn.execute(_select_tenants.where(tenants.c.name == name)).one_or_none()
    return None if row is None else Tenant(*row)


def tenant_by_id(conn: sa.Connection, tenant: TenantId) -> Tenant | None:
    """The tenant of this id."""
    row = conn.execute(_select_tenants.where(tenants.c.id == tenant)).one_or_none()
    return None if row is None else Tenant(*row)


def suspend(conn: sa.Connection, tenant: TenantId, since: float | None) -> Tenant | None:
    """Suspend a tenant, or (None) end that; a tenant that is suspended already stays so from the first time."""
    value = None if since is None else sa.func.coalesce(tenants.c.suspended_at, since)
    conn.execute(sa.update(tenants).where(tenants.c.id == tenant).values(suspended_at=value))
    return tenant_by_id(conn, tenant)


def create_tenant(conn: sa.Connection, name: str, now: float) -> Tenant:
    """The tenant of this name; it is created if there is none."""
    insert = insert_for(conn.dialect.name)(tenants).values(name=name, created_at=now)
    if conn.dialect.name == "sqlite":
        insert = insert.values(id=next_id_of_all(conn, DEFAULT_TENANT, tenants))
    conn.execute(insert.on_conflict_do_nothing(index_elements=["name"]))
    return Tenant(*conn.execute(_select_tenants.where(tenants.c.name == name)).one())


def create_default_tenant(conn: sa.Connection) -> None:
    """Create the tenant that every database has. It has the plan with the highest limit."""
    conn.execute(sa.insert(tenants).values(id=DEFAULT_TENANT, name=DEFAULT_TENANT_NAME, created_at=0.0, plan="ENTERPRISE"))
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql("SELECT setval(pg_get_serial_sequence('tenants', 'id'), (SELECT max(id) FROM tenants))")


def enable_row_security(conn: sa.Connection) -> None:
    """Create the policies of all tables on Postgres. Safe to repeat."""
    if conn.dialect.name != "postgresql":
        return
    for table in complete_metadata().sorted_tables:
        secure_table(conn, table.name, "id" if table is tenants else "tenant_id", is_shared=table.name in _SHARED_TABLES)
    _grant(conn)


def secure_table(conn: sa.Connection, name: str, column: str = "tenant_id", *, is_shared: bool = False) -> None:
    """Restrict a table on Postgres to the rows of the transaction's tenant."""
    condition = f"{column} = {_OWN} OR {_IS_SHARED}" if is_shared else f"{column} = {_OWN}"
    for statement in (
        f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {name} FORCE ROW LEVEL SECURITY",
        f"DROP POLICY IF EXISTS own_tenant ON {name}",
        f"CREATE POLICY own_tenant ON {name} USING ({condition}) WITH CHECK ({condition})",
    ):
        conn.exec_driver_sql(statement)


def suspend_row_security(conn: sa.Connection) -> None:
    """Let migrations of a table owner see all rows, until `enable_row_security`."""
    if conn.dialect.name == "postgresql":
        secured = "SELECT relname FROM pg_class WHERE relforcerowsecurity AND relnamespace = 'public'::regnamespace"
        for name in conn.exec_driver_sql(secured).scalars().all():
            conn.exec_driver_sql(f"ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY")


def app_role(conn: sa.Connection) -> str | None:
    """The role for all work but migrations; None where the connected role itself obeys row-level security."""
    if conn.dialect.name != "postgresql" or not _ignores_row_security(conn):
        return None
    return APP_ROLE


def _ignores_row_security(conn: sa.Connection) -> bool:
    query = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = session_user"
    return bool(conn.exec_driver_sql(query).scalar_one())


_CREATE_ROLE = f"""
    DO $$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APP_ROLE}') THEN CREATE ROLE {APP_ROLE} NOLOGIN; END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;  -- created for another database just now
    END $$
"""


def _grant(conn: sa.Connection) -> None:
    """Create the application's role where it is needed, and let it read and write all tables."""
    if not _ignores_row_security(conn):
        return
    try:
        with conn.begin_nested():
            conn.exec_driver_sql(_CREATE_ROLE)
    except sa.exc.DBAPIError as error:
        raise StorageError(
            f"The database role ignores row-level security and cannot create the role {APP_ROLE}: connect as a role "
            f"without BYPASSRLS, or let an administrator create {APP_ROLE}."
        ) from error
    for statement in grants("public"):
        conn.exec_driver_sql(statement)


def grants(schema: str) -> tuple[str, ...]:
    """Statements that let the application's role use a schema."""
    return (
        f"GRANT USAGE ON SCHEMA {schema} TO {APP_ROLE}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {APP_ROLE}",
        f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {APP_ROLE}",
    )


@contextmanager
def as_owner(conn: sa.Connection) -> Iterator[None]:
    """A savepoint in which the connected role acts, instead of the application's role, which cannot create tables."""
    with conn.begin_nested():
        role = conn.exec_driver_sql("SELECT current_user").scalar_one()
        conn.exec_driver_sql("SET LOCAL ROLE NONE")
        yield
        conn.exec_driver_sql(f'SET LOCAL ROLE "{role}"')
