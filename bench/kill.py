"""`make soak-kill`: kills a crawl of 3,000 pages 20 times with SIGKILL, resumes it each time, and prints the losses."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.support.faults import crawl_with_kills
from tests.support.graph import Graph
from tests.support.http_server import serve_site


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--urls", type=int, default=5000, help="URLs of the site; about two thirds of them are pages")
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with serve_site(lambda _: None) as http_server, tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(
            crawl_with_kills(
                http_server, Graph(arguments.seed, arguments.urls), Path(folder), arguments.kills, arguments.concurrency
            )
        )
    print(f"pages            {report.pages}")
    print(f"kills            {report.kills}")
    print(f"lost             {report.lost}")
    print(f"settled twice    {report.settled_twice}")
    print(f"fetched again    {report.refetched} (bound {report.bound})")
    print(f"export equal     {'yes' if report.export_equal else 'NO'}")
    print(f"oracle differs   {report.oracle_differs}")
    passed = (
        report.export_equal
        and not report.lost
        and not report.settled_twice
        and report.refetched <= report.bound
        and not report.oracle_differs
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
