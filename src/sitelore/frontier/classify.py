"""Turns a response or failure into a verdict. A 404, a refusal or a redirect is an outcome, never an exception."""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.frontier.retry import retry_at
from sitelore.model.frontier import Hop, Lease, Verdict
from sitelore.model.response import Failure, Fetched, FetchFailure, Response, RobotsVerdict, is_document_type
from sitelore.model.settings import CrawlSettings
from sitelore.model.states import REDIRECT_STATES, SkipReason, UrlState
from sitelore.model.url import KeyRules, Url

_SKIPS = {Failure.TOO_LARGE: SkipReason.TOO_LARGE, Failure.ADDRESS: SkipReason.ADDRESS}
_NO_CONTENT = frozenset({204, 205})


@dataclass(frozen=True, slots=True)
class Redirected:
    """The URL redirects: it becomes an alias, and the target is offered to the frontier like any other URL."""

    verdict: Verdict
    target: Url
    chain: tuple[Hop, ...]


def classify(
    lease: Lease, fetched: Fetched, settings: CrawlSettings, rules: KeyRules, now: float
) -> Verdict | Redirected | None:
    """The verdict by status or failure; None when there is a body to extract."""
    if isinstance(fetched, FetchFailure):
        return _classify_failure(lease, fetched, settings, now)
    status = fetched.status
    if status in REDIRECT_STATES:
        return _classify_redirect(lease, fetched, settings, rules)
    if status == 304 and (lease.known is not None or lease.known_media is not None):
        return Verdict(UrlState.NOT_MODIFIED, status)
    if 200 <= status < 300:
        return _classify_body(fetched, settings)
    when = retry_at(fetched, lease.attempts, settings, now)
    if when is not None:
        return Verdict(UrlState.QUEUED, status, error=f"http_error: the server answered {status}", retry_at=when)
    if status == 403:
        return Verdict(UrlState.FORBIDDEN, status)
    if status in {404, 410}:
        return Verdict(UrlState.NOT_FOUND, status)
    return Verdict(UrlState.HTTP_TERMINAL, status, error=_terminal_error(fetched, lease, now))


def refused_by_robots(robots: RobotsVerdict, host: str) -> Verdict:
    """SKIPPED, with the rule and its line, or with the reason why the host's robots.txt could not be read."""
    if robots.state == "unreachable":
        reason = robots.rule.rstrip(".") or "no response"
        if not reason.startswith("robots.txt"):
            reason = f"cannot connect to {host}: {reason[:1].lower()}{reason[1:]}; robots.txt could not be read"
        detail = f"{reason}, so nothing may be fetched (RFC 9309 §2.3.1.4)"
        return Verdict(UrlState.SKIPPED, skip_reason=SkipReason.ROBOTS_UNREACHABLE, detail=detail)
    detail = f"robots.txt line {robots.line}: {robots.rule} (for {robots.agent or '*'})"
    return Verdict(UrlState.SKIPPED, skip_reason=SkipReason.ROBOTS, detail=detail)


def _classify_failure(lease: Lease, failure: FetchFailure, settings: CrawlSettings, now: float) -> Verdict:
    error = f"{failure.failure}: {failure.detail}" if failure.detail else str(failure.failure)
    reason = _SKIPS.get(failure.failure)
    if reason is not None:
        return Verdict(UrlState.SKIPPED, skip_reason=reason, detail=failure.detail, error=error)
    when = retry_at(failure, lease.attempts, settings, now)
    state = UrlState.FAILED if when is None else UrlState.QUEUED
    return Verdict(state, error=error, retry_at=when)


def _classify_redirect(lease: Lease, response: Response, settings: CrawlSettings, rules: KeyRules) -> Verdict | Redirected:
    status = response.status
    location = (response.header("location") or "").strip()
    if not location:
        return Verdict(UrlState.HTTP_TERMINAL, status, error=f"http_error: {status} without a Location")
    target = Url.parse(location, str(lease.url), rules)
    if target is None:
        scheme = location.partition(":")[0][:20]
        return Verdict(UrlState.FAILED, status, error=f"blocked_scheme: redirect to a {scheme}: address")
    if not settings.follow_redirects:
        return Redirected(Verdict(REDIRECT_STATES[status], status), target, (Hop(lease.url, status),))
    if target == lease.url or any(hop.url == target for hop in lease.chain):
        return Verdict(UrlState.FAILED, status, error=f"redirect_loop: the redirect leads back to {target}")
    chain = (*lease.chain, Hop(lease.url, status))
    if len(chain) > settings.max_redirects:
        return Verdict(UrlState.FAILED, status, error=f"too_many_redirects: more than {settings.max_redirects} in a row")
    return Redirected(Verdict(UrlState.ALIAS, status), target, chain)


def _classify_body(response: Response, settings: CrawlSettings) -> Verdict | None:
    if response.status in _NO_CONTENT:
        return Verdict(UrlState.SKIPPED, response.status, SkipReason.CONTENT_TYPE, "the response has no content")
    if not response.body_read:
        detail = response.content_type
        if is_document_type(detail) and not settings.documents:
            detail = f"{detail}: this run reads no documents"
        return Verdict(UrlState.SKIPPED, response.status, SkipReason.CONTENT_TYPE, detail)
    return None


def _terminal_error(response: Response, lease: Lease, now: float) -> str:
    retry_after_s = response.retry_after_s(now)
    if retry_after_s is not None and retry_after_s > 0:
        return f"http_error: the server answered {response.status} and asks to wait {retry_after_s:.0f} s"
    tries = f" {lease.attempts + 1} times" if lease.attempts else ""
    return f"http_error: the server answered {response.status}{tries}"
