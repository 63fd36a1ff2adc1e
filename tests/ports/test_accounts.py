"""Users, tokens and the audit log, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from tests.ports.conftest import Database

from sitelore.model.errors import Conflict, NotPermitted, UsageError
from sitelore.model.ids import DEFAULT_TENANT, TenantId, new_uuid
from sitelore.model.platform.accounts import (
    CHANNEL_SCOPES,
    MCP_SCOPES,
    TENANT_SCOPES,
    AuditEntry,
    AuditFacets,
    AuditListing,
    AuditOrder,
    Caller,
    TokenKind,
    TokenScope,
    UserRole,
)
from sitelore.model.platform.channels import Channel, ChannelSettings
from sitelore.platform.accounts.accounts import AccountService, TokenRequest, check_chain
from sitelore.platform.accounts.authentication import CACHE_S, Authenticator
from sitelore.platform.accounts.tenants import TenantService
from sitelore.store.ledger import SqlRunQueue
from sitelore.store.platform.accounts.repository import SqlAccountDirectory
from sitelore.store.platform.channels.repository import SqlChannels

NOW = 1_700_000_000.0


class Clock:
    """A clock that tests set."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Accounts:
    """The accounts of a tenant, and an authenticator, on one database."""

    def __init__(self, directory: SqlAccountDirectory, tenant: TenantId) -> None:
        self.directory = directory
        self.tenant = tenant
        self.clock, self.monotonic = Clock(), Clock(0.0)
        self.authenticator = Authenticator(directory, ("operator-token-of-old",), self.clock, self.monotonic)

    def of(self, **caller: object) -> AccountService:
        """The service for a caller with everything, apart from these changes."""
        own = replace(Caller(self.tenant, TENANT_SCOPES, "own", "ann"), **caller)  # type: ignore[arg-type]
        return AccountService(self.directory.for_tenant(self.tenant), self.clock, own)

    async def caller(self, token: str) -> Caller | None:
        """Who the token stands for."""
        return await self.authenticator.caller(token.encode(), "192.0.2.1")

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.now += seconds
        self.monotonic.now += seconds


async def open_accounts(database: Database, name: str = "red") -> Accounts:
    engine = await database.engine()
    tenant = await SqlRunQueue(engine).create_tenant(name, NOW)
    return Accounts(SqlAccountDirectory(engine), tenant.id)


@pytest.fixture
async def accounts(database: Database) -> AsyncIterator[Accounts]:
    opened = await open_accounts(database)
    yield opened
    await opened.authenticator.close()


async def test_a_change_without_its_entry_in_the_audit_log_is_no_change(accounts: Accounts, database: Database) -> None:
    channels = SqlChannels(await database.engine(), accounts.tenant)
    own = accounts.directory.for_tenant(accounts.tenant)

    def entry_for(channel: Channel) -> AuditEntry:
        return AuditEntry(new_uuid(NOW), NOW, "ann", "own", "channel.created", f"channel:{channel.id}")

    def refused(_: Channel) -> AuditEntry:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await channels.recording(refused).create_channel("a.test", "A", "https://a.test/", ChannelSettings(), NOW)
    assert await channels.list_channels(10, 0) == ([], 0)
    made = await channels.recording(entry_for).create_channel("a.test", "A", "https://a.test/", ChannelSettings(), NOW)
    assert made is not None
    await channels.recording(lambda _: None).create_channel("b.test", "B", "https://b.test/", ChannelSettings(), NOW)
    records, _ = await own.audit_records(AuditListing(10))
    assert [(record.entry.action, record.entry.object) for record in records] == [("channel.created", f"channel:{made.id}")]


async def test_a_token_stands_for_its_tenant_and_scopes(accounts: Accounts) -> None:
    created = await accounts.of().create_token(TokenRequest("ci", frozenset({TokenScope.READ})))
    caller = await accounts.caller(created.text)
    assert caller is not None
    assert (caller.tenant, caller.scopes, caller.token_id, caller.actor) == (
        accounts.tenant, frozenset({TokenScope.READ}), created.token.id, "ci",
    )  # fmt: skip
    operator = await accounts.caller("operator-token-of-old")
    assert operator is not None
    assert (operator.tenant, operator.may(TokenScope.ADMIN)) == (DEFAULT_TENANT, True)


async def test_the_secret_is_nowhere_in_the_database(accounts: Accounts, database: Database) -> None:
    created = await accounts.of().create_token(TokenRequest("ci"))
    secret = created.text.rpartition("_")[2]
    owner = await database.owner()

    def everything(conn: sa.Connection) -> str:
        return "".join(
            repr(tuple(row)) for table in ("tokens", "audit_log") for row in conn.execute(sa.text(f"SELECT * FROM {table}"))
        )

    stored = await owner.read(everything)
    assert created.token.id in stored
    assert secret not in stored
    assert secret[:43] not in stored


async def test_unknown_wrong_and_expired_tokens_are_refused(accounts: Accounts) -> None:
    created = await accounts.of().create_token(TokenRequest("short", expires_at=NOW + 60))
    other = await accounts.of().create_token(TokenRequest("other"))
    mixed = created.text.rpartition("_")[0] + "_" + other.text.rpartition("_")[2]
    assert await accounts.caller(mixed) is None
    assert await accounts.caller("sl_api_nothing") is None
    assert await accounts.caller("\xff") is None
    accounts.later(59)
    assert await accounts.caller(created.text) is not None
    accounts.later(1)
    assert await accounts.caller(created.text) is None
    with pytest.raises(UsageError, match="expired already"):
        await accounts.of().create_token(TokenRequest("past", expires_at=NOW))


async def test_a_revocation_counts_within_a_second_in_another_process(accounts: Accounts) -> None:
    created = await accounts.of().create_token(TokenRequest("ci"))
    assert await accounts.caller(created.text) is not None
    await accounts.of().revoke_token(created.token.id)
    accounts.later(CACHE_S)
    assert CACHE_S <= 1.0
    assert await accounts.caller(created.text) is None


async def test_a_revocation_counts_at_once_in_the_process_that_revokes(accounts: Accounts) -> None:
    created = await accounts.of().create_token(TokenRequest("ci"))
    assert await accounts.caller(created.text) is not None
    await accounts.of().revoke_token(created.token.id)
    accounts.authenticator.forget(created.token.id)
    assert await accounts.caller(created.text) is None


async def test_concurrent_requests_share_one_look_up(accounts: Accounts, monkeypatch: pytest.MonkeyPatch) -> None:
    created = await accounts.of().create_token(TokenRequest("ci"))
    look_up, count = accounts.directory.look_up, 0

    async def counted(token_id: str) -> object:
        nonlocal count
        count += 1
        return await look_up(token_id)

    monkeypatch.setattr(accounts.directory, "look_up", counted)
    callers = await asyncio.gather(*(accounts.caller(created.text) for _ in range(200)))
    assert all(callers)
    assert count == 1


async def test_a_rotated_token_stays_valid_for_the_grace_period(accounts: Accounts) -> None:
    old = await accounts.of().create_token(TokenRequest("ci", expires_at=NOW + 1000))
    new = await accounts.of().rotate_token(old.token.id, grace_s=100.0)
    assert new is not None
    assert (new.token.scopes, new.token.rotated_from, new.token.expires_at) == (old.token.scopes, old.token.id, NOW + 1000)
    assert await accounts.caller(old.text) is not None
    assert await accounts.caller(new.text) is not None
    accounts.later(100)
    assert await accounts.caller(old.text) is None
    assert await accounts.caller(new.text) is not None
    with pytest.raises(Conflict):
        await accounts.of().rotate_token(old.token.id)
    assert await accounts.of().rotate_token("nothing") is None


async def test_the_last_use_is_written_at_most_once_a_minute(accounts: Accounts) -> None:
    created = await accounts.of().create_token(TokenRequest("ci"))

    async def used_at() -> float | None:
        await accounts.caller(created.text)
        await accounts.authenticator.close()
        token = await accounts.of().accounts.find_token(created.token.id)
        assert token is not None
        assert token.last_address == "192.0.2.1"
        return token.last_used_at

    assert await used_at() == NOW
    accounts.later(59)
    assert await used_at() == NOW
    accounts.later(1)
    assert await used_at() == NOW + 60


@pytest.mark.parametrize(
    ("request_", "allowed"),
    [
        (TokenRequest("a"), TENANT_SCOPES),
        (TokenRequest("a", kind=TokenKind.MCP), MCP_SCOPES),
        (TokenRequest("a", channel="c1"), CHANNEL_SCOPES),
    ],
)
async def test_kind_and_channel_limit_what_a_token_permits(
    accounts: Accounts, request_: TokenRequest, allowed: frozenset[TokenScope]
) -> None:
    assert (await accounts.of().create_token(request_)).token.scopes == allowed
    for scope in set(TokenScope) - allowed:
        with pytest.raises(NotPermitted):
            await accounts.of().create_token(replace(request_, scopes=frozenset({scope})))


async def test_a_token_permits_no_more_than_its_creators(accounts: Accounts) -> None:
    small = accounts.of(scopes=frozenset({TokenScope.READ, TokenScope.MANAGE_TENANT}))
    assert (await small.create_token(TokenRequest("a"))).token.scopes == small.caller.scopes
    for request in (TokenRequest("a", frozenset({TokenScope.CRAWL})), TokenRequest("a", kind=TokenKind.MCP, scopes=MCP_SCOPES)):
        with pytest.raises(NotPermitted):
            await small.create_token(request)
    large = await accounts.of().create_token(TokenRequest("large"))
    with pytest.raises(NotPermitted):
        await small.rotate_token(large.token.id)
    with pytest.raises(NotPermitted):
        await accounts.of().create_token(TokenRequest("a", frozenset({TokenScope.ADMIN}), TokenKind.ADMIN))


async def test_the_role_of_a_user_limits_their_tokens_at_once(accounts: Accounts) -> None:
    await accounts.of().create_user("owner@people.test", UserRole.OWNER)
    user = await accounts.of().create_user("Ann@People.test", UserRole.ADMIN)
    created = await accounts.of().create_token(TokenRequest("ann", user=user.id))
    caller = await accounts.caller(created.text)
    assert caller is not None
    assert (caller.actor, caller.role, caller.scopes) == ("ann@people.test", UserRole.ADMIN, TENANT_SCOPES)
    await accounts.of().change_role(user.id, UserRole.VIEWER)
    accounts.later(CACHE_S)
    caller = await accounts.caller(created.text)
    assert caller is not None
    assert caller.scopes == MCP_SCOPES
    with pytest.raises(NotPermitted):
        await accounts.of().create_token(TokenRequest("more", frozenset({TokenScope.CRAWL}), user=user.id))
    assert await accounts.of().delete_user(user.id)
    accounts.later(CACHE_S)
    assert await accounts.caller(created.text) is None
    assert not await accounts.of().delete_user(user.id)


async def test_a_tenant_keeps_an_owner_and_e_mail_addresses_are_unique(accounts: Accounts) -> None:
    owner = await accounts.of().create_user("owner@people.test", UserRole.OWNER)
    with pytest.raises(Conflict, match="e-mail"):
        await accounts.of().create_user("OWNER@people.test", UserRole.VIEWER)
    with pytest.raises(Conflict, match="last owner"):
        await accounts.of().delete_user(owner.id)
    with pytest.raises(Conflict, match="last owner"):
        await accounts.of().change_role(owner.id, UserRole.ADMIN)
    for act in (
        accounts.of(role=UserRole.ADMIN).create_user("two@people.test", UserRole.OWNER),
        accounts.of(role=UserRole.ADMIN).delete_user(owner.id),
        accounts.of(role=UserRole.ADMIN).change_role(owner.id, UserRole.ADMIN),
    ):
        with pytest.raises(NotPermitted, match="only an owner"):
            await act
    await accounts.of(role=UserRole.OWNER).create_user("two@people.test", UserRole.OWNER)
    assert await accounts.of().change_role(owner.id, UserRole.ADMIN) is not None


async def test_two_owners_who_leave_at_the_same_moment_do_not_both_leave(accounts: Accounts) -> None:
    owners = [await accounts.of().create_user(f"{name}@people.test", UserRole.OWNER) for name in "ab"]
    results = await asyncio.gather(*(accounts.of().delete_user(owner.id) for owner in owners), return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "bool"]


async def test_the_audit_log_is_a_chain_without_gaps_over_concurrent_changes(accounts: Accounts) -> None:
    await asyncio.gather(*(accounts.of().create_token(TokenRequest(f"token {number}")) for number in range(20)))
    stored = accounts.of().accounts
    records, total = await stored.audit_records(AuditListing())
    assert [record.seq for record in records] == list(range(20, 0, -1))
    assert total == 20
    assert {record.entry.action for record in records} == {"token.created"}
    check = await check_chain(stored.audit_chain())
    assert (check.records, check.broken_at, check.last_hash) == (20, None, records[0].hash)
    assert await stored.record(records[0].entry) == records[0], "an entry is stored once"
    one, count = await stored.audit_records(
        AuditListing(5, actions=frozenset({"token.created"}), subject=records[3].entry.object)
    )
    assert (one, count) == ([records[3]], 1)


async def test_the_audit_log_is_filtered_sorted_and_counted(accounts: Accounts) -> None:
    own = accounts.of()
    user = await own.create_user("person@people.test", UserRole.MEMBER)
    created = await own.create_token(TokenRequest("first"))
    await own.create_token(TokenRequest("second"))
    stored = own.accounts

    async def listed(**filters: Any) -> list[str]:
        records, total = await stored.audit_records(AuditListing(**filters))
        assert total == len(records)
        return [record.entry.object for record in records]

    newest = await listed()
    assert await listed(is_descending=False) == newest[::-1]
    assert await listed(order=AuditOrder.OBJECT, is_descending=False) == sorted(newest)
    assert await listed(actions=frozenset({"user.created"})) == [f"user:{user.id}"] == await listed(text="USER.cre")
    assert f"token:{created.token.id}" in await listed(text=created.token.id)
    assert await listed(text="%") == await listed(actors=frozenset({"unknown"})) == []
    [actor] = {record.entry.actor for record in (await stored.audit_records(AuditListing()))[0]}
    assert len(await listed(actors=frozenset({actor}))) == 3
    facets = await stored.audit_facets(AuditListing(actions=frozenset({"user.created"})))
    assert facets == AuditFacets({"token.created": 2, "user.created": 1}, {actor: 1})


@pytest.mark.parametrize(
    ("statement", "broken_at"),
    [
        ("UPDATE audit_log SET actor = 'mallory' WHERE seq = 3", 3),
        ("UPDATE audit_log SET at = at + 1 WHERE seq = 1", 1),
        ("DELETE FROM audit_log WHERE seq = 4", 5),
        ("UPDATE audit_log SET hash = previous WHERE seq = 2", 2),
        ("DELETE FROM audit_log WHERE seq <= 2", None),
    ],
)
async def test_a_changed_or_missing_record_breaks_the_chain(
    accounts: Accounts, database: Database, statement: str, broken_at: int | None
) -> None:
    """Records at the start may be missing: retention deletes them."""
    for number in range(6):
        await accounts.of().create_token(TokenRequest(f"token {number}"))
    owner = await database.owner()
    await owner.write(lambda conn: conn.execute(sa.text(f"{statement} AND tenant_id = {accounts.tenant}")))
    assert (await check_chain(accounts.of().accounts.audit_chain())).broken_at == broken_at


async def test_tokens_of_a_suspended_tenant_permit_nothing(accounts: Accounts, database: Database) -> None:
    created = await accounts.of().create_token(TokenRequest("ci"))
    queue = SqlRunQueue(await database.engine())
    operator = TenantService(queue, accounts.directory, accounts.clock, Caller())
    tenant = await accounts.directory.tenant(accounts.tenant)
    assert tenant is not None
    suspended = await operator.suspend(tenant, is_suspended=True)
    assert suspended is not None
    assert suspended.suspended_at == NOW
    caller = await accounts.caller(created.text)
    assert caller is not None
    assert (caller.is_suspended, caller.scopes) == (True, frozenset())
    assert (await operator.suspend(suspended, is_suspended=False)) == tenant
    accounts.later(CACHE_S)
    caller = await accounts.caller(created.text)
    assert caller is not None
    assert caller.scopes == TENANT_SCOPES
    log, _ = await accounts.directory.for_tenant(DEFAULT_TENANT).audit_records(AuditListing())
    assert [record.entry.action for record in log] == ["tenant.resumed", "tenant.suspended"]
    default = await accounts.directory.tenant(DEFAULT_TENANT)
    assert default is not None
    with pytest.raises(Conflict):
        await operator.suspend(default, is_suspended=True)


async def test_a_new_tenant_gets_an_owner_and_a_token(accounts: Accounts, database: Database) -> None:
    service = TenantService(SqlRunQueue(await database.engine()), accounts.directory, accounts.clock, Caller())
    created = await service.create("green", "ann@green.test")
    caller = await accounts.caller(created.token.text)
    assert caller is not None
    assert (caller.tenant, caller.role, caller.actor) == (created.tenant.id, UserRole.OWNER, "ann@green.test")
    with pytest.raises(Conflict, match="green"):
        await service.create("green")
    with pytest.raises(UsageError, match="e-mail"):
        await service.create("blue", "no address")


async def test_a_tenant_does_not_find_the_tokens_and_users_of_another(database: Database) -> None:
    ours, theirs = await open_accounts(database), await open_accounts(database, "blue")
    user = await theirs.of().create_user("ann@blue.test", UserRole.OWNER)
    token = (await theirs.of().create_token(TokenRequest("ci"))).token
    own = ours.of()
    assert await own.accounts.find_token(token.id) is None
    assert await own.accounts.find_user(user.id) is None
    assert await own.accounts.list_tokens(9, 0) == ([], 0)
    assert await own.accounts.list_users(9, 0) == ([], 0)
    assert await own.accounts.audit_records(AuditListing()) == ([], 0)
    assert await own.revoke_token(token.id) is None
    assert await own.rotate_token(token.id) is None
    assert not await own.delete_user(user.id)
    with pytest.raises(UsageError, match="no user"):
        await own.create_token(TokenRequest("ci", user=user.id))
    assert (await own.create_user("ann@blue.test", UserRole.OWNER)).email == "ann@blue.test", "unique per tenant only"
