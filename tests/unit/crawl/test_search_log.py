"""Recording of searches: what is recorded, for which sites, and what is removed from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from sitelore.crawl.search.search_log import WEAK_SCORE, SearchRecorder
from sitelore.model.errors import DiskFull
from sitelore.model.ids import ChunkId, CleanText, SiteId
from sitelore.model.search import ChunkRecord, Hit, SearchAnswer, SearchQuery, SiteIndexStats
from sitelore.model.settings import BUILT_IN_ALONE
from sitelore.model.url import Url

NOW = 1_000_000.0
SITES = [SiteIndexStats(SiteId(1), "one.test", chunks=9), SiteIndexStats(SiteId(2), "two.test", chunks=9)]


@dataclass
class Log:
    """The part of an audit store that takes searches."""

    problem: Exception | None = None
    searches: list[dict[str, Any]] = field(default_factory=list)

    async def record_search(self, site_ids: set[SiteId], text: CleanText, **values: Any) -> None:
        if self.problem is not None:
            raise self.problem
        self.searches.append({"sites": set(site_ids), "text": text, **values})


def hit(score: float, site: int = 1) -> Hit:
    record = ChunkRecord(
        1, ChunkId("a"), SiteId(site), "one.test", Url.trusted("http://one.test/"), CleanText(""), "en", "page", None,
        CleanText("text"), CleanText(""), (), 0, 4, 1,
    )  # fmt: skip
    return Hit(record, score)


async def recorded(text: str, *hits: Hit, chunks: int = 9, log: Log | None = None, **query: Any) -> list[dict[str, Any]]:
    log = log or Log()
    recorder = SearchRecorder(log, lambda: NOW, BUILT_IN_ALONE, 60.0)  # type: ignore[arg-type]
    await recorder.record(SearchQuery(text, **query), SearchAnswer(hits, chunks=chunks), SITES)
    return log.searches


async def test_a_search_without_results_counts_for_all_sites_that_were_searched() -> None:
    expected = {"text": "how to fly", "has_results": False, "is_weak": False, "now": NOW, "kept_since": NOW - 60}
    assert await recorded("how to  fly") == [{"sites": {1, 2}, **expected}]
    assert [each["sites"] for each in await recorded("how", sites=("two.test",))] == [{2}]
    assert [each["sites"] for each in await recorded("how site:one.test")] == [{1}]


@pytest.mark.parametrize(("score", "is_weak"), [(WEAK_SCORE - 0.01, True), (WEAK_SCORE, False), (0.9, False)])
async def test_results_with_low_scores_are_weak(score: float, is_weak: bool) -> None:
    [search] = await recorded("fly", hit(score), hit(0.1))
    assert (search["sites"], search["has_results"], search["is_weak"]) == ({1}, True, is_weak)


async def test_secrets_and_personal_data_are_removed() -> None:
    [search] = await recorded("jane.doe@example.com lost AKIAIOSFODNN7EXAMPLE")
    assert "jane" not in search["text"]
    assert "AKIA" not in search["text"]
    [search] = await recorded("x" * 5_000)
    assert len(search["text"]) == 200


@pytest.mark.parametrize("query", [{"path": "/docs"}, {"langs": ("en",)}, {"kinds": ("pdf",)}, {"since": 1.0}, {"until": 1.0}])
async def test_searches_with_filters_are_left_out(query: dict[str, Any]) -> None:
    assert await recorded("fly", **query) == []
    assert await recorded("fly path:/docs") == []


async def test_searches_before_anything_is_indexed_are_left_out() -> None:
    assert await recorded("fly", chunks=0) == []


async def test_a_log_that_cannot_be_written_does_not_fail_the_search(caplog: pytest.LogCaptureFixture) -> None:
    assert await recorded("fly", log=Log(DiskFull("no space"))) == []
    assert "search not recorded: no space" in caplog.text
    with pytest.raises(ZeroDivisionError):
        await recorded("fly", log=replace(Log(), problem=ZeroDivisionError()))
