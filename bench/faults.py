"""`make soak-scaled`: crawls a generated site of about 3,000 pages with each fault of `tests/support/faults.py`.

    python -m bench.faults [--urls 5000] [--workers 4] [--kills 20] [--lease 10] [--only NAME ...]

Uses local Postgres, Valkey and S3. Each crawl is compared with an undisturbed crawl of one process on SQLite.
Exits 1 when a row was lost or settled twice, when each kill caused more refetches than the active visits plus one commit
window, or when recovery took longer than a lease and 5 s.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

from scripts.servers import LocalServers
from tests.support.faults import (
    Baseline,
    Fault,
    FaultContext,
    FaultReport,
    crawl_baseline,
    crawl_with_fault,
    flush_redis,
    kill_redis,
    kill_workers,
    refuse_connections,
    restart_postgres,
    skew_clocks,
    suspend_worker,
)
from tests.support.graph import Graph
from tests.support.http_server import HttpServer, serve_site
from tests.support.tcp_proxy import tcp_proxy


async def no_fault(_context: FaultContext) -> None:
    """Leave the crawl undisturbed."""


async def soak(
    arguments: argparse.Namespace, servers: LocalServers, http_server: HttpServer, baseline: Baseline
) -> list[FaultReport]:
    reports = []
    with tcp_proxy(servers.s3.port) as proxy:
        faults: dict[str, Fault] = {
            "undisturbed": no_fault,
            f"kill -9, {arguments.kills} times": kill_workers(arguments.kills),
            "Redis flushed": flush_redis,
            "Redis restarted": kill_redis(2.0),
            "Postgres restarted": restart_postgres,
            "suspended past its lease": suspend_worker,
            "clocks 10 min off": skew_clocks(600.0),
            "S3 refuses for 20 s": refuse_connections(proxy, 20.0),
        }
        url = servers.s3.url.replace(str(servers.s3.port), str(proxy.port))
        for name, fault in faults.items():
            if arguments.only and not any(word.lower() in name.lower() for word in arguments.only):
                continue
            report = await crawl_with_fault(
                servers,
                http_server,
                baseline,
                name,
                fault,
                arguments.workers,
                lease_s=arguments.lease,
                blobs_url=url,
                upkeep_s=1.0,
            )
            reports.append(report)
            print(line(report), flush=True)
    return reports


def line(report: FaultReport) -> str:
    """A report as one line of the table."""
    notes = ", ".join(f"{name} {count}" for name, count in report.notes.items())
    return (
        f"{report.fault:24} {report.pages:6} {report.lost:5} {report.settled_twice:8} {report.refetched:5}/{report.bound:<5} "
        f"{report.recovery_s:6.1f}/{report.allowed_s:<5.1f} {'yes' if report.export_equal else 'NO':6} "
        f"{report.took_s:6.1f}  {notes}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=5000, help="URLs of the site; about two thirds of them are pages")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--lease", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="only faults whose name holds one of these words")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exit normally, so that the servers are stopped
    with LocalServers() as servers, serve_site(lambda _: None) as http_server, tempfile.TemporaryDirectory() as folder:
        baseline = asyncio.run(crawl_baseline(http_server, Graph(arguments.seed, arguments.urls), Path(folder)))
        print(f"{'fault':24} {'pages':>6} {'lost':>5} {'settled':>8} {'fetched':>11} {'recovery':>12} {'export':6} {'took':>6}")
        print(f"{'':24} {'':6} {'':5} {'twice':>8} {'again/max':>11} {'s/max':>12} {'equal':6} {'s':>6}", flush=True)
        reports = asyncio.run(soak(arguments, servers, http_server, baseline))
    return 0 if all(report.passed for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
