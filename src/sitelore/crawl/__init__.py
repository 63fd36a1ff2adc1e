"""Crawling: workers that visit URLs, and the maintenance of runs.

`runs` creates a run from its settings and assigns queued runs to the workers of a process. `worker` claims rows and visits
them; `prefetch` fetches pages ahead of their admission. `context` holds the dependencies of workers and visits. `maintenance`
opens the next wave when all rows of one have settled, and completes the run when nothing is left.

One visit of a page: `visit` describes all of it, `page_fetch` fetches, `soft_404` compares suspicious pages with
what a site serves for a path that cannot exist, `login_watch` notices a lost login, and `settle` builds the settlement, redacts
it and writes many in one transaction. `media/` visits media files.

`extraction_pool` runs the processes that extract documents (`extraction_process`). `reprocess` extracts a run's pages again
from their snapshots. `search/` keeps the search index in step with the pages, and searches it.

Decisions are in `frontier`, requests in `fetch`, parsing in `extract` and `intake`, storage in `store`.
"""
