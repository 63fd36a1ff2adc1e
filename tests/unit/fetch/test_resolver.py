"""The resolver of host names: threads of its own, one lookup per name, and a cache with limits."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from tests.unit.fetch.raw_server import always, reply, serving, url_of

from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.fetch.http.resolver import Resolver
from sitelore.model.response import Failure, FetchFailure, Request, Response
from sitelore.model.settings import CrawlSettings, FetchLimits, Pace


@dataclass
class Names:
    """A resolving function: names that start with `hanging` block until the test releases them."""

    released: threading.Event = field(default_factory=threading.Event)
    calls: list[str] = field(default_factory=list)

    def addresses(self, host: str) -> list[str]:
        self.calls.append(host)
        if host.startswith("hanging"):
            self.released.wait()
        if host.startswith("missing"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if host.startswith("busy"):
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return ["127.0.0.1"]


@pytest.fixture
def names() -> Iterator[Names]:
    names = Names()
    yield names
    names.released.set()


@dataclass
class Time:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


async def test_fifty_hanging_names_do_not_delay_another_host(names: Names) -> None:
    settings = CrawlSettings(pace=Pace(concurrency=64), limits=FetchLimits(connect_s=600.0))
    resolver = Resolver(names.addresses, time_limit_s=600.0)
    async with serving(always(reply(b"<p>hi</p>", content_type="text/html"))) as site:
        fetcher = HttpFetcher(settings, AddressGuard(allow_private=["127.0.0.1"]), lookup=resolver.lookup)
        hanging = [
            asyncio.create_task(fetcher.fetch(Request(url_of(f"http://hanging{number}.example/")))) for number in range(50)
        ]
        for number in range(5):
            response = await fetcher.fetch(Request(url_of(f"http://healthy{number}.example:{site.port}/")))
            assert isinstance(response, Response)
            assert response.body == b"<p>hi</p>"
        assert not any(task.done() for task in hanging)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        await fetcher.close()


async def test_a_lookup_over_its_time_limit_is_a_dns_error_and_is_not_started_again(names: Names) -> None:
    resolver = Resolver(names.addresses, time_limit_s=0.01)
    fetcher = HttpFetcher(CrawlSettings(), AddressGuard(), lookup=resolver.lookup)
    for _ in range(3):
        failure = await fetcher.fetch(Request(url_of("http://hanging.example/")))
        assert isinstance(failure, FetchFailure)
        assert (failure.failure, failure.detail) == (Failure.DNS, "The host name was not resolved in time.")
    await fetcher.close()
    assert names.calls == ["hanging.example"]


async def test_simultaneous_lookups_of_a_name_are_one(names: Names) -> None:
    resolver = Resolver(names.addresses)
    lookups = [asyncio.create_task(resolver.lookup("hanging.example", port)) for port in (80, 443, 8080)]
    await asyncio.sleep(0)
    lookups[0].cancel()
    names.released.set()
    assert await asyncio.gather(*lookups[1:]) == [["127.0.0.1"], ["127.0.0.1"]]
    assert names.calls == ["hanging.example"]


async def test_addresses_and_missing_names_are_cached_for_a_while(names: Names) -> None:
    clock = Time()
    resolver = Resolver(names.addresses, clock=clock)
    for _ in range(2):
        assert await resolver.lookup("a.example", 80) == ["127.0.0.1"]
        with pytest.raises(OSError, match="no address"):
            await resolver.lookup("missing.example", 80)
    assert names.calls == ["a.example", "missing.example"]
    clock.now = 3600.0
    assert await resolver.lookup("a.example", 80) == ["127.0.0.1"]
    with pytest.raises(OSError, match="no address"):
        await resolver.lookup("missing.example", 80)
    assert names.calls == ["a.example", "missing.example"] * 2


async def test_a_temporary_failure_is_not_cached(names: Names) -> None:
    resolver = Resolver(names.addresses)
    for _ in range(2):
        with pytest.raises(OSError, match="no address"):
            await resolver.lookup("busy.example", 80)
    assert names.calls == ["busy.example"] * 2


async def test_the_cache_forgets_the_oldest_names(names: Names) -> None:
    resolver = Resolver(names.addresses, max_cached=2)
    for host in ("a.example", "b.example", "c.example", "c.example", "b.example", "a.example"):
        await resolver.lookup(host, 80)
    assert names.calls == ["a.example", "b.example", "c.example", "a.example"]


async def test_names_wait_for_a_thread_when_all_are_in_use(names: Names) -> None:
    resolver = Resolver(names.addresses, max_threads=2)
    hanging = [asyncio.create_task(resolver.lookup(f"hanging{number}.example", 80)) for number in range(2)]
    await asyncio.sleep(0)
    waiting = asyncio.create_task(resolver.lookup("a.example", 80))
    await asyncio.sleep(0)
    assert "a.example" not in names.calls
    names.released.set()
    assert await waiting == ["127.0.0.1"]
    await asyncio.gather(*hanging)


async def test_a_label_longer_than_dns_allows_does_not_resolve() -> None:
    with pytest.raises(OSError, match="no address"):
        await Resolver().lookup("x" * 64 + ".example", 80)
