"""Every behaviour of the hostile server, crawled: each ends as it must, soon, in little memory, never touching the canary.

All crawls run once, several at a time, each into its own data directory; the tests then look at what they left behind.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.hostile import Hostile, hostile_server
from tests.support.journey import COMMAND, Journey, crawl_in, crawl_settings, environment

from sitelore.app.wiring import embedded
from sitelore.model.frontier import UrlRow
from sitelore.model.settings import CrawlSettings

AT_ONCE = 6
SLOW_FIRST = (20, 19, 107, 56, 46, 49, 47, 42)  # so that they do not stand at the end of the queue
TLS = frozenset({111, 112, 113})
SITEMAPS = frozenset({57, 58, 60})
BOMBS = (13, 14, 15, 57, 60)
SECRETS = (b"AKIAIOSFODNN7EXAMPLE", b"ghp_" + b"a1B2" * 9, b"sk-" + b"x7Y9" * 12)
IDS = (
    1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 19, 20, 21, 23, 25, 27, 28, 30, 32, 33, 35, 37, 39, 40, 42, 44, 45, 46, 47, 49,
    50, 51, 54, 55, 56, 57, 58, 60, 62, 65, 66, 67, 68, 69, 70, 73, 101, 102, 103, 104, 105, 106, 107, 108, 109, 111, 112, 113,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ended:
    """One crawl of one entry, and everything it left."""

    entry: dict[str, Any]
    journey: Journey
    seconds: float
    markdown: str
    data: Path
    stored: bytes
    """Every stored blob, uncompressed, one after the other."""

    @property
    def row(self) -> UrlRow:
        """The entry's own row."""
        url = self.entry["entry_url"]
        return self.journey.rows.get(url) or self.journey.sitemaps[url]

    @property
    def last(self) -> UrlRow:
        """The row at which redirects from the entry end."""
        row, seen = self.row, set()
        while row.state == "ALIAS" and row.final_url and row.final_url not in seen:
            seen.add(row.final_url)
            row = self.journey.rows.get(row.final_url, row)
        return row


@dataclass(frozen=True, slots=True)
class Aftermath:
    """All crawls, and the server's own count of what it was asked."""

    crawls: dict[int, Ended]
    hits: dict[str, Any]
    paths: dict[str, int]

    def of(self, number: int) -> Ended:
        """The crawl of one behaviour."""
        if number not in self.crawls:
            pytest.skip("the hostile server's TLS origins need the openssl command")
        return self.crawls[number]


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with hostile_server() as running:
        yield running


@pytest.fixture(scope="module")
def aftermath(server: Hostile, tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    entries = {entry["id"]: entry for entry in server.expected()}
    assert set(entries) == set(IDS), "the server's behaviours are not the ones tested here"
    order = sorted(entries, key=lambda i: (SLOW_FIRST.index(i) if i in SLOW_FIRST else len(SLOW_FIRST), i))
    folder = tmp_path_factory.mktemp("hostile")

    if not server.has_tls:
        order = [number for number in order if number not in TLS]

    async def everything() -> dict[int, Ended]:
        turns = asyncio.Semaphore(AT_ONCE)

        async def one(entry: dict[str, Any]) -> tuple[int, Ended]:
            async with turns:
                return entry["id"], await _crawl(entry, folder / str(entry["id"]))

        return dict(await asyncio.gather(*(one(entries[i]) for i in order)))

    ended = asyncio.run(everything())
    return Aftermath(ended, server.hits(), server.paths())


def _settings(entry: dict[str, Any]) -> CrawlSettings:
    url = entry["entry_url"]
    return crawl_settings(sitemaps=(url,)) if entry["id"] in SITEMAPS else crawl_settings(url)


async def _crawl(entry: dict[str, Any], data: Path) -> Ended:
    start = time.monotonic()
    async with embedded(data, writing=True) as app:
        journey = await crawl_in(app, _settings(entry))
        seconds = time.monotonic() - start
        if entry["id"] == 67:
            journey = await crawl_in(app, _settings(entry))
        stored, markdown = b"", ""
        for row in journey.rows.values():
            if row.document:
                document = await app.blobs.get(row.document)
                stored += document
                markdown += json.loads(document)["markdown"] + "\n"
            if row.snapshot:
                stored += await app.blobs.get(row.snapshot)
    return Ended(entry, journey, seconds, markdown, data, stored)


def _is_trapped(ended: Ended) -> bool:
    return any(row.skip_reason == "trap" for row in ended.journey.rows.values())


def _is_empty(ended: Ended) -> bool:
    return ended.last.skip_reason == "content_type" or (ended.last.state == "VISITED" and ended.last.word_count == 0)


OUTCOMES: dict[str, Callable[[Ended], bool]] = {
    "ok": lambda e: e.last.state in {"VISITED", "NOT_MODIFIED"},
    "ok_empty": _is_empty,
    "skipped_type": lambda e: e.last.skip_reason == "content_type",
    "http_error": lambda e: e.last.state == "HTTP_TERMINAL" and e.last.error.startswith("http_error"),
    "blocked_ssrf": lambda e: "address_refused" in {e.row.skip_reason, e.last.skip_reason},
    "too_large": lambda e: e.last.skip_reason == "too_large" or e.last.error.startswith("too_large"),
    "soft_404": lambda e: e.last.state == "SOFT_404",
    "noindex": lambda e: e.row.noindex,
    "robots_disallowed": lambda e: e.row.skip_reason == "robots",
    "robots_unreachable": lambda e: e.row.skip_reason == "robots_unreachable",
    "trap_bounded": _is_trapped,
    "dedup": lambda e: len(e.journey.kept()) <= int(e.entry["max_distinct_pages"]),
}
"""The server's words, in ours; every other word is the code that the error starts with."""


def _matches(outcome: str, ended: Ended) -> bool:
    if outcome in OUTCOMES:
        return OUTCOMES[outcome](ended)
    return ended.last.error.startswith(outcome) or ended.row.error.startswith(outcome)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("number", IDS)
def test_the_crawl_ends_as_it_must(number: int, aftermath: Aftermath) -> None:
    ended = aftermath.of(number)
    wanted = ended.entry["outcome"].split("|")
    assert ended.journey.run.state == "COMPLETED"
    assert any(_matches(outcome, ended) for outcome in wanted), f"{wanted}: {ended.row}"


@pytest.mark.parametrize("number", IDS)
def test_the_crawl_keeps_within_its_limits(number: int, aftermath: Aftermath) -> None:
    ended, entry = aftermath.of(number), aftermath.of(number).entry
    asked = aftermath.hits.get(str(number), {"hits": 0, "bytes_sent": 0})
    assert ended.seconds <= entry["max_seconds"]
    allowed = entry.get("max_hits", 10**9) + (1 if number == 67 else 0)
    assert asked["hits"] <= allowed
    limit = entry.get("max_bytes", 10**12)
    total = sum(n["bytes_sent"] for key, n in aftermath.hits.items() if key.partition(":")[0] == str(number))
    assert total <= limit
    for name, word in (("page", "page_hits"), ("private", "private_hits")):
        if word in entry:
            assert aftermath.hits.get(f"{number}:{name}", {"hits": 0})["hits"] == entry[word]
    if "robots_hits_max" in entry:
        assert aftermath.hits[f"{number}:robots"]["hits"] <= entry["robots_hits_max"]
    if "honey" in entry:
        assert not any(entry["honey"] in path for path in aftermath.paths)


@pytest.mark.parametrize("number", IDS)
def test_what_is_stored_holds_what_it_must_and_nothing_it_must_not(number: int, aftermath: Aftermath) -> None:
    ended, entry = aftermath.of(number), aftermath.of(number).entry
    if "must_contain" in entry:
        assert entry["must_contain"] in ended.markdown
    forbidden = [entry["must_not_contain"].encode()] if "must_not_contain" in entry else []
    forbidden += [*SECRETS] if number == 73 else []
    files = b"".join(path.read_bytes() for path in ended.data.rglob("*") if path.is_file())
    for secret in forbidden:
        assert secret not in ended.stored
        assert secret not in files


def test_the_canary_was_never_hit(aftermath: Aftermath) -> None:
    assert aftermath.hits.get("canary", {"hits": 0})["hits"] == 0
    assert not any("secret" in path or "meta-data" in path or "xxe" in path for path in aftermath.paths)


def test_a_known_page_is_asked_for_conditionally(aftermath: Aftermath) -> None:
    assert aftermath.hits["67"]["cond"] == 1
    assert aftermath.of(67).row.state == "NOT_MODIFIED"


def test_retry_after_is_waited_out(aftermath: Aftermath) -> None:
    times = aftermath.hits["42"]["times"]
    assert len(times) == 3
    assert (
        min(b - a for a, b in itertools.pairwise(times)) >= aftermath.of(42).entry["min_gap_s"] - 0.02
    )  # its clock shows 1/100 s


def test_the_whole_chain_is_on_record(aftermath: Aftermath) -> None:
    ended = aftermath.of(5)
    assert [hop.status for hop in ended.last.redirect_chain] == [301, 308, 307, 303, 302]
    assert ended.row.final_url == ended.last.url


def test_bombs_stay_within_their_memory(server: Hostile, tmp_path: Path) -> None:
    """Resident memory of the whole process tree, against that of a crawl of the plain page."""
    entries = {entry["id"]: entry for entry in server.expected()}
    numbers = (1, *BOMBS)
    with ThreadPoolExecutor(3) as pool:
        peaks = pool.map(lambda number: _peak_mb(entries[number], tmp_path / str(number)), numbers)
    grown = dict(zip(numbers, peaks, strict=True))
    plain = grown.pop(1)
    for number, peak in grown.items():
        assert peak - plain <= entries[number]["max_mem_mb"], f"behaviour {number}: {peak:.0f} MB, a plain page {plain:.0f}"


def _peak_mb(entry: dict[str, Any], data: Path) -> float:
    what = ("--sitemap", entry["entry_url"]) if entry["id"] in SITEMAPS else (entry["entry_url"],)
    process = subprocess.Popen(
        [*COMMAND, "crawl", *what, "--data", str(data), "--json", "--delay", "0"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(),
    )  # fmt: skip
    root, peak = psutil.Process(process.pid), 0
    try:
        while process.poll() is None:
            peak = max(peak, _tree_bytes(root))
            time.sleep(0.01)  # a sample, not a wait
    finally:
        process.kill()
        process.wait()
    return peak / 2**20


def _tree_bytes(root: psutil.Process) -> int:
    total = 0
    try:
        for process in (root, *root.children(recursive=True)):
            total += process.memory_info().rss
    except psutil.NoSuchProcess:
        pass  # ended between being listed and being asked
    return total
