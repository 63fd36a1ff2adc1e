"""Crawling: workers that visit URLs, and the maintenance of runs.

`runs` creates a run from its settings, `run_scheduler` assigns runs to the workers of a process. `worker` claims rows and calls
`visit`, one function that describes a whole visit: `page_fetch` fetches, `outcomes` builds the settlement, `settle` redacts it
and writes many settlements in one transaction. `worker_context` and `visit_context` hold their dependencies. `maintenance`
opens the next wave when all rows of one have settled, and completes the run when nothing is left. `extraction_pool` runs the
processes that extract documents (`extraction_process`, `extraction_protocol`). `soft_404` compares suspicious pages with what a
site serves for a path that cannot exist; `stored_documents` reads documents of earlier visits. `search_service` searches and
keeps the index current (`index_pages`). `explain` shows why a URL was crawled or not, `reprocess` extracts a run's pages again
from their snapshots, `metrics` counts.

Decisions are in `frontier`, requests in `fetch`, parsing in `extract` and `intake`, storage in `store`.
"""
