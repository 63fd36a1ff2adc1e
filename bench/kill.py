"""`make soak-kill`: kill -9 a crawl of 3,000 pages 20 times, resume it each time, and print what that cost."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.support.graph import Graph
from tests.support.kill import ordeal
from tests.support.serve import serving


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--kills", type=int, default=20)
    words.add_argument("--urls", type=int, default=5000, help="URLs of the site; about two thirds of them are pages")
    words.add_argument("--concurrency", type=int, default=8)
    words.add_argument("--seed", type=int, default=1)
    asked = words.parse_args()
    with serving(lambda _: None) as web, tempfile.TemporaryDirectory() as folder:
        toll = asyncio.run(ordeal(web, Graph(asked.seed, asked.urls), Path(folder), asked.kills, asked.concurrency))
    print(f"pages            {toll.pages}")
    print(f"kills            {toll.kills}")
    print(f"lost             {toll.lost}")
    print(f"settled twice    {toll.settled_twice}")
    print(f"fetched again    {toll.refetched} (bound {toll.bound})")
    print(f"export equal     {'yes' if toll.export_equal else 'NO'}")
    print(f"oracle differs   {toll.oracle_differs}")
    good = (
        toll.export_equal
        and not toll.lost
        and not toll.settled_twice
        and toll.refetched <= toll.bound
        and not toll.oracle_differs
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
