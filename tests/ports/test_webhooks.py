"""Webhooks on SQLite and Postgres: signatures, order, retries, dead letters, tenants, and what a killed sender leaves."""

from __future__ import annotations

import asyncio
import base64
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
import sqlalchemy as sa
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from tests.ports.conftest import Database
from tests.ports.frontier import seed
from tests.support.webhook_receiver import Received, Receiver, Reply, receiver

from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.model.errors import UsageError
from sitelore.model.frontier import StoredEventKind
from sitelore.model.ids import DEFAULT_TENANT, RunId, TenantId
from sitelore.model.platform.webhooks import (
    Attempt,
    Delivery,
    DeliveryListing,
    DeliveryState,
    EndpointChange,
    WebhookEndpoint,
)
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import RunState
from sitelore.model.url import Url
from sitelore.platform.secret_box import SecretBox, SecretUnreadable
from sitelore.platform.webhooks.delivery import FETCH_SETTINGS, RETRY_DELAYS_S, WebhookSender, decide, sign
from sitelore.platform.webhooks.endpoints import EndpointDisabled, NoSuchEndpoint, WebhookService
from sitelore.store.engine import Engine
from sitelore.store.ledger import SqlLedger
from sitelore.store.platform.accounts.repository import SqlAccountDirectory
from sitelore.store.platform.schema import webhook_deliveries, webhook_queues
from sitelore.store.platform.webhooks import SqlWebhooks
from sitelore.store.runs.events import NewEvent, store_events
from sitelore.store.tenants import for_tenant

START = 1_800_000_000.0
LOOPBACK = ("127.0.0.0/8",)
DAY_S = 86_400.0


@dataclass
class Sending:
    """A sender and the management of webhooks over one database, with a clock that the test moves."""

    engine: Engine
    allow_private: tuple[str, ...] = LOOPBACK
    keys: tuple[str, ...] = ()
    lookup: Any = None
    clock: Any = None
    now: float = START
    fetcher: HttpFetcher = field(init=False)
    service: WebhookService = field(init=False)

    def __post_init__(self) -> None:
        guard = AddressGuard((), self.allow_private)
        self.fetcher = HttpFetcher(FETCH_SETTINGS, guard, lookup=self.lookup)
        webhooks, secrets, clock = (
            SqlWebhooks(self.engine, DEFAULT_TENANT),
            SecretBox(self.keys),
            self.clock or (lambda: self.now),
        )
        ledger = SqlLedger(self.engine, DEFAULT_TENANT)
        sender = WebhookSender(webhooks, ledger, self.fetcher, guard, clock, secrets, jitter=lambda: 0.0)
        self.service = WebhookService(webhooks, sender, secrets, clock)

    @property
    def sender(self) -> WebhookSender:
        return self.service.sender

    async def pass_time(self) -> bool:
        """Move the clock to the next attempt that is due; False when nothing is pending."""
        due = await SqlWebhooks(self.engine, DEFAULT_TENANT).next_due()
        self.now = max(self.now, due or 0.0)
        return due is not None

    async def drain(self, passes: int = 100_000) -> None:
        """Deliver everything, as time passes."""
        for _ in range(passes):
            if not await self.pass_time():
                return
            await self.sender.send_due_deliveries()
        raise AssertionError("there is no end to it")

    async def log(self, endpoint: WebhookEndpoint, state: DeliveryState | None = None) -> list[Delivery]:
        """The delivery log, oldest first."""
        deliveries, total = await self.service.deliveries(DEFAULT_TENANT, endpoint.id, DeliveryListing(state, 10_000))
        assert total == len(deliveries)
        return deliveries[::-1]


@asynccontextmanager
async def sending(database: Database, **changes: Any) -> AsyncIterator[Sending]:
    made = Sending(await database.engine(), **changes)
    try:
        yield made
    finally:
        await made.fetcher.close()


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as received:
        yield received


async def store(engine: Engine, events: list[NewEvent], tenant: TenantId = DEFAULT_TENANT) -> None:
    await engine.write(for_tenant, store_events, tenant, events)


def pages(run: str, count: int, first: int = 0) -> list[NewEvent]:
    """Events of pages with numbered URLs."""
    return [
        NewEvent(RunId(run), StoredEventKind.PAGE_NEW, START + number, Url.trusted(f"http://site.test/{run}/{number}"))
        for number in range(first, first + count)
    ]


def numbers(requests: list[Received], run: str) -> list[int]:
    """The numbers of a run's pages, in the order in which they were accepted for the first time."""
    return list(dict.fromkeys(int(r.data["url"].rsplit("/")[-1]) for r in requests if r.data["runId"] == run))


async def test_a_run_is_reported_from_its_start_to_its_end(database: Database, hook: Receiver) -> None:
    async with sending(database) as here:
        await here.service.create(DEFAULT_TENANT, hook.url)
        ledger = SqlLedger(here.engine, DEFAULT_TENANT)
        run = await ledger.create_run("site.test", CrawlSettings(), [seed("a")], START)
        await ledger.begin_run(run.id, START)
        await ledger.end_run(run.id, RunState.FAILED, START + 2, "no answer")
        await here.drain()
    first, last = hook.requests
    assert first.json == {
        "type": "run.started",
        "timestamp": "2027-01-15T08:00:00.000Z",
        "data": {"runId": run.id, "runPath": f"/crawl-runs/{run.id}", "site": "site.test"},
    }
    assert last.type == "run.failed"
    assert last.data["status"] == "FAILED"
    assert last.data["error"] == "no answer"
    assert last.data["pagesCrawled"] == 0
    assert first.headers["content-type"] == "application/json"


async def test_signatures_are_those_of_standard_webhooks_and_both_secrets_sign_during_a_rotation(
    database: Database, hook: Receiver
) -> None:
    async with sending(database, clock=None) as here:
        import time

        here.now = time.time()  # the library compares the timestamp with the clock
        endpoint, old = await here.service.create(DEFAULT_TENANT, hook.url)
        assert old.startswith("whsec_")
        assert len(base64.b64decode(old.removeprefix("whsec_"))) == 32
        await here.service.test(DEFAULT_TENANT, endpoint.id)
        _, new = await here.service.rotate(DEFAULT_TENANT, endpoint.id, 3600.0)
        await here.service.test(DEFAULT_TENANT, endpoint.id)
        here.now += 3601.0
        await here.service.test(DEFAULT_TENANT, endpoint.id)
    before, during, after = hook.requests
    assert before.type == "webhook.test"
    assert Webhook(old).verify(before.body, before.headers) == before.json
    for secret in (old, new):
        assert Webhook(secret).verify(during.body, during.headers) == during.json
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(before.body + b" ", before.headers)
    stamp = int(after.headers["webhook-timestamp"])
    assert after.headers["webhook-signature"] == sign([new], after.id, stamp, after.body)
    assert len({request.id for request in hook.requests}) == 3


async def test_a_receiver_that_fails_half_the_time_gets_every_event_in_the_order_of_its_run(
    database: Database, hook: Receiver
) -> None:
    chance = random.Random(7)
    failures: dict[str, int] = defaultdict(lambda: chance.choice((0, 0, 1, 1, 3)))

    def fail_half_of_the_requests(request: Received) -> Reply:
        failures[request.id] -= 1
        return Reply(500 if failures[request.id] >= 0 else 204)

    hook.answer = fail_half_of_the_requests
    runs = [f"run-{number}" for number in range(5)]
    async with sending(database) as here:
        endpoint, _ = await here.service.create(DEFAULT_TENANT, hook.url)
        for number in range(6):
            for run in runs:
                await store(here.engine, pages(run, 8, number * 8))
        await here.drain()
        assert {entry.state for entry in await here.log(endpoint)} == {DeliveryState.DELIVERED}
    for run in runs:
        assert numbers(hook.accepted(), run) == list(range(48))
    assert len(hook.accepted()) == 240, "an accepted event is not sent again"
    by_url: dict[str, set[str]] = {}
    for request in hook.requests:
        by_url.setdefault(request.data["url"], set()).add(request.id)
    assert all(len(ids) == 1 for ids in by_url.values()), "an event keeps its id"
    assert len(set.union(*by_url.values())) == 240


async def test_several_senders_share_the_queues(database: Database, hook: Receiver) -> None:
    chance = random.Random(3)
    hook.answer = lambda _: Reply(chance.choice((200, 200, 200, 500)))
    runs = [f"run-{number}" for number in range(6)]
    async with sending(database) as one, sending(database, clock=lambda: one.now) as two:
        await one.service.create(DEFAULT_TENANT, hook.url)
        for run in runs:
            await store(one.engine, pages(run, 20))
        while await one.pass_time():
            await asyncio.gather(one.sender.send_due_deliveries(2), two.sender.send_due_deliveries(2))
    assert len(hook.accepted()) == 120
    for run in runs:
        assert numbers(hook.accepted(), run) == list(range(20))


async def test_events_that_are_stored_while_their_queue_is_drained_are_not_left_behind(
    database: Database, hook: Receiver
) -> None:
    async with sending(database) as one, sending(database, clock=lambda: one.now) as two:
        endpoint, _ = await one.service.create(DEFAULT_TENANT, hook.url)
        one.now += 1_000

        async def store_all() -> None:
            for number in range(120):
                await store(one.engine, pages("run", 1, number))

        storing = asyncio.create_task(store_all())
        while not storing.done():
            await asyncio.gather(one.sender.send_due_deliveries(), two.sender.send_due_deliveries())
        await storing
        await one.drain()
        assert {entry.state for entry in await one.log(endpoint)} == {DeliveryState.DELIVERED}
        assert await one.engine.read(for_tenant, _count, DEFAULT_TENANT, webhook_queues) == 0
    assert numbers(hook.requests, "run") == list(range(120))


async def test_what_a_killed_sender_has_not_recorded_is_sent_again_with_the_same_id(database: Database, hook: Receiver) -> None:
    async with sending(database) as here, sending(database, clock=lambda: here.now) as other:
        await here.service.create(DEFAULT_TENANT, hook.url)
        await store(here.engine, pages("run", 3))
        here.now += 10
        webhooks = SqlWebhooks(here.engine, DEFAULT_TENANT)
        [queue] = await webhooks.claim_queues("killed", 9, here.now, here.now + 60)
        batch = await webhooks.pending_batch(queue, 1)
        assert batch is not None
        await here.sender.send(batch.endpoint, _message_of(batch))
        assert await other.sender.send_due_deliveries() == 0, "the lease is respected"
        here.now += 61
        await other.drain()
        assert hook.requests[0].id == hook.requests[1].id
        assert numbers(hook.accepted(), "run") == [0, 1, 2]
        late = await webhooks.record_attempt(
            queue,
            batch.pending[0].delivery.event,
            Attempt(here.now, 1, 500),
            decide(Attempt(here.now, 1, 500), 1, None, 0.0),
            0.0,
        )
        assert late is False, "a sender that has lost its lease changes nothing"
        assert {entry.state for entry in await other.log(batch.endpoint)} == {DeliveryState.DELIVERED}


def _message_of(batch: Any) -> Any:
    from sitelore.platform.webhooks.delivery import event_message

    return event_message(batch.pending[0], None, None)


async def test_retries_follow_the_table_and_end_as_a_dead_letter_that_lets_the_next_event_pass(
    database: Database, hook: Receiver
) -> None:
    hook.answer = lambda request: Reply(404 if request.data["url"].endswith("/0") else 200, body=b"no such hook")
    async with sending(database) as here:
        endpoint, _ = await here.service.create(DEFAULT_TENANT, hook.url)
        await store(here.engine, pages("run", 2))
        times = []
        while await here.pass_time():
            times.append(here.now)
            await here.sender.send_due_deliveries()
        assert [round(b - a) for a, b in pairwise(times)] == list(RETRY_DELAYS_S)
        dead, delivered = await here.log(endpoint)
        assert (dead.state, dead.attempts, dead.status, dead.answer) == (DeliveryState.DEAD, 10, 404, "no such hook")
        assert delivered.state is DeliveryState.DELIVERED
        assert [entry.event for entry in await here.log(endpoint, DeliveryState.DEAD)] == [dead.event]


async def test_retry_after_pauses_all_queues_of_the_endpoint(database: Database, hook: Receiver) -> None:
    hook.answer = lambda _: Reply(429, {"Retry-After": "1000"})
    async with sending(database) as here:
        await here.service.create(DEFAULT_TENANT, hook.url)
        await store(here.engine, [*pages("one", 1), *pages("two", 1)])
        here.now += 10
        assert await here.sender.send_due_deliveries(1) == 1
        assert await here.sender.send_due_deliveries() == 0
        before = here.now
        hook.answer = lambda _: Reply(200)
        await here.drain()
        assert here.now >= before + 1000
        assert len(hook.accepted()) == 2


async def test_gone_disables_the_endpoint_and_the_others_get_to_know(database: Database, hook: Receiver) -> None:
    hook.answer = lambda request: Reply(410 if request.path == "/gone" else 200)
    async with sending(database) as here:
        gone, _ = await here.service.create(DEFAULT_TENANT, hook.url.replace("/hook", "/gone"))
        other, _ = await here.service.create(DEFAULT_TENANT, hook.url, ["webhook.disabled"])
        await store(here.engine, pages("run", 3))
        await here.drain()
        [notice] = [request for request in hook.requests if request.path == "/hook"]
        assert notice.data == {"webhookId": gone.id, "reason": "the receiver answered 410 Gone"}
        assert len(hook.requests) == 2
        assert [entry.state for entry in await here.log(gone)] == [DeliveryState.DEAD] * 3
        stored = await here.service.endpoint(DEFAULT_TENANT, gone.id)
        assert (stored.enabled, stored.disabled_reason) == (False, "the receiver answered 410 Gone")
        await store(here.engine, pages("run", 1, 3))
        assert not await here.pass_time(), "a disabled endpoint receives nothing"
        with pytest.raises(EndpointDisabled):
            await here.service.replay(DEFAULT_TENANT, gone.id, 1)
        assert (await here.service.endpoint(DEFAULT_TENANT, other.id)).enabled


async def test_an_endpoint_that_fails_for_days_is_disabled(database: Database, hook: Receiver) -> None:
    hook.answer = lambda _: Reply(500)
    async with sending(database) as here:
        endpoint, _ = await here.service.create(DEFAULT_TENANT, hook.url)
        await store(here.engine, pages("run", 5))
        await here.drain()
        stored = await here.service.endpoint(DEFAULT_TENANT, endpoint.id)
        assert not stored.enabled
        assert "5 days" in stored.disabled_reason
        assert {entry.state for entry in await here.log(endpoint)} == {DeliveryState.DEAD}
        assert here.now < START + 7 * DAY_S


async def test_dead_letters_are_replayed_one_or_a_period_of_them(database: Database, hook: Receiver) -> None:
    hook.answer = lambda _: Reply(410)
    async with sending(database) as here:
        endpoint, _ = await here.service.create(DEFAULT_TENANT, hook.url)
        await store(here.engine, pages("run", 10))
        await here.drain()
        await here.service.change(DEFAULT_TENANT, endpoint.id, EndpointChange(enabled=True))
        hook.answer, hook.requests[:] = lambda _: Reply(200), []
        dead = await here.log(endpoint, DeliveryState.DEAD)
        assert len(dead) == 10
        assert await here.service.replay(DEFAULT_TENANT, endpoint.id, dead[7].event)
        await here.drain()
        assert numbers(hook.requests, "run") == [7]
        assert await here.service.replay_dead(DEFAULT_TENANT, endpoint.id, START + 2, START + 5) == 3
        await here.drain()
        assert numbers(hook.requests, "run") == [7, 2, 3, 4]
        assert not await here.service.replay(DEFAULT_TENANT, endpoint.id, 10**6)
        assert await here.service.replay(DEFAULT_TENANT, endpoint.id, dead[7].event), "a delivered event can be sent again"
        await here.drain()
        assert len(hook.requests) == 5
        with pytest.raises(NoSuchEndpoint):
            await here.service.replay(DEFAULT_TENANT, "unknown", 1)


async def test_an_endpoint_receives_its_types_and_its_tenant_only(database: Database, hook: Receiver) -> None:
    [mine, theirs] = await database.tenants("mine", "theirs")
    async with sending(database) as here:
        await here.service.create(mine._tenant, hook.url, ["page.gone"])
        await store(here.engine, pages("run", 2), mine._tenant)
        await store(here.engine, [NewEvent(RunId("run"), StoredEventKind.PAGE_GONE, START)], mine._tenant)
        await store(here.engine, [NewEvent(RunId("run"), StoredEventKind.PAGE_GONE, START)], theirs._tenant)
        await here.drain()
        assert [request.type for request in hook.requests] == ["page.gone"]
        [endpoint] = await here.service.endpoints(mine._tenant)
        assert await here.service.endpoints(theirs._tenant) == []
        for call in (
            here.service.endpoint(theirs._tenant, endpoint.id),
            here.service.rotate(theirs._tenant, endpoint.id),
            here.service.remove(theirs._tenant, endpoint.id),
            here.service.test(theirs._tenant, endpoint.id),
            here.service.change(theirs._tenant, endpoint.id, EndpointChange(enabled=False)),
            here.service.deliveries(theirs._tenant, endpoint.id, DeliveryListing()),
            here.service.replay_dead(theirs._tenant, endpoint.id, 0.0, START * 2),
        ):
            with pytest.raises(NoSuchEndpoint):
                await call
        with pytest.raises(UsageError, match=r"unknown event type 'page\.old'"):
            await here.service.create(mine._tenant, hook.url, ["page.old"])


async def test_a_suspended_tenant_sends_nothing_until_it_is_resumed(database: Database, hook: Receiver) -> None:
    [mine] = await database.tenants("mine")
    async with sending(database) as here:
        directory = SqlAccountDirectory(here.engine)
        await here.service.create(mine._tenant, hook.url)
        await directory.suspend(mine._tenant, START)
        await store(here.engine, pages("run", 2), mine._tenant)
        assert not await here.pass_time()
        assert await here.sender.send_due_deliveries() == 0
        stats = await here.service.stats()
        assert (stats.queues, stats.overdue_s, hook.requests) == (0, 0.0, [])
        await directory.suspend(mine._tenant, None)
        await here.drain()
    assert numbers(hook.requests, "run") == [0, 1]


async def test_private_addresses_plain_http_and_redirects_are_refused(database: Database, hook: Receiver) -> None:
    async def rebinding(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    async with sending(database, allow_private=(), lookup=rebinding) as here:
        for url, reason in (
            (hook.url, "loopback"),
            ("https://[::1]/", "loopback"),
            ("https://169.254.1.1/", "link-local"),
            ("https://localhost/", "local name"),
            ("http://receiver.example/", "not an https URL"),
            ("ftp://receiver.example/", r"not an http\(s\) URL"),
        ):
            with pytest.raises(UsageError, match=reason):
                await here.service.create(DEFAULT_TENANT, url)
        endpoint, _ = await here.service.create(DEFAULT_TENANT, f"https://receiver.example:{hook.port}/")
        attempt = await here.service.test(DEFAULT_TENANT, endpoint.id)
        assert attempt.error == "address_refused: The address is not allowed."
    assert hook.requests == [], "the address is checked when the connection is opened"
    async with sending(database) as here:
        hook.answer = lambda _: Reply(302, {"Location": hook.url + "/elsewhere"})
        endpoint, _ = await here.service.create(DEFAULT_TENANT, hook.url)
        attempt = await here.service.test(DEFAULT_TENANT, endpoint.id)
        assert (attempt.status, attempt.is_success) == (302, False)
    assert len(hook.requests) == 1


async def test_the_answer_is_stored_redacted_and_up_to_a_kilobyte(database: Database, hook: Receiver) -> None:
    key = "AKIA" + "Q3EGRWXYZ234567A"
    hook.answer = lambda _: Reply(500, body=f"{'x' * 1015} {key} ".encode() + b"y" * 100_000)
    async with sending(database) as here:
        endpoint, _ = await here.service.create(DEFAULT_TENANT, hook.url)
        await store(here.engine, pages("run", 1))
        await here.pass_time()
        await here.sender.send_due_deliveries()
        [entry] = await here.log(endpoint)
        assert entry.status == 500
        assert entry.answer is not None
        assert len(entry.answer) == 1024
        assert "AKIA" not in entry.answer


async def test_secrets_are_encrypted_with_the_key_of_the_operator(database: Database, hook: Receiver) -> None:
    key, newer = "k" * 32, "n" * 32
    async with sending(database, keys=(key,)) as here:
        endpoint, secret = await here.service.create(DEFAULT_TENANT, hook.url)
        assert secret.removeprefix("whsec_") not in endpoint.secret
        assert secret not in repr(endpoint)
        assert (await here.service.test(DEFAULT_TENANT, endpoint.id)).is_success
    async with sending(database, keys=(newer, key)) as here:
        assert (await here.service.test(DEFAULT_TENANT, endpoint.id)).is_success
    async with sending(database, keys=(newer,)) as here:
        attempt = await here.service.test(DEFAULT_TENANT, endpoint.id)
        assert "add the key" in (attempt.error or "")
    async with sending(database) as here:
        attempt = await here.service.test(DEFAULT_TENANT, endpoint.id)
        assert "SITELORE_SECRETS_KEY" in (attempt.error or "")
    with pytest.raises(SecretUnreadable):
        SecretBox((key,)).open(endpoint.secret, "another endpoint")
    assert len(hook.requests) == 2


async def test_the_log_of_a_deleted_run_or_endpoint_is_deleted(database: Database, hook: Receiver) -> None:
    async with sending(database) as here:
        endpoint, _ = await here.service.create(DEFAULT_TENANT, hook.url)
        other, _ = await here.service.create(DEFAULT_TENANT, hook.url)
        ledger = SqlLedger(here.engine, DEFAULT_TENANT)
        run = await ledger.create_run("site.test", CrawlSettings(), [seed("a")], START)
        await ledger.begin_run(run.id, START)
        await ledger.end_run(run.id, RunState.CANCELLED, START)
        await store(here.engine, pages("another", 1))
        assert len(await here.log(endpoint)) == 3
        assert await ledger.delete_run(run.id)
        assert [entry.run for entry in await here.log(endpoint)] == ["another"]
        await here.drain()
        assert [request.data["runId"] for request in hook.requests] == ["another", "another"]
        await here.service.remove(DEFAULT_TENANT, endpoint.id)
        await here.service.remove(DEFAULT_TENANT, other.id)
        for table in (webhook_deliveries, webhook_queues):
            count = await here.engine.read(for_tenant, _count, DEFAULT_TENANT, table)
            assert count == 0


def _count(conn: sa.Connection, _tenant: TenantId, table: sa.Table) -> int:
    return int(conn.scalar(sa.select(sa.func.count()).select_from(table)) or 0)
