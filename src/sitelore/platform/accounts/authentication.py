"""Authentication: the text of API tokens, the caller behind a token, and the dashboard sessions of one process.

A token is `sl_<kind>_<id><secret><checksum>`, with `_` before the secret. The prefix and the CRC-32 checksum let scanners find
leaked tokens. Tokens are those of the operator's settings, and those of tenants in the database.

Look-ups are cached for `CACHE_S`, counted from when the query was sent. So a request that arrives later than that after a
revocation was committed, in any process, is judged by a query that sees it. The process that revokes drops its entry at once.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
import string
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from zlib import crc32

from sitelore.model.errors import SiteloreError
from sitelore.model.ids import DEFAULT_TENANT
from sitelore.model.platform.accounts import ALL_SCOPES, Caller, StoredToken, TokenKind
from sitelore.platform_ports import AccountDirectory
from sitelore.ports import Clock

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_ID_CHARS, _SECRET_CHARS, _CHECKSUM_CHARS = 22, 43, 6
_FORM = re.compile(
    rf"sl_({'|'.join(TokenKind)})_([0-9A-Za-z]{{{_ID_CHARS}}})_([0-9A-Za-z]{{{_SECRET_CHARS}}})([0-9A-Za-z]{{{_CHECKSUM_CHARS}}})"
)


@dataclass(frozen=True, slots=True)
class TokenText:
    """A token as its owner has it, taken apart. `text` is shown once and never stored."""

    kind: TokenKind
    id: str
    secret_hash: bytes
    text: str


def new_token_text(kind: TokenKind) -> TokenText:
    """A new random token."""
    token_id, secret = _random(_ID_CHARS), _random(_SECRET_CHARS)
    body = f"sl_{kind}_{token_id}_{secret}"
    return TokenText(kind, token_id, _hash(secret), body + _checksum(body))


def parse_token(text: str) -> TokenText | None:
    """The parts of a token; None when its form or its checksum is wrong."""
    match = _FORM.fullmatch(text)
    if match is None or _checksum(text[:-_CHECKSUM_CHARS]) != match[4]:
        return None
    return TokenText(TokenKind(match[1]), match[2], _hash(match[3]), text)


def _random(length: int) -> str:
    return "".join(secrets.choice(_DIGITS) for _ in range(length))


def _hash(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


def _checksum(body: str) -> str:
    number, digits = crc32(body.encode()), ""
    for _ in range(_CHECKSUM_CHARS):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


_LOG = logging.getLogger(__name__)

CACHE_S = 1.0
_MAX_CACHED = 4_096
_USE_INTERVAL_S = 60.0
_NO_HASH = bytes(32)
ONE_TIME_LOGIN = "one-time-login"
"""The token id of the link that a server prints at its start: the operator, like one of the operator's tokens."""


class Authenticator:
    """Finds the caller that a token belongs to."""

    def __init__(
        self,
        directory: AccountDirectory,
        operator_tokens: tuple[str, ...],
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._operator_tokens = tuple(_digest(token.encode()) for token in operator_tokens)
        self._clock = clock
        self._monotonic = monotonic
        self._cache: dict[str, tuple[float, asyncio.Task[StoredToken | None]]] = {}
        self._used_at: dict[str, float] = {}
        self._writing: set[asyncio.Task[None]] = set()

    async def caller(self, token: bytes, address: str) -> Caller | None:
        """The caller, without the id of the request; None for a token that is unknown, wrong, revoked or expired."""
        digest = _digest(token)
        # Compare with every token in constant time, so that timing reveals nothing.
        matches = [hmac.compare_digest(digest, known) for known in self._operator_tokens]
        if any(matches):
            return _operator(_operator_id(digest), address)
        text = parse_token(token.decode("latin-1"))
        return None if text is None else await self._tenant_caller(text, address)

    async def caller_by_id(self, token_id: str, address: str) -> Caller | None:
        """The caller of a token whose secret was checked before: that of a session. None when it is not valid any more."""
        if token_id == ONE_TIME_LOGIN or token_id in map(_operator_id, self._operator_tokens):
            return _operator(token_id, address)
        stored = await self._look_up(token_id) if token_id else None
        return self._live_caller(stored, address)

    def forget(self, *token_ids: str) -> None:
        """Look these tokens up again, because they were changed; without an id, all of them."""
        for token_id in token_ids or tuple(self._cache):
            self._cache.pop(token_id, None)

    async def _tenant_caller(self, text: TokenText, address: str) -> Caller | None:
        stored = await self._look_up(text.id)
        is_right = hmac.compare_digest(text.secret_hash, _NO_HASH if stored is None else stored.secret_hash)
        if stored is None or not is_right or stored.token.kind is not text.kind:
            return None
        return self._live_caller(stored, address)

    def _live_caller(self, stored: StoredToken | None, address: str) -> Caller | None:
        now = self._clock()
        if stored is None or not stored.token.is_live(now):
            return None
        self._record_use(stored, now, address)
        token, user = stored.token, stored.user
        return Caller(
            stored.tenant,
            frozenset() if stored.is_suspended else stored.scopes,
            token.id,
            user.email if user else token.name,
            token.channel,
            address,
            user.role if user else None,
            is_suspended=stored.is_suspended,
        )

    async def _look_up(self, token_id: str) -> StoredToken | None:
        """The stored token. Concurrent look-ups of one id share a query (single flight)."""
        now = self._monotonic()
        sent_at, task = self._cache.get(token_id, (0.0, None))
        if task is None or now - sent_at >= CACHE_S or (task.done() and (task.cancelled() or task.exception() is not None)):
            if len(self._cache) >= _MAX_CACHED:
                self._cache = {key: entry for key, entry in self._cache.items() if now - entry[0] < CACHE_S}
            task = asyncio.create_task(self._directory.look_up(token_id))
            self._cache[token_id] = (now, task)
        # A client that disconnects must not cancel the look-up for the others.
        return await asyncio.shield(task)

    def _record_use(self, stored: StoredToken, now: float, address: str) -> None:
        """Write the last use in the background, at most once a minute."""
        token_id = stored.token.id
        used_at = self._used_at.get(token_id, stored.token.last_used_at)
        if used_at is not None and now - used_at < _USE_INTERVAL_S:
            return
        if len(self._used_at) >= _MAX_CACHED:
            self._used_at.clear()
        self._used_at[token_id] = now
        writing = asyncio.create_task(self._write_use(stored, now, address))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)

    async def _write_use(self, stored: StoredToken, now: float, address: str) -> None:
        try:
            await self._directory.mark_used(stored.tenant, stored.token.id, now, address)
        except SiteloreError as problem:  # a request must not fail because of it; a directory may be read-only
            _LOG.debug("the use of a token was not recorded: %s", problem)

    async def close(self) -> None:
        """Wait for writes that are in progress."""
        await asyncio.gather(*self._writing, return_exceptions=True)


def _digest(token: bytes) -> bytes:
    return sha256(token).digest()


def _operator_id(digest: bytes) -> str:
    return digest.hex()[:16]


def _operator(token_id: str, address: str) -> Caller:
    return Caller(DEFAULT_TENANT, ALL_SCOPES, token_id, "operator", address=address)


MAX_ENTRIES = 1000
"""At the limit, the entry that was used longest ago is dropped."""


class LocalSessionStore:
    """Values with an expiry, in the memory of one process."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._entries: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    async def put(self, key: str, value: bytes, ttl_s: float) -> None:
        """Store a value until it expires."""
        self._entries[key] = (self._monotonic() + ttl_s, value)
        self._entries.move_to_end(key)
        while len(self._entries) > MAX_ENTRIES:
            self._entries.popitem(last=False)

    async def get(self, key: str, ttl_s: float) -> bytes | None:
        """The value, which from now on lives for `ttl_s`."""
        value = await self.take(key)
        if value is not None:
            await self.put(key, value, ttl_s)
        return value

    async def take(self, key: str) -> bytes | None:
        """Remove and return the value: of two callers, one gets it."""
        expires_at, value = self._entries.pop(key, (0.0, None))
        return value if value is not None and self._monotonic() < expires_at else None
