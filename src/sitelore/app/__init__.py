"""Composition: builds the application from the settings. `build_app()` in `wiring` is the entry point.

`wiring` connects the parts in two ways, side by side: `embedded` in one process and one directory, `scaled` on Postgres,
Redis and an object store for any number of processes. `app` is the application object that commands and servers use,
`settings` the one place that reads the environment, `checks` tests the services and gives them time to start, `logs` writes
redacted log lines, `explain` shows why a URL was crawled or not. No crawling decision is made here.
"""
