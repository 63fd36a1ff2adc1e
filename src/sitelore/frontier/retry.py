"""The retry policy as a table: status or failure → number of retries and first backoff.

A run's `max_retries` caps every entry. Backoff of the whole host is separate (`frontier/gate.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.model.response import Failure, FetchFailure, Response
from sitelore.model.settings import CrawlSettings


@dataclass(frozen=True, slots=True)
class Retry:
    """How often an outcome is retried, and the first backoff; it doubles with each retry."""

    times: int
    wait_s: float


NEVER = Retry(0, 0.0)
MAX_WAIT_S = 30.0

STATUSES: dict[int, Retry] = {
    408: Retry(2, 1.0),  # request timeout
    421: Retry(2, 0.5),  # misdirected request
    425: Retry(2, 1.0),  # too early
    429: Retry(4, 1.0),  # too many requests: the site asks to wait
}
SERVER_ERROR = Retry(2, 1.0)  # any 5xx

FAILURES: dict[Failure, Retry] = {
    Failure.TIMEOUT: Retry(1, 0.5),
    Failure.DNS: Retry(1, 0.5),
    Failure.CONNECTION: Retry(2, 0.5),
    Failure.TRUNCATED: Retry(1, 0.5),
    Failure.TLS: NEVER,
    Failure.PROTOCOL: NEVER,
    Failure.TOO_LARGE: NEVER,
    Failure.DECODING: NEVER,
    Failure.ADDRESS: NEVER,
}


def policy(outcome: Response | FetchFailure) -> Retry:
    """The table entry of an outcome."""
    if isinstance(outcome, FetchFailure):
        return FAILURES[outcome.failure]
    if outcome.status >= 500:
        return SERVER_ERROR
    return STATUSES.get(outcome.status, NEVER)


def retry_at(outcome: Response | FetchFailure, attempts: int, settings: CrawlSettings, now: float) -> float | None:
    """When to retry; None when this was the last attempt. `attempts` counts the attempts before this one."""
    entry = policy(outcome)
    # After a 429 the site expects another request, so `max_retries`, which is meant for blind retries, does not apply.
    times = entry.times if isinstance(outcome, Response) and outcome.status == 429 else min(entry.times, settings.max_retries)
    if attempts >= times:
        return None
    wait_s: float = min(entry.wait_s * 2**attempts, MAX_WAIT_S)
    retry_after_s = outcome.retry_after_s(now) if isinstance(outcome, Response) else None
    if retry_after_s is not None:
        if retry_after_s > settings.pace.max_retry_after_s:
            return None
        wait_s = max(wait_s, retry_after_s)
    return now + wait_s
