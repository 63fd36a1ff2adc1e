"""What this process has done, counted for Prometheus. One set of meters per process: every worker and server in it adds up.

The names are those of seed documents and dashboards that exist already; `docs/reference/metrics.md` says what each means.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate

_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Counter:
    """A number that only grows, apart for each value of one label when it has one."""

    kind = "counter"

    def __init__(self, name: str, text: str, label: str = "") -> None:
        self.name, self.text, self._label = name, text, label
        self._counts: dict[str, float] = {} if label else {"": 0}

    def add(self, amount: float = 1, of: str = "") -> None:
        """Count something."""
        self._counts[of] = self._counts.get(of, 0) + amount

    def value(self, of: str = "") -> float:
        """How much was counted so far."""
        return self._counts.get(of, 0)

    def lines(self) -> Iterator[str]:
        """Samples in the text format."""
        for of, amount in sorted(self._counts.items()):
            yield f"{self.name}{_labels(self._label, of)} {_number(amount)}"


class Gauge:
    """A number that is asked for when it is wanted."""

    kind = "gauge"

    def __init__(self, name: str, text: str, read: Callable[[], float]) -> None:
        self.name, self.text, self._read = name, text, read

    def lines(self) -> Iterator[str]:
        """The sample in the text format."""
        yield f"{self.name} {_number(self._read())}"


class Histogram:
    """How long something took, by buckets."""

    kind = "histogram"

    def __init__(self, name: str, text: str, bounds: tuple[float, ...] = _BOUNDS_S) -> None:
        self.name, self.text, self._bounds = name, text, bounds
        self._buckets = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def take(self, seconds: float) -> None:
        """One observation."""
        self._buckets[bisect_left(self._bounds, seconds)] += 1
        self._sum += seconds

    @property
    def count(self) -> int:
        """Observations so far."""
        return sum(self._buckets)

    def lines(self) -> Iterator[str]:
        """Samples in the text format: buckets are cumulative there."""
        for bound, count in zip((*map(_number, self._bounds), "+Inf"), accumulate(self._buckets), strict=True):
            yield f'{self.name}_bucket{{le="{bound}"}} {count}'
        yield f"{self.name}_sum {_number(self._sum)}"
        yield f"{self.name}_count {self.count}"


Meter = Counter | Gauge | Histogram

FETCH = Histogram("crawl_fetch_duration_seconds", "One request, from its start until its body has arrived.")
RENDERING = Histogram("crawl_render_duration_seconds", "One page in the browser, until it was read.")
PROCESSING = Histogram("crawl_processing_duration_seconds", "One URL, from its claim until its verdict is durable.")
QUEUE_LATENCY = Histogram("crawl_queue_latency_seconds", "A claimed URL, until its visit starts.")
RECONCILIATION = Histogram("crawl_reconciliation_cycle_duration_seconds", "One maintenance cycle of one run.")
PROCESSED = Counter("processed_urls_total", "Claimed URLs that were dealt with: settled, failed or put back for a retry.")
VISITED = Counter("crawl_urls_visited_total", "URLs that were kept as pages.")
RETRIED = Counter("crawl_urls_retried_total", "URLs put back to be tried again.")
FAILED = Counter("crawl_urls_failed_total", "URLs that ended without a usable answer.")
FENCED = Counter("crawl_settlements_fenced_total", "Verdicts that were refused because the lease had gone to someone else.")
RECOVERED = Counter("crawl_stale_claims_recovered_total", "Leases that ran out and were put back to QUEUED.")
CYCLES = Counter("crawl_queue_reconciliation_cycles_total", "Maintenance cycles of runs.")
RESENT = Counter("crawl_queue_reconciliation_signals_total", "Runs with work for which a signal was sent once more.")
RUNS_ENDED = Counter("crawl_runs_ended_total", "Runs that ended, by state.", "state")

METERS: tuple[Meter, ...] = (
    FETCH, RENDERING, PROCESSING, QUEUE_LATENCY, RECONCILIATION, PROCESSED, VISITED, RETRIED, FAILED, FENCED, RECOVERED, CYCLES,
    RESENT, RUNS_ENDED,
)  # fmt: skip
"""What crawling counts, in a worker as in a server."""


def exposition(*more: Meter) -> bytes:
    """All meters in the Prometheus text format, with those that a face adds."""
    lines: list[str] = []
    for meter in (*METERS, *more):
        lines += (f"# HELP {meter.name} {meter.text}", f"# TYPE {meter.name} {meter.kind}", *meter.lines())
    return ("\n".join(lines) + "\n").encode()


def _labels(label: str, of: str) -> str:
    if not label:
        return ""
    escaped = of.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{{label}="{escaped}"}}'


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
