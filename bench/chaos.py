"""`make soak-scaled`: every fault of the list on a seeded site of about 3,000 pages, and what each cost.

    python -m bench.chaos [--urls 5000] [--workers 4] [--kills 20] [--lease 10] [--only NAME ...]

Real Postgres, Valkey and S3 of this machine. Each crawl is compared with an undisturbed crawl of one process on SQLite.
Exits 1 when anything was lost or settled twice, when more was fetched again than was in flight plus one commit window for
each kill, or when recovery took longer than a lease and 5 s.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

from scripts.servers import LocalServers
from tests.support.chaos import (
    Calm,
    Fault,
    Scene,
    Toll,
    calm_crawl,
    clocks_off,
    flush_redis,
    freeze,
    kills,
    ordeal,
    redis_away,
    restart_postgres,
)
from tests.support.graph import Graph
from tests.support.serve import Web, serving
from tests.support.tcp_proxy import TcpProxy, tcp_proxy


def s3_refuses(proxy: TcpProxy, seconds: float) -> Fault:
    """The store refuses every connection for a while."""

    async def refuse(scene: Scene) -> None:
        await scene.reach(0.3)
        proxy.shut()
        await asyncio.sleep(seconds)
        proxy.open()
        await scene.goes_on()

    return refuse


async def nothing(_scene: Scene) -> None:
    """Undisturbed."""


async def soak(asked: argparse.Namespace, servers: LocalServers, web: Web, calm: Calm) -> list[Toll]:
    tolls = []
    with tcp_proxy(servers.s3.port) as proxy:
        faults: dict[str, Fault] = {
            "undisturbed": nothing,
            f"kill -9, {asked.kills} times": kills(asked.kills),
            "Redis flushed": flush_redis,
            "Redis restarted": redis_away(2.0),
            "Postgres restarted": restart_postgres,
            "frozen past its lease": freeze,
            "clocks 10 min off": clocks_off(600.0),
            "S3 refuses for 20 s": s3_refuses(proxy, 20.0),
        }
        url = servers.s3.url.replace(str(servers.s3.port), str(proxy.port))
        for name, fault in faults.items():
            if asked.only and not any(word.lower() in name.lower() for word in asked.only):
                continue
            toll = await ordeal(
                servers, web, calm, name, fault, asked.workers, lease_s=asked.lease, blobs_url=url, upkeep_s=1.0
            )
            tolls.append(toll)
            print(line(toll), flush=True)
    return tolls


def line(toll: Toll) -> str:
    """A toll as one line of the table."""
    notes = ", ".join(f"{name} {count}" for name, count in toll.notes.items())
    return (
        f"{toll.fault:24} {toll.pages:6} {toll.lost:5} {toll.settled_twice:8} {toll.refetched:5}/{toll.bound:<5} "
        f"{toll.recovery_s:6.1f}/{toll.allowed_s:<5.1f} {'yes' if toll.export_equal else 'NO':6} {toll.took_s:6.1f}  {notes}"
    )


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--urls", type=int, default=5000, help="URLs of the site; about two thirds of them are pages")
    words.add_argument("--workers", type=int, default=4)
    words.add_argument("--kills", type=int, default=20)
    words.add_argument("--lease", type=float, default=10.0)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--only", nargs="*", help="only faults whose name holds one of these words")
    asked = words.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an end in order: the servers must not outlive us
    with LocalServers() as servers, serving(lambda _: None) as web, tempfile.TemporaryDirectory() as folder:
        calm = asyncio.run(calm_crawl(web, Graph(asked.seed, asked.urls), Path(folder)))
        print(f"{'fault':24} {'pages':>6} {'lost':>5} {'settled':>8} {'fetched':>11} {'recovery':>12} {'export':6} {'took':>6}")
        print(f"{'':24} {'':6} {'':5} {'twice':>8} {'again/max':>11} {'s/max':>12} {'equal':6} {'s':>6}", flush=True)
        tolls = asyncio.run(soak(asked, servers, web, calm))
    return 0 if all(toll.is_fine for toll in tolls) else 1


if __name__ == "__main__":
    sys.exit(main())
