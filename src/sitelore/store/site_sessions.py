"""Sessions of sites behind a login, encrypted by the caller."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, fields

import sqlalchemy as sa

from sitelore.model.access import StoredSession
from sitelore.model.ids import TenantId
from sitelore.store.engine import Repository, read, write
from sitelore.store.schema import site_sessions
from sitelore.store.statements import put_row

_c = site_sessions.c
_COLUMNS = tuple(_c[field.name] for field in fields(StoredSession))


def list_sessions(conn: sa.Connection, tenant: TenantId, origins: Collection[str] | None = None) -> list[StoredSession]:
    """The sessions of these origins, or all of the tenant, by origin."""
    query = sa.select(*_COLUMNS).where(_c.tenant_id == tenant)
    if origins is not None:
        query = query.where(_c.origin.in_(origins))
    return [StoredSession(*row) for row in conn.execute(query.order_by(_c.origin))]


def save_session(conn: sa.Connection, tenant: TenantId, session: StoredSession) -> None:
    """Store a new session; an older one of its origin is replaced."""
    values = asdict(session)
    put_row(conn, site_sessions, {"tenant_id": tenant, "origin": values.pop("origin")}, values)


def renew_session(conn: sa.Connection, tenant: TenantId, session: StoredSession) -> bool:
    """Replace the content of a session; False when the user has logged in again or deleted it since it was read."""
    own = sa.and_(_c.tenant_id == tenant, _c.origin == session.origin, _c.created_at == session.created_at)
    changes = {"sealed": session.sealed, "renewed_at": session.renewed_at}
    return conn.execute(sa.update(site_sessions).where(own).values(changes)).rowcount > 0


def delete_session(conn: sa.Connection, tenant: TenantId, origin: str) -> bool:
    """Delete a session; False when there is none."""
    own = sa.and_(_c.tenant_id == tenant, _c.origin == origin)
    return conn.execute(sa.delete(site_sessions).where(own)).rowcount > 0


class SqlSiteSessions(Repository):
    """The sessions of one tenant."""

    list = read(list_sessions)
    save = write(save_session)
    renew = write(renew_session)
    delete = write(delete_session)
