"""Politeness as the server saw it: every figure here comes from the server's own log."""

from __future__ import annotations

import itertools
import statistics
from pathlib import Path

import pytest
from tests.support.journey import command
from tests.support.serve import Closing, Pages, Web, page, prose, serving, site

pytestmark = pytest.mark.alone("compares gaps between requests with the server's clock")

NOISE_S = 0.003  # between the moment a request is sent and the moment the server has read it, on a machine at rest


def flat(count: int, robots: str = "") -> Pages:
    """A home page and this many pages that it links to."""
    names = [f"/p/{prose(str(i), 1)}" for i in range(count)]
    return site({"/": page("Home", prose("home"), links=tuple(names)), **{n: page(n, prose(n)) for n in names}}, robots)


def gaps(web: Web) -> list[float]:
    """Seconds between consecutive requests of any kind."""
    return [b.at - a.at for a, b in itertools.pairwise(web.hits)]


def noise_s(web: Web) -> float:
    """What a logged time can be wrong by: on a busy machine both ends are scheduled late, the server knows by how much."""
    return NOISE_S + 2 * max(web.lags)


def reached(web: Web, gap_s: float) -> float:
    """The share of the allowed rate that the pages of a flat site were asked at."""
    pages = [hit.at for hit in web.hits if hit.target.startswith("/p/")]
    usual_lag_s = statistics.fmean(web.lags)
    return (gap_s + usual_lag_s) * (len(pages) - 1) / (pages[-1] - pages[0])


def test_the_configured_rate_is_never_passed_and_nearly_reached(tmp_path: Path) -> None:
    with serving(flat(80)) as web:
        done = command("crawl", web.url(), "--data", str(tmp_path), "--json", "--delay", "0.05", "--concurrency", "8")
        assert done.code == 0, done.err
        assert len(web.targets()) == 81
        assert min(gaps(web)) >= 0.05 - noise_s(web)
        assert statistics.median(gaps(web)) >= 0.05 - NOISE_S
        assert web.hits[-1].at - web.hits[0].at >= 0.05 * (len(web.hits) - 1) - noise_s(web)
        assert reached(web, 0.05) >= 0.9


def test_a_slow_server_does_not_lower_the_rate(tmp_path: Path) -> None:
    """A rate is a gap between starts: waiting for answers must not add to it."""
    with serving(flat(60)) as web:
        web.delay_s = 0.15
        done = command("crawl", web.url(), "--data", str(tmp_path), "--json", "--delay", "0.05", "--concurrency", "8")
        assert done.code == 0, done.err
        assert min(gaps(web)) >= 0.05 - noise_s(web)
        assert reached(web, 0.05) >= 0.9


def test_a_crawl_delay_in_robots_is_kept(tmp_path: Path) -> None:
    with serving(flat(8, robots="User-agent: *\nCrawl-delay: 0.3\n")) as web:
        done = command("crawl", web.url(), "--data", str(tmp_path), "--json", "--concurrency", "8")
        assert done.code == 0, done.err
        assert len(web.targets()) == 9
        assert min(gaps(web)[1:]) >= 0.3 - noise_s(web)


@pytest.mark.parametrize("as_date", [False, True], ids=["seconds", "http-date"])
def test_retry_after_is_obeyed_to_the_second(as_date: bool, tmp_path: Path) -> None:
    with serving(flat(20)) as web:
        web.close_for = Closing(after=8, seconds=2, as_date=as_date)
        done = command("crawl", web.url(), "--data", str(tmp_path), "--json", "--delay", "0", "--concurrency", "4")
        assert done.code == 0, done.err
        assert done.summary["pages"] == 21
    refused = [i for i, hit in enumerate(web.hits) if hit.status == 429]
    assert 1 <= len(refused) <= 4, "only requests in flight may have been refused"
    assert refused == list(range(refused[0], refused[0] + len(refused)))
    told, back = web.hits[refused[0]].at, web.hits[refused[-1] + 1].at
    assert back - told >= (1 if as_date else 2) - noise_s(web)
    assert back - told < (3 if as_date else 2) + 1.5 + noise_s(web)


def test_no_more_requests_are_under_way_than_asked_for(tmp_path: Path) -> None:
    with serving(flat(40)) as web:
        web.delay_s = 0.1
        done = command("crawl", web.url(), "--data", str(tmp_path), "--json", "--delay", "0", "--concurrency", "3")
        assert done.code == 0, done.err
    starts = [hit.at for hit in web.hits]
    answer_s = 0.1 - noise_s(web)
    busiest = max(sum(at - answer_s < other <= at for other in starts) for at in starts)
    assert 1 <= busiest <= 3
