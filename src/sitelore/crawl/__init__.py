"""Crawling: workers that visit URLs, and the maintenance of runs.

`runs` creates a run from its settings and assigns queued runs to the workers of a process. `worker` claims rows and calls
`visit`, one function that describes a whole visit: `page_fetch` fetches, `prefetch` fetches pages ahead of their admission,
`settle` builds the settlement, redacts it and writes many settlements in one transaction. `context` holds the dependencies of
workers and visits. `maintenance` opens the next wave when all rows of one have settled, and completes the run when nothing is
left. `extraction_pool` runs the processes that extract documents (`extraction_process`). `soft_404` compares suspicious pages
with what a site serves for a path that cannot exist. `search_service` searches and keeps the index current. `reprocess`
extracts a run's pages again from their snapshots.

Decisions are in `frontier`, requests in `fetch`, parsing in `extract` and `intake`, storage in `store`.
"""
