"""Prometheus metrics of this process: counters and histograms that every worker and server in it adds to.

The names are fixed: dashboards use them. `docs/reference/metrics.md` describes each.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

__all__ = ["CONTENT_TYPE", "REGISTRY", "exposition", "histogram"]

REGISTRY = CollectorRegistry()
"""The registry of all metrics; the library's global one adds metrics of the interpreter that the reference does not list."""
_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

disable_created_metrics()  # type: ignore[no-untyped-call]  # an additional series per counter that is of no use


def histogram(name: str, text: str) -> Histogram:
    """A histogram of seconds with the buckets that all histograms here share."""
    return Histogram(name, text, buckets=_BUCKETS_S, registry=REGISTRY)


def _counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(name, text, labels, registry=REGISTRY)


FETCH = histogram("crawl_fetch_duration_seconds", "One request, from its start until its body has arrived.")
RENDERING = histogram("crawl_render_duration_seconds", "One page in the browser, until it was read.")
PROCESSING = histogram("crawl_processing_duration_seconds", "One URL, from its claim until its verdict is durable.")
QUEUE_LATENCY = histogram("crawl_queue_latency_seconds", "A claimed URL, until its visit starts.")
RECONCILIATION = histogram("crawl_reconciliation_cycle_duration_seconds", "One maintenance cycle of one run.")
PROCESSED = _counter("processed_urls_total", "Claimed URLs that were settled, failed or put back for a retry.")
VISITED = _counter("crawl_urls_visited_total", "URLs that were kept as pages.")
RETRIED = _counter("crawl_urls_retried_total", "URLs put back to be tried again.")
FAILED = _counter("crawl_urls_failed_total", "URLs that ended without a usable answer.")
FENCED = _counter("crawl_settlements_fenced_total", "Settlements rejected because the lease was lost.")
RECOVERED = _counter("crawl_stale_claims_recovered_total", "Expired leases that were put back to QUEUED.")
CYCLES = _counter("crawl_queue_reconciliation_cycles_total", "Maintenance cycles of runs.")
RESENT = _counter("crawl_queue_reconciliation_signals_total", "Runs with work for which a signal was sent once more.")
INDEXING = histogram(
    "sitelore_index_batch_duration_seconds", "A batch of pages, from reading them until their chunks are stored."
)
INDEXED = _counter("sitelore_index_pages_total", "Pages that were split into chunks and indexed.")
EMBEDDED = _counter("sitelore_index_embedded_texts_total", "Texts of chunks that were embedded.")
WEBHOOK = histogram("sitelore_webhook_duration_seconds", "One attempt to deliver an event to a webhook endpoint.")
WEBHOOK_ATTEMPTS = _counter("sitelore_webhook_attempts_total", "Attempts to deliver events, by what followed.", "step")
MEDIA = _counter("sitelore_media_files_total", "Media URLs that were visited, by result.", "result")
MEDIA_RECEIVED = _counter("sitelore_media_received_bytes_total", "Bytes of media that were received.")
MEDIA_SAVED = _counter("sitelore_media_saved_bytes_total", "Bytes that the compression of stored images saved.")
COMPRESSION = histogram(
    "sitelore_image_processing_duration_seconds", "One image, from its hand-over to a process until its result."
)
SCHEDULED = _counter("sitelore_scheduled_crawls_total", "Due occurrences of schedules, by outcome.", "outcome")
MISSED = _counter(
    "sitelore_schedules_missed_total", "Occurrences of schedules that were missed; one crawl makes up for several."
)
RUNS_ENDED = _counter("crawl_runs_ended_total", "Runs that ended, by state.", "state")


def exposition() -> bytes:
    """All metrics of the process in the Prometheus text format."""
    return generate_latest(REGISTRY)
