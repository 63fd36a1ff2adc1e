"""Stored results of external link checks, and of the `/llms.txt` of a site. Every function is part of a transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from sitelore.model.audit.findings import ExternalCheck, LlmsTxt
from sitelore.model.ids import SiteId, TenantId
from sitelore.store.rows import encode
from sitelore.store.schema import key_of, url_checks
from sitelore.store.statements import BATCH, SITE, TENANT, Statement, execute_many, select_in_batches, upsert

_c = url_checks.c
_LLMS_TXT = "llms.txt"
"""The key of the row with the file `/llms.txt`; URLs begin with their scheme."""
_checks_decoder = msgspec.json.Decoder(tuple[ExternalCheck, ...])
_file_decoder = msgspec.json.Decoder(LlmsTxt)
_known = sa.select(_c.url, _c.checks).where(_c.tenant_id == TENANT, _c.site_id == SITE, _c.url.in_(BATCH))


def url_checks_of(
    conn: sa.Connection, tenant: TenantId, site: SiteId, urls: Collection[str]
) -> dict[str, tuple[ExternalCheck, ...]]:
    """The checks of these URLs, the oldest first."""
    rows = select_in_batches(conn, _known, set(map(key_of, urls)), tenant=tenant, site=site)
    decoded = (_checks_decoder.decode(checks) for _, checks in rows)
    return {checks[-1].url: checks for checks in decoded if checks}


def save_url_checks(conn: sa.Connection, tenant: TenantId, site: SiteId, checks: Mapping[str, Sequence[ExternalCheck]]) -> None:
    """Store the checks of URLs, replacing earlier ones."""
    rows = [(tenant, site, key_of(url), _json(list(each))) for url, each in sorted(checks.items())]
    execute_many(conn, _statement, rows)


def find_llms_txt(conn: sa.Connection, tenant: TenantId, site: SiteId) -> LlmsTxt | None:
    """The file `/llms.txt` of a site as it was last received."""
    text = conn.scalar(sa.select(_c.checks).where(_c.tenant_id == tenant, _c.site_id == site, _c.url == _LLMS_TXT))
    return None if text is None else _file_decoder.decode(text)


def save_llms_txt(conn: sa.Connection, tenant: TenantId, site: SiteId, file: LlmsTxt) -> None:
    """Store the file `/llms.txt` of a site."""
    execute_many(conn, _statement, [(tenant, site, _LLMS_TXT, _json(file))])


def _json(value: Any) -> str:
    return encode(value).decode()


def _statement(dialect_name: str) -> Statement:
    """Store a result."""
    return upsert(dialect_name, url_checks)
