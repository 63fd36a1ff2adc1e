"""Every behaviour of the hostile server is crawled: each ends as expected, soon, in little memory, without reaching the canary.

All crawls run once, several at a time, each into its own data directory; the tests then check their results.
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
from tests.support.crawls import COMMAND, CrawlResult, crawl_in, crawl_settings, environment
from tests.support.hostile import HostileServer, hostile_server

from sitelore.app.wiring import embedded
from sitelore.model.frontier import UrlRow
from sitelore.model.settings import CrawlSettings

AT_ONCE = 6
SLOW_FIRST = (20, 19, 107, 56, 46, 49, 47, 42)  # started first, because they take longest
TLS = frozenset({111, 112, 113})
SITEMAPS = frozenset({57, 58, 60})
BOMBS = (13, 14, 15, 57, 60)
SECRETS = (b"AKIAIOSFODNN7EXAMPLE", b"ghp_" + b"a1B2" * 9, b"sk-" + b"x7Y9" * 12)
IDS = (
    1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 19, 20, 21, 23, 25, 27, 28, 30, 32, 33, 35, 37, 39, 40, 42, 44, 45, 46, 47, 49,
    50, 51, 54, 55, 56, 57, 58, 60, 62, 65, 66, 67, 68, 69, 70, 73, 101, 102, 103, 104, 105, 106, 107, 108, 109, 111, 112, 113,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EndedCrawl:
    """One crawl of one entry, with its rows and blobs."""

    entry: dict[str, Any]
    result: CrawlResult
    seconds: float
    markdown: str
    data: Path
    stored: bytes
    """Every stored blob, uncompressed, one after the other."""

    @property
    def row(self) -> UrlRow:
        """The entry's own row."""
        url = self.entry["entry_url"]
        return self.result.rows.get(url) or self.result.sitemaps[url]

    @property
    def last(self) -> UrlRow:
        """The row at which redirects from the entry end."""
        row, seen = self.row, set()
        while row.state == "ALIAS" and row.final_url and row.final_url not in seen:
            seen.add(row.final_url)
            row = self.result.rows.get(row.final_url, row)
        return row


@dataclass(frozen=True, slots=True)
class HostileCrawls:
    """All crawls, and the server's counts of requests."""

    crawls: dict[int, EndedCrawl]
    hits: dict[str, Any]
    paths: dict[str, int]

    def of(self, number: int) -> EndedCrawl:
        """The crawl of one behaviour."""
        if number not in self.crawls:
            pytest.skip("the hostile server's TLS origins need the openssl command")
        return self.crawls[number]


@pytest.fixture(scope="module")
def server() -> Iterator[HostileServer]:
    with hostile_server() as running:
        yield running


@pytest.fixture(scope="module")
def hostile_crawls(server: HostileServer, tmp_path_factory: pytest.TempPathFactory) -> HostileCrawls:
    entries = {entry["id"]: entry for entry in server.expected()}
    assert set(entries) == set(IDS), "the server's behaviours differ from the tested ones"
    order = sorted(entries, key=lambda i: (SLOW_FIRST.index(i) if i in SLOW_FIRST else len(SLOW_FIRST), i))
    folder = tmp_path_factory.mktemp("hostile")

    if not server.has_tls:
        order = [number for number in order if number not in TLS]

    async def everything() -> dict[int, EndedCrawl]:
        turns = asyncio.Semaphore(AT_ONCE)

        async def crawl_entry(entry: dict[str, Any]) -> tuple[int, EndedCrawl]:
            async with turns:
                return entry["id"], await _crawl(entry, folder / str(entry["id"]))

        return dict(await asyncio.gather(*(crawl_entry(entries[i]) for i in order)))

    ended = asyncio.run(everything())
    return HostileCrawls(ended, server.hits(), server.paths())


def _settings(entry: dict[str, Any]) -> CrawlSettings:
    url = entry["entry_url"]
    return crawl_settings(sitemaps=(url,)) if entry["id"] in SITEMAPS else crawl_settings(url)


async def _crawl(entry: dict[str, Any], data: Path) -> EndedCrawl:
    start = time.monotonic()
    async with embedded(data, writing=True) as app:
        result = await crawl_in(app, _settings(entry))
        seconds = time.monotonic() - start
        if entry["id"] == 67:
            result = await crawl_in(app, _settings(entry))
        stored, markdown = b"", ""
        for row in result.rows.values():
            if row.document:
                document = await app.blobs.get(row.document)
                stored += document
                markdown += json.loads(document)["markdown"] + "\n"
            if row.snapshot:
                stored += await app.blobs.get(row.snapshot)
    return EndedCrawl(entry, result, seconds, markdown, data, stored)


def _is_trapped(ended: EndedCrawl) -> bool:
    return any(row.skip_reason == "trap" for row in ended.result.rows.values())


def _is_empty(ended: EndedCrawl) -> bool:
    return ended.last.skip_reason == "content_type" or (ended.last.state == "VISITED" and ended.last.word_count == 0)


OUTCOMES: dict[str, Callable[[EndedCrawl], bool]] = {
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
    "dedup": lambda e: len(e.result.kept()) <= int(e.entry["max_distinct_pages"]),
}
"""The server's words, in ours; every other word is the code that the error starts with."""
NO_ANSWER = {"connection_error", "robots_unreachable", "timeout", "tls_error"}


def _matches(outcome: str, ended: EndedCrawl) -> bool:
    if outcome in OUTCOMES:
        return OUTCOMES[outcome](ended)
    return ended.last.error.startswith(outcome) or ended.row.error.startswith(outcome)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("number", IDS)
def test_the_crawl_has_the_expected_outcome(number: int, hostile_crawls: HostileCrawls) -> None:
    ended = hostile_crawls.of(number)
    expected = ended.entry["outcome"].split("|")
    # A run that kept nothing because its only host did not answer has failed.
    assert ended.result.run.state == ("FAILED" if NO_ANSWER.issuperset(expected) else "COMPLETED")
    assert any(_matches(outcome, ended) for outcome in expected), f"{expected}: {ended.row}"


@pytest.mark.parametrize("number", IDS)
def test_the_crawl_keeps_within_its_limits(number: int, hostile_crawls: HostileCrawls) -> None:
    ended, entry = hostile_crawls.of(number), hostile_crawls.of(number).entry
    log = hostile_crawls.hits.get(str(number), {"hits": 0, "bytes_sent": 0})
    assert ended.seconds <= entry["max_seconds"]
    allowed = entry.get("max_hits", 10**9) + (1 if number == 67 else 0)
    assert log["hits"] <= allowed
    limit = entry.get("max_bytes", 10**12)
    total = sum(n["bytes_sent"] for key, n in hostile_crawls.hits.items() if key.partition(":")[0] == str(number))
    assert total <= limit
    for name, word in (("page", "page_hits"), ("private", "private_hits")):
        if word in entry:
            assert hostile_crawls.hits.get(f"{number}:{name}", {"hits": 0})["hits"] == entry[word]
    if "robots_hits_max" in entry:
        assert hostile_crawls.hits[f"{number}:robots"]["hits"] <= entry["robots_hits_max"]
    if "honey" in entry:
        assert not any(entry["honey"] in path for path in hostile_crawls.paths)


@pytest.mark.parametrize("number", IDS)
def test_stored_blobs_contain_required_and_no_forbidden_text(number: int, hostile_crawls: HostileCrawls) -> None:
    ended, entry = hostile_crawls.of(number), hostile_crawls.of(number).entry
    if "must_contain" in entry:
        assert entry["must_contain"] in ended.markdown
    forbidden = [entry["must_not_contain"].encode()] if "must_not_contain" in entry else []
    forbidden += [*SECRETS] if number == 73 else []
    files = b"".join(path.read_bytes() for path in ended.data.rglob("*") if path.is_file())
    for secret in forbidden:
        assert secret not in ended.stored
        assert secret not in files


def test_the_canary_was_never_hit(hostile_crawls: HostileCrawls) -> None:
    assert hostile_crawls.hits.get("canary", {"hits": 0})["hits"] == 0
    assert not any("secret" in path or "meta-data" in path or "xxe" in path for path in hostile_crawls.paths)


def test_a_known_page_is_requested_conditionally(hostile_crawls: HostileCrawls) -> None:
    assert hostile_crawls.hits["67"]["cond"] == 1
    assert hostile_crawls.of(67).row.state == "NOT_MODIFIED"


def test_retry_after_is_obeyed(hostile_crawls: HostileCrawls) -> None:
    times = hostile_crawls.hits["42"]["times"]
    assert len(times) == 3
    assert (
        min(b - a for a, b in itertools.pairwise(times)) >= hostile_crawls.of(42).entry["min_gap_s"] - 0.02
    )  # the server logs hundredths of a second


def test_the_whole_redirect_chain_is_recorded(hostile_crawls: HostileCrawls) -> None:
    ended = hostile_crawls.of(5)
    assert [hop.status for hop in ended.last.redirect_chain] == [301, 308, 307, 303, 302]
    assert ended.row.final_url == ended.last.url


def test_decompression_bombs_stay_within_the_memory_limit(server: HostileServer, tmp_path: Path) -> None:
    """Compare the memory of the whole process tree with that of a crawl of a plain page."""
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
        pass  # the process ended after it was listed
    return total
