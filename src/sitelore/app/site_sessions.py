"""Sessions of sites behind a login: encrypts and stores them, and finds those that a run gets.

The key is that of `SITELORE_SECRETS_KEY`. Without it, a data directory gets a key file of its own, which only its owner can
read; processes that share a database must share the variable.
"""
# ruff: noqa: PLC0415 parts are imported when a session is first used: most crawls have none

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sitelore.app.settings import operator_settings
from sitelore.model.access import SiteSession, StoredSession
from sitelore.model.errors import BadConfig, SessionEnded, UsageError
from sitelore.model.ids import TenantId
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url
from sitelore.ports import Clock

if TYPE_CHECKING:
    from sitelore.platform.secret_box import SecretBox
    from sitelore.store.engine import Engine
    from sitelore.store.site_sessions import SqlSiteSessions

_KEY_BYTES = 32
_NO_SHARED_KEY = (
    "sessions in a shared database need SITELORE_SECRETS_KEY, the same for all commands, servers and workers; "
    "make a key with `openssl rand -hex 32`"
)


class SiteSessions:
    """The stored sessions of all tenants. `key_file` None: the key must come from the environment."""

    def __init__(self, engine: Engine, clock: Clock, key_file: Path | None) -> None:
        self._engine = engine
        self._clock = clock
        self._key_file = key_file

    async def stored(self, tenant: TenantId) -> list[StoredSession]:
        """All sessions of a tenant, still encrypted."""
        return await self._table(tenant).list()

    def check_key(self) -> None:
        """Raise `UsageError` when a session could not be stored: better before a login than after it."""
        self._box(make_key=True)

    async def save(self, tenant: TenantId, session: SiteSession) -> StoredSession:
        """Store a new session; an older one of its origin is replaced. The first one makes the key file."""
        now = self._clock()
        row = StoredSession(session.origin, self._seal(session), now, now)
        await self._table(tenant).save(row)
        return row

    async def forget(self, tenant: TenantId, origin: str) -> bool:
        """Delete the session of an origin; False when there is none."""
        return await self._table(tenant).delete(origin)

    async def of_run(self, tenant: TenantId, settings: CrawlSettings) -> dict[SiteSession, StoredSession]:
        """The sessions of a run's seeds, with their rows. Raises `SessionEnded` when one cannot be decrypted."""
        from sitelore.fetch.access import seed_origins
        from sitelore.platform.secret_box import SecretUnreadable

        sessions = {}
        for row in await self._table(tenant).list(seed_origins(settings)):
            try:
                sessions[self._open(row)] = row
            except (SecretUnreadable, UsageError) as problem:
                host = origin_host(row.origin)
                raise SessionEnded(
                    f"the session of {host} cannot be used: {str(problem).rstrip('.')}; {_key_hint(row)}"
                ) from None
        return sessions

    async def renew(self, tenant: TenantId, row: StoredSession, session: SiteSession) -> None:
        """Store what a crawl has renewed, unless the user has logged in again meanwhile."""
        await self._table(tenant).renew(replace(row, sealed=self._seal(session), renewed_at=self._clock()))

    def _table(self, tenant: TenantId) -> SqlSiteSessions:
        from sitelore.store.site_sessions import SqlSiteSessions

        return SqlSiteSessions(self._engine, tenant)

    def _seal(self, session: SiteSession) -> str:
        return self._box(make_key=True).seal(msgspec.json.encode(session).decode(), session.origin)

    def _open(self, row: StoredSession) -> SiteSession:
        return msgspec.json.decode(self._box().open(row.sealed, row.origin), type=SiteSession)

    def _box(self, *, make_key: bool = False) -> SecretBox:
        from sitelore.platform.secret_box import SecretBox

        keys = operator_settings().secrets_keys
        if not keys and self._key_file is None:
            raise UsageError(_NO_SHARED_KEY)
        if self._key_file is not None and (not keys or self._key_file.exists()):
            keys = (*keys, read_key_file(self._key_file, make=make_key))
        return SecretBox(keys, "a stored session")


def read_key_file(path: Path, *, make: bool = False) -> str:
    """The key in a file that only its owner can read; with `make`, a missing file gets a new key."""
    if make and not path.exists():
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_KEY_BYTES) + "\n")
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise BadConfig(f"{path}: other users can read this key; run `chmod 600 {path}`")
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not a key"
        raise BadConfig(f"cannot read the key {path}: {reason}") from None
    if len(key) < _KEY_BYTES:
        raise BadConfig(f"{path} holds no key; delete it and log in again")
    return key


def origin_host(origin: str) -> str:
    """Host and port of an origin, as messages name a site."""
    url = Url.parse(origin)
    return url.authority if url is not None else origin


def _key_hint(row: StoredSession) -> str:
    return f"restore the key it was encrypted with, or run `sitelore login {row.origin}/` again"
