from email.utils import formatdate

import pytest

from sitelore.frontier.retry import FAILURES, retry_at
from sitelore.model.response import Failure, FetchFailure, Response
from sitelore.model.settings import CrawlSettings
from sitelore.model.url import Url

HERE = Url("http://a/")
NOW = 1_000_000.0


def answer(status: int, **headers: str) -> Response:
    return Response(HERE, status, tuple((k.replace("_", "-"), v) for k, v in headers.items()), b"")


@pytest.mark.parametrize("status", [408, 421, 425, 429, 500, 502, 503, 504, 599])
def test_passing_troubles_are_retried_with_growing_waits(status: int) -> None:
    first = retry_at(answer(status), 0, CrawlSettings(), NOW)
    second = retry_at(answer(status), 1, CrawlSettings(), NOW)
    assert first is not None
    assert second is not None
    assert NOW < first < second


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 410, 451])
def test_final_answers_are_not_retried(status: int) -> None:
    assert retry_at(answer(status), 0, CrawlSettings(), NOW) is None


def test_retries_are_bounded_by_the_run() -> None:
    assert retry_at(answer(500), 2, CrawlSettings(max_retries=2), NOW) is None
    assert retry_at(answer(500), 0, CrawlSettings(max_retries=0), NOW) is None
    assert all(row.times <= 4 for row in FAILURES.values())


def test_a_429_is_retried_even_where_the_run_allows_no_retries() -> None:
    never = CrawlSettings(max_retries=0)
    assert [retry_at(answer(429), attempts, never, NOW) is not None for attempts in range(6)] == [True] * 4 + [False] * 2
    assert retry_at(answer(503), 0, never, NOW) is None


def test_every_failure_has_a_row() -> None:
    assert set(FAILURES) == set(Failure)
    assert retry_at(FetchFailure(HERE, Failure.TLS), 0, CrawlSettings(), NOW) is None
    assert retry_at(FetchFailure(HERE, Failure.CONNECTION), 0, CrawlSettings(), NOW) is not None


def test_retry_after_is_read_in_both_forms() -> None:
    assert answer(429, retry_after="7").retry_after_s(NOW) == 7
    assert answer(503, retry_after=formatdate(NOW + 90, usegmt=True)).retry_after_s(NOW) == 90
    assert answer(503, retry_after=formatdate(NOW - 90, usegmt=True)).retry_after_s(NOW) == 0
    assert answer(503, retry_after="soon").retry_after_s(NOW) is None
    assert answer(503, retry_after="-5").retry_after_s(NOW) is None
    assert answer(503).retry_after_s(NOW) is None


def test_retry_after_is_obeyed_to_the_second_and_an_absurd_one_ends_the_url() -> None:
    assert retry_at(answer(429, retry_after="7"), 0, CrawlSettings(), NOW) == NOW + 7
    assert retry_at(answer(503, retry_after="999999999"), 0, CrawlSettings(), NOW) is None
