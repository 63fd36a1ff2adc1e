"""Simulates the frontier with a few large and many small hosts: how busy are workers that respect each host's delay?

    python -m bench.frontier_sim [--urls 20000] [--hosts 400] [--slots 64] [--delay 1.0] [--seed 1]

Hosts have sizes after Zipf's law. A host takes one request at a time and rests for a delay after it began one. `slots` visits
can be under way at once over all workers, and a fetch takes a while. The simulation has a clock of its own, so its figures
are exact and the same each time. It answers three questions:

1. How do throughput and the time for everything depend on how many hosts are in flight at once?
2. What does the order of claiming cost: by `seq`; by `seq` with rows of closed hosts left unclaimed (what the ledger does with
   `closed_hosts`); or by host, where the host whose turn has come brings its first row?
3. What do shards of hosts do, each with its share of the slots?

`bound` is the time that no order can beat: the larger of (all fetches / slots) and (largest host x delay). `busy` is the share
of the slots that were fetching until nine tenths of the URLs were done, `held` how many rows were claimed and waited for
their hosts meanwhile, and `tail` the share of the time after that.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

FETCH_S = (0.1, 0.6)
BUFFER = 2
"""Rows that workers hold beyond their slots, in parts of the slots: claimed, and waiting for their hosts."""
CLOSED_S = 0.25
"""A host that takes no request for this long counts as closed."""


FOREVER = 1e12
_TICK_S = 1e-6


class Order(StrEnum):
    """How rows are claimed."""

    SEQ = "by seq"
    OPEN = "by seq, open hosts"
    HOST = "by host"


@dataclass(frozen=True, slots=True)
class World:
    """Hosts by number of URLs, and how visits go."""

    sizes: tuple[int, ...]
    slots: int
    delay_s: float
    seed: int

    @property
    def urls(self) -> int:
        return sum(self.sizes)

    @property
    def bound_s(self) -> float:
        """The time that no order can beat."""
        mean_s = sum(FETCH_S) / 2
        return max(self.urls * mean_s / self.slots, max(self.sizes) * max(self.delay_s, mean_s))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of a simulated crawl."""

    took_s: float
    half_s: float
    busy: float
    waiting_rows: float
    tail: float


def zipf_sizes(urls: int, hosts: int, skew: float) -> tuple[int, ...]:
    """Sizes of hosts, largest first."""
    weights = [1 / (rank + 1) ** skew for rank in range(hosts)]
    whole = sum(weights)
    return tuple(max(1, round(urls * weight / whole)) for weight in weights)


class Rows:
    """Rows that are not claimed yet, by host and in `seq` order; the number of active hosts is limited."""

    def __init__(self, world: World, at_once: int, chance: random.Random) -> None:
        rows = [host for host, size in enumerate(world.sizes) for _ in range(size)]
        chance.shuffle(rows)
        self._queues: list[deque[int]] = [deque() for _ in world.sizes]
        for seq, host in enumerate(rows):
            self._queues[host].append(seq)
        self.next_at = [0.0] * len(world.sizes)
        self._line = deque(dict.fromkeys(rows))
        self._ready: list[tuple[int, int]] = []  # (first seq, host) of hosts that are open
        self._closed: list[tuple[float, int]] = []  # (open again at, host)
        self.left = len(rows)
        for _ in range(min(at_once, len(self._line))):
            self._enter()

    def _enter(self) -> None:
        if self._line:
            host = self._line.popleft()
            heapq.heappush(self._ready, (self._queues[host][0], host))

    def take(self, now: float, closed_for_s: float) -> int | None:
        """The host of the next row among hosts that open within `closed_for_s`; None when there is none."""
        while self._closed and self._closed[0][0] <= now + closed_for_s:
            _, host = heapq.heappop(self._closed)
            heapq.heappush(self._ready, (self._queues[host][0], host))
        while self._ready:
            _, host = heapq.heappop(self._ready)
            if self.next_at[host] > now + closed_for_s:
                heapq.heappush(self._closed, (self.next_at[host], host))
                continue
            self._queues[host].popleft()
            self.left -= 1
            if self._queues[host]:
                heapq.heappush(self._ready, (self._queues[host][0], host))
            else:
                self._enter()
            return host
        return None

    @property
    def opens_at(self) -> float:
        """When the next of the closed hosts opens."""
        return self._closed[0][0] if self._closed else 2 * FOREVER


def simulate(world: World, order: Order, at_once: int | None = None) -> Outcome:
    """Simulate one crawl to its end."""
    chance = random.Random(world.seed)
    rows = Rows(world, at_once or len(world.sizes), chance)
    waiting_rows: list[tuple[float, float]] = []  # claimed rows: (time at which their host opens, duration of the fetch)
    ends: list[float] = []
    late = 0.9 * world.urls
    now = busy_s = held_s = half_s = late_s = 0.0
    done = 0
    limit = world.slots if order is Order.HOST else world.slots * (1 + BUFFER)
    patience_s = {Order.SEQ: FOREVER, Order.OPEN: CLOSED_S, Order.HOST: 0.0}[order]
    while done < world.urls:
        while len(waiting_rows) + len(ends) < limit and (host := rows.take(now, patience_s)) is not None:
            # Rows of one host are fetched one after the other, each when the host's gate opens.
            at = max(now, rows.next_at[host])
            took_s = chance.uniform(*FETCH_S)
            rows.next_at[host] = at + max(world.delay_s, took_s)
            heapq.heappush(waiting_rows, (at, took_s))
        while waiting_rows and len(ends) < world.slots and waiting_rows[0][0] <= now:
            heapq.heappush(ends, now + heapq.heappop(waiting_rows)[1])
        then = ends[0] if ends else FOREVER
        if len(ends) < world.slots:
            then = min(then, waiting_rows[0][0] if waiting_rows else FOREVER)
            if len(waiting_rows) + len(ends) < limit:
                then = min(then, max(rows.opens_at - patience_s, now + _TICK_S))
        if not late_s:
            busy_s += len(ends) * (then - now)
            held_s += len(waiting_rows) * (then - now)
        now = max(then, now + _TICK_S)
        while ends and ends[0] <= now:
            heapq.heappop(ends)
            done += 1
        half_s = half_s or (now if done * 2 >= world.urls else 0.0)
        late_s = late_s or (now if done >= late else 0.0)
    return Outcome(now, half_s, busy_s / (late_s * world.slots), held_s / late_s, 1 - late_s / now)


def sharded(world: World, shards: int) -> tuple[Outcome, float]:
    """Distribute hosts over shards by a hash; return the outcome of the slowest shard, and the largest size over the mean."""
    parts: list[list[int]] = [[] for _ in range(shards)]
    for host, size in enumerate(world.sizes):
        parts[int.from_bytes(blake2b(f"host-{host}".encode(), digest_size=4).digest(), "big") % shards].append(size)
    worlds = [World(tuple(part), max(1, world.slots // shards), world.delay_s, world.seed) for part in parts if part]
    slowest = max((simulate(shard, Order.HOST) for shard in worlds), key=lambda outcome: outcome.took_s)
    return slowest, max(shard.urls for shard in worlds) * len(worlds) / world.urls


HEAD = f"{'':32}{'bound s':>9}{'took s':>9}{'half s':>9}{'busy':>7}{'waiting_rows':>8}{'tail':>7}"


def line(name: str, world: World, outcome: Outcome) -> str:
    figures = f"{world.bound_s:>9.0f}{outcome.took_s:>9.0f}{outcome.half_s:>9.0f}{outcome.busy:>7.2f}"
    return f"{name:32}{figures}{outcome.waiting_rows:>8.1f}{outcome.tail:>7.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=400)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    def world(skew: float) -> World:
        return World(zipf_sizes(arguments.urls, arguments.hosts, skew), arguments.slots, arguments.delay, arguments.seed)

    rate = f"{arguments.slots} slots, {arguments.delay} s between requests to a host, fetches of {FETCH_S[0]} to {FETCH_S[1]} s"
    print(f"{arguments.urls:,} URLs on {arguments.hosts} hosts, {rate}\n")
    print(f"hosts in flight at once, sizes as 1/rank^0.6\n{HEAD}")
    for at_once in sorted({4, 16, 64, 256, arguments.hosts}):
        print(line(f"{at_once} hosts", world(0.6), simulate(world(0.6), Order.OPEN, at_once)))
    print(f"\norder of claiming, all hosts in flight\n{HEAD}")
    for skew in (0.0, 0.6, 1.0):
        for order in Order:
            print(line(f"1/rank^{skew}, {order}", world(skew), simulate(world(skew), order)))
    print(f"\nshards of hosts by hash, sizes as 1/rank^0.6, the slowest shard\n{HEAD}{'largest':>9}")
    for shards in (1, 4, 16):
        outcome, largest = sharded(world(0.6), shards)
        print(f"{line(f'{shards} shards', world(0.6), outcome)}{largest:>9.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
