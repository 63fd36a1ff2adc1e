"""`make soak-webhooks`: 10,000 webhooks to a receiver that fails half of the time, with a sender that is killed 20 times.

    python -m bench.webhooks [--events 10000] [--runs 50] [--kills 20]

Every event must be accepted at least once, and the events of each run in their order. The sender's clock jumps to the next
attempt that is due, so that retries of three days take seconds. Events that fail ten times become dead letters, and are
replayed.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.support.webhook_receiver import Received, Receiver, Reply, receiver

from sitelore.fetch.guard import AddressGuard
from sitelore.fetch.http.client import HttpFetcher
from sitelore.model.frontier import StoredEventKind
from sitelore.model.ids import DEFAULT_TENANT, RunId
from sitelore.model.platform.webhooks import DeliveryListing, DeliveryState, EndpointChange
from sitelore.model.url import Url
from sitelore.platform.secret_box import SecretBox
from sitelore.platform.webhooks.delivery import FETCH_SETTINGS, WebhookSender
from sitelore.platform.webhooks.endpoints import WebhookService
from sitelore.store.engine import open_sqlite
from sitelore.store.ledger import SqlLedger
from sitelore.store.platform.webhooks import SqlWebhooks
from sitelore.store.runs.events import NewEvent, store_events
from sitelore.store.tenants import for_tenant

BATCH = 64
"""Events of one transaction, as a crawl stores them."""


class Sending:
    """The sender and the management of webhooks on a database, with a clock that jumps."""

    def __init__(self, engine: object) -> None:
        guard, self.offset = AddressGuard((), ("127.0.0.0/8",)), 0.0
        self.fetcher = HttpFetcher(FETCH_SETTINGS, guard)
        self.webhooks, secrets = SqlWebhooks(engine, DEFAULT_TENANT), SecretBox()  # type: ignore[arg-type]
        ledger = SqlLedger(engine, DEFAULT_TENANT)  # type: ignore[arg-type]
        sender = WebhookSender(self.webhooks, ledger, self.fetcher, guard, self.clock, secrets)
        self.service = WebhookService(self.webhooks, sender, secrets, self.clock)

    def clock(self) -> float:
        return time.time() + self.offset

    async def drain(self) -> None:
        await self.webhooks.release_all()  # as the one process of a data directory does
        while (due := await self.webhooks.next_due()) is not None:
            self.offset += max(0.0, due - self.clock())
            await self.service.sender.send_due_deliveries()


async def child(database: Path) -> None:
    """Send everything."""
    engine = await open_sqlite(database)
    sending = Sending(engine)
    await sending.drain()
    await sending.fetcher.close()
    await engine.close()


async def prepare(database: Path, url: str, events: int, runs: int) -> str:
    """Store the events; the id of the webhook."""
    engine = await open_sqlite(database)
    sending = Sending(engine)
    endpoint, _ = await sending.service.create(DEFAULT_TENANT, url)
    numbers = [(f"run-{number % runs}", number // runs) for number in range(events)]
    started_at = time.perf_counter()
    for first in range(0, events, BATCH):
        batch = [
            NewEvent(RunId(run), StoredEventKind.PAGE_NEW, time.time(), Url.trusted(f"http://site.test/{run}/{number}"))
            for run, number in numbers[first : first + BATCH]
        ]
        await engine.write(for_tenant, store_events, DEFAULT_TENANT, batch)
    print(f"stored {events:,} events with their deliveries in {time.perf_counter() - started_at:.2f} s")
    await sending.fetcher.close()
    await engine.close()
    return endpoint.id


async def replay(database: Path, endpoint: str) -> int:
    """Replay dead letters; their number."""
    engine = await open_sqlite(database)
    sending = Sending(engine)
    _, dead = await sending.service.deliveries(DEFAULT_TENANT, endpoint, DeliveryListing(DeliveryState.DEAD, 1))
    if dead:
        await sending.service.change(DEFAULT_TENANT, endpoint, EndpointChange(enabled=True))
        await sending.service.replay_dead(DEFAULT_TENANT, endpoint, 0.0, 1e12)
    await sending.fetcher.close()
    await engine.close()
    return dead


def send_and_kill(database: Path, hook: Receiver, events: int, kills: int) -> int:
    """Run the sender to its end, and kill it at this many random moments on the way. Gives the number of kills."""
    chance, killed = random.Random(11), 0
    while True:
        process = subprocess.Popen([sys.executable, "-m", "bench.webhooks", "--child", str(database)])
        if killed < kills:
            goal = len(hook.requests) + chance.randrange(1, max(2, 3 * events // (kills + 1)))
            while process.poll() is None and len(hook.requests) < goal:
                time.sleep(0.005)
            if process.poll() is None:
                process.kill()
                killed += 1
        if process.wait() == 0:
            return killed


def check(hook: Receiver, events: int, runs: int, late: set[str]) -> None:
    """Every event was accepted, and those of a run in their order, but for those that were dead letters."""
    accepted = [request for request in hook.requests if request.status < 300]
    first: dict[str, Received] = {}
    for request in accepted:
        first.setdefault(request.data["url"], request)
    assert len(first) == events, f"{events - len(first)} events are lost"
    for run in range(runs):
        order = [
            int(r.data["url"].rsplit("/", 1)[1]) for r in first.values() if r.data["runId"] == f"run-{run}" and r.id not in late
        ]
        assert order == sorted(order), f"run {run} is out of order"
    ids = {request.data["url"]: set[str]() for request in hook.requests}
    for request in hook.requests:
        ids[request.data["url"]].add(request.id)
    assert all(len(own) == 1 for own in ids.values()), "an event changed its id"
    twice = sum(count - 1 for count in Counter(request.id for request in accepted).values())
    print(f"{events:,} events: all accepted, in order; {len(hook.requests):,} requests, {twice} accepted more than once")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--child", type=Path)
    options = parser.parse_args()
    if options.child:
        asyncio.run(child(options.child))
        return
    chance = random.Random(5)
    with tempfile.TemporaryDirectory() as folder, receiver() as hook:
        database = Path(folder) / "sitelore.db"
        hook.answer = lambda _: Reply(204 if chance.random() < 0.5 else 500)
        endpoint = asyncio.run(prepare(database, hook.url, options.events, options.runs))
        started_at = time.perf_counter()
        killed = send_and_kill(database, hook, options.events, options.kills)
        late: set[str] = set()
        replayed = 0
        while dead := asyncio.run(replay(database, endpoint)):
            accepted = {request.id for request in hook.requests if request.status < 300}
            late |= {request.id for request in hook.requests} - accepted
            replayed += dead
            send_and_kill(database, hook, 0, 0)
        elapsed_s = time.perf_counter() - started_at
        print(f"killed {killed} times, {replayed} dead letters replayed, {elapsed_s:.0f} s")
        check(hook, options.events, options.runs, late)


if __name__ == "__main__":
    main()
