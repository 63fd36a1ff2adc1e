"""The retry policy, as a table: (status or failure) → how often, and how long to wait first.

A run's `max_retries` caps every row. The effect on the host is the gate's (`frontier/gate.py`), from the same feedback.
"""

from __future__ import annotations

from dataclasses import dataclass

from sitelore.model.response import Failure, FetchFailure, Response
from sitelore.model.settings import CrawlSettings


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a class of outcome is tried again, and the first wait; it doubles each time."""

    times: int
    wait_s: float


NEVER = Retry(0, 0.0)
MAX_WAIT_S = 30.0

STATUSES: dict[int, Retry] = {
    408: Retry(2, 1.0),  # request timeout
    421: Retry(2, 0.5),  # misdirected request
    425: Retry(2, 1.0),  # too early
    429: Retry(4, 1.0),  # too many requests: waiting is what the site asks for
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
    """The table's row for what came back."""
    if isinstance(outcome, FetchFailure):
        return FAILURES[outcome.failure]
    if outcome.status >= 500:
        return SERVER_ERROR
    return STATUSES.get(outcome.status, NEVER)


def retry_at(outcome: Response | FetchFailure, attempts: int, settings: CrawlSettings, now: float) -> float | None:
    """When to try again, None when this was the last try. `attempts` counts the tries before this one."""
    row = policy(outcome)
    # A site that says when to come back is asked again even where the run allows fewer blind retries.
    times = row.times if isinstance(outcome, Response) and outcome.status == 429 else min(row.times, settings.max_retries)
    if attempts >= times:
        return None
    wait_s: float = min(row.wait_s * 2**attempts, MAX_WAIT_S)
    asked_s = outcome.retry_after_s(now) if isinstance(outcome, Response) else None
    if asked_s is not None:
        if asked_s > settings.pace.max_retry_after_s:
            return None
        wait_s = max(wait_s, asked_s)
    return now + wait_s
