import pytest

from sitelore.frontier.classify import Redirected, classify, refused_by_robots
from sitelore.model.frontier import Hop, KnownPage, Lease, RowKind, Verdict
from sitelore.model.ids import BlobKey, RunId
from sitelore.model.response import Failure, Fetched, FetchFailure, Response, RobotsVerdict
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import SkipReason, UrlState
from sitelore.model.url import DEFAULT_RULES, Url

HERE = Url("http://a/x")
KNOWN = KnownPage(fetched_at=1.0, content_hash="h", novelty="n", document=BlobKey("d"), etag='"1"')


def lease(chain: tuple[Hop, ...] = (), attempts: int = 0, known: KnownPage | None = None) -> Lease:
    return Lease(RunId("r"), HERE, 1, 0, 0, RowKind.PAGE, attempts, chain=chain, known=known)


def answer(status: int, *headers: tuple[str, str], body: bytes = b"x", body_read: bool = True) -> Response:
    return Response(HERE, status, headers, body, body_read=body_read)


def judged(fetched: Fetched, held: Lease | None = None, settings: CrawlSettings | None = None) -> Verdict | Redirected | None:
    return classify(held or lease(), fetched, settings or CrawlSettings(), DEFAULT_RULES, 0.0)


def verdict(fetched: Fetched, held: Lease | None = None, settings: CrawlSettings | None = None) -> Verdict:
    outcome = judged(fetched, held, settings)
    assert isinstance(outcome, Verdict)
    return outcome


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (403, UrlState.FORBIDDEN),
        (404, UrlState.NOT_FOUND),
        (410, UrlState.NOT_FOUND),
        (401, UrlState.HTTP_TERMINAL),
        (418, UrlState.HTTP_TERMINAL),
        (300, UrlState.HTTP_TERMINAL),
        (304, UrlState.HTTP_TERMINAL),
        (500, UrlState.QUEUED),
        (429, UrlState.QUEUED),
    ],
)
def test_a_status_leads_to_its_state(status: int, state: UrlState) -> None:
    assert verdict(answer(status)).state is state


def test_a_body_is_left_to_reading() -> None:
    assert judged(answer(200)) is None
    assert judged(answer(203)) is None


def test_a_304_keeps_the_known_page() -> None:
    assert verdict(answer(304), lease(known=KNOWN)).state is UrlState.NOT_MODIFIED


def test_after_the_last_try_a_server_error_is_terminal() -> None:
    last = verdict(answer(500), lease(attempts=2))
    assert last.state is UrlState.HTTP_TERMINAL
    assert last.error.startswith("http_error: ")


def test_an_unwanted_content_type_is_a_skip_that_names_it() -> None:
    skipped = verdict(answer(200, ("content-type", "image/png"), body=b"", body_read=False))
    assert (skipped.state, skipped.skip_reason, skipped.detail) == (UrlState.SKIPPED, SkipReason.CONTENT_TYPE, "image/png")


def test_a_redirect_makes_an_alias_and_keeps_the_chain() -> None:
    before = (Hop(Url("http://a/old"), 301),)
    outcome = judged(answer(302, ("location", "/y#frag")), lease(chain=before))
    assert isinstance(outcome, Redirected)
    assert outcome.verdict.state is UrlState.ALIAS
    assert outcome.target == "http://a/y"
    assert outcome.chain == (*before, Hop(HERE, 302))


def test_redirects_that_lead_nowhere_end_with_a_verdict() -> None:
    assert verdict(answer(302)).error.startswith("http_error: 302 without")
    assert verdict(answer(302, ("location", "file:///etc/passwd"))).error.startswith("blocked_scheme")
    assert verdict(answer(302, ("location", "/x"))).error.startswith("redirect_loop")
    loop = lease(chain=(Hop(Url("http://a/old"), 301),))
    assert verdict(answer(302, ("location", "/old")), loop).error.startswith("redirect_loop")
    long = lease(chain=tuple(Hop(Url(f"http://a/{i}"), 302) for i in range(10)))
    assert verdict(answer(302, ("location", "/y")), long).error.startswith("too_many_redirects")


def test_as_many_redirects_as_the_run_allows_are_followed() -> None:
    settings = CrawlSettings(max_redirects=3)
    chains = [tuple(Hop(Url(f"http://a/{i}"), 302) for i in range(length)) for length in (2, 3)]
    outcomes = [judged(answer(302, ("location", "/y")), lease(chain=chain), settings) for chain in chains]
    assert isinstance(outcomes[0], Redirected)
    assert isinstance(outcomes[1], Verdict)


def test_a_redirect_that_is_not_followed_keeps_its_status_as_state() -> None:
    outcome = judged(answer(301, ("location", "/y")), settings=CrawlSettings(follow_redirects=False))
    assert isinstance(outcome, Redirected)
    assert outcome.verdict.state is UrlState.REDIRECT_301


def test_failures_are_retried_or_named() -> None:
    assert verdict(FetchFailure(HERE, Failure.CONNECTION, "refused")).state is UrlState.QUEUED
    failed = verdict(FetchFailure(HERE, Failure.TLS, "the certificate has expired"))
    assert (failed.state, failed.error) == (UrlState.FAILED, "tls_error: the certificate has expired")
    assert verdict(FetchFailure(HERE, Failure.TOO_LARGE)).skip_reason is SkipReason.TOO_LARGE
    assert verdict(FetchFailure(HERE, Failure.ADDRESS)).skip_reason is SkipReason.ADDRESS


def test_robots_refusals_carry_their_line() -> None:
    refused = refused_by_robots(RobotsVerdict(allowed=False, rule="Disallow: /x", line=12, agent="*"), "a.example")
    assert refused.skip_reason is SkipReason.ROBOTS
    assert "line 12: Disallow: /x" in refused.detail
    unreachable = refused_by_robots(
        RobotsVerdict(allowed=False, state="unreachable", rule="Connection refused."), "a.example:9"
    )
    assert unreachable.skip_reason is SkipReason.ROBOTS_UNREACHABLE
    assert unreachable.detail.startswith("cannot connect to a.example:9: connection refused; robots.txt could not be read, so")
    failing = refused_by_robots(RobotsVerdict(allowed=False, state="unreachable", rule="robots.txt answered 503."), "a.example")
    assert failing.detail.startswith("robots.txt answered 503, so nothing may be fetched")
