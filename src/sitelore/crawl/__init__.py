"""Crawling: workers that visit URLs, and what keeps runs going.

`runs` creates a run from its settings. `worker` claims rows and calls `visit`, one function that describes a whole visit;
`settle` writes many visits in one transaction. `maintenance` opens the next wave when all rows of one have settled, and
completes the run when nothing is left. `run_scheduler` assigns runs to the workers of a process, `metrics` counts.
`extraction_pool` runs the processes that extract documents. `soft_404` compares pages with what a site answers to a path that
cannot exist. `search_service` searches and keeps the index current (`index_pages`). `explain` shows why a URL was crawled or
not, `reprocess` extracts a run's pages again from their snapshots.

Decisions are in `frontier`, requests in `fetch`, parsing in `extract` and `intake`, storage in `store`.
"""
