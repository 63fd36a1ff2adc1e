"""Politeness measured by the server: every figure comes from its log."""

from __future__ import annotations

import itertools
import statistics
from pathlib import Path

import pytest
from tests.support.crawls import run_cli
from tests.support.http_server import HttpServer, Pages, RateLimit, page, prose, serve_site, site

pytestmark = pytest.mark.alone("compares gaps between requests with the server's clock")

NOISE_S = 0.003  # time between sending a request and reading it at the server, on an idle machine


def flat(count: int, robots: str = "") -> Pages:
    """A home page and this many pages that it links to."""
    names = [f"/p/{prose(str(i), 1)}" for i in range(count)]
    return site({"/": page("Home", prose("home"), links=tuple(names)), **{n: page(n, prose(n)) for n in names}}, robots)


def gaps(http_server: HttpServer) -> list[float]:
    """Seconds between consecutive requests of any kind."""
    return [b.at - a.at for a, b in itertools.pairwise(http_server.hits)]


def noise_s(http_server: HttpServer) -> float:
    """The error of a logged time: on a busy machine both sides are scheduled late, and the server measures how much."""
    return NOISE_S + 2 * max(http_server.lags)


def reached(http_server: HttpServer, gap_s: float) -> float:
    """The share of the allowed rate at which the pages of a flat site were requested."""
    pages = [hit.at for hit in http_server.hits if hit.target.startswith("/p/")]
    usual_lag_s = statistics.fmean(http_server.lags)
    return (gap_s + usual_lag_s) * (len(pages) - 1) / (pages[-1] - pages[0])


def test_the_configured_rate_is_never_exceeded_and_nearly_reached(tmp_path: Path) -> None:
    with serve_site(flat(80)) as http_server:
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json", "--delay", "0.05", "--concurrency", "8")
        assert done.code == 0, done.err
        assert len(http_server.targets()) == 81
        assert min(gaps(http_server)) >= 0.05 - noise_s(http_server)
        assert statistics.median(gaps(http_server)) >= 0.05 - NOISE_S
        assert http_server.hits[-1].at - http_server.hits[0].at >= 0.05 * (len(http_server.hits) - 1) - noise_s(http_server)
        assert reached(http_server, 0.05) >= 0.9


def test_a_slow_server_does_not_lower_the_rate(tmp_path: Path) -> None:
    """The rate is the gap between starts of requests: waiting for responses must not add to it."""
    with serve_site(flat(60)) as http_server:
        http_server.delay_s = 0.15
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json", "--delay", "0.05", "--concurrency", "8")
        assert done.code == 0, done.err
        assert min(gaps(http_server)) >= 0.05 - noise_s(http_server)
        assert reached(http_server, 0.05) >= 0.9


def test_a_crawl_delay_in_robots_is_respected(tmp_path: Path) -> None:
    with serve_site(flat(8, robots="User-agent: *\nCrawl-delay: 0.3\n")) as http_server:
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json", "--concurrency", "8")
        assert done.code == 0, done.err
        assert len(http_server.targets()) == 9
        assert min(gaps(http_server)[1:]) >= 0.3 - noise_s(http_server)


@pytest.mark.parametrize("as_date", [False, True], ids=["seconds", "http-date"])
def test_retry_after_is_obeyed_to_the_second(as_date: bool, tmp_path: Path) -> None:
    with serve_site(flat(20)) as http_server:
        http_server.rate_limit = RateLimit(after=8, seconds=2, as_date=as_date)
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json", "--delay", "0", "--concurrency", "4")
        assert done.code == 0, done.err
        assert done.summary["pages"] == 21
    refused = [i for i, hit in enumerate(http_server.hits) if hit.status == 429]
    assert 1 <= len(refused) <= 4, "only active requests may have been refused"
    assert refused == list(range(refused[0], refused[0] + len(refused)))
    refused_at, resumed_at = http_server.hits[refused[0]].at, http_server.hits[refused[-1] + 1].at
    assert resumed_at - refused_at >= (1 if as_date else 2) - noise_s(http_server)
    assert resumed_at - refused_at < (3 if as_date else 2) + 1.5 + noise_s(http_server)


def test_active_requests_reach_the_concurrency_and_never_exceed_it(tmp_path: Path) -> None:
    with serve_site(flat(40)) as http_server:
        first = 2  # robots.txt and the home page
        targets = ["/sitemap.xml", *(f"/p/{prose(str(i), 1)}" for i in range(40))]
        http_server.held = dict.fromkeys(targets, first + 3)
        done = run_cli("crawl", http_server.url(), "--data", str(tmp_path), "--json", "--delay", "0", "--concurrency", "3")
        assert done.code == 0, done.err
        assert done.summary["pages"] == 41
        assert http_server.most_active == 3
