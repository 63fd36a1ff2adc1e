"""Composition: builds the application from the settings. `build_app()` in `wiring` is the entry point.

`wiring` connects the parts in two ways, side by side: `embedded` in one process and one directory, `scaled` on Postgres,
Redis and an object store for any number of processes. `app` is the application object that commands and servers use.
`settings` is the one place that reads the environment; `config/` reads the settings of crawls, `access` the credentials of
sites, and `site_sessions` stores those of logins.

`operations/` has backup, deletion and the checks of services. `audit/` is the phase after a run that finds problems of a site.
`explain` shows why a URL was crawled or not, `changes` what changed on a site, `scrape` fetches one page outside of a run.
`index_process` indexes pages while others crawl, and `logs` writes redacted log lines. No crawling decision is made here.
"""
