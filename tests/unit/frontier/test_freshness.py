from sitelore.frontier.freshness import request_for, unchanged
from sitelore.model.frontier import KnownPage, Lease, RowKind
from sitelore.model.ids import BlobKey, RunId
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import SkipReason
from sitelore.model.url import Url

NOW = 1_000_000.0


def lease(*, fetched_at: float = NOW - 3600, known_lastmod: float | None = None, lastmod: float | None = None) -> Lease:
    known = KnownPage(fetched_at, "h", "n", BlobKey("d"), etag='"e"', last_modified="Wed", lastmod=known_lastmod)
    return Lease(RunId("r"), Url("http://a/"), 1, 0, 0, RowKind.PAGE, 0, lastmod=lastmod, known=known)


def reason(held: Lease, settings: CrawlSettings) -> SkipReason | None:
    same = unchanged(held, settings, NOW)
    return same.reason if same else None


def test_a_page_within_its_ttl_is_left_alone() -> None:
    assert reason(lease(), CrawlSettings(ttl_s=7200)) is SkipReason.TTL
    assert reason(lease(), CrawlSettings(ttl_s=1800)) is None
    assert reason(lease(), CrawlSettings()) is None


def test_a_lastmod_that_has_not_moved_is_believed() -> None:
    assert reason(lease(known_lastmod=500, lastmod=500), CrawlSettings()) is SkipReason.LASTMOD
    assert reason(lease(known_lastmod=500, lastmod=600), CrawlSettings()) is None


def test_without_an_earlier_lastmod_the_time_of_the_fetch_counts() -> None:
    assert reason(lease(lastmod=NOW - 7200), CrawlSettings()) is SkipReason.LASTMOD
    assert reason(lease(lastmod=NOW - 60), CrawlSettings()) is None


def test_force_fetches_everything_unconditionally() -> None:
    settings = CrawlSettings(force=True, ttl_s=7200)
    assert reason(lease(known_lastmod=500, lastmod=500), settings) is None
    assert request_for(lease(), settings).etag is None


def test_known_pages_are_requested_conditionally() -> None:
    request = request_for(lease(), CrawlSettings())
    assert (request.etag, request.last_modified) == ('"e"', "Wed")


def test_an_unknown_page_is_fetched() -> None:
    held = Lease(RunId("r"), Url("http://a/"), 1, 0, 0, RowKind.PAGE, 0, lastmod=1.0)
    assert unchanged(held, CrawlSettings(ttl_s=1e9), NOW) is None
    assert request_for(held, CrawlSettings()).etag is None
