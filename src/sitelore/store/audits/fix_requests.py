"""Connected repositories and fix requests of a tenant (`platform_ports.FixStore`), in SQLite or Postgres.

A request is due when a server has to open, update or look at its pull request. A server claims it by moving `due_at` into the
future, so a request whose server dies is due again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.ids import SiteId, TenantId
from sitelore.model.platform.fixes import (
    ENDED_BY_MERGE,
    MAX_OPEN_REQUESTS,
    MAX_REQUESTS_PER_HOUR,
    PENDING_STATES,
    ConnectedRepository,
    DueFix,
    FixLimit,
    FixRequest,
    FixState,
    RepositoryHost,
)
from sitelore.store.engine import Repository, read, read_long, write
from sitelore.store.platform.schema import connected_repositories, fix_requests
from sitelore.store.rows import encode, storable
from sitelore.store.statements import put_row, read_page
from sitelore.store.tenants import for_all_tenants

_HOUR_S = 3_600.0
_PENDING = sa.text("fix_requests.state IN ('queued', 'open')")  # spelled as in the partial index

_c = fix_requests.c
_keys_decoder = msgspec.json.Decoder(tuple[str, ...])


def save_repository(conn: sa.Connection, tenant: TenantId, repository: ConnectedRepository) -> None:
    """Connect a repository to its site, in place of the one before."""
    values = {
        "host": repository.host.value, "url": repository.url, "base": repository.base, "token": repository.token,
        "created_at": repository.created_at, "created_by": storable(repository.created_by) or "",
    }  # fmt: skip
    put_row(conn, connected_repositories, {"tenant_id": tenant, "site_id": repository.site}, values)


def find_repository(conn: sa.Connection, tenant: TenantId, site: SiteId) -> ConnectedRepository | None:
    """The repository of a site."""
    row = conn.execute(_repository_query(tenant, site)).one_or_none()
    if row is None:
        return None
    host = RepositoryHost(row.host)
    return ConnectedRepository(site, host, row.url, row.base, row.token, row.created_at, row.created_by)


def delete_repository(conn: sa.Connection, tenant: TenantId, site: SiteId) -> bool:
    """Delete the repository of a site with its token. False when there is none. Requests that were opened stay listed."""
    c = connected_repositories.c
    return conn.execute(sa.delete(connected_repositories).where(c.tenant_id == tenant, c.site_id == site)).rowcount > 0


def _repository_query(tenant: TenantId, site: SiteId) -> sa.Select[Any]:
    c = connected_repositories.c
    return sa.select(connected_repositories).where(c.tenant_id == tenant, c.site_id == site)


def request_fix(conn: sa.Connection, tenant: TenantId, request: FixRequest) -> tuple[FixRequest | None, FixLimit | None]:
    """Queue a request, or the pending one of the same set of findings again; else returns the limit that refuses it."""
    # With the row locked, the second of two servers counts what the first one has added.
    row = conn.execute(_repository_query(tenant, request.site).with_for_update()).one_or_none()
    if row is None or row.url != request.repository:
        return None, FixLimit.NOT_CONNECTED
    of_site = sa.select(fix_requests).where(_c.tenant_id == tenant, _c.site_id == request.site)
    of_repository = of_site.where(_c.repository == request.repository)
    known = [_request(each) for each in conn.execute(of_repository.where(_c.subject == request.subject).order_by(_c.id))]
    merged = [each for each in known if each.state in ENDED_BY_MERGE]
    current = next((each for each in known if each.state not in ENDED_BY_MERGE), None)
    if current is not None and current.state is FixState.CLOSED:
        return current, FixLimit.CLOSED
    if any(each.state is FixState.MERGED for each in merged):
        return merged[-1], FixLimit.MERGED
    if current is not None:
        queued = replace(
            current, state=FixState.QUEUED, due_at=request.created_at, updated_at=request.created_at, attempts=0, error=""
        )
        save_fix(conn, tenant, queued)
        return queued, None
    if (limit := _limit(conn, tenant, request)) is not None:
        return None, limit
    branch = f"{request.subject}-{len(merged) + 1}" if merged else request.subject
    created = replace(request, branch=branch, due_at=request.created_at, updated_at=request.created_at)
    conn.execute(sa.insert(fix_requests).values(tenant_id=tenant, **_values(created)))
    return created, None


def _limit(conn: sa.Connection, tenant: TenantId, request: FixRequest) -> FixLimit | None:
    count = sa.select(sa.func.count()).select_from(fix_requests)
    of_repository = count.where(_c.tenant_id == tenant, _c.repository == request.repository)
    pending = [state.value for state in PENDING_STATES]
    if (conn.scalar(of_repository.where(_c.state.in_(pending))) or 0) >= MAX_OPEN_REQUESTS:
        return FixLimit.OPEN
    of_hour = of_repository.where(_c.created_at > request.created_at - _HOUR_S)
    return FixLimit.HOUR if (conn.scalar(of_hour) or 0) >= MAX_REQUESTS_PER_HOUR else None


def find_fix(conn: sa.Connection, tenant: TenantId, site: SiteId, request: str) -> FixRequest | None:
    """The request of a site with this id."""
    query = sa.select(fix_requests).where(_c.tenant_id == tenant, _c.site_id == site, _c.id == request)
    row = conn.execute(query).one_or_none()
    return None if row is None else _request(row)


def list_fixes(conn: sa.Connection, tenant: TenantId, site: SiteId, limit: int, offset: int) -> tuple[list[FixRequest], int]:
    """A page of the requests of a site, newest first, and the total."""
    query = sa.select(fix_requests).where(_c.tenant_id == tenant, _c.site_id == site).order_by(_c.id.desc())
    rows, total = read_page(conn, query, limit, offset)
    return list(map(_request, rows)), total


def claim_fix(conn: sa.Connection, tenant: TenantId, request: str, now: float, until: float) -> FixRequest | None:
    """Lease a request that is due. None when another server has it."""
    own = (_c.tenant_id == tenant, _c.id == request)
    values = {"due_at": until, "attempts": _c.attempts + 1}
    if not conn.execute(sa.update(fix_requests).where(*own, _PENDING, _c.due_at <= now).values(values)).rowcount:
        return None
    return _request(conn.execute(sa.select(fix_requests).where(*own)).one())


def save_fix(conn: sa.Connection, tenant: TenantId, request: FixRequest) -> None:
    """Store a changed request. A request that was deleted stays deleted."""
    conn.execute(sa.update(fix_requests).where(_c.tenant_id == tenant, _c.id == request.id).values(_values(request)))


def due_fixes(conn: sa.Connection, now: float, limit: int) -> list[DueFix]:
    """Requests of all tenants that are due, the longest first."""
    query = sa.select(_c.tenant_id, _c.id).where(_PENDING, _c.due_at <= now).order_by(_c.due_at, _c.id).limit(limit)
    return [DueFix(TenantId(tenant), request) for tenant, request in conn.execute(query)]


def _values(request: FixRequest) -> dict[str, Any]:
    return {
        "id": request.id, "site_id": request.site, "repository": request.repository, "subject": request.subject,
        "branch": request.branch, "rules": _json(request.rules), "chosen": _json(request.chosen),
        "findings": _json(request.findings), "state": request.state.value, "created_at": request.created_at,
        "created_by": storable(request.created_by) or "", "updated_at": request.updated_at, "due_at": request.due_at,
        "attempts": request.attempts, "number": request.number, "url": storable(request.url) or "",
        "merged_at": request.merged_at, "error": storable(request.error) or "",
    }  # fmt: skip


def _json(values: tuple[str, ...]) -> str:
    return encode(values).decode()


def _request(row: Any) -> FixRequest:
    return FixRequest(
        id=row.id,
        site=SiteId(row.site_id),
        repository=row.repository,
        subject=row.subject,
        branch=row.branch,
        rules=_keys_decoder.decode(row.rules),
        chosen=_keys_decoder.decode(row.chosen),
        state=FixState(row.state),
        created_at=row.created_at,
        created_by=row.created_by,
        updated_at=row.updated_at,
        due_at=row.due_at,
        attempts=row.attempts,
        number=row.number,
        url=row.url,
        findings=_keys_decoder.decode(row.findings),
        merged_at=row.merged_at,
        error=row.error,
    )


class SqlFixStore(Repository):
    """Each method runs one function of this module in one transaction."""

    save_repository = write(save_repository)
    repository = read(find_repository)
    delete_repository = write(delete_repository)
    request_fix = write(request_fix)
    fix = read(find_fix)
    list_fixes = read_long(list_fixes)
    claim_fix = write(claim_fix)
    save_fix = write(save_fix)

    async def due_fixes(self, now: float, limit: int) -> list[DueFix]:
        """Requests of all tenants that are due, the longest first."""
        return await self._engine.read(for_all_tenants, due_fixes, now, limit)
