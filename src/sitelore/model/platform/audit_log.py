"""Entries of a tenant's audit log, and the chain of hashes that makes a later change of an entry visible."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sitelore.model.platform.accounts import Caller


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change: who did what to which object. Holds no secrets and no values, only hashes of what changed."""

    id: str
    """A UUID, so that an entry that is recorded twice is stored once."""
    at: float
    actor: str
    token_id: str
    action: str
    """`token.created`, `run.cancelled`, …"""
    object: str
    """What was changed, as `kind:id`."""
    before: str = ""
    """SHA-256 of the object before the change (`digest_of`); empty when it did not exist."""
    after: str = ""
    """SHA-256 of the object after the change; empty when it was deleted."""
    address: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A stored entry with its place in the chain of its tenant."""

    seq: int
    """1, 2, 3 … without gaps."""
    entry: AuditEntry
    previous: str
    """The hash of the record before; empty in the first."""
    hash: str


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """The result of checking a chain."""

    records: int
    last_hash: str
    """The hash of the last record. Kept elsewhere, it proves later that no record was removed at the end or rewritten."""
    broken_at: int | None = None
    """The first record that does not continue the chain; None: the chain is intact."""


EntryFor = Callable[[Any], AuditEntry | None]
"""Gives the entry about a change by its result; None where nothing was changed."""


def entry_of(caller: Caller, entry_id: str, at: float, action: str, changed: str) -> AuditEntry:
    """An entry about what this caller did."""
    return AuditEntry(
        entry_id, at, caller.actor, caller.token_id, action, changed, address=caller.address, request_id=caller.request_id
    )


def digest_of(value: Any) -> str:
    """SHA-256 of a JSON value, in hex."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def hash_of(seq: int, entry: AuditEntry, previous: str) -> str:
    """The hash of a record, which covers the one before."""
    fields = [entry.id, entry.at, entry.actor, entry.token_id, entry.action, entry.object, entry.before, entry.after,
              entry.address, entry.request_id]  # fmt: skip
    return digest_of([previous, seq, *fields])
