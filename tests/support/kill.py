"""`kill -9` a crawl again and again, resume it each time, and count what it cost."""

from __future__ import annotations

import json
import random
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.support.graph import Graph
from tests.support.journey import as_expected, command, differences, exported, started, stored_rows
from tests.support.serve import Web

COMMIT_WINDOW = 64
"""Rows that one transaction settles at most: what a crash can make the crawl fetch again besides what was in flight."""


@dataclass(frozen=True, slots=True)
class Toll:
    """What the kills cost."""

    pages: int
    kills: int
    lost: int
    """Rows that an undisturbed crawl has and this one has not, or has otherwise."""
    settled_twice: int
    refetched: int
    bound: int
    export_equal: bool
    oracle_differs: int


def fetched_more_than_once(web: Web) -> int:
    """Requests beyond the first for each target; robots.txt and sitemaps are asked for by every process anew."""
    counts = Counter(web.targets())
    return sum(counts.values()) - len(counts)


async def ordeal(web: Web, graph: Graph, folder: Path, kills: int, concurrency: int = 8) -> Toll:
    """Crawl the graph undisturbed, then again with kills spread over its requests, and compare."""
    web.pages = graph.pages(web.origin)
    flags = ("--concurrency", str(concurrency), "--delay", "0", "--json")
    calm, rough = folder / "calm", folder / "rough"
    done = command("crawl", web.url(), "--data", str(calm), *flags, timeout_s=600)
    assert done.code == 0, done.err
    total = len(web.hits)
    web.forget()

    killed = 0
    chance = random.Random(graph.seed)
    while killed < kills:
        # What is fetched again moves later kills back, so the next one is placed in what is left of the site.
        distinct = len(set(web.targets()))
        step = max(1, (total - distinct) // (kills - killed + 1))
        target = len(web.hits) + chance.randint(max(1, step // 2), max(1, step))
        resume = ("--resume",) if killed else ()
        with started("crawl", web.url(), "--data", str(rough), *flags, *resume) as process:
            assert web.wait_for_hits(target), f"the crawl made no progress before kill {killed + 1}"
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        assert process.returncode == -signal.SIGKILL, "the crawl ended before it was killed"
        killed += 1
    done = command("crawl", web.url(), "--data", str(rough), *flags, "--resume", timeout_s=600)
    assert done.code == 0, done.err

    left, right = exported(calm), exported(rough)
    before = {row["url"]: row for row in json.loads(left)}
    after = {row["url"]: row for row in json.loads(right)}
    rows = {str(row.url): row async for row in stored_rows(rough)}
    return Toll(
        pages=sum(row["state"] == "VISITED" for row in after.values()),
        kills=killed,
        lost=sum(after.get(url) != row for url, row in before.items()),
        settled_twice=sum(row.fetches > 1 for row in rows.values()),
        refetched=fetched_more_than_once(web),
        bound=killed * (concurrency + COMMIT_WINDOW),
        export_equal=left == right,
        oracle_differs=len(differences(as_expected(rows), graph.expected(web.origin))),
    )
