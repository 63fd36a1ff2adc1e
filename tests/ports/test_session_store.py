"""Sessions and one-time logins in the memory of a process, and in Redis for several servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from sitelore.model.errors import StorageError
from sitelore.platform.accounts.authentication import LocalSessionStore
from sitelore.platform_ports import SessionStore


@pytest.fixture(params=["local", "redis"])
async def stores(request: pytest.FixtureRequest) -> AsyncIterator[list[SessionStore]]:
    """The store as two servers see it."""
    if request.param == "local":
        store = LocalSessionStore()
        yield [store, store]
        return
    from sitelore.store.redis.api_state import RedisSessionStore
    from sitelore.store.redis.notifications import open_redis

    clients = [open_redis(request.getfixturevalue("redis_url")) for _ in range(2)]
    await clients[0].flushall()
    yield [RedisSessionStore(client) for client in clients]
    await asyncio.gather(*(client.aclose() for client in clients))


async def test_a_value_is_seen_by_every_server_until_it_is_taken_once(stores: list[SessionStore]) -> None:
    first, second = stores
    await first.put("login:1", b"operator", 600.0)
    assert await second.get("login:1", 600.0) == b"operator"
    taken = await asyncio.gather(*(store.take("login:1") for store in (first, second, first, second)))
    assert [value for value in taken if value is not None] == [b"operator"]
    assert await first.get("login:1", 600.0) is None


async def test_reading_a_session_prolongs_it(redis_url: str) -> None:
    from sitelore.store.redis.api_state import RedisSessionStore
    from sitelore.store.redis.notifications import open_redis

    client = open_redis(redis_url)
    store = RedisSessionStore(client)
    await store.put("session:1", b"mine", 100.0)
    assert await store.get("session:1", 5000.0) == b"mine"
    assert 4990 < await client.ttl("sitelore:sessions:session:1") <= 5000
    await client.aclose()


async def test_without_redis_a_session_cannot_be_checked() -> None:
    from sitelore.store.redis.api_state import RedisSessionStore
    from sitelore.store.redis.notifications import open_redis

    client = open_redis("redis://127.0.0.1:1/0")
    with pytest.raises(StorageError, match="Redis, which holds the sessions"):
        await RedisSessionStore(client).get("session:1", 5.0)
    await client.aclose()
